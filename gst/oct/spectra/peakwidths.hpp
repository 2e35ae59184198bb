/* Query for the width of a mirror's peak that the window and the source's spectrum allow
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <limits>

namespace oct {
/* Sent upstream by octsignal. octwindowinterp answers it. Both widths are full widths at
 * half of the amplitude, in depth bins; NaN if unknown. */
struct PeakWidths {
  double window = std::numeric_limits<double>::quiet_NaN ();   /* of the window alone */
  double spectrum = std::numeric_limits<double>::quiet_NaN (); /* with the spectrum */
};

const char *const peak_widths_query = "GstOctPeakWidths";

/* (transfer full) */
inline GstQuery *
new_peak_widths_query (PeakWidths &widths)
{
  return gst_query_new_custom (
      GST_QUERY_CUSTOM, gst_structure_new (peak_widths_query, "widths", G_TYPE_POINTER,
                            static_cast<gpointer> (&widths), nullptr));
}

/* (nullable): null for other queries */
inline PeakWidths *
peak_widths_of (GstQuery *query)
{
  gpointer widths = nullptr;
  const GstStructure *structure = gst_query_get_structure (query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_CUSTOM && structure
      && gst_structure_has_name (structure, peak_widths_query))
    gst_structure_get (structure, "widths", G_TYPE_POINTER, &widths, nullptr);
  return static_cast<PeakWidths *> (widths);
}
} // namespace oct
