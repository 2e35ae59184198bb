/* npyparse: arrays of NumPy's .npy files to frames of raw spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-npyparse
 * @title: npyparse
 *
 * Makes frames of raw spectra of .npy files: an array of shape (samples,) is one A-line,
 * (lines, samples) one frame and (frames, lines, samples) that many. The stream is any
 * number of such files, one behind the other, as `filesrc` reads one and `multifilesrc`
 * many. Values of type uint16 and float32 pass as they are, float64 becomes float32.
 *
 * ## Example launch line
 * |[
 * python3 -c "import numpy; numpy.save ('/tmp/a.npy', numpy.random.rand (50, 64, 1024))"
 * gst-launch-1.0 filesrc location=/tmp/a.npy ! npyparse ! openclupload ! \
 *     octwindowinterp ! octfft db-min=-60 db-max=0 ! opencldownload ! videoconvert ! \
 *     autovideosink
 * ]| Two seconds of noise, as 50 B-scans.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <utility>

#include <gst/base/gstadapter.h>
#include <gst/opencl/gstopenclerror.h>

#include "elements.h"
#include <gst/opencl/npyfile.hpp>

GST_DEBUG_CATEGORY_STATIC (npy_parse_debug);
#define GST_CAT_DEFAULT npy_parse_debug

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-npy"));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("application/x-oct, domain = (string) wavelength, "
                     "format = (string) { U16LE, F32LE }, samples = (int) [ 1, max ], "
                     "lines = (int) [ 1, max ], framerate = (fraction) [ 0, max ]"));

enum {
  PROP_0,
  PROP_FRAMERATE,
};

constexpr int default_framerate_n = 25;
constexpr int default_framerate_d = 1;

/* Says that a function did what it could with the bytes that are there. */
constexpr GstFlowReturn flow_more_bytes = GST_FLOW_CUSTOM_SUCCESS;

namespace {

/* What a .npy file holds, as frames. `frames` is 0 where no file was seen. */
struct FrameArray {
  opencl::NpyType type;
  int samples;
  int lines;
  guint64 frames;
  gsize header_bytes;
  gsize frame_bytes;

  guint64 bytes () const { return header_bytes + frames * frame_bytes; }
};

/* A seek that upstream was asked for and whose segment has not come yet. */
struct PendingSeek {
  bool valid;
  guint64 offset;
  guint64 frame;
  GstSegment segment;
};

struct Framerate {
  int n;
  int d;

  bool is_fixed () const { return n > 0; }
  GstClockTime time_of (guint64 frame) const
  {
    return gst_util_uint64_scale (frame, guint64 (d) * GST_SECOND, n);
  }
  guint64 frame_at (GstClockTime time) const
  {
    guint64 frame = gst_util_uint64_scale (time, n, guint64 (d) * GST_SECOND);
    /* The frame's own time was rounded down, too. */
    return time_of (frame + 1) <= time ? frame + 1 : frame;
  }
};

} // namespace

struct GstNpyParse {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;

  Framerate framerate_property;

  /* Shared with the threads that seek and ask; under the object lock. */
  Framerate framerate;
  FrameArray first;
  GstSegment segment;
  GstFormat upstream_format;
  PendingSeek seek;

  /* The streaming thread's own. `offset` is where in the stream the adapter begins. */
  GstAdapter *adapter;
  guint64 offset;
  gsize skip;
  FrameArray array;
  guint64 frames_left;
  GstClockTime first_time;
  guint64 frames_since;
  guint64 frame_number;
  bool have_segment;
  bool at_start;
  bool discont;
  bool finished;
  GstEvent *segment_event;
  GQueue events;
  GstCaps *caps;
  GstBufferPool *pool;
};

struct GstNpyParseClass {
  GstElementClass parent_class;
};

