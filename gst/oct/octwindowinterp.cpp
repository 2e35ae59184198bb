/* octwindowinterp: resamples raw spectra to even wavenumbers and applies a window
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octwindowinterp
 *
 * Prepares the raw spectra of an OCT camera for the Fourier transform. Each row of a
 * frame is an A-line. The element subtracts the background and resamples from the
 * spectrometer's pixels to even wavenumbers. It then multiplies by a window and by a
 * phase that compensates dispersion. The output is real (F32LE), or complex (CF32LE) if a
 * dispersion is set.
 *
 * The output wavenumbers (2 pi / wavelength) are evenly spaced from that of the first
 * sample to that of the last one. Instead of `wavelengths`, or `wavelength-min` and
 * `-max`, a map can give the sample at each even wavenumber (`resample-map`,
 * `resample-polynomial`) or the index of the wavenumber at each sample (`chirp`). Without
 * any of these, samples are taken as already even in wavenumber.
 *
 * If `wavelength-unit` is set, the caps contain the wavenumber step (`wavenumber-step`,
 * in rad/µm), and the caps of octfft contain the depth step.
 *
 * Interpolation between samples attenuates deep structures, and produces artefacts
 * (images) at other depths. `interpolation=nufft` has the least of both. It
 * interpolates to twice as many wavenumbers, with kernels that depend on the sample
 * spacing. octfft then keeps half of the depths, as the caps field `oversampling`
 * requests. With samples evenly spaced in wavelength from 1187 to 1433 nm, images are 88
 * dB below a fringe up to 0.78 of the last depth, which is attenuated by 0.2 dB there.
 * They are 50 dB below a fringe at 0.83, which is attenuated by 0.6 dB. The images are
 * those more than 20 bins from the peak, outside of its side lobes. The maximum is 32768
 * wavenumbers.
 *
 * At 0.78 of the last depth, images are 50 dB below a fringe with `lanczos16`, and 37 dB
 * with `lanczos`. No method recovers fringes that the camera undersamples: those of the
 * last depths, at the end of the spectrum where wavenumbers are furthest apart.
 *
 * `window=file` multiplies by the values in `window-file`, one for each even wavenumber,
 * such as a window that makes the measured spectrum of the light source a Gaussian. As
 * every window it is scaled by 2 / its sum, so it needs no unit. A file whose sum is 0 is
 * refused. `window-centre` and `window-width` move and stretch it like other windows.
 *
 * `first-sample` and `samples` select a part of each A-line. `padded-samples` appends
 * zeros to the spectrum.
 *
 * With `k-clock` an A-line has two channels: the sample and a k-clock, the fringes of an
 * interferometer. The phase of the clock resamples each A-line individually to even
 * wavenumbers (Catmull-Rom), before all other steps. Clock fringes must be 2.3 to 12
 * samples long. In the first and last 20 samples the sweep is extrapolated. A background
 * then has a value for each even wavenumber.
 *
 * `background=rolling` subtracts the mean of the mean spectra of up to
 * `background-frames` preceding frames. The first frame has its own mean subtracted. The
 * rolling mean restarts with new caps, after a stop, and when `background`,
 * `background-frames`, `bit-shift`, `k-clock` or the used samples change. Any mean also
 * removes signals that are constant over all A-lines, such as a flat interface.
 *
 * `application/x-oct` has formats that raw video lacks: signed samples (`S16LE`, for
 * balanced detection), samples of 32 bits, and the packed formats of GenICam. `MONO10P`
 * and `MONO12P` are contiguous bits, the lowest first. `MONO12PACKED` has two samples in
 * three bytes. Each A-line begins at a byte. `octrawparse` reads files that contain only
 * samples.
 *
 * NaN and infinite samples are ignored in a mean. Their A-line has no depths. One WARNING
 * message gives their number.
 *
 * Integer samples at full scale are saturated. A WARNING message gives their fraction,
 * once until saturation ends. Full scale is the maximum of the format after `bit-shift`,
 * such as 4095 for `MONO12P`. Set `full-scale=4095` for a camera that sends 12 bits in
 * the lower part of 16. The element checks one A-line in 16 of one frame in 16, a
 * different one each time. It reads the counts every 16 frames and at the end.
 *
 * `calibrate=true` finds the calibration from a mirror in place of the sample. It uses
 * the mean spectrum of the next frame. With `background=file` it first subtracts
 * `background-file`, which must be recorded without the mirror. The element message
 * `octwindowinterp-calibration` contains:
 *
 * - `resample-map`: array of doubles, as in the property's file
 * - `dispersion-phase`: likewise, from the second mirror on. It is computed from this
 *   mirror and the previous one
 * - `mirrors`: number of mirrors used
 * - `width-before`, `width-after`: width of the first mirror's peak in depths, without
 *   and with the calibration
 *
 * If there is no fringe, if the mirror is too near to zero delay, or if the calibration
 * makes a peak wider, the element posts a WARNING message. The next mirror then counts as
 * the first one. With `calibration-folder`, the results are also written as files for
 * `settings`. The command `oct-calibrate` does the same with files.
 *
 * `octfileparse` sends the calibration of a recording with the stream, in a
 * #GstOctCalibration event. The element uses its resample map, background, dispersion and
 * wavenumber step where no property sets them. `background=none` ignores the background
 * of the stream.
 *
 * Files contain one value for each sample of an A-line, as .npy or as text with one
 * number per line. In text, `#` begins a comment. Files are read when the caps are known.
 * They are read again when a property of the resampling, window, dispersion or background
 * (except `background-frames`) is set. Properties set in one g_object_set(), or between
 * g_object_freeze_notify() and g_object_thaw_notify(), take effect together, with the
 * next frame. In a live pipeline a change that may need other kernels takes effect when
 * these are compiled. Until then the previous settings remain in force.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY16_LE,width=2048,height=512 !
 * openclupload ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * opencldownload ! videoconvert ! autovideosink
 * ]|
 * The pipeline processes a test image as spectra that are evenly spaced in wavelength.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/preparation.hpp>
#include <gst/common/settings.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>

#include "spectra/announcedspectra.hpp"
#include "spectra/backgroundmean.hpp"
#include "spectra/capsformat.hpp"
#include "spectra/clockedspectra.hpp"
#include "spectra/deferredspectra.hpp"
#include "spectra/livecalibration.hpp"
#include "spectra/peakwidths.hpp"
#include "spectra/samplecounts.hpp"
#include "spectra/unpacking.hpp"
#include "signal/peak.hpp"
#include "elements.h"
#include "settingsfile.hpp"

GST_DEBUG_CATEGORY_STATIC (oct_window_interp_debug);
#define GST_CAT_DEFAULT oct_window_interp_debug

#define FRAMERATE "framerate=(fraction)[0/1, 2147483647/1]"
#define SPECTRUM_SIZE                                                                    \
  "samples=(int)[1, 2147483647], lines=(int)[1, 2147483647], " FRAMERATE

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "
            "format=(string){GRAY8, GRAY16_LE, GRAY16_BE}, "
            "width=(int)[1, 2147483647], height=(int)[1, 2147483647], " FRAMERATE ";"
            "application/x-oct(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "
            "domain=(string)wavelength, "
            "format=(string){U16LE, F32LE, U8, S8, U16BE, S16LE, S16BE, S32LE, U32LE, "
            "MONO10P, MONO12P, MONO12PACKED}, " SPECTRUM_SIZE));

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "application/x-oct(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), "
            "domain=(string)wavenumber, format=(string){F32LE, CF32LE}, " SPECTRUM_SIZE));

namespace {
using oct::CapsFormat;
using oct::Clock;
using oct::Interpolation;
using oct::WindowFunction;

enum class BackgroundMethod {
  none,
  frame,
  rolling,
  file,
  automatic, /* of the stream, if it has one */
};

