/* Doppler flow of small windows in one launch, for a GPU: a work-item per sample
 *
 * With PIXEL and FULL defined (see rows.clh), show_flow writes an image of
 * flow * factor + zero. Without them, find_flow writes the flow.
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
#endif
