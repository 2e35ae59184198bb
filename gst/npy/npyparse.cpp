/* npyparse: parses .npy files into frames of raw spectra or into arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-npyparse
 * @title: npyparse
 *
 * Parses .npy files into frames of raw spectra. An array of shape (samples,) is one
 * A-line, (lines, samples) is one frame, and (frames, lines, samples) is a number of
 * frames. The stream is one such file, as from `filesrc`, or several in a row, as from
 * `multifilesrc`. Integers of 8 to 32 bits and float32 keep their type. Both byte orders
 * are supported.
 *
 * If downstream accepts `other/tensors`, as `openclkernel` does, an array of any shape
 * and of any numbers of fixed size is output as one buffer. Complex numbers get an
 * innermost dimension of 2. With `split`, each index of the outermost dimension is one
 * buffer. If downstream also accepts spectra, as `npysink` does, or any caps, the output
 * is spectra if they can hold the shape and values exactly, else an array.
 *
 * Spectra have no float64 format. If downstream accepts nothing else, as
 * `octwindowinterp` or a caps filter of `application/x-oct`, float64 is converted to
 * float32. An INFO message is posted if a value is rounded.
 *
 * Seeks and reverse playback are supported. If the source supports random access, as
 * `filesrc` does, one frame is read at a time.
 *
 * ## Example launch line
 * |[
 * python3 -c "import numpy; numpy.save ('/tmp/a.npy', numpy.random.rand (50, 64, 1024))"
 * gst-launch-1.0 filesrc location=/tmp/a.npy ! npyparse ! openclupload ! \
 *     octwindowinterp ! octfft db-min=-60 db-max=0 ! opencldownload ! videoconvert ! \
 *     autovideosink
 * ]| Shows two seconds of noise as 50 B-scans.
 * |[
 * gst-launch-1.0 filesrc location=/tmp/a.npy ! npyparse split=true ! openclupload ! \
 *     openclkernel expression="sqrt (x)" ! npysink location=/tmp/b.npy
 * ]| Writes the square roots of the same array.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <gst/base/gstadapter.h>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/common/bufferpools.hpp>
#include <gst/common/parserpads.hpp>
#include <gst/common/settings.hpp>

#include "elements.h"
#include "framearray.hpp"

GST_DEBUG_CATEGORY_STATIC (npy_parse_debug);
#define GST_CAT_DEFAULT npy_parse_debug

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-npy"));

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "application/x-oct, domain = (string) wavelength, "
            "format = (string) { U16LE, F32LE, U8, S8, S16LE, S32LE, U32LE }, samples = "
            "(int) [ 1, max ], "
            "lines = (int) [ 1, max ], framerate = (fraction) [ 0, max ]; " TENSORS_CAPS (
                "")));

/* Returned by functions that need more bytes to continue. */
constexpr GstFlowReturn flow_more_bytes = GST_FLOW_CUSTOM_SUCCESS;

using npy::FrameArray;
using npy::Framerate;
using npy::PlacedArray;

namespace {

struct NpyParseSettings {
  opencl::Fraction framerate = {25, 1};
  bool split = false;
};

const opencl::PropertyTable<NpyParseSettings> properties = {
    {"framerate", "Frame rate",
        "Frame rate for timestamps (0/1 = no timestamps; a framerate in the input caps "
        "takes precedence)",
        &NpyParseSettings::framerate, {{0, 1}, {G_MAXINT, 1}}, opencl::ready},
    {"split", "Split",
        "Output each index of the outermost dimension as a separate buffer "
        "(other/tensors)",
        &NpyParseSettings::split, opencl::ready},
};

/* Segment that was requested, and its position in the stream */
struct Wanted {
  GstSegment segment;
  guint64 first_frame;
  guint64 end_frame;
  guint64 offset;
  guint64 end_offset;

  bool is_backward () const { return segment.rate < 0; }
};

} // namespace

struct GstNpyParse {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;

  opencl::Settings<NpyParseSettings> *settings;

  /* Shared with threads that seek and query; protected by the object lock. `arrays` has
   * all arrays of the stream in pull mode, else the first one. */
  Framerate framerate;
  std::vector<PlacedArray> *arrays;
  GstSegment segment;
  GstFormat upstream_format;
  Wanted requested;
  guint32 requested_seqnum;
  bool seeking;

  /* Used by the streaming thread. `offset` is the position of the adapter's first byte in
   * the stream. */
  bool pulling;
  bool started;
  GstCaps *accepted_caps; /* (nullable): by downstream; queried once per stream */
  bool rounding_reported;
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
  bool failed;
  bool finished;
  bool refused;
  bool pushed;
  bool backward;
  GstEvent *segment_event;
  guint32 seqnum;
  GQueue events;
  GstCaps *caps;
  GstBufferPool *pool;

  /* Reverse playback: the frames from `reverse_start` to `reverse_end` - 1 are still to
   * be output. `blocks` has the bytes that upstream has pushed of them, in the order of
   * the stream. */
  guint64 reverse_start;
  guint64 reverse_end;
  GQueue blocks;
  gsize block_bytes;
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

/* Posts one error per stream. Later buffers are refused without another one. */
static GstFlowReturn
npy_parse_fail (
    GstNpyParse *self, GError *error, const opencl::Place &place = opencl::Place::here ())
{
  self->failed = self->finished = true;
  gst_opencl_post_error (GST_ELEMENT (self), error, place);
  return GST_FLOW_ERROR;
}

/* Returns the size of the header at the start of the adapter, as far as its bytes
 * tell. */
static gsize
npy_parse_header_size (GstNpyParse *self)
{
  guint8 preface[12] = {};
  gsize available = MIN (gst_adapter_available (self->adapter), sizeof preface);

  if (available > 0)
    gst_adapter_copy (self->adapter, preface, 0, available);
  return opencl::npy_header_size (preface, available);
}

static GstFlowReturn
npy_parse_fail_truncated (GstNpyParse *self, const char *cause)
{
  gsize available = gst_adapter_available (self->adapter);
  GError *error;

  if (self->frames_left == 0) {
    error = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "%s at byte %" G_GUINT64_FORMAT " in a .npy header: only %" G_GSIZE_FORMAT
        " bytes available, expected %" G_GSIZE_FORMAT,
        cause, self->offset + available, available, npy_parse_header_size (self));
  } else {
    guint64 frames = self->array.frames - self->frames_left;

    error = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "%s at byte %" G_GUINT64_FORMAT " in frame %" G_GUINT64_FORMAT
        " of %" G_GUINT64_FORMAT " of a .npy file: only %" G_GUINT64_FORMAT
        " bytes of data available, expected %" G_GUINT64_FORMAT,
        cause, self->offset + available, frames + 1, self->array.frames,
        frames * self->array.frame_bytes + available,
        self->array.frames * self->array.frame_bytes);
  }
  return npy_parse_fail (self, error);
}