enum class Unit {
  none,
  nanometres,
  micrometres,
  metres,
};

/* Properties of the output spectra that caps contain */
struct SpectrumShape {
  bool complex = false;
  guint points = 0; /* per A-line */
  double step = 0;  /* wavenumber-step, rad/µm */
  double refractive_index = 0;

  bool operator== (const SpectrumShape &other) const
  {
    return complex == other.complex && points == other.points && step == other.step
           && refractive_index == other.refractive_index;
  }
};

struct WindowInterpSettings {
  oct::SpectrumSettings spectrum;
  Unit unit = Unit::none;
  BackgroundMethod background = BackgroundMethod::automatic;
  guint background_frames = 16;
  guint bit_shift = 0;
  guint full_scale = 0;      /* 0: maximum of the format */
  std::string file;          /* path of property `settings` */
  guint tables_revision = 0; /* counts changes that need new tables */
  bool calibrate = false;
  guint calibrations = 0; /* counts how often it was set */
  bool same_side = false;
  std::string calibration_folder;

  bool is_clocked () const { return spectrum.clock != Clock::none; }
  bool complex () const { return spectrum.complex (); }

  bool subtracts_stream_background () const
  {
    return background == BackgroundMethod::automatic
           && spectrum.uses_stream_background ();
  }
  bool subtracts () const
  {
    return background == BackgroundMethod::automatic
               ? subtracts_stream_background ()
               : background != BackgroundMethod::none;
  }

  /* Returns the output for this number of samples. */
  SpectrumShape shape_of (guint samples) const
  {
    return {complex (), guint (spectrum.points_of (samples)), step_of (samples),
        spectrum.stream ? spectrum.stream->refractive_index : 0};
  }

  /* Returns the wavenumber step of the output in rad/µm, or 0 if unknown. */
  double step_of (guint samples) const
  {
    const double micrometres[] = {0, 1e-3, 1, 1e6};
    const double step = unit == Unit::none
                            ? spectrum.stream_step (samples)
                            : oct::calibration_step (spectrum.calibration,
                                spectrum.used_of (samples), micrometres[gsize (unit)]);
    return step / spectrum.oversampling ();
  }
};

/* Fields of application/x-oct and the corresponding ones of raw video */
const struct {
  const char *oct;
  const char *video;
} layout_fields[] = {
    {"samples", "width"},
    {"lines", "height"},
    {"framerate", "framerate"},
    {"line-step", "line-step"},
    {"b-scan-step", "b-scan-step"},
};

/* State of the streaming thread. */
struct WindowInterpWork {
  const CapsFormat *input = nullptr;
  guint samples = 0;
  guint lines = 0;
  SpectrumShape shape;

  WindowInterpSettings settings;            /* in force */
  std::optional<WindowInterpSettings> next; /* to apply with the present frame */
  std::optional<oct::SpectrumTables> next_tables;
  std::shared_ptr<oct::SpectrumStage> stage;
  std::unique_ptr<oct::Unpacking> unpacking;    /* null if not needed */
  std::unique_ptr<oct::ClockedSpectra> clocked; /* null without a k-clock */
  std::unique_ptr<oct::BackgroundMean> mean;    /* null if no mean is subtracted */
  oct::SampleCounts counts; /* of NaN and infinite floats, or of saturated integers */
  cl_uint counts_before[2] = {};
  bool warned_of_nonfinite = false;

  /* Memory layout of the last frame */
  gsize offset = 0;
  gint stride = 0;

  guint full_scale () const
  {
    const guint of_format = input->full_scale (settings.bit_shift);
    const auto &stream = settings.spectrum.stream;
    guint wanted = settings.full_scale;
    if (wanted == 0 && stream && stream->full_scale >= 1
        && stream->full_scale < of_format)
      wanted = guint (stream->full_scale) >> settings.bit_shift;
    return wanted > 0 ? std::min (wanted, of_format) : of_format;
  }
};

/* Tables on the device that were prepared ahead of the frame that needs them */
struct PreparedStage {
  const CapsFormat *input = nullptr;
  guint samples = 0;
  bool complex = false;
  guint tables_revision = 0;
  std::shared_ptr<oct::SpectrumStage> stage;

  bool matches (const WindowInterpWork &work, const WindowInterpSettings &settings) const
  {
    return stage && input == work.input && samples == work.samples
           && complex == settings.complex ()
           && tables_revision == settings.tables_revision;
  }
};

/* Answer to octsignal's query for these settings */
struct KnownWidths {
  std::mutex mutex;
  guint samples = 0; /* 0: not computed yet */
  guint tables_revision = 0;
  oct::PeakWidths widths;
};
} // namespace

#define GST_TYPE_OCT_WINDOW_INTERP (gst_oct_window_interp_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOctWindowInterp, gst_oct_window_interp, GST, OCT_WINDOW_INTERP, GstOpenCLFilter)

struct _GstOctWindowInterp {
  GstOpenCLFilter parent;

  opencl::Settings<WindowInterpSettings> *settings;
  WindowInterpWork *work; /* between set_formats and close, else null */
  opencl::Preparation *preparation;
  PreparedStage *prepared; /* by `preparation`, used when that is done */
  oct::LiveCalibration *calibration;
  KnownWidths *widths;
  guint calibrations; /* WindowInterpSettings::calibrations of the last calibration */
  bool is_saturated;  /* a warning was posted, and saturation has not ended since */
};

