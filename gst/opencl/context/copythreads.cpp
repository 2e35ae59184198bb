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
using Clock = std::chrono::steady_clock;

/* Whole pages: long enough (5 µs) to be worth a claim, short enough that nobody waits
 * long for a thread that came late. */
static constexpr gsize part_size = 64 * 1024;

/* Where frames come in a row, nobody sleeps between them. */
static constexpr std::chrono::microseconds patience (250);

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
    std::lock_guard<std::mutex> guard (lock);
    stopping = true;
  }
  work_came.notify_all ();
  for (GThread *thread : threads)
    g_thread_join (thread);
}

void
CopyThreads::Job::copy_parts ()
{
  const gsize all = size;
  gsize start;
  while ((start = claimed.fetch_add (part_size)) < all)
    memcpy (to + start, from + start, std::min (part_size, all - start));
}

void
CopyThreads::copy (guint8 *to, const guint8 *from, gsize size)
{
  Job *job = size > part_size ? take_job () : nullptr;

  if (!job) {
    memcpy (to, from, size);
    return;
  }
  job->to = to;
  job->from = from;
  job->size = size;
  job->claimed = 0;
  share (*job);
  job->taken = false;
}

/* (nullable): one that no other thread has; there are more than copies at a time. */
CopyThreads::Job *
CopyThreads::take_job ()
{
  for (Job &job : jobs) {
    if (!job.taken.exchange (true))
      return &job;
  }
  return nullptr;
}

/* A helper counts itself before it looks whether the job is open, so that one that is not
 * seen here does not touch it. */
void
CopyThreads::share (Job &job)
{
  job.open = true;
  if (sleeping > 0) {
    std::lock_guard<std::mutex> guard (lock);
    work_came.notify_all ();
  }
  job.copy_parts ();
  job.open = false;
  while (job.helpers > 0)
    std::this_thread::yield (); /* at most a part */
}

gpointer
CopyThreads::run (gpointer self)
{
  static_cast<CopyThreads *> (self)->work ();
  return nullptr;
}

bool
CopyThreads::has_work () const
{
  return stopping || std::any_of (jobs.begin (), jobs.end (), [] (const Job &job) {
    return job.has_parts ();
  });
}

/* Whether there was anything to do. */
bool
CopyThreads::help ()
{
  bool helped = false;
  for (Job &job : jobs) {
    if (!job.has_parts ())
      continue;
    job.helpers++;
    if (job.has_parts ()) {
      job.copy_parts ();
      helped = true;
    }
    job.helpers--;
  }
  return helped;
}

/* A camera's frames are so far apart that to stay awake for them would only take time
 * from others. */
void
CopyThreads::work ()
{
  bool in_a_row = true;
  while (!stopping) {
    if (help ())
      continue;
    auto start = Clock::now ();
    while (in_a_row && !has_work () && Clock::now () - start < patience)
      std::this_thread::yield ();
    if (!has_work ())
      sleep ();
    in_a_row = Clock::now () - start < patience;
  }
}

void
CopyThreads::sleep ()
{
  std::unique_lock<std::mutex> guard (lock);
  sleeping++;
  work_came.wait (guard, [this] { return has_work (); });
  sleeping--;
}
} // namespace opencl
