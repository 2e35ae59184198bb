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

/* Returns the output caps for inputs of `caps`, best first. `framerate` stays. */
GstCaps *outputs_of (const ProgramSettings &settings, GstCaps *caps);
/* Returns the input caps for an output of `caps`. */
GstCaps *inputs_of (const ProgramSettings &settings, GstCaps *caps);

/* Returns the output caps of an expression: `array` in every kind of caps, with the
 * kind and type of number of `like` (nullable) first. Returns NULL with an error if
 * the expression cannot have these inputs. */
GstCaps *outputs_of_expression (const ProgramSettings &settings,
    const std::vector<Stream> &inputs, const GstStructure *like, GError **error);

/* One of `caps`: as much as can be as in `like`, (transfer full) both. */
GstCaps *fixate_like (GstCaps *caps, GstCaps *like);
} // namespace compute
