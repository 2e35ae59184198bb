/* OpenCL event with its last known status
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <atomic>
#include <memory>

namespace opencl {
/* Several objects keep the event of a frame: its memories, the limit of frames in flight,
 * and readers of its data. A query of the status takes as long as enqueueing a command.
 * Therefore the copies share the status: the first that sees the end records it for
 * all. */
class TrackedEvent {
public:
  TrackedEvent () = default;
  /* Retains `event`, or waits for it if the driver refuses. Shares the status with the
   * last object of this thread, if that has the same event. */
  explicit TrackedEvent (cl_event event);

  cl_event operator() () const { return state ? state->event () : nullptr; }

  /* Returns CL_COMPLETE, CL_RUNNING, … or a negative error. Queries the driver only while
   * the command is not over. Returns the last known status if the query fails. */
  cl_int status () const;
  /* Returns the last known status, of any copy. */
  cl_int last_status () const { return state ? state->seen.load () : CL_COMPLETE; }
  /* Blocks until the command is over. Returns CL_COMPLETE or its negative error. Returns
   * timed_out after a timeout, or the driver's error if the status cannot be queried. If
   * is_known_complete() is then false, memory that the command uses must be kept. */
  cl_int wait () const;
  /* Does not query the driver. An empty object counts as over. */
  bool is_known_complete () const { return last_status () <= CL_COMPLETE; }

private:
  struct State {
    cl::Event event;
    std::atomic<cl_int> seen{CL_QUEUED};
  };
  cl_int query (cl_int *answer) const;

  std::shared_ptr<State> state;
};
} // namespace opencl
