/* gstreamer-opencl: host memory that a device transfers from and to without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-hpp.hpp"

#include <gst/opencl/devicebuffer.hpp>
#include <memory>

namespace opencl {
/* A buffer of CL_MEM_ALLOC_HOST_PTR, mapped for as long as it lives: the portable way to
 * pinned memory. The context outlives it. */
class PinnedBlock {
public:
  static std::unique_ptr<PinnedBlock> make (
      GstOpenCLContext *context, gsize size, GError **error);
  ~PinnedBlock ();

  guint8 *data () const { return bytes; }

private:
  PinnedBlock () = default;

  cl_command_queue queue = nullptr; /* the context's */
  cl::Buffer buffer;
  guint8 *bytes = nullptr;
};
} // namespace opencl
