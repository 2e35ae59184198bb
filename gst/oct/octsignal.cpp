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
 * are dropped before anything is computed.
 *
 * ## Messages
 *
 * The element message `octsignal` follows a frame after one or two further frames, or at
 * EOS, as no thread waits for the device. Only the first frame is waited for. Its fields
 * are:
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
 *   dB) in bins
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
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/common/filteredcaps.hpp>
#include <gst/common/buffers.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>

#include "arrayfield.hpp"
#include "elements.h"
#include "signal/depthstatistics.hpp"
#include "signal/plotdrawing.hpp"
#include "signal/spectrumstatistics.hpp"
#include "spectra/peakwidths.hpp"

#define ON_DEVICE "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
#define FRAMERATE "framerate=(fraction)[0/1, 2147483647/1]"
#define LINES "samples=(int)[1, 2147483647], lines=(int)[1, 2147483647], " FRAMERATE
#define PLOT "video/x-raw" ON_DEVICE ", format=(string){RGBA, GRAY8}, "

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "video/x-raw" ON_DEVICE ", format=(string){GRAY8, GRAY16_LE, GRAY16_BE}, "
            "width=(int)[1, 2147483647], height=(int)[1, 2147483647], " FRAMERATE ";"
            "application/x-oct" ON_DEVICE ", domain=(string)wavelength, "
            "format=(string){U16LE, F32LE, U8, S8, U16BE, S16LE, S16BE, S32LE, U32LE, "
            "MONO10P, MONO12P, MONO12PACKED}, " LINES ";"
            "application/x-oct" ON_DEVICE ", domain=(string){wavenumber, depth}, "
            "format=(string){F32LE, CF32LE}, " LINES));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (PLOT "width=(int)[1, 8192], height=(int)[1, 8192], " FRAMERATE));

namespace {
using oct::Axis;
using oct::Colour;
using oct::SpectrumRow;
using oct::TextLine;

const gint usual_width = 640, usual_height = 360;
const gsize most_waiting =
    4; /* measurements whose numbers are on their way to the host */
const guint text_lines = 4;
const guint most_lines = 65536, most_depths = 32768;
const double least_span = 40; /* dB of the vertical axis */

struct SignalSettings {
  gint line = -1;
  guint64 interval = GST_SECOND / 10;
  bool post_messages = true;
  bool message_values = false;
  guint bit_shift = 0;
  guint full_scale = 0;
  guint background_frames = 16;
  guint dc_depths = 8;
  double min_snr = 14;
  bool roll_off = false;
  guint roll_offs = 0; /* counts how often it was set */
};

/* A frame whose numbers are on their way to the host */
struct Measurement {
  cl::Buffer result;
  opencl::ReadBack read;
  SignalSettings settings;
  GstClockTime timestamp, stream_time, running_time, duration;
};

struct SignalWork {
  std::string domain;
  guint lines = 0;
  guint points = 0;      /* samples or depths of an A-line */
  double depth_step = 0; /* µm; 0: unknown */
  oct::DepthLayout depths;
  const oct::CapsFormat *format = nullptr; /* null for depths */
  oct::SpectrumStatistics spectrum_statistics;
  oct::DepthStatistics depth_statistics;
  oct::PlotDrawing drawing;
  std::unique_ptr<oct::Overlay> overlay;
  bool overlay_changed = false;
  Axis x, y;
  bool has_numbers = false;          /* the axes are those of a measurement */
  const GstBuffer *buffer = nullptr; /* the present one */

  SignalSettings in_force;
  guint roll_offs = 0; /* SignalSettings::roll_offs of the curve */
  oct::RollOff roll_off;
  bool has_roll_off = false;
  std::vector<std::unique_ptr<Measurement>> free;
  std::deque<std::unique_ptr<Measurement>> waiting;

  bool is_depth () const { return !format; }
  gsize result_values () const
  {
    return is_depth () ? depth_statistics.size () : spectrum_statistics.size ();
  }
  /* After bit-shift; 0: unknown */
  double full_scale (const SignalSettings &settings) const
  {
    const guint of_format = format->full_scale (settings.bit_shift);
    if (settings.full_scale == 0 || of_format == 0)
      return std::max (settings.full_scale, of_format);
    return std::min (settings.full_scale, of_format);
  }
};

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

#define GST_TYPE_OCT_SIGNAL (gst_oct_signal_get_type ())
G_DECLARE_FINAL_TYPE (GstOctSignal, gst_oct_signal, GST, OCT_SIGNAL, GstOpenCLFilter)

struct _GstOctSignal {
  GstOpenCLFilter parent;

