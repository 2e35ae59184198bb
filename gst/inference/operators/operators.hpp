/* Tables of the supported operators of ONNX, a table for each family
 *
 * Semantics are those of https://onnx.ai/onnx/operators/.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/lowering.hpp"

namespace inference {
constexpr gsize any_number = G_MAXSIZE;

extern const std::vector<Operator> elementwise_operators, view_operators, shape_operators,
    convolution_operators, pooling_operators, reduction_operators, product_operators,
    resize_operators, normalization_operators;
} // namespace inference
