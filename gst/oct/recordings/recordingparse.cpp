/* Base class of parsers that output the frames of a recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "recordingparse.hpp"

#include <gst/base/gstadapter.h>
#include <gst/common/bufferpools.hpp>
#include <gst/common/parserpads.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

#include <utility>

#include "../octscanmeta.h"
#include "rawrecording.hpp"

using opencl::Framerate;

namespace oct {
namespace {
/* Bytes of the file, pulled through a pad */
class PadSource : public ByteSource {
public:
  explicit PadSource (GstPad *pad) : pad (pad)
  {
    gint64 found = 0;
    if (gst_pad_peer_query_duration (pad, GST_FORMAT_BYTES, &found) && found > 0)
      bytes = guint64 (found);
  }

  guint64 size () const override { return bytes; }
  /* Result of the last pull */
  GstFlowReturn flow () const { return last_flow; }

  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **error) override
  {
    for (done = 0; done < size;) {
      gsize now = 0;
      last_flow = pull (offset + done, static_cast<guint8 *> (data) + done,
          MIN (size - done, most_bytes), now);
      done += now;
      if (last_flow == GST_FLOW_EOS || (last_flow == GST_FLOW_OK && now == 0))
        return true;
      if (last_flow == GST_FLOW_OK)
        continue;
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "cannot read %" G_GSIZE_FORMAT " bytes at %" G_GUINT64_FORMAT ": %s", size,
          offset, gst_flow_get_name (last_flow));
      return false;
    }
    return true;
  }

private:
  /* Reads into the memory itself if upstream can. */
  GstFlowReturn pull (guint64 offset, guint8 *data, gsize size, gsize &done)
  {
    GstBuffer *buffer = gst_buffer_new_wrapped_full (
        GstMemoryFlags (0), data, size, 0, size, nullptr, nullptr);
    GstBuffer *filled = buffer;
    const GstFlowReturn flow = gst_pad_pull_range (pad, offset, guint (size), &filled);
    if (flow == GST_FLOW_OK && filled != buffer)
      done = gst_buffer_extract (filled, 0, data, size);
    else if (flow == GST_FLOW_OK)
      done = gst_buffer_get_size (buffer);
    if (filled != buffer && filled)
      gst_buffer_unref (filled);
    gst_buffer_unref (buffer);
    return flow;
  }

  static constexpr gsize most_bytes = 1 << 30;

  GstPad *pad;
  guint64 bytes = 0;
  GstFlowReturn last_flow = GST_FLOW_OK;
};

/* Frames that are still to be output, in either direction */
struct Remaining {
  guint64 begin = 0, end = 0;
  bool backward = false;

  bool is_empty () const { return begin >= end; }
  guint64 take () { return backward ? --end : begin++; }
};
} // namespace

struct RecordingParseWork {
  /* Shared with threads that seek and query; protected by the object lock */
  Framerate framerate = {0, 1};
  guint64 frames = 0;
  GstSegment segment = {};

  /* Used by the streaming thread, or with the stream lock */
  std::unique_ptr<Recording> recording; /* null before the start */
  std::shared_ptr<PadSource> source;    /* null if the source pushes */
  Remaining remaining;
  GstEvent *segment_event = nullptr;
  guint32 seqnum = 0;
  bool discont = true;
  bool pushed = false;
  bool failed = false; /* an error was posted */
  GstBufferPool *pool = nullptr;

  /* If the source pushes. `position` is that of the adapter's first byte. */
  GstAdapter *adapter = nullptr;
  guint64 position = 0;
  guint64 skip = 0;
  GstClockTime first_time = 0;
  bool negotiated = false;
  bool refused = false; /* by downstream */
};
} // namespace oct

using oct::PadSource;
using oct::Remaining;

G_DEFINE_ABSTRACT_TYPE (GstOctRecordingParse, gst_oct_recording_parse, GST_TYPE_ELEMENT)

#define PARENT (GST_ELEMENT_CLASS (gst_oct_recording_parse_parent_class))

using Parse = GstOctRecordingParse;

static Parse *
parse_cast (gpointer instance)
{
  return reinterpret_cast<Parse *> (instance);
}

static GstOctRecordingParseClass *
class_of (Parse *self)
{
  return reinterpret_cast<GstOctRecordingParseClass *> (G_OBJECT_GET_CLASS (self));
}

