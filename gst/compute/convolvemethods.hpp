/* The methods of a convolution
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolver.hpp"

namespace compute {
using MakeConvolver = std::unique_ptr<Convolver> (*) (
    GstOpenCLContext *context, const Convolution &convolution, GError **error);

/* Each number of the output as the sum that it is: over planes, or where a group has
 * filters enough, as a product of matrices whose left one is the input itself. */
std::unique_ptr<Convolver> make_direct (
    GstOpenCLContext *context, const Convolution &convolution, GError **error);
} // namespace compute
