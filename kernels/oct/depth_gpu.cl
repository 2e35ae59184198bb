/* Fused kernel from raw spectra to depth, for a GPU
 *
 * A work-group processes pairs of A-lines, one pair after the other. The samples of a
 * pair are interleaved in local memory. Each work-item interpolates the same points of
 * every pair, so that taps and window stay in its registers. Two real A-lines are the
 * real and the imaginary part of one Fourier transform, and are separated after it.
 * Complex A-lines are transformed one after the other. A work-item keeps POINTS points in
 * registers. Work-items exchange points through local memory between the steps of a
 * transform. Pixels of several A-lines are collected, so that image rows are written in
 * segments.
 *
 * Built for one combination of
 *   SAMPLES: samples of an A-line
 *   OVERSAMPLING: 1 or 2
 *   GRID: points of the spectrum, OVERSAMPLING * SAMPLES, a power of two
 *   POINTS: points per work-item
 *   RADIX_1 … RADIX_4: their product is GRID; 1 for steps that are not needed. The first
 *     is 16. In the last step, a work-item has at least two butterflies
 *   SIDE_BY_SIDE: transforms per work-group
 *   LOAD_U8, LOAD_U16LE, LOAD_U16BE or LOAD_F32LE: sample format
 *   TAPS: samples per interpolated point
 *   BACKGROUND: 1 to subtract a background
 *   COMPLEX: 1 if the spectrum is complex, because dispersion is compensated
 *   PIXEL, FULL, FULL_BITS: for image output, type, largest value and bits of a pixel
 *   BINS: without FULL, output complex bins instead of levels
 *   TILE: maximum number of A-lines per work-group
 *   SHARED: samples and transforms use the same local memory in turn
 *   HALVES: real and imaginary parts use the same local memory in turn
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define ITEMS (GRID / POINTS)
#define GROUP (ITEMS * SIDE_BY_SIDE)
#define DEPTHS (GRID / OVERSAMPLING / 2)

/* Inserts a gap after every 16 points. This avoids bank conflicts, both of work-items
 * that store 16 points each and of work-items that load adjacent points. */
#define PADDED(i) ((i) + (i) / 16)

#if HALVES
#define PART float
#else
#define PART float2
#endif

#define COMPONENT float
#define POINT float2
#define POINT_OF(x, y) ((float2)(x, y))

#include "level.clh"
#include "radix.clh"
#include "tables.clh"

/* Raw samples */

/* Converts an integer below 2^23 to float by adding 2^23, from which on float32 has no
 * fractions. A GPU adds faster than it converts. */
#define NUMBER(as_floats, integer) (as_floats ((integer) | 0x4b000000) - 8388608.0f)

/* A sample of both A-lines of a pair. With OVERSAMPLING, several points read a sample, so
 * it is converted to float before it is stored. */
#if defined(LOAD_F32LE) || OVERSAMPLING > 1
#define SAMPLE float2
#define SAMPLES_OF(pair) (pair)
#else
#define SAMPLE uint
#define SAMPLES_OF(pair)                                                                 \
  ((float2)(NUMBER (as_float, (pair)&0xffff), NUMBER (as_float, (pair) >> 16)))
#endif

/* Four raw samples, and how many of these a work-item loads per A-line */
#if defined(LOAD_U8)
#define FOUR uint
#elif defined(LOAD_F32LE)
#define FOUR uint4
#else
#define FOUR uint2
#endif
#define FOURS (POINTS / OVERSAMPLING / 4)

#ifdef __ENDIAN_LITTLE__
FOUR
load_four (global const uchar *line, uint four)
{
  return ((global const FOUR *)line)[four];
}
#else
#define load_four assemble_four
#endif

uint
assemble_word (global const uchar *bytes)
{
  return bytes[0] | (uint)bytes[1] << 8 | (uint)bytes[2] << 16 | (uint)bytes[3] << 24;
}

