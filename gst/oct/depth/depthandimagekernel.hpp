/* Two kernels of a depth filter: one writes depths, the other the image that octdisplay makes
 * of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "pendingdepths.hpp"

#include <gst/opencl/device/kernel.hpp>

#include <mutex>
#include <string>

namespace oct {
/* Shared by an element and its deferred work */
struct DepthAndImageKernel {
  std::mutex launching; /* protects the arguments of both kernels until the launch */
  opencl::Kernel find, show;
  std::string show_options; /* build options of `show`, empty if it is not built */

  /* Builds the kernel `name` for the pixels of `display`, unless it exists. */
  bool create_show (const Display &display, const char *source, const char *name,
      const std::string &more_options, GError **error)
  {
    const std::string wanted = display.options () + more_options;
    if (wanted == show_options)
      return true;
    show_options.clear ();
    if (!show.create (display.get_context (), source, name, wanted.c_str (), error))
      return false;
    show_options = wanted;
    return true;
  }

  /* Enqueues `show` over an image, with `arguments` before those of the image. */
  template <typename... Arguments>
  bool enqueue (Display &display, cl_command_queue queue, const DepthOutput &image,
      gsize lines, gsize depths, GError **error, const Arguments &...arguments)
  {
    const DepthScaling scaling = display.scaling_of (image);
    const gsize bytes = display.bytes_of_pixel ();
    return check_alignment (image, bytes, error)
           && show.set_all (error, arguments..., scaling.factor, scaling.zero,
               scaling.least, image.data, cl_ulong (image.offset / bytes),
               image.pitch (bytes))
           && display.enqueue_image (queue, show, lines, depths, error);
  }
};
} // namespace oct
