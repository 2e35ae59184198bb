/* octattenuation: depth-resolved attenuation coefficient
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octattenuation
 *
 * Computes the attenuation coefficient μ at each depth in 1/mm, from complex depths or
 * from linear amplitudes. Real depths without a `quantity` in the caps are taken as
 * amplitudes. Light is attenuated on its way down and back, so intensity
 * falls as exp(-2μz).
 *
 * The method is that of Vermeer et al. (Biomed. Opt. Express 5, 322, 2014). With the
 * intensity J of depth i and the depth step Δ,
 *
 * μ_i = ln (1 + J_i / Σ J_j) / (2Δ), with the sum over all depths j below i.
 *
 * It assumes that all light is attenuated within the A-line, and that the fraction of the
 * attenuated light that is scattered back is the same at all depths. For light that
 * remains at the end, the sum continues below the end (Liu et al., J. Biomed. Opt. 24,
 * 035002, 2019): as the exponential decay between the last two groups of `end-depths`
 * depths, or with the coefficient `end-attenuation`. A decay within two standard
 * deviations of speckle and noise is ignored.
 *
 * The sum ends at the last block of 32 depths whose mean exceeds the noise by three
 * standard deviations. The output is 0 below the last block with a signal-to-noise ratio
 * of `min-snr`.
 *
 * J is the intensity, corrected in this order:
 *
 * - less the noise: `noise-floor`, or the mean of the last `noise-depths` depths of the
 *   frame. The level of noise in dB is that of octfft for the same amplitude. The last
 *   quarter of the depth range has up to 1.7 dB less noise, as octwindowinterp's
 *   interpolation takes it away there. If coefficients matter near the noise, measure its
 *   level over the depths of the sample, with the sample arm blocked.
 * - averaged over a window of `window-depths` × `window-lines`, cropped at the edges.
 * - without roll-off: `roll-off` in dB per mm, or a file with a loss in dB for each
 *   depth, counted from bin 0.
 * - without the confocal function 1 / (1 + ((z - z_f) / z_R)²). z_f is `focus-depth`, and
 *   z_R is `rayleigh-range`, the apparent one. In scattering media it is twice that of the
 *   beam (van Leeuwen et al., IEEE J. Sel. Top. Quantum Electron. 9, 227, 2003).
 *
 * Speckle biases μ: averages over more A-lines or frames are closer. Besides the window,
 * `octaverage mean=linear` averages frames and A-lines of amplitudes. Since intensity is
 * needed here, prefer the window, or average the output.
 *
 * The depth step is `depth-step` of the caps, which octwindowinterp sets if
 * `wavelength-unit` is set, or the property. With `refractive-index` of octfft it is the
 * step within the sample. Values can be negative where noise exceeds the signal.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433
 * wavelength-unit=nm ! octfft refractive-index=1.38 ! octattenuation noise-depths=64
 * window-lines=8 window-depths=4 ! octdisplay max=10 ! openclconvert colormap=viridis !
 * opencldownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "calibration/valuesfile.hpp"
#include "depth/depthfilter.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octattenuation.cl"
#define KERNELS_CPU "/org/freedesktop/gstreamer/opencl/oct/octattenuation_cpu.cl"

/* Decibels are refused with a reason. The quantities exclude attenuation, which would
 * otherwise be chosen first, as caps that need no change. */
OCT_PADS (OCT_DEPTH_CAPS ("CF32LE") "; " OCT_DEPTH_CAPS (
              "F32LE") ", quantity=(string){amplitude, decibels}",
    OCT_DEPTH_CAPS ("F32LE"));

namespace {
const guint most_window = 64, most_depths = 32768;
const guint noise_lines = 256; /* A-lines in which the noise is measured */
/* Maximum number of depths of an A-line that is averaged in local memory: two values each,
 * of 16 KiB in all, which every device has */
const gsize most_local_depths = 2048, usual_depths = 1024;
/* A work-item of find_averaged_attenuation on a CPU processes as many A-lines as these
 * values allow, but not more than cpu_lines. */
const gsize cpu_values = 32768, cpu_lines = 16;
const double least_snr = -1000, most_snr = 1000;
const double most_length = 1e9; /* µm */

struct AttenuationSettings {
  double depth_step = 0;
  double noise_floor = oct::least_threshold;
  guint noise_depths = 0;
  double min_snr = 0;
  double roll_off = 0;
  std::string roll_off_file;
  double focus_depth = 0;
  double rayleigh_range = 0;
  guint end_depths = 64;
  double end_attenuation = 0;
  guint window_depths = 1;
  guint window_lines = 1;

