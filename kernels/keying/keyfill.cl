/* keyfill: a colour in place of what is keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pixels.clh"

/* `color`: alpha, red, green and blue in bits 24, 16, 8 and 0 */
uint
pixel_of_color (uint color)
{
  return (color >> 24) << ALPHA | (color >> 16 & 255) << RED | (color >> 8 & 255) << GREEN
         | (color & 255) << BLUE;
}

__kernel void
paint_keyed (FRAME (const, input), FRAME (, output), uint width, uint height, uint color)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  int8 keyed = (pixels & ALPHA_MASK) == (uint8)(0);
  store_pixels (LINE (output, y), x, width,
      select (pixels, (uint8)(pixel_of_color (color)), keyed));
}

/* The pixels over the colour, straight alpha, rounded. Weights are in 1/255^2. */
__kernel void
composite_over_color (
    FRAME (const, input), FRAME (, output), uint width, uint height, uint color)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  uint paint = pixel_of_color (color);
  uint8 alpha = COMPONENT (pixels, ALPHA);
  uint8 over = 255 * alpha;
  uint8 under = COMPONENT (paint, ALPHA) * (255 - alpha);
  uint8 both = over + under;
  uint8 divisor = max (both, 1u);

  uint8 result = with_alpha (0, (both + 127) / 255);
  result |= (COMPONENT (pixels, RED) * over + COMPONENT (paint, RED) * under + both / 2)
                / divisor
            << RED;
  result |=
      (COMPONENT (pixels, GREEN) * over + COMPONENT (paint, GREEN) * under + both / 2)
          / divisor
      << GREEN;
  result |= (COMPONENT (pixels, BLUE) * over + COMPONENT (paint, BLUE) * under + both / 2)
                / divisor
            << BLUE;
  /* Nothing over nothing: the picture's colour is kept. */
  result = select (result, pixels, both == (uint8)(0));
  store_pixels (LINE (output, y), x, width, result);
}
