/* Attention: softmax (scale * Q · K + mask) · V, without the matrix of scores in memory
 *
 * Goes through the keys in tiles of KEYS. The largest score so far and the sum of the weights
 * are corrected with each tile (Dao et al., FlashAttention, 2022).
 *
 * Built with the macros of numbers.clh, DEPTH (length of a query), WIDTH (length of a value),
 * MASKED, and BATCH_RANK. `batch` has for each outer dimension, innermost first: length, strides
 * of Q, K, V, the mask and the output. K is (DEPTH, keys).
 *
 * attend_cpu, with LANES: a work-item computes ROWS rows in registers and private memory.
 * attend_gpu: ITEMS work-items compute ITEMS / 4 rows through local memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define PARAMETERS                                                                       \
  global const STORED *restrict q, long q_offset, long q_row, long q_depth,              \
      global const STORED *restrict k, long k_offset, long k_depth, long k_key,          \
      global const STORED *restrict v, long v_offset, long v_key, long v_column,         \
      global const STORED *restrict mask, long mask_offset, long mask_row,               \
      long mask_key, global STORED *restrict output, long output_offset,                 \
      long output_row, long output_column, global const long *restrict batch, int rows,  \
      int keys, float scale

#define LOCATE(index)                                                                    \
  {                                                                                      \
    size_t rest = index;                                                                 \
    for (int d = 0; d < BATCH_RANK; d++) {                                               \
      const long at = rest % batch[6 * d];                                               \
      rest /= batch[6 * d];                                                              \
      q_offset += at * batch[6 * d + 1];                                                 \
      k_offset += at * batch[6 * d + 2];                                                 \
      v_offset += at * batch[6 * d + 3];                                                 \
      mask_offset += at * batch[6 * d + 4];                                              \
      output_offset += at * batch[6 * d + 5];                                            \
    }                                                                                    \
    q += q_offset;                                                                       \
    k += k_offset;                                                                       \
    v += v_offset;                                                                       \
    mask += mask_offset;                                                                 \
    output += output_offset;                                                             \
  }

/* With scores of -INFINITY alone, weights are 0. */
#define FINITE(largest) ((largest) == -INFINITY ? 0.0f : (largest))

#ifdef ON_CPU
#define ROWS 48
#define ROWS_AT_ONCE 6
#define KEYS 32
#define PAIR (2 * LANES)
#define FILLED ((WIDTH + PAIR - 1) / PAIR * PAIR)
#define EACH_ROW _Pragma ("unroll") for (int r = 0; r < ROWS_AT_ONCE; r++)
#define VLOAD JOIN (vload, LANES)
#define VSTORE JOIN (vstore, LANES)

/* c (rows, width) += a (rows, depth) · b (depth, width), dense, `width` a multiple of PAIR */
inline __attribute__ ((always_inline)) void
add_product (const float *a, const float *b, float *c, int rows, int depth, int width)
{
  for (int first = 0; first < rows; first += ROWS_AT_ONCE)
    for (int column = 0; column < width; column += PAIR) {
      REALS left[ROWS_AT_ONCE], right[ROWS_AT_ONCE];
      const float *of_a = a + first * depth;
      float *of_c = c + first * width + column;
      EACH_ROW
      {
        left[r] = VLOAD (0, of_c + r * width);
        right[r] = VLOAD (1, of_c + r * width);
      }
      for (int n = 0; n < depth; n++) {
        const REALS l = VLOAD (0, b + n * width + column);
        const REALS m = VLOAD (1, b + n * width + column);
        EACH_ROW
        {
          left[r] = fma ((REALS)(of_a[r * depth + n]), l, left[r]);
          right[r] = fma ((REALS)(of_a[r * depth + n]), m, right[r]);
        }
      }
      EACH_ROW
      {
        VSTORE (left[r], 0, of_c + r * width);
        VSTORE (right[r], 1, of_c + r * width);
      }
    }
}

