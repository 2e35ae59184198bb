/* Ring of pinned staging buffers for uploads from pageable memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "copythreads.hpp"
#include "pinnedblock.hpp"
#include "trackedevent.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace opencl {
/* A driver copies ordinary memory into pinned memory of its own, on one core and while
 * the caller waits. Here several threads copy, while earlier frames are still on their
 * way. All is made at the first use and kept as long as the context, which outlives it.
 */
class StagingRing {
public:
  /* Frames of any size pass in pieces, so that the memory is bounded and a large frame is
   * under way before all of it is copied. */
  static constexpr gsize block_size = 4 * 1024 * 1024;
  /* Below, one thread has copied it (20 µs) before the others are awake. */
  static constexpr gsize smallest_frame = 256 * 1024;
  static constexpr guint n_blocks = 8;

  struct Slot {
    std::unique_ptr<PinnedBlock> block;
    TrackedEvent transfer; /* the last one from it */
    bool taken = false;
  };

  explicit StagingRing (GstOpenCLContext *context);
  ~StagingRing (); /* waits for the transfers */

  /* Makes the blocks the first time. False where there is no room for a single one. */
  bool is_usable ();

  /* A slot whose block begins with `size` (at most block_size) bytes from `from`. Waits
   * for the block's earlier transfer; such a wait counts as throttled. nullptr where it
   * cannot be known whether that is over. */
  Slot *fill (const guint8 *from, gsize size, GError **error);

  /* `transfer` is of the command on `queue`, which was flushed, that reads the block;
   * nullptr when one failed. */
  void give_back (Slot &slot, cl_command_queue queue, cl_event transfer);

private:
  void make ();
  Slot &take ();
  void put_back (Slot &slot);

  GstOpenCLContext *const context;
  std::once_flag made;

  std::mutex lock; /* of what is below; not held while a block is filled */
  std::condition_variable given_back;
  std::vector<Slot> slots; /* as many as there was room for */
  gsize next = 0;
};
} // namespace opencl
