/* Converts raw video: format, colours, size and orientation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "converter.hpp"

#include <gst/common/videoformats.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/transfer/convert.cl"

namespace transfer {
GstVideoInfo
with_colors_of (const GstVideoInfo &like, GstVideoFormat format, gint width, gint height)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, format, guint (width), guint (height));
  info.colorimetry = like.colorimetry;
  info.chroma_site = like.chroma_site;
  return info;
}

/* Returns the size to which the input is scaled, before rotation. */
cl_int2
FrameConverter::size_before_rotation () const
{
  if (how.orientation.transposed)
    return {{how.target.height, how.target.width}};
  return {{how.target.width, how.target.height}};
}

bool
FrameConverter::is_scaled (const GstVideoInfo &in) const
{
  const cl_int2 size = size_before_rotation ();
  return size.s[0] != in.width || size.s[1] != in.height;
}

/* Returns true if there is no rotation, no mirroring and no border. */
bool
FrameConverter::is_plain () const
{
  return !how.orientation.turns () && how.target.covers (how.out);
}

/* As in videoconvert, chroma is resampled only if its sampling grid changes. */
bool
FrameConverter::is_chroma_resampled (const GstVideoInfo &in) const
{
  const GstVideoInfo &out = how.out;
  const bool oblong =
      how.orientation.transposed && in.finfo->w_sub[2] != in.finfo->h_sub[2];
  return how.chroma_resampler == ChromaResampler::linear
         && (in.finfo->w_sub[2] != out.finfo->w_sub[2]
             || in.finfo->h_sub[2] != out.finfo->h_sub[2]
             || in.chroma_site != out.chroma_site || is_scaled (in) || oblong);
}

bool
FrameConverter::dithers () const
{
  return how.dither == Dither::bayer
         && opencl::sample_bits (how.out) < opencl::sample_bits (source);
}

/* Rotated frames are not processed by field. */
bool
FrameConverter::has_fields (const GstVideoInfo &info) const
{
  return GST_VIDEO_INFO_IS_INTERLACED (&info) && !how.orientation.turns ();
}

/* Returns the number of columns that a work-item computes, since they share chroma or bytes. */
static guint
columns_together (const GstVideoInfo &out)
{
  const opencl::BitFormat *bits = opencl::bit_format_of (out);
  if (opencl::is_v210 (out))
    return 6;
  return bits ? bits->columns : 1u << out.finfo->w_sub[2];
}

std::string
FrameConverter::build_options (bool interlaced) const
{
  static const char *const methods[] = {
      "SCALE_NEAREST", "SCALE_BILINEAR", "SCALE_AREA", "SCALE_LANCZOS"};
  const GstVideoInfo &in = source, &out = how.out;
  const bool resampled = is_chroma_resampled (in);
  std::string options;

  opencl::define_samples (
      options, "IN", in, GST_VIDEO_INFO_IS_GRAY (&in) || how.alpha_as_gray);
  opencl::define_samples (options, "OUT", out, GST_VIDEO_INFO_IS_GRAY (&out));
  opencl::define (options, "OUT", "_COLUMNS", std::to_string (columns_together (out)));
  opencl::define_chroma (options, "IN", in, resampled);
  opencl::define_chroma (options, "OUT", out, resampled);
  opencl::define (options, "SCALING", "",
      is_scaled (in) ? methods[int (how.scale_method)] : "SCALE_NONE");
  opencl::define (options, "ORIENTED", "", is_plain () ? "0" : "1");
  opencl::define (options, "COLORS", "", colors.arithmetic);
  opencl::define (options, "DITHER", "", dithers () ? "1" : "0");
  opencl::define (options, "FIELDS", "", interlaced ? "2" : "1");
  return options;
}