static GstFormat
npy_parse_upstream_format (GstNpyParse *self)
{
  GST_OBJECT_LOCK (self);
  GstFormat format = self->upstream_format;
  GST_OBJECT_UNLOCK (self);
  return format;
}

static bool
npy_parse_get_stream_size (GstNpyParse *self, guint64 *size)
{
  gint64 bytes;

  if (npy_parse_upstream_format (self) != GST_FORMAT_BYTES
      || !gst_pad_peer_query_duration (self->sinkpad, GST_FORMAT_BYTES, &bytes)
      || bytes < 0)
    return false;
  *size = guint64 (bytes);
  return true;
}

static bool
npy_parse_between_files (GstNpyParse *self)
{
  return self->frames_left == 0 && gst_adapter_available (self->adapter) == 0;
}

/* Header to frames */

/* Fails early if the stream is too short for one frame, before gigabytes of it are
 * collected. */
static gboolean
npy_parse_check_stream_size (GstNpyParse *self, const FrameArray &array, GError **error)
{
  guint64 size;
  guint64 needed = self->offset + array.header_bytes + array.frame_bytes;

  if (!npy_parse_get_stream_size (self, &size) || size >= needed)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
      "the stream ends at byte %" G_GUINT64_FORMAT
      " in frame 1 of a .npy file, expected %" G_GUINT64_FORMAT " bytes or more",
      size, needed);
  return FALSE;
}

/* Caps of arrays list all equivalent spellings of the dimensions. */
static GstCaps *
npy_parse_make_caps (GstNpyParse *self, const FrameArray &array)
{
  GstStructure *structure;

  if (array.view.as_tensors) {
    structure = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING, "static",
        "num_tensors", G_TYPE_INT, 1, nullptr);
    opencl::set_array_fields (structure, array.format ());
  } else {
    structure = gst_structure_new ("application/x-oct", "domain", G_TYPE_STRING,
        "wavelength", "format", G_TYPE_STRING, npy::spectra_format (array.type),
        "samples", G_TYPE_INT, gint (array.lengths[1]), "lines", G_TYPE_INT,
        gint (array.lengths[0]), nullptr);
  }
  gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, self->framerate.n,
      self->framerate.d, nullptr);
  return gst_caps_new_full (structure, nullptr);
}

/* Returns whether downstream accepts `caps` (transfer full). Queries downstream once per
 * stream, which may consist of many small files. */
static bool
npy_parse_is_accepted (GstNpyParse *self, GstCaps *caps)
{
  if (!self->accepted_caps)
    self->accepted_caps = gst_pad_peer_query_caps (self->srcpad, nullptr);
  const bool accepted = gst_caps_can_intersect (caps, self->accepted_caps);
  gst_caps_unref (caps);
  return accepted;
}

namespace {
/* Array of a file, parsed as spectra or as tensors */
struct ParsedArray {
  FrameArray array = {};
  GError *error = nullptr; /* (nullable): why it cannot be parsed */

  ParsedArray (const guint8 *data, gsize size, npy::View view)
  {
    npy::frame_array_parse (data, size, view, array, &error);
  }
  ~ParsedArray () { g_clear_error (&error); }
  ParsedArray (const ParsedArray &) = delete;
};
} // namespace

/* Chooses the first that downstream accepts of: spectra without loss, tensors, spectra
 * with rounding. If it accepts none, it refuses the caps later. */
static bool
npy_parse_read_header (
    GstNpyParse *self, const guint8 *data, gsize size, FrameArray &array, GError **error)
{
  const bool split = self->settings->committed ().split;
  ParsedArray spectra (data, size, {false, split}), tensors (data, size, {true, split});
  const bool narrows = !spectra.error && spectra.array.is_narrowed ();
  const bool accepts_spectra =
      npy_parse_is_accepted (self, gst_caps_new_empty_simple ("application/x-oct"));
  const bool accepts_tensors =
      npy_parse_is_accepted (self, gst_caps_new_empty_simple (TENSORS_NAME));
  ParsedArray &fallback = accepts_tensors && !accepts_spectra ? tensors : spectra;
  ParsedArray *const by_preference[] = {
      narrows ? &tensors : &spectra, narrows ? &spectra : &tensors};

  for (ParsedArray *parsed : by_preference) {
    if (parsed->error
        || !npy_parse_is_accepted (self, npy_parse_make_caps (self, parsed->array)))
      continue;
    array = parsed->array;
    return true;
  }
  array = fallback.array;
  if (!fallback.error)
    return true;
  g_propagate_error (error, std::exchange (fallback.error, nullptr));
  return false;
}

