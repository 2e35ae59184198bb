/* Base class of parsers that split a stream of bytes into frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frameparser.hpp"

#include "padsource.hpp"

#include <gst/base/gstadapter.h>
#include <gst/common/buffers.hpp>

#include <algorithm>
#include <utility>

namespace opencl {
namespace {
/* Returned by functions that need more bytes to continue. */
constexpr GstFlowReturn flow_more_bytes = GST_FLOW_CUSTOM_SUCCESS;

GstFrameParser *
element_of (gpointer instance)
{
  return reinterpret_cast<GstFrameParser *> (instance);
}

/* Waits up to half a second for a link: decodebin starts a parser before it links what
 * follows it. */
GstFlowReturn
push_first_buffer (GstPad *pad, GstBuffer *buffer)
{
  GstFlowReturn flow = gst_pad_push (pad, gst_buffer_ref (buffer));
  for (guint n = 0; n < 50 && flow == GST_FLOW_NOT_LINKED; n++) {
    g_usleep (10000);
    flow = gst_pad_push (pad, gst_buffer_ref (buffer));
  }
  gst_buffer_unref (buffer);
  return flow;
}
} // namespace

/* Bytes of an adapter, whose first one is at `offset` of the stream */
class AdapterSource : public ByteSource {
public:
  AdapterSource (GstAdapter *adapter, const guint64 &offset)
      : adapter (adapter), offset (offset)
  {
  }
  guint64 size () const override { return offset + gst_adapter_available (adapter); }
  bool read (guint64 from, void *data, gsize wanted, gsize &done, GError **) override
  {
    done = gsize (MIN (wanted, size () - from));
    if (done > 0)
      gst_adapter_copy (adapter, data, gsize (from - offset), done);
    return true;
  }

private:
  GstAdapter *const adapter;
  const guint64 &offset;
};

/* State and functions of the streaming thread */
class FrameParser {
public:
  explicit FrameParser (GstFrameParser *self)
      : self (self),
        klass (reinterpret_cast<GstFrameParserClass *> (G_OBJECT_GET_CLASS (self))),
        timeline (self->sinkpad)
  {
  }
  ~FrameParser ()
  {
    reset ();
    g_object_unref (adapter);
  }
  FrameParser (const FrameParser &) = delete;

  void fail (GError *error, const Place &place)
  {
    const bool silent = source && (source->has_failed () || source->has_ended_early ());
    if (silent || std::exchange (failed, true))
      g_error_free (error);
    else
      post_element_error (GST_ELEMENT (self), error->domain, error->code, error, place);
  }

  /* `input` (nullable) has a framerate that takes precedence over the property. */
  void read_input_caps (GstCaps *input)
  {
    Framerate framerate;
    if (!input || !gst_caps_is_fixed (input)
        || !gst_structure_get_fraction (
            gst_caps_get_structure (input, 0), "framerate", &framerate.n, &framerate.d))
      g_object_get (self, "framerate", &framerate.n, &framerate.d, nullptr);
    timeline.set (timeline.framerate, framerate);
  }

  void reset ()
  {
    reset_stream ();
    gst_clear_caps (&caps);
    release_pool (&pool);
  }

  GstFlowReturn chain (GstBuffer *buffer)
  {
    if (finished || failed || !check_continuity (buffer)) {
      gst_buffer_unref (buffer);
      return finished ? GST_FLOW_EOS : GST_FLOW_ERROR;
    }
    at_start = false;
    gst_adapter_push (adapter, buffer);
    skip_bytes ();
    GstFlowReturn flow = GST_FLOW_OK;
    while (flow == GST_FLOW_OK)
      flow = step ();
    /* A stream is not truncated if downstream wants no more of it. */
    refused = flow != flow_more_bytes;
    return refused ? flow : GST_FLOW_OK;
  }

