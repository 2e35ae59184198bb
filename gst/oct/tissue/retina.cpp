/* Spectra of the simulated retina and of a flat surface of octtestsrc, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testpattern.hpp"
#include "tissuemodel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace oct {
namespace {
constexpr guint block_cells = 64; /* BLOCK of the kernels */

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

/* A pattern that is scanned in three dimensions */
class VolumePattern : public TestPattern {
protected:
  /* The kernels' structure of this name */
  struct Displacement {
    cl_uint2 depth;
    cl_uint phase;
    cl_float bins;
  };

  Displacement displacement_of (double bins) const
  {
    return {
        fixed_depth (bins), turns_from_double (bins * turns_per_bin), cl_float (bins)};
  }

  /* Tables of the scanner, for a surface at `depth` depth bins */
  bool configure_scan (double depth, GError **error)
  {
    scan = tissue_scan_of (settings, samples, lines);
    const auto [pixels, resolution] = roll_off_terms (settings.roll_off);
    const double range = scan.depths * scan.depth_step;
    const double focus =
        settings.rayleigh_range > 0 ? range / (2 * settings.rayleigh_range) : 0;
    loss = {{cl_float (pixels), cl_float (resolution),
        cl_float (settings.focus_depth / range), cl_float (focus)}};
    std::vector<Displacement> table;
    for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
      for (cl_float line : places)
        table.push_back (
            displacement_of (depth + curvature_at (settings, scan, line, b_scan)));
    }
    return upload (displacements, table, error);
  }

  guint b_scan_of (const OctTestMoment &moment) const
  {
    return guint (moment.frame / settings.repeats % settings.b_scans);
  }

  TissueScan scan;
  cl_float4 loss = {};
  cl::Buffer displacements; /* of the A-lines of each B-scan */
};

class FlatPattern : public VolumePattern {
  bool create_kernels (GError **error) override
  {
    return create ("tissue.cl", {{kernel, "flat_surface"}}, error);
  }

  bool make_tables (GError **error) override
  {
    return configure_scan (settings.depths[0], error);
  }

  bool enqueue_frame (const OctTestMoment &moment, GError **error) override
  {
    return fill (kernel, error, displacements (), b_scan_of (moment) * lines, loss,
        cl_float (settings.amplitudes[0]));
  }

  opencl::Kernel kernel;
};

class RetinaPattern : public VolumePattern {
  /* The kernels' structures of these names */
  struct Tissue {
    cl_float layers[tissue_layers], blood, gain, scattered;
    cl_float shares[tissue_layers], rates[tissue_layers];
  };
  struct Place {
    cl_float4 weights, loss;
    Displacement moved;
    cl_float shift;
    cl_int first, row;
    cl_uint nodes, columns, cells, pitch, lines, displacements, seed, cells_move;
    cl_uint padding;
  };
  struct Clock {
    cl_ulong frame, line;
    cl_uint reversed, padding;
  };

  bool create_kernels (GError **error) override
  {
    return create ("tissue.cl",
        {{nodes_kernel, "tissue_nodes"}, {cells_kernel, "tissue_cells"},
            {still_kernel, "tissue_still_spectra"}, {flow_kernel, "tissue_flow"},
            {spectra_kernel, "tissue_spectra"}},
        error);
  }

  bool make_tables (GError **error) override
  {
    made.reset ();
    return configure_scan (0, error) && configure_laterals (error)
           && configure_nodes (error) && allocate_planes (error);
  }

  bool configure_laterals (GError **error)
  {
    std::vector<cl_float> table;
    for (cl_float line : places)
      table.push_back (cl_float (scan.x_of (line) / node_distance));
    return upload (laterals, table, error);
  }

  /* Growing the vessels takes long, so that other changes must not do it again. */
  bool configure_nodes (GError **error)
  {
    const auto wanted = std::make_tuple (tissue_definition (settings), samples, lines);
    if (of_nodes == wanted)
      return true;
    of_nodes.reset ();
    const double margin = largest_motion (settings.motion);
    const auto per_bin = [&] (double per_mm) {
      return cl_float (per_mm * scan.depth_step / 1000);
    };
    const TissueModel model (scan, settings.seed, settings.flow_velocity);
    for (guint n = 0; n < tissue_layers; n++) {
      const MovingCells cells = layer_cells (n);
      tissue.layers[n] = per_bin (layer_attenuation (n));
      tissue.shares[n] = settings.cell_rate > 0 ? cl_float (cells.share) : 0;
      tissue.rates[n] = cl_float (cells.rate * settings.cell_rate);
    }
    tissue.blood = per_bin (blood_attenuation);
    tissue.gain = cl_float (total_gain);
    tissue.scattered = per_bin (forward_scattering);
    const double around = margin + 2 * node_distance;
    first_node = node_at (scan.x_of (0) - around);
    nodes = guint (node_at (scan.x_of (scan.lines - 1) + around) - first_node + 1);
    list_rows (margin);
    if (!upload_columns (model, error))
      return false;
    of_nodes = wanted;
    return true;
  }

