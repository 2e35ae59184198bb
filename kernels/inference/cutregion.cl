/* Makes the input of a network from a region of a video frame, which may be turned: scaling,
 * colours and normalization
 *
 * A work-item computes one pixel of the network's input: the mean of `samples` points of the
 * frame, each interpolated bilinearly. Points beyond the frame have the levels of its edge.
 * Pixels outside of `box` get `fill`.
 *
 * Built with the options of prepare.cl.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define COLUMNS 8
#include <videoframe.clh>
#include "tensorpixel.clh"

float4
level_at (const VideoFrame *in, int2 at)
{
  at = clamp (at, (int2)(0), in->size - 1);
  return convert_float4 (read_pixel (in, at.x, at.y));
}

float4
level_between (const VideoFrame *in, float2 at)
{
  const float2 before = floor (at - 0.5f), share = at - 0.5f - before;
  const int2 first = convert_int2_sat (before);
  const float4 upper = mix (level_at (in, first), level_at (in, first + (int2)(1, 0)),
      (float4)(share.x));
  const float4 lower = mix (level_at (in, first + (int2)(0, 1)),
      level_at (in, first + (int2)(1, 1)), (float4)(share.x));
  return mix (upper, lower, (float4)(share.y));
}

kernel void
cut_region (global const uchar *data, int2 size, ulong4 start, int4 stride, int fields,
    float4 box, float2 origin, float4 steps, int2 samples, float4 row0, float4 row1,
    float4 row2, float2 alpha, float4 fill, global STORED *restrict output,
    long output_offset, long channel_step, long line_step, long column_step, int width,
    int height)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const VideoFrame in = {data, size, start, stride, (int4)(IN_STEPS), fields};
  const float2 middle = (float2)(x + 0.5f, y + 0.5f);
  float values[4] = {fill.x, fill.y, fill.z, fill.w};
  if (all (middle > box.xy) && all (middle < box.zw)) {
    float4 sum = (float4)(0.0f);
    for (int j = 0; j < samples.y; j++)
      for (int i = 0; i < samples.x; i++) {
        const float2 at = (float2)(x + (i + 0.5f) / samples.x, y + (j + 0.5f) / samples.y);
        sum += level_between (&in, origin + at.x * steps.xy + at.y * steps.zw);
      }
    sum /= samples.x * samples.y;
    const float4 color = (float4)(sum.xyz, 1.0f);
    values[0] = dot (color, row0);
    values[1] = dot (color, row1);
    values[2] = dot (color, row2);
    values[3] = alpha.x * sum.w + alpha.y;
  }
  output += output_offset + y * line_step + x * column_step;
  for (int c = 0; c < CHANNELS; c++)
    STORE (values[c], output + c * channel_step);
}
