/* Simulated retina of octtestsrc: layers, vessels and motion, on the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "vesseltree.hpp"

#include <array>

namespace oct {
constexpr guint tissue_layers = 15; /* each begins at one of the boundaries */

struct TissueLayer {
  double thickness;   /* µm */
  double variation;   /* relative */
  double pit;         /* part of the thickness that is missing in the fovea */
  double attenuation; /* 1/mm */

  /* Moving cells: their part of the intensity, and their rate relative to that of the
   * most active layer */
  double cell_share = 0, cell_rate = 0;
};
extern const std::array<TissueLayer, tissue_layers> retina_layers;

/* Undulating layers with a fovea. Depths are in µm of a model that is `stretch` times as
 * deep as the tissue. */
class TissueModel {
public:
  /* `depth_range` in µm: layers are stretched to it within limits. */
  TissueModel (guint seed, double depth_range);

  /* Returns the upper end of each layer at a position in µm from the centre. */
  std::array<double, tissue_layers> boundaries_at (double x, double y) const;

  /* Returns the vessels of two plexuses. */
  std::vector<VesselSegment> vessels () const;

private:
  struct Wave {
    double along_x, along_y, phase; /* rad/µm, rad */
  };

  double undulation (double x, double y) const;

  guint seed;
  double stretch;
  std::array<Wave, 3> waves;
};

/* Displacement of the tissue under the scanner in µm, at a time in s: x, y, and z to
 * greater depth. `rms` is that of each of them over a long time. */
TissuePoint tissue_motion (guint seed, double rms, double seconds);
} // namespace oct
