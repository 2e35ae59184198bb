/* octangio: alignment of repeats with the first one, in depth and across A-lines
 *
 * After Guizar-Sicairos et al., Efficient subpixel image registration algorithms (2008).
 * It finds the peak of the cross-correlation at whole depths and A-lines, then the peaks
 * of the correlation upsampled around it, in each direction.
 *
 * The spectra of both directions are limited: in depth to the length of the transform,
 * across A-lines by the size of the focus. So a windowed sinc of 2 * REACH weights
 * interpolates between bins and between values of the correlation. `weights` has a row of
 * weights for each of FRACTIONS fractions of a bin. The sinc is shifted in frequency to
 * the centre of the spectrum, which is estimated from the correlation.
 *
 * Shifts are integers, in units of 1 / FRACTIONS bin or A-line. They are found from
 * `used` A-lines of each repeat, from `first_line` on, `line_step` A-lines apart.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"
#include "repeats.clh"

#define TAPS (2 * REACH)
#define LAGS (2 * REACH + 1)
#define STEPS 8 /* per bin, in the upsampled correlation */
#define CANDIDATES (2 * STEPS - 1)
#define RAMP 8 /* depths over which the weight rises from either end of the range */
#define COLUMNS (LAGS + 3)

/* Stages of a search, as in alignment.cpp */
#define WHOLE 0   /* lags in both directions, around 0 */
#define AXIAL 1   /* lags in depth, around the shift by whole bins */
#define LATERAL 2 /* lags across A-lines, of repeats that are aligned in depth */

/* Shift of a repeat, and the complex weights that interpolate it. is_real: the weights
 * have no imaginary part. */
typedef struct {
  int axial, lateral;
  int is_axial_real, is_lateral_real;
  float2 axial_taps[TAPS], lateral_taps[TAPS];
} Shift;

/* Sums of conj (a) b and |b|^2 over bins */
typedef struct {
  float real, imaginary, energy;
} Correlation;

typedef struct {
  FLOATS real, imaginary, energy;
} Correlations;

/* Whole part of a shift, rounded down */
int
whole_part (int shift)
{
  return (shift - (shift & (FRACTIONS - 1))) / FRACTIONS;
}

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

#if WIDTH == WIDEST
/* Depths of an A-line that a lag uses, and depths at either end with less weight */
typedef struct {
  int from, end, ramp, shift, line;
} Range;

/* Lag `n` of a search. With WHOLE, each lag uses all depths that overlap. Otherwise all
 * lags use the same depths, so that the correlation can be interpolated. */
Range
range_of_lag (uint stage, uint n, uint axial_lags, uint lateral_lags,
    global const Shift *found, int depths)
{
  Range range;
  if (stage == WHOLE) {
    range.shift = (int)(n % (2 * axial_lags + 1)) - (int)axial_lags;
    range.line = (int)(n / (2 * axial_lags + 1)) - (int)lateral_lags;
    range.from = max (0, -range.shift);
    range.end = depths - max (0, range.shift);
    range.ramp = 0;
    return range;
  }
  const int middle = found->axial / FRACTIONS, away = (int)n - REACH;
  const int lowest = middle - REACH, highest = middle + REACH;
  range.shift = stage == AXIAL ? middle + away : 0;
  range.line = found->lateral / FRACTIONS + (stage == LATERAL ? away : 0);
  range.from = max (0, -lowest);
  range.end = depths - max (0, highest);
  range.ramp = clamp ((range.end - range.from) / 2, 0, RAMP);
  return range;
}

