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
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/preparation.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/common/settings.hpp>

#include "spectra/announcedspectra.hpp"
#include "spectra/deferredspectra.hpp"
#include "elements.h"
#include "depth/depthfilter.hpp"
#include "depth/display.hpp"

GST_DEBUG_CATEGORY_STATIC (oct_fft_debug);
#define GST_CAT_DEFAULT oct_fft_debug

#define OPENCL_MEMORY "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
#define FRAMERATE "framerate=(fraction)[0/1, 2147483647/1]"
#define LEAST_SAMPLES gint (oct::least_samples)
#define MOST_SAMPLES gint (oct::most_samples)
#define MOST_DEPTHS (MOST_SAMPLES / 2)

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "application/x-oct" OPENCL_MEMORY ", "
            "domain=(string)wavenumber, format=(string){F32LE, CF32LE}, "
            "samples=(int)[1, 2147483647], lines=(int)[1, 2147483647], " FRAMERATE));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("video/x-raw" OPENCL_MEMORY ", "
                     "format=(string){GRAY8, GRAY16_LE}, "
                     "width=(int)[1, 2147483647], height=(int)[1, 32768], " FRAMERATE ";"
                     "application/x-oct" OPENCL_MEMORY ", "
                     "domain=(string)depth, format=(string){F32LE, CF32LE}, "
                     "samples=(int)[1, 32768], lines=(int)[1, 2147483647], " FRAMERATE));

namespace {
using oct::Fused;
using oct::least_db;
using oct::most_db;
using oct::Scale;
using oct::scale_get_type;

struct FftSettings {
  Scale scale = Scale::log;
  double db_min = 0;
  double db_max = 60;
  bool db_auto = false;
  bool flip = false;
  guint depth_start = 0;
  guint depth_count = 0; /* 0: all that remain */
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;
  Fused fused = Fused::automatic;
  double refractive_index = 0; /* 0: that of the stream */
  double line_step = 0;        /* µm; 0: that of the caps */
  bool true_scale = false;
};

struct OutputFormat {
  const char *media_type;
  const char *format;
  gsize bytes;
  bool image;
  oct::DepthFormat values;
};

const OutputFormat output_formats[] = {
    {"video/x-raw", "GRAY8", 1, true, oct::DepthFormat::gray8},
    {"video/x-raw", "GRAY16_LE", 2, true, oct::DepthFormat::gray16},
    {"application/x-oct", "F32LE", 4, false, oct::DepthFormat::levels},
    {"application/x-oct", "CF32LE", 8, false, oct::DepthFormat::complex},
};

/* Format of the spectra of a frame */
struct Spectra {
  guint samples = 0;
  guint lines = 0;
  guint oversampling = 1;
  bool complex = false;

  /* Number of wavenumbers without oversampling. */
  guint wavenumbers () const { return samples / oversampling; }

  gsize line_bytes () const
  {
    return gsize (samples) * sizeof (cl_float) * (complex ? 2 : 1);
  }
};

/* Depth engine, created for the first frame with its format */
struct Engine {
  oct::EngineFormat format;
  std::unique_ptr<oct::DepthEngine> depth; /* null if raw spectra are not merged */
};

/* Depths in the rows of an image, or in the samples of an A-line */
struct DepthRange {
  guint start;
  guint count;
  bool flipped;

  bool operator!= (const DepthRange &other) const
  {
    return start != other.start || count != other.count || flipped != other.flipped;
  }
};

/* Format of the frames, and the settings in force. */
struct FftConfiguration {
  Spectra spectra;
  const OutputFormat *output = nullptr;
  guint depths = 0;
  FftSettings settings; /* in force, limited to the available depths */

  bool finds_range () const { return settings.db_auto && output->image; }
};

/* State of the streaming thread. */
struct FftWork : FftConfiguration {
  std::optional<DepthRange> last_range; /* of the previous frame */

  Engine from_raw;     /* for work that octwindowinterp defers */
  Engine from_spectra; /* for spectra at even wavenumbers */

