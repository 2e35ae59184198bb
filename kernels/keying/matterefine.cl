/* matterefine: fits a coarse alpha to the edges of the picture
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fast guided filter (He and Sun 2015) with the colours as guide. Alpha is a linear
 * function of red, green and blue in each window of a grid. The functions are averaged,
 * and evaluated at each pixel of the frame. A cell of the grid is the mean of `subsample`
 * by `subsample` pixels, of fewer at the right and at the bottom.
 */
#include "pixels.clh"

#define COMPONENT_BITS (2 * PIXEL_BYTES)

#if DEEP
#define OTHER_COMPONENTS 0x0000ffff0000fffful
#define SUM_MASK 0xffffffffu
#else
#define OTHER_COMPONENTS 0x00ff00ffu
#define SUM_MASK 0xffffu
#endif

/* Value of a component in sums of every second component, each of twice its bits */
#define SUM_BITS (2 * COMPONENT_BITS)
#define SUM_OF(shift)                                                                    \
  ((uint)(((shift) % SUM_BITS ? odd : even) >> (shift) / SUM_BITS * SUM_BITS & SUM_MASK))

/* Computes the mean colour and alpha of each cell, 0 to 1. At most 256 pixels per cell, so
 * that the sums do not overflow. */
__kernel void
shrink_frame (FRAME (const, input), uint width, uint height, uint subsample, uint columns,
    uint rows, __global float4 *grid)
{
  uint column = get_global_id (0);
  uint row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  uint x_end = min ((column + 1) * subsample, width);
  uint y_end = min ((row + 1) * subsample, height);
  Pixel even = 0, odd = 0;
  for (uint y = row * subsample; y < y_end; y++) {
    for (uint x = column * subsample; x < x_end; x++) {
      Pixel pixel = load_pixel (LINE (input, y), x);
      even += pixel & OTHER_COMPONENTS;
      odd += pixel >> COMPONENT_BITS & OTHER_COMPONENTS;
    }
  }
  uint count = (x_end - column * subsample) * (y_end - row * subsample);
  uint4 sums = (uint4)(SUM_OF (RED), SUM_OF (GREEN), SUM_OF (BLUE), SUM_OF (ALPHA));
  grid[row * columns + column] = convert_float4 (sums) / (LEVELS * (float)count);
}

/* Returns 1 at 0, and 0 from 1 on. */
#define FADE(square) ((1 - min (square, 1.0f)) * (1 - min (square, 1.0f)))

/* Changes of colour and alpha from which on nothing of earlier frames is kept: of the mean of
 * a cell and its neighbours, in which noise is a third; of one of these cells; of a pixel */
#define COLOR_CHANGE 0.02f
#define CELL_CHANGE 0.06f
#define ALPHA_CHANGE 0.3f

/* Updates the mean picture of still cells. Its fourth component is the part of the earlier
 * alpha to keep: up to `smoothing`, if neither the cell nor its neighbours change.
 * `starts`: there are no earlier frames. */
__kernel void
follow_picture (__global const float4 *grid, uint columns, uint rows, float smoothing,
    uint starts, __global const float4 *before, __global float4 *after)
{
  int column = get_global_id (0);
  int row = get_global_id (1);
  if (column >= (int)columns || row >= (int)rows)
    return;
  uint cell = row * columns + column;
  float4 now = grid[cell];
  if (starts) {
    after[cell] = (float4)(now.xyz, 0);
    return;
  }
  float largest = 0;
  float4 sum = 0; /* of differences and their number */
  for (int y = max (row - 1, 0); y <= min (row + 1, (int)rows - 1); y++) {
    for (int x = max (column - 1, 0); x <= min (column + 1, (int)columns - 1); x++) {
      float3 difference = grid[y * columns + x].xyz - before[y * columns + x].xyz;
      largest = max (largest, dot (difference, difference));
      sum += (float4)(difference, 1);
    }
  }
  float3 mean = sum.xyz / sum.w;
  float change = max (dot (mean, mean) / (COLOR_CHANGE * COLOR_CHANGE),
      largest / (CELL_CHANGE * CELL_CHANGE));
  float kept = smoothing * FADE (change);
  after[cell] = (float4)(mix (now.xyz, before[cell].xyz, kept), kept);
}

/* Mean of colour and alpha in a window, and the covariances of red, green and blue with
 * all four. Sums are of differences from the cell at the centre. So rounding errors are
 * small, and a constant alpha has the covariance 0. */
typedef struct {
  float4 mean, red, green, blue;
} Moments;

