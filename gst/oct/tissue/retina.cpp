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
constexpr guint block_cells = 64;  /* BLOCK of the kernels */
constexpr guint column_chords = 4; /* CHORDS of the kernels */

/* Axial extent of the resolution, in depth bins. Speckle of blood that has moved this far
 * along the beam, or the resolution across it, is new. */
constexpr double axial_resolution = 2;

constexpr double total_gain = 0.015;    /* intensity of all fringes / level^2 */
constexpr double blood_attenuation = 7; /* beside that of the layers, 1/mm */

/* The squares of three weights add up to 1. See weights_at() of the kernels. */
cl_float
weight_at (double away)
{
  const double cosine = std::cos (G_PI / 3 * away);
  return cl_float (std::sqrt (8.0 / 9) * cosine * cosine);
}

/* A pattern that is scanned in three dimensions */
class VolumePattern : public TestPattern {
protected:
  /* The kernels' Displacement */
  cl_uint4 displacement_of (double bins) const
  {
    const cl_uint2 depth = fixed_depth (bins);
    return {{depth.s[0], depth.s[1], fixed_turns (bins * turns_per_bin)}};
  }

  /* Tables of the scanner, for a surface at `depth` depth bins */
  bool configure_scan (double depth, GError **error)
  {
    scan = tissue_scan_of (settings, samples, lines);
    std::vector<cl_uint4> table;
    for (guint b_scan = 0; b_scan < scan.b_scans; b_scan++) {
      for (cl_float line : places)
        table.push_back (displacement_of (depth + curvature_at (line, b_scan)));
    }
    return upload (displacements, table, error);
  }

  /* Displacement of an A-line by the optical path of the scanner. Terms are x, y, x^2, x y,
   * y^2, x^3, … where x and y are -1 and 1 at the edges. */
  double curvature_at (double line, guint b_scan) const
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

  guint b_scan_of (const OctTestMoment &moment) const
  {
    return guint (moment.frame / settings.repeats % settings.b_scans);
  }

  TissueScan scan;
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
    return fill (kernel, error, displacements (), b_scan_of (moment) * lines,
        cl_float (settings.amplitudes[0]));
  }

  opencl::Kernel kernel;
};

class RetinaPattern : public VolumePattern {
  /* The kernels' structures of these names */
  struct Tissue {
    cl_float layers[tissue_layers], blood, gain;
    cl_float shares[tissue_layers], rates[tissue_layers];
  };
  struct Place {
    cl_float4 weights;
    cl_uint4 moved;
    cl_float shift;
    cl_int first, row;
    cl_uint nodes, columns, cells, pitch, lines, displacements, seed, padding[2];
  };
  struct Clock {
    cl_ulong frame, line;
    cl_uint reversed, padding;
  };

  bool create_kernels (GError **error) override
  {
    return create ("tissue.cl",
        {{nodes_kernel, "tissue_nodes"}, {cells_kernel, "tissue_cells"},
            {spectra_kernel, "tissue_spectra"}},
        error);
  }

  bool make_tables (GError **error) override
  {
    made.reset ();
    return configure_scan (0, error) && upload_laterals (error) && upload_columns (error)
           && allocate_planes (error);
  }

  bool upload_laterals (GError **error)
  {
    std::vector<cl_float> table;
    for (cl_float line : places)
      table.push_back (cl_float (scan.x_of (line)));
    return upload (laterals, table, error);
  }

  bool upload_columns (GError **error)
  {
    const auto per_bin = [&] (double per_mm) {
      return cl_float (per_mm * scan.depth_step / 1000);
    };
    for (guint n = 0; n < tissue_layers; n++) {
      const TissueLayer &layer = retina_layers[n];
      tissue.layers[n] = per_bin (layer.attenuation);
      tissue.shares[n] = settings.cell_rate > 0 ? cl_float (layer.cell_share) : 0;
      tissue.rates[n] = cl_float (layer.cell_rate * settings.cell_rate);
    }
    tissue.blood = per_bin (blood_attenuation);
    tissue.gain = cl_float (total_gain);
    nodes = tissue_nodes_of (settings, scan);
    const TissueModel model (settings.seed, scan.depths * scan.depth_step);
    std::vector<cl_float> layers;
    for (guint row = 0; row < nodes.rows; row++) {
      for (guint column = 0; column < nodes.columns; column++) {
        for (double depth :
            model.boundaries_at ((nodes.first + int (column)) * node_distance,
                (nodes.first_row + int (row)) * node_distance))
          layers.push_back (cl_float (depth / scan.depth_step));
      }
    }
    return upload (boundaries, layers, error)
           && upload (chords, chords_of (model.vessels ()), error);
  }

  /* Returns the chords of all nodes. */
  std::vector<cl_float4> chords_of (const std::vector<VesselSegment> &vessels) const
  {
    std::vector<cl_float4> table (gsize (column_chords) * nodes.columns * nodes.rows);
    for (const VesselSegment &vessel : vessels) {
      const auto [left, right] = std::minmax (vessel.begins.x, vessel.ends.x);
      const auto [top, bottom] = std::minmax (vessel.begins.y, vessel.ends.y);
      const auto columns = range (left, right, vessel.radius, nodes.first, nodes.columns);
      const auto rows = range (top, bottom, vessel.radius, nodes.first_row, nodes.rows);
      for (int row = rows.first; row < rows.second; row++) {
        for (int column = columns.first; column < columns.second; column++)
          add_chord (
              &table[column_chords * (gsize (row) * nodes.columns + guint (column))],
              chord_at (vessel, (nodes.first + column) * node_distance,
                  (nodes.first_row + row) * node_distance));
      }
    }
    return table;
  }

