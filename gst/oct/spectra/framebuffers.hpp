/* Buffers that belong to one frame as long as it is referenced
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/context/devicebuffer.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace oct {
/* All of one size, as many as ever were under way at once. Whoever kept one before has
 * enqueued what reads it, on the queue on which it is written next. */
class FrameBuffers {
public:
  std::shared_ptr<cl::Buffer> unused (
      GstOpenCLContext *context, gsize wanted, GError **error)
  {
    if (wanted != bytes)
      buffers.clear ();
    bytes = wanted;
    for (auto &buffer : buffers) {
      if (buffer.use_count () > 1)
        continue;
      std::atomic_thread_fence (std::memory_order_acquire);
      return buffer;
    }
    auto made = std::make_shared<cl::Buffer> ();
    if (!opencl::make_buffer (context, bytes, *made, error))
      return nullptr;
    buffers.push_back (made);
    return made;
  }

private:
  gsize bytes = 0;
  std::vector<std::shared_ptr<cl::Buffer>> buffers;
};
} // namespace oct
