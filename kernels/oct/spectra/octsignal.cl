/* octsignal: statistics of raw spectra and of depths over the A-lines of a frame
 *
 * Built for one of
 *   a format of samples.clh, to float32: spectra of real samples
 *   COMPLEX_SAMPLES: spectra of complex samples, of which the magnitudes count
 *   LOADED: type of samples that are aligned and in the device's byte order
 *   COMPLEX_DEPTHS, AMPLITUDES, DECIBELS: depths
 *
 * WIDE: adjacent values per work-item, 1 or 8, at most those of an A-line; TWICE_WIDE
 *
 * Blocks of A-lines are summed in parallel, then the sums of blocks are added. NaN and
 * infinite values are left out.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)
#if WIDE == 1
typedef float Floats;
typedef int Ints;
#define AS_INTS as_int
#define TO_FLOATS (float)
#else
typedef JOIN (float, WIDE) Floats;
typedef JOIN (int, WIDE) Ints;
#define AS_INTS JOIN (as_int, WIDE)
#define TO_FLOATS JOIN (convert_, JOIN (float, WIDE))
#endif
/* 1 for a true component of a comparison: scalars compare to 1, vectors to -1 */
#define ONE(condition) ((condition)&1)
#define IS_FINITE(values) ((AS_INTS (values) & 0x7f800000) != 0x7f800000)

void
store (Floats values, global float *to)
{
#if WIDE == 1
  *to = values;
#else
  JOIN (vstore, WIDE) (values, 0, to);
#endif
}

/* First value of a work-item. The last one begins earlier, and repeats values of the one
 * before, so that all have WIDE values. */
uint
first_of (uint item, uint values)
{
  return min (item * WIDE, values - WIDE);
}

#if !defined(COMPLEX_DEPTHS) && !defined(AMPLITUDES) && !defined(DECIBELS)
#ifdef COMPLEX_SAMPLES
float
value_at (global const uchar *line, uint sample, uint shift)
{
  global const float *pair = (global const float *)line + 2 * sample;
  return hypot (pair[0], pair[1]);
}
#elif defined(LOADED)
float
value_at (global const uchar *line, uint sample, uint shift)
{
  return ((global const LOADED *)line)[sample] >> shift;
}
#else
#include "samples.clh"
#define value_at(line, sample, shift) (float)sample_at (line, sample, shift)
#endif

/* Rows of the partial results, one value per block and sample */
#define SUM 0
#define LEAST 1
#define MOST 2
#define SATURATED 3
#define VALID 4

Floats
values_at (global const uchar *line, uint sample, uint shift)
{
#if WIDE == 1
  return value_at (line, sample, shift);
#elif defined(LOADED)
  return JOIN (convert_, JOIN (float, WIDE)) (
      JOIN (vload, WIDE) (0, (global const LOADED *)line + sample) >> (LOADED)shift);
#else
  float values[WIDE];
  for (uint n = 0; n < WIDE; n++)
    values[n] = value_at (line, sample + n, shift);
  return JOIN (vload, WIDE) (0, values);
#endif
}

/* Dimension 0: WIDE samples, dimension 1: blocks. Samples from `full_scale` on are
 * saturated, also negative ones. */
kernel void
sum_spectra (global const uchar *restrict input, ulong offset, long stride, uint samples,
    uint lines, uint shift, float full_scale, uint lines_of_block, uint blocks,
    global float *restrict partial)
{
  const uint item = get_global_id (0), block = get_global_id (1);
  if (item * WIDE >= samples || block >= blocks)
    return;
  const uint sample = first_of (item, samples);
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  Floats sum = 0.0f, least = INFINITY, most = -INFINITY;
  Ints saturated = 0, valid = 0;
  for (uint line = begin; line < end; line++) {
    const Floats values = values_at (input + offset + line * stride, sample, shift);
    const Ints counts = IS_FINITE (values);
    sum += select ((Floats)0.0f, values, counts);
    least = select (least, fmin (least, values), counts);
    most = select (most, fmax (most, values), counts);
    /* The lowest signed sample is one further from zero than the highest. */
    saturated += ONE (counts & ((values >= full_scale) | (values <= -full_scale - 1.0f)));
    valid += ONE (counts);
  }
  global float *row = partial + (size_t)block * samples + sample;
  const size_t rows = (size_t)blocks * samples;
  store (sum, row + SUM * rows);
  store (least, row + LEAST * rows);
  store (most, row + MOST * rows);
  store (TO_FLOATS (saturated), row + SATURATED * rows);
  store (TO_FLOATS (valid), row + VALID * rows);
}

/* Rows of `result`, one value per sample: the spectrum of A-line `chosen` (-1: the mean),
 * the mean, its rolling mean, minimum, maximum, number of saturated and of valid samples.
 * `share` is the weight of this frame in the rolling mean, which is kept in
 * `background`. */
kernel void
find_spectrum (global const float *restrict partial, uint samples, uint blocks,
    global const uchar *restrict input, ulong offset, long stride, int chosen, uint shift,
    float share, global float *restrict background, global float *restrict result)
{
  const uint sample = get_global_id (0);
  if (sample >= samples)
    return;
  const size_t rows = (size_t)blocks * samples;
  float sum = 0.0f, least = INFINITY, most = -INFINITY, saturated = 0.0f, valid = 0.0f;
  for (uint block = 0; block < blocks; block++) {
    global const float *row = partial + (size_t)block * samples + sample;
    sum += row[SUM * rows];
    least = fmin (least, row[LEAST * rows]);
    most = fmax (most, row[MOST * rows]);
    saturated += row[SATURATED * rows];
    valid += row[VALID * rows];
  }
  const float mean = valid > 0.0f ? sum / valid : 0.0f;
  const float before = share < 1.0f ? background[sample] : mean;
  const float after = before + share * (mean - before);
  background[sample] = after;
  result[sample] =
      chosen < 0 ? mean : value_at (input + offset + chosen * stride, sample, shift);
  result[samples + sample] = mean;
  result[2 * samples + sample] = after;
  result[3 * samples + sample] = valid > 0.0f ? least : 0.0f;
  result[4 * samples + sample] = valid > 0.0f ? most : 0.0f;
  result[5 * samples + sample] = saturated;
  result[6 * samples + sample] = valid;
}

