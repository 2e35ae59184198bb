/* octsignal: measures spectra and A-scans for the alignment of an instrument
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octsignal
 *
 * Measures what an instrument is aligned by, posts the numbers as element messages and
 * outputs a plot as video. The input caps select one of two uses:
 *
 * - Spectra (raw video, or `application/x-oct` of `domain=wavelength` or `wavenumber`):
 *   the spectrum of an A-line or the mean of the frame, with its rolling mean as
 *   background, minimum and maximum of each sample, and the number of saturated samples.
 * - Depths (`domain=depth`): the A-scan of an A-line or of the frame, and from its highest
 *   peak the position, level, width, signal-to-noise ratio and sensitivity roll-off.
 *
 * The element outputs plots only. To keep the frames, put a `tee` before it, and a leaky
 * `queue` into its branch. Frames between two measurements (`interval`) cost nothing: they
 * are dropped before anything is computed. The text of a plot has the font of cairo's
 * family `Sans`.
 *
 * ## Messages
 *
 * The element posts the message `octsignal` of a frame one or two frames later, or at EOS,
 * so that no thread waits for the device. It waits for the first frame only, whose message
 * comes at once. The fields are:
 *
 * - `timestamp`, `stream-time`, `running-time`, `duration`: guint64, of the frame
 * - `domain`: `wavelength`, `wavenumber` or `depth`
 * - `line`: the A-line, or -1 for the mean; `lines`: number of A-lines
 *
 * With spectra:
 *
 * - `minimum`, `maximum`, `mean`: double, of all samples of the frame after `bit-shift`
 * - `saturated`: guint64, number of samples from `full-scale` on; `saturated-share`:
 *   double, their fraction; `full-scale`: double, 0 for float samples without the
 *   property
 * - `nonfinite`: guint64, number of NaN and infinite samples, which are left out
 * - with `message-values`: `spectrum` and `background`, arrays of double
 *
 * With depths, where unknown values are absent:
 *
 * - `peak`: boolean, whether a peak was found, `min-snr` dB above the noise. All fields of
 *   the peak are absent otherwise
 * - `peak-bin`: double, with fraction, from zero delay on; `peak-depth`: in µm, if the caps
 *   have `depth-step`
 * - `level`: double, dB
 * - `width`: double, full width at half of the amplitude (6 dB below the peak) in bins;
 *   `width-um`: the same in µm; `intensity-width`: full width at half of the intensity (3
 *   dB) in bins. They are absent unless one peak stands out: from 1.5 to 3 widths (8 to
 *   16 bins of narrow peaks) on both sides, all intensities are 10 dB below it or noise.
 *   Layers and speckle of a sample have no width
 * - `window-width`: double, `width` of a source with a constant spectrum: the half width of
 *   the Fourier transform of octwindowinterp's window. `spectrum-width`: `width` with the
 *   source's spectrum, if that is known from `background=file` of octwindowinterp: of the
 *   product of spectrum and window at even wavenumbers. `window-width-um`,
 *   `spectrum-width-um`
 * - `noise-floor`: double, dB: root mean square of the noise's amplitudes, from the median
 *   over all depths that are away from the peak by 4 widths and 16 bins, and not before
 *   `dc-depths`
 * - `snr`: double, dB: `level` - `noise-floor`, 10 log10 of the ratio of the peak's
 *   intensity to the variance of the noise (Leitgeb, Hitzenberger and Fercher, 2003; Choma
 *   and others, 2003)
 * - with `message-values`: `a-scan`, array of double, dB
 * - while `roll-off` is or was set: `roll-off-bins` and `roll-off-levels`, arrays of
 *   double; `roll-off-slope`: dB per bin, of the line of least squares;
 *   `roll-off-slope-mm`: dB per mm; `roll-off-6db-bin` and `roll-off-6db-depth` (µm): where
 *   the curve first is 6 dB below its first point
 *
 * The mean of A-scans is that of intensities, so that its noise floor is that of one
 * A-scan. `level` and `width` are those of the band-limited curve between the bins, as zero
 * padding of the spectrum would show it. This is exact for complex depths (CF32LE). From
 * levels or amplitudes (F32LE), the curve can only be found for a peak without remaining
 * dispersion: within 1 % with the windows hann, hamming, blackman and flattop, within 4 %
 * with gaussian, and not with rectangular. Measure widths with
 * `octfft ! "application/x-oct(ANY),domain=depth,format=CF32LE" ! octsignal`.
 *
 * ## Roll-off
 *
 * Setting `roll-off` starts a new curve. Move a mirror slowly from zero delay to the last
 * depth, then unset it. Each peak becomes a point; those of the same bin are averaged.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 -m octtestsrc pattern=mirrors depths="<300>" amplitudes="<2000>" noise=20
 * is-live=true ! octwindowinterp wavelength-min=1187 wavelength-max=1433
 * wavelength-unit=nm ! octfft ! "application/x-oct(ANY),domain=depth,format=CF32LE" !
 * octsignal ! opencldownload ! videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 -m octtestsrc is-live=true ! octsignal line=100 ! opencldownload !
 * videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <algorithm>
#include <utility>

#include <gst/common/filteredcaps.hpp>
#include <gst/common/buffers.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "elements.h"
#include "signal/report.hpp"

#define PLOT "video/x-raw" ON_DEVICE ", format=(string){RGBA, GRAY8}, "

OCT_PADS (OCT_SPECTRUM_CAPS "; " OCT_CAPS ("{wavenumber, depth}", "{F32LE, CF32LE}"),
    PLOT "width=(int)[1, 8192], height=(int)[1, 8192], " FRAMERATE);

namespace {
using oct::Colour;
using oct::Measurement;
using oct::SignalSettings;
using oct::SignalWork;
using oct::SpectrumRow;

const gint usual_width = 640, usual_height = 360;
const gsize most_waiting =
    4; /* measurements whose numbers are on their way to the host */
