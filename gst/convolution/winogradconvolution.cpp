/* Winograd convolution with 3×3 taps
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclerror.h>

namespace compute {
namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/convolution/convolvewinograd.cl"

/* As in the kernel. */
const gsize taps = 3, made = 4, tile = 6;

/* Transform of the taps: G · g · Gᵀ */
const double transform[tile][taps] = {{1 / 4.0, 0, 0}, {-1 / 6.0, -1 / 6.0, -1 / 6.0},
    {-1 / 6.0, 1 / 6.0, -1 / 6.0}, {1 / 24.0, 1 / 12.0, 1 / 6.0},
    {1 / 24.0, -1 / 12.0, 1 / 6.0}, {0, 0, 1}};

double
transformed (const Filters &filters, gsize filter, gsize channel, gsize place)
{
  double sum = 0;
  for (gsize y = 0; y < taps; y++)
    for (gsize x = 0; x < taps; x++)
      sum += transform[place / tile][y] * transform[place % tile][x]
             * filters.weight (filter, channel, y, x);
  return sum;
}

class Winograd : public Convolver {
public:
  bool create (const Device &device, const Convolution &a_convolution,
      const Filters &filters, GError **error)
  {
    GstOpenCLContext *context = device.context;
    workspace = device.workspace;
    convolution = a_convolution;
    in_lanes = convolves_on_cpu (context);
    across = (convolution.output.width + made - 1) / made;
    down = (convolution.output.height + made - 1) / made;
    tiles = convolution.output.images * across * down;
    return gathering.create_pixels (device, convolution, down * made + tile - made,
               across * made + tile - made, error)
           && create_kernels (context, error) && create_memory (context, filters, error)
           && create_product (device, filters, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const gsize depth = gathering.depth ();
    Region between;
    between.data = (*workspace)[Workspace::products];
    return gathering.enqueue (queue, input, error)
           && first.set_all (error, gathering.data (), cl_int (gathering.lines ()),
               cl_int (gathering.columns ()), cl_int (depth), cl_int (down),
               cl_int (across), cl_int (tiles), (*workspace)[Workspace::transformed])
           && enqueue_gpu (first, queue, depth / lanes_in, error)
           && product.enqueue (queue, {1, 1, tiles}, (*workspace)[Workspace::transformed],
               0, {0, 1, 0, cl_int (depth)}, tiles * depth, between,
               {0, 1, 0, cl_int (filled)}, tiles * filled, error)
           && enqueue_last (queue, output, error);
  }

private:
  bool enqueue_last (cl_command_queue queue, const Region &output, GError **error)
  {
    const gssize size = gssize (opencl::info_of (convolution.output_type).size);
    const Placement &place = output.place;
    return last.set_all (error, (*workspace)[Workspace::products], cl_int (filled),
               cl_int (down), cl_int (across), cl_int (tiles), bias (),
               FinishArguments (Finishing (convolution), output), output.data,
               cl_long (gssize (place.offset) / size), cl_long (place.image / size),
               cl_long (place.channel / size), cl_long (place.line / size),
               cl_long (place.column / size), cl_int (convolution.output.channels),
               cl_int (convolution.output.height), cl_int (convolution.output.width))
           && enqueue_gpu (last, queue, filled / lanes_out, error);
  }

  bool enqueue_gpu (
      opencl::Kernel &kernel, cl_command_queue queue, gsize columns, GError **error)
  {
    if (in_lanes)
      return kernel.enqueue_groups (queue, {columns * tiles, 1, 1}, error);
    return kernel.enqueue (queue, columns * tiles, 1, error);
  }

  /* Uses full vectors on a CPU if the channels fill them, and short vectors on a GPU,
   * where registers are scarce. */
  bool create_kernels (GstOpenCLContext *context, GError **error)
  {
    const gsize wide = in_lanes ? opencl::float_lanes (context) : 2;
    const gsize made_channels = convolution.output.channels;
    lanes_in = gathering.depth () % wide == 0 ? wide : 4;
    lanes_out = made_channels >= wide ? wide : 4;
    filled = (made_channels + lanes_out - 1) / lanes_out * lanes_out;
    return create_kernel (context, first, "transform_input", lanes_in, error)
           && create_kernel (context, last, "transform_output", lanes_out, error);
  }

  bool create_kernel (GstOpenCLContext *context, opencl::Kernel &kernel, const char *name,
      gsize lanes, GError **error)
  {
    const std::string options =
        number_options (opencl::NumberType::f32, Finishing (convolution))
        + " -DLANES=" + std::to_string (lanes) + (in_lanes ? "" : " -DUNROLLED");
    return kernel.create (context, RESOURCE, name, options.c_str (), error);
  }

  bool create_memory (GstOpenCLContext *context, const Filters &filters, GError **error)
  {
    const gsize places = tile * tile * tiles * sizeof (cl_float);
    std::vector<cl_float> biases = filters.biases_in_order (convolution);
    biases.resize (filled, 0);
    workspace->reserve (Workspace::transformed, places * gathering.depth ());
    workspace->reserve (Workspace::products, places * filled);
    bias = opencl::make_table (
        context, biases.data (), biases.size () * sizeof (cl_float), error);
    return bias () != nullptr;
  }

  bool create_product (const Device &device, const Filters &filters, GError **error)
  {
    const gsize depth = gathering.depth ();
    std::vector<cl_int> fours;
    for (gsize k = 0; k < depth; k += 4)
      fours.push_back (cl_int (k));
    auto weight = [&] (gsize place, gsize channel, gsize filter) {
      return channel < convolution.input.channels
                 ? transformed (filters, filter, channel, place)
                 : 0.0;
    };
    auto no_bias = [] (gsize, gsize) { return 0.0; };
    return product.create (device, tile * tile, tiles, depth, convolution.output.channels,
               Finishing (), error)
           && product.set_fours (fours, error)
           && product.set_weights (weight, no_bias, error);
  }

  Convolution convolution;
  bool in_lanes;
  gsize across, down, tiles;
  gsize lanes_in, lanes_out, filled; /* filters, rounded up to whole vectors */
  Gathering gathering;
  opencl::Kernel first, last;
  Multiplication product;
  std::shared_ptr<Workspace> workspace;
  cl::Buffer bias;
};
} // namespace

bool
is_winograd (const Convolution &convolution)
{
  return !convolution.video && convolution.tap_lines == taps
         && convolution.tap_columns == taps && convolution.stride == Distance ()
         && convolution.dilation == Distance () && convolution.groups == 1;
}

std::unique_ptr<Convolver>
make_winograd (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error)
{
  if (!is_winograd (convolution)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "method=winograd supports arrays and 3x3 kernels with stride 1, dilation 1 and "
        "one group, not %s and a kernel of %" G_GSIZE_FORMAT "x%" G_GSIZE_FORMAT
        ", stride %" G_GSIZE_FORMAT ", dilation %" G_GSIZE_FORMAT ", %" G_GSIZE_FORMAT
        " groups",
        convolution.video ? "video" : "arrays", convolution.tap_lines,
        convolution.tap_columns, convolution.stride.y, convolution.dilation.y,
        convolution.groups);
    return nullptr;
  }
  return create_convolver<Winograd> (device, convolution, filters, error);
}
} // namespace compute
