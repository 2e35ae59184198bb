/* Winograd convolution with 3×3 taps, F(4×4, 3×3) of Lavin and Gray (2016)
 *
 * It needs 36 products for 16 output values, instead of 144. The input is pixels
 * [image][line][column][channel] of convolvegather.cl, in tiles of 6×6 that begin every 4
 * pixels. Between the two transforms are 36 matrix products [tile][channel] ·
 * [channel][filter]. A work-item transforms LANES channels, or filters, of a tile.
 * UNROLLED unrolls the loop over its output values.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define TILE 6
#define OUTPUT_SIDE 4

/* Channels and filters are padded to whole vectors. */
#define READ(numbers) (*(global const FLOATS *)(numbers))
#define WRITE(values, numbers) (*(global FLOATS *)(numbers) = (values))

/* Bᵀ · d, for six values that are `step` apart */
#define TRANSFORM_INPUT(d, step)                                                         \
  {                                                                                      \
    FLOATS d0 = d[0], d1 = d[step], d2 = d[2 * (step)], d3 = d[3 * (step)],              \
           d4 = d[4 * (step)], d5 = d[5 * (step)];                                       \
    FLOATS far = d4 - 4.0f * d2, near = d3 - 4.0f * d1;                                  \
    FLOATS even = d4 - d2, odd = 2.0f * (d3 - d1);                                       \
    d[0] = 4.0f * d0 - 5.0f * d2 + d4;                                                   \
    d[step] = far + near;                                                                \
    d[2 * (step)] = far - near;                                                          \
    d[3 * (step)] = even + odd;                                                          \
    d[4 * (step)] = even - odd;                                                          \
    d[5 * (step)] = 4.0f * d1 - 5.0f * d3 + d5;                                          \
  }

/* Aᵀ · m: the first four of the six are the result */
#define TRANSFORM_OUTPUT(m, step)                                                        \
  {                                                                                      \
    FLOATS m0 = m[0], m5 = m[5 * (step)];                                                \
    FLOATS sum = m[step] + m[2 * (step)], difference = m[step] - m[2 * (step)];          \
    FLOATS sum2 = m[3 * (step)] + m[4 * (step)];                                         \
    FLOATS difference2 = m[3 * (step)] - m[4 * (step)];                                  \
    m[0] = m0 + sum + sum2;                                                              \
    m[step] = difference + 2.0f * difference2;                                           \
    m[2 * (step)] = sum + 4.0f * sum2;                                                   \
    m[3 * (step)] = difference + 8.0f * difference2 + m5;                                \
  }

/* `transformed_input`: [36][tile][depth] */
kernel void
transform_input (global const float *pixels, int lines, int columns, int depth,
    int tiles_down, int tiles_across, int tiles, global float *transformed_input)
{
  uint item = get_global_id (0), vectors = depth / LANES;
  int channel = item % vectors * LANES, tile = item / vectors;
  if (tile >= tiles)
    return;
  int across = tile % tiles_across, down = tile / tiles_across % tiles_down;
  int image = tile / tiles_across / tiles_down;
  global const float *from =
      pixels
      + (((long)image * lines + down * OUTPUT_SIDE) * columns + across * OUTPUT_SIDE)
            * depth
      + channel;
  FLOATS d[TILE * TILE];

#pragma unroll
  for (int y = 0; y < TILE; y++)
#pragma unroll
    for (int x = 0; x < TILE; x++)
      d[y * TILE + x] = READ (from + (y * columns + x) * depth);
#pragma unroll
  for (int x = 0; x < TILE; x++)
    TRANSFORM_INPUT ((d + x), TILE)
#pragma unroll
  for (int y = 0; y < TILE; y++)
    TRANSFORM_INPUT ((d + y * TILE), 1)
  transformed_input += (long)tile * depth + channel;
#pragma unroll
  for (int n = 0; n < TILE * TILE; n++)
    WRITE (d[n], transformed_input + (long)n * tiles * depth);
}

/* `products`: [36][tile][depth], where `depth` is `filters` rounded up to whole
 * vectors */
kernel void
transform_output (global const float *products, int depth, int tiles_down,
    int tiles_across, int tiles, global const float *bias, FINISH_PARAMETERS,
    global OUTPUT *output, long out_offset, long out_image, long out_channel,
    long out_line, long out_column, int filters, int height, int width)
{
  uint item = get_global_id (0), vectors = depth / LANES;
  int filter = item % vectors * LANES, tile = item / vectors;
  if (tile >= tiles)
    return;
  int left = tile % tiles_across * OUTPUT_SIDE,
      top = tile / tiles_across % tiles_down * OUTPUT_SIDE;
  int image = tile / tiles_across / tiles_down;
  FLOATS m[TILE * TILE], results[OUTPUT_SIDE * OUTPUT_SIDE],
      biases = READ (bias + filter);

  products += (long)tile * depth + filter;
#pragma unroll
  for (int n = 0; n < TILE * TILE; n++)
    m[n] = READ (products + (long)n * tiles * depth);
#pragma unroll
  for (int x = 0; x < TILE; x++)
    TRANSFORM_OUTPUT ((m + x), TILE)
#pragma unroll
  for (int y = 0; y < OUTPUT_SIDE; y++)
    TRANSFORM_OUTPUT ((m + y * TILE), 1)
#pragma unroll
  for (int n = 0; n < OUTPUT_SIDE * OUTPUT_SIDE; n++)
    results[n] = m[n / OUTPUT_SIDE * TILE + n % OUTPUT_SIDE] + biases;

  LOCATE_RESIDUAL (output)
  output += out_offset + image * out_image + filter * out_channel;
#ifdef UNROLLED /* keeps the values in registers */
#pragma unroll
#else
#pragma unroll 1
#endif
  for (int n = 0; n < OUTPUT_SIDE * OUTPUT_SIDE; n++) {
    int y = top + n / OUTPUT_SIDE, x = left + n % OUTPUT_SIDE;
    if (y >= height || x >= width)
      continue;
    global OUTPUT *to = output + y * out_line + x * out_column;
    FLOATS value = FINISH_LANES (results[n], to, out_channel, filters - filter);
    if (out_channel == 1 && filter + LANES <= filters) {
      PUT_VECTOR (value, to, 0);
      continue;
    }
    float values[LANES];
    VSTORE (value, 0, values);
    for (int l = 0; l < min (LANES, filters - filter); l++)
      PUT (values[l], to, l * out_channel);
  }
}
