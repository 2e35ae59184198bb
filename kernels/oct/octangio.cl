/* octangio: angiograms of repeated B-scans, and alignment of the repeats
 *
 * With HELD, each of HELD repeats, at most eight, is in a buffer of its own, and their
 * number is known at compile time. Otherwise `kept` holds all repeats but the last, which
 * is in the input frame. WIDTH: adjacent depths per work-item, 8 on a CPU, else 1.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"

#ifdef HELD
#define COUNT HELD
#define REPEATS                                                                          \
  global const uchar *restrict held0, global const uchar *restrict held1,                \
      global const uchar *restrict held2, global const uchar *restrict held3,            \
      global const uchar *restrict held4, global const uchar *restrict held5,            \
      global const uchar *restrict held6, global const uchar *restrict held7,            \
      ulong8 offsets, uint repeats, uint depths, uint lines

typedef struct {
  global const float2 *all[8];
} Repeats;

#define BINS_OF(bytes, offset) (global const float2 *)((bytes) + (offset))
#define REPEATS_OF_ARGUMENTS                                                             \
  {                                                                                      \
    {                                                                                    \
      BINS_OF (held0, offsets.s0), BINS_OF (held1, offsets.s1),                          \
          BINS_OF (held2, offsets.s2), BINS_OF (held3, offsets.s3),                      \
          BINS_OF (held4, offsets.s4), BINS_OF (held5, offsets.s5),                      \
          BINS_OF (held6, offsets.s6), BINS_OF (held7, offsets.s7)                       \
    }                                                                                    \
  }

global const float2 *
repeat (const Repeats *of, uint n)
{
  return of->all[n];
}
#else
#define COUNT repeats
#define REPEATS                                                                          \
  global const float2 *restrict kept, global const uchar *restrict last_bytes,           \
      ulong last_offset, uint repeats, uint depths, uint lines

typedef struct {
  global const float2 *kept;
  global const float2 *last;
  uint repeats;
  size_t values;
} Repeats;

#define REPEATS_OF_ARGUMENTS                                                             \
  {                                                                                      \
    kept, (global const float2 *)(last_bytes + last_offset), repeats,                    \
        (size_t)depths *lines                                                            \
  }

global const float2 *
repeat (const Repeats *of, uint n)
{
  return n + 1 < of->repeats ? of->kept + n * of->values : of->last;
}
#endif

#if WIDTH == 1
#define FLOATS float
#define BINS float2
#define STORE(values, to) *(to) = values
#define STORED(from) *(from)
#define LOAD_BINS(from) *(from)
#define STORE_BINS(bins, to) *(to) = bins
#define SUM(values) (values)

float
amplitude (global const float2 *bin)
{
  return sqrt (bin->x * bin->x + bin->y * bin->y);
}
#else
#define FLOATS float8
#define BINS float16 /* alternating real and imaginary parts */
#define STORE(values, to) vstore8 (values, 0, to)
#define STORED(from) vload8 (0, from)
#define LOAD_BINS(from) vload16 (0, (global const float *)(from))
#define STORE_BINS(bins, to) vstore16 (bins, 0, (global float *)(to))
#define SUM(values) (dot (values.lo, (float4)(1.0f)) + dot (values.hi, (float4)(1.0f)))

float8
amplitude (global const float2 *bins)
{
  const float16 pairs = vload16 (0, (global const float *)bins);
  return sqrt (pairs.even * pairs.even + pairs.odd * pairs.odd);
}
#endif

#define INLINED
#include "threshold.clh"

/* Output arguments. share: factor of the value. adds: add to the output */
#define OUTPUT float share, uint adds, global uchar *restrict output, ulong output_offset

void
write_value (
    FLOATS value, size_t at, float share, uint adds, global uchar *output, ulong offset)
{
  global float *to = (global float *)(output + offset) + at;
  STORE (adds ? STORED (to) + share * value : share * value, to);
}

