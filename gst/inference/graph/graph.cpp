/* A network as operations on values of known shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "graph.hpp"

namespace inference {
ValueId
Graph::add (Value value)
{
  values.push_back (std::move (value));
  return ValueId (values.size ()) - 1;
}

std::vector<guint>
Graph::count_uses () const
{
  std::vector<guint> uses (values.size (), 0);
  for (const Operation &operation : operations)
    for (const ValueId input : operation.inputs)
      if (input != no_value)
        uses[gsize (input)]++;
  for (const ValueId output : outputs)
    uses[gsize (output)]++;
  return uses;
}

std::vector<gint64>
contiguous_strides (const Shape &shape)
{
  std::vector<gint64> strides (shape.size (), 1);
  for (gsize d = shape.size (); d > 1; d--)
    strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}
} // namespace inference