G_DEFINE_TYPE (GstNpyParse, npy_parse, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE (
    npyparse, "npyparse", GST_RANK_PRIMARY, npy_parse_get_type ());

static GstNpyParse *
npy_parse_cast (gpointer instance)
{
  return reinterpret_cast<GstNpyParse *> (instance);
}

/* One error a stream: what follows it is refused without another one. */
static GstFlowReturn
npy_parse_fail (GstNpyParse *self, GError *error)
{
  self->finished = true;
  gst_opencl_post_error (GST_ELEMENT (self), error);
  return GST_FLOW_ERROR;
}

/* Of the header the adapter begins with, as far as its bytes tell. */
static gsize
npy_parse_header_size (GstNpyParse *self)
{
  guint8 preface[12] = {};
  gsize there = MIN (gst_adapter_available (self->adapter), sizeof preface);

  if (there > 0)
    gst_adapter_copy (self->adapter, preface, 0, there);
  return opencl::npy_header_size (preface, there);
}

static GstFlowReturn
npy_parse_fail_truncated (GstNpyParse *self, const char *cause)
{
  gsize there = gst_adapter_available (self->adapter);
  GError *error;

  if (self->frames_left == 0) {
    error = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "%s at byte %" G_GUINT64_FORMAT " in a .npy header: %" G_GSIZE_FORMAT
        " bytes of it are there, expected %" G_GSIZE_FORMAT,
        cause, self->offset + there, there, npy_parse_header_size (self));
  } else {
    guint64 frames = self->array.frames - self->frames_left;

    error = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "%s at byte %" G_GUINT64_FORMAT " in frame %" G_GUINT64_FORMAT
        " of %" G_GUINT64_FORMAT " of a .npy file: %" G_GUINT64_FORMAT
        " bytes of data are there, expected %" G_GUINT64_FORMAT,
        cause, self->offset + there, frames + 1, self->array.frames,
        frames * self->array.frame_bytes + there,
        self->array.frames * self->array.frame_bytes);
  }
  return npy_parse_fail (self, error);
}

static bool
npy_parse_between_files (GstNpyParse *self)
{
  return self->frames_left == 0 && gst_adapter_available (self->adapter) == 0;
}

/* Header to frames */

static gboolean
check_shape (const std::vector<gsize> &shape, GError **error)
{
  constexpr auto expected = "expected (samples,), (lines, samples) or "
                            "(frames, lines, samples)";
  const char *wrong = nullptr;

  if (shape.empty () || shape.size () > 3)
    wrong = "has another number of dimensions";
  for (gsize length : shape)
    wrong = length == 0 ? "is empty" : wrong;
  for (gsize i = shape.size () > 2 ? 1 : 0; !wrong && i < shape.size (); i++)
    wrong = shape[i] > gsize (G_MAXINT) ? "has more than 2147483647 lines or samples"
                                        : nullptr;
  if (!wrong)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "an array of shape %s %s, %s", opencl::npy_shape_text (shape).c_str (), wrong,
      expected);
  return FALSE;
}

static FrameArray
array_of (const opencl::NpyHeader &header)
{
  const std::vector<gsize> &shape = header.shape;
  gsize dimensions = shape.size ();
  gsize samples = shape[dimensions - 1];
  gsize lines = dimensions > 1 ? shape[dimensions - 2] : 1;
  gsize frames = dimensions > 2 ? shape[0] : 1;

  return {header.type, int (samples), int (lines), frames, header.data_offset,
      header.data_size () / frames};
}

/* Not even one frame can come: better said before gigabytes of it are collected. */
static gboolean
npy_parse_check_stream_size (GstNpyParse *self, const FrameArray &array, GError **error)
{
  gint64 size;
  guint64 needed = self->offset + array.header_bytes + array.frame_bytes;

  if (self->upstream_format != GST_FORMAT_BYTES
      || !gst_pad_peer_query_duration (self->sinkpad, GST_FORMAT_BYTES, &size) || size < 0
      || guint64 (size) >= needed)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
      "the stream ends at byte %" G_GINT64_FORMAT
      " in frame 1 of a .npy file, expected %" G_GUINT64_FORMAT " bytes or more",
      size, needed);
  return FALSE;
}

static gboolean
npy_parse_start_array (GstNpyParse *self, const guint8 *data, gsize size, GError **error)
{
  opencl::NpyHeader header;

  if (!opencl::npy_parse_header (data, size, header, error)
      || !check_shape (header.shape, error))
    return FALSE;
  FrameArray array = array_of (header);
  if (!npy_parse_check_stream_size (self, array, error))
    return FALSE;

  self->array = array;
  self->frames_left = array.frames;
  if (self->offset == 0) {
    GST_OBJECT_LOCK (self);
    self->first = array;
    GST_OBJECT_UNLOCK (self);
  }
  return TRUE;
}

/* Upstream's own timestamps go before counting; they are those of whole files. */
static void
npy_parse_take_timestamp (GstNpyParse *self)
{
  guint64 distance;
  GstClockTime pts = gst_adapter_prev_pts (self->adapter, &distance);

  if (self->upstream_format != GST_FORMAT_TIME || distance != 0
      || !GST_CLOCK_TIME_IS_VALID (pts))
    return;
  self->first_time = pts;
  self->frames_since = 0;
}

