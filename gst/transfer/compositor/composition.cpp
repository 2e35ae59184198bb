/* Blends the layers of an openclcompositor frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "composition.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/context/deviceinfo.hpp>
#include <gst/common/gaussian.hpp>
#include <gst/opencl/memory/videoarguments.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#define KERNELS "/org/freedesktop/gstreamer/opencl/transfer/composite.cl"

namespace transfer {
namespace {
const gsize layers_of_launch = 8; /* LAYERS of the kernel */

/* Rectangle of the output that the layer covers; empty with a width or height of 0 */
GstVideoRectangle
covered_by (const GstOpenCLCompositorPlace &place, const GstVideoInfo &output)
{
  const gint left = MAX (place.x, 0), top = MAX (place.y, 0);
  const gint right = MIN (place.x + place.width, output.width);
  const gint bottom = MIN (place.y + place.height, output.height);
  return {left, top, MAX (right - left, 0), MAX (bottom - top, 0)};
}

bool
is_lit (const Layer &layer, const GstVideoInfo &output)
{
  const GstVideoRectangle covered = covered_by (layer.place, output);
  return layer.place.light_wrap > 0 && covered.w > 0 && covered.h > 0;
}

/* Returns the bit at which each component begins in a pixel of four bytes. */
cl_int4
order_of (const GstVideoInfo &info)
{
  cl_int4 order;
  for (guint c = 0; c < 4; c++)
    order.s[c] = 8 * GST_VIDEO_INFO_COMP_POFFSET (&info, c);
  return order;
}

/* As in composite.cl */
enum Kind { AS_WORDS, AS_LEVELS, BY_MATRIX };

/* Returns true for RGB formats of four bytes, one of which is alpha. */
bool
is_of_words (const GstVideoInfo &info)
{
  return opencl::has_pixels_of_four_bytes (info) && GST_VIDEO_INFO_IS_RGB (&info)
         && GST_VIDEO_INFO_HAS_ALPHA (&info);
}

/* Returns the size of the whole frame. Decoders' frames may be larger than their caps. */
cl_int2
whole_size (const Layer &layer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (layer.frame->buffer);
  return meta ? cl_int2{{cl_int (meta->width), cl_int (meta->height)}}
              : cl_int2{{layer.info->width, layer.info->height}};
}

LayerFormat
format_of (const Layer &layer, const GstVideoInfo &output)
{
  const GstVideoInfo &info = *layer.info;
  const bool copied = opencl::is_copy (info, output);
  LayerFormat format = {};

  if (copied && is_of_words (info))
    return format;
  const opencl::ColorConversion colors = opencl::choose_color_conversion (info, output);
  const opencl::VideoLayout layout = opencl::layout_of (info, *layer.frame);
  const opencl::ChromaFilter chroma = opencl::chroma_filter (info, true);
  format.kind = copied ? AS_LEVELS : BY_MATRIX;
  std::copy (std::begin (colors.rows), std::end (colors.rows), format.rows);
  format.start = layout.start;
  format.stride = layout.stride;
  format.step = layout.step;
  format.size = whole_size (layer);
  format.subsampling = {{cl_int (info.finfo->w_sub[2]), cl_int (info.finfo->h_sub[2])}};
  format.chroma = {{cl_int (chroma.across), cl_int (chroma.down)}};
  format.gray = GST_VIDEO_INFO_IS_GRAY (&info);
  return format;
}

opencl::TransferFunction
curve_of (const GstVideoInfo &info)
{
  opencl::TransferFunction curve;
  opencl::transfer_function_of (&info, curve);
  return curve;
}

/* Sets the arguments of a layer. Without a layer, its width is 0, which disables it. */
bool
set_layer (opencl::Kernel &kernel, cl_uint &index, const Layer *layer,
    const GstOpenCLFrame *unused, GError **error)
{
  cl_int4 order = {};
  cl_int8 place = {};
  cl_int2 modes = {};
  cl_float alpha = 0;
  opencl::TransferFunction curve;

  if (layer) {
    const GstOpenCLCompositorPlace &to = layer->place;
    order = order_of (*layer->info);
    curve = curve_of (*layer->info);
    place = {{to.x, to.y, to.width, to.height, to.visible.x, to.visible.y, to.visible.w,
        to.visible.h}};
    modes = {{cl_int (to.blend_operator), layer->interlaced ? 2 : 1}};
    alpha = cl_float (to.alpha);
  }
  return kernel.set (index, layer ? layer->frame : unused, error)
         && kernel.set (index, order, error) && kernel.set (index, place, error)
         && kernel.set (index, modes, error) && kernel.set (index, alpha, error)
         && kernel.set (index, curve, error);
}

