/* Calibration that comes with a stream, in a GstOctCalibration event
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <memory>
#include <vector>

namespace oct {
/* Fields of the event, as octcalibration.h describes them. Unknown ones are empty or 0. */
struct StreamCalibration {
  std::vector<double> resample_map;
  std::vector<double> background;
  std::vector<double> dispersion_phase;
  double wavenumber_step = 0; /* rad/µm */
  double refractive_index = 0;
  double centre_wavelength = 0; /* nm */
  double full_scale = 0;

  bool operator== (const StreamCalibration &other) const
  {
    return resample_map == other.resample_map && background == other.background
           && dispersion_phase == other.dispersion_phase
           && wavenumber_step == other.wavenumber_step
           && refractive_index == other.refractive_index
           && centre_wavelength == other.centre_wavelength
           && full_scale == other.full_scale;
  }
};

/* Null if the stream has none. It is shared and does not change. */
using SharedCalibration = std::shared_ptr<const StreamCalibration>;

/* Returns a new event (transfer full). */
GstEvent *stream_calibration_event (const StreamCalibration &calibration);

/* Returns false for other events. Ignores fields of other types. */
bool stream_calibration_parse (GstEvent *event, StreamCalibration &calibration);
} // namespace oct