  /* Returns the indices of nodes that a vessel may touch. */
  static std::pair<int, int> range (
      double from, double to, double radius, int first, guint count)
  {
    const auto index = [&] (double place) {
      return int (
          std::clamp (std::ceil (place / node_distance) - first, 0.0, double (count)));
    };
    return {index (from - radius), index (to + radius)};
  }

  /* Joins chords that overlap, as at the ends of segments. The faster flow counts. */
  void add_chord (cl_float4 *column, const VesselChord &chord) const
  {
    const cl_float4 wanted = kernel_chord (chord);
    if (wanted.s[0] >= wanted.s[1])
      return;
    for (guint n = 0; n < column_chords; n++) {
      cl_float4 &slot = column[n];
      const bool used = slot.s[0] < slot.s[1];
      if (used && (slot.s[0] > wanted.s[1] || wanted.s[0] > slot.s[1]))
        continue;
      const cl_float4 old = used ? slot : wanted;
      slot = old.s[2] > wanted.s[2] ? old : wanted;
      slot.s[0] = std::min (old.s[0], wanted.s[0]);
      slot.s[1] = std::max (old.s[1], wanted.s[1]);
      return;
    }
  }

  /* Noise is replaced when blood has crossed the resolution, along or across the beam.
   * The phase follows the middle of the spectrum. */
  cl_float4 kernel_chord (const VesselChord &chord) const
  {
    const double um_per_second = 1000 * settings.flow_velocity;
    const double bins_per_second = chord.axial * um_per_second / scan.depth_step;
    const double across =
        std::sqrt (std::max (0.0, chord.speed * chord.speed - chord.axial * chord.axial));
    return {{cl_float (chord.begins / scan.depth_step),
        cl_float (chord.ends / scan.depth_step),
        cl_float (std::hypot (across * um_per_second / (1.5 * node_distance),
            bins_per_second / axial_resolution)),
        cl_float (bins_per_second * (turns_per_bin + 0.5))}};
  }

  bool allocate_planes (GError **error)
  {
    pitch = (std::max (1u, scan.depths) + block_cells - 1) / block_cells * block_cells;
    const gsize of_nodes = gsize (3) * nodes.columns * pitch,
                of_lines = gsize (lines) * pitch;
    return allocate (still, of_nodes * sizeof (cl_float2), error)
           && allocate (flow, of_nodes * sizeof (cl_float4), error)
           && allocate (flowing, gsize (3) * nodes.columns * sizeof (cl_float2), error)
           && allocate (still_cells, of_lines * sizeof (cl_float2), error)
           && allocate (flow_cells, of_lines * sizeof (cl_float2), error)
           && allocate (fields, lines * groups * 2 * sizeof (cl_float8), error);
  }

  Place place_of (const OctTestMoment &moment) const
  {
    const guint b_scan = b_scan_of (moment);
    const TissuePoint moved =
        tissue_motion (settings.seed, settings.motion, moment.seconds);
    const double y = scan.y_of (b_scan) - moved.y / node_distance;
    Place place = {};
    place.row = int (std::lround (y)) - 1; /* the first of three around the B-scan */
    for (int n = 0; n < 3; n++)
      place.weights.s[n] = weight_at (y - (place.row + n));
    place.moved = displacement_of (moved.z / scan.depth_step);
    place.shift = cl_float (-moved.x / node_distance);
    place.first = nodes.first;
    place.nodes = nodes.columns;
    place.columns = guint (place.row - nodes.first_row) * nodes.columns;
    place.cells = scan.depths;
    place.pitch = pitch;
    place.lines = lines;
    place.displacements = b_scan * lines;
    place.seed = settings.seed;
    return place;
  }

  /* Repeats of a B-scan share the static tissue, if nothing moves. */
  bool enqueue_frame (const OctTestMoment &moment, GError **error) override
  {
    const Place place = place_of (moment);
    const Clock clock = {
        fixed_number (moment.seconds), fixed_number (moment.line_seconds), reversed, 0};
    const cl_uint fresh = !made || memcmp (&*made, &place, sizeof place) != 0;
    made.reset ();
    if ((fresh
            && !nodes_kernel.launch (queue, pitch / 2, gsize (3) * nodes.columns, error,
                boundaries (), chords (), tissue, place, still (), flow (), flowing ()))
        || !cells_kernel.launch (queue, pitch, lines, error, still (), flow (),
            flowing (), laterals (), place, clock, fresh, still_cells (), flow_cells ())
        || !fill (spectra_kernel, error, still_cells (), flow_cells (), flowing (),
            laterals (), displacements (), place, fresh, cl_uint (groups), fields ()))
      return false;
    made = place;
    return true;
  }

  opencl::Kernel nodes_kernel, cells_kernel, spectra_kernel;

  Tissue tissue = {};
  TissueNodes nodes;
  guint pitch = 0; /* cells of an A-line, padded to whole blocks */
  cl::Buffer boundaries, chords, laterals;
  cl::Buffer still, flow, flowing;    /* cells of the nodes around a B-scan */
  cl::Buffer still_cells, flow_cells; /* of its A-lines */
  cl::Buffer fields;                  /* of the static cells */
  std::optional<Place> made;          /* the place of the static cells */
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
