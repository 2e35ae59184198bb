/* Prepares new settings in a thread while frames use the old ones
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/gstopenclfilter-private.h>

#include <atomic>
#include <functional>
#include <utility>

G_BEGIN_DECLS
/* Makes launches of this thread compile only, or run again if `cancelled` is null.
 * `cancelled` points to a std::atomic<bool>. Returns the previous pointer. */
GST_OPENCL_API gconstpointer gst_opencl_set_compile_only (gconstpointer cancelled);
G_END_DECLS

namespace opencl {
/* While in scope, launches of this thread compile their kernels first, and enqueue
 * nothing on a null queue. Thus the code that enqueues a frame can also prepare for the
 * first one. Compiler processes are killed when `cancelled` is set. */
class CompileOnly {
public:
  explicit CompileOnly (const std::atomic<bool> &cancelled)
      : previous (gst_opencl_set_compile_only (&cancelled))
  {
  }
  ~CompileOnly () { gst_opencl_set_compile_only (previous); }
  CompileOnly (const CompileOnly &) = delete;
  CompileOnly &operator= (const CompileOnly &) = delete;

private:
  gconstpointer previous;
};

/* Builds programs and tables for the next settings of a live filter in a thread of its
 * own. Does not report failures: the streaming thread then fails in the same way, and
 * reports it. Called in the streaming thread, or in a state change while that does not
 * run. */
class Preparation {
public:
  using Work = std::function<void ()>;

  Preparation () = default;
  ~Preparation () { stop (); }
  Preparation (const Preparation &) = delete;
  Preparation &operator= (const Preparation &) = delete;

  /* For Settings::update(): returns whether frames may use the new settings. In a live
   * pipeline the first call starts `wanted` in a thread, and the result is false until
   * that has ended. Otherwise the result is true, and the next frame waits for the same
   * work, so that results do not depend on timing. */
  bool is_done (GstOpenCLFilter *filter, Work wanted)
  {
    if (!thread)
      return !gst_opencl_filter_is_live (filter) || !start (std::move (wanted));
    if (!ended)
      return false;
    join ();
    return true;
  }

  /* Cancels the work. Waits for the thread, which finishes the program that it is
   * building. */
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
