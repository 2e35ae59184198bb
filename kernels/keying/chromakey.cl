/* chromakey: hard key, temporal noise reduction, and key colour of a rectangle
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define LANES 8
#include "softkey.clh"
#include "unkeyed.clh"

#if EXTRAS
/* Returns all ones where a pixel is nearer to a key than its threshold. `screen` becomes
 * the nearest key. */
int8
key_further (Pixel8 pixels, uint8 keys, uint8 thresholds, uint count, Pixel mask,
    uint8 distance, Screen *screen)
{
  int8 keyed = 0;
  for (uint n = 0; n < count; n++) {
    const uint8 from_key = difference (pixels, pixel_of_rgb (keys.s0), mask);
    const Screen key = screen_of_color (color_of_key (keys.s0), 0);
    keyed |= from_key < thresholds.s0;
    *screen = screen_where (from_key < distance, key, *screen);
    distance = min (distance, from_key);
    keys = keys.s12345670;
    thresholds = thresholds.s12345670;
  }
  return keyed;
}
#endif

/* Eight pixels per work-item. `inverted`: all ones to key pixels that differ. */
__kernel void
key_by_distance (INPUT_FRAME (input), FRAME (, output), uint width, uint height,
    uint color, uint mask, uint threshold, int inverted, uint opacity, uint channel,
    float spill, uint spill_method, float spill_balance, uint8 more_keys,
    uint8 more_thresholds, uint more)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Pixel8 pixels = input_pixels (INPUT_ROW (input, y), x, width);
  Pixel8 key_pixel = pixel_of_rgb (color);
  Screen screen = screen_of_color (color_of_key (color), channel);
  const uint8 distance = difference (pixels, key_pixel, widened (mask));
  int8 keyed = distance < threshold;
#if EXTRAS
  keyed |= key_further (
      pixels, more_keys, more_thresholds, more, widened (mask), distance, &screen);
#endif
  keyed ^= inverted;
  uint8 alpha = select (scaled_alpha (pixels, opacity), (uint8)(0), keyed);
  if (spill > 0)
    pixels = with_colors (pixels, despilled (colors_of_pixels (pixels), screen, 1, 0,
                                      spill_of (spill, spill_method, spill_balance)));
  store_pixels (LINE (output, y), x, width, with_alpha (pixels, alpha));
}

/* Temporal noise reduction: where nothing moves, a pixel becomes a recursive mean over
 * time. Motion is the mean change of 3 x 3 pixels, which is less noisy than that of one.
 * Up to STILL levels the mean takes PART of the new pixel, above MOVING it takes all of
 * it. Means are in 1/256 level, or in 16-bit levels. */
#define STILL 2.5f
#define MOVING 4.5f
#define PART 0.2f

#if DEEP
#define PART_OF_LEVEL 257.0f
#else
#define PART_OF_LEVEL 256.0f
#endif

int4
parts_of_pixel (Pixel pixel)
{
#if DEEP
  return convert_int4 (as_ushort4 (pixel));
#else
  return convert_int4 (as_uchar4 (pixel)) << 8;
#endif
}

Pixel
pixel_of_parts (int4 parts)
{
#if DEEP
  return as_ulong (convert_ushort4_sat (parts));
#else
  return as_uint (convert_uchar4_sat ((parts + 128) >> 8));
#endif
}

/* Sums the change of three pixels of a column. Positions beyond the frame are clamped. */
int4
change_of_column (FRAME (const, input), uint width, uint height,
    __global const ushort4 *before, int x, int y)
{
  int4 sum = 0;
  x = clamp (x, 0, (int)width - 1);
  for (int row = y - 1; row <= y + 1; row++) {
    int line = clamp (row, 0, (int)height - 1);
    sum += parts_of_pixel (load_pixel (LINE (input, line), x))
           - convert_int4 (before[(ulong)line * width + x]);
  }
  return sum;
}

/* Eight pixels per work-item. `starts`: there is no previous mean. */
__kernel void
quiet (FRAME (const, input), FRAME (, seen), uint width, uint height, uint starts,
    __global const ushort4 *before, __global ushort4 *after)
{
  int x = 8 * get_global_id (0);
  int y = get_global_id (1);
  if (x >= (int)width || y >= (int)height)
    return;
  __global const uchar *line = LINE (input, y);
  int4 left = 0, middle = 0;
  if (!starts) {
    left = change_of_column (FRAME_ARGUMENTS (input), width, height, before, x - 1, y);
    middle = change_of_column (FRAME_ARGUMENTS (input), width, height, before, x, y);
  }
  for (int end = min (x + 8, (int)width); x < end; x++) {
    ulong at = (ulong)y * width + x;
    int4 mean = parts_of_pixel (load_pixel (line, x));
    if (!starts) {
      int4 right =
          change_of_column (FRAME_ARGUMENTS (input), width, height, before, x + 1, y);
      uint4 changes = abs (left + middle + right);
      uint change = max (max (changes.x, changes.y), max (changes.z, changes.w));
      float part = clamp (
          PART + (change / (9 * PART_OF_LEVEL) - STILL) * (1 - PART) / (MOVING - STILL),
          PART, 1.0f);
      int4 was = convert_int4 (before[at]);
      mean = was + convert_int4_rte (part * convert_float4 (mean - was));
      left = middle;
      middle = right;
    }
    after[at] = convert_ushort4 (mean);
    store_pixel (LINE (seen, y), x, pixel_of_parts (mean));
  }
}

/* Computes the rounded mean colour of a rectangle. One work-group. */
__kernel void
measure_key (INPUT_FRAME (input), uint left, uint top, uint columns, uint rows,
    __global uint *auto_key)
{
  __local ulong sums[3 * GROUP];
  uint item = get_local_id (0);
  ulong red = 0, green = 0, blue = 0;
  for (uint row = item; row < rows; row += get_local_size (0)) {
    for (uint column = 0; column < columns; column++) {
      Pixel pixel = input_pixel (INPUT_ROW (input, top + row), left + column);
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
  ulong count = (ulong)columns * rows * SCALE;
  uint color = 0xff;
  for (uint n = 0; n < 3; n++)
    color = color << 8 | (uint)((2 * total[n] + count) / (2 * count));
  *auto_key = color;
}