/* Axial alignment, after Guizar-Sicairos et al., Efficient subpixel image registration
 * algorithms (2008). It finds the peak of the cross-correlation at whole bins, then the
 * peak of the correlation upsampled around it.
 *
 * The spectrum is limited to the length of the transform. So a windowed sinc of 2 * REACH
 * weights interpolates between bins and between values of the correlation. `weights` has
 * a row of weights for each of FRACTIONS fractions of a bin. The sinc is shifted in
 * frequency to the centre of the spectrum, which is estimated from the correlation.
 *
 * Shifts are integers, in units of 1 / FRACTIONS bin. */
#define TAPS (2 * REACH)
#define LAGS (2 * REACH + 1)
#define STEPS 8 /* per bin, in the upsampled correlation */
#define CANDIDATES (2 * STEPS - 1)
#define RAMP 8 /* depths over which the weight rises from either end of the range */
#define COLUMNS (LAGS + 3)

float2
product (float2 a, float2 b)
{
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* conj (a) b */
float2
correlation (float2 a, float2 b)
{
  return (float2)(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x);
}

/* Sums of conj (a) b and |b|^2 over bins */
typedef struct {
  float real, imaginary, energy;
} Correlation;

typedef struct {
  FLOATS real, imaginary, energy;
} Correlations;

void
add_bins (BINS a, BINS b, Correlations *sum)
{
  sum->real += a.even * b.even + a.odd * b.odd;
  sum->imaginary += a.even * b.odd - a.odd * b.even;
  sum->energy += b.even * b.even + b.odd * b.odd;
}

void
add_bin (float2 a, float2 b, float weight, Correlation *sum)
{
  const float2 both = correlation (a, b);
  sum->real += weight * both.x;
  sum->imaginary += weight * both.y;
  sum->energy += weight * (b.x * b.x + b.y * b.y);
}

float2
correlation_at (global const Correlation *sums, uint line, uint count, uint n)
{
  global const Correlation *sum = sums + (size_t)line * count + n;
  return (float2)(sum->real, sum->imaginary);
}

/* Correlates each A-line with that of the first repeat, at 2 reach + 1 shifts by whole
 * bins. Without `fine`, shifts are around 0, and each shift uses all depths that overlap.
 * With `fine`, shifts are around `found`. All shifts then use the same depths, so that
 * the correlation can be interpolated. */
kernel void
correlate (global const float2 *restrict first, global const uchar *restrict bytes,
    ulong offset, uint depths, uint lines, uint reach, uint fine,
    global const int *restrict found, global Correlation *restrict sums)
{
  const uint n = get_global_id (0), line = get_global_id (1);
  if (n > 2 * reach || line >= lines)
    return;
  const int middle = fine ? *found / FRACTIONS : 0;
  const int shift = middle + (int)n - (int)reach;
  const int lowest = fine ? middle - (int)reach : shift;
  const int highest = fine ? middle + (int)reach : shift;
  const int from = max (0, -lowest), end = (int)depths - max (0, highest);
  const int ramp = fine ? clamp ((end - from) / 2, 0, RAMP) : 0;
  global const float2 *a = first + (size_t)line * depths;
  global const float2 *b =
      (global const float2 *)(bytes + offset) + (size_t)line * depths + shift;

  Correlations middles = {0.0f, 0.0f, 0.0f};
  int depth = from + ramp;
  for (; depth + WIDTH <= end - ramp; depth += WIDTH)
    add_bins (LOAD_BINS (a + depth), LOAD_BINS (b + depth), &middles);
  Correlation sum = {SUM (middles.real), SUM (middles.imaginary), SUM (middles.energy)};
  for (; depth < end - ramp; depth++)
    add_bin (a[depth], b[depth], 1.0f, &sum);
  for (int k = 0; k < ramp; k++) {
    const float weight = (k + 0.5f) / ramp;
    add_bin (a[from + k], b[from + k], weight, &sum);
    add_bin (a[end - 1 - k], b[end - 1 - k], weight, &sum);
  }
  const bool finite = fabs (sum.real) <= FLT_MAX && fabs (sum.imaginary) <= FLT_MAX
                      && sum.energy <= FLT_MAX;
  if (!finite)
    sum.real = sum.imaginary = sum.energy = 0.0f;
  sums[(size_t)line * (2 * reach + 1) + n] = sum;
}

/* Adds the rows of all work-items of the group to the first one. */
void
add_up (local float *rows, uint columns)
{
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < columns; n += GROUP) {
    for (uint other = 1; other < GROUP; other++)
      rows[n] += rows[other * columns + n];
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
}

/* Finds the shift by whole bins at which the correlation of all A-lines is greatest,
 * COLUMNS shifts at a time. One work-group. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_shift (global const Correlation *restrict sums, uint lines, uint shifts,
    global int *restrict found)
{
  const uint count = 2 * shifts + 1, item = get_local_id (0);
  local float rows[GROUP * COLUMNS];
  uint best = shifts;
  float greatest = 0.0f;
  for (uint from = 0; from < count; from += COLUMNS) {
    const uint columns = min (count - from, (uint)COLUMNS);
    for (uint n = 0; n < columns; n++) {
      float sum = 0.0f;
      for (uint line = item; line < lines; line += GROUP)
        sum += length (correlation_at (sums, line, count, from + n));
      rows[item * columns + n] = sum;
    }
    add_up (rows, columns);
    for (uint n = 0; n < columns; n++) {
      best = rows[n] > greatest ? from + n : best;
      greatest = max (greatest, rows[n]);
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0)
    *found = ((int)best - (int)shifts) * FRACTIONS;
}

/* Sums over all A-lines. row[0] to row[LAGS - 1]: energies at the LAGS shifts. The next
 * two: products of neighbouring correlations, whose argument is the centre of the
 * spectrum. The last: amplitudes of the correlations. */
void
measure_spectrum (global const Correlation *sums, uint lines, local float *row)
{
  for (uint n = 0; n < COLUMNS; n++)
    row[n] = 0.0f;
  for (uint line = get_local_id (0); line < lines; line += GROUP) {
    float2 before = 0.0f;
    for (uint lag = 0; lag < LAGS; lag++) {
      const float2 at = correlation_at (sums, line, LAGS, lag);
      const float amplitude = length (before);
      const float2 step =
          amplitude > 0.0f ? correlation (before / amplitude, at) : (float2)(0.0f);
      row[lag] += sums[(size_t)line * LAGS + lag].energy;
      row[LAGS] += step.x;
      row[LAGS + 1] += step.y;
      row[LAGS + 2] += length (at);
      before = at;
    }
  }
}

/* Sums up the amplitudes of the correlation at CANDIDATES fractional shifts around the
 * middle lag. `rotations` are phasors that move the centre of the spectrum to 0. */
void
upsample (global const Correlation *sums, uint lines, global const float *weights,
    local const float2 *rotations, local float *row)
{
  for (uint n = 0; n < CANDIDATES; n++)
    row[n] = 0.0f;
  for (uint line = get_local_id (0); line < lines; line += GROUP) {
    float2 lags[LAGS];
    for (uint n = 0; n < LAGS; n++)
      lags[n] = product (correlation_at (sums, line, LAGS, n), rotations[n]);
    for (uint n = 0; n < CANDIDATES; n++) {
      /* Distance from the lag before the middle one, in units of 1 / FRACTIONS bin */
      const uint parts = (n + 1) * (FRACTIONS / STEPS), first = parts / FRACTIONS;
      global const float *row_of_weights = weights + parts % FRACTIONS * TAPS;
      float2 sum = 0.0f;
      for (uint tap = 0; tap < TAPS; tap++)
        sum += row_of_weights[tap] * lags[first + tap];
      row[n] += length (sum);
    }
  }
}

/* Returns the distance of the peak from the middle lag, in units of 1 / FRACTIONS bin, by
 * parabolic interpolation of the candidates. First divides each candidate by the root of
 * its energy, which changes as bright depths enter or leave the range. */
int
peak_of (local float *values, local const float *energies)
{
  uint best = STEPS - 1;
  for (uint n = 0; n < CANDIDATES; n++) {
    const uint below = REACH - 1 + (n + 1) / STEPS;
    const float part = (float)((n + 1) % STEPS) / STEPS;
    const float energy = mix (energies[below], energies[below + 1], part);
    values[n] = energy > 0.0f ? values[n] / sqrt (energy) : 0.0f;
  }
  for (uint n = 0; n < CANDIDATES; n++)
    best = values[n] > values[best] ? n : best;
  float part = 0.0f;
  if (best > 0 && best + 1 < CANDIDATES) {
    const float below = values[best - 1], above = values[best + 1];
    const float curvature = below - 2.0f * values[best] + above;
    part =
        curvature < 0.0f ? clamp (0.5f * (below - above) / curvature, -0.5f, 0.5f) : 0.0f;
  }
  return (int)rint (((float)best - (STEPS - 1) + part) * (FRACTIONS / STEPS));
}

/* Moves `found` to the peak of the upsampled correlation, limited to `shifts` bins.
 * Writes the complex interpolation weights for this shift to `taps`. One work-group. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
refine_shift (global const Correlation *restrict sums, uint lines, uint shifts,
    global const float *restrict weights, global int *restrict found,
    global float2 *restrict taps)
{
  const uint item = get_local_id (0);
  local float rows[GROUP * COLUMNS], energies[LAGS];
  local float2 rotations[LAGS];
  local int at;
  measure_spectrum (sums, lines, rows + item * COLUMNS);
  add_up (rows, COLUMNS);
  /* A flat spectrum has no defined centre. The second term then selects the middle of the
   * transform: half a turn from bin to bin. */
  const float centre = atan2 (rows[LAGS + 1], rows[LAGS] - 0.5f * rows[LAGS + 2]);
  for (uint n = item; n < LAGS; n += GROUP) {
    const float angle = -centre * ((int)n - REACH);
    rotations[n] = (float2)(cos (angle), sin (angle));
    energies[n] = rows[n];
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  upsample (sums, lines, weights, rotations, rows + item * COLUMNS);
  add_up (rows, COLUMNS);
  if (item == 0) {
    const int most = (int)shifts * FRACTIONS;
    at = clamp (*found + peak_of (rows, energies), -most, most);
    *found = at;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint n = item; n < TAPS; n += GROUP)
    taps[n] = weights[(at & (FRACTIONS - 1)) * TAPS + n] * rotations[n + 1];
}

/* Interpolates one bin from the TAPS bins from `first` on. Bins beyond the ends of the
 * A-line count as 0. */
float2
moved_bin (global const float2 *bins, int first, int depths, global const float2 *taps)
{
  float2 sum = 0.0f;
  const int end = min (TAPS, depths - first);
  for (int tap = max (0, -first); tap < end; tap++)
    sum += product (bins[first + tap], taps[tap]);
  return sum;
}

/* Interpolates WIDTH bins away from the ends of the A-line. */
BINS
moved_bins (global const float2 *bins, global const float2 *taps)
{
  BINS real = 0.0f, imaginary = 0.0f, sum = 0.0f;
  for (int tap = 0; tap < TAPS; tap++) {
    const BINS at = LOAD_BINS (bins + tap);
    real += taps[tap].x * at;
    imaginary += taps[tap].y * at;
  }
  sum.even = real.even - imaginary.odd;
  sum.odd = real.odd + imaginary.even;
  return sum;
}

/* Moves each A-line up by the shift found. */
kernel void
align (global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    global const int *restrict found, global const float2 *restrict taps,
    global float2 *restrict output, ulong to)
{
  const int depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const int end = (int)depths;
  if (depth >= end || line >= (int)lines)
    return;
  global const float2 *bins =
      (global const float2 *)(bytes + offset) + (size_t)line * depths;
  global float2 *moved = output + to + (size_t)line * depths + depth;
  const int fraction = *found & (FRACTIONS - 1);
  const int first = depth + (*found - fraction) / FRACTIONS - REACH + 1;
  if (depth + WIDTH <= end && first >= 0 && first + TAPS + WIDTH - 1 <= end) {
    STORE_BINS (moved_bins (bins + first, taps), moved);
    return;
  }
  for (int n = 0; n < WIDTH && depth + n < end; n++)
    moved[n] = moved_bin (bins, first + n, end, taps);
}

/* Filters the bins to one band of the spectrum. The filter has taps from -reach to reach,
 * from `first_tap` on. */
kernel void
filter_band (global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    global const float2 *restrict taps, uint first_tap, uint reach,
    global float2 *restrict output, ulong to)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  global const float2 *bins =
      (global const float2 *)(bytes + offset) + (size_t)line * depths;
  /* Tap n belongs to the bin depth + reach - n. */
  const uint from = depth + reach >= depths ? depth + reach + 1 - depths : 0;
  const uint end = min (2 * reach, depth + reach);
  float2 sum = 0.0f;
  for (uint n = from; n <= end; n++) {
    const float2 x = bins[depth + reach - n], w = taps[first_tap + n];
    sum += (float2)(x.x * w.x - x.y * w.y, x.x * w.y + x.y * w.x);
  }
  output[to + (size_t)line * depths + depth] = sum;
}

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
  const FLOATS first = amplitude (repeat (&of, 0) + at);
  FLOATS sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS away = amplitude (repeat (&of, n) + at) - first;
    sum += away;
    squares += away * away;
  }
  const FLOATS mean = sum / (float)COUNT;
  const FLOATS variance = squares / (float)COUNT - mean * mean;
  write_value (
      variance < 0.0f ? (FLOATS)0.0f : variance, at, share, adds, output, output_offset);
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

  FLOATS sum = 0.0f, before = amplitude (repeat (&of, 0) + at);
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS after = amplitude (repeat (&of, n) + at);
    const FLOATS power = before * before + after * after;
    sum += power > 0.0f ? (after - before) * (after - before) / power : (FLOATS)0.0f;
    before = after;
  }
  write_value (sum / (float)(COUNT - 1), at, share, adds, output, output_offset);
}

