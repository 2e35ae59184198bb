/* Copies a frame to RGBA with one channel of a network's output as alpha
 *
 * The matte is sampled bilinearly: stretch_matte interpolates its rows, and the other kernels
 * between the rows. `scale` and `shift` map a pixel of the frame to the matte. Outside of it
 * alpha is 0.
 *
 * Built with the options of videoframe.clh and IN_STEPS, and with RED, GREEN, BLUE and ALPHA,
 * the position of each component in an output pixel.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define COLUMNS 8
#include <frame.clh>
#include <videoframe.clh>

/* Interpolates between samples `low` and `high` of `count`, at the position `at`. Samples at
 * the edge extend half a sample outwards. */
#define LOW(at, count) clamp ((int)floor (at), 0, (count)-1)
#define HIGH(at, count) clamp ((int)floor (at) + 1, 0, (count)-1)
#define IS_INSIDE(at, count) ((at) >= -0.5f && (at) <= (count)-0.5f)

/* Makes the matte as wide as the frame. */
kernel void
stretch_matte (global const float *restrict matte, long offset, long line_step,
    long column_step, int2 matte_size, float scale, float shift, int width,
    global float *restrict stretched)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= matte_size.y)
    return;
  const float at = x * scale + shift;
  global const float *line = matte + offset + y * line_step;
  const float low = line[LOW (at, matte_size.x) * column_step];
  const float high = line[HIGH (at, matte_size.x) * column_step];
  stretched[y * width + x] =
      IS_INSIDE (at, matte_size.x) ? mix (low, high, at - floor (at)) : 0.0f;
}

/* Returns the alpha of a pixel, 0 to 255. */
uint
alpha_at (global const float *restrict stretched, int x, int y, int width, int rows,
    float scale, float shift)
{
  const float at = y * scale + shift;
  const float alpha = mix (stretched[LOW (at, rows) * width + x],
      stretched[HIGH (at, rows) * width + x], at - floor (at));
  return IS_INSIDE (at, rows) ? convert_int_rte (clamp (alpha, 0.0f, 1.0f) * 255.0f) : 0;
}

#ifdef __ENDIAN_LITTLE__
#define SHIFT(component) (8 * (component))
#else
#define SHIFT(component) (24 - 8 * (component))
#endif

/* The same for eight pixels, at the place of alpha in their words */
uint8
alphas_at (global const float *restrict stretched, int x, int y, int width, int rows,
    float scale, float shift)
{
  const float at = y * scale + shift;
  const float8 low = vload8 (0, stretched + LOW (at, rows) * width + x);
  const float8 high = vload8 (0, stretched + HIGH (at, rows) * width + x);
  const float8 alpha = clamp (mix (low, high, at - floor (at)), 0.0f, 1.0f);
  const uint8 level = convert_uint8 (convert_int8_rte (alpha * 255.0f));
  return (IS_INSIDE (at, rows) ? level : 0) << SHIFT (ALPHA);
}

/* Eight pixels per work-item */
kernel void
apply_matte (global const uchar *data, int2 size, ulong4 start, int4 stride, int fields,
    long4 row0, long4 row1, long4 row2, global const float *restrict stretched, int rows,
    float scale, float shift, global uchar *restrict output, ulong output_offset,
    long output_stride)
{
  const int x = 8 * get_global_id (0), y = get_global_id (1);
  if (x >= size.x || y >= size.y)
    return;
  const VideoFrame frame = {data, size, start, stride, (int4)(IN_STEPS), fields};
  global uchar *to = output + output_offset + y * output_stride;
#if WIDE
  if (CAN_READ_WIDE (&frame, x)) {
    const Pixels pixels = read_pixels (&frame, x, y);
    const uint8 color = convert_uint8 (color_wide (pixels, row0)) << SHIFT (RED)
                        | convert_uint8 (color_wide (pixels, row1)) << SHIFT (GREEN)
                        | convert_uint8 (color_wide (pixels, row2)) << SHIFT (BLUE);
    const uint8 words = color | alphas_at (stretched, x, y, size.x, rows, scale, shift);
    if (((uintptr_t)to & 3) == 0)
      vstore8 (words, 0, (global uint *)to + x);
    else
      STORE_UNALIGNED (WideWords, to + 4 * x, words);
    return;
  }
#endif
  for (int n = x; n < min (x + 8, size.x); n++) {
    const int4 pixel = read_pixel (&frame, n, y);
    to[4 * n + RED] = nearest_level (pixel, row0);
    to[4 * n + GREEN] = nearest_level (pixel, row1);
    to[4 * n + BLUE] = nearest_level (pixel, row2);
    to[4 * n + ALPHA] = alpha_at (stretched, n, y, size.x, rows, scale, shift);
  }
}

/* The same for a frame whose pixels are those of the output */
kernel void
replace_alpha (FRAME (const, input), FRAME (, output), int2 size,
    global const float *restrict stretched, int rows, float scale, float shift)
{
  const int x = 8 * get_global_id (0), y = get_global_id (1);
  if (x >= size.x || y >= size.y)
    return;
  global const uchar *from = LINE (input, y);
  global uchar *to = LINE (output, y);
#if ALIGNMENT >= 4
  if (x + 8 <= size.x) {
    const uint8 level = alphas_at (stretched, x, y, size.x, rows, scale, shift);
    const uint8 color =
        vload8 (0, (global const uint *)from + x) & ~(255u << SHIFT (ALPHA));
    vstore8 (color | level, 0, (global uint *)to + x);
    return;
  }
#endif
  for (int n = x; n < min (x + 8, size.x); n++) {
    const uint color = as_uint (vload4 (n, from)) & ~(255u << SHIFT (ALPHA));
    const uint level = alpha_at (stretched, n, y, size.x, rows, scale, shift);
    vstore4 (as_uchar4 (color | level << SHIFT (ALPHA)), n, to);
  }
}
