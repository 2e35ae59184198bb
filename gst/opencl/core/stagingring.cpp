/* Ring of pinned staging buffers for uploads from pageable memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stagingring.hpp"

#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include "timeout.hpp"

GST_DEBUG_CATEGORY_STATIC (gst_opencl_staging_debug);
#define GST_CAT_DEFAULT gst_opencl_staging_debug

namespace opencl {
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
