/* Makes video of a network's output
 *
 * A work-item computes one pixel. Values from `range.x` to `range.y` become levels from 0 to
 * MAXIMUM. With IS_AUTOMATIC the range is that of `lowest` and `highest`.
 *
 * Built with LOADED (the type of the output), IS_HALF, CHANNELS (1, 3 or 4), MAXIMUM (255 or
 * 65535), PIXEL (bytes of a pixel), RED, GREEN, BLUE and ALPHA (byte of each component in a
 * pixel; ALPHA is -1 without one), IS_AUTOMATIC, and CLASSES. With CLASSES channels the level is
 * the number of the channel with the highest value, unless CLASSES is 0.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <frame.clh>

#if IS_HALF
#define LOAD(at) vload_half (0, at)
#else
#define LOAD(at) ((float)*(at))
#endif

/* Value of a channel */
#define SCORE(c) LOAD (input + (c)*channel_step)

/* NaN becomes 0. */
void
store_level (global uchar *at, float level)
{
  const int value = convert_int_rte (fmin (fmax (level, 0.0f), (float)MAXIMUM));
  at[0] = value & 255;
#if MAXIMUM > 255
  at[1] = value >> 8;
#endif
}

kernel void
picture (global const LOADED *restrict input, long offset, long channel_step,
    long line_step, long column_step, float2 range, global const LOADED *restrict lowest,
    global const LOADED *restrict highest, FRAME (, output), int width, int height)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
#if IS_AUTOMATIC
  range = (float2)(LOAD (lowest), LOAD (highest));
#endif
  const int places[] = {RED, GREEN, BLUE, ALPHA};
  const float scale = range.x == range.y ? 0.0f : MAXIMUM / (range.y - range.x);
  global uchar *pixel = LINE (output, y) + x * PIXEL;
  input += offset + y * line_step + x * column_step;
#if CLASSES > 0
  int best = 0;
  for (int c = 1; c < CLASSES; c++)
    if (SCORE (c) > SCORE (best) || isnan (SCORE (best)))
      best = c;
  store_level (pixel, best);
#else
  for (int c = 0; c < CHANNELS; c++)
    store_level (pixel + places[c], (SCORE (c) - range.x) * scale);
#endif
  if (CHANNELS == 3 && ALPHA >= 0)
    pixel[ALPHA] = 255;
}
