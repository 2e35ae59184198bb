/* Copy of an array between guards that show writes outside of it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "guardedbuffer.hpp"

#include "signature.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>

namespace compute {
static const cl_uchar guard_byte = 0xa5;

static bool
copy (cl_command_queue queue, cl_mem from, cl_mem to, gsize bytes, GError **error)
{
  return gst_opencl_check (clEnqueueCopyBuffer (queue, from, to, 0, 0, bytes, 0, nullptr,
                               opencl::Profiled (queue, opencl::command::copy)),
      "clEnqueueCopyBuffer", error);
}

bool
GuardedBuffer::resize (
    GstOpenCLContext *context, gsize bytes, gsize least, GError **error)
{
  const gsize alignment = std::max (
      1u, opencl::device_info<cl_uint> (context, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  const cl_buffer_region region = {round_up (least, alignment), bytes};
  cl_int code = CL_SUCCESS;

  if (part () && bytes == size && region.origin == guard)
    return true;
  size = bytes;
  guard = region.origin;
  part = cl::Buffer ();
  root = opencl::make_buffer (context, guard + size + guard, error);
  if (root ())
    part = cl::Buffer (
        clCreateSubBuffer (root (), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  return root () && gst_opencl_check (code, "clCreateSubBuffer", error);
}

bool
GuardedBuffer::begin (GstOpenCLContext *context, cl_command_queue queue, cl_mem original,
    gsize bytes, gsize least, GError **error)
{
  return resize (context, bytes, least, error)
         && gst_opencl_check (clEnqueueFillBuffer (queue, root (), &guard_byte,
                                  sizeof guard_byte, 0, guard + size + guard, 0, nullptr,
                                  opencl::Profiled (queue, opencl::command::fill)),
             "clEnqueueFillBuffer", error)
         && copy (queue, original, part (), size, error);
}

bool
GuardedBuffer::check (
    cl_command_queue queue, bool &is_changed, gint64 &outside, GError **error) const
{
  std::vector<cl_uchar> bytes (guard + size + guard);
  const auto start = bytes.begin () + gssize (guard), end = start + gssize (size);
  const auto is_other = [] (cl_uchar byte) { return byte != guard_byte; };
  const cl_int code = clEnqueueReadBuffer (queue, root (), CL_TRUE, 0, bytes.size (),
      bytes.data (), 0, nullptr, opencl::Profiled (queue, opencl::command::download));

  gst_opencl_count_download (bytes.size ());
  const auto before =
      std::find_if (std::make_reverse_iterator (start), bytes.rend (), is_other);
  const auto behind = std::find_if (end, bytes.end (), is_other);
  is_changed = before != bytes.rend () || behind != bytes.end ();
  outside = behind != bytes.end () ? behind - end : before.base () - 1 - start;
  return gst_opencl_check (code, "clEnqueueReadBuffer", error);
}

bool
GuardedBuffer::end (cl_command_queue queue, cl_mem original, GError **error) const
{
  return copy (queue, part (), original, size, error);
}
} // namespace compute
