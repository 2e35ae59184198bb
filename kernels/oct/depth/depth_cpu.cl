/* Fused kernel from raw spectra to depth, for a CPU
 *
 * A work-item processes LANES A-lines at once, one in each lane of its vectors. It reads
 * taps, weights and roots once for all of them. Lanes exchange no data. A work-group has
 * one work-item, whose data stays in the caches of its core.
 *
 * The POINTS complex points of a transform form a matrix of ROWS x COLUMNS. A point holds
 * two real samples, unless the spectrum is COMPLEX. Columns are interpolated and
 * transformed first. Rows follow, and their bins are output at once. So the whole matrix
 * is only written once and read once. For real A-lines, a row and its mirror row are
 * transformed together, because each bin needs both.
 *
 * Built for one combination of
 *   LANES: 4, 8 or 16
 *   SAMPLES: samples of an A-line
 *   GRID: points of the spectrum, a power of two
 *   OVERSAMPLING: 2 if the spectrum has twice as many points as needed, else 1
 *   RADIX_1, RADIX_2: of a column; RADIX_3, RADIX_4: of a row. Each 2, 4, 8 or 16
 *   LOAD_U8, LOAD_U16LE, LOAD_U16BE or LOAD_F32LE: sample format
 *   TAPS: samples per interpolated point. 0: the input is the spectrum itself, as pairs
 *   (real, imaginary) if COMPLEX
 *   BACKGROUND: 1 to subtract a background
 *   COMPLEX: 1 if the spectrum is complex, because dispersion is compensated
 *   and, for image output,
 *   PIXEL, FULL: pixel type and largest pixel value
 *   TILE: maximum number of A-lines per work-group
 *   or, for other output,
 *   BINS: output complex bins instead of levels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "vectors_cpu.clh"

#define PIXELS JOIN (PIXEL, LANES)
#define TO_PIXELS JOIN (convert_, PIXELS)

#define POINTS (COMPLEX ? GRID : GRID / 2)
#define ROWS (RADIX_1 * RADIX_2)
#define COLUMNS (RADIX_3 * RADIX_4)
#define DEPTHS (GRID / OVERSAMPLING / 2)

/* Number of input values of an A-line */
#define NUMBERS (TAPS == 0 && COMPLEX ? 2 * SAMPLES : SAMPLES)

/* Number of output values per depth. Without FULL, they replace the input values. */
#ifdef BINS
#define VALUES_OF_DEPTH 2
#else
#define VALUES_OF_DEPTH 1
#endif
#define MAX_NUMBERS                                                                      \
  (NUMBERS > VALUES_OF_DEPTH * DEPTHS ? NUMBERS : VALUES_OF_DEPTH * DEPTHS)

/* Points from one row to the next. With a power of two, rows would share cache sets. */
#define PITCH (COLUMNS + 1)

/* A complex value for each lane */
typedef struct {
  FLOATS x, y;
} Point;

#define COMPONENT FLOATS
#define POINT Point
#define POINT_OF(x, y) ((Point){x, y})

#include "level.clh"
#include "logarithm_cpu.clh"
#include "radix.clh"
#include "tables.clh"

/* Raw samples */

#if defined(LOAD_U8)
#define SAMPLES_OF_WORD 4
#elif defined(LOAD_F32LE)
#define SAMPLES_OF_WORD 1
#else
#define SAMPLES_OF_WORD 2
#endif

uint
assemble_word (global const uchar *bytes)
{
  return bytes[0] | (uint)bytes[1] << 8 | (uint)bytes[2] << 16 | (uint)bytes[3] << 24;
}

/* Loads LANES words of each of LANES A-lines. Missing A-lines repeat the last one.
 * `words`: input is aligned to four bytes. */
void
load_block (WORDS *block, global const uchar *input, long stride, uint last, uint words)
{
#ifdef __ENDIAN_LITTLE__
  if (words) {
#pragma unroll
    for (uint l = 0; l < LANES; l++)
      block[l] = LOAD (0, (global const uint *)(input + min (l, last) * stride));
    return;
  }
#endif
  uint assembled[LANES * LANES];
  for (uint n = 0; n < LANES * LANES; n++)
    assembled[n] =
        assemble_word (input + min (n / LANES, last) * stride + 4 * (n % LANES));
#pragma unroll
  for (uint l = 0; l < LANES; l++)
    block[l] = LOAD (l, assembled);
}

