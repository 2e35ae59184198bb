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
 * With `axial-shift` each repeat is first aligned with the first one, for samples that
 * move along the beam. The element finds the shift of the whole B-scan by an upsampled
 * cross-correlation (Guizar-Sicairos et al. 2008), within that number of bins, and moves
 * the repeat back by a windowed sinc of 16 bins. The residual of a static sample is -40
 * dB or less with the windows `hann`, `blackman`, `tukey` and `flattop` of
 * octwindowinterp. With `hamming` and `gaussian`, which do not fall to 0 at their ends,
 * it is -30 dB or less (or -40 dB where `padded-samples` is twice the samples). With
 * `rectangular` it is greater. Depths that move out of the range (all, or `depth-start`
 * and `depth-count` of octfft) are lost. In the 8 bins next to these, and next to either
 * end, the residual is greater, and `complex-variance` leaves them out of the sum that
 * gives φ. In ranges of fewer than 17 bins plus the shift, the element finds only whole
 * bins.
 *
 * `bands` splits the spectrum into this number of bands and averages their angiograms.
 * Each band has a coarser axial resolution and is less sensitive to motion along the beam
 * (with decorrelation, SSADA after Jia et al. 2012). Signals that do not come from the
 * sample, such as the source spectrum, must be removed first (`background`,
 * `depth-start`), since their phase does not follow the sample.
 *
 * With `threshold` the angiogram is 0 where the mean level of the repeats is below this
 * value in dB, on the scale of octfft. Noise decorrelates as blood does, so without a
 * threshold air is as bright as vessels with `method=decorrelation`. A value between the
 * level of the noise and that of the vessels removes air and shadows.
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
 * octangio repeats=4 method=decorrelation ! opencldownload !
 * npysink location=angiograms.npy
 * ]|
 *
 * Since: 0.2
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cmath>
#include <vector>

#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/context/devicebuffer.hpp>
#include <gst/opencl/context/deviceinfo.hpp>
#include <gst/opencl/kernel/kernel.hpp>

#include "depth/depthfilter.hpp"
#include "depth/heldframes.hpp"
#include "depth/threshold.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octangio.cl"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_DEPTH_CAPS ("CF32LE")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_DEPTH_CAPS ("F32LE")));

namespace {
enum class Method {
  speckle_variance,
  decorrelation,
  complex_variance,
};

const guint least_repeats = 2, most_repeats = 64;
const guint most_shifts = 32, most_bands = 16;
/* Interpolation that aligns repeats: weights on each side, and fractions of a bin */
const guint align_reach = 8, align_fractions = 128;
const gsize largest_group = 64, cpu_width = 8;

/* As in the kernel */
struct Correlation {
  cl_float real, imaginary, energy;
};

struct AngioSettings {
  guint repeats = 4;
  Method method = Method::speckle_variance;
  guint axial_shift = 0;
  guint bands = 1;
  double threshold = oct::least_threshold;
};

class Angiogram : public oct::DepthFilterOf<AngioSettings> {
public:
  using DepthFilterOf::DepthFilterOf;

