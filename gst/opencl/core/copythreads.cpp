/* Thread pool for large host copies
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

/* Bytes that a thread claims at a time, in whole pages: long enough (5 µs) to be worth a
 * claim, short enough that no thread waits long for another. */
static constexpr gsize part_size = 64 * 1024;

/* Time that an idle thread polls for the next frame before it sleeps */
static constexpr std::chrono::microseconds polling_time (250);

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
  work_added.notify_all ();
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

/* Returns a job that no other thread uses, or nullptr if all are in use. */
CopyThreads::Job *
CopyThreads::take_job ()
{
  for (Job &job : jobs) {
    if (!job.taken.exchange (true))
      return &job;
  }
  return nullptr;
}

/* A helper increments `helpers` before it reads `open`. A helper that is not counted here
 * therefore finds the job closed. */
void
CopyThreads::share (Job &job)
{
  job.open = true;
  if (sleeping > 0) {
    std::lock_guard<std::mutex> guard (lock);
    work_added.notify_all ();
  }
  job.copy_parts ();
  job.open = false;
  while (job.helpers > 0)
    std::this_thread::yield (); /* at most for one part */
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

/* Copies parts of all open jobs. Returns whether there were any. */
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

/* Polls while frames follow each other closely. Between the frames of a camera, polling
 * would only take CPU time from others. */
void
CopyThreads::work ()
{
  bool in_a_row = true;
  while (!stopping) {
    if (help ())
      continue;
    auto start = Clock::now ();
    while (in_a_row && !has_work () && Clock::now () - start < polling_time)
      std::this_thread::yield ();
    if (!has_work ())
      sleep ();
    in_a_row = Clock::now () - start < polling_time;
  }
}

void
CopyThreads::sleep ()
{
  std::unique_lock<std::mutex> guard (lock);
  sleeping++;
  work_added.wait (guard, [this] { return has_work (); });
  sleeping--;
}
} // namespace opencl
