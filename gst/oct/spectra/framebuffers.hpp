/* Pool of device buffers, each in use by one frame as long as it is referenced
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/devicebuffer.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace oct {
/* Buffers of one size, as many as were ever in use at once. A buffer may be released
 * before the device has read it, if the next write is enqueued on the same queue. */
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
