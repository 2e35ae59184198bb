/* From the bins of A-lines to what octfft puts out
 *
 * All kernels take the same arguments; an A-line is `bin_stride` bins long, of which
 * `depths` from `first` on are wanted. A program is built for one output: PIXEL is the
 * type of its values, FULL, for a picture, the brightest, and BINS leaves the bins
 * complex.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)

#define ARGUMENTS                                                                        \
  global const float2 *restrict bins, uint bin_stride, uint first, uint depths,          \
      uint lines, uint logarithmic, float darkest, float factor,                         \
      global PIXEL *restrict output, ulong offset, uint output_stride

/* The least amplitude, 1e-6, squared. */
#define LEAST_POWER 1e-12f
#define TILE 32

/* What is not a number, and a power beyond all numbers, is as nothing. */
float
level (float2 bin, uint logarithmic)
{
  float power = bin.x * bin.x + bin.y * bin.y;
  power = power <= FLT_MAX ? power : 0.0f;
  return logarithmic ? 10.0f * log10 (fmax (power, LEAST_POWER)) : sqrt (power);
}

#ifdef FULL
/* Half to even, and black where the level is not a number. */
PIXEL
brightness (float value, float darkest, float factor)
{
  return (PIXEL)rint (fmin (fmax ((value - darkest) * factor, 0.0f), FULL));
}

/* A-lines become columns. A work-group turns one tile of lines x depths in local memory,
 * so that its reads run along the bins and its writes along the picture's rows. */
kernel void
make_picture (ARGUMENTS)
{
  local float tile[TILE][TILE + 1];
  size_t first_line = get_group_id (0) * TILE;
  size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* the whole group */
    return;

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    size_t line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line < lines && depth < depths)
      tile[n / TILE][n % TILE] =
          level (bins[line * bin_stride + first + depth], logarithmic);
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    size_t line = first_line + n % TILE, depth = first_depth + n / TILE;
    if (line < lines && depth < depths)
      output[offset + depth * output_stride + line] =
          brightness (tile[n % TILE][n / TILE], darkest, factor);
  }
}

/* The same for a CPU, which has no use for local memory and barriers: a work-item makes a
 * strip of STRIP_LINES x STRIP_DEPTHS, whose bins come in whole cache lines. */
#define STRIP_LINES 16
#define STRIP_DEPTHS 8

float16
levels (global const float2 *bins, size_t bin_stride, uint logarithmic)
{
  float real[STRIP_LINES], imaginary[STRIP_LINES];
  for (uint line = 0; line < STRIP_LINES; line++) {
    float2 bin = bins[line * bin_stride];
    real[line] = bin.x;
    imaginary[line] = bin.y;
  }
  float16 x = vload16 (0, real), y = vload16 (0, imaginary);
  float16 power = x * x + y * y;
  power = power <= FLT_MAX ? power : (float16)0.0f;
  return logarithmic ? 10.0f * log10 (fmax (power, LEAST_POWER)) : sqrt (power);
}

kernel void
make_picture_strips (ARGUMENTS)
{
  size_t line = get_global_id (0) * STRIP_LINES;
  size_t first_depth = get_global_id (1) * STRIP_DEPTHS;
  size_t end = min (first_depth + STRIP_DEPTHS, (size_t)depths);
  if (line >= lines)
    return;

  for (size_t depth = first_depth; depth < end; depth++) {
    global const float2 *strip = bins + line * bin_stride + first + depth;
    global PIXEL *row = output + offset + depth * output_stride + line;
    if (line + STRIP_LINES <= lines) {
      float16 value = (levels (strip, bin_stride, logarithmic) - darkest) * factor;
      vstore16 (
          JOIN (JOIN (convert_, PIXEL), 16) (rint (fmin (fmax (value, 0.0f), FULL))), 0,
          row);
      continue;
    }
    for (size_t rest = 0; line + rest < lines; rest++)
      row[rest] =
          brightness (level (strip[rest * bin_stride], logarithmic), darkest, factor);
  }
}

#else
#ifdef BINS
#define VALUE(bin) (bin)
#else
#define VALUE(bin) level (bin, logarithmic)
#endif

/* Line by line, as the bins are. */
kernel void
make_lines (ARGUMENTS)
{
  size_t depth = get_global_id (0), line = get_global_id (1);
  if (depth < depths && line < lines)
    output[offset + line * output_stride + depth] =
        VALUE (bins[line * bin_stride + first + depth]);
}
#endif
