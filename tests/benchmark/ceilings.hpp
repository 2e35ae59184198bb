/* opencl-bench: what the device's link and memory allow, measured in this process
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "result.hpp"
#include "statistics.hpp"

#include <gst/opencl/opencl.h>

namespace bench {
/* Bytes a second. */
struct Ceilings {
  double upload = 0, download = 0; /* pinned memory, one way at a time */
  double both = 0;                 /* sum of both ways at once */
  double copy = 0; /* bytes copied on the device: as many are read as written */

  /* Repetitions a second that the link allows of `up` bytes in and `down` bytes out. */
  double link_limit (double up, double down) const;
  /* The same of work that reads and writes `bytes` of device memory in all. */
  double memory_limit (double bytes) const { return 2 * copy / bytes; }
};

/* Measures all of them; one result each. */
std::vector<Result> measure_ceilings (
    GstOpenCLContext *context, const Timing &timing, Ceilings &ceilings);
} // namespace bench