/* Rectangle that the layer covers, with `radius` more rows above and below */
cl_int4
region_of (const GstOpenCLCompositorPlace &place, const GstVideoInfo &output)
{
  const gint radius = gint (place.light_wrap_radius);
  const GstVideoRectangle covered = covered_by (place, output);
  return {{covered.x, covered.y - radius, covered.w, covered.h + 2 * radius}};
}
} // namespace

bool
are_transfer_functions_known (
    const std::vector<Layer> &layers, const GstVideoInfo &output)
{
  opencl::TransferFunction curve;
  bool known = opencl::transfer_function_of (&output, curve);
  for (const Layer &layer : layers)
    known = known && opencl::transfer_function_of (layer.info, curve);
  return known;
}

/* Arguments that are the same for every launch */
struct Composition::Frame {
  const std::vector<Layer> &layers;
  const GstVideoInfo &info;
  const GstOpenCLFrame &output;
  guint abilities; /* that its launches need */
};

/* Arguments of the layers from `first` to before `end` */
struct Composition::Launch {
  CompositorBackground below;
  gsize first, end;
  bool last, wraps; /* last launch of the frame; first layer is lit */
};

/* Prepares a kernel for each set of options, because code for fields would slow down
 * progressive video by a quarter on a CPU. */
bool
Composition::open (GstOpenCLContext *of_element, GError **error)
{
  context = of_element;
  is_cpu = opencl::is_cpu (context);
  for (guint abilities = 0; abilities <= ALL; abilities++) {
    const bool wide = is_wide (abilities);
    std::string options;
    auto define = [&] (const char *name, bool value) {
      opencl::define (options, name, "", value ? "1" : "0");
    };
    define ("WIDE", wide);
    define ("INTERLACED", abilities & INTERLACED);
    define ("LINEAR", abilities & LINEAR);
    define ("SAMPLED", abilities & SAMPLED);
    define ("WRAP", abilities & WRAP);
    blending[abilities].prepare (
        context, KERNELS, wide ? "composite_cpu" : "composite", options, {4, 1});
    auto prepare = [&] (opencl::FrameKernel &kernel, const char *name) {
      kernel.prepare (context, KERNELS, name, options, {4, 1});
    };
    prepare (spreading[abilities].along, "spread_light");
    prepare (spreading[abilities].gather, "gather_light");
    prepare (spreading[abilities].across, "spread_across");
    prepare (spreading[abilities].down, "spread_down");
  }
  return blending[0].variant ({}, error) != nullptr;
}

bool
Composition::is_wide (guint abilities) const
{
  return is_cpu && !(abilities & (INTERLACED | LINEAR));
}

/* Chooses the variant for the least aligned frame whose pixels are read as words. */
opencl::Kernel *
Composition::choose_kernel (const Frame &frame, guint abilities, GError **error)
{
  const GstOpenCLFrame *least_aligned = &frame.output;

  for (const Layer &layer : frame.layers) {
    const GstOpenCLFrame *input = layer.frame;
    if (is_of_words (*layer.info)
        && (input->offset[0] | gsize (input->stride[0])) % 4 != 0)
      least_aligned = input;
  }
  return blending[abilities].variant ({&frame.output, least_aligned}, error);
}

bool
Composition::ensure_formats (const Frame &frame, GError **error)
{
  std::vector<LayerFormat> wanted;

  if (!(frame.abilities & SAMPLED))
    return true;
  for (const Layer &layer : frame.layers)
    wanted.push_back (format_of (layer, frame.info));
  const gsize bytes = wanted.size () * sizeof (LayerFormat);
  if (format_table () && formats.size () == wanted.size ()
      && std::memcmp (formats.data (), wanted.data (), bytes) == 0)
    return true;
  format_table = opencl::make_table (context, wanted.data (), bytes, error);
  formats = std::move (wanted);
  return format_table () != nullptr;
}

