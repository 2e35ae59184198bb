/* Steps of networks with attention: attention itself, normalization and softmax
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

namespace inference {
namespace {
/* --- lines: softmax and normalization --- */

/* A kernel of lines.cl along dimension `axis`, with `arguments` behind those of the lines */
template <typename... Arguments>
StepPointer
make_lines_step (const StepRequest &request, gsize axis, const char *name,
    const std::string &macros, GError **error, const Arguments &...arguments)
{
  GstOpenCLContext *context = request.context;
  const Tensor &input = request.inputs[0], &output = request.outputs[0];
  std::vector<cl_long> table;
  gsize lines = 1;
  for (gsize d = output.rank (); d-- > 0;) {
    if (d == axis)
      continue;
    table.insert (table.end (), {output.shape[d], input.strides[d], output.strides[d]});
    lines *= gsize (output.shape[d]);
  }
  const gsize group = 64;
  const bool splits = !opencl::is_cpu (context) && output.shape[axis] > 32
                      && opencl::largest_group (context) >= group;
  const std::string options =
      compute::number_macros (input.type, lanes_of (context, input, output, axis))
      + macro ("SPLIT", gint64 (splits ? group : 1))
      + macro ("OUTER_RANK", gint64 (table.size () / 3)) + macros;
  auto step = std::make_unique<CallStep> (context);
  const cl_mem outer = step->table (table, error);
  return outer
                 && step->add ("lines.cl", name, options, splits ? lines * group : lines,
                     splits ? group : 0, error, input, output, outer, cl_ulong (lines),
                     cl_long (output.shape[axis]), cl_long (input.strides[axis]),
                     cl_long (output.strides[axis]), arguments...)
             ? std::move (step)
             : nullptr;
}

/* --- attention --- */

/* A form of the kernel. A work-group of `across` work-items computes `rows`. */
struct AttentionKernel {
  const char *file, *name;
  gsize across, rows;
  std::string macros;
};

/* Are rows contiguous, with all of them at multiples of `alignment` bytes? Offsets of memory that
 * comes with a frame are not known. */
bool
has_aligned_rows (const Tensor &tensor, gsize column, gint64 alignment)
{
  const gint64 size = gint64 (tensor.element_size ());
  bool aligned = tensor.memory == arena_memory && tensor.strides[column] == 1
                 && tensor.offset * size % alignment == 0
                 && tensor.shape[column] * size % alignment == 0;
  for (gsize d = 0; d < tensor.rank (); d++)
    aligned = aligned && (d == column || tensor.strides[d] * size % alignment == 0);
  return aligned;
}

class AttentionStep : public KernelStep {
public:
  bool create (const StepRequest &request, const AttentionOp &what, GError **error)
  {
    GstOpenCLContext *context = request.context;
    tensors = request.inputs;
    output = request.outputs[0];
    scale = float (what.scale);
    const bool masked = tensors.size () > 3;
    tensors.resize (4, tensors[0]); /* not read without a mask */
    find_batches (masked);
    form = choose_form (context);
    if (form.rows == 0) {
      g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED,
          "attention needs work-groups of 8 work-items, which the device does not have");
      return false;
    }
    const std::string options = form.macros + macro ("DEPTH", tensors[0].shape.back ())
                                + macro ("WIDTH", output.shape.back ())
                                + macro ("MASKED", masked)
                                + macro ("BATCH_RANK", gint64 (table.size () / 6));
    return make_geometry (context, table, error)
           && kernel.create (context, form.file, form.name, options.c_str (), error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    for (gsize n = 0; n < tensors.size (); n++)
      if (!set_matrix (index, tensors[n], memories, error))
        return false;
    return set_matrix (index, output, memories, error)
           && set (index, error, geometry (), cl_int (rows ()),
               cl_int (tensors[1].shape.back ()), cl_float (scale));
  }
  bool launch (cl_command_queue queue, GError **error) override
  {
    const gsize groups = (gsize (rows ()) + form.rows - 1) / form.rows;
    const gsize global[] = {groups * form.across, batches, 1};
    const gsize local[] = {form.across, 1, 1};
    return kernel.enqueue_box (queue, global, local, error);
  }

private:
  gint64 rows () const { return output.shape[output.rank () - 2]; }

