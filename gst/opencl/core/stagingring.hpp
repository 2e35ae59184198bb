/* Ring of pinned staging buffers for uploads from pageable memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "copythreads.hpp"
#include <gst/opencl/base/pinnedblock.hpp>
#include "trackedevent.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace opencl {
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
