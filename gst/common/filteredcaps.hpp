/* Filters the answer to a caps query
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Returns the part of `caps` (transfer full) that `filter` (nullable) allows, in the
 * filter's order of preference, as every caps query is answered. (transfer full) */
inline GstCaps *
filtered_caps (GstCaps *caps, GstCaps *filter)
{
  if (filter)
    gst_caps_take (
        &caps, gst_caps_intersect_full (filter, caps, GST_CAPS_INTERSECT_FIRST));
  return caps;
}
} // namespace opencl
