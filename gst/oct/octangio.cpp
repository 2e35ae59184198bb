/* octangio: angiograms from repeated B-scans
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octangio
 *
 * Computes one angiogram from N repeated B-scans of depths at each position (`repeats`).
 * Its duration is that of the N B-scans. The methods are:
 *
 * - `speckle-variance`: the sum of (A - mean A)² / N of the amplitudes A
 * - `decorrelation`: 1 - the mean of A_i A_i+1 / ((A_i² + A_i+1²) / 2), 0 to 1
 * - `complex-variance`: the mean of |X_i+1 exp(-iφ) - X_i|² of the complex bins X. φ is
 *   the bulk phase of the A-line, which motion of the sample causes: the argument of the
 *   sum of X_i+1 X_i* over its depths
 *
 * With `axial-shift` and `lateral-shift` each repeat is first aligned with the first one,
 * for samples that move along the beam and across A-lines. The element finds the shift of
 * the whole B-scan by an upsampled cross-correlation (Guizar-Sicairos et al. 2008), within
 * that number of bins and A-lines, and moves the repeat back by a windowed sinc of 16
 * values.
 *
 * In depth, the residual of a static sample is -40 dB or less with the windows `hann`,
 * `blackman`, `tukey` and `flattop` of octwindowinterp. With `hamming` and `gaussian`,
 * which do not fall to 0 at their ends, it is -30 dB or less (or -40 dB where
 * `padded-samples` is twice the samples). With `rectangular` it is greater. Across A-lines
 * it is -40 dB or less if the focus covers 3.5 A-lines or more (full width at half the
 * power), and if the phase changes evenly from A-line to A-line. Where each A-line has a
 * phase of its own, as with a jittering trigger, only whole A-lines can be corrected.
 *
 * Depths and A-lines that move out of the B-scan are lost. In the 8 bins and A-lines next
 * to these, and next to either end, the residual is greater, and `complex-variance` leaves
 * these bins out of the sum that gives φ. In ranges of fewer than 17 bins plus the shift,
 * and in B-scans of fewer than 17 A-lines plus twice the shift, the element finds only
 * whole bins and A-lines.
 *
 * `bands` splits the spectrum into this number of bands and averages their angiograms.
 * Each band has a coarser axial resolution and is less sensitive to motion along the beam
 * (with decorrelation, SSADA after Jia et al. 2012). Signals that do not come from the
 * sample, such as the source spectrum, must be removed first (`background`,
 * `depth-start`), since their phase does not follow the sample.
 *
 * With `threshold-snr` the angiogram is 0 where the mean level of the repeats is less than
 * this value in dB above the noise floor of the B-scan. The noise floor is the mean power
 * of tiles of the B-scan at their 5 % quantile, so 5 % of the range, such as air above or
 * darkness below the sample, must have only noise. `threshold` is an absolute level in dB,
 * on the scale of octfft. Noise decorrelates as blood does, so without a threshold air is
 * as bright as vessels with `method=decorrelation`. 15 dB is a good value there. The
 * variances are in units of the power and need none.
 *
 * With `projection-resolved` the element removes the tails of vessels, which appear where
 * fluctuating light of a vessel falls on tissue below it (Zhang et al. 2016). The
 * angiogram stays where its flow, divided by the logarithm of the power, is at least
 * `projection-ratio` times the greatest one above in the A-line, and is 0 elsewhere. Flow
 * is the decorrelation, or the variance divided by the power. Values are means over 5
 * A-lines and 7 depths because of speckle. Where the mean power is less than 12 dB above the
 * noise floor, the angiogram is 0. A ratio of 1 is the strict rule, of which only the upper
 * ends of vessels remain.
 *
 * The mean power of the repeats travels with each angiogram. `octvolume surface=true` finds
 * the surface of the sample in it.
 *
 * `octfft` produces the complex depths that this element requests. The first B-scan is
 * the first repeat of its position. A loss (DISCONT, GAP) drops the angiogram that it
 * belongs to. The timestamps determine the number of lost B-scans, so repeats of two
 * positions are never mixed. Without timestamps, the B-scan after a loss counts as a
 * first repeat.
 *
 * A change of settings may drop the present angiogram, and marks the next one with
 * DISCONT. It never moves the positions of other angiograms. If a scan (`octscan`) has
 * more than `repeats` repeats, the additional ones are dropped.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=40 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octangio repeats=4 method=decorrelation threshold-snr=15 ! opencldownload !
 * npysink location=angiograms.npy
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>
#include <cmath>
#include <vector>

#include <gst/common/buffers.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "angio/flowfilter.hpp"
#include "angio/repeatgroup.hpp"
#include "angio/widekernels.hpp"
#include "depth/depthfilter.hpp"
#include "depth/displayrange.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octangio.cl"

OCT_PADS (OCT_DEPTH_CAPS ("CF32LE"), OCT_DEPTH_CAPS ("F32LE"));

namespace {
enum class Method {
  speckle_variance,
  decorrelation,
  complex_variance,
};

const guint most_bands = 16;

struct AngioSettings {
  guint repeats = 4;
  Method method = Method::complex_variance;
  oct::Alignment::Limits shifts;
  guint bands = 1;
  double threshold = oct::least_threshold;
  double threshold_snr = 0;
  bool projection_resolved = false;
  double projection_ratio = 0.3;
};

/* Kernels of all methods, so that a change of method compiles nothing. */
struct AngioKernels {
  oct::WideKernel speckle_variance, decorrelation, complex_variance, mean_power;
  opencl::Kernel bulk_phase, filter_band;
};