/* Loads from any address. A GPU faults on unaligned loads. */
FOUR
assemble_four (global const uchar *line, uint four)
{
  global const uchar *bytes = line + four * sizeof (FOUR);
#if defined(LOAD_U8)
  return assemble_word (bytes);
#elif defined(LOAD_F32LE)
  return (uint4)(assemble_word (bytes), assemble_word (bytes + 4),
      assemble_word (bytes + 8), assemble_word (bytes + 12));
#else
  return (uint2)(assemble_word (bytes), assemble_word (bytes + 4));
#endif
}

/* Replaces non-finite samples with 0 and marks their A-line. They would otherwise reach
 * the other A-line of the pair in the common transform. */
#ifdef LOAD_F32LE
void
take_broken (FOUR *samples, local uint *mark, bool counts, global uint *counter)
{
  float4 values = as_float4 (*samples);
  int4 finite = fabs (values) <= FLT_MAX;
  if (all (finite))
    return;
  *samples &= as_uint4 (finite);
  atomic_or (mark, 1);
  if (counts && counter)
    atomic_add (counter, 4 + finite.x + finite.y + finite.z + finite.w);
}
#endif

/* Stores four samples of both A-lines, interleaved. Each integer in `pairs` holds the
 * first A-line's sample in its lower half and the second's in its upper half. */
#ifndef LOAD_F32LE
void
store_pairs (local SAMPLE *samples, uint four, uint4 pairs)
{
#if OVERSAMPLING > 1
  const float4 a = NUMBER (as_float4, pairs & 0xffff),
               b = NUMBER (as_float4, pairs >> 16);
  ((local float4 *)samples)[2 * four] = (float4)(a.x, b.x, a.y, b.y);
  ((local float4 *)samples)[2 * four + 1] = (float4)(a.z, b.z, a.w, b.w);
#else
  ((local uint4 *)samples)[four] = pairs;
#endif
}
#endif

#if defined(LOAD_U8)
void
store_four (local SAMPLE *samples, uint four, FOUR a, FOUR b, uint shift)
{
  uint4 places = (uint4)(0, 8, 16, 24);
  store_pairs (samples, four,
      (((uint4)a >> places) & 0xff) >> shift
          | ((((uint4)b >> places) & 0xff) >> shift) << 16);
}
#elif defined(LOAD_F32LE)
void
store_four (local SAMPLE *samples, uint four, FOUR a, FOUR b, uint shift)
{
  ((local uint4 *)samples)[2 * four] = (uint4)(a.x, b.x, a.y, b.y);
  ((local uint4 *)samples)[2 * four + 1] = (uint4)(a.z, b.z, a.w, b.w);
}
#else
uint2
integers (uint2 halves, uint shift)
{
#ifdef LOAD_U16BE
  halves = (halves & 0x00ff00ff) << 8 | (halves >> 8 & 0x00ff00ff);
#endif
  return halves >> shift & (0xffffu >> shift) * 0x10001u;
}

void
store_four (local SAMPLE *samples, uint four, FOUR a, FOUR b, uint shift)
{
  uint2 first = integers (a, shift), second = integers (b, shift);
  uint2 even = (first & 0xffff) | second << 16;
  uint2 odd = first >> 16 | (second & 0xffff0000);
  store_pairs (samples, four, (uint4)(even.x, odd.x, even.y, odd.y));
}
#endif

/* Loads the pair of A-lines from `line` on into registers. Repeats the last A-line beyond
 * the end. `aligned`: groups of four samples are aligned to their size. */
void
fetch (global const uchar *restrict input, long stride, uint line, uint lines, uint item,
    uint aligned, FOUR *a, FOUR *b)
{
  global const uchar *first = input + min (line, lines - 1) * stride;
  global const uchar *second = input + min (line + 1, lines - 1) * stride;
  if (aligned) {
#pragma unroll
    for (uint n = 0; n < FOURS; n++) {
      a[n] = load_four (first, item + n * ITEMS);
      b[n] = load_four (second, item + n * ITEMS);
    }
  } else {
#pragma unroll
    for (uint n = 0; n < FOURS; n++) {
      a[n] = assemble_four (first, item + n * ITEMS);
      b[n] = assemble_four (second, item + n * ITEMS);
    }
  }
}

