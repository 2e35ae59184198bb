/* Window functions for spectra before their Fourier transform
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "windowfunction.hpp"

#include <algorithm>
#include <cmath>
#include <gst/gst.h>
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

/* In the order of WindowFunction. */
double (*const functions[]) (double) = {
    rectangular,
    hann,
    hamming,
    blackman,
    gaussian,
    tukey,
    flattop,
};
} // namespace

double
Window::at (double share) const
{
  const double u = (share - centre) / width + 0.5;
  return covers (share) ? functions[static_cast<int> (function)](u) : 0;
}

bool
Window::covers (double share) const
{
  const double u = (share - centre) / width + 0.5;
  return u >= 0 && u <= 1;
}

bool
window_check (const Window &window, gsize samples, GError **error)
{
  gsize covered = 0;
  for (gsize m = 0; m < samples; m++)
    covered += window.covers (double (m) / double (samples - 1));
  if (covered >= least_covered)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "window-width is %g and window-centre is %g: the window covers %" G_GSIZE_FORMAT
      " of %" G_GSIZE_FORMAT " samples, expected %" G_GSIZE_FORMAT
      " or more; make the window wider",
      window.width, window.centre, covered, samples, least_covered);
  return false;
}

static std::vector<double>
values_of (const Window &window, gsize points)
{
  std::vector<double> values (points);
  for (gsize m = 0; m < points; m++)
    values[m] = window.at (double (m) / double (points - 1));
  return values;
}

std::vector<double>
window_function (WindowFunction function, gsize samples)
{
  return values_of ({function}, samples);
}

std::vector<double>
scaled_window_function (const Window &window, gsize samples, guint oversampling)
{
  const std::vector<double> at_samples = values_of (window, samples);
  const double sum = std::accumulate (at_samples.begin (), at_samples.end (), 0.0);
  std::vector<double> weights = values_of (window, oversampling * (samples - 1) + 1);
  for (double &weight : weights)
    weight *= 2 / (sum * oversampling);
  return weights;
}
} // namespace oct
