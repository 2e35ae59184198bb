/* octdynamic: dynamics of tissue from repeated B-scans
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octdynamic
 *
 * Measures how the light of each depth fluctuates over N repeated B-scans of depths
 * (`repeats`), as dynamic OCT does. There is one output frame for each group of repeats.
 * I is the level 10 log10 |X|² of the complex bins X, in dB. The quantities are:
 *
 * - `liv`: logarithmic intensity variance, the mean of (I - mean I)² in dB² (El-Sadek et
 *   al. 2020, Biomed. Opt. Express 11, 6231)
 * - `ocds-early` and `ocds-late`: OCT correlation decay speed in 1/s (the same paper). It
 *   is the negated slope, by linear regression over a range of delays, of the correlation
 *   coefficient between I (t) and I (t + delay). The early range is from one frame to
 *   `early-delay`, the late one from there to `late-delay`
 * - `aliv` and `swiftness`: authentic LIV in dB² and swiftness in 1/s (Morishita et al.
 *   2024, arXiv:2412.09351). The mean LIV of all windows of 2, 3, … N frames rises with
 *   their length T. Its least-squares fit A (1 - exp (-s T)) has the height A, the
 *   authentic LIV, and the rate s, the swiftness. With `average-curve`, the curve is first
 *   averaged over 3 × 3 depths and A-lines, as the authors' library does. At an end of
 *   the frame the missing neighbour is that of the other side
 * - `mean-frequency`: mean of the frequencies in Hz, weighted with the power spectrum of
 *   the amplitude |X| less its mean (Scholler et al. 2020, Light Sci. Appl. 9, 140)
 * - `bands`: power of that spectrum in three frequency bands, which `low-end` and
 *   `middle-end` separate (Münter et al. 2020, Opt. Lett. 45, 4766). An image has all
 *   three. float32 has the power up to `low-end`: outputs of two `low-end` differ by the
 *   power between them. Up to half of the frame rate, it is the variance of the amplitude
 *
 * Light of moving scatterers alone has a `liv` of 31 dB², the variance of the logarithm of
 * an exponential distribution. Noise fluctuates too, so dark parts have a high `liv`.
 * `swiftness` is from a tenth of the inverse duration of the repeats to 3 times the frame
 * rate. At the lower limit, `aliv` has no plateau within the repeats and is uncertain.
 * A depth is not measured, and NaN, if a repeat of it is NaN or infinite, if all are zero
 * or, for quantities from levels in dB, if one is zero. Means of curves leave it out.
 *
 * The output is the quantity, as depths in float32, or an image in colour if downstream
 * requires format RGBA. In colour the brightness is the mean level of the repeats, from
 * `db-min` to `db-max`. The hue is the quantity, from `min` (red) to `max` (green), or from
 * blue to red for frequencies. `colormap=blue-yellow` goes from blue to yellow instead, for
 * people who do not tell red from green. An image of `bands` has the low one in blue, the
 * middle one in green and the high one in red, each from `db-min` to `db-max`.
 *
 * With `rolling` each frame gives an output, from itself and the frames before, once there
 * are `repeats` of them. They begin anew after a loss, with another B-scan of a scan with
 * repeats, and with another volume of other scans.
 *
 * `axial-shift` and `lateral-shift` align the repeats, and groups follow frames, scans and
 * losses, as in octangio. Repeats are consecutive frames at the frame rate of the caps,
 * unless `frame-rate` is set. The mean power of the repeats travels with each output, for
 * `octvolume surface=true`.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=64 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octdynamic repeats=32 quantity=swiftness ! opencldownload !
 * video/x-raw,format=RGBA ! pngenc ! multifilesink location=swiftness-%d.png
 * ]|
 *
 * Since: 0.4
 */
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include "angio/repeatgroup.hpp"
#include "angio/widekernels.hpp"
#include "depth/depthfilter.hpp"
#include "depth/displayrange.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octdynamic.cl"

OCT_PADS (OCT_DEPTH_CAPS ("CF32LE"), OCT_DEPTH_CAPS ("F32LE") "; " VIDEO_CAPS ("RGBA"));

