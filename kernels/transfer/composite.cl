/* Layers blended over a background, in straight alpha
 *
 * A work-item makes one output pixel, through up to LAYERS layers from the lowest to the
 * highest, in floats, so that nothing is rounded between layers. More layers than that
 * take several launches, which hand the pixels on in `carried`.
 *
 * Build options ALIGNMENT: pixels begin at multiples of so many bytes: 4 or 1.
 * INTERLACED: a layer may have two fields. WIDE: composite_wide, without such layers.
 * LINEAR: light is blended instead of levels.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.clh"
#include <frame.clh>
#include <light.clh>

#define LAYERS 8

#define OPERATOR_SOURCE 0
#define OPERATOR_OVER 1
#define OPERATOR_ADD 2

#define BACKGROUND_CHECKER 0
#define BACKGROUND_BLACK 1
#define BACKGROUND_WHITE 2
#define BACKGROUND_TRANSPARENT 3
#define BACKGROUND_CARRIED 4

/* place: x, y, width and height in the output (a width of 0: no such layer), and of what is
 * shown of the input. how: operator; 2 where lines belong in turns to two fields, else 1.
 * order: bit of red, green, blue, alpha. curve: what light its levels are */
#define LAYER(n)                                                                         \
  FRAME (const, layer##n), int4 order##n, int8 place##n, int2 how##n, float alpha##n,    \
      float4 curve##n

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

/* With LINEAR colours are light on the levels' scale. */
float4
light_of_pixel (float4 pixel, float4 curve)
{
#if LINEAR
  LightCurve of = {curve.s0, curve.s1, curve.s2, curve.s3};
  return (float4) (255 * LIGHT_OF (float3, pixel.xyz / 255, of), pixel.w);
#else
  return pixel;
#endif
}

float4
pixel_of_light (float4 pixel, float4 curve)
{
#if LINEAR
  LightCurve of = {curve.s0, curve.s1, curve.s2, curve.s3};
  return (float4) (255 * LEVEL_OF (float3, pixel.xyz / 255, of), pixel.w);
#else
  return pixel;
#endif
}

/* Red, green and blue in levels, alpha in 0 … 1. */
float4
load_pixel (FRAME (const, layer), int4 order, float4 curve, int x, int y)
{
  uint word = load_word (LINE (layer, y) + 4 * (ulong) x);
  float4 pixel = convert_float4 ((uint4) (word) >> convert_uint4 (order) & 255)
                 * (float4) (1.0f, 1.0f, 1.0f, 1.0f / 255.0f);
  return light_of_pixel (pixel, curve);
}

/* Colours count as much as they are seen: what is keyed out does not bleed. */
float4
weighted (float4 pixel)
{
  return (float4) (pixel.xyz * pixel.w, pixel.w);
}

bool
is_scaled (int8 place)
{
  return place.s2 != place.s6 || place.s3 != place.s7;
}

float4
sample_scaled (FRAME (const, layer), int4 order, int8 place, int fields, float4 curve,
    int x, int y)
{
  float share_x, share_y;
#if INTERLACED
  int field = min (y % fields, place.s7 - 1);
#else
  int field = 0;
  fields = 1;
#endif
  int2 columns =
      place.s4 + neighbours (place_of (x, place.s6, place.s2, 1, 0), &share_x);
  Place lines = place_of (y, place.s7, place.s3, fields, field);
  int2 rows = place.s5 + fields * neighbours (lines, &share_y) + field;
#define CORNER(column, row)                                                              \
  load_pixel (THE_FRAME (layer), order, curve, columns.column, rows.row)
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
    int2 how, float alpha, float4 curve)
{
  int at_x = x - place.s0;
  int at_y = y - place.s1;

  if (at_x < 0 || at_y < 0 || at_x >= place.s2 || at_y >= place.s3)
    return below;
  float4 pixel = is_scaled (place) ? sample_scaled (THE_FRAME (layer), order, place,
                                         how.y, curve, at_x, at_y)
                                   : load_pixel (THE_FRAME (layer), order, curve,
                                         place.s4 + at_x, place.s5 + at_y);
  pixel.w *= alpha;
  return blend (below, pixel, how.x);
}

float4
background_at (int background, int x, int y)
{
  float checker = (x >> 3 & 1) ^ (y >> 3 & 1) ? 160 : 80;
  switch (background) {
  case BACKGROUND_CHECKER:
    return (float4) ((float3) (checker), 1.0f);
  case BACKGROUND_WHITE:
    return (float4) ((float3) (255.0f), 1.0f);
  case BACKGROUND_BLACK:
    return (float4) (0.0f, 0.0f, 0.0f, 1.0f);
  default:
    return (float4) (0.0f);
  }
}

/* `last`: store bytes instead of handing the pixel on. */
#define ARGUMENTS                                                                        \
  FRAME (, output), int4 order, int2 out_size, float4 curve, int background, int last,   \
      __global float4 *carried, LAYER (0), LAYER (1), LAYER (2), LAYER (3), LAYER (4),   \
      LAYER (5), LAYER (6), LAYER (7)
#define THE_LAYER(n)                                                                     \
  THE_FRAME (layer##n), order##n, place##n, how##n, alpha##n, curve##n
#define THE_ARGUMENTS                                                                    \
  THE_FRAME (output), order, out_size, curve, background, last, carried, THE_LAYER (0),  \
      THE_LAYER (1), THE_LAYER (2), THE_LAYER (3), THE_LAYER (4), THE_LAYER (5),         \
      THE_LAYER (6), THE_LAYER (7)
#define FOR_ALL_LAYERS(DO) DO (0) DO (1) DO (2) DO (3) DO (4) DO (5) DO (6) DO (7)

void
composite_pixel (int x, int y, ARGUMENTS)
{
  ulong index = (ulong) y * out_size.x + x;
  float4 pixel = background == BACKGROUND_CARRIED
                     ? carried[index]
                     : light_of_pixel (background_at (background, x, y), curve);
#define ADD(n) pixel = add_layer (pixel, x, y, THE_LAYER (n));
  FOR_ALL_LAYERS (ADD)

  if (!last) {
    carried[index] = pixel;
    return;
  }
  pixel = pixel_of_light (pixel, curve);
  pixel.w *= 255.0f;
  uint4 bytes = convert_uint4_rte (pixel) << convert_uint4 (order);
  store_word (LINE (output, y) + 4 * (ulong) x,
      bytes.x | bytes.y | bytes.z | bytes.w);
}

__kernel void
composite (ARGUMENTS)
{
  int x = get_global_id (0);
  int y = get_global_id (1);
  if (x < out_size.x && y < out_size.y)
    composite_pixel (x, y, THE_ARGUMENTS);
}

#if WIDE
/* For a CPU: a work-item makes a line, sixteen columns at a time; those that a layer
 * covers in part, or scaled, pixel by pixel. */
#define COLUMNS 16
#define INLINED __attribute__ ((always_inline))

typedef struct
{
  float16 red, green, blue, alpha;
} Pixels;

INLINED uint16
load_words (__global const uchar *at)
{
#if ALIGNMENT >= 4
  return vload16 (0, (__global const uint *) at);
#else
  return (uint16) (as_uint4 (vload16 (0, at)), as_uint4 (vload16 (1, at)),
      as_uint4 (vload16 (2, at)), as_uint4 (vload16 (3, at)));
#endif
}

INLINED void
store_words (__global uchar *at, uint16 words)
{
#if ALIGNMENT >= 4
  vstore16 (words, 0, (__global uint *) at);
#else
  vstore16 (as_uchar16 (words.s0123), 0, at);
  vstore16 (as_uchar16 (words.s4567), 1, at);
  vstore16 (as_uchar16 (words.s89ab), 2, at);
  vstore16 (as_uchar16 (words.scdef), 3, at);
#endif
}

INLINED Pixels
background_wide (int background, int x, int y)
{
  float4 first = background_at (background, x, y);
  float4 second = background_at (background, x + 8, y);
  Pixels pixels = {(float16) ((float8) (first.x), (float8) (second.x)),
      (float16) ((float8) (first.y), (float8) (second.y)),
      (float16) ((float8) (first.z), (float8) (second.z)), (float16) (first.w)};
  return pixels;
}

bool
is_on_line (int8 place, int y)
{
  return place.s2 > 0 && y >= place.s1 && y - place.s1 < place.s3;
}

/* Whether a layer on the line does not touch the columns, or covers all as it is */
INLINED bool
is_plain (int8 place, int x)
{
  int at_x = x - place.s0;
  if (at_x + COLUMNS <= 0 || at_x >= place.s2)
    return true;
  return at_x >= 0 && at_x + COLUMNS <= place.s2 && !is_scaled (place);
}

INLINED void
blend_wide (Pixels *below, Pixels layer, int operator)
{
  float16 kept = below->alpha * (1.0f - layer.alpha);
  float16 sum = layer.alpha + kept;
  if (operator == OPERATOR_SOURCE) {
    *below = layer;
    return;
  }
  float16 red = layer.red * layer.alpha + below->red * kept;
  float16 green = layer.green * layer.alpha + below->green * kept;
  float16 blue = layer.blue * layer.alpha + below->blue * kept;
  if (any (sum != 1.0f)) {
    red = select (layer.red, red / sum, sum > 0.0f);
    green = select (layer.green, green / sum, sum > 0.0f);
    blue = select (layer.blue, blue / sum, sum > 0.0f);
  }
  below->red = red;
  below->green = green;
  below->blue = blue;
  below->alpha =
      operator == OPERATOR_ADD ? min (layer.alpha + below->alpha, 1.0f) : sum;
}

/* What is all clear or all opaque, as most of a keyed picture is, needs no arithmetic. */
INLINED void
add_wide_layer (Pixels *below, int x, int y, FRAME (const, layer), int4 order, int8 place,
    int2 how, float alpha, float4 curve)
{
  int at_x = x - place.s0;
  int at_y = y - place.s1;
  if (at_x < 0 || at_x >= place.s2)
    return;
  uint16 words =
      load_words (LINE (layer, place.s5 + at_y) + 4 * (ulong) (place.s4 + at_x));
  uint4 bits = convert_uint4 (order);
  uint16 alphas = words >> bits.w & 255;
  bool clear = !any (alphas != (uint16) (0)) && how.x != OPERATOR_SOURCE;
  bool opaque = !any (alphas != (uint16) (255)) && alpha == 1.0f;
  if (clear && !any (below->alpha <= 0.0f))
    return;
  Pixels pixels = {convert_float16 (words >> bits.x & 255),
      convert_float16 (words >> bits.y & 255), convert_float16 (words >> bits.z & 255),
      convert_float16 (alphas) * (1.0f / 255.0f) * alpha};
  if (opaque)
    *below = pixels;
  else
    blend_wide (below, pixels, how.x);
}

INLINED void
store_wide (__global uchar *at, int4 order, Pixels pixels)
{
  uint4 bits = convert_uint4 (order);
  store_words (at, convert_uint16_rte (pixels.red) << bits.x
                       | convert_uint16_rte (pixels.green) << bits.y
                       | convert_uint16_rte (pixels.blue) << bits.z
                       | convert_uint16_rte (pixels.alpha * 255.0f) << bits.w);
}

__kernel void
composite_wide (ARGUMENTS)
{
  int y = get_global_id (1);
  if (y >= out_size.y)
    return;
  uint here = 0; /* a bit a layer */
#define FIND(n) here |= is_on_line (place##n, y) ? 1 << n : 0;
  FOR_ALL_LAYERS (FIND)
  for (int x = 0; x < out_size.x; x += COLUMNS) {
    bool plain = last && background != BACKGROUND_CARRIED && x + COLUMNS <= out_size.x;
#define CHECK(n)                                                                         \
  if (here & 1 << n)                                                                     \
    plain = plain && is_plain (place##n, x);
    FOR_ALL_LAYERS (CHECK)
    if (!plain) {
      for (int at = x; at < min (x + COLUMNS, out_size.x); at++)
        composite_pixel (at, y, THE_ARGUMENTS);
      continue;
    }
    Pixels pixels = background_wide (background, x, y);
#define ADD_WIDE(n)                                                                      \
  if (here & 1 << n)                                                                     \
    add_wide_layer (&pixels, x, y, THE_LAYER (n));
    FOR_ALL_LAYERS (ADD_WIDE)
    store_wide (LINE (output, y) + 4 * (ulong) x, order, pixels);
  }
}
#endif
