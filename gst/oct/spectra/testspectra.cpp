/* The spectra of octtestsrc: tables, phantom and kernels
 *
 * The model is the interferogram of a Fourier-domain OCT (Drexler and Fujimoto, Optical
 * Coherence Tomography: Technology and Applications, chapter 2) with one fringe for each
 * scatterer; interference of scatterers among themselves is left out.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testspectra.hpp"

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclstatistics-private.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>

namespace {
constexpr gsize samples_per_item = 8; /* SAMPLES_PER_ITEM of the kernel */
constexpr double two_pi = 6.283185307179586476925;
constexpr double turn = 4294967296.0; /* of the kernel's phases */

const char resource[] = "/org/freedesktop/gstreamer/opencl/oct/testspectra.cl";

/* Depths are parts of the depth range; see Layer in the kernel. */
struct TissueLayer {
  double begins, undulation, cycles, start;
  double backscatter, attenuation;
  double reflection, reach;
};

/* Something like skin: a bright surface, a dark layer, a wavy junction to brighter
 * tissue, that fades with depth, with one bright band in it. */
const TissueLayer tissue_layers[] = {
    {0.150, -0.050, 0.5, 0.0, 0.80, 3.0, 1.0, 0.003},
    {0.025, 0.003, 3.0, 0.1, 0.22, 2.0, 0.0, 0.001},
    {0.085, 0.007, 5.3, 0.3, 0.90, 4.0, 0.8, 0.004},
    {0.270, 0.012, 1.7, 0.6, 0.40, 4.0, 0.0, 0.001},
    {0.390, 0.010, 1.2, 0.2, 1.60, 3.0, 0.5, 0.004},
    {0.430, 0.014, 1.5, 0.7, 0.50, 9.0, 0.0, 0.001},
};
constexpr double tissue_thickness = 0.66;
constexpr double tissue_gain = 0.02; /* fringe of a mean grain, of the level */
constexpr double vessel[] = {0.66, 0.185, 0.085, 0.050}; /* middle, radii: across, down */

/* Denser than the axial resolution, so that the speckle is fully developed. */
constexpr double bins_per_cell = 2.5;
constexpr double grains_per_frame = 160.0;
constexpr double deepest_range = 1024.0; /* deeper, the tissue gets no thicker */

/* Half width of the light source's spectrum, of half the samples. */
constexpr double envelope_sigma = 0.5;

constexpr double breaths_per_second = 0.3;
constexpr double breath_depth = 0.002;
constexpr double flow_turns_per_second = 0.8; /* of the slowest blood */

/* Phases wrap around; a negative one too. */
cl_uint
turns_from_double (double turns)
{
  return cl_uint (
      static_cast<guint64> (std::llround ((turns - std::floor (turns)) * turn)));
}

cl_uint4
scatterer_at (double depth, double amplitude)
{
  const guint64 fixed = static_cast<guint64> (std::llround (depth * turn));
  const cl_float value = cl_float (amplitude);
  cl_uint4 scatterer = {};
  scatterer.s[0] = cl_uint (fixed >> 32);
  scatterer.s[1] = cl_uint (fixed);
  memcpy (&scatterer.s[3], &value, sizeof value);
  return scatterer;
}

/* Sample j of evenly spaced wavelengths on the grid of even wavenumbers. */
struct WavenumberGrid {
  double wavelength_min, wavelength_max;
  guint samples;

  double wavenumber (double sample) const
  {
    const double step = (wavelength_max - wavelength_min) / (samples - 1);
    return two_pi / (wavelength_min + step * sample);
  }
  double step () const
  {
    return (wavenumber (samples - 1) - wavenumber (0)) / (samples - 1);
  }
  double position (double sample) const
  {
    return (wavenumber (sample) - wavenumber (0)) / step ();
  }
};

bool setting_error (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

bool
setting_error (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_propagate_error (error, g_error_new_valist (GST_LIBRARY_ERROR,
                                GST_LIBRARY_ERROR_SETTINGS, format, arguments));
  va_end (arguments);
  return false;
}
} // namespace

