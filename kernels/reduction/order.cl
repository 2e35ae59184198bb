/* Elements along a dimension in order: the first ones, all of them, quantiles and histograms
 *
 * Built with the macros of numbers.clh (LANES = 1), IS_REAL, IS_SIGNED, KEY (uint or ulong, in
 * which REAL's values fit), SPLIT (work-items of a line), LARGEST and OUTER_RANK. `outer` has for
 * each other dimension: length, strides of the input, the output and the indices. The order is
 * that of values, then of indices; NaN is the largest. With INNER_RANK > 1, several dimensions
 * count as one line. `outer` then ends with the length and the stride of each, innermost first.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#if SPLIT > 1
#define BARRIER barrier (CLK_LOCAL_MEM_FENCE);
#define ADD_ONE(counter) atomic_inc (&(counter))
#else
#define BARRIER
#define ADD_ONE(counter) ((counter)++)
#endif

#define BITS (8 * (int)sizeof (KEY))
#define SIGN ((KEY)1 << (BITS - 1))
#define VALUE_AT(n) LOAD_ONE (input + place_of (n, input_step, outer))
#define KEY_AT(n) key_of (VALUE_AT (n))
#ifndef INNER_RANK
#define INNER_RANK 1
#endif
#ifndef HAS_CHOSEN
#define HAS_CHOSEN 0
#endif
#ifndef LOCAL_BINS
#define LOCAL_BINS 0
#endif

/* A larger key comes first. */
KEY
key_of (REAL value)
{
#if IS_REAL
  const KEY bits = isnan (value) ? ~SIGN : JOIN (as_, KEY) (value == 0 ? (REAL)0 : value);
  const KEY key = bits & SIGN ? ~bits : bits | SIGN;
#elif IS_SIGNED
  const KEY key = (KEY)value ^ SIGN;
#else
  const KEY key = value;
#endif
  return LARGEST ? key : ~key;
}

/* Offset of a line in the input (1), the output (2) or the indices (3) */
long
offset_of (size_t line, global const long *restrict outer, int tensor)
{
  long offset = 0;
  for (int d = 0; d < OUTER_RANK; d++, outer += 4) {
    offset += (long)(line % outer[0]) * outer[tensor];
    line /= outer[0];
  }
  return offset;
}

/* Offset of an element of a line */
long
place_of (uint n, long step, global const long *restrict outer)
{
#if INNER_RANK == 1
  return n * step;
#else
  long place = 0;
  outer += 4 * OUTER_RANK;
  for (int d = 0; d < INNER_RANK; d++, outer += 2) {
    place += n % (uint)outer[0] * outer[1];
    n /= (uint)outer[0];
  }
  return place;
#endif
}

/* Writes the indices of the first `wanted` elements of each line, in the order of the line. A
 * work-group finds the key of the last one by its bytes. */
kernel void
select_top (global const STORED *restrict input, long input_offset,
    global int *restrict chosen, long chosen_offset, global const long *restrict outer,
    int length, long input_step, int wanted)
{
  local uint counts[256], above[SPLIT], equal[SPLIT];
  const size_t line = get_group_id (0);
  const int part = get_local_id (0);
  KEY limit = 0, mask = 0;
  uint left = wanted;
  input += input_offset + offset_of (line, outer, 1);
  for (int shift = BITS - 8; shift >= 0; shift -= 8) {
    for (int n = part; n < 256; n += SPLIT)
      counts[n] = 0;
    BARRIER
    for (int n = part; n < length; n += SPLIT) {
      const KEY key = KEY_AT (n);
      if ((key & mask) == limit)
        ADD_ONE (counts[(key >> shift) & 255]);
    }
    BARRIER
    int digit = 255;
    for (; digit > 0 && left > counts[digit]; digit--)
      left -= counts[digit];
    limit |= (KEY)digit << shift;
    mask |= (KEY)255 << shift;
    BARRIER
  }
  const int span = (length + SPLIT - 1) / SPLIT;
  const int begin = min (part * span, length), end = min (begin + span, length);
  uint higher = 0, ties = 0;
  for (int n = begin; n < end; n++) {
    const KEY key = KEY_AT (n);
    higher += key > limit;
    ties += key == limit;
  }
  above[part] = higher;
  equal[part] = ties;
  BARRIER
  higher = ties = 0;
  for (int n = 0; n < part; n++) {
    higher += above[n];
    ties += equal[n];
  }
  chosen += chosen_offset + line * wanted + higher + min (ties, left);
  for (int n = begin; n < end; n++) {
    const KEY key = KEY_AT (n);
    if (key > limit || (key == limit && ties < left))
      *chosen++ = n;
    ties += key == limit;
  }
}

