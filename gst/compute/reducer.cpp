/* Reductions of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "reducer.hpp"

#include <gst/opencl/base/devicebuffer.hpp>

namespace compute {
bool
Reducer::create_in_two (GstOpenCLContext *context, const ReductionPass::Request &request,
    const ReductionParts &parts, GError **error)
{
  const ReductionShape packed = packed_output (request.shape);
  const gint64 results = packed.kept_count ();
  ReductionPass::Request dividing = request, combining = request;
  dividing.shape = packed;
  dividing.writes_partials = combining.reads_partials = true;
  for (gsize d = 0; d < packed.kept.size (); d++)
    combining.shape.kept[d].input = packed.kept[d].output;
  combining.shape.reduced = {{parts.count, results, 0}};
  combining.types.stored = request.types.computed;

  /* Even, as positions of 64 bits follow values of 32, and GPUs only read aligned numbers */
  partial_count = (results * parts.count + 1) / 2 * 2;
  first.plan (context, dividing);
  second.plan (context, combining);
  return opencl::make_buffer (
             context, partial_bytes (request.types, partial_count), partials, error)
         && first.create (context, parts, error) && second.create (context, {}, error);
}

bool
Reducer::create (GstOpenCLContext *context, Reduction reduction,
    opencl::NumberType stored, opencl::NumberType written, const ArrayLayout &input,
    const ArrayLayout &output, GError **error)
{
  const ReductionShape shape = make_shape (input, output);
  const ReductionPass::Request request = {reduction,
      types_of (reduction, stored, written), shape, shape.rows () * shape.columns ()};
  first.plan (context, request);
  const ReductionParts parts = first.useful_parts (context);
  if (parts.count > 1)
    return create_in_two (context, request, parts, error);
  partial_count = 0;
  return first.create (context, {}, error);
}

bool
Reducer::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  if (partial_count == 0)
    return first.enqueue (queue, input, input_offset, output, output_offset, error);
  return first.enqueue (queue, input, input_offset, partials (), partial_count, error)
         && second.enqueue (
             queue, partials (), partial_count, output, output_offset, error);
}
} // namespace compute