namespace {
enum class Dynamic {
  liv,
  ocds_early,
  ocds_late,
  aliv,
  swiftness,
  mean_frequency,
  bands,
};

enum class Colormap {
  hue,
  blue_yellow,
};

const guint most_repeats = 512;

/* QUANTITY of the kernel. Those from `spectrum` on use the spectrum of the series. */
namespace kernel_of {
const guint variance = 0, authentic = 1, swiftness = 2, decay = 3, spectrum = 4,
            bands = 5;
}

/* `kernel`: one of kernel_of. `most`: upper end of the default range in colour; of a
 * rate in units of the frame rate. Hues are in sixths of the colour circle. */
struct Traits {
  guint kernel;
  const char *name, *quantity;
  guint least_repeats;
  bool is_rate;
  float most, least_hue, most_hue;
};

const Traits all_traits[] = {
    {kernel_of::variance, "liv", "log-variance", 2, false, 30, 0, 2},
    {kernel_of::decay, "ocds-early", "decay-speed", 4, true, 1.0f / 16, 0, 2},
    {kernel_of::decay, "ocds-late", "decay-speed", 4, true, 1.0f / 16, 0, 2},
    {kernel_of::authentic, "aliv", "log-variance", 8, false, 30, 0, 2},
    {kernel_of::swiftness, "swiftness", "swiftness", 8, true, 0.5f, 0, 2},
    {kernel_of::spectrum, "mean-frequency", "frequency", 2, true, 0.5f, 4, 0},
    {kernel_of::bands, "bands", "variance", 2, true, 1, 0, 0},
};

/* Curves of different rates, from which the fit of aLIV and swiftness starts */
const guint curves = 16;
const double least_rise = 0.1, most_rise = 3; /* rates per duration and per frame */
const guint early_frames = 5;                 /* default of early-delay */

struct DynamicSettings {
  guint repeats = 32;
  Dynamic quantity = Dynamic::liv;
  oct::Alignment::Limits shifts;
  bool rolling = false, average_curve = true;
  Colormap colormap = Colormap::hue;
  double frame_rate = 0;
  double early_delay = 0, late_delay = 0;
  double low_end = 0, middle_end = 0;
  oct::DisplayRange range;
  bool true_scale = false;

