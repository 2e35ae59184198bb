/* Reduction of arrays over some of their dimensions
 *
 * The innermost reduced dimension is called columns, all others together rows. A work-item
 * computes LANES neighbouring elements of the output, or with VECTOR_COLUMNS one element
 * from vectors along the columns. SPLIT work-items share an element and combine their
 * results in local memory. With TO_PARTIALS, further work-groups share it, too: each
 * get_global_id (1) reduces a part of the rows or columns, and a second launch with
 * FROM_PARTIALS combines these.
 *
 * Built with the macros of partial.clh, and
 *   VECTOR_COLUMNS: vectors lie along the columns
 *   SPLIT: work-items that share an element, a power of 2
 *   ACROSS: elements of a work-group, if SPLIT > 1
 *   SPLIT_ROWS, PART_ROWS: work-items or parts share the rows; otherwise the columns
 *   SPLIT_NEIGHBOURS: work-items that share an element are neighbours
 *   FROM_PARTIALS, TO_PARTIALS
 * `geometry` has length, stride of the input and stride of the output of each kept
 * dimension, innermost first, then length and stride of each reduced dimension. The first
 * length is that in vectors; `kept_length` is that in elements. `centres` has the sum of each
 * result's elements, for variances.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "partial.clh"

#define KEPT_LANES (VECTOR_COLUMNS ? 1 : LANES)
#define COLUMN_LANES (VECTOR_COLUMNS ? LANES : 1)
#if VECTOR_COLUMNS
#define COLUMN_NUMBERS LANE_NUMBERS
#else
#define COLUMN_NUMBERS 0
#endif

typedef struct {
  ulong begin, end, step;
} Range;

void
take_part (Range *range, ulong part, ulong chunk)
{
  range->begin = part * chunk;
  range->end = min (range->end, range->begin + chunk);
}

long
row_offset (global const long *reduced, uint rank, ulong row)
{
  long offset = 0;
  for (uint d = 1; d < rank; d++) {
    const ulong length = reduced[2 * d];
    const bool is_last = d + 1 == rank;
    offset += (long)(is_last ? row : row % length) * reduced[2 * d + 1];
    row = is_last ? row : row / length;
  }
  return offset;
}

#if FROM_PARTIALS
#define INPUT_PARAMETERS global const REAL *restrict input, ulong input_count
#else
#define INPUT_PARAMETERS global const STORED *restrict input, long input_offset
#endif

#if TO_PARTIALS
#define OUTPUT_PARAMETERS global REAL *restrict output, ulong output_count
#else
#define OUTPUT_PARAMETERS global WRITTEN *restrict output, long output_offset
#endif

/* A mean has two numbers, so that rounding it does not change the variance. */
#if IS_CENTRED
#define CENTRED(value) (((value)-centre) - correction)
#else
#define CENTRED(value) (value)
#endif
#if VECTOR_COLUMNS
#define LOAD_SUM(at) ((REALS)(*(at)))
#else
#define LOAD_SUM(at) VECTOR_LOAD (at)
#endif

#if !FROM_PARTIALS && VECTOR_COLUMNS
/* Loads the last columns of a row, which are fewer than a vector. The other lanes get the
 * value that changes nothing. */
REALS
load_rest (global const STORED *at, uint columns, REAL centre, REAL correction)
{
  REAL values[LANES];
  VECTOR_STORE ((REALS)(INITIAL), values);
  for (uint n = 0; n < columns; n++)
    values[n] = CENTRED (LOAD_ONE (at + n));
  return VECTOR_LOAD (values);
}
#endif

#if !TO_PARTIALS
void
store_result (Partial partial, global WRITTEN *output, REAL divisor)
{
#if IS_POSITION
#define RESULT partial.second
#else
#define RESULT result
  REALS result = total_of (partial);
#if OPERATION == MEAN || IS_CENTRED
  result /= divisor;
#endif
#if OPERATION == L2 || OPERATION == DEVIATION
  result = sqrt (result);
#endif
#endif
#if VECTOR_COLUMNS
  STORE_ONE (FIRST_LANE (RESULT), output);
#else
  STORE (RESULT, output);
#endif
}
#endif

