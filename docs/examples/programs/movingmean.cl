/* Mean of `width_of` numbers of a row about each; at its ends of those that there are
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
movingmean (global const float *input, global float *output, int shape0, int width_of)
{
  const int x = get_global_id (0), first = get_global_id (1) * shape0;
  const int begin = max (x - width_of / 2, 0), end = min (x + width_of / 2 + 1, shape0);
  float sum = 0;

  for (int n = begin; n < end; n++)
    sum += input[first + n];
  output[first + x] = sum / (end - begin);
}