/* Posts one error per stream, unless the source is flushing or has posted its own. */
static GstFlowReturn
fail (Parse *self, GError *error, const opencl::Place &place = opencl::Place::here ())
{
  const GstFlowReturn flow =
      self->work->source ? self->work->source->flow () : GST_FLOW_OK;

  if (flow != GST_FLOW_OK && flow != GST_FLOW_EOS) {
    g_error_free (error);
    return flow == GST_FLOW_FLUSHING ? flow : GST_FLOW_ERROR;
  }
  if (std::exchange (self->work->failed, true))
    g_error_free (error);
  else
    gst_opencl_post_error (GST_ELEMENT (self), error, place);
  return GST_FLOW_ERROR;
}

/* Caps and allocation */

static GstCaps *
make_caps (Parse *self)
{
  const oct::Recording &recording = *self->work->recording;
  const Framerate &framerate = self->work->framerate;
  GstCaps *caps =
      gst_caps_new_simple ("application/x-oct", "domain", G_TYPE_STRING, "wavelength",
          "format", G_TYPE_STRING, recording.format ().name, "samples", G_TYPE_INT,
          gint (recording.samples ()), "lines", G_TYPE_INT, gint (recording.lines ()),
          "framerate", GST_TYPE_FRACTION, framerate.n, framerate.d, nullptr);
  for (const auto &[field, step] : {std::pair ("line-step", recording.line_step ()),
           std::pair ("b-scan-step", recording.b_scan_step ())}) {
    if (step > 0)
      gst_caps_set_simple (caps, field, G_TYPE_DOUBLE, step, nullptr);
  }
  return caps;
}

/* Reads frames into downstream's memory. Pinned memory saves a copy in the upload. */
static void
find_pool (Parse *self, GstCaps *caps)
{
  opencl::release_pool (&self->work->pool);
  self->work->pool = opencl::find_downstream_pool (
      self->srcpad, caps, self->work->recording->frame_bytes ());
}

static GstFlowReturn
negotiate (Parse *self)
{
  GstCaps *caps = make_caps (self);
  GstFlowReturn flow = GST_FLOW_OK;

  if (gst_pad_set_caps (self->srcpad, caps))
    find_pool (self, caps);
  else
    flow =
        GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  gst_caps_unref (caps);
  return flow;
}

/* Start of the stream */

static GstFlowReturn
open_recording (Parse *self)
{
  GError *error = nullptr;
  std::unique_ptr<oct::Recording> recording =
      class_of (self)->make_recording (self, &error);

  self->work->source = std::make_shared<PadSource> (self->sinkpad);
  if (!recording || !recording->open (self->work->source, &error))
    return fail (self, error);
  if (!recording->warning ().empty ())
    GST_ELEMENT_WARNING (
        self, STREAM, FORMAT, ("%s", recording->warning ().c_str ()), (nullptr));
  self->work->recording = std::move (recording);
  return GST_FLOW_OK;
}

static void
set_segment (Parse *self, const GstSegment &segment, guint32 seqnum)
{
  GST_OBJECT_LOCK (self);
  self->work->segment = segment;
  GST_OBJECT_UNLOCK (self);
  gst_clear_event (&self->work->segment_event);
  self->work->segment_event = gst_event_new_segment (&segment);
  gst_event_set_seqnum (self->work->segment_event, seqnum);
  self->work->seqnum = seqnum;
  self->work->discont = true;
}

/* The calibration precedes the caps, so that octwindowinterp negotiates once. */
static GstFlowReturn
start_pulling (Parse *self)
{
  opencl::push_parser_stream_start (GST_ELEMENT (self), self->sinkpad, self->srcpad);
  const GstFlowReturn flow = open_recording (self);
  if (flow != GST_FLOW_OK)
    return flow;

  oct::RecordingParseWork &work = *self->work;
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  if (work.framerate.is_fixed ())
    segment.duration = work.framerate.time_of (work.recording->frames ());
  GST_OBJECT_LOCK (self);
  work.frames = work.recording->frames ();
  GST_OBJECT_UNLOCK (self);
  work.remaining = {0, work.frames, false};
  set_segment (self, segment, gst_util_seqnum_next ());
  if (!(work.recording->calibration () == oct::StreamCalibration ()))
    gst_pad_push_event (
        self->srcpad, oct::stream_calibration_event (work.recording->calibration ()));
  return negotiate (self);
}

