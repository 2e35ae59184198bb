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

/* State and functions of the streaming thread */
class FrameParser {
public:
  explicit FrameParser (GstFrameParser *self)
      : self (self),
        klass (reinterpret_cast<GstFrameParserClass *> (G_OBJECT_GET_CLASS (self))),
        timeline (self->sinkpad, klass->get_header_size != nullptr)
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
    const bool silent =
        scanning || (source && (source->has_failed () || source->has_ended_early ()));
    if (silent || std::exchange (failed, true))
      g_error_free (error);
    else
      post_element_error (GST_ELEMENT (self), error->domain, error->code, error, place);
  }

  void start ()
  {
    timeline.set_framerate (klass->get_framerate (self));
    reset ();
  }

  void reset ()
  {
    reset_stream ();
    for (GstEvent *event : std::exchange (events, {}))
      gst_event_unref (event);
    gst_clear_caps (&caps);
    release_pool (&pool);
  }

  GstFlowReturn chain (GstBuffer *buffer)
  {
    if (finished || failed || !check_continuity (buffer)) {
      gst_buffer_unref (buffer);
      return finished ? GST_FLOW_EOS : GST_FLOW_ERROR;
    }
    const GstFlowReturn flow =
        remaining.backward ? chain_backward (buffer) : chain_forward (buffer);
    /* A stream is not truncated if downstream wants no more of it. */
    refused = flow != GST_FLOW_OK;
    return flow;
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
    case GST_EVENT_SEGMENT_DONE:
      push_segment_done ();
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
    GstFlowReturn flow = started ? GST_FLOW_OK : start_pulling ();
    if (flow == GST_FLOW_OK)
      flow = remaining.is_empty () ? finish_pulling () : pull_frame ();
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

  GstCaps *caps_of (const FrameRun &from) const
  {
    const Framerate &framerate = timeline.get_framerate ();
    GstCaps *made = from.make_caps ();
    gst_caps_set_simple (
        made, "framerate", GST_TYPE_FRACTION, framerate.n, framerate.d, nullptr);
    return made;
  }

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
    GstCaps *offered = caps_of (*wanted);
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

  /* --- frames --- */

  bool read_pulled (FrameRun &from, guint64 number, guint8 *bytes)
  {
    gsize done = 0;
    GError *error = nullptr;
    if (!from.read (*source, number, bytes, done, &error))
      fail (error, Place::here ());
    else if (done == from.frame_bytes)
      return true;
    else
      klass->check_end (
          self, {"the stream ends", from.offset_of (number) + done, &from, 0, 0});
    return false;
  }

  bool read_frame (FrameRun &from, guint64 number, guint8 *bytes)
  {
    if (source)
      return read_pulled (from, number, bytes);
    gst_adapter_copy (adapter, bytes, 0, from.frame_bytes);
    gst_adapter_flush (adapter, from.frame_bytes);
    offset += from.frame_bytes;
    frame = number + 1;
    if (frame == from.end_frame ())
      run.reset ();
    return true;
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
    const Framerate &framerate = timeline.get_framerate ();
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
    finished = timeline.is_after_segment (buffer);
    if (finished || timeline.is_before_segment (buffer)) {
      gst_buffer_unref (buffer);
      return finished ? GST_FLOW_EOS : GST_FLOW_OK;
    }
    timeline.set_position (buffer);
    gst_buffer_unset_flags (buffer, GST_BUFFER_FLAG_DISCONT);
    if (std::exchange (discont, false))
      gst_buffer_set_flags (buffer, GST_BUFFER_FLAG_DISCONT);
    return std::exchange (pushed, true) ? gst_pad_push (self->srcpad, buffer)
                                        : push_first_buffer (self->srcpad, buffer);
  }

  GstFlowReturn push_frame (const SharedRun from, guint64 number)
  {
    GstBuffer *buffer = nullptr;
    GstFlowReturn flow = negotiate (from);
    if (flow == GST_FLOW_OK)
      flow = acquire_buffer (pool, from->output_bytes, &buffer);
    if (flow == GST_FLOW_OK)
      flow = fill (*from, number, buffer);
    if (flow != GST_FLOW_OK) {
      gst_clear_buffer (&buffer);
      return flow;
    }
    describe (*from, number, buffer);
    push_events ();
    return push_buffer (buffer);
  }

  /* --- a source that pushes --- */

  bool is_between_runs () const { return !run && gst_adapter_available (adapter) == 0; }

  gsize header_size (const guint8 *bytes, gsize size) const
  {
    return klass->get_header_size ? klass->get_header_size (bytes, size) : 0;
  }

  /* Returns the size of the header in the adapter, as far as its bytes tell. */
  gsize next_header_size () const
  {
    guint8 preface[16] = {};
    const gsize size = MIN (gst_adapter_available (adapter), sizeof preface);
    if (size > 0)
      gst_adapter_copy (adapter, preface, 0, size);
    return header_size (preface, size);
  }

  /* Returns false after an error if the stream must not end with the adapter's bytes. */
  bool check_pushed_end (const char *cause)
  {
    const gsize available = gst_adapter_available (adapter);
    return klass->check_end (
        self, {cause, offset + available, run.get (), next_header_size (), available});
  }

  void start_counting (GstClockTime time, guint64 number)
  {
    first_time = timeline.get_framerate ().is_fixed () ? time : GST_CLOCK_TIME_NONE;
    timed_from = number;
  }

  /* Timestamps from upstream take precedence over counted ones. They apply to whole
   * runs. */
  void read_timestamp ()
  {
    guint64 distance;
    const GstClockTime pts = gst_adapter_prev_pts (adapter, &distance);
    if (timeline.get_upstream_format () != GST_FORMAT_TIME || distance != 0
        || !GST_CLOCK_TIME_IS_VALID (pts))
      return;
    first_time = pts;
    timed_from = frame;
  }

  void place_run (const SharedRun &found, guint64 position)
  {
    found->offset = position;
    found->first_frame = frame;
    if (position == 0)
      timeline.set_runs ({found});
  }

  /* Drops a header, or the rest of a frame if a seek went into the middle of it. */
  void skip_bytes ()
  {
    const guint64 bytes = MIN (skip, guint64 (gst_adapter_available (adapter)));
    gst_adapter_flush (adapter, gsize (bytes));
    skip -= bytes;
    offset += bytes;
  }

  GstFlowReturn read_header ()
  {
    const gsize size = next_header_size ();
    if (size > gst_adapter_available (adapter))
      return flow_more_bytes;
    gconstpointer bytes = size > 0 ? gst_adapter_map (adapter, size) : nullptr;
    const SharedRun found = klass->parse_header (
        self, offset, static_cast<const guint8 *> (bytes), size, nullptr);
    if (bytes)
      gst_adapter_unmap (adapter);
    if (!found)
      return GST_FLOW_ERROR;
    place_run (found, offset);
    have_run = true;
    read_timestamp ();
    run = found;
    skip = run->header_bytes;
    skip_bytes ();
    /* Negotiates before a frame is collected, so that downstream can refuse it early. */
    return negotiate (run);
  }

  GstFlowReturn chain_forward (GstBuffer *buffer)
  {
    GstFlowReturn flow = GST_FLOW_OK;
    at_start = false;
    gst_adapter_push (adapter, buffer);
    skip_bytes ();
    while (flow == GST_FLOW_OK) {
      if (!run)
        flow = read_header ();
      else if (skip > 0 || gst_adapter_available (adapter) < run->frame_bytes)
        return GST_FLOW_OK;
      else
        flow = push_frame (run, frame);
    }
    return flow == flow_more_bytes ? GST_FLOW_OK : flow;
  }

  /* Upstream pushes blocks from the last to the first, each in forward order. Outputs the
   * frame at the end of the blocks collected so far. */
  GstFlowReturn push_last_frame (const SharedRun &from)
  {
    while (!g_queue_is_empty (&blocks))
      gst_adapter_push (adapter, GST_BUFFER (g_queue_pop_head (&blocks)));
    block_bytes -= from->frame_bytes;
    if (block_bytes > 0)
      g_queue_push_head (&blocks, gst_adapter_take_buffer (adapter, block_bytes));
    return push_frame (from, remaining.take ());
  }

  GstFlowReturn chain_backward (GstBuffer *buffer)
  {
    const SharedRun only = timeline.get_runs ().front ();
    GstFlowReturn flow = GST_FLOW_OK;
    g_queue_push_head (&blocks, buffer);
    block_bytes += gst_buffer_get_size (buffer);
    while (
        flow == GST_FLOW_OK && !remaining.is_empty () && block_bytes >= only->frame_bytes)
      flow = push_last_frame (only);
    return flow;
  }

  /* Detects a run that is too short, which would otherwise be completed with bytes of the
   * next one. Sources that read many files begin a new buffer with each file. */
  bool check_continuity (GstBuffer *buffer)
  {
    const std::string_view magic = klass->magic;
    if (remaining.backward || at_start || is_between_runs ())
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
    if (position == 0 || timeline.get_runs ().empty ()
        || position > timeline.get_runs ().front ()->end ())
      return;

    const SharedRun &first = timeline.get_runs ().front ();
    const guint64 into = position - MIN (position, first->header_bytes);
    frame = into / first->frame_bytes + (into % first->frame_bytes != 0);
    skip = first->offset_of (frame) - position;
    if (frame < first->end_frame ())
      run = first;
  }

  void send_segment (const GstSegment &segment, guint32 number)
  {
    timeline.set_segment (segment);
    gst_clear_event (&segment_event);
    segment_event = gst_event_new_segment (&segment);
    gst_event_set_seqnum (segment_event, number);
    seqnum = number;
    have_segment = discont = true;
  }

  void drop_bytes ()
  {
    gst_adapter_clear (adapter);
    g_queue_clear_full (&blocks, reinterpret_cast<GDestroyNotify> (gst_buffer_unref));
    block_bytes = 0;
    skip = 0;
    run.reset ();
    remaining = {};
    failed = finished = refused = false;
    at_start = true;
  }

  /* A seek replaces the current segment. */
  void start_seek (const PlannedSeek &seek)
  {
    drop_bytes ();
    remaining = seek.frames;
    if (!source && !seek.frames.backward)
      move_to (seek.offset);
    start_counting (0, 0);
    send_segment (seek.segment, seek.seqnum);
  }

  /* A stream without headers has one run, which is known before its bytes. */
  void find_only_run ()
  {
    if (klass->get_header_size || !timeline.get_runs ().empty ())
      return;
    if (const SharedRun only = klass->parse_header (self, 0, nullptr, 0, nullptr))
      place_run (only, 0);
  }

  void start_bytes (guint64 position, guint32 number)
  {
    const Framerate &framerate = timeline.get_framerate ();
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
    timeline.set_upstream_format (segment.format);
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
    if (klass->reset)
      klass->reset (self);
  }

  void read_input_caps (GstCaps *input)
  {
    Framerate framerate;
    if (!gst_caps_is_fixed (input)
        || !gst_structure_get_fraction (
            gst_caps_get_structure (input, 0), "framerate", &framerate.n, &framerate.d))
      framerate = klass->get_framerate (self);
    timeline.set_framerate (framerate);
  }

  /* Returns whether a stream that ends here is truncated. Bytes are unread after a source
   * that was stopped early. */
  bool is_truncated () const
  {
    guint64 size;
    const bool has_more =
        timeline.get_size (&size) && offset + gst_adapter_available (adapter) < size;
    return !finished && !refused && !remaining.backward && !has_more
           && (!have_run || !is_between_runs ());
  }

  void push_events ()
  {
    if (segment_event)
      gst_pad_push_event (self->srcpad, std::exchange (segment_event, nullptr));
    for (GstEvent *event : std::exchange (events, {}))
      gst_pad_push_event (self->srcpad, event);
  }

  void push_segment_done ()
  {
    GstEvent *event =
        gst_event_new_segment_done (GST_FORMAT_TIME, timeline.end_segment ());
    gst_event_set_seqnum (event, seqnum);
    push_events ();
    gst_pad_push_event (self->srcpad, event);
  }

  /* If an error occurs before the first frame, EOS is not sent. A sink would preroll
   * without data, which applications do not expect after an error. */
  gboolean push_eos (GstEvent *event)
  {
    if (!pushed && (failed || refused)) {
      gst_event_unref (event);
      return FALSE;
    }
    push_events ();
    return gst_pad_push_event (self->srcpad, event);
  }

  /* Other events must follow stream-start, caps and segment. */
  gboolean forward (GstEvent *event)
  {
    if (!GST_EVENT_IS_SERIALIZED (event) || GST_EVENT_TYPE (event) < GST_EVENT_CAPS
        || (caps && !segment_event))
      return gst_pad_push_event (self->srcpad, event);
    events.push_back (event);
    return TRUE;
  }

  /* --- a source with random access --- */

  /* Starts the stream in the group of its source. */
  void push_stream_start ()
  {
    gchar *id = gst_pad_create_stream_id (self->srcpad, GST_ELEMENT (self), nullptr);
    GstEvent *event = gst_event_new_stream_start (id);
    GstEvent *upstream =
        gst_pad_get_sticky_event (self->sinkpad, GST_EVENT_STREAM_START, 0);
    guint group = gst_util_group_id_next ();
    if (upstream)
      gst_event_parse_group_id (upstream, &group);
    gst_clear_event (&upstream);
    gst_event_set_group_id (event, group);
    gst_pad_push_event (self->srcpad, event);
    g_free (id);
  }

  /* Returns the run at a position, or null after an error. */
  SharedRun pull_run (guint64 position)
  {
    std::vector<guint8> header;
    GError *error = nullptr;
    if (klass->get_header_size
        && !source->read_header (position, klass->get_header_size, header, &error)) {
      fail (error, Place::here ());
      return nullptr;
    }
    const gsize there = header.size (), needed = header_size (header.data (), there);
    if (there >= needed)
      return klass->parse_header (self, position, header.data (), there, source);
    klass->check_end (
        self, {"the stream ends", position + there, nullptr, needed, there});
    return nullptr;
  }

  /* Errors in a header are posted when it is played. */
  void pull_runs ()
  {
    std::vector<SharedRun> runs;
    guint64 position = 0;
    scanning = true;
    do {
      SharedRun found = pull_run (position);
      if (!found)
        break;
      found->offset = position;
      found->first_frame = runs.empty () ? 0 : runs.back ()->end_frame ();
      position = found->end ();
      runs.push_back (std::move (found));
    } while (klass->get_header_size && position < source->size ());
    scanning = false;
    timeline.set_runs (std::move (runs));
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
    timeline.set_upstream_format (GST_FORMAT_BYTES);
    source = std::make_shared<PadSource> (self->sinkpad);
    pull_runs ();
    if (source->has_failed ())
      return source->flow ();
    if (!timeline.get_runs ().empty ())
      remaining.end = timeline.get_runs ().back ()->end_frame ();
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.duration = guint64 (timeline.duration (GST_FORMAT_TIME));
    send_segment (segment, gst_util_seqnum_next ());
    return GST_FLOW_OK;
  }

  /* Returns EOS, or an error if the stream does not end with its last frame. */
  GstFlowReturn finish_pulling ()
  {
    const std::vector<SharedRun> &runs = timeline.get_runs ();
    const FrameRun *last = runs.empty () ? nullptr : runs.back ().get ();
    const guint64 size = source->size ();
    bool good = true;
    if (remaining.backward || (last && remaining.end < last->end_frame ()))
      return GST_FLOW_EOS;
    if (!last || (klass->get_header_size && last->end () < size))
      good = pull_run (last ? last->end () : 0) != nullptr;
    else if (!klass->get_header_size)
      good = klass->check_end (self, {"the stream ends", size, last, 0, 0});
    return good ? GST_FLOW_EOS : failure ();
  }

  GstFlowReturn pull_frame ()
  {
    const guint64 number = remaining.take ();
    const std::vector<SharedRun> &runs = timeline.get_runs ();
    const auto from = std::partition_point (
        runs.begin (), runs.end (), [number] (const SharedRun &candidate) {
          return candidate->end_frame () <= number;
        });
    return push_frame (*from, number);
  }

  void post_segment_done ()
  {
    GstMessage *message = gst_message_new_segment_done (
        GST_OBJECT (self), GST_FORMAT_TIME, timeline.end_segment ());
    gst_message_set_seqnum (message, seqnum);
    gst_element_post_message (GST_ELEMENT (self), message);
  }

  void end_pulling (GstFlowReturn flow)
  {
    if (flow == GST_FLOW_FLUSHING)
      return;
    if (flow != GST_FLOW_EOS && !failed && source->flow () != GST_FLOW_ERROR)
      GST_ELEMENT_FLOW_ERROR (self, flow);
    refused = flow != GST_FLOW_EOS;
    if (flow == GST_FLOW_EOS
        && (timeline.get_segment ().flags & GST_SEGMENT_FLAG_SEGMENT)) {
      post_segment_done ();
      push_segment_done ();
      return;
    }
    GstEvent *event = gst_event_new_eos ();
    gst_event_set_seqnum (event, seqnum);
    push_eos (event);
  }

  /* --- seeks --- */

  bool seek_pushed (const PlannedSeek &seek)
  {
    timeline.request (seek);
    if (gst_pad_push_event (self->sinkpad, seek.in_bytes ()))
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
      gst_element_post_message (GST_ELEMENT (self),
          gst_message_new_segment_start (GST_OBJECT (self), GST_FORMAT_TIME,
              gint64 (timeline.get_segment ().position)));
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
  bool started = false;  /* pulling */
  bool scanning = false; /* for runs */
  bool failed = false;   /* an error was posted */
  bool pushed = false;   /* a frame */
  bool discont = true;
  bool have_segment = false;
  RemainingFrames remaining;
  GstClockTime first_time = 0; /* of the frame `timed_from` */
  guint64 timed_from = 0;
  GstEvent *segment_event = nullptr;
  guint32 seqnum = 0;
  std::vector<GstEvent *> events; /* that wait for caps and segment */
  GstCaps *caps = nullptr;
  SharedRun negotiated;
  GstBufferPool *pool = nullptr;
  std::vector<guint8> scratch;
  std::shared_ptr<PadSource> source; /* null if the source pushes */

  /* If the source pushes. `offset` is the position of the adapter's first byte. Without a
   * `run`, a header begins there. */
  GstAdapter *const adapter = gst_adapter_new ();
  guint64 offset = 0, skip = 0, frame = 0;
  SharedRun run;
  bool have_run = false; /* a header was read */
  bool at_start = true;
  bool finished = false;        /* at the end of the segment */
  bool refused = false;         /* by downstream */
  GQueue blocks = G_QUEUE_INIT; /* in reverse playback, in the order of the stream */
  gsize block_bytes = 0;
};
} // namespace opencl