  const Traits &traits () const { return all_traits[gsize (quantity)]; }
  bool averages () const
  {
    return average_curve && (quantity == Dynamic::aliv || quantity == Dynamic::swiftness);
  }
};

struct DynamicState {
  oct::RepeatGroup group;
  oct::WideKernel kernel, fit_means; /* with averaged curves, the kernel makes these */
  std::string built;                 /* options of the kernels */
  cl::Buffer table;
  opencl::WorkBuffer variances; /* curves of all depths */
  guint64 position = 0;         /* in the scan, of the frames of a rolling group */
};

/* The kernel's structure of this name */
struct Dynamics {
  cl_float rate, least, most, black, white, least_hue, most_hue, slowest, fastest, growth;
};

struct Delays {
  gint first, last; /* in frames */
};

class DynamicFilter : public oct::RepeatFilterOf<DynamicSettings, DynamicState> {
public:
  using RepeatFilterOf::RepeatFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  guint outputs () override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;
  bool finish (
      const GstOpenCLFrame *from, cl_command_queue queue, GError **error) override
  {
    return !in_force.rolling || group.roll (from, queue, error);
  }

protected:
  oct::CapsChange change_for (const DynamicSettings &wanted) const override;
  bool check (const DynamicSettings &wanted, GError **error) const override;
  bool breaks (const DynamicSettings &wanted) const override
  {
    return wanted.repeats != in_force.repeats || wanted.rolling != in_force.rolling;
  }

private:
  double rate_of (const DynamicSettings &of) const;
  Delays delays_of (const DynamicSettings &of) const;
  guint bins_below (double frequency, double share) const;
  std::string options () const;
  std::vector<cl_float> table_values () const;
  Dynamics kernel_settings () const;
};

oct::CapsChange
DynamicFilter::change_for (const DynamicSettings &wanted) const
{
  oct::CapsChange change;
  change.frames = wanted.rolling ? 1 : wanted.repeats;
  change.from = "CF32LE";
  change.to = "F32LE";
  change.quantity = wanted.traits ().quantity;
  change.colours = true;
  change.true_scale = wanted.true_scale;
  return change;
}

/* Frames per second; 0 if it is unknown */
double
DynamicFilter::rate_of (const DynamicSettings &of) const
{
  return of.frame_rate > 0 ? of.frame_rate
                           : double (input.rate.numerator) / input.rate.denominator;
}

/* Returns the range of ocds-late, or that of ocds-early. */
Delays
DynamicFilter::delays_of (const DynamicSettings &of) const
{
  const double rounding = 1e-6, longest = double (of.repeats) - 2;
  /* At most one frame more than the longest delay, which an integer can hold */
  const auto frames_of = [&] (double ms, guint by_default) {
    const double frames = ms > 0 ? ms * rate_of (of) / 1000 : by_default;
    return std::min (frames, longest + 1);
  };
  const double early = frames_of (of.early_delay, early_frames);
  const double late = frames_of (of.late_delay, of.repeats / 2);
  if (of.quantity == Dynamic::ocds_late)
    return {
        gint (std::ceil (early - rounding)), gint (std::min (longest, late + rounding))};
  return {1, gint (std::min (longest, early + rounding))};
}

bool
DynamicFilter::check (const DynamicSettings &wanted, GError **error) const
{
  const Traits &of = wanted.traits ();
  const double rate = rate_of (wanted);
  if (!wanted.range.check (error))
    return false;
  if (wanted.repeats < of.least_repeats)
    return REFUSE_SETTINGS (error, "repeats: %u, but quantity=%s needs %u or more",
        wanted.repeats, of.name, of.least_repeats);
  if (of.is_rate && rate <= 0)
    return REFUSE_SETTINGS (error,
        "frame-rate: quantity=%s needs the B-scans per second, but the caps have no "
        "frame rate",
        of.name);
  if (wanted.low_end > 0 && wanted.middle_end > 0 && wanted.low_end > wanted.middle_end)
    return REFUSE_SETTINGS (error, "low-end: %g Hz is above middle-end, %g Hz",
        wanted.low_end, wanted.middle_end);
  const auto [first, last] = delays_of (wanted);
  if (of.kernel == kernel_of::decay && first >= last)
    return REFUSE_SETTINGS (error,
        "quantity=%s needs two delays or more, but %u repeats at %g Hz have %s between "
        "early-delay %g ms and late-delay %g ms (0 = default)",
        of.name, wanted.repeats, rate, first == last ? "one" : "none", wanted.early_delay,
        wanted.late_delay);
  return true;
}

/* Number of the last bin up to a frequency; 0 Hz: up to a share of the highest one */
guint
DynamicFilter::bins_below (double frequency, double share) const
{
  const double bins =
      frequency > 0 ? std::min (frequency / rate_of (in_force), 1.0) * in_force.repeats
                    : share * in_force.repeats / 2;
  return guint (bins + 1e-6);
}

std::string
DynamicFilter::options () const
{
  const auto [first, last] = delays_of (in_force);
  std::string all = oct::Repeats::options (in_force.repeats);
  const auto define = [&] (const char *name, gint value) {
    all += std::string (" -D") + name + "=" + std::to_string (value);
  };
  define ("FRAMES", gint (in_force.repeats));
  define ("QUANTITY", gint (in_force.traits ().kernel));
  define ("FIRST_DELAY", first);
  define ("LAST_DELAY", last);
  define ("LOW_END", gint (bins_below (in_force.low_end, 1 / 3.0)));
  define ("MIDDLE_END", gint (bins_below (in_force.middle_end, 2 / 3.0)));
  define ("CURVES", curves);
  define ("COLOURS", output.image);
  define ("AVERAGES", in_force.averages ());
  define ("BLUE_YELLOW", in_force.colormap == Colormap::blue_yellow);
  return all;
}

std::vector<cl_float>
DynamicFilter::table_values () const
{
  const Dynamics of = kernel_settings ();
  const guint frames = in_force.repeats;
  std::vector<cl_float> values;
  if (in_force.traits ().kernel >= kernel_of::spectrum) {
    for (guint n = 0; n < frames; n++) {
      values.push_back (cl_float (std::cos (2 * G_PI * n / frames)));
      values.push_back (cl_float (std::sin (2 * G_PI * n / frames)));
    }
    return values;
  }
  values.resize (gsize (curves) * (frames - 1));
  for (guint k = 0; k < curves; k++) {
    const double rate = of.slowest * std::exp (k * double (of.growth));
    const auto curve = [rate] (guint lag) { return -std::expm1 (-rate * lag); };
    double norm = 0;
    for (guint lag = 1; lag < frames; lag++)
      norm += curve (lag) * curve (lag);
    for (guint lag = 1; lag < frames; lag++)
      values[(lag - 1) * curves + k] = cl_float (curve (lag) / std::sqrt (norm));
  }
  return values;
}

bool
DynamicFilter::prepare (GstOpenCLContext *context, GError **error)
{
  const bool averages = in_force.averages ();
  const std::string wanted = options ();
  const bool builds = built != wanted;
  const gsize values = averages ? input.depths * input.lines * in_force.repeats : 0;
  const gsize width = oct::Widths::of_device (context).width;
  built.clear ();
  if (!group.prepare (element (), in_force.repeats, input, in_force.shifts, builds,
          in_force.rolling, error)
      || !variances.resize (context, values * sizeof (cl_float), error)
      || (builds
          && (!kernel.create (context, KERNELS, averages ? "curves" : "dynamics", wanted,
                  width, error)
              || (averages
                  && !fit_means.create (
                      context, KERNELS, "fit_means", wanted, width, error))
              || !opencl::make_table (context, table_values (), table, error))))
    return false;
  built = wanted;
  return true;
}

Dynamics
DynamicFilter::kernel_settings () const
{
  const Traits &of = in_force.traits ();
  const oct::DisplayRange &range = in_force.range;
  const double rate = rate_of (in_force), slowest = least_rise / (in_force.repeats - 1);
  const bool is_set = range.min < range.max;
  Dynamics all = {};
  all.rate = cl_float (rate);
  all.least = is_set ? cl_float (range.min) : 0;
  all.most = is_set ? cl_float (range.max) : of.most * (of.is_rate ? all.rate : 1);
  all.black = cl_float (range.db_min);
  all.white = cl_float (range.db_max);
  all.least_hue = of.least_hue;
  all.most_hue = of.most_hue;
  all.slowest = cl_float (slowest);
  all.fastest = cl_float (most_rise);
  all.growth = cl_float (std::log (most_rise / slowest) / (curves - 1));
  return all;
}

/* A rolling group contains the repeats of one B-scan, or frames of one volume if the scan
 * has no repeats. */
guint
DynamicFilter::outputs ()
{
  if (!in_force.rolling)
    return 1;
  const guint64 now = !scan               ? 0
                      : scan->repeats > 1 ? scan->frame / scan->repeats
                      : scan->b_scans > 1 ? scan->volume
                                          : 0;
  if (now != position)
    group.forget ();
  position = now;
  return group.is_full ();
}

bool
DynamicFilter::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  return group.compute (
      from,
      [&] (const oct::Repeats &repeats, const GstOpenCLFrame &powers) {
        const gsize depths = input.depths, lines = input.lines;
        const cl_ulong powers_at = powers.offset[0], to_at = to->offset[0];
        const cl_uint stride = cl_uint (output.image ? to->stride[0] : 0);
        if (in_force.averages ())
          return kernel.launch (queue, depths, lines, error, repeats, powers.data,
                     powers_at, variances ())
                 && fit_means.launch (queue, depths, lines, error, variances (),
                     cl_uint (depths), cl_uint (lines), kernel_settings (), table (),
                     powers.data, powers_at, to->data, to_at, stride);
        return kernel.launch (queue, depths, lines, error, repeats, kernel_settings (),
            table (), powers.data, powers_at, to->data, to_at, stride);
      },
      queue, error);
}
} // namespace

