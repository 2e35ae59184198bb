/* Streams of request pads beside the main stream of a filter
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "auxiliarystream.hpp"

#include <gst/base/gstbasetransform.h>
#include <gst/common/buffers.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclfilter.h>

#include <algorithm>
#include <chrono>

namespace opencl {
static const std::chrono::seconds step (1);
static const guint steps_before_warning = 5; /* as in InputWatch */

static AuxiliaryStream *
stream_of (GstPad *pad)
{
  return static_cast<AuxiliaryStream *> (gst_pad_get_element_private (pad));
}

/* The main stream's context is that of the element. */
static gboolean
query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT)
    return GST_BASE_TRANSFORM_GET_CLASS (parent)->query (
        GST_BASE_TRANSFORM (parent), GST_PAD_SINK, query);
  return gst_pad_query_default (pad, parent, query);
}

AuxiliaryStream::AuxiliaryStream (GstPadTemplate *of, const gchar *name)
    : pad_ (GST_PAD (gst_object_ref_sink (gst_pad_new_from_template (of, name))))
{
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_set_element_private (pad_, this);
  gst_pad_set_chain_function (pad_, chain);
  gst_pad_set_event_function (pad_, event);
  gst_pad_set_query_function (pad_, query);
  gst_pad_set_activatemode_function (pad_, activate);
  g_signal_connect (pad_, "unlinked", G_CALLBACK (wake), this);
}

AuxiliaryStream::~AuxiliaryStream ()
{
  g_signal_handlers_disconnect_by_data (pad_, this);
  gst_clear_buffer (&current.buffer);
  gst_clear_buffer (&next.buffer);
  gst_object_unref (pad_);
}

/* --- the pad's streaming thread --- */

GstFlowReturn
AuxiliaryStream::chain (GstPad *pad, GstObject *element, GstBuffer *buffer)
{
  AuxiliaryStream &stream = *stream_of (pad);
  const GstFlowReturn flow = stream.has_format
                                 ? gst_opencl_check_frame (GST_ELEMENT (element), buffer,
                                     stream.is_video ? &stream.format : nullptr,
                                     stream.array.bytes (), &stream.n_invalid)
                                 : GST_FLOW_OK;
  if (flow == GST_FLOW_OK || flow == GST_FLOW_CUSTOM_SUCCESS)
    return stream.store (buffer, flow != GST_FLOW_OK);
  gst_buffer_unref (buffer);
  return flow;
}

GstFlowReturn
AuxiliaryStream::store (GstBuffer *buffer, bool is_lost)
{
  if (GstQuery *latency = frames == 0 ? gst_query_new_latency () : nullptr) {
    if (gst_pad_peer_query (pad_, latency))
      gst_query_parse_latency (latency, &is_live, nullptr, nullptr);
    gst_query_unref (latency);
  }
  std::unique_lock<std::mutex> lock (mutex);

  changed.wait (lock, [&] { return flushing || !next.buffer; });
  if (flushing || !has_format) {
    gst_buffer_unref (buffer);
    return flushing ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  }
  next = {buffer, format, is_video, array, ++frames, is_lost};
  may_warn = false;
  next_begin = running_time_of (segment, GST_BUFFER_PTS (buffer));
  changed.notify_all ();
  return GST_FLOW_OK;
}

/* Forwards no event. Downstream gets caps and EOS from the main stream. */
gboolean
AuxiliaryStream::event (GstPad *pad, GstObject *, GstEvent *event)
{
  stream_of (pad)->handle_event (event);
  gst_event_unref (event);
  return TRUE;
}

void
AuxiliaryStream::handle_event (GstEvent *event)
{
  GstCaps *caps;
  GstClockTime begin, duration;

  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START
      || GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    return flush (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START);
  std::lock_guard<std::mutex> lock (mutex);
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    is_video = video_info_of_caps (caps, format);
    has_format = is_video || array_of_caps (caps, array, nullptr);
    break;
  case GST_EVENT_SEGMENT:
    gst_event_copy_segment (event, &segment);
    break;
  case GST_EVENT_GAP:
    gst_event_parse_gap (event, &begin, &duration);
    if (GST_CLOCK_TIME_IS_VALID (duration))
      begin += duration;
    known_until = running_time_of (segment, begin);
    break;
  case GST_EVENT_STREAM_START:
    ended = false;
    break;
  case GST_EVENT_EOS:
    ended = true;
    break;
  default:
    break;
  }
  changed.notify_all ();
}