static GstFlowReturn
npy_parse_read_header (GstNpyParse *self)
{
  gsize size = npy_parse_header_size (self);
  GError *error = nullptr;

  if (size > gst_adapter_available (self->adapter))
    return flow_more_bytes;
  gconstpointer data = gst_adapter_map (self->adapter, size);
  gboolean ok =
      npy_parse_start_array (self, static_cast<const guint8 *> (data), size, &error);
  gst_adapter_unmap (self->adapter);

  if (!ok) {
    g_prefix_error (&error, "at byte %" G_GUINT64_FORMAT ": ", self->offset);
    return npy_parse_fail (self, error);
  }
  npy_parse_take_timestamp (self);
  gst_adapter_flush (self->adapter, self->array.header_bytes);
  self->offset += self->array.header_bytes;
  return GST_FLOW_OK;
}

/* Caps and allocation */

static GstCaps *
npy_parse_make_caps (GstNpyParse *self)
{
  return gst_caps_new_simple ("application/x-oct", "domain", G_TYPE_STRING, "wavelength",
      "format", G_TYPE_STRING,
      self->array.type == opencl::NpyType::U16 ? "U16LE" : "F32LE", "samples", G_TYPE_INT,
      self->array.samples, "lines", G_TYPE_INT, self->array.lines, "framerate",
      GST_TYPE_FRACTION, self->framerate.n, self->framerate.d, nullptr);
}

static gsize
output_bytes (const FrameArray &array)
{
  return array.type == opencl::NpyType::F64 ? array.frame_bytes / 2 : array.frame_bytes;
}

static void
npy_parse_release_pool (GstNpyParse *self)
{
  if (self->pool)
    gst_buffer_pool_set_active (self->pool, FALSE);
  gst_clear_object (&self->pool);
}

/* Downstream's memory may be worth a copy: pinned memory spares the transfer another. */
static void
npy_parse_take_pool (GstNpyParse *self, GstQuery *query)
{
  GstBufferPool *pool = nullptr;
  guint size, least, most;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  if (!pool)
    return;

  GstStructure *config = gst_buffer_pool_get_config (pool);
  size = MAX (size, output_bytes (self->array));
  gst_buffer_pool_config_set_params (config, self->caps, size, least, most);
  if (gst_buffer_pool_set_config (pool, config)
      && gst_buffer_pool_set_active (pool, TRUE))
    self->pool = pool;
  else
    gst_object_unref (pool);
}

static gboolean
npy_parse_negotiate (GstNpyParse *self)
{
  GstCaps *caps = npy_parse_make_caps (self);

  if (self->caps && gst_caps_is_equal (caps, self->caps)) {
    gst_caps_unref (caps);
    return TRUE;
  }
  gst_caps_take (&self->caps, caps);
  npy_parse_release_pool (self);
  if (!gst_pad_set_caps (self->srcpad, caps)) {
    gst_clear_caps (&self->caps);
    return FALSE;
  }

  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  if (output_bytes (self->array) <= G_MAXUINT && gst_pad_peer_query (self->srcpad, query))
    npy_parse_take_pool (self, query);
  gst_query_unref (query);
  return TRUE;
}

/* Frames */