/* Returns the n-th sample in a word of each A-line. */
FLOATS
sample_of_word (WORDS word, uint n, uint shift)
{
#if defined(LOAD_U8)
  return TO_FLOATS (AS_INTS ((word >> (8 * n) & 0xff) >> shift));
#elif defined(LOAD_F32LE)
  return AS_FLOATS (word);
#else
#ifdef LOAD_U16BE
  word = (word & 0x00ff00ff) << 8 | (word >> 8 & 0x00ff00ff);
#endif
  return TO_FLOATS (AS_INTS ((n ? word >> 16 : word & 0xffff) >> shift));
#endif
}

#ifdef LOAD_F32LE
/* Replaces infinite samples with NaN. Counts both in `nonfinite`. */
FLOATS
finite_or_nan (FLOATS value, INTS *nonfinite)
{
  INTS finite = fabs (value) <= FLT_MAX;
  *nonfinite -= ~finite;
  return select ((FLOATS)NAN, value, finite);
}

/* Leaves out lanes that repeat the last A-line. */
void
count_nonfinite (INTS nonfinite, uint last, global uint *counter)
{
  uint sum = 0;
  for (uint lane = 0; lane < LANES && lane <= last; lane++)
    sum += ((int *)&nonfinite)[lane];
  if (counter && sum > 0)
    atomic_add (counter, sum);
}
#else
#define finite_or_nan(value, nonfinite) (value)
#define count_nonfinite(nonfinite, last, counter)
#endif

/* Loads LANES A-lines from `input` on. Spare lanes repeat the last one. */
void
load_samples (local FLOATS *samples, global const uchar *input, long stride, uint last,
    uint words, uint shift, global const float *background, global uint *counter)
{
  INTS nonfinite = 0;
  for (uint first = 0; first < NUMBERS / SAMPLES_OF_WORD; first += LANES) {
    WORDS block[LANES];
    load_block (block, input + 4 * first, stride, last, words);
    transpose (block);
#pragma unroll
    for (uint w = 0; w < LANES; w++) {
#pragma unroll
      for (uint n = 0; n < SAMPLES_OF_WORD; n++) {
        uint sample = (first + w) * SAMPLES_OF_WORD + n;
        FLOATS value = finite_or_nan (sample_of_word (block[w], n, shift), &nonfinite);
        samples[sample] = BACKGROUND ? value - background[sample] : value;
      }
    }
  }
  count_nonfinite (nonfinite, last, counter);
  /* Repeat the first and the last sample beyond the ends. */
  for (uint n = 1; TAPS > 2 && n <= EDGE; n++) {
    samples[-(int)n] = samples[0];
    samples[SAMPLES - 1 + n] = samples[SAMPLES - 1];
  }
}

FLOATS
interpolate (local const FLOATS *samples, global const float *tables, uint point)
{
  global const float *weights = weights_of (tables, GRID) + point;
  local const FLOATS *from = samples + first_tap (tables, SAMPLES, GRID, point);
  FLOATS value = weights[0] * from[0];
#pragma unroll
  for (uint t = 1; t < TAPS; t++)
    value += weights[t * WEIGHT_PITCH (GRID)] * from[t];
  return value;
}

Point
point_of (local const FLOATS *samples, global const float *tables, uint n)
{
#if TAPS == 0
  return (Point){samples[2 * n], samples[2 * n + 1]};
#elif COMPLEX
  FLOATS value = interpolate (samples, tables, n);
  float2 rotation = phase_at (tables, n);
  return (Point){value * rotation.x, value * rotation.y};
#else
  return (Point){
      interpolate (samples, tables, 2 * n), interpolate (samples, tables, 2 * n + 1)};
#endif
}

/* Fourier transforms */

/* roots[k] = exp (-2 pi i k / GRID). A transform of `length` points uses every
 * GRID / length-th root. */
#define ROOT(length, k) roots[(GRID / (length)) * (k)]

void
transform_column (local const FLOATS *samples, local Point *points,
    global const float *restrict tables, global const float2 *restrict roots, uint column)
{
  Point intermediate[ROWS];
  for (uint b = 0; b < RADIX_2; b++) {
    Point x[RADIX_1];
#pragma unroll
    for (uint r = 0; r < RADIX_1; r++)
      x[r] = point_of (samples, tables, (b + r * RADIX_2) * COLUMNS + column);
    transform_radix (x, RADIX_1);
#pragma unroll
    for (uint k = 0; k < RADIX_1; k++)
      intermediate[k * RADIX_2 + b] = k ? times (x[k], ROOT (ROWS, b * k)) : x[k];
  }
  for (uint k = 0; k < RADIX_1; k++) {
    Point x[RADIX_2];
#pragma unroll
    for (uint b = 0; b < RADIX_2; b++)
      x[b] = intermediate[k * RADIX_2 + b];
    transform_radix (x, RADIX_2);
#pragma unroll
    for (uint q = 0; q < RADIX_2; q++) {
      uint row = k + RADIX_1 * q;
      points[row * PITCH + column] = times (x[q], ROOT (POINTS, column * row));
    }
  }
}

