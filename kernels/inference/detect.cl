/* Finds objects in the outputs of a network
 *
 * find_boxes, find_classes or regions of text (regions.cl) write candidates above a
 * threshold, in any order. select_objects takes the best ones in the order of their scores,
 * and leaves out those that overlap with a better one. find_points finds their key points.
 * find_segments finds the classes of pixels instead.
 *
 * Built with COUNT, COLUMNS, CLASSES, BACKGROUND (-1: none), GROUP, the types of SCORES, BOXES and
 * IDS (float, half, int or long), for each field its OFFSET, STEP and COLUMN in elements, and
 * HAS_CERTAINTY, HAS_IDS, HAS_ANCHORS, GROWS (sizes are exponents), FORM, ACTIVATION, and
 * POINT_COUNT and POINT_SIZE, the number of key points and of the numbers of each.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "candidates.clh"

#define SCORE(n, c)                                                                      \
  READ (SCORES, scores, SCORES_OFFSET + (n)*SCORES_STEP + (c)*SCORES_COLUMN)
#define BOX(n, c) READ (BOXES, boxes, BOXES_OFFSET + (n)*BOXES_STEP + (c)*BOXES_COLUMN)

/* Values of FORM and ACTIVATION */
#define CENTRE 0
#define CORNERS 1
#define CORNERS_YX 2
#define AUTOMATIC 0
#define NONE 1
#define SIGMOID 2
#define SOFTMAX 3

/* Left, top, right and bottom, in units of the network */
float4
corners_of (float4 box)
{
  if (FORM == CENTRE)
    return (float4)(box.xy - 0.5f * box.zw, box.xy + 0.5f * box.zw);
  return FORM == CORNERS_YX ? box.yxwz : box;
}

/* `map` are factors and summands from units of the network to pixels of the frame. A NaN is
 * never above a threshold. */
kernel void
find_boxes (global const SCORES *scores, global const BOXES *boxes, global const IDS *ids,
    global const float4 *anchors, float certain, float threshold, float4 map,
    float2 frame, global Candidate *candidates, global uint *number)
{
  const int n = get_global_id (0);
  if (n >= COUNT)
    return;
  float certainty = 1, best = -INFINITY;
  int kind = -1;
#if HAS_CERTAINTY
  certainty = READ (SCORES, scores, CERTAINTY_OFFSET + n * CERTAINTY_STEP);
  if (ACTIVATION == SIGMOID)
    certainty = 1 / (1 + exp (-certainty));
  if (!(certainty > certain))
    return;
#endif
  for (int c = 0; c < CLASSES; c++) {
    const float score = SCORE (n, c);
    if ((HAS_IDS || c != BACKGROUND) && score > best) {
      best = score;
      kind = c;
    }
  }
  if (kind < 0)
    return;
  if (ACTIVATION == SIGMOID)
    best = 1 / (1 + exp (-best));
  if (ACTIVATION == SOFTMAX) {
    float sum = 0;
    for (int c = 0; c < CLASSES; c++)
      sum += exp (SCORE (n, c) - best);
    best = 1 / sum;
  }
  /* A product would hide values that are no probabilities. */
  const float most = fmax (best, certainty), score = most > 1.01f ? most : best * certainty;
  if (!(score > threshold))
    return;
#if HAS_IDS
  const float id = READ (IDS, ids, IDS_OFFSET + n * IDS_STEP);
  if (!(id >= 0 && id < 1e6f))
    return;
  kind = convert_int_rte (id);
  if (kind == BACKGROUND)
    return;
#endif
  float4 box = (float4)(BOX (n, 0), BOX (n, 1), BOX (n, 2), BOX (n, 3));
#if HAS_ANCHORS
  const float4 anchor = anchors[n];
  box.zw = (GROWS ? exp (box.zw) : box.zw) * anchor.z;
  box.xy = box.xy * anchor.z + anchor.xy;
#endif
  add_candidate (
      corners_of (box) * map.xyxy + map.zwzw, score, kind, n, frame, candidates, number);
}

