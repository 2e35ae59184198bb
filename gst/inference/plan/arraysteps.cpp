/* Reductions, softmax, products and resampling
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <gst/reduction/matmul.hpp>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>

namespace inference {
namespace {
/* --- reductions --- */

class ReduceStep : public Step {
public:
  bool create (const StepRequest &request, const ReduceOp &what, GError **error)
  {
    input = request.inputs[0];
    output = request.outputs[0];
    return reducer.create (request.context, what.kind, input.type, output.type,
        {input.shape, input.strides}, {output.shape, output.strides}, error);
  }
  bool enqueue (cl_command_queue queue, const Memories &memories, GError **error) override
  {
    return reducer.enqueue (queue, buffer_of (input, memories),
        offset_of (input, memories), buffer_of (output, memories),
        offset_of (output, memories), error);
  }

private:
  Tensor input, output;
  compute::Reducer reducer;
};

class ScanStep : public Step {
public:
  bool create (const StepRequest &request, const ScanOp &what, GError **error)
  {
    input = request.inputs[0];
    output = request.outputs[0];
    return scanner.create (request.context, input.type, output.type,
        {input.shape, input.strides}, {output.shape, output.strides}, gsize (what.axis),
        error);
  }
  bool enqueue (cl_command_queue queue, const Memories &memories, GError **error) override
  {
    return scanner.enqueue (queue, buffer_of (input, memories),
        offset_of (input, memories), buffer_of (output, memories),
        offset_of (output, memories), error);
  }

private:
  Tensor input, output;
  compute::CumulativeSum scanner;
};

/* --- products of matrices --- */

class ProductStep : public KernelStep {
public:
  bool create (const StepRequest &request, GError **error)
  {
    a = request.inputs[0];
    b = request.inputs[1];
    c = request.outputs[0];
    const gsize outer = c.rank () - 2;
    std::vector<cl_long> table;
    for (gsize d = outer; d-- > 0;) {
      table.insert (table.end (), {c.shape[d], a.strides[d], b.strides[d], c.strides[d]});
      batches *= gsize (c.shape[d]);
    }
    GstOpenCLContext *context = request.context;
    how = {{opencl::is_cpu (context), opencl::float_lanes (context),
               opencl::largest_group (context)},
        c.type, rows (), columns (), batches, outer};
    return make_geometry (context, table, error)
           && kernel.create (context, MATMUL_KERNELS, how.name, how.options, error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return set_matrix (index, a, memories, error)
           && set_matrix (index, b, memories, error)
           && set_matrix (index, c, memories, error)
           && set (index, error, geometry (), cl_long (rows ()), cl_long (columns ()),
               cl_long (a.shape.back ()), cl_long (how.run));
  }
  bool launch (cl_command_queue queue, GError **error) override
  {
    return kernel.enqueue_box (queue, how.global, how.local, error);
  }

private:
  gint64 rows () const { return c.shape[c.rank () - 2]; }
  gint64 columns () const { return c.shape.back (); }

  Tensor a, b, c;
  gsize batches = 1;
  compute::MatmulKernel how;
};

/* --- resampling --- */

class ResampleStep : public KernelStep {
public:
  bool create (const StepRequest &request, const ResampleOp &what, GError **error)
  {
    input = request.inputs[0];
    output = request.outputs[0];
    fill = what.fill;
    std::vector<gsize> order; /* innermost first */
    for (gsize d = output.rank (); d-- > 0;)
      order.push_back (d);
    std::stable_sort (order.begin (), order.end (), [&] (gsize one, gsize other) {
      return std::abs (output.strides[one]) < std::abs (output.strides[other]);
    });
    bool weighted = false;
    std::vector<cl_long> table;
    std::vector<cl_int> indices;
    std::vector<cl_float> factors;
    std::string taps; /* of each dimension */
    for (const auto &own : what.tables)
      weighted = weighted || (own && !own->weights.empty ());
    for (const gsize d : order) {
      const auto &own = what.tables[d];
      table.insert (table.end (), {output.shape[d], input.strides[d], output.strides[d],
                                      cl_long (indices.size ())});
      taps += (taps.empty () ? "" : ",") + std::to_string (own ? own->taps : 0);
      if (!own)
        continue;
      indices.insert (indices.end (), own->index.begin (), own->index.end ());
      factors.insert (factors.end (), own->weights.begin (), own->weights.end ());
      factors.resize (indices.size (), 1);
    }
    const gsize lanes =
        what.tables[order[0]] ? 1 : lanes_of (request.context, input, output, order[0]);
    items = gsize (output.count ()) / lanes;
    index_table = opencl::make_table (
        request.context, indices.data (), indices.size () * sizeof (cl_int), error);
    if (!index_table ())
      return false;
    weight_table = opencl::make_table (
        request.context, factors.data (), factors.size () * sizeof (cl_float), error);
    const std::string options = compute::number_macros (input.type, lanes)
                                + macro ("RANK", gint64 (order.size ()))
                                + macro ("WEIGHTED", weighted) + " -DTAPS=" + taps
                                + " -DINDEX=" + index_type (items);
    return weight_table () && make_geometry (request.context, table, error)
           && kernel.create (request.context, INFERENCE_KERNELS "resample.cl", "resample",
               options.c_str (), error);
  }

protected:
  bool set_arguments (cl_uint &index, const Memories &memories, GError **error) override
  {
    return set_tensor (index, input, memories, error)
           && set_tensor (index, output, memories, error)
           && set (index, error, geometry (), index_table (), weight_table ())
           && set_real (index, input.type, fill, error)
           && set_count (kernel, index, items, error);
  }

private:
  Tensor input, output;
  double fill = 0;
  cl::Buffer index_table, weight_table;
};
} // namespace

StepPointer
make_reduce_step (const StepRequest &request, const ReduceOp &what, GError **error)
{
  return created_step<ReduceStep> (request, error, what);
}

StepPointer
make_scan_step (const StepRequest &request, const ScanOp &what, GError **error)
{
  return created_step<ScanStep> (request, error, what);
}

StepPointer
make_product_step (const StepRequest &request, GError **error)
{
  return created_step<ProductStep> (request, error);
}

StepPointer
make_resample_step (const StepRequest &request, const ResampleOp &what, GError **error)
{
  return created_step<ResampleStep> (request, error, what);
}
} // namespace inference