/* Correlates an A-line of each repeat with that of the first repeat. One work-group per
 * lag, A-line and repeat. Lags outside the B-scan count as 0. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
correlate (REPEATS, uint stage, uint axial_lags, uint lateral_lags, uint used,
    uint first_line, uint line_step, global const Shift *restrict shifts,
    global Correlation *restrict sums)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const uint count =
      stage == WHOLE ? (2 * axial_lags + 1) * (2 * lateral_lags + 1) : LAGS;
  const uint item = get_local_id (0), group = get_group_id (0);
  const uint row = group / count, line = first_line + row % used * line_step;
  const uint number = row / used + 1;
  local float3 parts[GROUP];
  const Range range = range_of_lag (
      stage, group % count, axial_lags, lateral_lags, shifts + number, (int)depths);
  const int from = range.from, end = range.end, ramp = range.ramp;
  const int other = (int)line + range.line;

  Correlation sum = {0.0f, 0.0f, 0.0f};
  if (other >= 0 && other < (int)lines) {
    global const float2 *a = repeat (&of, 0) + (size_t)line * depths;
    global const float2 *b = repeat (&of, number) + (size_t)other * depths + range.shift;
    Correlations middles = {0.0f, 0.0f, 0.0f};
    const int step = GROUP * WIDTH;
    int depth = from + ramp + (int)item * WIDTH;
    for (; depth + WIDTH <= end - ramp; depth += step)
      add_bins (LOAD_BINS (a + depth), LOAD_BINS (b + depth), &middles);
    sum.real = SUM (middles.real);
    sum.imaginary = SUM (middles.imaginary);
    sum.energy = SUM (middles.energy);
#if WIDTH > 1
    for (; depth < end - ramp; depth++)
      add_bin (a[depth], b[depth], 1.0f, &sum);
#endif
    for (int k = (int)item; k < ramp; k += GROUP) {
      const float weight = (k + 0.5f) / ramp;
      add_bin (a[from + k], b[from + k], weight, &sum);
      add_bin (a[end - 1 - k], b[end - 1 - k], weight, &sum);
    }
  }
  parts[item] = (float3)(sum.real, sum.imaginary, sum.energy);
  SUM_OF_GROUP (parts, item)
  if (item > 0)
    return;
  const float3 all = parts[0];
  const bool finite =
      fabs (all.x) <= FLT_MAX && fabs (all.y) <= FLT_MAX && all.z <= FLT_MAX;
  global Correlation *to = sums + (size_t)row * count + group % count;
  to->real = finite ? all.x : 0.0f;
  to->imaginary = finite ? all.y : 0.0f;
  to->energy = finite ? all.z : 0.0f;
}

#if WIDTH == 1
/* Whole part of a repeat's shift. `is_whole`: it has no other part. */
int
whole_shift (uint number, int shift, bool *is_whole)
{
  *is_whole = number == 0 || (shift & (FRACTIONS - 1)) == 0;
  return number == 0 ? 0 : whole_part (shift);
}

/* Moves each A-line up by the shift found, of all repeats from number `begin` on. Bins
 * beyond the ends of the A-line count as 0. A work-item moves EACH bins that are far
 * apart, with the same weights. */
kernel void
align_depths (REPEATS, uint begin, global const Shift *restrict shifts,
    global float2 *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const int columns = (depths + EACH - 1) / EACH, end = (int)depths;
  const int depth = get_global_id (0);
  const uint row = get_global_id (1) + begin * lines, number = row / lines;
  if (depth >= columns || number >= COUNT)
    return;
  global const float2 *bins = repeat (&of, number) + (size_t)(row % lines) * depths;
  global float2 *moved = output + (size_t)row * depths;
  bool is_whole;
  const int moves = whole_shift (number, shifts[number].axial, &is_whole);
  const int first = depth + moves - REACH + 1;
  float2 sums[EACH] = {0.0f};
  for (int n = 0; n < EACH && is_whole; n++) {
    const int at = depth + n * columns + moves;
    sums[n] = at >= 0 && at < end ? bins[at] : (float2)(0.0f);
  }
#pragma unroll
  for (int tap = 0; tap < TAPS && !is_whole; tap++) {
    const float2 weight = shifts[number].axial_taps[tap];
#pragma unroll
    for (int n = 0; n < EACH; n++) {
      const int at = first + n * columns + tap;
      sums[n] += at >= 0 && at < end ? product (bins[at], weight) : (float2)(0.0f);
    }
  }
  for (int n = 0; n < EACH; n++) {
    if (depth + n * columns < end)
      moved[depth + n * columns] = sums[n];
  }
}

/* Moves the A-lines aside by the shift found, of all repeats from number `begin` on.
 * Positions beyond the B-scan have the values of its first or last A-line. A work-item
 * moves EACH adjacent A-lines, whose values it reads once. */
