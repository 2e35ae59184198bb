/* Finds connected regions of a map of text, as candidates, and turns their boxes
 *
 * Pixels above a threshold point to a neighbour of lower index until they point to the first
 * pixel of their region (Jaiganesh and Burtscher, A high-performance connected components
 * implementation for GPUs, 2018). Eight neighbours are connected.
 *
 * Built with COUNT, COLUMNS, GROUP and the type SCORES.
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
  /* Others may follow it meanwhile: a shorter way to the same end */
  const int root = first_of (first, n);
  volatile global Region *region = regions + root;
  first[n] = root;
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

/* Left, top, right and bottom of the pixels of a region along `axis` and across it, from the
 * upper left corner of its box. The ends of its rows are enough. All work-items of a group call
 * it. */
float4
turned_extent (global const int *first, const Region *region, int root, float2 axis,
    local float4 *extents)
{
  const int id = get_local_id (0), columns = region->right - region->left + 1;
  const float half_width = 0.5f * (fabs (axis.x) + fabs (axis.y));
  float4 extent = (float4)(INFINITY, INFINITY, -INFINITY, -INFINITY);
  for (int y = region->top + id; y <= region->bottom; y += GROUP) {
    global const int *row = first + y * COLUMNS + region->left;
    int begin = 0, end = columns - 1;
    while (begin < columns && row[begin] != root)
      begin++;
    while (end > begin && row[end] != root)
      end--;
    for (int i = 0; begin < columns && i < 2; i++) {
      const float2 at = (float2)((i ? end : begin) + 0.5f, y - region->top + 0.5f);
      const float2 turned =
          (float2)(dot (at, axis), dot (at, (float2)(-axis.y, axis.x)));
      extent.xy = fmin (extent.xy, turned - half_width);
      extent.zw = fmax (extent.zw, turned + half_width);
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  extents[id] = extent;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < GROUP; i++) {
    extent.xy = fmin (extent.xy, extents[i].xy);
    extent.zw = fmax (extent.zw, extents[i].zw);
  }
  return extent;
}

/* A group for each object of select_objects, whose index is the first pixel of its region.
 * Finds the smallest rectangle around the region to 1/16 of a degree, within 45 degrees, and
 * lets it grow. Writes its middle, axis and size, in pixels of the map. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
turn_boxes (global const int *first, global const Region *regions, global const uint *results,
    global float *turned)
{
  local float4 extents[GROUP];
  const int n = get_group_id (0);
  if (n >= (int)results[0])
    return;
  const int root = results[1 + 7 * n + 6];
  const Region region = regions[root];
  float best = 0, least = INFINITY;
  float4 box = (float4)(0);
  for (float step = 4; step > 0.05f; step /= 4) {
    const float middle = best;
    for (int i = step == 4 ? -11 : -4; i <= (step == 4 ? 11 : 4); i++) {
      const float angle = middle + i * step;
      float s, c;
      s = sincos (radians (angle), &c);
      const float4 extent = turned_extent (first, &region, root, (float2)(c, s), extents);
      const float area = (extent.z - extent.x) * (extent.w - extent.y);
      if (area < least || (area == least && fabs (angle) < fabs (best))) {
        least = area;
        best = angle;
        box = extent;
      }
    }
  }
  if (get_local_id (0) > 0)
    return;
  float s, c;
  s = sincos (radians (best), &c);
  const float2 size = box.zw - box.xy, middle = 0.5f * (box.xy + box.zw);
  const float growth = GROWTH * size.x * size.y / (size.x + size.y);
  const float2 at = (float2)(region.left + c * middle.x - s * middle.y,
      region.top + s * middle.x + c * middle.y);
  vstore4 ((float4)(at, c, s), 0, turned + 6 * n);
  vstore2 (size + growth, 2, turned + 6 * n);
}