#else
#ifdef COMPLEX_DEPTHS
typedef float2 Value;
#else
typedef float Value;
#endif

/* Intensities: the squares of the amplitudes */
Floats
intensities_at (global const Value *line, uint depth)
{
#if defined(COMPLEX_DEPTHS) && WIDE == 1
  return line[depth].x * line[depth].x + line[depth].y * line[depth].y;
#elif defined(COMPLEX_DEPTHS)
  const JOIN (float, TWICE_WIDE) pairs =
      JOIN (vload, TWICE_WIDE) (0, (global const float *)(line + depth));
  return pairs.even * pairs.even + pairs.odd * pairs.odd;
#else
#if WIDE == 1
  const float values = line[depth];
#else
  const Floats values = JOIN (vload, WIDE) (0, line + depth);
#endif
#ifdef AMPLITUDES
  return values * values;
#else
  return exp10 (0.1f * values);
#endif
#endif
}

/* Dimension 0: WIDE depths, dimension 1: blocks. `first` and `depths` count values. */
kernel void
sum_depths (global const Value *restrict input, ulong first, uint depths, uint lines,
    uint lines_of_block, uint blocks, global float *restrict partial)
{
  const uint item = get_global_id (0), block = get_global_id (1);
  if (item * WIDE >= depths || block >= blocks)
    return;
  const uint depth = first_of (item, depths);
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  Floats sum = 0.0f;
  Ints valid = 0;
  for (uint line = begin; line < end; line++) {
    const Floats values = intensities_at (input + first + line * (size_t)depths, depth);
    const Ints counts = IS_FINITE (values);
    sum += select ((Floats)0.0f, values, counts);
    valid += ONE (counts);
  }
  global float *row = partial + (size_t)block * depths + depth;
  store (sum, row);
  store (TO_FLOATS (valid), row + (size_t)blocks * depths);
}

/* Rows of `result`, one value per depth: mean intensity, number of valid A-lines */
kernel void
find_depths (global const float *restrict partial, uint depths, uint blocks,
    global float *restrict result)
{
  const uint depth = get_global_id (0);
  if (depth >= depths)
    return;
  float sum = 0.0f, valid = 0.0f;
  for (uint block = 0; block < blocks; block++) {
    global const float *row = partial + (size_t)block * depths + depth;
    sum += row[0];
    valid += row[(size_t)blocks * depths];
  }
  result[depth] = valid > 0.0f ? sum / valid : 0.0f;
  result[depths + depth] = valid;
}

#ifdef COMPLEX_DEPTHS
#define TAPS 16 /* to each side of a half bin */

/* Value half a bin behind `depth`. A spectrum of finite length makes depths band-limited
 * and critically sampled, so that the interpolation kernel is a sinc. The common phase of
 * all terms is left out. `inside`: no tap is beyond the A-line */
float2
half_a_bin_behind (global const float2 *line, int depth, int depths, bool inside)
{
  float2 sum = (float2)(0.0f);
  if (inside) {
#pragma unroll
    for (int n = 1 - TAPS; n <= TAPS; n++)
      sum += line[depth + n] * (M_1_PI_F / (0.5f - n));
    return sum;
  }
  for (int n = 1 - TAPS; n <= TAPS; n++) {
    const int at = depth + n;
    if (at >= 0 && at < depths)
      sum += line[at] * (M_1_PI_F / (0.5f - n));
  }
  return sum;
}

/* Sums the intensities between the depths around the largest peak from `least_depth` on,
 * one work-group per block of A-lines. Writes the bin of the peak to result[2 depths],
 * and GROUP sums per block behind. Sum n lies at bin peak - GROUP / 2 + n + 1/2. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
sum_around_peak (global const float2 *restrict input, ulong first, uint depths,
    uint lines, uint lines_of_block, uint least_depth, global float *restrict result)
{
  local float highest[GROUP];
  local uint places[GROUP];
  const uint item = get_local_id (0), block = get_group_id (0);
  float most = -1.0f;
  uint place = 0;
  for (uint depth = least_depth + item; depth < depths; depth += GROUP) {
    if (result[depth] > most) {
      most = result[depth];
      place = depth;
    }
  }
  highest[item] = most;
  places[item] = place;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = 0; n < GROUP; n++) {
    if (highest[n] > most || (highest[n] == most && places[n] < place)) {
      most = highest[n];
      place = places[n];
    }
  }

  const int first_depth = (int)place - GROUP / 2, depth = first_depth + (int)item;
  const bool inside =
      first_depth + 1 - TAPS >= 0 && first_depth + GROUP - 1 + TAPS < (int)depths;
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  float sum = 0.0f;
  for (uint line = begin; line < end; line++) {
    const float2 value = half_a_bin_behind (
        input + first + line * (size_t)depths, depth, (int)depths, inside);
    const float intensity = value.x * value.x + value.y * value.y;
    sum += (as_int (intensity) & 0x7f800000) != 0x7f800000 ? intensity : 0.0f;
  }
  global float *around = result + 2 * (size_t)depths;
  if (block == 0 && item == 0)
    around[0] = place;
  around[1 + block * GROUP + item] = sum;
}
#endif
#endif
