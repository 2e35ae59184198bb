/* opencl-bench: device time of every command that the library enqueues
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <map>
#include <string>

namespace bench {
namespace profiling {
/* Enables profiling of queues that are created from now on. */
void enable ();
/* Starts or stops recording of the commands that are enqueued. */
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
