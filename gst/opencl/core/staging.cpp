/* Staging of uploads from pageable memory: a ring of pinned blocks, and threads that copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "staging.hpp"

#include "context.hpp"
#include "events.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_staging_debug);
#define GST_CAT_DEFAULT gst_opencl_staging_debug

namespace opencl {
/* --- threads that copy --- */

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

/* --- ring of pinned blocks --- */

StagingRing::StagingRing (GstOpenCLContext *context) : context (context)
{
  GST_DEBUG_CATEGORY_INIT (
      gst_opencl_staging_debug, "openclstaging", 0, "OpenCL uploads of pageable memory");
}

StagingRing::~StagingRing ()
{
  for (Slot &slot : slots) {
    slot.transfer.wait (); /* even if it fails */
    if (!slot.transfer.is_known_complete ())
      (void)slot.block.release (); /* lost: the device may still read it */
  }
}

bool
StagingRing::is_usable ()
{
  std::call_once (made, [this] { make (); });
  return !slots.empty ();
}

void
StagingRing::make ()
{
  GError *error = nullptr;

  while (slots.size () < n_blocks) {
    Slot slot;
    slot.block = PinnedBlock::make (context, block_size, &error);
    if (!slot.block)
      break;
    slots.push_back (std::move (slot));
  }
  if (error)
    GST_WARNING_OBJECT (context,
        "only %u of %u staging blocks, so uploads of pageable memory are slower: %s",
        guint (slots.size ()), n_blocks, error->message);
  g_clear_error (&error);
}

/* Takes slots in turn, because their transfers end in that order. */
StagingRing::Slot &
StagingRing::take ()
{
  std::unique_lock<std::mutex> guard (lock);
  Slot &slot = slots[next++ % slots.size ()];
  given_back.wait (guard, [&slot] { return !slot.taken; });
  slot.taken = true;
  return slot;
}

void
StagingRing::put_back (Slot &slot)
{
  {
    std::lock_guard<std::mutex> guard (lock);
    slot.taken = false;
  }
  given_back.notify_all ();
}

StagingRing::Slot *
StagingRing::fill (const guint8 *from, gsize size, GError **error)
{
  Slot &slot = take ();

  if (slot.transfer.status () > CL_COMPLETE) {
    gst_opencl_count_throttled ();
    cl_int status = slot.transfer.wait (); /* readers of the data see a failure */
    if (!slot.transfer.is_known_complete ()) {
      gst_opencl_check (status, "waiting for an earlier upload", error);
      put_back (slot);
      return nullptr;
    }
  }
  slot.transfer = TrackedEvent ();
  gst_opencl_context_get_copy_threads (context).copy (slot.block->data (), from, size);
  return &slot;
}

void
StagingRing::give_back (Slot &slot, cl_command_queue queue, cl_event transfer)
{
  if (!transfer)
    finish_with_timeout (queue);           /* a part may be pending */
  slot.transfer = TrackedEvent (transfer); /* no other thread uses the slot */
  put_back (slot);
}
} // namespace opencl