/* Frames */

static void
describe (Parse *self, GstBuffer *buffer, guint64 frame)
{
  oct::RecordingParseWork &work = *self->work;
  const guint repeats = work.recording->repeats ();
  const Framerate &framerate = work.framerate;

  if (repeats > 0) {
    const GstOctScan scan = {frame, 0, guint (frame / repeats), guint (frame % repeats),
        guint (work.frames / repeats), repeats, FALSE};
    gst_buffer_set_oct_scan (buffer, &scan);
  }
  GST_BUFFER_OFFSET (buffer) = frame;
  GST_BUFFER_OFFSET_END (buffer) = frame + 1;
  gst_buffer_unset_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  if (std::exchange (work.discont, false))
    gst_buffer_set_flags (buffer, GST_BUFFER_FLAG_DISCONT);
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_PTS (buffer) = GST_BUFFER_DURATION (buffer) = GST_CLOCK_TIME_NONE;
  if (!framerate.is_fixed ())
    return;
  GST_BUFFER_PTS (buffer) = work.first_time + framerate.time_of (frame);
  GST_BUFFER_DURATION (buffer) =
      framerate.time_of (frame + 1) - framerate.time_of (frame);
}

/* Takes the bytes from the adapter if the source pushes. */
static bool
read_frame (Parse *self, guint64 frame, guint8 *bytes, GError **error)
{
  oct::RecordingParseWork &work = *self->work;
  if (work.source)
    return work.recording->read (frame, bytes, error);
  const gsize size = work.recording->frame_bytes ();
  gst_adapter_copy (work.adapter, bytes, 0, size);
  gst_adapter_flush (work.adapter, size);
  work.position += size;
  return true;
}

static GstFlowReturn
fill (Parse *self, GstBuffer *buffer, guint64 frame)
{
  GstMapInfo map;
  GError *error = nullptr;

  if (!gst_buffer_map (buffer, &map, GST_MAP_WRITE))
    return fail (self, g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                           "cannot map a buffer of %" G_GSIZE_FORMAT " bytes for writing",
                           gst_buffer_get_size (buffer)));
  const bool done = read_frame (self, frame, map.data, &error);
  gst_buffer_unmap (buffer, &map);
  return done ? GST_FLOW_OK : fail (self, error);
}

/* Sets the position to the end of the frame. A seek without a flush continues there. */
static void
set_position (Parse *self, GstBuffer *buffer)
{
  GstClockTime position = GST_BUFFER_PTS (buffer);
  GstSegment &segment = self->work->segment;

  if (!GST_CLOCK_TIME_IS_VALID (position))
    return;
  GST_OBJECT_LOCK (self);
  if (segment.rate > 0)
    position += GST_BUFFER_DURATION (buffer);
  if (GST_CLOCK_TIME_IS_VALID (segment.stop))
    position = MIN (position, segment.stop);
  segment.position = MAX (position, segment.start);
  GST_OBJECT_UNLOCK (self);
}

static void
push_segment (Parse *self)
{
  if (self->work->segment_event)
    gst_pad_push_event (self->srcpad, std::exchange (self->work->segment_event, nullptr));
}

static GstFlowReturn
push_frame (Parse *self, guint64 frame)
{
  GstBuffer *buffer = nullptr;
  GstFlowReturn flow = opencl::acquire_buffer (
      self->work->pool, self->work->recording->frame_bytes (), &buffer);

  if (flow == GST_FLOW_OK)
    flow = fill (self, buffer, frame);
  if (flow != GST_FLOW_OK) {
    gst_clear_buffer (&buffer);
    return flow;
  }
  describe (self, buffer, frame);
  push_segment (self);
  set_position (self, buffer);
  return std::exchange (self->work->pushed, true)
             ? gst_pad_push (self->srcpad, buffer)
             : opencl::push_first_frame (self->srcpad, buffer);
}

/* End of the stream */

