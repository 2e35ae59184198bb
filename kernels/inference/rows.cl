/* Numbers of the rows of a network's output: classes of the steps of a text, or as they are
 *
 * Built with COLUMNS, GROUP, the type SCORES and IS_LOGIT.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "candidates.clh"

/* A group for each row. Writes the column of its largest number, the first of several, and that
 * number: its probability, with IS_LOGIT by softmax. A row of NaN has column 0 and a score of
 * 0. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
best_of_rows (global const SCORES *scores, global uint *results)
{
  local float bests[GROUP];
  local int places[GROUP];
  const int id = get_local_id (0), row = get_group_id (0);
  float best = -INFINITY, sum = 0;
  int place = INT_MAX;
  scores += (ulong)row * COLUMNS;
  for (int c = id; c < COLUMNS; c += GROUP) {
    const float score = READ (SCORES, scores, c);
    if (score > best) {
      best = score;
      place = c;
    }
  }
  bests[id] = best;
  places[id] = place;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < GROUP; i++)
    if (bests[i] > best || (bests[i] == best && places[i] < place)) {
      best = bests[i];
      place = places[i];
    }
#if IS_LOGIT
  for (int c = id; c < COLUMNS; c += GROUP)
    sum += exp (READ (SCORES, scores, c) - best);
  barrier (CLK_LOCAL_MEM_FENCE);
  bests[id] = sum;
  barrier (CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (int i = 0; i < GROUP; i++)
    sum += bests[i];
  best = 1 / sum;
#endif
  if (id == 0) {
    results[2 * row] = place == INT_MAX ? 0 : place;
    results[2 * row + 1] = as_uint (place == INT_MAX ? 0.0f : best);
  }
}

kernel void
copy_row (global const SCORES *scores, global uint *results)
{
  const int n = get_global_id (0);
  if (n < COLUMNS)
    results[n] = as_uint (READ (SCORES, scores, n));
}