/* Complex A-lines need only the first half of the bins, which holds all depths. */
#define BINS_OF_LAST (COMPLEX ? RADIX_4 / 2 : RADIX_4)

void
transform_row (
    local const Point *points, Point *bins, global const float2 *restrict roots, uint row)
{
  Point intermediate[COLUMNS];
  for (uint b = 0; b < RADIX_4; b++) {
    Point x[RADIX_3];
#pragma unroll
    for (uint r = 0; r < RADIX_3; r++)
      x[r] = points[row * PITCH + b + r * RADIX_4];
    transform_radix (x, RADIX_3);
#pragma unroll
    for (uint k = 0; k < RADIX_3; k++)
      intermediate[k * RADIX_4 + b] = k ? times (x[k], ROOT (COLUMNS, b * k)) : x[k];
  }
  for (uint k = 0; k < RADIX_3; k++) {
    Point x[RADIX_4];
#pragma unroll
    for (uint b = 0; b < RADIX_4; b++)
      x[b] = intermediate[k * RADIX_4 + b];
    transform_radix (x, RADIX_4);
#pragma unroll
    for (uint q = 0; q < BINS_OF_LAST; q++)
      bins[k + RADIX_3 * q] = x[q];
  }
}

/* Output */

/* Output values of all lanes in local memory, depth by depth */
typedef struct {
  uint first;
  uint depths;
  Scale scale;
#ifdef FULL
  local PIXELS *values; /* TILE pixels per depth */
#else
  local FLOATS *values;
#endif
} Output;

/* Factor of the bins: they are doubled if a point holds two real samples. */
#define BIN_FACTOR (COMPLEX ? 1.0f : 2.0f)
#define LOG2_BIN_FACTOR (COMPLEX ? 0.0f : 1.0f)

FLOATS
level (Point bin, Scale scale)
{
  FLOATS power = bin.x * bin.x + bin.y * bin.y;
#ifdef LOAD_F32LE
  power = finite_power (power);
#endif
  FLOATS value = scale.logarithmic
                     ? log2_of (at_least (power, LEAST_POWER * BIN_FACTOR * BIN_FACTOR))
                     : sqrt (power);
  return at_least (value * scale.factor + scale.zero, scale.least);
}

#if defined(FULL)
/* Adjacent lanes become adjacent pixels. */
void
put (Output output, uint depth, Point bin)
{
  uint row = depth - output.first;
  if (row >= output.depths)
    return;
  FLOATS brightness = level (bin, output.scale);
  brightness = brightness < FULL ? brightness : (FLOATS)FULL;
  output.values[row * (TILE / LANES)] = TO_PIXELS (PIXEL_WORDS (AS_WORDS, brightness));
}

/* Writes several vectors per row, because image rows are far apart in memory. */
void
write_rows (
    local const PIXELS *tile, uint depths, uint lines, global PIXEL *rows, int stride)
{
  const uint whole = lines / LANES;
  for (uint depth = 0; depth < depths; depth++) {
    local const PIXELS *values = tile + depth * (TILE / LANES);
    global PIXEL *row = rows + (long)depth * stride;
    for (uint n = 0; n < whole; n++)
      STORE (values[n], n, row);
    for (uint line = whole * LANES; line < lines; line++)
      row[line] = ((local const PIXEL *)values)[line];
  }
}
#else
void
put (Output output, uint depth, Point bin)
{
  uint row = depth - output.first;
  if (row >= output.depths)
    return;
#ifdef BINS
  output.values[2 * row] = bin.x * (1.0f / BIN_FACTOR);
  output.values[2 * row + 1] = bin.y * (1.0f / BIN_FACTOR);
#else
  output.values[row] = level (bin, output.scale);
#endif
}

