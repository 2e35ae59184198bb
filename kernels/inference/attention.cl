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
 * attend_gpu: ITEMS work-items compute ITEMS / 4 rows through local memory. With ALIGNED, rows
 * are aligned fours of float32. attentionhalf.cl is for tensor cores.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "attention.clh"

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
#define UP_TO_FOUR(length) (((length) + 3) / 4 * 4)
#define ROWS (ITEMS / 4)
#define DEEP UP_TO_FOUR (DEPTH)
#define WIDE UP_TO_FOUR (WIDTH)
/* Keys of a tile: local memory may have 32 KiB. */
#define KEYS (DEEP > 64 || WIDE > 64 ? 16 : 32)
/* A work-item computes two rows: every eighth key, and every eighth group of four columns. */
#define ACROSS 8
#define KEYS_OF_ITEM (KEYS / ACROSS)
#define FOURS_OF_ITEM ((WIDE + 4 * ACROSS - 1) / (4 * ACROSS))
/* A pitch of an odd number of fours puts eight rows into different banks. */
#define PITCH(length) ((length) / 4 % 2 ? (length) : (length) + 4)
#define FOUR(numbers) (*(local float4 *)(numbers))

/* Copies rows of a matrix to local memory, with zeros around them. */
#if ALIGNED
#define COPY_ROWS(to, pitch, all, deep, from, row, column, count, length, by)            \
  for (int n = item; n < (all) * (deep) / 4; n += ITEMS) {                               \
    const int r = n / ((deep) / 4), c = n % ((deep) / 4) * 4;                            \
    FOUR ((to) + r * (pitch) + c) =                                                      \
        r < (count) ? *(global const float4 *)((from) + r * (row) + c) * (by)            \
                    : (float4)(0);                                                       \
  }
#else
#define COPY_ROWS(to, pitch, all, deep, from, row, column, count, length, by)            \
  for (int n = item; n < (all) * (deep); n += ITEMS) {                                   \
    const int r = n / (deep), c = n % (deep);                                            \
    (to)[r * (pitch) + c] = r < (count) && c < (length)                                  \
                                ? LOAD_ONE ((from) + r * (row) + c * (column)) * (by)    \
                                : 0.0f;                                                  \
  }
#endif

#define EACH_ROW _Pragma ("unroll") for (int r = 0; r < 2; r++)
#define EACH_KEY _Pragma ("unroll") for (int n = 0; n < KEYS_OF_ITEM; n++)
#define EACH_FOUR _Pragma ("unroll") for (int c = 0; c < FOURS_OF_ITEM; c++)

kernel __attribute__ ((reqd_work_group_size (ITEMS, 1, 1))) void
attend_gpu (PARAMETERS)
{
  local float queries[ROWS * PITCH (DEEP)] __attribute__ ((aligned (16)));
  local float of_keys[KEYS * PITCH (DEEP)] __attribute__ ((aligned (16)));
  local float values[KEYS * PITCH (WIDE)] __attribute__ ((aligned (16)));
  local float scores[ROWS * (KEYS + 4)] __attribute__ ((aligned (16)));
  local float parts[ROWS][ACROSS + 1];
  const int item = get_local_id (0), across = item % ACROSS, own = item / ACROSS * 2;
  const int first = get_group_id (0) * ROWS;
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  float4 sum[2][FOURS_OF_ITEM];
  LOCATE (get_group_id (1))
  COPY_ROWS (queries, PITCH (DEEP), ROWS, DEEP, q + first * q_row, q_row, q_depth,
      rows - first, DEPTH, scale)
  EACH_ROW
  EACH_FOUR
  sum[r][c] = 0;
  for (int key = 0; key < keys; key += KEYS) {
    const int inside = min (KEYS, keys - key);
    float score[2][KEYS_OF_ITEM];
    barrier (CLK_LOCAL_MEM_FENCE);
    COPY_ROWS (of_keys, PITCH (DEEP), KEYS, DEEP, k + key * k_key, k_key, k_depth, inside,
        DEPTH, 1.0f)
    COPY_ROWS (values, PITCH (WIDE), KEYS, WIDE, v + key * v_key, v_key, v_column, inside,
        WIDTH, 1.0f)
    barrier (CLK_LOCAL_MEM_FENCE);
    EACH_ROW
    EACH_KEY
    score[r][n] = 0;
#pragma unroll 4
    for (int at = 0; at < DEEP; at += 4) {
      float4 of_row[2];
      EACH_ROW
      of_row[r] = FOUR (queries + (own + r) * PITCH (DEEP) + at);
      EACH_KEY
      {
        const float4 by = FOUR (of_keys + (across + n * ACROSS) * PITCH (DEEP) + at);
        EACH_ROW
        score[r][n] = fma (of_row[r].x, by.x,
            fma (of_row[r].y, by.y,
                fma (of_row[r].z, by.z, fma (of_row[r].w, by.w, score[r][n]))));
      }
    }
    EACH_ROW
    {
      float most = -INFINITY;
      EACH_KEY
      {
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
    EACH_ROW
    {
      float now = largest[r];
#pragma unroll
      for (int n = 0; n < ACROSS; n++)
        now = fmax (now, parts[own + r][n]);
      const float by = FINITE (now), correction = exp (largest[r] - by);
      largest[r] = now;
      total[r] *= correction;
      EACH_KEY
      {
        const float weight = exp (score[r][n] - by);
        scores[(own + r) * (KEYS + 4) + across + n * ACROSS] = weight;
        total[r] += weight;
      }
      EACH_FOUR
      sum[r][c] *= correction;
    }
    barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll 2
    for (int at = 0; at < KEYS; at += 4) {
      float4 weight[2];
      EACH_ROW
      weight[r] = FOUR (scores + (own + r) * (KEYS + 4) + at);
      EACH_FOUR
      {
        const int column = min (4 * (across + c * ACROSS), WIDE - 4);
        local const float *of = values + at * PITCH (WIDE) + column;
        const float4 v0 = FOUR (of), v1 = FOUR (of + PITCH (WIDE)),
                     v2 = FOUR (of + 2 * PITCH (WIDE)), v3 = FOUR (of + 3 * PITCH (WIDE));
        EACH_ROW
        sum[r][c] = fma ((float4)(weight[r].x), v0,
            fma ((float4)(weight[r].y), v1,
                fma ((float4)(weight[r].z), v2,
                    fma ((float4)(weight[r].w), v3, sum[r][c]))));
      }
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  EACH_ROW
  parts[own + r][across] = total[r];
  barrier (CLK_LOCAL_MEM_FENCE);
  EACH_ROW
  {
    float all = 0;
    for (int n = 0; n < ACROSS; n++)
      all += parts[own + r][n];
    EACH_FOUR
    {
      float each[4];
      vstore4 (sum[r][c] / all, 0, each);
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const int column = 4 * (across + c * ACROSS) + n;
        if (first + own + r < rows && column < WIDTH)
          STORE_ONE (
              each[n], output + (first + own + r) * output_row + column * output_column);
      }
    }
  }
}
#endif
