/* opencl-bench: the green screen's elements and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "run.hpp"

namespace bench {
/* From the picture as filmed to the key, both on the device. */
extern const char *const keying_chain;
/* The same with a soft key, and all that makes it good. */
extern const char *const soft_chain;

/* Steps of the chain that look at neighbours: 5, 3 and 5. */
constexpr unsigned noise_steps = 5, flow_steps = 3;

std::string rgba_caps (unsigned width, unsigned height);

/* A person before an unevenly lit screen, with camera noise */
Feed green_screen (unsigned width, unsigned height);

/* A picture in which keying flows on from the left by one column a step, for `columns`.
 */
Feed long_flow (unsigned width, unsigned height, unsigned columns);

/* A camera's picture as NV12, keyed, over a background that is on the device, as NV12. */
bool camera_line (const std::string &keyer, unsigned width, unsigned height, Line &line,
    std::string &error);

/* NV12 to RGBA and back. */
bool conversion_line (unsigned width, unsigned height, Line &line, std::string &error);

/* Both as GStreamer's own elements do them on two threads of the CPU. */
bool cpu_camera_line (unsigned width, unsigned height, Line &line, std::string &error);
bool cpu_conversion_line (
    unsigned width, unsigned height, Line &line, std::string &error);

/* `feed`'s frame on the device. */
bool hold_on_device (const Feed &feed, Feed &held, std::string &error);
} // namespace bench
