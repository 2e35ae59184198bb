/* opencl-bench: convolution cases
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "session.hpp"

namespace bench {
/* Each size with method=auto, and its baselines */
std::vector<Case> convolutions_of_compute ();

/* Returns numbers between -0.5 and 0.5, the same each time. */
std::vector<float> random_numbers (size_t count);

/* Returns the multiplications and additions per second of numbers in registers, or 0 if
 * they cannot be measured. Measures them once. */
double peak_of (const Session &session);
} // namespace bench
