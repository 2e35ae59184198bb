/* Timeout for a loop of short waits
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <algorithm>
#include <glib.h>

namespace opencl {
/* Counts only the time in which this process runs: it may be stopped by Ctrl-Z, by a debugger
 * or with the whole computer. */
class TimeLimit {
public:
  explicit TimeLimit (gint64 microseconds) : left (microseconds) {}

  /* Call it at least once a second. A longer step counts as one second, or as half of a
   * shorter limit. */
  bool is_over ()
  {
    const gint64 now = g_get_monotonic_time ();
    left -= std::min (now - last, longest_step);
    last = now;
    return left <= 0;
  }

private:
  gint64 left;
  const gint64 longest_step = std::min (left / 2, gint64 (G_TIME_SPAN_SECOND));
  gint64 last = g_get_monotonic_time ();
};
} // namespace opencl
