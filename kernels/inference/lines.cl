/* Softmax and normalization along one dimension
 *
 * A work-group computes one line with SPLIT work-items; with SPLIT = 1 a work-item does.
 * Built with the macros of numbers.clh, SPLIT (a power of two) and OUTER_RANK. Each
 * work-item takes LANES neighbours at a time. `outer` has length, stride of the input and
 * stride of the output of each other dimension.
 *
 * softmax: exp (x - maximum) / sum, or its logarithm (LOGARITHM)
 * standardize: (x - mean) / sqrt (variance + epsilon) [* scale [+ shift]], with SCALES 0, 1 or 2
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define PLUS(a, b) ((a) + (b))

/* Combines the lanes of a vector, then the results of the work-items. */
#if LANES > 1
#define COMBINE_LANES(value, from, combine)                                              \
  {                                                                                      \
    REAL each[LANES];                                                                    \
    JOIN (vstore, LANES) (from, 0, each);                                                \
    value = each[0];                                                                     \
    for (int l = 1; l < LANES; l++)                                                      \
      value = combine (value, each[l]);                                                  \
  }
#else
#define COMBINE_LANES(value, from, combine) value = from;
#endif
#if SPLIT > 1
#define COMBINE_ITEMS(value, combine)                                                    \
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
#define COMBINE_ITEMS(value, combine)
#endif
#define COMBINE(value, from, combine)                                                    \
  REAL value;                                                                            \
  COMBINE_LANES (value, from, combine)                                                   \
  COMBINE_ITEMS (value, combine)

#define PARAMETERS                                                                       \
  global const STORED *restrict input, long input_offset,                                \
      global STORED *restrict output, long output_offset,                                \
      global const long *restrict outer, ulong lines, long length, long input_step,      \
      long output_step

/* Finds the line of a work-item, `from` and `to`, or returns. */
#if SPLIT > 1
#define FIND_LINE                                                                        \
  local REAL parts[SPLIT];                                                               \
  const size_t line = get_group_id (0);                                                  \
  const uint part = get_local_id (0);                                                    \
  LOCATE_LINE
#else
#define FIND_LINE                                                                        \
  const size_t line = get_global_id (0);                                                 \
  const uint part = 0;                                                                   \
  LOCATE_LINE
#endif
#define LOCATE_LINE                                                                      \
  if (line >= lines) /* true for the whole group */                                      \
    return;                                                                              \
  size_t rest = line;                                                                    \
  for (int d = 0; d < OUTER_RANK; d++) {                                                 \
    const long index = rest % outer[3 * d];                                              \
    rest /= outer[3 * d];                                                                \
    input_offset += index * outer[3 * d + 1];                                            \
    output_offset += index * outer[3 * d + 2];                                           \
  }                                                                                      \
  global const STORED *from = input + input_offset;                                      \
  global STORED *to = output + output_offset;

#define EACH(n) for (long n = part * LANES; n < length; n += SPLIT * LANES)
#define AT(n) LOAD (from + (n)*input_step)

#ifdef LOGARITHM
kernel void
softmax (PARAMETERS)
{
  FIND_LINE
  REALS largest_of = (REALS)(-INFINITY), sum_of = (REALS)(0);
  EACH (n)
  largest_of = fmax (largest_of, AT (n));
  COMBINE (largest, largest_of, fmax)
  EACH (n)
  sum_of += exp (AT (n) - largest);
  COMBINE (sum, sum_of, PLUS)
  const REAL scale = LOGARITHM ? log (sum) : 1 / sum;
  EACH (n)
  {
    const REALS value = AT (n) - largest;
    STORE (LOGARITHM ? value - scale : exp (value) * scale, to + n * output_step);
  }
}
#else
kernel void
standardize (PARAMETERS, REAL epsilon, global const STORED *restrict scale,
    long scale_offset, global const STORED *restrict shift, long shift_offset)
{
  FIND_LINE
  REALS sum_of = (REALS)(0), spread_of = (REALS)(0);
  EACH (n)
  sum_of += AT (n);
  COMBINE (sum, sum_of, PLUS)
  const REAL mean = sum / length;
  EACH (n)
  {
    const REALS centred = AT (n) - mean;
    spread_of += centred * centred;
  }
  COMBINE (spread, spread_of, PLUS)
  const REAL factor = 1 / sqrt (spread / length + epsilon);
  EACH (n)
  {
    REALS value = (AT (n) - mean) * factor;
#if SCALES > 0
    value *= LOAD (scale + scale_offset + n);
#endif
#if SCALES > 1
    value += LOAD (shift + shift_offset + n);
#endif
    STORE (value, to + n * output_step);
  }
}
#endif