  opencl::Settings<SignalSettings> *settings;
  SignalWork *work; /* between open and close, else null */
  Schedule *schedule;
};

G_DEFINE_TYPE (GstOctSignal, gst_oct_signal, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (octsignal, "octsignal", GST_RANK_NONE, GST_TYPE_OCT_SIGNAL)

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
        "maximum "
        "of the format; spectra)",
        &SignalSettings::full_scale, {0, G_MAXUINT}, opencl::playing},
    {"background-frames", "Background frames",
        "Number of measured frames after which the rolling mean has forgotten most of a "
        "frame: the weight of a new frame is at least 1 / this (spectra)",
        &SignalSettings::background_frames, {1, 1024}, opencl::playing},
    {"dc-depths", "DC depths",
        "Number of depth bins from zero delay on in which no peak is searched (depths)",
        &SignalSettings::dc_depths, {0, most_depths}, opencl::playing},
    {"min-snr", "Minimum SNR",
        "Signal-to-noise ratio in dB from which the highest depth counts as a peak; "
        "noise "
        "alone reaches the default once in about 10 million A-scans (depths)",
        &SignalSettings::min_snr, {0, 200}, opencl::playing},
    {"roll-off", "Roll-off",
        "Collect the peaks of successive frames into a curve of sensitivity over depth. "
        "Setting it to TRUE starts a new curve (depths)",
        &SignalSettings::roll_off, opencl::playing, &SignalSettings::roll_offs},
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
    return GST_BASE_TRANSFORM_CLASS (gst_oct_signal_parent_class)
        ->query (base, direction, query);
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
  return GST_BASE_TRANSFORM_CLASS (gst_oct_signal_parent_class)
      ->fixate_caps (base, direction, caps, others);
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

/* Messages */

/* Leaves out an unknown value. */
static void
set_number (GstStructure *structure, const char *field, double value)
{
  if (std::isfinite (value))
    gst_structure_set (structure, field, G_TYPE_DOUBLE, value, nullptr);
}

/* (transfer full) */
static GstStructure *
new_message (const SignalWork &work, const Measurement &of)
{
  return gst_structure_new ("octsignal", "timestamp", G_TYPE_UINT64, of.timestamp,
      "stream-time", G_TYPE_UINT64, of.stream_time, "running-time", G_TYPE_UINT64,
      of.running_time, "duration", G_TYPE_UINT64, of.duration, "domain", G_TYPE_STRING,
      work.domain.c_str (), "line", G_TYPE_INT, of.settings.line, "lines", G_TYPE_INT,
      gint (work.lines), nullptr);
}

/* Posts a message (transfer full), if any is wanted. */
static void
post (GstOctSignal *self, const Measurement &of, GstStructure *structure)
{
  if (of.settings.post_messages)
    gst_element_post_message (
        GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), structure));
  else
    gst_structure_free (structure);
}

G_GNUC_PRINTF (1, 2)
static std::string
text_of (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  gchar *made = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  const std::string text = made;
  g_free (made);
  return text;
}

static TextLine
title_of (const SignalWork &work, const Measurement &of)
{
  const char *what = work.is_depth () ? "A-scan" : "Spectrum";
  return {of.settings.line < 0
              ? text_of ("%s, mean of %u A-lines", what, work.lines)
              : text_of ("%s of A-line %d of %u", what, of.settings.line, work.lines)};
}

/* Draws axes and texts. The plot shows them from the next frame on. */
static void
begin_overlay (SignalWork &work, const std::vector<TextLine> &texts)
{
  work.overlay->clear ();
  work.overlay->draw_axes (work.x, work.y);
  for (gsize n = 0; n < texts.size (); n++)
    work.overlay->write (guint (n), texts[n]);
  work.overlay_changed = true;
}

/* Spectra */

namespace {
struct SpectrumNumbers {
  double minimum = INFINITY, maximum = -INFINITY, mean = 0;
  double saturated = 0, valid = 0, all = 0;
  double full_scale = 0;

  double share () const { return all > 0 ? saturated / all : 0; }
};
} // namespace

static std::vector<double>
row_of (const SignalWork &work, const float *values, SpectrumRow row)
{
  const float *begin = values + gsize (row) * work.points;
  return std::vector<double> (begin, begin + work.points);
}

