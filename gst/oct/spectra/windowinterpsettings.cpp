/* Settings of octwindowinterp, and the caps that they make
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "windowinterpsettings.hpp"

#include <algorithm>

namespace oct {
const opencl::EnumTypeOf<Interpolation> interpolation_type = {"GstOctInterpolation",
    {
        {Interpolation::none, "No interpolation; ignores the calibration", "none"},
        {Interpolation::linear, "Straight line between two samples", "linear"},
        {Interpolation::cubic, "Catmull-Rom curve through four samples", "cubic"},
        {Interpolation::lanczos, "Windowed sinc over eight samples", "lanczos"},
        {Interpolation::nufft,
            "NUFFT with twofold oversampling; octfft keeps half of the depths", "nufft"},
        {Interpolation::lanczos16, "Windowed sinc over sixteen samples", "lanczos16"},
    }};

const opencl::EnumTypeOf<WindowFunction> window_type = {"GstOctWindowFunction",
    {
        {WindowFunction::rectangular, "1; narrowest peak, highest side lobes",
            "rectangular"},
        {WindowFunction::hann, "0.5 - 0.5 cos(2 pi u), u from 0 to 1", "hann"},
        {WindowFunction::hamming, "0.54 - 0.46 cos(2 pi u)", "hamming"},
        {WindowFunction::blackman, "0.42 - 0.5 cos(2 pi u) + 0.08 cos(4 pi u)",
            "blackman"},
        {WindowFunction::gaussian, "exp(-0.5 ((2 u - 1) / 0.4)^2)", "gaussian"},
        {WindowFunction::tukey,
            "1, with a quarter of the window tapered as hann at each end", "tukey"},
        {WindowFunction::flattop, "Five cosine terms; exact peak heights, widest peak",
            "flattop"},
        {WindowFunction::file, "Values in window-file", "file"},
        {WindowFunction::shape,
            "hann, divided by the background as the spectrum of the source", "shape"},
    }};

const opencl::EnumTypeOf<Clock> clock_type = {"GstOctClock",
    {
        {Clock::none, "No k-clock", "none"},
        {Clock::interleaved, "Every second sample is a clock sample", "interleaved"},
        {Clock::consecutive, "The second half of each A-line is the clock channel",
            "behind"},
    }};

const opencl::EnumTypeOf<Unit> unit_type = {
    "GstOctWavelengthUnit", {
                                {Unit::none, "Unknown; depths then have no unit", "none"},
                                {Unit::nanometres, "Nanometres", "nm"},
                                {Unit::micrometres, "Micrometres", "um"},
                                {Unit::metres, "Metres", "m"},
                            }};

const opencl::EnumTypeOf<BackgroundMethod> background_type = {"GstOctBackground",
    {
        {BackgroundMethod::none, "No subtraction", "none"},
        {BackgroundMethod::frame,
            "Mean spectrum of the frame itself; also removes a flat interface (by 64 "
            "dB), which octbackground keeps",
            "frame"},
        {BackgroundMethod::rolling, "Mean spectrum of the preceding frames", "rolling"},
        {BackgroundMethod::file, "Spectrum in background-file", "file"},
        {BackgroundMethod::automatic,
            "Background that comes with the stream, as from octfileparse; else none",
            "auto"},
    }};

using Spectrum = SpectrumSettings;

template <typename... Members>
static auto
of_spectrum (Members... members)
{
  return opencl::nested (&WindowInterpSettings::spectrum, members...);
}

const auto tables = &WindowInterpSettings::tables_revision;

const opencl::PropertyTable<WindowInterpSettings> window_interp_properties = {
    {"wavelengths", "Wavelengths",
        "File (.npy, or text with one number per line) with the wavelength of each "
        "spectral sample, rising or falling, in any unit",
        of_spectrum (
            &Spectrum::calibration, &Calibration::wavelengths, &ValuesFile::path),
        opencl::playing, tables},
    {"wavelength-min", "First wavelength",
        "Wavelength of the first sample where wavelengths are evenly spaced, in any "
        "unit; 0 = not set",
        of_spectrum (&Spectrum::calibration, &Calibration::wavelength_min),
        {0, G_MAXDOUBLE}, opencl::playing, tables},
    {"wavelength-max", "Last wavelength",
        "Wavelength of the last sample where wavelengths are evenly spaced, in the unit "
        "of wavelength-min; 0 = not set",
        of_spectrum (&Spectrum::calibration, &Calibration::wavelength_max),
        {0, G_MAXDOUBLE}, opencl::playing, tables},
    {"wavelength-unit", "Unit of wavelengths",
        "Unit of wavelengths, wavelength-min and wavelength-max, from which octfft "
        "computes depth-step of its caps",
        &WindowInterpSettings::unit, unit_type, opencl::playing},
    {"depth-step", "Depth step",
        "Distance between depth bins in micrometres, in air and without padding, as "
        "found by oct-calibrate (0 = from the wavelengths or the input caps)",
        &WindowInterpSettings::depth_step, {0, 1e9}, opencl::playing},
    {"resample-map", "Resample map",
        "File with the fractional sample at which each even wavenumber lies",
        of_spectrum (
            &Spectrum::calibration, &Calibration::resample_map, &ValuesFile::path),
        opencl::playing, tables},
    {"k-clock", "k-clock",
        "Position of the samples of a k-clock channel, whose fringes resample each "
        "A-line to even wavenumbers instead of a calibration",
        of_spectrum (&Spectrum::clock), clock_type, opencl::playing, tables},
    {"interpolation", "Interpolation", "Interpolation between samples",
        of_spectrum (&Spectrum::interpolation), interpolation_type, opencl::playing,
        tables},
    {"window", "Window",
        "Window over the wavenumbers, scaled by 2 / its sum so that fringes keep their "
        "amplitude",
        of_spectrum (&Spectrum::window, &Window::function), window_type, opencl::playing,
        tables},
    {"window-file", "Window file",
        "File with the value of the window at each even wavenumber, in any unit, with a "
        "sum other than 0 (window=file)",
        of_spectrum (&Spectrum::window, &Window::file, &ValuesFile::path),
        opencl::playing, tables},
    {"window-centre", "Centre of the window",
        "Centre of the window as a fraction of the spectrum (0 = first wavenumber, 1 = "
        "last)",
        of_spectrum (&Spectrum::window, &Window::centre), {0, 1}, opencl::playing,
        tables},
    {"window-width", "Width of the window",
        "Full width of the window as a fraction of the spectrum, at least 8 samples; the "
        "window is 0 outside",
        of_spectrum (&Spectrum::window, &Window::width), {0.01, 2}, opencl::playing,
        tables},
    {"first-sample", "First sample", "First sample of an A-line that is used",
        of_spectrum (&Spectrum::first_sample), {0, most_samples - 1}, opencl::playing,
        tables},
    {"samples", "Samples",
        "Number of samples of an A-line that are used (0 = all from first-sample on); "
        "wavelength and background files may have a value for each sample or for each "
        "used one",
        of_spectrum (&Spectrum::samples), {0, most_samples}, opencl::playing, tables},
    {"padded-samples", "Padded samples",
        "Number of wavenumbers after zero padding, which reduces the depth step (0 = no "
        "padding)",
        of_spectrum (&Spectrum::padded_samples), {0, most_samples}, opencl::playing,
        tables},
    {"dispersion-a2", "Dispersion, second order",
        "Quadratic dispersion coefficient a2 in rad: factor exp(-i (a2 q^2 + a3 q^3)), q "
        "= wavenumber index - samples / 2",
        of_spectrum (&Spectrum::dispersion, &Dispersion::a2), {-G_MAXDOUBLE, G_MAXDOUBLE},
        opencl::playing, tables},
    {"dispersion-a3", "Dispersion, third order",
        "Cubic dispersion coefficient a3 in rad: factor exp(-i (a2 q^2 + a3 q^3)), q = "
        "wavenumber index - samples / 2",
        of_spectrum (&Spectrum::dispersion, &Dispersion::a3), {-G_MAXDOUBLE, G_MAXDOUBLE},
        opencl::playing, tables},
    {"dispersion-phase", "Dispersion phase",
        "File with the phase of each wavenumber in exp(-i phase), in rad, instead of "
        "coefficients",
        of_spectrum (&Spectrum::dispersion, &Dispersion::phase, &ValuesFile::path),
        opencl::playing, tables},
    {"background", "Background",
        "Background to subtract from each spectrum before resampling",
        &WindowInterpSettings::background, background_type, opencl::playing, tables},
    {"background-file", "Background file",
        "File with the background at each sample, in units of the samples after "
        "bit-shift (background=file)",
        of_spectrum (&Spectrum::background, &ValuesFile::path), opencl::playing, tables},
    {"background-frames", "Background frames",
        "Maximum number of preceding frames to average; the first frame has its own mean "
        "subtracted (background=rolling)",
        &WindowInterpSettings::background_frames, {1, 1024}, opencl::playing},
    {"settings", "Settings file",
        "Set properties of this element from a file with one NAME=VALUE per line, as "
        "written by oct-calibrate",
        &WindowInterpSettings::file, opencl::playing},
    {"bit-shift", "Bit shift",
        "Number of bits by which integer samples are first shifted right, for cameras "
        "that send 12 bits in the upper part of 16 (ignored for float samples)",
        &WindowInterpSettings::bit_shift, {0, 31}, opencl::playing},
    {"full-scale", "Full scale",
        "Value of integer samples after bit-shift from which they count as saturated and "
        "cause a warning, such as 4095 for 12 bits in the lower part of 16 (0 = maximum "
        "of the format)",
        &WindowInterpSettings::full_scale, {0, G_MAXUINT}, opencl::playing},
};

bool
WindowInterpSettings::restarts_mean (const WindowInterpSettings &after) const
{
  return background != after.background || bit_shift != after.bit_shift
         || background_frames != after.background_frames
         || spectrum.first_sample != after.spectrum.first_sample
         || spectrum.samples != after.spectrum.samples
         || spectrum.clock != after.spectrum.clock;
}

SpectrumSettings
WindowInterpSettings::tables_settings () const
{
  SpectrumSettings wanted = spectrum;
  wanted.background_from_file = background == BackgroundMethod::file;
  wanted.background_of_stream = subtracts_stream_background ();
  wanted.shift = bit_shift;
  return wanted;
}

double
WindowInterpSettings::step_of (guint samples) const
{
  const double micrometres[] = {0, 1e-3, 1, 1e6};
  const Samples used = spectrum.used_of (samples);
  const double step = depth_step > 0       ? G_PI / (double (used.used) * depth_step)
                      : unit == Unit::none ? spectrum.stream_step (samples)
                                           : calibration_step (spectrum.calibration, used,
                                               micrometres[gsize (unit)]);
  return step / spectrum.oversampling ();
}

/* Returns the source's spectrum at each even wavenumber, times `window`; empty if the
 * spectrum is unknown. background-file shows it, as it is recorded without a sample. */