G_DEFINE_TYPE (GstOctWindowInterp, gst_oct_window_interp, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    octwindowinterp, "octwindowinterp", GST_RANK_NONE, GST_TYPE_OCT_WINDOW_INTERP)

static GType
interpolation_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Interpolation::none), "No interpolation; ignores the calibration", "none"},
      {gint (Interpolation::linear), "Straight line between two samples", "linear"},
      {gint (Interpolation::cubic), "Catmull-Rom curve through four samples", "cubic"},
      {gint (Interpolation::lanczos), "Windowed sinc over eight samples", "lanczos"},
      {gint (Interpolation::nufft),
          "NUFFT with twofold oversampling; octfft keeps half of the depths", "nufft"},
      {gint (Interpolation::lanczos16), "Windowed sinc over sixteen samples",
          "lanczos16"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctInterpolation", values);
  return type;
}

static GType
window_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (WindowFunction::rectangular), "1; narrowest peak, highest side lobes",
          "rectangular"},
      {gint (WindowFunction::hann), "0.5 - 0.5 cos(2 pi u), u from 0 to 1", "hann"},
      {gint (WindowFunction::hamming), "0.54 - 0.46 cos(2 pi u)", "hamming"},
      {gint (WindowFunction::blackman), "0.42 - 0.5 cos(2 pi u) + 0.08 cos(4 pi u)",
          "blackman"},
      {gint (WindowFunction::gaussian), "exp(-0.5 ((2 u - 1) / 0.4)^2)", "gaussian"},
      {gint (WindowFunction::tukey),
          "1, with a quarter of the window tapered as hann at each end", "tukey"},
      {gint (WindowFunction::flattop),
          "Five cosine terms; exact peak heights, widest peak", "flattop"},
      {gint (WindowFunction::file), "Values in window-file", "file"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctWindowFunction", values);
  return type;
}

static GType
clock_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Clock::none), "No k-clock", "none"},
      {gint (Clock::interleaved), "Every second sample is a clock sample", "interleaved"},
      {gint (Clock::consecutive), "The second half of each A-line is the clock channel",
          "behind"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctClock", values);
  return type;
}

static GType
unit_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Unit::none), "Unknown; depths then have no unit", "none"},
      {gint (Unit::nanometres), "Nanometres", "nm"},
      {gint (Unit::micrometres), "Micrometres", "um"},
      {gint (Unit::metres), "Metres", "m"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctWavelengthUnit", values);
  return type;
}

static GType
background_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (BackgroundMethod::none), "No subtraction", "none"},
      {gint (BackgroundMethod::frame),
          "Mean spectrum of the frame itself; also removes a flat interface (by 64 dB), "
          "which octbackground keeps",
          "frame"},
      {gint (BackgroundMethod::rolling), "Mean spectrum of the preceding frames",
          "rolling"},
      {gint (BackgroundMethod::file), "Spectrum in background-file", "file"},
      {gint (BackgroundMethod::automatic),
          "Background that comes with the stream, as from octfileparse; else none",
          "auto"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctBackground", values);
  return type;
}

/* Properties */

