/* Window functions for spectra before their Fourier transform
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "windowfunction.hpp"

#include "gridding.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <gst/gst.h>
#include <limits>
#include <numeric>

namespace oct {
namespace {
/* The Gaussian window falls to 4.4 % at its ends, as MATLAB's default. */
const double gaussian_sigma = 0.4;
/* Tapered fraction of the length, both ends together */
const double tukey_taper = 0.5;
/* A window over one or two samples may have a sum of 0 or less. One over eight leaves
 * four depths. */
const gsize least_covered = 8;
/* A smaller sum, relative to that of the magnitudes, is 0 apart from rounding. */
const double least_share_of_sum = 1e-9;

double
cosine_sum (double u, std::initializer_list<double> coefficients)
{
  double sum = 0, order = 0;
  for (double coefficient : coefficients)
    sum += coefficient * std::cos (2 * G_PI * order++ * u);
  return sum;
}

double
rectangular (double)
{
  return 1;
}

double
hann (double u)
{
  return cosine_sum (u, {0.5, -0.5});
}

double
hamming (double u)
{
  return cosine_sum (u, {0.54, -0.46});
}

double
blackman (double u)
{
  return cosine_sum (u, {0.42, -0.5, 0.08});
}

double
gaussian (double u)
{
  double x = (2 * u - 1) / gaussian_sigma;
  return std::exp (-0.5 * x * x);
}

double
tukey (double u)
{
  double from_end = std::min (u, 1 - u);
  return from_end < tukey_taper / 2 ? hann (from_end / tukey_taper) : 1;
}

double
flattop (double u)
{
  return cosine_sum (
      u, {0.21557895, -0.41663158, 0.277263158, -0.083578947, 0.006947368});
}

/* In the order of WindowFunction, without `file`. The last one is divided by the spectrum. */
double (*const functions[]) (double) = {
    rectangular,
    hann,
    hamming,
    blackman,
    gaussian,
    tukey,
    flattop,
    nullptr,
    hann,
};
} // namespace

double
Window::at (double share) const
{
  const double u = (share - centre) / width + 0.5;
  if (!covers (share))
    return 0;
  if (is_file ())
    return value_between (values, u * double (values.size () - 1));
  const double weight = functions[static_cast<int> (function)](u);
  return values.empty ()
             ? weight
             : weight / value_between (values, share * double (values.size () - 1));
}

bool
Window::covers (double share) const
{
  const double u = (share - centre) / width + 0.5;
  return u >= 0 && u <= 1;
}

static std::vector<double>
values_of (const Window &window, gsize points)
{
  std::vector<double> values (points);
  for (gsize m = 0; m < points; m++)
    values[m] = window.at (double (m) / double (points - 1));
  return values;
}

static double
sum_of (const std::vector<double> &values)
{
  return std::accumulate (values.begin (), values.end (), 0.0);
}

void
shape_window (Window &window, const std::vector<double> &spectrum)
{
  const double floor = 0.05;
  const double most = *std::max_element (spectrum.begin (), spectrum.end ());
  window.values.clear ();
  for (double value : spectrum)
    window.values.push_back (most > 0 ? std::max (value / most, floor) : 1);
}

bool
window_file_check (const Window &window, GError **error)
{
  if (!window.is_file ())
    return true;
  if (window.file.given ())
    return values_file_check (window.file, error);
  return REFUSE_SETTINGS (
      error, "window-file is not set, expected the path of a file for window=file");
}

bool
window_load (Window &window, gsize samples, GError **error)
{
  return !window.is_file ()
         || (window_file_check (window, error)
             && values_file_load (window.file, samples, window.values, error));
}

/* Fails if the sum is 0 apart from rounding, or if scaling by 2 / sum exceeds float32. */
static bool
check_file_sum (const Window &window, gsize samples, GError **error)
{
  const std::vector<double> values = values_of (window, samples);
  const double sum = sum_of (values);
  double magnitudes = 0, most = 0;
  for (double value : values) {
    magnitudes += std::abs (value);
    most = std::max (most, std::abs (value));
  }
  if (std::abs (sum) > least_share_of_sum * magnitudes && std::isfinite (magnitudes)
      && 2 * most / std::abs (sum) <= FLT_MAX)
    return true;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "%s: the sum of the window is %g, expected a number other than 0 within the range "
      "of float32",
      window.file.described ().c_str (), sum);
  return false;
}

bool
window_check (const Window &window, gsize samples, GError **error)
{
  gsize covered = 0;
  for (gsize m = 0; m < samples; m++)
    covered += window.covers (double (m) / double (samples - 1));
  if (covered >= least_covered)
    return !window.is_file () || check_file_sum (window, samples, error);
  return REFUSE_SETTINGS (error,
      "window-width is %g and window-centre is %g: the window covers %" G_GSIZE_FORMAT
      " of %" G_GSIZE_FORMAT " samples, expected %" G_GSIZE_FORMAT
      " or more; make the window wider",
      window.width, window.centre, covered, samples, least_covered);
}

std::vector<double>
window_function (WindowFunction function, gsize samples)
{
  return values_of ({function}, samples);
}

std::vector<double>
scaled_window_function (const Window &window, gsize samples, guint oversampling)
{
  Window undivided = window;
  if (window.is_shape ())
    undivided.values.clear ();
  const double sum = sum_of (values_of (undivided, samples));
  std::vector<double> weights = values_of (window, oversampling * (samples - 1) + 1);
  for (double &weight : weights)
    weight *= 2 / (sum * oversampling);
  return weights;
}

double
transform_width (const std::vector<double> &spectrum, gsize points)
{
  const double unknown = std::numeric_limits<double>::quiet_NaN ();
  auto magnitude = [&] (double bin) {
    std::complex<double> sum = 0, turn = 1;
    const std::complex<double> each = std::polar (1.0, -2 * G_PI * bin / double (points));
    for (double value : spectrum) {
      sum += value * turn;
      turn *= each;
    }
    return std::abs (sum);
  };
  const double half = magnitude (0) / 2, most = double (points) / 2;
  double above = 0, below = 0.25;
  if (!(half > 0))
    return unknown;
  while (magnitude (below) > half) {
    above = below;
    below += 0.25;
    if (below > most)
      return unknown;
  }
  while (below - above > 1e-6) {
    const double middle = (above + below) / 2;
    (magnitude (middle) > half ? above : below) = middle;
  }
  return above + below;
}
} // namespace oct
