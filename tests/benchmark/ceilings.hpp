/* opencl-bench: bandwidth limits of the device's link and memory, measured in this
 * process
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

#include "result.hpp"
#include "statistics.hpp"

#include <gst/opencl/opencl-prelude.h>

namespace bench {
/* Bandwidths in bytes per second */
struct Ceilings {
  double upload = 0, download = 0; /* pinned memory, one direction at a time */
  double both = 0;                 /* sum of both directions at once */
  double copy = 0;                 /* device to device; each byte is read and written */

  /* Returns the repetitions per second that the link allows, with `up` bytes to the
   * device and `down` bytes from it. */
  double link_limit (double up, double down) const;
  /* The same for work that reads and writes `bytes` of device memory in total */
  double memory_limit (double bytes) const { return 2 * copy / bytes; }
};

/* Measures all of them, and returns one result for each. */
std::vector<Result> measure_ceilings (
    GstOpenCLContext *context, const Timing &timing, Ceilings &ceilings);
} // namespace bench