  /* Number of self-check verdicts when the engines were chosen */
  guint verdicts = gst_opencl_get_n_verdicts ();
  bool chosen = false, tries_fused = false;

  /* Levels of an image with automatic range, and the kernels that display them. */
  cl::Buffer levels;
  gsize levels_bytes = 0;
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

#define GST_TYPE_OCT_FFT (gst_oct_fft_get_type ())
G_DECLARE_FINAL_TYPE (GstOctFFT, gst_oct_fft, GST, OCT_FFT, GstOpenCLFilter)

struct _GstOctFFT {
  GstOpenCLFilter parent;

  opencl::Settings<FftSettings> *settings;
  FftSettings caps_settings; /* for which the present caps were negotiated */
  FftWork *work;             /* between open and close, else null */
  PreparedEngines *prepared;
  opencl::Preparation *preparation;
};

G_DEFINE_TYPE (GstOctFFT, gst_oct_fft, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (octfft, "octfft", GST_RANK_NONE, GST_TYPE_OCT_FFT)

static GType
fused_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Fused::automatic), "Fuse where it is faster and no FFT library is requested",
          "auto"},
      {gint (Fused::never), "Process in each element separately", "never"},
      {gint (Fused::always),
          "Fuse, or fail where the device or the length does not allow it", "always"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctFused", values);
  return type;
}

/* Properties */

const opencl::PropertyTable<FftSettings> properties = {
    {"scale", "Scale", "Scale of pixels and F32LE values; CF32LE values stay complex",
        &FftSettings::scale, scale_get_type, opencl::playing},
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
        &FftSettings::depth_start, {0, MOST_DEPTHS - 1}, opencl::playing},
    {"depth-count", "Number of depths",
        "Number of depth bins of the output (0 = all from depth-start on)",
        &FftSettings::depth_count, {0, MOST_DEPTHS}, opencl::playing},
    {"refractive-index", "Refractive index",
        "Refractive index of the sample, by which depth-step of the caps is divided (0 = "
        "that of the stream, else 1; otherwise at least 0.1)",
        &FftSettings::refractive_index, {0, 10}, opencl::playing},
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
        &FftSettings::fused, fused_get_type, opencl::ready},
};

static gboolean
check_range (const FftSettings &settings, GError **error)
{
  if (settings.db_min < settings.db_max)
    return TRUE;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "db-min is %g and db-max is %g, expected db-min below db-max", settings.db_min,
      settings.db_max);
  return FALSE;
}

static gboolean
check (const FftSettings &settings, guint samples, GError **error)
{
  if (!check_range (settings, error))
    return FALSE;
  guint bins = samples / 2;
  if (settings.depth_start < bins && settings.depth_count <= bins - settings.depth_start)
    return TRUE;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "depth-start is %u and depth-count is %u, expected depths within the %u of %u "
      "samples per A-line",
      settings.depth_start, settings.depth_count, bins, samples);
  return FALSE;
}

/* Limits the depths of the settings to those of this number of samples. */
static FftSettings
fitted (FftSettings settings, guint samples)
{
  guint bins = samples / 2;
  settings.depth_start =
      std::min (settings.depth_start, bins - std::clamp (settings.depth_count, 1u, bins));
  settings.depth_count = std::min (settings.depth_count, bins - settings.depth_start);
  return settings;
}

/* Caps */

static gint
depths_of (const FftSettings &settings, guint samples)
{
  FftSettings possible = fitted (settings, samples);
  if (possible.depth_count > 0)
    return gint (possible.depth_count);
  return gint (samples / 2 - possible.depth_start);
}

/* Sets a field to a number or an integer range, within the limits. */
static void
set_range (GstStructure *structure, const char *field, gint64 least, gint64 most,
    gint lower_limit, gint upper_limit)
{
  gint from = gint (CLAMP (least, lower_limit, upper_limit));
  gint to = gint (CLAMP (most, lower_limit, upper_limit));
  if (from == to)
    gst_structure_set (structure, field, G_TYPE_INT, from, nullptr);
  else
    gst_structure_set (structure, field, GST_TYPE_INT_RANGE, from, to, nullptr);
}

