/* Convolution as the sum that it is
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvemethods.hpp"
#include "convolvestages.hpp"

namespace compute {
namespace {
/* Over planes, tap by tap. */
class DirectPlanes : public Convolver {
public:
  bool create (GstOpenCLContext *context, const Convolution &convolution, GError **error)
  {
    if (!gathering.create_planes (context, convolution, convolution.reach_lines (),
            convolution.reach_columns (), error))
      return false;
    PlaneTaps::Task task;
    task.images = convolution.input.images;
    task.planes = convolution.input.channels;
    task.groups = convolution.groups;
    task.filters = convolution.output.channels;
    task.plane_lines = gathering.lines ();
    task.pitch = gathering.pitch ();
    task.tap_lines = convolution.tap_lines;
    task.tap_columns = convolution.tap_columns;
    task.stride_y = task.stride_x = convolution.stride;
    task.dilation = convolution.dilation;
    task.height = convolution.output.height;
    task.width = convolution.output.width;
    task.activation = convolution.activation;
    task.scale = convolution.scale;
    task.offset = convolution.offset;
    task.output = convolution.output_type;
    return taps.create (context, task, convolution.weights, convolution.bias, error)
           && kept.create (context, convolution, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    return gathering.enqueue (queue, input, error)
           && taps.enqueue (queue, gathering.data (), output, error)
           && kept.enqueue (queue, input, output, error);
  }

private:
  Gathering gathering;
  PlaneTaps taps;
  KeptComponent kept;
};

/* Over pixels: a row of the product's left matrix is what one pixel of the output sees,
 * and lies in the input in runs of channels. */
class DirectPixels : public Convolver {
public:
  bool create (
      GstOpenCLContext *context, const Convolution &a_convolution, GError **error)
  {
    convolution = a_convolution;
    const gsize deep = (convolution.channels_of_group () + 3) / 4 * 4;
    const Extent &made = convolution.output;
    if (!gathering.create_pixels (context, convolution, convolution.reach_lines (),
            convolution.reach_columns (), error)
        || !product.create (context, convolution.groups, made.images * made.pixels (),
            convolution.taps () * deep, convolution.filters_of_group (),
            convolution.output_type, convolution.activation, error))
      return false;
    return product.set_fours (fours_of_taps (deep), error) && set_weights (deep, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const Extent &made = convolution.output;
    const gsize depth = gathering.depth (), line = gathering.columns () * depth;
    const gsize stride = convolution.stride;
    const Steps from = {cl_int (gathering.lines () * line), 1, cl_int (stride * line),
        cl_int (stride * depth)};
    const Steps to = steps_of (output.place, convolution.output_type);
    const gsize size = opencl::info_of (convolution.output_type).size;
    return gathering.enqueue (queue, input, error)
           && product.enqueue (queue, {made.images, made.height, made.width},
               gathering.data (), from, depth / convolution.groups, output.data,
               output.place.offset / size, to,
               convolution.filters_of_group () * gsize (to.channel), error);
  }

private:
  std::vector<cl_int> fours_of_taps (gsize deep) const
  {
    const gsize depth = gathering.depth (), dilation = convolution.dilation;
    std::vector<cl_int> fours;
    for (gsize y = 0; y < convolution.tap_lines; y++)
      for (gsize x = 0; x < convolution.tap_columns; x++)
        for (gsize c = 0; c < deep; c += 4)
          fours.push_back (
              cl_int ((y * gathering.columns () + x) * dilation * depth + c));
    return fours;
  }

  bool set_weights (gsize deep, GError **error)
  {
    const gsize filters = convolution.filters_of_group ();
    const gsize channels = convolution.channels_of_group ();
    auto weight = [&] (gsize group, gsize k, gsize filter) {
      const gsize tap = k / deep, channel = k % deep;
      return channel < channels ? convolution.weight (group * filters + filter, channel,
                 tap / convolution.tap_columns, tap % convolution.tap_columns)
                                : 0.0;
    };
    auto bias = [&] (gsize group, gsize filter) {
      return convolution.bias[group * filters + filter];
    };
    return product.set_weights (weight, bias, error);
  }

  Convolution convolution;
  Gathering gathering;
  Multiplication product;
};

template <typename Made>
std::unique_ptr<Convolver>
make (GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  auto made = std::make_unique<Made> ();
  if (!made->create (context, convolution, error))
    return nullptr;
  return made;
}

/* Filters of a group that are worth a panel of a product. */
const gsize least_filters = 6;
} // namespace

std::unique_ptr<Convolver>
make_direct (GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  return !convolution.video && convolution.filters_of_group () >= least_filters
             ? make<DirectPixels> (context, convolution, error)
             : make<DirectPlanes> (context, convolution, error);
}
} // namespace compute
