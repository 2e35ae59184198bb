/* En face projection, of which each B-scan updates a row
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "enface.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

namespace oct {
namespace {
const char *const kernels = "/org/freedesktop/gstreamer/opencl/oct/octvolume.cl";

/* Value of pixels without data. Display shows it as black in any range. */
const cl_float missing_value = -FLT_MAX;
/* White in any range. Its square, a power, is finite. */
const cl_float mark_value = 1e18f;
const guint mark_share = 64; /* of the A-lines of a row */
} // namespace

const opencl::EnumTypeOf<Projection> projection_type = {
    "GstOctProjection", {
                            {Projection::mean, "Mean of the depths", "mean"},
                            {Projection::maximum, "Maximum of the depths", "maximum"},
                        }};

const opencl::EnumTypeOf<Slab::Unit> slab_unit_type = {"GstOctSlabUnit",
    {
        {Slab::Unit::bins, "Depth bins", "bins"},
        {Slab::Unit::micrometres, "Micrometres, by depth-step of the caps", "um"},
    }};

Slab
Slab::in_bins (double step) const
{
  Slab slab = *this;
  if (unit == Unit::bins)
    return slab;
  slab.start = gint (std::lround (start / step));
  slab.depths = depths > 0 ? guint (std::max (1l, std::lround (depths / step))) : 0;
  return slab;
}

PlacedBScan::PlacedBScan (const GstOpenCLFrame *frame, const DepthLayout &layout)
    : data (frame->data), offset (frame->offset[0] / layout.bytes),
      depths (cl_uint (layout.depths)), lines (cl_uint (layout.lines))
{
  const cl_uint stride =
      cl_uint (layout.image ? gsize (frame->stride[0]) / layout.bytes : layout.depths);
  line_step = layout.image ? 1 : stride;
  depth_step = layout.image ? stride : 1;
}

std::string
options_of (const DepthLayout &layout)
{
  return std::string ("-DINPUT=") + layout.stored + (layout.complex ? " -DCOMPLEX" : "");
}

/* On a CPU one work-item projects a whole A-line, since more would hide no latency. */
bool
EnFace::create_project (GstOpenCLContext *context, GError **error)
{
  const bool alone = opencl::is_cpu (context);
  group_lines = input.image ? 16 : alone ? 1 : 4;
  group_parts = alone ? 1 : input.image ? 8 : 32;
  while (group_parts > 1 && group_lines * group_parts > opencl::largest_group (context))
    group_parts /= 2;
  const std::string options =
      options_of (input) + " -DLINES=" + std::to_string (group_lines)
      + " -DPARTS=" + std::to_string (group_parts) + (input.image ? "" : " -DALONG");
  return project.create (context, kernels, "project", options.c_str (), error);
}

bool
EnFace::create (GstOpenCLContext *context, const DepthLayout &of, guint b_scans,
    guint pixel_bytes, GError **error)
{
  input = of;
  rows = b_scans;
  quantity = quantity_of (input);
  if (input.complex) { /* the plane contains amplitudes */
    quantity.value_type = ValueType::amplitudes;
    quantity.decibels = true;
  }
  return create_project (context, error)
         && fill.create (context, kernels, "fill_row", options_of (input).c_str (), error)
         && display.create (context, quantity.value_type,
             pixel_bytes == 1 ? DepthFormat::gray8 : DepthFormat::gray16, error)
         && opencl::make_buffer (
             context, input.lines * rows * sizeof (cl_float), plane, error);
}

/* Value of an empty pixel */
static cl_float
empty_value (const Quantity &quantity)
{
  return quantity.value_type == ValueType::values ? missing_value : 0.0f;
}

bool
EnFace::clear_row (guint row, cl_command_queue queue, GError **error)
{
  const cl_uint lines = cl_uint (input.lines);
  return fill.launch (queue, lines, 1, error, plane (), cl_uint (rows), cl_uint (row),
      lines, lines, empty_value (quantity));
}

bool
EnFace::repeat_row (guint row, cl_command_queue queue, GError **error)
{
  const cl_uint lines = cl_uint (input.lines);
  return fill.launch (queue, lines, 1, error, plane (), cl_uint (rows), cl_uint (row),
      lines, std::max (1u, lines / mark_share), mark_value);
}

bool
EnFace::clear (cl_command_queue queue, GError **error)
{
  /* All rows together are cleared as one long row. */
  const cl_uint values = cl_uint (input.lines * rows);
  return fill.launch (queue, values, 1, error, plane (), cl_uint (1), cl_uint (0), values,
      values, empty_value (quantity));
}

namespace {
/* Depths that are projected, and the frame that has their surface */
struct ProjectedDepths {
  cl_uint is_maximum;
  cl_int start;
  cl_uint depths, follows_surface;
  cl_float threshold; /* of the surface */
  cl_uint half_width, surface_from;
  cl_uint has_structure; /* `structure` is another frame than that projected */
  cl_mem structure;
  cl_ulong structure_offset;

  ProjectedDepths (const Slab &slab, guint first_depth);
  auto arguments () const
  {
    return std::tie (is_maximum, start, depths, follows_surface, threshold, half_width,
        surface_from, has_structure, structure, structure_offset);
  }
};

ProjectedDepths::ProjectedDepths (const Slab &slab, guint first_depth)
    : is_maximum (slab.projection == Projection::maximum), start (slab.start),
      depths (slab.depths > 0 ? slab.depths : CL_UINT_MAX),
      follows_surface (slab.surface), threshold (cl_float (slab.threshold)),
      half_width ((slab.smooth - 1) / 2),
      surface_from (slab.surface_from - std::min (slab.surface_from, first_depth)),
      has_structure (0), structure (nullptr), structure_offset (0)
{
}
} // namespace

bool
EnFace::put_row (const GstOpenCLFrame *frame, const GstOpenCLFrame *structure, guint row,
    const Slab &slab, cl_command_queue queue, GError **error)
{
  const PlacedBScan from (frame, input);
  const gsize groups = (input.lines + group_lines - 1) / group_lines;
  ProjectedDepths projected (slab, input.first_depth);
  projected.structure = from.data;
  if (structure) {
    projected.has_structure = 1;
    projected.structure = structure->data;
    projected.structure_offset = structure->offset[0];
    projected.threshold = power_of_threshold (slab.threshold);
  }
  return check_frame_alignment (frame, input.bytes, error)
         && project.launch_groups (queue, groups, gsize (group_lines) * group_parts,
             error, from, projected, empty_value (quantity), plane (), cl_uint (rows),
             cl_uint (row));
}

bool
EnFace::show (const GstOpenCLFrame *image, const DisplayRange &range,
    cl_command_queue queue, GError **error)
{
  DepthOutput output = {};
  output.data = image->data;
  output.offset = image->offset[0];
  output.stride = image->stride[0];
  output.depths = rows;
  range.apply_to (quantity, output);
  return display.enqueue (
      queue, {plane (), 0, guint (rows), guint (input.lines)}, output, error);
}
} // namespace oct
