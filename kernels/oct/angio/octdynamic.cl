/* octdynamic: dynamics of repeated B-scans, as numbers or in colour
 *
 * Built for one number of repeats and one quantity:
 *   FRAMES: number of repeats
 *   QUANTITY: one of the numbers below
 *   FIRST_DELAY, LAST_DELAY: delays of the correlation's decay, in frames
 *   LOW_END, MIDDLE_END: last bin of the two lower frequency bands
 *   COLOURS: write an image in colour
 *   AVERAGES: fit the mean of neighbouring curves, with the kernels curves and fit_means
 *   BLUE_YELLOW: colours from blue to yellow instead of hues
 *   CURVES: number of curves in the table
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "repeats.clh"

#define LOG_VARIANCE 0
#define AUTHENTIC_VARIANCE 1
#define SWIFTNESS 2
#define DECAY 3
#define FREQUENCY 4
#define BANDS 5

#define IS_FIT (QUANTITY == AUTHENTIC_VARIANCE || QUANTITY == SWIFTNESS)
#define IS_SPECTRUM (QUANTITY >= FREQUENCY)

/* Keeps the series of a depth in registers on a GPU, and is faster on a CPU too. */
#if FRAMES <= 32
#define UNROLL _Pragma ("unroll")
#else
#define UNROLL
#endif

#if WIDTH == 1
#define INTS int
#define LOG2(value) log2 (value)
#else
#define COMPONENT float8
#define INTS int8
#define AS_INTS as_int8
#define AS_FLOATS as_float8
#define TO_FLOATS convert_float8
#include "logarithm_cpu.clh"
#define LOG2(value) log2_of (value)
#endif

/* Limits of measured powers, whose quotient is a float */
#define LEAST_POWER 1e-17f
#define MOST_POWER 1e20f
#define DB_OF_LOG2 3.01029996f
#define LAGS (FRAMES - 1)
#define NEWTON_STEPS 4

/* See oct::DynamicSettings. Rates are in frames per second. */
typedef struct {
  float rate;
  float least, most;         /* of the quantity, in colour */
  float black, white;        /* level in dB */
  float least_hue, most_hue; /* in sixths of the colour circle */
  float slowest, fastest;    /* rates of the table, per frame */
  float growth;              /* from rate to rate of the table, as a logarithm */
} Dynamics;

/* Reads the series of a depth less its mean: levels in dB relative to the first repeat, or
 * amplitudes. It is not measured if one repeat has no level or is not finite, or if all
 * are zero. Returns the mean power. */
FLOATS
read_series (const Repeats *of, size_t at, FLOATS *series, INTS *is_measured)
{
  FLOATS powers = 0.0f, sum = 0.0f, first = 1.0f;
  INTS measured = powers == powers;
  UNROLL
  for (uint n = 0; n < FRAMES; n++) {
    const FLOATS power = power_of (LOAD_BINS (repeat (of, n) + at));
    powers += power;
#if IS_SPECTRUM
    measured &= power <= FLT_MAX;
    series[n] = sqrt (power);
#else
    const FLOATS limited = clamp (power, LEAST_POWER, MOST_POWER);
    measured &= limited == power;
    first = n == 0 ? 1.0f / limited : first;
    series[n] = DB_OF_LOG2 * LOG2 (limited * first);
#endif
    sum += series[n];
  }
  measured &= powers > 0.0f;
  *is_measured = measured;
  const FLOATS mean = sum / (float)FRAMES;
  UNROLL
  for (uint n = 0; n < FRAMES; n++)
    series[n] = select ((FLOATS)0.0f, series[n] - mean, measured);
  return powers / (float)FRAMES;
}

#if !IS_SPECTRUM
FLOATS
variance_of (const FLOATS *series)
{
  FLOATS sum = 0.0f;
  UNROLL
  for (uint n = 0; n < FRAMES; n++)
    sum += series[n] * series[n];
  return sum / (float)FRAMES;
}

/* Sums of the first values and of their squares, from none to all of them */
void
sum_up (const FLOATS *series, FLOATS *sums, FLOATS *squares)
{
  sums[0] = squares[0] = 0.0f;
  UNROLL
  for (uint n = 0; n < FRAMES; n++) {
    sums[n + 1] = sums[n] + series[n];
    squares[n + 1] = squares[n] + series[n] * series[n];
  }
}
#endif

#if QUANTITY == DECAY
/* Returns the slope of the correlation coefficient over the delays, per frame and
 * negated. The coefficient is 0 where a variance is 0. */
