/* Reports an input that never comes, which other inputs of the element wait for
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <atomic>

namespace opencl {
/* An element with several inputs makes no frame before its main pad (the one that is always
 * there), or each pad of an aggregator, has data. If nothing is linked to the main pad,
 * that is an element error after a second: an application may link it in a pipeline that
 * has started. Other inputs without data are a WARNING after five seconds, because a
 * network source or a decoder may take longer. */
class InputWatch {
public:
  explicit InputWatch (GstElement *element) : element (element) {}
  ~InputWatch () { stop (); }
  InputWatch (const InputWatch &) = delete;
  InputWatch &operator= (const InputWatch &) = delete;

  void start ();
  void stop ();
  /* A frame was made: no input is missing. In the streaming thread, for each frame. */
  void see_frame () { has_frame.store (true, std::memory_order_relaxed); }

  /* For the timer: returns whether another check is due. */
  bool check ();

private:
  GstElement *const element;
  GstClockID timer = nullptr; /* (nullable) */
  std::atomic<guint> checks{0};
  std::atomic<bool> has_frame{false};
};
} // namespace opencl
