/* Product of matrices whose elements are computed at run time, for a batch
 *
 * Built with the macros of numbers.clh and BATCH_RANK. `batch` has length and strides of A, B
 * and C of each outer dimension. `run` is for multiply_cpu. A product in an expression has the
 * names and the sizes of its arrays in PARAMETERS and SIZES.
 *
 * multiply_cpu, for floating-point numbers: a work-item copies a part of LANES x 2 columns of B,
 * which stays in a cache of 32 KiB, and multiplies `run` rows with it, six at a time in registers.
 * multiply_gpu: ITEMS x ITEMS work-items compute EACH x EACH elements each by way of local memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#ifndef PARAMETERS
#define SIZES
#define PARAMETERS                                                                       \
  global const STORED *restrict a, long a_offset, long a_row, long a_column,             \
      global const STORED *restrict b, long b_offset, long b_row, long b_column,         \
      global STORED *restrict c, long c_offset, long c_row, long c_column,               \
      global const long *restrict batch, long rows, long columns, long depth, long run
#endif

#define LOCATE(index)                                                                    \
  {                                                                                      \
    size_t rest = index;                                                                 \
    for (int d = 0; d < BATCH_RANK; d++) {                                               \
      const long at = rest % batch[4 * d];                                               \
      rest /= batch[4 * d];                                                              \
      a_offset += at * batch[4 * d + 1];                                                 \
      b_offset += at * batch[4 * d + 2];                                                 \
      c_offset += at * batch[4 * d + 3];                                                 \
    }                                                                                    \
    a += a_offset;                                                                       \
    b += b_offset;                                                                       \
    c += c_offset;                                                                       \
  }

#if LANES > 1
#define ROWS 6
#define MOST_ROWS 96
#define PAIR (2 * LANES)
#define DEEP (4096 / PAIR)
#define VLOAD JOIN (vload, LANES)
#define VSTORE JOIN (vstore, LANES)
#define EACH_ROW _Pragma ("unroll") for (int r = 0; r < ROWS; r++)

/* Copies rows of B, with zeros beyond its columns. */
void
copy_rows (
    global const STORED *b, long b_row, long b_column, int rows, int columns, REAL *to)
{
  for (int k = 0; k < rows; k++, b += b_row, to += PAIR)
    if (b_column == 1 && columns >= PAIR) {
      VSTORE (LOAD (b), 0, to);
      VSTORE (LOAD (b + LANES), 1, to);
    } else {
      for (int n = 0; n < PAIR; n++)
        to[n] = n < columns ? LOAD_ONE (b + n * b_column) : (REAL)0;
    }
}

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
multiply_cpu (PARAMETERS)
{
  SIZES
  const long begin = get_global_id (0) * run, end = min (begin + run, rows);
  const long column = get_global_id (1) * PAIR;
  const int count = min ((long)PAIR, columns - column);
  REAL part[DEEP * PAIR], sums[MOST_ROWS * PAIR];
  LOCATE (get_global_id (2))
  b += column * b_column;
  c += column * c_column;
  for (int n = 0; n < MOST_ROWS * PAIR; n++)
    sums[n] = 0;
  for (long k = 0; k < depth; k += DEEP) {
    const int deep = min ((long)DEEP, depth - k);
    copy_rows (b + k * b_row, b_row, b_column, deep, count, part);
    for (long first = begin; first < end; first += ROWS) {
      REAL *sum = sums + (first - begin) * PAIR;
      global const STORED *row[ROWS];
      REALS left[ROWS], right[ROWS];
      EACH_ROW
      {
        row[r] = a + min (first + r, end - 1) * a_row + k * a_column;
        left[r] = VLOAD (2 * r, sum);
        right[r] = VLOAD (2 * r + 1, sum);
      }
      for (int n = 0; n < deep; n++) {
        const REALS l = VLOAD (2 * n, part), m = VLOAD (2 * n + 1, part);
        EACH_ROW
        {
          const REALS value = (REALS)(LOAD_ONE (row[r] + n * a_column));
          left[r] = fma (value, l, left[r]);
          right[r] = fma (value, m, right[r]);
        }
      }
      EACH_ROW
      {
        VSTORE (left[r], 2 * r, sum);
        VSTORE (right[r], 2 * r + 1, sum);
      }
    }
  }
  for (long row = begin; row < end; row++) {
    const REAL *sum = sums + (row - begin) * PAIR;
    global STORED *to = c + row * c_row;
    if (c_column == 1 && count == PAIR) {
      STORE (VLOAD (0, sum), to);
      STORE (VLOAD (1, sum), to + LANES);
    } else {
      for (int n = 0; n < count; n++)
        STORE_ONE (sum[n], to + n * c_column);
    }
  }
}
#else
#define TILE (ITEMS * EACH)
#if EACH == 1
#define PART 1
#define PARTS REAL
#else
#define PART 4
#define PARTS JOIN (REAL, PART)
#endif
#define VECTORS (EACH / PART)
#define UNROLLED(n, count) _Pragma ("unroll") for (int n = 0; n < count; n++)

