/* A level of a pyramid: means of 2 x 2 elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
halve (global const float *input, global float *output, int shape0, int input_shape0)
{
  const int x = get_global_id (0), y = get_global_id (1);
  global const float *from = input + 2 * y * input_shape0 + 2 * x;

  output[y * shape0 + x] =
      (from[0] + from[1] + from[input_shape0] + from[input_shape0 + 1]) / 4;
}
