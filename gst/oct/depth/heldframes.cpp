/* Input frames that are held until their group is complete
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "heldframes.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>

#include <gst/opencl/base/gstopenclcheck.h>

namespace oct {
void
HeldFrames::hold (const GstOpenCLFrame *frame)
{
  info = frame->info;
  buffers.push_back (gst_buffer_ref (frame->buffer));
}

void
HeldFrames::clear ()
{
  for (GstBuffer *buffer : buffers)
    gst_buffer_unref (buffer);
  buffers.clear ();
}

bool
HeldFrames::map (bool video, gsize bytes, cl_command_queue queue, GError **error)
{
  mapped.clear ();
  for (GstBuffer *buffer : buffers) {
    GstOpenCLFrame frame;
    if (!gst_opencl_frame_map (
            &frame, video ? &info : nullptr, bytes, buffer, queue, GST_MAP_READ, error))
      return false;
    mapped.push_back (frame);
  }
  return true;
}

bool
HeldFrames::release (cl_command_queue queue, GError **error)
{
  cl_event event = nullptr;
  const bool marked = mapped.empty () || opencl::enqueue_end (queue, &event, error);
  for (GstOpenCLFrame &frame : mapped) {
    if (marked)
      gst_opencl_frame_unmap (&frame, event);
  }
  if (event)
    clReleaseEvent (event);
  mapped.clear ();
  clear ();
  return marked;
}
} // namespace oct
