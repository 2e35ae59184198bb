/* Runs a convolution on a device by one of several methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolution.hpp"

#include <memory>

#include <gst/opencl/gstopenclcontext.h>

namespace compute {
/* An array of a frame, as it is in memory. */
struct Region {
  cl_mem data;
  Placement place;
};

class Convolver {
public:
  virtual ~Convolver () = default;

  /* By the method that `convolution` says, or the fastest. Reads the filters, makes kernels,
   * weights and work memory; NULL with an error where one of these fails, or where the
   * method does not do such a convolution. */
  static std::unique_ptr<Convolver> create (
      GstOpenCLContext *context, const Convolution &convolution, GError **error);

  /* Waits for nothing and allocates nothing. */
  virtual bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) = 0;

  /* From the next frame on. Of the methods for video. */
  virtual void set_levels (const Levels &) {}

  Method method () const { return made_by; }

private:
  Method made_by = Method::direct;
};

/* Posts a warning of `element` for each method that the self-check has found wrong on the
 * device, once a process: `automatic` leaves it out. */
void warn_of_wrong_methods (GstOpenCLContext *context, GstElement *element);

/* Whether its kernels are those for a CPU: GST_OPENCL_CONVOLVE_GROUPS=1 (0) in the
 * environment says that they are for groups of work-items (single ones) on any device. */
bool convolves_on_cpu (GstOpenCLContext *context);
} // namespace compute