/* CPUs compute sixteen pixels at a time where they can. */
FrameConverter::Form
FrameConverter::choose_form () const
{
  const GstVideoInfo &in = how.in, &out = how.out;
  const bool is_deep = opencl::sample_bits (in) > 8 || opencl::sample_bits (out) > 8;
  if (!opencl::is_cpu (context) || how.colormap () || !is_plain () || dithers ()
      || opencl::is_v210 (in) || opencl::is_v210 (out) || opencl::bit_format_of (in)
      || opencl::bit_format_of (out) || (is_deep && !opencl::has_double (context)))
    return Form::blocks;
  if (!is_scaled (in))
    return Form::rows;
  return RowScaler::can_scale (in, out.width, out.height)
                 && !GST_VIDEO_INFO_IS_INTERLACED (&in)
             ? Form::bands
             : Form::blocks;
}

/* On a GPU, scales the planes first, if the kernel would read many samples for each pixel:
 * Lanczos, or interpolated chroma. */
void
FrameConverter::plan_planes ()
{
  const GstVideoInfo &in = how.in, &out = how.out;
  const cl_int2 size = size_before_rotation ();
  const GstVideoInfo made =
      with_colors_of (in, GST_VIDEO_INFO_FORMAT (&in), size.s[0], size.s[1]);
  const bool alone = is_plain () && strcmp (colors.arithmetic, "COLORS_COPY") == 0
                     && GST_VIDEO_INFO_FORMAT (&in) == GST_VIDEO_INFO_FORMAT (&out)
                     && !is_chroma_resampled (made);
  const bool reads_many =
      how.scale_method == ScaleMethod::lanczos
      || (in.finfo->w_sub[2] > 0 && (alone || how.scale_method == ScaleMethod::area));
  if (opencl::is_cpu (context) || !is_scaled (in) || GST_VIDEO_INFO_IS_INTERLACED (&in)
      || !reads_many || !planes.plan (context, how.scale_method, in, made))
    return;
  source = made;
  form = alone ? Form::planes : Form::planes_and_blocks;
}

/* Returns opaque black in samples of the output. */
static cl_int4
border_of (const GstVideoInfo &output)
{
  const opencl::ColorMatrix matrix = opencl::color_matrix_from_rgb (output);
  cl_int4 border = {{0, 0, 0, (1 << opencl::sample_bits (output)) - 1}};
  for (int i = 0; i < 3; i++)
    border.s[i] = cl_int (std::lround (matrix.m[i][3]));
  return border;
}

bool
FrameConverter::make_taps (GError **error)
{
  const GstVideoInfo &in = source;
  const cl_int2 size = size_before_rotation ();
  if (how.scale_method != ScaleMethod::lanczos || !is_scaled (in))
    return true;
  taps = {{lanczos_taps (in.width, size.s[0]), lanczos_taps (in.height, size.s[1])}};
  return opencl::make_table (
             context, lanczos_table (in.width, size.s[0], 1), across, error)
         && opencl::make_table (context,
             lanczos_table (in.height, size.s[1], has_fields (in) ? 2 : 1), down, error);
}

/* Builds the kernel for aligned frames. Other variants are built with the first frame. */
bool
FrameConverter::prepare_kernels (GError **error)
{
  if (form == Form::planes)
    return planes.prepare (context, error);
  if (form == Form::planes_and_blocks
      && (!planes.prepare (context, error)
          || !scaled.resize (context, GST_VIDEO_INFO_SIZE (&source), error)))
    return false;
  if (form == Form::bands)
    return scaler.prepare (
        context, how.scale_method, source, how.out, build_options (false), error);
  for (bool fields : {false, true}) {
    const bool wide = form == Form::rows && !fields;
    std::string options = build_options (fields);
    if (wide)
      define_wide (options, source, how.out);
    kernels[fields].prepare (
        context, KERNELS, wide ? "convert_cpu" : "convert", options, {4, 1});
  }
  return kernels[has_fields (source)].variant ({}, error) && make_taps (error);
}

bool
FrameConverter::prepare (
    GstOpenCLContext *of_element, const Conversion &wanted, GError **error)
{
  context = of_element;
  how = wanted;
  source = how.in;
  border = border_of (how.out);
  colors = how.colormap ()     ? opencl::choose_map_conversion (how.in)
           : how.alpha_as_gray ? opencl::ColorConversion{"COLORS_COPY", {}}
                               : opencl::choose_color_conversion (how.in, how.out);
  form = choose_form ();
  plan_planes ();
  return prepare_kernels (error);
}

