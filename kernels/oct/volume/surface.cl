/* octsurface: depths of boundaries in a B-scan, as paths of the greatest sum of edges
 *
 * Levels, their means and edges have `depths` values of an A-line after each other. A level
 * that is not finite, or of amplitude 0, is NaN and left out of means. `window` is a number
 * of depths: an edge compares two windows above it with the two below.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "bscan.clh"
#include "groupbarrier.clh"

/* Edge of a depth that cannot be a surface */
#define NO_EDGE -1e30f
/* Depth of a path that is not a surface */
#define NO_DEPTH -1
/* Score of a depth that belongs to another surface */
#define TAKEN -64.0f
/* Maximum score of an edge, relative to the median of the strongest edges */
#define MOST_SCORE 1.5f
/* Loss of score for each depth between adjacent A-lines */
#define SLOPE_LOSS 0.15f
/* Factor of edges next to straight lines: one that is alone still wins against noise. */
#define MARKED 0.3f
/* Minimum height of a thin line, relative to the strongest edge of its A-line */
#define LEAST_RIDGE 0.35f
/* Minimum mean edge of a path, relative to the noise. It is 1.7 to 2.1 in noise alone. */
#define LEAST_QUALITY 2.4f
/* Minimum edge in an A-line, relative to the mean of the path */
#define LEAST_EDGE 0.35f
/* Number of A-lines in which straight lines are searched */
#define SEARCHED_LINES 64

/* Computes the level of each depth: decibels of COMPLEX values and AMPLITUDES, else the
 * value itself. Values up to `least` are the lowest amplitude, not a level. */
kernel void
find_levels (B_SCAN, float least, global float *restrict levels)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  const INPUT value =
      input[offset + line * (size_t)line_step + depth * (size_t)depth_step];
#ifdef COMPLEX
  const float level = 10.0f * log10 (value.x * value.x + value.y * value.y);
#elif defined(AMPLITUDES)
  const float level = 20.0f * log10 (value);
#else
  const float level = (float)value;
#endif
  levels[line * (size_t)depths + depth] = level > least && level < 1e30f ? level : NAN;
}

/* Averages over the A-lines within `reach`. */
kernel void
smooth_levels (global const float *restrict levels, uint depths, uint lines, uint reach,
    global float *restrict smoothed)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  const uint from = max (line, reach) - reach, last = min (line + reach, lines - 1);
  float sum = 0.0f;
  uint count = 0;
  for (uint n = from; n <= last; n++) {
    const float level = levels[n * (size_t)depths + depth];
    sum += isnan (level) ? 0.0f : level;
    count += !isnan (level);
  }
  smoothed[line * (size_t)depths + depth] = count > 0 ? sum / (float)count : NAN;
}

float
mean_of (global const float *levels, uint count)
{
  float sum = 0.0f;
  for (uint n = 0; n < count; n++)
    sum += levels[n];
  return sum / (float)count;
}