/* Copies a matrix to a dense one with zeros around it. */
void
pack (global const STORED *from, long row, long column, int rows, int columns,
    float scale, float *to, int all_rows, int all_columns)
{
  for (int r = 0; r < all_rows; r++)
    for (int c = 0; c < all_columns; c++)
      to[r * all_columns + c] =
          r < rows && c < columns ? LOAD_ONE (from + r * row + c * column) * scale : 0.0f;
}

REAL
largest_lane (REALS values)
{
  REAL each[LANES], largest;
  VSTORE (values, 0, each);
  largest = each[0];
  for (int l = 1; l < LANES; l++)
    largest = fmax (largest, each[l]);
  return largest;
}

REAL
sum_of_lanes (REALS values)
{
  REAL each[LANES], sum = 0;
  VSTORE (values, 0, each);
  for (int l = 0; l < LANES; l++)
    sum += each[l];
  return sum;
}

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
attend_cpu (PARAMETERS)
{
  float queries[ROWS * DEPTH], of_keys[DEPTH * KEYS], values[KEYS * FILLED],
      scores[ROWS * KEYS], sums[ROWS * FILLED], largest[ROWS], total[ROWS];
  const int first = get_global_id (0) * ROWS, count = min (ROWS, rows - first);
  LOCATE (get_global_id (1))
  pack (q + first * q_row, q_row, q_depth, count, DEPTH, scale, queries, ROWS, DEPTH);
  for (int r = 0; r < ROWS; r++) {
    largest[r] = -INFINITY;
    total[r] = 0;
  }
  for (int n = 0; n < ROWS * FILLED; n++)
    sums[n] = 0;
  for (int key = 0; key < keys; key += KEYS) {
    const int inside = min (KEYS, keys - key);
    pack (k + key * k_key, k_depth, k_key, DEPTH, inside, 1, of_keys, DEPTH, KEYS);
    pack (v + key * v_key, v_key, v_column, inside, WIDTH, 1, values, KEYS, FILLED);
    for (int n = 0; n < ROWS * KEYS; n++)
      scores[n] = 0;
    add_product (queries, of_keys, scores, count, DEPTH, KEYS);
    for (int r = 0; r < count; r++) {
      float *row = scores + r * KEYS;
#if MASKED
      for (int n = 0; n < inside; n++)
        row[n] += LOAD_ONE (mask + (first + r) * mask_row + (key + n) * mask_key);
#endif
      for (int n = inside; n < KEYS; n++)
        row[n] = -INFINITY;
      REALS most = (REALS)(-INFINITY), weights = (REALS)(0);
      for (int n = 0; n < KEYS / LANES; n++)
        most = fmax (most, VLOAD (n, row));
      const float now = fmax (largest[r], largest_lane (most)), by = FINITE (now);
      const float correction = exp (largest[r] - by);
      for (int n = 0; n < KEYS / LANES; n++) {
        const REALS weight = exp (VLOAD (n, row) - by);
        weights += weight;
        VSTORE (weight, n, row);
      }
      for (int n = 0; n < FILLED / LANES; n++)
        VSTORE (VLOAD (n, sums + r * FILLED) * correction, n, sums + r * FILLED);
      total[r] = total[r] * correction + sum_of_lanes (weights);
      largest[r] = now;
    }
    add_product (scores, values, sums, count, KEYS, FILLED);
  }
  for (int r = 0; r < count; r++)
    for (int n = 0; n < WIDTH; n++)
      STORE_ONE (sums[r * FILLED + n] / total[r],
          output + (first + r) * output_row + n * output_column);
}

#else
#define KEYS 32
#define ROWS (ITEMS / 4)
/* A work-item computes two rows: every eighth key, and every eighth column. */
#define ACROSS 8
#define KEYS_OF_ITEM (KEYS / ACROSS)
#define COLUMNS_OF_ITEM ((WIDTH + ACROSS - 1) / ACROSS)
#define PITCH ((DEPTH > WIDTH ? DEPTH : WIDTH) + 1)

