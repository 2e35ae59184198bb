/* Copy of an array between guard areas, to detect writes out of bounds
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>

namespace compute {
class GuardedBuffer {
public:
  cl_mem operator() () const { return part (); }
  gsize bytes () const { return size; }

  /* Copies `bytes` of `original` between guards of at least `least` bytes. */
  bool begin (GstOpenCLContext *context, cl_command_queue queue, cl_mem original,
      gsize bytes, gsize least, GError **error);

  /* Call after the kernel has finished. `outside`: position of the changed byte that is next
   * to the array, counted from its end, or negative and counted from its start */
  bool check (
      cl_command_queue queue, bool &is_changed, gint64 &outside, GError **error) const;

  /* Copies the array back. */
  bool end (cl_command_queue queue, cl_mem original, GError **error) const;

private:
  bool resize (GstOpenCLContext *context, gsize bytes, gsize least, GError **error);

  cl::Buffer root, part;
  gsize size = 0, guard = 0; /* in bytes */
};
} // namespace compute
