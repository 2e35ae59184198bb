/* Simulated retina of octtestsrc: layers, vessels, attenuation and motion
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuemodel.hpp"

#include <algorithm>
#include <cmath>

namespace oct {
namespace {
/* A layer of the retina. `pit` is the part of it that is missing in the fovea. */
struct Layer {
  double thickness; /* µm */
  double variation; /* relative */
  double pit;
  double attenuation; /* 1/mm */
  MovingCells cells = {0, 0};
};

/* Bands as published B-scans of a macula show them. All layers down to the choroid are as
 * thick as Tick et al. measured (Foveal shape and structure in a normal population, 2011),
 * within two standard deviations. The four bright lines below the outer nuclear layer are
 * those of Spaide and Curcio (Anatomical correlates to the bands seen in the outer retina,
 * 2011). The last layer has no end. */
const Layer layers[tissue_layers] = {
    {28, 0.30, 0.97, 6.0},              /* nerve fibres */
    {40, 0.12, 0.97, 2.4, {1, 1}},      /* ganglion cells */
    {36, 0.12, 0.95, 3.6, {0.6, 0.25}}, /* inner plexiform */
    {34, 0.10, 0.88, 0.9, {0.8, 0.5}},  /* inner nuclear */
    {25, 0.10, 0.60, 4.0, {0.4, 0.1}},  /* outer plexiform */
    {74, 0.08, -0.35, 0.3},             /* outer nuclear */
    {6, 0, 0, 3.0},                     /* external limiting membrane */
    {16, 0.05, -0.20, 0.5},             /* myoids */
    {14, 0.05, 0, 12.0},                /* ellipsoid zone */
    {18, 0.05, -0.70, 1.5},             /* outer segments */
    {9, 0.05, 0, 8.0},                  /* interdigitation zone */
    {8, 0, 0, 2.5},                     /* apical processes */
    {20, 0.05, 0, 18.0},                /* pigment epithelium and Bruch's membrane */
    {250, 0.20, 0, 4.5},                /* choroid */
    {0, 0, 0, 2.2},                     /* sclera */
};
constexpr guint epithelium = 12;         /* the depths of the others follow from it */
constexpr double epithelium_depth = 520; /* µm from zero delay */
constexpr double whole_undulation = 35;  /* amplitude, µm */

/* The model is stretched to the depth range of the spectrometer, within limits. */
constexpr double range_of_model = 1280; /* µm */
constexpr double largest_stretch = 1.4;

/* Plexus of vessels: layer, and position within it */
struct Plexus {
  guint layer;
  double position;
};
const Plexus plexuses[] = {{1, 0.75}, {3, 0.90}};

/* 1 in the fovea, below 0 at its rim: a difference of Gaussians (Dubis et al.,
 * Reconstructing foveal pit morphology from optical coherence tomography imaging, 2009) */
double
pit_at (double x, double y)
{
  const auto gaussian = [&] (double deviation) {
    return std::exp (-(x * x + y * y) / (2 * deviation * deviation));
  };
  return 1.2 * gaussian (330) - 0.2 * gaussian (900);
}