/* --- frames --- */

/* Returns the number of blocks of pixels that share chroma. Blocks of two fields
 * alternate. */
static gsize
blocks (gint side, guint subsampling, guint fields)
{
  gsize of_block = fields << subsampling;
  return subsampling == 0 ? gsize (side)
                          : (gsize (side) + of_block - 1) / of_block * fields;
}

/* Layouts of both frames. To output alpha, it is read as the first component. */
FrameConverter::Layouts
FrameConverter::layouts_of (
    const GstOpenCLFrame &input, const GstOpenCLFrame &output) const
{
  Layouts layouts = {
      opencl::layout_of (source, input), opencl::layout_of_output (how.out, output)};

  if (how.alpha_as_gray) {
    layouts.in.start.s[0] = layouts.in.start.s[3];
    layouts.in.stride.s[0] = layouts.in.stride.s[3];
  }
  return layouts;
}

bool
FrameConverter::enqueue_blocks (opencl::Kernel &kernel, cl_mem from, cl_mem to,
    const Layouts &layouts, GError **error)
{
  const auto &[in, out] = layouts;
  const opencl::FixedPointRow *rows = colors.rows;
  const auto or_dummy = [from] (const cl::Buffer &table) {
    return table () ? table () : from;
  };
  const cl_int4 target = {
      {how.target.left, how.target.top, how.target.width, how.target.height}};
  const cl_int4 orientation = {{how.orientation.transposed, how.orientation.mirrored_x,
      how.orientation.mirrored_y, 0}};
  return kernel.set_all (error, from, in.size, in.start, in.stride, in.step, to, out.size,
      out.start, out.stride, out.step, rows[0], rows[1], rows[2], or_dummy (how.colormap),
      target, orientation, border, or_dummy (across), or_dummy (down), taps);
}

bool
FrameConverter::enqueue_conversion (cl_command_queue queue, const GstOpenCLFrame &input,
    const GstOpenCLFrame &output, GError **error)
{
  const GstVideoInfo &in = source, &out = how.out;
  const bool fields =
      opencl::has_two_fields (in, input.buffer) && !how.orientation.turns ();
  const Layouts layouts = layouts_of (input, output);
  if (form == Form::bands)
    return scaler.enqueue_scaling (
        queue, input, output, layouts.in, layouts.out, colors.rows, error);
  /* Alignment only matters for pixels of four bytes. */
  opencl::Kernel *kernel = kernels[fields].variant (
      {opencl::has_pixels_of_four_bytes (in) ? &input : nullptr,
          opencl::has_pixels_of_four_bytes (out) ? &output : nullptr},
      error);
  const guint together = columns_together (out);
  const gsize columns = (gsize (out.width) + together - 1) / together;
  const gsize lines = blocks (out.height, out.finfo->h_sub[2], fields ? 2 : 1);

  return kernel && enqueue_blocks (*kernel, input.data, output.data, layouts, error)
         && (form == Form::rows && !fields
                 ? kernel->enqueue_groups (queue, {1, lines, 1}, error)
                 : kernel->enqueue (queue, columns, lines, error));
}

bool
FrameConverter::enqueue (cl_command_queue queue, const GstOpenCLFrame &input,
    const GstOpenCLFrame &output, GError **error)
{
  GstOpenCLFrame smaller = output;

  if (form == Form::planes)
    return planes.enqueue_scaling (queue, input, output, error);
  if (form != Form::planes_and_blocks)
    return enqueue_conversion (queue, input, output, error);
  smaller.data = scaled ();
  std::copy_n (source.offset, GST_VIDEO_MAX_PLANES, smaller.offset);
  std::copy_n (source.stride, GST_VIDEO_MAX_PLANES, smaller.stride);
  return planes.enqueue_scaling (queue, input, smaller, error)
         && enqueue_conversion (queue, smaller, output, error);
}
} // namespace transfer