static void
end_segment (Parse *self)
{
  GstSegment &segment = self->work->segment;

  GST_OBJECT_LOCK (self);
  if (segment.rate < 0)
    segment.position = segment.start;
  else if (GST_CLOCK_TIME_IS_VALID (segment.stop))
    segment.position = segment.stop;
  const auto position = gint64 (segment.position);
  GST_OBJECT_UNLOCK (self);
  GstMessage *message =
      gst_message_new_segment_done (GST_OBJECT (self), GST_FORMAT_TIME, position);
  GstEvent *event = gst_event_new_segment_done (GST_FORMAT_TIME, position);
  gst_message_set_seqnum (message, self->work->seqnum);
  gst_event_set_seqnum (event, self->work->seqnum);
  gst_element_post_message (GST_ELEMENT (self), message);
  gst_pad_push_event (self->srcpad, event);
}

/* If an error occurs before the first frame, EOS is not sent. A sink would preroll
 * without data, which applications do not expect after an error. */
static void
end_pulling (Parse *self, GstFlowReturn flow)
{
  if (flow == GST_FLOW_FLUSHING)
    return;
  if (flow != GST_FLOW_EOS && flow != GST_FLOW_ERROR)
    GST_ELEMENT_FLOW_ERROR (self, flow);
  if (flow != GST_FLOW_EOS && !self->work->pushed)
    return;
  push_segment (self);
  if (flow == GST_FLOW_EOS && (self->work->segment.flags & GST_SEGMENT_FLAG_SEGMENT))
    return end_segment (self);
  GstEvent *event = gst_event_new_eos ();
  gst_event_set_seqnum (event, self->work->seqnum);
  gst_pad_push_event (self->srcpad, event);
}

/* Returns EOS, or an error if the recording has more bytes than its frames. */
static GstFlowReturn
check_end (Parse *self)
{
  const Remaining &remaining = self->work->remaining;
  GError *error = nullptr;

  if (remaining.backward || remaining.end < self->work->frames
      || self->work->recording->check_end (&error))
    return GST_FLOW_EOS;
  return fail (self, error);
}

static void
loop (gpointer data)
{
  Parse *self = parse_cast (data);
  Remaining &remaining = self->work->remaining;
  GstFlowReturn flow = self->work->recording ? GST_FLOW_OK : start_pulling (self);

  if (flow == GST_FLOW_OK)
    flow =
        remaining.is_empty () ? check_end (self) : push_frame (self, remaining.take ());
  if (flow == GST_FLOW_OK)
    return;
  gst_pad_pause_task (self->sinkpad);
  end_pulling (self, flow);
}

/* Sources that push */

static void
refuse_push (Parse *self)
{
  fail (self,
      g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SEEK,
          "the source cannot be read at random positions, as a recording in this format "
          "needs: use filesrc, with no queue before %s",
          GST_OBJECT_NAME (self)));
}

/* Returns null after an error, which is posted once. */
static const oct::RawLayout *
layout_of (Parse *self)
{
  std::unique_ptr<oct::Recording> &recording = self->work->recording;
  GError *error = nullptr;

  if (!recording)
    recording = class_of (self)->make_recording (self, &error);
  if (!recording)
    fail (self, error);
  else if (!recording->layout ())
    refuse_push (self);
  else
    return recording->layout ();
  return nullptr;
}

/* Fails if the stream ends within a frame or the header. */
static void
check_pushed_end (Parse *self)
{
  const oct::RecordingParseWork &work = *self->work;
  const oct::RawLayout *layout = layout_of (self);
  GError *error = nullptr;

  if (layout && !work.failed && !work.refused
      && !oct::check_raw_size (
          *layout, work.position + gst_adapter_available (work.adapter), &error))
    fail (self, error);
}

/* Drops the header, or the rest of a frame after a seek of the source. */
static void
skip_bytes (Parse *self)
{
  oct::RecordingParseWork &work = *self->work;
  const gsize bytes =
      gsize (MIN (work.skip, guint64 (gst_adapter_available (work.adapter))));

  gst_adapter_flush (work.adapter, bytes);
  work.skip -= bytes;
  work.position += bytes;
}

static GstFlowReturn
push_whole_frames (Parse *self, const oct::RawLayout &layout)
{
  oct::RecordingParseWork &work = *self->work;
  GstFlowReturn flow = GST_FLOW_OK;

  skip_bytes (self);
  while (flow == GST_FLOW_OK && work.skip == 0
         && gst_adapter_available (work.adapter) >= layout.frame_bytes ()) {
    flow = std::exchange (work.negotiated, true) ? GST_FLOW_OK : negotiate (self);
    if (flow == GST_FLOW_OK)
      flow = push_frame (self, layout.frame_at (work.position));
  }
  /* A stream is not truncated if downstream wants no more of it. */
  work.refused = flow != GST_FLOW_OK;
  return flow;
}