kernel void
reduce (INPUT_PARAMETERS, OUTPUT_PARAMETERS, global const long *geometry, uint kept_rank,
    uint reduced_rank, long kept_length, ulong vectors, ulong row_count,
    ulong column_count, ulong chunk, REAL divisor, global const REAL *centres,
    ulong centre_count)
{
  global const long *reduced = geometry + 3 * kept_rank;
  const ulong part = get_global_id (1);
#if SPLIT > 1
  const uint local_id = get_local_id (0);
  const uint member = SPLIT_NEIGHBOURS ? local_id % SPLIT : local_id / ACROSS;
  const uint slot = SPLIT_NEIGHBOURS ? local_id / SPLIT : local_id % ACROSS;
  const ulong item = get_group_id (0) * ACROSS + slot;
#else
  const uint member = 0;
  const ulong item = get_global_id (0);
#endif
  const bool active = item < vectors;
  const Element element =
      find_element (geometry, kept_rank, kept_length, KEPT_LANES, active ? item : 0);

  Range rows = {0, row_count, 1};
  Range columns = {0, column_count, COLUMN_LANES};
#if TO_PARTIALS
  take_part (PART_ROWS ? &rows : &columns, part, chunk);
#endif
#if SPLIT_ROWS
  rows.begin += member;
  rows.step = SPLIT;
#else
  columns.begin += member * COLUMN_LANES;
  columns.step = SPLIT * COLUMN_LANES;
#endif

  REALS centre = 0, correction = 0;
#if IS_CENTRED && !FROM_PARTIALS
  const REALS sum = LOAD_SUM (centres + element.number), count = row_count * column_count;
  const REALS missing = LOAD_SUM (centres + centre_count + element.number);
  centre = sum / count;
  correction = (fma (-centre, count, sum) + missing) / count;
  correction = CHOOSE ((REALS)(0), correction, isfinite (centre));
#endif
  Partial partial = INITIAL_PARTIAL;
  const long stride = reduced[1];
  if (!active)
    rows.end = 0;
  for (ulong row = rows.begin; row < rows.end; row += rows.step) {
    const long offset = element.from + row_offset (reduced, reduced_rank, row);
#if FROM_PARTIALS
    for (ulong n = columns.begin; n < columns.end; n += columns.step)
      partial =
          combine (partial, load_partial (input, input_count, offset + (long)n * stride));
#else
    global const STORED *at = input + input_offset + offset;
#define INDEX ((INDICES)(row * column_count + n) + COLUMN_NUMBERS)
    ulong n = columns.begin;
    while (n + COLUMN_LANES <= columns.end) {
      const ulong block_end = min (columns.end, n + BLOCK * columns.step);
      Partial block = INITIAL_PARTIAL;
      for (; n + COLUMN_LANES <= block_end; n += columns.step)
        block = ACCUMULATE (block, CENTRED (LOAD (at + (long)n * stride)), INDEX);
      partial = combine (partial, block);
    }
#if VECTOR_COLUMNS
    if (n < columns.end)
      partial = ACCUMULATE (partial,
          load_rest (at + n, columns.end - n, FIRST_LANE (centre), FIRST_LANE (correction)),
          INDEX);
#endif
#endif
  }

#if SPLIT > 1
  local REALS values[SPLIT * ACROSS];
#if HAS_SECOND
  local SECONDS seconds[SPLIT * ACROSS];
#endif
  for (uint half_of = SPLIT / 2; half_of > 0; half_of /= 2) {
    values[local_id] = partial.value;
#if HAS_SECOND
    seconds[local_id] = partial.second;
#endif
    barrier (CLK_LOCAL_MEM_FENCE);
    if (member < half_of) {
      const uint other_id = local_id + half_of * (SPLIT_NEIGHBOURS ? 1 : ACROSS);
      Partial other = INITIAL_PARTIAL;
      other.value = values[other_id];
#if HAS_SECOND
      other.second = seconds[other_id];
#endif
      partial = combine (partial, other);
    }
    barrier (CLK_LOCAL_MEM_FENCE);
  }
#endif
  if (member > 0 ? true : !active)
    return;
#if VECTOR_COLUMNS
  partial = combine_lanes (partial);
#endif
#if TO_PARTIALS && VECTOR_COLUMNS
  const ulong index = part * (output_count / get_global_size (1)) + element.to;
  output[index] = FIRST_LANE (partial.value);
#if HAS_SECOND
  ((global SECOND *)(output + output_count))[index] = FIRST_LANE (partial.second);
#endif
#elif TO_PARTIALS
  store_partial (
      partial, output, output_count, part * (output_count / get_global_size (1)) + element.to);
#else
  store_result (partial, output + output_offset + element.to, divisor);
#endif
}
