/* A step of the heat equation; at the edges no heat passes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
heat (global const float *input, global float *output, int shape0, int shape1, float rate)
{
  const int x = get_global_id (0), y = get_global_id (1), at = y * shape0 + x;
  const float sum =
      input[max (y - 1, 0) * shape0 + x] + input[min (y + 1, shape1 - 1) * shape0 + x]
      + input[y * shape0 + max (x - 1, 0)] + input[y * shape0 + min (x + 1, shape0 - 1)];

  output[at] = input[at] + rate * (sum - 4 * input[at]);
}
