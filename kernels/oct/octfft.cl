/* From the bins of A-lines to what octfft and octdisplay put out
 *
 * All kernels take the same arguments; A-lines are `bin_stride` bins apart, of which
 * `depths` from `first` on are wanted. A program is built for one output: PIXEL is the
 * type of its values, FULL, for a picture, the brightest, and BINS leaves the bins
 * complex. LANES is that of the vectors of make_picture_strips. What bins are, complex unless told,
 * shown.clh says. With AUTOMATIC the scale is what find_range left in `range`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef LANES
#include "lanes.clh"
#include <atonce.clh>
#define COMPONENT FLOATS
/* Else a function is called for every vector, which goes there and back by memory. */
#define INLINED __attribute__ ((always_inline))
#else
#define INLINED
#define COMPONENT float
#define AS_WORDS as_uint
#endif

#include "level.clh"
#include "shown.clh"

#ifdef LANES
#include "logarithm.clh"
#define LOG2(power) log2_of (at_least (power, LEAST_POWER))
#else
#define LOG2(power) log2 (power)
#endif

#define ARGUMENTS                                                                        \
  global const BIN *restrict bins, uint bin_stride, ulong first, uint depths,            \
      uint lines, uint logarithmic, float factor, float zero, float least,               \
      global const float *restrict range, global PIXEL *restrict output, ulong offset,   \
      int output_stride
#ifdef AUTOMATIC
#define SCALE                                                                            \
  {                                                                                      \
    logarithmic, range[0], range[1], range[2]                                            \
  }
#else
#define SCALE                                                                            \
  {                                                                                      \
    logarithmic, factor, zero, least                                                     \
  }
#endif

#define TILE 32

INLINED COMPONENT
level (COMPONENT real, COMPONENT imaginary, Scale scale)
{
#ifdef VALUES
  return at_least (real * scale.factor + scale.zero, scale.least);
#else
  COMPONENT power = finite_power (POWER (real, imaginary));
  COMPONENT value = scale.logarithmic ? LOG2 (power) : AMPLITUDE (power);
  return at_least (value * scale.factor + scale.zero, scale.least);
#endif
}

#ifdef LANES
INLINED WORDS
words_of (COMPONENT brightness)
{
  return PIXEL_WORDS (AS_WORDS, brightness < FULL ? brightness : (COMPONENT)FULL);
}
#elif defined(FULL)
PIXEL
pixel (COMPONENT brightness)
{
  return (
      PIXEL)(PIXEL_WORDS (AS_WORDS, brightness < FULL ? brightness : (COMPONENT)FULL));
}
#endif

#ifdef LANES
/* For a CPU, which has no use for local memory and barriers: a work-item makes a strip of
 * STRIP_LINES x STRIP_DEPTHS, which stays in its core's first cache; bins come in pieces of
 * an A-line that are long enough to be fetched before they are needed, LANES at once.
 * Pixels beside each other are put together in words, which are fewer, and those of LANES
 * depths turned from along the A-lines to along the rows. */
#define STRIP_LINES 64
#define STRIP_DEPTHS 256
#define PIXELS_OF_WORD (4 / sizeof (PIXEL))
#define WORDS_OF_ROW (STRIP_LINES / PIXELS_OF_WORD)
#ifdef __ENDIAN_LITTLE__
#define PLACE_IN_WORD(n) (FULL_BITS * (n))
#else
#define PLACE_IN_WORD(n) (32 - FULL_BITS * ((n) + 1))
#endif

typedef WORDS Words;
AT_ANY_ADDRESS (Words)

