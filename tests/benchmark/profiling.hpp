/* opencl-bench: the device's own clock for every command that the library enqueues
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <map>
#include <string>

namespace bench {
namespace profiling {
/* Queues made from now on keep times. */
void enable ();
/* Commands enqueued from now on are remembered, or no longer. */
void record (bool on);

struct Command {
  unsigned calls = 0;
  double seconds = 0; /* from start to end on the device, all calls */
};

/* Returns the recorded times by kernel or kind of transfer, after waiting for all
 * commands. */
std::map<std::string, Command> collect ();
} // namespace profiling
} // namespace bench
