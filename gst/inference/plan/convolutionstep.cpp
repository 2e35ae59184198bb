/* Convolutions with constant filters, by the methods of openclconvolve, and squeeze and excitation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <gst/convolution/convolvestages.hpp>

#include <algorithm>

namespace inference {
namespace {
/* Makes (images, channels, height, width) of tensors of rows (…, channels). Neighbouring
 * dimensions become one where all of them allow it. */
void
shape_rows (const std::vector<Tensor *> &tensors)
{
  const Tensor first = *tensors[0];
  std::vector<gsize> kept; /* dimensions, innermost first */
  Shape lengths;
  for (gsize d = first.rank () - 1; d-- > 0;) {
    if (first.shape[d] == 1)
      continue;
    const bool joins = std::all_of (tensors.begin (), tensors.end (), [&] (Tensor *of) {
      return !kept.empty ()
             && of->strides[d] == of->strides[kept.back ()] * lengths.back ();
    });
    if (joins) {
      lengths.back () *= first.shape[d];
      continue;
    }
    kept.push_back (d);
    lengths.push_back (first.shape[d]);
  }
  for (Tensor *tensor : tensors) {
    const Tensor rows = *tensor;
    gint64 step = rows.shape.back ();
    tensor->shape = {1, rows.shape.back (), 1, 1};
    tensor->strides = {0, rows.strides.back (), 0, 0};
    const gsize places[] = {3, 2, 0};
    for (gsize n = 0; n < G_N_ELEMENTS (places); n++) {
      if (n < kept.size ()) {
        tensor->shape[places[n]] = lengths[n];
        step = rows.strides[kept[n]];
      }
      tensor->strides[places[n]] = step;
      step *= tensor->shape[places[n]];
    }
  }
}

compute::Extent
extent_of (const Tensor &tensor)
{
  return {gsize (tensor.shape[0]), gsize (tensor.shape[1]), gsize (tensor.shape[2]),
      gsize (tensor.shape[3])};
}

compute::Region
region_of (const Tensor &tensor, const Memories &memories)
{
  const gint64 size = gint64 (tensor.element_size ());
  compute::Region region;
  region.data = buffer_of (tensor, memories);
  region.place.offset = gsize (offset_of (tensor, memories) * size);
  region.place.image = tensor.strides[0] * size;
  region.place.channel = tensor.strides[1] * size;
  region.place.line = tensor.strides[2] * size;
  region.place.column = tensor.strides[3] * size;
  return region;
}

class ConvolutionStep : public Step {
public:
  bool create (const StepRequest &request, const ConvolutionOp &what, GError **error);
  bool enqueue (
      cl_command_queue queue, const Memories &memories, GError **error) override;

private:
  Tensor input, output, residual;
  StepPointer copy_residual; /* where its placement differs from the output's */
  std::unique_ptr<compute::Convolver> convolver;
};

compute::Convolution
convolution_of (const ConvolutionOp &what, const Tensor &input, const Tensor &output)
{
  compute::Convolution convolution;
  convolution.input = extent_of (input);
  convolution.output = extent_of (output);
  convolution.groups = gsize (what.groups);
  convolution.tap_lines = gsize (what.weights.shape[2]);
  convolution.tap_columns = gsize (what.weights.shape[3]);
  convolution.stride = {gsize (what.stride[0]), gsize (what.stride[1])};
  convolution.dilation = {gsize (what.dilation[0]), gsize (what.dilation[1])};
  convolution.top = gsize (what.before[0]);
  convolution.left = gsize (what.before[1]);
  convolution.activation = what.activation;
  convolution.a = what.a;
  convolution.b = what.b;
  convolution.low = what.low;
  convolution.high = what.high;
  convolution.exact = what.exact;
  convolution.input_type = input.type;
  convolution.output_type = output.type;
  convolution.nchw = !is_channels_last (output) || !is_channels_last (input);
  return convolution;
}

