/* Weighted samples along each dimension, by tables: resizing, padding, gathering
 *
 * A work-item computes LANES neighbouring elements of the innermost dimension, which has no
 * table if LANES > 1. Built with the macros of numbers.clh and RANK. `g` has for each
 * dimension, innermost first: length of the output, strides of the input and the output,
 * number of taps (0 = no table), and where its table begins in `index` and `weights`. An
 * index of -1 gives `fill`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define LENGTH(d) g[5 * (d)]
#define FROM_STEP(d) g[5 * (d) + 1]
#define TO_STEP(d) g[5 * (d) + 2]
#define TAPS(d) g[5 * (d) + 3]
#define TABLE(d) g[5 * (d) + 4]

kernel void
resample (global const STORED *restrict input, long input_offset,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    global const int *restrict index, global const float *restrict weights, REAL fill,
    ulong items)
{
  size_t rest = get_global_id (0);
  if (rest >= items)
    return;
  long at[RANK];
  long taps = 1;
  bool outside = false;
  for (int d = 0; d < RANK; d++) {
    const size_t length = d == 0 ? LENGTH (0) / LANES : LENGTH (d);
    at[d] = (long)(rest % length) * (d == 0 ? LANES : 1);
    rest /= length;
    output_offset += at[d] * TO_STEP (d);
    if (TAPS (d) == 0)
      input_offset += at[d] * FROM_STEP (d);
    else {
      taps *= TAPS (d);
      outside = outside || index[TABLE (d) + at[d] * TAPS (d)] < 0;
    }
  }
  REALS sum = (REALS)(outside ? fill : 0);
  for (long n = 0; n < taps && !outside; n++) {
    long from = input_offset, tap = n;
    REAL weight = 1;
    for (int d = 0; d < RANK; d++) {
      if (TAPS (d) == 0)
        continue;
      const long place = TABLE (d) + at[d] * TAPS (d) + tap % TAPS (d);
      tap /= TAPS (d);
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