struct Limits {
  gint least;
  gint most;
};

/* Returns the limits of a number, a range or a list of these, or the given limits if
 * null. */
static Limits
limits_of (const GValue *value, Limits limits)
{
  if (value && G_VALUE_HOLDS_INT (value))
    return {g_value_get_int (value), g_value_get_int (value)};
  if (value && GST_VALUE_HOLDS_INT_RANGE (value))
    return {gst_value_get_int_range_min (value), gst_value_get_int_range_max (value)};
  if (!value || !GST_VALUE_HOLDS_LIST (value))
    return limits;

  Limits found = {limits.most, limits.least};
  for (guint n = 0; n < gst_value_list_get_size (value); n++) {
    Limits entry = limits_of (gst_value_list_get_value (value, n), limits);
    found = {std::min (found.least, entry.least), std::max (found.most, entry.most)};
  }
  return found;
}

/* Returns the oversampling of octwindowinterp's grid with interpolation=nufft. */
static gint
oversampling_of (const GstStructure *spectra)
{
  gint oversampling = 1;
  gst_structure_get_int (spectra, "oversampling", &oversampling);
  return std::max (oversampling, 1);
}

static void
set_depths (GstStructure *output, const char *field, const GValue *samples,
    gint oversampling, const FftSettings &settings)
{
  Limits limits =
      limits_of (samples, {LEAST_SAMPLES * oversampling, MOST_SAMPLES * oversampling});
  limits = {limits.least / oversampling, limits.most / oversampling};
  /* Other numbers of samples are an error in set_formats. */
  limits = {CLAMP (limits.least, LEAST_SAMPLES, MOST_SAMPLES),
      CLAMP (limits.most, LEAST_SAMPLES, MOST_SAMPLES)};
  set_range (output, field, depths_of (settings, limits.least),
      depths_of (settings, limits.most), 1, MOST_DEPTHS);
}

/* N samples, even or odd, have N / 2 depths. */
static void
set_samples (GstStructure *input, const GValue *depths, const FftSettings &settings)
{
  if (settings.depth_count > 0)
    return; /* any number of samples that has enough depths */
  Limits limits = limits_of (depths, {1, MOST_DEPTHS});
  gint64 start = settings.depth_start;
  gint64 least = limits.least > 1 ? 2 * (limits.least + start) : LEAST_SAMPLES;
  /* Fewer samples than LEAST_SAMPLES give the same output caps. Accept them, so that
   * set_formats fails with a reason. */
  const bool takes_fewer = limits.least <= depths_of (settings, LEAST_SAMPLES);
  set_range (input, "samples", takes_fewer ? 1 : least, 2 * (limits.most + start) + 1,
      takes_fewer ? 1 : LEAST_SAMPLES, MOST_SAMPLES);
}

static void
copy_field (
    GstStructure *to, const char *to_field, const GstStructure *from, const char *field)
{
  const GValue *value = gst_structure_get_value (from, field);
  if (value)
    gst_structure_set_value (to, to_field, value);
}

static const char *
lines_field (const GstStructure *structure)
{
  return gst_structure_has_name (structure, "video/x-raw") ? "width" : "lines";
}

static const char *
depths_field (const GstStructure *structure)
{
  return gst_structure_has_name (structure, "video/x-raw") ? "height" : "samples";
}

/* Returns the depth step in µm, pi / (N dk n), or 0 if unknown. */
static double
depth_step_of (const GstStructure *input, const FftSettings &settings)
{
  double step = 0;
  gint samples = 0;
  gst_structure_get_double (input, "wavenumber-step", &step);
  gst_structure_get_int (input, "samples", &samples);
  if (!(step > 0) || samples <= 0)
    return 0;
  double index = settings.refractive_index;
  if (index == 0 && !gst_structure_get_double (input, "refractive-index", &index))
    index = 1;
  return G_PI / (samples * step * std::max (index, 0.1));
}

