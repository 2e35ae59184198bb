/* Thresholds and projection artefacts of an angiogram
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "widekernels.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
/* Sets values of an angiogram to 0 that are no flow, see octflow.cl */
class FlowFilter {
public:
  struct Limits {
    float least_power = 0; /* 0: no threshold */
    float least_snr = 0;   /* in units of the noise power; 0: no threshold */
    bool resolves_projections = false;
    float ratio = 1;
    bool relative = true; /* divide the angiogram by the power first */

    bool any () const { return least_power > 0 || least_snr > 0 || resolves_projections; }
  };

  bool create (GstOpenCLContext *context, GError **error);
  bool resize (GstOpenCLContext *context, gsize depths, gsize lines, bool resolves,
      GError **error);

  /* Where the angiogram must be before apply(): the output, or memory of this object,
   * because projections need neighbours in their original state */
  cl_mem flow () const { return unresolved (); }
  /* `powers` is the mean power of the repeats. */
  bool apply (const Limits &limits, const GstOpenCLFrame &powers,
      const GstOpenCLFrame *to, cl_command_queue queue, GError **error);

private:
  bool measure_noise (
      const GstOpenCLFrame &powers, cl_command_queue queue, GError **error);

  gsize group = 1, tile_group = 1; /* work-items per work-group; those of tiles */
  gsize depths = 0, lines = 0;
  opencl::Kernel tile_powers, noise_floor, resolve;
  WideKernel threshold;
  opencl::WorkBuffer tiles, noise, unresolved;
};
} // namespace oct