static GstFlowReturn
npy_parse_allocate (GstNpyParse *self, GstBuffer **buffer)
{
  gsize size = output_bytes (self->array);

  if (self->pool) {
    GstFlowReturn flow = gst_buffer_pool_acquire_buffer (self->pool, buffer, nullptr);
    if (flow == GST_FLOW_OK)
      gst_buffer_set_size (*buffer, size);
    return flow;
  }
  *buffer = gst_buffer_new_allocate (nullptr, size, nullptr);
  return *buffer ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static void
convert_doubles (const guint8 *doubles, gsize count, guint8 *floats)
{
  for (gsize i = 0; i < count; i++)
    GST_WRITE_FLOAT_LE (floats + i * sizeof (float),
        float (GST_READ_DOUBLE_LE (doubles + i * sizeof (double))));
}

static void
npy_parse_fill (GstNpyParse *self, guint8 *destination)
{
  gsize size = self->array.frame_bytes;

  if (self->array.type != opencl::NpyType::F64) {
    gst_adapter_copy (self->adapter, destination, 0, size);
    return;
  }
  gconstpointer data = gst_adapter_map (self->adapter, size);
  convert_doubles (
      static_cast<const guint8 *> (data), size / sizeof (double), destination);
  gst_adapter_unmap (self->adapter);
}

static GstFlowReturn
npy_parse_make_frame (GstNpyParse *self, GstBuffer **buffer)
{
  GstMapInfo map;
  GstFlowReturn flow = npy_parse_allocate (self, buffer);

  if (flow != GST_FLOW_OK)
    return flow;
  if (!gst_buffer_map (*buffer, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (buffer);
    return npy_parse_fail (
        self, g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                  "a buffer of %" G_GSIZE_FORMAT " bytes cannot be mapped for writing",
                  output_bytes (self->array)));
  }
  npy_parse_fill (self, map.data);
  gst_buffer_unmap (*buffer, &map);
  gst_adapter_flush (self->adapter, self->array.frame_bytes);
  return GST_FLOW_OK;
}

/* A header may be of any length, but who reads floats may want them aligned. */
static bool
is_aligned (GstBuffer *buffer)
{
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return false;
  bool aligned = GPOINTER_TO_SIZE (map.data) % sizeof (float) == 0;
  gst_buffer_unmap (buffer, &map);
  return aligned;
}

static GstBuffer *
npy_parse_share_frame (GstNpyParse *self)
{
  GstBuffer *buffer = gst_adapter_take_buffer (self->adapter, self->array.frame_bytes);

  if (is_aligned (buffer))
    return gst_buffer_make_writable (buffer);
  GstBuffer *copy = gst_buffer_copy_deep (buffer);
  gst_buffer_unref (buffer);
  return copy;
}

static GstFlowReturn
npy_parse_take_frame (GstNpyParse *self, GstBuffer **buffer)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (self->pool || self->array.type == opencl::NpyType::F64)
    flow = npy_parse_make_frame (self, buffer);
  else
    *buffer = npy_parse_share_frame (self);
  if (flow == GST_FLOW_OK) {
    self->offset += self->array.frame_bytes;
    self->frames_left--;
  }
  return flow;
}

static void
npy_parse_stamp (GstNpyParse *self, GstBuffer *buffer)
{
  GstClockTime time = GST_CLOCK_TIME_NONE;
  GstClockTime duration = GST_CLOCK_TIME_NONE;

  if (self->framerate.is_fixed ()) {
    GstClockTime since = self->framerate.time_of (self->frames_since);
    duration = self->framerate.time_of (self->frames_since + 1) - since;
    time = self->first_time + since;
  } else if (self->frames_since == 0) {
    time = self->first_time;
  }
  GST_BUFFER_PTS (buffer) = time;
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = duration;
  GST_BUFFER_OFFSET (buffer) = self->frame_number;
  GST_BUFFER_OFFSET_END (buffer) = self->frame_number + 1;
  self->frames_since++;
  self->frame_number++;
}

static void
npy_parse_push_events (GstNpyParse *self)
{
  if (self->segment_event)
    gst_pad_push_event (self->srcpad, std::exchange (self->segment_event, nullptr));
  while (!g_queue_is_empty (&self->events))
    gst_pad_push_event (self->srcpad, GST_EVENT (g_queue_pop_head (&self->events)));
}

/* Frames that end before the segment, which a seek into a later file passes. */
static bool
npy_parse_is_before_segment (GstNpyParse *self, GstBuffer *buffer)
{
  return GST_BUFFER_PTS_IS_VALID (buffer) && GST_BUFFER_DURATION_IS_VALID (buffer)
         && GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer) <= self->segment.start;
}

static bool
npy_parse_is_behind_segment (GstNpyParse *self, GstBuffer *buffer)
{
  return GST_BUFFER_PTS_IS_VALID (buffer) && GST_CLOCK_TIME_IS_VALID (self->segment.stop)
         && GST_BUFFER_PTS (buffer) >= self->segment.stop;
}

static GstFlowReturn
npy_parse_push (GstNpyParse *self, GstBuffer *buffer)
{
  if (npy_parse_is_before_segment (self, buffer)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_OK;
  }
  if (npy_parse_is_behind_segment (self, buffer)) {
    self->finished = true;
    gst_buffer_unref (buffer);
    return GST_FLOW_EOS;
  }
  if (GST_BUFFER_PTS_IS_VALID (buffer)) {
    GST_OBJECT_LOCK (self);
    self->segment.position = GST_BUFFER_PTS (buffer);
    GST_OBJECT_UNLOCK (self);
  }
  gst_buffer_unset_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  if (std::exchange (self->discont, false))
    gst_buffer_set_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  return gst_pad_push (self->srcpad, buffer);
}

static GstFlowReturn
npy_parse_read_frame (GstNpyParse *self)
{
  GstBuffer *buffer = nullptr;

  if (gst_adapter_available (self->adapter) < self->array.frame_bytes)
    return flow_more_bytes;
  if (!npy_parse_negotiate (self))
    return GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING
                                              : GST_FLOW_NOT_NEGOTIATED;
  npy_parse_push_events (self);
  GstFlowReturn flow = npy_parse_take_frame (self, &buffer);
  if (flow != GST_FLOW_OK)
    return flow;
  npy_parse_stamp (self, buffer);
  return npy_parse_push (self, buffer);
}

