/* octfft: Fourier transform of spectra evenly spaced in wavenumber to depths
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octfft
 *
 * Computes the Fourier transform of each A-line and outputs the first half of its bins,
 * the depths. Downstream caps select the output, by default 8 bit video:
 *
 * - video: a B-scan image. Columns are A-lines, and depth increases downwards. Levels are
 *   shown in decibels from db-min (black) to db-max (white).
 * - `application/x-oct`: values, A-line by A-line.
 *
 * With the scaling of octwindowinterp, a fringe of amplitude a, in units of the raw
 * samples, has a level of 20 log10(a) dB. Bin b lies at depth b pi / (N dk n), with N
 * samples at wavenumber steps of dk and the `refractive-index` n. If dk is known
 * (`wavelength-unit` of octwindowinterp), caps of values contain `depth-step` in
 * micrometres. They also contain `line-step` and `b-scan-step` if known, and the first
 * bin as `depth-start` (0 if absent). An image whose depths differ from those of the
 * previous one has the flag DISCONT, if it has a timestamp.
 *
 * Properties that are set in one g_object_set() take effect together, with the next
 * frame. In a live pipeline a change that needs other kernels takes effect when these are
 * compiled.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY16_LE,width=2048,height=512 !
 * openclupload ! octwindowinterp ! octfft db-max=90 ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 * The pipeline processes a test image as spectra. For 16 bit video use
 * `octfft ! "video/x-raw(ANY), format=GRAY16_LE" ! …`. For decibels as floats use
 * `octfft ! "application/x-oct(ANY),format=F32LE" ! opencldownload !
 * npysink location=levels.npy`. For colours use `octfft ! openclconvert
 * colormap=viridis ! …`.
 */
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/preparation.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "elements.h"
#include "depth/fftcaps.hpp"
#include "spectra/elementqueries.hpp"
#include "spectra/pendingspectra.hpp"

OCT_PADS (OCT_CAPS ("wavenumber", "{F32LE, CF32LE}"),
    "video/x-raw" ON_DEVICE ", format=(string){GRAY8, GRAY16_LE}, "
    "width=(int)[1, 2147483647], height=(int)[1, 32768], " FRAMERATE ";"
    "application/x-oct" ON_DEVICE ", domain=(string)depth, "
    "format=(string){F32LE, CF32LE}, "
    "samples=(int)[1, 32768], lines=(int)[1, 2147483647], " FRAMERATE);

namespace {
using oct::FftSettings;
using oct::Fused;
using oct::least_db;
using oct::most_db;
using oct::Scale;
using oct::Spectra;

/* Depth engine, created for the first frame with its format */
struct Engine {
  oct::EngineFormat format;
  std::unique_ptr<oct::DepthEngine> depth; /* null if raw spectra are not merged */
};

/* Format of the frames, and the settings in force. */
struct FftConfiguration {
  Spectra spectra;
  oct::DepthLayout output;
  FftSettings settings; /* in force, limited to the available depths */

  guint depths () const { return guint (output.depths); }
  oct::DepthFormat format () const { return oct::depth_format_of (output); }
  bool finds_range () const { return settings.db_auto && output.image; }
};

/* State of the streaming thread. */
struct FftWork : FftConfiguration {
  /* First depth, number of depths, and whether flipped, of the previous frame */
  std::optional<std::tuple<guint, guint, bool>> last_range;

  Engine from_raw;     /* for work that octwindowinterp defers */
  Engine from_spectra; /* for spectra at even wavenumbers */

  /* Number of self-check verdicts when the engines were chosen */
  guint verdicts = gst_opencl_get_n_verdicts ();
  bool chosen = false, tries_fused = false;

  /* Levels of an image with automatic range, and the kernels that display them. */
  opencl::WorkBuffer levels;
  oct::Display display;
  Scale display_scale = Scale::log;
  oct::DepthFormat display_format = oct::DepthFormat::gray8;
};

/* For preparation threads: present state of the streaming thread, and prepared engines */
class PreparedEngines {
public:
  struct Present {
    GstOpenCLContext *context = nullptr; /* null before the first frame */
    FftConfiguration configuration;
    bool fused = false; /* deferred spectra are merged */
    oct::EngineFormat from_raw, from_spectra;
  };