static SpectrumNumbers
numbers_of (const SignalWork &work, const Measurement &of, const float *values)
{
  SpectrumNumbers numbers;
  auto at = [&] (SpectrumRow row, guint n) {
    return double (values[gsize (row) * work.points + n]);
  };
  for (guint n = 0; n < work.points; n++) {
    const double valid = at (SpectrumRow::valid, n);
    if (valid == 0)
      continue;
    numbers.minimum = std::min (numbers.minimum, at (SpectrumRow::minimum, n));
    numbers.maximum = std::max (numbers.maximum, at (SpectrumRow::maximum, n));
    numbers.mean += valid * at (SpectrumRow::mean, n);
    numbers.saturated += at (SpectrumRow::saturated, n);
    numbers.valid += valid;
  }
  numbers.mean /= std::max (numbers.valid, 1.0);
  numbers.all = double (work.points) * work.lines;
  numbers.full_scale = work.full_scale (of.settings);
  return numbers;
}

static void
post_spectrum (GstOctSignal *self, const Measurement &of, const SpectrumNumbers &numbers,
    const float *values)
{
  const SignalWork &work = *self->work;
  GstStructure *message = new_message (work, of);
  set_number (message, "minimum", numbers.minimum);
  set_number (message, "maximum", numbers.maximum);
  set_number (message, "mean", numbers.mean);
  set_number (message, "saturated-share", numbers.share ());
  set_number (message, "full-scale", numbers.full_scale);
  gst_structure_set (message, "saturated", G_TYPE_UINT64, guint64 (numbers.saturated),
      "nonfinite", G_TYPE_UINT64, guint64 (numbers.all - numbers.valid), nullptr);
  if (of.settings.message_values) {
    oct::set_array (message, "spectrum", row_of (work, values, SpectrumRow::chosen));
    oct::set_array (
        message, "background", row_of (work, values, SpectrumRow::background));
  }
  post (self, of, message);
}

/* Keeps the range of the axis while it fits. */
static void
fit_axis (SignalWork &work, double low, double high)
{
  Axis &y = work.y;
  const double span = high - low;
  if (work.has_numbers && low >= y.low && high <= y.high && span > 0.4 * (y.high - y.low))
    return;
  const double step = oct::round_up (1.05 * span / 10);
  y.low = step * std::floor (low / step);
  y.high = std::max (step * std::ceil ((high + 0.05 * span) / step), y.low + step);
}

static void
plot_spectrum (SignalWork &work, const Measurement &of, const SpectrumNumbers &numbers)
{
  if (numbers.valid > 0)
    fit_axis (work, std::min (numbers.minimum, 0.0), numbers.maximum);
  const TextLine range = {
      numbers.full_scale > 0
          ? text_of ("minimum %g, maximum %g of %g", numbers.minimum, numbers.maximum,
              numbers.full_scale)
          : text_of ("minimum %.4g, maximum %.4g", numbers.minimum, numbers.maximum)};
  TextLine saturation = {"no sample is saturated"};
  if (numbers.saturated > 0)
    saturation = {text_of ("%.3g %% of the samples are saturated (%.0f)",
                      100 * numbers.share (), numbers.saturated),
        Colour::warning};
  TextLine nonfinite;
  if (numbers.valid < numbers.all)
    nonfinite = {text_of ("%.0f samples are not finite", numbers.all - numbers.valid),
        Colour::warning};
  begin_overlay (work, {title_of (work, of), range, saturation, nonfinite});
  if (numbers.full_scale > 0)
    work.overlay->mark_y (work.y, numbers.full_scale, Colour::warning);
}

/* Depths */

static oct::PeakWidths
widths_in_theory (GstOctSignal *self)
{
  oct::PeakWidths widths;
  GstQuery *query = oct::new_peak_widths_query (widths);
  gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (self), query);
  gst_query_unref (query);
  return widths;
}

static void
describe_roll_off (const SignalWork &work, GstStructure *message)
{
  const double micrometres = work.depth_step > 0 ? work.depth_step : NAN;
  std::vector<double> bins, levels;
  for (const oct::RollOff::Point &point : work.roll_off.curve ()) {
    bins.push_back (point.bin);
    levels.push_back (point.level);
  }
  oct::set_array (message, "roll-off-bins", bins);
  oct::set_array (message, "roll-off-levels", levels);
  set_number (message, "roll-off-slope", work.roll_off.slope ());
  set_number (message, "roll-off-slope-mm", 1000 * work.roll_off.slope () / micrometres);
  set_number (message, "roll-off-6db-bin", work.roll_off.six_db_bin ());
  set_number (message, "roll-off-6db-depth", work.roll_off.six_db_bin () * micrometres);
}

