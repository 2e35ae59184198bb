/* Auxiliary video streams of a keying element, synchronised with its input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "auxiliarystream.hpp"

#include <gst/common/segmenttimes.hpp>

#include <algorithm>
#include <chrono>

namespace keying {
static const std::chrono::seconds warning_time (5); /* as in opencl::InputWatch */

static AuxiliaryStream *
stream_of (GstPad *pad)
{
  return static_cast<AuxiliaryStream *> (gst_pad_get_element_private (pad));
}

AuxiliaryStream::AuxiliaryStream (
    GstPadTemplate *of, const gchar *name, GstPadQueryFunction query)
    : pad_ (GST_PAD (gst_object_ref_sink (gst_pad_new_from_template (of, name))))
{
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_set_element_private (pad_, this);
  gst_pad_set_chain_function (pad_, chain);
  gst_pad_set_event_function (pad_, event);
  gst_pad_set_query_function (pad_, query);
  gst_pad_set_activatemode_function (pad_, activate);
}

AuxiliaryStream::~AuxiliaryStream ()
{
  gst_clear_buffer (&current.buffer);
  gst_clear_buffer (&next.buffer);
  gst_object_unref (pad_);
}

/* --- the pad's streaming thread --- */

GstFlowReturn
AuxiliaryStream::chain (GstPad *pad, GstObject *, GstBuffer *buffer)
{
  return stream_of (pad)->store (buffer);
}

GstFlowReturn
AuxiliaryStream::store (GstBuffer *buffer)
{
  std::unique_lock<std::mutex> lock (mutex);

  changed.wait (lock, [&] { return flushing || !next.buffer; });
  if (flushing || !has_format) {
    gst_buffer_unref (buffer);
    return flushing ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  }
  next = {buffer, format, ++frames};
  may_warn = false;
  next_begin = opencl::running_time_of (segment, GST_BUFFER_PTS (buffer));
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
    has_format = gst_video_info_from_caps (&format, caps);
    break;
  case GST_EVENT_SEGMENT:
    gst_event_copy_segment (event, &segment);
    break;
  case GST_EVENT_GAP:
    gst_event_parse_gap (event, &begin, &duration);
    if (GST_CLOCK_TIME_IS_VALID (duration))
      begin += duration;
    known_until = opencl::running_time_of (segment, begin);
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
  stream_of (pad)->flush (!active);
  return TRUE;
}

/* --- the element's streaming thread --- */

void
AuxiliaryStream::interrupt (bool is)
{
  std::lock_guard<std::mutex> lock (mutex);
  interrupted = is;
  changed.notify_all ();
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

const AuxiliaryStream::Frame &
AuxiliaryStream::frame_at (GstClockTime time)
{
  std::unique_lock<std::mutex> lock (mutex);

  for (;;) {
    if (!next_is_due (time)) {
      if (must_not_wait (time))
        return current;
      if (!may_warn)
        changed.wait (lock);
      else if (changed.wait_for (lock, warning_time) == std::cv_status::timeout)
        warn (lock);
      continue;
    }
    gst_clear_buffer (&current.buffer);
    std::swap (current, next);
    if (GST_CLOCK_TIME_IS_VALID (next_begin)
        && GST_BUFFER_DURATION_IS_VALID (current.buffer))
      known_until = next_begin + GST_BUFFER_DURATION (current.buffer);
    changed.notify_all ();
    if (!GST_CLOCK_TIME_IS_VALID (time))
      return current;
  }
}

/* --- all auxiliary streams of an element --- */

GstPad *
AuxiliaryStreams::request (GstElement *element, GstPadTemplate *of, const gchar *asked,
    GstPadQueryFunction query)
{
  const gchar *name = GST_PAD_TEMPLATE_NAME_TEMPLATE (of);
  std::shared_ptr<AuxiliaryStream> stream;
  if (!asked)
    return nullptr;
  {
    std::lock_guard<std::mutex> lock (mutex);
    if (streams.count (name))
      return nullptr;
    stream = streams[name] = std::make_shared<AuxiliaryStream> (of, name, query);
  }
  GstState state = GST_STATE_NULL;
  gst_element_get_state (element, &state, nullptr, 0);
  if (state > GST_STATE_READY)
    gst_pad_set_active (stream->pad (), TRUE);
  gst_element_add_pad (element, stream->pad ());
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
  streams.erase (name);
}

std::shared_ptr<AuxiliaryStream>
AuxiliaryStreams::find (const std::string &name)
{
  std::lock_guard<std::mutex> lock (mutex);
  auto found = streams.find (name);
  return found == streams.end () ? nullptr : found->second;
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
  for (auto &[name, stream] : streams)
    stream->interrupt (is);
}
} // namespace keying
