/* Code shared by the base classes of elements with several inputs
 *
 * GstOpenCLAggregator derives from GstVideoAggregator and GstOpenCLCombiner from
 * GstAggregator, so they have no common base class for this code.
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "elementcore.hpp"

#include <gst/base/gstaggregator.h>

#include <functional>

namespace opencl {
/* Acquires a buffer of `size` bytes from the negotiated pool. Reports a failure. */
GstFlowReturn acquire_output (
    GstAggregator *aggregator, ElementCore &core, gsize size, GstBuffer **buffer);

/* Maps `buffer` for reading. First replaces it by a copy if it is not in the element's
 * context. */
bool map_input (ElementCore &core, GstBuffer *&buffer, const GstVideoInfo *info,
    gsize size, GstOpenCLFrame *frame, GError **error);

/* Maps `buffer` as the output of `combine`, which enqueues kernels. Sets `event`
 * (transfer full) for the frame, even if `combine` fails. */
bool enqueue_output (ElementCore &core, const Format &format, GstBuffer *buffer,
    const std::function<bool (const GstOpenCLFrame *output)> &combine, cl_event *event,
    GError **error);

/* Waits until another frame may be in flight, calls `enqueue`, and reports a failure. */
bool enqueue_frame (ElementCore &core,
    const std::function<bool (cl_event *event, GError **error)> &enqueue);

/* Virtual functions of GstElement and GstAggregator. `Base` has static functions:
 * core() and parent(): the element's core and parent class;
 * open() and close(): call the functions of the subclass, if it has them;
 * drop_inputs(): releases the buffers that pads hold for the next frame;
 * get_format(): the format of caps. */
template <typename Base> struct AggregatorParts {
  static void set_context (GstElement *element, GstContext *context)
  {
    Base::core (element).set_context (context);
    GST_ELEMENT_CLASS (Base::parent ())->set_context (element, context);
  }

  static gboolean src_query (GstAggregator *aggregator, GstQuery *query)
  {
    return Base::core (aggregator).answer_context_query (query)
           || Base::parent ()->src_query (aggregator, query);
  }

  static gboolean sink_query (
      GstAggregator *aggregator, GstAggregatorPad *pad, GstQuery *query)
  {
    return Base::core (aggregator).answer_context_query (query)
           || Base::parent ()->sink_query (aggregator, pad, query);
  }

  static gboolean start (GstAggregator *aggregator)
  {
    ElementCore &core = Base::core (aggregator);
    GError *error = nullptr;

    bool opened = core.open (&error);
    Counting counting (core);
    opened = opened && Base::open (aggregator, &error);
    if (opened)
      return !Base::parent ()->start || Base::parent ()->start (aggregator);
    core.report (error);
    close (aggregator);
    return FALSE;
  }

  static gboolean stop (GstAggregator *aggregator)
  {
    Counting counting (Base::core (aggregator));
    const gboolean stopped = !Base::parent ()->stop || Base::parent ()->stop (aggregator);

    Base::core (aggregator).drain ();
    Base::drop_inputs (aggregator);
    close (aggregator);
    return stopped;
  }

  static GstFlowReturn flush (GstAggregator *aggregator)
  {
    Counting counting (Base::core (aggregator));

    Base::core (aggregator).drain ();
    Base::core (aggregator).reset_failures ();
    Base::drop_inputs (aggregator);
    return Base::parent ()->flush ? Base::parent ()->flush (aggregator) : GST_FLOW_OK;
  }

  static gboolean negotiate (GstAggregator *aggregator)
  {
    return Base::core (aggregator)
        .report_unless_negotiated (
            Base::parent ()->negotiate (aggregator), GST_AGGREGATOR_SRC_PAD (aggregator));
  }

  static gboolean propose_allocation (GstAggregator *aggregator, GstAggregatorPad *pad,
      GstQuery *decide_query, GstQuery *query)
  {
    ElementCore &core = Base::core (aggregator);
    GstCaps *caps;
    Format format;

    gst_query_parse_allocation (query, &caps, nullptr);
    if (!caps || !core.is_open () || !Base::get_format (aggregator, caps, format))
      return FALSE;
    core.propose_pool (query, caps, format, ElementCore::as_needed);
    return TRUE;
  }

  static gboolean decide_allocation (GstAggregator *aggregator, GstQuery *query)
  {
    ElementCore &core = Base::core (aggregator);
    GstCaps *caps;
    Format format;

    gst_query_parse_allocation (query, &caps, nullptr);
    return caps && core.is_open () && Base::get_format (aggregator, caps, format)
           && core.decide_pool (query, caps, format.size, !format.is_device_memory,
               ElementCore::as_needed);
  }

  /* An aggregator of a live pipeline has a clock before it has a base time, and would
   * make each frame that the clock's time since its start has room for. So it waits for
   * frames until it plays. */
  static GstClockTime get_next_time (GstAggregator *aggregator)
  {
    const auto next = Base::parent ()->get_next_time;
    if (GST_STATE_TARGET (aggregator) != GST_STATE_PLAYING)
      return GST_CLOCK_TIME_NONE;
    return next ? next (aggregator) : gst_aggregator_simple_get_next_time (aggregator);
  }

  /* The streaming thread now waits for the clock. */
  static GstStateChangeReturn change_state (GstElement *element, GstStateChange change)
  {
    const GstStateChangeReturn result =
        GST_ELEMENT_CLASS (Base::parent ())->change_state (element, change);
    if (change == GST_STATE_CHANGE_PAUSED_TO_PLAYING)
      Base::core (element).inputs ().wake ();
    return result;
  }

  static void install (gpointer klass)
  {
    GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);

    ElementCore::install_properties (G_OBJECT_CLASS (klass));
    GST_ELEMENT_CLASS (klass)->set_context = set_context;
    GST_ELEMENT_CLASS (klass)->change_state = change_state;
    aggregator_class->start = start;
    aggregator_class->stop = stop;
    aggregator_class->flush = flush;
    aggregator_class->get_next_time = get_next_time;
    aggregator_class->sink_query = sink_query;
    aggregator_class->src_query = src_query;
    aggregator_class->negotiate = negotiate;
    aggregator_class->propose_allocation = propose_allocation;
    aggregator_class->decide_allocation = decide_allocation;
  }

private:
  static void close (GstAggregator *aggregator)
  {
    if (Base::core (aggregator).is_open ())
      Base::close (aggregator);
    Base::core (aggregator).close ();
  }
};
} // namespace opencl
