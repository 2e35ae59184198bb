/* Simulated retina of octtestsrc: layers, vessels, attenuation and motion
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuemodel.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace oct {
namespace {
/* A layer of the retina. `pit` is the part of it that is missing in the fovea. */
struct Layer {
  double thickness; /* µm */
  double variation; /* relative */
  double pit;
  double attenuation; /* 1/mm */
};

/* Nerve fibres, ganglion cells, inner nuclear, outer plexiform, outer nuclear, inner and
 * outer segments, pigment epithelium, choroid, sclera. The last layer has no end. */
const Layer layers[tissue_layers] = {
    {60, 0.30, 0.96, 5.0},
    {130, 0.15, 0.92, 3.0},
    {60, 0.12, 0.85, 1.5},
    {40, 0.12, 0.60, 4.0},
    {110, 0.10, -0.25, 1.0},
    {45, 0.05, -0.10, 6.0},
    {35, 0.08, 0.0, 10.0},
    {240, 0.20, 0.0, 4.0},
    {0, 0, 0, 2.0},
};
constexpr guint epithelium = 6;          /* the depths of the others follow from it */
constexpr double epithelium_depth = 625; /* µm from zero delay */
constexpr double whole_undulation = 35;  /* amplitude, µm */
constexpr double pit_radius = 330;       /* standard deviation, µm */
constexpr double blood = 7;              /* attenuation, 1/mm */

/* The model is stretched to the depth range of the spectrometer, within limits. */
constexpr double range_of_model = 1280; /* µm */
constexpr double largest_stretch = 1.4;

/* Plexus of vessels: layer, and position within it */
struct Plexus {
  guint layer;
  double position;
};
const Plexus plexuses[] = {{1, 0.30}, {2, 0.90}};

double
pit_at (double x, double y)
{
  return std::exp (-(x * x + y * y) / (2 * pit_radius * pit_radius));
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

const ColumnChord *
TissueColumn::chord_at (double bin) const
{
  for (const ColumnChord &chord : chords) {
    if (bin > chord.begins && bin < chord.ends)
      return &chord;
  }
  return nullptr;
}

double
TissueModel::layer_attenuation (guint layer)
{
  return layers[layer].attenuation;
}

double
TissueModel::blood_attenuation ()
{
  return blood;
}

TissueModel::TissueModel (const TissueScan &scan, guint seed, double flow_velocity)
    : geometry (scan), flow_velocity (flow_velocity),
      bins_per_um (
          std::min (scan.depths * scan.depth_step / range_of_model, largest_stretch)
          / scan.depth_step),
      undulations ([&] {
        std::unique_ptr<GRand, void (*) (GRand *)> random (
            g_rand_new_with_seed (seed), g_rand_free);
        std::array<Undulation, tissue_layers> made;
        for (Undulation &of : made) {
          for (guint n = 0; n < waves; n++) {
            const double length = 700 * std::pow (1.62, n)
                                  * g_rand_double_range (random.get (), 0.85, 1.15);
            const double angle = g_rand_double_range (random.get (), 0, 2 * G_PI);
            of[n] = {2 * G_PI / length * std::cos (angle),
                2 * G_PI / length * std::sin (angle),
                g_rand_double_range (random.get (), 0, 2 * G_PI)};
          }
        }
        return made;
      }()),
      tree (seed, tissue_width / 2, [&] (double x, double y, guint plexus) {
        const Boundaries at = boundaries_at (x, y);
        const Plexus &of = plexuses[plexus];
        return at[of.layer] + of.position * (at[of.layer + 1] - at[of.layer]);
      })
{
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
  const Boundaries at = boundaries_at (x, y);
  std::transform (at.begin (), at.end (), column.boundaries.begin (),
      [this] (double depth) { return depth * bins_per_um; });
  /* The model's depths are stretched, so velocities along the beam are, too. */
  const double stretch = bins_per_um * geometry.depth_step;
  for (const VesselChord &chord : tree.chords (x, y)) {
    const double speed = chord.speed * flow_velocity;
    const double axial = chord.axial * flow_velocity * stretch;
    column.chords.push_back ({chord.begins * bins_per_um, chord.ends * bins_per_um,
        std::max (speed, std::abs (axial)), axial});
  }
  if (column.chords.size () > column_chords)
    column.chords.resize (column_chords);
  return column;
}

double
TissueModel::attenuation_at (const TissueColumn &column, double bin) const
{
  if (column.chord_at (bin))
    return blood;
  const auto layer =
      std::upper_bound (column.boundaries.begin (), column.boundaries.end (), bin);
  return layer == column.boundaries.begin ()
             ? 0
             : layers[layer - column.boundaries.begin () - 1].attenuation;
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
  return sum * geometry.depth_step / 1000;
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
