/* Softmax along one dimension: exp (x - maximum) / sum, or its logarithm
 *
 * A work-group computes one line of SPLIT work-items; with SPLIT = 1 a work-item does.
 * Built with the macros of numbers.clh (LANES = 1), SPLIT (a power of two), LOGARITHM and
 * OUTER_RANK. `outer` has length, stride of the input and stride of the output of each other
 * dimension.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#if SPLIT > 1
#define COMBINE_ALL(value, combine)                                                      \
  {                                                                                      \
    barrier (CLK_LOCAL_MEM_FENCE);                                                       \
    parts[part] = value;                                                                 \
    for (uint half_of = SPLIT / 2; half_of > 0; half_of /= 2) {                          \
      barrier (CLK_LOCAL_MEM_FENCE);                                                     \
      if (part < half_of)                                                                \
        parts[part] = combine (parts[part], parts[part + half_of]);                      \
    }                                                                                    \
    barrier (CLK_LOCAL_MEM_FENCE);                                                       \
    value = parts[0];                                                                    \
  }
#else
#define COMBINE_ALL(value, combine)
#endif
#define PLUS(a, b) ((a) + (b))

kernel void
softmax (global const STORED *restrict input, long input_offset,
    global STORED *restrict output, long output_offset, global const long *restrict outer,
    ulong lines, long length, long input_step, long output_step)
{
#if SPLIT > 1
  local REAL parts[SPLIT];
  const size_t line = get_group_id (0);
  const uint part = get_local_id (0);
#else
  const size_t line = get_global_id (0);
  const uint part = 0;
#endif
  if (line >= lines) /* true for the whole group */
    return;
  size_t rest = line;
  for (int d = 0; d < OUTER_RANK; d++) {
    const long index = rest % outer[3 * d];
    rest /= outer[3 * d];
    input_offset += index * outer[3 * d + 1];
    output_offset += index * outer[3 * d + 2];
  }
  REAL largest = -INFINITY, sum = 0;
  for (long n = part; n < length; n += SPLIT)
    largest = fmax (largest, LOAD_ONE (input + input_offset + n * input_step));
  COMBINE_ALL (largest, fmax)
  for (long n = part; n < length; n += SPLIT)
    sum += exp (LOAD_ONE (input + input_offset + n * input_step) - largest);
  COMBINE_ALL (sum, PLUS)
  const REAL scale = LOGARITHM ? log (sum) : 1 / sum;
  for (long n = part; n < length; n += SPLIT) {
    const REAL value = LOAD_ONE (input + input_offset + n * input_step) - largest;
    STORE_ONE (LOGARITHM ? value - scale : exp (value) * scale,
        output + output_offset + n * output_step);
  }
}