  gboolean handle_event (GstEvent *event)
  {
    switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_CAPS:
      GstCaps *input;
      gst_event_parse_caps (event, &input);
      read_input_caps (input);
      return TRUE;
    case GST_EVENT_SEGMENT:
      handle_segment (event);
      return TRUE;
    case GST_EVENT_EOS:
      if (is_truncated ())
        check_pushed_end ("the stream ends");
      return push_eos (gst_event_ref (event));
    case GST_EVENT_STREAM_START:
      reset_stream ();
      break;
    case GST_EVENT_FLUSH_STOP:
      reset_position ();
      break;
    default:
      break;
    }
    return forward (gst_event_ref (event));
  }

  void pull ()
  {
    const GstFlowReturn flow = started ? step () : start_pulling ();
    if (flow == GST_FLOW_OK)
      return;
    gst_pad_pause_task (self->sinkpad);
    end_pulling (flow);
  }

  /* For any thread. Upstream that works in time seeks itself. */
  bool handle_seek (GstEvent *event)
  {
    if (!timeline.is_pulling ()
        && gst_pad_push_event (self->sinkpad, gst_event_ref (event)))
      return true;
    const std::optional<PlannedSeek> seek = timeline.plan (event);
    if (!seek)
      return false;
    return timeline.is_pulling () ? seek_pulled (event, *seek) : seek_pushed (*seek);
  }

  GstFrameParser *const self;
  const GstFrameParserClass *const klass;
  FrameTimeline timeline;