/* `sum`: of differences from `centre`; the others: of their products */
Moments
moments_of_sums (float4 centre, Moments sum, uint count)
{
  float4 mean = sum.mean / count;
  Moments moments;
  moments.mean = centre + mean;
  moments.red = sum.red / count - mean.x * mean;
  moments.green = sum.green / count - mean.y * mean;
  moments.blue = sum.blue / count - mean.z * mean;
  return moments;
}

void
add_difference (Moments *sum, float4 difference)
{
  sum->mean += difference;
  sum->red += difference.x * difference;
  sum->green += difference.y * difference;
  sum->blue += difference.z * difference;
}

/* Computes the moments of 2 `radius` + 1 columns, of fewer at the edges. */
__kernel void
moments_across (__global const float4 *grid, uint columns, uint rows, uint radius,
    __global float4 *moments)
{
  int column = get_global_id (0);
  uint row = get_global_id (1);
  if (column >= (int)columns || row >= rows)
    return;
  __global const float4 *line = grid + row * columns;
  int first = max (column - (int)radius, 0);
  int last = min (column + (int)radius, (int)columns - 1);
  Moments sum = {0, 0, 0, 0};
  for (int x = first; x <= last; x++)
    add_difference (&sum, line[x] - line[column]);
  Moments result = moments_of_sums (line[column], sum, last - first + 1);
  __global float4 *to = moments + 4 * (ulong)(row * columns + column);
  to[0] = result.mean;
  to[1] = result.red;
  to[2] = result.green;
  to[3] = result.blue;
}

/* Solves the linear system of a window by elimination without pivots, as its matrix is
 * symmetric and positive. Returns the factors of red, green and blue, and the constant. */
float4
line_of_moments (Moments moments, float epsilon)
{
  float red = moments.red.x + epsilon;
  float red_green = moments.red.y / red, red_blue = moments.red.z / red;
  float green = max (moments.green.y - red_green * moments.red.y, 0.0f) + epsilon;
  float green_blue = moments.green.z - red_green * moments.red.z;
  float green_of_blue = green_blue / green;
  float blue = moments.blue.z - red_blue * moments.red.z - green_of_blue * green_blue;

  float3 right = (float3)(moments.red.w, moments.green.w, moments.blue.w);
  right.y -= red_green * right.x;
  right.z -= red_blue * right.x + green_of_blue * right.y;
  float3 factors;
  factors.z = right.z / (max (blue, 0.0f) + epsilon);
  factors.y = right.y / green - green_of_blue * factors.z;
  factors.x = right.x / red - red_green * factors.y - red_blue * factors.z;
  return (float4)(factors, moments.mean.w - dot (factors, moments.mean.xyz));
}

/* Adds the moments of 2 `radius` + 1 rows, of fewer at the edges, and computes alpha as a
 * linear function of the colours. */
__kernel void
solve_down (__global const float4 *moments, uint columns, uint rows, uint radius,
    float epsilon, __global float4 *lines)
{
  uint column = get_global_id (0);
  int row = get_global_id (1);
  if (column >= columns || row >= (int)rows)
    return;
  int first = max (row - (int)radius, 0);
  int last = min (row + (int)radius, (int)rows - 1);
  float4 centre = moments[4 * (ulong)(row * columns + column)];
  Moments sum = {0, 0, 0, 0};
  for (int y = first; y <= last; y++) {
    __global const float4 *from = moments + 4 * (ulong)(y * columns + column);
    add_difference (&sum, from[0] - centre);
    sum.red += from[1];
    sum.green += from[2];
    sum.blue += from[3];
  }
  Moments result = moments_of_sums (centre, sum, last - first + 1);
  lines[row * columns + column] = line_of_moments (result, epsilon);
}

/* Computes the mean of 2 `radius` + 1 cells, `step` apart, of fewer at the edges. `at` is
 * the place of the cell among `count` cells of its row or column. */
float4
mean_of_cells (__global const float4 *cell, int at, uint count, int step, uint radius)
{
  int first = max (-(int)radius, -at);
  int last = min ((int)radius, (int)count - 1 - at);
  float4 sum = 0;
  for (int n = first; n <= last; n++)
    sum += cell[n * step] - cell[0];
  return cell[0] + sum / (last - first + 1);
}

__kernel void
mean_across (__global const float4 *lines, uint columns, uint rows, uint radius,
    __global float4 *means)
{
  uint column = get_global_id (0);
  uint row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  uint cell = row * columns + column;
  means[cell] = mean_of_cells (lines + cell, column, columns, 1, radius);
}

__kernel void
mean_down (__global const float4 *lines, uint columns, uint rows, uint radius,
    __global float4 *means)
{
  uint column = get_global_id (0);
  uint row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  uint cell = row * columns + column;
  means[cell] = mean_of_cells (lines + cell, row, rows, columns, radius);
}

