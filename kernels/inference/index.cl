/* Elements at places that indices give: gathering and scattering
 *
 * Built with the macros of numbers.clh (LANES = 1), INDEX (int or long), RANK (of the moved
 * elements), CHOSEN (indices of an element), DATA_RANK, and COMBINE: 1 to replace an element,
 * 2 add, 3 multiply, 4 maximum, 5 minimum. `g` has
 *   for each dimension of the moved elements, innermost first: length, strides of the data,
 *   the indices and the moved elements;
 *   for each index of an element: stride and length of the dimension of the data;
 *   for each dimension of the data, innermost first: length, strides of the data and the output.
 * A negative index counts from the end. An index out of range reads 0 and writes nothing.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

/* Returns the offset of moved element `rest` in the data, or -1, and adds that in `moved`. */
long
place_of (uint rest, global const INDEX *restrict indices, long step,
    global const long *restrict g, long *moved)
{
  long place = 0;
  for (int d = 0; d < RANK; d++, g += 4) {
    const long at = rest % (uint)g[0];
    rest /= (uint)g[0];
    place += at * g[1];
    indices += at * g[2];
    *moved += at * g[3];
  }
  bool inside = true;
  for (int n = 0; n < CHOSEN; n++, g += 2) {
    long at = indices[n * step];
    at += at < 0 ? g[1] : 0;
    inside = inside && at >= 0 && at < g[1];
    place += inside ? at * g[0] : 0;
  }
  return inside ? place : -1;
}

kernel void
gather (global const STORED *restrict input, long input_offset,
    global const INDEX *restrict indices, long indices_offset, long indices_step,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    uint items)
{
  const uint item = get_global_id (0);
  if (item >= items)
    return;
  const long place =
      place_of (item, indices + indices_offset, indices_step, g, &output_offset);
  STORE_ONE (place >= 0 ? LOAD_ONE (input + input_offset + place) : (REAL)0,
      output + output_offset);
}

/* --- scattering: each element of the data has a list of the updates that meet it --- */

kernel void
clear (global int *restrict heads, long heads_offset, uint items)
{
  const uint item = get_global_id (0);
  if (item < items)
    heads[heads_offset + item] = -1;
}

kernel void
link_updates (global const INDEX *restrict indices, long indices_offset,
    long indices_step, global int *restrict heads, long heads_offset,
    global int *restrict next, long next_offset, global const long *restrict g,
    uint items)
{
  const uint item = get_global_id (0);
  long moved = 0;
  if (item >= items)
    return;
  const long place = place_of (item, indices + indices_offset, indices_step, g, &moved);
  if (place >= 0)
    next[next_offset + item] = atomic_xchg (heads + heads_offset + place, (int)item);
}

/* One sorted list of two */
int
merged (int one, int other, global int *next)
{
  int head = -1, tail = -1;
  while (one >= 0 || other >= 0) {
    const bool first = other < 0 || (one >= 0 && one < other);
    const int taken = first ? one : other;
    one = first ? next[taken] : one;
    other = first ? other : next[taken];
    if (tail < 0)
      head = taken;
    else
      next[tail] = taken;
    tail = taken;
  }
  return head;
}

/* The order in which work-items link updates is not known, and results depend on it. */
int
sorted (int head, global int *next)
{
  int runs[32], used = 0; /* run n has 2^n elements, or none */
  if (head < 0 || next[head] < 0)
    return head;
  while (head >= 0) {
    int run = head, n = 0;
    head = next[head];
    next[run] = -1;
    for (; n < used && runs[n] >= 0; n++) {
      run = merged (runs[n], run, next);
      runs[n] = -1;
    }
    runs[n] = run;
    used = max (used, n + 1);
  }
  for (int n = 0; n < used; n++)
    head = merged (runs[n], head, next);
  return head;
}

REAL
update_at (
    uint rest, global const STORED *restrict updates, global const long *restrict g)
{
  for (int d = 0; d < RANK; d++, g += 4) {
    updates += (long)(rest % (uint)g[0]) * g[3];
    rest /= (uint)g[0];
  }
  return LOAD_ONE (updates);
}

REAL
combined (REAL value, REAL update)
{
  return COMBINE == 2   ? value + update
         : COMBINE == 3 ? value * update
         : COMBINE == 4 ? (value > update ? value : update)
         : COMBINE == 5 ? (value < update ? value : update)
                        : update;
}

kernel void
scatter (global const STORED *restrict data, long data_offset,
    global const STORED *restrict updates, long updates_offset,
    global STORED *restrict output, long output_offset, global const int *restrict heads,
    long heads_offset, global int *restrict next, long next_offset,
    global const long *restrict g, uint items)
{
  const uint item = get_global_id (0);
  uint rest = item;
  if (item >= items)
    return;
  global const long *own = g + 4 * RANK + 2 * CHOSEN;
  for (int d = 0; d < DATA_RANK; d++, own += 3) {
    const long at = rest % (uint)own[0];
    rest /= (uint)own[0];
    data_offset += at * own[1];
    output_offset += at * own[2];
  }
  REAL value = LOAD_ONE (data + data_offset);
  next += next_offset;
  for (int n = sorted (heads[heads_offset + item], next); n >= 0; n = next[n])
    value = combined (value, update_at (n, updates + updates_offset, g));
  STORE_ONE (value, output + output_offset);
}