struct AngioState {
  bool created = false;
  guint built_for = 0;
  AngioKernels kernels;
  oct::RepeatGroup group;
  oct::FlowFilter filter;
  gsize items = 1;           /* work-items per work-group */
  opencl::WorkBuffer phases; /* of each A-line and pair of repeats */
  opencl::WorkBuffer band;   /* all repeats in one band */
  cl::Buffer taps;           /* band filters */
  guint taps_bands = 0;      /* number of bands in `taps` */
};

class Angiogram : public oct::RepeatFilterOf<AngioSettings, AngioState> {
public:
  using RepeatFilterOf::RepeatFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::CapsChange change_for (const AngioSettings &wanted) const override;

private:
  /* Destination, weight, and whether to add to the present contents. `powers` receives
   * the mean power, if `measures`. */
  struct Sum {
    cl_mem to;
    cl_ulong offset;
    const GstOpenCLFrame *powers;
    bool measures;
    float share;
    bool adds;
  };

  bool create_kernels (GstOpenCLContext *context, GError **error);
  bool create_taps (GstOpenCLContext *context, GError **error);
  bool compare (const oct::Repeats &repeats, const Sum &sum, cl_command_queue queue,
      GError **error);
  bool compare_bands (
      const oct::Repeats &repeats, Sum sum, cl_command_queue queue, GError **error);
  bool make_angiogram (const oct::Repeats &repeats, const GstOpenCLFrame &powers,
      const GstOpenCLFrame *to, cl_command_queue queue, GError **error);
  oct::FlowFilter::Limits limits () const;
  guint reach () const { return 2 * in_force.bands; }
  /* Depths at either end that lack neighbours after alignment */
  guint margin () const
  {
    const guint axial = in_force.shifts.axial;
    return std::min (
        axial > 0 ? oct::Alignment::reach + axial : 0, guint (input.depths / 4));
  }

  /* Number of repeats for which kernels are built; 0: any number */
  guint built_repeats () const
  {
    return oct::Repeats::are_listed (in_force.repeats) ? in_force.repeats : 0;
  }
};

oct::CapsChange
Angiogram::change_for (const AngioSettings &wanted) const
{
  oct::CapsChange change;
  change.frames = wanted.repeats;
  change.from = "CF32LE";
  change.to = "F32LE";
  change.quantity = wanted.method == Method::decorrelation ? "decorrelation" : "variance";
  return change;
}

