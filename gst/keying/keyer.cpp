/* Keys frames by the methods of chromakey
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyer.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

#define FOLDER "/org/freedesktop/gstreamer/opencl/keying/"

namespace keying {
namespace {
/* Work-items of measure_key(), which runs as one work-group */
const gsize measuring_group = 256;

/* Output size of a work-item and of a work-group of key_gpu(). The first entry of `tiles`
 * that fits the local memory is used. */
const gsize item_columns = 4, item_rows = 8, tile_columns = 128;
const struct {
  gsize rows;
  cl_ulong local_bytes;
} tiles[] = {{32, 41 * 1024}, {16, 24 * 1024}, {8, 0}};
/* Maximum output size of a work-item of key_cpu() */
const gsize wide_columns = 256, wide_rows = 64;
/* Votes of count_mixing (): for light, for levels, and logarithm of the likelihood ratio */
const guint vote_count = 3;
const gdouble evidence_unit = 1. / 32, least_ratio = 100;
/* Largest share of pixels for light in frames of mixed levels. It is 0.02 to 0.12 in drawn
 * pictures of mixed levels, and 0.79 to 0.97 of mixed light, but down to 0.2 after the chroma
 * subsampling of JPEG, which mixes levels. What is not clear is light. */
const gdouble most_of_light = 0.15;
/* Pixels of the temporal mean that a work-item makes, in one row */
const cl_uint wide_run = 256, narrow_run = 16;

gsize
tile_rows_for (cl_ulong local_bytes)
{
  for (const auto &tile : tiles) {
    if (local_bytes >= tile.local_bytes)
      return tile.rows;
  }
  g_return_val_if_reached (0);
}

/* Clips to the frame, to at least one pixel. */
Rectangle
clip (const Rectangle &wanted, guint width, guint height)
{
  Rectangle clipped;
  clipped.x = std::min (wanted.x, width - 1);
  clipped.y = std::min (wanted.y, height - 1);
  clipped.width = std::max (1u, std::min (wanted.width, width - clipped.x));
  clipped.height = std::max (1u, std::min (wanted.height, height - clipped.y));
  return clipped;
}

/* Returns TRUE if kernels read the key colour from the device. */
bool
is_on_device (const ChromaKeySettings &settings)
{
  return settings.auto_key == AutoKey::rectangle;
}

/* Returns 1 if the matte's kernels need the code for several keys. */
guint
has_further_keys (const ChromaKeySettings &settings)
{
  return !settings.key_colors.empty () || settings.tone;
}

/* Returns 1 if kernels need the code for settings that few users change. */
guint
extras_of (const ChromaKeySettings &settings)
{
  return has_further_keys (settings) || settings.shadow > 0
         || (settings.spill > 0 && settings.spill_method != SpillMethod::unmix);
}

/* Returns the option for the polynomial of a transfer function, if there is one. */
std::string
fit_option (const GstVideoInfo *info, const opencl::TransferFunction &curve)
{
  const guint fit = curve.lift == 0.055f ? 1 : curve.lift == 0.099f ? 2 : 0;
  return GST_VIDEO_INFO_COMP_DEPTH (info, 0) == 8 && fit
             ? " -DLIGHT_FIT=" + std::to_string (fit)
             : std::string ();
}

cl_uint8
further_keys (const ChromaKeySettings &settings)
{
  cl_uint8 keys = {};
  std::copy (settings.key_colors.begin (), settings.key_colors.end (), keys.s);
  if (settings.tone)
    keys.s[settings.key_colors.size ()] = settings.tone;
  return keys;
}

/* As in softkey.clh: their number, and a bit if the screen's second tone follows */
cl_uint
number_of_further_keys (const ChromaKeySettings &settings)
{
  return cl_uint (settings.key_colors.size ()) | (settings.tone ? 16 : 0);
}

} // namespace

/* --- kernels --- */

