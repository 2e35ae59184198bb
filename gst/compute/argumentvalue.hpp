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

/* Appends the numbers of `value`, which is a number of any type, a boolean, a fraction,
 * or an array or list of these. Returns FALSE for all others. */
bool numbers_of_value (const GValue *value, std::vector<Number> &numbers);

/* Converts `numbers` to the bytes of a value of `parameter`. Fails if their count is not
 * its number of lanes, or if its type cannot hold one of them. */
bool bytes_of_numbers (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error);

/* Sets an error about an argument, and lists the kernel's arguments. Returns FALSE. */
bool fail_argument (
    GError **error, const std::string &message, const Signature &signature);
} // namespace compute
