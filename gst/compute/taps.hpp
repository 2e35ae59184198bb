/* Arrays of numbers that a property names: a .npy file, or nested lists as they are written
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <memory>
#include <string>
#include <vector>

namespace compute {
struct Taps {
  std::vector<gsize> shape; /* outermost dimension first; empty for a single number */
  std::vector<double> values;
};

/* `text`: "<<0,1,0>,<1,-4,1>,<0,1,0>>" with numbers, or fractions of them, or the path of
 * a .npy file. NULL with an error that names `property`. */
std::shared_ptr<const Taps> read_taps (
    const char *property, const std::string &text, GError **error);
} // namespace compute