const opencl::PropertyTable<WindowInterpSettings> properties = {
    {"wavelengths", "Wavelengths",
        "File (.npy, or text with one number per line) with the wavelength of each "
        "spectral sample, rising or falling, in any unit",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.calibration.wavelengths.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"wavelength-min", "First wavelength",
        "Wavelength of the first sample where wavelengths are evenly spaced, in any "
        "unit; 0 = not set",
        [] (WindowInterpSettings &s) -> double & {
          return s.spectrum.calibration.wavelength_min;
        },
        {0, G_MAXDOUBLE}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"wavelength-max", "Last wavelength",
        "Wavelength of the last sample where wavelengths are evenly spaced, in the unit "
        "of wavelength-min; 0 = not set",
        [] (WindowInterpSettings &s) -> double & {
          return s.spectrum.calibration.wavelength_max;
        },
        {0, G_MAXDOUBLE}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"wavelength-unit", "Unit of wavelengths",
        "Unit of wavelengths, wavelength-min and wavelength-max, from which octfft "
        "computes depth-step of its caps",
        &WindowInterpSettings::unit, unit_get_type, opencl::playing},
    {"resample-map", "Resample map",
        "File with the fractional sample at which each even wavenumber lies",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.calibration.resample_map.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"chirp", "Chirp",
        "File with the fractional index of the even wavenumber at each sample, the "
        "inverse of a resample map; may be raw float32 values such as Thorlabs' "
        "Chirp.data",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.calibration.chirp.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"resample-polynomial", "Resample polynomial",
        "Comma-separated polynomial coefficients of a resample map, constant first, in u "
        "= 0 at the first wavenumber to 1 at the last",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.calibration.polynomial;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"k-clock", "k-clock",
        "Position of the samples of a k-clock channel, whose fringes resample each "
        "A-line to even wavenumbers instead of a calibration",
        [] (WindowInterpSettings &s) -> Clock & { return s.spectrum.clock; },
        clock_get_type, opencl::playing, &WindowInterpSettings::tables_revision},
    {"interpolation", "Interpolation", "Interpolation between samples",
        [] (WindowInterpSettings &s) -> Interpolation & {
          return s.spectrum.interpolation;
        },
        interpolation_get_type, opencl::playing, &WindowInterpSettings::tables_revision},
    {"window", "Window",
        "Window over the wavenumbers, scaled by 2 / its sum so that fringes keep their "
        "amplitude",
        [] (WindowInterpSettings &s) -> WindowFunction & {
          return s.spectrum.window.function;
        },
        window_get_type, opencl::playing, &WindowInterpSettings::tables_revision},
    {"window-file", "Window file",
        "File with the value of the window at each even wavenumber, in any unit, with a "
        "sum other than 0 (window=file)",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.window.file.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"window-centre", "Centre of the window",
        "Centre of the window as a fraction of the spectrum (0 = first wavenumber, 1 = "
        "last)",
        [] (WindowInterpSettings &s) -> double & { return s.spectrum.window.centre; },
        {0, 1}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"window-width", "Width of the window",
        "Full width of the window as a fraction of the spectrum, at least 8 samples; the "
        "window is 0 outside",
        [] (WindowInterpSettings &s) -> double & { return s.spectrum.window.width; },
        {0.01, 2}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"first-sample", "First sample", "First sample of an A-line that is used",
        [] (WindowInterpSettings &s) -> guint & { return s.spectrum.first_sample; },
        {0, oct::most_samples - 1}, opencl::playing,
        &WindowInterpSettings::tables_revision},
    {"samples", "Samples",
        "Number of samples of an A-line that are used (0 = all from first-sample on); "
        "wavelength and background files may have a value for each sample or for each "
        "used one",
        [] (WindowInterpSettings &s) -> guint & { return s.spectrum.samples; },
        {0, oct::most_samples}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"padded-samples", "Padded samples",
        "Number of wavenumbers after zero padding, which reduces the depth step (0 = no "
        "padding)",
        [] (WindowInterpSettings &s) -> guint & { return s.spectrum.padded_samples; },
        {0, oct::most_samples}, opencl::playing, &WindowInterpSettings::tables_revision},
    {"dispersion-a2", "Dispersion, second order",
        "a2 in exp(-i (a2 q^2 + a3 q^3)), in rad; q = wavenumber's index - samples / 2",
        [] (WindowInterpSettings &s) -> double & { return s.spectrum.dispersion.a2; },
        {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing,
        &WindowInterpSettings::tables_revision},
    {"dispersion-a3", "Dispersion, third order",
        "a3 in exp(-i (a2 q^2 + a3 q^3)), in rad; q = wavenumber's index - samples / 2",
        [] (WindowInterpSettings &s) -> double & { return s.spectrum.dispersion.a3; },
        {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing,
        &WindowInterpSettings::tables_revision},
    {"dispersion-phase", "Dispersion phase",
        "File with the phase of each wavenumber in exp(-i phase), in rad, instead of "
        "coefficients",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.dispersion.phase.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"background", "Background",
        "Background to subtract from each spectrum before resampling",
        &WindowInterpSettings::background, background_get_type, opencl::playing,
        &WindowInterpSettings::tables_revision},
    {"background-file", "Background file",
        "File with the background at each sample, in units of the samples after "
        "bit-shift (background=file)",
        [] (WindowInterpSettings &s) -> std::string & {
          return s.spectrum.background.path;
        },
        opencl::playing, &WindowInterpSettings::tables_revision},
    {"background-frames", "Background frames",
        "Maximum number of preceding frames to average; the first frame has its own mean "
        "subtracted (background=rolling)",
        &WindowInterpSettings::background_frames, {1, 1024}, opencl::playing},
    {"settings", "Settings file",
        "Set properties of this element from a file with one NAME=VALUE per line, as "
        "written by oct-calibrate",
        [] (WindowInterpSettings &s) -> std::string & { return s.file; },
        opencl::playing},
    {"calibrate", "Calibrate",
        "Calibrate from the next frame, which must show a mirror, and post the result as "
        "a message. Set again with the mirror moved to calibrate from both",
        &WindowInterpSettings::calibrate, opencl::playing,
        &WindowInterpSettings::calibrations},
    {"calibrate-same-side", "Mirrors on the same side",
        "Whether both mirrors of calibrate are on the same side of zero delay, instead "
        "of one on each side",
        &WindowInterpSettings::same_side, opencl::playing},
    {"calibration-folder", "Calibration folder",
        "Folder where calibrate writes resample-map.npy, dispersion-phase.npy (after two "
        "mirrors) and settings.txt, a file for settings (empty = not written)",
        &WindowInterpSettings::calibration_folder, opencl::playing},
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

/* Caps */

static void
append_structure (GstCaps *caps, GstStructure *structure)
{
  gst_caps_append_structure_full (caps, structure,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, nullptr));
}

static void
copy_layout (GstStructure *to, const GstStructure *from)
{
  bool from_video = gst_structure_has_name (from, "video/x-raw");
  bool to_video = gst_structure_has_name (to, "video/x-raw");

  for (const auto &field : layout_fields) {
    const GValue *value =
        gst_structure_get_value (from, from_video ? field.video : field.oct);
    if (value)
      gst_structure_set_value (to, to_video ? field.video : field.oct, value);
  }
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

/* Changes a fixed number of samples. Removes a range or a list, which allows any
 * number. */
static void
change_samples (GstStructure *structure, const char *field,
    const std::function<gint64 (gint)> &changed)
{
  gint samples;
  if (!gst_structure_get_int (structure, field, &samples)) {
    gst_structure_remove_field (structure, field);
    return;
  }
  gint64 other = std::clamp<gint64> (changed (samples), 1, G_MAXINT);
  gst_structure_set (structure, field, G_TYPE_INT, gint (other), nullptr);
}

static void
append_outputs (
    GstCaps *caps, const GstStructure *input, const WindowInterpSettings &settings)
{
  GstStructure *output = new_output_structure (settings);
  copy_layout (output, input);
  if (!settings.spectrum.keeps_samples ())
    change_samples (output, "samples",
        [&] (gint samples) { return gint64 (settings.spectrum.points_of (samples)); });
  append_structure (caps, output);
}

/* Appends no caps if downstream needs a format that these settings do not produce. */
static void
append_inputs (
    GstCaps *caps, const GstStructure *output, const WindowInterpSettings &settings)
{
  GstStructure *made = new_output_structure (settings);
  gboolean wanted = gst_structure_can_intersect (made, output)
                    && (settings.spectrum.gridded ()
                        || !gst_structure_has_field (output, "oversampling"));
  gst_structure_free (made);
  if (!wanted)
    return;

  GstCaps *inputs = gst_static_pad_template_get_caps (&sink_template);
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    GstStructure *input = gst_structure_copy (gst_caps_get_structure (inputs, n));
    copy_layout (input, output);
    if (!settings.spectrum.keeps_samples ())
      gst_structure_remove_field (
          input, gst_structure_has_name (input, "video/x-raw") ? "width" : "samples");
    append_structure (caps, input);
  }
  gst_caps_unref (inputs);
}

static GstCaps *
gst_oct_window_interp_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const WindowInterpSettings settings =
      GST_OCT_WINDOW_INTERP (base)->settings->current ();
  GstCaps *result = gst_caps_new_empty ();

  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstStructure *structure = gst_caps_get_structure (caps, n);
    if (direction == GST_PAD_SINK)
      append_outputs (result, structure, settings);
    else
      append_inputs (result, structure, settings);
  }
  result = opencl::filtered_caps (result, filter);
  GST_DEBUG_OBJECT (base, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, caps, result);
  return result;
}

/* Adds the wavenumber step and the refractive index to the output caps, if known. */
static GstCaps *
gst_oct_window_interp_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  others = GST_BASE_TRANSFORM_CLASS (gst_oct_window_interp_parent_class)
               ->fixate_caps (base, direction, caps, others);
  guint samples, lines;
  if (direction != GST_PAD_SINK || gst_caps_is_empty (others)
      || !oct::parse_spectra (caps, &samples, &lines))
    return others;
  const SpectrumShape shape =
      GST_OCT_WINDOW_INTERP (base)->settings->current ().shape_of (samples);
  others = gst_caps_make_writable (others);
  for (const auto &[field, value] : {std::pair ("wavenumber-step", shape.step),
           std::pair ("refractive-index", shape.refractive_index)}) {
    if (value > 0)
      gst_caps_set_simple (others, field, G_TYPE_DOUBLE, value, nullptr);
  }
  return others;
}

