/* From the bins of A-lines to what octfft and octdisplay put out
 *
 * All kernels take the same arguments; A-lines are `bin_stride` bins apart, of which
 * `depths` from `first` on are wanted. A program is built for one output: PIXEL is the
 * type of its values, FULL, for a picture, the brightest, and BINS leaves the bins
 * complex. STRIPS is defined for make_picture_strips. What bins are, complex unless told,
 * shown.clh says. With AUTOMATIC the scale is what find_range left in `range`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)

#ifdef STRIPS
#define COMPONENT float16
#define AS_WORDS as_uint16
#define PIXELS JOIN (PIXEL, 16)
#define TO_PIXELS JOIN (convert_, PIXELS)
#else
#define COMPONENT float
#define AS_WORDS as_uint
#define PIXELS PIXEL
#define TO_PIXELS (PIXEL)
#endif

#include "level.clh"
#include "shown.clh"

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

COMPONENT
level (COMPONENT real, COMPONENT imaginary, Scale scale)
{
#ifdef VALUES
  return at_least (real * scale.factor + scale.zero, scale.least);
#else
  COMPONENT power = finite_power (POWER (real, imaginary));
  COMPONENT value = scale.logarithmic ? log2 (power) : AMPLITUDE (power);
  return at_least (value * scale.factor + scale.zero, scale.least);
#endif
}

#ifdef FULL
PIXELS
pixels (COMPONENT brightness)
{
  return TO_PIXELS (PIXEL_WORDS (AS_WORDS, fmin (brightness, FULL)));
}
#endif

#if defined(STRIPS)
/* For a CPU, which has no use for local memory and barriers: a work-item makes a strip of
 * STRIP_LINES x STRIP_DEPTHS, whose bins come in whole cache lines. */
#define STRIP_LINES 16
#define STRIP_DEPTHS 8

COMPONENT
levels (global const BIN *bins, size_t bin_stride, uint count, Scale scale)
{
  float real[STRIP_LINES], imaginary[STRIP_LINES];
  for (uint line = 0; line < STRIP_LINES; line++) {
    BIN bin = bins[min (line, count - 1) * bin_stride];
    real[line] = REAL (bin);
    imaginary[line] = IMAGINARY (bin);
  }
  return level (vload16 (0, real), vload16 (0, imaginary), scale);
}

kernel void
make_picture_strips (ARGUMENTS)
{
  const Scale scale = SCALE;
  size_t line = get_global_id (0) * STRIP_LINES;
  size_t first_depth = get_global_id (1) * STRIP_DEPTHS;
  size_t end = min (first_depth + STRIP_DEPTHS, (size_t)depths);
  if (line >= lines)
    return;

  const uint count = min (lines - (uint)line, (uint)STRIP_LINES);
  for (size_t depth = first_depth; depth < end; depth++) {
    global const BIN *strip = bins + line * bin_stride + first + depth;
    global PIXEL *row = output + offset + (long)depth * output_stride + line;
    PIXEL values[STRIP_LINES];
    if (count == STRIP_LINES) {
      vstore16 (pixels (levels (strip, bin_stride, STRIP_LINES, scale)), 0, row);
      continue;
    }
    vstore16 (pixels (levels (strip, bin_stride, count, scale)), 0, values);
    for (uint rest = 0; rest < count; rest++)
      row[rest] = values[rest];
  }
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
      output[offset + (long)depth * output_stride + line] = pixels (tile[n % TILE][n / TILE]);
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
  output[offset + (long)line * output_stride + depth] = level (REAL (bin), IMAGINARY (bin), scale);
#endif
}
#endif
