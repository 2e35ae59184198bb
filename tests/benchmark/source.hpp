/* opencl-bench: a source that gives frames as fast as they are taken
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "hold.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace bench {
/* Output of a benchmarksource */
struct Feed {
  enum Kind {
    /* Fills buffers of the pool that downstream offers. As with a frame grabber, which
     * writes by itself, no CPU is busy with it: a buffer is mapped for writing each time,
     * but gets its contents only the first time it comes. */
    POOL,
    /* Pushes the given buffers again and again, as an application with memory of its own
     * does, or a source whose frames are on the device. */
    HELD,
  };

  Kind kind = HELD;
  Caps caps;
  std::vector<Buffer> frames; /* POOL: the contents, one frame */

  /* 0: timestamps are the time of the push by now (), from which the sink tells the
   * latency. Otherwise frames so long, one after the other from 0. */
  GstClockTime duration = 0;
};

/* Lets one frame out at a time. */
class Gate {
public:
  void open_once ();
  bool wait (); /* false when it is shut */
  void shut (bool is_shut);

private:
  std::mutex lock;
  std::condition_variable changed;
  unsigned permits = 0;
  bool is_shut = false;
};

/* Makes "benchmarksource" known to launch lines. */
void register_source ();

/* Call before it starts; `gate` is nullptr for a source that is always open, and
 * outlives it. */
void set_feed (GstElement *source, const Feed &feed, Gate *gate);
} // namespace bench
