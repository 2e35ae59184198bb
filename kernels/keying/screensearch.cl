/* chromakey: looks for a green or blue screen
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SEEN: number of samples per row and column; SIDE: those of a row at a side
 */
#include "inputformat.clh"

/* Hues are sixty-fourths of a turn in the plane of Cb and Cr. */
#define HUES 64
#define LEAST_CHROMA 12.0f /* minimum of a colour that has a hue, in levels */
#define STRONG 0.8f /* of the hue's mean chroma; excludes half-hidden samples and haze */

/* Returns the hue, or HUES if a screen cannot have the colour. Sets `chroma`. */
uint
hue_of (float4 color, float *chroma)
{
  float cb = dot (color, (float4)(-21, -43, 64, 0)) / 128;
  float cr = dot (color, (float4)(64, -54, -10, 0)) / 128;
  *chroma = sqrt (cb * cb + cr * cr);
  if (*chroma < LEAST_CHROMA || color.s0 >= max (color.s1, color.s2))
    return HUES;
  return (uint)((atan2pi (cr, cb) + 1) * (HUES / 2)) % HUES;
}

/* Sample n of a frame */
float4
sample_of (INPUT_FRAME (input), uint width, uint height, uint n)
{
  uint x = (ulong)(2 * (n % SEEN) + 1) * width / (2 * SEEN);
  uint y = (ulong)(2 * (n / SEEN) + 1) * height / (2 * SEEN);
  Pixel pixel = input_pixel (INPUT_ROW (input, y), x);
  uint4 levels = (uint4)(COMPONENT (pixel, RED), COMPONENT (pixel, GREEN),
      COMPONENT (pixel, BLUE), 0);
  return convert_float4 ((levels + SCALE / 2) / SCALE);
}

/* Returns the hue with the most chroma (neighbours count half), or HUES if there is
 * none. */
uint
strongest_hue (__local const uint *chromas)
{
  uint best = HUES, most = 0;
  for (uint hue = 0; hue < HUES; hue++) {
    uint sum =
        2 * chromas[hue] + chromas[(hue + 1) % HUES] + chromas[(hue + HUES - 1) % HUES];
    if (sum > most) {
      most = sum;
      best = hue;
    }
  }
  return best;
}

bool
is_beside (uint hue, uint best)
{
  return hue < HUES && (hue + HUES - best + 2) % HUES <= 4;
}

/* A sample a thirty-second of the frame away, in both directions. A screen has the same
 * hue there, noise has not. */
#define PARTNER(n) ((n) ^ (SEEN / 32 * SEEN + SEEN / 32))

/* A screen may have a second tone, as a floor that is painted otherwise, or lies in less
 * light: a colour beside the first hue (TONE_HUES on each side), of about its saturation,
 * but not the first tone. It is looked for in SIDE columns at the left and the right. */
#define TONE_HUES 5
#define LEAST_TONE 0.85f     /* of the saturation */
#define OTHER_TONE 0.18f     /* least difference of levels, of the largest */
#define SAME_TONE (1.0f / 6) /* the same, largest */

float
difference_of (float4 a, float4 b)
{
  const float4 apart = fabs (a - b);
  return max (max (apart.s0, apart.s1), apart.s2) / max (max (b.s0, b.s1), b.s2);
}

float
saturation_of (float4 color, float chroma)
{
  return chroma / max (dot (color, (float4)(0.299f, 0.587f, 0.114f, 0)), 1.0f);
}

float4
mean_of (__local const uint *sums)
{
  return convert_float4 ((uint4)(sums[0], sums[1], sums[2], 0)) / max (sums[3], 1u);
}

bool
is_other_tone (float4 color, float4 first, uint best)
{
  float chroma, usual;
  const uint hue = hue_of (color, &chroma);
  hue_of (first, &usual);
  return hue < HUES && (hue + HUES - best + TONE_HUES) % HUES <= 2 * TONE_HUES
         && (!is_beside (hue, best) || difference_of (color, first) > OTHER_TONE)
         && saturation_of (color, chroma) > LEAST_TONE * saturation_of (first, usual);
}