/* Repeats the first and the last sample beyond the ends. */
void
extend (local SAMPLE *samples, uint item)
{
  if (item == 0) {
    for (uint n = 0; n < EDGE; n++)
      samples[(int)n - EDGE] = samples[0];
  }
  if (item == ITEMS - 1) {
    for (uint n = 0; n < EDGE; n++)
      samples[SAMPLES + n] = samples[SAMPLES - 1];
  }
}

void
stage (local SAMPLE *samples, uint item, const FOUR *a, const FOUR *b, uint bit_shift)
{
#pragma unroll
  for (uint n = 0; n < FOURS; n++)
    store_four (samples, item + n * ITEMS, a[n], b[n], bit_shift);
  if (TAPS > 2)
    extend (samples, item);
}

/* Fourier transforms */

void
butterflies (float2 *x, uint radix)
{
#pragma unroll
  for (uint b = 0; b < POINTS / radix; b++)
    transform_radix (x + radix * b, radix);
}

/* Returns the number, in its step, of a work-item's b-th butterfly. In the last step,
 * half of them mirror the other half, so that a work-item has bins k and GRID - k. */
uint
butterfly (uint item, uint b, uint radix, bool last)
{
  uint half_of = POINTS / radix / 2;
  if (!last || b < half_of)
    return item + b * ITEMS;
  uint mirrored = item + (b - half_of) * ITEMS;
  return mirrored == 0 ? GRID / radix / 2 : GRID / radix - mirrored;
}

/* Multiplies by twiddle factors. roots[k] = exp (-2 pi i k / GRID). Every power is a
 * product of few table entries, which keeps rounding errors small. */
void
turn_butterfly (float2 *x, global const float2 *restrict roots, uint root, uint radix)
{
  float2 w[16];
  w[1] = roots[root];
  if (radix > 2) {
    w[2] = times (w[1], w[1]);
    w[3] = times (w[2], w[1]);
  }
  if (radix > 4) {
    w[4] = roots[4 * root];
    w[5] = times (w[4], w[1]);
    w[6] = times (w[4], w[2]);
    w[7] = times (w[4], w[3]);
  }
  if (radix > 8) {
    w[8] = roots[8 * root];
    w[12] = times (w[8], w[4]);
#pragma unroll
    for (uint r = 1; r < 4; r++) {
      w[8 + r] = times (w[8], w[r]);
      w[12 + r] = times (w[12], w[r]);
    }
  }
#pragma unroll
  for (uint r = 1; r < radix; r++)
    x[r] = times (x[r], w[r]);
}

void
turn_all (float2 *x, global const float2 *restrict roots, uint item, uint radix,
    uint before, bool last)
{
#pragma unroll
  for (uint b = 0; b < POINTS / radix; b++) {
    uint of_step = butterfly (item, b, radix, last) % before;
    turn_butterfly (x + b * radix, roots, of_step * (GRID / (before * radix)), radix);
  }
}

/* Returns where a butterfly stores its r-th result. The step combines transforms of
 * `before` points. Only the first step, of radix 16, needs gaps in memory banks. */
uint
place (uint butterfly, uint r, uint radix, uint before)
{
  uint first = butterfly / before * before * radix + butterfly % before;
  return before == 1 ? PADDED (first) + r : first + r * before;
}

/* Returns where a butterfly of the next step, of this radix, loads its r-th input.
 * GRID / radix must be a multiple of 16. `before` is that of the previous step. */
uint
place_of_input (uint butterfly, uint r, uint radix, uint before)
{
  uint apart = GRID / radix;
  return before == 1 ? PADDED (butterfly) + r * PADDED (apart) : butterfly + r * apart;
}

#define STORE(part)                                                                      \
  for (uint b = 0; b < POINTS / radix; b++)                                              \
    for (uint r = 0; r < radix; r++)                                                     \
  places[place (item + b * ITEMS, r, radix, before)] = x[b * radix + r] part

