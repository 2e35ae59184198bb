/* Convolution by direct summation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/macro.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

#include <algorithm>

#define RESOURCES "/org/freedesktop/gstreamer/opencl/convolution/"

namespace compute {
using opencl::macro;

namespace {
/* Sums over planes, tap by tap */
class DirectPlanes : public Convolver {
public:
  bool create (const Device &device, const Convolution &convolution,
      const Filters &filters, GError **error)
  {
    GstOpenCLContext *context = device.context;
    if (!gathering.create_planes (device, convolution, convolution.reach_lines (),
            convolution.reach_columns (), error))
      return false;
    return taps.create (context, PlaneTaps::task_of (convolution, gathering),
               filters.weights_in_order (convolution),
               filters.biases_in_order (convolution), error)
           && kept.create (context, convolution, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    return gathering.enqueue (queue, input, error)
           && taps.enqueue (queue, gathering.data (), output, error)
           && kept.enqueue (queue, input, output, error);
  }

  void set_levels (const Levels &levels) override { taps.set_levels (levels); }

private:
  Gathering gathering;
  PlaneTaps taps;
  KeptComponent kept;
};

/* Matrix product over pixels. A row of the left matrix is the input window of one output
 * pixel. It is read from the input in runs of channels. */
class DirectPixels : public Convolver {
public:
  bool create (const Device &device, const Convolution &a_convolution,
      const Filters &filters, GError **error)
  {
    convolution = a_convolution;
    const Extent &made = convolution.output;
    return gathering.create_pixels (device, convolution, convolution.reach_lines (),
               convolution.reach_columns (), error)
           && product.create (device, convolution.groups, made.images * made.pixels (),
               convolution.taps () * gathering.depth () / convolution.groups,
               convolution.filters_of_group (), Finishing (convolution), error)
           && product.set_fours (fours_of_taps (convolution, gathering), error)
           && set_weights_of_taps (product, convolution, filters, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    if (is_as_gathered (input.place)) {
      const Steps step = steps_of (input.place, opencl::NumberType::f32);
      return multiply (queue, input.data, input.place.offset / sizeof (cl_float),
          {step.image, 1, cl_int (convolution.stride.y) * step.line,
              cl_int (convolution.stride.x) * step.column},
          output, error);
    }
    return gathering.enqueue (queue, input, error)
           && multiply (queue, gathering.data (), 0,
               steps_of_pixels (convolution, gathering), output, error);
  }

private:
  /* Returns true if the product can read the input itself: one tap, no padding, and
   * aligned groups of four floats. */
  bool is_as_gathered (const Placement &place) const
  {
    const gssize four = sizeof (cl_float4);
    return convolution.taps () == 1 && convolution.top == 0 && convolution.left == 0
           && (convolution.output.height - 1) * convolution.stride.y
                  < convolution.input.height
           && (convolution.output.width - 1) * convolution.stride.x
                  < convolution.input.width
           && convolution.input_type == opencl::NumberType::f32
           && gathering.depth () == convolution.input.channels
           && place.channel == gssize (sizeof (cl_float)) && place.column % four == 0
           && place.line % four == 0 && place.image % four == 0
           && place.offset % gsize (four) == 0;
  }

  bool multiply (cl_command_queue queue, cl_mem from, gsize offset, const Steps &steps,
      const Region &output, GError **error)
  {
    const Extent &made = convolution.output;
    const Steps to = steps_of (output.place, convolution.output_type);
    return product.enqueue (queue, {made.images, made.height, made.width}, from, offset,
        steps, gathering.depth () / convolution.groups, output, to,
        convolution.filters_of_group () * gsize (to.channel), error);
  }

  Convolution convolution;
  Gathering gathering;
  Multiplication product;
};

/* Filters per group from which on the matrix product is faster. It reads pixels, the other
 * method reads planes. */
bool
suits_product (const Device &device, const Convolution &convolution)
{
  const gsize least = opencl::is_cpu (device.context) && !convolution.nchw ? 2 : 6;
  return !convolution.video && convolution.filters_of_group () >= least;
}
} // namespace

std::unique_ptr<Convolver>
make_direct (const Device &device, const Convolution &convolution, const Filters &filters,
    GError **error)
{
  if (is_depthwise (convolution))
    return make_depthwise (device, convolution, filters, error);
  return suits_product (device, convolution)
             ? create_convolver<DirectPixels> (device, convolution, filters, error)
             : create_convolver<DirectPlanes> (device, convolution, filters, error);
}

/* --- depthwise, of arrays with adjacent channels (NHWC) --- */

namespace {
/* Columns that a work-item computes at a time, as in the kernel */
const gsize columns_at_once = 4;

/* Fewer channels leave lanes idle. Wider kernels need too many registers. */
const gsize least_channels = 4, most_columns = 15;

class Depthwise : public Convolver {
public:
  bool create (const Device &device, const Convolution &a_convolution,
      const Filters &filters, GError **error)
  {
    GstOpenCLContext *context = device.context;
    convolution = a_convolution;
    in_lanes = convolves_on_cpu (context);
    lanes = in_lanes ? opencl::float_lanes (context) : 4;
    while (lanes / 2 >= std::max (convolution.input.channels, least_channels))
      lanes /= 2;
    filled = (convolution.input.channels + lanes - 1) / lanes * lanes;
    return create_kernel (context, error) && create_tables (context, filters, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const Extent &input_extent = convolution.input, &made = convolution.output;
    const Placement &from = input.place;
    const Steps to = steps_of (output.place, convolution.output_type);
    const gsize at_once = (made.width + columns_at_once - 1) / columns_at_once;
    const gsize run = in_lanes ? at_once : 1;
    const gsize depth = in_lanes ? filled : lanes;
    const gsize items = filled / depth * (at_once / run) * made.height * made.images;
    if (!kernel.set_all (error, input.data, cl_ulong (from.offset), cl_long (from.image),
            cl_long (from.line), cl_long (from.column), cl_int (input_extent.height),
            cl_int (input_extent.width), cl_int (convolution.top),
            cl_int (convolution.left), cl_int (convolution.border), weights (),
            cl_int (filled), bias (), FinishArguments (Finishing (convolution), output),
            output.data,
            cl_long (
                output.place.offset / opencl::info_of (convolution.output_type).size),
            cl_long (to.image), cl_long (to.line), cl_long (to.column),
            cl_int (made.channels), cl_int (made.height), cl_int (made.width),
            cl_int (depth), cl_int (run), cl_int (items)))
      return false;
    return in_lanes ? kernel.enqueue_groups (queue, {items, 1, 1}, error)
                    : kernel.enqueue (queue, items, 1, error);
  }

private:
  bool create_kernel (GstOpenCLContext *context, GError **error)
  {
    const std::string options =
        number_options (convolution.input_type, Finishing (convolution))
        + macro ("LANES", gint64 (lanes))
        + macro ("TAP_LINES", gint64 (convolution.tap_lines))
        + macro ("TAP_COLUMNS", gint64 (convolution.tap_columns))
        + macro ("STRIDE_Y", gint64 (convolution.stride.y))
        + macro ("STRIDE_X", gint64 (convolution.stride.x))
        + macro ("DILATION_Y", gint64 (convolution.dilation.y))
        + macro ("DILATION_X", gint64 (convolution.dilation.x))
        + macro ("ROUNDS_OF_RARE_LOOPS", in_lanes ? 1 : 16)
        + macro ("INPUT_BYTES", gint64 (opencl::info_of (convolution.input_type).size));
    return kernel.create (context, RESOURCES "convolvedepthwise.cl", "convolve_depthwise",
        options.c_str (), error);
  }

  bool create_tables (GstOpenCLContext *context, const Filters &filters, GError **error)
  {
    const gsize channels = convolution.input.channels, columns = convolution.tap_columns;
    std::vector<cl_float> all (convolution.taps () * filled), biases (filled);
    for (gsize c = 0; c < channels; c++) {
      biases[c] = filters.bias (c);
      for (gsize tap = 0; tap < convolution.taps (); tap++)
        all[tap * filled + c] = filters.weight (c, 0, tap / columns, tap % columns);
    }
    weights = opencl::share_table (
        context, all.data (), all.size () * sizeof (cl_float), error);
    if (!weights ())
      return false;
    bias = opencl::make_table (
        context, biases.data (), biases.size () * sizeof (cl_float), error);
    return bias () != nullptr;
  }

  Convolution convolution;
  bool in_lanes;
  gsize lanes, filled; /* channels, rounded up to whole vectors */
  opencl::Kernel kernel;
  cl::Buffer weights, bias;
};
} // namespace

bool
is_depthwise (const Convolution &convolution)
{
  return !convolution.video && !convolution.nchw && convolution.channels_of_group () == 1
         && convolution.filters_of_group () == 1
         && convolution.input.channels >= least_channels
         && convolution.tap_columns <= most_columns;
}

std::unique_ptr<Convolver>
make_depthwise (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error)
{
  return create_convolver<Depthwise> (device, convolution, filters, error);
}

/* --- of float64 arrays, in double precision --- */

namespace {
class Double : public Convolver {
public:
  bool create (
      GstOpenCLContext *context, const Convolution &a_convolution, GError **error)
  {
    convolution = a_convolution;
    return create_tables (context, error) && create_kernel (context, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const Extent &input_extent = convolution.input, &made = convolution.output;
    const Placement &from = input.place, &to = output.place;
    const gssize size = sizeof (cl_double);
    const gsize items = fours () * made.pixels () * made.images;
    return kernel.launch (queue, items, 1, error, input.data, cl_long (from.offset),
        cl_long (from.image), cl_long (from.channel), cl_long (from.line),
        cl_long (from.column), cl_int (input_extent.height), cl_int (input_extent.width),
        cl_int (convolution.top), cl_int (convolution.left), cl_int (convolution.border),
        weights (), cl_int (convolution.tap_lines), cl_int (convolution.tap_columns),
        cl_int (convolution.stride.y), cl_int (convolution.stride.x),
        cl_int (convolution.dilation.y), cl_int (convolution.dilation.x),
        cl_int (convolution.channels_of_group ()),
        cl_int (convolution.filters_of_group ()), bias (),
        Finishing (convolution).numbers, output.data, cl_long (gssize (to.offset) / size),
        cl_long (to.image / size), cl_long (to.channel / size), cl_long (to.line / size),
        cl_long (to.column / size), cl_int (fours ()), cl_int (made.height),
        cl_int (made.width), cl_uint (items));
  }

private:
  bool create_tables (GstOpenCLContext *context, GError **error)
  {
    FiltersOf<double> filters;
    if (!filters.read (convolution, error))
      return false;
    weights = opencl::share_table (context, weights_of (filters), error);
    if (!weights ())
      return false;
    bias = opencl::share_table (context, biases_of (filters), error);
    return bias () != nullptr;
  }

  gsize fours_of_group () const { return (convolution.filters_of_group () + 3) / 4; }
  gsize fours () const { return convolution.groups * fours_of_group (); }

  /* Calls `use` with the index of the n-th filter of `four`, if the group has it. */
  template <typename Use> void use_filter (gsize four, gsize n, Use use) const
  {
    const gsize of_group = convolution.filters_of_group ();
    const gsize filter = four % fours_of_group () * 4 + n;
    if (filter < of_group)
      use (four / fours_of_group () * of_group + filter);
  }

  /* In the kernel's order */
  std::vector<cl_double> weights_of (const FiltersOf<double> &filters) const
  {
    const gsize channels = convolution.channels_of_group ();
    const gsize columns = convolution.tap_columns;
    const gsize of_four = convolution.taps () * channels;
    std::vector<cl_double> ordered (fours () * of_four * 4, 0);
    for (gsize four = 0; four < fours (); four++)
      for (gsize k = 0; k < of_four; k++)
        for (gsize n = 0; n < 4; n++)
          use_filter (four, n, [&] (gsize filter) {
            const gsize tap = k / channels;
            ordered[(four * of_four + k) * 4 + n] =
                filters.weight (filter, k % channels, tap / columns, tap % columns);
          });
    return ordered;
  }

  std::vector<cl_double> biases_of (const FiltersOf<double> &filters) const
  {
    std::vector<cl_double> biases (fours () * 4, 0);
    for (gsize four = 0; four < fours (); four++)
      for (gsize n = 0; n < 4; n++)
        use_filter (four, n,
            [&] (gsize filter) { biases[four * 4 + n] = filters.bias (filter); });
    return biases;
  }

  bool create_kernel (GstOpenCLContext *context, GError **error)
  {
    const std::string options =
        number_options (opencl::NumberType::f64, Finishing (convolution))
        + (convolution.nchw ? " -DCHANNELS_FIRST" : "");
    return kernel.create (
        context, RESOURCES "convolvedouble.cl", "convolve_double", options, error);
  }

  Convolution convolution;
  opencl::Kernel kernel;
  cl::Buffer weights, bias;
};
} // namespace

std::unique_ptr<Convolver>
make_double (GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  if (convolution.method != Method::automatic && convolution.method != Method::direct) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "method=%s computes in float32, expected direct or auto for float64 arrays",
        name_of (convolution.method));
    return nullptr;
  }
  if (!opencl::has_double (context)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%s does not support double precision (float64 arrays), expected float32 or "
        "another device",
        gst_opencl_context_get_device_name (context));
    return nullptr;
  }
  return create_convolver<Double> (context, convolution, error);
}
} // namespace compute
