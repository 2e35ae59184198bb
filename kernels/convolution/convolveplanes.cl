/* Convolution over planes, tap by tap
 *
 * Reads the planes of convolvegather.cl, whose rows are `pitch` elements apart. Elements
 * after the end of a row may be read, but do not affect the result. Weights are
 * [filter][plane of group][line][column].
 *
 * `convolve_cpu`: a work-item computes ITEM_ROWS rows of LANES columns. `convolve_tall`,
 * also for a CPU: twice as many columns, and uses each value that it reads for all of its
 * rows. It needs stride 1, dilation 1 and at least ITEM_ROWS rows of taps.
 * `convolve_gpu`: a work-item computes ITEM_ROWS rows of one column. Its work-group reads
 * a tile of the input into local memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define PARAMETERS                                                                       \
  global const float *planes, int plane_lines, int pitch, int planes_of_image,           \
      int planes_of_group, int filters, int filters_of_group,                            \
      global const float *weights, int tap_lines, int tap_columns, int stride_y,         \
      int stride_x, int dilation_y, int dilation_x, global const float *bias,            \
      FINISH_PARAMETERS, float scale, float zero, global OUTPUT *output,                 \
      long out_offset, long out_image,                                                   \
      long out_channel, long out_line, long out_column, int height, int width

#ifdef LANES
#ifdef STRIDED
/* Lanes after the last output column would read far beyond the planes. */
FLOATS
load (global const float *from, int stride, int last)
{
  float values[LANES];
  for (int l = 0; l < LANES; l++)
    values[l] = from[min (l, last) * stride];
  return VLOAD (0, values);
}
#else
#define load(from, stride, last) VLOAD (0, from)
#endif

void
put_lanes (FLOATS value, global OUTPUT *out, long column, int count)
{
  if (column == 1 && count >= LANES) {
    PUT_VECTOR (value, out, 0);
    return;
  }
  float values[LANES];
  VSTORE (value, 0, values);
  for (int l = 0; l < min (count, LANES); l++)
    PUT (values[l], out, l * column);
}

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
convolve_cpu (PARAMETERS)
{
  int x = get_global_id (0) * LANES, y = get_global_id (1) * ITEM_ROWS;
  int image = (int)get_global_id (2) / filters, filter = (int)get_global_id (2) % filters;
  int first = image * planes_of_image + filter / filters_of_group * planes_of_group;
  int plane_size = plane_lines * pitch;
  global const float *weight =
      weights + (long)filter * planes_of_group * tap_lines * tap_columns;
  global const float *line[ITEM_ROWS];
  FLOATS sum[ITEM_ROWS];

#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++) {
    line[r] = planes + (long)first * plane_size
              + min (y + r, height - 1) * stride_y * pitch + x * stride_x;
    sum[r] = bias[filter];
  }
  for (int plane = 0; plane < planes_of_group; plane++) {
    for (int j = 0; j < tap_lines; j++) {
      int from = plane * plane_size + j * dilation_y * pitch;
      for (int i = 0; i < tap_columns; i++) {
        FLOATS tap = *weight++;
#pragma unroll
        for (int r = 0; r < ITEM_ROWS; r++)
          sum[r] += tap * load (line[r] + from + i * dilation_x, stride_x, width - 1 - x);
      }
    }
  }
  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + filter * out_channel + x * out_column;
  FLOATS sums[ITEM_ROWS]; /* for a loop that is not unrolled */
#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++)
    sums[r] = sum[r];
#pragma unroll 1
  for (int r = 0; r < min (ITEM_ROWS, height - y); r++) {
    global OUTPUT *to = output + (y + r) * out_line;
    put_lanes (FINISH_LANES (sums[r], to, out_column, width - x) * scale + zero, to,
        out_column, width - x);
  }
}