bool
Angiogram::create_kernels (GstOpenCLContext *context, GError **error)
{
  const oct::Widths widths = oct::Widths::of_device (context);
  items = widths.group;
  const std::string options =
      "-DGROUP=" + std::to_string (items) + oct::Repeats::options (in_force.repeats);
  for (auto [kernel, name] : {std::pair (&kernels.speckle_variance, "speckle_variance"),
           std::pair (&kernels.decorrelation, "decorrelation"),
           std::pair (&kernels.complex_variance, "complex_variance"),
           std::pair (&kernels.mean_power, "mean_power")}) {
    if (!kernel->create (context, KERNELS, name, options, widths.width, error))
      return false;
  }
  built_for = built_repeats ();
  return opencl::create_kernels (context, KERNELS, options + oct::width_option (1),
             {{kernels.bulk_phase, "bulk_phase"}, {kernels.filter_band, "filter_band"}},
             error)
         && filter.create (context, error);
}

/* Band filters as convolutions along depth. Bands are Gaussians of the spectrum (0 to 1)
 * that meet at half maximum, so their sum is nearly constant. */
bool
Angiogram::create_taps (GstOpenCLContext *context, GError **error)
{
  const guint bands = in_force.bands;
  if (bands == 1 || bands == taps_bands)
    return true;
  const double sigma = 1 / (bands * std::sqrt (8 * std::log (2.0)));
  std::vector<cl_float2> values;
  for (guint n = 0; n < bands; n++) {
    for (gint bin = -gint (reach ()); bin <= gint (reach ()); bin++) {
      const double height =
          sigma * std::sqrt (2 * G_PI) * std::exp (-2 * std::pow (G_PI * sigma * bin, 2));
      const double phase = -2 * G_PI * bin * (n + 0.5) / bands;
      values.push_back (
          {{cl_float (height * std::cos (phase)), cl_float (height * std::sin (phase))}});
    }
  }
  const bool made = opencl::make_table (context, values, taps, error);
  taps_bands = made ? bands : 0;
  return made;
}

bool
Angiogram::prepare (GstOpenCLContext *context, GError **error)
{
  const bool builds = !created || built_for != built_repeats ();
  const gsize repeats = in_force.repeats, pairs = repeats - 1;
  created = false;
  if ((builds && !create_kernels (context, error))
      || !group.prepare (
          element (), in_force.repeats, input, in_force.shifts, builds, false, error)
      || !phases.resize (context, pairs * input.lines * sizeof (cl_float2), error)
      || !band.resize (context, in_force.bands > 1 ? repeats * input.size () : 0, error)
      || !filter.resize (
          context, input.depths, input.lines, in_force.projection_resolved, error))
    return false;
  created = true;
  return create_taps (context, error);
}

/* --- comparison of the repeats --- */

bool
Angiogram::compare (
    const oct::Repeats &of, const Sum &sum, cl_command_queue queue, GError **error)
{
  const auto run = [&] (oct::WideKernel &kernel, const auto &...more) {
    return kernel.launch (queue, input.depths, input.lines, error, of, more..., sum.share,
        cl_uint (sum.adds), sum.to, sum.offset, cl_uint (sum.measures), sum.powers->data,
        cl_ulong (sum.powers->offset[0]));
  };
  switch (in_force.method) {
  case Method::decorrelation:
    return run (kernels.decorrelation);
  case Method::speckle_variance:
    return run (kernels.speckle_variance);
  default:
    return kernels.bulk_phase.launch_groups (queue,
               gsize (in_force.repeats - 1) * input.lines, items, error, of,
               cl_uint (margin ()), phases ())
           && run (kernels.complex_variance, phases ());
  }
}

