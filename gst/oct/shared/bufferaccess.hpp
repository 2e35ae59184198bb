/* Buffers that an element allocates, maps or holds itself, beside those of the base class
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/buffers.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <vector>

namespace oct {
struct ReleaseBuffer {
  void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
  void operator() (GstBufferPool *pool) const { opencl::release_pool (&pool); }
};

/* Device buffers of one size */
class FramePool {
public:
  /* Keeps the present pool if the size is the same. `what`: its buffers in messages */
  bool create (GstOpenCLFilter *filter, const char *what, gsize bytes, GError **error);
  /* (transfer full) (nullable) */
  GstBuffer *acquire (GError **error);
  bool fail_without_memory (GError **error) const;
  gsize bytes () const { return bytes_; }

private:
  std::unique_ptr<GstBufferPool, ReleaseBuffer> pool;
  const char *what = "";
  gsize bytes_ = 0;
};

/* Maps a buffer for reading or for writing, lets `enqueue` (const GstOpenCLFrame &) use
 * it, and unmaps it. `info` is null if it is no video. */
template <typename Enqueue>
bool
with_mapped (GstBuffer *buffer, const GstVideoInfo *info, gsize bytes, GstMapFlags access,
    cl_command_queue queue, GError **error, Enqueue enqueue)
{
  GstOpenCLFrame frame;
  cl_event event = nullptr;
  if (!gst_opencl_frame_map (&frame, info, bytes, buffer, queue, access, error))
    return false;
  const bool enqueued = enqueue (frame), writes = access & GST_MAP_WRITE;
  const bool unmapped = gst_opencl_frames_unmap (queue, writes ? nullptr : &frame,
      writes ? &frame : nullptr, &event, enqueued ? error : nullptr);
  if (event)
    clReleaseEvent (event);
  return enqueued && unmapped;
}

/* Input frames that are held until their group is complete. Keeps references to the
 * buffers instead of copies. Meanwhile their pools allocate others. */
class HeldFrames {
public:
  /* Number of buffer arguments of the kernels */
  static constexpr guint most = 8;

  /* The first frame, at position 0, replaces those held before. */
  void hold (const GstOpenCLFrame *frame, guint position);
  void clear () { buffers.clear (); }

  /* Maps all held frames for reading. Call release() after the work that reads them is
   * enqueued, and also if map() fails. */
  bool map (bool video, gsize bytes, cl_command_queue queue, GError **error);
  const std::vector<GstOpenCLFrame> &frames () const { return mapped; }
  bool release (cl_command_queue queue, GError **error);

private:
  std::vector<std::unique_ptr<GstBuffer, ReleaseBuffer>> buffers;
  std::vector<GstOpenCLFrame> mapped;
  GstVideoInfo info;
};
} // namespace oct
