/* Output caps of filters whose output follows from input caps and settings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "outputcaps.hpp"

#include <gst/opencl/gstopenclmemory.h>

namespace compute {
bool
is_fixed (const GstStructure *structure)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (structure), nullptr);
  const bool fixed = gst_caps_is_fixed (caps);
  gst_caps_unref (caps);
  return fixed;
}

GstCaps *
device_caps (GstStructure *structure)
{
  GstCaps *caps = gst_caps_new_empty ();
  gst_caps_append_structure_full (caps, structure,
      gst_caps_features_new_single (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY));
  return caps;
}

bool
choose_output (GstBaseTransform *transform, const OutputOf &output_of, GstCaps *input,
    GstCaps **output, GError **error)
{
  GstStructure *made = output_of (gst_caps_get_structure (input, 0), error);
  if (!made)
    return false;
  GstCaps *outputs = device_caps (made);
  if (gst_caps_can_intersect (outputs, *output)) {
    gst_caps_unref (outputs);
    return true;
  }
  if (!opencl::is_accepted_downstream (transform, gst_caps_ref (outputs), error)) {
    gst_caps_unref (outputs);
    return false;
  }
  gst_caps_take (output, gst_caps_fixate (outputs));
  return true;
}
} // namespace compute
