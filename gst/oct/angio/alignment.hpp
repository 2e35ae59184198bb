/* Alignment of repeated B-scans with the first one, in depth and across A-lines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "repeats.hpp"
#include "widekernels.hpp"

#include <gst/opencl/core/devicebuffer.hpp>

namespace oct {
/* Finds the shift of each repeat on the device, see octalign.cl. It stays there. */
class Alignment {
public:
  static constexpr guint reach = 8; /* weights on each side of the interpolation */

  /* Maximum shifts in depth bins and in A-lines; 0: no alignment in this direction */
  struct Limits {
    guint axial = 0, lateral = 0;

    bool any () const { return axial > 0 || lateral > 0; }
  };

  /* Builds the kernels with the options of Repeats. */
  bool create (GstOpenCLContext *context, guint repeats, GError **error);
  /* Allocates memory for repeats of this size. All enqueued work must have finished. */
  bool resize (GstOpenCLContext *context, guint repeats, gsize depths, gsize lines,
      const Limits &limits, GError **error);

  /* Enqueues the alignment. `aligned` then lists the repeats in this object's memory. */
  bool align (
      const Repeats &from, Repeats &aligned, cl_command_queue queue, GError **error);

private:
  enum class Stage : cl_uint {
    whole,
    axial,
    lateral,
  };
  /* A-lines from which a stage finds the shift */
  struct Lines {
    cl_uint used, first, step;
  };

  bool create_weights (GstOpenCLContext *context, GError **error);
  /* Values that a work-item of a GPU interpolates */
  guint each () const { return widths.width > 1 ? 1 : 4; }
  static Lines lines_of (Stage stage, guint lines, guint lateral);
  bool correlate (
      const Repeats &from, Stage stage, cl_command_queue queue, GError **error);
  bool find_whole (const Repeats &from, cl_command_queue queue, GError **error);
  bool refine (const Repeats &from, Stage stage, guint most, cl_command_queue queue,
      GError **error);

  Limits in_force;
  Widths widths;
  opencl::Kernel correlate_lags, find_shift, refine_shift, align_depths, align_lines;
  cl::Buffer weights;        /* of the interpolation, for each fraction of a bin */
  opencl::WorkBuffer sums;   /* correlation of each A-line at each lag */
  opencl::WorkBuffer shifts; /* of each repeat, with the weights that interpolate it */
  opencl::WorkBuffer moved_in_depth, moved_aside; /* all repeats */
};
} // namespace oct
