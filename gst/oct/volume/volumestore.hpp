/* Volume in device memory, filled B-scan by B-scan, and which of its B-scans have arrived
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "enface.hpp"

#include "../shared/bufferaccess.hpp"

#include <functional>
#include <optional>
#include <vector>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
/* Returns the number type of a volume of these B-scans. Complex ones give amplitudes. */
opencl::NumberType volume_type_of (const DepthLayout &layout);

/* A volume that another element holds is never written. */
class VolumeStore {
public:
  using Rows = std::function<bool (guint row)>;

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
  bool has_volume () const { return volume != nullptr; }
  /* (transfer full): the volume, which this object gives up */
  GstBuffer *take () { return volume.release (); }
  /* (transfer full): a buffer of the same memory, with the B-scans put so far */
  GstBuffer *share () const;
  void drop () { volume.reset (); }

private:
  using Update = std::function<bool (const GstOpenCLFrame &volume, GError **error)>;

  bool update_mapped (const Update &enqueue, GError **error);
  bool copy (GError **error);
  bool is_held () const;

  GstOpenCLContext *context = nullptr; /* of the element, which outlives this */
  DepthLayout input;
  guint rows = 0;
  opencl::Kernel store;
  gsize tile = 1;
  FramePool pool;
  std::unique_ptr<GstBuffer, ReleaseBuffer> volume;
};

/* Tracks which B-scans of a volume have arrived and which were lost. The place of a B-scan
 * is its index over all volumes, including lost B-scans but not repeats. It determines the
 * row in the volume, so lost B-scans do not move others. */
class VolumeRows {
public:
  struct Step {
    bool begins = false; /* it is the first one of its volume to arrive */
    bool stores = true;  /* it has content */
    guint row = 0;
    bool completes = false;
    std::vector<guint> lost; /* rows of lost B-scans, up to this one */
  };

  /* Starts an empty volume of `rows` B-scans. */
  void restart (guint rows);
  /* Whether a B-scan belongs to another volume than the one in progress */
  bool leaves (guint64 place) const { return began_ && place / rows () != volume_; }
  /* Adds a B-scan. `last`: it is the last repeat at its place. `empty`: it has no
   * content. */
  Step next (guint64 place, bool last, bool empty);

  guint rows () const { return guint (filled.size ()); }
  guint64 volume () const { return volume_; }
  /* Whether a volume is in progress */
  bool began () const { return began_; }
  bool is_filled (guint row) const { return filled[row]; }
  /* Whether the latest B-scan of any row was lost */
  bool has_gaps () const { return gaps > 0; }
  void end () { began_ = false; }

private:
  void lose (guint64 place, std::vector<guint> &lost);

  std::vector<bool> filled, missed;
  std::optional<guint64> last;
  guint64 volume_ = 0;
  bool began_ = false;
  guint gaps = 0;
};
} // namespace oct
