/* k-clock: resamples A-lines to even wavenumbers by the fringes of a clock channel
 *
 * An A-line has a sample channel and a clock channel of `samples` float32 numbers each.
 * Samples of a channel are `apart` numbers apart.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "groupbarrier.clh"

/* Lower limit of the clock's frequency, relative to its mean */
#define SLOWEST 0.05f

/* Computes the analytic signal of the clock, with a filter that keeps only positive
 * frequencies. The filter reaches FILTER samples to either side. Samples closer to an end
 * have no output. */
kernel void
find_turning (global const float *restrict numbers, ulong line_numbers, uint clock,
    uint apart, uint samples, uint lines, global const float2 *restrict weights,
    global float2 *restrict turning)
{
  const uint sample = get_global_id (0), line = get_global_id (1);
  if (sample < FILTER || sample + FILTER >= samples || line >= lines)
    return;
  global const float *from =
      numbers + line * line_numbers + clock + (sample - FILTER) * apart;
  float2 sum = 0.0f;
  for (uint n = 0; n <= 2 * FILTER; n++)
    sum += weights[n] * from[n * apart];
  turning[(size_t)line * samples + sample] = sum;
}

/* Returns the phase step from the previous sample. */
float
step_at (global const float2 *turning, uint sample)
{
  const float2 a = turning[sample], b = turning[sample - 1];
  return atan2 (a.y * b.x - a.x * b.y, a.x * b.x + a.y * b.y);
}

/* Returns the phase step from the previous sample. Extrapolates closer to an end than the
 * filter reaches, by point reflection of the steps at the last known one. */
float
step_to (global const float2 *turning, uint sample, uint samples)
{
  const uint first = FILTER + 1, last = samples - 1 - FILTER;
  const uint known = clamp (sample, first, last);
  const float step = step_at (turning, known);
  return sample == known ? step : 2.0f * step - step_at (turning, 2 * known - sample);
}

/* Returns the sum of the values of all lower work-items, and of all work-items. */
float2
sums_before (local float *sums, float own)
{
  const uint item = get_local_id (0);
  float2 sum = 0.0f;
  sums[item] = own;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint n = 0; n < GROUP; n++)
    sum += (float2)(n < item ? sums[n] : 0.0f, sums[n]);
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  return sum;
}

/* Computes each sample's position on the even wavenumber grid, minus its index. The first
 * and the last sample keep their positions. A work-group processes one A-line. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_places (global const float2 *restrict turning, uint samples, uint lines,
    global float *restrict places)
{
  local float sums[GROUP];
  const uint line = get_group_id (0), chunk = (samples + GROUP - 1) / GROUP;
  const uint begin = get_local_id (0) * chunk, end = min (begin + chunk, samples);
  turning += (size_t)line * samples;
  places += (size_t)line * samples;
  float sum = 0.0f;
  for (uint n = begin; n < end; n++) {
    const float step = n > 0 ? step_to (turning, n, samples) : 0.0f;
    places[n] = step;
    sum += step;
  }
  const float found = sums_before (sums, sum).y / (samples - 1);
  const float mean = found > 1e-3f ? found : 1.0f;
  sum = 0.0f;
  for (uint n = begin; n < end; n++) {
    places[n] = n > 0 ? fmax (places[n] / mean, SLOWEST) - 1.0f : 0.0f;
    sum += places[n];
  }
  float2 before = sums_before (sums, sum);
  /* Clamping to SLOWEST leaves a sum other than 0. Spread this rest evenly. */
  const float rest = before.y / (samples - 1);
  for (uint n = begin; n < end; n++) {
    before.x += places[n];
    places[n] = before.x - rest * n;
  }
}

float
wavenumber (global const float *places, uint sample)
{
  return sample + places[sample];
}

/* Resamples to even wavenumbers by Catmull-Rom interpolation. */
kernel void
resample (global const float *restrict numbers, uint first, ulong line_numbers,
    uint apart, uint samples, uint lines, global const float *restrict places,
    global float *restrict output)
{
  const uint wanted = get_global_id (0), line = get_global_id (1);
  if (wanted >= samples || line >= lines)
    return;
  numbers += first + line * line_numbers;
  places += (size_t)line * samples;
  uint low = 0, high = samples - 1;
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (wavenumber (places, middle) <= wanted)
      low = middle;
    else
      high = middle;
  }
  const float from = wavenumber (places, low), to = wavenumber (places, high);
  const float part = to > from ? clamp ((wanted - from) / (to - from), 0.0f, 1.0f) : 0.0f;
  const float a = numbers[(low > 0 ? low - 1 : 0) * apart], b = numbers[low * apart];
  const float c = numbers[high * apart], d = numbers[min (high + 1, samples - 1) * apart];
  output[(size_t)line * samples + wanted] =
      b
      + 0.5f * part
            * (c - a
                + part
                      * (2.0f * a - 5.0f * b + 4.0f * c - d
                          + part * (3.0f * (b - c) + d - a)));
}