  void set (GstOpenCLContext *context, const FftWork &work)
  {
    std::lock_guard<std::mutex> guard (lock);
    present_ = {context, work, work.from_raw.depth != nullptr, work.from_raw.format,
        work.from_spectra.format};
  }

  Present present ()
  {
    std::lock_guard<std::mutex> guard (lock);
    return present_;
  }

  /* Keeps the last two engines, one for each kind of input. */
  void add (Engine engine)
  {
    std::lock_guard<std::mutex> guard (lock);
    if (!present_.context) /* stopped meanwhile */
      return;
    engines.push_front (std::move (engine));
    if (engines.size () > 2)
      engines.pop_back ();
  }

  /* (nullable) */
  std::unique_ptr<oct::DepthEngine> take (const oct::EngineFormat &format)
  {
    std::lock_guard<std::mutex> guard (lock);
    for (Engine &engine : engines) {
      if (engine.format == format && engine.depth)
        return std::move (engine.depth);
    }
    return nullptr;
  }

  bool has (const oct::EngineFormat &format)
  {
    std::lock_guard<std::mutex> guard (lock);
    return (present_.fused && present_.from_raw == format)
           || present_.from_spectra == format
           || std::any_of (engines.begin (), engines.end (), [&] (const Engine &engine) {
                return engine.depth && engine.format == format;
              });
  }

  void clear ()
  {
    std::lock_guard<std::mutex> guard (lock);
    present_ = {};
    engines.clear ();
  }

private:
  std::mutex lock;
  Present present_;
  std::deque<Engine> engines;
};
} // namespace

G_DECLARE_FINAL_TYPE (GstOctFFT, gst_oct_fft, GST, OCT_FFT, GstOpenCLFilter)

struct _GstOctFFT {
  GstOpenCLFilter parent;

  opencl::Settings<FftSettings> *settings;
  FftSettings caps_settings; /* for which the present caps were negotiated */
  FftWork *work;             /* between open and close, else null */
  PreparedEngines *prepared;
  opencl::Preparation *preparation;
};

const opencl::EnumTypeOf<Fused> fused_type = {"GstOctFused",
    {
        {Fused::automatic, "Fuse where it is faster and no FFT library is requested",
            "auto"},
        {Fused::never, "Process in each element separately", "never"},
        {Fused::always, "Fuse, or fail where the device or the length does not allow it",
            "always"},
    }};

/* Properties */

const opencl::PropertyTable<FftSettings> properties = {
    {"scale", "Scale", "Scale of pixels and F32LE values; CF32LE values stay complex",
        &FftSettings::scale, oct::scale_type, opencl::playing},
    {"db-min", "Black level",
        "Level shown as black in dB; scale=linear maps amplitudes linearly from "
        "10^(db-min/20) to 10^(db-max/20) (video output)",
        &FftSettings::db_min, {least_db, most_db}, opencl::controllable},
    {"db-max", "White level", "Level shown as white in dB, above db-min (video output)",
        &FftSettings::db_max, {least_db, most_db}, opencl::controllable},
    {"db-auto", "Automatic range",
        "Find the black and white levels from the image instead of db-min and db-max, "
        "smoothed over frames: one pixel in 20 is below black, one in 1000 above white "
        "(video output)",
        &FftSettings::db_auto, opencl::playing},
    {"flip", "Flip", "Show the first depth in the bottom row (video output)",
        &FftSettings::flip, opencl::playing},
    {"depth-start", "First depth",
        "First depth bin of the output; N samples per A-line give N/2 depth bins",
        &FftSettings::depth_start, {0, oct::most_fft_depths - 1}, opencl::playing},
    {"depth-count", "Number of depths",
        "Number of depth bins of the output (0 = all from depth-start on)",
        &FftSettings::depth_count, {0, oct::most_fft_depths}, opencl::playing},
    {"refractive-index", "Refractive index",
        "Refractive index of the sample, at least 0.1, by which depth-step is divided in "
        "the output caps (0 = from the input caps, else 1)",
        &FftSettings::refractive_index, {0, 10}, opencl::playing},
    {"depth-step", "Depth step",
        "Distance between depth bins in micrometres in air; the output caps have it "
        "divided by refractive-index (0 = from the input caps)",
        &FftSettings::depth_step, {0, 1e9}, opencl::playing},
    {"line-step", "Line step",
        "Distance between A-lines in micrometres, written to the caps (0 = line-step of "
        "the input caps, if present)",
        &FftSettings::line_step, {0, 1e9}, opencl::playing},
    {"true-scale", "True scale",
        "Set the pixel-aspect-ratio from line-step and depth-step, if both are known "
        "(video output)",
        &FftSettings::true_scale, opencl::playing},
    {"fft-library", "FFT library",
        "FFT library for transforms outside of the fused kernel; clFFT supports lengths "
        "with prime factors up to 13",
        &FftSettings::library, gst_opencl_fft_library_get_type, opencl::ready},
    {"fused", "Fused",
        "Whether to process in one fused kernel, together with an octwindowinterp "
        "directly upstream; results differ only by rounding",
        &FftSettings::fused, fused_type, opencl::ready},
};

