/* Optical path and scanner delay from recordings of a flat target
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>
#include <vector>

namespace oct {
/* z(x, y), with x and y from -1 to 1. Coefficients are sorted by degree, and within a
 * degree by the power of y: of 1, x, y, x^2, xy, y^2, x^3, … Missing ones are 0. */
struct Curvature {
  explicit Curvature (std::vector<double> coefficients = {});

  static constexpr gsize most_order = 6, most_terms = 28;

  /* Returns the number of terms up to this degree. */
  static constexpr gsize terms_of (gsize order) { return (order + 1) * (order + 2) / 2; }

  /* Returns the values of all terms up to this degree. */
  static std::vector<double> terms_at (double x, double y, gsize order);

  /* Returns the coefficients of 1, x, x^2, … for one y. */
  std::vector<double> in_x (double y) const;
  bool depends_on_y () const;
  double at (double x, double y) const;

  std::vector<double> coefficients;
};

/* Surface of a target in each A-line of consecutive frames */
struct Surfaces {
  gsize lines = 0;            /* per frame */
  std::vector<double> depths; /* in bins with fractions; NaN: none was found */
  std::vector<double> levels; /* in dB */

  gsize frames () const { return lines > 0 ? depths.size () / lines : 0; }
  /* Share of A-lines with a surface */
  double share () const;

  /* Appends the strongest peak of each A-line, from depth `first` on. A peak must be 10 dB
   * above the median of its A-line. `decibels` are contiguous A-lines. */
  void append (const std::vector<double> &decibels, gsize samples, gsize first);
};

/* How the target was scanned, in octscan's terms */
struct FlatScan {
  bool bidirectional = false; /* every second frame was scanned backwards */
  gsize flyback = 0;
  gsize repeats = 1;

  double delay = 0; /* found by delay_of_surfaces() */
};

/* Delay of the scanner in A-lines, and its standard error */
struct ScannerDelay {
  double lines, error;
};

/* Finds the delay that makes forward and backward frames agree, in depth and level of the
 * surface. Fails if the target has too little structure. */
bool delay_of_surfaces (
    const Surfaces &surfaces, const FlatScan &scan, ScannerDelay &found, GError **error);

struct Flatness {
  Curvature curvature;
  double share = 0;           /* of all A-lines whose surface the polynomial describes */
  double residual = 0;        /* their rms distance from it, in depths */
  double least = 0, most = 0; /* of z over the field of view */
};

/* Fits a polynomial of this order to the surfaces. Outliers are left out. The depth and
 * the tilt of the target are not part of the result, with `with_tilt` only its depth. */
bool flatness_of_surfaces (const Surfaces &surfaces, const FlatScan &scan, gsize order,
    bool with_tilt, Flatness &found, GError **error);
} // namespace oct
