/* The first elements along a dimension in order: values and indices
 *
 * Built with the macros of numbers.clh (LANES = 1), IS_REAL, IS_SIGNED, KEY (uint if REAL is
 * float, else ulong), SPLIT (work-items of a line), LARGEST and OUTER_RANK. `outer` has for each
 * other dimension: length, strides of the input, the output and the indices. The order is that
 * of values, then of indices; NaN is the largest.
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
#define KEY_AT(n) key_of (LOAD_ONE (input + (long)(n)*input_step))

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
