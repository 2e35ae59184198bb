/* Finds connected regions of a map of text, as candidates
 *
 * Pixels above a threshold point to a neighbour of lower index until they point to the first
 * pixel of their region (Jaiganesh and Burtscher, A high-performance connected components
 * implementation for GPUs, 2018). Eight neighbours are connected.
 *
 * Built with COUNT, COLUMNS and the type SCORES.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "candidates.clh"

#define SCORE(n) READ (SCORES, scores, n)

/* Left, top, right and bottom pixel, sum of scores in 255ths, and number of pixels */
typedef struct {
  int left, top, right, bottom;
  uint sum, pixels;
} Region;

kernel void
mark_pixels (global const SCORES *scores, float threshold, global int *first,
    global Region *regions)
{
  const int n = get_global_id (0);
  if (n >= COUNT)
    return;
  first[n] = SCORE (n) > threshold ? n : -1;
  regions[n] = (Region){INT_MAX, INT_MAX, -1, -1, 0, 0};
}

int
first_of (volatile global int *first, int n)
{
  int next = first[n];
  while (next != n) {
    n = next;
    next = first[n];
  }
  return n;
}

void
join (volatile global int *first, int a, int b)
{
  a = first_of (first, a);
  b = first_of (first, b);
  while (a != b) {
    const int high = max (a, b), low = min (a, b);
    const int before = atomic_cmpxchg (first + high, high, low);
    a = before == high ? low : first_of (first, before);
    b = low;
  }
}

kernel void
join_pixels (volatile global int *first)
{
  const int n = get_global_id (0), x = n % COLUMNS;
  if (n >= COUNT || first[n] < 0)
    return;
  if (x > 0 && first[n - 1] >= 0)
    join (first, n, n - 1);
  if (n < COLUMNS)
    return;
  for (int i = max (x - 1, 0); i <= min (x + 1, COLUMNS - 1); i++)
    if (first[n - x - COLUMNS + i] >= 0)
      join (first, n, n - x - COLUMNS + i);
}

kernel void
measure_regions (global const SCORES *scores, volatile global int *first,
    volatile global Region *regions)
{
  const int n = get_global_id (0);
  if (n >= COUNT || first[n] < 0)
    return;
  volatile global Region *region = regions + first_of (first, n);
  atomic_min (&region->left, n % COLUMNS);
  atomic_max (&region->right, n % COLUMNS);
  atomic_min (&region->top, n / COLUMNS);
  atomic_max (&region->bottom, n / COLUMNS);
  atomic_add (&region->sum, convert_uint_sat_rte (fmin (SCORE (n), 1.0f) * 255));
  atomic_inc (&region->pixels);
}

/* DBNet's maps show the middle of text: boxes grow by GROWTH × area / perimeter. */
#define GROWTH 1.6f

kernel void
find_regions (global const int *first, global const Region *regions, float threshold,
    float4 map, float2 frame, global Candidate *candidates, global uint *number)
{
  const int n = get_global_id (0);
  if (n >= COUNT || first[n] != n)
    return;
  const Region region = regions[n];
  const float score = (float)region.sum / region.pixels / 255;
  float4 box = (float4)(region.left, region.top, region.right + 1, region.bottom + 1);
  const float2 size = box.zw - box.xy;
  if (min (size.x, size.y) < 3 || !(score > threshold))
    return;
  const float growth = GROWTH * size.x * size.y / (2 * (size.x + size.y));
  box += (float4)(-growth, -growth, growth, growth);
  add_candidate (box * map.xyxy + map.zwzw, score, 0, n, frame, candidates, number);
}
