/* Simulated retina of octtestsrc: layers, vessels and motion, on the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tissuemodel.hpp"
#include "testsettings.hpp"

#include <algorithm>
#include <cmath>

namespace oct {
/* Bands as published B-scans of a macula show them. All layers down to the choroid are as
 * thick as Tick et al. measured (Foveal shape and structure in a normal population, 2011),
 * within two standard deviations. The four bright lines below the outer nuclear layer are
 * those of Spaide and Curcio (Anatomical correlates to the bands seen in the outer retina,
 * 2011). The last layer has no end. */
const std::array<TissueLayer, tissue_layers> retina_layers = {{
    {28, 0.30, 0.97, 6.0},            /* nerve fibres */
    {40, 0.12, 0.97, 2.4, 1, 1},      /* ganglion cells */
    {36, 0.12, 0.95, 3.6, 0.6, 0.25}, /* inner plexiform */
    {34, 0.10, 0.88, 0.9, 0.8, 0.5},  /* inner nuclear */
    {25, 0.10, 0.60, 4.0, 0.4, 0.1},  /* outer plexiform */
    {74, 0.08, -0.35, 0.3},           /* outer nuclear */
    {6, 0, 0, 3.0},                   /* external limiting membrane */
    {16, 0.05, -0.20, 0.5},           /* myoids */
    {14, 0.05, 0, 12.0},              /* ellipsoid zone */
    {18, 0.05, -0.70, 1.5},           /* outer segments */
    {9, 0.05, 0, 8.0},                /* interdigitation zone */
    {8, 0, 0, 2.5},                   /* apical processes */
    {20, 0.05, 0, 18.0},              /* pigment epithelium and Bruch's membrane */
    {250, 0.20, 0, 4.5},              /* choroid */
    {0, 0, 0, 2.2},                   /* sclera */
}};

namespace {
constexpr guint epithelium = 12;         /* the depths of the others follow from it */
constexpr double epithelium_depth = 520; /* µm from zero delay */
constexpr double whole_undulation = 35;  /* amplitude, µm */
constexpr double range_of_model = 1280;  /* µm */
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

/* 0 … 1 */
double
fraction_of (double number)
{
  return number - std::floor (number);
}
} // namespace

TissueModel::TissueModel (guint seed, double depth_range)
    : seed (seed), stretch (std::min (depth_range / range_of_model, largest_stretch))
{
  for (gsize n = 0; n < waves.size (); n++) {
    const double length =
        700 * std::pow (1.62, n) * (0.85 + 0.3 * fraction_of (0.618 * seed));
    const double angle = 2 * G_PI * fraction_of (0.755 * seed + 0.57 * double (n));
    waves[n] = {2 * G_PI / length * std::cos (angle),
        2 * G_PI / length * std::sin (angle),
        2 * G_PI * fraction_of (0.414 * seed + 0.236 * double (n))};
  }
}

/* Returns a smooth number from -1 to 1. */
double
TissueModel::undulation (double x, double y) const
{
  const double weights[] = {0.25, 0.35, 0.40};
  double sum = 0;
  for (gsize n = 0; n < waves.size (); n++)
    sum += weights[n]
           * std::sin (waves[n].along_x * x + waves[n].along_y * y + waves[n].phase);
  return sum;
}

std::array<double, tissue_layers>
TissueModel::boundaries_at (double x, double y) const
{
  const double pit = pit_at (x, y);
  const auto thickness = [&] (guint n) {
    const TissueLayer &of = retina_layers[n];
    const double elsewhere = 977.0 * (n + 1); /* µm: layers undulate on their own */
    return stretch * of.thickness
           * (1 + of.variation * undulation (x + elsewhere, y - elsewhere))
           * (1 - of.pit * pit);
  };
  std::array<double, tissue_layers> at;
  at[epithelium] = stretch * (epithelium_depth + whole_undulation * undulation (x, y));
  for (guint n = epithelium; n-- > 0;)
    at[n] = at[n + 1] - thickness (n);
  for (guint n = epithelium; n + 1 < tissue_layers; n++)
    at[n + 1] = at[n] + thickness (n);
  return at;
}

std::vector<VesselSegment>
TissueModel::vessels () const
{
  return grow_vessels (seed, tissue_width / 2, [&] (double x, double y, guint plexus) {
    const auto at = boundaries_at (x, y);
    const Plexus &of = plexuses[plexus];
    return at[of.layer] + of.position * (at[of.layer + 1] - at[of.layer]);
  });
}

/* Sums of sinusoids without a common period, whose phases make the axes uncorrelated */
TissuePoint
tissue_motion (guint seed, double rms, double seconds)
{
  const double periods[] = {1.37, 3.91, 9.73}; /* s */
  const double phase = fraction_of (0.618 * seed);
  double axes[3] = {};
  for (guint axis = 0; axis < 3; axis++) {
    for (guint n = 0; n < 3; n++)
      axes[axis] +=
          rms * std::sqrt (2.0 / 3)
          * std::sin (2 * G_PI * (seconds / periods[n] + phase + axis * n / 3.0));
  }
  return {axes[0], axes[1], axes[2]};
}
} // namespace oct
