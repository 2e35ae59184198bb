/* octfft: from spectra that are even in wavenumber to depth
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octfft
 *
 * Takes the Fourier transform along each A-line and gives the first half of its bins, the
 * depths: as a B-scan to look at (a column an A-line, depth downwards, in decibels from
 * db-min, black, to db-max, white), or as numbers, line by line. What it makes is what
 * downstream asks for, the 8 bit picture if it has no wish.
 *
 * With the spectrum scaled as octwindowinterp does, a fringe of amplitude a, in units of
 * the raw samples, is 20 log10(a) dB. Bin b lies at depth b pi / (N dk), N samples being
 * dk apart in wavenumber. Properties that are set in one g_object_set() take effect
 * together, with the next frame.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY16_LE,width=2048,height=512 !
 * openclupload ! octwindowinterp ! octfft db-max=90 ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 * The test picture taken for spectra.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cmath>
#include <memory>

#include <gst/opencl/deviceinfo.hpp>
#include <gst/opencl/kernel.hpp>
#include <gst/opencl/opencl-private.hpp>
#include <gst/opencl/opencl-hpp.hpp>
#include <gst/opencl/settings.hpp>

#include "spectra/deferredspectra.hpp"
#include "elements.h"
#include "depth/fuseddepth.hpp"

GST_DEBUG_CATEGORY_STATIC (oct_fft_debug);
#define GST_CAT_DEFAULT oct_fft_debug

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octfft.cl"
#define OPENCL_MEMORY "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
#define FRAMERATE "framerate=(fraction)[0/1, 2147483647/1]"
#define LEAST_SAMPLES 64
#define MOST_SAMPLES 16384
#define MOST_DEPTHS (MOST_SAMPLES / 2)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("application/x-oct" OPENCL_MEMORY ", "
                     "domain=(string)wavenumber, format=(string){F32LE, CF32LE}, "
                     "samples=(int)[64, 16384], lines=(int)[1, 2147483647], " FRAMERATE));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("video/x-raw" OPENCL_MEMORY ", "
                     "format=(string){GRAY8, GRAY16_LE}, "
                     "width=(int)[1, 2147483647], height=(int)[1, 8192], " FRAMERATE ";"
                     "application/x-oct" OPENCL_MEMORY ", "
                     "domain=(string)depth, format=(string){F32LE, CF32LE}, "
                     "samples=(int)[1, 8192], lines=(int)[1, 2147483647], " FRAMERATE));

namespace {
enum class Scale {
  log,
  linear,
};

/* Whether octwindowinterp's work is done in one launch with octfft's. */
enum class Fused {
  automatic,
  never,
  always,
};

const double least_db = -1000;
const double most_db = 1000;

struct Settings {
  Scale scale = Scale::log;
  double db_min = 0;
  double db_max = 60;
  guint depth_start = 0;
  guint depth_count = 0; /* 0: all that remain */
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;
  Fused fused = Fused::automatic;
};

struct OutputFormat {
  const char *media_type;
  const char *format;
  gsize bytes;
  const char *kernel;
  const char *options;
  double full; /* brightest pixel, 0 where there are none */
  oct::DepthFormat fused;
};

const OutputFormat output_formats[] = {
    {"video/x-raw", "GRAY8", 1, "make_picture",
        "-DPIXEL=uchar -DTO_PIXELS=convert_uchar16 -DFULL=255.0f", 255,
        oct::DepthFormat::gray8},
    {"video/x-raw", "GRAY16_LE", 2, "make_picture",
        "-DPIXEL=ushort -DTO_PIXELS=convert_ushort16 -DFULL=65535.0f", 65535,
        oct::DepthFormat::gray16},
    {"application/x-oct", "F32LE", 4, "make_lines", "-DPIXEL=float", 0,
        oct::DepthFormat::levels},
    {"application/x-oct", "CF32LE", 8, "make_lines", "-DPIXEL=float2 -DCOMPLEX", 0,
        oct::DepthFormat::complex},
};

/* As in the kernels. */
const gsize tile = 32;
const gsize strip_lines = 16;
const gsize strip_depths = 8;