kernel __attribute__ ((reqd_work_group_size (ITEMS, 1, 1))) void
attend_gpu (PARAMETERS)
{
  local float queries[ROWS][DEPTH + 1], tile[KEYS][PITCH], scores[ROWS][KEYS + 1],
      parts[ROWS][ACROSS + 1];
  const int item = get_local_id (0), across = item % ACROSS, own = item / ACROSS * 2;
  const int first = get_group_id (0) * ROWS;
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  float sum[2][COLUMNS_OF_ITEM];
  LOCATE (get_group_id (1))
  for (int n = item; n < ROWS * DEPTH; n += ITEMS) {
    const int row = n / DEPTH, at = n % DEPTH;
    queries[row][at] = first + row < rows
                           ? LOAD_ONE (q + (first + row) * q_row + at * q_depth) * scale
                           : 0.0f;
  }
#pragma unroll
  for (int r = 0; r < 2; r++)
#pragma unroll
    for (int c = 0; c < COLUMNS_OF_ITEM; c++)
      sum[r][c] = 0;
  for (int key = 0; key < keys; key += KEYS) {
    const int inside = min (KEYS, keys - key);
    float score[2][KEYS_OF_ITEM];
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = item; n < KEYS * DEPTH; n += ITEMS) {
      const int of = n / DEPTH, at = n % DEPTH;
      tile[of][at] =
          of < inside ? LOAD_ONE (k + (key + of) * k_key + at * k_depth) : 0.0f;
    }
    barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
      for (int n = 0; n < KEYS_OF_ITEM; n++)
        score[r][n] = 0;
    for (int at = 0; at < DEPTH; at++) {
      const float one = queries[own][at], other = queries[own + 1][at];
#pragma unroll
      for (int n = 0; n < KEYS_OF_ITEM; n++) {
        const float by = tile[across + n * ACROSS][at];
        score[0][n] = fma (one, by, score[0][n]);
        score[1][n] = fma (other, by, score[1][n]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float most = -INFINITY;
#pragma unroll
      for (int n = 0; n < KEYS_OF_ITEM; n++) {
        const int at = across + n * ACROSS;
#if MASKED
        if (at < inside && first + own + r < rows)
          score[r][n] +=
              LOAD_ONE (mask + (first + own + r) * mask_row + (key + at) * mask_key);
#endif
        score[r][n] = at < inside ? score[r][n] : -INFINITY;
        most = fmax (most, score[r][n]);
      }
      parts[own + r][across] = most;
    }
    barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float now = largest[r];
      for (int n = 0; n < ACROSS; n++)
        now = fmax (now, parts[own + r][n]);
      const float by = FINITE (now), correction = exp (largest[r] - by);
      largest[r] = now;
      total[r] *= correction;
#pragma unroll
      for (int n = 0; n < KEYS_OF_ITEM; n++) {
        const float weight = exp (score[r][n] - by);
        scores[own + r][across + n * ACROSS] = weight;
        total[r] += weight;
      }
#pragma unroll
      for (int c = 0; c < COLUMNS_OF_ITEM; c++)
        sum[r][c] *= correction;
    }
    for (int n = item; n < KEYS * WIDTH; n += ITEMS) {
      const int of = n / WIDTH, at = n % WIDTH;
      tile[of][at] =
          of < inside ? LOAD_ONE (v + (key + of) * v_key + at * v_column) : 0.0f;
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < KEYS; n++) {
      const float one = scores[own][n], other = scores[own + 1][n];
#pragma unroll
      for (int c = 0; c < COLUMNS_OF_ITEM; c++) {
        const float by = tile[n][min (across + c * ACROSS, PITCH - 1)];
        sum[0][c] = fma (one, by, sum[0][c]);
        sum[1][c] = fma (other, by, sum[1][c]);
      }
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  parts[own][across] = total[0];
  parts[own + 1][across] = total[1];
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float all = 0;
    for (int n = 0; n < ACROSS; n++)
      all += parts[own + r][n];
#pragma unroll
    for (int c = 0; c < COLUMNS_OF_ITEM; c++) {
      const int column = across + c * ACROSS;
      if (first + own + r < rows && column < WIDTH)
        STORE_ONE (sum[r][c] / all,
            output + (first + own + r) * output_row + column * output_column);
    }
  }
}
#endif
