/* chromakey: what has the colour of the key becomes transparent
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
uint8
scale_alpha (uint8 pixels, uint opacity)
{
  return (COMPONENT (pixels, ALPHA) * opacity + 32768) >> 16;
}

/* The key as set, or as taken from the stream: red, green and blue in 16, 8 and 0 */
uint8
as_pixel (uint color)
{
  return (uint8) ((color >> 16 & 255) << RED | (color >> 8 & 255) << GREEN
                  | (color & 255) << BLUE);
}

/* Eight pixels a work-item. `inverted` is all ones when what differs is keyed. */
__kernel void
key_by_distance (FRAME (const, input), FRAME (, output), uint width, uint height,
    __global const uint *auto_key, uint use_auto_key, uint key, uint mask, uint threshold,
    int inverted, uint opacity)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint8 color = as_pixel (use_auto_key ? *auto_key : key);
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  int8 keyed = (difference (pixels, color, mask) < threshold) ^ inverted;
  uint8 alpha = select (scale_alpha (pixels, opacity), (uint8) (0), keyed);
  store_pixels (LINE (output, y), x, width, with_alpha (pixels, alpha));
}

/* Mean colour of a rectangle, rounded; one work-group */
__kernel void
take_key (FRAME (const, input), uint left, uint top, uint columns, uint rows,
    __global uint *auto_key)
{
  __local ulong sums[3 * GROUP];
  uint item = get_local_id (0);
  ulong red = 0, green = 0, blue = 0;
  for (uint row = item; row < rows; row += get_local_size (0)) {
    for (uint column = 0; column < columns; column++) {
      uint pixel = load_pixel (LINE (input, top + row), left + column);
      red += COMPONENT (pixel, RED);
      green += COMPONENT (pixel, GREEN);
      blue += COMPONENT (pixel, BLUE);
    }
  }
  sums[3 * item] = red;
  sums[3 * item + 1] = green;
  sums[3 * item + 2] = blue;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (item != 0)
    return;
  ulong total[3] = {0, 0, 0};
  for (uint n = 0; n < 3 * get_local_size (0); n++)
    total[n % 3] += sums[n];
  ulong count = (ulong) columns * rows;
  uint color = 0xff;
  for (uint n = 0; n < 3; n++)
    color = color << 8 | (uint) ((2 * total[n] + count) / (2 * count));
  *auto_key = color;
}
