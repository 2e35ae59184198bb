/* Unfolds the input into a matrix with one row per output pixel ("im2col")
 *
 * Reads the pixels of convolvegather.cl. `fours` holds the offset of each group of four
 * elements of a row. A work-item copies `run` groups.
 *
 * `finish` adds up partial products, and applies bias and activation.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

kernel void
unfold (global const float *pixels, int of_image, int of_line, int of_column, int start,
    global const int *fours, int n_fours, int run, global float *rows, int depth,
    int height, int width, int n_rows, long rows_start)
{
  uint n = get_global_id (0), runs = (n_fours + run - 1) / run;
  int first = n % runs * run, row = n / runs;
  if (row >= n_rows)
    return;
  int line = row / width;
  pixels += (long)(line / height) * of_image + line % height * of_line
            + row % width * of_column + start;
  rows += rows_start + (long)row * depth;
  for (int f = first; f < min (first + run, n_fours); f++)
    vstore4 (vload4 (0, pixels + fours[f]), f, rows);
}

/* Adds up the parts of `products`, [part][batch][row][width], one output value per
 * work-item. */
kernel void
finish (global const float *products, int parts, int width, int n_rows, int batches,
    global const float *bias, int bias_batch, FINISH_PARAMETERS, global OUTPUT *output,
    long out_offset, int out_batch, int out_image, int out_line, int out_column,
    int out_channel, int height, int columns)
{
  uint n = get_global_id (0), batch = get_global_id (1);
  int column = n % width, row = n / width;
  if (row >= n_rows || batch >= batches)
    return;
  int line = row / columns;
  long of_batch = (long)n_rows * width;
  float value = bias[(long)batch * bias_batch + column];
  products += batch * of_batch + (long)row * width + column;
  for (int part = 0; part < parts; part++)
    value += products[part * batches * of_batch];
  LOCATE_RESIDUAL (output)
  output += out_offset + (long)batch * out_batch + (long)(line / height) * out_image
            + line % height * out_line + row % columns * out_column
            + (long)column * out_channel;
  PUT (FINISH (value, output), output, 0);
}
