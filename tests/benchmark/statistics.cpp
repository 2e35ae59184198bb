/* opencl-bench: rates in time windows, medians and percentiles
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace bench {
double
now ()
{
  return g_get_monotonic_time () * 1e-6;
}

double
processor_time ()
{
  timespec time;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return double (time.tv_sec) + time.tv_nsec * 1e-9;
}

double
percentile (std::vector<double> values, double part)
{
  if (values.empty ())
    return NAN;
  auto at = values.begin () + std::lround (part * (values.size () - 1));
  std::nth_element (values.begin (), at, values.end ());
  return *at;
}

double
median (const std::vector<double> &values)
{
  if (values.empty ())
    return NAN;
  std::vector<double> sorted = values;
  std::sort (sorted.begin (), sorted.end ());
  return (sorted[(sorted.size () - 1) / 2] + sorted[sorted.size () / 2]) / 2;
}

bool
Windows::add (double time, double amount)
{
  sum += amount;
  const double length = phase == WARMING ? timing.warm_up : timing.seconds;
  if (phase != IDLE && time - start < length)
    return !complete ();
  if (phase == COUNTING && !complete ())
    rates.push_back (sum / (time - start));
  phase = phase == IDLE ? WARMING : COUNTING;
  start = time;
  sum = 0;
  return !complete ();
}
} // namespace bench
