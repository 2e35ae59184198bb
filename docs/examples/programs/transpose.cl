/* Transposition by tiles in local memory, so that reads and writes go along rows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define TILE 16

kernel __attribute__ ((reqd_work_group_size (TILE, TILE, 1))) void
transpose (global const uchar *input, global uchar *output, int shape0, int shape1)
{
  local uchar tile[TILE][TILE + 1];
  const int column = get_local_id (0), line = get_local_id (1);
  const int left = get_group_id (0) * TILE,
            top = get_group_id (1) * TILE; /* of the output */

  if (top + column < shape1 && left + line < shape0)
    tile[line][column] = input[(left + line) * shape1 + top + column];
  barrier (CLK_LOCAL_MEM_FENCE);
  if (left + column < shape0 && top + line < shape1)
    output[(top + line) * shape0 + left + column] = tile[column][line];
}
