/* Alignment of repeated B-scans with the first one, in depth and across A-lines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "alignment.hpp"

#include <cmath>
#include <vector>
#include <gst/opencl/core/devicebuffer.hpp>

namespace oct {
namespace {
const char *const kernels = "/org/freedesktop/gstreamer/opencl/oct/octalign.cl";

const guint fractions = 128; /* of a bin or an A-line */

/* A shift is a mean over many grains of speckle, so a part of the A-lines is enough: few
 * for whole bins, more for fractions. */
const guint whole_lines = 16, fraction_lines = 64;

/* As in the kernels */
struct Correlation {
  cl_float real, imaginary, energy;
};

struct Shift {
  cl_int axial, lateral;
  cl_int is_axial_real, is_lateral_real;
  cl_float2 axial_taps[2 * Alignment::reach], lateral_taps[2 * Alignment::reach];
};
} // namespace

/* Windowed sinc (Kaiser). Its error is -50 dB for spectra with a Hann window. A larger
 * beta increases it at the ends of the spectrum, a smaller one in the middle. */
bool
Alignment::create_weights (GstOpenCLContext *context, GError **error)
{
  const double beta = 5;
  std::vector<cl_float> values;
  for (guint part = 0; part < fractions; part++) {
    for (guint tap = 0; tap < 2 * reach; tap++) {
      const double away = double (tap) + 1 - reach - double (part) / fractions;
      const double inside = 1 - std::pow (away / reach, 2);
      const double window =
          std::cyl_bessel_i (0, beta * std::sqrt (inside)) / std::cyl_bessel_i (0, beta);
      const double sinc = away == 0 ? 1 : std::sin (G_PI * away) / (G_PI * away);
      values.push_back (cl_float (sinc * window));
    }
  }
  return opencl::make_table (context, values, weights, error);
}

bool
Alignment::create (GstOpenCLContext *context, guint repeats, GError **error)
{
  widths = Widths::of_device (context);
  const std::string options =
      "-DGROUP=" + std::to_string (widths.group) + " -DREACH=" + std::to_string (reach)
      + " -DFRACTIONS=" + std::to_string (fractions)
      + " -DEACH=" + std::to_string (each ())
      + " -DWIDEST=" + std::to_string (widths.width) + Repeats::options (repeats);
  return opencl::create_kernels (context, kernels, options + width_option (widths.width),
             {{correlate_lags, "correlate"}, {align_depths, "align_depths"},
                 {align_lines, "align_lines"}},
             error)
         && opencl::create_kernels (context, kernels, options + width_option (1),
             {{find_shift, "find_shift"}, {refine_shift, "refine_shift"}}, error)
         && create_weights (context, error);
}

bool
Alignment::resize (GstOpenCLContext *context, guint repeats, gsize depths, gsize lines,
    const Limits &limits, GError **error)
{
  const gsize lags = gsize (2 * limits.axial + 1) * (2 * limits.lateral + 1);
  const gsize rows =
      std::max (lags * whole_lines, gsize (2 * reach + 1) * fraction_lines);
  const gsize frame = depths * lines * sizeof (cl_float2);
  const bool any = limits.any ();
  in_force = limits;
  return sums.resize (
             context, any ? (repeats - 1) * rows * sizeof (Correlation) : 0, error)
         && shifts.resize (context, any ? repeats * sizeof (Shift) : 0, error)
         && moved_in_depth.resize (context, limits.axial > 0 ? repeats * frame : 0, error)
         && moved_aside.resize (context, limits.lateral > 0 ? repeats * frame : 0, error);
}

/* Returns A-lines that are evenly spaced. Those whose neighbours at the lags of this
 * stage may be outside the B-scan are left out, if there are others. */
Alignment::Lines
Alignment::lines_of (Stage stage, guint lines, guint lateral)
{
  const guint most = stage == Stage::whole ? whole_lines : fraction_lines;
  const guint wanted = lateral + (stage == Stage::lateral ? reach : 0);
  const guint outside = lines > 2 * wanted ? wanted : 0, inside = lines - 2 * outside;
  const guint used = std::min (most, inside), step = inside / used;
  return {used, outside + (inside - (used - 1) * step) / 2, step};
}

bool
Alignment::correlate (
    const Repeats &from, Stage stage, cl_command_queue queue, GError **error)
{
  const cl_uint axial = std::min (in_force.axial, from.depths - 1);
  const cl_uint lateral = std::min (in_force.lateral, from.lines - 1);
  const Lines lines = lines_of (stage, from.lines, lateral);
  const gsize lags =
      stage == Stage::whole ? (2 * axial + 1) * (2 * lateral + 1) : 2 * reach + 1;
  return correlate_lags.launch_groups (queue, lags * lines.used * (from.count - 1),
      widths.group, error, from, cl_uint (stage), axial, lateral, lines.used, lines.first,
      lines.step, shifts (), sums ());
}

bool
Alignment::find_whole (const Repeats &from, cl_command_queue queue, GError **error)
{
  const cl_uint axial = std::min (in_force.axial, from.depths - 1);
  const cl_uint lateral = std::min (in_force.lateral, from.lines - 1);
  return correlate (from, Stage::whole, queue, error)
         && find_shift.launch_groups (queue, from.count - 1, widths.group, error, sums (),
             lines_of (Stage::whole, from.lines, lateral).used, axial, lateral,
             shifts ());
}

bool
Alignment::refine (
    const Repeats &from, Stage stage, guint most, cl_command_queue queue, GError **error)
{
  const cl_uint lateral = std::min (in_force.lateral, from.lines - 1);
  return correlate (from, stage, queue, error)
         && refine_shift.launch_groups (queue, from.count - 1, widths.group, error,
             sums (), lines_of (stage, from.lines, lateral).used, cl_uint (stage),
             cl_uint (most), weights (), shifts ());
}

/* The shift across A-lines is found after the alignment in depth, and the other way round
 * the search in depth allows for the whole A-lines found. */
bool
Alignment::align (
    const Repeats &from, Repeats &aligned, cl_command_queue queue, GError **error)
{
  const cl_uint begin =
      Repeats::are_listed (from.count) ? 1 : 0; /* the first one stays */
  const gsize moved = from.count - begin, of_item = widths.width * each ();
  const gsize columns = (from.depths + of_item - 1) / of_item;
  const gsize rows = (from.lines + each () - 1) / each ();
  const Repeats *present = &from;
  const Repeats in_depth = from.moved_to (moved_in_depth ());

  if (!find_whole (from, queue, error))
    return false;
  if (in_force.axial > 0) {
    if (!refine (
            from, Stage::axial, std::min (in_force.axial, from.depths - 1), queue, error)
        || !align_depths.launch (queue, columns, from.lines * moved, error, from, begin,
            shifts (), moved_in_depth ()))
      return false;
    present = &in_depth;
  }
  if (in_force.lateral > 0) {
    /* With too few A-lines for all lags, the shift stays whole. */
    const guint most = std::min (in_force.lateral, from.lines - 1);
    if ((from.lines > 2 * (most + reach)
            && !refine (*present, Stage::lateral, most, queue, error))
        || !align_lines.launch (queue, widths.width > 1 ? columns : gsize (from.depths),
            rows * moved, error, *present, begin, shifts (), moved_aside ()))
      return false;
    aligned = from.moved_to (moved_aside ());
    return true;
  }
  aligned = *present;
  return true;
}
} // namespace oct
