/* A generation of Conway's game of life on a torus. Cells above 127 live.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
life (global const uchar *input, global uchar *output, int shape0, int shape1)
{
  const int x = get_global_id (0), y = get_global_id (1);
  int neighbours = 0;

  for (int dy = shape1 - 1; dy <= shape1 + 1; dy++) {
    for (int dx = shape0 - 1; dx <= shape0 + 1; dx++)
      neighbours += input[(y + dy) % shape1 * shape0 + (x + dx) % shape0] > 127;
  }
  const int lives = input[y * shape0 + x] > 127;
  neighbours -= lives;
  output[y * shape0 + x] = neighbours == 3 || (lives && neighbours == 2) ? 255 : 0;
}
