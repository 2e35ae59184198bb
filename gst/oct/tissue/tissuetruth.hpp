/* Files of the ground truth of the simulated tissue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "tissuemodel.hpp"

namespace oct {
/* Writes boundaries, velocities, attenuation and curvature of a volume into
 * `truth_folder`, which is made if needed. A flat surface has only curvature. */
bool write_tissue_truth (
    const OctTestSettings &settings, const TissueScan &scan, GError **error);

/* Writes the displacements of frames: (frames, 3), in lines, B-scans and depth bins. */
bool write_motion_truth (const OctTestSettings &settings, const TissueScan &scan,
    guint64 frames, double frame_seconds, GError **error);
} // namespace oct
