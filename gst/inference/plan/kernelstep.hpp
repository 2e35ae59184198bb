/* Plan steps that launch one kernel on tensors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "step.hpp"

#include <gst/reduction/reduction.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <functional>

namespace inference {
using opencl::macro;

#define INFERENCE_KERNELS "/org/freedesktop/gstreamer/opencl/inference/"

/* The shortest type of OpenCL C for an index of `items`, as 64-bit division is slow */
inline const char *
index_type (gsize items)
{
  return items <= G_MAXUINT32 ? "uint" : "ulong";
}

/* Sets an argument of this type. */
inline bool
set_count (opencl::Kernel &kernel, cl_uint &index, gsize items, GError **error)
{
  return items <= G_MAXUINT32 ? kernel.set (index, cl_uint (items), error)
                              : kernel.set (index, cl_ulong (items), error);
}

/* OpenCL C of an instruction's operator on expressions, for vectors of `lanes` */
std::string text_of (const Instruction &instruction, gsize lanes,
    const std::vector<std::string> &operands);

/* A table of lengths and strides. A buffer cannot be empty. */
inline cl::Buffer
table_of_lengths (GstOpenCLContext *context, std::vector<cl_long> values, GError **error)
{
  if (values.empty ())
    values.push_back (0);
  return opencl::make_table (
      context, values.data (), values.size () * sizeof (cl_long), error);
}

/* A kernel and its launch. A subclass sets the arguments. */
class KernelStep : public Step {
public:
  bool enqueue (cl_command_queue queue, const Memories &memories, GError **error) override
  {
    cl_uint index = 0;
    return set_arguments (index, memories, error) && launch (queue, error);
  }

protected:
  virtual bool set_arguments (
      cl_uint &index, const Memories &memories, GError **error) = 0;
  virtual bool launch (cl_command_queue queue, GError **error)
  {
    return kernel.enqueue (queue, items, 1, error);
  }

  /* The buffer of a tensor and its offset */
  bool set_tensor (
      cl_uint &index, const Tensor &tensor, const Memories &memories, GError **error)
  {
    return kernel.set (index, buffer_of (tensor, memories), error)
           && kernel.set (index, cl_long (offset_of (tensor, memories)), error);
  }
  template <typename... Values>
  bool set (cl_uint &index, GError **error, const Values &...values)
  {
    return (kernel.set (index, values, error) && ...);
  }
  /* A number as the kernel's REAL */
  bool set_real (cl_uint &index, opencl::NumberType type, double value, GError **error)
  {
    if (type == opencl::NumberType::f64)
      return kernel.set (index, cl_double (value), error);
    return opencl::info_of (type).kind == 'f'
               ? kernel.set (index, cl_float (value), error)
               : kernel.set (index, cl_long (value), error);
  }
  /* The last two dimensions: buffer, offset, and strides of rows and columns */
  bool set_matrix (
      cl_uint &index, const Tensor &matrix, const Memories &memories, GError **error)
  {
    const gsize rank = matrix.rank ();
    return set_tensor (index, matrix, memories, error)
           && set (index, error, cl_long (matrix.strides[rank - 2]),
               cl_long (matrix.strides[rank - 1]));
  }
  bool make_geometry (
      GstOpenCLContext *context, const std::vector<cl_long> &table, GError **error)
  {
    geometry = table_of_lengths (context, table, error);
    return geometry () != nullptr;
  }

  gsize items = 0;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};

/* Kernels in turn. A tensor is two arguments, its buffer and offset. */
class CallStep : public Step {
public:
  explicit CallStep (GstOpenCLContext *context) : context (context) {}

  /* A table of lengths and strides, as an argument; NULL with an error set on failure */
  cl_mem table (const std::vector<cl_long> &values, GError **error)
  {
    tables.push_back (table_of_lengths (context, values, error));
    return tables.back () ();
  }
  /* `file`: of kernels/inference, or the path of a resource. `group`: work-items of a
   * work-group, or 0 for any number */
  template <typename... Arguments>
  bool add (const char *file, const char *name, const std::string &options, gsize items,
      gsize group, GError **error, const Arguments &...arguments)
  {
    auto kernel = std::make_shared<opencl::Kernel> ();
    const std::string path = (*file == '/' ? "" : INFERENCE_KERNELS) + std::string (file);
    calls.push_back ([=] (cl_command_queue queue, const Memories &memories, GError **e) {
      cl_uint index = 0;
      const gsize global[] = {items, 1, 1}, local[] = {group, 1, 1};
      return (set (*kernel, index, arguments, memories, e) && ...)
             && (group ? kernel->enqueue_box (queue, global, local, e)
                       : kernel->enqueue (queue, items, 1, e));
    });
    return kernel->create (context, path.c_str (), name, options.c_str (), error);
  }
  bool enqueue (cl_command_queue queue, const Memories &memories, GError **error) override
  {
    for (const Call &call : calls)
      if (!call (queue, memories, error))
        return false;
    return true;
  }

private:
  using Call = std::function<bool (cl_command_queue, const Memories &, GError **)>;

  template <typename Argument>
  static bool set (opencl::Kernel &kernel, cl_uint &index, const Argument &argument,
      const Memories &memories, GError **error)
  {
    if constexpr (std::is_same_v<Argument, Tensor>)
      return kernel.set (index, buffer_of (argument, memories), error)
             && kernel.set (index, cl_long (offset_of (argument, memories)), error);
    else
      return kernel.set (index, argument, error);
  }

  GstOpenCLContext *context;
  std::vector<cl::Buffer> tables;
  std::vector<Call> calls;
};

/* Makes a step by its create (request, what, error). */
template <typename Made, typename... What>
StepPointer
created_step (const StepRequest &request, GError **error, const What &...what)
{
  auto step = std::make_unique<Made> ();
  return step->create (request, what..., error) ? std::move (step) : nullptr;
}

/* Number of neighbouring elements of dimension `d` that a vector may have: `d` must be
 * contiguous in both tensors. */
inline gsize
lanes_of (GstOpenCLContext *context, const Tensor &input, const Tensor &output, gsize d)
{
  if (input.strides[d] != 1 || output.strides[d] != 1 || input.element_size () > 4
      || opencl::info_of (input.type).kind != 'f')
    return 1;
  gsize lanes = opencl::is_cpu (context) ? opencl::float_lanes (context) : 4;
  while (lanes > 1 && output.shape[d] % gint64 (lanes) != 0)
    lanes /= 2;
  return lanes;
}
} // namespace inference
