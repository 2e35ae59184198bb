/* Strength of edges by Sobel's two derivatives
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
sobel (global const uchar *input, global float *output, int shape0, int shape1)
{
  const int x = get_global_id (0), y = get_global_id (1);
  const int left = max (x - 1, 0), right = min (x + 1, shape0 - 1);
  global const uchar *above = input + max (y - 1, 0) * shape0, *at = input + y * shape0,
                     *below = input + min (y + 1, shape1 - 1) * shape0;
  const float across = above[right] + 2 * at[right] + below[right] - above[left]
                       - 2 * at[left] - below[left];
  const float down = below[left] + 2 * below[x] + below[right] - above[left]
                     - 2 * above[x] - above[right];

  output[y * shape0 + x] = sqrt (across * across + down * down);
}
