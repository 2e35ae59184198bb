/* matteshape: grows or shrinks alpha by a disc, and feathers it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shrinking is growing of the complement. The maximum over a disc is the maximum over its
 * rows. Two overlapping runs of 2^n columns cover each row. For each n a plane has the
 * maxima of such runs. Beyond the frame its edge pixels are repeated.
 */
#include "pixels.clh"

#if DEEP
typedef ushort Alpha;
typedef ushort8 Alphas;
#define TO_ALPHAS convert_ushort8_sat_rte
#else
typedef uchar Alpha;
typedef uchar8 Alphas;
#define TO_ALPHAS convert_uchar8_sat_rte
#endif

#define MARGIN 80 /* columns on both sides of a plane of runs */

/* Writes alpha (its complement if `flip` is LEVELS) to a plane of runs. Eight columns per
 * work-item. */
__kernel void
read_alpha (FRAME (const, input), uint width, uint height, uint flip,
    __global Alpha *plane, uint stride)
{
  uint column = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (column >= stride || y >= height)
    return;
  Alpha each[8];
  for (int n = 0; n < 8; n++) {
    int x = clamp ((int)(column + n) - MARGIN, 0, (int)width - 1);
    each[n] = COMPONENT (load_pixel (LINE (input, y), x), ALPHA) ^ flip;
  }
  vstore8 (vload8 (0, each), 0, plane + (ulong)y * stride + column);
}

/* Computes maxima of 2 * `run` columns, in the plane that begins at `doubled`, from those
 * of `run` columns at `runs`. Runs that extend beyond their row are not used. */
__kernel void
double_runs (
    __global Alpha *planes, ulong runs, ulong doubled, uint stride, uint height, uint run)
{
  uint column = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (column >= stride || y >= height)
    return;
  __global const Alpha *line = planes + runs + (ulong)y * stride;
  uint next = min (column + run, stride - 8);
  vstore8 (max (vload8 (0, line + column), vload8 (0, line + next)), 0,
      planes + doubled + (ulong)y * stride + column);
}

/* Writes maxima over a disc to `grown`, or with `part` below 1 their mixture with what is
 * there. `runs`: planes of runs of 1, 2, 4, … columns, one after the other, of `plane`
 * values each */
__kernel void
grow_by_disc (__global const Alpha *runs, uint stride, ulong plane, uint width,
    uint height, uint radius, float part, __global Alpha *grown, uint grown_stride)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Alphas most = 0;
  for (int down = -(int)radius; down <= (int)radius; down++) {
    int half_width = (int)sqrt ((float)(radius * radius - down * down) + 0.5f);
    int power = 31 - (int)clz ((uint)(2 * half_width + 1));
    uint line = clamp ((int)y + down, 0, (int)height - 1);
    __global const Alpha *at = runs + power * plane + (ulong)line * stride + MARGIN + x;
    most = max (most, max (vload8 (0, at - half_width),
                          vload8 (0, at + half_width + 1 - (1 << power))));
  }
  __global Alpha *to = grown + (ulong)y * grown_stride + x;
  if (part < 1)
    most = TO_ALPHAS (mix (convert_float8 (vload8 (0, to)), convert_float8 (most), part));
  vstore8 (most, 0, to);
}

/* Loads eight values from x on. Beyond the row its first or last value is repeated. */
float8
load_eight (__global const Alpha *line, int x, int width)
{
  if (x >= 0 && x + 8 <= width)
    return convert_float8 (vload8 (0, line + x));
  float each[8];
  for (int n = 0; n < 8; n++)
    each[n] = line[clamp (x + n, 0, width - 1)];
  return vload8 (0, each);
}

/* `weights`: of the centre, and of distances 1 to `radius` */
__kernel void
feather_across (__global const Alpha *plane, uint stride, uint width, uint height,
    __global const float *weights, uint radius, __global float *feathered)
{
  int x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= (int)width || y >= height)
    return;
  __global const Alpha *line = plane + (ulong)y * stride;
  float8 sum = weights[0] * load_eight (line, x, width);
  for (int away = 1; away <= (int)radius; away++)
    sum += weights[away]
           * (load_eight (line, x - away, width) + load_eight (line, x + away, width));
  vstore8 (sum, 0, feathered + (ulong)y * stride + x);
}

__kernel void
feather_down (__global const float *feathered, uint stride, uint width, uint height,
    __global const float *weights, uint radius, __global Alpha *plane)
{
  uint x = 8 * get_global_id (0);
  int y = get_global_id (1);
  if (x >= width || y >= (int)height)
    return;
  float8 sum = weights[0] * vload8 (0, feathered + (ulong)y * stride + x);
  for (int away = 1; away <= (int)radius; away++) {
    ulong above = max (y - away, 0), below = min (y + away, (int)height - 1);
    sum += weights[away]
           * (vload8 (0, feathered + above * stride + x)
               + vload8 (0, feathered + below * stride + x));
  }
  vstore8 (TO_ALPHAS (sum), 0, plane + (ulong)y * stride + x);
}

/* Copies the frame with the plane (its complement if `flip` is LEVELS) as alpha. */
__kernel void
write_alpha (FRAME (const, input), FRAME (, output), uint width, uint height,
    __global const Alpha *plane, uint stride, uint flip)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint8 alpha = convert_uint8 (vload8 (0, plane + (ulong)y * stride + x)) ^ flip;
  store_pixels (LINE (output, y), x, width,
      with_alpha (load_pixels (LINE (input, y), x, width), alpha));
}