const opencl::EnumTypeOf<Dynamic> quantity_type = {"GstOctDynamicQuantity",
    {
        {Dynamic::liv, "Logarithmic intensity variance in dB²", "liv"},
        {Dynamic::ocds_early, "Early correlation decay speed in 1/s", "ocds-early"},
        {Dynamic::ocds_late, "Late correlation decay speed in 1/s", "ocds-late"},
        {Dynamic::aliv, "Authentic logarithmic intensity variance in dB²", "aliv"},
        {Dynamic::swiftness, "Swiftness in 1/s", "swiftness"},
        {Dynamic::mean_frequency, "Mean frequency in Hz", "mean-frequency"},
        {Dynamic::bands, "Power of three bands of frequencies; float32: of the low one",
            "bands"},
    }};

const opencl::EnumTypeOf<Colormap> colormap_type = {"GstOctDynamicColormap",
    {
        {Colormap::hue, "Hues from red to green, or from blue to red", "hue"},
        {Colormap::blue_yellow, "From blue to yellow", "blue-yellow"},
    }};

const double most_ms = 1e6, most_hz = 1e9, most_value = 1e9;

const opencl::PropertyTable<DynamicSettings> properties = oct::joined<DynamicSettings> (
    oct::repeat_group_properties<DynamicSettings> (most_repeats),
    {
        {"quantity", "Quantity", "Measure of the fluctuation", &DynamicSettings::quantity,
            quantity_type, opencl::playing},
        {"average-curve", "Average curve",
            "Average the curve over 3 x 3 depths and A-lines before the fit (aliv, "
            "swiftness)",
            &DynamicSettings::average_curve, opencl::playing},
        {"rolling", "Rolling",
            "Output the quantity of the last repeats for each B-scan, instead of one per "
            "group",
            &DynamicSettings::rolling, opencl::playing},
        {"frame-rate", "Frame rate",
            "Repeats per second in Hz (0 = frame rate of the caps)",
            &DynamicSettings::frame_rate, {0, most_hz}, opencl::playing},
        {"early-delay", "Early delay",
            "Longest delay of ocds-early and shortest one of ocds-late in milliseconds "
            "(0 = 5 frames)",
            &DynamicSettings::early_delay, {0, most_ms}, opencl::playing},
        {"late-delay", "Late delay",
            "Longest delay of ocds-late in milliseconds (0 = half of the repeats)",
            &DynamicSettings::late_delay, {0, most_ms}, opencl::playing},
        {"low-end", "End of the low band",
            "Highest frequency of the low band in Hz (0 = a sixth of the frame rate)",
            &DynamicSettings::low_end, {0, most_hz}, opencl::playing},
        {"middle-end", "End of the middle band",
            "Highest frequency of the middle band in Hz (0 = a third of the frame rate)",
            &DynamicSettings::middle_end, {0, most_hz}, opencl::playing},
        {"db-min", "Black level", "Level shown as black in dB, below db-max (RGBA)",
            opencl::nested (&DynamicSettings::range, &oct::DisplayRange::db_min),
            {oct::least_db, oct::most_db}, opencl::controllable},
        {"db-max", "White level",
            "Level shown at full brightness in dB, above db-min (RGBA)",
            opencl::nested (&DynamicSettings::range, &oct::DisplayRange::db_max),
            {oct::least_db, oct::most_db}, opencl::controllable},
        {"min", "Minimum value",
            "Value shown in the first colour of colormap (min and max 0 = default range "
            "of the quantity; RGBA)",
            opencl::nested (&DynamicSettings::range, &oct::DisplayRange::min),
            {-most_value, most_value}, opencl::controllable},
        {"max", "Maximum value",
            "Value shown in the last colour of colormap, above min (RGBA)",
            opencl::nested (&DynamicSettings::range, &oct::DisplayRange::max),
            {-most_value, most_value}, opencl::controllable},
        {"colormap", "Colour map",
            "Colour map of the quantity (RGBA; not for quantity=bands)",
            &DynamicSettings::colormap, colormap_type, opencl::playing},
        {"true-scale", "True scale",
            "Set the pixel aspect ratio from the distances of A-lines and depths (RGBA)",
            &DynamicSettings::true_scale, opencl::playing},
    });

static const oct::DepthElement<DynamicFilter> element = {"GstOctDynamic", &sink_template,
    &src_template, properties, "OCT dynamics",
    "Measures the fluctuation of light over repeated B-scans, on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octdynamic, element)
