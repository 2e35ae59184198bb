/* Convolution as a matrix product ("im2col"): a row of the left matrix holds the input
 * window of an output pixel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvemethods.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclerror.h>
#include "convolvestages.hpp"

#include <algorithm>

namespace compute {
namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/compute/convolveunfold.cl"

/* Limit for the matrix in bytes, when a pass covers several images */
const gsize most_bytes = 256 << 20;

class Unfolded : public Convolver {
public:
  bool create (const Device &device, const Convolution &a_convolution,
      const Filters &filters, GError **error)
  {
    GstOpenCLContext *context = device.context;
    convolution = a_convolution;
    in_lanes = convolves_on_cpu (context);
    const Extent &made = convolution.output;
    if (!gathering.create_pixels (device, convolution, convolution.reach_lines (),
            convolution.reach_columns (), error))
      return false;
    depth = convolution.taps () * gathering.depth () / convolution.groups;
    const gsize bytes = made.pixels () * convolution.groups * depth * sizeof (cl_float);
    at_once = std::clamp (most_bytes / bytes, gsize (1), made.images);
    workspace = device.workspace;
    workspace->reserve (Workspace::transformed, at_once * bytes);
    return set_fours (context, error)
           && kernel.create (context, RESOURCE, "unfold",
               number_options (opencl::NumberType::f32, Finishing ()).c_str (), error)
           && create_product (device, filters, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    if (!gathering.enqueue (queue, input, error))
      return false;
    for (gsize first = 0; first < convolution.output.images; first += at_once) {
      const gsize images = std::min (at_once, convolution.output.images - first);
      if (!enqueue_images (queue, first, images, output, error))
        return false;
    }
    return true;
  }

private:
  bool set_fours (GstOpenCLContext *context, GError **error)
  {
    const std::vector<cl_int> offsets = fours_of_taps (convolution, gathering);
    fours = opencl::make_table (
        context, offsets.data (), offsets.size () * sizeof (cl_int), error);
    return fours () != nullptr;
  }

  bool create_product (const Device &device, const Filters &filters, GError **error)
  {
    std::vector<cl_int> in_order;
    for (gsize k = 0; k < depth; k += 4)
      in_order.push_back (cl_int (k));
    return product.create (device, convolution.groups,
               at_once * convolution.output.pixels (), depth,
               convolution.filters_of_group (), Finishing (convolution), error)
           && product.set_fours (in_order, error)
           && set_weights_of_taps (product, convolution, filters, error);
  }

  bool unfold (cl_command_queue queue, gsize first, gsize rows, gsize group,
      const Steps &from, GError **error)
  {
    const gsize n_fours = depth / 4, run = in_lanes ? n_fours : 1;
    const gsize columns = (n_fours + run - 1) / run;
    const gsize of_group = gathering.depth () / convolution.groups;
    const Extent &made = convolution.output;
    if (!kernel.set_all (error, gathering.data (), from.image, from.line, from.column,
            cl_int (first * gsize (from.image) + group * of_group), fours (),
            cl_int (n_fours), cl_int (run), (*workspace)[Workspace::transformed],
            cl_int (depth), cl_int (made.height), cl_int (made.width), cl_int (rows),
            cl_long (group * rows * depth)))
      return false;
    if (in_lanes)
      return kernel.enqueue_groups (queue, {columns * rows, 1, 1}, error);
    return kernel.enqueue (queue, columns * rows, 1, error);
  }

  bool enqueue_images (cl_command_queue queue, gsize first, gsize images,
      const Region &output, GError **error)
  {
    const Extent &made = convolution.output;
    const gsize rows = images * made.pixels (), line = made.width * depth;
    const Steps from = steps_of_pixels (convolution, gathering);
    const Steps to = steps_of (output.place, convolution.output_type);
    Region part = output; /* from image `first` on */
    part.place.offset += first * gsize (output.place.image);
    part.added_offset += first * gsize (output.place.image);

    for (gsize group = 0; group < convolution.groups; group++) {
      if (!unfold (queue, first, rows, group, from, error))
        return false;
    }
    return product.enqueue (queue, {images, made.height, made.width},
        (*workspace)[Workspace::transformed], 0,
        {cl_int (made.height * line), 1, cl_int (line), cl_int (depth)}, rows * depth,
        part, to, convolution.filters_of_group () * gsize (to.channel), error);
  }

  Convolution convolution;
  bool in_lanes;
  gsize depth, at_once;
  Gathering gathering;
  opencl::Kernel kernel;
  std::shared_ptr<Workspace> workspace;
  cl::Buffer fours;
  Multiplication product;
};
} // namespace

std::unique_ptr<Convolver>
make_im2col (const Device &device, const Convolution &convolution, const Filters &filters,
    GError **error)
{
  if (convolution.video) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "method=im2col does not support video, expected auto, direct, separable or fft");
    return nullptr;
  }
  auto made = std::make_unique<Unfolded> ();
  return made->create (device, convolution, filters, error) ? std::move (made) : nullptr;
}
} // namespace compute
