/* The scan meta of a buffer as text, for comparisons
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../harness.hpp"

#include <gst/oct/octscanmeta.h>

namespace check {
inline std::string
scan_text (const GstOctScan &scan)
{
  return text ("frame %" G_GUINT64_FORMAT " volume %" G_GUINT64_FORMAT
               " b-scan %u/%u repeat %u/%u%s",
      scan.frame, scan.volume, scan.b_scan, scan.b_scans, scan.repeat, scan.repeats,
      scan.reversed ? " reversed" : "");
}

/* Empty if the buffer has no scan meta */
inline std::string
scan_text (GstBuffer *buffer)
{
  GstOctScan scan;
  return gst_buffer_get_oct_scan (buffer, &scan) ? scan_text (scan) : "";
}
} // namespace check
