/* Filters the answer to a caps query
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* (transfer full): of `caps` (transfer full) those that `filter` (nullable) takes, in the order
 * in which it would have them, as every caps query is answered */
inline GstCaps *
filtered_caps (GstCaps *caps, GstCaps *filter)
{
  if (filter)
    gst_caps_take (
        &caps, gst_caps_intersect_full (filter, caps, GST_CAPS_INTERSECT_FIRST));
  return caps;
}
} // namespace opencl
