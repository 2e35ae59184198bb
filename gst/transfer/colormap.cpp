/* Colour maps: gray levels to colours
 *
 * Viridis, inferno and turbo are tables of every eighth level, interpolated linearly. The
 * result is within two levels of the published tables. Viridis and inferno are by Stéfan
 * van der Walt and Nathaniel Smith (CC0), turbo by Anton Mikhailov (Apache-2.0).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "colormap.hpp"

#include <algorithm>
#include <cmath>

namespace transfer {
namespace {
const int spacing = 8;
const int n_anchors = 33;

struct Anchors {
  Colormap map;
  guint32 colors[n_anchors]; /* 0xRRGGBB at levels 0, 8, … 248, 255 */
};

const Anchors anchor_table[] = {
    {Colormap::viridis,
        {0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453781, 0x424086, 0x3e4989,
            0x3b528b, 0x375b8d, 0x33638d, 0x2f6b8e, 0x2c728e, 0x297a8e, 0x26828e,
            0x23898e, 0x21918c, 0x1f988b, 0x1fa088, 0x22a785, 0x28ae80, 0x32b67a,
            0x3fbc73, 0x4ec36b, 0x5ec962, 0x70cf57, 0x84d44b, 0x98d83e, 0xaddc30,
            0xc2df23, 0xd8e219, 0xece51b, 0xfde725}},
    {Colormap::inferno,
        {0x000004, 0x040312, 0x0b0724, 0x150b37, 0x210c4a, 0x2f0a5b, 0x3d0965, 0x4a0c6b,
            0x57106e, 0x64156e, 0x71196e, 0x7d1e6d, 0x8a226a, 0x972766, 0xa32c61,
            0xb0315b, 0xbc3754, 0xc73e4c, 0xd24644, 0xdb503b, 0xe45a31, 0xeb6628,
            0xf1731d, 0xf68013, 0xf98e09, 0xfb9d07, 0xfcac11, 0xfbbc21, 0xf9cb35,
            0xf5db4c, 0xf2ea69, 0xf3f68a, 0xfcffa4}},
    {Colormap::turbo,
        {0x30123b, 0x392a73, 0x4040a2, 0x4456c7, 0x466be3, 0x4680f6, 0x4294ff, 0x37a8fa,
            0x28bceb, 0x1ccdd8, 0x18ddc2, 0x1fe9af, 0x32f298, 0x4ef97d, 0x6dfe62,
            0x8bff4b, 0xa4fc3c, 0xb9f635, 0xcdec34, 0xdfdf37, 0xeecf3a, 0xf8be39,
            0xfdac34, 0xfe962b, 0xfb7e21, 0xf46617, 0xeb500e, 0xdf3f08, 0xd02f05,
            0xbe2102, 0xa91601, 0x920b01, 0x7a0403}},
};

Rgb
unpack (guint32 color)
{
  return {(color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0};
}

Rgb
mix (const Rgb &a, const Rgb &b, double share)
{
  return {a.red + share * (b.red - a.red), a.green + share * (b.green - a.green),
      a.blue + share * (b.blue - a.blue)};
}

/* Red rises over the first three eighths, green over the next three, blue over the rest.
 */
Rgb
hot (int level)
{
  auto ramp = [u = level / 255.0] (double begin, double end) {
    return std::clamp ((u - begin) / (end - begin), 0.0, 1.0);
  };
  return {ramp (0, 0.375), ramp (0.375, 0.75), ramp (0.75, 1)};
}
/* Black in the middle, red to yellow above, blue to cyan below it. */
Rgb
flow (int level)
{
  const double away = (level - 127.5) / 127.5,
               far = std::clamp (2 * std::abs (away) - 1, 0.0, 1.0);
  const double near = std::clamp (2 * std::abs (away), 0.0, 1.0);
  return away > 0 ? Rgb{near, far, 0} : Rgb{0, far, near};
}
} // namespace

Rgb
colormap_color (Colormap map, int level)
{
  for (const Anchors &anchors : anchor_table) {
    if (anchors.map != map)
      continue;
    int first = std::min (level / spacing, n_anchors - 2);
    int begin = first * spacing;
    int end = std::min (begin + spacing, colormap_levels - 1);
    return mix (unpack (anchors.colors[first]), unpack (anchors.colors[first + 1]),
        double (level - begin) / (end - begin));
  }
  return map == Colormap::flow ? flow (level) : hot (level);
}

const opencl::EnumTypeOf<Colormap> colormap_type ("GstOpenCLColormap",
    {
        {Colormap::none, "No colour map", "none"},
        {Colormap::viridis, "Dark blue, green, yellow, with evenly rising luminance",
            "viridis"},
        {Colormap::inferno, "Black, purple, orange, pale yellow", "inferno"},
        {Colormap::turbo, "Rainbow without false edges", "turbo"},
        {Colormap::hot, "Black, red, yellow, white", "hot"},
        {Colormap::flow, "Cyan, blue, black, red, yellow: signed values such as velocity",
            "flow"},
    });
} // namespace transfer
