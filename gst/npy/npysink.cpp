/* npysink: writes video, OCT data and arrays to .npy files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-npysink
 * @title: npysink
 *
 * Writes frames to .npy files, which `numpy.load ()` reads. All frames go to one array,
 * of shape (frames, height, width) or (frames, height, width, components) for video,
 * (frames, lines, samples) for OCT data, and (frames, …) for arrays. If the file name in
 * `location` contains `%d`, each frame goes to a file of its own, without the outermost
 * dimension.
 * If arrays are shorter than the first one in the outermost dimension, as the last batch of
 * `openclinference` may be, all are joined along it: the file has the shape (elements, …).
 *
 * A file has a temporary name with the same prefix until it is complete, at EOS or when
 * the pipeline stops. Its header always counts the frames written so far, so that it can
 * be read even after a crash or on a full disk.
 *
 * An existing file is replaced. Its mode and, if possible, its owner are kept. If
 * `location` is a symbolic link, its target is replaced or created. Anything else at
 * `location`, such as a folder, a FIFO or a device, is an element error.
 *
 * Device memory is accepted directly. With `opencldownload` before this element,
 * transfers overlap.
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
#include "elements.h"

#include <gst/common/npyfile.hpp>
#include <gst/common/recording.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclmemory.h>

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
struct NpySinkSettings {
  std::string location;
};

const opencl::PropertyTable<NpySinkSettings> properties = {
    {"location", "Location",
        "File to write (with a %d, such as frame%05d.npy: one file per frame, numbered "
        "from 0)",
        &NpySinkSettings::location, opencl::ready},
};

} // namespace

G_DECLARE_FINAL_TYPE (GstNpySink, gst_npy_sink, GST, NPY_SINK, GstBaseSink)

struct _GstNpySink {
  GstBaseSink parent;

  opencl::Settings<NpySinkSettings> *settings;
  opencl::Recording *recording; /* (nullable): see RecordingSink */
};

G_DEFINE_TYPE_WITH_CODE (GstNpySink, gst_npy_sink, GST_TYPE_BASE_SINK,
    GST_DEBUG_CATEGORY_INIT (npy_sink_debug, "npysink", 0, ".npy writer"))
GST_ELEMENT_REGISTER_DEFINE (npysink, "npysink", GST_RANK_NONE, gst_npy_sink_get_type ())

/* --- the recording --- */

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

static opencl::Recording *
make_recording (GstNpySink *self)
{
  const std::string location = self->settings->committed ().location;

  if (location.empty ()) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("location is not set: set it to the name of a .npy file"), (nullptr));
    return nullptr;
  }
  return new opencl::Recording (GST_ELEMENT (self), location, "", make_header, true);
}

/* --- the class --- */

static void
gst_npy_sink_init (GstNpySink *self)
{
  self->settings = new opencl::Settings<NpySinkSettings> (self, properties);
  /* Writes frames as they come, without waiting for the clock. */
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
}

static void
gst_npy_sink_class_init (GstNpySinkClass *klass)
{
  opencl::install_settings<&GstNpySink::settings, &GstNpySink::recording> (
      klass, properties);
  opencl::describe_element (klass, "NumPy array writer", "Sink/File",
      "Writes video, OCT data and arrays to NumPy's .npy files", {}, {&sink_template});

  opencl::RecordingSink<GstNpySink, make_recording>::install (klass);
}
