/* Depthwise convolution of adjacent channels, one per lane
 *
 * Reads the input in place. A work-item computes LANES channels of COLUMNS columns at a
 * time, `run` times along a row. Neighbouring work-items compute neighbouring channels.
 * Each value that is read is used for all COLUMNS columns. Weights are
 * [line][column][filled].
 *
 * Built with LANES, TAP_LINES, TAP_COLUMNS, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, and INPUT_BYTES, the size
 * of an element.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define COLUMNS 4
#define REACH ((COLUMNS - 1) * STRIDE_X + (TAP_COLUMNS - 1) * DILATION_X + 1)

/* A row of the input, and the position of its columns */
typedef struct {
  global const uchar *first;
  long step; /* in bytes from column to column */
  int width, border;
} Line;

FLOATS
channels_at (global const uchar *from, int count)
{
#if defined(INPUT_f32)
  if (count >= LANES)
    return VLOAD (0, (global const float *)from);
#elif defined(INPUT_f16)
  if (count >= LANES)
    return LOAD_HALVES ((global const half *)from);
#endif
  float values[LANES];
#pragma unroll
  for (int l = 0; l < LANES; l++)
    values[l] = l < count ? GET (from + l * INPUT_BYTES) : 0.0f;
  return VLOAD (0, values);
}

/* `x`: input column of the first tap. `inside`: no tap reads the border. */
void
add_line (FLOATS *sum, Line line, int x, int count, bool inside,
    global const float *weights, int filled)
{
  FLOATS tap[TAP_COLUMNS];

#pragma unroll
  for (int i = 0; i < TAP_COLUMNS; i++)
    tap[i] = VLOAD (0, weights + i * filled);
#pragma unroll
  for (int i = 0; i < REACH; i++) {
    int at = inside ? x + i : border_index (x + i, line.width, line.border);
    FLOATS value = 0;
    if (at >= 0)
      value = channels_at (line.first + at * line.step, count);
#pragma unroll
    for (int m = 0; m < COLUMNS; m++) {
      int place = i - m * STRIDE_X;
      if (place >= 0 && place % DILATION_X == 0 && place / DILATION_X < TAP_COLUMNS)
        sum[m] = fma (value, tap[place / DILATION_X], sum[m]);
    }
  }
}

void
put_channels (FLOATS value, global OUTPUT *out, int count)
{
  if (count >= LANES) {
    PUT_VECTOR (value, out, 0);
    return;
  }
  float values[LANES];
  VSTORE (value, 0, values);
#pragma unroll
  for (int l = 0; l < LANES; l++)
    if (l < count)
      PUT (values[l], out, l);
}

kernel void
convolve_depthwise (global const uchar *input, ulong in_offset, long in_image,
    long in_line, long in_column, int in_height, int in_width, int top, int left,
    int border, global const float *weights, int filled, global const float *bias,
    FINISH_PARAMETERS, global OUTPUT *output, long out_offset, long out_image, long out_line,
    long out_column, int channels, int height, int width, int run, int items)
{
  int n = get_global_id (0), of_line = (width + COLUMNS * run - 1) / (COLUMNS * run);
  if (n >= items)
    return;
  int across = filled / LANES, first = n % across * LANES, rest = n / across;
  int begin = rest % of_line * run * COLUMNS, row = rest / of_line;
  int y = row % height, image = row / height;
  int count = channels - first;

  input += in_offset + image * in_image + first * INPUT_BYTES;
  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + y * out_line + first;
  weights += first;
  for (int x = begin; x < min (begin + run * COLUMNS, width); x += COLUMNS) {
    int from = x * STRIDE_X - left;
    bool inside = from >= 0 && from + REACH <= in_width && count >= LANES;
    FLOATS sum[COLUMNS];
#pragma unroll
    for (int m = 0; m < COLUMNS; m++)
      sum[m] = VLOAD (0, bias + first);
#pragma unroll 1
    for (int j = 0; j < TAP_LINES; j++) {
      int at = border_index (y * STRIDE_Y + j * DILATION_Y - top, in_height, border);
      Line line = {input + at * in_line, in_column, in_width, border};
      global const float *of_line = weights + j * TAP_COLUMNS * filled;
      if (at < 0)
        continue;
      if (inside)
        add_line (sum, line, from, LANES, true, of_line, filled);
      else
        add_line (sum, line, from, count, false, of_line, filled);
    }
#pragma unroll
    for (int m = 0; m < COLUMNS; m++)
      if (x + m < width)
        put_channels (FINISH_LANES (sum[m], output + (x + m) * out_column, 1, count),
            output + (x + m) * out_column, count);
  }
}