bool
ConvolutionStep::create (
    const StepRequest &request, const ConvolutionOp &what, GError **error)
{
  const bool adds = request.inputs.size () > 1;
  input = request.inputs[0];
  output = request.outputs[0];
  if (adds)
    residual = request.inputs[1];
  if (what.of_rows) {
    std::vector<Tensor *> tensors = {&input, &output};
    if (adds)
      tensors.push_back (&residual);
    shape_rows (tensors);
  }
  compute::Convolution convolution = convolution_of (what, input, output);
  if (adds) {
    convolution.adds_residual = true;
    if (residual.strides != output.strides || residual.type != output.type) {
      copy_residual = make_copy_step (
          {request.context, request.operation, {residual}, {output}, nullptr}, error);
      if (!copy_residual)
        return false;
      residual = output;
    }
  }
  std::vector<float> converted;
  if (what.weights.type != ElementType::f32)
    converted = what.weights.floats ();
  const compute::Filters filters (convolution,
      converted.empty () ? static_cast<const void *> (what.weights.bytes ())
                         : converted.data (),
      what.is_turned, what.bias);
  convolver = compute::Convolver::create (
      {request.context, request.workspace}, convolution, filters, error);
  return convolver != nullptr;
}

bool
ConvolutionStep::enqueue (
    cl_command_queue queue, const Memories &memories, GError **error)
{
  compute::Region to = region_of (output, memories);
  if (copy_residual && !copy_residual->enqueue (queue, memories, error))
    return false;
  if (residual.memory != no_memory) {
    to.added = buffer_of (residual, memories);
    to.added_offset = gsize (offset_of (residual, memories)) * residual.element_size ();
  }
  return convolver->enqueue (queue, region_of (input, memories), to, error);
}
} // namespace

StepPointer
make_convolution_step (
    const StepRequest &request, const ConvolutionOp &what, GError **error)
{
  auto step = std::make_unique<ConvolutionStep> ();
  return step->create (request, what, error) ? std::move (step) : nullptr;
}

StepPointer
make_excite_step (const StepRequest &request, const ExciteOp &what, GError **error)
{
  const Tensor &input = request.inputs[0], &squeezed = request.inputs[1],
               &output = request.outputs[0];
  const gsize channels = gsize (input.shape[1]), images = gsize (input.shape[0]);
  const gsize hidden = gsize (request.inputs[2].count ()) / (2 * channels + 1);
  const gsize pixels = gsize (input.shape[2] * input.shape[3]),
              pooled = gsize (squeezed.shape[2] * squeezed.shape[3]);
  const gsize lanes = 4, slice = 32, team = 16; /* as in the kernel */
  std::vector<cl_long> strides;
  for (const Tensor *tensor : {&input, &squeezed, &output})
    strides.insert (strides.end (), tensor->strides.begin (), tensor->strides.end ());
  const gsize most = opencl::largest_group (request.context);
  const gsize group = most < 256 ? 128 : most < 512 ? 256 : 512;
  /* Means that are there already cost little to read again. */
  const gsize run = pooled > 1 ? pixels : 4,
              pixels_of_group = run * group * lanes / slice;
  const gsize groups = (pixels + pixels_of_group - 1) / pixels_of_group
                       * ((channels + slice - 1) / slice) * images;
  compute::Finishing finishing;
  finishing.type = output.type;
  const std::string options = compute::number_options (input.type, finishing)
                              + macro ("GROUP", gint64 (group))
                              + macro ("LANES", gint64 (lanes));
  auto step = std::make_unique<CallStep> (request.context);
  const cl_mem table = step->table (strides, error);
  const auto numbers_of = [] (const ConvolutionOp &of) {
    return cl_float4{{of.a, of.b, of.low, of.high}};
  };
  return table
                 && step->add ("/org/freedesktop/gstreamer/opencl/convolution/excite.cl",
                     "excite", options, groups * group, group, error, input, squeezed,
                     request.inputs[2], output, table, cl_int (input.shape[3]),
                     cl_int (pixels), cl_int (pooled), cl_int (run), cl_int (channels),
                     cl_int (images), numbers_of (what.inner),
                     cl_int (what.inner.activation), cl_int (hidden),
                     numbers_of (what.outer), cl_int (what.outer.activation),
                     opencl::LocalMemory{4 * channels}, opencl::LocalMemory{4 * hidden},
                     opencl::LocalMemory{
                         4 * std::max ({channels, group * lanes, hidden * team})})
             ? std::move (step)
             : nullptr;
}
} // namespace inference