/* Returns whether a colour is near the middle of the line between two others. Where light
 * falls off slowly, many are; at the edge of a floor, few. */
bool
is_between (float4 color, float4 first, float4 second)
{
  const float4 line = second - first;
  const float length = dot (line, line);
  const float place = dot (color - first, line) / max (length, 1.0f);
  const float4 beside = color - first - place * line;
  return fabs (place - 0.5f) < 0.2f && dot (beside, beside) < 0.1f * length;
}

/* Writes to `tone` the sums of red, green and blue of samples of another tone at the sides,
 * their number, the number of samples like their mean at the left, at the right and in all,
 * and of those between both tones. All work-items must call it. */
void
find_tone (INPUT_FRAME (input), uint width, uint height, uint best, float4 first,
    __local uint *tone)
{
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    if (n % SEEN >= SIDE && n % SEEN < SEEN - SIDE)
      continue;
    const float4 color = sample_of (THE_INPUT_FRAME (input), width, height, n);
    if (!is_other_tone (color, first, best))
      continue;
    atomic_add (&tone[0], (uint)color.s0);
    atomic_add (&tone[1], (uint)color.s1);
    atomic_add (&tone[2], (uint)color.s2);
    atomic_inc (&tone[3]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  if (tone[3] == 0)
    return;
  const float4 mean = mean_of (tone);
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    const float4 color = sample_of (THE_INPUT_FRAME (input), width, height, n);
    if (is_between (color, first, mean))
      atomic_inc (&tone[7]);
    if (difference_of (color, mean) > SAME_TONE || !is_other_tone (color, first, best))
      continue;
    if (n % SEEN < SIDE)
      atomic_inc (&tone[4]);
    if (n % SEEN >= SEEN - SIDE)
      atomic_inc (&tone[5]);
    atomic_inc (&tone[6]);
  }
}

#define FOUND 13

/* Writes to `found` the sums of red, green and blue of the strong samples of the
 * strongest hue, their number, and the number of samples of that hue whose partner has it
 * too; then what find_tone () writes. One work-group. Sums are integers, which are the same
 * in any order. */
__kernel void
find_screen (INPUT_FRAME (input), uint width, uint height, __global uint *found)
{
  __local uint chromas[HUES];
  __local uint counts[HUES];
  __local uint sums[FOUND];
  float chroma;
  for (uint n = get_local_id (0); n < HUES; n += get_local_size (0))
    chromas[n] = counts[n] = 0;
  for (uint n = get_local_id (0); n < FOUND; n += get_local_size (0))
    sums[n] = 0;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    uint hue = hue_of (sample_of (THE_INPUT_FRAME (input), width, height, n), &chroma);
    if (hue == HUES)
      continue;
    atomic_add (&chromas[hue], (uint)(chroma + 0.5f));
    atomic_inc (&counts[hue]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  uint best = strongest_hue (chromas);
  float strong = best < HUES ? STRONG * chromas[best] / max (counts[best], 1u) : 0;
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    float4 color = sample_of (THE_INPUT_FRAME (input), width, height, n);
    if (!is_beside (hue_of (color, &chroma), best))
      continue;
    if (chroma >= strong) {
      atomic_add (&sums[0], (uint)color.s0);
      atomic_add (&sums[1], (uint)color.s1);
      atomic_add (&sums[2], (uint)color.s2);
      atomic_inc (&sums[3]);
    }
    color = sample_of (THE_INPUT_FRAME (input), width, height, PARTNER (n));
    if (is_beside (hue_of (color, &chroma), best))
      atomic_inc (&sums[4]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  find_tone (THE_INPUT_FRAME (input), width, height, best, mean_of (sums), sums + 5);
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < FOUND; n += get_local_size (0))
    found[n] = sums[n];
}