/* Adds input row `j` to the output rows r for which `meets` is true. */
#define ADD_LINE(j, meets)                                                               \
  {                                                                                      \
    global const float *line = from + min (y + (j), plane_lines - 1) * pitch;            \
    for (int i = 0; i < tap_columns; i++) {                                              \
      FLOATS near = VLOAD (0, line + i), far = VLOAD (1, line + i);                      \
      _Pragma ("unroll") for (int r = 0; r < ITEM_ROWS; r++)                             \
      {                                                                                  \
        if (meets) {                                                                     \
          FLOATS tap = weight[((j)-r) * tap_columns + i];                                \
          left[r] += tap * near;                                                         \
          right[r] += tap * far;                                                         \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
  }

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
convolve_tall (PARAMETERS)
{
  int x = get_global_id (0) * 2 * LANES, y = get_global_id (1) * ITEM_ROWS;
  int image = (int)get_global_id (2) / filters, filter = (int)get_global_id (2) % filters;
  int first = image * planes_of_image + filter / filters_of_group * planes_of_group;
  int plane_size = plane_lines * pitch;
  global const float *weight =
      weights + (long)filter * planes_of_group * tap_lines * tap_columns;
  global const float *from = planes + (long)first * plane_size + x;
  FLOATS left[ITEM_ROWS], right[ITEM_ROWS];

#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++)
    left[r] = right[r] = bias[filter];
  for (int plane = 0; plane < planes_of_group; plane++) {
#pragma unroll
    for (int j = 0; j < ITEM_ROWS - 1; j++)
      ADD_LINE (j, r <= j)
    for (int j = ITEM_ROWS - 1; j < tap_lines; j++)
      ADD_LINE (j, true)
#pragma unroll
    for (int j = 0; j < ITEM_ROWS - 1; j++)
      ADD_LINE (tap_lines + j, r > j)
    from += plane_size;
    weight += tap_lines * tap_columns;
  }
  FLOATS sums[2 * ITEM_ROWS]; /* for a loop that is not unrolled */
#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++) {
    sums[2 * r] = left[r];
    sums[2 * r + 1] = right[r];
  }
  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + filter * out_channel + x * out_column;
#pragma unroll 1
  for (int n = 0; n < 2 * min (ITEM_ROWS, height - y); n++) {
    int column = n % 2 * LANES;
    global OUTPUT *to = output + (y + n / 2) * out_line + column * out_column;
    put_lanes (FINISH_LANES (sums[n], to, out_column, width - x - column) * scale + zero,
        to, out_column, width - x - column);
  }
}
#else
/* Work-items of a group */
#define ACROSS 32
#define DOWN 4

/* `tile_lines` and `tile_columns` are the size of `tile`. */
kernel __attribute__ ((reqd_work_group_size (ACROSS, DOWN, 1))) void
convolve_gpu (PARAMETERS, local float *tile, int tile_lines, int tile_columns)
{
  int left = get_group_id (0) * ACROSS, top = get_group_id (1) * DOWN * ITEM_ROWS;
  int across = get_local_id (0), down = get_local_id (1);
  int image = (int)get_global_id (2) / filters, filter = (int)get_global_id (2) % filters;
  int first = image * planes_of_image + filter / filters_of_group * planes_of_group;
  int x = left + across, y = top + down * ITEM_ROWS;
  int lines = min (tile_lines, plane_lines - top * stride_y);
  int columns = min (tile_columns, pitch - left * stride_x);
  float sum[ITEM_ROWS];

  weights += (long)filter * planes_of_group * tap_lines * tap_columns;
#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++)
    sum[r] = bias[filter];
  for (int plane = 0; plane < planes_of_group; plane++) {
    global const float *from =
        planes + ((long)(first + plane) * plane_lines + top * stride_y) * pitch
        + left * stride_x;
    for (int j = down; j < tile_lines; j += DOWN)
      for (int i = across; i < tile_columns; i += ACROSS)
        tile[j * tile_columns + i] =
            j < lines && i < columns ? from[(long)j * pitch + i] : 0.0f;
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < tap_lines; j++) {
      local const float *seen =
          tile + (down * ITEM_ROWS * stride_y + j * dilation_y) * tile_columns
          + across * stride_x;
      for (int i = 0; i < tap_columns; i++) {
        float tap = *weights++;
#pragma unroll
        for (int r = 0; r < ITEM_ROWS; r++)
          sum[r] = fma (tap, seen[r * stride_y * tile_columns + i * dilation_x], sum[r]);
      }
    }
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + filter * out_channel + x * out_column;
#pragma unroll
  for (int r = 0; r < ITEM_ROWS; r++) {
    if (x < width && y + r < height) {
      global OUTPUT *to = output + (y + r) * out_line;
      PUT (FINISH (sum[r], to) * scale + zero, to, 0);
    }
  }
}
#endif
