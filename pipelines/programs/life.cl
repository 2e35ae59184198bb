/* Conway's game of life on a torus: a living cell is 255, a dead one 0
 *
 * The first generation is drawn; one cell of five lives.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <random.clh>

kernel void
life (global uchar *output, global const uchar *previous, int width, int height, int stride,
    uint frame, uint seed)
{
  const int x = get_global_id (0), y = get_global_id (1);
  int neighbours = 0;

  for (int row = y + height - 1; row <= y + height + 1; row++)
    for (int column = x + width - 1; column <= x + width + 1; column++)
      neighbours += previous[row % height * stride + column % width] & 1;
  const int lives = previous[y * stride + x] & 1;
  const int stays = neighbours == 3 || (lives && neighbours == 4); /* with itself */
  const int drawn = random_uniform (seed, y * width + x, 0) < 0.2f;
  output[y * stride + x] = (frame == 0 ? drawn : stays) ? 255 : 0;
}
