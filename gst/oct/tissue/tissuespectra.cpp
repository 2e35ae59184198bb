/* Spectra of the simulated tissue and of a flat surface, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuespectra.hpp"

#include "../spectra/phaseunits.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace oct {
namespace {
constexpr char resource[] = "/org/freedesktop/gstreamer/opencl/oct/tissue.cl";
constexpr guint block_cells = 64; /* BLOCK of the kernels */

/* Distance of nodes of speckle, µm. The resolution is 1.5 of it, 20 µm. */
constexpr double node_distance = 40.0 / 3;
/* Axial extent of the resolution, in depth bins. Speckle of blood that has moved this far
 * along the beam, or the resolution across it, is new. */
constexpr double axial_resolution = 2;

constexpr double total_gain = 0.015;       /* intensity of all fringes / level^2 */
constexpr double forward_scattering = 1.0; /* 1/mm */

/* Depth without vessels, of unused chords */
constexpr cl_float nowhere = 1e9f;

int
node_at (double place)
{
  return int (std::lround (place / node_distance));
}

/* The squares of three weights add up to 1. See weights_at() of the kernels. */
cl_float
weight_at (double away)
{
  const double cosine = std::cos (G_PI / 3 * away);
  return cl_float (std::sqrt (8.0 / 9) * cosine * cosine);
}

double
sinc (double x)
{
  return std::abs (x) < 1e-9 ? 1 : std::sin (x) / x;
}

/* Spectrometer's roll-off (Hu and Rollins, Fourier domain optical coherence tomography
 * with a linear-in-wavenumber spectrometer, 2007): a sinc for the pixels' width and a
 * Gaussian for the optical resolution. Pixels without gaps lose 3.9 dB over the depth
 * range. For less, they are narrower. Returns x and y of loss_at_depth() in the kernels. */
std::pair<double, double>
roll_off_terms (double decibels)
{
  const auto pixels = [] (double width) {
    return -20 * std::log10 (sinc (width * G_PI / 2));
  };
  double width = 1;
  if (decibels < pixels (1)) {
    double narrow = 0, wide = 1;
    for (int i = 0; i < 60; i++) {
      width = (narrow + wide) / 2;
      (pixels (width) < decibels ? narrow : wide) = width;
    }
  }
  const double rest = std::max (0.0, decibels - pixels (width));
  return {width / 2, rest * std::log (10.0) / 20};
}

/* Converts to the kernels' displacement: fixed-point depth bins, the phase of the light,
 * and depth bins as a float. */
cl_uint4
displacement_of (double bins, double turns_per_bin)
{
  const cl_uint2 depth = fixed_depth (bins);
  const cl_float number = cl_float (bins);
  cl_uint bits;
  memcpy (&bits, &number, sizeof bits);
  return {{depth.s[0], depth.s[1], turns_from_double (bins * turns_per_bin), bits}};
}

cl_uint2
frame_number (const OctTestMoment &moment)
{
  return {{cl_uint (moment.frame), cl_uint (moment.frame >> 32)}};
}
} // namespace

TissueScan
tissue_scan_of (const OctTestSettings &settings, guint samples, guint lines)
{
  const double first = 2 * G_PI / settings.wavelength_min;
  const double last = 2 * G_PI / settings.wavelength_max;
  const double step = std::abs (last - first) / (samples - 1);
  TissueScan scan;
  scan.lines = lines;
  scan.b_scans = settings.b_scans;
  scan.depths = samples / 2;
  scan.depth_step = G_PI / (samples * step) / 1000 / settings.refractive_index;
  scan.line_step =
      settings.line_step > 0 ? settings.line_step : tissue_width / std::max (1u, lines);
  scan.b_scan_step = settings.b_scan_step;
  if (settings.b_scan_step == 0)
    scan.b_scan_step =
        settings.b_scans > 1 ? tissue_width / settings.b_scans : scan.line_step;
  return scan;
}

double
tissue_columns (const OctTestSettings &settings, const TissueScan &scan)
{
  const double margin = 2 * largest_motion (settings.motion) + 4 * node_distance;
  const auto nodes_in = [&] (double width) { return (width + margin) / node_distance; };
  const double rows =
      std::min (nodes_in (scan.b_scans * scan.b_scan_step), scan.b_scans * nodes_in (0));
  return rows * nodes_in (scan.lines * scan.line_step);
}