/* The rest of a frame whose beginning a seek passed. */
static void
npy_parse_skip (GstNpyParse *self)
{
  gsize bytes = MIN (self->skip, gst_adapter_available (self->adapter));

  gst_adapter_flush (self->adapter, bytes);
  self->skip -= bytes;
  self->offset += bytes;
}

static bool
begins_with_magic (GstBuffer *buffer)
{
  return gst_buffer_memcmp (buffer, 0, opencl::npy_magic, sizeof opencl::npy_magic) == 0;
}

/* A file that is too short would otherwise be filled up with the next one: sources that
 * read many files make one buffer or more of each, so the next one's begins a buffer. */
static GstFlowReturn
npy_parse_check_continuity (GstNpyParse *self, GstBuffer *buffer)
{
  if (self->at_start || npy_parse_between_files (self))
    return GST_FLOW_OK;
  if (begins_with_magic (buffer))
    return npy_parse_fail_truncated (self, "the next .npy file begins");
  if (GST_BUFFER_IS_DISCONT (buffer))
    return npy_parse_fail_truncated (self, "the stream is interrupted");
  return GST_FLOW_OK;
}

static GstFlowReturn
npy_parse_chain (GstPad *, GstObject *parent, GstBuffer *buffer)
{
  GstNpyParse *self = npy_parse_cast (parent);

  if (self->finished) {
    gst_buffer_unref (buffer);
    return GST_FLOW_EOS;
  }
  GstFlowReturn flow = npy_parse_check_continuity (self, buffer);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }

  self->at_start = false;
  gst_adapter_push (self->adapter, buffer);
  npy_parse_skip (self);
  while (flow == GST_FLOW_OK)
    flow = self->frames_left ? npy_parse_read_frame (self) : npy_parse_read_header (self);
  return flow == flow_more_bytes ? GST_FLOW_OK : flow;
}

/* Segments */

/* Where in the first file a byte of the stream lies, and how far from the next frame.
 * Elsewhere a header is expected. */
static void
npy_parse_move_to (GstNpyParse *self, guint64 offset)
{
  const FrameArray &first = self->first;

  self->offset = offset;
  self->skip = 0;
  self->frames_left = 0;
  self->frame_number = 0;
  if (offset == 0 || first.frames == 0 || offset > first.bytes ())
    return;

  guint64 into = offset > first.header_bytes ? offset - first.header_bytes : 0;
  self->array = first;
  self->frame_number = into / first.frame_bytes + (into % first.frame_bytes != 0);
  self->frames_left = first.frames - self->frame_number;
  self->skip = first.header_bytes + self->frame_number * first.frame_bytes - offset;
}

static void
npy_parse_start_counting (GstNpyParse *self, GstClockTime time, guint64 frame)
{
  self->first_time = self->framerate.is_fixed () ? time : GST_CLOCK_TIME_NONE;
  self->frames_since = frame;
}

static void
npy_parse_send_segment (GstNpyParse *self, const GstSegment &segment, guint32 seqnum)
{
  GST_OBJECT_LOCK (self);
  self->segment = segment;
  GST_OBJECT_UNLOCK (self);
  gst_clear_event (&self->segment_event);
  self->segment_event = gst_event_new_segment (&segment);
  gst_event_set_seqnum (self->segment_event, seqnum);
  self->have_segment = true;
  self->discont = true;
}

static bool
npy_parse_finish_seek (GstNpyParse *self, guint64 offset, GstSegment *segment)
{
  GST_OBJECT_LOCK (self);
  bool found = self->seek.valid && self->seek.offset == offset;
  if (found) {
    *segment = self->seek.segment;
    self->seek.valid = false;
  }
  GST_OBJECT_UNLOCK (self);
  return found;
}

static void
npy_parse_start_bytes (GstNpyParse *self, guint64 offset, guint32 seqnum)
{
  GstSegment segment;

  /* The next one of several streams that are joined to one: time goes on. */
  if (self->have_segment)
    return;
  npy_parse_move_to (self, offset);
  npy_parse_start_counting (self, 0, self->frame_number);
  if (!npy_parse_finish_seek (self, offset, &segment)) {
    gst_segment_init (&segment, GST_FORMAT_TIME);
    if (self->framerate.is_fixed ())
      segment.start = segment.time = segment.position =
          self->framerate.time_of (self->frame_number);
  }
  npy_parse_send_segment (self, segment, seqnum);
}