struct FreeFFT {
  void operator() (GstOpenCLFFT *fft) const { gst_opencl_fft_free (fft); }
};

/* The spectra of a frame. */
struct Spectra {
  guint samples = 0;
  guint lines = 0;
  bool complex = false;
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO; /* as asked for */

  gsize bytes () const
  {
    return gsize (samples) * lines * sizeof (cl_float) * (complex ? 2 : 1);
  }
  bool operator== (const Spectra &other) const
  {
    return samples == other.samples && lines == other.lines && complex == other.complex
           && library == other.library;
  }
};

/* All of the work in one launch; made for the first frame of its format. */
struct OneStep {
  oct::FusedDepthFormat format;
  std::unique_ptr<oct::FusedDepth> depth; /* or null, where it is done in two steps */
};

/* What the streaming thread works with. */
struct Work {
  Spectra spectra;
  const OutputFormat *output = nullptr;
  guint depths = 0;
  Settings settings; /* in force, and so many depths */

  /* For spectra that are made, in two steps; made for the first of them */
  std::unique_ptr<GstOpenCLFFT, FreeFFT> fft;
  cl::Buffer input; /* for frames that do not begin where their cl_mem does */
  cl::Buffer bins;
  bool strips = false;                         /* a picture is made in strips */
  const OutputFormat *kernel_output = nullptr; /* what the kernel is for, or nullptr */
  opencl::Kernel kernel;

  /* In one: from what octwindowinterp leaves to this element, and from spectra that are
   * made. */
  OneStep from_raw;
  OneStep from_spectra;
};
} // namespace

#define GST_TYPE_OCT_FFT (gst_oct_fft_get_type ())
G_DECLARE_FINAL_TYPE (GstOctFFT, gst_oct_fft, GST, OCT_FFT, GstOpenCLFilter)

struct _GstOctFFT {
  GstOpenCLFilter parent;

  opencl::Settings<Settings> *settings;
  Work *work; /* between open and close, else null */
};

G_DEFINE_TYPE (GstOctFFT, gst_oct_fft, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (octfft, "octfft", GST_RANK_NONE, GST_TYPE_OCT_FFT)

static GType
scale_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Scale::log), "Decibels: 20 log10(max(amplitude, 1e-6))", "log"},
      {gint (Scale::linear), "Amplitude", "linear"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstOctScale", values));
  return type;
}

static GType
fused_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Fused::automatic), "Where it is faster and no FFT library is asked for",
          "auto"},
      {gint (Fused::never), "Each element does its own work", "never"},
      {gint (Fused::always),
          "Or an error, where the device or the length does not allow "
          "it",
          "always"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstOctFused", values));
  return type;
}

/* Properties */

const opencl::PropertyTable<Settings> properties = {
    {"scale", "Scale",
        "What pixels and F32LE values show; CF32LE values are left complex",
        &Settings::scale, scale_get_type, opencl::playing},
    {"db-min", "Black level",
        "Level that is black in a picture, in dB; with scale=linear amplitudes are "
        "mapped linearly from 10^(db-min/20) to 10^(db-max/20)",
        &Settings::db_min, {least_db, most_db}, opencl::controllable},
    {"db-max", "White level", "Level that is white in a picture, in dB; above db-min",
        &Settings::db_max, {least_db, most_db}, opencl::controllable},
    {"depth-start", "First depth",
        "First depth bin of the output; N samples per A-line give N/2",
        &Settings::depth_start, {0, MOST_DEPTHS - 1}, opencl::playing},
    {"depth-count", "Number of depths", "Depth bins of the output, 0 = all that remain",
        &Settings::depth_count, {0, MOST_DEPTHS}, opencl::playing},
    {"fft-library", "FFT library",
        "Library that transforms what is not done in one launch; clFFT takes lengths "
        "whose prime factors are at most 13",
        &Settings::library, gst_opencl_fft_library_get_type, opencl::ready},
    {"fused", "Fused",
        "Whether all is done in one launch, with the work of an octwindowinterp "
        "directly before; results differ by rounding alone",
        &Settings::fused, fused_get_type, opencl::ready},
};