const guint most_lines = 65536, most_depths = 32768;
/* Time of the next measurement */
struct Schedule {
  GstClockTime next = GST_CLOCK_TIME_NONE;
  bool timed = false; /* by timestamps; otherwise by the clock of the system */

  bool is_due (const GstBuffer *buffer, guint64 interval);
};

/* The measurement that follows a dropped one is not later, so that the mean rate is as
 * wanted. A jump of time starts again. */
bool
Schedule::is_due (const GstBuffer *buffer, guint64 interval)
{
  const bool has_time = GST_BUFFER_PTS_IS_VALID (buffer);
  const GstClockTime now =
      has_time ? GST_BUFFER_PTS (buffer) : g_get_monotonic_time () * GST_USECOND;
  const bool jumps = !GST_CLOCK_TIME_IS_VALID (next) || has_time != timed
                     || now + 2 * interval < next || now >= next + interval;
  if (!jumps && now < next)
    return false;
  next = jumps ? now + interval : next + interval;
  timed = has_time;
  return true;
}
} // namespace

G_DECLARE_FINAL_TYPE (GstOctSignal, gst_oct_signal, GST, OCT_SIGNAL, GstOpenCLFilter)

struct _GstOctSignal {
  GstOpenCLFilter parent;

  opencl::Settings<SignalSettings> *settings;
  SignalWork *work; /* between open and close, else null */
  Schedule *schedule;
};