  void release () override;
  void forget () override { held.clear (); }
  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool keep (const GstOpenCLFrame *frame, guint position, cl_command_queue queue,
      GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::DepthChange change_of (const AngioSettings &wanted) const override;
  bool breaks (const AngioSettings &wanted) const override
  {
    return wanted.repeats != in_force.repeats
           || wanted.axial_shift != in_force.axial_shift
           || (wanted.bands == 1) != (in_force.bands == 1);
  }

private:
  /* Kernels of all methods, so that a change of method compiles nothing. */
  struct Kernels {
    opencl::Kernel speckle_variance, decorrelation, bulk_phase, complex_variance;
    opencl::Kernel threshold;
    /* For the vectors of a CPU */
    opencl::Kernel wide_speckle_variance, wide_decorrelation, wide_threshold;
    opencl::Kernel correlate, find_shift, refine_shift, align, filter_band;
  };

  /* Memory layout of the repeats. All except the last one are contiguous in `others`, or
   * are the held frames. */
  struct Repeats {
    cl_mem others;
    cl_mem last;
    gsize last_offset;
    bool held; /* `others` is not used */
  };

  /* Destination, weight, and whether to add to the present contents. */
  struct Sum {
    const GstOpenCLFrame *to;
    float share;
    bool adds;
  };

  bool create_kernels (GstOpenCLContext *context, GError **error);
  bool create_memory (GstOpenCLContext *context, GError **error);
  bool create_taps (GstOpenCLContext *context, GError **error);
  bool create_weights (GstOpenCLContext *context, GError **error);
  bool align_repeat (
      cl_mem from, gsize offset, guint position, cl_command_queue queue, GError **error);
  bool compare (
      const Repeats &repeats, const Sum &sum, cl_command_queue queue, GError **error);
  bool compare_complex (
      const Repeats &repeats, const Sum &sum, cl_command_queue queue, GError **error);
  bool compare_bands (const Repeats &repeats, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error);
  bool apply_threshold (const Repeats &repeats, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error);
  bool make_angiogram (const Repeats &repeats, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error)
  {
    return compare_bands (repeats, to, queue, error)
           && apply_threshold (repeats, to, queue, error);
  }
  bool split (const Repeats &repeats, guint band, cl_command_queue queue, GError **error);
  guint reach () const { return 2 * in_force.bands; }
  /* Depths at either end that lack neighbours after alignment */
  guint margin () const
  {
    const guint unsure =
        in_force.axial_shift > 0 ? align_reach + in_force.axial_shift : 0;
    return std::min (unsure, guint (input.depths / 4));
  }
  cl_ulong values_of_frames (guint frames) const
  {
    return cl_ulong (frames) * input.depths * input.lines;
  }

  /* Whether input frames are held instead of copied, because no step processes them
   * first */
  bool holds () const
  {
    return in_force.axial_shift == 0 && in_force.bands == 1
           && in_force.repeats <= oct::HeldFrames::most;
  }
  /* Whether kernels for WIDTH depths per work-item are used */
  bool is_wide () const { return width > 1 && input.depths % width == 0; }
  gsize columns () const { return is_wide () ? input.depths / width : input.depths; }
  guint held_repeats () const { return holds () ? in_force.repeats : 0; }
  template <typename... Rest>
  bool set_repeats (
      opencl::Kernel &kernel, const Repeats &of, GError **error, const Rest &...rest);

  bool created = false;
  guint built_for_held = 0;
  Kernels kernels;
  oct::HeldFrames held;
  gsize group = 1, width = 1; /* work-items per work-group, depths per work-item */
  cl::Buffer kept;            /* repeats; the last one only if aligned */
  cl::Buffer phases;          /* of each A-line and pair of repeats */
  cl::Buffer sums;            /* correlation of each A-line at each shift */
  cl::Buffer shift;           /* found by correlation, in fractions of a bin */
  cl::Buffer weights;         /* of the interpolation, for each fraction of a bin */
  cl::Buffer found_weights;   /* of the interpolation, for `shift` */
  cl::Buffer taps;            /* band filters */
  cl::Buffer band;            /* all repeats in one band */
  guint taps_bands = 0;       /* number of bands in `taps` */
  gsize kept_bytes = 0, phases_bytes = 0, band_bytes = 0, sums_bytes = 0;
};

oct::DepthChange
Angiogram::change_of (const AngioSettings &wanted) const
{
  oct::DepthChange change;
  change.frames = wanted.repeats;
  change.from = "CF32LE";
  change.to = "F32LE";
  change.quantity = wanted.method == Method::decorrelation ? "decorrelation" : "variance";
  return change;
}

void
Angiogram::release ()
{
  kernels = Kernels ();
  held.clear ();
  kept = phases = sums = shift = weights = found_weights = taps = band = cl::Buffer ();
  kept_bytes = phases_bytes = band_bytes = sums_bytes = 0;
  taps_bands = 0;
  created = false;
}

bool
Angiogram::create_kernels (GstOpenCLContext *context, GError **error)
{
  const bool cpu = opencl::is_cpu (context);
  /* On a CPU a work-item reads an A-line from one end to the other. */
  group = cpu ? 1 : largest_group;
  width = cpu ? cpu_width : 1;
  const struct {
    opencl::Kernel &kernel;
    const char *name;
    gsize width;
  } wanted[] = {{kernels.speckle_variance, "speckle_variance", 1},
      {kernels.decorrelation, "decorrelation", 1}, {kernels.bulk_phase, "bulk_phase", 1},
      {kernels.complex_variance, "complex_variance", 1},
      {kernels.correlate, "correlate", width}, {kernels.find_shift, "find_shift", 1},
      {kernels.refine_shift, "refine_shift", 1}, {kernels.align, "align", width},
      {kernels.filter_band, "filter_band", 1}, {kernels.threshold, "apply_threshold", 1},
      {kernels.wide_threshold, "apply_threshold", cpu_width},
      {kernels.wide_speckle_variance, "speckle_variance", cpu_width},
      {kernels.wide_decorrelation, "decorrelation", cpu_width}};
  const std::string options =
      "-DGROUP=" + std::to_string (group) + " -DREACH=" + std::to_string (align_reach)
      + " -DFRACTIONS=" + std::to_string (align_fractions)
      + (held_repeats () > 0 ? " -DHELD=" + std::to_string (held_repeats ())
                             : std::string ());
  for (const auto &entry : wanted) {
    const std::string all = options + " -DWIDTH=" + std::to_string (entry.width);
    if (entry.width <= width
        && !entry.kernel.create (context, KERNELS, entry.name, all.c_str (), error))
      return false;
  }
  built_for_held = held_repeats ();
  return opencl::make_buffer (context, sizeof (cl_int), shift, error)
         && opencl::make_buffer (
             context, 2 * align_reach * sizeof (cl_float2), found_weights, error)
         && create_weights (context, error);
}

/* Windowed sinc (Kaiser). Its error is -50 dB for spectra with a Hann window. A larger
 * beta increases it at the ends of the spectrum, a smaller one in the middle. */
bool
Angiogram::create_weights (GstOpenCLContext *context, GError **error)
{
  const double beta = 5;
  std::vector<cl_float> values;
  for (guint part = 0; part < align_fractions; part++) {
    for (guint tap = 0; tap < 2 * align_reach; tap++) {
      const double away =
          double (tap) + 1 - align_reach - double (part) / align_fractions;
      const double inside = 1 - std::pow (away / align_reach, 2);
      const double window =
          std::cyl_bessel_i (0, beta * std::sqrt (inside)) / std::cyl_bessel_i (0, beta);
      const double sinc = away == 0 ? 1 : std::sin (G_PI * away) / (G_PI * away);
      values.push_back (cl_float (sinc * window));
    }
  }
  weights = opencl::make_table (
      context, values.data (), values.size () * sizeof values[0], error);
  return weights () != nullptr;
}

/* Reallocates a buffer if its size changes, and frees it if it is not needed. */
static bool
resize (GstOpenCLContext *context, gsize wanted, cl::Buffer &buffer, gsize &bytes,
    GError **error)
{
  if (wanted == bytes)
    return true;
  bytes = 0;
  buffer = cl::Buffer ();
  if (wanted > 0 && !opencl::make_buffer (context, wanted, buffer, error))
    return false;
  bytes = wanted;
  return true;
}

bool
Angiogram::create_memory (GstOpenCLContext *context, GError **error)
{
  const gsize repeats = in_force.repeats, pairs = repeats - 1;
  const gsize frames = holds () ? 0 : in_force.axial_shift > 0 ? repeats : pairs;
  const gsize shifts =
      in_force.axial_shift > 0 ? 2 * std::max (in_force.axial_shift, align_reach) + 1 : 0;
  return resize (context, frames * input.size (), kept, kept_bytes, error)
         && resize (context, pairs * input.lines * sizeof (cl_float2), phases,
             phases_bytes, error)
         && resize (context, in_force.bands > 1 ? repeats * input.size () : 0, band,
             band_bytes, error)
         && resize (context, shifts * input.lines * sizeof (Correlation), sums,
             sums_bytes, error);
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
  taps_bands = 0;
  taps = opencl::make_table (
      context, values.data (), values.size () * sizeof values[0], error);
  if (!taps ())
    return false;
  taps_bands = bands;
  return true;
}

bool
Angiogram::prepare (GstOpenCLContext *context, GError **error)
{
  if (built_for_held != held_repeats ())
    created = false;
  if (!created && !create_kernels (context, error))
    return false;
  created = true;
  return create_memory (context, error) && create_taps (context, error);
}

/* Aligns a repeat with the first one, into `kept`. The shift stays on the device. */
bool
Angiogram::align_repeat (
    cl_mem from, gsize offset, guint position, cl_command_queue queue, GError **error)
{
  const cl_uint depths = cl_uint (input.depths), lines = cl_uint (input.lines);
  const cl_uint shifts = std::min (in_force.axial_shift, depths - 1);
  const auto correlate = [&] (cl_uint reach, bool fine) {
    return kernels.correlate.launch (queue, 2 * reach + 1, lines, error, kept (), from,
        cl_ulong (offset), depths, lines, reach, cl_uint (fine), shift (), sums ());
  };
  return correlate (shifts, false)
         && kernels.find_shift.launch_groups (
             queue, 1, group, error, sums (), lines, shifts, shift ())
         && correlate (align_reach, true)
         && kernels.refine_shift.launch_groups (queue, 1, group, error, sums (), lines,
             shifts, weights (), shift (), found_weights ())
         && kernels.align.launch (queue, (depths + width - 1) / width, lines, error, from,
             cl_ulong (offset), depths, lines, shift (), found_weights (), kept (),
             values_of_frames (position));
}

bool
Angiogram::keep (
    const GstOpenCLFrame *frame, guint position, cl_command_queue queue, GError **error)
{
  if (!oct::check_frame_alignment (frame, input.bytes, error))
    return false;
  if (holds ()) {
    if (position == 0)
      held.clear ();
    held.hold (frame);
    return true;
  }
  if (in_force.axial_shift > 0 && position > 0)
    return align_repeat (frame->data, frame->offset[0], position, queue, error);
  cl_int code = clEnqueueCopyBuffer (queue, frame->data, kept (), frame->offset[0],
      position * input.size (), input.size (), 0, nullptr,
      opencl::Profiled (queue, opencl::command::copy));
  return gst_opencl_check (code, "clEnqueueCopyBuffer", error);
}

/* Filters all repeats to one band. */
bool
Angiogram::split (
    const Repeats &repeats, guint number, cl_command_queue queue, GError **error)
{
  const cl_uint depths = cl_uint (input.depths), lines = cl_uint (input.lines);
  const guint last = in_force.repeats - 1;
  for (guint n = 0; n <= last; n++) {
    if (!kernels.filter_band.launch (queue, depths, lines, error,
            n < last ? repeats.others : repeats.last,
            cl_ulong (n < last ? n * input.size () : repeats.last_offset), depths, lines,
            taps (), cl_uint (number * (2 * reach () + 1)), cl_uint (reach ()), band (),
            values_of_frames (n)))
      return false;
  }
  return true;
}

template <typename... Rest>
bool
Angiogram::set_repeats (
    opencl::Kernel &kernel, const Repeats &of, GError **error, const Rest &...rest)
{
  cl_uint index = 0;
  bool set = true;
  if (of.held) {
    cl_ulong8 offsets = {};
    for (guint n = 0; n < oct::HeldFrames::most; n++) {
      const bool earlier = n < held.frames ().size ();
      offsets.s[n] = earlier ? held.frames ()[n].offset[0] : of.last_offset;
      set = set && kernel.set (index, earlier ? held.frames ()[n].data : of.last, error);
    }
    set = set && kernel.set (index, offsets, error);
  } else {
    set = kernel.set (index, of.others, error) && kernel.set (index, of.last, error)
          && kernel.set (index, cl_ulong (of.last_offset), error);
  }
  return set && kernel.set (index, cl_uint (in_force.repeats), error)
         && kernel.set (index, cl_uint (input.depths), error)
         && kernel.set (index, cl_uint (input.lines), error)
         && (kernel.set (index, rest, error) && ...);
}

bool
Angiogram::compare_complex (
    const Repeats &of, const Sum &sum, cl_command_queue queue, GError **error)
{
  const gsize pairs = in_force.repeats - 1;
  return set_repeats (kernels.bulk_phase, of, error, cl_uint (margin ()), phases ())
         && kernels.bulk_phase.launch_groups (queue, pairs * input.lines, group, error)
         && set_repeats (kernels.complex_variance, of, error, phases (), sum.share,
             cl_uint (sum.adds), sum.to->data, cl_ulong (sum.to->offset[0]))
         && kernels.complex_variance.enqueue (queue, input.depths, input.lines, error);
}

bool
Angiogram::compare (
    const Repeats &of, const Sum &sum, cl_command_queue queue, GError **error)
{
  if (in_force.method == Method::complex_variance)
    return compare_complex (of, sum, queue, error);
  const bool decorrelates = in_force.method == Method::decorrelation;
  opencl::Kernel &wide =
      decorrelates ? kernels.wide_decorrelation : kernels.wide_speckle_variance;
  opencl::Kernel &narrow =
      decorrelates ? kernels.decorrelation : kernels.speckle_variance;
  opencl::Kernel &kernel = is_wide () ? wide : narrow;
  return set_repeats (kernel, of, error, sum.share, cl_uint (sum.adds), sum.to->data,
             cl_ulong (sum.to->offset[0]))
         && kernel.enqueue (queue, columns (), input.lines, error);
}

/* Averages the angiograms of all bands. */
bool
Angiogram::compare_bands (const Repeats &repeats, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const guint last = in_force.repeats - 1, bands = in_force.bands;
  if (bands == 1)
    return compare (repeats, {to, 1, false}, queue, error);
  for (guint n = 0; n < bands; n++) {
    if (!split (repeats, n, queue, error)
        || !compare ({band (), band (), last * input.size (), false},
            {to, 1.0f / float (bands), n > 0}, queue, error))
      return false;
  }
  return true;
}

bool
Angiogram::apply_threshold (const Repeats &repeats, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const float least_power = oct::power_of_threshold (in_force.threshold);
  if (least_power <= 0)
    return true;
  opencl::Kernel &kernel = is_wide () ? kernels.wide_threshold : kernels.threshold;
  return set_repeats (
             kernel, repeats, error, least_power, to->data, cl_ulong (to->offset[0]))
         && kernel.enqueue (queue, columns (), input.lines, error);
}

bool
Angiogram::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  if (!oct::check_frame_alignment (from, input.bytes, error)
      || !oct::check_frame_alignment (to, output.bytes, error))
    return false;
  const guint last = in_force.repeats - 1;
  Repeats repeats = {kept (), from->data, from->offset[0], holds ()};
  if (holds ()) {
    const bool made = held.map (false, input.size (), queue, error)
                      && make_angiogram (repeats, to, queue, error);
    return held.release (queue, made ? error : nullptr) && made;
  }
  if (in_force.axial_shift > 0) {
    if (!align_repeat (from->data, from->offset[0], last, queue, error))
      return false;
    repeats = {kept (), kept (), last * input.size (), false};
  }
  return make_angiogram (repeats, to, queue, error);
}
} // namespace

