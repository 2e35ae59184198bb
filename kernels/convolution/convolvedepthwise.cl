/* Depthwise convolution of adjacent channels, one per lane
 *
 * Reads the input in place. A work-item computes LANES channels of COLUMNS columns at a
 * time: `depth` channels, `run` times along a row. Neighbouring work-items compute
 * neighbouring channels. Each value that is read is used for all COLUMNS columns. Weights are
 * [line][column][filled].
 *
 * A CPU's compiler takes long for much code: there, loops that run rarely are not unrolled
 * (ROUNDS_OF_RARE_LOOPS is 1).
 *
 * Built with LANES, TAP_LINES, TAP_COLUMNS, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X,
 * ROUNDS_OF_RARE_LOOPS, and INPUT_BYTES, the size of an element.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define COLUMNS 4
#define REACH ((COLUMNS - 1) * STRIDE_X + (TAP_COLUMNS - 1) * DILATION_X + 1)

/* A row of the input */
typedef struct {
  global const uchar *first;
  long step; /* in bytes from column to column */
} Line;

/* A call would keep the sums in memory. */
#define INLINED inline __attribute__ ((always_inline))

INLINED FLOATS
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
#pragma unroll ROUNDS_OF_RARE_LOOPS
  for (int l = 0; l < LANES; l++)
    values[l] = l < count ? GET (from + l * INPUT_BYTES) : 0.0f;
  return VLOAD (0, values);
}

/* `x`: input column of the first tap. `beside` (nullable): all columns, where some are in the
 * border */
INLINED void
add_line (FLOATS *sum, Line line, int x, int count, const int *beside,
    global const float *weights, int filled)
{
  FLOATS tap[TAP_COLUMNS];

#pragma unroll
  for (int i = 0; i < TAP_COLUMNS; i++)
    tap[i] = VLOAD (0, weights + i * filled);
#pragma unroll
  for (int i = 0; i < REACH; i++) {
    const int at = beside ? beside[i] : x + i;
    /* Without a branch, so that a GPU does not wait for each of the loads. */
    const FLOATS loaded = channels_at (line.first + max (at, 0) * line.step, count);
    const FLOATS value = at >= 0 ? loaded : (FLOATS)(0);
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
#pragma unroll ROUNDS_OF_RARE_LOOPS
  for (int l = 0; l < LANES; l++)
    if (l < count)
      PUT (values[l], out, l);
}

/* The input window of COLUMNS columns */
typedef struct {
  global const uchar *image;
  long line, column; /* steps in bytes */
  int height, width, border;
  int y, x; /* of the first tap */
} Window;

/* Adds to the sums of LANES channels from `first` on, of which `count` exist. */
INLINED void
add_window (FLOATS *sum, Window in, int first, int count, const int *beside,
    global const float *weights, int filled)
{
#pragma unroll 1
  for (int j = 0; j < TAP_LINES; j++) {
    const int at = border_index (in.y + j * DILATION_Y, in.height, in.border);
    const Line line = {in.image + at * in.line + first * INPUT_BYTES, in.column};
    if (at >= 0)
      add_line (sum, line, in.x, count, beside,
          weights + j * TAP_COLUMNS * filled + first, filled);
  }
}

kernel void
convolve_depthwise (global const uchar *input, ulong in_offset, long in_image,
    long in_line, long in_column, int in_height, int in_width, int top, int left,
    int border, global const float *weights, int filled, global const float *bias,
    FINISH_PARAMETERS, global OUTPUT *output, long out_offset, long out_image,
    long out_line, long out_column, int channels, int height, int width, int depth,
    int run, int items)
{
  const int n = get_global_id (0),
            of_line = (width + COLUMNS * run - 1) / (COLUMNS * run);
  if (n >= items)
    return;
  const int across = (filled + depth - 1) / depth, rest = n / across;
  const int begin_channel = n % across * depth;
  const int begin = rest % of_line * run * COLUMNS, row = rest / of_line;
  const int y = row % height, image = row / height;
  const int end_channel = min (begin_channel + depth, channels);
  const int end = min (begin + run * COLUMNS, width);
  Window in = {input + in_offset + image * in_image, in_line, in_column, in_height,
      in_width, border, y * STRIDE_Y - top, 0};

  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + y * out_line;
  for (int x = begin; x < end; x += COLUMNS) {
    in.x = x * STRIDE_X - left;
    const bool inside = in.x >= 0 && in.x + REACH <= in_width;
    int beside[REACH];
#pragma unroll ROUNDS_OF_RARE_LOOPS
    for (int i = 0; i < REACH && (!inside || channels % LANES != 0); i++)
      beside[i] = border_index (in.x + i, in_width, border);
    for (int first = begin_channel; first < end_channel; first += LANES) {
      const int count = channels - first;
      global OUTPUT *to = output + x * out_column + first;
      FLOATS sum[COLUMNS];
#pragma unroll
      for (int m = 0; m < COLUMNS; m++)
        sum[m] = VLOAD (0, bias + first);
      if (inside && count >= LANES)
        add_window (sum, in, first, LANES, 0, weights, filled);
      else
        add_window (sum, in, first, count, beside, weights, filled);
      if (count >= LANES && x + COLUMNS <= width) {
#pragma unroll
        for (int m = 0; m < COLUMNS; m++)
          PUT_VECTOR (FINISH_LANES (sum[m], to + m * out_column, 1, LANES),
              to + m * out_column, 0);
        continue;
      }
      FLOATS sums[COLUMNS]; /* for a loop that may not be unrolled */
#pragma unroll
      for (int m = 0; m < COLUMNS; m++)
        sums[m] = sum[m];
#pragma unroll ROUNDS_OF_RARE_LOOPS
      for (int m = 0; m < COLUMNS; m++, to += out_column)
        if (x + m < width)
          put_channels (FINISH_LANES (sums[m], to, 1, count), to, count);
    }
  }
}
