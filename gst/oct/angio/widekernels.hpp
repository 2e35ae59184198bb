/* Kernels of which a work-item processes several depths
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>

#include <initializer_list>
#include <string>

namespace oct {
struct WideKernel {
  opencl::Kernel &kernel;
  const char *name;
  gsize width; /* depths per work-item */
};

/* Builds the kernels that are not wider than `widest`, with their WIDTH defined. */
inline bool
create_wide_kernels (GstOpenCLContext *context, const char *file,
    const std::string &options, gsize widest, std::initializer_list<WideKernel> kernels,
    GError **error)
{
  for (const WideKernel &entry : kernels) {
    const std::string all = options + " -DWIDTH=" + std::to_string (entry.width);
    if (entry.width <= widest
        && !entry.kernel.create (context, file, entry.name, all.c_str (), error))
      return false;
  }
  return true;
}
} // namespace oct
