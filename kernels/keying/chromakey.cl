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
    pixels = with_colors (pixels, without_spill (colors_of_pixels (pixels), screen,
                                      spill_of (spill, spill_method, spill_balance)));
  store_pixels (LINE (output, y), x, width, with_alpha (pixels, alpha));
}

/* Temporal noise reduction: where nothing moves, a pixel becomes a recursive mean over
 * time. Motion is the mean change of 3 x 3 pixels, which is less noisy than that of one.
 * Up to STILL levels the mean takes PART of the new pixel, above MOVING it takes all of
 * it. Means are in 1/64 level. All is computed in 16 bits, for four pixels at once. */
#define STILL 2.5f
#define MOVING 4.5f
#define PART 0.1f

/* Sums of nine changes, in 1/8 level, which no sum exceeds 16 bits with */
#define CHANGE_OF(levels) (short)(9 * 8 * (levels))
/* Parts in 1/32768 */
#define PART_OF(share) (short)(32768 * (share))
#define SLOPE (short)(32768 * (1 - PART) / CHANGE_OF (MOVING - STILL))

/* The components of four pixels */
INLINED short16
parts_of_pixels (Pixel4 pixels)
{
#if DEEP
  return as_short16 (as_ushort16 (pixels) >> (ushort)2);
#else
  return convert_short16 (as_uchar16 (pixels)) << (short)6;
#endif
}

INLINED Pixel4
pixels_of_parts (short16 parts)
{
#if DEEP
  return as_ulong4 (parts << (short)2 | parts >> (short)12);
#else
  return as_uint4 (convert_uchar16 ((parts + (short)32) >> (short)6));
#endif
}

/* Sums the changes of four columns in three rows. Rows beyond the frame are clamped. */
INLINED short16
changes_of_columns (FRAME (const, input), uint width, uint height,
    __global const short16 *before, uint stride, uint x, int y)
{
  short16 sum = 0;
  for (int row = y - 1; row <= y + 1; row++) {
    const int line = clamp (row, 0, (int)height - 1);
    const short16 now = parts_of_pixels (load_four (LINE (input, line), x, width));
    sum += (now >> (short)3) - (before[(ulong)line * stride + x / 4] >> (short)3);
  }
  return sum;
}

/* Adds the columns on both sides of each. Returns the largest component's change, in each
 * component. */
INLINED short16
changes_around (short16 left, short16 middle, short16 right)
{
  const short16 sum = (short16)(left.scdef, middle.s01234567, middle.s89ab) + middle
                      + (short16)(middle.s4567, middle.s89abcdef, right.s0123);
  short16 most = max (sum, -sum);
  most = max (most, most.s1032547698badcfe);
  return max (most, most.s23016745ab89efcd);
}

/* The new mean */
INLINED short16
followed (short16 was, short16 now, short16 change)
{
  const short16 still = CHANGE_OF (STILL), moving = CHANGE_OF (MOVING);
  const short16 part = PART_OF (PART) + (clamp (change, still, moving) - still) * SLOPE;
  const short16 step = mul_hi ((now - was) * (short)2, part);
  return select (was + step, now, change >= moving);
}

/* The key gets levels. A level stays until the mean is clearly nearer to another one. */
#define NEARER (short)40

INLINED short16
shown (short16 mean, short16 before)
{
  return select (mean, before, max (mean - before, before - mean) <= NEARER);
}

/* `run` pixels of a row per work-item, a multiple of four. `starts`: there is no previous
 * mean. Means have rows of `stride` times four pixels. */
__kernel void
quiet (FRAME (const, input), FRAME (, seen), uint width, uint height, uint starts,
    __global const short16 *before, __global short16 *after, uint stride, uint run)
{
  uint x = run * get_global_id (0);
  const uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
#define CHANGES(at)                                                                      \
  changes_of_columns (FRAME_ARGUMENTS (input), width, height, before, stride, at, y)
  short16 left = 0, middle = 0, right = 0;
  if (!starts) {
    middle = CHANGES (x);
    left = x > 0 ? CHANGES (x - 4) : middle.s0123012301230123;
  }
  for (const uint end = min (x + run, width); x < end; x += 4) {
    short16 mean = parts_of_pixels (load_four (LINE (input, y), x, width)), level = mean;
    if (!starts) {
      right = x + 4 < width ? CHANGES (x + 4) : middle.scdefcdefcdefcdef;
      mean = followed (
          before[(ulong)y * stride + x / 4], mean, changes_around (left, middle, right));
      level = shown (mean, parts_of_pixels (load_four (LINE (seen, y), x, width)));
      left = middle;
      middle = right;
    }
    after[(ulong)y * stride + x / 4] = mean;
    store_four (LINE (seen, y), x, width, pixels_of_parts (level));
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
