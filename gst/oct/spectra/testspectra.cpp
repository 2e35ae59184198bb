/* Simulated spectra of octtestsrc: tables, phantom and kernels
 *
 * The model is the interferogram of a Fourier-domain OCT (Drexler and Fujimoto, Optical
 * Coherence Tomography: Technology and Applications, chapter 2), with one fringe per
 * scatterer. Interference between scatterers is left out.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testspectra.hpp"
#include "phaseunits.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <string>

namespace {
constexpr gsize group_samples = 8;    /* GROUP_SAMPLES of the kernels */
constexpr gsize cpu_groups = 8;       /* groups per work-item; 1 on a GPU */
constexpr guint still = 1, blood = 2; /* STILL and BLOOD of the kernels */
constexpr double two_pi = 6.283185307179586476925;

const char resource[] = "/org/freedesktop/gstreamer/opencl/oct/testspectra.cl";

/* Depths are fractions of the depth range. See Layer in the kernel source. */
struct TissueLayer {
  double begins, undulation, cycles, start;
  double backscatter, attenuation;
  double reflection, reach;
};

/* Resembles skin: a bright surface, a dark layer, and below a wavy junction brighter
 * tissue, which fades with depth and has one bright band. */
const TissueLayer tissue_layers[] = {
    {0.150, -0.050, 0.5, 0.0, 0.80, 3.0, 1.0, 0.003},
    {0.025, 0.003, 3.0, 0.1, 0.22, 2.0, 0.0, 0.001},
    {0.085, 0.007, 5.3, 0.3, 0.90, 4.0, 0.8, 0.004},
    {0.270, 0.012, 1.7, 0.6, 0.40, 4.0, 0.0, 0.001},
    {0.390, 0.010, 1.2, 0.2, 1.60, 3.0, 0.5, 0.004},
    {0.430, 0.014, 1.5, 0.7, 0.50, 9.0, 0.0, 0.001},
};
constexpr double tissue_thickness = 0.66;
constexpr double tissue_gain = 0.02; /* mean fringe amplitude of a grain / level */

/* Denser than the axial resolution, so that the speckle is fully developed. */
constexpr double bins_per_cell = 2.5;
constexpr double grains_per_frame = 160.0;
constexpr double deepest_range = 1024.0; /* maximum depth range, in depth bins */
constexpr guint still_strip = 1024;      /* A-lines that are summed up at once */

/* Sigma of the light source's Gaussian spectrum, relative to half the samples */
constexpr double envelope_sigma = 0.5;

constexpr double breaths_per_second = 0.3;
constexpr double breath_depth = 0.002;
constexpr double flow_turns_per_second = 0.8; /* for the slowest blood */

/* Blood vessel, in fractions of a frame's width and of the depth range */
struct Vessel {
  double middle, below, half_width, half_height;

  /* Returns half the length of an A-line inside the vessel; negative outside. Slightly
   * too wide, because the kernel uses single precision. */
  double half_chord (double across) const
  {
    const double away = (across - middle) / (1.0001 * half_width);
    return away * away < 1 ? half_height * std::sqrt (1 - away * away) : -1;
  }
};
const Vessel vessel = {0.66, 0.185, 0.085, 0.050};

/* Position of samples at even wavelengths on the grid of even wavenumbers */
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
/* Two planes of static tissue may take up to a quarter of the device memory.
 * GST_OPENCL_KEEP_TISSUE=0 in the environment disables them. */