static gboolean
gst_oct_window_interp_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  guint samples, lines;
  const CapsFormat *format = oct::parse_spectra (caps, &samples, &lines);

  if (!format)
    return FALSE;
  *size = format->line_bytes (samples) * lines;
  return TRUE;
}

/* Tables and kernels */

static oct::SpectrumSettings
spectrum_of (const WindowInterpSettings &settings)
{
  oct::SpectrumSettings spectrum = settings.spectrum;
  spectrum.background_from_file = settings.background == BackgroundMethod::file;
  spectrum.background_of_stream = settings.subtracts_stream_background ();
  spectrum.shift = settings.bit_shift;
  return spectrum;
}

static bool
load_tables (const WindowInterpWork &work, const WindowInterpSettings &settings,
    oct::SpectrumTables &tables, GError **error)
{
  return oct::spectrum_tables_load (
      spectrum_of (settings), work.samples, work.shape.complex, tables, error);
}

static oct::SampleFormat
sample_format (const WindowInterpWork &work, const WindowInterpSettings &settings)
{
  return settings.is_clocked () ? oct::SampleFormat::f32le : work.input->sample;
}

/* Creates a new stage. Frames in flight still use the old one and keep it alive. */
static gboolean
make_stage (GstOctWindowInterp *self, WindowInterpWork &work,
    const WindowInterpSettings &settings, const oct::SpectrumTables &tables,
    GError **error)
{
  const oct::Samples used = settings.spectrum.used_of (work.samples);
  if (!tables.calibrated)
    GST_INFO_OBJECT (
        self, "no calibration is set, assuming samples evenly spaced in wavenumber");

  work.stage = oct::SpectrumStage::make (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
      {sample_format (work, settings), guint (used.used),
          settings.spectrum.oversampling (), work.shape.complex, settings.subtracts ()},
      tables, error);
  return work.stage != nullptr;
}

/* Creates the stage that unpacks or clocks samples before they are read, if needed. */
static bool
make_reader (GstOctWindowInterp *self, WindowInterpWork &work,
    const WindowInterpSettings &settings, GError **error)
{
  const CapsFormat &input = *work.input;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  if (!settings.is_clocked ())
    work.clocked.reset ();
  if (settings.is_clocked ()
      && !(work.clocked && work.settings.spectrum.clock == settings.spectrum.clock)) {
    work.clocked = std::make_unique<oct::ClockedSpectra> ();
    return work.clocked->create (
        context, settings.spectrum.clock, input.unpacking (), error);
  }
  if (settings.is_clocked () || !input.unpack || work.unpacking)
    return true;
  work.unpacking = std::make_unique<oct::Unpacking> ();
  return work.unpacking->create (context, input.unpack, input.sample, error);
}

static gboolean
create_mean (GstOctWindowInterp *self, WindowInterpWork &work,
    const WindowInterpSettings &settings, GError **error)
{
  work.mean.reset ();
  if (settings.background != BackgroundMethod::frame
      && settings.background != BackgroundMethod::rolling)
    return TRUE;
  bool rolling = settings.background == BackgroundMethod::rolling;
  work.mean = std::make_unique<oct::BackgroundMean> ();
  return work.mean->create (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
      sample_format (work, settings), settings.spectrum.used_of (work.samples).used,
      work.lines, rolling ? settings.background_frames : 0, error);
}

/* Returns whether the mean of earlier frames is not valid for the new settings. */
static bool
restarts_mean (const WindowInterpSettings &before, const WindowInterpSettings &after)
{
  return before.background != after.background || before.bit_shift != after.bit_shift
         || before.background_frames != after.background_frames
         || before.spectrum.first_sample != after.spectrum.first_sample
         || before.spectrum.samples != after.spectrum.samples
         || before.spectrum.clock != after.spectrum.clock;
}

static GstCaps *
outputs_of (GstBaseTransform *base, const WindowInterpSettings &settings)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  GstCaps *outputs = gst_caps_new_empty ();
  append_outputs (outputs, gst_caps_get_structure (input, 0), settings);
  gst_caps_unref (input);
  return outputs;
}

/* Counts saturated samples, including those of a k-clock. */
static bool
count_saturated (WindowInterpWork &work, const oct::Samples &used, cl_command_queue queue,
    oct::RawSpectra &spectra, GError **error)
{
  return work.counts.count_saturated (queue, work.clocked ? 0 : guint (used.first),
      work.clocked ? work.samples : guint (used.used), work.full_scale (), spectra,
      error);
}

/* Finds the used samples of a frame. Enqueues the unpacking or k-clock resampling, if
 * needed. */
static bool
read_spectra (WindowInterpWork &work, const GstOpenCLFrame *frame, cl_command_queue queue,
    oct::RawSpectra &spectra, GError **error)
{
  work.offset = frame->offset[0];
  work.stride = frame->stride[0];
  const oct::Samples used = work.settings.spectrum.used_of (work.samples);
  const gsize line = work.input->line_bytes (work.samples);
  spectra.data = frame->data;
  spectra.offset = frame->offset[0];
  spectra.stride = frame->stride[0] == 0 ? cl_long (line) : frame->stride[0];
  spectra.samples = cl_uint (used.used);
  spectra.lines = work.lines;
  spectra.shift = work.input->integer ? work.settings.bit_shift : 0;
  if (!work.input->integer)
    spectra.counter = work.counts.counter ();
  else if (work.counts.counter () && !count_saturated (work, used, queue, spectra, error))
    return false;
  if (work.clocked)
    return work.clocked->enqueue (
        queue, guint (used.all), guint (used.first), guint (used.used), spectra, error);
  if (work.unpacking)
    return work.unpacking->enqueue (
        queue, guint (used.first), guint (used.used), spectra, error);
  spectra.offset += used.first * work.input->bits / 8;
  return true;
}

/* --- preparation in another thread, ahead of the frames --- */

namespace {
struct StageRequest {
  StageRequest (const WindowInterpWork &work, const WindowInterpSettings &wanted)
      : input (work.input), samples (work.samples), lines (work.lines), wanted (wanted)
  {
    frame.offset[0] = work.offset;
    frame.stride[0] = work.stride;
  }

  const CapsFormat *input;
  guint samples, lines;
  WindowInterpSettings wanted;
  GstOpenCLFrame frame = {};
};
} // namespace

/* Asks octfft to prepare for these spectra too. Returns whether it will merge their
 * work. */
