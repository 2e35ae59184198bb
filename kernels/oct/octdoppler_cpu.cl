/* Doppler flow of small windows in one launch, for a CPU: a work-item per block of depths
 *
 * With PIXEL and FULL defined (see rows.clh), show_flow writes an image of
 * flow * factor + zero. Without them, find_flow writes the flow. LANES is the length of
 * the vectors.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "vectors_cpu.clh"
#include "windowsum_cpu.clh"
#include "dopplerflow.clh"
#ifdef FULL
#define COMPONENT FLOATS
#include "level.clh"
#include "rows.clh"
#endif

/* A work-item computes BLOCK depths of LINES A-lines. It multiplies each pair of A-lines
 * and sums it over the window's depths once. It computes powers only with a threshold.
 * Blocks are stored as whole vectors, since a CPU stalls on a load that spans two
 * stores. */
#define BLOCK 256
#ifdef FULL
#define LINES STRIP_LINES
#else
#define LINES 16
#endif
#define VECTORS (BLOCK / LANES)
#define ALL (VECTORS + (MAX_WINDOW + LANES - 1) / LANES)

/* Products of adjacent depths */
typedef struct {
  Floats real[ALL], imaginary[ALL], power[ALL];
} Products;

typedef struct {
  Floats real[VECTORS], imaginary[VECTORS], power[VECTORS];
} Sums;

/* Real and imaginary parts of LANES adjacent bins */
typedef struct {
  Floats x, y;
} Bins;

INLINED Bins
load_bins (global const float2 *bins)
{
  const Floats first = LOAD_UNALIGNED (Floats, bins);
  const Floats second = LOAD_UNALIGNED (Floats, bins + LANES / 2);
  return (Bins){(Floats)(first.even, second.even), (Floats)(first.odd, second.odd)};
}

/* Loads LANES bins from depth `at` on, which may be negative. Bins outside the A-line are
 * zero. */
INLINED Bins
load_inner_bins (global const float2 *line, int at, int depths)
{
  if (at >= 0 && at + LANES <= depths)
    return load_bins (line + at);
  float x[LANES], y[LANES];
  for (int n = 0; n < LANES; n++) {
    const bool inner = at + n >= 0 && at + n < depths;
    x[n] = inner ? line[at + n].x : 0.0f;
    y[n] = inner ? line[at + n].y : 0.0f;
  }
  return (Bins){LOAD (0, x), LOAD (0, y)};
}

/* Sums the products of a pair of A-lines from depth `start` on. */
INLINED void
sum_pair (global const float2 *after, global const float2 *before, int start, int depths,
    int window_depths, bool powers, Sums *sums)
{
  const int needed = BLOCK + window_depths - 1;
  Products products;
  for (int n = 0; n * LANES < needed; n++) {
    const Bins a = load_inner_bins (after, start + n * LANES, depths);
    const Bins b = load_inner_bins (before, start + n * LANES, depths);
    products.real[n] = a.x * b.x + a.y * b.y;
    products.imaginary[n] = a.y * b.x - a.x * b.y;
    if (powers)
      products.power[n] = a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
  }
  for (int n = 0; n < VECTORS; n++) {
    sums->real[n] = sum_of_depths (products.real + n, window_depths);
    sums->imaginary[n] = sum_of_depths (products.imaginary + n, window_depths);
    if (powers)
      sums->power[n] = sum_of_depths (products.power + n, window_depths);
  }
}

INLINED void
clear_pair (Sums *sums)
{
  for (int n = 0; n < VECTORS; n++)
    sums->real[n] = sums->imaginary[n] = sums->power[n] = 0.0f;
}

/* Returns the n-th vector of flow of a block from depth `begin` on. `summed` is the
 * number of pairs of the window that lie inside the B-scan. */
INLINED Floats
flow_of_pairs (Flow flow, const Sums *sums, int summed, int n, int begin)
{
  const bool powers = flow.least_power > 0.0f;
  Floats x = sums[0].real[n], y = sums[0].imaginary[n];
  for (int k = 1; k < flow.window; k++) {
    x += sums[k].real[n];
    y += sums[k].imaginary[n];
  }
  if (!powers) {
    /* NaN samples give no flow. */
    const Floats phase = phase_of (y, x) * flow.unit;
    return phase == phase ? phase : (Floats)0.0f;
  }
  Floats p = sums[0].power[n];
  for (int k = 1; k < flow.window; k++)
    p += sums[k].power[n];
  p *= 0.5f
       / (summed_depths (begin + n * LANES, flow.depths, flow.window_depths)
           * (float)summed);
  return flow_of (x, y, p, flow.least_power, flow.unit);
}