#define LOAD(part)                                                                       \
  for (uint b = 0; b < POINTS / next; b++)                                               \
    for (uint r = 0; r < next; r++)                                                      \
  x[b * next + r] part =                                                                 \
      places[place_of_input (butterfly (item, b, next, last), r, next, before)]

/* Exchanges points between work-items for the next step. */
void
change_places (float2 *x, local PART *places, uint item, uint radix, uint before,
    uint next, bool last)
{
#if HALVES
#pragma unroll
  STORE (.x);
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  LOAD (.x);
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  STORE (.y);
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  LOAD (.y);
#else
#pragma unroll
  STORE ();
  barrier (CLK_LOCAL_MEM_FENCE);
#pragma unroll
  LOAD ();
#endif
}

void
transform (float2 *x, local PART *places, global const float2 *restrict roots, uint item)
{
  butterflies (x, RADIX_1);
  change_places (x, places, item, RADIX_1, 1, RADIX_2, RADIX_3 == 1);
  turn_all (x, roots, item, RADIX_2, RADIX_1, RADIX_3 == 1);
  butterflies (x, RADIX_2);
#if RADIX_3 > 1
  barrier (CLK_LOCAL_MEM_FENCE);
  change_places (x, places, item, RADIX_2, RADIX_1, RADIX_3, RADIX_4 == 1);
  turn_all (x, roots, item, RADIX_3, RADIX_1 * RADIX_2, RADIX_4 == 1);
  butterflies (x, RADIX_3);
#endif
#if RADIX_4 > 1
  barrier (CLK_LOCAL_MEM_FENCE);
  change_places (x, places, item, RADIX_3, RADIX_1 * RADIX_2, RADIX_4, true);
  turn_all (x, roots, item, RADIX_4, RADIX_1 * RADIX_2 * RADIX_3, true);
  butterflies (x, RADIX_4);
#endif
}

#if RADIX_4 > 1
#define LAST RADIX_4
#elif RADIX_3 > 1
#define LAST RADIX_3
#else
#define LAST RADIX_2
#endif

/* Interpolation of the points of a transform */

/* Factor of the weights. It compensates take_apart(), which doubles bins. */
#define PORTION (COMPLEX ? 1.0f : 0.5f)

/* Taps stay in registers if they are few and there is one transform per pair. */
#define HELD (TAPS <= 2 && !COMPLEX)

/* First sample and interpolation weights of one point */
typedef struct {
  local const SAMPLE *from;
  float weight[TAPS];
} Tap;

/* Returns the n-th point of a work-item, in the input order of the first step. */
uint
point (uint item, uint n)
{
  return item + n / RADIX_1 * ITEMS + n % RADIX_1 * (GRID / RADIX_1);
}

Tap
tap_of (global const float *restrict tables, local const SAMPLE *samples, uint point)
{
  global const float *weights = weights_of (tables, GRID);
  Tap tap;
  tap.from = samples + first_tap (tables, SAMPLES, GRID, point);
#pragma unroll
  for (uint t = 0; t < TAPS; t++)
    tap.weight[t] = PORTION * weights[t * WEIGHT_PITCH (GRID) + point];
  return tap;
}

/* Returns the interpolated value plus `value`. */
float2
interpolate (Tap tap, float2 value)
{
#pragma unroll
  for (uint t = 0; t < TAPS; t++) {
    SAMPLE pair = tap.from[t];
    value += tap.weight[t] * SAMPLES_OF (pair);
  }
  return value;
}

/* Returns the contribution of the background to a point. */
float
background_at (
    Tap tap, local const SAMPLE *samples, global const float *restrict background)
{
  int first = (int)(tap.from - samples);
  float sum = 0.0f;
  for (int t = 0; t < TAPS; t++)
    sum += tap.weight[t] * background[sample_of_tap (first + t, SAMPLES)];
  return sum;
}

/* Output */