private:
  /* Returns the flow after fail(). */
  GstFlowReturn failure () const
  {
    if (source && source->has_failed ())
      return source->flow ();
    return source && !failed && source->has_ended_early () ? GST_FLOW_EOS
                                                           : GST_FLOW_ERROR;
  }

  /* --- caps and allocation --- */

  /* Returns the fixated part of `offered` (transfer full) that downstream accepts, or empty
   * caps. Without a query, caps would be refused only with the first frame. (transfer
   * full) */
  GstCaps *accepted_part (GstCaps *offered) const
  {
    GstCaps *accepted = gst_pad_peer_query_caps (self->srcpad, offered);
    GstCaps *both = gst_caps_intersect (offered, accepted);
    gst_caps_unref (accepted);
    gst_caps_unref (offered);
    return gst_caps_is_empty (both) ? both : gst_caps_fixate (both);
  }

  GstFlowReturn negotiate (const SharedRun &wanted)
  {
    if (caps && negotiated == wanted)
      return GST_FLOW_OK;
    negotiated = wanted;
    GstCaps *offered = wanted->make_caps ();
    gst_caps_set_simple (offered, "framerate", GST_TYPE_FRACTION, timeline.framerate.n,
        timeline.framerate.d, nullptr);
    if (caps && gst_caps_is_subset (caps, offered)) {
      gst_caps_unref (offered);
      return GST_FLOW_OK;
    }
    release_pool (&pool);
    gst_caps_take (&caps, accepted_part (offered));
    if (!gst_caps_is_empty (caps) && gst_pad_set_caps (self->srcpad, caps)) {
      pool = find_downstream_pool (self->srcpad, caps, wanted->output_bytes);
      return GST_FLOW_OK;
    }
    gst_clear_caps (&caps);
    return GST_PAD_IS_FLUSHING (self->srcpad) ? GST_FLOW_FLUSHING
                                              : GST_FLOW_NOT_NEGOTIATED;
  }

  /* --- ends of streams --- */

  /* Posts an error about a header or frame of which only a part is available. */
  void fail_part (const char *cause, guint64 position, const std::string &place,
      guint64 available, guint64 expected, const std::string &layout = "")
  {
    fail (g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
              "%s at byte %" G_GUINT64_FORMAT " in %s: only %" G_GUINT64_FORMAT
              " bytes available, expected %" G_GUINT64_FORMAT "%s",
              cause, position, place.c_str (), available, expected, layout.c_str ()),
        Place::here ());
  }

  /* Returns false after an error if the stream must not end at a position within a run. */
  bool check_end (const char *cause, guint64 position, const FrameRun &within)
  {
    const guint64 bytes = position - within.offset, header = within.header_bytes;
    const guint64 data = bytes - MIN (bytes, header);
    const bool is_endless = within.frames == FrameRun::endless;
    if (data > 0
        && (bytes == within.bytes || (is_endless && data % within.frame_bytes == 0)))
      return true;
    if (bytes < header)
      fail_part (cause, position, "a header", bytes, header);
    else
      fail_part (cause, position,
          "frame " + std::to_string (data / within.frame_bytes + 1),
          data % within.frame_bytes, within.frame_bytes, within.layout);
    return false;
  }

  /* --- frames --- */

  bool read_frame (FrameRun &from, guint64 number, guint8 *bytes)
  {
    gsize done = 0;
    GError *error = nullptr;
    if (!from.read (input (), number, bytes, done, &error))
      fail (error, Place::here ());
    else if (done < from.frame_bytes)
      check_end ("the stream ends", from.offset_of (number) + done, from);
    else
      return true;
    return false;
  }

  GstFlowReturn fill (FrameRun &from, guint64 number, GstBuffer *buffer)
  {
    GstMapInfo map;
    if (!gst_buffer_map (buffer, &map, GST_MAP_WRITE)) {
      fail (g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                "cannot map a buffer of %" G_GSIZE_FORMAT " bytes for writing",
                from.output_bytes),
          Place::here ());
      return GST_FLOW_ERROR;
    }
    const bool in_place = from.frame_bytes == from.output_bytes;
    scratch.resize (in_place ? 0 : from.frame_bytes);
    guint8 *bytes = in_place ? map.data : scratch.data ();
    const bool done = read_frame (from, number, bytes);
    if (done)
      from.convert (bytes, map.data);
    gst_buffer_unmap (buffer, &map);
    return done ? GST_FLOW_OK : failure ();
  }

  void describe (const FrameRun &from, guint64 number, GstBuffer *buffer)
  {
    const Framerate &framerate = timeline.framerate;
    const guint64 since = number - timed_from;
    GST_BUFFER_PTS (buffer) = since == 0 ? first_time : GST_CLOCK_TIME_NONE;
    GST_BUFFER_DTS (buffer) = GST_BUFFER_DURATION (buffer) = GST_CLOCK_TIME_NONE;
    if (framerate.is_fixed ()) {
      const GstClockTime time = framerate.time_of (since);
      GST_BUFFER_PTS (buffer) = first_time + time;
      GST_BUFFER_DURATION (buffer) = framerate.time_of (since + 1) - time;
    }
    GST_BUFFER_OFFSET (buffer) = number;
    GST_BUFFER_OFFSET_END (buffer) = number + 1;
    from.describe (buffer, number);
  }

  GstFlowReturn push_buffer (GstBuffer *buffer)
  {
    const GstSegment &segment = timeline.segment;
    const GstClockTime time = GST_BUFFER_PTS (buffer);
    finished = segment.rate > 0 && GST_CLOCK_TIME_IS_VALID (time) && time >= segment.stop;
    if (finished) {
      gst_buffer_unref (buffer);
      return GST_FLOW_EOS;
    }
    timeline.set_position (buffer);
    gst_buffer_unset_flags (buffer, GST_BUFFER_FLAG_DISCONT);
    if (std::exchange (discont, false))
      gst_buffer_set_flags (buffer, GST_BUFFER_FLAG_DISCONT);
    return std::exchange (pushed, true) ? gst_pad_push (self->srcpad, buffer)
                                        : push_first_buffer (self->srcpad, buffer);
  }

  GstFlowReturn push_frame ()
  {
    const bool backward = source && timeline.segment.rate < 0;
    const SharedRun from = run;
    GstBuffer *buffer = nullptr;
    if (backward && frame <= wanted)
      return GST_FLOW_EOS;
    const guint64 number = backward ? frame - 1 : frame;
    GstFlowReturn flow = negotiate (from);
    if (flow == GST_FLOW_OK)
      flow = acquire_buffer (pool, from->output_bytes, &buffer);
    if (flow == GST_FLOW_OK)
      flow = fill (*from, number, buffer);
    if (flow != GST_FLOW_OK) {
      gst_clear_buffer (&buffer);
      return flow;
    }
    if (backward)
      frame = number;
    else
      pass_frame ();
    describe (*from, number, buffer);
    push_segment ();
    return push_buffer (buffer);
  }

  /* --- the position in the stream --- */

  ByteSource &input ()
  {
    return source ? static_cast<ByteSource &> (*source) : pushed_bytes;
  }

  /* Drops a header, or the rest of a frame if a seek went into the middle of it. */
  void skip_bytes ()
  {
    const gsize available = gst_adapter_available (adapter);
    const guint64 bytes = source ? skip : MIN (skip, guint64 (available));
    if (!source)
      gst_adapter_flush (adapter, gsize (bytes));
    skip -= bytes;
    offset += bytes;
  }

  void pass_frame ()
  {
    skip = run->frame_bytes;
    skip_bytes ();
    if (++frame == run->end_frame ())
      run.reset ();
  }

  /* Reads the header at the position, as far as it is available. Returns its size, or 0
   * after an error. */
  gsize peek_header (std::vector<guint8> &header)
  {
    GError *error = nullptr;
    if (!klass->get_header_size)
      return 0;
    if (input ().read_header (offset, klass->get_header_size, header, &error))
      return klass->get_header_size (header.data (), header.size ());
    fail (error, Place::here ());
    return 0;
  }

  /* Returns the run that a header begins, or null after an error. Fails early if the stream
   * is too short for one frame, before gigabytes of it are collected. */
  SharedRun parse_run (const std::vector<guint8> &header)
  {
    guint64 end;
    const SharedRun found =
        klass->parse_header (self, offset, header.data (), header.size (), source);
    if (!found)
      return nullptr;
    found->offset = offset;
    found->first_frame = frame;
    const bool is_short = klass->get_header_size && timeline.get_size (&end)
                          && end < found->offset_of (frame + 1);
    if (is_short && !check_end ("the stream ends", end, *found))
      return nullptr;
    if (offset == 0)
      timeline.set (timeline.first, found);
    return found;
  }

  /* Begins a run at its header, or at the frame that a seek wants. */
  GstFlowReturn start_run (const SharedRun &found)
  {
    have_run = true;
    read_timestamp ();
    frame = MAX (frame, MIN (wanted, found->end_frame ()));
    run = frame < found->end_frame () ? found : nullptr;
    skip = found->offset_of (frame) - offset;
    skip_bytes ();
    /* Negotiates before a frame is collected, so that downstream can refuse it early. */
    return negotiate (found);
  }

  GstFlowReturn read_header ()
  {
    std::vector<guint8> header;
    if (source && have_run && (!klass->get_header_size || offset >= source->size ()))
      return end_stream ();
    const gsize needed = peek_header (header), available = header.size ();
    if (available < needed && !source)
      return flow_more_bytes;
    if (available < needed)
      fail_part ("the stream ends", offset + available, "a header", available, needed);
    const bool is_whole = available >= needed && !(source && source->has_failed ());
    const SharedRun found = is_whole ? parse_run (header) : nullptr;
    return found ? start_run (found) : failure ();
  }

  /* Reads the next header, or outputs the next frame. */
  GstFlowReturn step ()
  {
    const gsize needed = run ? run->frame_bytes : 0;
    if (!source && (skip > 0 || gst_adapter_available (adapter) < needed))
      return flow_more_bytes;
    return run ? push_frame () : read_header ();
  }

  /* --- a source that pushes --- */

  bool is_between_runs () const
  {
    return !run && skip == 0 && gst_adapter_available (adapter) == 0;
  }

  /* Returns false after an error if the stream must not end with the adapter's bytes. */
  bool check_pushed_end (const char *cause)
  {
    std::vector<guint8> header;
    find_only_run ();
    if (run)
      return check_end (cause, pushed_bytes.size (), *run);
    if (const gsize needed = peek_header (header))
      fail_part (cause, offset + header.size (), "a header", header.size (), needed);
    return false;
  }

  void start_counting (GstClockTime time, guint64 number)
  {
    first_time = timeline.framerate.is_fixed () ? time : GST_CLOCK_TIME_NONE;
    timed_from = number;
  }

  /* Timestamps from upstream take precedence over counted ones. They apply to whole
   * runs. */
  void read_timestamp ()
  {
    guint64 distance;
    const GstClockTime pts = gst_adapter_prev_pts (adapter, &distance);
    if (!timeline.is_upstream (GST_FORMAT_TIME) || distance != 0
        || !GST_CLOCK_TIME_IS_VALID (pts))
      return;
    first_time = pts;
    timed_from = frame;
  }

  /* Detects a run that is too short, which would otherwise be completed with bytes of the
   * next one. Sources that read many files begin a new buffer with each file. */
  bool check_continuity (GstBuffer *buffer)
  {
    const std::string_view magic = klass->magic;
    if (at_start || is_between_runs ())
      return true;
    if (!magic.empty ()
        && gst_buffer_memcmp (buffer, 0, magic.data (), magic.size ()) == 0)
      return check_pushed_end ("the next file begins");
    return !GST_BUFFER_IS_DISCONT (buffer)
           || check_pushed_end ("the stream is interrupted");
  }

  /* --- segments --- */

  /* Moves to a byte of the stream. In the first run, finds the next frame and the number of
   * bytes to skip before it. Elsewhere a header must follow. */
  void move_to (guint64 position)
  {
    offset = position;
    skip = frame = 0;
    run.reset ();
    const SharedRun &first = timeline.first;
    if (position == 0 || !first || position > first->end ())
      return;

    const guint64 into = position - MIN (position, first->header_bytes);
    frame = into / first->frame_bytes + (into % first->frame_bytes != 0);
    skip = first->offset_of (frame) - position;
    if (frame < first->end_frame ())
      run = first;
  }

  void send_segment (const GstSegment &segment, guint32 number)
  {
    timeline.set (timeline.segment, segment);
    gst_clear_event (&segment_event);
    segment_event = gst_event_new_segment (&segment);
    gst_event_set_seqnum (segment_event, number);
    seqnum = number;
    have_segment = discont = true;
  }

  void drop_bytes ()
  {
    gst_adapter_clear (adapter);
    skip = wanted = 0;
    run.reset ();
    failed = finished = refused = false;
    at_start = true;
  }

  /* A seek replaces the current segment. */
  void start_seek (const PlannedSeek &seek)
  {
    drop_bytes ();
    wanted = seek.begin;
    offset = seek.offset;
    frame = seek.frame;
    if (seek.segment.rate < 0 || frame < timeline.first->end_frame ())
      run = timeline.first;
    start_counting (0, 0);
    send_segment (seek.segment, seek.seqnum);
  }

  /* A stream without headers has one run, which is known before its bytes. */
  void find_only_run ()
  {
    if (!klass->get_header_size && !have_run && !timeline.first)
      run = parse_run ({});
  }

  void start_bytes (guint64 position, guint32 number)
  {
    const Framerate &framerate = timeline.framerate;
    GstSegment segment;
    /* Another one of concatenated streams: the time continues. */
    if (have_segment && position == 0)
      return;
    find_only_run ();
    move_to (position);
    start_counting (0, 0);
    gst_segment_init (&segment, GST_FORMAT_TIME);
    if (framerate.is_fixed ())
      segment.start = segment.time = segment.position = framerate.time_of (frame);
    send_segment (segment, number);
  }

  void start_segment (const GstSegment &segment, guint32 number)
  {
    if (have_segment && !refused && !is_between_runs ())
      check_pushed_end ("the stream is interrupted");
    gst_adapter_clear (adapter);
    run.reset ();
    skip = 0;
    timeline.set (timeline.upstream_format, segment.format);
    if (segment.format == GST_FORMAT_TIME) {
      start_counting (segment.start, frame);
      send_segment (segment, number);
    } else {
      start_bytes (segment.format == GST_FORMAT_BYTES ? segment.start : 0, number);
    }
  }

  void handle_segment (GstEvent *event)
  {
    const GstSegment *segment;
    const guint32 number = gst_event_get_seqnum (event);
    gst_event_parse_segment (event, &segment);
    if (const std::optional<PlannedSeek> seek = timeline.take_requested (number))
      start_seek (*seek);
    else
      start_segment (*segment, number);
  }

  /* --- start and end of the stream --- */

  void reset_position ()
  {
    drop_bytes ();
    gst_clear_event (&segment_event);
    have_segment = pushed = false;
    discont = true;
    offset = frame = 0;
    start_counting (0, 0);
  }

  void reset_stream ()
  {
    reset_position ();
    started = have_run = false;
    negotiated.reset ();
    source.reset ();
    timeline.reset ();
  }

  /* Returns whether a stream that ends here is truncated. Bytes are unread after a source
   * that was stopped early. */
  bool is_truncated () const
  {
    guint64 size;
    const bool has_more =
        timeline.get_size (&size) && offset + gst_adapter_available (adapter) < size;
    return !finished && !refused && !has_more && (!have_run || !is_between_runs ());
  }

  void push_segment ()
  {
    if (segment_event)
      gst_pad_push_event (self->srcpad, std::exchange (segment_event, nullptr));
  }

  /* If an error occurs before the first frame, EOS is not sent. A sink would preroll
   * without data, which applications do not expect after an error. */
  gboolean push_eos (GstEvent *event)
  {
    if (!pushed && (failed || refused)) {
      gst_event_unref (event);
      return FALSE;
    }
    push_segment ();
    return gst_pad_push_event (self->srcpad, event);
  }

  /* Sticky events that must follow caps and segment wait on the pad. */
  gboolean forward (GstEvent *event)
  {
    const bool waits = GST_EVENT_IS_STICKY (event)
                       && GST_EVENT_TYPE (event) > GST_EVENT_CAPS
                       && (!caps || segment_event);
    if (!waits)
      return gst_pad_push_event (self->srcpad, event);
    gst_pad_store_sticky_event (self->srcpad, event);
    gst_event_unref (event);
    return TRUE;
  }

  /* --- a source with random access --- */

  void push_stream_start ()
  {
    gchar *id = gst_pad_create_stream_id (self->srcpad, GST_ELEMENT (self), nullptr);
    GstEvent *event = gst_event_new_stream_start (id);
    gst_event_set_group_id (event, gst_util_group_id_next ());
    gst_pad_push_event (self->srcpad, event);
    g_free (id);
  }

  GstFlowReturn start_pulling ()
  {
    GstCaps *input = gst_pad_peer_query_caps (self->sinkpad, nullptr);
    GstSegment segment;
    started = true;
    push_stream_start ();
    read_input_caps (input);
    gst_caps_unref (input);
    start_counting (0, 0);
    timeline.set (timeline.upstream_format, GST_FORMAT_BYTES);
    source = std::make_shared<PadSource> (self->sinkpad);
    const GstFlowReturn flow = read_header ();
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.duration = guint64 (timeline.duration (GST_FORMAT_TIME));
    send_segment (segment, gst_util_seqnum_next ());
    return flow;
  }

  /* Returns EOS, or an error if the stream does not end with its last frame. */
  GstFlowReturn end_stream ()
  {
    const bool good = klass->get_header_size
                      || check_end ("the stream ends", source->size (), *timeline.first);
    return good ? GST_FLOW_EOS : failure ();
  }

  void send_segment_done ()
  {
    const gint64 position = timeline.end_segment ();
    GstMessage *message =
        gst_message_new_segment_done (GST_OBJECT (self), GST_FORMAT_TIME, position);
    GstEvent *event = gst_event_new_segment_done (GST_FORMAT_TIME, position);
    gst_message_set_seqnum (message, seqnum);
    gst_event_set_seqnum (event, seqnum);
    gst_element_post_message (GST_ELEMENT (self), message);
    push_segment ();
    gst_pad_push_event (self->srcpad, event);
  }

  void end_pulling (GstFlowReturn flow)
  {
    if (flow == GST_FLOW_FLUSHING)
      return;
    if (flow != GST_FLOW_EOS && !failed && source->flow () != GST_FLOW_ERROR)
      GST_ELEMENT_FLOW_ERROR (self, flow);
    refused = flow != GST_FLOW_EOS;
    if (flow == GST_FLOW_EOS && (timeline.segment.flags & GST_SEGMENT_FLAG_SEGMENT)) {
      send_segment_done ();
      return;
    }
    GstEvent *event = gst_event_new_eos ();
    gst_event_set_seqnum (event, seqnum);
    push_eos (event);
  }

  /* --- seeks --- */

  bool seek_pushed (const PlannedSeek &seek)
  {
    GstEvent *event = gst_event_new_seek (1, GST_FORMAT_BYTES,
        GstSeekFlags (seek.flags & GST_SEEK_FLAG_FLUSH), GST_SEEK_TYPE_SET,
        gint64 (seek.offset), GST_SEEK_TYPE_SET, -1);
    gst_event_set_seqnum (event, seek.seqnum);
    timeline.request (seek);
    if (gst_pad_push_event (self->sinkpad, event))
      return true;
    timeline.request (std::nullopt);
    return false;
  }

  void push_flush (GstEvent *event, guint32 number)
  {
    gst_event_set_seqnum (event, number);
    gst_pad_push_event (self->sinkpad, gst_event_ref (event));
    gst_pad_push_event (self->srcpad, event);
  }

  bool seek_pulled (GstEvent *event, PlannedSeek seek)
  {
    if (seek.flags & GST_SEEK_FLAG_FLUSH)
      push_flush (gst_event_new_flush_start (), seek.seqnum);
    else
      gst_pad_pause_task (self->sinkpad);
    GST_PAD_STREAM_LOCK (self->sinkpad);
    if (seek.flags & GST_SEEK_FLAG_FLUSH)
      push_flush (gst_event_new_flush_stop (TRUE), seek.seqnum);
    /* Repeated, because the position of the last segment is final only now. */
    start_seek (timeline.plan (event).value_or (seek));
    if (seek.flags & GST_SEEK_FLAG_SEGMENT)
      gst_element_post_message (
          GST_ELEMENT (self), gst_message_new_segment_start (GST_OBJECT (self),
                                  GST_FORMAT_TIME, gint64 (timeline.segment.position)));
    start_task ();
    GST_PAD_STREAM_UNLOCK (self->sinkpad);
    return true;
  }