gsize
find_largest_plane (GstOpenCLContext *context)
{
  const gchar *value = g_getenv ("GST_OPENCL_KEEP_TISSUE");
  if (value && strcmp (value, "0") == 0)
    return 0;
  return std::min (opencl::device_info<cl_ulong> (context, CL_DEVICE_GLOBAL_MEM_SIZE) / 8,
      opencl::device_info<cl_ulong> (context, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
}
} // namespace

bool
oct_test_settings_validate (const OctTestSettings &settings, GError **error)
{
  if (!(settings.wavelength_min > 0 && settings.wavelength_max > 0
          && settings.wavelength_min != settings.wavelength_max))
    return setting_error (error,
        "wavelength-min %g and wavelength-max %g: expected two different values above 0",
        settings.wavelength_min, settings.wavelength_max);
  if (settings.depths.size () != settings.amplitudes.size ())
    return setting_error (error,
        "amplitudes: %zu values, expected %zu (one for each depth)",
        settings.amplitudes.size (), settings.depths.size ());
  const bool flat = settings.pattern == OCT_TEST_PATTERN_FLAT;
  if (flat && settings.depths.empty ())
    return setting_error (error, "depths: no value, expected one (pattern=flat)");
  if (!settings.truth_folder.empty () && !flat
      && settings.pattern != OCT_TEST_PATTERN_TISSUE)
    return setting_error (error, "truth-folder: expected pattern=tissue or pattern=flat");
  return true;
}

static bool
is_within (double depth, guint samples)
{
  return depth >= 0 && depth <= samples / 2.0;
}

static bool
validate_tissue (
    const OctTestSettings &settings, guint samples, guint lines, GError **error)
{
  const double most = 1 << 22; /* A-lines of the phantom, about 700 MB of tables */
  const double columns =
      oct::tissue_columns (settings, oct::tissue_scan_of (settings, samples, lines));
  if (columns <= most && double (settings.b_scans) * lines <= most)
    return true;
  return setting_error (error,
      "b-scans %u, %u A-lines, line-step %g, b-scan-step %g: the volume is too large",
      settings.b_scans, lines, settings.line_step, settings.b_scan_step);
}

static bool
validate_depth (double depth, guint samples, GError **error)
{
  return is_within (depth, samples)
         || setting_error (error,
             "depths: %g, expected 0 to %g (half of %u samples per A-line)", depth,
             samples / 2.0, samples);
}

bool
oct_test_settings_validate_for (
    const OctTestSettings &settings, guint samples, guint lines, GError **error)
{
  if (!oct_test_settings_validate (settings, error))
    return false;
  switch (settings.pattern) {
  case OCT_TEST_PATTERN_LAYERS:
    return true;
  case OCT_TEST_PATTERN_TISSUE:
    return validate_tissue (settings, samples, lines, error);
  case OCT_TEST_PATTERN_FLAT:
    return validate_tissue (settings, samples, lines, error)
           && validate_depth (settings.depths[0], samples, error);
  default:
    return std::all_of (settings.depths.begin (), settings.depths.end (),
        [&] (double depth) { return validate_depth (depth, samples, error); });
  }
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
  context = from;
  largest_plane = find_largest_plane (from);
  groups_per_item = opencl::is_cpu (from) ? cpu_groups : 1;
  options = "-DGROUPS=" + std::to_string (groups_per_item);
  return mirrors.create (from, resource, "mirrors", options.c_str (), error)
         && tissue.create (from, resource, "tissue", options.c_str (), error)
         && still_tissue.create (from, resource, "still_tissue", options.c_str (), error)
         && phase_factor.create (from, resource, "phase_factor", options.c_str (), error)
         && layers_of_tissue.create (
             from, resource, "layers_of_tissue", options.c_str (), error);
}

bool
OctTestSpectra::configure (
    const OctTestSettings &settings, guint new_samples, guint new_lines, GError **error)
{
  samples = new_samples;
  lines = new_lines;
  pattern = settings.pattern;
  const gsize item = group_samples * groups_per_item;
  groups = (samples + item - 1) / item * groups_per_item;
  if (!configure_samples (settings, error))
    return false;
  switch (pattern) {
  case OCT_TEST_PATTERN_MIRRORS:
    return configure_mirrors (settings, error);
  case OCT_TEST_PATTERN_LAYERS:
    return configure_tissue (settings, error);
  default:
    return configure_places (settings, error)
           && volume.open (context, options.c_str (), error)
           && volume.configure (settings, sample_tables (), error);
  }
}

oct::SampleTables
OctTestSpectra::sample_tables () const
{
  return {position (), dispersion (), envelope (), groups, groups_per_item, samples,
      lines, turns_per_bin, line_places};
}

bool
OctTestSpectra::upload (cl::Buffer &buffer, const void *data, gsize size, GError **error)
{
  buffer = opencl::make_table (context, data, size, error);
  return buffer () != nullptr;
}

bool
OctTestSpectra::allocate (cl::Buffer &buffer, gsize size, GError **error)
{
  /* OpenCL has no empty buffers. */
  return opencl::make_buffer (context, std::max<gsize> (size, 16), buffer, error);
}

/* Part of a fringe that depends on the sample alone: position on the even grid,
 * dispersion, and spectrum of the light source */
bool
OctTestSpectra::configure_samples (const OctTestSettings &settings, GError **error)
{
  const WavenumberGrid grid = {settings.wavelength_min, settings.wavelength_max, samples};
  const bool flat = settings.pattern == OCT_TEST_PATTERN_MIRRORS;
  const gsize padded = groups * group_samples;
  std::vector<cl_uint> positions (padded), phases (padded);
  std::vector<cl_float> envelopes (padded);

  for (guint j = 0; j < samples; j++) {
    const double m = grid.position (j);
    const double off_centre = (2.0 * j / (samples - 1) - 1.0) / envelope_sigma;
    positions[j] = turns_from_double (m / samples);
    phases[j] = turns_from_double (dispersion_at (settings, m) / two_pi);
    envelopes[j] = flat ? 1.0f : cl_float (std::exp (-0.5 * off_centre * off_centre));
  }
  turns_per_bin = grid.wavenumber (0) / grid.step () / samples;
  bin_step = two_pi / 2 / (std::abs (grid.step ()) * samples);
  return upload (position, positions.data (), padded * sizeof (cl_uint), error)
         && upload (dispersion, phases.data (), padded * sizeof (cl_uint), error)
         && upload (envelope, envelopes.data (), padded * sizeof (cl_float), error);
}

double
OctTestSpectra::dispersion_at (const OctTestSettings &settings, double m) const
{
  const double q = m - samples / 2.0;
  return settings.dispersion_a2 * q * q + settings.dispersion_a3 * q * q * q;
}

/* Mirrors do not move. Their fringes are a table, computed in double precision. */
bool
OctTestSpectra::configure_mirrors (const OctTestSettings &settings, GError **error)
{
  const WavenumberGrid grid = {settings.wavelength_min, settings.wavelength_max, samples};
  std::vector<cl_float> table (groups * group_samples);

  for (guint j = 0; j < samples; j++) {
    const double m = grid.position (j);
    const double phase = dispersion_at (settings, m);
    double sum = 0;
    for (gsize i = 0; i < settings.depths.size (); i++)
      sum +=
          settings.amplitudes[i]
          * std::cos (two_pi * std::fmod (settings.depths[i] * m / samples, 1) + phase);
    table[j] = cl_float (sum);
  }
  return upload (fringes, table.data (), table.size () * sizeof (cl_float), error);
}

/* Returns the lateral position of a line in a sinusoidal scan. */
double
OctTestSpectra::place_of (const OctTestSettings &settings, guint line) const
{
  if (settings.sinusoidal == 0 || lines < 2)
    return line;
  const double edge = settings.sinusoidal * two_pi / 4, last = lines - 1;
  return (std::sin (edge * (2 * line / last - 1)) / std::sin (edge) + 1) / 2 * last;
}

bool
OctTestSpectra::configure_places (const OctTestSettings &settings, GError **error)
{
  line_places.clear ();
  for (guint line = 0; line < lines; line++)
    line_places.push_back (cl_float (place_of (settings, line)));
  return upload (
      places, line_places.data (), line_places.size () * sizeof (cl_float), error);
}

bool
OctTestSpectra::configure_tissue (const OctTestSettings &settings, GError **error)
{
  depth_range = std::min (samples / 2.0, deepest_range);
  cells = guint (std::round (tissue_thickness * depth_range / bins_per_cell));
  std::vector<cl_float8> table;
  for (const TissueLayer &layer : tissue_layers) {
    const double values[] = {layer.begins * depth_range, layer.undulation * depth_range,
        layer.cycles, layer.start, layer.backscatter, layer.attenuation / depth_range,
        layer.reflection, layer.reach * depth_range};
    cl_float8 entry;
    std::copy (std::begin (values), std::end (values), entry.s);
    table.push_back (entry);
  }
  return upload (layers, table.data (), table.size () * sizeof (cl_float8), error)
         && configure_places (settings, error) && configure_still (error)
         && configure_moving (error);
}

/* Static scatterers are summed up once if there is enough memory for the result.
 * Otherwise all scatterers count as moving. */
bool
OctTestSpectra::configure_still (GError **error)
{
  const gsize plane = groups * group_samples * sizeof (cl_float);
  still_is_made = false;
  keeps_still = plane * lines <= largest_plane;
  return allocate (factor_real, plane, error) && allocate (factor_imaginary, plane, error)
         && allocate (still_real, keeps_still ? plane * lines : 0, error)
         && allocate (still_imaginary, keeps_still ? plane * lines : 0, error);
}

/* Finds a box around all moving scatterers, and the cells of each A-line in it. Margins
 * are generous, because scatterers outside of the vessel have amplitude 0. */
bool
OctTestSpectra::configure_moving (GError **error)
{
  const double cell = tissue_thickness / cells;
  const auto cell_at = [&] (double below) {
    return guint (std::clamp (below / cell, 0.0, double (cells)));
  };
  moving = {{0, cells, 0, lines}};
  if (keeps_still) {
    const auto line_at = [&] (double across) {
      return double (std::lower_bound (line_places.begin (), line_places.end (),
                         cl_float (across * lines))
                     - line_places.begin ());
    };
    const double first = line_at (vessel.middle - vessel.half_width) - 1;
    const double last = line_at (vessel.middle + vessel.half_width);
    moving.s[0] = cell_at (vessel.below - vessel.half_height - cell);
    moving.s[1] = cell_at (vessel.below + vessel.half_height + 2 * cell) - moving.s[0];
    moving.s[2] = guint (std::clamp (first - 1, 0.0, lines - 1.0));
    moving.s[3] = guint (std::clamp (last + 2, 0.0, double (lines))) - moving.s[2];
  }

  std::vector<cl_uint2> reaches;
  for (guint row = 0; row < moving.s[3]; row++) {
    const double chord =
        vessel.half_chord ((line_places[moving.s[2] + row] + 0.5) / lines);
    const guint begins = cell_at (vessel.below - chord - cell);
    const guint ends = cell_at (vessel.below + chord + 2 * cell);
    if (!keeps_still)
      reaches.push_back ({{0, cells}});
    else if (chord < 0)
      reaches.push_back ({{0, 0}});
    else
      reaches.push_back ({{begins - moving.s[0], ends - begins}});
  }
  return upload (reach, reaches.data (), reaches.size () * sizeof (cl_uint2), error)
         && allocate (moving_scatterers,
             gsize (moving.s[1]) * moving.s[3] * sizeof (cl_uint4), error);
}

bool
OctTestSpectra::enqueue_scatterers (cl_command_queue queue, guint seed, guint kinds,
    const Motion &motion, const cl_uint4 &box, cl_mem to, GError **error)
{
  const cl_float4 place = {
      {cl_float (vessel.middle), cl_float (vessel.below * depth_range),
          cl_float (vessel.half_width), cl_float (vessel.half_height * depth_range)}};
  const cl_float cell = cl_float (tissue_thickness * depth_range / cells);
  const cl_float grains = cl_float (std::min (1.0, grains_per_frame / lines));
  return tissue.launch (queue, box.s[1], box.s[3], error, layers (),
      cl_uint (G_N_ELEMENTS (tissue_layers)), cell, grains, place, cl_uint (kinds),
      motion.flow, motion.displacement, motion.displacement_phase, cl_float (tissue_gain),
      cl_uint (seed), cl_uint (lines), places (), motion.advances, motion.start,
      motion.step, motion.start_phase, motion.step_phase, motion.reversed, box, to);
}

/* Processes strips of A-lines, so that their scatterers take little memory. */
bool
OctTestSpectra::enqueue_still (
    cl_command_queue queue, guint seed, bool flows, GError **error)
{
  if (!keeps_still || (still_is_made && still_seed == seed && still_flows == flows))
    return true;
  Motion motion;
  motion.advances = flows;
  const guint strip = std::min (lines, still_strip);
  cl::Buffer scatterers;
  if (!allocate (scatterers, gsize (strip) * cells * sizeof (cl_uint4), error))
    return false;
  for (guint first = 0; first < lines; first += strip) {
    const cl_uint4 box = {{0, cells, first, std::min (strip, lines - first)}};
    if (!enqueue_scatterers (queue, seed, still, motion, box, scatterers (), error)
        || !still_tissue.launch (queue, groups, box.s[3], error, position (),
            scatterers (), box, cl_uint (groups), still_real (), still_imaginary ()))
      return false;
  }
  still_is_made = true;
  still_seed = seed;
  still_flows = flows;
  return true;
}

OctTestSpectra::Motion
OctTestSpectra::motion_at (
    const OctTestSettings &settings, const OctTestMoment &moment) const
{
  const double breath = std::sin (two_pi * breaths_per_second * moment.seconds);
  const double displacement = breath_depth * depth_range * breath;
  Motion motion;
  motion.displacement = fixed_depth (displacement);
  motion.displacement_phase = turns_from_double (displacement * turns_per_bin);
  motion.reversed = settings.bidirectional && moment.frame % 2;
  if (settings.velocity == 0) {
    motion.flow = turns_from_double (flow_turns_per_second * moment.seconds);
    return motion;
  }

  /* mm/s are 1e6 nm/s */
  const double bins_per_second = settings.velocity * 1e6 / bin_step;
  const double cell = tissue_thickness * depth_range / cells;
  motion.advances = 1;
  motion.start = fixed_number (bins_per_second * moment.seconds / cell);
  motion.step = fixed_number (bins_per_second * moment.line_seconds / cell);
  motion.start_phase =
      turns_from_double (bins_per_second * moment.seconds * turns_per_bin);
  motion.step_phase =
      turns_from_double (bins_per_second * moment.line_seconds * turns_per_bin);
  return motion;
}

/* Enqueues the kernels that fill the input buffers of layers_of_tissue. */
bool
OctTestSpectra::enqueue_tissue (const OctTestSettings &settings,
    const OctTestMoment &moment, cl_command_queue queue, GError **error)
{
  const Motion motion = motion_at (settings, moment);
  return enqueue_still (queue, settings.seed, motion.advances, error)
         && phase_factor.launch (queue, groups, 1, error, position (), dispersion (),
             envelope (), motion.displacement, motion.displacement_phase,
             cl_uint (groups), factor_real (), factor_imaginary ())
         && enqueue_scatterers (queue, settings.seed, keeps_still ? blood : still | blood,
             motion, moving, moving_scatterers (), error);
}

bool
OctTestSpectra::enqueue (const OctTestSettings &settings, const OctTestMoment &moment,
    const GstOpenCLFrame &frame, GError **error)
{
  const gsize sample_size = sizeof (cl_ushort);
  if (frame.offset[0] % sample_size || frame.stride[0] % sample_size)
    return setting_error (error,
        "offset %" G_GSIZE_FORMAT ", stride %d: expected multiples of 2 bytes",
        frame.offset[0], frame.stride[0]);

  const gsize items = groups / groups_per_item;
  const cl_float level = cl_float (settings.level), noise = cl_float (settings.noise);
  const cl_uint seed = settings.seed;
  const cl_uint2 number = {{cl_uint (moment.frame), cl_uint (moment.frame >> 32)}};
  const cl_uint offset = frame.offset[0] / sample_size;
  const cl_uint stride = frame.stride[0] / sample_size;
  if (pattern == OCT_TEST_PATTERN_MIRRORS)
    return mirrors.launch (frame.queue, items, lines, error, envelope (), fringes (),
        level, noise, seed, number, cl_uint (samples), cl_uint (lines), offset, stride,
        frame.data);
  if (pattern != OCT_TEST_PATTERN_LAYERS)
    return volume.enqueue (settings, moment, sample_tables (), frame, error);
  return enqueue_tissue (settings, moment, frame.queue, error)
         && layers_of_tissue.launch (frame.queue, items, lines, error, position (),
             dispersion (), envelope (), factor_real (), factor_imaginary (),
             cl_uint (keeps_still), still_real (), still_imaginary (), cl_uint (groups),
             moving, reach (), moving_scatterers (),
             cl_uint (settings.bidirectional && moment.frame % 2), level, noise, seed,
             number, cl_uint (samples), cl_uint (lines), offset, stride, frame.data);
}