/* A statement for each of an item's elements of a tile: `outer` is its row of A or column of B,
 * `inner` its place in the depth. Neighbours read neighbours, along the depth or across it.
 * With an int for `inner`, NVIDIA's compiler makes code that takes 1.4 times as long. */
#define EACH_OF_TILE(along_depth, statement)                                             \
  UNROLLED (n, EACH)                                                                     \
  {                                                                                      \
    const int at = item + n * ITEMS * ITEMS;                                             \
    const int outer = (along_depth) ? at / ITEMS : at % TILE;                            \
    const long inner = (along_depth) ? at % ITEMS : at / TILE;                           \
    statement;                                                                           \
  }

#define FETCH(to, along_depth, from, valid)                                              \
  EACH_OF_TILE (                                                                         \
      along_depth, to[n] = (valid) && k + inner < depth ? LOAD_ONE (from) : (REAL)0)
#define FETCH_BOTH                                                                       \
  FETCH (of_left, a_column == 1, a + outer * a_row + (k + inner) * a_column,             \
      first_row + outer < rows)                                                          \
  FETCH (of_right, b_column != 1, b + (k + inner) * b_row + outer * b_column,            \
      first_column + outer < columns)
#define KEEP(from, along_depth, to)                                                      \
  EACH_OF_TILE (along_depth, ((local REAL *)to[inner])[outer] = from[n])

/* Row or column of an item's element `n` */
#define PLACE(item, n) (((n) / PART * ITEMS + (item)) * PART + (n) % PART)

kernel __attribute__ ((reqd_work_group_size (ITEMS, ITEMS, 1))) void
multiply_gpu (PARAMETERS)
{
  SIZES
  local PARTS left[ITEMS][TILE / PART + 1], right[ITEMS][TILE / PART + 1];
  const int x = get_local_id (0), y = get_local_id (1), item = y * ITEMS + x;
  const long first_column = get_group_id (0) * TILE, first_row = get_group_id (1) * TILE;
  REAL of_left[EACH], of_right[EACH];
  PARTS sum[EACH][VECTORS];
  long k = 0;
  LOCATE (get_group_id (2))
  a += first_row * a_row;
  b += first_column * b_column;
  UNROLLED (r, EACH)
  UNROLLED (v, VECTORS)
  sum[r][v] = 0;
  FETCH_BOTH
  while (k < depth) {
    KEEP (of_left, a_column == 1, left)
    KEEP (of_right, b_column != 1, right)
    barrier (CLK_LOCAL_MEM_FENCE);
    k += ITEMS;
    FETCH_BOTH
#pragma unroll
    for (int n = 0; n < ITEMS; n++) {
      PARTS of_a[VECTORS], of_b[VECTORS];
      UNROLLED (v, VECTORS)
      {
        of_a[v] = left[n][y + v * ITEMS];
        of_b[v] = right[n][x + v * ITEMS];
      }
      UNROLLED (r, EACH)
      UNROLLED (v, VECTORS)
      sum[r][v] += ((REAL *)of_a)[r] * of_b[v];
    }
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  UNROLLED (r, EACH)
  UNROLLED (s, EACH)
  {
    const long row = first_row + PLACE (y, r), column = first_column + PLACE (x, s);
    if (row < rows && column < columns)
      STORE_ONE (((REAL *)sum[r])[s], c + row * c_row + column * c_column);
  }
}
#endif