FLOATS
decay_of (const FLOATS *series)
{
  FLOATS sums[FRAMES + 1], squares[FRAMES + 1];
  sum_up (series, sums, squares);
  FLOATS slope = 0.0f;
  float spread = 0.0f;
  UNROLL
  for (uint delay = FIRST_DELAY; delay <= LAST_DELAY; delay++) {
    const float pairs = FRAMES - delay, away = delay - 0.5f * (FIRST_DELAY + LAST_DELAY);
    const FLOATS early = sums[FRAMES - delay] / pairs;
    const FLOATS late = (sums[FRAMES] - sums[delay]) / pairs;
    FLOATS products = 0.0f;
    UNROLL
    for (uint n = 0; n + delay < FRAMES; n++)
      products += series[n] * series[n + delay];
    const FLOATS first = squares[FRAMES - delay] / pairs - early * early;
    const FLOATS second = (squares[FRAMES] - squares[delay]) / pairs - late * late;
    const FLOATS both = first * second;
    const FLOATS correlation = (products / pairs - early * late) * rsqrt (both);
    slope += away * select ((FLOATS)0.0f, correlation, both > 0.0f);
    spread += away * away;
  }
  return -slope / spread;
}
#endif

#if IS_FIT
/* The mean variance of all windows of two frames, of three frames, and so on */
void
variance_curve (const FLOATS *series, FLOATS *curve)
{
  FLOATS sums[FRAMES + 1], squares[FRAMES + 1];
  sum_up (series, sums, squares);
  /* Squares of the sums of all windows of a length, added up */
  UNROLL
  for (uint lag = 0; lag < LAGS; lag++)
    curve[lag] = 0.0f;
  UNROLL
  for (uint n = 0; n + 2 <= FRAMES; n++) {
    UNROLL
    for (uint length = 2; length <= FRAMES - n; length++) {
      const FLOATS sum = sums[n + length] - sums[n];
      curve[length - 2] += sum * sum;
    }
  }
  FLOATS total = squares[FRAMES]; /* of the squares in all windows of a length */
  UNROLL
  for (uint length = 2; length <= FRAMES; length++) {
    const float windows = FRAMES - length + 1, mean = 1.0f / length;
    total += squares[FRAMES - length + 1] - squares[length - 1];
    curve[length - 2] = (total - curve[length - 2] * mean) * (mean / windows);
  }
}

/* One step of Newton's method, at most half of the rate and within the table, for the
 * rate whose curve, times the best height, fits with the least squares. Sets the height. */
FLOATS
improved_rate (const FLOATS *curve, FLOATS rate, Dynamics with, FLOATS *height)
{
  const FLOATS step = exp (-rate);
  FLOATS fading = 1.0f;
  /* Products of the curve with the model and its two derivatives by the rate, then
   * products of these */
  FLOATS a = 0.0f, b = 0.0f, c = 0.0f, norm = 0.0f, crossed = 0.0f, bent = 0.0f;
  UNROLL
  for (uint n = 0; n < LAGS; n++) {
    const float lag = n + 1;
    fading *= step;
    const FLOATS value = 1.0f - fading, first = lag * fading, second = -lag * first;
    a += curve[n] * value;
    b += curve[n] * first;
    c += curve[n] * second;
    norm += value * value;
    crossed += value * first;
    bent += first * first + value * second;
  }
  const FLOATS slope = b * norm - a * crossed;
  const FLOATS curvature = c * norm + b * crossed - a * bent;
  const FLOATS longest = 0.5f * rate;
  const FLOATS wanted =
      select (copysign (longest, slope), -slope / curvature, curvature < 0.0f);
  const FLOATS next =
      clamp (rate + clamp (wanted, -longest, longest), with.slowest, with.fastest);
  const FLOATS change = next - rate;
  *height = (a + b * change) / (norm + 2.0f * crossed * change);
  return next;
}

/* Fits height (1 - exp (-rate lag)) to the curve, by least squares. `table` has curves of
 * height 1 for rising rates, divided by their norms. The fit starts at the vertex of the
 * parabola through the products with the best one and its neighbours. */
void
fit_curve (const FLOATS *curve, global const float *table, Dynamics with, FLOATS *height,
    FLOATS *rate)
{
  FLOATS products[CURVES];
#pragma unroll
  for (uint k = 0; k < CURVES; k++)
    products[k] = 0.0f;
  UNROLL
  for (uint n = 0; n < LAGS; n++) {
#pragma unroll
    for (uint k = 0; k < CURVES; k++)
      products[k] += curve[n] * table[n * CURVES + k];
  }
  /* Without a maximum inside of the table, the fit starts at an end of it. */
  FLOATS greatest = fmax (products[0], products[CURVES - 1]);
  FLOATS best = select ((FLOATS)(CURVES - 1), (FLOATS)0.0f, products[0] == greatest);
#pragma unroll
  for (uint k = 1; k + 1 < CURVES; k++) {
    const FLOATS left = products[k] - products[k - 1],
                 right = products[k + 1] - products[k];
    const INTS is_best = products[k] > greatest;
    best = select (best, k + 0.5f * (left + right) / (left - right), is_best);
    greatest = fmax (greatest, products[k]);
  }
  FLOATS found =
      with.slowest * exp (with.growth * clamp (best, 0.0f, (float)(CURVES - 1)));
  for (uint n = 0; n < NEWTON_STEPS; n++)
    found = improved_rate (curve, found, with, height);
  *rate = select ((FLOATS)0.0f, found, greatest > 0.0f);
  *height = select ((FLOATS)0.0f, *height, greatest > 0.0f);
}
#endif