/* Caps */

static GstCaps *
gst_oct_fft_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const FftSettings settings = GST_OCT_FFT (base)->settings->current ();
  const bool starts = !gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  return oct::each_of_caps (
      caps,
      [&] (GstCaps *others, const GstStructure *structure) {
        if (direction == GST_PAD_SINK)
          oct::append_fft_outputs (others, &src_template, structure, settings);
        else
          oct::append_fft_inputs (others, &sink_template, structure, settings, starts);
      },
      filter);
}

static GstCaps *
gst_oct_fft_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  GstOctFFT *self = GST_OCT_FFT (base);
  self->caps_settings = self->settings->current ();
  if (direction == GST_PAD_SINK)
    others = oct::choose_kept_depths (GST_BASE_TRANSFORM_SRC_PAD (base), others);
  others = opencl::base_transform ()->fixate_caps (base, direction, caps, others);
  if (direction == GST_PAD_SINK && gst_caps_is_fixed (others)) {
    others = gst_caps_make_writable (others);
    oct::describe_fft_output (others, caps, self->caps_settings);
  }
  return others;
}

static gboolean
gst_oct_fft_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  Spectra spectra;
  oct::DepthLayout layout;

  const bool is_input = oct::parse_wavenumbers (caps, spectra);
  if (!is_input && !oct::parse_depth_layout (caps, false, layout))
    return FALSE;
  *size = is_input ? spectra.line_bytes () * spectra.lines : layout.size ();
  return TRUE;
}

/* Life cycle */

static gboolean
gst_oct_fft_open (GstOpenCLFilter *filter, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  self->work = new FftWork;
  return self->settings->committed ().check_range (error);
}

static void
gst_oct_fft_close (GstOpenCLFilter *filter)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  self->preparation->stop ();
  self->prepared->clear ();
  delete self->work;
  self->work = nullptr;
  self->settings->stop ();
}

/* Returns whether settings produce the negotiated caps. */
static bool
matches_caps (GstOctFFT *self, const FftSettings &settings)
{
  const FftSettings &before = self->caps_settings;
  const guint samples = self->work->spectra.wavenumbers ();
  const bool same_depths =
      settings.fitted (samples).depth_start == before.fitted (samples).depth_start;
  return settings.depths_of (samples) == self->work->depths ()
         && settings.refractive_index == before.refractive_index
         && settings.depth_step == before.depth_step
         && settings.line_step == before.line_step
         && settings.true_scale == before.true_scale
         && (self->work->output.image || (settings.scale == before.scale && same_depths));
}

/* Adopts the new settings, limited to what these caps allow. Settings that do not fit the
 * number of samples cause a warning, but no lost frame. */