public:
  gboolean start_task ()
  {
    return gst_pad_start_task (
        self->sinkpad, [] (gpointer data) { static_cast<FrameParser *> (data)->pull (); },
        this, nullptr);
  }

private:
  bool started = false; /* pulling */
  bool failed = false;  /* an error was posted */
  bool pushed = false;  /* a frame */
  bool discont = true;
  bool have_segment = false;
  GstClockTime first_time = 0; /* of the frame `timed_from` */
  guint64 timed_from = 0;
  GstEvent *segment_event = nullptr; /* waits for caps */
  guint32 seqnum = 0;
  GstCaps *caps = nullptr;
  SharedRun negotiated;
  GstBufferPool *pool = nullptr;
  std::vector<guint8> scratch;
  std::shared_ptr<PadSource> source; /* null if the source pushes */

  /* The position. Without a `run`, a header begins there. After a seek, `wanted` is the first
   * frame of the segment. In reverse playback, `frame` - 1 is the next one. */
  guint64 offset = 0, frame = 0, wanted = 0;
  SharedRun run;

  /* If the source pushes */
  GstAdapter *const adapter = gst_adapter_new ();
  AdapterSource pushed_bytes{adapter, offset};
  guint64 skip = 0;      /* bytes that are still to be dropped */
  bool have_run = false; /* a header was read */
  bool at_start = true;
  bool finished = false; /* at the end of the segment */
  bool refused = false;  /* by downstream */
};
} // namespace opencl

