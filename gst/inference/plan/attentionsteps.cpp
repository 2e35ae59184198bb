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
    on_cpu = opencl::is_cpu (context);
    items = std::min (gsize (128), opencl::largest_group (context) / 8 * 8);
    if (!on_cpu && items < 8) {
      g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED,
          "attention needs work-groups of 8 work-items, which the device does not have");
      return false;
    }
    rows_of_group = on_cpu ? 48 : items / 4; /* as in the kernel */
    const std::string options =
        compute::number_macros (output.type, on_cpu ? opencl::float_lanes (context) : 1)
        + (on_cpu ? std::string (" -DON_CPU") : macro ("ITEMS", gint64 (items)))
        + macro ("DEPTH", tensors[0].shape.back ())
        + macro ("WIDTH", output.shape.back ()) + macro ("MASKED", masked)
        + macro ("BATCH_RANK", gint64 (table.size () / 6));
    if (table.empty ())
      table.resize (6, 1);
    return make_geometry (context, table, error)
           && kernel.create (context, INFERENCE_KERNELS "attention.cl",
               on_cpu ? "attend_cpu" : "attend_gpu", options.c_str (), error);
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
    const gsize across = on_cpu ? 1 : items;
    const gsize groups = (gsize (rows ()) + rows_of_group - 1) / rows_of_group;
    const gsize global[] = {groups * across, batches, 1}, local[] = {across, 1, 1};
    return kernel.enqueue_box (queue, global, local, error);
  }

private:
  gint64 rows () const { return output.shape[output.rank () - 2]; }

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
  float scale = 1;
  gsize batches = 1, rows_of_group = 1;
  bool on_cpu = false;
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
