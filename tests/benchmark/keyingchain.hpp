/* opencl-bench: the green screen's elements and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "run.hpp"

namespace bench {
/* From the picture as filmed to the key, both on the device. */
extern const char *const keying_chain;

/* Steps of the chain that look at neighbours: 5, 3 and 5. */
constexpr unsigned noise_steps = 5, flow_steps = 3;

std::string rgba_caps (unsigned width, unsigned height);

/* A screen lit unevenly, with a camera's noise, and somebody before it. */
Feed green_screen (unsigned width, unsigned height);

/* A picture in which keying flows on from the left by one column a step, for `columns`.
 */
Feed long_flow (unsigned width, unsigned height, unsigned columns);
} // namespace bench
