/* Dilation by a disc: the maximum of the pixels within a radius
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
dilate (
    global const uchar *input, global uchar *output, int shape0, int shape1, int radius)
{
  const int x = get_global_id (0), y = get_global_id (1);
  uchar most = 0;

  for (int dy = -radius; dy <= radius; dy++) {
    for (int dx = -radius; dx <= radius; dx++) {
      const int column = x + dx, line = y + dy;
      if (dx * dx + dy * dy <= radius * radius && column >= 0 && column < shape0
          && line >= 0 && line < shape1)
        most = max (most, input[line * shape0 + column]);
    }
  }
  output[y * shape0 + x] = most;
}
