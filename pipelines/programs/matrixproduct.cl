/* The product of two matrices, by tiles in local memory
 *
 * a is of shape (m, k), b of (k, n), the output of (m, n). A group makes a tile of TILE
 * by TILE of the output, of as many tiles of a and b as k has.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TILE
#define TILE 16
#endif

kernel __attribute__ ((reqd_work_group_size (TILE, TILE, 1))) void
matrix_product (global const float *a, global const float *b, global float *output,
    int a_shape0, int shape0, int shape1)
{
  local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const int column = get_global_id (0), line = get_global_id (1);
  const int x = get_local_id (0), y = get_local_id (1);
  float sum = 0;

  for (int start = 0; start < a_shape0; start += TILE) {
    const bool in_a = line < shape1 && start + x < a_shape0;
    const bool in_b = column < shape0 && start + y < a_shape0;
    tile_a[y][x] = in_a ? a[line * a_shape0 + start + x] : 0;
    tile_b[y][x] = in_b ? b[(start + y) * shape0 + column] : 0;
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < TILE; n++)
      sum = fma (tile_a[y][n], tile_b[n][x], sum);
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  if (line < shape1 && column < shape0)
    output[line * shape0 + column] = sum;
}
