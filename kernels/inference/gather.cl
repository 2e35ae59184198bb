/* Rows of an array by indices that are computed at run time
 *
 * Built with the macros of numbers.clh (LANES = 1), INDEX (int or long) and RANK. `g` has for
 * each dimension, innermost first: length of the output, strides of the input and the output.
 * A negative index counts from the end; an index outside the input gives 0.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

kernel void
gather (global const STORED *restrict input, long input_offset,
    global const INDEX *restrict indices, long indices_offset, long indices_step,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    int axis, long length, ulong items)
{
  size_t rest = get_global_id (0);
  if (rest >= items)
    return;
  bool inside = true;
  for (int d = 0; d < RANK; d++) {
    long at = rest % g[3 * d];
    rest /= g[3 * d];
    output_offset += at * g[3 * d + 2];
    if (d == axis) {
      at = indices[indices_offset + at * indices_step];
      at += at < 0 ? length : 0;
      inside = at >= 0 && at < length;
    }
    input_offset += at * g[3 * d + 1];
  }
  STORE_ONE (inside ? LOAD_ONE (input + input_offset) : (REAL)0, output + output_offset);
}
