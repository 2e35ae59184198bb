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
/* Whole pages: long enough (5 µs) to be worth a claim, short enough that nobody waits
 * long for a thread that came late. */
static constexpr gsize part_size = 64 * 1024;

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
  Job job{to, from, size};
  const bool is_shared = size > part_size;

  if (is_shared)
    offer (job);
  copy_parts (job);
  if (is_shared)
    withdraw (job);
}

void
CopyThreads::offer (Job &job)
{
  Guard guard (lock);
  jobs.push_back (&job);
  awake = true;
  if (sleeping > 0)
    work_came.notify_all ();
}

/* Once nobody can claim a part any more, the last helper at work is the end of it. */
void
CopyThreads::withdraw (Job &job)
{
  {
    Guard guard (lock);
    jobs.erase (std::find (jobs.begin (), jobs.end (), &job));
  }
  stay_awake_until ([&job] { return job.helpers == 0; });
  Guard guard (lock);
  helper_left.wait (guard, [&job] { return job.helpers == 0; });
}

/* Without a lock: a dozen threads that claim parts of 5 µs would wait for each other. */
void
CopyThreads::copy_parts (Job &job)
{
  gsize start;
  while ((start = job.claimed.fetch_add (part_size)) < job.size)
    memcpy (job.to + start, job.from + start, std::min (part_size, job.size - start));
}

gpointer
CopyThreads::run (gpointer self)
{
  static_cast<CopyThreads *> (self)->work ();
  return nullptr;
}

/* (nullable): one that has parts left, as far as can be seen. */
CopyThreads::Job *
CopyThreads::find_job ()
{
  auto has_parts = [] (const Job *job) { return job->claimed < job->size; };
  auto found = std::find_if (jobs.begin (), jobs.end (), has_parts);
  return found == jobs.end () ? nullptr : *found;
}

void
CopyThreads::work ()
{
  Guard guard (lock);
  while (!stopping) {
    Job *job = find_job ();
    if (!job) {
      awake = false;
      wait_for_work (guard);
      continue;
    }
    job->helpers++;
    guard.unlock ();
    copy_parts (*job);
    guard.lock ();
    if (--job->helpers == 0)
      helper_left.notify_all ();
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
