/* Display aspect ratio of video whose caps may have an invalid pixel aspect ratio
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <utility>

namespace opencl {
/* Returns 1/1 for 0/1, which a broken header may have. */
inline std::pair<gint, gint>
valid_pixel_ratio (gint n, gint d)
{
  return n > 0 && d > 0 ? std::pair (n, d) : std::pair (1, 1);
}

/* Like gst_video_calculate_display_ratio(), for any pixel aspect ratios */
inline bool
calculate_display_ratio (guint *n, guint *d, gint width, gint height,
    std::pair<gint, gint> pixel, std::pair<gint, gint> displayed)
{
  pixel = valid_pixel_ratio (pixel.first, pixel.second);
  displayed = valid_pixel_ratio (displayed.first, displayed.second);
  return gst_video_calculate_display_ratio (n, d, guint (width), guint (height),
      guint (pixel.first), guint (pixel.second), guint (displayed.first),
      guint (displayed.second));
}
} // namespace opencl
