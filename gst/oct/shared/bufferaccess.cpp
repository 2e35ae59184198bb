/* Buffers that an element allocates, maps or holds itself, beside those of the base class
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "bufferaccess.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
bool
FramePool::fail_without_memory (GError **error) const
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      "failed to allocate %s of %" G_GSIZE_FORMAT " bytes", what, bytes_);
  return false;
}

bool
FramePool::create (
    GstOpenCLFilter *filter, const char *of_what, gsize wanted, GError **error)
{
  if (pool && bytes_ == wanted)
    return true;
  what = of_what;
  bytes_ = wanted;
  pool.reset ();
  pool.reset (gst_opencl_filter_new_pool (filter, FALSE, bytes_));
  if (pool && gst_buffer_pool_set_active (pool.get (), TRUE))
    return true;
  pool.reset ();
  fail_without_memory (error);
  bytes_ = 0;
  return false;
}

GstBuffer *
FramePool::acquire (GError **error)
{
  GstBuffer *buffer = nullptr;
  if (gst_buffer_pool_acquire_buffer (pool.get (), &buffer, nullptr) != GST_FLOW_OK)
    fail_without_memory (error);
  return buffer;
}

void
HeldFrames::hold (const GstOpenCLFrame *frame, guint position)
{
  if (position == 0)
    clear ();
  info = frame->info;
  buffers.emplace_back (gst_buffer_ref (frame->buffer));
}

bool
HeldFrames::map (bool video, gsize bytes, cl_command_queue queue, GError **error)
{
  mapped.clear ();
  for (const auto &buffer : buffers) {
    GstOpenCLFrame frame;
    if (!gst_opencl_frame_map (&frame, video ? &info : nullptr, bytes, buffer.get (),
            queue, GST_MAP_READ, error))
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
