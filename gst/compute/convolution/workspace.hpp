/* Device memory for intermediate results, which convolvers of one queue share
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/devicebuffer.hpp>

#include <algorithm>
#include <memory>
#include <mutex>

namespace compute {
/* A buffer for each purpose. It is as large as the largest that a convolver has reserved.
 * Convolvers that use it must run one after the other. */
class Workspace {
public:
  enum Buffer { gathered, transformed, products, parts, n_buffers };

  /* From any thread, before allocate() */
  void reserve (Buffer buffer, gsize bytes)
  {
    std::lock_guard<std::mutex> guard (lock);
    wanted[buffer] = std::max (wanted[buffer], bytes);
  }

  bool allocate (GstOpenCLContext *context, GError **error)
  {
    for (gsize n = 0; n < n_buffers; n++) {
      if (wanted[n] == allocated[n])
        continue;
      allocated[n] = 0;
      if (!opencl::make_buffer (context, wanted[n], buffers[n], error))
        return false;
      allocated[n] = wanted[n];
    }
    return true;
  }

  cl_mem operator[] (Buffer buffer) const { return buffers[buffer](); }

private:
  std::mutex lock;
  gsize wanted[n_buffers] = {}, allocated[n_buffers] = {};
  cl::Buffer buffers[n_buffers];
};

/* The device of a convolver, and the workspace that it shares */
struct Device {
  GstOpenCLContext *context;
  std::shared_ptr<Workspace> workspace;
};
} // namespace compute
