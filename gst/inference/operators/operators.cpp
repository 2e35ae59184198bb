/* Looks up operators of ONNX by name
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>

namespace inference {
static const std::vector<Operator> *const families[] = {&elementwise_operators,
    &view_operators, &shape_operators, &convolution_operators, &pooling_operators,
    &reduction_operators, &product_operators, &resize_operators,
    &normalization_operators};

const Operator *
operator_named (const std::string &name)
{
  for (const std::vector<Operator> *family : families)
    for (const Operator &op : *family)
      if (name == op.name)
        return &op;
  return nullptr;
}

std::vector<std::string>
operator_names ()
{
  std::vector<std::string> names;
  for (const std::vector<Operator> *family : families)
    for (const Operator &op : *family)
      names.push_back (op.name);
  std::sort (names.begin (), names.end ());
  return names;
}
} // namespace inference
