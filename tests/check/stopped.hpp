/* A process that is stopped for a while, as by Ctrl-Z
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <csignal>
#include <string>
#include <unistd.h>

/* Last: its macro fail() breaks C++ headers. */
#include <gst/check/gstcheck.h>

namespace check {
/* Stops this process. Another one continues it after `seconds`, and some more times, since on a busy
 * machine the stop may come after that. */
inline void
stop_for (guint seconds)
{
  const std::string own = std::to_string (getpid ());
  const std::string line = "sh -c 'sleep " + std::to_string (seconds)
                           + "; for again in 1 2 3 4 5 6; do kill -CONT " + own
                           + " || exit; sleep 2; done'";
  fail_unless (g_spawn_command_line_async (line.c_str (), nullptr));
  kill (getpid (), SIGSTOP);
}
} // namespace check
