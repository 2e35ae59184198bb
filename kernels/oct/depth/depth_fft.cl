/* Output kernels of octfft and octdisplay: bins to images, levels or complex depths
 *
 * All kernels take the same arguments. A-lines are `bin_stride` bins apart. Each A-line
 * outputs `depths` bins from `first` on. A program is built for one output:
 *   PIXEL: type of an output value
 *   FULL: largest pixel value, for image output
 *   BINS: output complex bins
 *   LANES: vector width of make_image_cpu
 *   AMPLITUDES, POWERS, VALUES: input type, see depthtypes.clh
 *   AUTOMATIC: `given` is the scale from find_range
 *   DIFFERENCE: `weight` times `given`, a background, is subtracted from each A-line.
 *   `given` is not read if `weight` is 0. The first `empty` depths become 0
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef LANES
#include "vectors_cpu.clh"
#include <unaligned.clh>
#define COMPONENT FLOATS
#else
#define INLINED
#define COMPONENT float
#define AS_WORDS as_uint
#endif

#include "level.clh"
#ifdef LANES
#include "logarithm_cpu.clh"
#define LOG2(power) log2_of (at_least (power, LEAST_POWER))
#else
#define LOG2(power) log2 (power)
#endif
#include "depthtypes.clh"

#define ARGUMENTS                                                                        \
  global const BIN *restrict bins, uint bin_stride, ulong first, uint depths,            \
      uint lines, uint logarithmic, float factor, float zero, float least,               \
      global const float *restrict given, float weight, uint empty,                      \
      global PIXEL *restrict output, ulong offset, int output_stride
#ifdef AUTOMATIC
#define SCALE                                                                            \
  {                                                                                      \
    logarithmic, given[0], given[1], given[2]                                            \
  }
#else
#define SCALE                                                                            \
  {                                                                                      \
    logarithmic, factor, zero, least                                                     \
  }
#endif

#ifdef FULL
#include "rows.clh"
#endif

/* How the depths of an A-line are displayed */
typedef struct {
  Scale scale;
  global const float *pattern;
  float weight;
  uint empty;
} LineDisplay;
#define LINE_DISPLAY                                                                     \
  {                                                                                      \
    SCALE, given, weight, empty                                                          \
  }

INLINED BIN
bin_of (global const BIN *line, uint depth, LineDisplay display)
{
  BIN bin = line[depth];
#ifdef DIFFERENCE
  if (depth < display.empty)
    return 0.0f;
  if (display.weight != 0.0f)
    bin -= display.weight * ((global const BIN *)display.pattern)[depth];
#endif
  return bin;
}

#ifdef LANES
#ifdef DIFFERENCE
/* Subtracts the weighted pattern from bins and clears the first `empty` depths. `values` are
 * floats of an A-line from the n-th on. */
INLINED FLOATS
difference (FLOATS values, int n, LineDisplay display)
{
  const int empty = 2 * (int)display.empty;
  if (display.weight != 0.0f)
    values -= display.weight * LOAD (0, display.pattern + n);
  if (n >= empty)
    return values;
  const INTS kept = n + LOAD (0, lane_numbers) >= empty;
  return select ((FLOATS)0.0f, values, kept);
}
#else
#define difference(values, n, display) (values)
#endif

INLINED COMPONENT
levels (global const BIN *line, uint depth, uint depths, LineDisplay display)
{
  if (depth + LANES <= depths) {
#if IS_COMPLEX
    const FLOATS low =
        difference (LOAD (0, (global const float *)(line + depth)), 2 * depth, display);
    const FLOATS high = difference (
        LOAD (1, (global const float *)(line + depth)), 2 * depth + LANES, display);
    return level (
        (FLOATS)(low.even, high.even), (FLOATS)(low.odd, high.odd), display.scale);
#else
    return level (LOAD (0, line + depth), (FLOATS)0.0f, display.scale);
#endif
  }
  float real[LANES], imaginary[LANES];
  for (uint n = 0; n < LANES; n++) {
    const BIN bin = bin_of (line, min (depth + n, depths - 1), display);
    real[n] = REAL (bin);
    imaginary[n] = IMAGINARY (bin);
  }
  return level (LOAD (0, real), LOAD (0, imaginary), display.scale);
}

kernel void
make_image_cpu (ARGUMENTS)
{
  const LineDisplay display = LINE_DISPLAY;
  const size_t first_line = get_global_id (1) * STRIP_LINES;
  const uint first_depth = get_global_id (0) * STRIP_DEPTHS;
  if (first_line >= lines || first_depth >= depths)
    return;

  const uint end = min (first_depth + STRIP_DEPTHS, depths);
  const uint n_lines = min (lines - (uint)first_line, (uint)STRIP_LINES);
  Words tile[WORDS_OF_ROW][STRIP_VECTORS];
  global const BIN *from = bins + first + first_line * bin_stride;
  for (uint line = 0; line < n_lines; line += PIXELS_OF_WORD) {
    for (uint depth = first_depth; depth < end; depth += LANES) {
      Words words = 0;
#pragma unroll
      for (uint n = 0; n < PIXELS_OF_WORD; n++) {
        global const BIN *one = from + min (line + n, n_lines - 1) * (size_t)bin_stride;
        words |= words_of (levels (one, depth, end, display)) << PLACE_IN_WORD (n);
      }
      tile[line / PIXELS_OF_WORD][(depth - first_depth) / LANES] = words;
    }
  }
  write_strip (tile, end - first_depth, n_lines,
      output + offset + (long)first_depth * output_stride + first_line, output_stride);
}

#elif defined(FULL)
/* A-lines become columns. A work-group reads along bins and writes along image rows. */
kernel void
make_image (ARGUMENTS)
{
  local float tile[TILE][TILE + 1];
  const LineDisplay display = LINE_DISPLAY;
  size_t first_line = get_group_id (0) * TILE;
  size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* for the whole group */
    return;

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    size_t line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line < lines && depth < depths) {
      BIN bin = bin_of (bins + first + line * bin_stride, depth, display);
      tile[n / TILE][n % TILE] = level (REAL (bin), IMAGINARY (bin), display.scale);
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  write_tile (
      tile, first_line, first_depth, lines, depths, output + offset, output_stride);
}

#else
kernel void
make_lines (ARGUMENTS)
{
  const Scale scale = SCALE;
  size_t depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  BIN bin = bins[line * bin_stride + first + depth];
#ifdef BINS
  output[offset + (long)line * output_stride + depth] = bin;
#else
  output[offset + (long)line * output_stride + depth] =
      level (REAL (bin), IMAGINARY (bin), scale);
#endif
}
#endif