bool
oct_test_settings_validate (const OctTestSettings &settings, GError **error)
{
  if (!(settings.wavelength_min > 0 && settings.wavelength_max > 0
          && settings.wavelength_min != settings.wavelength_max))
    return setting_error (error,
        "wavelength-min %g and wavelength-max %g: expected both to be more than 0, and "
        "to differ",
        settings.wavelength_min, settings.wavelength_max);
  if (settings.depths.size () != settings.amplitudes.size ())
    return setting_error (error,
        "amplitudes: %zu values, expected %zu (one for each depth)",
        settings.amplitudes.size (), settings.depths.size ());
  return true;
}

static bool
is_within (double depth, guint samples)
{
  return depth >= 0 && depth <= samples / 2.0;
}

bool
oct_test_settings_validate_for (
    const OctTestSettings &settings, guint samples, GError **error)
{
  if (!oct_test_settings_validate (settings, error))
    return false;
  if (settings.pattern != OCT_TEST_PATTERN_MIRRORS)
    return true;
  for (double depth : settings.depths) {
    if (!is_within (depth, samples))
      return setting_error (error,
          "depths: %g, expected 0 to %g (half of %u samples per A-line)", depth,
          samples / 2.0, samples);
  }
  return true;
}

OctTestSettings
oct_test_settings_within (OctTestSettings settings, guint samples)
{
  OctTestSettings within = settings;
  within.depths.clear ();
  within.amplitudes.clear ();
  for (gsize i = 0; i < settings.depths.size (); i++) {
    if (!is_within (settings.depths[i], samples))
      continue;
    within.depths.push_back (settings.depths[i]);
    within.amplitudes.push_back (settings.amplitudes[i]);
  }
  return within;
}

bool
OctTestSpectra::open (GstOpenCLContext *from, GError **error)
{
  context = cl::Context (gst_opencl_context_get_handle (from), true);
  return spectra.create (from, resource, "spectra", nullptr, error)
         && tissue.create (from, resource, "tissue", nullptr, error);
}

bool
OctTestSpectra::configure (
    const OctTestSettings &settings, guint new_samples, guint new_lines, GError **error)
{
  samples = new_samples;
  lines = new_lines;
  if (!configure_samples (settings, error))
    return false;
  return settings.pattern == OCT_TEST_PATTERN_MIRRORS
             ? configure_mirrors (settings, error)
             : configure_tissue (settings, error);
}

bool
OctTestSpectra::upload (cl::Buffer &buffer, const void *data, gsize size, GError **error)
{
  cl_int code;
  buffer = cl::Buffer (context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
      const_cast<void *> (data), &code);
  if (!gst_opencl_check (code, "clCreateBuffer", error))
    return false;
  gst_opencl_count_upload (size);
  return true;
}

/* What of a fringe depends on the sample alone: where on the even grid it lies, the
 * dispersion there, and the light source's spectrum. */
bool
OctTestSpectra::configure_samples (const OctTestSettings &settings, GError **error)
{
  const WavenumberGrid grid = {settings.wavelength_min, settings.wavelength_max, samples};
  const bool flat = settings.pattern == OCT_TEST_PATTERN_MIRRORS;
  const gsize padded =
      (samples + samples_per_item - 1) / samples_per_item * samples_per_item;
  std::vector<cl_uint> positions (padded), phases (padded);
  std::vector<cl_float> envelopes (padded);

  for (guint j = 0; j < samples; j++) {
    const double m = grid.position (j);
    const double q = m - samples / 2.0;
    const double phase =
        settings.dispersion_a2 * q * q + settings.dispersion_a3 * q * q * q;
    const double off_centre = (2.0 * j / (samples - 1) - 1.0) / envelope_sigma;
    positions[j] = turns_from_double (m / samples);
    phases[j] = turns_from_double (phase / two_pi);
    envelopes[j] = flat ? 1.0f : cl_float (std::exp (-0.5 * off_centre * off_centre));
  }
  turns_per_bin = grid.wavenumber (0) / grid.step () / samples;
  return upload (position, positions.data (), padded * sizeof (cl_uint), error)
         && upload (dispersion, phases.data (), padded * sizeof (cl_uint), error)
         && upload (envelope, envelopes.data (), padded * sizeof (cl_float), error);
}

