/* Adds up partial products of a matrix product, and applies bias and activation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

/* `products` is [part][batch][row][width]. A work-item makes one output value. */
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