/* Averages the angiograms of all bands. */
bool
Angiogram::compare_bands (
    const oct::Repeats &repeats, Sum sum, cl_command_queue queue, GError **error)
{
  const guint bands = in_force.bands;
  if (bands == 1)
    return compare (repeats, sum, queue, error);
  if (!kernels.mean_power.launch (queue, input.depths, input.lines, error, repeats,
          sum.powers->data, cl_ulong (sum.powers->offset[0])))
    return false;
  sum.measures = false;
  sum.share = 1.0f / float (bands);
  for (guint n = 0; n < bands; n++) {
    sum.adds = n > 0;
    if (!kernels.filter_band.launch (queue, input.depths, input.lines * in_force.repeats,
            error, repeats, taps (), cl_uint (n * (2 * reach () + 1)), cl_uint (reach ()),
            band ())
        || !compare (repeats.in_buffer (band ()), sum, queue, error))
      return false;
  }
  return true;
}

oct::FlowFilter::Limits
Angiogram::limits () const
{
  oct::FlowFilter::Limits limits;
  limits.least_power = oct::power_of_threshold (in_force.threshold);
  if (in_force.threshold_snr > 0)
    limits.least_snr = oct::power_of_threshold (in_force.threshold_snr);
  limits.resolves_projections = in_force.projection_resolved;
  limits.ratio = float (in_force.projection_ratio);
  limits.relative = in_force.method != Method::decorrelation;
  return limits;
}

bool
Angiogram::make_angiogram (const oct::Repeats &repeats, const GstOpenCLFrame &powers,
    const GstOpenCLFrame *to, cl_command_queue queue, GError **error)
{
  const bool resolves = in_force.projection_resolved;
  const Sum sum = {resolves ? filter.flow () : to->data,
      resolves ? 0 : cl_ulong (to->offset[0]), &powers, true, 1, false};
  return compare_bands (repeats, sum, queue, error)
         && filter.apply (limits (), powers, to, queue, error);
}

bool
Angiogram::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  return group.compute (
      from,
      [&] (const oct::Repeats &repeats, const GstOpenCLFrame &powers) {
        return make_angiogram (repeats, powers, to, queue, error);
      },
      queue, error);
}
} // namespace

const opencl::EnumTypeOf<Method> method_type = {"GstOctAngioMethod",
    {
        {Method::speckle_variance, "Variance of the amplitude", "speckle-variance"},
        {Method::decorrelation, "Decorrelation of the amplitude", "decorrelation"},
        {Method::complex_variance,
            "Complex difference, corrected for the bulk phase of each A-line",
            "complex-variance"},
    }};

const opencl::PropertyTable<AngioSettings> properties = oct::joined<AngioSettings> (
    oct::repeat_group_properties<AngioSettings> (),
    {
        {"method", "Method", "Measure of the change between repeats",
            &AngioSettings::method, method_type, opencl::playing},
        {"bands", "Bands",
            "Number of bands into which the spectrum is split; their angiograms are "
            "averaged",
            &AngioSettings::bands, {1, most_bands}, opencl::playing},
        {"threshold", "Threshold",
            "Mean level of the repeats in dB below which the angiogram is 0",
            &AngioSettings::threshold, {oct::least_threshold, oct::most_threshold},
            opencl::controllable},
        {"threshold-snr", "Threshold above the noise",
            "Mean level of the repeats in dB above the noise floor of the B-scan, below "
            "which the angiogram is 0 (0 = no threshold)",
            &AngioSettings::threshold_snr, {0, oct::most_threshold},
            opencl::controllable},
        {"projection-resolved", "Projection-resolved",
            "Set the angiogram to 0 in the shadow of vessels (projection artefacts)",
            &AngioSettings::projection_resolved, opencl::playing},
        {"projection-ratio", "Projection ratio",
            "Minimum normalised flow of a depth relative to the greatest one above it "
            "(projection-resolved=true)",
            &AngioSettings::projection_ratio, {0, 1}, opencl::controllable},
    });

static const oct::DepthElement<Angiogram> element = {"GstOctAngio", &sink_template,
    &src_template, properties, "OCT angiography",
    "Computes angiograms from repeated B-scans on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octangio, element)