static gboolean
npy_parse_start_array (GstNpyParse *self, const guint8 *data, gsize size, GError **error)
{
  FrameArray array;

  if (!npy_parse_read_header (self, data, size, array, error)
      || !npy_parse_check_stream_size (self, array, error))
    return FALSE;

  self->array = array;
  self->frames_left = array.frames;
  GST_OBJECT_LOCK (self);
  if (self->offset == 0 && !self->pulling)
    *self->arrays = {{array, 0, 0}};
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

/* Timestamps from upstream take precedence over counted ones. They apply to whole
 * files. */
static void
npy_parse_read_timestamp (GstNpyParse *self)
{
  guint64 distance;
  GstClockTime pts = gst_adapter_prev_pts (self->adapter, &distance);

  if (npy_parse_upstream_format (self) != GST_FORMAT_TIME || distance != 0
      || !GST_CLOCK_TIME_IS_VALID (pts))
    return;
  self->first_time = pts;
  self->frames_since = 0;
}

/* Caps and allocation */

/* Copies frames into downstream's memory. Pinned memory saves another copy in the
 * upload. */
static void
npy_parse_find_pool (GstNpyParse *self)
{
  self->pool = opencl::find_downstream_pool (
      self->srcpad, self->caps, self->array.output_bytes ());
}

/* Returns the fixated part of `caps` (transfer full) that downstream accepts, or empty
 * caps. Without a query, caps would be refused only with the first frame. */
static GstCaps *
npy_parse_wanted_caps (GstNpyParse *self, GstCaps *caps)
{
  GstCaps *taken = gst_pad_peer_query_caps (self->srcpad, caps);
  GstCaps *both = gst_caps_intersect (caps, taken);

  gst_caps_unref (taken);
  gst_caps_unref (caps);
  return gst_caps_is_empty (both) ? both : gst_caps_fixate (both);
}

static GstFlowReturn
npy_parse_negotiate (GstNpyParse *self)
{
  GstCaps *caps = npy_parse_make_caps (self, self->array);

  if (self->caps && gst_caps_is_subset (self->caps, caps)) {
    gst_caps_unref (caps);
    return GST_FLOW_OK;
  }
  gst_caps_take (&self->caps, npy_parse_wanted_caps (self, caps));
  opencl::release_pool (&self->pool);
  if (!gst_caps_is_empty (self->caps) && gst_pad_set_caps (self->srcpad, self->caps)) {
    npy_parse_find_pool (self);
    return GST_FLOW_OK;
  }
  gst_clear_caps (&self->caps);
  return GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
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
  npy_parse_read_timestamp (self);
  gst_adapter_flush (self->adapter, self->array.header_bytes);
  self->offset += self->array.header_bytes;
  /* Negotiates before a frame is collected, so that downstream can refuse it early. */
  return npy_parse_negotiate (self);
}

/* Frames */

/* `bytes` may be unaligned. */
static double
read_double (const guint8 *bytes, bool big_endian)
{
  guint64 bits;
  double value;

  std::memcpy (&bits, bytes, sizeof bits);
  bits = big_endian ? GUINT64_FROM_BE (bits) : GUINT64_FROM_LE (bits);
  std::memcpy (&value, &bits, sizeof value);
  return value;
}

/* Returns whether no value was rounded. */
static bool
convert_doubles (const guint8 *doubles, gsize count, bool big_endian, guint8 *floats)
{
  bool is_exact = true;

  for (gsize i = 0; i < count; i++) {
    const double value = read_double (doubles + i * sizeof (double), big_endian);
    const float rounded = float (value);
    is_exact = is_exact && (rounded == value || std::isnan (value));
    GST_WRITE_FLOAT_LE (floats + i * sizeof (float), rounded);
  }
  return is_exact;
}

static void
npy_parse_report_rounding (GstNpyParse *self)
{
  if (!std::exchange (self->rounding_reported, true))
    GST_ELEMENT_INFO (self, STREAM, FORMAT,
        ("float64 values are rounded to float32: downstream accepts spectra, "
         "but not " TENSORS_NAME),
        (nullptr));
}

static void
npy_parse_fill (GstNpyParse *self, guint8 *destination)
{
  gsize size = self->array.frame_bytes;

  if (!self->array.is_narrowed ()) {
    gst_adapter_copy (self->adapter, destination, 0, size);
    if (self->array.big_endian)
      opencl::npy_swap_bytes (destination, size, opencl::info_of (self->array.type).size);
    return;
  }
  gconstpointer data = gst_adapter_map (self->adapter, size);
  if (!convert_doubles (static_cast<const guint8 *> (data), size / sizeof (double),
          self->array.big_endian, destination))
    npy_parse_report_rounding (self);
  gst_adapter_unmap (self->adapter);
}

static GstFlowReturn
npy_parse_make_frame (GstNpyParse *self, GstBuffer **buffer)
{
  GstMapInfo map;
  GstFlowReturn flow =
      opencl::acquire_buffer (self->pool, self->array.output_bytes (), buffer);

  if (flow != GST_FLOW_OK)
    return flow;
  if (!gst_buffer_map (*buffer, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (buffer);
    return npy_parse_fail (
        self, g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                  "cannot map a buffer of %" G_GSIZE_FORMAT " bytes for writing",
                  self->array.output_bytes ()));
  }
  npy_parse_fill (self, map.data);
  gst_buffer_unmap (*buffer, &map);
  gst_adapter_flush (self->adapter, self->array.frame_bytes);
  return GST_FLOW_OK;
}

/* Elements that read numbers may need them aligned, but a header may have any length. */
static bool
is_aligned (GstBuffer *buffer, gsize alignment)
{
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return false;
  bool aligned = GPOINTER_TO_SIZE (map.data) % alignment == 0;
  gst_buffer_unmap (buffer, &map);
  return aligned;
}

static GstBuffer *
npy_parse_share_frame (GstNpyParse *self)
{
  GstBuffer *buffer = gst_adapter_take_buffer (self->adapter, self->array.frame_bytes);

  if (is_aligned (buffer, MAX (opencl::info_of (self->array.type).size, sizeof (float))))
    return gst_buffer_make_writable (buffer);
  GstBuffer *copy = gst_buffer_copy_deep (buffer);
  gst_buffer_unref (buffer);
  return copy;
}

static GstFlowReturn
npy_parse_extract_frame (GstNpyParse *self, GstBuffer **buffer)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (self->pool || self->array.is_narrowed () || self->array.big_endian)
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

/* A seek into a later file reads frames that end before the segment. They are dropped. */
static bool
npy_parse_is_before_segment (GstNpyParse *self, GstBuffer *buffer)
{
  return GST_BUFFER_PTS_IS_VALID (buffer) && GST_BUFFER_DURATION_IS_VALID (buffer)
         && GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer) <= self->segment.start;
}

