/* Caps of volumes, and of en face projections
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/octcaps.hpp"
#include <gst/opencl/gstopenclframe.h>

namespace oct {
const guint usual_b_scans = 512;

/* Number of B-scans in a volume, and of repeats of each */
struct VolumeExtent {
  guint b_scans = usual_b_scans;
  guint repeats = 1;

  bool operator!= (const VolumeExtent &other) const
  {
    return b_scans != other.b_scans || repeats != other.repeats;
  }
};

/* Properties that change the output caps */
struct VolumeOutput {
  bool whole_images; /* a projection is output once per volume, not with each B-scan */
  bool live;         /* a volume is output with each B-scan */
  bool true_scale;   /* a projection has the pixel aspect ratio of the steps */
};

/* Returns the caps of the projection and of the volume, the projection first:
 * (transfer full). */
GstCaps *volume_outputs_of (
    GstCaps *inputs, const VolumeExtent &extent, const VolumeOutput &output);

/* Reads an array of up to three dimensions, after leading ones, and of at most
 * `most_voxels` values. */
bool parse_volume (
    GstCaps *caps, gsize most_voxels, opencl::ArrayFormat &array, GError **error);
bool check_volume_alignment (
    const GstOpenCLFrame *frame, opencl::NumberType type, GError **error);
} // namespace oct