/* Finds the edges of an A-line: the lower mean of two windows below a depth, minus the
 * mean above. A thin line has no edge, since the second window lies below it. An edge
 * counts from depth `first` on and if the window below exceeds `least`.
 *
 * ridges: 1 at thin lines
 * marks: set to 0
 * strengths: strongest edge of each A-line, then its noise: the square of the mean square
 *   root of differences between adjacent windows, which a few edges hardly change */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_edges (global const float *restrict smoothed, uint depths, uint lines, uint window,
    uint first, float least, global float *restrict edges, global uchar *restrict ridges,
    global uchar *restrict marks, global float *restrict strengths)
{
  local float strongest[GROUP], sums[GROUP];
  local uint counts[GROUP];
  const uint item = get_local_id (0), line = get_group_id (0);
  const size_t start = line * (size_t)depths;
  global const float *from = smoothed + start;
  float most = 0.0f, sum = 0.0f;
  uint count = 0;
  for (uint depth = item; depth < depths; depth += GROUP) {
    const uint above = min (depth, 2 * window);
    float edge = NO_EDGE;
    if (above > 0 && depth + window <= depths) {
      const float before = mean_of (from + depth - above, above);
      const float nearest = mean_of (from + depth, window);
      float below = nearest;
      if (depth + 2 * window <= depths)
        below = min (below, mean_of (from + depth + window, window));
      if (!isnan (nearest - before)) {
        if (depth >= first)
          edge = nearest > least ? below - before : min (below - before, 0.0f);
        if (depth >= first + above) {
          sum += sqrt (fabs (nearest - before));
          count++;
        }
      }
    }
    edges[start + depth] = edge;
    marks[start + depth] = 0;
    most = max (most, edge);
  }
  strongest[item] = most;
  sums[item] = sum;
  counts[item] = count;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint n = 0; n < GROUP; n++)
    most = max (most, strongest[n]);
  for (uint depth = item; depth < depths; depth += GROUP) {
    bool is_ridge = depth > 0 && depth + 1 < depths;
    if (is_ridge) {
      global const float *near = from + depth - 1;
      const float limit = mean_of (near, 3) - LEAST_RIDGE * most;
      is_ridge = (depth < window + 1 || limit > mean_of (near - window, 3))
                 && (depth + window + 1 >= depths || limit > mean_of (near + window, 3));
    }
    ridges[start + depth] = is_ridge;
  }
  if (item > 0)
    return;
  for (uint n = 1; n < GROUP; n++) {
    sum += sums[n];
    count += counts[n];
  }
  strengths[line] = most;
  const float root = count > 0 ? sum / (float)count : 0.0f;
  strengths[lines + line] = root * root;
}

/* Depth of a straight line that has depth `row` in the middle of the B-scan. Its depth rises
 * by `slope` / 65536 from each A-line to the next. */
#define ROW_AT(line) (row + ((slope * (2 * (int)(line) - (int)lines + 1) + 65536) >> 17))

/* Marks the depths next to straight lines: those that are ridges in three of four A-lines.
 * A work-item examines a row and a tilt. Most have enough misses soon. */
kernel void
mark_lines (global const uchar *restrict ridges, uint depths, uint lines, uint tilts,
    int reach, global uchar *restrict marks)
{
  const int row = get_global_id (0), tilt = get_global_id (1);
  if (row >= (int)depths || tilt >= (int)tilts)
    return;
  const int slope = 131072 * (tilt - (int)tilts / 2) / (int)(lines - 1);
  const uint every = (lines + SEARCHED_LINES - 1) / SEARCHED_LINES;
  uint misses = 0, outside = 0;
  for (uint line = 0; line < lines && 4 * misses * every <= lines; line += every) {
    const int at = ROW_AT (line);
    const bool is_inside = at >= 0 && at < (int)depths;
    misses += is_inside && !ridges[line * (size_t)depths + (uint)at];
    outside += !is_inside;
  }
  if (4 * misses * every > lines - outside * every || 2 * outside * every > lines)
    return;
  for (uint line = 0; line < lines; line++) {
    const int at = ROW_AT (line);
    for (int depth = max (at - reach, 0); depth <= min (at + reach, (int)depths - 1);
         depth++)
      marks[line * (size_t)depths + (uint)depth] = 1;
  }
}

/* Depths of an A-line that belong to paths before this one: those above `end`, and those
 * near `other` */
typedef struct {
  int end, other;
} Taken;

Taken
find_taken (global const int *paths, uint lines, uint line, uint index, int gap)
{
  Taken taken = {0, -gap};
  if (index > 0 && paths[line] != NO_DEPTH)
    taken.end = paths[line] + gap;
  if (index > 1 && paths[lines + line] != NO_DEPTH)
    taken.other = paths[lines + line];
  return taken;
}

bool
is_taken (Taken taken, int depth, int gap)
{
  return depth < taken.end || abs (depth - taken.other) < (uint)gap;
}

/* Two rows of scores, with MAX_SLOPE values more at both ends. Those of up to LOCAL_DEPTHS
 * depths are in local memory, others in `scores`. */
#if LOCAL_DEPTHS
#define ROWS local float
#else
#define ROWS global float
#endif