static std::vector<double>
levels_of (const oct::AScan &scan)
{
  std::vector<double> levels;
  for (double intensity : scan.intensities)
    levels.push_back (10 * std::log10 (std::max (intensity, 1e-12)));
  return levels;
}

static void
post_depths (GstOctSignal *self, const Measurement &of, const oct::AScan &scan,
    const oct::Peak &peak, const oct::PeakWidths &widths)
{
  const SignalWork &work = *self->work;
  const double micrometres = work.depth_step > 0 ? work.depth_step : NAN;
  GstStructure *message = new_message (work, of);
  gst_structure_set (message, "peak", G_TYPE_BOOLEAN, gboolean (peak.found), nullptr);
  set_number (message, "peak-bin", peak.bin);
  set_number (message, "peak-depth", peak.bin * micrometres);
  set_number (message, "level", peak.level);
  set_number (message, "width", peak.width);
  set_number (message, "width-um", peak.width * micrometres);
  set_number (message, "intensity-width", peak.intensity_width);
  set_number (message, "window-width", widths.window);
  set_number (message, "window-width-um", widths.window * micrometres);
  set_number (message, "spectrum-width", widths.spectrum);
  set_number (message, "spectrum-width-um", widths.spectrum * micrometres);
  set_number (message, "noise-floor", peak.noise_floor);
  set_number (message, "snr", peak.snr);
  if (of.settings.message_values)
    oct::set_array (message, "a-scan", levels_of (scan));
  if (work.has_roll_off)
    describe_roll_off (work, message);
  post (self, of, message);
}

/* "12.34 µm (2.00 bins)", or bins only */
static std::string
length_text (const SignalWork &work, double bins)
{
  if (work.depth_step > 0)
    return text_of ("%.2f µm (%.2f bins)", bins * work.depth_step, bins);
  return text_of ("%.2f bins", bins);
}

static std::vector<TextLine>
texts_of (const SignalWork &work, const Measurement &of, const oct::Peak &peak,
    const oct::PeakWidths &widths)
{
  std::vector<TextLine> texts = {title_of (work, of)};
  if (!peak.found)
    return {texts[0], {"no peak", Colour::warning},
        {std::isfinite (peak.noise_floor)
                ? text_of ("noise floor %.1f dB", peak.noise_floor)
                : ""}};
  texts.push_back (
      {"peak at " + length_text (work, peak.bin) + text_of (", %.1f dB", peak.level),
          Colour::mark});
  const double theory = std::isfinite (widths.spectrum) ? widths.spectrum : widths.window;
  texts.push_back ({(std::isfinite (peak.width) ? "FWHM " + length_text (work, peak.width)
                                                : std::string ("FWHM unknown"))
                    + (std::isfinite (theory) ? text_of (", theory %.2f", theory) : "")});
  std::string noise = std::isfinite (peak.snr) ? text_of (
                          "SNR %.1f dB, noise %.1f dB", peak.snr, peak.noise_floor)
                                               : "SNR unknown";
  const double slope =
      work.roll_off.slope () * (work.depth_step > 0 ? 1000 / work.depth_step : 1);
  if (work.has_roll_off && std::isfinite (slope))
    noise += text_of (
        work.depth_step > 0 ? ", roll-off %.2f dB/mm" : ", roll-off %.4f dB/bin", slope);
  texts.push_back ({noise});
  return texts;
}

static void
plot_depths (SignalWork &work, const Measurement &of, const oct::AScan &scan,
    const oct::Peak &peak, const oct::PeakWidths &widths)
{
  const std::vector<double> levels = levels_of (scan);
  const double floor =
      std::isfinite (peak.noise_floor) ? peak.noise_floor : levels[levels.size () / 2];
  double top = *std::max_element (levels.begin (), levels.end ());
  for (const oct::RollOff::Point &point : work.roll_off.curve ())
    top = std::max (top, point.level);
  fit_axis (work, std::max (floor, -120.0) - 10, std::max (top, floor + least_span));
  begin_overlay (work, texts_of (work, of, peak, widths));
  const double first = scan.first_bin;
  if (std::isfinite (peak.noise_floor))
    work.overlay->mark_y (work.y, peak.noise_floor, Colour::reference);
  for (const oct::RollOff::Point &point : work.roll_off.curve ())
    work.overlay->cross (work.x, work.y, point.bin - first, point.level, Colour::warning);
  if (peak.found)
    work.overlay->cross (work.x, work.y, peak.bin - first, peak.level, Colour::mark);
}

/* Adds to the curve, which the first measurement after a change of `roll-off` starts
 * again. */
