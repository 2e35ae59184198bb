/* Placement of a value in the memory of a plan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tensor.hpp"

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
} // namespace inference
