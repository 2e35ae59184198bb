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
    return taps.create (context, PlaneTaps::task_of (convolution, gathering),
               convolution.weights, convolution.bias, error)
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
    const Extent &made = convolution.output;
    return gathering.create_pixels (context, convolution, convolution.reach_lines (),
               convolution.reach_columns (), error)
           && product.create (context, convolution.groups, made.images * made.pixels (),
               convolution.taps () * gathering.depth () / convolution.groups,
               convolution.filters_of_group (), convolution.output_type,
               convolution.activation, error)
           && product.set_fours (fours_of_taps (convolution, gathering), error)
           && set_weights_of_taps (product, convolution, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const Extent &made = convolution.output;
    const Steps from = steps_of_pixels (convolution, gathering);
    const Steps to = steps_of (output.place, convolution.output_type);
    const gsize size = opencl::info_of (convolution.output_type).size;
    return gathering.enqueue (queue, input, error)
           && product.enqueue (queue, {made.images, made.height, made.width},
               gathering.data (), from, gathering.depth () / convolution.groups,
               output.data, output.place.offset / size, to,
               convolution.filters_of_group () * gsize (to.channel), error);
  }

private:
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