static std::vector<double>
windowed_spectrum (const WindowInterpSettings &settings, const Samples &samples,
    std::vector<double> window)
{
  std::vector<double> spectrum, map;
  if (settings.background != BackgroundMethod::file
      || !values_file_load_used (settings.spectrum.background, samples, spectrum, nullptr)
      || (!settings.is_clocked ()
          && settings.spectrum.interpolation != Interpolation::none
          && !calibration_load (settings.spectrum.calibration, samples, map, nullptr)))
    return {};
  for (gsize m = 0; m < window.size (); m++) {
    const double place = map.empty () ? double (m) : map[m];
    const gsize before = std::min (gsize (place), spectrum.size () - 2);
    window[m] *= spectrum[before]
                 + (place - double (before)) * (spectrum[before + 1] - spectrum[before]);
  }
  return window;
}

PeakWidths
WindowInterpSettings::widths_of (guint samples) const
{
  const Samples used = spectrum.used_of (samples);
  const gsize points = spectrum.points_of (samples) / spectrum.oversampling ();
  const std::vector<double> window = scaled_window_function (spectrum.window, used.used);
  const std::vector<double> measured =
      spectrum.window.is_shape () ? window : windowed_spectrum (*this, used, window);
  PeakWidths widths;
  widths.window = transform_width (window, points);
  if (!measured.empty ())
    widths.spectrum = transform_width (measured, points);
  return widths;
}

