/* Output caps of user-supplied programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "programsettings.hpp"
#include "stream.hpp"

namespace compute {
/* Completes `wanted` and adds the device memory feature. With `any_memory`, it also
 * returns the caps without that feature. Missing fields are those of `like` (nullable),
 * if it has the same media type. */
GstCaps *complete_caps (const GstCaps *wanted, const GstStructure *like, bool any_memory);

/* Returns the output caps for inputs of `caps`, best first. The framerate stays. */
GstCaps *outputs_of (const ProgramSettings &settings, GstCaps *caps);
/* Returns the input caps for an output of `caps`. */
GstCaps *inputs_of (const ProgramSettings &settings, GstCaps *caps);

/* Returns the output caps of an expression: all media types with its shape, those of
 * `like` (nullable) first. Returns NULL with an error if the expression cannot have these
 * inputs. */
GstCaps *outputs_of_expression (const ProgramSettings &settings,
    const std::vector<Stream> &inputs, const GstStructure *like, GError **error);

/* Fixates `caps`, as close to `like` as possible. Takes ownership of both. */
GstCaps *fixate_like (GstCaps *caps, GstCaps *like);
} // namespace compute