static bool
npy_parse_is_after_segment (GstNpyParse *self, GstBuffer *buffer)
{
  return self->segment.rate > 0 && GST_BUFFER_PTS_IS_VALID (buffer)
         && GST_CLOCK_TIME_IS_VALID (self->segment.stop)
         && GST_BUFFER_PTS (buffer) >= self->segment.stop;
}

/* Sets the position to the end of the frame. A seek without a flush continues there. */
static void
npy_parse_set_position (GstNpyParse *self, GstBuffer *buffer)
{
  GstClockTime end = GST_BUFFER_PTS (buffer);

  if (!GST_CLOCK_TIME_IS_VALID (end))
    return;
  GST_OBJECT_LOCK (self);
  if (self->segment.rate > 0 && GST_BUFFER_DURATION_IS_VALID (buffer))
    end += GST_BUFFER_DURATION (buffer);
  if (GST_CLOCK_TIME_IS_VALID (self->segment.stop))
    end = MIN (end, self->segment.stop);
  self->segment.position = MAX (end, self->segment.start);
  GST_OBJECT_UNLOCK (self);
}

static GstFlowReturn
npy_parse_push (GstNpyParse *self, GstBuffer *buffer)
{
  if (npy_parse_is_before_segment (self, buffer)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_OK;
  }
  if (npy_parse_is_after_segment (self, buffer)) {
    self->finished = true;
    gst_buffer_unref (buffer);
    return GST_FLOW_EOS;
  }
  npy_parse_set_position (self, buffer);
  gst_buffer_unset_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  if (std::exchange (self->discont, false))
    gst_buffer_set_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  return std::exchange (self->pushed, true)
             ? gst_pad_push (self->srcpad, buffer)
             : opencl::push_first_frame (self->srcpad, buffer);
}

static GstFlowReturn
npy_parse_stamp_and_push (GstNpyParse *self, GstBuffer *buffer)
{
  npy_parse_stamp (self, buffer);
  npy_parse_push_events (self);
  return npy_parse_push (self, buffer);
}

static GstFlowReturn
npy_parse_read_frame (GstNpyParse *self)
{
  GstBuffer *buffer = nullptr;

  if (gst_adapter_available (self->adapter) < self->array.frame_bytes)
    return flow_more_bytes;
  /* Negotiates here too, because after a seek no header is read. */
  GstFlowReturn flow = npy_parse_negotiate (self);
  if (flow == GST_FLOW_OK)
    flow = npy_parse_extract_frame (self, &buffer);
  return flow == GST_FLOW_OK ? npy_parse_stamp_and_push (self, buffer) : flow;
}

/* Drops the rest of a frame if a seek went into the middle of it. */
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

/* Detects a file that is too short, which would otherwise be completed with bytes of the
 * next one. Sources that read many files begin a new buffer with each file. */
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
npy_parse_read_all (GstNpyParse *self)
{
  GstFlowReturn flow = GST_FLOW_OK;

  npy_parse_skip (self);
  while (flow == GST_FLOW_OK)
    flow = self->frames_left ? npy_parse_read_frame (self) : npy_parse_read_header (self);
  return flow == flow_more_bytes ? GST_FLOW_OK : flow;
}

/* Reverse playback */

static void
npy_parse_move_to_frame (GstNpyParse *self, const PlacedArray &placed, guint64 frame)
{
  self->array = placed.array;
  self->offset = placed.offset_of (frame);
  self->skip = 0;
  self->frame_number = self->frames_since = frame;
  self->frames_left = placed.end_frame () - frame;
}

/* Returns the array that has the frame, or the last one. */
static PlacedArray
npy_parse_array_of_frame (GstNpyParse *self, guint64 frame)
{
  GST_OBJECT_LOCK (self);
  auto found = self->arrays->begin ();
  while (found + 1 != self->arrays->end () && found->end_frame () <= frame)
    found++;
  PlacedArray placed = *found;
  GST_OBJECT_UNLOCK (self);
  return placed;
}

/* Upstream pushes blocks from the last to the first, each in forward order. Outputs the
 * frame at the end of the blocks collected so far. */
static GstFlowReturn
npy_parse_read_last_frame (GstNpyParse *self)
{
  while (!g_queue_is_empty (&self->blocks))
    gst_adapter_push (self->adapter, GST_BUFFER (g_queue_pop_head (&self->blocks)));
  self->block_bytes -= self->array.frame_bytes;
  if (self->block_bytes > 0)
    g_queue_push_head (
        &self->blocks, gst_adapter_take_buffer (self->adapter, self->block_bytes));
  self->reverse_end--;
  npy_parse_move_to_frame (
      self, npy_parse_array_of_frame (self, self->reverse_end), self->reverse_end);
  return npy_parse_read_frame (self);
}

static GstFlowReturn
npy_parse_chain_backward (GstNpyParse *self, GstBuffer *buffer)
{
  GstFlowReturn flow = GST_FLOW_OK;

  g_queue_push_head (&self->blocks, buffer);
  self->block_bytes += gst_buffer_get_size (buffer);
  while (flow == GST_FLOW_OK && self->reverse_end > self->reverse_start
         && self->block_bytes >= self->array.frame_bytes)
    flow = npy_parse_read_last_frame (self);
  return flow;
}

/* Push mode */

static GstFlowReturn
npy_parse_handle_buffer (GstNpyParse *self, GstBuffer *buffer)
{
  if (self->backward)
    return npy_parse_chain_backward (self, buffer);

  GstFlowReturn flow = npy_parse_check_continuity (self, buffer);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }
  self->at_start = false;
  gst_adapter_push (self->adapter, buffer);
  return npy_parse_read_all (self);
}

static GstFlowReturn
npy_parse_chain (GstPad *, GstObject *parent, GstBuffer *buffer)
{
  GstNpyParse *self = npy_parse_cast (parent);

  if (self->finished) {
    gst_buffer_unref (buffer);
    return GST_FLOW_EOS;
  }
  GstFlowReturn flow = npy_parse_handle_buffer (self, buffer);
  /* A file is not truncated if downstream wants no more of it. */
  self->refused = flow != GST_FLOW_OK;
  return flow;
}

