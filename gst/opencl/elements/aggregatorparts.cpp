/* Code shared by the base classes of elements with several inputs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "aggregatorparts.hpp"

#include <gst/opencl/device/frameaccess.h>

namespace opencl {
GstFlowReturn
acquire_output (
    GstAggregator *aggregator, ElementCore &core, gsize size, GstBuffer **buffer)
{
  GstBufferPool *pool = gst_aggregator_get_buffer_pool (aggregator);

  if (!pool)
    return GST_FLOW_NOT_NEGOTIATED;
  GstFlowReturn flow = gst_buffer_pool_set_active (pool, TRUE)
                           ? gst_buffer_pool_acquire_buffer (pool, buffer, nullptr)
                           : GST_FLOW_ERROR;
  if (flow == GST_FLOW_ERROR)
    core.report_no_buffer (pool, size);
  gst_object_unref (pool);
  return flow;
}

bool
map_input (ElementCore &core, GstBuffer *&buffer, const GstVideoInfo *info, gsize size,
    GstOpenCLFrame *frame, GError **error)
{
  ElementCore::mark_shared (buffer); /* the pad holds a reference too */
  GstBuffer *own = core.import (buffer, error);
  if (!own)
    return false;
  gst_buffer_unref (buffer);
  buffer = own;
  return gst_opencl_frame_map (
      frame, info, size, own, core.queue (), GST_MAP_READ, error);
}

bool
enqueue_output (ElementCore &core, const Format &format, GstBuffer *buffer,
    const std::function<bool (const GstOpenCLFrame *output)> &combine, cl_event *event,
    GError **error)
{
  GstOpenCLFrame output;

  if (!gst_opencl_frame_map (&output, format.video (), format.size, buffer, core.queue (),
          GST_MAP_WRITE, error))
    return false;
  const bool enqueued = combine (&output);
  return gst_opencl_frames_unmap (
             core.queue (), nullptr, &output, event, enqueued ? error : nullptr)
         && enqueued;
}

bool
enqueue_frame (ElementCore &core,
    const std::function<bool (cl_event *event, GError **error)> &enqueue)
{
  GError *error = nullptr;
  cl_event event = nullptr;

  const bool enqueued = core.admit (&error) && enqueue (&event, &error);
  core.add (event);
  if (enqueued)
    core.forget_failure ();
  else
    core.report (error);
  return enqueued;
}
} // namespace opencl
