/* Selects objects among candidates: non-maximum suppression
 *
 * Built with GROUP and COUNT.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "candidates.clh"

float
area_of (float4 box)
{
  const float2 size = max (box.zw - box.xy, 0.0f);
  return size.x * size.y;
}

/* Intersection over union */
float
overlap_of (float4 a, float4 b)
{
  const float common = area_of ((float4)(max (a.xy, b.xy), min (a.zw, b.zw)));
  return common / (area_of (a) + area_of (b) - common);
}

/* One group. In each turn it finds the best candidate that is left, and removes those that
 * overlap with it. Equal scores are taken in the order of the output, so that results are
 * always the same. `results` are their number, and seven numbers of each: left, top,
 * width, height, score, class, and position in the output. Clears `number` for the next frame. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
select_objects (global Candidate *candidates, global uint *number, float limit,
    int is_agnostic, uint most, float2 frame, global uint *results)
{
  local float scores[GROUP];
  local int indices[GROUP], places[GROUP];
  local int winner;
  const int id = get_local_id (0), count = min (*number, (uint)COUNT);
  uint found = 0;
  if (id == 0)
    winner = -1;
  barrier (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (bool is_over = false; !is_over;) {
    const int last = winner;
    Candidate taken = candidates[max (last, 0)];
    float best = -1;
    int index = INT_MAX, place = -1;
    for (int n = id; n < count; n += GROUP) {
      const Candidate other = candidates[n];
      const bool is_left = other.score >= 0 && n != last
                           && (last < 0 || (!is_agnostic && other.kind != taken.kind)
                               || !(overlap_of (taken.box, other.box) > limit));
      if (!is_left)
        candidates[n].score = -1;
      else if (other.score > best || (other.score == best && other.index < index)) {
        best = other.score;
        index = other.index;
        place = n;
      }
    }
    scores[id] = best;
    indices[id] = index;
    places[id] = place;
    barrier (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (id == 0) {
      for (int i = 1; i < GROUP; i++) {
        if (scores[i] > best || (scores[i] == best && indices[i] < index)) {
          best = scores[i];
          index = indices[i];
          place = places[i];
        }
      }
      winner = place;
      if (place >= 0) {
        const Candidate next = candidates[place];
        const float4 box = clamp (next.box, (float4)(0), (float4)(frame, frame));
        global uint *result = results + 1 + 7 * found;
        vstore4 (as_uint4 ((float4)(box.xy, box.zw - box.xy)), 0, result);
        result[4] = as_uint (next.score);
        result[5] = next.kind;
        result[6] = next.index;
      }
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    found += winner >= 0;
    is_over = winner < 0 || found >= most;
  }
  if (id == 0) {
    results[0] = found;
    *number = 0;
  }
}