static gboolean
check_range (const Settings &settings, GError **error)
{
  if (settings.db_min < settings.db_max)
    return TRUE;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "db-min is %g and db-max is %g, expected db-min below db-max", settings.db_min,
      settings.db_max);
  return FALSE;
}

static gboolean
check (const Settings &settings, guint samples, GError **error)
{
  if (!check_range (settings, error))
    return FALSE;
  guint bins = samples / 2;
  if (settings.depth_start < bins && settings.depth_count <= bins - settings.depth_start)
    return TRUE;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "depth-start is %u and depth-count is %u, expected depths among the %u that %u "
      "samples per A-line give",
      settings.depth_start, settings.depth_count, bins, samples);
  return FALSE;
}

/* The depths that are among those of so many samples. */
static Settings
fitted (Settings settings, guint samples)
{
  guint bins = samples / 2;
  settings.depth_start =
      std::min (settings.depth_start, bins - std::clamp (settings.depth_count, 1u, bins));
  settings.depth_count = std::min (settings.depth_count, bins - settings.depth_start);
  return settings;
}

/* Caps */

static gint
depths_of (const Settings &settings, guint samples)
{
  Settings possible = fitted (settings, samples);
  if (possible.depth_count > 0)
    return gint (possible.depth_count);
  return gint (samples / 2 - possible.depth_start);
}

/* A range of all the numbers from least to most, within the limits. */
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

/* Of a number, a range or a list of these; the given ones where there is none. */
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

static void
set_depths (GstStructure *output, const char *field, const GValue *samples,
    const Settings &settings)
{
  Limits limits = limits_of (samples, {LEAST_SAMPLES, MOST_SAMPLES});
  set_range (output, field, depths_of (settings, limits.least),
      depths_of (settings, limits.most), 1, MOST_DEPTHS);
}

/* N samples, even or odd, have N / 2 depths. */
static void
set_samples (GstStructure *input, const GValue *depths, const Settings &settings)
{
  if (settings.depth_count > 0)
    return; /* whatever has so many */
  Limits limits = limits_of (depths, {1, MOST_DEPTHS});
  gint64 start = settings.depth_start;
  gint64 least = limits.least > 1 ? 2 * (limits.least + start) : LEAST_SAMPLES;
  set_range (input, "samples", least, 2 * (limits.most + start) + 1, LEAST_SAMPLES,
      MOST_SAMPLES);
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

static void
append_outputs (GstCaps *caps, const GstStructure *input, const Settings &settings)
{
  GstCaps *outputs = gst_static_pad_template_get_caps (&src_template);
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    GstStructure *output = gst_structure_copy (gst_caps_get_structure (outputs, n));
    copy_field (output, lines_field (output), input, "lines");
    copy_field (output, "framerate", input, "framerate");
    set_depths (output, depths_field (output), gst_structure_get_value (input, "samples"),
        settings);
    gst_caps_append_structure_full (
        caps, output, gst_caps_features_copy (gst_caps_get_features (outputs, n)));
  }
  gst_caps_unref (outputs);
}

static bool
has_depths (const GstStructure *output, const Settings &settings)
{
  if (settings.depth_count == 0)
    return true;
  Limits limits = limits_of (
      gst_structure_get_value (output, depths_field (output)), {1, MOST_DEPTHS});
  return gint (settings.depth_count) >= limits.least
         && gint (settings.depth_count) <= limits.most;
}

static void
append_inputs (GstCaps *caps, const GstStructure *output, const Settings &settings)
{
  if (!has_depths (output, settings))
    return;
  GstCaps *inputs = gst_static_pad_template_get_caps (&sink_template);
  GstStructure *input = gst_structure_copy (gst_caps_get_structure (inputs, 0));
  copy_field (input, "lines", output, lines_field (output));
  copy_field (input, "framerate", output, "framerate");
  set_samples (input, gst_structure_get_value (output, depths_field (output)), settings);
  gst_caps_append_structure_full (
      caps, input, gst_caps_features_copy (gst_caps_get_features (inputs, 0)));
  gst_caps_unref (inputs);
}