kernel void
align_lines (REPEATS, uint begin, global const Shift *restrict shifts,
    global float2 *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const uint rows = (lines + EACH - 1) / EACH, depth = get_global_id (0);
  const uint number = get_global_id (1) / rows + begin;
  if (depth >= depths || number >= COUNT)
    return;
  global const float2 *bins = repeat (&of, number) + depth;
  const int line = get_global_id (1) % rows * EACH, last = (int)lines - 1;
  global float2 *moved = output + ((size_t)number * lines + line) * depths + depth;
  bool is_whole;
  const int first = line + whole_shift (number, shifts[number].lateral, &is_whole);
  for (int n = 0; n < EACH && line + n <= last && is_whole; n++)
    moved[(size_t)n * depths] = bins[(size_t)clamp (first + n, 0, last) * depths];
  if (is_whole)
    return;
  float2 weights[TAPS], sums[EACH] = {0.0f};
#pragma unroll
  for (int tap = 0; tap < TAPS; tap++)
    weights[tap] = shifts[number].lateral_taps[tap];
#pragma unroll
  for (int n = 0; n < TAPS + EACH - 1; n++) {
    const float2 bin = bins[(size_t)clamp (first - REACH + 1 + n, 0, last) * depths];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      if (n - k >= 0 && n - k < TAPS)
        sums[k] += product (bin, weights[n - k]);
    }
  }
  for (int n = 0; n < EACH && line + n <= last; n++)
    moved[(size_t)n * depths] = sums[n];
}
#else
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

/* Interpolates WIDTH bins from values that are `step` bins apart. A shift by whole bins
 * has only one weight, of 1. */
BINS
moved_bins (global const float2 *bins, size_t step, global const float2 *taps, int shift,
    int is_real)
{
  BINS real = 0.0f, imaginary = 0.0f, sum = 0.0f;
  if ((shift & (FRACTIONS - 1)) == 0)
    return LOAD_BINS (bins + (REACH - 1) * step);
  for (int tap = 0; tap < TAPS && is_real; tap++)
    real += taps[tap].x * LOAD_BINS (bins + tap * step);
  if (is_real)
    return real;
  for (int tap = 0; tap < TAPS; tap++) {
    const BINS at = LOAD_BINS (bins + tap * step);
    real += taps[tap].x * at;
    imaginary += taps[tap].y * at;
  }
  sum.even = real.even - imaginary.odd;
  sum.odd = real.odd + imaginary.even;
  return sum;
}

/* Moves each A-line up by the shift found, of all repeats from number `begin` on. */
kernel void
align_depths (REPEATS, uint begin, global const Shift *restrict shifts,
    global float2 *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const int depth = get_global_id (0) * WIDTH, end = (int)depths;
  const uint row = get_global_id (1) + begin * lines;
  if (depth >= end || row >= lines * COUNT)
    return;
  const uint number = row / lines;
  global const float2 *bins = repeat (&of, number) + (size_t)(row % lines) * depths;
  global const Shift *shift = shifts + number;
  global float2 *moved = output + (size_t)row * depths + depth;
  const int first = depth + whole_part (shift->axial) - REACH + 1;
  if (number > 0 && depth + WIDTH <= end && first >= 0
      && first + TAPS + WIDTH - 1 <= end) {
    STORE_BINS (moved_bins (bins + first, 1, shift->axial_taps, shift->axial,
                    shift->is_axial_real),
        moved);
    return;
  }
  for (int n = 0; n < WIDTH && depth + n < end; n++)
    moved[n] = number == 0 ? bins[depth + n]
                           : moved_bin (bins, first + n, end, shift->axial_taps);
}

/* Moves the A-lines aside by the shift found, of all repeats from number `begin` on.
 * Positions beyond the B-scan have the values of its first or last A-line. */
kernel void
align_lines (REPEATS, uint begin, global const Shift *restrict shifts,
    global float2 *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const int depth = get_global_id (0) * WIDTH, end = (int)depths;
  const uint row = get_global_id (1) + begin * lines;
  if (depth >= end || row >= lines * COUNT)
    return;
  const uint number = row / lines;
  global const float2 *bins = repeat (&of, number);
  global const Shift *shift = shifts + number;
  global float2 *moved = output + (size_t)row * depths + depth;
  const int line = (int)(row % lines), last = (int)lines - 1;
  const int first = line + whole_part (shift->lateral) - REACH + 1;
  if (number > 0 && depth + WIDTH <= end && first >= 0 && first + TAPS - 1 <= last) {
    STORE_BINS (moved_bins (bins + (size_t)first * depths + depth, depths,
                    shift->lateral_taps, shift->lateral, shift->is_lateral_real),
        moved);
    return;
  }
  for (int n = 0; n < WIDTH && depth + n < end; n++) {
    float2 sum = 0.0f;
    for (int tap = 0; tap < TAPS && number > 0; tap++)
      sum += product (bins[(size_t)clamp (first + tap, 0, last) * depths + depth + n],
          shift->lateral_taps[tap]);
    moved[n] = number > 0 ? sum : bins[(size_t)line * depths + depth + n];
  }
}
#endif
#endif