  bool averages () const { return window_depths * window_lines > 1; }
};

struct AttenuationState {
  GstOpenCLContext *context = nullptr;
  opencl::Kernel noise_kernel, average_kernel, find_kernel;
  cl::Buffer noise, gains;
  opencl::WorkBuffer averaged;
  bool on_cpu = false;
  gsize group = 1; /* work-group size of the kernels */
  /* For which the kernels were built: complex input, averages, depths */
  std::optional<std::tuple<bool, bool, gsize>> created;
};

class Attenuation : public oct::DepthFilterOf<AttenuationSettings, AttenuationState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::CapsChange change_for (const AttenuationSettings &wanted) const override;
  bool check (const AttenuationSettings &wanted, GError **error) const override;

private:
  double step_of (const AttenuationSettings &settings) const
  {
    return settings.depth_step > 0 ? settings.depth_step : input.depth_step;
  }
  /* On a GPU, find_kernel averages A-lines that fit into local memory. */
  bool averages_apart () const
  {
    return in_force.averages () && !on_cpu && input.depths > most_local_depths;
  }
  bool load_losses (const AttenuationSettings &settings, std::vector<double> &losses,
      GError **error) const;
  std::vector<cl_float> gains_of (const std::vector<double> &losses) const;
  bool create (GstOpenCLContext *context, GError **error);
  bool create_for_cpu (const std::string &options, GError **error);
  bool create_for_gpu (const std::string &options, GError **error);
  gsize lines_of_item () const;
  bool make_tables (GstOpenCLContext *context, GError **error);
  bool measure (const GstOpenCLFrame *from, cl_command_queue queue, GError **error);
  bool average (const GstOpenCLFrame *from, cl_command_queue queue, GError **error);
  bool find (const GstOpenCLFrame *from, const GstOpenCLFrame *to, cl_command_queue queue,
      GError **error);
};

oct::CapsChange
Attenuation::change_for (const AttenuationSettings &wanted) const
{
  oct::CapsChange change;
  change.to = "F32LE";
  change.quantity = "attenuation";
  return change;
}

bool
Attenuation::load_losses (const AttenuationSettings &settings,
    std::vector<double> &losses, GError **error) const
{
  const oct::ValuesFile file = {"roll-off-file", settings.roll_off_file};
  losses.assign (input.depths, 0);
  return !file.given ()
         || oct::values_file_load_range (
             file, input.first_depth, input.depths, losses, error);
}

bool
Attenuation::check (const AttenuationSettings &wanted, GError **error) const
{
  std::vector<double> losses;
  const char *expected = nullptr;
  if (input.quantity == "decibels")
    expected = "the input is in decibels, expected CF32LE or scale=linear of octfft";
  else if (!(step_of (wanted) > 0))
    expected =
        "the depth step is unknown, expected wavelength-unit of octwindowinterp, or "
        "depth-step in micrometres";
  else if (wanted.noise_depths >= input.depths)
    expected = "noise-depths has all depths of an A-line, expected fewer";
  else if (wanted.noise_depths > 0 && wanted.noise_floor > oct::least_threshold)
    expected = "noise-depths and noise-floor are set, expected one of them";
  else if (!wanted.roll_off_file.empty () && wanted.roll_off != 0)
    expected = "roll-off-file and roll-off are set, expected one of them";
  if (!expected)
    return load_losses (wanted, losses, error);
  return REFUSE_SETTINGS (error, "%s", expected);
}

/* Returns factors that take roll-off and focus off the intensity. */
std::vector<cl_float>
Attenuation::gains_of (const std::vector<double> &losses) const
{
  const double step = step_of (in_force);
  std::vector<cl_float> factors;
  for (gsize n = 0; n < losses.size (); n++) {
    const double depth = step * double (input.first_depth + n);
    const double loss = losses[n] + in_force.roll_off * depth / 1000;
    const double away = in_force.rayleigh_range > 0
                            ? (depth - in_force.focus_depth) / in_force.rayleigh_range
                            : 0;
    factors.push_back (cl_float (std::pow (10, loss / 10) * (1 + away * away)));
  }
  return factors;
}

