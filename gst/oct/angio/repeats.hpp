/* Repeated B-scans in device memory, as arguments of kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/bufferaccess.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <array>
#include <string>

namespace oct {
/* REPEATS of repeats.clh. Up to 32 repeats have a buffer each. Of more, all but the last
 * one are contiguous in one buffer. */
class Repeats : public opencl::ArgumentGroup {
public:
  static constexpr guint most_listed = 32;

  static bool are_listed (guint count) { return count <= most_listed; }
  /* Build options of kernels for this number of repeats */
  static std::string options (guint count)
  {
    return are_listed (count) ? " -DHELD=" + std::to_string (count) : std::string ();
  }

  Repeats (guint count, gsize depths, gsize lines)
      : count (count), depths (cl_uint (depths)), lines (cl_uint (lines))
  {
  }

  /* Repeats that are contiguous in one buffer */
  Repeats in_buffer (cl_mem buffer) const
  {
    const gsize size = gsize (depths) * lines * sizeof (cl_float2);
    Repeats others = *this;
    others.oldest = 0;
    for (guint n = 0; n < count; n++)
      others.set_repeat (n, buffer, n * size);
    return others;
  }

  /* The same, but the first repeat stays where it is, if each has a buffer */
  Repeats moved_to (cl_mem buffer) const
  {
    Repeats moved = in_buffer (buffer);
    if (are_listed (count)) {
      moved.buffers[0] = buffers[0];
      moved.offsets[0] = offsets[0];
    }
    return moved;
  }

  /* Without a list, the first repeats are at the start of one buffer. */
  void set_repeat (guint n, cl_mem buffer, gsize offset)
  {
    if (n < most_listed)
      buffers[n] = buffer;
    last = buffer;
    last_offset = offset;
    if (are_listed (count))
      std::fill (buffers.begin () + n, buffers.end (), buffer);
    for (guint k = n; are_listed (count) && k < most_listed; k++)
      offsets[k] = offset;
  }

  bool set (opencl::Kernel &kernel, cl_uint &index, GError **error) const override
  {
    bool set = true;
    if (are_listed (count)) {
      const guint arguments = count <= 8 ? 8 : most_listed;
      for (guint n = 0; n < arguments; n++)
        set = set && kernel.set (index, buffers[n], error);
      for (guint n = 0; n < arguments; n += 8)
        set = set && kernel.set (index, ulong8_at (n), error);
    } else {
      set = kernel.set (index, buffers[0], error) && kernel.set (index, last, error)
            && kernel.set (index, cl_ulong (last_offset), error)
            && kernel.set (index, cl_uint (oldest), error);
    }
    return set && kernel.set (index, cl_uint (count), error)
           && kernel.set (index, depths, error) && kernel.set (index, lines, error);
  }
  const GstOpenCLFrame *aligned () const override { return nullptr; }

  guint count;
  cl_uint depths, lines;
  guint oldest = 0; /* place of the first repeat, without a list */

private:
  cl_ulong8 ulong8_at (guint n) const
  {
    cl_ulong8 eight;
    std::copy_n (offsets.begin () + n, 8, eight.s);
    return eight;
  }

  std::array<cl_mem, most_listed> buffers = {};
  std::array<cl_ulong, most_listed> offsets = {};
  cl_mem last = nullptr;
  gsize last_offset = 0;
};
} // namespace oct
