/* Product of matrices whose elements are computed at run time, for a batch
 *
 * A work-group of TILE x TILE work-items computes TILE x TILE elements by way of local memory.
 * Built with the macros of numbers.clh (LANES = 1), TILE and BATCH_RANK. `batch` has length
 * and strides of A, B and C of each outer dimension.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

kernel __attribute__ ((reqd_work_group_size (TILE, TILE, 1))) void
multiply (global const STORED *restrict a, long a_offset, long a_row, long a_column,
    global const STORED *restrict b, long b_offset, long b_row, long b_column,
    global STORED *restrict c, long c_offset, long c_row, long c_column,
    global const long *restrict batch, long rows, long columns, long depth)
{
  local REAL left[TILE][TILE + 1], right[TILE][TILE + 1];
  const long x = get_local_id (0), y = get_local_id (1);
  const long column = get_group_id (0) * TILE + x, row = get_group_id (1) * TILE + y;
  size_t rest = get_group_id (2);
  for (int d = 0; d < BATCH_RANK; d++) {
    const long index = rest % batch[4 * d];
    rest /= batch[4 * d];
    a_offset += index * batch[4 * d + 1];
    b_offset += index * batch[4 * d + 2];
    c_offset += index * batch[4 * d + 3];
  }
  REAL sum = 0;
  for (long k = 0; k < depth; k += TILE) {
    left[y][x] = row < rows && k + x < depth
                     ? LOAD_ONE (a + a_offset + row * a_row + (k + x) * a_column)
                     : (REAL)0;
    right[y][x] = column < columns && k + y < depth
                      ? LOAD_ONE (b + b_offset + (k + y) * b_row + column * b_column)
                      : (REAL)0;
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < TILE; n++)
      sum += left[y][n] * right[n][x];
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  if (row < rows && column < columns)
    STORE_ONE (sum, c + c_offset + row * c_row + column * c_column);
}