/* One group. Values that are no probabilities become such by a softmax, if AUTOMATIC. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_classes (global const SCORES *scores, float threshold, float2 frame,
    global Candidate *candidates, global uint *number)
{
  local float4 parts[GROUP];
  const int id = get_local_id (0);
  float low = INFINITY, high = -INFINITY, sum = 0, exponents = 0;
  for (int n = id; n < COUNT; n += GROUP) {
    const float score = SCORE (n, 0);
    low = fmin (low, score);
    high = fmax (high, score);
    sum += score;
  }
  parts[id] = (float4)(low, high, sum, 0);
  barrier (CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (int i = 0; i < GROUP; i++) {
    low = fmin (low, parts[i].x);
    high = fmax (high, parts[i].y);
    sum += parts[i].z;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int n = id; n < COUNT; n += GROUP)
    exponents += exp (SCORE (n, 0) - high);
  parts[id].x = exponents;
  barrier (CLK_LOCAL_MEM_FENCE);
  exponents = 0;
  for (int i = 0; i < GROUP; i++)
    exponents += parts[i].x;
  const bool is_softmax = ACTIVATION == AUTOMATIC ? !(low >= 0 && fabs (sum - 1) < 0.01f)
                                                  : ACTIVATION == SOFTMAX;
  for (int n = id; n < COUNT; n += GROUP) {
    float score = SCORE (n, 0);
    if (ACTIVATION == SIGMOID)
      score = 1 / (1 + exp (-score));
    if (is_softmax)
      score = exp (score - high) / exponents;
    if (score > threshold && n != BACKGROUND)
      add_candidate ((float4)(0, 0, frame), score, n, n, frame, candidates, number);
  }
}

/* Class of each pixel of the frame, with interpolated scores. The output has COUNT pixels in rows
 * of COLUMNS. With one class it has numbers of classes instead of scores. A pixel without a number,
 * of the background, or outside of the network's input has the class 255. */
kernel void
find_segments (
    global const SCORES *scores, float4 map, float2 frame, global uchar *classes)
{
  const int2 at = (int2)(get_global_id (0), get_global_id (1));
  const int2 last = (int2)(COLUMNS, COUNT / max (COLUMNS, 1)) - 1;
  const float2 place = (convert_float2 (at) + 0.5f - map.zw) / map.xy - 0.5f;
  const float2 inside = clamp (place, (float2)(0), convert_float2 (last));
  int kind = BACKGROUND;
  if (any (convert_float2 (at) >= frame))
    return;
#if CLASSES == 1
  const int2 nearest = convert_int2_rte (inside);
  const float number = SCORE (nearest.y * COLUMNS + nearest.x, 0);
  kind = number >= 0 && number < 255 ? convert_int_rte (number) : 255;
#else
  const int2 a = convert_int2 (inside), b = min (a + 1, last);
  const float2 share = inside - convert_float2 (a);
  float best = -INFINITY;
  for (int c = 0; c < CLASSES; c++) {
    const float top = mix (
        SCORE (a.y * COLUMNS + a.x, c), SCORE (a.y * COLUMNS + b.x, c), share.x);
    const float bottom = mix (
        SCORE (b.y * COLUMNS + a.x, c), SCORE (b.y * COLUMNS + b.x, c), share.x);
    const float score = mix (top, bottom, share.y);
    kind = score > best ? c : kind;
    best = fmax (score, best);
  }
#endif
  const bool has_class = kind != BACKGROUND && all (fabs (place - inside) <= 0.5f);
  classes[at.y * convert_int (frame.x) + at.x] = has_class ? kind : 255;
}

/* Key points of the selected objects, which follow those in `results`: x and y in pixels of the
 * frame, and the score, or 1 if the network has none. One with a NaN is 0, 0 with score 0. */
kernel void
find_points (global const BOXES *boxes, global const float4 *anchors, float4 map,
    uint most, global uint *results)
{
  const uint k = get_global_id (0), n = get_global_id (1);
  if (n >= min (results[0], most) || k >= POINT_COUNT)
    return;
  const int index = results[7 * n + 7];
  const int first = POINTS_OFFSET + index * POINTS_STEP + k * POINT_SIZE * POINTS_COLUMN;
  float2 at =
      (float2)(READ (BOXES, boxes, first), READ (BOXES, boxes, first + POINTS_COLUMN));
  const float score =
      POINT_SIZE < 3 ? 1 : READ (BOXES, boxes, first + 2 * POINTS_COLUMN);
#if HAS_ANCHORS
  at = at * anchors[index].z + anchors[index].xy;
#endif
  at = at * map.xy + map.zw;
  const bool is_finite = all (isfinite ((float3)(at, score)));
  vstore3 (as_uint3 (is_finite ? (float3)(at, score) : (float3)(0)), n * POINT_COUNT + k,
      results + 1 + 7 * most);
}