#if IS_SPECTRUM
/* Adds up the power of each band. The three sums are the variance of the series. Returns
 * the mean frequency in bins. `turns` has the cosine and sine of n / FRAMES turns. */
FLOATS
spectrum_of (const FLOATS *series, global const float2 *turns, FLOATS *bands)
{
  FLOATS moments = 0.0f, all = 0.0f;
  bands[0] = bands[1] = bands[2] = 0.0f;
  for (uint k = 1; k <= FRAMES / 2; k++) {
    FLOATS real = 0.0f, imaginary = 0.0f;
    uint at = 0;
    UNROLL
    for (uint n = 0; n < FRAMES; n++) {
      real += series[n] * turns[at].x;
      imaginary += series[n] * turns[at].y;
      at = at + k < FRAMES ? at + k : at + k - FRAMES;
    }
    const float sides = 2 * k == FRAMES ? 1.0f : 2.0f;
    const FLOATS power =
        (real * real + imaginary * imaginary) * (sides / ((float)FRAMES * FRAMES));
    bands[0] += k <= LOW_END ? power : (FLOATS)0.0f;
    bands[1] += k > LOW_END && k <= MIDDLE_END ? power : (FLOATS)0.0f;
    bands[2] += k > MIDDLE_END ? power : (FLOATS)0.0f;
    moments += (float)k * power;
    all += power;
  }
  return select ((FLOATS)0.0f, moments / all, all > 0.0f);
}
#endif

#if COLOURS
/* 0 at `from`, 1 at `to` and beyond */
FLOATS
part_of (FLOATS value, float from, float to)
{
  return clamp ((value - from) / (to - from), 0.0f, 1.0f);
}

FLOATS
level_of (FLOATS power, Dynamics with)
{
  return part_of (
      DB_OF_LOG2 * LOG2 (clamp (power, LEAST_POWER, MOST_POWER)), with.black, with.white);
}

/* A primary colour that is full at `hue` = `full` and at one sixth to either side (Smith
 * 1978, at full saturation) */
FLOATS
primary (FLOATS hue, float full)
{
  const FLOATS away = fabs (hue - full);
  return clamp (2.0f - fmin (away, 6.0f - away), 0.0f, 1.0f);
}

/* Writes a column of pixels. */
void
write_colours (FLOATS red, FLOATS green, FLOATS blue, global uchar *to, uint stride)
{
#if WIDTH == 1
  *(global uchar4 *)to =
      convert_uchar4_sat_rte (255.0f * (float4)(red, green, blue, 1.0f));
#else
  const uint8 pixels = convert_uint8_sat_rte (red * 255.0f)
                       | convert_uint8_sat_rte (green * 255.0f) << 8
                       | convert_uint8_sat_rte (blue * 255.0f) << 16 | 0xff000000u;
  uint column[WIDTH];
  vstore8 (pixels, 0, column);
  for (uint n = 0; n < WIDTH; n++)
    *(global uint *)(to + (size_t)n * stride) = column[n];
#endif
}
#endif

/* Writes the value of a depth, or its pixels. `bands`: only of BANDS */
void
write_value (FLOATS value, INTS measured, const FLOATS *bands, FLOATS power, Dynamics with,
    uint depths, size_t depth, size_t line, global uchar *output, uint stride)
{
#if !COLOURS
  STORE (select ((FLOATS)NAN, value, measured),
      (global float *)output + line * depths + depth);
#else
  global uchar *to = output + depth * (size_t)stride + line * 4;
#if QUANTITY == BANDS
  write_colours (level_of (bands[2], with), level_of (bands[1], with),
      level_of (bands[0], with), to, stride);
#else
  const FLOATS part = part_of (
      select ((FLOATS)with.least, value, measured), with.least, with.most);
  const FLOATS level = level_of (power, with);
#if BLUE_YELLOW
  /* Okabe and Ito's blue and yellow, which all kinds of colour vision tell apart */
  write_colours (level * mix ((FLOATS)0.0f, (FLOATS)(240 / 255.0f), part),
      level * mix ((FLOATS)(114 / 255.0f), (FLOATS)(228 / 255.0f), part),
      level * mix ((FLOATS)(178 / 255.0f), (FLOATS)(66 / 255.0f), part), to, stride);
#else
  const FLOATS hue = mix ((FLOATS)with.least_hue, (FLOATS)with.most_hue, part);
  write_colours (level * primary (hue, 0.0f), level * primary (hue, 2.0f),
      level * primary (hue, 4.0f), to, stride);
#endif
#endif
#endif
}