bool
Composition::launch (const Frame &frame, const Launch &what, GError **error)
{
  const guint abilities = frame.abilities | (what.wraps ? WRAP : 0);
  opencl::Kernel *kernel = choose_kernel (frame, abilities, error);
  const cl_int below = cl_int (what.below), last = what.last;
  const cl_mem carried_or_dummy = carried () ? carried () : frame.output.data;
  const GstOpenCLFrame *output = &frame.output;
  const cl_int2 size = {{frame.info.width, frame.info.height}};
  cl_uint index = 0;

  if (!kernel || !kernel->set (index, output, error)
      || !kernel->set (index, order_of (frame.info), error)
      || !kernel->set (index, size, error)
      || !kernel->set (index, curve_of (frame.info), error)
      || !kernel->set (index, below, error) || !kernel->set (index, last, error)
      || !kernel->set (index, carried_or_dummy, error))
    return false;
  for (gsize i = what.first; i < what.first + layers_of_launch; i++) {
    const Layer *layer = i < what.end ? &frame.layers[i] : nullptr;
    if (!set_layer (*kernel, index, layer, output, error))
      return false;
  }
  if (abilities & SAMPLED
      && (!kernel->set (index, format_table (), error)
          || !kernel->set (index, cl_int (what.first), error)))
    return false;
  if (what.wraps) {
    const cl_float wrap = cl_float (frame.layers[what.first].place.light_wrap);
    if (!kernel->set (index, lighting.values, error)
        || !kernel->set (index, lighting.region, error)
        || !kernel->set (index, lighting.weights, error)
        || !kernel->set (index, lighting.radius, error)
        || !kernel->set (index, wrap, error))
      return false;
  }
  const cl_command_queue queue = frame.output.queue;
  return is_wide (abilities)
             ? kernel->enqueue_groups (queue, {1, gsize (size.s[1]), 1}, error)
             : kernel->enqueue (queue, size.s[0], size.s[1], error);
}

/* --- light wrap --- */

bool
Composition::ensure_weights (guint wanted, GError **error)
{
  if (weights () && radius == wanted)
    return true;
  const std::vector<cl_float> values = opencl::gaussian_weights (wanted);
  const cl_float itself = 1;
  weights = opencl::make_table (
      context, values.data (), values.size () * sizeof (cl_float), error);
  radius = wanted;
  if (weights () && !one ())
    one = opencl::make_table (context, &itself, sizeof itself, error);
  return weights () && one ();
}

static bool
ensure_pixels (GstOpenCLContext *context, cl::Buffer &buffer, gsize &has, gsize pixels,
    GError **error)
{
  if (has >= pixels)
    return true;
  buffer = opencl::make_buffer (context, pixels * sizeof (cl_float4), error);
  has = buffer () ? pixels : 0;
  return has > 0;
}

bool
Composition::set_lit_layer (
    opencl::Kernel &kernel, cl_uint index, const Frame &frame, gsize lit, GError **error)
{
  return set_layer (kernel, index, &frame.layers[lit], nullptr, error)
         && (!(frame.abilities & SAMPLED)
             || (kernel.set (index, format_table (), error)
                 && kernel.set (index, cl_int (lit), error)));
}

/* Blurs the light along rows. The blending kernel blurs it along columns. */
bool
Composition::spread_along_lines (const Frame &frame, gsize lit, GError **error)
{
  const Layer &layer = frame.layers[lit];
  const cl_int2 size = {{frame.info.width, frame.info.height}};
  const cl_int4 region = region_of (layer.place, frame.info);
  const gsize columns = gsize (region.s[2]), lines = gsize (region.s[3]);
  opencl::Kernel *kernel = spreading[frame.abilities | WRAP].along.variant (
      {is_of_words (*layer.info) ? layer.frame : nullptr}, error);
  cl_uint index = 0;

  if (!kernel || !ensure_pixels (context, spread, spread_pixels, columns * lines, error)
      || !kernel->set (index, carried (), error) || !kernel->set (index, size, error)
      || !kernel->set (index, region, error) || !kernel->set (index, weights (), error)
      || !kernel->set (index, cl_int (radius), error)
      || !kernel->set (index, spread (), error)
      || !set_lit_layer (*kernel, index, frame, lit, error)
      || !kernel->enqueue (frame.output.queue, columns, lines, error))
    return false;
  lighting = {spread (), weights (), region, cl_int (radius)};
  return true;
}