using opencl::element_of;

void
gst_frame_parser_fail (GstFrameParser *self, GError *error, const opencl::Place &place)
{
  self->parser->fail (error, place);
}

bool
gst_frame_parser_get_stream_size (GstFrameParser *self, guint64 *size)
{
  return self->parser->timeline.get_size (size);
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
  if (mode != GST_PAD_MODE_PULL)
    return TRUE;
  return active ? element_of (parent)->parser->start_task () : gst_pad_stop_task (pad);
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

/* If upstream works in time, its answer takes precedence. */
static gboolean
src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  const opencl::FrameTimeline &timeline = element_of (parent)->parser->timeline;

  if (!timeline.answers (query))
    return gst_pad_query_default (pad, parent, query);
  return (timeline.get_upstream_format () == GST_FORMAT_TIME
             && gst_pad_peer_query (element_of (parent)->sinkpad, query))
         || timeline.answer (query);
}

/* Life cycle */

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  opencl::FrameParser *parser = element_of (element)->parser;

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    parser->start ();
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    parser->reset ();
  return result;
}

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
  GST_ELEMENT_CLASS (klass)->change_state = change_state;
}

GType
gst_frame_parser_get_type (const char *name)
{
  static const GType type =
      g_type_register_static_simple (GST_TYPE_ELEMENT, name, sizeof (GstFrameParserClass),
          class_init, sizeof (GstFrameParser), nullptr, G_TYPE_FLAG_ABSTRACT);
  return type;
}