/* Terms are x, y, x^2, x y, y^2, x^3, … where x and y are -1 and 1 at the edges. */
double
curvature_at (
    const OctTestSettings &settings, const TissueScan &scan, double line, guint b_scan)
{
  const double x = scan.lines > 1 ? 2 * line / (scan.lines - 1) - 1 : 0;
  const double y = scan.b_scans > 1 ? 2.0 * b_scan / (scan.b_scans - 1) - 1 : 0;
  double sum = 0;
  guint degree = 1, term = 0;
  for (double coefficient : settings.curvature) {
    sum += coefficient * std::pow (x, degree - term) * std::pow (y, term);
    if (++term > degree) {
      degree++;
      term = 0;
    }
  }
  return sum;
}

bool
TissueSpectra::open (GstOpenCLContext *from, const char *options, GError **error)
{
  context = from;
  if (flat_kernel.created ())
    return true;
  const auto create = [&] (opencl::Kernel &kernel, const char *name) {
    return kernel.create (from, resource, name, options, error);
  };
  return create (nodes_kernel, "tissue_nodes") && create (cells_kernel, "tissue_cells")
         && create (still_kernel, "tissue_still_spectra")
         && create (flow_kernel, "tissue_flow")
         && create (spectra_kernel, "tissue_spectra")
         && create (flat_kernel, "flat_surface");
}

bool
TissueSpectra::upload (cl::Buffer &buffer, const void *data, gsize size, GError **error)
{
  buffer = opencl::make_table (context, data, size, error);
  return buffer () != nullptr;
}

bool
TissueSpectra::configure (
    const OctTestSettings &settings, const SampleTables &tables, GError **error)
{
  scan = tissue_scan_of (settings, tables.samples, tables.lines);
  turns_of_centre = tables.turns_per_bin + 0.5;
  made.reset ();
  const auto [pixels, resolution] = roll_off_terms (settings.roll_off);
  const double range = scan.depths * scan.depth_step;
  const double focus =
      settings.rayleigh_range > 0 ? range / (2 * settings.rayleigh_range) : 0;
  loss = {{cl_float (pixels), cl_float (resolution),
      cl_float (settings.focus_depth / range), cl_float (focus)}};
  if (!configure_displacements (settings, tables, error))
    return false;
  return settings.pattern == OCT_TEST_PATTERN_FLAT
         || (configure_laterals (tables, error) && configure_nodes (settings, error)
             && allocate_planes (tables, error));
}

bool
TissueSpectra::configure_displacements (
    const OctTestSettings &settings, const SampleTables &tables, GError **error)
{
  const bool flat = settings.pattern == OCT_TEST_PATTERN_FLAT;
  const double depth = flat && !settings.depths.empty () ? settings.depths[0] : 0;
  std::vector<cl_uint4> table;
  for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
    for (cl_float line : tables.laterals)
      table.push_back (displacement_of (
          depth + curvature_at (settings, scan, line, b_scan), tables.turns_per_bin));
  }
  return upload (displacements, table.data (), table.size () * sizeof table[0], error);
}

bool
TissueSpectra::configure_laterals (const SampleTables &tables, GError **error)
{
  std::vector<cl_float> table;
  for (cl_float line : tables.laterals)
    table.push_back (cl_float (scan.x_of (line) / node_distance));
  return upload (laterals, table.data (), table.size () * sizeof table[0], error);
}

/* Lists the rows of nodes around each B-scan, wherever motion takes it. */
void
TissueSpectra::list_rows (const OctTestSettings &settings)
{
  const double margin = largest_motion (settings.motion);
  rows.clear ();
  for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
    const double y = scan.y_of (b_scan);
    for (int row = node_at (y - margin) - 1; row <= node_at (y + margin) + 1; row++) {
      if (rows.empty () || row > rows.back ())
        rows.push_back (row);
    }
  }
}

/* Growing the vessels takes long, so that other changes must not do it again. */
bool
TissueSpectra::configure_nodes (const OctTestSettings &settings, GError **error)
{
  if (of_nodes == tissue_definition (settings) && scan_of_nodes == scan)
    return true;
  of_nodes.reset ();
  const double margin = largest_motion (settings.motion) + 2 * node_distance;
  const TissueModel model (scan, settings.seed, settings.flow_velocity);
  for (guint n = 0; n < tissue_layers; n++)
    tissue.layers[n] =
        cl_float (TissueModel::layer_attenuation (n) * scan.depth_step / 1000);
  tissue.blood = cl_float (TissueModel::blood_attenuation () * scan.depth_step / 1000);
  tissue.gain = cl_float (total_gain);
  tissue.scattered = cl_float (forward_scattering * scan.depth_step / 1000);
  first_node = node_at (scan.x_of (0) - margin);
  nodes = guint (node_at (scan.x_of (scan.lines - 1) + margin) - first_node + 1);
  list_rows (settings);
  if (!upload_columns (model, error))
    return false;
  of_nodes = tissue_definition (settings);
  scan_of_nodes = scan;
  return true;
}