static std::string
group_option (gsize group)
{
  return " -DGROUP=" + std::to_string (group);
}

gsize
Attenuation::lines_of_item () const
{
  return std::clamp<gsize> (cpu_values / input.depths, 1, cpu_lines);
}

/* Builds the kernel for a CPU. It needs no memory for averages. */
bool
Attenuation::create_for_cpu (const std::string &options, GError **error)
{
  std::string all =
      options + " -DLANES=" + std::to_string (opencl::float_lanes (context));
  if (in_force.averages ())
    all += " -DAVERAGED -DMAX_WINDOW=" + std::to_string (most_window)
           + " -DLINES=" + std::to_string (lines_of_item ())
           + " -DDEPTHS=" + std::to_string (input.depths);
  return find_kernel.create (context, KERNELS_CPU,
      in_force.averages () ? "find_averaged_attenuation" : "find_attenuation", all,
      error);
}

/* Builds the kernels for the largest work-groups that the device runs. */
bool
Attenuation::create_for_gpu (const std::string &options, GError **error)
{
  std::string averages = in_force.averages () ? " -DAVERAGED" : "";
  if (in_force.averages () && !averages_apart ())
    averages +=
        " -DWINDOWED -DDEPTHS="
        + std::to_string (input.depths > usual_depths ? most_local_depths : usual_depths);
  for (group = 256; group > opencl::largest_group (context);)
    group /= 2;
  const bool built = opencl::build_for_group (group, {&find_kernel}, [&] {
    return find_kernel.create (context, KERNELS, "find_attenuation",
        options + averages + group_option (group), error);
  });
  if (!built)
    return false;
  return !averages_apart ()
         || average_kernel.create (context, KERNELS, "average_intensity",
             options + group_option (group), error);
}

bool
Attenuation::create (GstOpenCLContext *of, GError **error)
{
  const std::string options = input.complex ? "-DCOMPLEX" : "-DAMPLITUDES";
  const auto wanted = std::make_tuple (input.complex, in_force.averages (), input.depths);
  if (created == wanted)
    return true;
  created.reset ();
  context = of;
  on_cpu = opencl::is_cpu (context);
  group = 1;
  if (!(on_cpu ? create_for_cpu (options, error) : create_for_gpu (options, error))
      || !noise_kernel.create (
          context, KERNELS, "measure_noise", options + group_option (group), error))
    return false;
  created = wanted;
  return true;
}

bool
Attenuation::make_tables (GstOpenCLContext *context, GError **error)
{
  std::vector<double> losses;
  if (!load_losses (in_force, losses, error))
    return false;
  const cl_float level = in_force.noise_floor > oct::least_threshold
                             ? oct::power_of_threshold (in_force.noise_floor)
                             : 0;
  noise = opencl::make_filled_buffer (context, &level, sizeof level, error);
  return noise () && opencl::make_table (context, gains_of (losses), gains, error);
}

bool
Attenuation::prepare (GstOpenCLContext *of, GError **error)
{
  return create (of, error) && make_tables (of, error)
         && averaged.resize (of,
             averages_apart () ? sizeof (cl_float) * input.depths * input.lines : 0,
             error);
}

bool
Attenuation::measure (const GstOpenCLFrame *from, cl_command_queue queue, GError **error)
{
  const gsize every = (input.lines + noise_lines - 1) / noise_lines;
  return in_force.noise_depths == 0
         || noise_kernel.launch_groups (queue, 1, group, error, from->data,
             cl_ulong (from->offset[0]), cl_uint (input.depths), cl_uint (input.lines),
             cl_uint (input.depths - in_force.noise_depths), cl_uint (every), noise ());
}

/* Averages the frame for find(), on a GPU. */
bool
Attenuation::average (const GstOpenCLFrame *from, cl_command_queue queue, GError **error)
{
  return !averages_apart ()
         || average_kernel.launch (queue, input.depths, input.lines, error, from->data,
             cl_ulong (from->offset[0]), cl_uint (input.depths), cl_uint (input.lines),
             cl_uint (in_force.window_depths), cl_uint (in_force.window_lines), noise (),
             averaged ());
}