static bool
prepare_downstream (GstOctWindowInterp *self, const WindowInterpWork &work)
{
  oct::AnnouncedSpectra spectra = {
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), work.stage.get (),
      work.lines};
  GstQuery *query = oct::new_announcement_query (spectra);
  gst_pad_peer_query (GST_BASE_TRANSFORM_SRC_PAD (self), query);
  gst_query_unref (query);
  return spectra.fused;
}

/* Does the work of the first frame, but launches only compile. Errors are reported when
 * that frame arrives. */
static void
prepare (GstOctWindowInterp *self, const StageRequest &request)
{
  WindowInterpWork work;
  work.input = request.input;
  work.samples = request.samples;
  work.lines = request.lines;
  work.settings = request.wanted;
  work.settings.background_frames = 1; /* kernels do not depend on it */
  work.shape.complex = work.settings.complex ();
  oct::SpectrumTables tables;
  oct::RawSpectra spectra = {};
  std::shared_ptr<cl::Buffer> mean;

  if (!load_tables (work, work.settings, tables, nullptr)
      || !make_reader (self, work, work.settings, nullptr)
      || !make_stage (self, work, work.settings, tables, nullptr)
      || !create_mean (self, work, work.settings, nullptr)
      || !read_spectra (work, &request.frame, nullptr, spectra, nullptr)
      || (work.mean && !work.mean->update (spectra, nullptr, mean, nullptr)))
    return;
  if (!prepare_downstream (self, work))
    work.stage->enqueue (
        nullptr, spectra, work.stage->background (), nullptr, 0, nullptr);
  *self->prepared = {work.input, work.samples, work.shape.complex,
      work.settings.tables_revision, work.stage};
}

/* Reads new settings between two frames. If they change the caps, such as from real to
 * complex spectra, the base class negotiates new caps before this frame. */
static void
gst_oct_window_interp_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);
  GstBaseTransform *base = GST_BASE_TRANSFORM (filter);
  WindowInterpWork *work = self->work;
  auto makes = [&] (const WindowInterpSettings &wanted) {
    return wanted.shape_of (work->samples) == work->shape;
  };
  auto accept = [&] (const WindowInterpSettings &wanted, GError **error) {
    oct::SpectrumTables tables;
    bool same = wanted.tables_revision == work->settings.tables_revision
                || self->prepared->matches (*work, wanted);
    if (!oct::settings_file_check (GST_ELEMENT (self), wanted.file, error)
        || (!same && !load_tables (*work, wanted, tables, error))
        || (!makes (wanted)
            && !opencl::is_accepted_downstream (base, outputs_of (base, wanted), error)))
      return false;
    if (!same)
      work->next_tables = std::move (tables);
    work->next = wanted;
    return true;
  };

  /* The calibration of a stream applies to all of its frames. */
  auto ready = [&] (const WindowInterpSettings &wanted) {
    return wanted.tables_revision == work->settings.tables_revision
           || wanted.spectrum.stream != work->settings.spectrum.stream
           || self->preparation->is_done (
               filter, [self, request = StageRequest (*work, wanted)] {
                 prepare (self, request);
               });
  };

  if (work && self->settings->update (accept, ready) && !makes (*work->next))
    gst_base_transform_reconfigure_src (base);
}

/* Uses the prepared stage if there are no tables. */
static bool
set_stage (GstOctWindowInterp *self, const WindowInterpSettings &settings,
    const std::optional<oct::SpectrumTables> &tables, GError **error)
{
  if (tables)
    return make_stage (self, *self->work, settings, *tables, error);
  self->work->stage = std::move (self->prepared->stage);
  return true;
}

/* Applies the pending settings on the device. */
static gboolean
apply_changes (GstOctWindowInterp *self, GError **error)
{
  WindowInterpWork &work = *self->work;
  if (!work.next)
    return TRUE;
  const bool other_tables = work.settings.tables_revision != work.next->tables_revision;
  if (other_tables
      && !(make_reader (self, work, *work.next, error)
           && set_stage (self, *work.next, work.next_tables, error)))
    return FALSE;
  if (restarts_mean (work.settings, *work.next)
      && !create_mean (self, work, *work.next, error))
    return FALSE;
  work.settings = *work.next;
  work.next.reset ();
  work.next_tables.reset ();
  return TRUE;
}

/* Life cycle */

static void
warn_of_nonfinite_samples (GstOctWindowInterp *self, guint count)
{
  if (count == 0 || self->work->warned_of_nonfinite)
    return;
  self->work->warned_of_nonfinite = true;
  GST_ELEMENT_WARNING (self, STREAM, DECODE,
      ("%u samples of the spectra so far are NaN or infinite", count),
      ("Their A-lines have no depths. A background ignores these samples."));
}

/* Warns once until saturation ends. */
static void
warn_of_saturation (GstOctWindowInterp *self, guint checked, guint saturated)
{
  if (checked == 0)
    return;
  if (saturated > 0 && !self->is_saturated)
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("%.3g %% of the samples are saturated, at %u or above",
            100.0 * saturated / checked, self->work->full_scale ()),
        ("Saturated spectra cause artefacts at other depths: reduce the light or the "
         "exposure. One A-line in 16 of one frame in 16 is checked."));
  self->is_saturated = saturated > 0;
}

/* `counts` (nullable): both counts of all frames so far */
static void
report_counts (GstOctWindowInterp *self, const cl_uint *counts)
{
  WindowInterpWork &work = *self->work;
  if (!counts)
    return;
  if (work.input->integer)
    warn_of_saturation (
        self, counts[0] - work.counts_before[0], counts[1] - work.counts_before[1]);
  else
    warn_of_nonfinite_samples (self, counts[0]);
  std::copy_n (counts, 2, work.counts_before);
}

/* Reads the counts of all frames, and waits for those in flight. */
static void
report_last_counts (GstOctWindowInterp *self)
{
  if (self->work)
    report_counts (self, self->work->counts.wait_for_last (
                             gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self))));
}

/* --- calibration of the stream --- */

/* It is part of the settings, because it changes the caps and tables as they do. */
static void
use_stream_calibration (GstOctWindowInterp *self, oct::SharedCalibration calibration)
{
  const oct::SharedCalibration before = self->settings->committed ().spectrum.stream;
  if (before == calibration || (before && calibration && *before == *calibration))
    return;
  self->settings->change ([&] (WindowInterpSettings &settings) {
    settings.spectrum.stream = calibration;
    settings.tables_revision++;
  });
}

