/* opencl-bench: rates in time windows, medians and percentiles
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <vector>

namespace bench {
/* Monotonic time in seconds */
double now ();
/* CPU time of this process on all CPUs, in seconds */
double processor_time ();

struct Timing {
  double warm_up = 1; /* seconds that do not count */
  double seconds = 1; /* minimum length of a window */
  unsigned windows = 5;
  double (*clock) () = now;
};

/* Returns the value below which `part` (0 … 1) of `values` lie. */
double percentile (std::vector<double> values, double part);
double median (const std::vector<double> &values);

/* Converts events to rates. A window ends with the first event after its length, so that
 * a window with few events is not too short by a part of one. */
class Windows {
public:
  explicit Windows (const Timing &timing) : timing (timing) {}

  /* Counts `amount` units at `time`. Returns false once there are enough windows. */
  bool add (double time, double amount);

  double time () const { return timing.clock (); }
  bool warm () const { return phase == COUNTING; }
  bool complete () const { return rates.size () >= timing.windows; }
  const std::vector<double> &per_second () const { return rates; }

private:
  /* The first event comes after initialisation, so time starts with it. */
  enum { IDLE, WARMING, COUNTING } phase = IDLE;
  Timing timing;
  double start = 0, sum = 0;
  std::vector<double> rates;
};

/* Repeats `step` in this thread and returns calls per second, one value for each
 * window. Ends when `step` returns false. */
template <typename Step>
std::vector<double>
repeat (const Timing &timing, Step step)
{
  Windows windows (timing);
  while (step ())
    if (!windows.add (now (), 1))
      return windows.per_second ();
  return {};
}
} // namespace bench
