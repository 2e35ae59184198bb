/* octwindowinterp: raw spectra to windowed spectra at even wavenumbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Built for one combination of
 *   LOAD_U8, LOAD_U16LE, LOAD_U16BE or LOAD_F32LE: sample format
 *   ALIGNED: 1 if every sample is aligned to its size
 *   TAPS: samples per interpolated point
 *   LINES: A-lines per work-item, which share the taps
 *   BACKGROUND: 1 to subtract a background
 *   COMPLEX: 1 to multiply by a dispersion phase
 */

#include "tables.clh"

/* A GPU faults on unaligned loads, so unaligned samples are loaded byte by byte. */
#if ALIGNED && defined(__ENDIAN_LITTLE__)
#define LOAD_16(bytes) (*(__global const ushort *)(bytes))
#define LOAD_32(bytes) (*(__global const uint *)(bytes))
#else
#define LOAD_16(bytes) ((bytes)[0] | (uint)(bytes)[1] << 8)
#define LOAD_32(bytes) (LOAD_16 (bytes) | LOAD_16 ((bytes) + 2) << 16)
#endif

float
load_sample (__global const uchar *line, uint sample, uint shift)
{
#if defined(LOAD_U8)
  return (float)((uint)line[sample] >> shift);
#elif defined(LOAD_U16LE)
  return (float)((uint)LOAD_16 (line + 2 * sample) >> shift);
#elif defined(LOAD_U16BE)
  uint swapped = LOAD_16 (line + 2 * sample);
  return (float)(((swapped & 0xff) << 8 | swapped >> 8) >> shift);
#elif defined(LOAD_F32LE)
  float value = as_float (LOAD_32 (line + 4 * sample));
  return fabs (value) <= FLT_MAX ? value : NAN;
#endif
}

__kernel void
make_spectrum (__global const uchar *restrict input, ulong input_offset,
    long input_stride, uint samples, uint points, uint lines, uint shift,
    __global const float *restrict tables, __global const float *restrict background,
    uint background_offset, __global float *restrict output, ulong output_offset,
    __global uint *nonfinite)
{
  uint m = get_global_id (0);
  uint line = get_global_id (1) * LINES;
  if (m >= points || line >= lines)
    return;

  const int first = first_taps (tables, points)[m];
  __global const float *weights = weights_of (tables, points);
  uint sample[TAPS];
  float weight[TAPS];
  float below[TAPS];
  for (int t = 0; t < TAPS; t++) {
    sample[t] = sample_of_tap (first + t, samples);
    weight[t] = weights[t * WEIGHT_PITCH (points) + m];
    below[t] = BACKGROUND ? background[background_offset + sample[t]] : 0.0f;
  }

#if COMPLEX
  float2 rotation = phase_at (tables, m);
#endif

  uint end = min (line + LINES, lines);
  for (; line < end; line++) {
    __global const uchar *spectrum = input + input_offset + (long)line * input_stride;
    ulong point = (ulong)line * points + m;
#ifdef LOAD_F32LE
    if (nonfinite && m < samples && isnan (load_sample (spectrum, m, shift)))
      atomic_inc (nonfinite);
#endif
    float y = 0.0f;
    for (int t = 0; t < TAPS; t++)
      y += weight[t] * (load_sample (spectrum, sample[t], shift) - below[t]);
#if COMPLEX
    ((__global float2 *)(output + output_offset))[point] = y * rotation;
#else
    output[output_offset + point] = y;
#endif
  }
}