/* SplitMix64, for numbers that depend on nothing but `n`: 0 … 1 */
double
uniform_number (guint64 n)
{
  n += 0x9E3779B97F4A7C15u;
  n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9u;
  n = (n ^ (n >> 27)) * 0x94D049BB133111EBu;
  return double ((n ^ (n >> 31)) >> 11) * 0x1p-53;
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

double
layer_attenuation (guint layer)
{
  return layers[layer].attenuation;
}

MovingCells
layer_cells (guint layer)
{
  return layers[layer].cells;
}

const VesselChord *
TissueColumn::chord_at (double bin) const
{
  for (const VesselChord &chord : chords) {
    if (bin > chord.begins && bin < chord.ends)
      return &chord;
  }
  return nullptr;
}

/* Index of the layer at a depth; -1 above the tissue */
int
TissueColumn::layer_at (double bin) const
{
  const auto below = std::upper_bound (boundaries.begin (), boundaries.end (), bin);
  return int (below - boundaries.begin ()) - 1;
}

double
TissueColumn::attenuation_at (double bin) const
{
  if (chord_at (bin))
    return blood_attenuation;
  const int layer = layer_at (bin);
  return layer < 0 ? 0 : layers[layer].attenuation;
}

MovingCells
TissueColumn::cells_at (double bin) const
{
  const int layer = chord_at (bin) ? -1 : layer_at (bin);
  return layer < 0 ? MovingCells{0, 0} : layers[layer].cells;
}

TissueModel::TissueModel (const TissueScan &scan, guint seed, double flow_velocity)
    : depth_step (scan.depth_step), flow_velocity (flow_velocity),
      bins_per_um (
          std::min (scan.depths * scan.depth_step / range_of_model, largest_stretch)
          / scan.depth_step),
      undulations ([&] {
        Random random (seed);
        std::array<Undulation, tissue_layers> made;
        for (Undulation &of : made)
          of = random_undulation (random);
        return made;
      }()),
      tree (seed, tissue_width / 2, [&] (double x, double y, guint plexus) {
        const Boundaries at = boundaries_at (x, y);
        const Plexus &of = plexuses[plexus];
        return at[of.layer] + of.position * (at[of.layer + 1] - at[of.layer]);
      })
{
}

TissueModel::Undulation
TissueModel::random_undulation (Random &random)
{
  Undulation made;
  for (guint n = 0; n < waves; n++) {
    const double length = 700 * std::pow (1.62, n) * random.uniform (0.85, 1.15);
    const double angle = random.uniform (0, 2 * G_PI);
    made[n] = {2 * G_PI / length * std::cos (angle), 2 * G_PI / length * std::sin (angle),
        random.uniform (0, 2 * G_PI)};
  }
  return made;
}

/* Returns a smooth number from -1 to 1 without a period. */
double
TissueModel::undulation (const Undulation &of, double x, double y)
{
  const double weights[waves] = {0.25, 0.35, 0.40};
  double sum = 0;
  for (guint n = 0; n < waves; n++)
    sum += weights[n] * std::sin (of[n].along_x * x + of[n].along_y * y + of[n].phase);
  return sum;
}

/* In µm of the model, before it is stretched */
TissueModel::Boundaries
TissueModel::boundaries_at (double x, double y) const
{
  const double pit = pit_at (x, y);
  const auto thickness = [&] (guint n) {
    return layers[n].thickness
           * (1 + layers[n].variation * undulation (undulations[n], x, y))
           * (1 - layers[n].pit * pit);
  };
  Boundaries at;
  at[epithelium] = epithelium_depth
                   + whole_undulation * undulation (undulations[tissue_layers - 1], x, y);
  for (guint n = epithelium; n-- > 0;)
    at[n] = at[n + 1] - thickness (n);
  for (guint n = epithelium; n + 1 < tissue_layers; n++)
    at[n + 1] = at[n] + thickness (n);
  return at;
}

TissueColumn
TissueModel::column (double x, double y) const
{
  TissueColumn column;
  column.boundaries = boundaries_at (x, y);
  for (double &depth : column.boundaries)
    depth *= bins_per_um;
  /* The model's depths are stretched, so velocities along the beam are, too. */
  const double stretch = bins_per_um * depth_step;
  for (const VesselChord &chord : tree.chords (x, y)) {
    if (column.chords.size () == column_chords)
      break;
    const double axial = chord.axial * flow_velocity * stretch;
    column.chords.push_back ({chord.begins * bins_per_um, chord.ends * bins_per_um,
        std::max (chord.speed * flow_velocity, std::abs (axial)), axial});
  }
  return column;
}

double
TissueModel::layer_optical_depth (const TissueColumn &column, double bin) const
{
  double sum = 0;
  for (guint n = 0; n < tissue_layers; n++) {
    const double begins = column.boundaries[n];
    const double ends = n + 1 < tissue_layers ? column.boundaries[n + 1] : HUGE_VAL;
    sum += layers[n].attenuation * std::max (0.0, std::min (bin, ends) - begins);
  }
  return sum * depth_step / 1000;
}

/* Drift is a sum of sinusoids. Micro-saccades are steps, about one in a second, to an
 * offset that stays until the next one. The squares of both parts add up to 1. */
TissuePoint
tissue_motion (guint seed, double rms, double seconds)
{
  const double periods[] = {1.37, 3.91, 9.73}; /* s */
  const double drift = 0.6, saccade = 0.8;
  double axes[3];

  for (guint axis = 0; axis < 3; axis++) {
    const guint64 stream = (guint64 (seed) << 34) + (guint64 (axis) << 32);
    double sum = 0;
    for (guint n = 0; n < 3; n++)
      sum += std::sin (2 * G_PI * (seconds / periods[n] + uniform_number (stream + n)));
    /* An epoch begins within the first 0.6 s of a second, for all axes at once. */
    const double whole = std::floor (seconds);
    const double late =
        0.6 * uniform_number ((guint64 (seed) << 34) + 1000 + guint64 (whole));
    const guint64 epoch = guint64 (seconds - whole < late ? whole : whole + 1);
    const double step =
        std::sqrt (3.0) * (2 * uniform_number (stream + 1000000 + epoch) - 1);
    axes[axis] = rms * (drift * std::sqrt (2.0 / 3) * sum + saccade * step);
  }
  return {axes[0], axes[1], axes[2]};
}

double
largest_motion (double rms)
{
  return rms * (0.6 * std::sqrt (6.0) + 0.8 * std::sqrt (3.0));
}
} // namespace oct
