/* Calibration found from the spectra of mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

namespace oct {
/* Resample map and dispersion by the phase of fringes. */
struct MirrorCalibration {
  std::vector<double> map; /* for each even wavenumber the fractional sample */
  std::vector<double>
      dispersion; /* of each even wavenumber, in rad; empty of one mirror */
  double width_before =
      0;                  /* of the first mirror's peak, see peak_width(): with samples */
  double width_after = 0; /* as even wavenumbers, and calibrated */
};

/* `first` and, where there is one, `second` are the spectra of a mirror at two depths, less
 * the spectrum without it; of equal length. The phase of a single mirror includes
 * dispersion, which becomes part of the map. Of mirrors on either side of zero delay
 * (`opposite`) the sum of both phases is free of dispersion, of two on the same side their
 * difference. Fails where there is no fringe, where its phase is not monotone, where a
 * fringe reaches zero delay or half the sampling rate, or where a peak gets wider. */
bool calibration_of_mirrors (const std::vector<double> &first,
    const std::vector<double> &second, bool opposite, MirrorCalibration &found,
    GError **error);

/* Dispersion as octwindowinterp's dispersion-a2 and -a3 have it, in rad. */
struct SharpestDispersion {
  double a2 = 0, a3 = 0;
};

/* Returns the dispersion that makes the depths of a sample sharpest, with most of
 * their power in few of them. `lines` are raw A-lines, one after the other, each with
 * as many samples as `map` has entries. At most 24 of them are used, after subtraction
 * of their mean. */
SharpestDispersion sharpest_dispersion (
    const std::vector<double> &lines, const std::vector<double> &map);

/* Distance between the outermost depths at which the amplitude of a spectrum's transform,
 * with a Hann window, is half its maximum: the full width at half maximum of a single peak,
 * and all of a smeared one. `phase` is removed first, unless it is empty. */
double peak_width (
    const std::vector<double> &spectrum, const std::vector<double> &phase = {});
} // namespace oct
