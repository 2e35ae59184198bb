/* Convolution by direct summation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvemethods.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include "convolvestages.hpp"

namespace compute {
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

template <typename Kind>
std::unique_ptr<Convolver>
make (const Device &device, const Convolution &convolution, const Filters &filters,
    GError **error)
{
  auto made = std::make_unique<Kind> ();
  if (!made->create (device, convolution, filters, error))
    return nullptr;
  return made;
}

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
             ? make<DirectPixels> (device, convolution, filters, error)
             : make<DirectPlanes> (device, convolution, filters, error);
}
} // namespace compute
