/* Colour maps: gray levels to colours
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/settings.hpp>

namespace transfer {
enum class Colormap {
  none,
  viridis,
  inferno,
  turbo,
  hot,
  flow,
};

extern const opencl::EnumTypeOf<Colormap> colormap_type;

const int colormap_levels = 256;

struct Rgb {
  double red, green, blue; /* 0 … 1 */
};

/* Returns the colour of `level`, 0 … 255. `map` must not be none. */
Rgb colormap_color (Colormap map, int level);
} // namespace transfer