static GstCaps *
gst_oct_fft_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  Settings settings = GST_OCT_FFT (base)->settings->current ();
  GstCaps *result = gst_caps_new_empty ();

  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstStructure *structure = gst_caps_get_structure (caps, n);
    if (direction == GST_PAD_SINK)
      append_outputs (result, structure, settings);
    else
      append_inputs (result, structure, settings);
  }
  if (filter) {
    GstCaps *filtered =
        gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = filtered;
  }
  GST_DEBUG_OBJECT (base, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, caps, result);
  return result;
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
    *size = spectra.bytes ();
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
  self->work = new Work;
  return check_range (self->settings->committed (), error);
}

static void
gst_oct_fft_close (GstOpenCLFilter *filter)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  delete self->work;
  self->work = nullptr;
  self->settings->stop ();
}

static bool
create_buffer (GstOctFFT *self, gsize bytes, cl::Buffer *buffer, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  cl_int code;
  *buffer = cl::Buffer (clCreateBuffer (
      gst_opencl_context_get_handle (context), CL_MEM_READ_WRITE, bytes, nullptr, &code));
  return gst_opencl_check (code, "clCreateBuffer", error);
}

static bool
make_plan (GstOctFFT *self, GError **error)
{
  Work &work = *self->work;
  const Spectra &spectra = work.spectra;
  if (work.fft)
    return true;

  work.fft.reset (
      gst_opencl_fft_new (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
          spectra.library, spectra.samples, spectra.lines, !spectra.complex, error));
  if (!work.fft)
    return false;
  gsize stride = gst_opencl_fft_get_output_stride (work.fft.get ());
  if (create_buffer (self, stride * spectra.lines * sizeof (cl_float2), &work.bins, error)
      && create_buffer (self, spectra.bytes (), &work.input, error))
    return true;
  work.fft.reset ();
  return false;
}

static bool
make_kernel (GstOctFFT *self, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  Work &work = *self->work;
  if (work.kernel_output == work.output)
    return true;

  work.kernel_output = nullptr;
  work.strips = work.output->full > 0 && opencl::is_cpu (context);
  if (!work.kernel.create (context, KERNELS,
          work.strips ? "make_picture_strips" : work.output->kernel, work.output->options,
          error))
    return false;
  work.kernel_output = work.output;
  return true;
}

/* Those that are set, or as near to them as these caps allow: who turned knobs for
 * another number of samples is told, and loses no frame. */
static bool
adopt_settings (GstOctFFT *self, GError **error)
{
  Work &work = *self->work;
  GError *reason = nullptr;
  guint samples = work.spectra.samples;
  bool starts = !self->settings->is_started ();
  auto accept = [&] (const Settings &wanted, GError **why) {
    return (starts || depths_of (wanted, samples) == gint (work.depths))
           && check (wanted, samples, why);
  };
  if (!self->settings->adopt (accept, &reason)) {
    if (starts) {
      g_propagate_error (error, reason);
      return false;
    }
    self->settings->warn (reason);
  }
  work.settings = fitted (self->settings->current (), samples);
  /* Set anew since these caps were agreed on: the first frame brings others. */
  if (depths_of (work.settings, samples) != gint (work.depths))
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

  Work &work = *self->work;
  work.output = parse_output (output, &work.depths, &lines);
  if (!parse_input (input, &spectra) || !work.output) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "the caps have no format of spectra or of depths");
    return FALSE;
  }
  spectra.library = self->settings->committed ().library;
  /* Other depths or another format of the output leave the plan as it is. */
  if (!(work.spectra == spectra))
    work.fft.reset ();
  work.spectra = spectra;
  return adopt_settings (self, error);
}

static GstCaps *
outputs_of (GstBaseTransform *base, const Settings &settings)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  GstCaps *outputs = gst_caps_new_empty ();
  append_outputs (outputs, gst_caps_get_structure (input, 0), settings);
  gst_caps_unref (input);
  return outputs;
}

/* Between two frames. Another number of depths comes with the caps that say so, which the
 * base class agrees on before this very frame. */
static void
update_settings (GstOctFFT *self)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  Work &work = *self->work;
  guint samples = work.spectra.samples;
  auto accept = [&] (const Settings &wanted, GError **error) {
    if (!check (wanted, samples, error))
      return false;
    if (depths_of (wanted, samples) == gint (work.depths)) {
      work.settings = wanted;
      return true;
    }
    if (!opencl::is_taken_downstream (base, outputs_of (base, wanted), error))
      return false;
    gst_base_transform_reconfigure_src (base);
    return true;
  };
  if (self->settings->is_started ())
    self->settings->update (accept);
}

