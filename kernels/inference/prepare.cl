/* Makes the input of a network from a video frame: scaling, colours and normalization
 *
 * A work-item computes one pixel of the network's input. Each column and row of it is a
 * weighted sum of input columns and rows: `across` and `down` have for each the index of the
 * first one, then `taps` weights. An index of -1 marks pixels outside the frame, which get
 * `fill`. Columns begin at an even index, and their number is a multiple of COLUMNS.
 * (make_taps of videoinput.cpp)
 *
 * Built with the options of videoframe.clh and of tensorpixel.clh, and IN_STEPS.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define COLUMNS 8
#include <videoframe.clh>
#include "tensorpixel.clh"

#define HAS_ALPHA (CHANNELS == 4)

typedef struct {
  float8 x, y, z, w;
} Columns;

/* Adds COLUMNS pixels. Those beyond the frame repeat its last one; their weight is 0. */
__attribute__ ((always_inline)) void
add_pixels (const VideoFrame *in, int x, int y, float weight, Columns *sums)
{
#if WIDE
  if (CAN_READ_WIDE (in, x)) {
    const Pixels pixels = read_pixels (in, x, y);
    sums->x += weight * convert_float8 (pixels.x);
    sums->y += weight * convert_float8 (pixels.y);
    sums->z += weight * convert_float8 (pixels.z);
    if (HAS_ALPHA)
      sums->w += weight * convert_float8 (pixels.w);
    return;
  }
#endif
  float each[4][COLUMNS];
  for (int n = 0; n < COLUMNS; n++) {
    const int4 pixel = read_pixel (in, min (x + n, in->size.x - 1), y);
    each[0][n] = pixel.x;
    each[1][n] = pixel.y;
    each[2][n] = pixel.z;
    each[3][n] = pixel.w;
  }
  sums->x += weight * vload8 (0, each[0]);
  sums->y += weight * vload8 (0, each[1]);
  sums->z += weight * vload8 (0, each[2]);
  if (HAS_ALPHA)
    sums->w += weight * vload8 (0, each[3]);
}

float
total (float8 values)
{
  const float4 sums = values.lo + values.hi;
  return (sums.x + sums.y) + (sums.z + sums.w);
}

kernel void
prepare (global const uchar *data, int2 size, ulong4 start, int4 stride, int fields,
    global const float *restrict across, global const float *restrict down, int2 taps,
    float4 row0, float4 row1, float4 row2, float2 alpha, float4 fill,
    global STORED *restrict output, long output_offset, long channel_step, long line_step,
    long column_step, int width, int height)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const VideoFrame in = {data, size, start, stride, (int4)(IN_STEPS), fields};
  across += x * (taps.x + 1);
  down += y * (taps.y + 1);
  const int first_x = (int)across[0], first_y = (int)down[0];
  float values[4] = {fill.x, fill.y, fill.z, fill.w};
  if (first_x >= 0 && first_y >= 0) {
    float4 sum = (float4)(0.0f, 0.0f, 0.0f, 1.0f);
    float opacity = 0.0f;
    for (int i = 0; i < taps.x; i += COLUMNS) {
      const float8 weights = vload8 (0, across + 1 + i);
      Columns columns = {0.0f, 0.0f, 0.0f, 0.0f};
      if (i > 0 && all (weights == 0.0f))
        continue;
      for (int j = 0; j < taps.y; j++)
        if (down[1 + j] != 0.0f)
          add_pixels (&in, first_x + i, first_y + j, down[1 + j], &columns);
      sum.x += total (weights * columns.x);
      sum.y += total (weights * columns.y);
      sum.z += total (weights * columns.z);
      opacity += total (weights * columns.w);
    }
    values[0] = dot (sum, row0);
    values[1] = dot (sum, row1);
    values[2] = dot (sum, row2);
    values[3] = alpha.x * opacity + alpha.y;
  }
  output += output_offset + y * line_step + x * column_step;
  for (int c = 0; c < CHANNELS; c++)
    STORE (values[c], output + c * channel_step);
}