INLINED COMPONENT
levels (global const BIN *bins, uint count, Scale scale)
{
  float real[LANES], imaginary[LANES];
  if (count >= LANES) {
#if IS_COMPLEX
    const FLOATS low = LOAD (0, (global const float *)bins);
    const FLOATS high = LOAD (1, (global const float *)bins);
    return level ((FLOATS)(low.even, high.even), (FLOATS)(low.odd, high.odd), scale);
#else
    return level (LOAD (0, bins), (FLOATS)0.0f, scale);
#endif
  }
  for (uint n = 0; n < LANES; n++) {
    const BIN bin = bins[min (n, count - 1)];
    real[n] = REAL (bin);
    imaginary[n] = IMAGINARY (bin);
  }
  return level (LOAD (0, real), LOAD (0, imaginary), scale);
}

/* Rows of LANES depths, of which there are `count`, and `lines` pixels of each */
void
write_rows (Words tile[][STRIP_DEPTHS / LANES], uint depths, uint count, uint lines,
    global PIXEL *rows, int stride)
{
  for (uint part = 0; part < WORDS_OF_ROW / LANES; part++) {
    const uint begin = part * LANES * PIXELS_OF_WORD;
    Words block[LANES];
#pragma unroll
    for (uint n = 0; n < LANES; n++)
      block[n] = tile[part * LANES + n][depths];
    transpose (block);
    for (uint n = 0; n < count; n++) {
      global PIXEL *row = rows + (long)n * stride + begin;
      if (begin + LANES * PIXELS_OF_WORD <= lines) {
        STORE_AT_ONCE (Words, row, block[n]);
        continue;
      }
      for (uint line = begin; line < lines; line++)
        row[line - begin] = ((const PIXEL *)&block[n])[line - begin];
    }
  }
}

kernel void
make_picture_strips (ARGUMENTS)
{
  const Scale scale = SCALE;
  const size_t first_line = get_global_id (0) * STRIP_LINES;
  const uint first_depth = get_global_id (1) * STRIP_DEPTHS;
  if (first_line >= lines || first_depth >= depths)
    return;

  const uint count = min (depths - first_depth, (uint)STRIP_DEPTHS);
  const uint n_lines = min (lines - (uint)first_line, (uint)STRIP_LINES);
  Words tile[WORDS_OF_ROW][STRIP_DEPTHS / LANES];
  global const BIN *from = bins + first_line * bin_stride + first + first_depth;
  for (uint line = 0; line < n_lines; line += PIXELS_OF_WORD) {
    for (uint depth = 0; depth < count; depth += LANES) {
      Words words = 0;
#pragma unroll
      for (uint n = 0; n < PIXELS_OF_WORD; n++) {
        const size_t at = min (line + n, n_lines - 1) * (size_t)bin_stride + depth;
        words |= words_of (levels (from + at, count - depth, scale)) << PLACE_IN_WORD (n);
      }
      tile[line / PIXELS_OF_WORD][depth / LANES] = words;
    }
  }
  global PIXEL *rows = output + offset + (long)first_depth * output_stride + first_line;
  for (uint depth = 0; depth < count; depth += LANES)
    write_rows (tile, depth / LANES, min (count - depth, (uint)LANES), n_lines,
        rows + (long)depth * output_stride, output_stride);
}

#elif defined(FULL)
/* A-lines become columns. A work-group turns one tile of lines x depths in local memory,
 * so that its reads run along the bins and its writes along the picture's rows. */
kernel void
make_picture (ARGUMENTS)
{
  local float tile[TILE][TILE + 1];
  const Scale scale = SCALE;
  size_t first_line = get_group_id (0) * TILE;
  size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* the whole group */
    return;

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    size_t line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line < lines && depth < depths) {
      BIN bin = bins[line * bin_stride + first + depth];
      tile[n / TILE][n % TILE] = level (REAL (bin), IMAGINARY (bin), scale);
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    size_t line = first_line + n % TILE, depth = first_depth + n / TILE;
    if (line < lines && depth < depths)
      output[offset + (long)depth * output_stride + line] =
          pixel (tile[n % TILE][n / TILE]);
  }
}

#else
/* Line by line, as the bins are. */
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
