/* The layers of a frame of openclcompositor's, and the launches that blend them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "composition.hpp"

#include <gst/opencl/deviceinfo.hpp>
#include <gst/opencl/gaussian.hpp>

#include <algorithm>

#define KERNELS "/org/freedesktop/gstreamer/opencl/transfer/composite.cl"

namespace transfer {
namespace {
const gsize layers_of_launch = 8; /* the kernel's */

bool
is_lit (const Layer &layer)
{
  return layer.place.light_wrap > 0;
}

/* In which bit of a pixel's four bytes each component begins. */
cl_int4
order_of (const GstVideoInfo &info)
{
  cl_int4 order;
  for (guint c = 0; c < 4; c++)
    order.s[c] = 8 * GST_VIDEO_INFO_COMP_POFFSET (&info, c);
  return order;
}

opencl::LightCurve
curve_of (const GstVideoInfo &info)
{
  opencl::LightCurve curve;
  opencl::light_curve_of (&info, curve);
  return curve;
}

/* Without a layer the arguments are those of none. */
bool
set_layer (opencl::Kernel &kernel, cl_uint &index, const Layer *layer,
    const GstOpenCLFrame *unused, GError **error)
{
  cl_int4 order = {};
  cl_int8 place = {};
  cl_int2 how = {};
  cl_float alpha = 0;
  opencl::LightCurve curve;

  if (layer) {
    const GstOpenCLCompositorPlace &to = layer->place;
    order = order_of (*layer->info);
    curve = curve_of (*layer->info);
    place = {{to.x, to.y, to.width, to.height, to.shown.x, to.shown.y, to.shown.w,
        to.shown.h}};
    how = {{cl_int (to.blend_operator), layer->interlaced ? 2 : 1}};
    alpha = cl_float (to.alpha);
  }
  return kernel.set (index, layer ? layer->frame : unused, error)
         && kernel.set (index, order, error) && kernel.set (index, place, error)
         && kernel.set (index, how, error) && kernel.set (index, alpha, error)
         && kernel.set (index, curve, error);
}

/* What it covers of the output, and `radius` lines more above and below */
cl_int4
region_of (const GstOpenCLCompositorPlace &place, const GstVideoInfo &output)
{
  const gint radius = gint (place.light_wrap_radius);
  const gint left = MAX (place.x, 0), top = MAX (place.y, 0);
  const gint right = MIN (place.x + place.width, output.width);
  const gint bottom = MIN (place.y + place.height, output.height);
  return {{left, top - radius, right - left, bottom - top + 2 * radius}};
}
} // namespace

bool
is_light_known (const std::vector<Layer> &layers, const GstVideoInfo &output)
{
  opencl::LightCurve curve;
  bool known = opencl::light_curve_of (&output, curve);
  for (const Layer &layer : layers)
    known = known && opencl::light_curve_of (layer.info, curve);
  return known;
}

/* What does not change from launch to launch */
struct Composition::Frame {
  const std::vector<Layer> &layers;
  const GstVideoInfo &info;
  const GstOpenCLFrame &output;
  bool linear;
};

/* Of the layers from `first` to before `end` */
struct Composition::Launch {
  Background below;
  gsize first, end;
  bool last, wraps; /* of the frame; its first layer is lit */
};

/* To look for fields would cost progressive video a quarter more time on a CPU. */
bool
Composition::open (GstOpenCLContext *of_element, GError **error)
{
  const char *const any = "-DINTERLACED=1 -DWIDE=0";

  context = of_element;
  is_cpu = opencl::is_cpu (context);
  levels[0].prepare (context, KERNELS, is_cpu ? "composite_wide" : "composite",
      "-DINTERLACED=0 -DWIDE=" + std::to_string (is_cpu), {4, 1});
  levels[1].prepare (context, KERNELS, "composite", any, {4, 1});
  light.prepare (
      context, KERNELS, "composite", std::string (any) + " -DLINEAR=1", {4, 1});
  for (int linear = 0; linear < 2; linear++) {
    const std::string options =
        std::string (any) + " -DWRAP=1 -DLINEAR=" + std::to_string (linear);
    wrapping[linear].prepare (context, KERNELS, "composite", options, {4, 1});
    spreading[linear].prepare (context, KERNELS, "spread_light", options, {4, 1});
  }
  return levels[0].variant ({}, error) != nullptr;
}

/* For how all frames lie, and how many fields they have. */
opencl::Kernel *
Composition::choose_kernel (const Frame &frame, bool wraps, bool *wide, GError **error)
{
  const GstOpenCLFrame *least_aligned = &frame.output;
  bool interlaced = false;

  for (const Layer &layer : frame.layers) {
    interlaced = interlaced || layer.interlaced;
    if ((layer.frame->offset[0] | gsize (layer.frame->stride[0])) % 4 != 0)
      least_aligned = layer.frame;
  }
  *wide = is_cpu && !interlaced && !frame.linear && !wraps;
  opencl::FrameKernel &kernel = wraps          ? wrapping[frame.linear]
                                : frame.linear ? light
                                               : levels[interlaced];
  return kernel.variant ({&frame.output, least_aligned}, error);
}

