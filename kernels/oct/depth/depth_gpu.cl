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
 *   TRANSFORMS: transforms per work-group
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
#define GROUP (ITEMS * TRANSFORMS)
#define DEPTHS (GRID / OVERSAMPLING / 2)

#define COMPONENT float
#define POINT float2
#define POINT_OF(x, y) ((float2)(x, y))

#include "level.clh"
#include "radix.clh"
#include "tables.clh"
#include "depth_gpu_load.clh"
#include "depth_gpu_transform.clh"
#include "depth_gpu_output.clh"

/* Interpolation of the points of a transform */

/* Factor of the weights. It compensates separate_lines(), which doubles bins. */
#define WEIGHT_FACTOR (COMPLEX ? 1.0f : 0.5f)

/* Taps stay in registers if they are few and there is one transform per pair. */
#define TAPS_IN_REGISTERS (TAPS <= 2 && !COMPLEX)

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
    tap.weight[t] = WEIGHT_FACTOR * weights[t * WEIGHT_PITCH (GRID) + point];
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

/* Transforms the points y of a pair to values of both A-lines. */
#if COMPLEX
void
compute_values (const float2 *y, VALUE values[2][DEPTHS_OF_ITEM], local PART *exchange,
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
    transform (x, exchange, roots, item);
    copy_depths (x, bins);
    values_of (bins, values[l], scale);
  }
}
#else
void
compute_values (float2 *y, VALUE values[2][DEPTHS_OF_ITEM], local PART *exchange,
    global const float *restrict tables, global const float2 *restrict roots, uint item,
    Scale scale)
{
  float2 bins[2][DEPTHS_OF_ITEM];
  transform (y, exchange, roots, item);
#if OVERSAMPLING > 1
  /* One A-line at a time, because twice as many points occupy the registers. */
#pragma unroll
  for (uint l = 0; l < 2; l++) {
    separate_lines (y, bins[0], l > 0, item);
    values_of (bins[0], values[l], scale);
  }
#else
  separate_lines (y, bins[0], false, item);
  separate_lines (y, bins[1], true, item);
  values_of (bins[0], values[0], scale);
  values_of (bins[1], values[1], scale);
#endif
}
#endif

/* Local memory for a transform and for the samples of a pair, in PARTs */
#define EXCHANGE_SIZE (GRID + GRID / 16 + 2 * EDGE)
#define STAGED_SIZE ((SAMPLES + 2 * EDGE) * sizeof (SAMPLE) / sizeof (PART))
#define LOCAL_SIZE (SHARED && STAGED_SIZE > EXCHANGE_SIZE ? STAGED_SIZE : EXCHANGE_SIZE)

/* tables: see tables.clh. A work-group processes `lines_of_group` A-lines, a multiple of
 * 2 * TRANSFORMS. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
make_depth (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint aligned, uint lines, uint bit_shift, global uint *nonfinite,
    global const float *restrict tables, global const float *restrict background,
    uint background_offset, global const float2 *restrict roots, uint lines_of_group,
    uint first, uint depths, uint logarithmic, float factor, float zero, float least,
    global void *restrict output, ulong output_offset, int output_stride, uint words)
{
  local PART exchange[TRANSFORMS][LOCAL_SIZE] __attribute__ ((aligned (16)));
#if SHARED
#define SAMPLES_AT(slot) ((local SAMPLE *)exchange[slot] + EDGE)
#else
  local SAMPLE staged[TRANSFORMS][SAMPLES + 2 * EDGE] __attribute__ ((aligned (16)));
#define SAMPLES_AT(slot) (staged[slot] + EDGE)
#endif
#ifdef FULL
  local PAIR pairs[TILE / 2 * PITCH];
#endif
  const uint item = get_local_id (0) % ITEMS, slot = get_local_id (0) / ITEMS;
  const uint begin = get_group_id (0) * lines_of_group;
  if (begin >= lines) /* for the whole group */
    return;
  const uint end = min (begin + lines_of_group, lines);
  const Scale scale = {logarithmic, factor, zero, least};
  local SAMPLE *samples = SAMPLES_AT (slot);
  input += input_offset;
#ifdef LOAD_F32LE
  /* Marks of both A-lines of a pair, for even and odd passes */
  local uint marks[TRANSFORMS][2][2];
  if (item < 4)
    marks[slot][item / 2][item % 2] = 0;
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
  fetch (input, input_stride, begin + 2 * slot, lines, item, aligned, a, b);
  for (uint pass = begin; pass < end; pass += 2 * TRANSFORMS) {
    const uint line = pass + 2 * slot;
    if (SHARED)
      barrier (CLK_LOCAL_MEM_FENCE);
#ifdef LOAD_F32LE
    const uint side = (pass - begin) / (2 * TRANSFORMS) % 2;
#pragma unroll
    for (uint n = 0; n < FOURS; n++) {
      clear_nonfinite (a + n, &marks[slot][side][0], line < end, nonfinite);
      clear_nonfinite (b + n, &marks[slot][side][1], line + 1 < end, nonfinite);
    }
#endif
    stage (samples, item, a, b, bit_shift);
    barrier (CLK_LOCAL_MEM_FENCE);
#ifdef LOAD_F32LE
    const bool is_nonfinite[] = {marks[slot][side][0], marks[slot][side][1]};
    /* All work-items have read the marks of the previous pass. None has written marks of
     * the next pass. */
    if (item < 2)
      marks[slot][1 - side][item] = 0;
#endif
    /* Loads the next pair while the transform runs. */
    fetch (input, input_stride, line + 2 * TRANSFORMS, lines, item, aligned, a, b);

    /* Always 0, but the compiler cannot know. It would otherwise keep the tables in
     * registers, and fewer work-items could run at a time. */
    const uint hidden_zero = pass >> 31;
    VALUE values[2][DEPTHS_OF_ITEM];
    float2 y[POINTS];
#pragma unroll
    for (uint n = 0; n < POINTS; n++)
      y[n] = interpolate (TAPS_IN_REGISTERS
                              ? tap[n]
                              : tap_of (tables + hidden_zero, samples, point (item, n)),
          below[n]);
    if (SHARED)
      barrier (CLK_LOCAL_MEM_FENCE);
    compute_values (y, values, exchange[slot], tables, roots, item, scale);
#ifdef LOAD_F32LE
#pragma unroll
    for (uint l = 0; l < 2; l++)
      for (uint n = 0; n < DEPTHS_OF_ITEM; n++)
        values[l][n] = is_nonfinite[l] ? NONFINITE_VALUE : values[l][n];
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
