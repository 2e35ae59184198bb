/* From the bins of A-lines to what octfft puts out
 *
 * All kernels take the same arguments; an A-line is `bin_stride` bins long, of which
 * `depths` from `first` on are wanted. A program is built for one output: PIXEL is the
 * type of its values, FULL, for a picture, the brightest, and COMPLEX leaves the bins
 * complex.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define ARGUMENTS                                                                        \
  global const float2 *restrict bins, uint bin_stride, uint first, uint depths,          \
      uint lines, uint logarithmic, float darkest, float factor,                         \
      global PIXEL *restrict output, ulong offset, uint output_stride

/* The least amplitude, 1e-6, squared. */
#define LEAST_POWER 1e-12f
#define TILE 32

float
level (float2 bin, uint logarithmic)
{
  float power = bin.x * bin.x + bin.y * bin.y;
  return logarithmic ? 10.0f * log10 (fmax (power, LEAST_POWER)) : sqrt (power);
}

#ifdef FULL
/* Half to even, and black where the level is not a number. */
PIXEL
brightness (float value, float darkest, float factor)
{
  return (PIXEL) rint (fmin (fmax ((value - darkest) * factor, 0.0f), FULL));
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

#else
#ifdef COMPLEX
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