/* Sets the known steps. */
static void
set_steps (GstStructure *output, const GstStructure *input, const FftSettings &settings)
{
  const double depth_step = depth_step_of (input, settings);
  double line_step = settings.line_step, b_scan_step = 0;

  if (line_step == 0)
    gst_structure_get_double (input, "line-step", &line_step);
  gst_structure_get_double (input, "b-scan-step", &b_scan_step);
  if (gst_structure_has_name (output, "video/x-raw")) {
    if (settings.true_scale)
      oct::set_true_scale (output, line_step, depth_step);
    return;
  }
  for (const auto &[field, step] : {std::pair ("depth-step", depth_step),
           std::pair ("line-step", line_step), std::pair ("b-scan-step", b_scan_step)}) {
    if (step > 0)
      gst_structure_set (output, field, G_TYPE_DOUBLE, step, nullptr);
  }
}

static void
append_outputs (GstCaps *caps, const GstStructure *input, const FftSettings &settings)
{
  GstCaps *outputs = gst_static_pad_template_get_caps (&src_template);
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    GstStructure *output = gst_structure_copy (gst_caps_get_structure (outputs, n));
    copy_field (output, lines_field (output), input, "lines");
    copy_field (output, "framerate", input, "framerate");
    set_depths (output, depths_field (output), gst_structure_get_value (input, "samples"),
        oversampling_of (input), settings);
    set_steps (output, input, settings);
    gst_caps_append_structure_full (
        caps, output, gst_caps_features_copy (gst_caps_get_features (outputs, n)));
  }
  gst_caps_unref (outputs);
}

/* Returns settings that produce the depths of `output`. At the start, spectra with fewer
 * depths than `depth-count` are accepted too, so that set_formats fails with a reason. */
static std::optional<FftSettings>
settings_for_output (const GstStructure *output, const FftSettings &settings, bool starts)
{
  Limits limits = limits_of (
      gst_structure_get_value (output, depths_field (output)), {1, MOST_DEPTHS});
  const gint count = gint (settings.depth_count);
  if (count == 0 || (count >= limits.least && count <= limits.most))
    return settings;
  if (!starts || count < limits.least)
    return {};
  FftSettings all = settings;
  all.depth_start = all.depth_count = 0;
  return all;
}

static void
append_inputs (
    GstCaps *caps, const GstStructure *output, const FftSettings &set, bool starts)
{
  const std::optional<FftSettings> settings = settings_for_output (output, set, starts);
  if (!settings)
    return;
  GstCaps *inputs = gst_static_pad_template_get_caps (&sink_template);
  GstStructure *input = gst_structure_copy (gst_caps_get_structure (inputs, 0));
  copy_field (input, "lines", output, lines_field (output));
  copy_field (input, "framerate", output, "framerate");
  GstStructure *grid = gst_structure_copy (input);
  set_samples (input, gst_structure_get_value (output, depths_field (output)), *settings);
  gst_structure_set (
      grid, "oversampling", G_TYPE_INT, gint (oct::gridding_oversampling), nullptr);
  for (GstStructure *either : {input, grid})
    gst_caps_append_structure_full (
        caps, either, gst_caps_features_copy (gst_caps_get_features (inputs, 0)));
  gst_caps_unref (inputs);
}

static GstCaps *
gst_oct_fft_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  FftSettings settings = GST_OCT_FFT (base)->settings->current ();
  const bool starts = !gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  GstCaps *result = gst_caps_new_empty ();

  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstStructure *structure = gst_caps_get_structure (caps, n);
    if (direction == GST_PAD_SINK)
      append_outputs (result, structure, settings);
    else
      append_inputs (result, structure, settings, starts);
  }
  result = opencl::filtered_caps (result, filter);
  GST_DEBUG_OBJECT (base, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, caps, result);
  return result;
}