/* Positions are in half pixels, and begin half a cell before the frame, so that they are
 * positive. Pixels are between the centres of two cells; at the edges both are the same. */
#define POSITION_OF(pixel, subsample) (2 * (pixel) + 1 + (subsample))

/* Planes of a row of the stretched grid: the linear function of a pixel, and the part of
 * its earlier alpha to keep. Each has `groups` vectors of eight pixels. */
enum { LINE_RED, LINE_GREEN, LINE_BLUE, LINE_OFFSET, KEPT, LINE_PLANES };

/* Interpolates the linear functions along the rows of the grid. `picture` has the parts
 * to keep. Eight pixels per work-item. */
__kernel void
stretch_lines (__global const float4 *lines, __global const float4 *picture, uint columns,
    uint rows, uint subsample, uint groups, __global float8 *stretched)
{
  uint group = get_global_id (0);
  uint row = get_global_id (1);
  if (group >= groups || row >= rows)
    return;
  uint position = POSITION_OF (8 * group, subsample), step = 2 * subsample;
  float red[8], green[8], blue[8], offset[8], kept[8];
#pragma unroll
  for (int n = 0; n < 8; n++) {
    int column = (int)((position + 2 * n) / step) - 1;
    float part = (float)((position + 2 * n) % step) / step;
    uint left = row * columns + clamp (column, 0, (int)columns - 1);
    uint right = row * columns + clamp (column + 1, 0, (int)columns - 1);
    float4 line = mix (lines[left], lines[right], part);
    red[n] = line.x;
    green[n] = line.y;
    blue[n] = line.z;
    offset[n] = line.w;
    kept[n] = mix (picture[left].w, picture[right].w, part);
  }
  __global float8 *to = stretched + (ulong)row * LINE_PLANES * groups + group;
  to[LINE_RED * groups] = vload8 (0, red);
  to[LINE_GREEN * groups] = vload8 (0, green);
  to[LINE_BLUE * groups] = vload8 (0, blue);
  to[LINE_OFFSET * groups] = vload8 (0, offset);
  to[KEPT * groups] = vload8 (0, kept);
}

/* Converts 0 to 1 to levels. */
uint8
rounded (float8 alpha, float levels)
{
  return as_uint8 (convert_int8 (alpha * levels + 0.5f));
}

/* Copies the frame with the refined alpha: 0 up to `black`, then rising by `gain`. With
 * `smooths`, `state` has the alpha of the frame before, in rows of `stride`. */
__kernel void
write_alpha (FRAME (const, input), FRAME (, output), uint width, uint height,
    uint subsample, uint rows, __global const float8 *stretched, float black, float gain,
    uint smooths, __global ushort *state)
{
  uint group = get_global_id (0), groups = (width + 7) / 8;
  uint y = get_global_id (1);
  if (group >= groups || y >= height)
    return;
  Pixel8 pixels = load_pixels (LINE (input, y), 8 * group, width);
  uint position = POSITION_OF (y, subsample), step = 2 * subsample;
  int row = (int)(position / step) - 1;
  float part = (float)(position % step) / step;
  uint row_size = LINE_PLANES * groups;
  __global const float8 *upper = stretched + (ulong)max (row, 0) * row_size + group;
  __global const float8 *lower =
      stretched + (ulong)min (row + 1, (int)rows - 1) * row_size + group;

#define BETWEEN(plane) mix (upper[(plane)*groups], lower[(plane)*groups], part)
  float8 sum = BETWEEN (LINE_RED) * convert_float8 (COMPONENT8 (pixels, RED))
               + BETWEEN (LINE_GREEN) * convert_float8 (COMPONENT8 (pixels, GREEN))
               + BETWEEN (LINE_BLUE) * convert_float8 (COMPONENT8 (pixels, BLUE));
  float8 alpha = sum * (1.0f / LEVELS) + BETWEEN (LINE_OFFSET);
  alpha = clamp ((alpha - black) * gain, 0.0f, 1.0f);
  if (smooths) {
    __global ushort *earlier = state + 8 * ((ulong)y * groups + group);
    float8 change = convert_float8 (vload8 (0, earlier)) / 65535 - alpha;
    float8 fade = FADE (change * change / (ALPHA_CHANGE * ALPHA_CHANGE));
    alpha += BETWEEN (KEPT) * fade * change;
    vstore8 (convert_ushort8 (rounded (alpha, 65535)), 0, earlier);
  }
  store_pixels (
      LINE (output, y), 8 * group, width, with_alpha (pixels, rounded (alpha, LEVELS)));
}
