/* Poolings and general convolutions of (images, channels, [[depth,] height,] width)
 *
 * A work-item computes LANES neighbouring channels of one element of a pooling, or one
 * element of a convolution. Missing spatial dimensions have length 1.
 *
 * Built with the macros of numbers.clh. `g` has for each of the three spatial dimensions
 * (length of the input, of the output, of the window, stride, dilation, padding before, after,
 * stride of the input's memory, of the output's), then the strides of images and channels
 * of the input and of the output.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

#define FROM(d) g[9 * (d)]
#define TO(d) g[9 * (d) + 1]
#define WINDOW(d) g[9 * (d) + 2]
#define STRIDE(d) g[9 * (d) + 3]
#define DILATION(d) g[9 * (d) + 4]
#define BEFORE(d) g[9 * (d) + 5]
#define AFTER(d) g[9 * (d) + 6]
#define FROM_STEP(d) g[9 * (d) + 7]
#define TO_STEP(d) g[9 * (d) + 8]
#define FROM_IMAGE g[27]
#define FROM_CHANNEL g[28]
#define TO_IMAGE g[29]
#define TO_CHANNEL g[30]

/* Position of a work-item's element of the output */
typedef struct {
  long image, channel, at[3];
} Place;

Place
place_of (size_t item, long channels, global const long *g)
{
  Place place;
  const long vectors = channels / LANES;
  place.channel = (long)(item % vectors) * LANES;
  item /= vectors;
  for (int d = 2; d >= 0; d--) {
    place.at[d] = item % TO (d);
    item /= TO (d);
  }
  place.image = item;
  return place;
}

long
output_offset_of (Place place, global const long *g)
{
  long offset = place.image * TO_IMAGE + place.channel * TO_CHANNEL;
  for (int d = 0; d < 3; d++)
    offset += place.at[d] * TO_STEP (d);
  return offset;
}

#if POOLING
#if IS_REAL
#define LEAST (-INFINITY)
#else
#define LEAST (REAL) LEAST_INTEGER
#endif

/* Number of elements of a window that lie in the padded input */
long
covered (Place place, global const long *g)
{
  long count = 1;
  for (int d = 0; d < 3; d++) {
    const long start = place.at[d] * STRIDE (d) - BEFORE (d);
    long inside = 0;
    for (long k = 0; k < WINDOW (d); k++)
      inside += start + k * DILATION (d) < FROM (d) + AFTER (d);
    count *= inside;
  }
  return count;
}

kernel void
pool (global const STORED *restrict input, long input_offset, global STORED *restrict output,
    long output_offset, global const long *restrict g, long channels, ulong items,
    int counts_padding)
{
  const size_t item = get_global_id (0);
  if (item >= items)
    return;
  const Place place = place_of (item, channels, g);
  global const STORED *from =
      input + input_offset + place.image * FROM_IMAGE + place.channel * FROM_CHANNEL;
  long start[3], first[3], end[3];
  for (int d = 0; d < 3; d++) {
    start[d] = place.at[d] * STRIDE (d) - BEFORE (d);
    first[d] = start[d] < 0 ? (-start[d] + DILATION (d) - 1) / DILATION (d) : 0;
    const long room = FROM (d) - start[d] + DILATION (d) - 1;
    end[d] = min (WINDOW (d), max (room, 0L) / DILATION (d));
  }
#if POOLING == MAXIMUM
  REALS result = (REALS)(LEAST);
#else
  REALS result = (REALS)(0);
#endif
  for (long z = first[0]; z < end[0]; z++) {
    for (long y = first[1]; y < end[1]; y++) {
      global const STORED *row = from + (start[0] + z * DILATION (0)) * FROM_STEP (0)
                                 + (start[1] + y * DILATION (1)) * FROM_STEP (1)
                                 + start[2] * FROM_STEP (2);
      for (long x = first[2]; x < end[2]; x++) {
        const REALS value = LOAD (row + x * DILATION (2) * FROM_STEP (2));
#if POOLING == MAXIMUM
        result = LARGER (result, value);
#else
        result += value;
#endif
      }
    }
  }
#if POOLING == AVERAGE
  const long inside = max (end[0] - first[0], 0L) * max (end[1] - first[1], 0L)
                      * max (end[2] - first[2], 0L);
  result = result / (REAL)(counts_padding ? covered (place, g) : max (inside, 1L));
#endif
  STORE (result, output + output_offset + output_offset_of (place, g));
}

#else

/* `w` has the strides of the weights: filters (of the input's channels if transposed),
 * channels of a group, and the three spatial dimensions. LANES is 1. */
kernel void
convolve (global const STORED *restrict input, long input_offset,
    global const STORED *restrict weights, long weights_offset, global const long *restrict w,
    global const STORED *restrict bias, long bias_offset, long bias_step, int has_bias,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    long channels, long filters, long groups, ulong items)
{
  const size_t item = get_global_id (0);
  if (item >= items)
    return;
  const Place place = place_of (item, filters, g);
  const long per_group = channels / groups, filters_per_group = filters / groups;
  const long group = place.channel / filters_per_group;
  REAL sum = has_bias ? LOAD_ONE (bias + bias_offset + place.channel * bias_step) : (REAL)0;
  input += input_offset + place.image * FROM_IMAGE + group * per_group * FROM_CHANNEL;
#if TRANSPOSED
  weights += weights_offset + group * per_group * w[0]
             + (place.channel - group * filters_per_group) * w[1];
#else
  weights += weights_offset + place.channel * w[0];
#endif
  for (long z = 0; z < WINDOW (0); z++)
    for (long y = 0; y < WINDOW (1); y++)
      for (long x = 0; x < WINDOW (2); x++) {
        const long tap[3] = {z, y, x};
        long from = 0;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
#if TRANSPOSED
          const long spread = place.at[d] + BEFORE (d) - tap[d] * DILATION (d);
          const long at = spread / STRIDE (d);
          inside = inside && spread >= 0 && spread % STRIDE (d) == 0 && at < FROM (d);
#else
          const long at = place.at[d] * STRIDE (d) - BEFORE (d) + tap[d] * DILATION (d);
          inside = inside && at >= 0 && at < FROM (d);
#endif
          from += at * FROM_STEP (d);
        }
        if (!inside)
          continue;
        const long of_tap = z * w[2] + y * w[3] + x * w[4];
        for (long c = 0; c < per_group; c++)
#if TRANSPOSED
          sum += LOAD_ONE (input + from + c * FROM_CHANNEL)
                 * LOAD_ONE (weights + of_tap + c * w[0]);
#else
          sum += LOAD_ONE (input + from + c * FROM_CHANNEL)
                 * LOAD_ONE (weights + of_tap + c * w[1]);
#endif
      }
  STORE_ONE (sum, output + output_offset + output_offset_of (place, g));
}
#endif
