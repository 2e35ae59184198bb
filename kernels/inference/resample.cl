/* Weighted samples along each dimension, by tables: resizing, padding, gathering
 *
 * A work-item computes LANES neighbouring elements of the innermost dimension, which has no
 * table if LANES > 1. Built with the macros of numbers.clh, RANK, INDEX (uint if it can
 * count the work-items, else ulong), and TAPS: the number of taps of each dimension,
 * innermost first (0 = no table). `g` has for each dimension: length of the output, strides
 * of the input and the output, and where its table begins in `index` and `weights`. An index
 * of -1 gives `fill`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define LENGTH(d) ((INDEX)g[4 * (d)])
#define FROM_STEP(d) g[4 * (d) + 1]
#define TO_STEP(d) g[4 * (d) + 2]
#define TABLE(d) (int)g[4 * (d) + 3]

kernel void
resample (global const STORED *restrict input, long input_offset,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    global const int *restrict index, global const float *restrict weights, REAL fill,
    INDEX items)
{
  const int taps[RANK] = {TAPS};
  INDEX rest = get_global_id (0);
  if (rest >= items)
    return;
  int first[RANK]; /* of the taps in the table */
  int all_taps = 1;
  bool outside = false;
#pragma unroll
  for (int d = 0; d < RANK; d++) {
    const INDEX length = d == 0 ? LENGTH (0) / LANES : LENGTH (d);
    const INDEX at = d == RANK - 1 ? rest : rest % length;
    const INDEX element = d == 0 ? at * LANES : at;
    rest /= length;
    output_offset += element * TO_STEP (d);
    if (taps[d] == 0)
      input_offset += element * FROM_STEP (d);
    else {
      first[d] = TABLE (d) + at * taps[d];
      all_taps *= taps[d];
      outside = outside || index[first[d]] < 0;
    }
  }
  REALS sum = (REALS)(outside ? fill : 0);
  if (outside)
    all_taps = 0;
#pragma unroll 4
  for (int n = 0; n < all_taps; n++) {
    long from = input_offset;
    int tap = n;
    REAL weight = 1;
#pragma unroll
    for (int d = 0; d < RANK; d++) {
      if (taps[d] == 0)
        continue;
      const int place = first[d] + tap % taps[d];
      tap /= taps[d];
      from += index[place] * FROM_STEP (d);
#if WEIGHTED
      weight *= weights[place];
#endif
    }
#if WEIGHTED
    sum += LOAD (input + from) * weight;
#else
    sum = LOAD (input + from);
#endif
  }
  STORE (sum, output + output_offset);
}