/* Writes each chosen element behind those that come before it. */
kernel void
order_top (global const STORED *restrict input, long input_offset,
    global const int *restrict chosen, long chosen_offset, global STORED *restrict output,
    long output_offset, global long *restrict indices, long indices_offset,
    global const long *restrict outer, uint items, int wanted, long input_step,
    long output_step, long indices_step)
{
  const uint item = get_global_id (0);
  if (item >= items)
    return;
  const int own = item % wanted;
  const size_t line = item / wanted;
  input += input_offset + offset_of (line, outer, 1);
  output += output_offset + offset_of (line, outer, 2);
  indices += indices_offset + offset_of (line, outer, 3);
  chosen += chosen_offset + item - own;
  const int index = chosen[own];
  const KEY key = KEY_AT (index);
  long rank = 0;
  for (int n = 0; n < wanted; n++) {
    const KEY other = KEY_AT (chosen[n]);
    rank += other > key || (other == key && n < own);
  }
  STORE_ONE (LOAD_ONE (input + index * input_step), output + rank * output_step);
  indices[rank * indices_step] = index;
}

/* --- sorting: runs of RUN elements, which are then merged by two --- */

#define RUN 16

/* With HAS_CHOSEN, a line consists of the elements that `chosen` names. */
kernel void
sort_runs (global const STORED *restrict input, long input_offset,
    global const long *restrict outer, long input_step, global const int *restrict chosen,
    global KEY *restrict keys, global uint *restrict indices, uint length, uint runs,
    ulong items)
{
  const ulong item = get_global_id (0), line = item / runs;
  if (item >= items)
    return;
  const uint begin = (uint)(item % runs) * RUN, count = min (length - begin, (uint)RUN);
  KEY sorted_keys[RUN];
  uint sorted[RUN];
  input += input_offset + offset_of (line, outer, 1);
  keys += line * length + begin;
  indices += line * length + begin;
  for (uint n = 0; n < count; n++) {
    const uint index = HAS_CHOSEN ? (uint)chosen[line * length + begin + n] : begin + n;
    const KEY key = KEY_AT (index);
    uint at = 0;
    for (uint m = 0; m < n; m++)
      at += sorted_keys[m] >= key;
    for (uint m = n; m > at; m--) {
      sorted_keys[m] = sorted_keys[m - 1];
      sorted[m] = sorted[m - 1];
    }
    sorted_keys[at] = key;
    sorted[at] = index;
  }
  for (uint n = 0; n < count; n++) {
    keys[n] = sorted_keys[n];
    indices[n] = sorted[n];
  }
}

/* Writes `span` elements of two merged runs. A search finds how many of those before them are
 * of the first run. */
kernel void
merge_runs (global const KEY *restrict keys, global const uint *restrict indices,
    global KEY *restrict merged_keys, global uint *restrict merged, uint length, uint run,
    uint span, uint spans, ulong items)
{
  const ulong item = get_global_id (0), line = item / spans;
  if (item >= items)
    return;
  const uint begin = (uint)(item % spans) * span, start = begin / (2 * run) * (2 * run);
  const uint before = begin - start;
  const uint ones = min (run, length - start);
  const uint others = min (2 * run, length - start) - ones;
  const ulong first = line * length + start;
  global const KEY *one = keys + first, *other = one + ones;
  uint low = before > others ? before - others : 0, high = min (before, ones);
  while (low < high) {
    const uint middle = (low + high) / 2;
    const bool is_before = one[middle] >= other[before - 1 - middle];
    low = is_before ? middle + 1 : low;
    high = is_before ? high : middle;
  }
  uint a = low, b = before - low;
  const uint end = min (before + span, ones + others);
  for (uint n = before; n < end; n++) {
    bool takes_one = b >= others;
    if (a < ones && b < others)
      takes_one = one[a] >= other[b];
    const uint from = takes_one ? a : ones + b;
    a += takes_one;
    b += !takes_one;
    merged_keys[first + n] = one[from];
    merged[first + n] = indices[first + from];
  }
}

