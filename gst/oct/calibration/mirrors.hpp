/* Calibration found from the spectra of mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

namespace oct {
/* What the phase of fringes says. */
struct MirrorCalibration {
  std::vector<double> map; /* for each even wavenumber the fractional sample */
  std::vector<double>
      dispersion;          /* of each even wavenumber, in rad; empty of one mirror */
  double width_before = 0; /* of the first one's amplitude peak at half its height, in */
  double width_after = 0;  /* depths with a Hann window: as it was, and calibrated */
};

/* `first` and, where there is one, `second` are the spectra of a mirror at two depths, from
 * which what is there without it was taken; of one length. The phase of a single mirror
 * holds its dispersion, which becomes part of the map. Of mirrors on either side of zero
 * delay (`opposite`) the sum of both phases is free of it, of two on the same side their
 * difference. Fails where a fringe stands out of nothing, or its phase goes back and forth.
 */
bool calibration_of_mirrors (const std::vector<double> &first,
    const std::vector<double> &second, bool opposite, MirrorCalibration &found,
    GError **error);

/* Dispersion as octwindowinterp's dispersion-a2 and -a3 have it, in rad. */
struct SharpestDispersion {
  double a2 = 0, a3 = 0;
};

/* That which makes the depths of any sample sharpest: with most of their power in few of
 * them. `lines` are raw A-lines one behind the other, of as many samples as `map` has
 * entries; up to 24 of them are looked at, and what all have in common is taken away. */
SharpestDispersion sharpest_dispersion (
    const std::vector<double> &lines, const std::vector<double> &map);

/* Of the highest amplitude peak of a spectrum's transform with a Hann window, in depths;
 * `phase` is taken away first, unless it is empty. */
double peak_width (
    const std::vector<double> &spectrum, const std::vector<double> &phase = {});
} // namespace oct
