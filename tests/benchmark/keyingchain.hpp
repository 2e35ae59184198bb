/* opencl-bench: keying pipelines and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "run.hpp"

namespace bench {
/* A hard key and its cleaning, device to device */
extern const char *const keying_chain;
/* A soft key with edge refinement, core matte and spill suppression */
extern const char *const soft_chain;

/* Iterations of noisereduce (before and after flowkey) and of flowkey in keying_chain */
constexpr unsigned noise_steps = 5, flow_steps = 3;

std::string rgba_caps (unsigned width, unsigned height);

/* A person before an unevenly lit screen, with camera noise */
Feed green_screen (unsigned width, unsigned height);

/* A frame in which flowkey spreads the key from the left edge by one column per
 * iteration, over `columns` columns */
Feed long_flow (unsigned width, unsigned height, unsigned columns);

/* Keys NV12 frames over a background on the device. Output is NV12. */
bool camera_line (const std::string &keyer, unsigned width, unsigned height, Line &line,
    std::string &error);

/* NV12 to RGBA and back */
bool conversion_line (unsigned width, unsigned height, Line &line, std::string &error);

/* The same with GStreamer's own elements, on two CPU threads */
bool cpu_camera_line (unsigned width, unsigned height, Line &line, std::string &error);
bool cpu_conversion_line (
    unsigned width, unsigned height, Line &line, std::string &error);

/* Uploads the frame of `feed`. */
bool hold_on_device (const Feed &feed, Feed &held, std::string &error);
} // namespace bench