/* Sets values to 0 where the mean power of the repeats is below the threshold. */
kernel void
apply_threshold (
    REPEATS, float least_power, global uchar *restrict output, ulong output_offset)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS sum = 0.0f;
#pragma unroll
  for (uint n = 0; n < COUNT; n++) {
    const BINS bins = LOAD_BINS (repeat (&of, n) + at);
    sum += bins.even * bins.even + bins.odd * bins.odd;
  }
  global float *value = (global float *)(output + output_offset) + at;
  STORE (above_threshold (STORED (value), sum / (float)COUNT, least_power), value);
}

#if WIDTH == 1
/* Finds the bulk phase difference of an A-line between consecutive repeats: the sum of
 * X_i+1 X_i*, divided by its amplitude. The sum leaves out `margin` depths at both ends.
 * One work-group per A-line and pair of repeats. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
bulk_phase (REPEATS, uint margin, global float2 *restrict phases)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const uint line = get_group_id (0) % lines, pair = get_group_id (0) / lines;
  const uint item = get_local_id (0);
  local float2 sums[GROUP];

  global const float2 *before = repeat (&of, pair) + (size_t)line * depths;
  global const float2 *after = repeat (&of, pair + 1) + (size_t)line * depths;
  float2 sum = 0.0f;
  for (uint depth = margin + item; depth + margin < depths; depth += GROUP)
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

/* Computes the mean of |X_i+1 exp (-i bulk phase) - X_i|^2. */
kernel void
complex_variance (REPEATS, global const float2 *restrict phases, OUTPUT)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0), line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  float sum = 0.0f;
  float2 before = repeat (&of, 0)[at];
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const float2 after = repeat (&of, n)[at],
                 rotation = phases[(n - 1) * (size_t)lines + line];
    const float2 corrected = (float2)(after.x * rotation.x + after.y * rotation.y,
        after.y * rotation.x - after.x * rotation.y);
    const float2 change = corrected - before;
    sum += change.x * change.x + change.y * change.y;
    before = after;
  }
  write_value (sum / (COUNT - 1), at, share, adds, output, output_offset);
}
#endif
