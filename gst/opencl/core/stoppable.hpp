/* Work that a stop or a flush of its element does not wait for, such as a build
 *
 * A driver's compiler cannot be interrupted. So it runs in another thread, and the streaming
 * thread leaves it when the element stops.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <functional>

namespace opencl {
/* While in scope, the calling thread is a streaming thread of `element`. */
class StopScope {
public:
  explicit StopScope (GstElement *element);
  ~StopScope ();
  StopScope (const StopScope &) = delete;
  StopScope &operator= (const StopScope &) = delete;

  /* Returns whether the element of this thread flushes or stops, or whether the preparation
   * of this thread was cancelled. */
  static bool must_stop ();
  /* Notes that work was left, so that its failure is not reported. */
  static void leave ();
  static bool has_left ();

private:
  GstElement *const element;
  StopScope *const outer;
  bool left = false;
};

/* Runs `work` in another thread. The process waits for it at its exit, because the compilers
 * of drivers crash while the process ends. Returns false if there is no thread. */
bool run_in_background (std::function<void ()> work);

/* Runs `work`, and waits for its end unless the element stops. Then returns false, and the
 * work goes on: it must own all that it uses. */
bool run_unless_stopped (std::function<void ()> work);
} // namespace opencl