const opencl::PropertyTable<SignalSettings> properties = {
    {"line", "A-line", "A-line to measure (-1 = mean of the frame)",
        &SignalSettings::line, {-1, gint (most_lines) - 1}, opencl::playing},
    {"interval", "Interval",
        "Minimum time between two measurements in nanoseconds; other frames are dropped "
        "(0 = measure each frame)",
        &SignalSettings::interval, {0, G_MAXUINT64 / 4}, opencl::playing},
    {"post-messages", "Post messages", "Post an element message for each measurement",
        &SignalSettings::post_messages, opencl::playing},
    {"message-values", "Message values",
        "Include all values of the spectrum or A-scan in the messages",
        &SignalSettings::message_values, opencl::playing},
    {"bit-shift", "Bit shift",
        "Number of bits by which integer samples are first shifted right (spectra)",
        &SignalSettings::bit_shift, {0, 31}, opencl::playing},
    {"full-scale", "Full scale",
        "Value of samples after bit-shift from which they count as saturated (0 = "
        "maximum of the format; spectra)",
        &SignalSettings::full_scale, {0, G_MAXUINT}, opencl::playing},
    {"background-frames", "Background frames",
        "Length of the rolling mean in measured frames: a new frame has a weight of at "
        "least 1 / this (spectra)",
        &SignalSettings::background_frames, {1, 1024}, opencl::playing},
    {"dc-depths", "DC depths",
        "Number of depth bins from zero delay on in which no peak is searched (depths)",
        &SignalSettings::dc_depths, {0, most_depths}, opencl::playing},
    {"min-snr", "Minimum SNR",
        "Minimum signal-to-noise ratio of a peak in dB; noise alone reaches the default "
        "once in about 10 million A-scans (depths)",
        &SignalSettings::min_snr, {0, 200}, opencl::playing},
    {"roll-off", "Roll-off",
        "Collect the peaks of successive frames into a curve of sensitivity over depth. "
        "Setting it to TRUE starts a new curve (depths)",
        &SignalSettings::roll_off, opencl::playing, &SignalSettings::roll_offs},
    {"text-size", "Text size",
        "Font size of the plot in pixels, at most a side of the plot (0 = depends on the "
        "size of the plot)",
        &SignalSettings::text_size, {0, 1024}, opencl::playing},
};

/* Caps */

/* (transfer full) */
static GstCaps *
outputs_of (GstCaps *inputs)
{
  return gst_caps_is_empty (inputs)
             ? gst_caps_new_empty ()
             : gst_caps_from_string (PLOT "width=(int)[1, 8192], height=(int)[1, 8192], "
                                          "pixel-aspect-ratio=(fraction)1/1, " FRAMERATE);
}

static GstCaps *
gst_oct_signal_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *result = direction == GST_PAD_SINK
                        ? outputs_of (caps)
                        : gst_static_pad_template_get_caps (&sink_template);
  return opencl::filtered_caps (result, filter);
}

/* Accepts frames of any size. GstBaseTransform would prefer frames of the size of the plot. */
static gboolean
gst_oct_signal_query (GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  GstCaps *filter = nullptr;

  if (direction != GST_PAD_SINK || GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return opencl::base_transform ()->query (base, direction, query);
  gst_query_parse_caps (query, &filter);
  GstCaps *caps =
      opencl::filtered_caps (gst_static_pad_template_get_caps (&sink_template), filter);
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

/* Frame rate of the input, but at most one frame per interval; 0/1 if unknown */
static opencl::Fraction
output_rate (const GstCaps *input, guint64 interval)
{
  opencl::Fraction rate = {0, 1};
  gst_structure_get_fraction (
      gst_caps_get_structure (input, 0), "framerate", &rate.numerator, &rate.denominator);
  const double seconds = double (interval) / GST_SECOND;
  if (rate.numerator > 0 && seconds * rate.numerator > rate.denominator)
    gst_util_double_to_fraction (1 / seconds, &rate.numerator, &rate.denominator);
  return rate;
}

static GstCaps *
gst_oct_signal_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  if (direction == GST_PAD_SINK && !gst_caps_is_empty (others)) {
    const opencl::Fraction rate =
        output_rate (caps, GST_OCT_SIGNAL (base)->settings->current ().interval);
    others = gst_caps_make_writable (gst_caps_truncate (others));
    GstStructure *plot = gst_caps_get_structure (others, 0);
    gst_structure_fixate_field_nearest_int (plot, "width", usual_width);
    gst_structure_fixate_field_nearest_int (plot, "height", usual_height);
    gst_structure_fixate_field_nearest_fraction (
        plot, "framerate", rate.numerator, rate.denominator);
  }
  return opencl::base_transform ()->fixate_caps (base, direction, caps, others);
}

static bool
is_depth (const GstCaps *caps)
{
  return g_strcmp0 (gst_structure_get_string (gst_caps_get_structure (caps, 0), "domain"),
             "depth")
         == 0;
}

static gboolean
gst_oct_signal_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  guint samples, lines;
  const oct::CapsFormat *format = oct::parse_spectra (caps, &samples, &lines);
  if (!format)
    return FALSE;
  *size = format->line_bytes (samples) * lines;
  return TRUE;
}

/* Measurements */