/* Segments */

/* Moves to a byte of the stream. In the first file, finds the next frame and the number
 * of bytes to skip before it. Elsewhere a header must follow. */
static void
npy_parse_move_to (GstNpyParse *self, guint64 offset)
{
  self->offset = offset;
  self->skip = 0;
  self->frames_left = 0;
  self->frame_number = 0;
  if (offset == 0 || self->arrays->empty () || offset > self->arrays->front ().end ())
    return;

  const FrameArray &first = self->arrays->front ().array;
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
  self->seqnum = seqnum;
  self->have_segment = true;
  self->discont = true;
}

static void
npy_parse_drop_bytes (GstNpyParse *self)
{
  gst_adapter_clear (self->adapter);
  g_queue_clear_full (&self->blocks, reinterpret_cast<GDestroyNotify> (gst_buffer_unref));
  self->block_bytes = 0;
  self->skip = 0;
  self->frames_left = 0;
  self->finished = self->refused = self->backward = false;
  self->at_start = true;
}

/* A seek replaces the current segment. */
static void
npy_parse_start_requested (GstNpyParse *self, const Wanted &wanted, guint32 seqnum)
{
  npy_parse_drop_bytes (self);
  self->backward = wanted.is_backward ();
  self->reverse_start = wanted.first_frame;
  self->reverse_end = wanted.end_frame;
  PlacedArray placed = npy_parse_array_of_frame (self, wanted.first_frame);
  if (self->backward)
    self->array = placed.array;
  else if (self->pulling && wanted.first_frame < placed.end_frame ())
    npy_parse_move_to_frame (self, placed, wanted.first_frame);
  else
    npy_parse_move_to (self, wanted.offset);
  npy_parse_start_counting (self, 0, self->frame_number);
  npy_parse_send_segment (self, wanted.segment, seqnum);
}

/* The segment of an earlier seek may arrive after the next seek was requested. */
static bool
npy_parse_finish_seek (GstNpyParse *self, guint32 seqnum, Wanted *wanted)
{
  GST_OBJECT_LOCK (self);
  bool found = self->seeking && self->requested_seqnum == seqnum;
  if (found) {
    *wanted = self->requested;
    self->seeking = false;
  }
  GST_OBJECT_UNLOCK (self);
  return found;
}

static void
npy_parse_start_bytes (GstNpyParse *self, guint64 offset, guint32 seqnum)
{
  GstSegment segment;

  /* Another one of concatenated streams: the time continues. */
  if (self->have_segment)
    return;
  npy_parse_move_to (self, offset);
  npy_parse_start_counting (self, 0, self->frame_number);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  if (self->framerate.is_fixed ())
    segment.start = segment.time = segment.position =
        self->framerate.time_of (self->frame_number);
  npy_parse_send_segment (self, segment, seqnum);
}

static void
npy_parse_start_time (GstNpyParse *self, const GstSegment &segment, guint32 seqnum)
{
  npy_parse_start_counting (self, segment.start, 0);
  npy_parse_send_segment (self, segment, seqnum);
}

static void
npy_parse_start_segment (GstNpyParse *self, const GstSegment &segment, guint32 seqnum)
{
  if (self->have_segment && !self->refused && !npy_parse_between_files (self))
    npy_parse_fail_truncated (self, "the stream is interrupted");
  GST_OBJECT_LOCK (self);
  self->upstream_format = segment.format;
  GST_OBJECT_UNLOCK (self);
  if (segment.format == GST_FORMAT_TIME)
    npy_parse_start_time (self, segment, seqnum);
  else
    npy_parse_start_bytes (
        self, segment.format == GST_FORMAT_BYTES ? segment.start : 0, seqnum);
}

static void
npy_parse_handle_segment (GstNpyParse *self, GstEvent *event)
{
  const GstSegment *segment;
  guint32 seqnum = gst_event_get_seqnum (event);
  Wanted wanted;

  gst_event_parse_segment (event, &segment);
  if (npy_parse_finish_seek (self, seqnum, &wanted))
    npy_parse_start_requested (self, wanted, seqnum);
  else
    npy_parse_start_segment (self, *segment, seqnum);
  gst_event_unref (event);
}

/* Events */

static void
npy_parse_reset_position (GstNpyParse *self)
{
  npy_parse_drop_bytes (self);
  gst_clear_event (&self->segment_event);
  self->have_segment = false;
  self->failed = false;
  self->pushed = false;
  self->discont = true;
  self->offset = 0;
  self->frame_number = 0;
  npy_parse_start_counting (self, 0, 0);
}

static void
npy_parse_reset_stream (GstNpyParse *self)
{
  npy_parse_reset_position (self);
  self->started = self->rounding_reported = false;
  gst_clear_caps (&self->accepted_caps);
  self->array = {};
  GST_OBJECT_LOCK (self);
  self->arrays->clear ();
  self->seeking = false;
  self->upstream_format = GST_FORMAT_UNDEFINED;
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  GST_OBJECT_UNLOCK (self);
}

static Framerate
npy_parse_wanted_framerate (GstNpyParse *self)
{
  opencl::Fraction wanted = self->settings->committed ().framerate;
  return {wanted.numerator, wanted.denominator};
}

static void
npy_parse_set_framerate (GstNpyParse *self, GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  Framerate framerate;

  if (!gst_structure_get_fraction (structure, "framerate", &framerate.n, &framerate.d))
    framerate = npy_parse_wanted_framerate (self);
  GST_OBJECT_LOCK (self);
  self->framerate = framerate;
  GST_OBJECT_UNLOCK (self);
}

static void
npy_parse_set_caps (GstNpyParse *self, GstEvent *event)
{
  GstCaps *caps;

  gst_event_parse_caps (event, &caps);
  npy_parse_set_framerate (self, caps);
  gst_event_unref (event);
}

/* Returns whether bytes of the stream are unread, as after a source that was stopped
 * early. */
static bool
npy_parse_has_more (GstNpyParse *self)
{
  guint64 size;
  guint64 read = self->offset + gst_adapter_available (self->adapter);

  return npy_parse_get_stream_size (self, &size) && read < size;
}

