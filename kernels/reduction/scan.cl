/* Cumulative sums along an axis
 *
 * A line of the axis is divided into chunks, get_global_id (1). Each begins with the sum
 * of the chunks before, of which reduce.cl has computed the sums (CHUNKED). Without
 * GROUP > 1, a work-item adds the elements of LANES neighbouring lines one by one. With it,
 * a work-group takes GROUP elements of a line at a time.
 *
 * Built with the macros of partial.clh, GROUP and CHUNKED. `geometry` has length, stride
 * of the input and stride of the output of each dimension other than the axis, innermost
 * first. The first length is that in vectors; `kept_length` is that in elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "partial.clh"

kernel void
scan (global const STORED *restrict input, long input_offset,
    global WRITTEN *restrict output, long output_offset, global const long *geometry,
    uint kept_rank, long kept_length, ulong vectors, ulong length, long from_stride,
    long to_stride, ulong chunk, global const REAL *restrict sums, ulong lines)
{
#if GROUP > 1
  const ulong item = get_group_id (0);
#else
  const ulong item = get_global_id (0);
#endif
  if (item >= vectors)
    return;
  const Element line = find_element (geometry, kept_rank, kept_length, LANES, item);
  global const STORED *from = input + input_offset + line.from;
  global WRITTEN *to = output + output_offset + line.to;
  const ulong chunk_index = get_global_id (1);
  const ulong begin = chunk_index * chunk, end = min (begin + chunk, length);

  Partial sum = INITIAL_PARTIAL;
#if CHUNKED
  const ulong sum_count = get_global_size (1) * lines;
  for (ulong earlier = 0; earlier < chunk_index; earlier++)
    sum = combine (sum, load_partial (sums, sum_count, earlier * lines + line.number));
#endif
#if GROUP > 1
  local REAL values[GROUP];
#if HAS_SECOND
  local REAL seconds[GROUP];
#endif
  const uint member = get_local_id (0);
  for (ulong tile = begin; tile < end; tile += GROUP) {
    const ulong n = tile + member;
    Partial own = INITIAL_PARTIAL;
    if (n < end)
      own.value = LOAD (from + (long)n * from_stride);
    for (uint distance = 1; distance < 2 * GROUP; distance *= 2) {
      values[member] = own.value;
#if HAS_SECOND
      seconds[member] = own.second;
#endif
      barrier (CLK_LOCAL_MEM_FENCE);
      /* The last round gives every work-item the sum of the tile. */
      const bool is_last = distance == GROUP;
      Partial other = INITIAL_PARTIAL;
      const uint other_id = is_last ? GROUP - 1 : member - distance;
      if (is_last || member >= distance) {
        other.value = values[other_id];
#if HAS_SECOND
        other.second = seconds[other_id];
#endif
      }
      if (is_last) {
        if (n < end)
          STORE (total_of (combine (sum, own)), to + (long)n * to_stride);
        sum = combine (sum, other);
      } else {
        own = combine (other, own);
      }
      barrier (CLK_LOCAL_MEM_FENCE);
    }
  }
#else
  for (ulong n = begin; n < end;) {
    const ulong block_end = min (end, n + BLOCK);
    Partial block = INITIAL_PARTIAL;
    for (; n < block_end; n++) {
      block = accumulate (block, LOAD (from + (long)n * from_stride));
      STORE (total_of (combine (sum, block)), to + (long)n * to_stride);
    }
    sum = combine (sum, block);
  }
#endif
}
