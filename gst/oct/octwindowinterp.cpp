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
 * `-max`, a map can give the sample at each even wavenumber (`resample-map`). Without any
 * of these, samples are taken as already even in wavenumber.
 *
 * If `wavelength-unit` or `depth-step` is set, the caps contain the wavenumber step
 * (`wavenumber-step`, in rad/µm), and the caps of octfft contain the depth step.
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
 * The program `oct-calibrate` finds the map and the dispersion from mirrors or from a
 * sample, in files, and writes a file for `settings`. The class `LiveCalibration` of the
 * Python package `gstopencl` does the same in a pipeline that plays.
 *
 * `octfileparse` sends the calibration of a recording with the stream, in a
 * #GstOctCalibration event. The element uses its resample map, background, dispersion and
 * wavenumber step where no property sets them. A frame that has a background of its own
 * (#GstOctCalibration) uses that. `background=none` ignores the background of the stream.
 *
 * `window=shape` divides spectra by the background, which is the spectrum of the source,
 * and applies a Hann window: the peak of a mirror then has the form of that window,
 * whatever the source. Where the source has less than 1/20 of its maximum, it is taken as
 * that. Noise grows where the source is weak: relative to a mirror's peak by 0.7 dB with a
 * Gaussian source that falls to e^-3 at the ends of the spectrum, by 3 dB with e^-4.5.
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
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/preparation.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "depth/depthcaps.hpp"
#include "elements.h"
#include "octcalibration.h"
#include "shared/settingsfile.hpp"
#include "spectra/backgroundmean.hpp"
#include "spectra/clockedspectra.hpp"
#include "spectra/elementqueries.hpp"
#include "spectra/pendingspectra.hpp"
#include "spectra/unpacking.hpp"
#include "spectra/windowinterpsettings.hpp"

GST_DEBUG_CATEGORY_STATIC (oct_window_interp_debug);
#define GST_CAT_DEFAULT oct_window_interp_debug

OCT_PADS (OCT_SPECTRUM_CAPS, OCT_CAPS ("wavenumber", "{F32LE, CF32LE}"));

namespace {
using oct::BackgroundMethod;
using oct::CapsFormat;
using oct::SpectrumShape;
using oct::WindowInterpSettings;

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

G_DECLARE_FINAL_TYPE (
    GstOctWindowInterp, gst_oct_window_interp, GST, OCT_WINDOW_INTERP, GstOpenCLFilter)

struct _GstOctWindowInterp {
  GstOpenCLFilter parent;

  opencl::Settings<WindowInterpSettings> *settings;
  WindowInterpWork *work; /* between set_formats and close, else null */
  opencl::Preparation *preparation;
  PreparedStage *prepared; /* by `preparation`, used when that is done */
  KnownWidths *widths;
  bool is_saturated; /* a warning was posted, and saturation has not ended since */
};

/* Caps */

static GstCaps *
gst_oct_window_interp_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const WindowInterpSettings settings =
      GST_OCT_WINDOW_INTERP (base)->settings->current ();
  return oct::each_of_caps (
      caps,
      [&] (GstCaps *others, const GstStructure *structure) {
        if (direction == GST_PAD_SINK)
          oct::append_spectra_outputs (others, structure, settings);
        else
          oct::append_spectra_inputs (others, &sink_template, structure, settings);
      },
      filter);
}

/* Adds the wavenumber step and the refractive index to the output caps, if known. */
static GstCaps *
gst_oct_window_interp_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  others = opencl::base_transform ()->fixate_caps (base, direction, caps, others);
  guint samples, lines;
  if (direction != GST_PAD_SINK || gst_caps_is_empty (others)
      || !oct::parse_spectra (caps, &samples, &lines))
    return others;
  const SpectrumShape shape =
      GST_OCT_WINDOW_INTERP (base)->settings->current ().shape_of (samples);
  others = gst_caps_make_writable (others);
  oct::set_known (gst_caps_get_structure (others, 0),
      {{"wavenumber-step", shape.step}, {"refractive-index", shape.refractive_index}});
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

static bool
load_tables (const WindowInterpWork &work, const WindowInterpSettings &settings,
    oct::SpectrumTables &tables, GError **error)
{
  return oct::spectrum_tables_load (
      settings.tables_settings (), work.samples, work.shape.complex, tables, error);
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
  if (tables.map.empty ())
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
  oct::ask_peer (GST_BASE_TRANSFORM_SRC_PAD (self), spectra);
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
  WindowInterpWork *work = self->work;
  auto makes = [&] (const WindowInterpSettings &wanted) {
    return wanted.shape_of (work->samples) == work->shape;
  };
  auto accept = [&] (const WindowInterpSettings &wanted, GError **error) {
    oct::SpectrumTables tables;
    auto outputs = [&] (GstCaps *input) {
      return oct::each_of_caps (
          input, [&] (GstCaps *others, const GstStructure *structure) {
            oct::append_spectra_outputs (others, structure, wanted);
          });
    };
    bool same = wanted.tables_revision == work->settings.tables_revision
                || self->prepared->matches (*work, wanted);
    if (!oct::settings_file_check (GST_ELEMENT (self), wanted.file, error)
        || (!same && !load_tables (*work, wanted, tables, error))
        || (!makes (wanted) && !oct::renegotiate (self, outputs, error)))
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

  if (work)
    self->settings->update (accept, ready);
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
  if (work.settings.restarts_mean (*work.next)
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
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    report_last_counts (self);
  return opencl::base_transform ()->sink_event (transform, event);
}

static gboolean
gst_oct_window_interp_open (GstOpenCLFilter *filter, GError **error)
{
  WindowInterpSettings settings = GST_OCT_WINDOW_INTERP (filter)->settings->committed ();
  return oct::settings_file_check (GST_ELEMENT (filter), settings.file, error)
         && oct::spectrum_settings_check (settings.tables_settings (), error);
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
  WindowInterpWork &work = *self->work;
  work.input = oct::parse_spectra (input, &work.samples, &work.lines);
  const CapsFormat *made = oct::parse_spectra (output, &work.shape.points, &lines);
  if (!work.input || !made) {
    return REFUSE_FORMAT (error, "unsupported caps, expected spectra");
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
    last.widths = settings.widths_of (samples);
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
      direction == GST_PAD_SRC ? oct::asked_by<oct::PeakWidths> (query) : nullptr;
  if (widths)
    return answer_widths (GST_OCT_WINDOW_INTERP (base), *widths);
  return opencl::base_transform ()->query (base, direction, query);
}

/* The work */

/* Takes the background that the frame was recorded with, instead of that of the stream. */
static bool
take_frame_background (GstOctWindowInterp *self, GstBuffer *frame,
    oct::PendingSpectra &spectra, GError **error)
{
  const WindowInterpWork &work = *self->work;
  gsize n = 0;
  const gdouble *values = work.settings.subtracts_stream_background ()
                              ? gst_buffer_get_oct_background (frame, &n)
                              : nullptr;
  if (!values)
    return true;
  if (n != work.samples) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "The background of a frame has %" G_GSIZE_FORMAT " values, expected %u", n,
        work.samples);
    return false;
  }
  const oct::Samples used = work.settings.spectrum.used_of (work.samples);
  std::vector<cl_float> background;
  for (gsize j = 0; j < used.used; j++)
    background.push_back (
        cl_float (std::ldexp (values[used.first + j], -gint (work.settings.bit_shift))));
  spectra.mean = std::make_shared<cl::Buffer> ();
  return opencl::make_table (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
      background, *spectra.mean, error);
}

/* Enqueues the work that follows the order of the frames: calibration and means. */
static bool
find_background (GstOctWindowInterp *self, oct::PendingSpectra &spectra,
    cl_command_queue queue, GError **error)
{
  const WindowInterpWork &work = *self->work;
  return !work.mean || work.mean->update (spectra.raw, queue, spectra.mean, error);
}

static gboolean
gst_oct_window_interp_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctWindowInterp *self = GST_OCT_WINDOW_INTERP (filter);
  WindowInterpWork &work = *self->work;
  gsize point = (work.shape.complex ? 2 : 1) * sizeof (cl_float);

  oct::PendingSpectra spectra = {work.stage, {}, nullptr};
  return oct::check_frame_alignment (output, point, error)
         && read_spectra (work, input, queue, spectra.raw, error)
         && take_frame_background (self, input->buffer, spectra, error)
         && find_background (self, spectra, queue, error)
         && spectra.write (queue, output->data, output->offset[0], error);
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
    oct::PendingSpectra &spectra, cl_event *event, GError **error)
{
  WindowInterpWork &work = *self->work;
  if (!read_spectra (work, raw, raw->queue, spectra.raw, error))
    return FALSE;
  if (!work.mean && !spectra.raw.is_read)
    return TRUE;
  const bool enqueued = find_background (self, spectra, raw->queue, error);
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
  auto spectra = std::make_shared<oct::PendingSpectra> ();
  spectra->stage = work.stage;

  if (!take_frame_background (self, input, *spectra, error)
      || !gst_opencl_frame_map (&raw,
          gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
          work.input->line_bytes (work.samples) * work.lines, input, queue, GST_MAP_READ,
          error)
      || !enqueue_at_once (self, &raw, *spectra, event, error))
    return FALSE;
  oct::DeferredSpectra::defer (filter, spectra, &raw, output);
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
  return opencl::base_filter ()->process (filter, input, output, event, error);
}

/* The element defers work, but merges none. */
static const GstOpenCLDeferral deferral = {
    oct::DeferredSpectra::get_type, nullptr, nullptr};

static const opencl::FilterElement<GstOctWindowInterp, &GstOctWindowInterp::preparation,
    &GstOctWindowInterp::work, &GstOctWindowInterp::prepared, &GstOctWindowInterp::widths>
    element = {"GstOctWindowInterp", oct::window_interp_properties,
        "OCT resampling and windowing", "Filter/Converter/OCT",
        "Resamples raw OCT spectra to even wavenumbers and applies a window, on an "
        "OpenCL device",
        {&sink_template, &src_template},
        {gst_oct_window_interp_transform_caps, gst_oct_window_interp_query,
            gst_oct_window_interp_sink_event, gst_oct_window_interp_open,
            gst_oct_window_interp_close, gst_oct_window_interp_set_formats,
            gst_oct_window_interp_get_frame_size, gst_oct_window_interp_begin_frame,
            gst_oct_window_interp_transform, gst_oct_window_interp_process,
            opencl::FixateCaps{gst_oct_window_interp_fixate_caps}, &deferral},
        [] (GstOpenCLFilterClass *klass) {
          GST_DEBUG_CATEGORY_INIT (oct_window_interp_debug, "octwindowinterp", 0,
              "OCT resampling and windowing");
        },
        /* QoS of a slow display must not drop frames that another branch records. */
        opencl::keeps_all_frames,
        [] (GstOctWindowInterp *self) {
          self->preparation = new opencl::Preparation;
          self->prepared = new PreparedStage;
          oct::settings_file_follow (GST_ELEMENT (self));
          self->widths = new KnownWidths;
        }};

OPENCL_FILTER_DEFINE (octwindowinterp, gst_oct_window_interp, element)
