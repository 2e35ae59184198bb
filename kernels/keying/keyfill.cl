/* keyfill: replaces keyed pixels by a colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pixels.clh"

/* `color`: alpha, red, green and blue in bits 24, 16, 8 and 0 */
Pixel
pixel_of_color (uint color)
{
  return (Pixel)((color >> 24) * SCALE) << ALPHA | pixel_of_rgb (color);
}

__kernel void
paint_keyed (FRAME (const, input), FRAME (, output), uint width, uint height, uint color)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Pixel8 pixels = load_pixels (LINE (input, y), x, width);
  int8 keyed = COMPONENT8 (pixels, ALPHA) == (uint8)(0);
  store_pixels (LINE (output, y), x, width,
      other_where (pixels, (Pixel8)(pixel_of_color (color)), keyed));
}

/* Composites pixels over the colour: straight alpha, rounded. Weights are in
 * 1/LEVELS^2. OPAQUE: the colour has no transparency. */
__kernel void
composite_over_color (
    FRAME (const, input), FRAME (, output), uint width, uint height, uint color)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Pixel8 pixels = load_pixels (LINE (input, y), x, width);
  Pixel paint = pixel_of_color (color);
  Pixel8 alpha = pixels >> ALPHA & LEVELS;
  Pixel8 over = LEVELS * alpha;
  Pixel8 under = (paint >> ALPHA & LEVELS) * (LEVELS - alpha);
  Pixel8 both = over + under;
#if OPAQUE
  /* A division by a constant is a multiplication. */
  Pixel divisor = (Pixel)LEVELS * LEVELS;
#else
  Pixel8 divisor = max (both, (Pixel8)(1));
#endif
#define MIXED(shift)                                                                     \
  (((pixels >> shift & LEVELS) * over + (paint >> shift & LEVELS) * under + both / 2)    \
          / divisor                                                                      \
      << shift)
  Pixel8 result = ((both + LEVELS / 2) / LEVELS) << ALPHA;
  result |= MIXED (RED) | MIXED (GREEN) | MIXED (BLUE);
  /* Where both are transparent, the colour of the input is kept. */
  result = select (result, pixels, both == (Pixel8)(0));
  store_pixels (LINE (output, y), x, width, result);
}
