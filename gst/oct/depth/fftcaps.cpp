/* Caps of octfft: spectra at even wavenumbers, and depths or images
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fftcaps.hpp"

#include "../calibration/gridding.hpp"

#include <algorithm>
#include <optional>

namespace oct {
bool
FftSettings::check_range (GError **error) const
{
  if (db_min < db_max)
    return true;
  return REFUSE_SETTINGS (error,
      "db-min is %g and db-max is %g, expected db-min below db-max", db_min, db_max);
}

bool
FftSettings::check (guint samples, GError **error) const
{
  const guint bins = samples / 2;
  if (!check_range (error))
    return false;
  if (depth_start < bins && depth_count <= bins - depth_start)
    return true;
  return REFUSE_SETTINGS (error,
      "depth-start is %u and depth-count is %u, expected depths within the %u of %u "
      "samples per A-line",
      depth_start, depth_count, bins, samples);
}

FftSettings
FftSettings::fitted (guint samples) const
{
  const guint bins = samples / 2;
  FftSettings fitted = *this;
  fitted.depth_start = std::min (depth_start, bins - std::clamp (depth_count, 1u, bins));
  fitted.depth_count = std::min (depth_count, bins - fitted.depth_start);
  return fitted;
}

guint
FftSettings::depths_of (guint samples) const
{
  const FftSettings possible = fitted (samples);
  return possible.depth_count > 0 ? possible.depth_count
                                  : samples / 2 - possible.depth_start;
}

static const Limits all_depths = {1, most_fft_depths};

/* Returns the oversampling of octwindowinterp's grid with interpolation=nufft. */
static gint
oversampling_of (const GstStructure *spectra)
{
  gint oversampling = 1;
  gst_structure_get_int (spectra, "oversampling", &oversampling);
  return std::max (oversampling, 1);
}

static void
set_depths (GstStructure *output, const GstStructure *input, const FftSettings &settings)
{
  const gint oversampling = oversampling_of (input);
  const Limits limits = limits_of (gst_structure_get_value (input, "samples"),
      {least_samples * oversampling, most_samples * oversampling});
  /* Other numbers of samples are an error in set_formats. */
  auto depths_of = [&] (gint64 samples) {
    return settings.depths_of (
        guint (std::clamp<gint64> (samples / oversampling, least_samples, most_samples)));
  };
  set_limits (output, depths_field (output),
      {depths_of (limits.least), depths_of (limits.most)}, all_depths);
}

/* N samples, even or odd, have N / 2 depths. */
static void
set_samples (GstStructure *input, const GValue *depths, const FftSettings &settings)
{
  if (settings.depth_count > 0)
    return; /* any number of samples that has enough depths */
  const Limits limits = limits_of (depths, all_depths);
  const gint64 start = settings.depth_start;
  const gint64 least = limits.least > 1 ? 2 * (limits.least + start) : least_samples;
  /* Fewer samples than least_samples give the same output caps. Accept them, so that
   * set_formats fails with a reason. */
  const bool takes_fewer = limits.least <= settings.depths_of (least_samples);
  set_limits (input, "samples", {takes_fewer ? 1 : least, 2 * (limits.most + start) + 1},
      {takes_fewer ? 1 : least_samples, most_samples});
}

/* Returns the depth step in µm, pi / (N dk n), or 0 if unknown. */
static double
depth_step_of (const GstStructure *input, const FftSettings &settings)
{
  const double step = double_field (input, "wavenumber-step");
  gint samples = 0;
  gst_structure_get_int (input, "samples", &samples);
  double index = settings.refractive_index;
  if (index == 0 && !gst_structure_get_double (input, "refractive-index", &index))
    index = 1;
  const double in_air = settings.depth_step > 0   ? settings.depth_step
                        : step > 0 && samples > 0 ? G_PI / (samples * step)
                                                  : 0;
  return in_air / std::max (index, 0.1);
}