static void
npy_parse_start_time (GstNpyParse *self, const GstSegment &segment, guint32 seqnum)
{
  npy_parse_start_counting (self, segment.start, 0);
  npy_parse_send_segment (self, segment, seqnum);
}

static void
npy_parse_handle_segment (GstNpyParse *self, GstEvent *event)
{
  const GstSegment *segment;
  guint32 seqnum = gst_event_get_seqnum (event);

  gst_event_parse_segment (event, &segment);
  if (self->have_segment && !npy_parse_between_files (self))
    npy_parse_fail_truncated (self, "the stream is interrupted");
  GST_OBJECT_LOCK (self);
  self->upstream_format = segment->format;
  GST_OBJECT_UNLOCK (self);
  if (segment->format == GST_FORMAT_TIME)
    npy_parse_start_time (self, *segment, seqnum);
  else
    npy_parse_start_bytes (
        self, segment->format == GST_FORMAT_BYTES ? segment->start : 0, seqnum);
  gst_event_unref (event);
}

/* Events */

static void
npy_parse_forget_position (GstNpyParse *self)
{
  gst_adapter_clear (self->adapter);
  gst_clear_event (&self->segment_event);
  self->have_segment = false;
  self->finished = false;
  self->at_start = true;
  self->discont = true;
  self->offset = 0;
  self->skip = 0;
  self->frames_left = 0;
  self->frame_number = 0;
  npy_parse_start_counting (self, 0, 0);
}

static void
npy_parse_forget_stream (GstNpyParse *self)
{
  npy_parse_forget_position (self);
  self->array = {};
  GST_OBJECT_LOCK (self);
  self->first = {};
  self->seek = {};
  self->upstream_format = GST_FORMAT_UNDEFINED;
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  GST_OBJECT_UNLOCK (self);
}

static void
npy_parse_take_caps (GstNpyParse *self, GstEvent *event)
{
  GstCaps *caps;
  Framerate framerate;

  gst_event_parse_caps (event, &caps);
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  GST_OBJECT_LOCK (self);
  if (!gst_structure_get_fraction (structure, "framerate", &framerate.n, &framerate.d))
    framerate = self->framerate_property;
  self->framerate = framerate;
  GST_OBJECT_UNLOCK (self);
  gst_event_unref (event);
}

static gboolean
npy_parse_end (GstNpyParse *self, GstEvent *event)
{
  bool nothing_came = self->array.frames == 0;

  if (!self->finished && (nothing_came || !npy_parse_between_files (self)))
    npy_parse_fail_truncated (self, "the stream ends");
  /* Downstream keeps what it got. Where that is nothing, the end would only make a sink
   * preroll on nothing beside the error, which applications do not expect. */
  if (!self->caps) {
    gst_event_unref (event);
    return FALSE;
  }
  npy_parse_push_events (self);
  return gst_pad_push_event (self->srcpad, event);
}

/* What follows the stream-start must not overtake caps and segment. */
static gboolean
npy_parse_forward (GstNpyParse *self, GstEvent *event)
{
  if (!GST_EVENT_IS_SERIALIZED (event) || GST_EVENT_TYPE (event) < GST_EVENT_CAPS
      || (self->caps && !self->segment_event))
    return gst_pad_push_event (self->srcpad, event);
  g_queue_push_tail (&self->events, event);
  return TRUE;
}

static gboolean
npy_parse_sink_event (GstPad *, GstObject *parent, GstEvent *event)
{
  GstNpyParse *self = npy_parse_cast (parent);

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    npy_parse_take_caps (self, event);
    return TRUE;
  case GST_EVENT_SEGMENT:
    npy_parse_handle_segment (self, event);
    return TRUE;
  case GST_EVENT_STREAM_START:
    npy_parse_forget_stream (self);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_FLUSH_STOP:
    npy_parse_forget_position (self);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_EOS:
    return npy_parse_end (self, event);
  default:
    return npy_parse_forward (self, event);
  }
}

/* Queries */

/* All frames of the stream: those of the first file, as often as it fits. */
static bool
npy_parse_count_frames (GstNpyParse *self, guint64 *frames)
{
  gint64 size;

  GST_OBJECT_LOCK (self);
  FrameArray first = self->first;
  bool in_bytes = self->upstream_format == GST_FORMAT_BYTES;
  GST_OBJECT_UNLOCK (self);
  if (!in_bytes || first.frames == 0
      || !gst_pad_peer_query_duration (self->sinkpad, GST_FORMAT_BYTES, &size)
      || size <= 0 || guint64 (size) % first.bytes () != 0)
    return false;
  *frames = guint64 (size) / first.bytes () * first.frames;
  return true;
}