/* Number of bins of a butterfly that are depths */
#define BINS_OF_BUTTERFLY (LAST / OVERSAMPLING / 2)
/* Number of points of a work-item that are depths */
#define DEPTHS_OF_ITEM (POINTS / OVERSAMPLING / 2)

/* Returns the n-th depth of a work-item, in the output order of the last step. */
uint
depth_of (uint item, uint n)
{
  return butterfly (item, n / BINS_OF_BUTTERFLY, LAST, true)
         + n % BINS_OF_BUTTERFLY * (GRID / LAST);
}

/* Returns the index in x of the n-th depth. */
uint
place_of_depth (uint n)
{
  return n / BINS_OF_BUTTERFLY * LAST + n % BINS_OF_BUTTERFLY;
}

void
take_depths (const float2 *x, float2 *bins)
{
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    bins[n] = x[place_of_depth (n)];
}

/* Separates two real A-lines: computes bins k of the first or the second one from bins k
 * and GRID - k of their common transform. */
void
take_apart (const float2 *x, float2 *bins, bool second, uint item)
{
  const uint half_of = POINTS / LAST / 2;
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++) {
    uint q = n % BINS_OF_BUTTERFLY, b = n / BINS_OF_BUTTERFLY;
    float2 bin = x[b * LAST + q];
    float2 mirror = x[(b < half_of ? b + half_of : b - half_of) * LAST + LAST - 1 - q];
    /* The first and the middle butterfly are their own mirrors. */
    if (b % half_of == 0 && item == 0)
      mirror = x[b * LAST + (b == 0 ? (LAST - q) % LAST : LAST - 1 - q)];
    bins[n] = second ? (float2)(bin.y + mirror.y, mirror.x - bin.x)
                     : (float2)(bin.x + mirror.x, bin.y - mirror.y);
  }
}

#ifdef BINS
#define VALUE float2
#define OF_BROKEN (float2) (NAN)

void
values_of (const float2 *bins, VALUE *values, Scale scale)
{
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    values[n] = bins[n];
}
#else
#define VALUE float
#define OF_BROKEN scale.least

void
values_of (const float2 *bins, VALUE *values, Scale scale)
{
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    values[n] = bins[n].x * bins[n].x + bins[n].y * bins[n].y;
#ifdef LOAD_F32LE
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    values[n] = finite_power (values[n]);
#endif
  if (scale.logarithmic) {
#pragma unroll
    for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
      values[n] = native_log2 (values[n]);
  } else {
#pragma unroll
    for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
      values[n] = sqrt (values[n]);
  }
  /* fmax() replaces NaN with the lowest level. */
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    values[n] = fmax (values[n] * scale.factor + scale.zero, scale.least);
}
#endif

/* Transforms the points y of a pair to values of both A-lines. */
#if COMPLEX
void
find_values (const float2 *y, VALUE values[2][DEPTHS_OF_ITEM], local PART *places,
    global const float *restrict tables, global const float2 *restrict roots, uint item,
    Scale scale)
{
#pragma unroll
  for (uint l = 0; l < 2; l++) {
    float2 x[POINTS], bins[DEPTHS_OF_ITEM];
#pragma unroll
    for (uint n = 0; n < POINTS; n++)
      x[n] = (l ? y[n].y : y[n].x) * phase_at (tables, point (item, n));
    if (l)
      barrier (CLK_LOCAL_MEM_FENCE);
    transform (x, places, roots, item);
    take_depths (x, bins);
    values_of (bins, values[l], scale);
  }
}
#else
void
find_values (float2 *y, VALUE values[2][DEPTHS_OF_ITEM], local PART *places,
    global const float *restrict tables, global const float2 *restrict roots, uint item,
    Scale scale)
{
  float2 bins[2][DEPTHS_OF_ITEM];
  transform (y, places, roots, item);
#if OVERSAMPLING > 1
  /* One A-line at a time, because twice as many points occupy the registers. */
#pragma unroll
  for (uint l = 0; l < 2; l++) {
    take_apart (y, bins[0], l > 0, item);
    values_of (bins[0], values[l], scale);
  }
#else
  take_apart (y, bins[0], false, item);
  take_apart (y, bins[1], true, item);
  values_of (bins[0], values[0], scale);
  values_of (bins[1], values[1], scale);
#endif
}
#endif