/* Returns whether a stream that ends here is truncated. */
static bool
npy_parse_is_truncated (GstNpyParse *self)
{
  bool has_no_data = self->array.frames == 0;

  return !self->finished && !self->refused && !self->backward
         && (has_no_data || !npy_parse_between_files (self))
         && !npy_parse_has_more (self);
}

static void
npy_parse_push_segment_done (GstNpyParse *self)
{
  GST_OBJECT_LOCK (self);
  if (self->segment.rate < 0)
    self->segment.position = self->segment.start;
  else if (GST_CLOCK_TIME_IS_VALID (self->segment.stop))
    self->segment.position = self->segment.stop;
  GstEvent *event = gst_event_new_segment_done (GST_FORMAT_TIME, self->segment.position);
  GST_OBJECT_UNLOCK (self);
  gst_event_set_seqnum (event, self->seqnum);
  npy_parse_push_events (self);
  gst_pad_push_event (self->srcpad, event);
}

static gboolean
npy_parse_end (GstNpyParse *self, GstEvent *event)
{
  if (npy_parse_is_truncated (self))
    npy_parse_fail_truncated (self, "the stream ends");
  /* If an error occurs before the first frame, EOS is not sent. A sink would preroll
   * without data, which applications do not expect after an error. */
  if (!self->pushed && (self->failed || self->refused)) {
    gst_event_unref (event);
    return FALSE;
  }
  npy_parse_push_events (self);
  return gst_pad_push_event (self->srcpad, event);
}

/* Other events must follow stream-start, caps and segment. */
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
    npy_parse_set_caps (self, event);
    return TRUE;
  case GST_EVENT_SEGMENT:
    npy_parse_handle_segment (self, event);
    return TRUE;
  case GST_EVENT_STREAM_START:
    npy_parse_reset_stream (self);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_FLUSH_STOP:
    npy_parse_reset_position (self);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_SEGMENT_DONE:
    npy_parse_push_segment_done (self);
    gst_event_unref (event);
    return TRUE;
  case GST_EVENT_EOS:
    return npy_parse_end (self, event);
  default:
    return npy_parse_forward (self, event);
  }
}

/* Pull mode */

/* Reads until the adapter has `needed` bytes. */
static GstFlowReturn
npy_parse_pull (GstNpyParse *self, gsize needed)
{
  constexpr gsize max_read = 1 << 30;
  gsize available;

  while ((available = gst_adapter_available (self->adapter)) < needed) {
    GstBuffer *buffer = nullptr;
    GstFlowReturn flow = gst_pad_pull_range (self->sinkpad, self->offset + available,
        guint (MIN (needed - available, max_read)), &buffer);

    if (flow != GST_FLOW_OK)
      return flow;
    gst_adapter_push (self->adapter, buffer);
  }
  return GST_FLOW_OK;
}

/* Reads the header of the file at `offset`. Errors in it are reported when it is
 * played. */
static bool
npy_parse_pull_array (GstNpyParse *self, FrameArray *array)
{
  gsize size = 0;
  gsize needed = npy_parse_header_size (self);

  while (size < needed && npy_parse_pull (self, needed) == GST_FLOW_OK) {
    size = needed;
    needed = npy_parse_header_size (self);
  }
  if (size < needed)
    return false;
  gconstpointer data = gst_adapter_map (self->adapter, size);
  bool parsed = npy_parse_read_header (
      self, static_cast<const guint8 *> (data), size, *array, nullptr);
  gst_adapter_unmap (self->adapter);
  return parsed;
}

static std::vector<PlacedArray>
npy_parse_pull_arrays (GstNpyParse *self)
{
  std::vector<PlacedArray> arrays;
  FrameArray array;
  guint64 size = 0, frames = 0;

  npy_parse_get_stream_size (self, &size);
  while (self->offset < size && npy_parse_pull_array (self, &array)) {
    arrays.push_back ({array, self->offset, frames});
    frames += array.frames;
    self->offset += array.bytes ();
    gst_adapter_clear (self->adapter);
  }
  gst_adapter_clear (self->adapter);
  self->offset = 0;
  return arrays;
}

static void
npy_parse_start_pulling (GstNpyParse *self)
{
  GstSegment segment;
  GstCaps *caps = gst_pad_peer_query_caps (self->sinkpad, nullptr);

  self->started = true;
  opencl::push_parser_stream_start (GST_ELEMENT (self), self->sinkpad, self->srcpad);
  if (gst_caps_is_fixed (caps))
    npy_parse_set_framerate (self, caps);
  gst_caps_unref (caps);
  npy_parse_start_counting (self, 0, 0);

  GST_OBJECT_LOCK (self);
  self->upstream_format = GST_FORMAT_BYTES;
  GST_OBJECT_UNLOCK (self);
  std::vector<PlacedArray> arrays = npy_parse_pull_arrays (self);
  GST_OBJECT_LOCK (self);
  *self->arrays = std::move (arrays);
  GST_OBJECT_UNLOCK (self);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  npy_parse_send_segment (self, segment, gst_util_seqnum_next ());
}

static GstFlowReturn
npy_parse_pull_next (GstNpyParse *self)
{
  gsize needed =
      self->frames_left ? self->array.frame_bytes : npy_parse_header_size (self);
  GstFlowReturn flow = npy_parse_pull (self, needed);

  if (flow != GST_FLOW_OK && flow != GST_FLOW_EOS)
    return flow;
  /* Parses also at EOS, because the last bytes may not be a valid header. */
  GstFlowReturn read = npy_parse_read_all (self);
  if (read == GST_FLOW_OK && flow == GST_FLOW_EOS && npy_parse_is_truncated (self))
    return npy_parse_fail_truncated (self, "the stream ends");
  return read == GST_FLOW_OK ? flow : read;
}

