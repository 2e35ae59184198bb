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

/* Leaves only the part of the answer to a CAPS query that `allowed` (transfer full) has,
 * unless that is nothing. */
inline void
narrow_answer (GstQuery *query, GstCaps *allowed)
{
  GstCaps *result;
  gst_query_parse_caps_result (query, &result);
  GstCaps *narrowed = gst_caps_intersect (result, allowed);
  if (!gst_caps_is_empty (narrowed))
    gst_query_set_caps_result (query, narrowed);
  gst_caps_unref (narrowed);
  gst_caps_unref (allowed);
}
} // namespace opencl
