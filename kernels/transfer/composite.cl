/* Layers blended over a background, in straight alpha
 *
 * A work-item makes one output pixel, through up to LAYERS layers from the lowest to the
 * highest, in floats, so that nothing is rounded between layers. More layers than that
 * take several launches, which hand the pixels on in `carried`.
 *
 * Build options ALIGNMENT: pixels begin at multiples of so many bytes: 4 or 1.
 * INTERLACED: a layer may have two fields.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.clh"
#include <frame.clh>

#define LAYERS 8

#define OPERATOR_SOURCE 0
#define OPERATOR_OVER 1
#define OPERATOR_ADD 2

#define BACKGROUND_CHECKER 0
#define BACKGROUND_BLACK 1
#define BACKGROUND_WHITE 2
#define BACKGROUND_TRANSPARENT 3
#define BACKGROUND_CARRIED 4

/* place: width and height of the input; x, y, width and height in the output (a width of
 * 0: no such layer); operator; 2 where lines belong in turns to two fields, else 1. order:
 * bit of red, green, blue, alpha. */
#define LAYER(n)                                                                         \
  FRAME (const, layer##n), int4 order##n, int8 place##n, float alpha##n

uint
load_word (__global const uchar *at)
{
#if ALIGNMENT >= 4
  return *(__global const uint *) at;
#else
  return at[0] | at[1] << 8 | at[2] << 16 | (uint) at[3] << 24;
#endif
}

void
store_word (__global uchar *at, uint word)
{
#if ALIGNMENT >= 4
  *(__global uint *) at = word;
#else
  vstore4 ((uchar4) (word, word >> 8, word >> 16, word >> 24), 0, at);
#endif
}

/* Red, green, blue and alpha in 0 … 1. */
float4
load_pixel (FRAME (const, layer), int4 order, int x, int y)
{
  uint word = load_word (LINE (layer, y) + 4 * (ulong) x);
  return convert_float4 ((uint4) (word) >> convert_uint4 (order) & 255) / 255.0f;
}

/* Colours count as much as they are seen: what is keyed out does not bleed. */
float4
weighted (float4 pixel)
{
  return (float4) (pixel.xyz * pixel.w, pixel.w);
}

float4
sample_scaled (FRAME (const, layer), int4 order, int8 place, int x, int y)
{
  float share_x, share_y;
#if INTERLACED
  int fields = place.s7;
  int field = min (y % fields, place.s1 - 1);
#else
  int fields = 1, field = 0;
#endif
  int2 columns = neighbours (place_of (x, place.s0, place.s4, 1, 0), &share_x);
  Place lines = place_of (y, place.s1, place.s5, fields, field);
  int2 rows = fields * neighbours (lines, &share_y) + field;
#define CORNER(column, row)                                                              \
  load_pixel (THE_FRAME (layer), order, columns.column, rows.row)
  float4 corners[4] = {CORNER (x, x), CORNER (y, x), CORNER (x, y), CORNER (y, y)};
  float4 seen = mix (mix (weighted (corners[0]), weighted (corners[1]), share_x),
      mix (weighted (corners[2]), weighted (corners[3]), share_x), share_y);
  float4 plain = mix (mix (corners[0], corners[1], share_x),
      mix (corners[2], corners[3], share_x), share_y);
  return seen.w > 0.0f ? (float4) (seen.xyz / seen.w, seen.w) : plain;
}

float4
blend (float4 below, float4 layer, int operator)
{
  float kept = below.w * (1.0f - layer.w);
  float sum = layer.w + kept;
  float3 color = layer.xyz;

  if (operator == OPERATOR_SOURCE)
    return layer;
  if (sum > 0.0f)
    color = (layer.xyz * layer.w + below.xyz * kept) / sum;
  return (float4) (
      color, operator == OPERATOR_ADD ? min (layer.w + below.w, 1.0f) : sum);
}

float4
add_layer (float4 below, int x, int y, FRAME (const, layer), int4 order, int8 place,
    float alpha)
{
  int at_x = x - place.s2;
  int at_y = y - place.s3;

  if (at_x < 0 || at_y < 0 || at_x >= place.s4 || at_y >= place.s5)
    return below;
  float4 pixel = place.s0 == place.s4 && place.s1 == place.s5
                     ? load_pixel (THE_FRAME (layer), order, at_x, at_y)
                     : sample_scaled (THE_FRAME (layer), order, place, at_x, at_y);
  pixel.w *= alpha;
  return blend (below, pixel, place.s6);
}

float4
background_at (int background, int x, int y)
{
  float checker = (x >> 3 & 1) ^ (y >> 3 & 1) ? 160 : 80;
  switch (background) {
  case BACKGROUND_CHECKER:
    return (float4) ((float3) (checker / 255.0f), 1.0f);
  case BACKGROUND_WHITE:
    return (float4) (1.0f);
  case BACKGROUND_BLACK:
    return (float4) (0.0f, 0.0f, 0.0f, 1.0f);
  default:
    return (float4) (0.0f);
  }
}

/* `last`: store bytes instead of handing the pixel on. */
__kernel void
composite (FRAME (, output), int4 order, int2 out_size, int background, int last, __global float4 *carried, LAYER (0),
    LAYER (1), LAYER (2), LAYER (3), LAYER (4), LAYER (5), LAYER (6), LAYER (7))
{
  int x = get_global_id (0);
  int y = get_global_id (1);
  if (x >= out_size.x || y >= out_size.y)
    return;

  ulong index = (ulong) y * out_size.x + x;
  float4 pixel = background == BACKGROUND_CARRIED ? carried[index]
                                                  : background_at (background, x, y);
#define ADD(n)                                                                           \
  pixel = add_layer (pixel, x, y, THE_FRAME (layer##n), order##n, place##n, alpha##n)
  ADD (0);
  ADD (1);
  ADD (2);
  ADD (3);
  ADD (4);
  ADD (5);
  ADD (6);
  ADD (7);

  if (!last) {
    carried[index] = pixel;
    return;
  }
  uint4 bytes = convert_uint4_rte (pixel * 255.0f) << convert_uint4 (order);
  store_word (LINE (output, y) + 4 * (ulong) x,
      bytes.x | bytes.y | bytes.z | bytes.w);
}
