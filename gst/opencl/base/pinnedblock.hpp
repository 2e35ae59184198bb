/* Pinned host memory, which a device transfers without an intermediate copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <memory>

namespace opencl {
/* A buffer with CL_MEM_ALLOC_HOST_PTR that stays mapped, which is the portable way to
 * pinned memory. The context must outlive it. */
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

inline std::unique_ptr<PinnedBlock>
PinnedBlock::make (GstOpenCLContext *context, gsize size, GError **error)
{
  std::unique_ptr<PinnedBlock> block (new PinnedBlock);
  cl_int code;

  block->queue = gst_opencl_context_get_pinning_queue (context);
  block->buffer =
      make_buffer (context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, error);
  if (!block->buffer ())
    return nullptr;
  block->bytes =
      static_cast<guint8 *> (clEnqueueMapBuffer (block->queue, block->buffer (), CL_TRUE,
          CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &code));
  if (!check_bytes (code, "clEnqueueMapBuffer", context, size, error))
    return nullptr;
  return block;
}

inline PinnedBlock::~PinnedBlock ()
{
  if (!bytes)
    return;
  clEnqueueUnmapMemObject (queue, buffer (), bytes, 0, nullptr, nullptr);
  clFlush (queue);
}
} // namespace opencl