bool
Composition::launch (const Frame &frame, const Launch &what, GError **error)
{
  bool wide = false;
  opencl::Kernel *kernel = choose_kernel (frame, what.wraps, &wide, error);
  const cl_int below = cl_int (what.below), last = what.last;
  const cl_mem handed_on = carried () ? carried () : frame.output.data; /* or unused */
  const GstOpenCLFrame *output = &frame.output;
  const cl_int2 size = {{frame.info.width, frame.info.height}};
  cl_uint index = 0;

  if (!kernel || !kernel->set (index, output, error)
      || !kernel->set (index, order_of (frame.info), error)
      || !kernel->set (index, size, error)
      || !kernel->set (index, curve_of (frame.info), error)
      || !kernel->set (index, below, error) || !kernel->set (index, last, error)
      || !kernel->set (index, handed_on, error))
    return false;
  for (gsize i = what.first; i < what.first + layers_of_launch; i++) {
    const Layer *layer = i < what.end ? &frame.layers[i] : nullptr;
    if (!set_layer (*kernel, index, layer, output, error))
      return false;
  }
  if (what.wraps) {
    const cl_float wrap = cl_float (frame.layers[what.first].place.light_wrap);
    if (!kernel->set (index, spread (), error) || !kernel->set (index, region, error)
        || !kernel->set (index, weights (), error)
        || !kernel->set (index, cl_int (radius), error)
        || !kernel->set (index, wrap, error))
      return false;
  }
  const cl_command_queue queue = frame.output.queue;
  return wide ? kernel->enqueue_groups (queue, {1, gsize (size.s[1]), 1}, error)
              : kernel->enqueue (queue, size.s[0], size.s[1], error);
}

/* --- light wrap --- */

bool
Composition::ensure_weights (guint wanted, GError **error)
{
  if (weights () && radius == wanted)
    return true;
  const std::vector<cl_float> values = opencl::gaussian_weights (wanted);
  weights = opencl::make_table (
      context, values.data (), values.size () * sizeof (cl_float), error);
  radius = wanted;
  return weights () != nullptr;
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

/* Of what has been blended so far, in `carried` */
bool
Composition::spread_light (const Frame &frame, const Layer &layer, GError **error)
{
  const cl_int2 size = {{frame.info.width, frame.info.height}};
  region = region_of (layer.place, frame.info);
  const gsize columns = gsize (region.s[2]), lines = gsize (region.s[3]);
  opencl::Kernel *kernel = spreading[frame.linear].variant ({layer.frame}, error);
  cl_uint index = 0;

  return kernel && ensure_weights (layer.place.light_wrap_radius, error)
         && ensure_pixels (context, spread, spread_pixels, columns * lines, error)
         && kernel->set (index, carried (), error) && kernel->set (index, size, error)
         && kernel->set (index, region, error) && kernel->set (index, weights (), error)
         && kernel->set (index, cl_int (radius), error)
         && kernel->set (index, spread (), error)
         && set_layer (*kernel, index, &layer, nullptr, error)
         && kernel->enqueue (frame.output.queue, columns, lines, error);
}

/* --- a frame --- */

/* Where the launch ends that begins with `first`: a lit layer is the first of its own. */
static gsize
end_of_launch (const std::vector<Layer> &layers, gsize first)
{
  gsize end = std::min (first + 1, layers.size ());
  while (end < layers.size () && end < first + layers_of_launch && !is_lit (layers[end]))
    end++;
  return end;
}

bool
Composition::ensure_carried (const Frame &frame, GError **error)
{
  const bool several = end_of_launch (frame.layers, 0) < frame.layers.size ();
  const bool lit = !frame.layers.empty () && is_lit (frame.layers[0]);
  return !(several || lit)
         || ensure_pixels (context, carried, carried_pixels,
             gsize (frame.info.width) * frame.info.height, error);
}

bool
Composition::blend (const std::vector<Layer> &layers, const GstVideoInfo &info,
    const GstOpenCLFrame &output, Background background, bool linear, GError **error)
{
  const Frame frame = {layers, info, output, linear};
  Background below = background;
  gsize first = 0;

  if (!ensure_carried (frame, error))
    return false;
  do {
    const bool lit = first < layers.size () && is_lit (layers[first]);
    /* The background alone lights the lowest layer. */
    if (lit && first == 0) {
      if (!launch (frame, {below, 0, 0, false, false}, error))
        return false;
      below = Background::carried;
    }
    const gsize end = end_of_launch (layers, first);
    if ((lit && !spread_light (frame, layers[first], error))
        || !launch (frame, {below, first, end, end == layers.size (), lit}, error))
      return false;
    below = Background::carried;
    first = end;
  } while (first < layers.size ());
  return true;
}
} // namespace transfer
