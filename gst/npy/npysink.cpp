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

#include "arrayfile.hpp"
#include "elements.h"

#include <gst/base/gstbasesink.h>
#include <gst/opencl/opencl.h>
#include <gst/opencl/settings.hpp>

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

/* What the streaming thread works with. */
struct Work {
  std::string location;
  npy::FrameFormat format;
  bool is_video = false;
  GstVideoInfo info;
  npy::ArrayFile file;
  std::vector<guint8> rows; /* of a frame whose lines stand apart */
  guint frames = 0;
  bool failed = false;
};
} // namespace

G_DECLARE_FINAL_TYPE (GstNpySink, gst_npy_sink, GST, NPY_SINK, GstBaseSink)

struct _GstNpySink {
  GstBaseSink parent;

  opencl::Settings<Settings> *settings;
  Work *work; /* between READY and PAUSED, and back, else null */
};

G_DEFINE_TYPE_WITH_CODE (GstNpySink, gst_npy_sink, GST_TYPE_BASE_SINK,
    GST_DEBUG_CATEGORY_INIT (npy_sink_debug, "npysink", 0, "arrays to .npy files"))
GST_ELEMENT_REGISTER_DEFINE (npysink, "npysink", GST_RANK_NONE, gst_npy_sink_get_type ())

/* --- where to --- */

/* Where the one `%d`, `%5d` or `%05d` of a location is; false where there is none. */
static bool
find_counter (const std::string &location, gsize &begin, gsize &end)
{
  for (begin = 0; (begin = location.find ('%', begin)) != std::string::npos; begin++) {
    end = location.find_first_not_of ("0123456789", begin + 1);
    if (end != std::string::npos && location[end] == 'd' && end - begin < 5) {
      end++;
      return true;
    }
  }
  return false;
}

static bool
is_for_each_frame (const std::string &location)
{
  gsize begin, end;
  return find_counter (location, begin, end);
}

/* Of a frame: no printf(), since others than `%d` may stand in it. */
static std::string
location_of (const std::string &location, guint frame)
{
  gsize begin, end;
  if (!find_counter (location, begin, end))
    return location;
  const std::string width = location.substr (begin + 1, end - begin - 2);
  std::string number = std::to_string (frame);
  const gsize digits = gsize (atoi (width.c_str ()));
  if (number.size () < digits)
    number.insert (0, digits - number.size (), width[0] == '0' ? '0' : ' ');
  return location.substr (0, begin) + number + location.substr (end);
}

/* --- life cycle --- */

/* One error for a stream; what comes after it is refused. */
static GstFlowReturn
fail (GstNpySink *self, GError *error)
{
  self->work->failed = true;
  self->work->file.abandon ();
  gst_opencl_post_error (GST_ELEMENT (self), error);
  return GST_FLOW_ERROR;
}

static void
finish (GstNpySink *self)
{
  Work &work = *self->work;
  GError *error = nullptr;

  if (!work.file.is_open () || work.failed)
    return;
  if (work.file.frames () == 0)
    work.file.abandon ();
  else if (!work.file.finish (&error))
    fail (self, error);
}

static void
forget (GstNpySink *self)
{
  if (self->work)
    finish (self);
  delete self->work;
  self->work = nullptr;
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
  self->work = new Work;
  self->work->location = location;
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
    finish (GST_NPY_SINK (sink));
  return GST_BASE_SINK_CLASS (gst_npy_sink_parent_class)->event (sink, event);
}

/* --- caps --- */

static bool
read_caps (GstCaps *caps, Work &work, npy::FrameFormat &format, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  opencl::ArrayFormat array;

  work.is_video = gst_structure_has_name (structure, "video/x-raw");
  const bool known = work.is_video
                         ? gst_video_info_from_caps (&work.info, caps)
                               && opencl::array_of_video (&work.info, array, error)
                         : opencl::array_of_caps (caps, array, error);
  if (!known)
    return false;
  format.type = array.type;
  format.shape = array.shape;
  format.complex =
      g_strcmp0 (gst_structure_get_string (structure, "format"), "CF32LE") == 0;
  if (format.complex) /* the innermost 2 */
    format.shape.pop_back ();
  return true;
}

static gboolean
gst_npy_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  GstNpySink *self = GST_NPY_SINK (sink);
  Work &work = *self->work;
  npy::FrameFormat format;
  GError *error = nullptr;

  if (!read_caps (caps, work, format, &error)) {
    if (error)
      fail (self, error);
    return FALSE;
  }
  if (work.file.is_open () && format != work.format) {
    fail (self, g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                    "%s holds frames of another shape or type: a location with a %%d has "
                    "one file for each",
                    work.location.c_str ()));
    return FALSE;
  }
  work.format = format;
  return TRUE;
}

/* Lines may stand apart. */
static gboolean
gst_npy_sink_propose_allocation (GstBaseSink *, GstQuery *query)
{
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

/* --- frames --- */

static bool
write_frame (Work &work, const guint8 *data, gsize size, GError **error)
{
  const bool each = is_for_each_frame (work.location);

  if (!work.file.is_open ()
      && !work.file.create (
          location_of (work.location, work.frames), work.format, !each, error))
    return false;
  if (!work.file.append (data, size, error))
    return false;
  work.frames++;
  return !each || work.file.finish (error);
}

static bool
write_video (Work &work, GstBuffer *buffer, GError **error)
{
  const opencl::ArrayFormat array = {work.format.type, work.format.shape};
  const gsize lines = array.shape[0], line = array.bytes () / lines;
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, &work.info, buffer, GST_MAP_READ)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "A frame of %" G_GSIZE_FORMAT " bytes cannot be mapped",
        gst_buffer_get_size (buffer));
    return false;
  }
  auto *data = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
  const gsize stride = gsize (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0));
  if (stride != line) {
    work.rows.resize (line * lines);
    for (gsize y = 0; y < lines; y++)
      std::copy_n (data + y * stride, line, work.rows.data () + y * line);
    data = work.rows.data ();
  }
  const bool written = write_frame (work, data, line * lines, error);
  gst_video_frame_unmap (&frame);
  return written;
}

static bool
write_array (Work &work, GstBuffer *buffer, GError **error)
{
  const gsize bytes = opencl::ArrayFormat{work.format.type, work.format.shape}.bytes ()
                      * (work.format.complex ? 2 : 1);
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "An array of %" G_GSIZE_FORMAT " bytes cannot be mapped",
        gst_buffer_get_size (buffer));
    return false;
  }
  bool written = map.size >= bytes;
  if (written)
    written = write_frame (work, map.data, bytes, error);
  else
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A frame has %" G_GSIZE_FORMAT " bytes, expected %" G_GSIZE_FORMAT, map.size,
        bytes);
  gst_buffer_unmap (buffer, &map);
  return written;
}

static GstFlowReturn
gst_npy_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstNpySink *self = GST_NPY_SINK (sink);
  Work &work = *self->work;
  GError *error = nullptr;

  if (work.failed)
    return GST_FLOW_ERROR;
  const bool written = work.is_video ? write_video (work, buffer, &error)
                                     : write_array (work, buffer, &error);
  return written ? GST_FLOW_OK : fail (self, error);
}

/* --- the class --- */

static void
gst_npy_sink_finalize (GObject *object)
{
  GstNpySink *self = GST_NPY_SINK (object);
  delete self->settings;
  delete self->work;
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