/* Output of a block */
#ifdef FULL
typedef struct {
  Words (*tile)[STRIP_VECTORS];
  float factor, zero, least;
} Output;

/* Writes one pixel of each word. The first A-line of a word clears its other pixels. */
INLINED void
put (Output output, int line, int n, Floats flow, int count)
{
  const Words words =
      words_of (at_least (flow * output.factor + output.zero, output.least));
  Words *place = &output.tile[line / PIXELS_OF_WORD][n];
  const uint part = line % PIXELS_OF_WORD;
  *place = (part ? *place : 0) | words << PLACE_IN_WORD (part);
}
#else
typedef struct {
  global float *flow; /* output of the first A-line of the block */
  ulong stride;
} Output;

INLINED void
put (Output output, int line, int n, Floats flow, int count)
{
  store_values (output.flow + line * output.stride + n * LANES, flow, count);
}
#endif

/* Computes one block. Sums of the pairs of a window are kept in a ring. Pairs outside the
 * B-scan count as zero. */
INLINED void
find_block (Flow flow, int begin, int first_line, Output output)
{
  const int earlier = (flow.window - 1) / 2, above = (flow.window_depths - 1) / 2;
  const int count = min (flow.depths - begin, BLOCK);
  Sums sums[MAX_WINDOW]; /* ring, with the next one at `place` */
  int next = min (first_line, flow.pairs - 1) - earlier, place = 0;
  for (int line = first_line; line < min (first_line + LINES, flow.lines); line++) {
    const int first = min (line, flow.pairs - 1) - earlier, end = first + flow.window;
    for (; next < end; next++) {
      if (next >= 0 && next < flow.pairs)
        sum_pair (flow.after + (size_t)next * flow.depths,
            flow.before + (size_t)next * flow.depths, begin - above, flow.depths,
            flow.window_depths, flow.least_power > 0.0f, &sums[place]);
      else
        clear_pair (&sums[place]);
      place = place + 1 < flow.window ? place + 1 : 0;
    }
    const int summed = min (end, flow.pairs) - max (first, 0);
    for (int n = 0; n * LANES < count; n++)
      put (output, line - first_line, n, flow_of_pairs (flow, sums, summed, n, begin),
          count - n * LANES);
  }
}

/* Common window sizes get loops whose lengths are known at compile time. */
INLINED void
find_block_of_window (Flow flow, int begin, int first_line, Output output)
{
  if (flow.window_depths == 3 && flow.window == 3 && flow.least_power <= 0.0f) {
    flow.window_depths = flow.window = 3;
    flow.least_power = 0.0f;
    find_block (flow, begin, first_line, output);
    return;
  }
  find_block (flow, begin, first_line, output);
}

#ifdef FULL
kernel void
show_flow (FLOW_ARGUMENTS, IMAGE_ARGUMENTS)
{
  const uint begin = get_global_id (0) * BLOCK, first_line = get_global_id (1) * LINES;
  if (begin >= depths || first_line >= lines)
    return;
  Words tile[WORDS_OF_ROW][STRIP_VECTORS];
  const Flow flow = FLOW_OF_ARGUMENTS;
  const Output strip = {tile, factor, zero, least};
  find_block_of_window (flow, begin, first_line, strip);
  write_strip (tile, min (depths - begin, (uint)BLOCK),
      min (lines - first_line, (uint)STRIP_LINES),
      output + offset + (long)begin * output_stride + first_line, output_stride);
}
#else
kernel void
find_flow (FLOW_ARGUMENTS, global uchar *restrict output, ulong output_offset)
{
  const uint begin = get_global_id (0) * BLOCK, first_line = get_global_id (1) * LINES;
  if (begin >= depths || first_line >= lines)
    return;
  const Flow flow = FLOW_OF_ARGUMENTS;
  const Output block = {
      (global float *)(output + output_offset) + (size_t)first_line * depths + begin,
      depths};
  find_block_of_window (flow, begin, first_line, block);
}
#endif
