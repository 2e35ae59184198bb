/* Factor of time limits for a loaded machine and for sanitizers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace check {
/* Returns how many times as long as on an idle machine some work takes now. */
inline gdouble
measure_slowness ()
{
  const gdouble work = 0.05; /* seconds of CPU time */
  const gint64 start = g_get_monotonic_time ();
  timespec begun, now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &begun);
  do
    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  while (gdouble (now.tv_sec - begun.tv_sec) + gdouble (now.tv_nsec - begun.tv_nsec) / 1e9
         < work);
  const gdouble took = gdouble (g_get_monotonic_time () - start) / G_TIME_SPAN_SECOND;
  return std::max (1.0, took / work);
}

/* Returns how many times as long as on an idle machine, in a default build, the program
 * may take now. Other processes use the processors, and tests/modes set a factor for each
 * tool. It is measured again after five seconds, as a test may ask for each frame. */
inline gdouble
slowness ()
{
  static thread_local gint64 until = 0;
  static thread_local gdouble load = 1;
  const char *multiplier = getenv ("CK_TIMEOUT_MULTIPLIER");
  if (g_get_monotonic_time () >= until) {
    load = measure_slowness ();
    until = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;
  }
  return load * std::max (1.0, multiplier ? strtod (multiplier, nullptr) : 1);
}
} // namespace check
