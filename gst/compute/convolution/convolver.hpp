/* Runs a convolution on a device by one of several methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolution.hpp"
#include "workspace.hpp"

#include <memory>

#include <gst/opencl/gstopenclcontext.h>

namespace compute {
/* Buffer of a frame, and the position of the array in it */
struct Region {
  cl_mem data = nullptr;
  Placement place;
  /* (nullable) Of an output, with Convolution::adds_residual: an array of the same type and
   * strides, and the offset of its first element in bytes. It may be the output itself. */
  cl_mem added = nullptr;
  gsize added_offset = 0;
};

class Convolver {
public:
  virtual ~Convolver () = default;

  /* Returns a convolver for the method of `convolution`, or for the fastest one. Reads
   * the filters, builds the kernels, and allocates weights and work memory. Returns NULL
   * with an error if one of these fails or the method does not support `convolution`. */
  static std::unique_ptr<Convolver> create (
      GstOpenCLContext *context, const Convolution &convolution, GError **error);
  /* The same for given filters. The workspace must be allocated before the first frame.
   * video and float64 are not supported. */
  static std::unique_ptr<Convolver> create (const Device &device,
      const Convolution &convolution, const Filters &filters, GError **error);

  /* Waits for nothing and allocates nothing. */
  virtual bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) = 0;

  /* Takes effect with the next frame. Methods for arrays ignore it. */
  virtual void set_levels (const Levels &) {}

  Method method () const { return used_method; }

private:
  Method used_method = Method::direct;
};

/* Posts one warning per process for each method that failed the self-check on the device.
 * Method::automatic does not choose these methods. */
void warn_of_wrong_methods (GstOpenCLContext *context, GstElement *element);

/* Returns true if the CPU kernels are used. GST_OPENCL_CONVOLVE_GROUPS=0 in the
 * environment selects the CPU kernels on any device, =1 the GPU kernels. */
bool convolves_on_cpu (GstOpenCLContext *context);
} // namespace compute
