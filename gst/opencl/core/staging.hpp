/* Staging of uploads from pageable memory: a ring of pinned blocks, and threads that copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "events.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <gst/gst.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <glib.h>
#include <mutex>
#include <vector>

namespace opencl {
/* One core copies about a third of what the link to a discrete GPU transfers. The threads
 * hold no reference to a context, so none of them can drop its last one.
 *
 * A frame takes 40 µs, and waking a thread by a lock takes as long. The threads therefore
 * poll without a lock while frames follow each other closely. (GThreadPool in place of
 * this class costs 13 % of the rate of pageable OCT frames on an H200.) */
class CopyThreads {
public:
  /* `helpers`: number of threads beside the calling one. Fewer are used if the system
   * cannot create as many. */
  explicit CopyThreads (guint helpers);
  ~CopyThreads ();
  CopyThreads (const CopyThreads &) = delete;
  CopyThreads &operator= (const CopyThreads &) = delete;

  /* Copies `size` bytes and returns when all are copied. Several threads may call it at
   * the same time. */
  void copy (guint8 *to, const guint8 *from, gsize size);

private:
  /* A copy that helpers may join while it is open. */
  struct Job {
    guint8 *to;
    const guint8 *from;
    std::atomic<gsize> size{0};
    std::atomic<gsize> claimed{0}; /* bytes copied or being copied */
    std::atomic<bool> open{false};
    std::atomic<guint> helpers{0}; /* threads that use the job */
    std::atomic<bool> taken{false};

    bool has_parts () const { return open && claimed < size; }
    void copy_parts ();
  };

  static gpointer run (gpointer self);
  Job *take_job ();
  void share (Job &job);
  bool has_work () const;
  bool help ();
  void work ();
  void sleep ();

  std::array<Job, 4> jobs;
  std::atomic<bool> stopping{false};
  std::atomic<guint> sleeping{0};
  std::mutex lock; /* used only for sleeping */
  std::condition_variable work_added;
  std::vector<GThread *> threads;
};

/* A driver copies pageable memory into its own pinned memory, on one core and while the
 * caller waits. Here several threads copy, while earlier frames are transferred. Blocks
 * are allocated at the first use and kept as long as the context, which outlives the
 * ring. */
class StagingRing {
public:
  /* Frames are staged in blocks. This bounds the memory, and the transfer of a large
   * frame starts before all of it is copied. */
  static constexpr gsize block_size = 4 * 1024 * 1024;
  /* One thread copies a smaller frame (20 µs) before the others wake up. */
  static constexpr gsize smallest_frame = 256 * 1024;
  static constexpr guint n_blocks = 8;

  struct Slot {
    std::unique_ptr<PinnedBlock> block;
    TrackedEvent transfer; /* last transfer of the block */
    bool taken = false;
  };

  explicit StagingRing (GstOpenCLContext *context);
  ~StagingRing (); /* waits for the transfers */

  /* Allocates the blocks in the first call. Returns false if none could be allocated. */
  bool is_usable ();

  /* Copies `size` bytes (at most block_size) from `from` to the block of a free slot, and
   * returns the slot. Waits for the earlier transfer of the block, which counts as
   * throttled. Returns nullptr with an error if it is unknown whether that transfer is
   * over. */
  Slot *fill (const guint8 *from, gsize size, GError **error);

  /* Releases a slot. `transfer` is the event of the command on `queue` that reads the
   * block, or nullptr if it failed. The queue must have been flushed. */
  void give_back (Slot &slot, cl_command_queue queue, cl_event transfer);

private:
  void make ();
  Slot &take ();
  void put_back (Slot &slot);

  GstOpenCLContext *const context;
  std::once_flag made;

  std::mutex lock; /* protects the members below; not held while a block is filled */
  std::condition_variable given_back;
  std::vector<Slot> slots; /* as many as could be allocated */
  gsize next = 0;
};
} // namespace opencl
