/* Device buffers that hold no frame: tables, intermediate results and pinned host memory
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-hpp.hpp"

#include <functional>
#include <memory>

#include <vector>

namespace opencl {
/* Like gst_opencl_check(), for a call that allocates or maps `size` bytes */
bool check_bytes (
    cl_int code, const char *call, GstOpenCLContext *context, gsize size, GError **error);

/* Returns an empty buffer with an error if it could not be allocated. NVIDIA's driver
 * creates a buffer of any size, and fails when a kernel uses it. Therefore this compares
 * the size with that of the device's memory first. */
cl::Buffer make_buffer (GstOpenCLContext *context, cl_mem_flags flags, gsize size,
    GError **error, const void *values = nullptr);

inline cl::Buffer
make_buffer (GstOpenCLContext *context, gsize size, GError **error)
{
  return make_buffer (context, CL_MEM_READ_WRITE, size, error);
}

inline bool
make_buffer (GstOpenCLContext *context, gsize size, cl::Buffer &buffer, GError **error)
{
  buffer = make_buffer (context, size, error);
  return buffer () != nullptr;
}

/* A buffer that is allocated again only if another size is needed */
class WorkBuffer {
public:
  /* A size of 0 frees it. Work that is enqueued keeps the former buffer. */
  bool resize (GstOpenCLContext *context, gsize wanted, GError **error)
  {
    if (wanted == bytes)
      return true;
    buffer = cl::Buffer ();
    bytes = 0;
    if (wanted > 0 && !make_buffer (context, wanted, buffer, error))
      return false;
    bytes = wanted;
    return true;
  }

  cl_mem operator() () const { return buffer (); }

private:
  cl::Buffer buffer;
  gsize bytes = 0;
};

/* Creates a buffer with these values and counts them as an upload. */
cl::Buffer make_filled_buffer (GstOpenCLContext *context, const void *values, gsize size,
    GError **error, cl_mem_flags access = CL_MEM_READ_WRITE);

/* Creates a read-only buffer with these values. */
inline cl::Buffer
make_table (GstOpenCLContext *context, const void *values, gsize size, GError **error)
{
  return make_filled_buffer (context, values, size, error, CL_MEM_READ_ONLY);
}

template <typename Value>
bool
make_table (GstOpenCLContext *context, const std::vector<Value> &values,
    cl::Buffer &buffer, GError **error)
{
  buffer = make_table (context, values.data (), values.size () * sizeof (Value), error);
  return buffer () != nullptr;
}

/* Creates a read-only buffer, or shares one that has the same values already, such as the
 * weights of a network that two elements run. Nothing may write into it. */
cl::Buffer share_table (
    GstOpenCLContext *context, const void *values, gsize size, GError **error);

/* The same, of `size` bytes that `fill` writes. On a CPU it writes them to the buffer, so that
 * there is no other copy of large weights. */
cl::Buffer share_filled_table (GstOpenCLContext *context, gsize size,
    const std::function<void (void *)> &fill, GError **error);

template <typename Value>
cl::Buffer
share_table (GstOpenCLContext *context, const std::vector<Value> &values, GError **error)
{
  return share_table (context, values.data (), values.size () * sizeof (Value), error);
}

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
} // namespace opencl