static void
take_stream_calibration (GstOctWindowInterp *self, GstEvent *event)
{
  oct::StreamCalibration calibration;
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START)
    use_stream_calibration (self, nullptr);
  else if (oct::stream_calibration_parse (event, calibration))
    use_stream_calibration (
        self, std::make_shared<oct::StreamCalibration> (std::move (calibration)));
}

static gboolean
gst_oct_window_interp_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (transform);
  take_stream_calibration (self, event);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    self->calibration->wait ();
    report_last_counts (self);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_oct_window_interp_parent_class)
      ->sink_event (transform, event);
}

static gboolean
gst_oct_window_interp_open (GstOpenCLFilter *filter, GError **error)
{
  WindowInterpSettings settings = GST_OCT_WINDOW_INTERP (filter)->settings->committed ();
  return oct::settings_file_check (GST_ELEMENT (filter), settings.file, error)
         && oct::spectrum_settings_check (spectrum_of (settings), error);
}

static void
gst_oct_window_interp_close (GstOpenCLFilter *filter)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);
  self->preparation->stop ();
  report_last_counts (self);
  delete self->work;
  self->work = nullptr;
  self->is_saturated = false;
  *self->prepared = {};
  self->settings->stop ();
}

/* Applies settings that match the new caps, and creates tables for them. */
static gboolean
adopt_settings (GstOctWindowInterp *self, GError **error)
{
  WindowInterpWork &work = *self->work;
  std::optional<oct::SpectrumTables> tables;
  auto accept = [&] (const WindowInterpSettings &wanted, GError **why) {
    tables.reset ();
    if (wanted.complex () == work.shape.complex && self->prepared->matches (work, wanted))
      return true;
    return load_tables (work, wanted, tables.emplace (), why);
  };
  auto fits = [&] (const WindowInterpSettings &wanted) {
    return wanted.complex () == work.shape.complex
           && wanted.spectrum.points_of (work.samples) == work.shape.points;
  };
  if (!self->settings->adopt (accept, fits, error))
    return FALSE;
  work.settings = self->settings->current ();
  /* Settings changed since these caps were negotiated. The first frame renegotiates. */
  if (!(work.settings.shape_of (work.samples) == work.shape))
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return make_reader (self, work, work.settings, error)
         && set_stage (self, work.settings, tables, error)
         && create_mean (self, work, work.settings, error);
}

static gboolean
gst_oct_window_interp_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);
  guint lines;

  self->preparation->stop (); /* it was for the previous caps */
  report_last_counts (self);
  delete self->work;
  self->work = new WindowInterpWork;
  self->calibration->forget ();
  WindowInterpWork &work = *self->work;
  work.input = oct::parse_spectra (input, &work.samples, &work.lines);
  const CapsFormat *made = oct::parse_spectra (output, &work.shape.points, &lines);
  if (!work.input || !made) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "unsupported caps, expected spectra");
    return FALSE;
  }
  if (!oct::check_samples (work.samples, error))
    return FALSE;
  const GstStructure *fields = gst_caps_get_structure (output, 0);
  work.shape.complex = g_str_equal (made->format, "CF32LE");
  gst_structure_get_double (fields, "wavenumber-step", &work.shape.step);
  gst_structure_get_double (fields, "refractive-index", &work.shape.refractive_index);
  if (!work.counts.create (gst_opencl_filter_get_context (filter),
          work.input->integer ? work.input->unpacking () : nullptr, error))
    return FALSE;
  return adopt_settings (self, error);
}

/* Width of a mirror's peak in theory */

/* Returns the source's spectrum at each even wavenumber, times `window`; empty if the
 * spectrum is unknown. background-file shows it, as it is recorded without a sample. */
static std::vector<double>
windowed_spectrum (const WindowInterpSettings &settings, const oct::Samples &samples,
    std::vector<double> window)
{
  std::vector<double> spectrum, map;
  if (settings.background != BackgroundMethod::file
      || !oct::values_file_load_used (
          settings.spectrum.background, samples, spectrum, nullptr)
      || (!settings.is_clocked ()
          && settings.spectrum.interpolation != Interpolation::none
          && !oct::calibration_load (
              settings.spectrum.calibration, samples, map, nullptr)))
    return {};
  for (gsize m = 0; m < window.size (); m++) {
    const double place = map.empty () ? double (m) : map[m];
    const gsize before = std::min (gsize (place), spectrum.size () - 2);
    window[m] *= spectrum[before]
                 + (place - double (before)) * (spectrum[before + 1] - spectrum[before]);
  }
  return window;
}

static oct::PeakWidths
widths_of (const WindowInterpSettings &settings, guint samples)
{
  const oct::Samples used = settings.spectrum.used_of (samples);
  const gsize points =
      settings.spectrum.points_of (samples) / settings.spectrum.oversampling ();
  const std::vector<double> window =
      oct::scaled_window_function (settings.spectrum.window, used.used);
  const std::vector<double> spectrum = windowed_spectrum (settings, used, window);
  oct::PeakWidths widths;
  widths.window = oct::transform_width (window, points);
  if (!spectrum.empty ())
    widths.spectrum = oct::transform_width (spectrum, points);
  return widths;
}

/* Answers a query of octsignal. Any thread may call it. */
static bool
answer_widths (GstOctWindowInterp *self, oct::PeakWidths &widths)
{
  const WindowInterpSettings settings = self->settings->current ();
  guint samples = 0, lines = 0;
  GstCaps *caps = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  const bool known = caps && oct::parse_spectra (caps, &samples, &lines);
  gst_clear_caps (&caps);
  if (!known || settings.spectrum.used_of (samples).used < oct::least_samples)
    return false;
  KnownWidths &last = *self->widths;
  const std::lock_guard<std::mutex> guard (last.mutex);
  if (last.samples != samples || last.tables_revision != settings.tables_revision)
    last.widths = widths_of (settings, samples);
  last.samples = samples;
  last.tables_revision = settings.tables_revision;
  widths = last.widths;
  return true;
}

static gboolean
gst_oct_window_interp_query (
    GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  oct::PeakWidths *widths =
      direction == GST_PAD_SRC ? oct::peak_widths_of (query) : nullptr;
  if (widths)
    return answer_widths (GST_OCT_WINDOW_INTERP (base), *widths);
  return GST_BASE_TRANSFORM_CLASS (gst_oct_window_interp_parent_class)
      ->query (base, direction, query);
}

/* The work */

static bool
is_aligned (const GstOpenCLFrame *frame, gsize bytes)
{
  return frame->offset[0] % bytes == 0 && frame->stride[0] % gint (bytes) == 0;
}

static bool
wants_calibration (const GstOctWindowInterp *self)
{
  const WindowInterpSettings &settings = self->work->settings;
  return settings.calibrate && settings.calibrations != self->calibrations;
}