void
Keyer::prepare_soft (SoftKernels &kernels, const std::string &options)
{
  kernels.key_cpu.prepare (context, FOLDER "chromakey_cpu.cl", "key_cpu",
      options + " -DWIDE_ROWS=" + std::to_string (wide_rows));
  const std::string tile = options + " -cl-mad-enable -DRECIPROCAL=native_recip"
                           + " -DTILE_COLUMNS=" + std::to_string (tile_columns)
                           + " -DTILE_ROWS=" + std::to_string (tile_rows)
                           + " -DITEM_ROWS=" + std::to_string (item_rows);
  for (guint plate_image : {0, 1})
    for (guint refine : {0, 1})
      kernels.key_gpu[plate_image][refine].prepare (context, FOLDER "chromakey_gpu.cl",
          "key_gpu",
          tile + " -DREFINE=" + std::to_string (refine)
              + " -DPLATE_IMAGE=" + std::to_string (plate_image));
}

/* `options`: build options of the soft methods, for encoded levels and for linear light */
void
Keyer::prepare_kernels (const std::string (&options)[2])
{
  for (guint linear : {0, 1})
    for (guint extras : {0, 1})
      prepare_soft (soft[linear][extras], options[linear] + extras_option (extras));
  const struct {
    opencl::FrameKernel &kernel;
    const char *name;
    guint extras;
  } kernels[] = {
      {distance[0], "key_by_distance", 0},
      {distance[1], "key_by_distance", 1},
      {measure, "measure_key", 0},
      {quiet_kernel, "quiet", 0},
  };
  for (const auto &entry : kernels)
    entry.kernel.prepare (context, FOLDER "chromakey.cl", entry.name,
        format_.options () + extras_option (entry.extras)
            + " -DGROUP=" + std::to_string (measuring_group));
}

bool
Keyer::create (GstOpenCLContext *of, const InputFormat &format, GError **error)
{
  opencl::TransferFunction curve;
  context = of;
  format_ = format;
  has_curve = opencl::transfer_function_of (&info (), curve);
  const std::string options = pixel_options (&info ());
  wide = opencl::is_cpu (context);
  const std::string light = options + opencl::transfer_function_options (curve);
  const std::string both[] = {
      options, light + (wide ? fit_option (&info (), curve) : "")};
  tile_rows = tile_rows_for (opencl::local_memory (context));
  prepare_kernels (both);
  subject.prepare (context, &info (), both);
  counting.prepare (context, FOLDER "subject.cl", "count_mixing", light);
  if (format.is_of_camera ())
    pixels.prepare (context, format);
  return opencl::make_buffer (context, sizeof (cl_uint), auto_key, error)
         && measured_key.create_block (context, 1, error)
         && search.create_kernels (context, format, format.options (), error)
         && opencl::make_buffer (
             context, vote_count * sizeof (cl_int), mixing_votes, error)
         && mixing_counts.create_block (context, vote_count, error)
         && plate.create_kernels (context, &info (), both, error);
}

/* --- the key colour --- */

bool
Keyer::measure_key (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  const opencl::Groups one_group = {1, 1, measuring_group};

  if (!is_on_device (settings) || measured_revision == settings.auto_key_revision)
    return true;
  measured_revision = settings.auto_key_revision;
  const Rectangle from = clip (settings.rectangle, info ().width, info ().height);
  return measure.launch_groups (queue, one_group, error, format_.of (input),
      cl_uint (from.x), cl_uint (from.y), cl_uint (from.width), cl_uint (from.height),
      auto_key ());
}

bool
Keyer::read_back_key (cl_command_queue queue, GError **error)
{
  if (!measured_key.read (queue, auto_key (), error))
    return false;
  const cl_uint *key = measured_key.wait (error);
  if (!key)
    return false;
  host_key = *key;
  host_revision = measured_revision;
  return true;
}

