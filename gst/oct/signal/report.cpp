/* Messages and overlays that report the measurements of octsignal
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "report.hpp"

#include "../shared/arrayfield.hpp"

#include <gst/common/text.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace oct {
using opencl::text_of;

const double least_span = 40; /* dB of the vertical axis */

/* Leaves out unknown values. */
static void
set_numbers (GstStructure *structure,
    std::initializer_list<std::pair<const char *, double>> numbers)
{
  for (const auto &[field, value] : numbers) {
    if (std::isfinite (value))
      gst_structure_set (structure, field, G_TYPE_DOUBLE, value, nullptr);
  }
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
begin_overlay (
    SignalWork &work, const Measurement &of, const std::vector<TextLine> &texts)
{
  work.overlay->begin (of.settings.text_size, text_lines);
  work.overlay->draw_axes (work.x, work.y);
  for (gsize n = 0; n < texts.size (); n++)
    work.overlay->write (guint (n), texts[n]);
  work.overlay_changed = true;
}

/* Spectra */

namespace {
/* Numbers of all A-lines of a frame of spectra */
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

/* (transfer full) */
static GstStructure *
spectrum_message (const SignalWork &work, const Measurement &of,
    const SpectrumNumbers &numbers, const float *values)
{
  GstStructure *message = new_message (work, of);
  set_numbers (message,
      {{"minimum", numbers.minimum}, {"maximum", numbers.maximum}, {"mean", numbers.mean},
          {"saturated-share", numbers.share ()}, {"full-scale", numbers.full_scale}});
  gst_structure_set (message, "saturated", G_TYPE_UINT64, guint64 (numbers.saturated),
      "nonfinite", G_TYPE_UINT64, guint64 (numbers.all - numbers.valid), nullptr);
  if (of.settings.message_values) {
    set_array (message, "spectrum", row_of (work, values, SpectrumRow::chosen));
    set_array (message, "background", row_of (work, values, SpectrumRow::background));
  }
  return message;
}

/* Keeps the range of the axis while it fits. */
static void
fit_axis (SignalWork &work, double low, double high)
{
  Axis &y = work.y;
  const double span = high - low;
  if (work.has_numbers && low >= y.low && high <= y.high && span > 0.4 * (y.high - y.low))
    return;
  const double step = round_up (1.05 * span / 10);
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
  begin_overlay (work, of, {title_of (work, of), range, saturation, nonfinite});
  if (numbers.full_scale > 0)
    work.overlay->mark_y (work.y, numbers.full_scale, Colour::warning);
}

/* Depths */

GstStructure *
report_spectrum (SignalWork &work, const Measurement &of, const float *values)
{
  const SpectrumNumbers numbers = numbers_of (work, of, values);
  plot_spectrum (work, of, numbers);
  return spectrum_message (work, of, numbers, values);
}

static void
describe_roll_off (const SignalWork &work, GstStructure *message)
{
  const double micrometres = work.depth_step > 0 ? work.depth_step : NAN;
  std::vector<double> bins, levels;
  for (const RollOff::Point &point : work.roll_off.curve ()) {
    bins.push_back (point.bin);
    levels.push_back (point.level);
  }
  set_array (message, "roll-off-bins", bins);
  set_array (message, "roll-off-levels", levels);
  const double slope = work.roll_off.slope (), six_db = work.roll_off.six_db_bin ();
  set_numbers (message,
      {{"roll-off-slope", slope}, {"roll-off-slope-mm", 1000 * slope / micrometres},
          {"roll-off-6db-bin", six_db}, {"roll-off-6db-depth", six_db * micrometres}});
}

static std::vector<double>
levels_of (const AScan &scan)
{
  std::vector<double> levels;
  for (double intensity : scan.intensities)
    levels.push_back (10 * std::log10 (std::max (intensity, 1e-12)));
  return levels;
}

/* (transfer full) */
static GstStructure *
depths_message (const SignalWork &work, const Measurement &of, const AScan &scan,
    const Peak &peak, const PeakWidths &widths)
{
  const double micrometres = work.depth_step > 0 ? work.depth_step : NAN;
  GstStructure *message = new_message (work, of);
  gst_structure_set (message, "peak", G_TYPE_BOOLEAN, gboolean (peak.found), nullptr);
  set_numbers (message,
      {{"peak-bin", peak.bin}, {"peak-depth", peak.bin * micrometres},
          {"level", peak.level}, {"width", peak.width},
          {"width-um", peak.width * micrometres},
          {"intensity-width", peak.intensity_width}, {"window-width", widths.window},
          {"window-width-um", widths.window * micrometres},
          {"spectrum-width", widths.spectrum},
          {"spectrum-width-um", widths.spectrum * micrometres},
          {"noise-floor", peak.noise_floor}, {"snr", peak.snr}});
  if (of.settings.message_values)
    set_array (message, "a-scan", levels_of (scan));
  if (work.has_roll_off)
    describe_roll_off (work, message);
  return message;
}

/* "12.34 µm (2.00 bins)", or bins only */
static std::string
length_text (const SignalWork &work, double bins)
{
  if (work.depth_step > 0)
    return text_of ("%.2f µm (%.2f bins)", bins * work.depth_step, bins);
  return text_of ("%.2f bins", bins);
}

static std::string
width_text (const SignalWork &work, const Peak &peak, const PeakWidths &widths)
{
  const double theory = std::isfinite (widths.spectrum) ? widths.spectrum : widths.window;
  if (!peak.stands_out)
    return "no single peak: FWHM unknown";
  return (std::isfinite (peak.width) ? "FWHM " + length_text (work, peak.width)
                                     : std::string ("FWHM unknown"))
         + (std::isfinite (theory) ? text_of (", theory %.2f", theory) : "");
}

static std::vector<TextLine>
texts_of (const SignalWork &work, const Measurement &of, const Peak &peak,
    const PeakWidths &widths)
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
  texts.push_back ({width_text (work, peak, widths)});
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
plot_depths (SignalWork &work, const Measurement &of, const AScan &scan, const Peak &peak,
    const PeakWidths &widths)
{
  const std::vector<double> levels = levels_of (scan);
  const double floor =
      std::isfinite (peak.noise_floor) ? peak.noise_floor : levels[levels.size () / 2];
  double top = *std::max_element (levels.begin (), levels.end ());
  for (const RollOff::Point &point : work.roll_off.curve ())
    top = std::max (top, point.level);
  fit_axis (work, std::max (floor, -120.0) - 10, std::max (top, floor + least_span));
  begin_overlay (work, of, texts_of (work, of, peak, widths));
  const double first = scan.first_bin;
  if (std::isfinite (peak.noise_floor))
    work.overlay->mark_y (work.y, peak.noise_floor, Colour::reference);
  for (const RollOff::Point &point : work.roll_off.curve ())
    work.overlay->cross (work.x, work.y, point.bin - first, point.level, Colour::warning);
  if (peak.found)
    work.overlay->cross (work.x, work.y, peak.bin - first, peak.level, Colour::mark);
}

/* Adds to the curve, which the first measurement after a change of `roll-off` starts
 * again. */
static void
collect_roll_off (SignalWork &work, const Measurement &of, const Peak &peak)
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

GstStructure *
report_depths (SignalWork &work, const Measurement &of, const float *values,
    const PeakWidths &widths)
{
  const AScan scan =
      work.depth_statistics.read (values, of.settings.line, of.settings.dc_depths);
  const Peak peak = measure_peak (scan, of.settings.min_snr);
  collect_roll_off (work, of, peak);
  plot_depths (work, of, scan, peak, widths);
  return depths_message (work, of, scan, peak, widths);
}
} // namespace oct