#if WIDTH == 1
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

/* Finds the shift by whole bins and A-lines at which the correlation of all A-lines is
 * greatest, and the weights that interpolate it. One work-group per repeat; each
 * work-item adds up some of the lags. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_shift (global const Correlation *restrict sums, uint used, uint axial_lags,
    uint lateral_lags, global Shift *restrict shifts)
{
  const uint columns = 2 * axial_lags + 1, count = columns * (2 * lateral_lags + 1);
  const uint item = get_local_id (0), number = get_group_id (0) + 1;
  global const Correlation *of = sums + (size_t)(number - 1) * used * count;
  local float greatest[GROUP];
  local uint places[GROUP];
  uint best = count / 2;
  float most = 0.0f;
  for (uint n = item; n < count; n += GROUP) {
    float sum = 0.0f;
    for (uint line = 0; line < used; line++)
      sum += length (correlation_at (of, line, count, n));
    best = sum > most ? n : best;
    most = max (most, sum);
  }
  greatest[item] = most;
  places[item] = best;
  if (item == 0)
    shifts[number].is_axial_real = shifts[number].is_lateral_real = 1;
  for (uint n = item; n < TAPS; n += GROUP) {
    const float2 tap = (float2)(n + 1 == REACH ? 1.0f : 0.0f, 0.0f);
    shifts[number].axial_taps[n] = shifts[number].lateral_taps[n] = tap;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  if (item > 0)
    return;
  for (uint n = 1; n < GROUP; n++) {
    best = greatest[n] > most ? places[n] : best;
    most = max (most, greatest[n]);
  }
  shifts[number].axial = ((int)(best % columns) - (int)axial_lags) * FRACTIONS;
  shifts[number].lateral = ((int)(best / columns) - (int)lateral_lags) * FRACTIONS;
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

/* Moves the shift in one direction to the peak of the upsampled correlation, limited to
 * `most` bins or A-lines. Writes the complex interpolation weights for this shift. One
 * work-group per repeat. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
refine_shift (global const Correlation *restrict sums, uint used, uint stage, uint most,
    global const float *restrict weights, global Shift *restrict shifts)
{
  const uint item = get_local_id (0), number = get_group_id (0) + 1;
  global const Correlation *of = sums + (size_t)(number - 1) * used * LAGS;
  global int *found = stage == AXIAL ? &shifts[number].axial : &shifts[number].lateral;
  global float2 *taps =
      stage == AXIAL ? shifts[number].axial_taps : shifts[number].lateral_taps;
  local float rows[GROUP * COLUMNS], energies[LAGS];
  local float2 rotations[LAGS];
  local int at;
  measure_spectrum (of, used, rows + item * COLUMNS);
  add_up (rows, COLUMNS);
  /* A flat spectrum has no defined centre. The second term then selects the middle of the
   * transform: stride a turn from bin to bin. Across A-lines the centre is near 0. */
  const float side = stage == AXIAL ? -1.0f : 1.0f;
  const float2 centre =
      (float2)(rows[LAGS] + 0.5f * side * rows[LAGS + 2], rows[LAGS + 1]);
  /* Spectra fall to 0 at either end, so the middle needs not be exact. At that of the
   * transform all weights are real, which takes half of the time. */
  const bool is_real = side * centre.x > 3.0f * fabs (centre.y);
  const float turn = atan2 (centre.y, centre.x);
  for (uint n = item; n < LAGS; n += GROUP) {
    const int away = (int)n - REACH;
    const float sign = stage == AXIAL && away % 2 != 0 ? -1.0f : 1.0f;
    rotations[n] =
        is_real ? (float2)(sign, 0.0f) : (float2)(cos (-turn * away), sin (-turn * away));
    energies[n] = rows[n];
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  upsample (of, used, weights, rotations, rows + item * COLUMNS);
  add_up (rows, COLUMNS);
  if (item == 0) {
    const int limit = (int)most * FRACTIONS;
    at = clamp (*found + peak_of (rows, energies), -limit, limit);
    *found = at;
    if (stage == AXIAL)
      shifts[number].is_axial_real = is_real;
    else
      shifts[number].is_lateral_real = is_real;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint n = item; n < TAPS; n += GROUP)
    taps[n] = weights[(at & (FRACTIONS - 1)) * TAPS + n] * rotations[n + 1];
}
#endif