static bool
adopt_settings (GstOctFFT *self, GError **error)
{
  FftWork &work = *self->work;
  GError *reason = nullptr;
  guint samples = work.spectra.wavenumbers ();
  bool starts = !self->settings->is_started ();
  auto accept = [&] (const FftSettings &wanted, GError **why) {
    return wanted.check (samples, why);
  };
  auto fits = [&] (const FftSettings &wanted) { return matches_caps (self, wanted); };
  if (!self->settings->adopt (accept, fits, &reason)) {
    if (starts) {
      g_propagate_error (error, reason);
      return false;
    }
    self->settings->warn (reason);
  }
  work.settings = self->settings->current ().fitted (samples);
  /* Settings changed since these caps were negotiated. The first frame renegotiates. */
  if (!matches_caps (self, work.settings))
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  return true;
}

static gboolean
gst_oct_fft_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  Spectra spectra;

  FftWork &work = *self->work;
  if (!oct::parse_depth_layout (output, false, work.output)
      || !oct::parse_wavenumbers (input, spectra)) {
    return REFUSE_FORMAT (error,
        "unsupported caps, expected spectra as input and depths or video as output");
  }
  if (!oct::check_samples (spectra.wavenumbers (), error))
    return FALSE;
  work.spectra = spectra;
  return adopt_settings (self, error);
}

static void prepare_settings (GstOctFFT *self, const FftSettings &wanted);

/* Applies new settings between two frames. Those that change the caps wait until the base
 * class has negotiated new caps, which it does before this frame. */
static void
update_settings (GstOctFFT *self)
{
  FftWork &work = *self->work;
  guint samples = work.spectra.wavenumbers ();
  auto accept = [&] (const FftSettings &wanted, GError **error) {
    if (!wanted.check (samples, error))
      return false;
    if (matches_caps (self, wanted)) {
      work.settings = wanted;
      return true;
    }
    return oct::renegotiate (
        self,
        [&] (GstCaps *input) {
          return oct::each_of_caps (
              input, [&] (GstCaps *outputs, const GstStructure *of) {
                oct::append_fft_outputs (outputs, &src_template, of, wanted);
              });
        },
        error);
  };
  auto ready = [&] (const FftSettings &wanted) {
    const FftSettings &before = work.settings;
    return !wanted.db_auto || (before.db_auto && wanted.scale == before.scale)
           || self->preparation->is_done (GST_OPENCL_FILTER (self),
               [self, wanted] { prepare_settings (self, wanted); });
  };
  if (self->settings->is_started ())
    self->settings->update (accept, ready);
}

/* Returns the format of spectra that octwindowinterp may defer, as far as it decides
 * whether this element can merge them. */
static oct::EngineFormat
mergeable_format (const FftWork &work)
{
  oct::EngineFormat format;
  format.samples = work.spectra.wavenumbers ();
  format.points = work.spectra.samples;
  format.oversampling = work.spectra.oversampling;
  format.library = work.settings.library;
  return format;
}

/* Returns whether VkFFT has failed its self-check. Warns once if so. */
static bool
warn_of_library (GstOctFFT *self)
{
  return gst_opencl_context_warn_of_engine (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), "fft-vkfft",
      GST_ELEMENT (self), "clFFT if it supports the length");
}

/* Chooses the engines again after new verdicts of the self-check. The RECONFIGURE event
 * makes upstream ask again whether its work can be merged. */
static void
update_engines (GstOctFFT *self)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  FftWork &work = *self->work;
  const guint verdicts = gst_opencl_get_n_verdicts ();

  if (work.chosen && work.verdicts == verdicts)
    return;
  const oct::EngineFormat format = mergeable_format (work);
  const bool tries_fused =
      oct::DepthEngine::tries_fused (context, format, work.settings.fused);
  if (tries_fused && !work.tries_fused && work.verdicts != verdicts) {
    work.from_raw = {};
    work.from_spectra = {};
    gst_pad_push_event (GST_BASE_TRANSFORM_SINK_PAD (self), gst_event_new_reconfigure ());
  }
  if (work.verdicts != verdicts && warn_of_library (self))
    work.from_spectra = {};
  work.chosen = true;
  work.tries_fused = tries_fused;
  work.verdicts = verdicts;
  if (work.settings.fused != Fused::always
      && oct::DepthEngine::wants_fused_engine (context, format, work.settings.fused))
    gst_opencl_context_warn_of_engine (
        context, oct::DepthEngine::fused_engine, GST_ELEMENT (self), "separate kernels");
}