bool
Keyer::knows_key (const ChromaKeySettings &settings) const
{
  if (settings.auto_key == AutoKey::screen)
    return search.key () != 0;
  return settings.auto_key == AutoKey::none
         || (measured_revision == settings.auto_key_revision
             && host_revision == measured_revision);
}

guint
Keyer::known_key (const ChromaKeySettings &settings) const
{
  if (!knows_key (settings) || settings.auto_key == AutoKey::none)
    return settings.key_color;
  return settings.auto_key == AutoKey::screen ? search.key () : host_key;
}

bool
Keyer::is_linear (const ChromaKeySettings &settings) const
{
  return settings.linear && has_curve;
}

ScreenKey
Keyer::screen_key (const ChromaKeySettings &settings) const
{
  return {auto_key (), cl_uint (is_on_device (settings)), known_key (settings),
      settings.tone, measured_revision, is_linear (settings)};
}

/* --- method=distance --- */

cl_uint
Keyer::threshold (const ChromaKeySettings &settings, guint key) const
{
  const gdouble part = settings.relative ? saturation_of (key) : 1;
  return difference_threshold (part * settings.tolerance, settings.channel, &info ());
}

cl_uint8
Keyer::further_thresholds (const ChromaKeySettings &settings) const
{
  cl_uint8 thresholds = {};
  std::transform (settings.key_colors.begin (), settings.key_colors.end (), thresholds.s,
      [&] (guint key) { return threshold (settings, key); });
  return thresholds;
}

DistanceKey
Keyer::distance_key (const ChromaKeySettings &settings) const
{
  DistanceKey key;
  key.color = known_key (settings);
  key.mask = component_mask (&info (), settings.channel);
  key.threshold = threshold (settings, key.color);
  key.inverted = settings.invert ? -1 : 0;
  key.opacity = settings.opacity_in_integers ();
  return key;
}

bool
Keyer::key_by_distance (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  const cl_uint width = info ().width, height = info ().height;
  const DistanceKey key = distance_key (settings);

  return distance[extras_of (settings)].launch (queue, (width + 7) / 8, height, error,
      format_.of (input), output, width, height, key.color, key.mask, key.threshold,
      key.inverted, key.opacity, cl_uint (settings.channel), cl_float (settings.spill),
      cl_uint (settings.spill_method), cl_float (settings.spill_balance),
      further_keys (settings), further_thresholds (settings),
      cl_uint (settings.key_colors.size ()));
}

bool
Keyer::key_nothing (ChromaKeySettings settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  settings.tolerance = settings.spill = settings.shadow = 0;
  settings.key_colors.clear ();
  settings.invert = false;
  has_mean = false;
  return key_by_distance (settings, input, output, queue, error);
}

/* --- soft methods --- */

bool
Keyer::convert_format (const GstOpenCLFrame **input, GstOpenCLFrame *converted,
    cl_command_queue queue, GError **error)
{
  if (!format_.is_of_camera ())
    return true;
  if (!pixels.convert (*input, converted, queue, error))
    return false;
  *input = converted;
  return true;
}

/* Sets the arguments that all soft kernels have, then `after`. */
template <typename... After>
bool
Keyer::set_arguments (opencl::Kernel *kernel, const ChromaKeySettings &settings,
    const Frames &frames, GError **error, After... after)
{
  return kernel->set_all (error, frames.seen, frames.input, frames.output,
      cl_uint (info ().width), cl_uint (info ().height), auto_key (),
      cl_uint (is_on_device (settings)), cl_uint (known_key (settings)), plate.colors (),
      plate.columns (), plate.rows (), plate.block_size (), plate.image (),
      plate.image_stride (), cl_uint (settings.method == Method::difference),
      cl_uint (settings.channel), cl_float (settings.balance),
      cl_float (settings.similarity), cl_float (settings.smoothness),
      further_keys (settings), number_of_further_keys (settings), after...);
}