void
AuxiliaryStream::flush (bool is)
{
  std::lock_guard<std::mutex> lock (mutex);

  flushing = is;
  ended = false;
  may_warn = true;
  known_until = 0;
  gst_clear_buffer (&next.buffer);
  if (!is)
    gst_segment_init (&segment, GST_FORMAT_TIME);
  changed.notify_all ();
}

gboolean
AuxiliaryStream::activate (GstPad *pad, GstObject *, GstPadMode, gboolean active)
{
  AuxiliaryStream &stream = *stream_of (pad);
  stream.is_stale = true;
  stream.flush (!active);
  std::lock_guard<std::mutex> lock (stream.mutex);
  stream.has_format = false;
  return TRUE;
}

/* --- the element's streaming thread --- */

bool
AuxiliaryStream::is_interrupted ()
{
  std::lock_guard<std::mutex> lock (mutex);
  return interrupted || flushing;
}

bool
AuxiliaryStream::has_ended ()
{
  std::lock_guard<std::mutex> lock (mutex);
  return !next.buffer && (ended || !gst_pad_is_linked (pad_));
}

void
AuxiliaryStream::interrupt (bool is)
{
  std::lock_guard<std::mutex> lock (mutex);
  interrupted = is;
  changed.notify_all ();
}

/* The thread then sees that the pad is not linked. */
void
AuxiliaryStream::wake (GstPad *, GstPad *, gpointer stream)
{
  auto *self = static_cast<AuxiliaryStream *> (stream);
  std::lock_guard<std::mutex> lock (self->mutex);
  self->changed.notify_all ();
}

bool
AuxiliaryStream::is_recorded ()
{
  std::lock_guard<std::mutex> lock (mutex);
  return frames > 0 && !is_live;
}

bool
AuxiliaryStream::next_is_due (GstClockTime time) const
{
  return next.buffer
         && (!GST_CLOCK_TIME_IS_VALID (time) || !GST_CLOCK_TIME_IS_VALID (next_begin)
             || next_begin <= time);
}

bool
AuxiliaryStream::must_not_wait (GstClockTime time) const
{
  bool is_known = GST_CLOCK_TIME_IS_VALID (time) && time < known_until;
  return next.buffer || ended || flushing || interrupted || is_known
         || !gst_pad_is_linked (pad_);
}

/* Unlocks while it posts, since a bus sync handler may call application code. */
void
AuxiliaryStream::warn (std::unique_lock<std::mutex> &lock)
{
  may_warn = false;
  lock.unlock ();
  if (GstElement *element = gst_pad_get_parent_element (pad_)) {
    GST_ELEMENT_WARNING (element, CORE, PAD,
        ("No frame arrives on pad %s, and the main video waits for it. If both come from "
         "one tee, put a queue behind each of its pads",
            GST_OBJECT_NAME (pad_)),
        (nullptr));
    gst_object_unref (element);
  }
  lock.lock ();
}

void
AuxiliaryStream::wait_for_change (std::unique_lock<std::mutex> &lock, guint &steps)
{
  if (!may_warn)
    changed.wait (lock);
  else if (changed.wait_for (lock, step) == std::cv_status::timeout
           && ++steps == steps_before_warning)
    warn (lock);
}

void
AuxiliaryStream::take_next ()
{
  if (next.is_lost)
    n_lost++;
  else
    std::swap (current, next);
  gst_clear_buffer (&next.buffer);
  if (GST_CLOCK_TIME_IS_VALID (next_begin) && !next.is_lost
      && GST_BUFFER_DURATION_IS_VALID (current.buffer))
    known_until = next_begin + GST_BUFFER_DURATION (current.buffer);
  changed.notify_all ();
}

const AuxiliaryStream::Frame &
AuxiliaryStream::frame_at (GstClockTime time, bool waits)
{
  std::unique_lock<std::mutex> lock (mutex);
  guint steps = 0;

  if (is_stale.exchange (false)) {
    gst_clear_buffer (&current.buffer);
    current = {};
  }
  for (;;) {
    if (interrupted || !next_is_due (time)) {
      if (!waits || must_not_wait (time))
        return current;
      wait_for_change (lock, steps);
      continue;
    }
    take_next ();
    if (!GST_CLOCK_TIME_IS_VALID (time))
      return current;
  }
}