/* Sets the known steps. */
static void
set_steps (GstStructure *output, const GstStructure *input, const FftSettings &settings)
{
  const double depth_step = depth_step_of (input, settings);
  const double line_step =
      settings.line_step > 0 ? settings.line_step : double_field (input, "line-step");

  if (!is_video (output))
    set_known (output, {{"depth-step", depth_step}, {"line-step", line_step},
                           {"b-scan-step", double_field (input, "b-scan-step")}});
  else if (settings.true_scale)
    set_true_scale (output, line_step, depth_step);
}

void
append_fft_outputs (GstCaps *caps, GstStaticPadTemplate *outputs,
    const GstStructure *input, const FftSettings &settings)
{
  GstCaps *all = gst_static_pad_template_get_caps (outputs);
  for (guint n = 0; n < gst_caps_get_size (all); n++) {
    GstStructure *output = gst_structure_copy (gst_caps_get_structure (all, n));
    copy_field (output, lines_field (output), input, "lines");
    copy_field (output, "framerate", input, "framerate");
    set_depths (output, input, settings);
    set_steps (output, input, settings);
    append_on_device (caps, output);
  }
  gst_caps_unref (all);
}

/* Returns settings that produce the depths of `output`. At the start, spectra with fewer
 * depths than `depth-count` are accepted too, so that set_formats fails with a reason. */
static std::optional<FftSettings>
settings_for_output (const GstStructure *output, const FftSettings &settings, bool starts)
{
  const Limits limits =
      limits_of (gst_structure_get_value (output, depths_field (output)), all_depths);
  const gint64 count = settings.depth_count;
  if (count == 0 || (count >= limits.least && count <= limits.most))
    return settings;
  if (!starts || count < limits.least)
    return {};
  FftSettings all = settings;
  all.depth_start = all.depth_count = 0;
  return all;
}

void
append_fft_inputs (GstCaps *caps, GstStaticPadTemplate *inputs,
    const GstStructure *output, const FftSettings &set, bool starts)
{
  const std::optional<FftSettings> settings = settings_for_output (output, set, starts);
  if (!settings)
    return;
  GstCaps *all = gst_static_pad_template_get_caps (inputs);
  GstStructure *input = gst_structure_copy (gst_caps_get_structure (all, 0));
  gst_caps_unref (all);
  copy_field (input, "lines", output, lines_field (output));
  copy_field (input, "framerate", output, "framerate");
  GstStructure *grid = gst_structure_copy (input);
  set_samples (input, gst_structure_get_value (output, depths_field (output)), *settings);
  gst_structure_set (
      grid, "oversampling", G_TYPE_INT, gint (gridding_oversampling), nullptr);
  append_on_device (caps, input);
  append_on_device (caps, grid);
}

void
describe_fft_output (GstCaps *output, const GstCaps *input, const FftSettings &settings)
{
  const GstStructure *spectra = gst_caps_get_structure (input, 0);
  GstStructure *depths = gst_caps_get_structure (output, 0);
  gint samples = 0;

  if (is_video (depths))
    return;
  gst_structure_get_int (spectra, "samples", &samples);
  const guint wavenumbers =
      std::max (guint (samples / oversampling_of (spectra)), least_samples);
  gst_structure_set (depths, "depth-start", G_TYPE_INT,
      gint (settings.fitted (wavenumbers).depth_start), nullptr);
  if (has_string (depths, "format", "F32LE"))
    gst_structure_set (depths, "quantity", G_TYPE_STRING,
        settings.scale == Scale::log ? "decibels" : "amplitude", nullptr);
}

bool
parse_wavenumbers (const GstCaps *caps, Spectra &spectra)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  gint samples, lines;

  if (!has_string (structure, "domain", "wavenumber")
      || !gst_structure_get_int (structure, "samples", &samples)
      || !gst_structure_get_int (structure, "lines", &lines))
    return false;
  spectra.samples = guint (samples);
  spectra.lines = guint (lines);
  spectra.oversampling = guint (oversampling_of (structure));
  spectra.complex = has_string (structure, "format", "CF32LE");
  return true;
}
} // namespace oct