static void
gst_oct_fft_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  update_settings (GST_OCT_FFT (filter));
  update_engines (GST_OCT_FFT (filter));
}

/* Marks a change of the depths with DISCONT, so that averages do not mix them. Caps of
 * images do not contain the depths. */
static gboolean
gst_oct_fft_copy_metadata (GstBaseTransform *base, GstBuffer *input, GstBuffer *output)
{
  FftWork &work = *GST_OCT_FFT (base)->work;
  const std::tuple range (
      work.settings.depth_start, work.depths (), work.output.image && work.settings.flip);

  if (!opencl::base_transform ()->copy_metadata (base, input, output))
    return FALSE;
  /* Without a timestamp, DISCONT would mean a loss of unknown length, and move groups. */
  if (work.last_range && *work.last_range != range && work.output.image
      && GST_BUFFER_PTS_IS_VALID (input))
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAG_DISCONT);
  work.last_range = range;
  return TRUE;
}

/* The work */

/* Values shown as black and white, in decibels or amplitudes. */
struct Range {
  double low;
  double high;
};

static Range
range_of (const FftSettings &settings)
{
  if (settings.scale == Scale::log)
    return {settings.db_min, settings.db_max};
  return {std::pow (10, settings.db_min / 20), std::pow (10, settings.db_max / 20)};
}

/* Prepares the automatic range, which continues when the depths change. */
static bool
prepare_range (GstOpenCLContext *context, FftWork &work, GError **error)
{
  const Scale scale = work.settings.scale;
  const gsize bytes = work.output.depths * work.spectra.lines * sizeof (cl_float);

  if (!work.finds_range ())
    return true;
  if (!work.levels.resize (context, bytes, error))
    return false;
  if (work.display.has_range () && work.display_scale == scale
      && work.display_format == work.format ())
    return true;
  work.display_scale = scale;
  work.display_format = work.format ();
  return work.display.create (context,
             scale == Scale::log ? oct::ValueType::values : oct::ValueType::amplitudes,
             work.format (), error)
         && work.display.create_range (error);
}

/* Returns the format that the engine produces: the output, or levels to display later. */
static oct::DepthFormat
engine_output (const FftConfiguration &work)
{
  return work.finds_range () ? oct::DepthFormat::levels : work.format ();
}

/* Creates another engine if the format has changed. */
static bool
prepare (GstOctFFT *self, Engine &engine, const oct::EngineFormat &format, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  if (!prepare_range (context, *self->work, error))
    return false;
  if (engine.format == format)
    return true;
  engine.depth = self->prepared->take (format);
  if (!engine.depth
      && !oct::DepthEngine::choose (
          context, format, self->work->settings.fused, engine.depth, error))
    return false;
  warn_of_library (self); /* its verdict may now be known from the cache */
  engine.format = format;
  self->prepared->set (context, *self->work);
  return true;
}

static oct::EngineFormat
format_of_spectra (const FftConfiguration &work)
{
  oct::EngineFormat format;
  format.input = oct::SampleFormat::f32le;
  format.output = engine_output (work);
  format.samples = work.spectra.samples;
  format.oversampling = work.spectra.oversampling;
  format.lines = work.spectra.lines;
  format.taps = 0;
  format.complex = work.spectra.complex;
  format.library = work.settings.library;
  return format;
}

static oct::DepthOutput
describe_output (const FftWork &work, const GstOpenCLFrame *output)
{
  const FftSettings &settings = work.settings;
  Range range = range_of (settings);
  oct::DepthOutput depths;
  depths.data = output->data;
  depths.offset = output->offset[0];
  depths.stride =
      work.output.image ? output->stride[0] : gssize (work.depths () * work.output.bytes);
  depths.first = settings.depth_start;
  depths.depths = work.depths ();
  depths.logarithmic = settings.scale == Scale::log;
  depths.black = range.low;
  depths.white = range.high;
  return work.output.image && settings.flip ? oct::flipped (depths) : depths;
}