static GstFlowReturn
chain (GstPad *, GstObject *parent, GstBuffer *buffer)
{
  Parse *self = parse_cast (parent);
  oct::RecordingParseWork &work = *self->work;
  const oct::RawLayout *layout = layout_of (self);
  const bool lost =
      GST_BUFFER_IS_DISCONT (buffer) && gst_adapter_available (work.adapter) > 0;

  if (lost)
    check_pushed_end (self);
  if (work.failed || !layout) {
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  gst_adapter_push (work.adapter, buffer);
  return push_whole_frames (self, *layout);
}

/* Moves to a byte of the stream: finds the number of bytes before the next frame. */
static void
move_to (Parse *self, const oct::RawLayout &layout, guint64 position)
{
  const gsize size = layout.frame_bytes ();
  const guint64 header = layout.header_bytes;
  const guint64 into = position > header ? (position - header) % size : 0;

  gst_adapter_clear (self->work->adapter);
  self->work->position = position;
  self->work->skip = position < header ? header - position : into > 0 ? size - into : 0;
}

static GstSegment
segment_from_bytes (Parse *self, const oct::RawLayout &layout)
{
  const oct::RecordingParseWork &work = *self->work;
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  if (work.framerate.is_fixed ())
    segment.start = segment.time = segment.position =
        work.framerate.time_of (layout.frame_at (work.position + work.skip));
  return segment;
}

/* A segment in time begins with the header. */
static void
take_segment (Parse *self, GstEvent *event)
{
  const GstSegment *given;
  oct::RecordingParseWork &work = *self->work;
  const oct::RawLayout *layout = layout_of (self);

  gst_event_parse_segment (event, &given);
  if (!layout)
    return;
  if (gst_adapter_available (work.adapter) > 0)
    check_pushed_end (self);
  const bool timed = given->format == GST_FORMAT_TIME;
  move_to (self, *layout, given->format == GST_FORMAT_BYTES ? given->start : 0);
  work.first_time = timed ? given->start : 0;
  set_segment (self, timed ? *given : segment_from_bytes (self, *layout),
      gst_event_get_seqnum (event));
}

static gboolean
end_pushed (Parse *self, GstEvent *event)
{
  check_pushed_end (self);
  if (self->work->failed && !self->work->pushed) {
    gst_event_unref (event);
    return FALSE;
  }
  push_segment (self);
  return gst_pad_push_event (self->srcpad, event);
}

static void
restart_pushed (Parse *self, bool new_stream)
{
  gst_adapter_clear (self->work->adapter);
  self->work->failed = self->work->refused = false;
  if (!new_stream)
    return;
  self->work->recording.reset ();
  self->work->negotiated = self->work->pushed = false;
}

static gboolean
sink_event (GstPad *, GstObject *parent, GstEvent *event)
{
  Parse *self = parse_cast (parent);

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_unref (event);
    return TRUE;
  case GST_EVENT_SEGMENT:
    take_segment (self, event);
    gst_event_unref (event);
    return TRUE;
  case GST_EVENT_STREAM_START:
    restart_pushed (self, true);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_FLUSH_STOP:
    restart_pushed (self, false);
    return gst_pad_push_event (self->srcpad, event);
  case GST_EVENT_EOS:
    return end_pushed (self, event);
  default:
    return gst_pad_push_event (self->srcpad, event);
  }
}

/* Activation */

static gboolean
activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  if (mode != GST_PAD_MODE_PULL)
    return TRUE;
  return active ? gst_pad_start_task (pad, loop, parse_cast (parent), nullptr)
                : gst_pad_stop_task (pad);
}

/* Queries */

static gint64
duration_of (Parse *self, GstFormat format)
{
  const oct::RecordingParseWork &work = *self->work;
  gint64 duration = -1;

  GST_OBJECT_LOCK (self);
  if (work.frames > 0 && format == GST_FORMAT_DEFAULT)
    duration = gint64 (work.frames);
  else if (work.frames > 0 && format == GST_FORMAT_TIME && work.framerate.is_fixed ())
    duration = gint64 (work.framerate.time_of (work.frames));
  GST_OBJECT_UNLOCK (self);
  return duration;
}