using opencl::element_of;

void
gst_frame_parser_fail (GstFrameParser *self, GError *error, const opencl::Place &place)
{
  self->parser->fail (error, place);
}

static gpointer parent_class;

/* Pads */

/* Pulls if upstream is seekable, else takes buffers. */
static gboolean
activate (GstPad *pad, GstObject *)
{
  GstQuery *query = gst_query_new_scheduling ();
  const bool pull = gst_pad_peer_query (pad, query)
                    && gst_query_has_scheduling_mode_with_flags (
                        query, GST_PAD_MODE_PULL, GST_SCHEDULING_FLAG_SEEKABLE);

  gst_query_unref (query);
  return gst_pad_activate_mode (pad, pull ? GST_PAD_MODE_PULL : GST_PAD_MODE_PUSH, TRUE);
}

static gboolean
activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  opencl::FrameParser *parser = element_of (parent)->parser;

  if (active) {
    parser->read_input_caps (nullptr);
    return mode != GST_PAD_MODE_PULL || parser->start_task ();
  }
  const gboolean stopped = mode != GST_PAD_MODE_PULL || gst_pad_stop_task (pad);
  GST_PAD_STREAM_LOCK (pad);
  parser->reset ();
  GST_PAD_STREAM_UNLOCK (pad);
  return stopped;
}