/* Describes the levels or amplitudes from which an image with automatic range is made. */
static oct::DepthOutput
describe_levels (const FftWork &work)
{
  oct::DepthOutput levels = {};
  levels.data = work.levels ();
  levels.stride = gssize (work.depths () * sizeof (cl_float));
  levels.first = work.settings.depth_start;
  levels.depths = work.depths ();
  levels.logarithmic = work.settings.scale == Scale::log;
  return levels;
}

static bool
enqueue_depth (FftWork &work, oct::DepthEngine &engine, const GstOpenCLFrame *output,
    const oct::RawSpectra &spectra, cl_mem tables, cl_mem background,
    cl_uint background_offset, GError **error)
{
  const oct::DepthOutput depths = describe_output (work, output);
  if (!engine.enqueue (output->queue, spectra, tables, background, background_offset,
          work.finds_range () ? describe_levels (work) : depths, error))
    return false;
  if (!work.finds_range ())
    return true;
  oct::DepthOutput image = depths;
  image.first = 0;
  return work.display.enqueue_in_range (output->queue,
      {work.levels (), 0, work.depths (), work.spectra.lines}, image, error);
}

static gboolean
gst_oct_fft_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  FftWork &work = *self->work;
  const Spectra &spectra = work.spectra;

  if (!prepare (self, work.from_spectra, format_of_spectra (work), error))
    return false;
  oct::RawSpectra described;
  described.data = input->data;
  described.offset = input->offset[0];
  described.stride = cl_long (spectra.line_bytes ());
  described.samples = spectra.samples;
  described.lines = spectra.lines;
  described.shift = 0;
  return enqueue_depth (work, *work.from_spectra.depth, output, described, input->data,
      input->data, 0, error);
}

/* --- spectra deferred by octwindowinterp --- */

static gboolean
gst_oct_fft_can_merge (GstOpenCLFilter *filter)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  return self->work
         && oct::DepthEngine::tries_fused (gst_opencl_filter_get_context (filter),
             mergeable_format (*self->work), self->work->settings.fused);
}

static oct::EngineFormat
format_of_deferred (const FftConfiguration &work, const oct::SpectrumStage &stage)
{
  oct::EngineFormat format;
  format.input = stage.format ().input;
  format.output = engine_output (work);
  format.samples = stage.format ().samples;
  format.points = guint (stage.points ());
  format.oversampling = stage.format ().oversampling;
  format.taps = stage.taps ();
  format.complex = stage.format ().complex;
  format.background = stage.format ().background;
  format.library = work.settings.library;
  return format;
}

static GstOpenCLMergeResult
gst_oct_fft_merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending, GstBuffer *buffer,
    cl_event *event, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  FftWork &work = *self->work;
  const oct::PendingSpectra &spectra = oct::DeferredSpectra::of (pending);

  if (!prepare (self, work.from_raw, format_of_deferred (work, *spectra.stage), error))
    return GST_OPENCL_MERGE_FAILED;
  if (!work.from_raw.depth)
    return GST_OPENCL_NOT_MERGED;
  return oct::DeferredSpectra::merge (filter, pending, buffer, work.output.size (), event,
      error, [&] (const GstOpenCLFrame *output) {
        const oct::BackgroundSpectrum background = spectra.background ();
        return enqueue_depth (work, *work.from_raw.depth, output, spectra.raw,
            spectra.stage->tables (), background.buffer, background.offset, error);
      });
}

/* --- preparation in another thread, ahead of the frames --- */

/* Builds the engine, its kernels and those of an automatic range. */
static bool
make_engine (GstOpenCLContext *context, FftWork &work, Engine &engine)
{
  const oct::EngineFormat &format = engine.format;
  GstOpenCLFrame output = {};
  oct::RawSpectra spectra = {};
  spectra.samples = format.samples;
  spectra.lines = work.spectra.lines;
  spectra.stride = cl_long (work.spectra.line_bytes ());
  return prepare_range (context, work, nullptr)
         && oct::DepthEngine::choose (
             context, format, work.settings.fused, engine.depth, nullptr)
         && engine.depth
         && enqueue_depth (
             work, *engine.depth, &output, spectra, nullptr, nullptr, 0, nullptr);
}