#define GST_TYPE_OCT_ANGIO (gst_oct_angio_get_type ())
G_DECLARE_FINAL_TYPE (GstOctAngio, gst_oct_angio, GST, OCT_ANGIO, GstOctDepthFilter)

struct _GstOctAngio {
  GstOctDepthFilter parent;

  opencl::Settings<AngioSettings> *settings;
};

G_DEFINE_TYPE (GstOctAngio, gst_oct_angio, GST_TYPE_OCT_DEPTH_FILTER)
GST_ELEMENT_REGISTER_DEFINE (octangio, "octangio", GST_RANK_NONE, GST_TYPE_OCT_ANGIO)

static GType
method_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Method::speckle_variance), "Variance of the amplitude", "speckle-variance"},
      {gint (Method::decorrelation), "Decorrelation of the amplitude", "decorrelation"},
      {gint (Method::complex_variance),
          "Complex difference, corrected for the bulk phase of each A-line",
          "complex-variance"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctAngioMethod", values);
  return type;
}

const opencl::PropertyTable<AngioSettings> properties = {
    {"repeats", "Repeats", "Number of B-scans at each position", &AngioSettings::repeats,
        {least_repeats, most_repeats}, opencl::playing},
    {"method", "Method", "Measure of the change between repeats", &AngioSettings::method,
        method_get_type, opencl::playing},
    {"axial-shift", "Axial shift",
        "Maximum axial shift in depth bins by which a repeat is aligned with the first "
        "one (0 = no alignment)",
        &AngioSettings::axial_shift, {0, most_shifts}, opencl::playing},
    {"bands", "Bands",
        "Number of bands into which the spectrum is split; their angiograms are averaged",
        &AngioSettings::bands, {1, most_bands}, opencl::playing},
    {"threshold", "Threshold",
        "Mean level of the repeats in dB below which the angiogram is 0",
        &AngioSettings::threshold, {oct::least_threshold, oct::most_threshold},
        opencl::controllable},
};

static void
gst_oct_angio_init (GstOctAngio *self)
{
  self->settings = new opencl::Settings<AngioSettings> (self, properties);
  gst_oct_depth_filter_set_work (self, new Angiogram (self, self->settings));
}

static void
gst_oct_angio_class_init (GstOctAngioClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  opencl::install_settings<&GstOctAngio::settings> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT angiography",
      "Filter/Effect/Video",
      "Computes angiograms from repeated B-scans on an OpenCL device",
      "The gst-opencl developers");
}
