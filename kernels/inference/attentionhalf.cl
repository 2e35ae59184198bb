/* Attention of 16-bit numbers with NVIDIA's tensor cores (compute capability 8.0 and newer)
 *
 * The same as attention.cl, which is the form for other devices. A warp of 32 work-items computes
 * 16 rows, in the layout of PTX's mma.m16n8k16; sums, scores and weights stay in registers.
 * Keys and values are copied to local memory while the tile before is multiplied.
 *
 * Built with DEPTH and WIDTH (multiples of 16), WARPS, MASKED and BATCH_RANK, and used where rows
 * of all matrices are contiguous and aligned to 16 bytes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "attention.clh"
#include <tensorcores.clh>

#define ITEMS (32 * WARPS)
#define KEYS 64
#define KEY_TILES (KEYS / 8)
#define WIDTH_TILES (WIDTH / 8)
#define STEPS (DEPTH / 16)
/* Chunks of 16 bytes in a row of local memory. Eight rows of an odd number are in different
 * banks. */
#define KEY_PITCH (DEPTH / 8 + 1)
#define VALUE_PITCH (WIDTH / 8 + 1)
#define LOG2_E 1.44269504f

inline uint
pair_of (float2 values)
{
  uint pair;
  STORE_PAIR (values, &pair);
  return pair;
}

/* Combines the four work-items that have parts of a row. */
inline float
neighbour (float value, int distance)
{
  float other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=f"(other)
               : "f"(value), "r"(distance));
  return other;
}
#define COMBINE(value, combine)                                                          \
  value = combine (value, neighbour (value, 1));                                         \
  value = combine (value, neighbour (value, 2));
#define PLUS(a, b) ((a) + (b))

/* Begins to copy KEYS rows of K or V. */
#define COPY_TILE(to, pitch, length, from, step)                                         \
  {                                                                                      \
    for (int n = item; n < KEYS * (length) / 8; n += ITEMS) {                            \
      const int of = n / ((length) / 8), chunk = n % ((length) / 8);                     \
      const bool valid = key + of < keys;                                                \
      COPY_CHUNK ((to) + of * (pitch) + chunk,                                           \
          (from) + (valid ? (key + of) * (step) + chunk * 8 : 0), valid);                \
    }                                                                                    \
    END_COPIES ();                                                                       \
  }

kernel __attribute__ ((reqd_work_group_size (ITEMS, 1, 1))) void
attend_half (PARAMETERS)
{
  local uint4 of_keys[KEYS * KEY_PITCH] __attribute__ ((aligned (128)));
  local uint4 values[KEYS * VALUE_PITCH] __attribute__ ((aligned (128)));
  const int item = get_local_id (0), lane = item % 32, warp = item / 32;
  const int first = (get_group_id (0) * WARPS + warp) * 16, row = first + lane / 4;
  uint4 query[STEPS];
  float4 sum[WIDTH_TILES];
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  LOCATE (get_group_id (1))

  /* Queries go through the memory of the keys. */
  for (int n = lane; n < 16 * DEPTH / 8; n += 32) {
    const int of = n / (DEPTH / 8), chunk = n % (DEPTH / 8);
    const bool valid = first + of < rows;
    COPY_CHUNK (of_keys + (warp * 16 + of) * KEY_PITCH + chunk,
        q + (valid ? (first + of) * q_row + chunk * 8 : 0), valid);
  }
  END_COPIES ();
  WAIT_FOR_COPIES (0);
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int s = 0; s < STEPS; s++)
    LOAD_MATRICES (
        query[s], of_keys + (warp * 16 + lane % 16) * KEY_PITCH + 2 * s + lane / 16, "");
#pragma unroll
  for (int n = 0; n < WIDTH_TILES; n++)
    sum[n] = 0;
  barrier (CLK_LOCAL_MEM_FENCE);
  int key = 0;
  COPY_TILE (of_keys, KEY_PITCH, DEPTH, k, k_key)
  COPY_TILE (values, VALUE_PITCH, WIDTH, v, v_key)
  while (key < keys) {
    const int now = key;
    float4 score[KEY_TILES];
    WAIT_FOR_COPIES (1);
    barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++)
      score[n] = 0;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int n = 0; n < KEY_TILES / 2; n++) {
        uint4 b;
        LOAD_MATRICES (b,
            of_keys + (16 * n + lane / 16 * 8 + lane % 8) * KEY_PITCH + 2 * s
                + lane / 8 % 2,
            "");
        MULTIPLY_TILE (score[2 * n], query[s], b.x, b.y);
        MULTIPLY_TILE (score[2 * n + 1], query[s], b.z, b.w);
      }
    barrier (CLK_LOCAL_MEM_FENCE);
    key += KEYS;
    COPY_TILE (of_keys, KEY_PITCH, DEPTH, k, k_key)

    /* Scores in powers of two */
    float most[2] = {largest[0], largest[1]};
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) {
      float each[4];
      vstore4 (score[n] * (scale * LOG2_E), 0, each);
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int at = now + 8 * n + lane % 4 * 2 + e % 2;
#if MASKED
        if (at < keys && row + e / 2 * 8 < rows)
          each[e] +=
              LOG2_E * vload_half ((row + e / 2 * 8) * mask_row + at * mask_key, mask);
#endif
        each[e] = at < keys ? each[e] : -INFINITY;
        most[e / 2] = fmax (most[e / 2], each[e]);
      }
      score[n] = vload4 (0, each);
    }
    float correction[2], by[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
      COMBINE (most[r], fmax)
      by[r] = FINITE (most[r]);
      correction[r] = native_exp2 (largest[r] - by[r]);
      largest[r] = most[r];
      total[r] *= correction[r];
    }
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) {
      score[n].xy = native_exp2 (score[n].xy - by[0]);
      score[n].zw = native_exp2 (score[n].zw - by[1]);
      total[0] += score[n].x + score[n].y;
      total[1] += score[n].z + score[n].w;
    }
#pragma unroll
    for (int n = 0; n < WIDTH_TILES; n++) {
      sum[n].xy *= correction[0];
      sum[n].zw *= correction[1];
    }
    WAIT_FOR_COPIES (1);
    barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int s = 0; s < KEYS / 16; s++) {
      const float4 left = score[2 * s], right = score[2 * s + 1];
      const uint4 a = (uint4)(pair_of (left.xy), pair_of (left.zw), pair_of (right.xy),
          pair_of (right.zw));
#pragma unroll
      for (int n = 0; n < WIDTH_TILES / 2; n++) {
        uint4 b;
        LOAD_MATRICES (b,
            values + (16 * s + lane / 8 % 2 * 8 + lane % 8) * VALUE_PITCH + 2 * n
                + lane / 16,
            ".trans");
        MULTIPLY_TILE (sum[2 * n], a, b.x, b.y);
        MULTIPLY_TILE (sum[2 * n + 1], a, b.z, b.w);
      }
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    COPY_TILE (values, VALUE_PITCH, WIDTH, v, v_key)
  }
#pragma unroll
  for (int r = 0; r < 2; r++) {
    COMBINE (total[r], PLUS)
    global uint *to = (global uint *)(output + (row + 8 * r) * output_row) + lane % 4;
    if (row + 8 * r >= rows)
      break;
#pragma unroll
    for (int n = 0; n < WIDTH_TILES; n++) {
      to[4 * n] = pair_of ((r ? sum[n].zw : sum[n].xy) / total[r]);
    }
  }
}
