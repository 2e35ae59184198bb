/* Output caps of filters whose output follows from input caps and settings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/common/settings.hpp>

#include <functional>

namespace compute {
/* Returns the output caps for fixed input caps. Returns NULL, with an error for settings
 * that do not fit, if there are none. (transfer full) */
using OutputOf = std::function<GstStructure *(const GstStructure *input, GError **error)>;

bool is_fixed (const GstStructure *structure);

/* Caps of one structure, in device memory. (transfer full) */
GstCaps *device_caps (GstStructure *structure);

/* Sets `output` to the caps for `input`. They stay if they still fit. Returns false if
 * there are none, or if downstream does not accept them. */
bool choose_output (GstBaseTransform *transform, const OutputOf &output_of,
    GstCaps *input, GstCaps **output, GError **error);

/* Applies changed settings between two frames. If the output caps change, the base class
 * negotiates them before the next frame. `output_of` (settings) returns an OutputOf.
 * `make` (settings, input caps, output caps, error) changes nothing if it fails. */
template <typename Values, typename OutputsOf, typename Make>
void
update_settings (GstBaseTransform *transform, opencl::Settings<Values> &settings,
    OutputsOf output_of, Make make)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *before = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (transform));
  GstCaps *output = before ? gst_caps_ref (before) : nullptr;
  auto accept = [&] (const Values &wanted, GError **error) {
    return choose_output (transform, output_of (wanted), input, &output, error)
           && make (wanted, input, output, error);
  };

  if (input && output && settings.is_started () && settings.update (accept)
      && !gst_caps_is_equal (before, output))
    gst_base_transform_reconfigure_src (transform);
  gst_clear_caps (&input);
  gst_clear_caps (&before);
  gst_clear_caps (&output);
}
} // namespace compute
