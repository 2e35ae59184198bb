/* A process that is stopped for a while, as by Ctrl-Z
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>
#include <unistd.h>

/* Last: its macro fail() breaks C++ headers. */
#include <gst/check/gstcheck.h>

namespace check {
/* Stops this process for `seconds`. Another one stops and continues it: were the order of both not
 * certain, it might stay stopped. */
inline void
stop_for (guint seconds)
{
  const std::string own = std::to_string (getpid ());
  const std::string line = "sh -c 'kill -STOP " + own + "; sleep "
                           + std::to_string (seconds) + "; kill -CONT " + own + "'";
  fail_unless (
      g_spawn_command_line_sync (line.c_str (), nullptr, nullptr, nullptr, nullptr));
}
} // namespace check
