/* Copies a frame to RGBA with one channel of a network's output as alpha
 *
 * A work-item writes one pixel. The matte is sampled bilinearly: `scale` and `shift` map a
 * pixel of the frame to the matte, and outside of it alpha is 0.
 *
 * Built with the options of videoframe.clh and RED, GREEN, BLUE and ALPHA, the position of
 * each component in an output pixel.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <videoframe.clh>

#define MATTE(x, y) matte[(y) * line_step + (x) * column_step]

kernel void
apply_matte (global const uchar *data, int2 size, ulong4 start, int4 stride, int4 step, int fields,
    long4 row0, long4 row1, long4 row2, global const float *restrict matte,
    long matte_offset, long line_step, long column_step, int2 matte_size, float2 scale,
    float2 shift, global uchar *restrict output, ulong output_offset, long output_stride)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= size.x || y >= size.y)
    return;
  const VideoFrame frame = {data, size, start, stride, step, fields};
  const int4 pixel = read_pixel (&frame, x, y);
  const float2 at = (float2)(x, y) * scale + shift;
  const float2 whole = floor (at), share = at - whole;
  /* Samples at the edge extend half a pixel outwards. */
  const int2 low = clamp (convert_int2 (whole), (int2)(0), matte_size - 1);
  const int2 high = clamp (convert_int2 (whole) + 1, (int2)(0), matte_size - 1);
  const bool inside = all (isgreaterequal (at, (float2)(-0.5f)))
                      && all (islessequal (at, convert_float2 (matte_size) - 0.5f));
  matte += matte_offset;
  const float above = mix (MATTE (low.x, low.y),
      MATTE (high.x, low.y), share.x);
  const float below = mix (MATTE (low.x, high.y),
      MATTE (high.x, high.y), share.x);
  const float alpha = inside ? clamp (mix (above, below, share.y), 0.0f, 1.0f) : 0.0f;

  global uchar *to = output + output_offset + y * output_stride + x * 4;
  to[RED] = nearest_level (pixel, row0);
  to[GREEN] = nearest_level (pixel, row1);
  to[BLUE] = nearest_level (pixel, row2);
  to[ALPHA] = convert_uchar_sat_rte (alpha * 255.0f);
}