#ifdef FULL
/* Distance between pairs of A-lines. It avoids bank conflicts of work-items that read
 * several pairs at the same depths. */
#define PITCH (DEPTHS + 8)

/* Pixels of both A-lines of a pair */
#if FULL_BITS == 8
#define PAIR ushort
#else
#define PAIR uint
#endif

uint
pixel (float brightness)
{
  return PIXEL_WORDS (as_uint, fmin (brightness, FULL));
}

void
collect (local PAIR *pair, uint item, const float *first, const float *second)
{
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
    pair[depth_of (item, n)] = pixel (first[n]) | pixel (second[n]) << FULL_BITS;
}

/* Pixels that are written at a time: four bytes of an image row */
#define PIECE (4 / sizeof (PIXEL))

uint
piece_of (local const PAIR *pair)
{
#if FULL_BITS == 8
  return pair[0] | (uint)pair[PITCH] << 16;
#else
  return pair[0];
#endif
}

/* `words`: pieces are aligned to four bytes. */
void
write_piece (local const PAIR *pair, uint lines, uint words, global PIXEL *row)
{
  if (words && lines >= PIECE) {
    *(global uint *)row = piece_of (pair);
    return;
  }
  for (uint l = 0; l < PIECE && l < lines; l++)
    row[l] = pair[l / 2 * PITCH] >> (l % 2 * FULL_BITS);
}

/* Writes image rows. Each work-item writes the same piece of several rows. */
void
write_rows (local const PAIR *pairs, uint first, uint depths, uint lines, uint words,
    global PIXEL *restrict rows, int output_stride)
{
  const uint pieces = TILE / PIECE, together = GROUP / pieces;
  const uint line = get_local_id (0) % pieces * PIECE;
  const uint rest = line < lines ? lines - line : 0;
  /* Some work-items are left over if a TILE has three pieces. */
  if (get_local_id (0) >= together * pieces)
    return;
  for (uint begin = 0; begin < depths; begin += together) {
    uint depth = begin + get_local_id (0) / pieces;
    if (depth < depths)
      write_piece (pairs + line / 2 * PITCH + first + depth, rest, words,
          rows + (long)depth * output_stride + line);
  }
}
#else
void
write_line (
    global VALUE *restrict line, uint item, const VALUE *values, uint first, uint depths)
{
#pragma unroll
  for (uint n = 0; n < DEPTHS_OF_ITEM; n++) {
    uint depth = depth_of (item, n) - first;
    if (depth < depths)
      line[depth] = values[n];
  }
}
#endif

/* Local memory for a transform and for the samples of a pair, in PARTs */
#define PLACES (GRID + GRID / 16 + 2 * EDGE)
#define STAGED ((SAMPLES + 2 * EDGE) * sizeof (SAMPLE) / sizeof (PART))
#define ROOM (SHARED && STAGED > PLACES ? STAGED : PLACES)

/* tables: see tables.clh. A work-group processes `lines_of_group` A-lines, a multiple of
 * 2 * SIDE_BY_SIDE. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
make_depth (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint aligned, uint lines, uint bit_shift, global uint *broken,
    global const float *restrict tables, global const float *restrict background,
    uint background_offset, global const float2 *restrict roots, uint lines_of_group,
    uint first, uint depths, uint logarithmic, float factor, float zero, float least,
    global void *restrict output, ulong output_offset, int output_stride, uint words)
{
  local PART places[SIDE_BY_SIDE][ROOM] __attribute__ ((aligned (16)));
#if SHARED
#define SAMPLES_AT(beside) ((local SAMPLE *)places[beside] + EDGE)
#else
  local SAMPLE staged[SIDE_BY_SIDE][SAMPLES + 2 * EDGE] __attribute__ ((aligned (16)));
#define SAMPLES_AT(beside) (staged[beside] + EDGE)
#endif
#ifdef FULL
  local PAIR pairs[TILE / 2 * PITCH];
#endif
  const uint item = get_local_id (0) % ITEMS, beside = get_local_id (0) / ITEMS;
  const uint begin = get_group_id (0) * lines_of_group;
  if (begin >= lines) /* for the whole group */
    return;
  const uint end = min (begin + lines_of_group, lines);
  const Scale scale = {logarithmic, factor, zero, least};
  local SAMPLE *samples = SAMPLES_AT (beside);
  input += input_offset;
