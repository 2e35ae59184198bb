/* octflatten: moves each A-line along depth by a polynomial of its position
 *
 * Depth b of the output is depth b + z of the input, z = c0 + c1 x + … + c6 x^6, with x
 * from -1 at the first A-line to 1 at the last. A depth outside the input is 0.
 *
 * Built for one combination of
 *   COMPLEX: complex depths; otherwise floats
 *   TAPS: number of input depths of an output depth
 *   FRACTIONS: number of steps between two depths
 *   POSITIVE: results below 0 become 0
 *   LANES: length of the vectors, for a CPU
 *   PIXEL, FULL (see rows.clh) and a type of depthtypes.clh: show_flat writes an image
 *
 * `weights` has TAPS weights for each of FRACTIONS + 1 steps. For complex depths, every
 * second weight is negative: neighbouring bins of a structure have opposite phases, since
 * the middle of the spectrum is at half the sampling rate.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef COMPLEX
#define VALUE float2
#define FLOATS_OF_VALUE 2
#else
#define VALUE float
#define FLOATS_OF_VALUE 1
#endif

/* Shift of an A-line */
typedef struct {
  int first;      /* first tap of output depth 0 */
  int begin, end; /* output depths that lie inside the input */
  float sign;
  global const float *weights;
} Shift;

Shift
shift_of (float8 c, int line, int lines, int depths, global const float *weights)
{
  const float x = lines > 1 ? 2.0f * line / (lines - 1) - 1.0f : 0.0f;
  float z = c.s6;
  z = z * x + c.s5;
  z = z * x + c.s4;
  z = z * x + c.s3;
  z = z * x + c.s2;
  z = z * x + c.s1;
  z = z * x + c.s0;
  z = clamp (z, -1.0f - depths, 1.0f + depths); /* also for conversion to int */
  const int steps = convert_int_rte (z * FRACTIONS);
  const int whole = steps >> FRACTION_BITS, part = steps - (whole << FRACTION_BITS);
  Shift shift;
  shift.first = whole - TAPS / 2 + 1;
  shift.begin = clamp (-whole, 0, depths);
  shift.end = clamp (depths - whole - (part > 0), shift.begin, depths);
#ifdef COMPLEX
  shift.sign = whole & 1 ? -1.0f : 1.0f;
#else
  shift.sign = 1.0f;
#endif
  shift.weights = weights + part * TAPS;
  return shift;
}

/* Returns one depth. Taps outside the input count as 0. */
VALUE
depth_at (Shift shift, global const VALUE *line, int depth, int depths)
{
  VALUE sum = 0.0f;
  const int first = depth + shift.first;
  if (first >= 0 && first + TAPS <= depths) {
#pragma unroll
    for (int n = 0; n < TAPS; n++)
      sum += shift.weights[n] * line[first + n];
  } else {
    for (int n = max (-first, 0); n < min (TAPS, depths - first); n++)
      sum += shift.weights[n] * line[first + n];
  }
  sum *= shift.sign;
#ifdef POSITIVE
  sum = max (sum, 0.0f);
#endif
  return depth >= shift.begin && depth < shift.end ? sum : (VALUE)(0.0f);
}

#ifdef LANES
#include "vectors_cpu.clh"
#include <unaligned.clh>

typedef FLOATS Floats;
DECLARE_UNALIGNED (Floats)

/* A work-item moves an A-line. */
kernel void
flatten (global const uchar *restrict input, ulong offset, float8 curve, uint depths,
    uint lines, global const float *restrict weights, global uchar *restrict output,
    ulong output_offset)
{
  const size_t line = get_global_id (0);
  if (line >= lines)
    return;
  global const VALUE *from = (global const VALUE *)(input + offset) + line * depths;
  global VALUE *to = (global VALUE *)(output + output_offset) + line * depths;
  const Shift shift = shift_of (curve, line, lines, depths, weights);
  float weight[TAPS];
  for (int n = 0; n < TAPS; n++)
    weight[n] = shift.weights[n] * shift.sign;

  /* Depths whose taps are all inside, in whole vectors */
  const int values = LANES / FLOATS_OF_VALUE;
  const int begin = clamp (-shift.first, shift.begin, shift.end);
  const int inner = (int)depths - TAPS + 1 - shift.first;
  const int end = begin + max (min (inner, shift.end) - begin, 0) / values * values;
  for (int depth = 0; depth < begin; depth++)
    to[depth] = depth_at (shift, from, depth, depths);
  for (int depth = begin; depth < end; depth += values) {
    global const float *taps = (global const float *)(from + depth + shift.first);
    Floats sum = 0.0f;
#pragma unroll
    for (int n = 0; n < TAPS; n++)
      sum += weight[n] * LOAD_UNALIGNED (Floats, taps + n * FLOATS_OF_VALUE);
#ifdef POSITIVE
    sum = sum > 0.0f ? sum : (Floats)0.0f;
#endif
    STORE_UNALIGNED (Floats, (global float *)(to + depth), sum);
  }
  for (int depth = end; depth < (int)depths; depth++)
    to[depth] = depth_at (shift, from, depth, depths);
}
#elif defined(FULL)
#define INLINED
#define COMPONENT float
#define AS_WORDS as_uint
#include "level.clh"
#define LOG2(power) log2 (power)
#include "depthtypes.clh"
#include "rows.clh"

/* The image of the depths that `flatten` would write */
kernel void
show_flat (global const uchar *restrict input, ulong input_offset, float8 curve,
    uint depths, uint lines, global const float *restrict weights, uint logarithmic,
    float factor, float zero, float least, global PIXEL *restrict output, ulong offset,
    int output_stride)
{
  local float tile[TILE][TILE + 1];
  local Shift shifts[TILE]; /* of the A-lines */
  const Scale scale = {logarithmic, factor, zero, least};
  const size_t first_line = get_group_id (0) * TILE;
  const size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* true for the whole group, so the barrier is safe */
    return;

  for (uint n = get_local_id (0); n < TILE; n += get_local_size (0))
    shifts[n] = shift_of (curve, first_line + n, lines, depths, weights);
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    const uint line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line >= lines || depth >= depths)
      continue;
    global const VALUE *from =
        (global const VALUE *)(input + input_offset) + (size_t)line * depths;
    const VALUE value = depth_at (shifts[n / TILE], from, depth, depths);
    tile[n / TILE][n % TILE] = level (REAL (value), IMAGINARY (value), scale);
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  write_tile (
      tile, first_line, first_depth, lines, depths, output + offset, output_stride);
}
#else
/* A work-item computes a depth. */
kernel void
flatten (global const uchar *restrict input, ulong offset, float8 curve, uint depths,
    uint lines, global const float *restrict weights, global uchar *restrict output,
    ulong output_offset)
{
  const int depth = get_global_id (0), line = get_global_id (1);
  if (depth >= (int)depths || line >= (int)lines)
    return;
  const size_t start = (size_t)line * depths;
  const Shift shift = shift_of (curve, line, lines, depths, weights);
  ((global VALUE *)(output + output_offset))[start + depth] =
      depth_at (shift, (global const VALUE *)(input + offset) + start, depth, depths);
}
#endif
