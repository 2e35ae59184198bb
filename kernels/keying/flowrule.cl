/* keying: where the key may flow
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two bit planes say where it can: `right` where a pixel has the colour of its right
 * neighbour, `down` where it has that of the one below. Where a limit is set, both pixels
 * must also be open: keyed from the start, or within the limit. What flow comes from is
 * so in any case; a run, which keys before it flows, asks only of what flow enters.
 */
typedef struct {
  uint mask;      /* components that are compared */
  uint threshold; /* their differences' sum stays below */
  int key_cb, key_cr;
  uint limit; /* largest square of the chroma distance from the key; 0 is no limit */
} Rule;

Rule
rule_of (uint mask, uint threshold, int key_cb, int key_cr, uint limit)
{
  Rule rule = {mask, threshold, key_cb, key_cr, limit};
  return rule;
}

#define RULE uint mask, uint threshold, int key_cb, int key_cr, uint limit
#define THE_RULE rule_of (mask, threshold, key_cb, key_cr, limit)

uint
open_of (uint8 pixels, Rule rule, uint keyed, int x, int width)
{
  int8 within = chroma_square (pixels, rule.key_cb, rule.key_cr) <= rule.limit;
  return keyed | (pack_mask (within) & inside_line (x, width, 8));
}

uint
same_as_right (__global const uchar *line, uint8 pixels, Rule rule, int x, int width)
{
  uint next = load_pixel (line, min (x + 8, width - 1));
  uint8 right = (uint8)(pixels.s1234, pixels.s567, next);
  return pack_near (pixels, right, rule.mask, rule.threshold)
         & inside_line (x, width - 1, 8);
}

uint
same_as_below (uint8 pixels, uint8 below, Rule rule, int x, int width)
{
  return pack_near (pixels, below, rule.mask, rule.threshold) & inside_line (x, width, 8);
}