/* Calibrates from the mean spectrum of the frame, less the background of
 * background=file. */
static bool
calibrate_if_wanted (GstOctWindowInterp *self, const oct::RawSpectra &spectra,
    cl_command_queue queue, GError **error)
{
  const WindowInterpWork &work = *self->work;
  const WindowInterpSettings &settings = work.settings;
  oct::LiveCalibration::Request request = {
      {}, settings.same_side, settings.calibration_folder};
  if (!wants_calibration (self))
    return true;
  self->calibrations = settings.calibrations;
  if (!oct::background_load (
          spectrum_of (settings), work.samples, request.background, error))
    return false;
  return self->calibration->enqueue (GST_ELEMENT (self),
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
      sample_format (work, settings), spectra, request, queue, error);
}

static gboolean
gst_oct_window_interp_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);
  WindowInterpWork &work = *self->work;
  gsize point = (work.shape.complex ? 2 : 1) * sizeof (cl_float);

  if (!is_aligned (output, point)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "the output buffer begins at byte %" G_GSIZE_FORMAT
        ", expected a multiple of %" G_GSIZE_FORMAT,
        output->offset[0], point);
    return FALSE;
  }

  oct::RawSpectra spectra = {};
  std::shared_ptr<cl::Buffer> mean;
  if (!read_spectra (work, input, queue, spectra, error)
      || !calibrate_if_wanted (self, spectra, queue, error))
    return FALSE;
  if (work.mean && !work.mean->update (spectra, queue, mean, error))
    return FALSE;
  return work.stage->enqueue (queue, spectra,
      mean ? oct::BackgroundSpectrum{(*mean) (), 0} : work.stage->background (),
      output->data, output->offset[0] / sizeof (cl_float), error);
}

/* --- deferring the work to a directly following octfft --- */

/* Returns whether octfft can do the work. Foreign memory would need a copy until then. */
static gboolean
can_defer (GstOctWindowInterp *self, GstBuffer *input, GstBuffer *output)
{
  gsize point = (self->work->shape.complex ? 2 : 1) * sizeof (cl_float);

  return gst_opencl_filter_can_defer (GST_OPENCL_FILTER (self), input, output)
         && gst_opencl_memory_get_offset (gst_buffer_peek_memory (output, 0)) % point
                == 0;
}

/* Enqueues the work that cannot be deferred. Rolling means follow the order of the
 * frames, even if the spectra are computed later or never. */
static gboolean
enqueue_at_once (GstOctWindowInterp *self, const GstOpenCLFrame *raw,
    oct::RawSpectra &spectra, std::shared_ptr<cl::Buffer> &mean, cl_event *event,
    GError **error)
{
  WindowInterpWork &work = *self->work;
  if (!read_spectra (work, raw, raw->queue, spectra, error))
    return FALSE;
  if (!work.mean && !spectra.is_read && !wants_calibration (self))
    return TRUE;
  bool enqueued = calibrate_if_wanted (self, spectra, raw->queue, error)
                  && (!work.mean || work.mean->update (spectra, raw->queue, mean, error));
  GstOpenCLFrame read = *raw;
  return gst_opencl_frames_unmap (
             raw->queue, &read, nullptr, event, enqueued ? error : nullptr)
         && enqueued;
}

static gboolean
defer (GstOctWindowInterp *self, GstBuffer *input, GstBuffer *output, cl_event *event,
    GError **error)
{
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  WindowInterpWork &work = *self->work;
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  GstOpenCLFrame raw;
  oct::RawSpectra spectra = {};
  std::shared_ptr<cl::Buffer> mean;

  if (!gst_opencl_frame_map (&raw,
          gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
          work.input->line_bytes (work.samples) * work.lines, input, queue, GST_MAP_READ,
          error)
      || !enqueue_at_once (self, &raw, spectra, mean, event, error))
    return FALSE;
  GstOctDeferredSpectra *deferred =
      gst_oct_deferred_spectra_new (work.stage, &raw, spectra, mean);
  gst_opencl_filter_defer (filter, GST_OPENCL_DEFERRED (deferred), output);
  g_object_unref (deferred);
  return TRUE;
}

static gboolean
gst_oct_window_interp_process (GstOpenCLFilter *filter, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);

  if (!apply_changes (self, error))
    return FALSE;
  if (!self->work->warned_of_nonfinite)
    report_counts (self, self->work->counts.poll (gst_opencl_filter_get_queue (filter)));
  if (can_defer (self, input, output))
    return defer (self, input, output, event, error);
  return GST_OPENCL_FILTER_CLASS (gst_oct_window_interp_parent_class)
      ->process (filter, input, output, event, error);
}

/* The element defers work, but merges none. */
static const GstOpenCLDeferral deferral = {
    gst_oct_deferred_spectra_get_type, nullptr, nullptr};

static void
gst_oct_window_interp_init (GstOctWindowInterp *self)
{
  self->settings = new opencl::Settings<WindowInterpSettings> (self, properties);
  self->preparation = new opencl::Preparation;
  self->prepared = new PreparedStage;
  self->calibration = new oct::LiveCalibration;
  oct::settings_file_follow (GST_ELEMENT (self));
  self->widths = new KnownWidths;
  /* QoS of a slow display must not drop frames that another branch records. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_window_interp_class_init (GstOctWindowInterpClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOctWindowInterp::settings,
      &GstOctWindowInterp::preparation, &GstOctWindowInterp::work,
      &GstOctWindowInterp::prepared, &GstOctWindowInterp::calibration,
      &GstOctWindowInterp::widths> (klass, properties);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT resampling and windowing",
      "Filter/Effect/Video",
      "Resamples raw OCT spectra to even wavenumbers and applies a window, on an OpenCL "
      "device",
      "The gst-opencl developers");

  transform_class->transform_caps = gst_oct_window_interp_transform_caps;
  transform_class->fixate_caps = gst_oct_window_interp_fixate_caps;
  transform_class->query = gst_oct_window_interp_query;
  transform_class->sink_event = gst_oct_window_interp_sink_event;
  filter_class->open = gst_oct_window_interp_open;
  filter_class->close = gst_oct_window_interp_close;
  filter_class->set_formats = gst_oct_window_interp_set_formats;
  filter_class->get_frame_size = gst_oct_window_interp_get_frame_size;
  filter_class->begin_frame = gst_oct_window_interp_begin_frame;
  filter_class->transform = gst_oct_window_interp_transform;
  filter_class->process = gst_oct_window_interp_process;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);

  GST_DEBUG_CATEGORY_INIT (
      oct_window_interp_debug, "octwindowinterp", 0, "OCT resampling and windowing");
}
