/* Reduction of arrays over some of their dimensions
 *
 * A work-group computes LANES * ACROSS neighbouring elements of the output. For each of them,
 * SPLIT work-items reduce every SPLIT-th element, and combine their results in local memory.
 * Sums are made in blocks of 64, and the sums of blocks with Kahan's compensation, so that
 * the error does not grow with the number of elements.
 *
 * Built with the macros of numbers.clh, OPERATION, ACROSS, SPLIT (powers of two), and
 * KEPT_RANK and REDUCED_RANK, the numbers of dimensions. `geometry` has length, stride of the
 * input and stride of the output of each kept dimension, innermost first, then length and
 * stride of each reduced dimension.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define SUM 0
#define MEAN 1
#define MAXIMUM 2
#define MINIMUM 3
#define PRODUCT 4
#define L1 5
#define L2 6
#define SUM_OF_SQUARES 7

#define IS_SUM (OPERATION != MAXIMUM && OPERATION != MINIMUM && OPERATION != PRODUCT)
#define COMPENSATED (IS_SUM && IS_REAL)
#define BLOCK 64

#if OPERATION == MAXIMUM
#define COMBINE(a, b) LARGER (a, b)
#elif OPERATION == MINIMUM
#define COMBINE(a, b) SMALLER (a, b)
#elif OPERATION == PRODUCT
#define COMBINE(a, b) ((a) * (b))
#else
#define COMBINE(a, b) ((a) + (b))
#endif

#if OPERATION == L1
#define CONTRIBUTION(value) MAGNITUDE (value)
#elif OPERATION == L2 || OPERATION == SUM_OF_SQUARES
#define CONTRIBUTION(value) ((value) * (value))
#else
#define CONTRIBUTION(value) (value)
#endif

/* NaN is passed on, as NumPy does. */
#if IS_REAL
#define LARGER(a, b) select (b, a, (a) > (b) || (a) != (a))
#define SMALLER(a, b) select (b, a, (a) < (b) || (a) != (a))
#define MAGNITUDE(value) fabs (value)
#else
#define LARGER(a, b) max (a, b)
#define SMALLER(a, b) min (a, b)
#define MAGNITUDE(value) ((value) < 0 ? -(value) : (value))
#endif

/* Offset of element n of the reduced dimensions */
long
reduced_offset (global const long *reduced, ulong n)
{
#if REDUCED_RANK == 1
  return (long)n * reduced[1];
#else
  long offset = 0;
#pragma unroll
  for (int d = 0; d < REDUCED_RANK; d++) {
    const ulong length = reduced[2 * d];
    offset += (long)(n % length) * reduced[2 * d + 1];
    n /= length;
  }
  return offset;
#endif
}

typedef struct {
  REALS value, lost; /* `lost` is what rounding has taken from a sum */
} Partial;

Partial
add_block (Partial sum, REALS block)
{
#if COMPENSATED
  const REALS corrected = block - sum.lost;
  const REALS total = sum.value + corrected;
  sum.lost = (total - sum.value) - corrected;
  sum.value = total;
#else
  sum.value = COMBINE (sum.value, block);
#endif
  return sum;
}

kernel void
reduce (global const STORED *restrict input, long input_offset,
    global STORED *restrict output, long output_offset, global const long *geometry,
    ulong vectors, ulong count, REAL divisor)
{
#if SPLIT > 1
  const size_t item = get_group_id (0) * ACROSS + get_local_id (0) % ACROSS;
  const uint part = get_local_id (0) / ACROSS;
#else
  const size_t item = get_global_id (0);
  const uint part = 0;
#endif
  global const long *reduced = geometry + 3 * KEPT_RANK;
  const bool active = item < vectors;
  long from = input_offset, to = output_offset;
  size_t rest = active ? item : 0;
#pragma unroll
  for (int d = 0; d < KEPT_RANK; d++) {
    const size_t length = d == 0 ? geometry[0] / LANES : geometry[3 * d];
    const long index = (long)(rest % length) * (d == 0 ? LANES : 1);
    from += index * geometry[3 * d + 1];
    to += index * geometry[3 * d + 2];
    rest /= length;
  }

  Partial sum = {(REALS)(INITIAL), (REALS)(0)};
  for (ulong begin = part; active && begin < count; begin += BLOCK * SPLIT) {
    const ulong end = min (begin + BLOCK * SPLIT, count);
    REALS block = (REALS)(INITIAL);
    for (ulong n = begin; n < end; n += SPLIT) {
      const REALS value = LOAD (input + from + reduced_offset (reduced, n));
      block = COMBINE (block, CONTRIBUTION (value));
    }
    sum = add_block (sum, block);
  }

#if SPLIT > 1
  local REALS values[SPLIT * ACROSS];
  values[get_local_id (0)] = sum.value;
  for (uint half_of = SPLIT / 2; half_of > 0; half_of /= 2) {
    barrier (CLK_LOCAL_MEM_FENCE);
    if (part < half_of) {
      const REALS other = values[get_local_id (0) + half_of * ACROSS];
      values[get_local_id (0)] = COMBINE (values[get_local_id (0)], other);
    }
  }
  sum.value = values[get_local_id (0)];
#endif
  if (!active || part > 0)
    return;
#if OPERATION == MEAN
  sum.value = sum.value / divisor;
#elif OPERATION == L2
  sum.value = sqrt (sum.value);
#endif
  STORE (sum.value, output + to);
}