static GstFlowReturn
gst_oct_fft_submit_input_buffer (
    GstBaseTransform *base, gboolean discont, GstBuffer *input)
{
  opencl::sync_controlled_values (base, input);
  update_settings (GST_OCT_FFT (base));
  return GST_BASE_TRANSFORM_CLASS (gst_oct_fft_parent_class)
      ->submit_input_buffer (base, discont, input);
}

/* The work */

/* What a picture shows black and white: decibels, or amplitudes. */
struct Range {
  double low;
  double high;
};

static Range
range_of (const Settings &settings)
{
  if (settings.scale == Scale::log)
    return {settings.db_min, settings.db_max};
  return {std::pow (10, settings.db_min / 20), std::pow (10, settings.db_max / 20)};
}

/* The display range as the kernels take it: black, and pixel values per unit above it. */
struct Brightness {
  cl_float darkest;
  cl_float factor;
};

static Brightness
brightness_of (const Settings &settings, double full)
{
  Range range = range_of (settings);
  return {cl_float (range.low), cl_float (full / (range.high - range.low))};
}

static bool
is_aligned (const GstOpenCLFrame *output, gsize bytes, GError **error)
{
  if (output->offset[0] % bytes == 0 && output->stride[0] % gint (bytes) == 0)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "the output buffer begins at byte %" G_GSIZE_FORMAT
      " and has a stride of %d bytes, expected multiples of %" G_GSIZE_FORMAT,
      output->offset[0], output->stride[0], bytes);
  return false;
}

/* A transform reads its input from the start of a cl_mem. */
static bool
enqueue_fft (
    Work &work, const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  cl_mem from = input->data;
  if (input->offset[0] > 0) {
    from = work.input ();
    cl_int code = clEnqueueCopyBuffer (queue, input->data, from, input->offset[0], 0,
        work.spectra.bytes (), 0, nullptr, nullptr);
    if (!gst_opencl_check (code, "clEnqueueCopyBuffer", error))
      return false;
  }
  return gst_opencl_fft_enqueue (work.fft.get (), queue, from, work.bins (), error);
}

/* Work-items of a launch. */
struct Extent {
  gsize columns;
  gsize rows;
};

static gsize
blocks_of (gsize values, gsize block)
{
  return (values + block - 1) / block;
}

static Extent
extent_of (const Work &work)
{
  gsize lines = work.spectra.lines;
  if (work.output->full == 0)
    return {work.depths, lines};
  if (work.strips)
    return {blocks_of (lines, strip_lines), blocks_of (work.depths, strip_depths)};
  /* A work-group for each tile, or more where groups are smaller. */
  return {blocks_of (lines, tile) * opencl::Kernel::largest_group,
      blocks_of (work.depths, tile)};
}

static bool
enqueue_output (
    Work &work, const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  const Settings &settings = work.settings;
  const OutputFormat &format = *work.output;
  bool picture = format.full > 0;
  guint lines = work.spectra.lines;
  Extent extent = extent_of (work);
  gsize stride = picture ? output->stride[0] / format.bytes : work.depths;
  Brightness brightness = brightness_of (settings, format.full);

  return is_aligned (output, format.bytes, error)
         && work.kernel.launch (queue, extent.columns, extent.rows, error, work.bins (),
             cl_uint (gst_opencl_fft_get_output_stride (work.fft.get ())),
             cl_uint (settings.depth_start), cl_uint (work.depths), cl_uint (lines),
             cl_uint (settings.scale == Scale::log), brightness.darkest,
             brightness.factor, output->data, cl_ulong (output->offset[0] / format.bytes),
             cl_uint (stride));
}

/* --- in one step --- */

static bool
is_faster_in_one (GstOctFFT *self, const oct::FusedDepthFormat &format)
{
  return oct::FusedDepth::accepts (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), format);
}