/* Caps */

/* Copies the size, the frame rate and the steps, between raw video and spectra. */
static void
copy_layout (GstStructure *to, const GstStructure *from)
{
  copy_field (to, samples_field (to), from, samples_field (from));
  copy_field (to, lines_field (to, true), from, lines_field (from, true));
  for (const char *field : {"framerate", "line-step", "b-scan-step"})
    copy_field (to, field, from, field);
}

/* Returns a new structure for the output caps. */
static GstStructure *
new_output_structure (const WindowInterpSettings &settings)
{
  GstStructure *output =
      gst_structure_new ("application/x-oct", "domain", G_TYPE_STRING, "wavenumber",
          "format", G_TYPE_STRING, settings.complex () ? "CF32LE" : "F32LE", nullptr);
  if (settings.spectrum.gridded ())
    gst_structure_set (output, "oversampling", G_TYPE_INT,
        gint (settings.spectrum.oversampling ()), nullptr);
  return output;
}

void
append_spectra_outputs (
    GstCaps *caps, const GstStructure *input, const WindowInterpSettings &settings)
{
  GstStructure *output = new_output_structure (settings);
  gint samples;
  copy_layout (output, input);
  append_on_device (caps, output);
  if (settings.spectrum.keeps_samples ())
    return;
  /* Without a fixed number of samples, any number is possible. */
  if (!gst_structure_get_int (output, "samples", &samples))
    gst_structure_remove_field (output, "samples");
  else
    gst_structure_set (output, "samples", G_TYPE_INT,
        gint (std::clamp<gint64> (settings.spectrum.points_of (samples), 1, G_MAXINT)),
        nullptr);
}

/* Appends no caps if downstream needs a format that these settings do not produce. */
void
append_spectra_inputs (GstCaps *caps, GstStaticPadTemplate *inputs,
    const GstStructure *output, const WindowInterpSettings &settings)
{
  GstStructure *made = new_output_structure (settings);
  gboolean wanted = gst_structure_can_intersect (made, output)
                    && (settings.spectrum.gridded ()
                        || !gst_structure_has_field (output, "oversampling"));
  gst_structure_free (made);
  if (!wanted)
    return;

  GstCaps *all = gst_static_pad_template_get_caps (inputs);
  for (guint n = 0; n < gst_caps_get_size (all); n++) {
    GstStructure *input = gst_structure_copy (gst_caps_get_structure (all, n));
    copy_layout (input, output);
    if (!settings.spectrum.keeps_samples ())
      gst_structure_remove_field (input, samples_field (input));
    append_on_device (caps, input);
  }
  gst_caps_unref (all);
}
} // namespace oct
