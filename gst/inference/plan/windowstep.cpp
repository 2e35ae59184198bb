/* Poolings, and convolutions that compute::Convolver does not do
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <gst/opencl/core/devicebuffer.hpp>

namespace inference {
namespace {
const gsize dimensions = 3; /* of the kernels; missing ones have length 1 */

std::vector<cl_long>
geometry_of (const WindowOp &what, const Tensor &input, const Tensor &output)
{
  const gsize rank = what.window.size (), missing = dimensions - rank;
  std::vector<cl_long> table;
  for (gsize d = 0; d < dimensions; d++) {
    if (d < missing) {
      table.insert (table.end (), {1, 1, 1, 1, 1, 0, 0, 0, 0});
      continue;
    }
    const gsize own = d - missing;
    table.insert (table.end (),
        {input.shape[own + 2], output.shape[own + 2], what.window[own], what.stride[own],
            what.dilation[own], what.before[own], what.after[own], input.strides[own + 2],
            output.strides[own + 2]});
  }
  table.insert (table.end (),
      {input.strides[0], input.strides[1], output.strides[0], output.strides[1]});
  return table;
}

std::string
least_integer (opencl::NumberType type)
{
  const opencl::NumberInfo &info = opencl::info_of (type);
  if (info.kind != 'i')
    return " -DLEAST_INTEGER=0";
  return info.size == 8 ? " -DLEAST_INTEGER=LONG_MIN"
                        : macro ("LEAST_INTEGER", -(gint64 (1) << (8 * info.size - 1)));
}

const char *const poolings = " -DMAXIMUM=1 -DAVERAGE=2";

class PoolStep : public KernelStep {
public:
  bool create (const StepRequest &request, const WindowOp &a_what, GError **error)
  {
    what = a_what;
    input = request.inputs[0];
    output = request.outputs[0];
    const gsize lanes = lanes_of (request.context, input, output, 1);
    items = gsize (output.count ()) / lanes;
    const gint64 pooling = what.kind == WindowOp::maximum ? 1 : 2;
    const std::string options = compute::number_macros (input.type, lanes) + poolings
                                + macro ("POOLING", pooling) + least_integer (input.type);
    return make_geometry (request.context, geometry_of (what, input, output), error)
           && kernel.create (request.context, INFERENCE_KERNELS "window.cl", "pool",
               options.c_str (), error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return set_tensor (index, input, memories, error)
           && set_tensor (index, output, memories, error)
           && set (index, error, geometry (), cl_long (output.shape[1]), cl_ulong (items),
               cl_int (what.counts_padding));
  }

private:
  WindowOp what;
  Tensor input, output;
};

/* Convolutions with weights that are no constants, or of one or three dimensions, and
 * transposed ones */
class GeneralConvolutionStep : public KernelStep {
public:
  bool create (const StepRequest &request, const WindowOp &a_what, GError **error)
  {
    what = a_what;
    input = request.inputs[0];
    weights = request.inputs[1];
    has_bias = request.inputs.size () > 2 && request.inputs[2].memory != no_memory;
    bias = has_bias ? request.inputs[2] : weights;
    output = request.outputs[0];
    items = gsize (output.count ());
    std::vector<cl_long> of_weights = {weights.strides[0], weights.strides[1]};
    of_weights.insert (of_weights.end (), dimensions - what.window.size (), 0);
    of_weights.insert (
        of_weights.end (), weights.strides.begin () + 2, weights.strides.end ());
    weight_strides = opencl::make_table (request.context, of_weights.data (),
        of_weights.size () * sizeof (cl_long), error);
    const std::string options = compute::number_macros (input.type, 1) + poolings
                                + macro ("POOLING", 0)
                                + macro ("TRANSPOSED", what.kind == WindowOp::transposed);
    return weight_strides ()
           && make_geometry (request.context, geometry_of (what, input, output), error)
           && kernel.create (request.context, INFERENCE_KERNELS "window.cl", "convolve",
               options.c_str (), error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return set_tensor (index, input, memories, error)
           && set_tensor (index, weights, memories, error)
           && set (index, error, weight_strides ())
           && set_tensor (index, bias, memories, error)
           && set (index, error, cl_long (bias.strides.back ()), cl_int (has_bias))
           && set_tensor (index, output, memories, error)
           && set (index, error, geometry (), cl_long (input.shape[1]),
               cl_long (output.shape[1]), cl_long (what.groups), cl_ulong (items));
  }

private:
  WindowOp what;
  Tensor input, weights, bias, output;
  bool has_bias = false;
  cl::Buffer weight_strides;
};
} // namespace

StepPointer
make_window_step (const StepRequest &request, const WindowOp &what, GError **error)
{
  if (what.kind == WindowOp::convolve || what.kind == WindowOp::transposed)
    return created_step<GeneralConvolutionStep> (request, error, what);
  return created_step<PoolStep> (request, error, what);
}
} // namespace inference