/* Together with octwindowinterp's work. */
static bool
fuses (GstOctFFT *self, const oct::FusedDepthFormat &format)
{
  const Settings &settings = self->work->settings;
  return settings.fused == Fused::always
         || (settings.fused == Fused::automatic
             && settings.library == GST_OPENCL_FFT_LIBRARY_AUTO
             && is_faster_in_one (self, format));
}

/* Of spectra that are made: an FFT library is never a reason for an error. */
static bool
is_one_step (GstOctFFT *self, const oct::FusedDepthFormat &format)
{
  return fuses (self, format)
         && (format.taps > 0
             || (self->work->settings.library == GST_OPENCL_FFT_LIBRARY_AUTO
                 && is_faster_in_one (self, format)));
}

/* Kernels for spectra of another kind than before. */
static bool
prepare_one_step (
    GstOctFFT *self, OneStep &step, const oct::FusedDepthFormat &format, GError **error)
{
  if (step.format == format)
    return true;
  step.depth.reset ();
  step.format = format;
  if (!is_one_step (self, format))
    return true;
  GError *reason = nullptr;
  step.depth = oct::FusedDepth::make (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), format, &reason);
  if (step.depth)
    return true;
  /* What the compiler made of it does not fit the device after all. */
  if (self->work->settings.fused == Fused::automatic
      && g_error_matches (reason, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED)) {
    GST_INFO_OBJECT (self, "in two steps: %s", reason->message);
    g_clear_error (&reason);
    return true;
  }
  step.format = oct::FusedDepthFormat ();
  g_propagate_error (error, reason);
  return false;
}

static oct::FusedDepthFormat
format_of_spectra (const Work &work)
{
  oct::FusedDepthFormat format;
  format.input = oct::SampleFormat::f32le;
  format.output = work.output->fused;
  format.samples = work.spectra.samples;
  format.taps = 0;
  format.complex = work.spectra.complex;
  return format;
}

static oct::DepthOutput
describe_output (const Work &work, const GstOpenCLFrame *output)
{
  const Settings &settings = work.settings;
  bool picture = work.output->full > 0;
  Range range = range_of (settings);
  oct::DepthOutput depths;
  depths.data = output->data;
  depths.offset = output->offset[0];
  depths.stride = picture ? output->stride[0] : work.depths * work.output->bytes;
  depths.first = settings.depth_start;
  depths.depths = work.depths;
  depths.logarithmic = settings.scale == Scale::log;
  depths.black = range.low;
  depths.white = range.high;
  return depths;
}

static bool
enqueue_from_spectra (Work &work, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  const Spectra &spectra = work.spectra;
  oct::RawSpectra described;
  described.data = input->data;
  described.offset = input->offset[0];
  described.stride = cl_long (spectra.bytes () / spectra.lines);
  described.samples = spectra.samples;
  described.lines = spectra.lines;
  described.shift = 0;
  return work.from_spectra.depth->enqueue (queue, described, input->data, input->data, 0,
      describe_output (work, output), error);
}

static gboolean
gst_oct_fft_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  Work &work = *self->work;

  if (!prepare_one_step (self, work.from_spectra, format_of_spectra (work), error))
    return false;
  if (work.from_spectra.depth)
    return enqueue_from_spectra (work, input, output, queue, error);
  return make_plan (self, error) && make_kernel (self, error)
         && enqueue_fft (work, input, queue, error)
         && enqueue_output (work, output, queue, error);
}

/* --- spectra that octwindowinterp has not made yet --- */

static gboolean
gst_oct_fft_takes_up (GstOpenCLFilter *filter)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  oct::FusedDepthFormat format;

  format.samples = self->work ? self->work->spectra.samples : 0;
  return self->work && fuses (self, format);
}

static oct::FusedDepthFormat
fused_format_of (const Work &work, GstOctDeferredSpectra *deferred)
{
  const oct::SpectrumStage &stage = gst_oct_deferred_spectra_get_stage (deferred);
  oct::FusedDepthFormat format;
  format.input = stage.format ().input;
  format.output = work.output->fused;
  format.samples = stage.format ().samples;
  format.taps = stage.taps ();
  format.complex = stage.format ().complex;
  format.background = stage.format ().background;
  return format;
}

