/* Prepares new settings in a thread while frames use the old ones
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/program/compileonly.hpp>
#include <gst/opencl/elements/gstopenclfilter-private.h>

#include <functional>
#include <utility>

namespace opencl {
/* Builds programs and tables for the next settings of a live filter in a thread of its own.
 * Where it fails, so does what the streaming thread does then, which says why. Of the streaming
 * thread, or of a state change while there is none. */
class Preparation {
public:
  using Work = std::function<void ()>;

  Preparation () = default;
  ~Preparation () { stop (); }
  Preparation (const Preparation &) = delete;
  Preparation &operator= (const Preparation &) = delete;

  /* For Settings::update(): whether frames may come that need what `work` does. A pipeline that
   * is not live waits for that with its next frame, so that results do not depend on time. In a
   * live one the first call starts `work`, and the answer is false until it has ended. */
  bool is_done (GstOpenCLFilter *filter, Work wanted)
  {
    if (!thread)
      return !gst_opencl_filter_is_live (filter) || !start (std::move (wanted));
    if (!ended)
      return false;
    join ();
    return true;
  }

  /* Waits for the thread, which finishes the program that it builds. */
  void stop ()
  {
    cancelled = true;
    join ();
  }

private:
  bool start (Work wanted)
  {
    work = std::move (wanted);
    ended = cancelled = false;
    thread = g_thread_try_new ("settings", run, this, nullptr);
    return thread != nullptr;
  }

  void join ()
  {
    if (thread)
      g_thread_join (std::exchange (thread, nullptr));
  }

  static gpointer run (gpointer data)
  {
    auto *self = static_cast<Preparation *> (data);
    CompileOnly compile_only (self->cancelled);
    self->work ();
    self->ended = true;
    return nullptr;
  }

  Work work;
  std::atomic<bool> ended{false}, cancelled{false};
  GThread *thread = nullptr;
};
} // namespace opencl
