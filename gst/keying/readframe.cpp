/* A picture beside the one that is keyed, mapped for its queue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "readframe.hpp"

namespace keying {
bool
ReadFrame::map (
    GstBuffer *buffer, const GstVideoInfo *info, cl_command_queue queue, GError **error)
{
  if (gst_opencl_frame_map (&mapped, info, 0, buffer, queue, GST_MAP_READ, error))
    return true;
  mapped.memory = nullptr;
  return false;
}

ReadFrame::~ReadFrame ()
{
  cl_event event;

  if (!mapped.memory
      || !gst_opencl_check (
          clEnqueueMarkerWithWaitList (mapped.queue, 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList", nullptr))
    return;
  gst_opencl_frame_unmap (&mapped, event);
  clReleaseEvent (event);
}
} // namespace keying
