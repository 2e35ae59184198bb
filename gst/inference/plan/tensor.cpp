/* Placement of values in the memory of a plan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tensor.hpp"

#include <algorithm>
#include <numeric>

namespace inference {
bool
is_channels_last (const Tensor &tensor)
{
  return tensor.rank () >= 3 && (tensor.strides[1] == 1 || tensor.shape[1] == 1);
}

std::vector<gint64>
channels_last_strides (const Shape &shape)
{
  std::vector<gint64> strides (shape.size (), 1);
  gint64 step = shape[1];
  for (gsize d = shape.size (); d > 2; d--) {
    strides[d - 1] = step;
    step *= shape[d - 1];
  }
  strides[0] = step;
  return strides;
}

/* --- the arena --- */

gsize
assign_offsets (std::vector<Lifetime> &blocks, gsize alignment)
{
  std::vector<gsize> order (blocks.size ());
  std::vector<const Lifetime *> placed; /* by offset */
  gsize end = 0;

  std::iota (order.begin (), order.end (), 0);
  std::stable_sort (order.begin (), order.end (),
      [&] (gsize a, gsize b) { return blocks[a].size > blocks[b].size; });
  for (const gsize n : order) {
    Lifetime &block = blocks[n];
    gsize at = 0;
    block.size = (block.size + alignment - 1) / alignment * alignment;
    for (const Lifetime *other : placed) {
      if (other->last < block.first || other->first > block.last)
        continue;
      if (at + block.size <= other->offset)
        break;
      at = std::max (at, other->offset + other->size);
    }
    block.offset = at;
    end = std::max (end, at + block.size);
    placed.insert (
        std::upper_bound (placed.begin (), placed.end (), &block,
            [] (const Lifetime *a, const Lifetime *b) { return a->offset < b->offset; }),
        &block);
  }
  return end;
}
} // namespace inference