bool
AuxiliaryStream::wait_for_caps (Frame &caps)
{
  std::unique_lock<std::mutex> lock (mutex);
  guint steps = 0;

  while (!has_format && !must_not_wait (GST_CLOCK_TIME_NONE))
    wait_for_change (lock, steps);
  caps = {nullptr, format, is_video, array};
  return has_format;
}

/* --- all auxiliary streams of an element --- */

GstPad *
AuxiliaryStreams::request (GstElement *element, GstPadTemplate *of, const gchar *asked)
{
  if (!asked || find (asked))
    return nullptr;
  auto stream = std::make_shared<AuxiliaryStream> (of, asked);
  GstState state = GST_STATE_NULL;
  gst_element_get_state (element, &state, nullptr, 0);
  if (state > GST_STATE_READY)
    gst_pad_set_active (stream->pad (), TRUE);
  gst_element_add_pad (element, stream->pad ());
  std::lock_guard<std::mutex> lock (mutex);
  streams.push_back (stream);
  return stream->pad ();
}

void
AuxiliaryStreams::release (GstElement *element, GstPad *pad)
{
  const std::string name = GST_PAD_NAME (pad);
  std::shared_ptr<AuxiliaryStream> stream = find (name);

  if (!stream)
    return;
  stream->interrupt (true);
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
  std::lock_guard<std::mutex> lock (mutex);
  streams.erase (std::find (streams.begin (), streams.end (), stream));
}

std::shared_ptr<AuxiliaryStream>
AuxiliaryStreams::find (const std::string &name)
{
  std::lock_guard<std::mutex> lock (mutex);
  for (const auto &stream : streams)
    if (name == GST_PAD_NAME (stream->pad ()))
      return stream;
  return nullptr;
}

std::vector<std::shared_ptr<AuxiliaryStream>>
AuxiliaryStreams::all ()
{
  std::lock_guard<std::mutex> lock (mutex);
  return streams;
}

bool
AuxiliaryStreams::has_any ()
{
  std::lock_guard<std::mutex> lock (mutex);
  return !streams.empty ();
}

void
AuxiliaryStreams::interrupt (bool is)
{
  std::lock_guard<std::mutex> lock (mutex);
  for (auto &stream : streams)
    stream->interrupt (is);
}

void
AuxiliaryStreams::follow_event (GstEvent *event)
{
  const bool begins = GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START;
  if (begins || GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    interrupt (begins);
}

void
AuxiliaryStreams::follow_state (GstStateChange change)
{
  const bool stops = change == GST_STATE_CHANGE_PAUSED_TO_READY;
  if (stops || change == GST_STATE_CHANGE_READY_TO_PAUSED)
    interrupt (stops);
}

gboolean
AuxiliaryStreams::seek (GstEvent *event, const std::function<gboolean ()> &seek_main)
{
  GstSeekFlags flags;
  gst_event_parse_seek (
      event, nullptr, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  const bool flushes = flags & GST_SEEK_FLAG_FLUSH;
  if (flushes)
    interrupt (true);
  for (const auto &stream : all ())
    gst_pad_push_event (stream->pad (), gst_event_ref (event));
  const gboolean done = seek_main ();
  if (flushes)
    interrupt (false);
  return done;
}

/* --- a frame on the device --- */

bool
AuxiliaryStream::Frame::map (GstOpenCLFilter *filter, ReadFrame &mapped,
    cl_command_queue queue, GError **error) const
{
  GstBuffer *own = gst_opencl_filter_import (filter, buffer, error);
  const bool is =
      own && mapped.map (own, is_video ? &info : nullptr, array.bytes (), queue, error);
  gst_clear_buffer (&own);
  return is;
}

bool
AuxiliaryFrame::follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
    const std::string &name, GstClockTime time, cl_command_queue queue,
    const Process &process, GError **error)
{
  std::shared_ptr<AuxiliaryStream> found = streams.find (name);

  if (!found || found != stream.lock ())
    number = 0;
  stream = found;
  if (!found)
    return true;
  const AuxiliaryStream::Frame &current = found->frame_at (time);
  if (current.number == number)
    return true;
  ReadFrame frame;
  const bool processed =
      current.map (filter, frame, queue, error) && process (frame.frame (), current);
  number = processed ? current.number : 0;
  return processed;
}
} // namespace opencl
