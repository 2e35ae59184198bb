/* En face projection, of which each B-scan updates a row
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../depth/displayrange.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
enum class Projection {
  mean,
  maximum,
};
extern const opencl::EnumTypeOf<Projection> projection_type;

/* Depths that are projected to a pixel, see the properties of octvolume */
struct Slab {
  Projection projection = Projection::mean;
  gint start = 0;
  guint depths = 0; /* 0: all from `start` on */
  bool surface = false;
  double threshold = 0;
  guint smooth = 1;
  guint surface_from = 0;
  enum class Unit { bins, micrometres } unit = Unit::bins; /* of start and depths */

  /* The same slab in bins of `step` µm */
  Slab in_bins (double step) const;
};
extern const opencl::EnumTypeOf<Slab::Unit> slab_unit_type;

/* Memory layout of a B-scan as kernel arguments */
struct PlacedBScan {
  cl_mem data;
  cl_ulong offset; /* in values, as are the steps */
  cl_uint line_step, depth_step;
  cl_uint depths, lines;

  PlacedBScan (const GstOpenCLFrame *frame, const DepthLayout &layout);
  auto arguments () const
  {
    return std::tie (data, offset, line_step, depth_step, depths, lines);
  }
};

/* Returns the build options of octvolume.cl for these B-scans. */
std::string options_of (const DepthLayout &layout);

class EnFace {
public:
  /* Starts an empty projection of `b_scans` B-scans. All enqueued work must have finished
   * before. */
  bool create (GstOpenCLContext *context, const DepthLayout &input, guint b_scans,
      guint pixel_bytes, GError **error);
  /* Sets all rows to black. */
  bool clear (cl_command_queue queue, GError **error);
  bool clear_row (guint row, cl_command_queue queue, GError **error);
  /* Fills a row with that before, and with a white mark at its start. */
  bool repeat_row (guint row, cl_command_queue queue, GError **error);
  /* `structure` (nullable): mean powers in which the surface is found, instead of the
   * frame. The slab is in bins. */
  bool put_row (const GstOpenCLFrame *frame, const GstOpenCLFrame *structure, guint row,
      const Slab &slab, cl_command_queue queue, GError **error);
  bool show (const GstOpenCLFrame *image, const DisplayRange &range,
      cl_command_queue queue, GError **error);

private:
  bool create_project (GstOpenCLContext *context, GError **error);

  opencl::Kernel project, fill;
  Display display;
  DepthLayout input;
  Quantity quantity = {};
  guint rows = 0;
  guint group_lines = 1, group_parts = 1;
  cl::Buffer plane;
};
} // namespace oct
