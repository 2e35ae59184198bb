/* An auxiliary frame, mapped for a queue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "readframe.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace keying {
bool
ReadFrame::map (
    GstBuffer *buffer, const GstVideoInfo *info, cl_command_queue queue, GError **error)
{
  if (!gst_opencl_frame_map (&mapped, info, 0, buffer, queue, GST_MAP_READ, error))
    return false;
  held = gst_buffer_ref (buffer);
  return true;
}

ReadFrame::~ReadFrame ()
{
  cl_event event;

  if (!held)
    return;
  if (opencl::enqueue_end (mapped.queue, &event, nullptr)) {
    gst_opencl_frame_unmap (&mapped, event);
    clReleaseEvent (event);
  }
  gst_buffer_unref (held);
}
} // namespace keying