static bool
npy_parse_get_duration (GstNpyParse *self, GstFormat format, gint64 *duration)
{
  guint64 frames;

  GST_OBJECT_LOCK (self);
  Framerate framerate = self->framerate;
  GST_OBJECT_UNLOCK (self);
  if (!npy_parse_count_frames (self, &frames))
    return false;
  if (format == GST_FORMAT_DEFAULT) {
    *duration = frames;
    return true;
  }
  if (format != GST_FORMAT_TIME || !framerate.is_fixed ())
    return false;
  *duration = framerate.time_of (frames);
  return true;
}

static gboolean
npy_parse_answer_duration (GstNpyParse *self, GstQuery *query)
{
  GstFormat format;
  gint64 duration;

  gst_query_parse_duration (query, &format, nullptr);
  if (!npy_parse_get_duration (self, format, &duration))
    return FALSE;
  gst_query_set_duration (query, format, duration);
  return TRUE;
}

static gboolean
npy_parse_answer_position (GstNpyParse *self, GstQuery *query)
{
  GstFormat format;

  gst_query_parse_position (query, &format, nullptr);
  if (format != GST_FORMAT_TIME)
    return FALSE;
  GST_OBJECT_LOCK (self);
  guint64 position = gst_segment_to_stream_time (
      &self->segment, GST_FORMAT_TIME, self->segment.position);
  GST_OBJECT_UNLOCK (self);
  gst_query_set_position (query, format, position);
  return TRUE;
}

static gboolean
npy_parse_answer_seeking (GstNpyParse *self, GstQuery *query)
{
  GstFormat format;
  gint64 duration = -1;
  gboolean seekable = FALSE;

  gst_query_parse_seeking (query, &format, nullptr, nullptr, nullptr);
  GstQuery *bytes = gst_query_new_seeking (GST_FORMAT_BYTES);
  if (format == GST_FORMAT_TIME && npy_parse_get_duration (self, format, &duration)
      && gst_pad_peer_query (self->sinkpad, bytes))
    gst_query_parse_seeking (bytes, nullptr, &seekable, nullptr, nullptr);
  gst_query_unref (bytes);
  gst_query_set_seeking (query, format, seekable, 0, duration);
  return TRUE;
}

static gboolean
npy_parse_src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  constexpr struct {
    GstQueryType type;
    gboolean (*answer) (GstNpyParse *, GstQuery *);
  } answers[] = {
      {GST_QUERY_DURATION, npy_parse_answer_duration},
      {GST_QUERY_POSITION, npy_parse_answer_position},
      {GST_QUERY_SEEKING, npy_parse_answer_seeking},
  };
  GstNpyParse *self = npy_parse_cast (parent);

  for (const auto &candidate : answers) {
    if (candidate.type != GST_QUERY_TYPE (query))
      continue;
    /* Upstream that counts in time knows better. */
    bool in_time = self->upstream_format == GST_FORMAT_TIME;
    return (in_time && gst_pad_peer_query (self->sinkpad, query))
           || candidate.answer (self, query);
  }
  return gst_pad_query_default (pad, parent, query);
}

/* Seeking */

/* Takes a seek in time and, where all that it needs is known, says what to read. */
static bool
npy_parse_plan_seek (GstNpyParse *self, GstEvent *event, PendingSeek *plan)
{
  gdouble rate;
  GstFormat format;
  GstSeekFlags flags;
  GstSeekType start_type, stop_type;
  gint64 start, stop;

  gst_event_parse_seek (
      event, &rate, &format, &flags, &start_type, &start, &stop_type, &stop);
  if (format != GST_FORMAT_TIME || rate <= 0 || !(flags & GST_SEEK_FLAG_FLUSH)
      || (flags & GST_SEEK_FLAG_SEGMENT) || self->first.frames == 0
      || self->upstream_format != GST_FORMAT_BYTES || !self->framerate.is_fixed ())
    return false;

  plan->segment = self->segment;
  if (!gst_segment_do_seek (&plan->segment, rate, format, flags, start_type, start,
          stop_type, stop, nullptr))
    return false;
  guint64 frame = self->framerate.frame_at (plan->segment.position);
  plan->frame = MIN (frame, self->first.frames);
  plan->offset =
      plan->frame ? self->first.header_bytes + plan->frame * self->first.frame_bytes : 0;
  plan->valid = true;
  return true;
}