static GstFlowReturn
chain (GstPad *, GstObject *parent, GstBuffer *buffer)
{
  return element_of (parent)->parser->chain (buffer);
}

static gboolean
sink_event (GstPad *, GstObject *parent, GstEvent *event)
{
  const gboolean handled = element_of (parent)->parser->handle_event (event);
  gst_event_unref (event);
  return handled;
}

static gboolean
src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return gst_pad_event_default (pad, parent, event);
  const bool done = element_of (parent)->parser->handle_seek (event);
  gst_event_unref (event);
  return done;
}

static gboolean
src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  return element_of (parent)->parser->timeline.answer (query)
         || gst_pad_query_default (pad, parent, query);
}

/* Life cycle */

static void
finalize (GObject *object)
{
  delete element_of (object)->parser;
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static GstPad *
add_pad (GstFrameParser *self, const char *name)
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
  GstFrameParser *self = element_of (object);

  G_OBJECT_CLASS (parent_class)->constructed (object);
  self->sinkpad = add_pad (self, "sink");
  gst_pad_set_activate_function (self->sinkpad, activate);
  gst_pad_set_activatemode_function (self->sinkpad, activate_mode);
  gst_pad_set_chain_function (self->sinkpad, chain);
  gst_pad_set_event_function (self->sinkpad, sink_event);

  self->srcpad = add_pad (self, "src");
  gst_pad_set_event_function (self->srcpad, src_event);
  gst_pad_set_query_function (self->srcpad, src_query);
  gst_pad_use_fixed_caps (self->srcpad);
  self->parser = new opencl::FrameParser (self);
}

static void
class_init (gpointer klass, gpointer)
{
  parent_class = g_type_class_peek_parent (klass);
  G_OBJECT_CLASS (klass)->constructed = constructed;
  G_OBJECT_CLASS (klass)->finalize = finalize;
}

GType
gst_frame_parser_get_type (const char *name)
{
  static const GType type =
      g_type_register_static_simple (GST_TYPE_ELEMENT, name, sizeof (GstFrameParserClass),
          class_init, sizeof (GstFrameParser), nullptr, G_TYPE_FLAG_ABSTRACT);
  return type;
}
