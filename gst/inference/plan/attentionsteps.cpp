/* Steps of networks with attention: attention itself, normalization and softmax
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

namespace inference {
namespace {
/* --- lines: softmax and normalization --- */

/* A kernel of lines.cl, along one dimension */
class LinesStep : public KernelStep {
public:
  bool create (const StepRequest &request, gsize an_axis, const char *name,
      const std::string &macros, GError **error)
  {
    GstOpenCLContext *context = request.context;
    input = request.inputs[0];
    output = request.outputs[0];
    axis = an_axis;
    std::vector<cl_long> table;
    lines = 1;
    for (gsize d = output.rank (); d-- > 0;) {
      if (d == axis)
        continue;
      table.insert (table.end (), {output.shape[d], input.strides[d], output.strides[d]});
      lines *= gsize (output.shape[d]);
    }
    const gsize rank = table.size () / 3, group = 64;
    if (table.empty ())
      table.resize (3, 1);
    const bool splits = !opencl::is_cpu (context) && output.shape[axis] > 32
                        && opencl::largest_group (context) >= group;
    split = splits ? group : 1;
    const std::string options =
        compute::number_macros (input.type, lanes_of (context, input, output, axis))
        + macro ("SPLIT", gint64 (split)) + macro ("OUTER_RANK", gint64 (rank)) + macros;
    return make_geometry (context, table, error)
           && kernel.create (
               context, INFERENCE_KERNELS "lines.cl", name, options.c_str (), error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return set_tensor (index, input, memories, error)
           && set_tensor (index, output, memories, error)
           && set (index, error, geometry (), cl_ulong (lines),
               cl_long (output.shape[axis]), cl_long (input.strides[axis]),
               cl_long (output.strides[axis]));
  }
  bool launch (cl_command_queue queue, GError **error) override
  {
    if (split == 1)
      return kernel.enqueue (queue, lines, 1, error);
    const gsize global[] = {lines * split, 1, 1}, local[] = {split, 1, 1};
    return kernel.enqueue_box (queue, global, local, error);
  }

  Tensor input, output;

private:
  gsize axis = 0, lines = 0, split = 1;
};

class NormalizeStep : public LinesStep {
public:
  bool create (const StepRequest &request, const NormalizeOp &what, GError **error)
  {
    epsilon = what.epsilon;
    scales.assign (request.inputs.begin () + 1, request.inputs.end ());
    const std::string macros = macro ("SCALES", gint64 (scales.size ()));
    scales.resize (2, request.inputs[0]); /* not read */
    return LinesStep::create (
        request, request.outputs[0].rank () - 1, "standardize", macros, error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return LinesStep::set_arguments (index, memories, error)
           && set_real (index, input.type, epsilon, error)
           && set_tensor (index, scales[0], memories, error)
           && set_tensor (index, scales[1], memories, error);
  }

private:
  std::vector<Tensor> scales;
  double epsilon = 0;
};

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
    if (table.empty ())
      table.resize (6, 1);
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

  bool set_matrix (
      cl_uint &index, const Tensor &matrix, const Memories &memories, GError **error)
  {
    const gsize rank = matrix.rank ();
    return set_tensor (index, matrix, memories, error)
           && set (index, error, cl_long (matrix.strides[rank - 2]),
               cl_long (matrix.strides[rank - 1]));
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
  const std::string macros = macro ("LOGARITHM", what.logarithm);
  return created_step<LinesStep> (request, error, gsize (what.axis), "softmax", macros);
}

StepPointer
make_normalize_step (const StepRequest &request, const NormalizeOp &what, GError **error)
{
  return created_step<NormalizeStep> (request, error, what);
}

StepPointer
make_attention_step (const StepRequest &request, const AttentionOp &what, GError **error)
{
  return created_step<AttentionStep> (request, error, what);
}
} // namespace inference
