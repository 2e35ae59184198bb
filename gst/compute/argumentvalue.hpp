/* Parses the values of kernel arguments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "signature.hpp"

#include <gst/gst.h>

namespace compute {
/* Exact for every type of number that OpenCL C has. */
using Number = long double;

/* A number of any type, a boolean, a fraction, or an array or list of these. */
bool numbers_of_value (const GValue *value, std::vector<Number> &numbers);

/* `numbers` as the bytes of the value that `parameter` declares; an error where there are
 * more or fewer than it has lanes, or where its type does not hold one of them. */
bool bytes_of_numbers (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error);

/* An error about an argument; it lists what the kernel has. */
bool fail_argument (
    GError **error, const std::string &message, const Signature &signature);
} // namespace compute
