/* npysink: video, OCT data and arrays to .npy files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-npysink
 * @title: npysink
 *
 * Writes frames as NumPy's arrays: `numpy.load ()` reads them. One file grows with each
 * frame: of shape (frames, height, width) or (frames, height, width, components) of
 * video, (frames, lines, samples) of OCT data and (frames, …) of arrays. A `location` with
 * a `%d` in it has one file for each frame instead, without the outermost dimension.
 *
 * A file has a temporary name, of the same beginning, until it is whole: at EOS, or when
 * the pipeline stops. The header of a growing one counts the frames that are written at
 * any moment, so what a crash or a full disk leaves can be read.
 *
 * Device memory is taken as it is; `opencldownload` before it lets transfers overlap.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=25 ! video/x-raw,format=RGB ! \
 *   npysink location=film.npy
 * ]| An array of shape (25, 240, 320, 3).
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=9 ! octwindowinterp ! octfft ! \
 *   "application/x-oct(memory:OpenCLMemory)" ! opencldownload ! \
 *   npysink location=depth%03d.npy
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elements.h"

#include <gst/base/gstbasesink.h>
#include <gst/opencl/npyfile.hpp>
#include <gst/opencl/opencl.h>
#include <gst/opencl/recording.hpp>
#include <gst/opencl/settings.hpp>

#include <utility>

GST_DEBUG_CATEGORY_STATIC (npy_sink_debug);
#define GST_CAT_DEFAULT npy_sink_debug

#define NPY_SINK_CAPS(features)                                                          \
  "video/x-raw" features ", format = (string) " ARRAY_VIDEO_FORMATS                      \
  "; " TENSORS_CAPS (features) "; application/x-oct" features                            \
                               ", format = (string) { U16LE, F32LE, CF32LE, U8, S8, "    \
                               "S16LE, S32LE, U32LE }, samples = (int) [ 1, max ], "     \
                               "lines = (int) [ 1, max ]"

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (NPY_SINK_CAPS ("") "; " NPY_SINK_CAPS (
            "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")")));

namespace {
struct Settings {
  std::string location;
};

const opencl::PropertyTable<Settings> properties = {
    {"location", "Location",
        "The file, or with a %d, such as frame%05d.npy, one for each frame, counted from "
        "0",
        &Settings::location, opencl::ready},
};

} // namespace

G_DECLARE_FINAL_TYPE (GstNpySink, gst_npy_sink, GST, NPY_SINK, GstBaseSink)

struct _GstNpySink {
  GstBaseSink parent;

  opencl::Settings<Settings> *settings;
  opencl::Recording *recording; /* between READY and PAUSED, and back, else null */
};

G_DEFINE_TYPE_WITH_CODE (GstNpySink, gst_npy_sink, GST_TYPE_BASE_SINK,
    GST_DEBUG_CATEGORY_INIT (npy_sink_debug, "npysink", 0, "arrays to .npy files"))
GST_ELEMENT_REGISTER_DEFINE (npysink, "npysink", GST_RANK_NONE, gst_npy_sink_get_type ())

/* --- life cycle --- */

static bool
make_header (const opencl::FrameFormat &format, bool growing, guint64 frames,
    std::string &header, GError **)
{
  std::vector<gsize> shape = format.shape;
  if (growing)
    shape.insert (shape.begin (), gsize (frames));
  header = opencl::npy_make_header (format.type, format.complex, shape);
  return true;
}

static void
forget (GstNpySink *self)
{
  if (self->recording)
    self->recording->finish ();
  delete std::exchange (self->recording, nullptr);
}

static bool
prepare (GstNpySink *self)
{
  const std::string location = self->settings->committed ().location;

  if (location.empty ()) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("location is not set, expected the name of a .npy file"), (nullptr));
    return false;
  }
  self->recording = new opencl::Recording (GST_ELEMENT (self), location, "", make_header);
  return true;
}

/* Not in start() and stop(), which a sink does on its way from and to NULL: a recording
 * ends where the pipeline stops. */
static GstStateChangeReturn
gst_npy_sink_change_state (GstElement *element, GstStateChange transition)
{
  GstNpySink *self = GST_NPY_SINK (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !prepare (self))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_npy_sink_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
      || (transition == GST_STATE_CHANGE_READY_TO_PAUSED
          && result == GST_STATE_CHANGE_FAILURE))
    forget (self);
  return result;
}

/* When somebody hears of EOS, the file is there. */
static gboolean
gst_npy_sink_event (GstBaseSink *sink, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    GST_NPY_SINK (sink)->recording->finish ();
  return GST_BASE_SINK_CLASS (gst_npy_sink_parent_class)->event (sink, event);
}

/* --- frames --- */

static gboolean
gst_npy_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  return GST_NPY_SINK (sink)->recording->set_caps (caps);
}

/* Lines may stand apart. */
static gboolean
gst_npy_sink_propose_allocation (GstBaseSink *, GstQuery *query)
{
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

static GstFlowReturn
gst_npy_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  return GST_NPY_SINK (sink)->recording->render (buffer);
}

/* --- the class --- */

static void
gst_npy_sink_finalize (GObject *object)
{
  GstNpySink *self = GST_NPY_SINK (object);
  delete self->settings;
  delete self->recording;
  G_OBJECT_CLASS (gst_npy_sink_parent_class)->finalize (object);
}

static void
gst_npy_sink_init (GstNpySink *self)
{
  self->settings = new opencl::Settings<Settings> (self, properties);
  /* As fast as frames come: a file has no clock. */
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
}

static void
gst_npy_sink_class_init (GstNpySinkClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_npy_sink_finalize;
  opencl::install_settings<&GstNpySink::settings> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class, "NumPy array writer", "Sink/File",
      "Writes video, OCT data and arrays to NumPy's .npy files", PACKAGE_ORIGIN);

  element_class->change_state = gst_npy_sink_change_state;
  sink_class->event = gst_npy_sink_event;
  sink_class->set_caps = gst_npy_sink_set_caps;
  sink_class->propose_allocation = gst_npy_sink_propose_allocation;
  sink_class->render = gst_npy_sink_render;
}