static oct::PeakWidths
widths_in_theory (GstOctSignal *self)
{
  oct::PeakWidths widths;
  oct::ask_peer (GST_BASE_TRANSFORM_SINK_PAD (self), widths);
  return widths;
}

/* Posts the numbers of the oldest measurement, and makes an overlay of them. Waits for
 * the device if they have not arrived. */
static bool
finish_oldest (GstOctSignal *self, GError **error)
{
  SignalWork &work = *self->work;
  std::unique_ptr<Measurement> of = std::move (work.waiting.front ());
  work.waiting.pop_front ();
  const auto *values = reinterpret_cast<const float *> (of->read.wait (error));
  if (!values)
    return false;
  GstStructure *message =
      work.is_depth () ? oct::report_depths (work, *of, values, widths_in_theory (self))
                       : oct::report_spectrum (work, *of, values);
  if (of->settings.post_messages)
    gst_element_post_message (
        GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), message));
  else
    gst_structure_free (message);
  work.has_numbers = true;
  work.free.push_back (std::move (of));
  return true;
}

/* Finishes the measurements whose numbers have arrived, or all. Posts an error if the
 * device failed. */
static bool
finish_measurements (GstOctSignal *self, bool all)
{
  SignalWork &work = *self->work;
  GError *error = nullptr;
  while (!error && !work.waiting.empty ()
         && (all || work.waiting.front ()->read.has_ended ()))
    finish_oldest (self, &error);
  if (error)
    gst_opencl_post_error (GST_ELEMENT (self), error);
  return !error;
}

/* Drops measurements after a flush. */
static void
drop_waiting (SignalWork &work)
{
  for (std::unique_ptr<Measurement> &of : work.waiting) {
    if (of->read.wait (nullptr))
      work.free.push_back (std::move (of));
  }
  work.waiting.clear ();
  work.spectrum_statistics.forget ();
}

/* (nullable): a measurement in memory of its own */
static std::unique_ptr<Measurement>
unused_measurement (GstOctSignal *self, GError **error)
{
  SignalWork &work = *self->work;
  if (work.waiting.size () >= most_waiting && !finish_oldest (self, error))
    return nullptr;
  if (!work.free.empty ()) {
    std::unique_ptr<Measurement> of = std::move (work.free.back ());
    work.free.pop_back ();
    return of;
  }
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  auto made = std::make_unique<Measurement> ();
  const gsize values = work.result_values ();
  if (!opencl::make_buffer (context, values * sizeof (cl_float), made->result, error)
      || !made->read.create_block (context, values, error))
    return nullptr;
  return made;
}

static bool
enqueue_statistics (SignalWork &work, const GstOpenCLFrame *input, cl_command_queue queue,
    cl_mem result, GError **error)
{
  const SignalSettings &settings = work.in_force;
  if (work.is_depth ())
    return work.depth_statistics.enqueue (
        queue, input, settings.line, settings.dc_depths, result, error);
  return work.spectrum_statistics.enqueue (queue, input,
      {settings.line, work.format->integer ? settings.bit_shift : 0,
          work.full_scale (settings), settings.background_frames},
      result, error);
}

static void
set_times (GstBaseTransform *base, Measurement &of, const GstBuffer *buffer)
{
  of.timestamp = GST_BUFFER_PTS (buffer);
  of.duration = GST_BUFFER_DURATION (buffer);
  of.stream_time = opencl::stream_time_of (base->segment, of.timestamp);
  of.running_time = opencl::running_time_of (base->segment, of.timestamp);
}

static oct::PlotCurves
curves_of (const SignalWork &work, cl_mem values)
{
  oct::PlotCurves plot = {values, work.points, work.is_depth (), work.x, work.y, {}};
  if (work.is_depth ()) {
    plot.curves = {{0, Colour::curve}};
    return plot;
  }
  for (auto [row, colour] : {std::pair (SpectrumRow::minimum, Colour::bound),
           std::pair (SpectrumRow::maximum, Colour::bound),
           std::pair (SpectrumRow::background, Colour::reference),
           std::pair (SpectrumRow::chosen, Colour::curve)})
    plot.curves.push_back ({guint (row) * work.points, colour});
  return plot;
}