/* Sets the quantity and the first depth in caps of numbers. */
static void
describe_numbers (GstCaps *output, const GstCaps *input, const FftSettings &settings)
{
  const GstStructure *spectra = gst_caps_get_structure (input, 0);
  GstStructure *depths = gst_caps_get_structure (output, 0);
  gint samples = 0;

  if (!gst_structure_has_name (depths, "application/x-oct"))
    return;
  gst_structure_get_int (spectra, "samples", &samples);
  samples = std::max (samples / oversampling_of (spectra), LEAST_SAMPLES);
  gst_structure_set (depths, "depth-start", G_TYPE_INT,
      gint (fitted (settings, guint (samples)).depth_start), nullptr);
  if (g_strcmp0 (gst_structure_get_string (depths, "format"), "F32LE") == 0)
    gst_structure_set (depths, "quantity", G_TYPE_STRING,
        settings.scale == Scale::log ? "decibels" : "amplitude", nullptr);
}

static GstCaps *
gst_oct_fft_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  GstOctFFT *self = GST_OCT_FFT (base);
  self->caps_settings = self->settings->current ();
  others = GST_BASE_TRANSFORM_CLASS (gst_oct_fft_parent_class)
               ->fixate_caps (base, direction, caps, others);
  if (direction == GST_PAD_SINK && gst_caps_is_fixed (others)) {
    others = gst_caps_make_writable (others);
    describe_numbers (others, caps, self->caps_settings);
  }
  return others;
}

static bool
parse_input (GstCaps *caps, Spectra *spectra)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  gint samples, lines;

  if (g_strcmp0 (gst_structure_get_string (structure, "domain"), "wavenumber") != 0
      || !gst_structure_get_int (structure, "samples", &samples)
      || !gst_structure_get_int (structure, "lines", &lines))
    return false;
  spectra->samples = guint (samples);
  spectra->lines = guint (lines);
  spectra->oversampling = guint (oversampling_of (structure));
  spectra->complex =
      g_strcmp0 (gst_structure_get_string (structure, "format"), "CF32LE") == 0;
  return true;
}

static const OutputFormat *
parse_output (GstCaps *caps, guint *depths, guint *lines)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const char *name = gst_structure_get_string (structure, "format");
  gint n_depths, n_lines;

  if (!gst_structure_get_int (structure, depths_field (structure), &n_depths)
      || !gst_structure_get_int (structure, lines_field (structure), &n_lines))
    return nullptr;
  *depths = guint (n_depths);
  *lines = guint (n_lines);
  for (const OutputFormat &format : output_formats) {
    if (gst_structure_has_name (structure, format.media_type)
        && g_strcmp0 (name, format.format) == 0)
      return &format;
  }
  return nullptr;
}

static gboolean
gst_oct_fft_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  Spectra spectra;
  guint depths, lines;

  if (parse_input (caps, &spectra)) {
    *size = spectra.line_bytes () * spectra.lines;
    return TRUE;
  }
  const OutputFormat *format = parse_output (caps, &depths, &lines);
  if (!format)
    return FALSE;
  *size = format->bytes * depths * lines;
  return TRUE;
}

/* Life cycle */

static gboolean
gst_oct_fft_open (GstOpenCLFilter *filter, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  self->work = new FftWork;
  return check_range (self->settings->committed (), error);
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
      fitted (settings, samples).depth_start == fitted (before, samples).depth_start;
  return depths_of (settings, samples) == gint (self->work->depths)
         && settings.refractive_index == before.refractive_index
         && settings.line_step == before.line_step
         && settings.true_scale == before.true_scale
         && (self->work->output->image
             || (settings.scale == before.scale && same_depths));
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
    return check (wanted, samples, why);
  };
  auto fits = [&] (const FftSettings &wanted) { return matches_caps (self, wanted); };
  if (!self->settings->adopt (accept, fits, &reason)) {
    if (starts) {
      g_propagate_error (error, reason);
      return false;
    }
    self->settings->warn (reason);
  }
  work.settings = fitted (self->settings->current (), samples);
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
  guint lines;

  FftWork &work = *self->work;
  work.output = parse_output (output, &work.depths, &lines);
  if (!parse_input (input, &spectra) || !work.output) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "unsupported caps, expected spectra as input and depths or video as output");
    return FALSE;
  }
  if (!oct::check_samples (spectra.wavenumbers (), error))
    return FALSE;
  work.spectra = spectra;
  return adopt_settings (self, error);
}