/* For GPUs, with tiles in local memory */
bool
Keyer::key_gpu (SoftKernels &kernels, const ChromaKeySettings &settings,
    const Frames &frames, cl_command_queue queue, GError **error)
{
  const gsize width = info ().width, height = info ().height;
  opencl::Kernel *kernel =
      kernels.key_gpu[plate.image_stride () > 0][settings.refine].variant (
          {frames.seen, frames.input, frames.output}, error);

  return kernel && set_arguments (kernel, settings, frames, error)
         && kernel->enqueue_groups (queue,
             {(width + tile_columns - 1) / tile_columns,
                 (height + tile_rows - 1) / tile_rows,
                 tile_columns / item_columns * (tile_rows / item_rows)},
             error);
}

/* For CPUs, in tiles of similar height */
bool
Keyer::key_cpu (SoftKernels &kernels, const ChromaKeySettings &settings,
    const Frames &frames, cl_command_queue queue, GError **error)
{
  const gsize width = info ().width, height = info ().height;
  const gsize tiles = (height + wide_rows - 1) / wide_rows;
  const gsize rows = (height + tiles - 1) / tiles;
  opencl::Kernel *kernel =
      kernels.key_cpu.variant ({frames.seen, frames.input, frames.output}, error);

  return kernel
         && set_arguments (
             kernel, settings, frames, error, cl_uint (settings.refine), cl_uint (rows))
         && kernel->enqueue_groups (queue,
             {(width + wide_columns - 1) / wide_columns, (height + rows - 1) / rows, 1},
             error);
}

namespace {
/* Balance at edges, relative to `balance`, of encoded levels and of linear light: hair and
 * skin are darker there than grey. */
const gdouble edge_balance[2] = {0.8, 0.5};
/* The screen is less even in light. */
const gdouble edge_similarity[2] = {1, 1.2};
/* More than `balance`: inside of the subject, yellow and olive are not the screen. */
const gdouble inner_balance = 0.25;

/* Settings of the key that is compared */
ChromaKeySettings
at_edges (ChromaKeySettings settings, bool linear)
{
  settings.balance *= edge_balance[linear];
  settings.similarity *= edge_similarity[linear];
  return settings;
}

ChromaKeySettings
inside_of (ChromaKeySettings settings)
{
  settings.balance = std::min (settings.balance + inner_balance, 1.0);
  return settings;
}
} // namespace

/* Writes the frame with the key's matte, with colours as filmed. */
bool
Keyer::make_matte (const ChromaKeySettings &settings, const Frames &frames,
    cl_command_queue queue, GError **error)
{
  const bool linear = is_linear (settings);
  const ChromaKeySettings edges = at_edges (settings, linear);
  SoftKernels &kernels = soft[linear][has_further_keys (settings)];
  return wide ? key_cpu (kernels, edges, frames, queue, error)
              : key_gpu (kernels, edges, frames, queue, error);
}

bool
Keyer::judge_mixing (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, guint &levels_pixels, cl_command_queue queue,
    GError **error)
{
  const cl_int zero = 0;
  const Frames frames = {input, input, output};
  opencl::Kernel *kernel = gst_opencl_context_require_engine (context, "soft-key", error)
                               ? counting.variant ({input, input, output}, error)
                               : nullptr;
  if (!kernel || !make_matte (settings, frames, queue, error)
      || !gst_opencl_check (clEnqueueFillBuffer (queue, mixing_votes (), &zero,
                                sizeof zero, 0, vote_count * sizeof zero, 0, nullptr,
                                opencl::Profiled (queue, opencl::command::fill)),
          "clEnqueueFillBuffer", error)
      || !set_arguments (kernel, settings, frames, error, mixing_votes ())
      || !kernel->enqueue (
          queue, (gsize (info ().width) + 7) / 8, gsize (info ().height), error)
      || !mixing_counts.read (queue, mixing_votes (), error))
    return false;
  const cl_uint *votes = mixing_counts.wait (error);
  if (!votes)
    return false;
  const guint all = votes[0] + votes[1];
  const bool is_clear = votes[0] < most_of_light * all
                        && cl_int (votes[2]) * evidence_unit >= std::log (least_ratio);
  levels_pixels = is_clear ? all : 0;
  return true;
}

