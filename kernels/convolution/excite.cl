/* Squeeze and excitation: channels times a gate, which two products compute from their means
 *
 * A work-group of GROUP work-items computes the means and the first product of an image, then
 * the gate of SLICE channels, and scales these channels of `run` pixels for each row of
 * work-items. Each work-group computes the means again, which costs less than a launch.
 * `squeezed` has `pooled` pixels, whose mean is taken. `strides` has those of the image, channel,
 * line and column of input, squeezed and output. `inner` has the weights and biases of both
 * products, with weights as [hidden][channels].
 *
 * TEAM work-items share a sum of the first product.
 *
 * Channels are adjacent in memory. Built with GROUP, and with LANES = 4.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/* Each of the products has its own. */
#undef ACTIVATION
#define ACTIVATION activation
#define ACTIVATION_ARGUMENT , int activation
#include "convolve.clh"

#define SLICE 32
#define TEAM 16

#ifdef OUTPUT_f16
#define GET_FOUR(from) LOAD_HALVES (from)
#else
#define GET_FOUR(from) VLOAD (0, from)
#endif
#define SYNCHRONIZE barrier (CLK_LOCAL_MEM_FENCE);

float
total_of (local const float *numbers, int count, int step)
{
  float sum = 0;
  for (int n = 0; n < count; n++)
    sum += numbers[n * step];
  return sum;
}

long
place_of (int pixel, int width, global const long *strides)
{
  return pixel / width * strides[2] + pixel % width * strides[3];
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
excite (global const OUTPUT *input, long in_offset, global const OUTPUT *squeezed,
    long squeezed_offset, global const float *inner, long inner_offset,
    global OUTPUT *output, long out_offset, global const long *strides, int width,
    int pixels, int pooled, int run, int channels, int images, float4 inner_numbers,
    int inner_activation, int hidden, float4 outer_numbers, int outer_activation,
    local float *means, local float *hiddens, local float *parts)
{
  const int item = get_local_id (0), vectors = channels / LANES;
  const int slices = (channels + SLICE - 1) / SLICE, group = get_group_id (0);
  const int first = group % slices * SLICE, own = min (SLICE, channels - first);
  const long image = group / slices % images;
  inner += inner_offset;
  global const float *inner_bias = inner + hidden * channels,
                     *outer = inner_bias + hidden,
                     *outer_bias = outer + hidden * channels;

  const int span = min (vectors, GROUP), shares = GROUP / span, share = item / span;
  squeezed += squeezed_offset + image * strides[4];
  for (int v = item % span; v < vectors && share < shares; v += span) {
    global const OUTPUT *from = squeezed + v * LANES;
    float4 sum = 0;
#pragma unroll 4
    for (int p = share; p < pooled; p += shares)
      sum += GET_FOUR (from + place_of (p, width, strides + 4));
    VSTORE (sum, v, parts + share * channels);
  }
  SYNCHRONIZE
  for (int c = item; c < channels; c += GROUP)
    means[c] = total_of (parts + c, shares, channels) / pooled;
  SYNCHRONIZE

  for (int n = item; n < hidden * TEAM; n += GROUP) {
    global const float *weights = inner + n / TEAM * channels;
    float4 sum = 0;
#pragma unroll 4
    for (int v = n % TEAM; v < vectors; v += TEAM)
      sum = fma (VLOAD (v, weights), VLOAD (v, means), sum);
    parts[n] = dot (sum, (float4)1);
  }
  SYNCHRONIZE
  for (int h = item; h < hidden; h += GROUP)
    hiddens[h] = activate_float (total_of (parts + h * TEAM, TEAM, 1) + inner_bias[h],
        inner_numbers, inner_activation);
  SYNCHRONIZE

  float sum = 0;
  if (item % SLICE < own)
#pragma unroll 4
    for (int h = item / SLICE; h < hidden; h += GROUP / SLICE)
      sum = fma (outer[h * channels + first + item % SLICE], hiddens[h], sum);
  parts[item] = sum;
  SYNCHRONIZE
  if (item < own)
    means[item] = activate_float (
        total_of (parts + item, GROUP / SLICE, SLICE) + outer_bias[first + item],
        outer_numbers, outer_activation);
  SYNCHRONIZE

  const int c = item % (SLICE / LANES) * LANES, step = GROUP * LANES / SLICE;
  if (c >= own)
    return;
  const float4 gate = VLOAD (0, means + c);
  input += in_offset + image * strides[0] + first + c;
  output += out_offset + image * strides[8] + first + c;
  int p = group / slices / images * run * step + item / (SLICE / LANES);
  for (int n = 0; n < run && p < pixels; n++, p += step)
    PUT_VECTOR (gate * GET_FOUR (input + place_of (p, width, strides)), output,
        place_of (p, width, strides + 8));
}
