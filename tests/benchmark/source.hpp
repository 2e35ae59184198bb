/* opencl-bench: benchmarksource, a source that pushes frames as fast as downstream takes
 * them
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
    /* Fills buffers of the pool that downstream offers. Like a frame grabber, which
     * writes by DMA, it takes no CPU time: a buffer is mapped for writing each time, but
     * filled only the first time. */
    POOL,
    /* Pushes the given buffers repeatedly, like an application with its own memory, or a
     * source with frames on the device. */
    HELD,
  };

  Kind kind = HELD;
  Caps caps;
  std::vector<Buffer> frames; /* POOL: one frame, the contents */

  /* 0: timestamps are the time of the push by now (), for the latency at the sink.
   * Otherwise the duration of each frame, with timestamps from 0 */
  GstClockTime duration = 0;
};

/* Lets a source push one frame at a time. */
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

/* Registers "benchmarksource". */
void register_source ();

/* Call before the source starts. `gate` must outlive the source. With nullptr it is
 * always open. */
void set_feed (GstElement *source, const Feed &feed, Gate *gate);
} // namespace bench
