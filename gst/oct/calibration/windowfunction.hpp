/* Window functions for spectra before their Fourier transform
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "valuesfile.hpp"

namespace oct {
enum class WindowFunction {
  rectangular,
  hann,
  hamming,
  blackman,
  gaussian,
  tukey,
  flattop,
  file,  /* values of Window::file */
  shape, /* hann, divided by the spectrum of the source */
};

/* The symmetric window of `samples` points, u = m / (samples - 1) from 0 to 1:
 *
 *  rectangular  1
 *  hann         0.5 - 0.5 cos(2 pi u)
 *  hamming      0.54 - 0.46 cos(2 pi u)
 *  blackman     0.42 - 0.5 cos(2 pi u) + 0.08 cos(4 pi u)
 *  gaussian     exp(-0.5 ((2 u - 1) / 0.4)^2)
 *  tukey        1, with a quarter of the points at each end tapered as by hann
 *  flattop      0.21557895 - 0.41663158 cos(2 pi u) + 0.277263158 cos(4 pi u)
 *               - 0.083578947 cos(6 pi u) + 0.006947368 cos(8 pi u)
 */
std::vector<double> window_function (WindowFunction function, gsize samples);

/* A window over a part of the spectrum, in fractions of the spectrum: u is 0.5 at
 * `centre`, and runs from 0 to 1 over `width`. The window is 0 elsewhere. The values of a
 * file are evenly spaced in u, from 0 to 1. */
struct Window {
  WindowFunction function = WindowFunction::hann;
  double centre = 0.5;
  double width = 1;
  ValuesFile file{"window-file", ""};
  std::vector<double>
      values; /* of the file or shape, after window_load() or shape_window() */

  bool is_shape () const { return function == WindowFunction::shape; }
  bool is_file () const { return function == WindowFunction::file; }
  /* Returns the window at a position in the spectrum, from 0 to 1. */
  double at (double share) const;
  bool covers (double share) const;
};

/* Checks what does not depend on the number of samples: that a file can be opened. */
bool window_file_check (const Window &window, GError **error);

/* Reads the file, if the window is one. It must have `samples` values. */
bool window_load (Window &window, gsize samples, GError **error);

/* Divides the window by the source's spectrum at each even wavenumber, relative to its maximum
 * and with a floor. So the peak of a mirror has the form of the window alone. The fringe that
 * keeps its amplitude is that at the maximum. */
void shape_window (Window &window, const std::vector<double> &spectrum);

/* Fails if the window covers so few samples that its sum may be 0 or negative, or that
 * too few depths are left. Fails if the values of a file have the sum 0. */
bool window_check (const Window &window, gsize samples, GError **error);

/* Returns the window times 2 / sum over the samples, so that a fringe of amplitude a, in
 * raw units, has magnitude a after the Fourier transform. It has `oversampling` values
 * per sample, up to the last sample. */
std::vector<double> scaled_window_function (
    const Window &window, gsize samples, guint oversampling = 1);

/* Full width at half maximum, in bins of a transform of `points` points, of the magnitude
 * of the Fourier transform of `spectrum` (real, 0 from its end on); NaN if it is 0 */
double transform_width (const std::vector<double> &spectrum, gsize points);
} // namespace oct