static GstCaps *
outputs_of (GstBaseTransform *base, const FftSettings &settings)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  GstCaps *outputs = gst_caps_new_empty ();
  append_outputs (outputs, gst_caps_get_structure (input, 0), settings);
  gst_caps_unref (input);
  return outputs;
}

static void prepare_settings (GstOctFFT *self, const FftSettings &wanted);

/* Applies new settings between two frames. Those that change the caps wait until the base
 * class has negotiated new caps, which it does before this frame. */
static void
update_settings (GstOctFFT *self)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  FftWork &work = *self->work;
  guint samples = work.spectra.wavenumbers ();
  auto accept = [&] (const FftSettings &wanted, GError **error) {
    if (!check (wanted, samples, error))
      return false;
    if (matches_caps (self, wanted)) {
      work.settings = wanted;
      return true;
    }
    if (!opencl::is_accepted_downstream (base, outputs_of (base, wanted), error))
      return false;
    gst_base_transform_reconfigure_src (base);
    return true;
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
  const DepthRange range = {
      work.settings.depth_start, work.depths, work.output->image && work.settings.flip};

  if (!GST_BASE_TRANSFORM_CLASS (gst_oct_fft_parent_class)
           ->copy_metadata (base, input, output))
    return FALSE;
  /* Without a timestamp, DISCONT would mean a loss of unknown length, and move groups. */
  if (work.last_range && *work.last_range != range && work.output->image
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
  const gsize bytes = gsize (work.depths) * work.spectra.lines * sizeof (cl_float);

  if (!work.finds_range ())
    return true;
  if (work.levels_bytes != bytes) {
    work.levels_bytes = 0;
    if (!opencl::make_buffer (context, bytes, work.levels, error))
      return false;
    work.levels_bytes = bytes;
  }
  if (work.display.has_range () && work.display_scale == scale
      && work.display_format == work.output->values)
    return true;
  work.display_scale = scale;
  work.display_format = work.output->values;
  return work.display.create (context,
             scale == Scale::log ? oct::ValueType::values : oct::ValueType::amplitudes,
             work.output->values, error)
         && work.display.create_range (error);
}

/* Returns the format that the engine produces: the output, or levels to display later. */
static oct::DepthFormat
engine_output (const FftConfiguration &work)
{
  return work.finds_range () ? oct::DepthFormat::levels : work.output->values;
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
      work.output->image ? output->stride[0] : gssize (work.depths * work.output->bytes);
  depths.first = settings.depth_start;
  depths.depths = work.depths;
  depths.logarithmic = settings.scale == Scale::log;
  depths.black = range.low;
  depths.white = range.high;
  return work.output->image && settings.flip ? oct::flipped (depths) : depths;
}

/* Describes the levels or amplitudes from which an image with automatic range is made. */
static oct::DepthOutput
describe_levels (const FftWork &work)
{
  oct::DepthOutput levels = {};
  levels.data = work.levels ();
  levels.stride = gssize (work.depths * sizeof (cl_float));
  levels.first = work.settings.depth_start;
  levels.depths = work.depths;
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
  return work.display.enqueue_in_range (
      output->queue, {work.levels (), 0, work.depths, work.spectra.lines}, image, error);
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

static bool
enqueue_fused (FftWork &work, GstOctDeferredSpectra *deferred,
    const GstOpenCLFrame *output, GError **error)
{
  oct::SpectrumStage &stage = gst_oct_deferred_spectra_get_stage (deferred);
  oct::BackgroundSpectrum background = gst_oct_deferred_spectra_get_background (deferred);
  return enqueue_depth (work, *work.from_raw.depth, output,
      gst_oct_deferred_spectra_get_raw (deferred), stage.tables (), background.buffer,
      background.offset, error);
}

static gboolean
process_fused (GstOctFFT *self, GstOctDeferredSpectra *deferred, GstBuffer *buffer,
    cl_event *event, GError **error)
{
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  FftWork &work = *self->work;
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  GstOpenCLFrame output;
  gsize size = work.output->bytes * work.depths * work.spectra.lines;

  if (!gst_opencl_frame_map (&output,
          gst_opencl_filter_get_video_info (filter, GST_PAD_SRC), size, buffer, queue,
          GST_MAP_WRITE, error))
    return FALSE;
  bool enqueued = enqueue_fused (work, deferred, &output, error);
  GstOpenCLFrame raw = *gst_opencl_deferred_get_source (GST_OPENCL_DEFERRED (deferred));
  return gst_opencl_frames_unmap (queue, &raw, &output, event, enqueued ? error : nullptr)
         && enqueued;
}

static GstOpenCLMergeResult
gst_oct_fft_merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  FftWork &work = *self->work;
  GstOctDeferredSpectra *deferred = GST_OCT_DEFERRED_SPECTRA (pending);

  const oct::SpectrumStage &stage = gst_oct_deferred_spectra_get_stage (deferred);

  if (!prepare (self, work.from_raw, format_of_deferred (work, stage), error))
    return GST_OPENCL_MERGE_FAILED;
  if (!work.from_raw.depth)
    return GST_OPENCL_NOT_MERGED;
  return process_fused (self, deferred, output, event, error) ? GST_OPENCL_MERGED
                                                              : GST_OPENCL_MERGE_FAILED;
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
  configuration.settings = fitted (wanted, configuration.spectra.wavenumbers ());
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
  configuration.depths =
      guint (depths_of (configuration.settings, configuration.spectra.wavenumbers ()));
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
      direction == GST_PAD_SINK ? oct::announced_spectra_of (query) : nullptr;
  if (!announced)
    return GST_BASE_TRANSFORM_CLASS (gst_oct_fft_parent_class)
        ->query (base, direction, query);
  prepare_spectra (GST_OCT_FFT (base), *announced);
  return FALSE; /* unanswered, so that a tee forwards it to all branches */
}

static const GstOpenCLDeferral deferral = {
    gst_oct_deferred_spectra_get_type, gst_oct_fft_can_merge, gst_oct_fft_merge};

/* The class */

static void
gst_oct_fft_init (GstOctFFT *self)
{
  self->settings = new opencl::Settings<FftSettings> (self, properties);
  self->prepared = new PreparedEngines;
  self->preparation = new opencl::Preparation;
  /* QoS of a slow display must not drop frames that another branch records. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_fft_class_init (GstOctFFTClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOctFFT::settings, &GstOctFFT::preparation,
      &GstOctFFT::work, &GstOctFFT::prepared> (klass, properties);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT Fourier transform",
      "Filter/Effect/Video",
      "Computes depths or B-scan images from OCT spectra, on an OpenCL device",
      "The gst-opencl developers");

  transform_class->transform_caps = gst_oct_fft_transform_caps;
  transform_class->fixate_caps = gst_oct_fft_fixate_caps;
  transform_class->copy_metadata = gst_oct_fft_copy_metadata;
  transform_class->query = gst_oct_fft_query;
  filter_class->open = gst_oct_fft_open;
  filter_class->close = gst_oct_fft_close;
  filter_class->set_formats = gst_oct_fft_set_formats;
  filter_class->get_frame_size = gst_oct_fft_get_frame_size;
  filter_class->begin_frame = gst_oct_fft_begin_frame;
  filter_class->transform = gst_oct_fft_transform;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);

  GST_DEBUG_CATEGORY_INIT (oct_fft_debug, "octfft", 0, "OCT Fourier transform");
}