static GstFlowReturn
npy_parse_pull_previous (GstNpyParse *self)
{
  if (self->reverse_end == self->reverse_start)
    return GST_FLOW_EOS;
  self->reverse_end--;
  npy_parse_move_to_frame (
      self, npy_parse_array_of_frame (self, self->reverse_end), self->reverse_end);
  GstFlowReturn flow = npy_parse_pull (self, self->array.frame_bytes);
  return flow == GST_FLOW_OK ? npy_parse_read_frame (self) : flow;
}

static void
npy_parse_end_pulling (GstNpyParse *self, GstFlowReturn flow)
{
  self->refused = true;
  if (flow == GST_FLOW_FLUSHING)
    return;
  if (flow != GST_FLOW_EOS && !self->failed)
    GST_ELEMENT_FLOW_ERROR (self, flow);
  if (flow == GST_FLOW_EOS && (self->segment.flags & GST_SEGMENT_FLAG_SEGMENT)) {
    npy_parse_push_segment_done (self);
    GstMessage *message = gst_message_new_segment_done (
        GST_OBJECT (self), GST_FORMAT_TIME, self->segment.position);
    gst_message_set_seqnum (message, self->seqnum);
    gst_element_post_message (GST_ELEMENT (self), message);
    return;
  }
  GstEvent *event = gst_event_new_eos ();
  gst_event_set_seqnum (event, self->seqnum);
  npy_parse_end (self, event);
}

static void
npy_parse_loop (gpointer data)
{
  GstNpyParse *self = npy_parse_cast (data);

  if (!self->started)
    npy_parse_start_pulling (self);
  GstFlowReturn flow =
      self->backward ? npy_parse_pull_previous (self) : npy_parse_pull_next (self);
  if (flow == GST_FLOW_OK)
    return;
  gst_pad_pause_task (self->sinkpad);
  npy_parse_end_pulling (self, flow);
}

static gboolean
npy_parse_activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  GstNpyParse *self = npy_parse_cast (parent);

  GST_OBJECT_LOCK (self);
  self->pulling = active && mode == GST_PAD_MODE_PULL;
  GST_OBJECT_UNLOCK (self);
  if (mode != GST_PAD_MODE_PULL)
    return TRUE;
  return active ? gst_pad_start_task (pad, npy_parse_loop, self, nullptr)
                : gst_pad_stop_task (pad);
}

/* Queries */

/* Counts the frames of the stream. `exact` means that all its files are known. Else all
 * files are assumed to be like the first one. */
static bool
npy_parse_count_frames (GstNpyParse *self, guint64 *frames, bool *exact)
{
  guint64 size;
  bool counted = false;

  if (!npy_parse_get_stream_size (self, &size))
    return false;
  GST_OBJECT_LOCK (self);
  if (!self->arrays->empty ()) {
    const PlacedArray &last = self->arrays->back ();

    *exact = last.end () == size;
    *frames = *exact ? last.end_frame () : size / last.array.bytes () * last.array.frames;
    counted = *exact || (!self->pulling && size % last.array.bytes () == 0);
  }
  GST_OBJECT_UNLOCK (self);
  return counted;
}

static bool
npy_parse_get_duration (GstNpyParse *self, GstFormat format, gint64 *duration)
{
  guint64 frames;
  bool exact;

  GST_OBJECT_LOCK (self);
  Framerate framerate = self->framerate;
  GST_OBJECT_UNLOCK (self);
  if (!npy_parse_count_frames (self, &frames, &exact))
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
  GST_OBJECT_LOCK (self);
  Framerate framerate = self->framerate;
  guint64 position = gst_segment_to_stream_time (
      &self->segment, GST_FORMAT_TIME, self->segment.position);
  GST_OBJECT_UNLOCK (self);
  if (format == GST_FORMAT_DEFAULT && framerate.is_fixed ())
    position = framerate.frame_at (position);
  else if (format != GST_FORMAT_TIME)
    return FALSE;
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
    /* If upstream works in time, its answer takes precedence. */
    bool in_time = npy_parse_upstream_format (self) == GST_FORMAT_TIME;
    return (in_time && gst_pad_peer_query (self->sinkpad, query))
           || candidate.answer (self, query);
  }
  return gst_pad_query_default (pad, parent, query);
}

/* Seeking */

static void
find_frames (Wanted *wanted, Framerate framerate, guint64 total)
{
  const GstSegment &segment = wanted->segment;

  wanted->first_frame = MIN (total,
      framerate.frame_at (wanted->is_backward () ? segment.start : segment.position));
  wanted->end_frame = total;
  if (GST_CLOCK_TIME_IS_VALID (segment.stop))
    wanted->end_frame = MIN (total, framerate.frame_from (segment.stop));
  wanted->end_frame = MAX (wanted->end_frame, wanted->first_frame);
}

/* In push mode only the first file is known. A seek into a later one reads on from the
 * end of the first, and drops frames before the segment. */
static void
npy_parse_find_bytes (GstNpyParse *self, Wanted *wanted)
{
  const PlacedArray &first = self->arrays->front ();
  guint64 frame = MIN (wanted->first_frame, first.end_frame ());

  wanted->offset = frame == 0 && !wanted->is_backward () ? 0 : first.offset_of (frame);
  wanted->end_offset = wanted->end_frame > first.end_frame ()
                           ? GST_CLOCK_TIME_NONE
                           : first.offset_of (wanted->end_frame);
  if (self->pulling && wanted->first_frame >= self->arrays->back ().end_frame ())
    wanted->offset = self->arrays->back ().end ();
}

/* Finds the frames and bytes to read for a seek in time. Returns false if the seek is not
 * possible. */