bool
TissueSpectra::upload_columns (const TissueModel &model, GError **error)
{
  std::vector<cl_float> layers;
  std::vector<cl_float8> vessels;
  for (int row : rows) {
    for (guint node = 0; node < nodes; node++) {
      const TissueColumn column =
          model.column ((first_node + int (node)) * node_distance, row * node_distance);
      layers.insert (layers.end (), column.boundaries.begin (), column.boundaries.end ());
      for (guint n = 0; n < column_chords; n++)
        vessels.push_back (n < column.chords.size ()
                               ? kernel_chord (model, column, column.chords[n])
                               : cl_float8{{nowhere, nowhere}});
    }
  }
  return upload (boundaries, layers.data (), layers.size () * sizeof layers[0], error)
         && upload (chords, vessels.data (), vessels.size () * sizeof vessels[0], error);
}

/* Noise is replaced when blood has crossed the resolution, along or across the beam. The
 * phase follows the middle of the spectrum. */
cl_float8
TissueSpectra::kernel_chord (
    const TissueModel &model, const TissueColumn &column, const ColumnChord &chord) const
{
  const double bins_per_second = chord.axial * 1000 / scan.depth_step;
  const double across =
      std::sqrt (std::max (0.0, chord.speed * chord.speed - chord.axial * chord.axial))
      * 1000 / (1.5 * node_distance);
  const double numbers[] = {chord.begins, chord.ends,
      std::hypot (across, bins_per_second / axial_resolution),
      bins_per_second * turns_of_centre, model.layer_optical_depth (column, chord.begins),
      model.layer_optical_depth (column, chord.ends)};
  cl_float8 result = {};
  std::copy (std::begin (numbers), std::end (numbers), result.s);
  return result;
}

bool
TissueSpectra::allocate_planes (const SampleTables &tables, GError **error)
{
  pitch = (std::max (1u, scan.depths) + block_cells - 1) / block_cells * block_cells;
  const gsize of_nodes = gsize (3) * nodes * pitch;
  const gsize of_cells = gsize (tables.lines) * pitch;
  const gsize of_samples = gsize (tables.lines) * tables.groups * sizeof (cl_float8);
  const auto allocate = [&] (cl::Buffer &buffer, gsize size) {
    return opencl::make_buffer (context, size, buffer, error);
  };
  return allocate (still_nodes, of_nodes * sizeof (cl_float2))
         && allocate (flow_nodes, of_nodes * sizeof (cl_float4))
         && allocate (still_cells, of_cells * sizeof (cl_float2))
         && allocate (flow_cells, of_cells * sizeof (cl_float2))
         && allocate (real, of_samples) && allocate (imaginary, of_samples);
}

TissueSpectra::View
TissueSpectra::view_of (
    const OctTestSettings &settings, const OctTestMoment &moment) const
{
  View view = {};
  view.b_scan = guint (moment.frame / settings.repeats % settings.b_scans);
  view.seed = settings.seed;
  if (settings.motion > 0)
    view.moved = tissue_motion (settings.seed, settings.motion, moment.seconds);
  return view;
}

/* Returns the first of the three rows of nodes around a B-scan. */
int
TissueSpectra::row_of (const View &view) const
{
  return node_at (scan.y_of (view.b_scan) - view.moved.y) - 1;
}

/* Returns the index of the first column of these rows in the tables. */
guint
TissueSpectra::columns_of (const View &view) const
{
  const auto row = std::lower_bound (rows.begin (), rows.end (), row_of (view));
  return guint (row - rows.begin ()) * nodes;
}

TissueSpectra::Place
TissueSpectra::place_of (const View &view) const
{
  const double y = (scan.y_of (view.b_scan) - view.moved.y) / node_distance;
  Place place = {};
  for (int n = 0; n < 3; n++)
    place.weights.s[n] = weight_at (y - (row_of (view) + n));
  place.loss = loss;
  place.shift = cl_float (-view.moved.x / node_distance);
  place.moved = cl_float (view.moved.z / scan.depth_step);
  place.first = first_node;
  place.nodes = nodes;
  place.cells = scan.depths;
  place.pitch = pitch;
  return place;
}