static bool
draw (SignalWork &work, cl_mem values, const GstOpenCLFrame *output,
    cl_command_queue queue, GError **error)
{
  if (work.overlay_changed && !work.drawing.set_overlay (queue, *work.overlay, error))
    return false;
  work.overlay_changed = false;
  return work.drawing.enqueue (queue, curves_of (work, values), output, error);
}

static gboolean
gst_oct_signal_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctSignal *self = GST_OCT_SIGNAL (filter);
  SignalWork &work = *self->work;
  std::unique_ptr<Measurement> of = unused_measurement (self, error);
  if (!of || !enqueue_statistics (work, input, queue, of->result (), error)
      || !of->read.read (queue, of->result (), error))
    return FALSE;
  of->settings = work.in_force;
  set_times (GST_BASE_TRANSFORM (filter), *of, work.buffer);
  const cl_mem values = of->result ();
  work.waiting.push_back (std::move (of));
  /* Without axes there is nothing to see. */
  if (!work.has_numbers && !finish_oldest (self, error))
    return FALSE;
  return draw (work, values, output, queue, error);
}

/* Formats */

static bool
check_line (const SignalSettings &wanted, guint lines, GError **error)
{
  if (wanted.line < gint (lines))
    return true;
  return REFUSE_SETTINGS (error,
      "line is %d, expected at most %u, the last of %u A-lines", wanted.line, lines - 1,
      lines);
}

/* A line that new caps do not have is replaced by the mean, with a warning. At the start
 * it is an error. */
static bool
adopt_settings (GstOctSignal *self, GError **error)
{
  SignalWork &work = *self->work;
  const bool starts = !self->settings->is_started ();
  GError *reason = nullptr;
  auto accept = [&] (const SignalSettings &wanted, GError **why) {
    return check_line (wanted, work.lines, why);
  };
  const bool valid = self->settings->adopt (accept, &reason);
  if (!valid && starts) {
    g_propagate_error (error, reason);
    return false;
  }
  work.in_force = self->settings->current ();
  if (!valid) {
    self->settings->warn (reason);
    work.in_force.line = -1;
  }
  return true;
}

static bool
check_quantity (const oct::DepthLayout &layout, GError **error)
{
  if (layout.complex || layout.quantity.empty () || layout.quantity == "decibels"
      || layout.quantity == "amplitude")
    return true;
  return REFUSE_FORMAT (error,
      "the input has quantity=%s, expected decibels or amplitude, or complex depths",
      layout.quantity.c_str ());
}

static bool
read_depths (GstCaps *caps, SignalWork &work, GError **error)
{
  if (!oct::parse_depth_layout (caps, false, work.depths)) {
    return REFUSE_FORMAT (error, "unsupported caps of depths");
  }
  work.domain = "depth";
  work.points = guint (work.depths.depths);
  work.lines = guint (work.depths.lines);
  work.depth_step = work.depths.depth_step;
  return check_quantity (work.depths, error);
}

static bool
read_spectra (GstCaps *caps, SignalWork &work, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  work.format = oct::parse_spectra (caps, &work.points, &work.lines);
  if (!work.format) {
    return REFUSE_FORMAT (error, "unsupported caps of spectra");
  }
  const char *domain = gst_structure_get_string (structure, "domain");
  work.domain = domain ? domain : "wavelength";
  return true;
}

/* Depths are displayed from zero delay on, in mm if the step is known. */
static void
make_axes (SignalWork &work)
{
  work.x = {0, double (std::max (work.points, 2u) - 1), 1, ""};
  work.y = {0, 1, 1, ""};
  if (!work.is_depth ())
    return;
  work.y.unit = "dB";
  work.x.unit = work.depth_step > 0 ? "mm" : "bin";
  work.x.scale = work.depth_step > 0 ? work.depth_step / 1000 : 1;
  work.x.offset = work.depths.first_depth;
}

/* A plot of another size keeps the curve of the same depths. */
static void
keep_roll_off (SignalWork &work, const SignalWork &before)
{
  if (work.domain != before.domain || work.points != before.points
      || work.depth_step != before.depth_step
      || work.depths.first_depth != before.depths.first_depth)
    return;
  work.roll_off = before.roll_off;
  work.has_roll_off = before.has_roll_off;
}