bool
Attenuation::find (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const bool averages = in_force.averages (), is_averaged = averages_apart ();
  const double step = step_of (in_force) / 1000; /* mm */
  cl_uint index = 0;
  auto set = [&] (const auto &...values) {
    return (find_kernel.set (index, values, error) && ...);
  };
  if (!set (is_averaged ? averaged () : from->data,
          cl_ulong (is_averaged ? 0 : from->offset[0]))
      || (averages && !is_averaged
          && !set (cl_uint (in_force.window_depths), cl_uint (in_force.window_lines)))
      || !set (noise (), gains (), cl_uint (input.depths), cl_uint (input.lines),
          cl_uint (in_force.end_depths),
          cl_float (std::min<gsize> (in_force.window_lines, input.lines)),
          cl_float (oct::power_of_threshold (in_force.min_snr)),
          cl_float (2 * step * in_force.end_attenuation), cl_float (1 / (2 * step)),
          to->data, cl_ulong (to->offset[0])))
    return false;
  if (!on_cpu)
    return find_kernel.launch_groups (queue, input.lines, group, error);
  const gsize every = averages ? lines_of_item () : 1;
  return find_kernel.enqueue_groups (
      queue, {(input.lines + every - 1) / every, 1, 1}, error);
}

bool
Attenuation::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  return measure (from, queue, error) && average (from, queue, error)
         && find (from, to, queue, error);
}
} // namespace

const opencl::PropertyTable<AttenuationSettings> properties = {
    {"depth-step", "Depth step",
        "Distance between depths in micrometres (0 = depth-step of the caps)",
        &AttenuationSettings::depth_step, {0, most_length}, opencl::playing},
    {"noise-floor", "Noise floor",
        "Noise level in dB, subtracted as intensity (-1000 = none)",
        &AttenuationSettings::noise_floor, {oct::least_threshold, oct::most_threshold},
        opencl::playing},
    {"noise-depths", "Depths of noise",
        "Number of last depths that contain only noise, whose mean intensity is "
        "subtracted in each frame (0 = noise-floor)",
        &AttenuationSettings::noise_depths, {0, most_depths}, opencl::playing},
    {"min-snr", "Minimum signal-to-noise ratio",
        "Minimum signal-to-noise ratio in dB, averaged over 32 depths; the output is 0 "
        "below the last depths that reach it",
        &AttenuationSettings::min_snr, {least_snr, most_snr}, opencl::playing},
    {"roll-off", "Roll-off", "Loss of sensitivity in dB per mm of depth",
        &AttenuationSettings::roll_off, {-1000, 1000}, opencl::playing},
    {"roll-off-file", "Roll-off file",
        "File with the loss of sensitivity in dB at each depth, from bin 0 on or from "
        "the first depth on, instead of roll-off",
        &AttenuationSettings::roll_off_file, opencl::playing},
    {"focus-depth", "Depth of the focus",
        "Depth of the focus in micrometres (if rayleigh-range is not 0)",
        &AttenuationSettings::focus_depth, {-most_length, most_length}, opencl::playing},
    {"rayleigh-range", "Rayleigh range",
        "Apparent Rayleigh range in micrometres, at which the intensity is half that of "
        "the focus (0 = no correction)",
        &AttenuationSettings::rayleigh_range, {0, most_length}, opencl::playing},
    {"end-depths", "Depths of the fit at the end",
        "Number of depths in each of the last two groups of an A-line, whose decay gives "
        "the light from below its end (0 = no light from below)",
        &AttenuationSettings::end_depths, {0, most_depths}, opencl::playing},
    {"end-attenuation", "Attenuation below the end",
        "Attenuation coefficient below the end in 1/mm (0 = from the decay)",
        &AttenuationSettings::end_attenuation, {0, 1e6}, opencl::playing},
    {"window-depths", "Window depths", "Number of depths that are averaged",
        &AttenuationSettings::window_depths, {1, most_window}, opencl::playing},
    {"window-lines", "Window A-lines", "Number of A-lines that are averaged",
        &AttenuationSettings::window_lines, {1, most_window}, opencl::playing},
};

static const oct::DepthElement<Attenuation> element = {"GstOctAttenuation",
    &sink_template, &src_template, properties, "OCT attenuation",
    "Computes attenuation coefficients from OCT depths on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octattenuation, element)