static bool
answer_duration (Parse *self, GstQuery *query)
{
  GstFormat format;

  gst_query_parse_duration (query, &format, nullptr);
  const gint64 duration = duration_of (self, format);
  gst_query_set_duration (query, format, duration);
  return duration >= 0;
}

static bool
answer_position (Parse *self, GstQuery *query)
{
  GstFormat format;
  const GstSegment &segment = self->work->segment;

  gst_query_parse_position (query, &format, nullptr);
  if (format != GST_FORMAT_TIME)
    return false;
  GST_OBJECT_LOCK (self);
  const guint64 position =
      gst_segment_to_stream_time (&segment, GST_FORMAT_TIME, segment.position);
  GST_OBJECT_UNLOCK (self);
  gst_query_set_position (query, format, gint64 (position));
  return position != GST_CLOCK_TIME_NONE;
}

static bool
answer_seeking (Parse *self, GstQuery *query)
{
  GstFormat format;

  gst_query_parse_seeking (query, &format, nullptr, nullptr, nullptr);
  if (format != GST_FORMAT_TIME)
    return false;
  const gint64 duration = duration_of (self, format);
  gst_query_set_seeking (query, format, duration >= 0, 0, duration);
  return true;
}

static gboolean
src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Parse *self = parse_cast (parent);

  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_DURATION:
    return answer_duration (self, query);
  case GST_QUERY_POSITION:
    return answer_position (self, query);
  case GST_QUERY_SEEKING:
    return answer_seeking (self, query);
  default:
    return gst_pad_query_default (pad, parent, query);
  }
}

/* Seeks */

/* Finds the frames of a segment. */
static Remaining
frames_of (const GstSegment &segment, const Framerate &framerate, guint64 frames)
{
  const bool backward = segment.rate < 0;
  const GstClockTime begin = backward ? segment.start : segment.position;
  const GstClockTime end = MIN (segment.stop, segment.duration);
  return {framerate.frame_at (begin), MIN (framerate.frame_from (end), frames), backward};
}

/* Returns false if the seek is not possible. */
static bool
plan_seek (Parse *self, GstEvent *event, GstSegment *segment, Remaining *remaining)
{
  const oct::RecordingParseWork &work = *self->work;
  gdouble rate;
  GstFormat format;
  GstSeekFlags flags;
  GstSeekType start_type, stop_type;
  gint64 start, stop;

  gst_event_parse_seek (
      event, &rate, &format, &flags, &start_type, &start, &stop_type, &stop);
  if (format != GST_FORMAT_TIME || (flags & GST_SEEK_FLAG_INSTANT_RATE_CHANGE))
    return false;
  GST_OBJECT_LOCK (self);
  *segment = work.segment;
  const bool planned = work.frames > 0 && work.framerate.is_fixed ()
                       && gst_segment_do_seek (segment, rate, format, flags, start_type,
                           guint64 (start), stop_type, guint64 (stop), nullptr);
  if (planned && rate < 0 && !GST_CLOCK_TIME_IS_VALID (segment->stop))
    segment->stop = segment->position = segment->duration;
  if (planned)
    *remaining = frames_of (*segment, work.framerate, work.frames);
  GST_OBJECT_UNLOCK (self);
  return planned;
}

static void
flush (Parse *self, GstEvent *event, guint32 seqnum)
{
  gst_event_set_seqnum (event, seqnum);
  gst_pad_push_event (self->sinkpad, gst_event_ref (event));
  gst_pad_push_event (self->srcpad, event);
}

static void
start_seek (
    Parse *self, const GstSegment &segment, const Remaining &remaining, guint32 seqnum)
{
  set_segment (self, segment, seqnum);
  self->work->remaining = remaining;
  self->work->failed = false;
  if (segment.flags & GST_SEGMENT_FLAG_SEGMENT)
    gst_element_post_message (
        GST_ELEMENT (self), gst_message_new_segment_start (GST_OBJECT (self),
                                GST_FORMAT_TIME, gint64 (segment.position)));
}

