/* Reference of the OCT tests: octwindowinterp and octfft in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "fourier.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace reference {
using fourier::Complex;
using fourier::Line;
using Values = std::vector<double>;

/* Settings of octwindowinterp */
struct Chain {
  std::string window = "hann";
  std::string interpolation = "linear";
  Values map = {};         /* empty: not resampled */
  Values background = {};  /* empty: none */
  Values phase = {};       /* empty: no dispersion */
  Values window_file = {}; /* empty: `window` */

  Values scaled_window (gsize samples) const;
};

/* --- tables --- */

inline double
window_at (const std::string &window, double m, double last)
{
  double c1 = std::cos (2 * G_PI * m / last), c2 = std::cos (4 * G_PI * m / last);
  double c3 = std::cos (6 * G_PI * m / last), c4 = std::cos (8 * G_PI * m / last);
  if (window == "hann")
    return 0.5 - 0.5 * c1;
  if (window == "hamming")
    return 0.54 - 0.46 * c1;
  if (window == "blackman")
    return 0.42 - 0.5 * c1 + 0.08 * c2;
  if (window == "gaussian")
    return std::exp (-0.5 * std::pow ((m - last / 2) / (0.4 * last / 2), 2));
  if (window == "tukey" && std::min (m, last - m) < last / 4)
    return 0.5 - 0.5 * std::cos (4 * G_PI * m / last);
  if (window == "flattop")
    return 0.21557895 - 0.41663158 * c1 + 0.277263158 * c2 - 0.083578947 * c3
           + 0.006947368 * c4;
  return 1;
}

inline Values
scaled (Values window)
{
  double sum = 0;
  for (double value : window)
    sum += value;
  for (double &value : window)
    value *= 2 / sum;
  return window;
}

inline Values
scaled_window (const std::string &window, gsize samples)
{
  Values w (samples);
  for (gsize m = 0; m < samples; m++)
    w[m] = window_at (window, double (m), double (samples - 1));
  return scaled (w);
}

/* Returns the sample position of each even wavenumber. Searches from the first
 * wavelength; wavelengths may rise or fall. */
inline Values
map_of (const Values &wavelengths)
{
  gsize last = wavelengths.size () - 1;
  Values map (last + 1);
  for (gsize m = 0; m <= last; m++) {
    double even = 1 / wavelengths[0]
                  + (1 / wavelengths[last] - 1 / wavelengths[0]) * double (m) / last;
    gsize j = 0;
    double part = 0;
    for (; j < last; j++) {
      part = (even - 1 / wavelengths[j]) / (1 / wavelengths[j + 1] - 1 / wavelengths[j]);
      if (part <= 1 + 1e-12)
        break;
    }
    map[m] = j + part;
  }
  return map;
}

inline Values
Chain::scaled_window (gsize samples) const
{
  return window_file.empty () ? reference::scaled_window (window, samples)
                              : scaled (window_file);
}

inline Values
phase_of (gsize samples, double a2, double a3)
{
  Values phase (samples);
  for (gsize m = 0; m < samples; m++) {
    double q = m - samples / 2.0;
    phase[m] = a2 * q * q + a3 * q * q * q;
  }
  return phase;
}

/* --- backgrounds --- */

/* Mean of all A-lines of a frame. NaN and infinite samples are left out. */
inline Values
mean_of (const Values &frame, gsize samples)
{
  Values sum (samples), count (samples);
  for (gsize n = 0; n < frame.size (); n++) {
    if (std::isfinite (frame[n])) {
      sum[n % samples] += frame[n];
      count[n % samples]++;
    }
  }
  for (gsize j = 0; j < samples; j++)
    sum[j] /= std::max (count[j], 1.0);
  return sum;
}

/* Background of background=rolling for the n-th frame: the mean of up to `most` preceding
 * frames, or of the first frame itself */