static bool
enqueue_fused (Work &work, GstOctDeferredSpectra *deferred, const GstOpenCLFrame *output,
    GError **error)
{
  oct::SpectrumStage &stage = gst_oct_deferred_spectra_get_stage (deferred);
  oct::Background background = gst_oct_deferred_spectra_get_background (deferred);
  return work.from_raw.depth->enqueue (output->queue,
      gst_oct_deferred_spectra_get_raw (deferred), stage.tables (), background.buffer (),
      background.offset, describe_output (work, output), error);
}

static gboolean
process_fused (GstOctFFT *self, GstOctDeferredSpectra *deferred, GstBuffer *buffer,
    cl_event *event, GError **error)
{
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  Work &work = *self->work;
  cl_command_queue queue = gst_opencl_context_get_queue (
      gst_opencl_filter_get_context (filter), GST_OPENCL_QUEUE_COMPUTE);
  GstOpenCLFrame output;
  gsize size = work.output->bytes * work.depths * work.spectra.lines;

  if (!gst_opencl_frame_map (&output,
          gst_opencl_filter_get_video_info (filter, GST_PAD_SRC), size, buffer, queue,
          GST_MAP_WRITE, error))
    return FALSE;
  bool enqueued = enqueue_fused (work, deferred, &output, error);
  GstOpenCLFrame raw = *gst_opencl_deferred_get_source (GST_OPENCL_DEFERRED (deferred));
  return gst_opencl_frames_finish (
             queue, &raw, &output, event, enqueued ? error : nullptr)
         && enqueued;
}

static GstOpenCLTakenUp
gst_oct_fft_take_up (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
    GstBuffer *output, cl_event *event, GError **error)
{
  GstOctFFT *self = GST_OCT_FFT (filter);
  Work &work = *self->work;
  GstOctDeferredSpectra *deferred = GST_OCT_DEFERRED_SPECTRA (pending);

  if (!prepare_one_step (self, work.from_raw, fused_format_of (work, deferred), error))
    return GST_OPENCL_TAKE_UP_FAILED;
  if (!work.from_raw.depth)
    return GST_OPENCL_LEFT;
  return process_fused (self, deferred, output, event, error) ? GST_OPENCL_TAKEN_UP
                                                              : GST_OPENCL_TAKE_UP_FAILED;
}

static const GstOpenCLDeferral deferral = {
    gst_oct_deferred_spectra_get_type, gst_oct_fft_takes_up, gst_oct_fft_take_up};

/* The class */

static void
gst_oct_fft_init (GstOctFFT *self)
{
  self->settings = new opencl::Settings<Settings> (self, properties);
  /* A measurement that a slow display leaves out is missing in the recording beside it.
   */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_fft_finalize (GObject *object)
{
  GstOctFFT *self = GST_OCT_FFT (object);
  delete self->settings;
  delete self->work;
  G_OBJECT_CLASS (gst_oct_fft_parent_class)->finalize (object);
}

static void
gst_oct_fft_class_init (GstOctFFTClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  object_class->finalize = gst_oct_fft_finalize;
  opencl::install_settings<&GstOctFFT::settings> (klass, properties);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT Fourier transform",
      "Filter/Effect/Video",
      "Makes depth, a B-scan or numbers, of OCT spectra, on an OpenCL device",
      "The gst-opencl developers");
  for (GType type :
      {scale_get_type (), fused_get_type (), GType (GST_TYPE_OPENCL_FFT_LIBRARY)})
    gst_type_mark_as_plugin_api (type, GstPluginAPIFlags (0));

  transform_class->transform_caps = gst_oct_fft_transform_caps;
  transform_class->submit_input_buffer = gst_oct_fft_submit_input_buffer;
  filter_class->open = gst_oct_fft_open;
  filter_class->close = gst_oct_fft_close;
  filter_class->set_formats = gst_oct_fft_set_formats;
  filter_class->get_frame_size = gst_oct_fft_get_frame_size;
  filter_class->transform = gst_oct_fft_transform;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);

  GST_DEBUG_CATEGORY_INIT (oct_fft_debug, "octfft", 0, "OCT Fourier transform");
}