static bool
seek_pulled (Parse *self, GstEvent *event)
{
  const guint32 seqnum = gst_event_get_seqnum (event);
  GstSegment segment;
  Remaining remaining;
  GstSeekFlags flags;

  gst_event_parse_seek (
      event, nullptr, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  if (!plan_seek (self, event, &segment, &remaining))
    return false;
  if (flags & GST_SEEK_FLAG_FLUSH)
    flush (self, gst_event_new_flush_start (), seqnum);
  else
    gst_pad_pause_task (self->sinkpad);
  GST_PAD_STREAM_LOCK (self->sinkpad);
  if (flags & GST_SEEK_FLAG_FLUSH)
    flush (self, gst_event_new_flush_stop (TRUE), seqnum);
  /* Repeated, because the position of the last segment is final only now. */
  plan_seek (self, event, &segment, &remaining);
  start_seek (self, segment, remaining, seqnum);
  gst_pad_start_task (self->sinkpad, loop, self, nullptr);
  GST_PAD_STREAM_UNLOCK (self->sinkpad);
  return true;
}

static gboolean
src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Parse *self = parse_cast (parent);

  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK
      || GST_PAD_MODE (self->sinkpad) != GST_PAD_MODE_PULL)
    return gst_pad_event_default (pad, parent, event);
  const bool done = seek_pulled (self, event);
  gst_event_unref (event);
  return done;
}

/* Life cycle */

static void
reset (Parse *self)
{
  oct::RecordingParseWork &work = *self->work;
  const Framerate framerate = class_of (self)->get_framerate (self);

  work.recording.reset ();
  work.source.reset ();
  work.remaining = Remaining ();
  gst_clear_event (&work.segment_event);
  opencl::release_pool (&self->work->pool);
  gst_adapter_clear (work.adapter);
  work.position = work.skip = work.first_time = 0;
  work.discont = true;
  work.pushed = work.failed = work.negotiated = work.refused = false;
  GST_OBJECT_LOCK (self);
  work.framerate = framerate;
  work.frames = 0;
  gst_segment_init (&work.segment, GST_FORMAT_TIME);
  GST_OBJECT_UNLOCK (self);
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  Parse *self = parse_cast (element);

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    reset (self);
  const GstStateChangeReturn result = PARENT->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    reset (self);
  return result;
}

static void
finalize (GObject *object)
{
  Parse *self = parse_cast (object);

  gst_clear_event (&self->work->segment_event);
  opencl::release_pool (&self->work->pool);
  g_object_unref (self->work->adapter);
  delete self->work;
  G_OBJECT_CLASS (gst_oct_recording_parse_parent_class)->finalize (object);
}

static GstPad *
add_pad (Parse *self, const char *name)
{
  GstPadTemplate *pads =
      gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (self), name);
  GstPad *pad = gst_pad_new_from_template (pads, name);

  gst_element_add_pad (GST_ELEMENT (self), pad);
  return pad;
}

/* The pad templates are those of the derived class, which exist before instances do. */
static void
constructed (GObject *object)
{
  Parse *self = parse_cast (object);

  G_OBJECT_CLASS (gst_oct_recording_parse_parent_class)->constructed (object);
  self->sinkpad = add_pad (self, "sink");
  gst_pad_set_activate_function (self->sinkpad, opencl::activate_parser_pad);
  gst_pad_set_activatemode_function (self->sinkpad, activate_mode);
  gst_pad_set_chain_function (self->sinkpad, chain);
  gst_pad_set_event_function (self->sinkpad, sink_event);

  self->srcpad = add_pad (self, "src");
  gst_pad_set_event_function (self->srcpad, src_event);
  gst_pad_set_query_function (self->srcpad, src_query);
  gst_pad_use_fixed_caps (self->srcpad);
}

static void
gst_oct_recording_parse_init (Parse *self)
{
  self->work = new oct::RecordingParseWork;
  self->work->adapter = gst_adapter_new ();
  gst_segment_init (&self->work->segment, GST_FORMAT_TIME);
}

static void
gst_oct_recording_parse_class_init (GstOctRecordingParseClass *klass)
{
  G_OBJECT_CLASS (klass)->constructed = constructed;
  G_OBJECT_CLASS (klass)->finalize = finalize;
  GST_ELEMENT_CLASS (klass)->change_state = change_state;
}
