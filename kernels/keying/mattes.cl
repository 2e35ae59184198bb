/* chromakey: garbage and holdout mattes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputformat.clh"
#include "resampled.clh"

/* Scales a GRAY8 frame to a plane of the size of the input. */
__kernel void
scale_matte (FRAME (const, image), uint from_width, uint from_height, uint width,
    uint height, __global uchar *matte)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  float4 level = color_between (FRAME_ARGUMENTS (image), 1, (uint4)(0), from_width,
      from_height, width, height, x, y);
  matte[(ulong)y * width + x] = convert_uchar_sat_rte (level.x);
}

float4
levels_of (Pixel pixel)
{
  return (float4)(COMPONENT (pixel, RED), COMPONENT (pixel, GREEN),
      COMPONENT (pixel, BLUE), COMPONENT (pixel, ALPHA));
}

/* Holdout areas keep the input pixels. Garbage areas are transparent, even where they are
 * held out. `garbage`, `holdout` and `polygon` are 0 if there is no such matte. */
__kernel void
apply_mattes (INPUT_FRAME (input), FRAME (, output), uint width, uint height,
    uint garbage, __global const uchar *garbage_matte, uint holdout,
    __global const uchar *holdout_matte, uint polygon, __global const uchar *outside,
    float opacity)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  ulong at = (ulong)y * width + x;
  float held = holdout ? holdout_matte[at] / 255.0f : 0;
  float seen = garbage ? 1 - garbage_matte[at] / 255.0f : 1;
  if (polygon)
    seen *= 1 - outside[at] / 255.0f;
  float4 before = levels_of (input_pixel (INPUT_ROW (input, y), x));
  float4 keyed = levels_of (load_pixel (LINE (output, y), x));
  float4 result = mix (keyed, before, held);
  result.w = max (keyed.w, before.w * opacity * held) * seen;
  uint4 levels = convert_uint4_rte (result);
  store_pixel (LINE (output, y), x,
      (Pixel)levels.x << RED | (Pixel)levels.y << GREEN | (Pixel)levels.z << BLUE
          | (Pixel)levels.w << ALPHA);
}