/* Score of a depth, and in `step` where the best path to it comes from */
float
best_before (ROWS *before, uint slope, int *step)
{
  float best = before[0];
  *step = 0;
  for (int n = 1; n <= (int)slope; n++) {
    const float loss = SLOPE_LOSS * (float)n;
    const float left = before[-n] - loss, right = before[n] - loss;
    *step = left > best ? -n : *step;
    best = max (best, left);
    *step = right > best ? n : *step;
    best = max (best, right);
  }
  return best;
}

/* A-lines whose steps are read together, for the depths that a path can reach in them */
#define BLOCK 16
#define MOST_REACH (BLOCK * MAX_SLOPE)

/* Follows the steps from a depth of the last A-line. Writes the path, without regard to
 * edges. */
void
follow_steps (global const char *steps, uint depths, uint lines, uint slope,
    global int *path, local int *depth, local char *block)
{
  const uint item = get_local_id (0);
  const int reach = BLOCK * (int)slope, width = 2 * reach + 1;
  for (uint end = lines; end > 0; end -= min (end, (uint)BLOCK)) {
    const int first = *depth - reach;
    const uint count = min (end, (uint)BLOCK);
    for (int n = item; n < (int)count * width; n += GROUP) {
      const int at = first + n % width;
      const bool is_inside = at >= 0 && at < (int)depths;
      block[n] =
          is_inside ? steps[(end - 1 - (uint)(n / width)) * (size_t)depths + (uint)at] : 0;
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
      int at = *depth;
      for (uint n = 0; n < count; n++) {
        path[end - 1 - n] = at;
        at += block[(int)n * width + at - first];
      }
      *depth = at;
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
}

/* Finds the path of the greatest sum of edges, by dynamic programming in one work-group. Its
 * depth changes by up to `slope` between adjacent A-lines. Edges count relative to the
 * median of `strengths`.
 *
 * index: number of paths before it, which it does not cross
 * steps: where the best path to each depth comes from
 * qualities: mean edge of the path, infinite if it may be noise */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
trace_surface (global const float *restrict edges, global const uchar *restrict marks,
    global const float *restrict strengths, uint depths, uint lines, uint slope, int gap,
    uint index, global float *restrict scores, global char *restrict steps,
    global int *restrict paths, global float *restrict qualities)
{
#if LOCAL_DEPTHS
  local float rows[2 * (LOCAL_DEPTHS + 2 * MAX_SLOPE)];
#else
  global float *rows = scores;
#endif
  local char block[BLOCK * (2 * MOST_REACH + 1)];
  local float median, sums[GROUP], noises[GROUP];
  local int depth;
  const uint item = get_local_id (0), row = depths + 2 * MAX_SLOPE;
  for (uint line = item; line < lines; line += GROUP) {
    const float own = strengths[line];
    uint rank = 0;
    for (uint n = 0; n < lines; n++)
      rank += strengths[n] < own || (strengths[n] == own && n < line);
    if (rank == lines / 2)
      median = own;
  }
  for (uint n = item; n < MAX_SLOPE; n += GROUP)
    for (uint at = 0; at < 2 * row; at += row)
      rows[at + n] = rows[at + MAX_SLOPE + depths + n] = -INFINITY;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  const float factor = 1.0f / max (median, 1e-6f);
  for (uint line = 0; line < lines; line++) {
    const Taken taken = find_taken (paths, lines, line, index, gap);
    ROWS *now = rows + line % 2 * row + MAX_SLOPE;
    ROWS *before = rows + (line + 1) % 2 * row + MAX_SLOPE;
    for (uint at = item; at < depths; at += GROUP) {
      const size_t place = line * (size_t)depths + at;
      float score = clamp (edges[place] * factor, -1.0f, MOST_SCORE);
      if (marks[place])
        score = min (score, score * MARKED);
      if (is_taken (taken, (int)at, gap))
        score = TAKEN;
      int step = 0;
      const float best = line > 0 ? best_before (before + at, slope, &step) : 0.0f;
      now[at] = best + score;
      steps[place] = (char)step;
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  ROWS *end = rows + (lines - 1) % 2 * row + MAX_SLOPE;
  if (item == 0) {
    depth = 0;
    for (uint n = 1; n < depths; n++)
      depth = end[n] > end[depth] ? (int)n : depth;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  global int *path = paths + index * lines;
  follow_steps (steps, depths, lines, slope, path, &depth, block);
  float sum = 0.0f, noise = 0.0f;
  for (uint line = item; line < lines; line += GROUP) {
    const float edge = edges[line * (size_t)depths + (uint)path[line]];
    const Taken taken = find_taken (paths, lines, line, index, gap);
    if (edge <= NO_EDGE || is_taken (taken, path[line], gap))
      path[line] = NO_DEPTH;
    sum += max (edge, 0.0f);
    noise += strengths[lines + line];
  }
  sums[item] = sum;
  noises[item] = noise;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  if (item > 0)
    return;
  for (uint n = 1; n < GROUP; n++) {
    sum += sums[n];
    noise += noises[n];
  }
  qualities[index] = sum > LEAST_QUALITY * noise ? sum / (float)lines : INFINITY;
}

/* Mean level of `count` depths from `from` on, relative to a path, over the A-lines from
 * `line` to `last` */
float
level_along (global const float *levels, uint depths, global const int *path, uint line,
    uint last, int from, int count)
{
  float sum = 0.0f;
  uint number = 0;
  for (; line <= last; line++) {
    if (path[line] == NO_DEPTH)
      continue;
    const int begin = path[line] + from;
    for (int depth = max (begin, 0); depth < min (begin + count, (int)depths); depth++) {
      const float level = levels[line * (size_t)depths + (uint)depth];
      sum += isnan (level) ? 0.0f : level;
      number += !isnan (level);
    }
  }
  return sum / (float)number;
}

/* Finds the depth near a path at which the level, averaged along the path over the A-lines
 * within `reach` and over `window` depths, rises through three quarters of the
 * step. Rows of the output: depth in bins, then in micrometres, of each surface. Without a
 * surface they are NaN. */
kernel void
locate_surfaces (global const float *restrict levels, global const float *restrict edges,
    global const float *restrict qualities, global const int *restrict paths, uint depths,
    uint lines, uint surfaces, int window, uint reach, float first_depth, float step,
    global float *restrict output)
{
  const uint line = get_global_id (0), index = get_global_id (1);
  if (line >= lines || index >= surfaces)
    return;
  global const int *path = paths + index * lines;
  const uint from = max (line, reach) - reach;
  const uint last = min (line + reach, lines - 1);
  float edge = 0.0f, found = NAN;
  for (uint n = from; n <= last; n++)
    if (path[n] != NO_DEPTH)
      edge += max (edges[n * (size_t)depths + (uint)path[n]], 0.0f);
  if (path[line] != NO_DEPTH
      && edge > LEAST_EDGE * qualities[index] * (float)(last - from + 1)) {
#define LEVEL_ALONG(begin, count)                                                        \
  level_along (levels, depths, path, from, last, begin, count)
#define SMOOTH_LEVEL(depth) LEVEL_ALONG ((depth)-window / 2, window)
    const float above = LEVEL_ALONG (-2 * window, 2 * window - 1);
    const float limit = above + 0.75f * (LEVEL_ALONG (2, 2 * window - 1) - above);
    int away = window / 2;
    float low = SMOOTH_LEVEL (away), high = low;
    if (low < limit)
      away--; /* the step is below */
    while (low >= limit && away > -2 * window) {
      high = low;
      low = SMOOTH_LEVEL (--away);
    }
    while (high < limit && away < 2 * window) {
      low = high;
      high = SMOOTH_LEVEL (++away + 1);
    }
    found = (float)path[line];
    if (low < limit && high >= limit)
      found += (float)away + (limit - low) / (high - low);
    found += first_depth;
  }
  uint row = index;
  if (index > 0 && surfaces == 3) {
    const bool swaps = paths[lines + line] > paths[2 * lines + line];
    row = (index == 2) != swaps ? 2 : 1;
  }
  output[2 * row * lines + line] = found;
  output[(2 * row + 1) * lines + line] = found * step;
}
