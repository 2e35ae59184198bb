/* keying: what a run is told, of its key and of its steps
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
typedef struct {
  uint color; /* as a pixel */
  uint mask;  /* components that are compared */
  uint threshold;
  int inverted;     /* all ones when what differs is keyed */
  uint least_alpha; /* that is not 0 in the result */
} Key;

#define KEY                                                                              \
  __global const uint *auto_key, uint key_color, uint key_mask, uint key_threshold,      \
      int inverted, uint least_alpha, uint opacity
#define THE_KEY                                                                          \
  key_of (auto_key, key_color, key_mask, key_threshold, inverted, least_alpha)

/* `auto_key`, where it is not null, has the colour. */
Key
key_of (__global const uint *auto_key, uint color, uint mask, uint threshold,
    int inverted, uint least_alpha)
{
  uint argb = auto_key ? *auto_key : color;
  uint pixel =
      (argb >> 16 & 255) << RED | (argb >> 8 & 255) << GREEN | (argb & 255) << BLUE;
  Key key = {pixel, mask, threshold, inverted, least_alpha};
  return key;
}

/* A byte a step, the first one lowest: two bits of its kind, six of its iterations */
#define REDUCE 0
#define FILL 1
#define FLOW 2
#define REMEMBER 3
#define KIND_OF_STEP(steps) ((uint)(steps) >> 6 & 3)
#define ITERATIONS_OF_STEP(steps) ((uint)(steps)&63)