#if AVERAGES
/* Rows of an A-line: the curve by lag, and then 1 where it is measured, else all are 0 */
#define ROWS (LAGS + 1)

kernel void
curves (REPEATS, global uchar *restrict powers, ulong powers_offset,
    global float *restrict output)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS series[FRAMES], curve[LAGS];
  INTS measured;
  const FLOATS power = read_series (&of, at, series, &measured);
  STORE (power, (global float *)(powers + powers_offset) + at);
  variance_curve (series, curve);
  global float *to = output + line * ROWS * (size_t)depths + depth;
  UNROLL
  for (uint lag = 0; lag < LAGS; lag++)
    STORE (select ((FLOATS)0.0f, curve[lag], measured), to + lag * (size_t)depths);
  STORE (select ((FLOATS)0.0f, (FLOATS)1.0f, measured), to + LAGS * (size_t)depths);
}

/* The neighbour `by` of `at` among `count`. The one beyond an end is that on the other
 * side. */
size_t
neighbour (size_t at, int by, uint count)
{
  const int wanted = (int)at + by;
  const int other = wanted < 0 ? 1 : wanted < (int)count ? wanted : (int)count - 2;
  return clamp (other, 0, (int)count - 1);
}

/* Fits the mean of the curves of 3 x 3 depths. */
kernel void
fit_means (global const float *restrict curves, uint depths, uint lines, Dynamics with,
    global const float *restrict table, global const uchar *restrict powers,
    ulong powers_offset, global uchar *restrict output, ulong output_offset, uint stride)
{
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;

  const size_t of_line = ROWS * (size_t)depths;
  const size_t before = neighbour (depth, -1, depths);
  const size_t behind = neighbour (depth + WIDTH - 1, 1, depths);
  global const float *own = curves + line * of_line;
  global const float *above = curves + neighbour (line, -1, lines) * of_line;
  global const float *below = curves + neighbour (line, 1, lines) * of_line;
  const INTS measured = STORED (own + LAGS * (size_t)depths + depth) > 0.5f;
  FLOATS curve[ROWS], height, rate;
  UNROLL
  for (uint row = 0; row < ROWS; row++, above += depths, own += depths, below += depths) {
    const FLOATS sum =
        STORED (above + depth) + STORED (own + depth) + STORED (below + depth);
    const float left = above[before] + own[before] + below[before];
    const float right = above[behind] + own[behind] + below[behind];
#if WIDTH == 1
    curve[row] = sum + left + right;
#else
    curve[row] = sum + (FLOATS)(left, sum.s0123, sum.s456)
                 + (FLOATS)(sum.s123, sum.s4567, right);
#endif
  }
  const FLOATS part = 1.0f / fmax (curve[LAGS], 1.0f);
  UNROLL
  for (uint lag = 0; lag < LAGS; lag++)
    curve[lag] *= part;
  fit_curve (curve, table, with, &height, &rate);
  write_value (QUANTITY == SWIFTNESS ? with.rate * rate : height, measured, &height,
      STORED ((global const float *)(powers + powers_offset) + line * depths + depth),
      with, depths, depth, line, output + output_offset, stride);
}
#else
/* `table`: curves of fit_curve(), or turns of spectrum_of() */
kernel void
dynamics (REPEATS, Dynamics with, global const float *restrict table,
    global uchar *restrict powers, ulong powers_offset, global uchar *restrict output,
    ulong output_offset, uint stride)
{
  const Repeats of = REPEATS_OF_ARGUMENTS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS series[FRAMES], bands[3];
  INTS measured;
  const FLOATS power = read_series (&of, at, series, &measured);
  STORE (power, (global float *)(powers + powers_offset) + at);

  FLOATS value;
#if QUANTITY == LOG_VARIANCE
  value = variance_of (series);
#elif QUANTITY == DECAY
  value = with.rate * decay_of (series);
#elif IS_FIT
  FLOATS curve[LAGS], rate;
  variance_curve (series, curve);
  fit_curve (curve, table, with, &value, &rate);
#if QUANTITY == SWIFTNESS
  value = with.rate * rate;
#endif
#else
  value = spectrum_of (series, (global const float2 *)table, bands)
          * (with.rate / (float)FRAMES);
#if QUANTITY == BANDS
  value = bands[0];
#endif
#endif

  write_value (value, measured, bands, power, with, depths, depth, line,
      output + output_offset, stride);
}
#endif
