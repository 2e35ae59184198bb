/* Calibration from the spectra of mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>
#include <vector>

namespace oct {
/* Resampling map and dispersion from the phase of fringes */
struct MirrorCalibration {
  std::vector<double> map; /* position of each even wavenumber, in samples */
  std::vector<double>
      dispersion; /* phase of each even wavenumber, in rad; empty for one mirror */
  double width_before = 0;     /* peak_width() of the first mirror, without calibration */
  double width_after = 0;      /* the same, with calibration */
  double map_error = 0;        /* standard error from noise, in samples */
  double dispersion_error = 0; /* likewise, in rad; 0 for one mirror */
};

/* `first` and `second` are spectra of a mirror at two depths, of equal length, minus the
 * spectrum without mirror. `second` may be empty. The phase of a single mirror includes
 * dispersion, which becomes part of the map. If mirrors are on opposite sides of zero
 * delay (`opposite`), the sum of both phases is free of dispersion, otherwise their
 * difference. Fails if there is no fringe, its phase is not monotone, a fringe reaches
 * zero delay or half the sampling rate, or a peak gets wider. */
bool calibration_of_mirrors (const std::vector<double> &first,
    const std::vector<double> &second, bool opposite, MirrorCalibration &found,
    GError **error);

/* Returns the distance between the outermost depths at which the amplitude is half its
 * maximum, with a Hann window. This is the full width at half maximum of a single peak,
 * and the whole extent of a smeared one. `phase` is removed first, unless it is empty. */
double peak_width (
    const std::vector<double> &spectrum, const std::vector<double> &phase = {});

/* Depth scale from mirrors at known positions */
struct DepthScale {
  double step = 0;               /* depth step in air, in µm */
  std::vector<double> residuals; /* of the positions, in µm */
};

/* Fits the depth step to the positions of mirrors, in µm. The calibration is that of the
 * first two mirrors. Each further mirror may be on either side of zero delay. Fails if the
 * first two have the same depth or position. */
bool depth_scale_of_mirrors (const std::vector<std::vector<double>> &spectra,
    const std::vector<double> &positions, bool opposite,
    const MirrorCalibration &calibration, DepthScale &found, GError **error);

bool write_npy (
    const std::string &path, const std::vector<double> &values, GError **error);

/* Writes resample-map.npy, dispersion-phase.npy if `phase`, and settings.txt with their
 * names, to an existing folder. Appends these settings to `settings`, which is the
 * content of settings.txt. */
bool write_calibration (const std::string &folder, const MirrorCalibration &found,
    bool phase, std::string &settings, GError **error);

/* Writes lines NAME=VALUE to settings.txt, for octwindowinterp's property `settings`. */
bool write_settings (
    const std::string &folder, const std::string &settings, GError **error);
} // namespace oct
