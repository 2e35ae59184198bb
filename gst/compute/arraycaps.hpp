/* Caps and axes of filters of arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "outputcaps.hpp"
#include "stream.hpp"

#include <string>
#include <vector>

namespace compute {
/* Reads axes such as "0,-1" in NumPy's order, outermost dimension first. `axes` is empty
 * if the text is. */
bool parse_axes (
    const std::string &text, gsize rank, std::vector<gsize> &axes, GError **error);

/* Returns the output array for an input array. Fails with an error for settings that do
 * not fit. */
using ArrayOutputOf = std::function<bool (
    const Stream &input, opencl::ArrayFormat &output, GError **error)>;

/* `other/tensors` caps with the framerate of the input */
OutputOf tensors_of (const ArrayOutputOf &output_of);

/* Returns output caps for input caps that may be ranges. Input without an output gives
 * caps of its own array: set_caps() reports the reason. (transfer full) */
GstCaps *array_outputs (GstCaps *inputs, const ArrayOutputOf &output_of);

/* Returns input caps for output caps: arrays of any type and size, or also video.
 * (transfer full) */
GstCaps *array_inputs (GstCaps *outputs, bool also_video);

/* Checks that negotiated output caps are those of `made`. */
bool check_agreed (const opencl::ArrayFormat &made, GstCaps *output, GError **error);

/* Converts a byte offset into elements of `size` bytes. */
bool element_offset (gsize bytes, gsize size, gint64 &elements, GError **error);
} // namespace compute
