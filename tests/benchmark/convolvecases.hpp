/* opencl-bench: the cases of convolutions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "session.hpp"

namespace bench {
/* Each size by the method that is chosen for it, and by others' programs. */
std::vector<Case> convolutions_of_compute ();

/* Between -0.5 and 0.5, the same each time */
std::vector<float> random_numbers (size_t count);

/* Multiplications and additions a second of numbers that are in registers; 0 where that
 * cannot be measured. Measured once. */
double peak_of (const Session &session);
} // namespace bench