static GstEvent *
seek_in_bytes (GstEvent *event, guint64 offset)
{
  gdouble rate;
  GstSeekFlags flags;

  gst_event_parse_seek (
      event, &rate, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  GstEvent *seek = gst_event_new_seek (rate, GST_FORMAT_BYTES, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, offset, GST_SEEK_TYPE_NONE, -1);
  gst_event_set_seqnum (seek, gst_event_get_seqnum (event));
  return seek;
}

static gboolean
npy_parse_handle_seek (GstNpyParse *self, GstEvent *event)
{
  PendingSeek plan = {};

  if (gst_pad_push_event (self->sinkpad, gst_event_ref (event)))
    return TRUE;
  gint64 duration = -1;
  npy_parse_get_duration (self, GST_FORMAT_TIME, &duration);
  GST_OBJECT_LOCK (self);
  self->segment.duration = duration;
  bool planned = npy_parse_plan_seek (self, event, &plan);
  if (planned)
    self->seek = plan;
  GST_OBJECT_UNLOCK (self);
  if (!planned)
    return FALSE;

  if (gst_pad_push_event (self->sinkpad, seek_in_bytes (event, plan.offset)))
    return TRUE;
  GST_OBJECT_LOCK (self);
  self->seek.valid = false;
  GST_OBJECT_UNLOCK (self);
  return FALSE;
}

static gboolean
npy_parse_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstNpyParse *self = npy_parse_cast (parent);

  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return gst_pad_event_default (pad, parent, event);
  gboolean done = npy_parse_handle_seek (self, event);
  gst_event_unref (event);
  return done;
}

/* Life cycle */

static void
npy_parse_reset (GstNpyParse *self)
{
  npy_parse_forget_stream (self);
  g_queue_clear_full (&self->events, reinterpret_cast<GDestroyNotify> (gst_event_unref));
  gst_clear_caps (&self->caps);
  npy_parse_release_pool (self);
  GST_OBJECT_LOCK (self);
  self->framerate = self->framerate_property;
  GST_OBJECT_UNLOCK (self);
}

static GstStateChangeReturn
npy_parse_change_state (GstElement *element, GstStateChange transition)
{
  GstNpyParse *self = npy_parse_cast (element);

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    npy_parse_reset (self);
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS (npy_parse_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    npy_parse_reset (self);
  return result;
}

static void
npy_parse_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstNpyParse *self = npy_parse_cast (object);

  switch (id) {
  case PROP_FRAMERATE:
    GST_OBJECT_LOCK (self);
    self->framerate_property = {gst_value_get_fraction_numerator (value),
        gst_value_get_fraction_denominator (value)};
    GST_OBJECT_UNLOCK (self);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static void
npy_parse_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstNpyParse *self = npy_parse_cast (object);

  switch (id) {
  case PROP_FRAMERATE:
    GST_OBJECT_LOCK (self);
    gst_value_set_fraction (
        value, self->framerate_property.n, self->framerate_property.d);
    GST_OBJECT_UNLOCK (self);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static void
npy_parse_finalize (GObject *object)
{
  GstNpyParse *self = npy_parse_cast (object);

  npy_parse_reset (self);
  g_clear_object (&self->adapter);
  G_OBJECT_CLASS (npy_parse_parent_class)->finalize (object);
}

static void
npy_parse_init (GstNpyParse *self)
{
  self->adapter = gst_adapter_new ();
  self->framerate_property = {default_framerate_n, default_framerate_d};
  g_queue_init (&self->events);

  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (self->sinkpad, npy_parse_chain);
  gst_pad_set_event_function (self->sinkpad, npy_parse_sink_event);
  gst_element_add_pad (GST_ELEMENT (self), self->sinkpad);

  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_event_function (self->srcpad, npy_parse_src_event);
  gst_pad_set_query_function (self->srcpad, npy_parse_src_query);
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);
  npy_parse_reset (self);
}

static void
npy_parse_class_init (GstNpyParseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (npy_parse_debug, "npyparse", 0, "frames of .npy files");
  object_class->set_property = npy_parse_set_property;
  object_class->get_property = npy_parse_get_property;
  object_class->finalize = npy_parse_finalize;
  element_class->change_state = npy_parse_change_state;

  g_object_class_install_property (object_class, PROP_FRAMERATE,
      gst_param_spec_fraction ("framerate", "Frame rate",
          "Frames per second, for timestamps; 0/1 for none. A framerate in the caps of "
          "the input goes before it",
          0, 1, G_MAXINT, 1, default_framerate_n, default_framerate_d,
          GParamFlags (
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "NumPy array parser",
      "Codec/Parser", "Makes frames of raw spectra of NumPy's .npy files",
      PACKAGE_ORIGIN);
}
