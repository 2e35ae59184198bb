/* An OpenCL event with its last known status
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <atomic>
#include <memory>

namespace opencl {
/* A frame's event is kept by its memories, by who bounds the run-ahead and by who wants
 * the bytes. Asking a driver how far it is takes as long as enqueueing a command, so they
 * share the answer: the first copy that sees the end records it for all. */
class TrackedEvent {
public:
  TrackedEvent () = default;
  /* Retains `event`, or waits for it where the driver refuses. Shares with whom this thread
   * made last of the same event. */
  explicit TrackedEvent (cl_event event);

  cl_event operator() () const { return state ? state->event () : nullptr; }

  /* CL_COMPLETE, CL_RUNNING, …, or a negative error; asks only while it is not over. What
   * cannot be asked is as far as it was. */
  cl_int status () const;
  /* Returns the last known status, of any copy. */
  cl_int last_status () const { return state ? state->seen.load () : CL_COMPLETE; }
  /* Blocks until it is over: how it ended, CL_COMPLETE or a negative error. Where the
   * driver tells nothing any more, its error, and where the wait was given up, no_answer:
   * then it is not known to be over, and what it uses must stay. */
  cl_int wait () const;
  /* Without asking; none counts as over. */
  bool is_known_to_be_over () const { return last_status () <= CL_COMPLETE; }

private:
  struct State {
    cl::Event event;
    std::atomic<cl_int> seen{CL_QUEUED};
  };
  cl_int ask (cl_int *answer) const;

  std::shared_ptr<State> state;
};
} // namespace opencl
