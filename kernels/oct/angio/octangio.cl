/* octangio: angiograms and mean powers of repeated B-scans, and bands of their spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"
#include "repeats.clh"

/* Output arguments.
 * share, adds: factor of the value, and whether to add it to the output
 * measures: write the mean power of the repeats to `powers` */
#define OUTPUT                                                                           \
  float share, uint adds, global uchar *restrict output, ulong output_offset,            \
      uint measures, global uchar *restrict powers, ulong powers_offset

#define WRITE(value, power)                                                              \
  write_value (value, at, share, adds, output + output_offset);                          \
  if (measures)                                                                          \
  STORE ((power) / (float)COUNT, (global float *)(powers + powers_offset) + at)

void
write_value (FLOATS value, size_t at, float share, uint adds, global uchar *output)
{
  global float *to = (global float *)output + at;
  STORE (adds ? STORED (to) + share * value : share * value, to);
}

#if WIDTH == 1
/* Filters the bins of all repeats to one band of the spectrum. The filter has taps from
 * -reach to reach, from `first_tap` on. */
kernel void
filter_band (REPEATS, global const float2 *restrict taps, uint first_tap, uint reach,
    global float2 *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const uint depth = get_global_id (0), row = get_global_id (1);
  if (depth >= depths || row >= lines * COUNT)
    return;
  global const float2 *bins = repeat (&of, row / lines) + (size_t)(row % lines) * depths;
  /* Tap n belongs to the bin depth + reach - n. */
  const uint from = depth + reach >= depths ? depth + reach + 1 - depths : 0;
  const uint end = min (2 * reach, depth + reach);
  float2 sum = 0.0f;
  for (uint n = from; n <= end; n++)
    sum += product (bins[depth + reach - n], taps[first_tap + n]);
  output[(size_t)row * depths + depth] = sum;
}

/* Finds the bulk phase difference of an A-line between consecutive repeats: the sum of
 * X_i+1 X_i*, divided by its amplitude. The sum leaves out `margin` depths at both ends.
 * One work-group per A-line and pair of repeats. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
bulk_phase (REPEATS, uint margin, global float2 *restrict phases)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  /* Groups that run together read the same A-lines. */
  const uint line = get_group_id (0) / (COUNT - 1), pair = get_group_id (0) % (COUNT - 1);
  const uint item = get_local_id (0);
  local float2 sums[GROUP];

  global const float2 *before = repeat (&of, pair) + (size_t)line * depths;
  global const float2 *after = repeat (&of, pair + 1) + (size_t)line * depths;
  float2 sum = 0.0f;
  uint depth = margin + item;
#if GROUP == 1
  /* Vectors of a CPU */
  float4 real = 0.0f, imaginary = 0.0f;
  for (; depth + 4 + margin <= depths; depth += 4) {
    const float8 a = vload8 (0, (global const float *)(before + depth));
    const float8 b = vload8 (0, (global const float *)(after + depth));
    real += a.even * b.even + a.odd * b.odd;
    imaginary += a.even * b.odd - a.odd * b.even;
  }
  sum = (float2)(dot (real, (float4)(1.0f)), dot (imaginary, (float4)(1.0f)));
#endif
  for (; depth + margin < depths; depth += GROUP)
    sum += correlation (before[depth], after[depth]);
  sums[item] = sum;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  if (item > 0)
    return;
  for (uint n = 1; n < GROUP; n++)
    sum += sums[n];
  const float length = sqrt (sum.x * sum.x + sum.y * sum.y);
  phases[(size_t)pair * lines + line] =
      length > 0.0f && length <= FLT_MAX ? sum / length : (float2)(1.0f, 0.0f);
}
#endif

/* Computes the variance of the amplitudes: sum of (A - mean)^2 / N. */
kernel void
speckle_variance (REPEATS, OUTPUT)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  /* Differences from the first repeat keep rounding errors small. */
  FLOATS powers_sum = power_of (LOAD_BINS (repeat (&of, 0) + at));
  const FLOATS first = sqrt (powers_sum);
  FLOATS sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS power = power_of (LOAD_BINS (repeat (&of, n) + at));
    const FLOATS away = sqrt (power) - first;
    sum += away;
    squares += away * away;
    powers_sum += power;
  }
  const FLOATS mean = sum / (float)COUNT;
  const FLOATS variance = squares / (float)COUNT - mean * mean;
  WRITE (variance < 0.0f ? (FLOATS)0.0f : variance, powers_sum);
}

/* Computes 1 - mean of A_i A_i+1 / ((A_i^2 + A_i+1^2) / 2). This equals the mean of
 * (A_i - A_i+1)^2 / (A_i^2 + A_i+1^2), which keeps its precision for similar
 * amplitudes. Two amplitudes of 0 count as equal. */
kernel void
decorrelation (REPEATS, OUTPUT)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS power_before = power_of (LOAD_BINS (repeat (&of, 0) + at));
  FLOATS sum = 0.0f, before = sqrt (power_before), powers_sum = power_before;
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS power = power_of (LOAD_BINS (repeat (&of, n) + at));
    const FLOATS after = sqrt (power), both = power_before + power;
    sum += both > 0.0f ? (after - before) * (after - before) / both : (FLOATS)0.0f;
    powers_sum += power;
    power_before = power;
    before = after;
  }
  WRITE (sum / (float)(COUNT - 1), powers_sum);
}

/* Computes the mean of |X_i+1 exp (-i bulk phase) - X_i|^2. */
kernel void
complex_variance (REPEATS, global const float2 *restrict phases, OUTPUT)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  BINS before = LOAD_BINS (repeat (&of, 0) + at);
  FLOATS sum = 0.0f, powers_sum = power_of (before);
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const BINS after = LOAD_BINS (repeat (&of, n) + at);
    const float2 rotation = phases[(n - 1) * (size_t)lines + line];
    const FLOATS real = after.even * rotation.x + after.odd * rotation.y - before.even;
    const FLOATS imaginary =
        after.odd * rotation.x - after.even * rotation.y - before.odd;
    sum += real * real + imaginary * imaginary;
    powers_sum += power_of (after);
    before = after;
  }
  WRITE (sum / (float)(COUNT - 1), powers_sum);
}

/* Computes the mean power of the repeats, where the other kernels read only bands. */
kernel void
mean_power (REPEATS, global uchar *restrict powers, ulong powers_offset)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS sum = 0.0f;
#pragma unroll
  for (uint n = 0; n < COUNT; n++)
    sum += power_of (LOAD_BINS (repeat (&of, n) + at));
  STORE (sum / (float)COUNT, (global float *)(powers + powers_offset) + at);
}
