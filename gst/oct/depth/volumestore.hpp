/* A volume on the device, into which B-scans are put one by one
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "enface.hpp"

#include <gst/opencl/kernel/kernel.hpp>
#include <gst/common/numbertype.hpp>

#include <functional>

namespace oct {
/* Type of a volume of such B-scans: amplitudes of complex ones. */
opencl::NumberType volume_type_of (const DepthLayout &layout);

/* A volume that another element holds is never written. */
class VolumeStore {
public:
  using Rows = std::function<bool (guint row)>;

  VolumeStore () = default;
  VolumeStore (const VolumeStore &) = delete;
  ~VolumeStore ();

  /* For `scans` B-scans with `bytes` bytes together; all enqueued work has finished. */
  bool create (GstOpenCLFilter *filter, const DepthLayout &input, guint b_scans,
      gsize bytes, GError **error);
  /* Returns a volume that has no other owner: the current one, or a new one with
   * `zeroed` empty. */
  bool ensure (bool zeroed, GError **error);
  bool put (const GstOpenCLFrame *frame, guint row, GError **error);
  /* Clears the B-scans that `are_wanted` selects. */
  bool clear (const Rows &are_wanted, GError **error);

  /* Since one was ensured, until it is taken or dropped */
  bool has_volume () const { return volume; }
  /* (transfer full): the volume, of which this keeps nothing */
  GstBuffer *take ();
  /* (transfer full): as it is by now, in the same memory */
  GstBuffer *share () const;
  void drop ();

private:
  using Change = std::function<bool (const GstOpenCLFrame &volume, GError **error)>;

  void drop_pool ();
  GstBuffer *acquire (GError **error);
  bool change (const Change &enqueue, GError **error);
  bool copy (GError **error);
  bool is_held () const;
  bool fail_without_memory (GError **error) const;

  GstOpenCLContext *context = nullptr; /* of the element, which outlives this */
  DepthLayout input;
  guint rows = 0;
  gsize bytes = 0;
  opencl::Kernel store;
  gsize tile = 16; /* that it is built for, each way */
  GstBufferPool *pool = nullptr;
  GstBuffer *volume = nullptr;
};
} // namespace oct
