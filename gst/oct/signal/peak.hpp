/* Peak, width and noise of an A-scan, and sensitivity roll-off over several of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <map>
#include <vector>

namespace oct {
/* Intensities over depth, averaged over A-lines */
struct AScan {
  std::vector<double> intensities;
  double lines = 1;     /* number of A-lines in the mean */
  guint first_bin = 0;  /* bin of the first intensity */
  guint least_bin = 0;  /* a peak before it counts as part of the mean spectrum */
  bool complex = false; /* the depths were complex */
  /* With complex depths: intensities half a bin behind each of the depths from
   * `fine_first`, an index of `intensities`, on */
  gint fine_first = 0;
  std::vector<double> fine;
};

/* All levels are in dB, all positions and widths in bins. Unknown values are NaN. */
struct Peak {
  bool found = false;
  bool stands_out = false; /* if not, the widths are unknown */
  double bin = 0;
  double level = 0;
  double width = 0;           /* full width at half of the amplitude (-6 dB) */
  double intensity_width = 0; /* full width at half of the intensity (-3 dB) */
  double noise_floor = 0;     /* rms amplitude of the noise */
  double snr = 0;             /* level - noise_floor */
};

/* Measures the highest peak. It counts as found from `least_snr` dB above the noise. */
Peak measure_peak (const AScan &scan, double least_snr);

/* Levels of the peaks of a moved mirror */
class RollOff {
public:
  struct Point {
    double bin, level;
  };

  void clear () { bins.clear (); }
  void add (const Peak &peak);
  /* Means of the peaks of each depth bin, in the order of depth */
  std::vector<Point> curve () const;
  /* dB per bin: slope of the line that fits the curve best; NaN if it has one point */
  double slope () const;
  /* Bin where the level is 6 dB below that of the first point; NaN if it is nowhere */
  double six_db_bin () const;

private:
  struct Sum {
    double bins = 0, levels = 0, count = 0;
  };
  std::map<gint, Sum> bins;
};
} // namespace oct
