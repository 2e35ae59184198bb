/* gstreamer-opencl: threads that share the copy of a large block of host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "copythreads.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace opencl {
/* Whole pages: long enough (10 µs) to be worth a claim, short enough that nobody waits
 * long for a thread that came late. */
static constexpr gsize part_size = 128 * 1024;

/* Waking a thread that sleeps costs as much as it copies in that time, so it stays awake
 * where the next frame comes at once. It yields, for whoever has something to do. */
static constexpr std::chrono::microseconds patience (50);

template <typename Ready>
static void
stay_awake_until (Ready is_ready)
{
  auto end = std::chrono::steady_clock::now () + patience;
  while (!is_ready () && std::chrono::steady_clock::now () < end)
    std::this_thread::yield ();
}

CopyThreads::CopyThreads (guint helpers)
{
  for (guint i = 0; i < helpers; i++) {
    if (GThread *thread = g_thread_try_new ("opencl-copy", run, this, nullptr))
      threads.push_back (thread);
  }
}

CopyThreads::~CopyThreads ()
{
  {
    Guard guard (lock);
    stopping = true;
    awake = true;
  }
  work_came.notify_all ();
  for (GThread *thread : threads)
    g_thread_join (thread);
}

void
CopyThreads::copy (guint8 *to, const guint8 *from, gsize size)
{
  if (size == 0)
    return;
  Job job{to, from, size, 0, {size}};
  Guard guard (lock);
  jobs.push_back (&job);
  awake = true;
  if (sleeping > 0 && size > part_size)
    work_came.notify_all ();
  while (copy_part (job, guard))
    ;
  guard.unlock ();
  stay_awake_until ([&job] { return job.to_do == 0; });
  guard.lock ();
  job_done.wait (guard, [&job] { return job.to_do == 0; });
}

/* Of a job that is not done: the guard is free while the bytes move. */
bool
CopyThreads::copy_part (Job &job, Guard &guard)
{
  gsize start = job.claimed;
  if (start == job.size)
    return false;
  gsize bytes = std::min (part_size, job.size - start);
  job.claimed += bytes;
  if (job.claimed == job.size) {
    jobs.erase (std::find (jobs.begin (), jobs.end (), &job));
    awake = stopping || !jobs.empty ();
  }
  guard.unlock ();
  memcpy (job.to + start, job.from + start, bytes);
  guard.lock ();
  job.to_do -= bytes;
  if (job.to_do == 0)
    job_done.notify_all ();
  return true;
}

gpointer
CopyThreads::run (gpointer self)
{
  static_cast<CopyThreads *> (self)->work ();
  return nullptr;
}

void
CopyThreads::work ()
{
  Guard guard (lock);
  while (!stopping) {
    if (jobs.empty ())
      wait_for_work (guard);
    else
      copy_part (*jobs.front (), guard);
  }
}

void
CopyThreads::wait_for_work (Guard &guard)
{
  guard.unlock ();
  stay_awake_until ([this] { return awake.load (); });
  guard.lock ();
  sleeping++;
  work_came.wait (guard, [this] { return awake.load (); });
  sleeping--;
}
} // namespace opencl
