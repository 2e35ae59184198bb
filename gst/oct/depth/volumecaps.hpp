/* Output caps of octvolume: en face projection or volume
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

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

/* Returns the caps of the projection and of the volume, the projection first:
 * (transfer full). A `live` volume has the frame rate of the B-scans. A projection of
 * `true_scale` has the pixel aspect ratio of the steps. */
GstCaps *volume_outputs_of (
    GstCaps *inputs, const VolumeExtent &extent, bool live, bool true_scale);
} // namespace oct