/* Makes a matte by the key, then compares the frame with the colours of its subject, which
 * gives alpha and colours. */
bool
Keyer::key_frames (const ChromaKeySettings &settings, const Frames &frames,
    cl_command_queue queue, GError **error)
{
  const bool linear = is_linear (settings);
  const guint further = has_further_keys (settings);

  if (!subject.make_buffers (error) || !make_matte (settings, frames, queue, error))
    return false;
  const std::initializer_list<const GstOpenCLFrame *> all = {
      frames.seen, frames.input, frames.output};
  opencl::Kernel *measure_this =
      subject.measurement (linear, further).variant (all, error);
  opencl::Kernel *compare_this =
      measure_this
          ? subject.comparison (linear, extras_of (settings)).variant (all, error)
          : nullptr;
  return compare_this
         && set_arguments (measure_this, inside_of (settings), frames, error,
             cl_uint (settings.core), subject.columns (), subject.rows (),
             subject.colors (), subject.block_kinds ())
         && measure_this->enqueue (
             queue, gsize (subject.columns ()), gsize (subject.rows ()), error)
         && subject.spread (queue, error)
         && set_arguments (compare_this, settings, frames, error,
             cl_uint (settings.invert), cl_float (settings.opacity),
             cl_float (settings.spill), cl_uint (settings.spill_method),
             cl_float (settings.spill_balance), cl_float (settings.shadow),
             subject.blocks (), subject.columns (), subject.rows ())
         && compare_this->enqueue (
             queue, (gsize (info ().width) + 7) / 8, gsize (info ().height), error);
}

/* Vectors of four pixels in a row of a temporal mean */
gsize
Keyer::mean_stride () const
{
  return (gsize (info ().width) + 3) / 4;
}

bool
Keyer::ensure_means (GError **error)
{
  const gsize height = gsize (info ().height), vectors = mean_stride () * height;

  for (cl::Buffer &mean : means)
    if (!mean ()
        && !opencl::make_buffer (context, vectors * sizeof (cl_short16), mean, error))
      return false;
  return quiet ()
         || opencl::make_buffer (
             context, work_stride_of (&info ()) * height, quiet, error);
}

/* Writes the denoised frame to `seen`, in work memory. */
bool
Keyer::quieten (const GstOpenCLFrame *input, GstOpenCLFrame *seen, cl_command_queue queue,
    GError **error)
{
  const cl_uint width = info ().width, height = info ().height;
  const cl_uint run = wide ? wide_run : narrow_run;

  if (!ensure_means (error))
    return false;
  seen->data = quiet ();
  seen->stride[0] = gint (work_stride_of (&info ()));
  const cl::Buffer &before = means[newer_mean], &after = means[1 - newer_mean];
  if (!quiet_kernel.launch (queue, (width + run - 1) / run, height, error, input,
          const_cast<const GstOpenCLFrame *> (seen), width, height, cl_uint (!has_mean),
          before (), after (), cl_uint (mean_stride ()), run))
    return false;
  newer_mean = 1 - newer_mean;
  return true;
}

/* The temporal mean restarts at a discontinuity, such as a seek. */
bool
Keyer::key_softly (const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLFrame denoised = {};
  Frames frames = {input, input, output};

  if (!gst_opencl_context_require_engine (context, "soft-key", error))
    return false;
  if (GST_BUFFER_IS_DISCONT (input->buffer))
    has_mean = false;
  if (settings.quiet) {
    if (!quieten (input, &denoised, queue, error))
      return false;
    frames.seen = &denoised;
  }
  has_mean = settings.quiet;
  return key_frames (settings, frames, queue, error);
}
} // namespace keying
