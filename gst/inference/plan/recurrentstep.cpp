/* LSTM, GRU and simple recurrent networks
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <algorithm>

namespace inference {
namespace {
class RecurrentStep : public KernelStep {
public:
  bool create (const StepRequest &request, const RecurrentOp &what, GError **error);

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    for (const Tensor &tensor : tensors)
      if (!set_tensor (index, tensor, memories, error))
        return false;
    return set (index, error, times);
  }
  bool launch (cl_command_queue queue, GError **error) override
  {
    const gsize global[] = {items, 1, 1}, local[] = {group, 1, 1};
    return kernel.enqueue_box (queue, global, local, error);
  }

private:
  std::vector<Tensor> tensors; /* inputs, then outputs */
  gsize group = 1;
  cl_uint times = 0;
};

/* "#define AT_X(a, b, c) ((a) * 512L + …)": the place of an element */
std::string
place_macro (const std::string &name, const Tensor &tensor)
{
  std::string parameters, sum;
  for (gsize d = 0; d < tensor.rank (); d++) {
    const std::string index (1, char ('a' + d));
    parameters += (d ? ", " : "") + index;
    sum += (d ? " + (" : "(") + index + ") * " + std::to_string (tensor.strides[d]) + "L";
  }
  return std::string ("#define AT_") + name + "(" + parameters + ") (" + sum + ")\n";
}

/* An activation, by the direction if the directions differ */
std::string
activation_macro (const RecurrentOp &what, gsize n)
{
  auto text = [&] (gsize direction) {
    const gsize count = what.activations.size () / what.backward.size ();
    return "(" + text_of (what.activations[direction * count + n], 1, {"(x)"}) + ")";
  };
  const gsize last = what.backward.size () - 1;
  return "#define ACTIVATE_" + std::to_string (n) + "(direction, x) "
         + (text (0) == text (last)
                 ? text (0)
                 : "((direction) ? " + text (last) + " : " + text (0) + ")")
         + "\n";
}

bool
RecurrentStep::create (
    const StepRequest &request, const RecurrentOp &what, GError **error)
{
  const bool lstm = what.kind == RecurrentOp::lstm;
  const Tensor &r = request.inputs[1], &y = request.outputs[0];
  const gint64 hidden = r.shape[2], block = r.shape[3],
               gates = r.shape[1] * block / hidden;
  const gsize real = r.type == opencl::NumberType::f64 ? 8 : 4;
  tensors = request.inputs;
  tensors.insert (tensors.end (), request.outputs.begin (), request.outputs.end ());
  times = cl_uint (y.shape[0]);

  const gsize bytes = gsize (gates + 2) * gsize (hidden) * real;
  if (bytes > opencl::local_memory (request.context)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "hidden_size %" G_GINT64_FORMAT " needs %" G_GSIZE_FORMAT
        " bytes of local memory, but the device has only %" G_GUINT64_FORMAT,
        hidden, bytes, guint64 (opencl::local_memory (request.context)));
    return false;
  }
  const bool cpu = opencl::is_cpu (request.context);
  gsize lanes = cpu ? opencl::float_lanes (request.context) : 4;
  while (lanes > 1
         && (block % gint64 (lanes) != 0 || hidden % gint64 (lanes) != 0
             || r.strides[3] != 1))
    lanes /= 2;
  const gsize vectors = cpu && hidden % block == 0 ? gsize (block) / lanes : 1;
  /* PoCL compiles the loops wrong where only the first of several work-items runs them. */
  const gsize wanted = (gsize (gates * hidden) / lanes + 31) / 32 * 32;
  group = cpu ? 1
              : std::min ({wanted, opencl::Kernel::largest_group,
                  opencl::largest_group (request.context)});
  items = group * gsize (y.shape[1] * y.shape[2]);

  const std::string names = lstm ? "XRBHLCYZD" : "XRBHLYZ";
  std::string source;
  for (gsize n = 0; n < tensors.size (); n++)
    source += place_macro (names.substr (n, 1), tensors[n]);
  for (gsize n = 0; n < what.activations.size () / what.backward.size (); n++)
    source += activation_macro (what, n);
  guint backward = 0;
  for (gsize d = 0; d < what.backward.size (); d++)
    backward |= guint (what.backward[d]) << d;
  const std::string options =
      compute::number_macros (r.type, lanes) + macro ("HIDDEN", hidden)
      + macro ("BLOCK", block) + macro ("VECTORS", gint64 (vectors))
      + macro ("GATES", gates) + macro ("DIRECTIONS", y.shape[1])
      + macro ("BACKWARD", gint64 (backward)) + macro ("IS_ALONE", group == 1)
      + macro ("RESETS_PRODUCT", what.linear_before_reset);
  gchar *text = gst_opencl_source_of_resource (INFERENCE_KERNELS "recurrent.clh", error);
  if (!text)
    return false;
  source += text;
  g_free (text);
  return kernel.create_from_source (
      request.context, source.c_str (), "recurrent", options.c_str (), error);
}
} // namespace

StepPointer
make_recurrent_step (const StepRequest &request, const RecurrentOp &what, GError **error)
{
  return created_step<RecurrentStep> (request, error, what);
}
} // namespace inference