static gboolean
gst_oct_signal_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctSignal *self = GST_OCT_SIGNAL (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  const GstVideoInfo *plot = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  finish_measurements (self, true);
  const SignalWork before = std::exchange (*self->work, SignalWork ());
  SignalWork &work = *self->work;
  work.roll_offs = before.roll_offs;
  work.buffer = before.buffer;

  if (!(is_depth (input) ? read_depths (input, work, error)
                         : read_spectra (input, work, error))
      || !adopt_settings (self, error))
    return FALSE;
  make_axes (work);
  keep_roll_off (work, before);
  const opencl::Cairo *cairo = opencl::Cairo::load (error);
  if (!cairo)
    return FALSE;
  work.overlay = std::make_unique<oct::Overlay> (
      *cairo, GST_VIDEO_INFO_WIDTH (plot), GST_VIDEO_INFO_HEIGHT (plot));
  return (work.is_depth () ? work.depth_statistics.create (context, work.depths, error)
                           : work.spectrum_statistics.create (
                               context, *work.format, work.points, work.lines, error))
         && work.drawing.create (context, GST_VIDEO_INFO_WIDTH (plot),
             GST_VIDEO_INFO_HEIGHT (plot),
             GST_VIDEO_INFO_FORMAT (plot) == GST_VIDEO_FORMAT_RGBA, error);
}

static gboolean
gst_oct_signal_open (GstOpenCLFilter *filter, GError **)
{
  GstOctSignal *self = GST_OCT_SIGNAL (filter);
  self->work = new SignalWork;
  *self->schedule = Schedule ();
  return TRUE;
}

static void
gst_oct_signal_close (GstOpenCLFilter *filter)
{
  GstOctSignal *self = GST_OCT_SIGNAL (filter);
  drop_waiting (*self->work);
  self->settings->stop ();
  delete std::exchange (self->work, nullptr);
}

/* Frames */

static void
gst_oct_signal_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctSignal *self = GST_OCT_SIGNAL (filter);
  SignalWork &work = *self->work;
  work.buffer = input;
  if (!self->settings->is_started ())
    return;
  self->settings->update ([&] (const SignalSettings &wanted, GError **error) {
    if (!check_line (wanted, work.lines, error))
      return false;
    work.in_force = wanted;
    return true;
  });
}

/* Drops frames before anything is computed for them. */
static GstFlowReturn
gst_oct_signal_submit_input_buffer (
    GstBaseTransform *base, gboolean discont, GstBuffer *input)
{
  GstOctSignal *self = GST_OCT_SIGNAL (base);
  if (self->work && !finish_measurements (self, false)) {
    gst_buffer_unref (input);
    return GST_FLOW_ERROR;
  }
  if (!GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP)
      && self->schedule->is_due (input, self->settings->committed ().interval))
    return opencl::base_transform ()->submit_input_buffer (base, discont, input);
  gst_buffer_unref (input);
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

static gboolean
gst_oct_signal_sink_event (GstBaseTransform *base, GstEvent *event)
{
  GstOctSignal *self = GST_OCT_SIGNAL (base);
  if (self->work && GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    finish_measurements (self, true);
  if (self->work && GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    drop_waiting (*self->work);
    *self->schedule = Schedule ();
  }
  return opencl::base_transform ()->sink_event (base, event);
}

static const opencl::FilterElement<GstOctSignal, &GstOctSignal::work,
    &GstOctSignal::schedule>
    element = {"GstOctSignal", properties, "OCT signal", "Filter/Analyzer/Video",
        "Measures and plots OCT spectra and A-scans, on an OpenCL device",
        {&sink_template, &src_template},
        {gst_oct_signal_query, gst_oct_signal_transform_caps,
            gst_oct_signal_submit_input_buffer, gst_oct_signal_sink_event,
            gst_oct_signal_open, gst_oct_signal_close, gst_oct_signal_set_formats,
            gst_oct_signal_get_frame_size, gst_oct_signal_begin_frame,
            gst_oct_signal_transform, opencl::FixateCaps{gst_oct_signal_fixate_caps}},
        nullptr,
        /* QoS of a slow display must not drop measurements. */
        opencl::keeps_all_frames, opencl::create_members<&GstOctSignal::schedule>};

OPENCL_FILTER_DEFINE (octsignal, gst_oct_signal, element)
