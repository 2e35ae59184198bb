/* Pass that makes rounding to the steps of a quantized tensor part of a convolution
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "links.hpp"

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
/* Is operand `n` of an operation with one instruction a single constant? */
bool
read_number (const Graph &graph, const Operation &operation, gsize n, float &number)
{
  const Value &value = graph[operation.inputs[n]];
  if (!value.constant || value.constant->count () != 1)
    return false;
  number = float (value.constant->number (0));
  return true;
}

/* Takes a Quantize. Rounding is monotonous, so limits before it become limits of
 * the result. */
bool
take_quantization (const Graph &graph, const Operation &operation, ConvolutionOp &made)
{
  const auto *what = std::get_if<ElementwiseOp> (&operation.what);
  float step, zero;
  if (!what || what->program.size () != 1
      || std::string (what->program[0].op->name) != "Quantize"
      || !read_number (graph, operation, 1, step)
      || !read_number (graph, operation, 2, zero))
    return false;
  const float factor = 1 / step;
  const bool relu = made.activation == Activation::relu;
  if (!(factor > 0) || !std::isfinite (factor)
      || (!relu && made.activation != Activation::none
          && made.activation != Activation::clip))
    return false;
  const auto &limits = what->program[0].parameters;
  made.low = float (limits[0]) - zero;
  made.high = float (limits[1]) - zero;
  if (made.activation != Activation::none) {
    const float least = relu ? 0 : std::nearbyint (made.a * factor);
    const float most = relu ? INFINITY : std::nearbyint (made.b * factor);
    made.low = std::min (std::max (made.low, least), made.high);
    made.high = std::max (std::min (made.high, most), made.low);
  }
  made.activation = Activation::quantize;
  made.a = factor;
  made.b = 1;
  return true;
}
} // namespace

void
fuse_quantization (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations) {
    auto *convolution = as<ConvolutionOp> (operation);
    if (!convolution)
      continue;
    Operation *before = &operation, *reader = only_reader (graph, links, operation);
    while (reader && as<ViewOp> (*reader)) {
      before = reader;
      reader = only_reader (graph, links, *before);
    }
    if (!reader || graph[reader->outputs[0]].shape != graph[before->outputs[0]].shape
        || !take_quantization (graph, *reader, *convolution))
      continue;
    before->outputs[0] = reader->outputs[0];
    reader->outputs.clear ();
    reader = only_reader (graph, links, *before);
    const auto *what = reader ? as<ElementwiseOp> (*reader) : nullptr;
    if (!what || what->program.size () != 1
        || std::string (what->program[0].op->name) != "Mul"
        || graph[reader->outputs[0]].shape != graph[before->outputs[0]].shape
        || reader->inputs[0] != before->outputs[0]
        || !read_number (graph, *reader, 1, convolution->b))
      continue;
    before->outputs[0] = reader->outputs[0];
    reader->outputs.clear ();
  }
  remove_marked (graph);
}
} // namespace inference