static void
collect_roll_off (SignalWork &work, const Measurement &of, const oct::Peak &peak)
{
  const bool was_set =
      std::exchange (work.roll_offs, of.settings.roll_offs) != of.settings.roll_offs;
  if (!of.settings.roll_off)
    return;
  if (was_set)
    work.roll_off.clear ();
  work.has_roll_off = true;
  if (peak.found)
    work.roll_off.add (peak);
}

/* Measurements */

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
  if (work.is_depth ()) {
    const oct::AScan scan =
        work.depth_statistics.read (values, of->settings.line, of->settings.dc_depths);
    const oct::Peak peak = oct::measure_peak (scan, of->settings.min_snr);
    const oct::PeakWidths widths = widths_in_theory (self);
    collect_roll_off (work, *of, peak);
    post_depths (self, *of, scan, peak, widths);
    plot_depths (work, *of, scan, peak, widths);
  } else {
    const SpectrumNumbers numbers = numbers_of (work, *of, values);
    post_spectrum (self, *of, numbers, values);
    plot_spectrum (work, *of, numbers);
  }
  work.has_numbers = true;
  work.free.push_back (std::move (of));
  return true;
}

/* Finishes the measurements whose numbers have arrived. A failing device also fails the
 * frames, which report it. */
static void
finish_arrived (GstOctSignal *self)
{
  SignalWork &work = *self->work;
  while (!work.waiting.empty () && work.waiting.front ()->read.has_ended ())
    finish_oldest (self, nullptr);
}

static void
finish_all (GstOctSignal *self)
{
  while (!self->work->waiting.empty ())
    finish_oldest (self, nullptr);
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
      || !made->read.create (context, values, error))
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
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "line is %d, expected at most %u, the last of %u A-lines", wanted.line, lines - 1,
      lines);
  return false;
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
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "the input has quantity=%s, expected decibels or amplitude, or complex depths",
      layout.quantity.c_str ());
  return false;
}

static bool
read_depths (GstCaps *caps, SignalWork &work, GError **error)
{
  if (!oct::parse_depth_layout (caps, false, work.depths)) {
    g_set_error_literal (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "unsupported caps of depths");
    return false;
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
    g_set_error_literal (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "unsupported caps of spectra");
    return false;
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
  finish_all (self);
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
  work.overlay = std::make_unique<oct::Overlay> (
      GST_VIDEO_INFO_WIDTH (plot), GST_VIDEO_INFO_HEIGHT (plot), text_lines);
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
  if (self->work)
    finish_arrived (self);
  if (!GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP)
      && self->schedule->is_due (input, self->settings->committed ().interval))
    return GST_BASE_TRANSFORM_CLASS (gst_oct_signal_parent_class)
        ->submit_input_buffer (base, discont, input);
  gst_buffer_unref (input);
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

static gboolean
gst_oct_signal_sink_event (GstBaseTransform *base, GstEvent *event)
{
  GstOctSignal *self = GST_OCT_SIGNAL (base);
  if (self->work && GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    finish_all (self);
  if (self->work && GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    drop_waiting (*self->work);
    *self->schedule = Schedule ();
  }
  return GST_BASE_TRANSFORM_CLASS (gst_oct_signal_parent_class)->sink_event (base, event);
}

static void
gst_oct_signal_init (GstOctSignal *self)
{
  self->settings = new opencl::Settings<SignalSettings> (self, properties);
  self->schedule = new Schedule;
  /* QoS of a slow display must not drop measurements. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_signal_class_init (GstOctSignalClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOctSignal::settings, &GstOctSignal::work,
      &GstOctSignal::schedule> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT signal",
      "Filter/Analyzer/Video",
      "Measures and plots OCT spectra and A-scans, on an OpenCL device",
      "The gst-opencl developers");

  transform_class->query = gst_oct_signal_query;
  transform_class->transform_caps = gst_oct_signal_transform_caps;
  transform_class->fixate_caps = gst_oct_signal_fixate_caps;
  transform_class->submit_input_buffer = gst_oct_signal_submit_input_buffer;
  transform_class->sink_event = gst_oct_signal_sink_event;
  filter_class->open = gst_oct_signal_open;
  filter_class->close = gst_oct_signal_close;
  filter_class->set_formats = gst_oct_signal_set_formats;
  filter_class->get_frame_size = gst_oct_signal_get_frame_size;
  filter_class->begin_frame = gst_oct_signal_begin_frame;
  filter_class->transform = gst_oct_signal_transform;
}