#define LINE_PARAMETERS                                                                  \
  global const STORED *restrict input, long input_offset,                                \
      global const long *restrict outer, long input_step,                                \
      global const uint *restrict indices, uint length
#define ITEM_PARAMETERS long output_offset, long output_step, uint wanted, ulong items
/* Finds a line and one of its `wanted` results. */
#define FIND_RESULT                                                                      \
  const ulong item = get_global_id (0), line = item / wanted;                            \
  const uint own = item % wanted;                                                        \
  if (item >= items)                                                                     \
    return;                                                                              \
  input += input_offset + offset_of (line, outer, 1);                                    \
  indices += line * length;                                                              \
  output += output_offset + offset_of (line, outer, 2) + own * output_step;

kernel void
store_values (LINE_PARAMETERS, global WRITTEN *restrict output, ITEM_PARAMETERS)
{
  FIND_RESULT
  STORE_ONE (VALUE_AT (indices[own]), output);
}

kernel void
store_positions (LINE_PARAMETERS, global long *restrict output, ITEM_PARAMETERS)
{
  FIND_RESULT
  *output = indices[own];
}

#if IS_REAL
/* Interpolates as NumPy does. `below` and `fractions` say where, for each result. */
kernel void
store_quantiles (LINE_PARAMETERS, global WRITTEN *restrict output, ITEM_PARAMETERS,
    global const uint *restrict below, global const REAL *restrict fractions)
{
  FIND_RESULT
  const REAL low = VALUE_AT (indices[below[own]]), last = VALUE_AT (indices[length - 1]);
  const REAL high = VALUE_AT (indices[min (below[own] + 1, length - 1)]);
  const REAL fraction = fractions[own], step = high - low;
  REAL result = 2 * fraction < 1 ? low + step * fraction : high - step * (1 - fraction);
  result = fraction == 0 || low == high ? low : result;
  STORE_ONE (isnan (last) ? last : result, output);
}
#endif

/* --- histograms --- */

/* Counts the elements of a line between edges. Bins are half open, the last one is closed. A
 * work-group has `span` elements. With LOCAL_BINS > 0 its counts are in local memory. */
kernel void
count_bins (global const STORED *restrict input, long input_offset,
    global const long *restrict outer, long input_step, global const REAL *restrict edges,
    uint bins, global uint *restrict counts, uint length, uint span)
{
  const size_t line = get_group_id (1);
  const uint begin = get_group_id (0) * span, end = begin + min (span, length - begin);
  const uint part = get_local_id (0), parts = get_local_size (0);
  input += input_offset + offset_of (line, outer, 1);
  counts += line * bins;
#if LOCAL_BINS > 0
  local uint own[LOCAL_BINS];
  for (uint n = part; n < bins; n += parts)
    own[n] = 0;
  barrier (CLK_LOCAL_MEM_FENCE);
#else
  global uint *own = counts;
#endif
  for (ulong n = begin + part; n < end; n += parts) {
    const REAL value = VALUE_AT ((uint)n);
    uint low = 0, high = bins;
    while (high - low > 1) {
      const uint middle = (low + high) / 2;
      const bool is_above = edges[middle] <= value;
      low = is_above ? middle : low;
      high = is_above ? high : middle;
    }
    if (value >= edges[0] && value <= edges[bins])
      atomic_inc (own + low);
  }
#if LOCAL_BINS > 0
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = part; n < bins; n += parts)
    if (own[n] > 0)
      atomic_add (counts + n, own[n]);
#endif
}

kernel void
store_counts (global const uint *restrict counts, global const long *restrict outer,
    uint bins, global long *restrict output, long output_offset, ulong items)
{
  const ulong item = get_global_id (0);
  if (item < items)
    output[output_offset + offset_of (item / bins, outer, 2) + item % bins] = counts[item];
}
