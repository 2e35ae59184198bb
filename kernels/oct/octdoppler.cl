/* Doppler flow, a work-item per sample
 *
 * Small windows in one launch, for a GPU: with PIXEL and FULL defined (see rows.clh),
 * show_flow writes an image of flow * factor + zero. Without them, find_flow writes the
 * flow. Windows of any size in two launches, for any device: sum_depths sums over depths,
 * find_phase over pairs of A-lines.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define INLINED
#define FLOATS float
#define AS_INTS as_int
#define AS_WORDS as_uint
#define AS_FLOATS as_float
#include "dopplerflow.clh"
#ifdef FULL
#define COMPONENT FLOATS
#include "level.clh"
#include "rows.clh"
#endif

/* Returns the flow of one sample. Sums the whole window, so the window must be small. */
float
flow_at (Flow flow, int depth, int line)
{
  const int middle = min (line, flow.pairs - 1), earlier = (flow.window - 1) / 2;
  const int above = (flow.window_depths - 1) / 2;
  const int first_pair = max (middle - earlier, 0);
  const int end_pair = min (middle + flow.window - earlier, flow.pairs);
  const int from = max (depth - above, 0);
  const int end = min (depth + flow.window_depths - above, flow.depths);
  float real = 0.0f, imaginary = 0.0f, power = 0.0f;
  for (int pair = first_pair; pair < end_pair; pair++) {
    for (int at = from; at < end; at++) {
      const float2 a = flow.after[(size_t)pair * flow.depths + at];
      const float2 b = flow.before[(size_t)pair * flow.depths + at];
      real += a.x * b.x + a.y * b.y;
      imaginary += a.y * b.x - a.x * b.y;
      power += a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
    }
  }
  power *= 0.5f / ((end - from) * (end_pair - first_pair));
  return flow_of (real, imaginary, power, flow.least_power, flow.unit);
}

#ifdef FULL
kernel void
show_flow (FLOW_ARGUMENTS, IMAGE_ARGUMENTS)
{
  local float tile[TILE][TILE + 1];
  const Flow flow = FLOW_OF_ARGUMENTS;
  const size_t first_line = get_group_id (0) * TILE;
  const size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* true for the whole group, so the barrier is safe */
    return;

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    const size_t line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line < lines && depth < depths)
      tile[n / TILE][n % TILE] =
          at_least (flow_at (flow, (int)depth, (int)line) * factor + zero, least);
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  write_tile (
      tile, first_line, first_depth, lines, depths, output + offset, output_stride);
}
#else
kernel void
find_flow (FLOW_ARGUMENTS, global uchar *restrict output, ulong output_offset)
{
  const Flow flow = FLOW_OF_ARGUMENTS;
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth < depths && line < lines)
    ((global float *)(output + output_offset))[(size_t)line * depths + depth] =
        flow_at (flow, depth, line);
}

/* For each pair and depth, sums X_j+1 X_j* over `window` depths around it, and the power
 * (|X_j|^2 + |X_j+1|^2) / 2. */
kernel void
sum_depths (global const uchar *restrict before_bytes, ulong before_offset,
    global const uchar *restrict after_bytes, ulong after_offset, uint depths, uint pairs,
    uint window, global float *restrict sums)
{
  const uint depth = get_global_id (0), pair = get_global_id (1);
  if (depth >= depths || pair >= pairs)
    return;

  const size_t line = (size_t)pair * depths;
  global const float2 *before =
      (global const float2 *)(before_bytes + before_offset) + line;
  global const float2 *after = (global const float2 *)(after_bytes + after_offset) + line;
  const uint above = (window - 1) / 2;
  const uint from = max (depth, above) - above;
  const uint end = min (depth + window - above, depths);
  float3 sum = 0.0f;
  for (uint at = from; at < end; at++) {
    const float2 a = after[at], b = before[at];
    sum += (float3)(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y,
        0.5f * (a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y));
  }
  vstore3 (sum, line + depth, sums);
}

/* For each A-line and depth, computes the phase of these sums over `window` pairs around
 * it, times `unit`; 0 where the mean power is below `least_power`. */
kernel void
find_phase (global const float *restrict sums, uint depths, uint lines, uint pairs,
    uint window_depths, uint window, float least_power, float unit,
    global uchar *restrict output, ulong output_offset)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;

  const uint middle = min (line, pairs - 1), before = (window - 1) / 2;
  const uint from = max (middle, before) - before;
  const uint end = min (middle + window - before, pairs);
  float3 sum = 0.0f;
  for (uint pair = from; pair < end; pair++)
    sum += vload3 ((size_t)pair * depths + depth, sums);

  const uint above = (window_depths - 1) / 2;
  const uint summed =
      min (depth + window_depths - above, depths) - (max (depth, above) - above);
  const float power = sum.z / (summed * (end - from));
  ((global float *)(output + output_offset))[(size_t)line * depths + depth] =
      flow_of (sum.x, sum.y, power, least_power, unit);
}
#endif
