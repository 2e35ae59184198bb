/* Depthwise convolution of arrays with adjacent channels (NHWC)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvemethods.hpp"
#include "convolvestages.hpp"
#include "../macro.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/devicebuffer.hpp>

#include <algorithm>

namespace compute {
namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/compute/convolvedepthwise.cl"

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
    return kernel.create (
        context, RESOURCE, "convolve_depthwise", options.c_str (), error);
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
  auto made = std::make_unique<Depthwise> ();
  return made->create (device, convolution, filters, error) ? std::move (made) : nullptr;
}
} // namespace compute