/* Transposes values from depth order to A-line order. */
void
write_lines (
    local const FLOATS *values, uint count, uint lines, global uint *output, ulong stride)
{
  for (uint first = 0; first < count; first += LANES) {
    WORDS block[LANES];
#pragma unroll
    for (uint n = 0; n < LANES; n++)
      block[n] = AS_WORDS (values[min (first + n, count - 1)]);
    transpose (block);
    if (first + LANES <= count && lines == LANES) {
#pragma unroll
      for (uint l = 0; l < LANES; l++)
        STORE (block[l], 0, output + l * stride + first);
      continue;
    }
    uint rest[LANES * LANES];
#pragma unroll
    for (uint l = 0; l < LANES; l++)
      STORE (block[l], l, rest);
    for (uint l = 0; l < lines; l++)
      for (uint n = 0; n < LANES && first + n < count; n++)
        output[l * stride + first + n] = rest[l * LANES + n];
  }
}
#endif

#if COMPLEX
void
make_rows (local const Point *points, global const float2 *restrict roots, Output output)
{
  for (uint row = 0; row < ROWS; row++) {
    Point bins[COLUMNS];
    transform_row (points, bins, roots, row);
    for (uint k = 0; k < COLUMNS / OVERSAMPLING / 2; k++)
      put (output, row + ROWS * k, bins[k]);
  }
}
#else
/* Computes bins k and POINTS - k of a real A-line. a and b are bins k and POINTS - k of
 * the complex transform of the even samples plus i times the odd samples. */
void
put_pair (Output output, uint k, Point a, Point b, float2 root)
{
  Point even = {a.x + b.x, a.y - b.y};
  Point odd = times ((Point){a.y + b.y, b.x - a.x}, root);
  put (output, k, (Point){even.x + odd.x, even.y + odd.y});
  put (output, POINTS - k, (Point){even.x - odd.x, odd.y - even.y});
}

void
make_rows (local const Point *points, global const float2 *restrict roots, Output output)
{
  for (uint row = 0; row <= ROWS / 2; row++) {
    /* The first and the middle row are their own mirror rows. */
    const bool single = row % (ROWS / 2) == 0;
    Point bins[2][COLUMNS];
    for (uint side = 0; side < (single ? 1 : 2); side++)
      transform_row (points, bins[side], roots, side ? ROWS - row : row);
    const Point *mirror = bins[single ? 0 : 1];
    for (uint k = 0; k < (single ? COLUMNS / 2 + (row == 0) : COLUMNS); k++)
      put_pair (output, row + ROWS * k, bins[0][k],
          mirror[(row ? COLUMNS - 1 - k : COLUMNS - k) % COLUMNS], roots[row + ROWS * k]);
  }
}
#endif

/* A work-group processes `lines_of_group` A-lines, a multiple of LANES. */
kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
make_depth_cpu (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint words, uint lines, uint bit_shift, global uint *nonfinite,
    global const float *restrict tables, global const float *restrict background,
    uint background_offset, global const float2 *restrict roots, uint lines_of_group,
    uint first, uint depths, uint logarithmic, float factor, float zero, float least,
    global void *restrict output, ulong output_offset, int output_stride)
{
  local FLOATS samples[MAX_NUMBERS + 2 * EDGE];
  local Point points[ROWS * PITCH];
#ifdef FULL
  local PIXELS tile[DEPTHS * (TILE / LANES)];
#endif
  const uint begin = get_group_id (0) * lines_of_group;
  if (begin >= lines)
    return;
  const uint end = min (begin + lines_of_group, lines);

  Output out;
  out.first = first;
  out.depths = depths;
  out.scale.logarithmic = logarithmic;
  out.scale.factor = logarithmic ? factor : factor / BIN_FACTOR;
  out.scale.zero = logarithmic ? zero - 2.0f * LOG2_BIN_FACTOR * factor : zero;
  out.scale.least = least;

  for (uint line = begin; line < end; line += LANES) {
    load_samples (samples + EDGE, input + input_offset + line * input_stride,
        input_stride, end - 1 - line, words, bit_shift, background + background_offset,
        nonfinite);
    for (uint column = 0; column < COLUMNS; column++)
      transform_column (samples + EDGE, points, tables, roots, column);
#ifdef FULL
    out.values = tile + (line - begin) / LANES;
    make_rows (points, roots, out);
#else
    /* Values replace the samples, which are no longer needed. */
    out.values = samples;
    make_rows (points, roots, out);
    ulong first_value = output_offset + (ulong)line * output_stride;
    write_lines (samples, VALUES_OF_DEPTH * depths, min (end - line, (uint)LANES),
        (global uint *)output + VALUES_OF_DEPTH * first_value,
        (ulong)VALUES_OF_DEPTH * output_stride);
#endif
  }
#ifdef FULL
  write_rows (tile, depths, end - begin, (global PIXEL *)output + output_offset + begin,
      output_stride);
#endif
}
