/* octsignal: statistics of raw spectra and of depths over the A-lines of a frame
 *
 * Built for one of
 *   a format of samples.clh, to float32: spectra of real samples
 *   COMPLEX_SAMPLES: spectra of complex samples, of which the magnitudes count
 *   COMPLEX_DEPTHS, AMPLITUDES, DECIBELS: depths
 *
 * Blocks of A-lines are summed in parallel, then the sums of blocks are added. NaN and
 * infinite values are left out.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
bool
is_finite (float value)
{
  return (as_uint (value) & 0x7f800000u) != 0x7f800000u;
}

#if !defined(COMPLEX_DEPTHS) && !defined(AMPLITUDES) && !defined(DECIBELS)
#ifdef COMPLEX_SAMPLES
float
value_at (global const uchar *line, uint sample, uint shift)
{
  global const float *pair = (global const float *)line + 2 * sample;
  return hypot (pair[0], pair[1]);
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

/* Dimension 0: samples, dimension 1: blocks. Samples from `full_scale` on are saturated,
 * also negative ones. */
kernel void
sum_spectra (global const uchar *restrict input, ulong offset, long stride, uint samples,
    uint lines, uint shift, float full_scale, uint lines_of_block, uint blocks,
    global float *restrict partial)
{
  const uint sample = get_global_id (0), block = get_global_id (1);
  if (sample >= samples || block >= blocks)
    return;
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  float sum = 0.0f, least = INFINITY, most = -INFINITY;
  uint saturated = 0, valid = 0;
  for (uint line = begin; line < end; line++) {
    const float value = value_at (input + offset + line * stride, sample, shift);
    if (!is_finite (value))
      continue;
    sum += value;
    least = fmin (least, value);
    most = fmax (most, value);
    /* The lowest signed sample is one further from zero than the highest. */
    saturated += value >= full_scale || value <= -full_scale - 1.0f;
    valid++;
  }
  global float *row = partial + (size_t)block * samples + sample;
  const size_t rows = (size_t)blocks * samples;
  row[SUM * rows] = sum;
  row[LEAST * rows] = least;
  row[MOST * rows] = most;
  row[SATURATED * rows] = saturated;
  row[VALID * rows] = valid;
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

/* Intensity: the square of the amplitude */
float
intensity_of (Value value)
{
#if defined(COMPLEX_DEPTHS)
  return value.x * value.x + value.y * value.y;
#elif defined(AMPLITUDES)
  return value * value;
#else
  return exp10 (0.1f * value);
#endif
}

/* Dimension 0: depths, dimension 1: blocks. `first` and `depths` count values. */
kernel void
sum_depths (global const Value *restrict input, ulong first, uint depths, uint lines,
    uint lines_of_block, uint blocks, global float *restrict partial)
{
  const uint depth = get_global_id (0), block = get_global_id (1);
  if (depth >= depths || block >= blocks)
    return;
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  float sum = 0.0f;
  uint valid = 0;
  for (uint line = begin; line < end; line++) {
    const float intensity = intensity_of (input[first + line * (size_t)depths + depth]);
    if (!is_finite (intensity))
      continue;
    sum += intensity;
    valid++;
  }
  global float *row = partial + (size_t)block * depths + depth;
  row[0] = sum;
  row[(size_t)blocks * depths] = valid;
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
 * all terms is left out. */
float2
half_a_bin_behind (global const float2 *line, int depth, int depths)
{
  float2 sum = (float2)(0.0f);
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

  const int depth = (int)place - GROUP / 2 + (int)item;
  const uint begin = block * lines_of_block, end = min (begin + lines_of_block, lines);
  float sum = 0.0f;
  for (uint line = begin; line < end; line++) {
    const float intensity = intensity_of (
        half_a_bin_behind (input + first + line * (size_t)depths, depth, (int)depths));
    sum += is_finite (intensity) ? intensity : 0.0f;
  }
  global float *around = result + 2 * (size_t)depths;
  if (block == 0 && item == 0)
    around[0] = place;
  around[1 + block * GROUP + item] = sum;
}
#endif
#endif