bool
OctTestSpectra::configure_mirrors (const OctTestSettings &settings, GError **error)
{
  std::vector<cl_uint4> mirrors;
  for (gsize i = 0; i < settings.depths.size (); i++)
    mirrors.push_back (scatterer_at (settings.depths[i], settings.amplitudes[i]));
  scatterers_per_line = static_cast<guint> (mirrors.size ());
  scatterer_pitch = 0;
  mirrors.resize (std::max<gsize> (mirrors.size (), 1)); /* no buffer is empty */
  return upload (scatterers, mirrors.data (), mirrors.size () * sizeof (cl_uint4), error);
}

bool
OctTestSpectra::configure_tissue (const OctTestSettings &settings, GError **error)
{
  depth_range = std::min (samples / 2.0, deepest_range);
  std::vector<cl_float8> table;
  for (const TissueLayer &layer : tissue_layers) {
    const double values[] = {layer.begins * depth_range, layer.undulation * depth_range,
        layer.cycles, layer.start, layer.backscatter, layer.attenuation / depth_range,
        layer.reflection, layer.reach * depth_range};
    cl_float8 entry;
    std::copy (std::begin (values), std::end (values), entry.s);
    table.push_back (entry);
  }

  const double cells = std::round (tissue_thickness * depth_range / bins_per_cell);
  scatterers_per_line = static_cast<guint> (cells);
  scatterer_pitch = scatterers_per_line;
  cl_int code;
  scatterers = cl::Buffer (context, CL_MEM_READ_WRITE,
      static_cast<gsize> (lines) * scatterers_per_line * sizeof (cl_uint4), nullptr,
      &code);
  return gst_opencl_check (code, "clCreateBuffer", error)
         && upload (layers, table.data (), table.size () * sizeof (cl_float8), error);
}

bool
OctTestSpectra::enqueue_tissue (const OctTestSettings &settings,
    const OctTestMoment &moment, cl_command_queue queue, GError **error)
{
  const double breath = std::sin (two_pi * breaths_per_second * moment.seconds);
  const double displacement = breath_depth * depth_range * breath;
  const cl_float4 place = {{cl_float (vessel[0]), cl_float (vessel[1] * depth_range),
      cl_float (vessel[2]), cl_float (vessel[3] * depth_range)}};
  const cl_float cell = cl_float (tissue_thickness * depth_range / scatterers_per_line);
  const cl_float grains = cl_float (std::min (1.0, grains_per_frame / lines));

  return tissue.launch (queue, scatterers_per_line, lines, error, layers,
      cl_uint (G_N_ELEMENTS (tissue_layers)), cl_uint (scatterers_per_line), cell, grains,
      place, turns_from_double (flow_turns_per_second * moment.seconds),
      cl_float (displacement), turns_from_double (displacement * turns_per_bin),
      cl_float (tissue_gain * settings.level), cl_uint (settings.seed), cl_uint (lines),
      scatterers);
}

bool
OctTestSpectra::enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
    const GstOpenCLFrame &frame, GError **error)
{
  const gsize sample_size = sizeof (cl_ushort);
  if (frame.offset[0] % sample_size || frame.stride[0] % sample_size)
    return setting_error (error,
        "offset %" G_GSIZE_FORMAT ", stride %d: expected whole samples of 2 bytes",
        frame.offset[0], frame.stride[0]);
  if (scatterer_pitch && !enqueue_tissue (settings, moment, frame.queue, error))
    return false;

  const cl_uint2 number = {{cl_uint (moment.frame), cl_uint (moment.frame >> 32)}};
  const gsize items = (samples + samples_per_item - 1) / samples_per_item;
  return spectra.launch (frame.queue, items, lines, error, position, dispersion, envelope,
      scatterers, cl_uint (scatterers_per_line), cl_uint (scatterer_pitch),
      cl_float (settings.level), cl_float (settings.noise), cl_uint (settings.seed),
      number, cl_uint (samples), cl_uint (lines), cl::Buffer (frame.data, true),
      cl_uint (frame.offset[0] / sample_size), cl_uint (frame.stride[0] / sample_size));
}