#ifdef LOAD_F32LE
  /* Marks of both A-lines of a pair, for even and odd passes */
  local uint marks[SIDE_BY_SIDE][2][2];
  if (item < 4)
    marks[beside][item / 2][item % 2] = 0;
  barrier (CLK_LOCAL_MEM_FENCE);
#endif

  Tap tap[POINTS];
  float below[POINTS];
  /* With #pragma unroll, Intel's driver miscompiles this loop: after a barrier, `below`
   * has the values of other work-items. */
  for (uint n = 0; n < POINTS; n++) {
    tap[n] = tap_of (tables, samples, point (item, n));
    below[n] = BACKGROUND
                   ? -background_at (tap[n], samples, background + background_offset)
                   : 0.0f;
  }

  FOUR a[FOURS], b[FOURS];
  fetch (input, input_stride, begin + 2 * beside, lines, item, aligned, a, b);
  for (uint pass = begin; pass < end; pass += 2 * SIDE_BY_SIDE) {
    const uint line = pass + 2 * beside;
    if (SHARED)
      barrier (CLK_LOCAL_MEM_FENCE);
#ifdef LOAD_F32LE
    const uint side = (pass - begin) / (2 * SIDE_BY_SIDE) % 2;
#pragma unroll
    for (uint n = 0; n < FOURS; n++) {
      take_broken (a + n, &marks[beside][side][0], line < end, broken);
      take_broken (b + n, &marks[beside][side][1], line + 1 < end, broken);
    }
#endif
    stage (samples, item, a, b, bit_shift);
    barrier (CLK_LOCAL_MEM_FENCE);
#ifdef LOAD_F32LE
    const bool is_broken[] = {marks[beside][side][0], marks[beside][side][1]};
    /* All work-items have read the marks of the previous pass. None has written marks of
     * the next pass. */
    if (item < 2)
      marks[beside][1 - side][item] = 0;
#endif
    /* Loads the next pair while the transform runs. */
    fetch (input, input_stride, line + 2 * SIDE_BY_SIDE, lines, item, aligned, a, b);

    /* Always 0, but the compiler cannot know. It would otherwise keep the tables in
     * registers, and fewer work-items could run at a time. */
    const uint anew = pass >> 31;
    VALUE values[2][DEPTHS_OF_ITEM];
    float2 y[POINTS];
#pragma unroll
    for (uint n = 0; n < POINTS; n++)
      y[n] = interpolate (
          HELD ? tap[n] : tap_of (tables + anew, samples, point (item, n)), below[n]);
    if (SHARED)
      barrier (CLK_LOCAL_MEM_FENCE);
    find_values (y, values, places[beside], tables, roots, item, scale);
#ifdef LOAD_F32LE
#pragma unroll
    for (uint l = 0; l < 2; l++)
      for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
        values[l][n] = is_broken[l] ? OF_BROKEN : values[l][n];
#endif
#ifdef FULL
    collect (pairs + (line - begin) / 2 * PITCH, item, values[0], values[1]);
#else
    for (uint l = 0; l < 2 && line + l < end; l++)
      write_line (
          (global VALUE *)output + output_offset + (long)(line + l) * output_stride, item,
          values[l], first, depths);
#endif
  }

#ifdef FULL
  barrier (CLK_LOCAL_MEM_FENCE);
  write_rows (pairs, first, depths, end - begin, words,
      (global PIXEL *)output + output_offset + begin, output_stride);
#endif
}