inline Values
rolling_mean (const std::vector<Values> &frames, gsize n, gsize most, gsize samples)
{
  if (n == 0)
    return mean_of (frames[0], samples);
  Values means;
  for (gsize past = n > most ? n - most : 0; past < n; past++) {
    Values mean = mean_of (frames[past], samples);
    means.insert (means.end (), mean.begin (), mean.end ());
  }
  return mean_of (means, samples);
}

/* --- spectra and depth bins --- */

inline double
lanczos (double distance, double lobes)
{
  double x = G_PI * distance;
  if (std::abs (distance) >= lobes)
    return 0;
  return x == 0 ? 1 : lobes * std::sin (x) * std::sin (x / lobes) / (x * x);
}

/* Value of x at the fractional sample r */
inline double
value_between (const std::string &interpolation, const Values &x, double r)
{
  gint last = gint (x.size ()) - 1, i = CLAMP (gint (std::floor (r)), 0, last - 1);
  double f = r - i;
  auto at = [&] (gint j) { return x[CLAMP (j, 0, last)]; };

  if (interpolation == "linear")
    return at (i) + f * (at (i + 1) - at (i));
  if (interpolation == "cubic") {
    double a = at (i - 1), b = at (i), c = at (i + 1), d = at (i + 2);
    return 0.5
           * (2 * b + (c - a) * f + (2 * a - 5 * b + 4 * c - d) * f * f
               + (3 * b - a - 3 * c + d) * f * f * f);
  }
  const gint lobes = interpolation == "lanczos16" ? 8 : 4;
  double sum = 0, weights = 0;
  for (gint j = i - lobes + 1; j <= i + lobes; j++) {
    weights += lanczos (r - j, lobes);
    sum += lanczos (r - j, lobes) * at (j);
  }
  return sum / weights;
}

/* Spectrum that octwindowinterp makes of an A-line whose bit-shift is already applied */
inline Line
spectrum_of (const Chain &chain, Values x)
{
  const gsize samples = x.size ();
  const Values window = chain.scaled_window (samples);
  const bool resampled = !chain.map.empty () && chain.interpolation != "none";
  for (gsize j = 0; j < chain.background.size (); j++)
    x[j] -= chain.background[j];
  Line spectrum (samples);
  for (gsize m = 0; m < samples; m++) {
    double y = resampled ? value_between (chain.interpolation, x, chain.map[m]) : x[m];
    double phase = chain.phase.empty () ? 0 : chain.phase[m];
    spectrum[m] = y * window[m] * std::polar (1.0, -phase);
  }
  return spectrum;
}

/* Depth bins that octfft makes of a spectrum */
inline Line
depths_of (const Line &spectrum)
{
  Line bins = fourier::transform (spectrum);
  bins.resize (spectrum.size () / 2);
  return bins;
}

/* Returns the position of each wavelength on the grid of even wavenumbers, from 0 on. */
inline Values
grid_positions (const Values &wavelengths)
{
  const gsize last = wavelengths.size () - 1;
  const double first = 1 / wavelengths[0], span = 1 / wavelengths[last] - first;
  Values places;
  for (double wavelength : wavelengths)
    places.push_back (double (last) * (1 / wavelength - first) / span);
  return places;
}

/* --- display --- */

inline double
decibels (double amplitude)
{
  return 20 * std::log10 (std::max (amplitude, 1e-6));
}

/* Display settings of octfft */
struct Display {
  bool linear = false;
  double db_min = 0, db_max = 60;

  double level (double amplitude) const
  {
    return linear ? amplitude : decibels (amplitude);
  }

  /* Pixel value before rounding */
  double pixel (double amplitude, double full) const
  {
    double low = linear ? std::pow (10, db_min / 20) : db_min;
    double high = linear ? std::pow (10, db_max / 20) : db_max;
    return std::clamp ((level (amplitude) - low) / (high - low), 0.0, 1.0) * full;
  }
};
} // namespace reference
