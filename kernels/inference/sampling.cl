/* Samples of images at computed places, and boxes that do not overlap
 *
 * Built with the macros of numbers.clh (LANES = 1).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <numbers.clh>

/* --- samples of a grid: SPATIAL (dimensions), TAPS (1, 2 or 4), PADDING (0 zeros, 1 border,
 * 2 reflection), ALIGNED, and RANK of the output. `g` has for each dimension of the output,
 * in the order of its strides: length, strides of the output, the grid and the input; then for
 * each spatial dimension, innermost first: length and stride of the input. --- */

#ifdef TAPS
REAL
reflected (REAL at, REAL low, REAL high)
{
  const REAL range = high - low;
  if (range <= 0)
    return low;
  const REAL beyond = at < low ? low - at : at > high ? at - high : 0;
  const REAL turns = floor (beyond / range), rest = beyond - turns * range;
  const bool odd = fmod (turns, (REAL)2) != 0;
  return beyond == 0 ? at : (at < low) != odd ? low + rest : high - rest;
}

/* Keys' cubic convolution */
REAL
cubic (REAL x)
{
  const REAL a = (REAL)-0.75;
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* Sets indices and weights of the elements around `at`; an index of -1 stands for 0. */
void
find_taps (REAL at, int length, int *index, REAL *weight)
{
  const REAL low = ALIGNED ? 0 : (REAL)-0.5;
  const REAL high = ALIGNED ? length - 1 : length - (REAL)0.5;
  at = ALIGNED ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
  at = isnan (at) ? (REAL)-1e8 : clamp (at, (REAL)-1e8, (REAL)1e8);
  if (TAPS == 1)
    at = rint (at);
  if (PADDING == 1 && TAPS < 4)
    at = clamp (at, (REAL)0, (REAL)(length - 1));
  if (PADDING == 2)
    at = reflected (at, low, high);
  for (int n = 0; n < TAPS; n++) {
    REAL place = floor (at) + n - (TAPS == 4);
    const REAL x = fabs (at - place);
    weight[n] = TAPS == 1 ? 1 : TAPS == 2 ? 1 - x : cubic (x);
    if (PADDING == 2)
      place = reflected (place, low, high);
    if (PADDING != 0)
      place = clamp (place, (REAL)0, (REAL)(length - 1));
    index[n] = place >= 0 && place < length ? (int)place : -1;
  }
}

/* A work-item computes `channels` channels of one place. */
kernel void
sample_grid (global const STORED *restrict input, long input_offset,
    global const STORED *restrict grid, long grid_offset, long grid_step,
    global STORED *restrict output, long output_offset, global const long *restrict g,
    int channels, long input_channel, long output_channel, uint items)
{
  uint rest = get_global_id (0);
  if (rest >= items)
    return;
  for (int d = 0; d < RANK; d++, g += 4) {
    const long at = rest % (uint)g[0];
    rest /= (uint)g[0];
    output_offset += at * g[1];
    grid_offset += at * g[2];
    input_offset += at * g[3];
  }
  int index[SPATIAL][TAPS], all_taps = 1;
  REAL weight[SPATIAL][TAPS];
  for (int d = 0; d < SPATIAL; d++) {
    const REAL at = LOAD_ONE (grid + grid_offset + d * grid_step);
    find_taps (at, g[2 * d], index[d], weight[d]);
    all_taps *= TAPS;
  }
  for (int channel = 0; channel < channels; channel++) {
    REAL sum = 0;
    for (int n = 0; n < all_taps; n++) {
      long from = input_offset + channel * input_channel;
      REAL factor = 1;
      int tap = n;
      bool inside = true;
      for (int d = 0; d < SPATIAL; d++, tap /= TAPS) {
        const int at = index[d][tap % TAPS];
        factor *= weight[d][tap % TAPS];
        from += at * g[2 * d + 1];
        inside = inside && at >= 0;
      }
      if (inside)
        sum += factor * LOAD_ONE (input + from);
    }
    STORE_ONE (sum, output + output_offset + channel * output_channel);
  }
}
#endif

/* --- regions: MAXIMUM, HALF_PIXEL, SAMPLES (0: one for each pixel) and INDEX. `g` has for
 * regions, channels, rows and columns: length and stride of the output and of the input. --- */

#ifdef SAMPLES
#define MOST_SAMPLES 256 /* of a region that is much larger than the image */

/* Offsets of the elements around `at`, and the weight of the second one; false outside */
bool
find_pair (REAL at, int length, long step, long *pair, REAL *part)
{
  const bool inside = at >= -1 && at <= length;
  at = inside ? clamp (at, (REAL)0, (REAL)(length - 1)) : 0;
  pair[0] = (int)at * step;
  pair[1] = min ((int)at + 1, length - 1) * step;
  *part = at - (int)at;
  return inside;
}

kernel void
align_regions (global const STORED *restrict input, long input_offset,
    global const STORED *restrict regions, long regions_offset, long region_step,
    long corner_step, global const INDEX *restrict images, long images_offset,
    long images_step, global STORED *restrict output, long output_offset,
    global const long *restrict g, float scale, uint items)
{
  uint rest = get_global_id (0);
  if (rest >= items)
    return;
  long at[4]; /* region, channel, row, column */
  for (int d = 3; d >= 0; d--) {
    at[d] = rest % (uint)g[4 * d];
    rest /= (uint)g[4 * d];
    output_offset += at[d] * g[4 * d + 1];
  }
  const long image = images[images_offset + at[0] * images_step];
  const bool known = image >= 0 && image < g[2];
  input += input_offset + (known ? image * g[3] : 0) + at[1] * g[7];
  REAL start[2], step[2]; /* of samples in rows and columns */
  int count[2];
  for (int d = 0; d < 2; d++) {
    global const STORED *corner =
        regions + regions_offset + at[0] * region_step + (1 - d) * corner_step;
    const REAL shift = HALF_PIXEL ? (REAL)0.5 : 0;
    start[d] = LOAD_ONE (corner) * scale - shift;
    REAL length = LOAD_ONE (corner + 2 * corner_step) * scale - shift - start[d];
    if (!HALF_PIXEL)
      length = fmax (length, (REAL)1);
    length /= g[4 * (2 + d)];
    count[d] =
        SAMPLES > 0 ? SAMPLES : (int)clamp (ceil (length), (REAL)0, (REAL)MOST_SAMPLES);
    step[d] = length / max (count[d], 1);
    start[d] += at[2 + d] * length + step[d] / 2;
  }
  REAL sum = 0, largest = -INFINITY;
  for (int n = 0; n < count[0] * count[1]; n++) {
    long y[2], x[2];
    REAL down, across;
    const bool in_rows =
        find_pair (start[0] + n / count[1] * step[0], g[10], g[11], y, &down);
    const bool inside =
        find_pair (start[1] + n % count[1] * step[1], g[14], g[15], x, &across) && in_rows
        && known;
    const REAL a = (1 - down) * (1 - across) * LOAD_ONE (input + y[0] + x[0]);
    const REAL b = (1 - down) * across * LOAD_ONE (input + y[0] + x[1]);
    const REAL c = down * (1 - across) * LOAD_ONE (input + y[1] + x[0]);
    const REAL e = down * across * LOAD_ONE (input + y[1] + x[1]);
    sum += inside ? a + b + c + e : 0;
    largest = fmax (largest, inside ? fmax (fmax (a, b), fmax (c, e)) : 0);
  }
  const int samples = count[0] * count[1];
  STORE_ONE (samples == 0 ? 0
             : MAXIMUM    ? largest
                          : sum / samples,
      output + output_offset);
}
#endif

/* --- boxes that do not overlap: SPLIT (work-items of a class), CENTRED, NO_INDEX --- */

#ifdef CENTRED
#if SPLIT > 1
#define BARRIER barrier (CLK_LOCAL_MEM_FENCE);
#else
#define BARRIER
#endif

/* Corners: low y, low x, high y, high x */
float4
box_at (global const STORED *restrict box, long step)
{
  const float4 b = (float4)(LOAD_ONE (box), LOAD_ONE (box + step),
      LOAD_ONE (box + 2 * step), LOAD_ONE (box + 3 * step));
#if CENTRED
  return (float4)(b.s10 - b.s32 / 2, b.s10 + b.s32 / 2);
#else
  return (float4)(fmin (b.lo, b.hi), fmax (b.lo, b.hi));
#endif
}

bool
overlaps (float4 one, float4 other, float limit)
{
  const float2 common = fmin (one.hi, other.hi) - fmax (one.lo, other.lo);
  const float2 size = one.hi - one.lo, other_size = other.hi - other.lo;
  const float area = size.x * size.y, other_area = other_size.x * other_size.y;
  const float shared = common.x * common.y, all = area + other_area - shared;
  return common.x > 0 && common.y > 0 && area > 0 && other_area > 0
         && shared / all > limit;
}

/* A work-group of SPLIT chooses the boxes of one class of one image. `scratch` has for each
 * class: number of chosen boxes, these, and for each box whether it can be chosen. */
kernel void
suppress (global const STORED *restrict boxes, long boxes_offset, long boxes_image,
    long boxes_step, long boxes_corner, global const STORED *restrict scores,
    long scores_offset, long scores_image, long scores_class, long scores_step,
    global int *restrict scratch, long scratch_offset, int classes, int count, int most,
    float overlap, float least)
{
  local float values[SPLIT];
  local int places[SPLIT];
  const long line = get_group_id (0);
  const int part = get_local_id (0);
  boxes += boxes_offset + line / classes * boxes_image;
  scores += scores_offset + line / classes * scores_image + line % classes * scores_class;
  scratch += scratch_offset + line * (1 + most + count);
  global int *chosen = scratch + 1, *open = chosen + most;
  for (int n = part; n < count; n += SPLIT)
    open[n] = LOAD_ONE (scores + n * scores_step) > least;
  int n_chosen = 0, place = 0;
  float4 own = 0;
  while (place >= 0 && n_chosen < most) {
    float best = -INFINITY;
    place = -1;
    for (int n = part; n < count; n += SPLIT) {
      if (!open[n])
        continue;
      const float value = LOAD_ONE (scores + n * scores_step);
      if (n_chosen > 0
          && overlaps (box_at (boxes + n * boxes_step, boxes_corner), own, overlap))
        open[n] = 0;
      else if (place < 0 || value > best) {
        best = value;
        place = n;
      }
    }
    values[part] = best;
    places[part] = place;
    for (int half_of = SPLIT / 2; half_of > 0; half_of /= 2) {
      BARRIER
      const float value = part < half_of ? values[part + half_of] : 0;
      const int other = part < half_of ? places[part + half_of] : -1;
      if (other >= 0 && (place < 0 || value > best || (value == best && other < place))) {
        values[part] = best = value;
        places[part] = place = other;
      }
    }
    BARRIER
    place = places[0];
    BARRIER
    if (place < 0)
      continue;
    own = box_at (boxes + place * boxes_step, boxes_corner);
    if (place % SPLIT == part) {
      open[place] = 0;
      chosen[n_chosen] = place;
    }
    n_chosen++;
  }
  if (part == 0)
    *scratch = n_chosen;
}

/* Writes the chosen boxes of all classes behind each other, and NO_INDEX behind them. */
kernel void
list_boxes (global const int *restrict scratch, long scratch_offset,
    global long *restrict output, long output_offset, long row_step, long column_step,
    int classes, int lines, int count, int most, uint items)
{
  const uint item = get_global_id (0);
  if (item >= items)
    return;
  const int line = item / most, own = item % most;
  const long span = 1 + most + count;
  long before = 0, total = 0;
  scratch += scratch_offset;
  for (int n = 0; n < lines; n++) {
    before += n < line ? scratch[n * span] : 0;
    total += scratch[n * span];
  }
  scratch += line * span;
  output += output_offset;
  if (own < scratch[0]) {
    global long *row = output + (before + own) * row_step;
    row[0] = line / classes;
    row[column_step] = line % classes;
    row[2 * column_step] = scratch[1 + own];
  }
  if (item >= total)
    for (int n = 0; n < 3; n++)
      output[item * row_step + n * column_step] = NO_INDEX;
}
#endif