/* Prepares an engine for `format`. Returns whether there is one. */
static bool
prepare_engine (GstOctFFT *self, GstOpenCLContext *context,
    const FftConfiguration &configuration, const oct::EngineFormat &format)
{
  FftWork work;
  Engine engine;
  if (self->prepared->has (format))
    return true;
  static_cast<FftConfiguration &> (work) = configuration;
  engine.format = format;
  if (!make_engine (context, work, engine))
    return false;
  self->prepared->add (std::move (engine));
  return true;
}

static void
prepare_settings (GstOctFFT *self, const FftSettings &wanted)
{
  const PreparedEngines::Present present = self->prepared->present ();
  FftConfiguration configuration = present.configuration;
  if (!present.context)
    return;
  configuration.settings = wanted.fitted (configuration.spectra.wavenumbers ());
  oct::EngineFormat format = present.fused ? present.from_raw : present.from_spectra;
  format.output = engine_output (configuration);
  prepare_engine (self, present.context, configuration, format);
}

static Spectra
spectra_of (const oct::AnnouncedSpectra &announced)
{
  const oct::SpectrumFormat &format = announced.stage->format ();
  return {guint (announced.stage->points ()), announced.lines, format.oversampling,
      format.complex};
}

/* Prepares for future spectra of octwindowinterp. Tries a fused engine for raw spectra if
 * there is one now, or if only their present length prevents it. */
static void
prepare_spectra (GstOctFFT *self, oct::AnnouncedSpectra &announced)
{
  const PreparedEngines::Present present = self->prepared->present ();
  GstOpenCLContext *context = announced.context;
  FftConfiguration configuration = present.configuration;
  if (present.context != context)
    return;
  configuration.spectra = spectra_of (announced);
  configuration.output.depths =
      configuration.settings.depths_of (configuration.spectra.wavenumbers ());
  oct::EngineFormat raw = present.from_spectra;
  raw.taps = 1;
  const bool may_fuse =
      present.fused
      || !oct::DepthEngine::tries_fused (context, raw, configuration.settings.fused);
  if (may_fuse
      && prepare_engine (self, context, configuration,
          format_of_deferred (configuration, *announced.stage)))
    announced.fused = true;
  else
    prepare_engine (self, context, configuration, format_of_spectra (configuration));
}

static gboolean
gst_oct_fft_query (GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  oct::AnnouncedSpectra *announced =
      direction == GST_PAD_SINK ? oct::asked_by<oct::AnnouncedSpectra> (query) : nullptr;
  if (!announced)
    return opencl::base_transform ()->query (base, direction, query);
  prepare_spectra (GST_OCT_FFT (base), *announced);
  return FALSE; /* unanswered, so that a tee forwards it to all branches */
}

static const GstOpenCLDeferral deferral = {
    oct::DeferredSpectra::get_type, gst_oct_fft_can_merge, gst_oct_fft_merge};

/* The class */

static const opencl::FilterElement<GstOctFFT, &GstOctFFT::preparation, &GstOctFFT::work,
    &GstOctFFT::prepared>
    element = {"GstOctFFT", properties, "OCT Fourier transform", "Filter/Converter/OCT",
        "Computes depths or B-scan images from OCT spectra, on an OpenCL device",
        {&sink_template, &src_template},
        {gst_oct_fft_transform_caps, gst_oct_fft_copy_metadata, gst_oct_fft_query,
            gst_oct_fft_open, gst_oct_fft_close, gst_oct_fft_set_formats,
            gst_oct_fft_get_frame_size, gst_oct_fft_begin_frame, gst_oct_fft_transform,
            opencl::FixateCaps{gst_oct_fft_fixate_caps}, &deferral},
        nullptr,
        /* QoS of a slow display must not drop frames that another branch records. */
        opencl::keeps_all_frames,
        opencl::create_members<&GstOctFFT::prepared, &GstOctFFT::preparation>};

OPENCL_FILTER_DEFINE (octfft, gst_oct_fft, element)