/* Static tissue is computed once for all repeats of a B-scan, if nothing moves. */
bool
TissueSpectra::enqueue_still (const View &view, const Place &place,
    const SampleTables &tables, cl_command_queue queue, GError **error)
{
  if (made == view)
    return true;
  const cl_int2 corner = {{first_node, row_of (view)}};
  const cl_uint displaced = view.b_scan * tables.lines;
  made.reset ();
  if (!nodes_kernel.launch (queue, pitch / 2, gsize (3) * nodes, error, boundaries (),
          chords (), cl_uint (columns_of (view)), tissue, corner, cl_uint (nodes),
          cl_uint (scan.depths), cl_uint (pitch), cl_uint (view.seed), still_nodes (),
          flow_nodes ())
      || !cells_kernel.launch (queue, pitch, tables.lines, error, still_nodes (),
          laterals (), displacements (), displaced, place, cl_uint (tables.lines),
          still_cells ())
      || !still_kernel.launch (queue, tables.groups, tables.lines, error, tables.position,
          still_cells (), cl_uint (tables.lines), cl_uint (pitch),
          cl_uint (tables.groups), real (), imaginary ()))
    return false;
  made = view;
  return true;
}

bool
TissueSpectra::enqueue_flow (const OctTestSettings &settings, const OctTestMoment &moment,
    const View &view, const Place &place, const SampleTables &tables,
    cl_command_queue queue, GError **error)
{
  Clock clock = {};
  clock.frame = fixed_number (moment.seconds);
  clock.line = fixed_number (moment.line_seconds);
  clock.reversed = settings.bidirectional && moment.frame % 2;
  return flow_kernel.launch (queue, pitch, tables.lines, error, flow_nodes (), chords (),
      cl_uint (columns_of (view)), laterals (), displacements (),
      cl_uint (view.b_scan * tables.lines), place, cl_int (row_of (view)), clock,
      cl_uint (view.seed), cl_uint (tables.lines), flow_cells ());
}

bool
TissueSpectra::enqueue_flat (const OctTestSettings &settings, const OctTestMoment &moment,
    const SampleTables &tables, const GstOpenCLFrame &frame, GError **error)
{
  const View view = view_of (settings, moment);
  const double amplitude = settings.amplitudes.empty () ? 0 : settings.amplitudes[0];
  return flat_kernel.launch (frame.queue, tables.groups / tables.groups_per_item,
      tables.lines, error, tables.position, tables.dispersion, tables.envelope,
      displacements (), cl_uint (view.b_scan * tables.lines), loss, cl_float (amplitude),
      cl_uint (settings.bidirectional && moment.frame % 2), cl_float (settings.level),
      cl_float (settings.noise), cl_uint (settings.seed), frame_number (moment),
      cl_uint (tables.samples), cl_uint (tables.lines),
      cl_uint (frame.offset[0] / sizeof (cl_ushort)),
      cl_uint (frame.stride[0] / sizeof (cl_ushort)), frame.data);
}

bool
TissueSpectra::enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
    const SampleTables &tables, const GstOpenCLFrame &frame, GError **error)
{
  if (settings.pattern == OCT_TEST_PATTERN_FLAT)
    return enqueue_flat (settings, moment, tables, frame, error);
  const View view = view_of (settings, moment);
  const Place place = place_of (view);
  const cl_uint4 moved =
      displacement_of (view.moved.z / scan.depth_step, tables.turns_per_bin);
  return enqueue_still (view, place, tables, frame.queue, error)
         && enqueue_flow (settings, moment, view, place, tables, frame.queue, error)
         && spectra_kernel.launch (frame.queue, tables.groups / tables.groups_per_item,
             tables.lines, error, tables.position, tables.dispersion, tables.envelope,
             real (), imaginary (), cl_uint (tables.groups), flow_cells (), chords (),
             cl_uint (columns_of (view)), laterals (), displacements (),
             cl_uint (view.b_scan * tables.lines), moved, place,
             cl_uint (settings.bidirectional && moment.frame % 2),
             cl_float (settings.level), cl_float (settings.noise),
             cl_uint (settings.seed), frame_number (moment), cl_uint (tables.samples),
             cl_uint (tables.lines), cl_uint (frame.offset[0] / sizeof (cl_ushort)),
             cl_uint (frame.stride[0] / sizeof (cl_ushort)), frame.data);
}
} // namespace oct