/* Blurs the light in three passes, for a CPU. It reads neighbouring values as vectors. */
bool
Composition::spread_by_lines (const Frame &frame, gsize lit, GError **error)
{
  const Layer &layer = frame.layers[lit];
  const cl_int2 size = {{frame.info.width, frame.info.height}};
  const cl_int4 region = region_of (layer.place, frame.info);
  const cl_int taken = cl_int (radius), mean_length = (region.s[2] + 3) / 4 * 4;
  const cl_int2 lengths = {{mean_length + 2 * taken, mean_length}};
  const gsize lines = gsize (region.s[3]);
  const opencl::Groups groups = {1, lines, 1};
  cl_command_queue queue = frame.output.queue;
  Spreading &kernels = spreading[frame.abilities | WRAP];
  opencl::Kernel *gather =
      kernels.gather.variant ({is_of_words (*layer.info) ? layer.frame : nullptr}, error);
  cl_uint index = 0;

  if (!gather
      || !ensure_pixels (
          context, light, light_pixels, gsize (lengths.s[0]) * lines, error)
      || !ensure_pixels (
          context, spread, spread_pixels, gsize (mean_length) * lines, error)
      || !gather->set (index, carried (), error) || !gather->set (index, size, error)
      || !gather->set (index, region, error) || !gather->set (index, taken, error)
      || !gather->set (index, lengths, error) || !gather->set (index, light (), error)
      || !set_lit_layer (*gather, index, frame, lit, error)
      || !gather->enqueue_groups (queue, groups, error)
      || !kernels.across.launch_groups (
          queue, groups, error, light (), region, weights (), taken, lengths, spread ())
      || !kernels.down.launch_groups (
          queue, groups, error, spread (), region, weights (), taken, lengths, light ()))
    return false;
  lighting = {light (), one (),
      {{region.s[0], region.s[1] + taken, mean_length, region.s[3] - 2 * taken}}, 0};
  return true;
}

/* Blurs the light of the layers below, which are blended in `carried`. */
bool
Composition::spread_light (const Frame &frame, gsize lit, GError **error)
{
  return ensure_weights (frame.layers[lit].place.light_wrap_radius, error)
         && (is_cpu ? spread_by_lines (frame, lit, error)
                    : spread_along_lines (frame, lit, error));
}

/* --- a frame --- */

/* Returns the end of the launch that begins with layer `first`. A lit layer begins a new
 * launch. */
static gsize
end_of_launch (const std::vector<Layer> &layers, gsize first, const GstVideoInfo &output)
{
  gsize end = std::min (first + 1, layers.size ());
  while (end < layers.size () && end < first + layers_of_launch
         && !is_lit (layers[end], output))
    end++;
  return end;
}

bool
Composition::ensure_carried (const Frame &frame, GError **error)
{
  const bool several = end_of_launch (frame.layers, 0, frame.info) < frame.layers.size ();
  const bool lit = !frame.layers.empty () && is_lit (frame.layers[0], frame.info);
  return !(several || lit)
         || ensure_pixels (context, carried, carried_pixels,
             gsize (frame.info.width) * frame.info.height, error);
}

guint
Composition::abilities_for (
    const std::vector<Layer> &layers, const GstVideoInfo &output, bool linear)
{
  guint abilities = linear ? LINEAR : 0;
  for (const Layer &layer : layers) {
    const bool is_direct_copy =
        is_of_words (*layer.info) && opencl::is_copy (*layer.info, output);
    abilities |= (layer.interlaced ? INTERLACED : 0) | (is_direct_copy ? 0 : SAMPLED);
  }
  return abilities;
}

bool
Composition::blend (const std::vector<Layer> &layers, const GstVideoInfo &info,
    const GstOpenCLFrame &output, CompositorBackground background, bool linear,
    GError **error)
{
  const Frame frame = {layers, info, output, abilities_for (layers, info, linear)};
  CompositorBackground below = background;
  gsize first = 0;

  if (!ensure_carried (frame, error) || !ensure_formats (frame, error))
    return false;
  do {
    const bool lit = first < layers.size () && is_lit (layers[first], info);
    /* Only the background lights the lowest layer. */
    if (lit && first == 0) {
      if (!launch (frame, {below, 0, 0, false, false}, error))
        return false;
      below = CompositorBackground::carried;
    }
    const gsize end = end_of_launch (layers, first, info);
    if ((lit && !spread_light (frame, first, error))
        || !launch (frame, {below, first, end, end == layers.size (), lit}, error))
      return false;
    below = CompositorBackground::carried;
    first = end;
  } while (first < layers.size ());
  return true;
}
} // namespace transfer
