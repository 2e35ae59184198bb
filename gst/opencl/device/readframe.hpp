/* A frame that is read besides the input and output of a filter
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace opencl {
/* Commands that are enqueued during the lifetime of this object may read the frame. */
class ReadFrame {
public:
  ReadFrame () = default;
  ReadFrame (const ReadFrame &) = delete;
  ReadFrame &operator= (const ReadFrame &) = delete;
  ~ReadFrame ()
  {
    cl_event event;

    if (!held)
      return;
    if (enqueue_end (mapped.queue, &event, nullptr)) {
      gst_opencl_frame_unmap (&mapped, event);
      clReleaseEvent (event);
    }
    gst_buffer_unref (held);
  }

  /* `size` is that of frames without `info`. */
  bool map (GstBuffer *buffer, const GstVideoInfo *info, gsize size,
      cl_command_queue queue, GError **error)
  {
    if (!gst_opencl_frame_map (&mapped, info, size, buffer, queue, GST_MAP_READ, error))
      return false;
    held = gst_buffer_ref (buffer);
    return true;
  }
  const GstOpenCLFrame *frame () const { return &mapped; }

private:
  GstOpenCLFrame mapped = {};
  GstBuffer *held = nullptr; /* buffer of `mapped` */
};
} // namespace opencl
