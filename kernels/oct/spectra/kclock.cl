/* k-clock: resamples A-lines to even wavenumbers by the fringes of a clock channel
 *
 * An A-line has a sample channel and a clock channel of `samples` float32 numbers each.
 * Samples of a channel are `sample_step` numbers apart.
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
find_analytic_signal (global const float *restrict values, ulong line_stride, uint clock,
    uint sample_step, uint samples, uint lines, global const float2 *restrict weights,
    global float2 *restrict analytic)
{
  const uint sample = get_global_id (0), line = get_global_id (1);
  if (sample < FILTER || sample + FILTER >= samples || line >= lines)
    return;
  global const float *from =
      values + line * line_stride + clock + (sample - FILTER) * sample_step;
  float2 sum = 0.0f;
  for (uint n = 0; n <= 2 * FILTER; n++)
    sum += weights[n] * from[n * sample_step];
  analytic[(size_t)line * samples + sample] = sum;
}

/* Returns the phase step from the previous sample. */
float
step_at (global const float2 *analytic, uint sample)
{
  const float2 a = analytic[sample], b = analytic[sample - 1];
  return atan2 (a.y * b.x - a.x * b.y, a.x * b.x + a.y * b.y);
}

/* Returns the phase step from the previous sample. Extrapolates closer to an end than the
 * filter reaches, by point reflection of the steps at the last known one. */
float
step_to (global const float2 *analytic, uint sample, uint samples)
{
  const uint first = FILTER + 1, last = samples - 1 - FILTER;
  const uint known = clamp (sample, first, last);
  const float step = step_at (analytic, known);
  return sample == known ? step : 2.0f * step - step_at (analytic, 2 * known - sample);
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
find_positions (global const float2 *restrict analytic, uint samples, uint lines,
    global float *restrict positions)
{
  local float sums[GROUP];
  const uint line = get_group_id (0), chunk = (samples + GROUP - 1) / GROUP;
  const uint begin = get_local_id (0) * chunk, end = min (begin + chunk, samples);
  analytic += (size_t)line * samples;
  positions += (size_t)line * samples;
  float sum = 0.0f;
  for (uint n = begin; n < end; n++) {
    const float step = n > 0 ? step_to (analytic, n, samples) : 0.0f;
    positions[n] = step;
    sum += step;
  }
  const float found = sums_before (sums, sum).y / (samples - 1);
  const float mean = found > 1e-3f ? found : 1.0f;
  sum = 0.0f;
  for (uint n = begin; n < end; n++) {
    positions[n] = n > 0 ? fmax (positions[n] / mean, SLOWEST) - 1.0f : 0.0f;
    sum += positions[n];
  }
  float2 before = sums_before (sums, sum);
  /* Clamping to SLOWEST leaves a sum other than 0. Spread this rest evenly. */
  const float rest = before.y / (samples - 1);
  for (uint n = begin; n < end; n++) {
    before.x += positions[n];
    positions[n] = before.x - rest * n;
  }
}

float
wavenumber (global const float *positions, uint sample)
{
  return sample + positions[sample];
}

/* Resamples to even wavenumbers by Catmull-Rom interpolation. */
kernel void
resample (global const float *restrict values, uint first, ulong line_stride,
    uint sample_step, uint samples, uint lines, global const float *restrict positions,
    global float *restrict output)
{
  const uint wanted = get_global_id (0), line = get_global_id (1);
  if (wanted >= samples || line >= lines)
    return;
  values += first + line * line_stride;
  positions += (size_t)line * samples;
  uint low = 0, high = samples - 1;
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (wavenumber (positions, middle) <= wanted)
      low = middle;
    else
      high = middle;
  }
  const float from = wavenumber (positions, low), to = wavenumber (positions, high);
  const float part = to > from ? clamp ((wanted - from) / (to - from), 0.0f, 1.0f) : 0.0f;
  const float a = values[(low > 0 ? low - 1 : 0) * sample_step],
              b = values[low * sample_step];
  const float c = values[high * sample_step],
              d = values[min (high + 1, samples - 1) * sample_step];
  output[(size_t)line * samples + wanted] =
      b
      + 0.5f * part
            * (c - a
                + part
                      * (2.0f * a - 5.0f * b + 4.0f * c - d
                          + part * (3.0f * (b - c) + d - a)));
}