  AttentionKernel choose_form (GstOpenCLContext *context) const
  {
    const std::string numbers = compute::number_macros (output.type, 1);
    if (opencl::is_cpu (context))
      return {INFERENCE_KERNELS "attention.cl", "attend_cpu", 1,
          48, /* as in the kernel */
          compute::number_macros (output.type, opencl::float_lanes (context))
              + " -DON_CPU"};
    if (output.type == opencl::NumberType::f16 && compute::has_tensor_cores (context)
        && are_aligned (16) && tensors[0].shape.back () % 16 == 0
        && output.shape.back () % 16 == 0) {
      const gsize few = 2, many = 4, rows_of_warp = 16;
      const gsize groups = batches * (gsize (rows ()) / (many * rows_of_warp) + 1);
      const gsize warps = groups < 2 * opencl::compute_units (context) ? few : many;
      return {INFERENCE_KERNELS "attentionhalf.cl", "attend_half", 32 * warps,
          warps * rows_of_warp, numbers + macro ("WARPS", gint64 (warps))};
    }
    const gsize items = std::min (gsize (128), opencl::largest_group (context) / 8 * 8);
    const bool aligned = output.type == opencl::NumberType::f32 && are_aligned (16);
    return {INFERENCE_KERNELS "attention.cl", "attend_gpu", items, items / 4,
        numbers + macro ("ITEMS", gint64 (items)) + macro ("ALIGNED", aligned)};
  }

  /* K is (depth, keys), so its rows are columns here. */
  bool are_aligned (gint64 bytes) const
  {
    const gsize rank = output.rank ();
    return has_aligned_rows (tensors[0], rank - 1, bytes)
           && has_aligned_rows (tensors[1], rank - 2, bytes)
           && has_aligned_rows (tensors[2], rank - 1, bytes)
           && has_aligned_rows (output, rank - 1, bytes);
  }

  /* A mask broadcasts to the scores. */
  void find_batches (bool masked)
  {
    if (masked) {
      Tensor &mask = tensors[3];
      for (gsize d = 0; d < mask.rank (); d++)
        if (mask.shape[d] == 1)
          mask.strides[d] = 0;
      mask.strides.insert (mask.strides.begin (), output.rank () - mask.rank (), 0);
      mask.shape.insert (mask.shape.begin (), output.rank () - mask.rank (), 1);
    }
    for (gsize d = output.rank () - 2; d-- > 0;) {
      table.push_back (output.shape[d]);
      for (const Tensor &tensor : tensors)
        table.push_back (tensor.strides[d]);
      table.push_back (output.strides[d]);
      batches *= gsize (output.shape[d]);
    }
  }

  std::vector<Tensor> tensors; /* Q, K, V and the mask */
  Tensor output;
  std::vector<cl_long> table;
  AttentionKernel form;
  float scale = 1;
  gsize batches = 1;
};
} // namespace

StepPointer
make_softmax_step (const StepRequest &request, const SoftmaxOp &what, GError **error)
{
  return make_lines_step (
      request, gsize (what.axis), "softmax", macro ("LOGARITHM", what.logarithm), error);
}

StepPointer
make_normalize_step (const StepRequest &request, const NormalizeOp &what, GError **error)
{
  const gsize scales = request.inputs.size () - 1, axis = request.outputs[0].rank () - 1;
  std::vector<Tensor> operands = request.inputs;
  operands.resize (3, operands[0]); /* not read */
  const auto make = [&] (auto epsilon) {
    return make_lines_step (request, axis, "standardize",
        macro ("SCALES", gint64 (scales)), error, epsilon, operands[1], operands[2]);
  };
  return operands[0].type == opencl::NumberType::f64 ? make (cl_double (what.epsilon))
                                                     : make (cl_float (what.epsilon));
}

StepPointer
make_attention_step (const StepRequest &request, const AttentionOp &what, GError **error)
{
  return created_step<AttentionStep> (request, error, what);
}
} // namespace inference