  /* Lists the rows of nodes around each B-scan, wherever motion takes it. */
  void list_rows (double margin)
  {
    rows.clear ();
    for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
      const double y = scan.y_of (b_scan);
      for (int row = node_at (y - margin) - 1; row <= node_at (y + margin) + 1; row++) {
        if (rows.empty () || row > rows.back ())
          rows.push_back (row);
      }
    }
  }

  bool upload_columns (const TissueModel &model, GError **error)
  {
    std::vector<cl_float> layers;
    std::vector<cl_float8> vessels;
    for (int row : rows) {
      for (guint node = 0; node < nodes; node++) {
        const TissueColumn column =
            model.column ((first_node + int (node)) * node_distance, row * node_distance);
        for (double boundary : column.boundaries)
          layers.push_back (cl_float (boundary));
        for (const VesselChord &chord : column.chords)
          vessels.push_back (kernel_chord (model, column, chord));
        vessels.resize (
            layers.size () / tissue_layers * column_chords, {{nowhere, nowhere}});
      }
    }
    return upload (boundaries, layers, error) && upload (chords, vessels, error);
  }

  /* Noise is replaced when blood has crossed the resolution, along or across the beam.
   * The phase follows the middle of the spectrum. */
  cl_float8 kernel_chord (const TissueModel &model, const TissueColumn &column,
      const VesselChord &chord) const
  {
    const double bins_per_second = chord.axial * 1000 / scan.depth_step;
    const double across =
        std::sqrt (std::max (0.0, chord.speed * chord.speed - chord.axial * chord.axial))
        * 1000 / (1.5 * node_distance);
    return {{cl_float (chord.begins), cl_float (chord.ends),
        cl_float (std::hypot (across, bins_per_second / axial_resolution)),
        cl_float (bins_per_second * (turns_per_bin + 0.5)),
        cl_float (model.layer_optical_depth (column, chord.begins)),
        cl_float (model.layer_optical_depth (column, chord.ends))}};
  }

  bool allocate_planes (GError **error)
  {
    pitch = (std::max (1u, scan.depths) + block_cells - 1) / block_cells * block_cells;
    const gsize of_nodes = gsize (3) * nodes * pitch, of_cells = gsize (lines) * pitch;
    return allocate (still_nodes, of_nodes * sizeof (cl_float2), error)
           && allocate (flow_nodes, of_nodes * sizeof (cl_float4), error)
           && allocate (still_cells, of_cells * sizeof (cl_float2), error)
           && allocate (flow_cells, of_cells * sizeof (cl_float2), error)
           && allocate (still, lines * groups * 2 * sizeof (cl_float8), error);
  }

  /* Frames with equal places share static tissue. */
  Place place_of (const OctTestMoment &moment) const
  {
    const guint b_scan = b_scan_of (moment);
    TissuePoint moved = {};
    if (settings.motion > 0)
      moved = tissue_motion (settings.seed, settings.motion, moment.seconds);
    const double y = scan.y_of (b_scan) - moved.y;
    Place place = {};
    place.row = node_at (y) - 1; /* the first of three around the B-scan */
    for (int n = 0; n < 3; n++)
      place.weights.s[n] = weight_at (y / node_distance - (place.row + n));
    place.loss = loss;
    place.moved = displacement_of (moved.z / scan.depth_step);
    place.shift = cl_float (-moved.x / node_distance);
    place.first = first_node;
    place.nodes = nodes;
    const auto row = std::lower_bound (rows.begin (), rows.end (), place.row);
    place.columns = guint (row - rows.begin ()) * nodes;
    place.cells = scan.depths;
    place.pitch = pitch;
    place.lines = lines;
    place.displacements = b_scan * lines;
    place.seed = settings.seed;
    place.cells_move = settings.cell_rate > 0;
    return place;
  }

  /* Static tissue is computed once for all repeats of a B-scan, if nothing moves. */
  bool enqueue_still (const Place &place, GError **error)
  {
    if (made && memcmp (&*made, &place, sizeof place) == 0)
      return true;
    made.reset ();
    if (!nodes_kernel.launch (queue, pitch / 2, gsize (3) * nodes, error, boundaries (),
            chords (), tissue, place, still_nodes (), flow_nodes ())
        || !cells_kernel.launch (queue, pitch, lines, error, still_nodes (), laterals (),
            displacements (), place, still_cells ())
        || !still_kernel.launch (queue, groups, lines, error, spectrometer (),
            still_cells (), place, cl_uint (groups), still ()))
      return false;
    made = place;
    return true;
  }

  bool enqueue_frame (const OctTestMoment &moment, GError **error) override
  {
    const Place place = place_of (moment);
    const Clock clock = {
        fixed_number (moment.seconds), fixed_number (moment.line_seconds), reversed, 0};
    return enqueue_still (place, error)
           && flow_kernel.launch (queue, pitch, lines, error, flow_nodes (), chords (),
               laterals (), displacements (), place, clock, flow_cells ())
           && fill (spectra_kernel, error, still (), cl_uint (groups), flow_cells (),
               chords (), laterals (), displacements (), place);
  }

  opencl::Kernel nodes_kernel, cells_kernel, still_kernel, flow_kernel, spectra_kernel;

  Tissue tissue = {};
  int first_node = 0;
  guint nodes = 0;       /* of a row */
  std::vector<int> rows; /* of nodes that any B-scan needs, in ascending order */
  guint pitch = 0;       /* cells of an A-line, padded to whole blocks */
  cl::Buffer boundaries, chords, laterals;
  cl::Buffer still_nodes, flow_nodes;
  cl::Buffer still_cells, flow_cells;
  cl::Buffer still;          /* field of the static cells */
  std::optional<Place> made; /* the place that this field was computed for */

  /* Settings, samples and A-lines that the tables of nodes were made for */
  using Definition = decltype (tissue_definition (OctTestSettings ()));
  std::optional<std::tuple<Definition, guint, guint>> of_nodes;
};
} // namespace

std::unique_ptr<TestPattern>
make_retina ()
{
  return std::make_unique<RetinaPattern> ();
}

std::unique_ptr<TestPattern>
make_flat_surface ()
{
  return std::make_unique<FlatPattern> ();
}
} // namespace oct
