/* Simulated spectra of octtestsrc: a spectrometer, and patterns that it looks at
 *
 * The model is the interferogram of a Fourier-domain OCT (Drexler and Fujimoto, Optical
 * Coherence Tomography: Technology and Applications, chapter 2), with one fringe per
 * scatterer. Interference between scatterers is left out.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testpattern.hpp"
#include "../shared/errors.hpp"

#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace oct {
namespace {
constexpr gsize group_samples = 8; /* GROUP_SAMPLES of the kernels */
constexpr gsize cpu_groups = 8;    /* groups per work-item; 1 on a GPU */
constexpr double two_pi = 6.283185307179586476925;

/* Sigma of the light source's Gaussian spectrum, relative to half the samples */
constexpr double envelope_sigma = 0.5;

/* The kernels' structure of this name */
struct Samples {
  cl_uint position[group_samples], dispersion[group_samples];
  cl_float envelope[group_samples];
};

/* Mirrors do not move. Their fringes are a table, computed in double precision. */
class Mirrors : public TestPattern {
  bool create_kernels (GError **error) override
  {
    return create ("testspectra.cl", {{kernel, "mirrors"}}, error);
  }

  double light_at (double) const override { return 1; }

  bool make_tables (GError **error) override
  {
    std::vector<cl_float> table (groups * group_samples);
    for (guint j = 0; j < samples; j++) {
      const double m = position_of (j), phase = dispersion_at (m);
      double sum = 0;
      for (gsize i = 0; i < settings.depths.size (); i++)
        sum +=
            settings.amplitudes[i]
            * std::cos (two_pi * std::fmod (settings.depths[i] * m / samples, 1) + phase);
      table[j] = cl_float (sum);
    }
    return upload (fringes, table, error);
  }

  bool enqueue_frame (const OctTestMoment &, GError **error) override
  {
    return fill (kernel, error, fringes ());
  }

  opencl::Kernel kernel;
  cl::Buffer fringes;
};
} // namespace

cl_uint
fixed_turns (double turns)
{
  return cl_uint (fixed_number (turns - std::floor (turns)));
}

cl_ulong
fixed_number (double number)
{
  return static_cast<guint64> (std::llround (number * 0x1p32));
}

cl_uint2
fixed_depth (double depth)
{
  const cl_ulong fixed = fixed_number (depth);
  return {{cl_uint (fixed >> 32), cl_uint (fixed)}};
}

std::unique_ptr<TestPattern>
TestPattern::make (OctTestPattern pattern)
{
  switch (pattern) {
  case OCT_TEST_PATTERN_LAYERS:
    return make_skin ();
  case OCT_TEST_PATTERN_TISSUE:
    return make_retina ();
  case OCT_TEST_PATTERN_FLAT:
    return make_flat_surface ();
  default:
    return std::make_unique<Mirrors> ();
  }
}

bool
TestPattern::open (GstOpenCLContext *from, GError **error)
{
  context = from;
  groups_per_item = opencl::is_cpu (from) ? cpu_groups : 1;
  options = "-DGROUPS=" + std::to_string (groups_per_item);
  return create_kernels (error);
}

bool
TestPattern::create (const char *file, std::initializer_list<opencl::NamedKernel> kernels,
    GError **error) const
{
  const std::string resource = "/org/freedesktop/gstreamer/opencl/oct/";
  return opencl::create_kernels (
      context, (resource + file).c_str (), options, kernels, error);
}

/* Samples are at even wavelengths. */
double
TestPattern::wavenumber (double sample) const
{
  const double step = (settings.wavelength_max - settings.wavelength_min) / (samples - 1);
  return two_pi / (settings.wavelength_min + step * sample);
}

double
TestPattern::wavenumber_step () const
{
  return (wavenumber (samples - 1) - wavenumber (0)) / (samples - 1);
}

double
TestPattern::position_of (guint sample) const
{
  return (wavenumber (sample) - wavenumber (0)) / wavenumber_step ();
}

double
TestPattern::dispersion_at (double position) const
{
  const double q = position - samples / 2.0;
  return settings.dispersion_a2 * q * q + settings.dispersion_a3 * q * q * q;
}

double
TestPattern::light_at (double off_centre) const
{
  const double sigmas = off_centre / envelope_sigma;
  return std::exp (-0.5 * sigmas * sigmas);
}

/* Returns the lateral position of a line in a sinusoidal scan. */
double
TestPattern::place_of (guint line) const
{
  if (settings.sinusoidal == 0 || lines < 2)
    return line;
  const double edge = settings.sinusoidal * two_pi / 4, last = lines - 1;
  return (std::sin (edge * (2 * line / last - 1)) / std::sin (edge) + 1) / 2 * last;
}

bool
TestPattern::configure_spectrometer (GError **error)
{
  std::vector<Samples> table (groups);
  for (guint j = 0; j < samples; j++) {
    Samples &group = table[j / group_samples];
    const guint n = j % group_samples;
    const double m = position_of (j);
    group.position[n] = fixed_turns (m / samples);
    group.dispersion[n] = fixed_turns (dispersion_at (m) / two_pi);
    group.envelope[n] = cl_float (light_at (2.0 * j / (samples - 1) - 1.0));
  }
  turns_per_bin = wavenumber (0) / wavenumber_step () / samples;
  bin_step = two_pi / 2 / (std::abs (wavenumber_step ()) * samples);
  return upload (spectrometer, table, error);
}

bool
TestPattern::configure (
    const OctTestSettings &wanted, guint new_samples, guint new_lines, GError **error)
{
  settings = wanted;
  samples = new_samples;
  lines = new_lines;
  const gsize item = group_samples * groups_per_item;
  groups = (samples + item - 1) / item * groups_per_item;
  places.clear ();
  for (guint line = 0; line < lines; line++)
    places.push_back (cl_float (place_of (line)));
  return configure_spectrometer (error) && make_tables (error);
}

bool
TestPattern::enqueue (const OctTestSettings &wanted, const OctTestMoment &moment,
    const GstOpenCLFrame &frame, GError **error)
{
  const gsize sample_size = sizeof (cl_ushort);
  if (frame.offset[0] % sample_size || frame.stride[0] % sample_size)
    return REFUSE_SETTINGS (error,
        "offset %" G_GSIZE_FORMAT ", stride %d: expected multiples of 2 bytes",
        frame.offset[0], frame.stride[0]);

  settings = wanted;
  queue = frame.queue;
  data = frame.data;
  reversed = settings.bidirectional && moment.frame % 2;
  output = {{{cl_uint (moment.frame), cl_uint (moment.frame >> 32)}},
      cl_float (settings.level), cl_float (settings.noise), settings.seed, samples, lines,
      cl_uint (frame.offset[0] / sample_size), cl_uint (frame.stride[0] / sample_size),
      reversed};
  return enqueue_frame (moment, error);
}
} // namespace oct
