/* Common GstBaseSink functions of the file sinks
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasesink.h>
#include <gst/common/recording.hpp>

#include <utility>

namespace opencl {
/* `Sink` is an instance structure with a member `recording`, which is null below PAUSED.
 * `make` creates the recording, or posts an error and returns null. A recording ends at
 * PAUSED to READY. It cannot use start() and stop(), which GstBaseSink calls at NULL to
 * READY and back. */
template <typename Sink, Recording *(*make) (Sink *)> struct RecordingSink {
  template <typename Class> static void install (Class *klass)
  {
    auto *element_class = GST_ELEMENT_CLASS (klass);
    auto *sink_class = GST_BASE_SINK_CLASS (klass);
    element_class->change_state = change_state;
    sink_class->event = event;
    sink_class->set_caps = set_caps;
    sink_class->propose_allocation = propose_allocation;
    sink_class->render = render;
  }

private:
  static Recording *&recording_of (gpointer sink)
  {
    return static_cast<Sink *> (sink)->recording;
  }

  /* Returns GstBaseSink's class, as no class derives from a recording sink. */
  static gpointer parent_of (gpointer sink)
  {
    return g_type_class_peek_parent (G_OBJECT_GET_CLASS (sink));
  }

  static bool begin (Recording *&recording, GstElement *element)
  {
    recording = make (static_cast<Sink *> (gpointer (element)));
    if (recording && !recording->start ())
      forget (recording);
    return recording != nullptr;
  }

  static void forget (Recording *&recording)
  {
    if (recording)
      recording->finish ();
    delete std::exchange (recording, nullptr);
  }

  static GstStateChangeReturn change_state (
      GstElement *element, GstStateChange transition)
  {
    Recording *&recording = recording_of (element);
    const bool begins = transition == GST_STATE_CHANGE_READY_TO_PAUSED;
    if (begins && !begin (recording, element))
      return GST_STATE_CHANGE_FAILURE;
    const GstStateChangeReturn result =
        GST_ELEMENT_CLASS (parent_of (element))->change_state (element, transition);
    if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
        || (begins && result == GST_STATE_CHANGE_FAILURE))
      forget (recording);
    return result;
  }

  /* The file is complete before the EOS message is posted. */
  static gboolean event (GstBaseSink *sink, GstEvent *event)
  {
    if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
      recording_of (sink)->end ();
    return GST_BASE_SINK_CLASS (parent_of (sink))->event (sink, event);
  }

  static gboolean set_caps (GstBaseSink *sink, GstCaps *caps)
  {
    return recording_of (sink)->set_caps (caps);
  }

  /* Accepts rows with padding. */
  static gboolean propose_allocation (GstBaseSink *, GstQuery *query)
  {
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
    return TRUE;
  }

  static GstFlowReturn render (GstBaseSink *sink, GstBuffer *buffer)
  {
    return recording_of (sink)->render (buffer);
  }
};
} // namespace opencl
