/* k-clock: resamples A-lines to even wavenumbers by the fringes of a clock channel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "clockedspectra.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>

#include <cmath>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/kclock.cl"

namespace oct {
namespace {
const gint reach = 20;          /* samples to either side that the filter uses */
const gsize largest_group = 64; /* work-items that share an A-line */

/* Modified Bessel function I0, for the Kaiser window */
double
bessel (double x)
{
  double sum = 1, term = 1;
  for (int n = 1; term > sum * 1e-17; n++)
    sum += term *= x * x / 4 / n / n;
  return sum;
}

/* Complex band-pass filter with a Kaiser window, centred on a quarter of the sampling
 * rate. It attenuates negative frequencies and the mean by 60 dB. */
std::vector<cl_float2>
filter_weights ()
{
  const double pass = 0.19, beta = 5.65;
  std::vector<cl_float2> weights;
  for (gint n = -reach; n <= reach; n++) {
    const double u = double (n) / (reach + 1);
    const double height = n == 0 ? 2 * pass : std::sin (2 * G_PI * pass * n) / (G_PI * n);
    const double window = bessel (beta * std::sqrt (1 - u * u)) / bessel (beta);
    const double angle = -G_PI / 2 * n;
    weights.push_back ({{cl_float (height * window * std::cos (angle)),
        cl_float (height * window * std::sin (angle))}});
  }
  return weights;
}
} // namespace

bool
ClockedSpectra::create (
    GstOpenCLContext *of, Clock where, const std::string &option, GError **error)
{
  context = of;
  clock = where;
  group = opencl::is_cpu (of) ? 1 : largest_group;
  const std::string options =
      "-DFILTER=" + std::to_string (reach) + " -DGROUP=" + std::to_string (group);
  return opencl::make_table (of, filter_weights (), weights, error)
         && unpacking.create (
             of, (option + " -DTO_FLOAT").c_str (), SampleFormat::f32le, error)
         && opencl::create_kernels (of, KERNELS, options,
             {{find_analytic_signal, "find_analytic_signal"},
                 {find_positions, "find_positions"}, {resample, "resample"}},
             error);
}

bool
ClockedSpectra::make_room (gsize numbers, GError **error)
{
  if (numbers == room)
    return true;
  room = 0;
  if (!opencl::make_buffer (context, numbers * sizeof (cl_float2), analytic, error)
      || !opencl::make_buffer (context, numbers * sizeof (cl_float), positions, error))
    return false;
  room = numbers;
  return true;
}

bool
ClockedSpectra::enqueue (cl_command_queue queue, guint all, guint first, guint samples,
    RawSpectra &spectra, GError **error)
{
  const bool interleaved = clock == Clock::interleaved;
  const cl_uint sample_step = interleaved ? 2 : 1;
  const cl_ulong line = 2 * (interleaved ? samples : all);
  const gsize numbers = gsize (samples) * spectra.lines;
  /* Interleaved channels: only the samples in use are unpacked. */
  if (!unpacking.enqueue (
          queue, interleaved ? 2 * first : 0, guint (line), spectra, error)
      || !make_room (numbers, error))
    return false;
  const cl_uint begin = interleaved ? 0 : first;
  const cl_uint clock_begin = interleaved ? 1 : all + first;
  std::shared_ptr<cl::Buffer> output =
      made.unused (context, numbers * sizeof (cl_float), error);
  if (!output
      || !find_analytic_signal.launch (queue, samples, spectra.lines, error, spectra.data,
          line, clock_begin, sample_step, cl_uint (samples), spectra.lines, weights (),
          analytic ())
      || !find_positions.launch_groups (queue, spectra.lines, group, error, analytic (),
          cl_uint (samples), spectra.lines, positions ())
      || !resample.launch (queue, samples, spectra.lines, error, spectra.data, begin,
          line, sample_step, cl_uint (samples), spectra.lines, positions (),
          (*output) ()))
    return false;
  spectra.data = (*output) ();
  spectra.stride = cl_long (samples * sizeof (cl_float));
  spectra.samples = samples;
  spectra.unpacked = std::move (output);
  return true;
}
} // namespace oct
