/* Thresholds and projection artefacts of an angiogram
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "flowfilter.hpp"
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

namespace oct {
namespace {
const char *const kernels = "/org/freedesktop/gstreamer/opencl/oct/octflow.cl";

/* The noise floor is a low quantile of the mean powers of tiles. Tiles are wide and thin,
 * to fit into air above or darkness below the sample. Each has many values, so that its
 * mean varies little. */
const gsize most_rows = 8, most_columns = 32;
const gsize least_tile_lines = 4, least_tile_depths = 8;
const float noise_share = 0.05f;

struct Tiles {
  gsize rows, columns, lines, depths;

  Tiles (gsize all_depths, gsize all_lines)
      : rows (std::clamp<gsize> (all_lines / least_tile_lines, 1, most_rows)),
        columns (std::clamp<gsize> (all_depths / least_tile_depths, 1, most_columns)),
        lines (all_lines / rows), depths (all_depths / columns)
  {
  }
};
} // namespace

bool
FlowFilter::create (GstOpenCLContext *context, GError **error)
{
  const Widths widths = Widths::of_device (context);
  group = widths.group;
  for (tile_group = group > 1 ? 256 : 1; tile_group > opencl::largest_group (context);)
    tile_group /= 2;
  const std::string widest =
      " -DWIDEST=" + std::to_string (widths.width)
      + " -DMOST_TILES=" + std::to_string (most_rows * most_columns);
  const std::string options = "-DGROUP=" + std::to_string (group) + widest;
  const std::string of_tiles = "-DGROUP=" + std::to_string (tile_group) + widest;
  const std::string wide = width_option (widths.width);
  return resolve.create (context, kernels, "resolve_projections", options + wide, error)
         && tile_powers.create (context, kernels, "tile_powers", of_tiles + wide, error)
         && noise_floor.create (
             context, kernels, "noise_floor", of_tiles + width_option (1), error)
         && threshold.create (
             context, kernels, "apply_threshold", options, widths.width, error)
         && noise.resize (context, sizeof (cl_float), error);
}

bool
FlowFilter::resize (GstOpenCLContext *context, gsize wanted_depths, gsize wanted_lines,
    bool resolves, GError **error)
{
  depths = wanted_depths;
  lines = wanted_lines;
  const Tiles grid (depths, lines);
  return tiles.resize (context, grid.rows * grid.columns * sizeof (cl_float), error)
         && unresolved.resize (
             context, resolves ? depths * lines * sizeof (cl_float) : 0, error);
}

bool
FlowFilter::measure_noise (
    const GstOpenCLFrame &powers, cl_command_queue queue, GError **error)
{
  const Tiles grid (depths, lines);
  const gsize count = grid.rows * grid.columns;
  return tile_powers.launch_groups (queue, count, tile_group, error, powers.data,
             cl_ulong (powers.offset[0]), cl_uint (depths), cl_uint (grid.depths),
             cl_uint (grid.lines), cl_uint (grid.columns), tiles ())
         && noise_floor.launch_groups (queue, 1, tile_group, error, tiles (),
             cl_uint (count), noise_share, noise ());
}

bool
FlowFilter::apply (const Limits &limits, const GstOpenCLFrame &powers,
    const GstOpenCLFrame *to, cl_command_queue queue, GError **error)
{
  const cl_ulong from = powers.offset[0], offset = to->offset[0];
  const bool measures = limits.least_snr > 0 || limits.resolves_projections;
  if (measures && !measure_noise (powers, queue, error))
    return false;
  if (limits.resolves_projections)
    return resolve.launch_groups (queue, lines, group, error, unresolved (), powers.data,
        from, cl_uint (depths), cl_uint (lines), noise (), limits.least_power,
        limits.least_snr, limits.ratio, cl_uint (limits.relative), to->data, offset);
  return !limits.any ()
         || threshold.launch (queue, depths, lines, error, powers.data, from,
             cl_uint (depths), cl_uint (lines), noise (), limits.least_power,
             limits.least_snr, to->data, offset);
}
} // namespace oct
