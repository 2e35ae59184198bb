/* Layers blended over a background, in straight alpha
 *
 * A work-item makes one output pixel, through up to LAYERS layers from the lowest to the
 * highest, in floats, so that nothing is rounded between layers. More layers than that
 * take several launches, which hand the pixels on in `carried`.
 *
 * Build option ALIGNED: pixels begin at multiples of four bytes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define LAYERS 8

#define OPERATOR_SOURCE 0
#define OPERATOR_OVER 1
#define OPERATOR_ADD 2

#define BACKGROUND_CHECKER 0
#define BACKGROUND_BLACK 1
#define BACKGROUND_WHITE 2
#define BACKGROUND_TRANSPARENT 3
#define BACKGROUND_CARRIED 4

/* place: stride, width and height of the input; x, y, width and height in the output (a
 * width of 0: no such layer); operator, and 4 more where lines belong in turns to two
 * fields. order: bit of red, green, blue, alpha. */
#define LAYER(n)                                                                         \
  __global const uchar *data##n, ulong start##n, int4 order##n, int8 place##n,           \
      float alpha##n

#define OPERATOR_OF(place) (place.s7 & 3)
#define FIELDS_OF(place) (place.s7 & 4 ? 2 : 1)

uint
load_word (__global const uchar *at)
{
#if ALIGNED
  return *(__global const uint *) at;
#else
  return at[0] | at[1] << 8 | at[2] << 16 | (uint) at[3] << 24;
#endif
}

void
store_word (__global uchar *at, uint word)
{
#if ALIGNED
  *(__global uint *) at = word;
#else
  vstore4 ((uchar4) (word, word >> 8, word >> 16, word >> 24), 0, at);
#endif
}

/* Red, green, blue and alpha in 0 … 1. */
float4
load_pixel (__global const uchar *data, ulong start, int4 order, int stride, int x, int y)
{
  uint word = load_word (data + start + (ulong) y * stride + 4 * (ulong) x);
  return convert_float4 ((uint4) (word) >> convert_uint4 (order) & 255) / 255.0f;
}

/* The two input samples around the middle of output sample `at`, of one field where there
 * are two, and the second's share. Products of two sides, of 32767 at the most, and 2 still
 * fit an int. */
int2
neighbours (int at, int in_size, int out_size, int fields, int field, float *share)
{
  int unit = 2 * fields * out_size;
  int middle = max ((2 * at + 1) * in_size - (2 * field + 1) * out_size, 0);
  int first = middle / unit;
  int last = (in_size - 1 - field) / fields;
  *share = (float) (middle - first * unit) / (float) unit;
  return fields * (int2) (first, min (first + 1, last)) + field;
}

/* Colours count as much as they are seen: what is keyed out does not bleed. */
float4
weighted (float4 pixel)
{
  return (float4) (pixel.xyz * pixel.w, pixel.w);
}

float4
sample_scaled (
    __global const uchar *data, ulong start, int4 order, int8 place, int x, int y)
{
  float share_x, share_y;
  int fields = FIELDS_OF (place);
  int field = min (y % fields, place.s2 - 1);
  int2 columns = neighbours (x, place.s1, place.s5, 1, 0, &share_x);
  int2 rows = neighbours (y, place.s2, place.s6, fields, field, &share_y);
#define CORNER(column, row)                                                              \
  load_pixel (data, start, order, place.s0, columns.column, rows.row)
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
add_layer (float4 below, int x, int y, __global const uchar *data, ulong start,
    int4 order, int8 place, float alpha)
{
  int at_x = x - place.s3;
  int at_y = y - place.s4;

  if (at_x < 0 || at_y < 0 || at_x >= place.s5 || at_y >= place.s6)
    return below;
  float4 layer = place.s1 == place.s5 && place.s2 == place.s6
                     ? load_pixel (data, start, order, place.s0, at_x, at_y)
                     : sample_scaled (data, start, order, place, at_x, at_y);
  layer.w *= alpha;
  return blend (below, layer, OPERATOR_OF (place));
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
composite (__global uchar *out_data, ulong out_start, int out_stride, int4 out_order,
    int2 out_size, int background, int last, __global float4 *carried, LAYER (0),
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
  pixel = add_layer (pixel, x, y, data##n, start##n, order##n, place##n, alpha##n)
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
  uint4 bytes = convert_uint4_rte (pixel * 255.0f) << convert_uint4 (out_order);
  store_word (out_data + out_start + (ulong) y * out_stride + 4 * (ulong) x,
      bytes.x | bytes.y | bytes.z | bytes.w);
}