static bool
npy_parse_plan_seek (GstNpyParse *self, GstEvent *event, Wanted *wanted)
{
  gdouble rate;
  GstFormat format;
  GstSeekFlags flags;
  GstSeekType start_type, stop_type;
  gint64 start, stop;
  guint64 total = G_MAXUINT64;
  bool exact = false;

  gst_event_parse_seek (
      event, &rate, &format, &flags, &start_type, &start, &stop_type, &stop);
  bool counted = npy_parse_count_frames (self, &total, &exact);
  if (format != GST_FORMAT_TIME || (flags & GST_SEEK_FLAG_INSTANT_RATE_CHANGE)
      || npy_parse_upstream_format (self) != GST_FORMAT_BYTES || (rate < 0 && !exact))
    return false;

  GST_OBJECT_LOCK (self);
  bool planned = !self->arrays->empty () && self->framerate.is_fixed ();
  wanted->segment = self->segment;
  if (planned && counted)
    wanted->segment.duration = self->framerate.time_of (total);
  planned = planned
            && gst_segment_do_seek (&wanted->segment, rate, format, flags, start_type,
                start, stop_type, stop, nullptr);
  if (planned && rate < 0 && !GST_CLOCK_TIME_IS_VALID (wanted->segment.stop))
    wanted->segment.stop = wanted->segment.position = wanted->segment.duration;
  if (planned) {
    find_frames (wanted, self->framerate, counted ? total : G_MAXUINT64);
    npy_parse_find_bytes (self, wanted);
  }
  GST_OBJECT_UNLOCK (self);
  return planned;
}

/* Converts a seek to bytes. Upstream gets the end only for segment seeks and reverse
 * playback, where it must stop or start there. */
static GstEvent *
seek_in_bytes (GstEvent *event, const Wanted &wanted)
{
  gdouble rate;
  GstSeekFlags flags;

  gst_event_parse_seek (
      event, &rate, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  bool ends = (wanted.is_backward () || (flags & GST_SEEK_FLAG_SEGMENT))
              && GST_CLOCK_TIME_IS_VALID (wanted.end_offset);
  GstEvent *seek = gst_event_new_seek (wanted.is_backward () ? -1 : 1, GST_FORMAT_BYTES,
      GstSeekFlags (flags & (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT)),
      GST_SEEK_TYPE_SET, wanted.offset, GST_SEEK_TYPE_SET,
      ends ? gint64 (wanted.end_offset) : -1);
  gst_event_set_seqnum (seek, gst_event_get_seqnum (event));
  return seek;
}

static bool
npy_parse_seek_pushed (GstNpyParse *self, GstEvent *event, const Wanted &wanted)
{
  GST_OBJECT_LOCK (self);
  self->requested = wanted;
  self->requested_seqnum = gst_event_get_seqnum (event);
  self->seeking = true;
  GST_OBJECT_UNLOCK (self);
  if (gst_pad_push_event (self->sinkpad, seek_in_bytes (event, wanted)))
    return true;
  GST_OBJECT_LOCK (self);
  self->seeking = false;
  GST_OBJECT_UNLOCK (self);
  return false;
}

static void
npy_parse_flush (GstNpyParse *self, GstEvent *event, guint32 seqnum)
{
  gst_event_set_seqnum (event, seqnum);
  gst_pad_push_event (self->sinkpad, gst_event_ref (event));
  gst_pad_push_event (self->srcpad, event);
}

static bool
npy_parse_seek_pulled (GstNpyParse *self, GstEvent *event, Wanted wanted)
{
  guint32 seqnum = gst_event_get_seqnum (event);
  GstSeekFlags flags;

  gst_event_parse_seek (
      event, nullptr, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  if (flags & GST_SEEK_FLAG_FLUSH)
    npy_parse_flush (self, gst_event_new_flush_start (), seqnum);
  else
    gst_pad_pause_task (self->sinkpad);
  GST_PAD_STREAM_LOCK (self->sinkpad);
  if (flags & GST_SEEK_FLAG_FLUSH)
    npy_parse_flush (self, gst_event_new_flush_stop (TRUE), seqnum);
  /* Repeated, because the position of the last segment is final only now. */
  npy_parse_plan_seek (self, event, &wanted);
  npy_parse_start_requested (self, wanted, seqnum);
  if (flags & GST_SEEK_FLAG_SEGMENT)
    gst_element_post_message (
        GST_ELEMENT (self), gst_message_new_segment_start (GST_OBJECT (self),
                                GST_FORMAT_TIME, wanted.segment.position));
  gst_pad_start_task (self->sinkpad, npy_parse_loop, self, nullptr);
  GST_PAD_STREAM_UNLOCK (self->sinkpad);
  return true;
}

static gboolean
npy_parse_handle_seek (GstNpyParse *self, GstEvent *event)
{
  Wanted wanted = {};

  if (gst_pad_push_event (self->sinkpad, gst_event_ref (event)))
    return TRUE;
  if (!npy_parse_plan_seek (self, event, &wanted))
    return FALSE;
  return self->pulling ? npy_parse_seek_pulled (self, event, wanted)
                       : npy_parse_seek_pushed (self, event, wanted);
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
  npy_parse_reset_stream (self);
  g_queue_clear_full (&self->events, reinterpret_cast<GDestroyNotify> (gst_event_unref));
  gst_clear_caps (&self->caps);
  opencl::release_pool (&self->pool);
  Framerate wanted = npy_parse_wanted_framerate (self);
  GST_OBJECT_LOCK (self);
  self->framerate = wanted;
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
npy_parse_finalize (GObject *object)
{
  GstNpyParse *self = npy_parse_cast (object);

  npy_parse_reset (self);
  delete self->arrays;
  g_clear_object (&self->adapter);
  G_OBJECT_CLASS (npy_parse_parent_class)->finalize (object);
}

static void
npy_parse_init (GstNpyParse *self)
{
  self->adapter = gst_adapter_new ();
  self->settings = new opencl::Settings<NpyParseSettings> (self, properties);
  self->arrays = new std::vector<PlacedArray>;
  g_queue_init (&self->events);
  g_queue_init (&self->blocks);

  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_activate_function (self->sinkpad, opencl::activate_parser_pad);
  gst_pad_set_activatemode_function (self->sinkpad, npy_parse_activate_mode);
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

  GST_DEBUG_CATEGORY_INIT (npy_parse_debug, "npyparse", 0, ".npy parser");
  object_class->finalize = npy_parse_finalize;
  opencl::install_settings<&GstNpyParse::settings> (klass, properties);
  element_class->change_state = npy_parse_change_state;

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "NumPy array parser",
      "Codec/Parser", "Parses NumPy .npy files into frames of raw spectra or arrays",
      "The gst-opencl developers");
}
