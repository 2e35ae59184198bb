/* Volume in device memory, filled B-scan by B-scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "enface.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/common/numbertype.hpp>
#include <gst/opencl/gstopenclfilter.h>

#include <functional>

namespace oct {
/* Returns the number type of a volume of these B-scans. Complex ones give amplitudes. */
opencl::NumberType volume_type_of (const DepthLayout &layout);

/* A volume that another element holds is never written. */
class VolumeStore {
public:
  using Rows = std::function<bool (guint row)>;

  VolumeStore () = default;
  VolumeStore (const VolumeStore &) = delete;
  ~VolumeStore ();

  /* For volumes of `b_scans` B-scans and `bytes` bytes. All enqueued work must have
   * finished before. */
  bool create (GstOpenCLFilter *filter, const DepthLayout &input, guint b_scans,
      gsize bytes, GError **error);
  /* Ensures that there is a volume without other owners. If it must be allocated,
   * `zeroed` clears it. */
  bool ensure (bool zeroed, GError **error);
  bool put (const GstOpenCLFrame *frame, guint row, GError **error);
  /* Clears the B-scans that `are_wanted` selects. */
  bool clear (const Rows &are_wanted, GError **error);

  /* TRUE between ensure() and take() or drop() */
  bool has_volume () const { return volume; }
  /* (transfer full): the volume, which this object gives up */
  GstBuffer *take ();
  /* (transfer full): a buffer of the same memory, with the B-scans put so far */
  GstBuffer *share () const;
  void drop ();

private:
  using Change = std::function<bool (const GstOpenCLFrame &volume, GError **error)>;

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
  gsize tile = 16; /* side length in the kernel */
  GstBufferPool *pool = nullptr;
  GstBuffer *volume = nullptr;
};
} // namespace oct
