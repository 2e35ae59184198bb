/* Output caps of user-supplied programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "programsettings.hpp"
#include "stream.hpp"

namespace compute {
/* `wanted` as caps of whole elements: in device memory, or in any with `any_memory`, and
 * what they leave open as in `like` (nullable) where that is of the same kind. */
GstCaps *complete_caps (const GstCaps *wanted, const GstStructure *like, bool any_memory);

/* What a program makes of inputs of `caps`, the best first; `framerate` stays. */
GstCaps *outputs_of (const ProgramSettings &settings, GstCaps *caps);
/* What it takes where its output is `caps`. */
GstCaps *inputs_of (const ProgramSettings &settings, GstCaps *caps);

/* What an expression makes of such inputs: `array` in every kind of caps; the kind, and
 * the type of number, of `like` (nullable) first. NULL where it makes none, with an
 * error. */
GstCaps *outputs_of_expression (const ProgramSettings &settings,
    const std::vector<Stream> &inputs, const GstStructure *like, GError **error);

/* One of `caps`: as much as can be as in `like`, (transfer full) both. */
GstCaps *fixate_like (GstCaps *caps, GstCaps *like);
} // namespace compute
