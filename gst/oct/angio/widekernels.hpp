/* Kernel with two variants: one depth per work-item, or several (as a vector) on CPUs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <string>

namespace oct {
/* Work-items per work-group, and depths per work-item */
struct Widths {
  gsize group = 1, width = 1;

  /* On a CPU a work-item reads an A-line from one end to the other, in vectors. */
  static Widths of_device (GstOpenCLContext *context)
  {
    return opencl::is_cpu (context) ? Widths{1, 8} : Widths{64, 1};
  }
};

inline std::string
width_option (gsize width)
{
  return " -DWIDTH=" + std::to_string (width);
}

class WideKernel {
public:
  bool create (GstOpenCLContext *context, const char *file, const char *name,
      const std::string &options, gsize of_width, GError **error)
  {
    width = of_width;
    return narrow.create (context, file, name, options + width_option (1), error)
           && (width == 1
               || wide.create (
                   context, file, name, options + width_option (width), error));
  }

  template <typename... Arguments>
  bool launch (cl_command_queue queue, gsize depths, gsize lines, GError **error,
      const Arguments &...arguments)
  {
    const bool is_wide = width > 1 && depths % width == 0;
    return (is_wide ? wide : narrow)
        .launch (queue, is_wide ? depths / width : depths, lines, error, arguments...);
  }

private:
  opencl::Kernel narrow, wide;
  gsize width = 1; /* depths per work-item of `wide` */
};
} // namespace oct
