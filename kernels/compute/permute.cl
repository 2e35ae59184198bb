/* Copies an array with its dimensions in another order
 *
 * Dimension x is the innermost of the output, y the innermost of the input other than x.
 * With TILE > 1, a work-group copies TILE x TILE elements through local memory, so that it
 * reads and writes rows. Otherwise a work-item copies one element.
 *
 * Built with
 *   FROM, TO: types of the elements: float, float2, double or double2; x becomes (x, 0)
 *   TILE: side of a tile
 *   WIDENS: 1 if TO is a pair of FROM
 *   IS_DOUBLE: 1 for double and double2
 * `geometry` has length, stride of the input and stride of the output of x, of y and of
 * each other dimension, innermost first.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#if IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if WIDENS
#define CONVERT(value) ((TO)(value, 0))
#else
#define CONVERT(value) (value)
#endif

kernel void
permute (global const FROM *restrict from, long from_offset, global TO *restrict to,
    long to_offset, global const long *geometry, uint outer_rank)
{
  const long x_length = geometry[0], y_length = geometry[3];
#if TILE > 1
  const long x_tiles = (x_length + TILE - 1) / TILE, y_tiles = (y_length + TILE - 1) / TILE;
  long rest = get_group_id (0);
  const long x_begin = rest % x_tiles * TILE;
  rest /= x_tiles;
  const long y_begin = rest % y_tiles * TILE;
  rest /= y_tiles;
#else
  long rest = get_global_id (1);
  const long x = get_global_id (0), y = rest % y_length;
  rest /= y_length;
#endif
  for (uint d = 0; d < outer_rank; d++) {
    global const long *outer = geometry + 6 + 3 * d;
    const long index = rest % outer[0];
    rest /= outer[0];
    from_offset += index * outer[1];
    to_offset += index * outer[2];
  }
  from += from_offset;
  to += to_offset;
#if TILE > 1
  local FROM tile[TILE][TILE + 1];
  const int inner = get_local_id (0) % TILE, outer = get_local_id (0) / TILE;
  if (x_begin + outer < x_length && y_begin + inner < y_length)
    tile[outer][inner] =
        from[(x_begin + outer) * geometry[1] + (y_begin + inner) * geometry[4]];
  barrier (CLK_LOCAL_MEM_FENCE);
  if (x_begin + inner < x_length && y_begin + outer < y_length)
    to[(x_begin + inner) * geometry[2] + (y_begin + outer) * geometry[5]] =
        CONVERT (tile[inner][outer]);
#else
  if (x < x_length)
    to[x * geometry[2] + y * geometry[5]] =
        CONVERT (from[x * geometry[1] + y * geometry[4]]);
#endif
}
