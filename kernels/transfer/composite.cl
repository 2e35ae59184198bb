/* Blends layers over a background, in straight alpha
 *
 * A work-item computes one output pixel from up to LAYERS layers, from the lowest to the
 * highest. It computes in floats, so that nothing is rounded between layers. More layers
 * take several launches, which pass the pixels on in `carried`.
 *
 * Build options:
 *   ALIGNMENT   alignment of pixels in bytes, 4 or 1
 *   INTERLACED  a layer may have two fields
 *   WIDE        composite_cpu (without INTERLACED)
 *   LINEAR      blend light instead of levels
 *   SAMPLED     a layer may have a camera format, or other colorimetry than the output
 *   WRAP        light wrap for the first layer of the launch
 *   SUBSAMPLED  the output has 4:2:0 chroma: a work-item computes a block of two by two
 *               pixels, or with WIDE two rows. Colours are blended in RGB
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.clh"
#define KINDS 1
#define OUT_BITS 8
#define COLUMNS 16 /* pixels that fit a CPU's registers */
#include <frame.clh>
#include <transferfunction.clh>
#include <videoframe.clh>

#define LAYERS 8

#define OPERATOR_SOURCE 0
#define OPERATOR_OVER 1
#define OPERATOR_ADD 2

#define BACKGROUND_CHECKER 0
#define BACKGROUND_BLACK 1
#define BACKGROUND_WHITE 2
#define BACKGROUND_TRANSPARENT 3
#define BACKGROUND_CARRIED 4

/* Arguments of a layer. order: bit offsets of red, green, blue and alpha. place: x, y,
 * width and height in the output (a width of 0 disables the layer), then those of the
 * shown part of the input. modes: operator; 2 for interlaced frames, else 1. curve:
 * transfer function. */
#define LAYER_PARAMETERS(n)                                                              \
  FRAME (const, layer##n), int4 order##n, int8 place##n, int2 modes##n, float alpha##n,  \
      float4 curve##n

#define AS_WORDS 0
#define AS_LEVELS 1
#define BY_MATRIX 2

/* Sample layout of a layer or of the output, as in VideoFrame, and its colour matrix */
typedef struct
{
  ulong4 start;
  long4 row0, row1, row2;
  int4 stride, step;
  int2 size, subsampling, chroma;
  int gray, kind;
} FrameFormat;

typedef struct
{
  __global const uchar *data;
  ulong offset;
  long stride;
  int4 order;
  int8 place;
  int operator, fields;
  float alpha;
  float4 curve;
#if SAMPLED
  __constant const FrameFormat *format;
#endif
} Layer;

/* The format of the output, then those of the layers */
#if SAMPLED || SUBSAMPLED
#define FORMAT_PARAMETERS , __constant const FrameFormat *formats, int first_format
#define FORMAT_ARGUMENTS , formats, first_format
#else
#define FORMAT_PARAMETERS
#define FORMAT_ARGUMENTS
#endif
#if SAMPLED
#define LAYER_FORMAT(n) , formats + first_format + n
#else
#define LAYER_FORMAT(n)
#endif
#define MAKE_LAYER(n)                                                                    \
  (Layer){FRAME_ARGUMENTS (layer##n), order##n, place##n, modes##n.x, modes##n.y,        \
      alpha##n, curve##n LAYER_FORMAT (n)}

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

/* With LINEAR, converts levels to light, scaled to 0 … 255. */
float4
light_of_pixel (float4 pixel, float4 curve)
{
#if LINEAR
  TransferFunction of = {curve.s0, curve.s1, curve.s2, curve.s3};
  return (float4) (255 * LIGHT_OF (float3, pixel.xyz / 255, of), pixel.w);
#else
  return pixel;
#endif
}

float4
pixel_of_light (float4 pixel, float4 curve)
{
#if LINEAR
  TransferFunction of = {curve.s0, curve.s1, curve.s2, curve.s3};
  return (float4) (255 * LEVEL_OF (float3, pixel.xyz / 255, of), pixel.w);
#else
  return pixel;
#endif
}

__global const uchar *
address_in (Layer layer, int x, int y)
{
  return layer.data + layer.offset + y * layer.stride + 4 * (ulong) x;
}

int4
by_matrix (int4 pixel, __constant const FrameFormat *format)
{
  return (int4) (nearest_level (pixel, format->row0), nearest_level (pixel, format->row1),
      nearest_level (pixel, format->row2), pixel.w);
}

#if SAMPLED
VideoFrame
picture_of (Layer layer)
{
  __constant const FrameFormat *format = layer.format;
  VideoFrame picture = {format->gray, format->subsampling, format->chroma, layer.data,
      format->size, format->start, format->stride, format->step,
      INTERLACED ? layer.fields : 1};
  return picture;
}

int4
raw_pixel (Layer layer, int x, int y)
{
  VideoFrame picture = picture_of (layer);
  return read_pixel (&picture, x, y);
}

int4
sampled_pixel (Layer layer, int x, int y)
{
  int4 pixel = raw_pixel (layer, x, y);
  return layer.format->kind == BY_MATRIX ? by_matrix (pixel, layer.format) : pixel;
}
#endif

int4
levels_of_pixel (Layer layer, int x, int y)
{
#if SAMPLED
  if (layer.format->kind != AS_WORDS)
    return sampled_pixel (layer, x, y);
#endif
  uint word = load_word (address_in (layer, x, y));
  return convert_int4 ((uint4) (word) >> convert_uint4 (layer.order) & 255);
}

#define WITH_ALPHA_OF_ONE (float4) (1.0f, 1.0f, 1.0f, 1.0f / 255.0f)

/* Returns red, green and blue in 0 … 255, and alpha in 0 … 1. */
float4
load_pixel (Layer layer, int x, int y)
{
  float4 pixel = convert_float4 (levels_of_pixel (layer, x, y)) * WITH_ALPHA_OF_ONE;
  return light_of_pixel (pixel, layer.curve);
}

/* A pixel that is mixed with others: light, or samples before the colour matrix */
float4
load_mixable (Layer layer, int x, int y)
{
#if SAMPLED && !LINEAR
  if (layer.format->kind != AS_WORDS)
    return convert_float4 (raw_pixel (layer, x, y)) * WITH_ALPHA_OF_ONE;
#endif
  return load_pixel (layer, x, y);
}

float
float_color (float4 pixel, long4 row)
{
  float4 of = convert_float4 (row) / (float) (1 << FRACTION);
  return clamp (dot (of.xyz, pixel.xyz) + of.w, 0.0f, 255.0f);
}

/* Applies the colour matrix to mixed samples. */
float4
color_of_mixed (Layer layer, float4 pixel)
{
#if SAMPLED && !LINEAR
  __constant const FrameFormat *format = layer.format;
  if (format->kind == BY_MATRIX)
    return (float4) (float_color (pixel, format->row0), float_color (pixel, format->row1),
        float_color (pixel, format->row2), pixel.w);
#endif
  return pixel;
}

float
load_alpha (Layer layer, int x, int y)
{
#if SAMPLED
  if (layer.format->kind != AS_WORDS) {
    VideoFrame picture = picture_of (layer);
    return picture.step.w ? LOAD (&picture, w, x, y) / 255.0f : 1.0f;
  }
#endif
  return (load_word (address_in (layer, x, y)) >> layer.order.w & 255) / 255.0f;
}

/* Multiplies colours by alpha, so that transparent pixels do not bleed. */
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

/* The four input pixels around a position in the layer */
typedef struct
{
  int2 columns, rows;
  float share_x, share_y; /* weights of the second ones */
} Corners;

Corners
corners_of (int8 place, int fields, int x, int y)
{
  Corners corners;
#if INTERLACED
  int field = min (y % fields, place.s7 - 1);
#else
  int field = 0;
  fields = 1;
#endif
  corners.columns =
      place.s4 + neighbours (place_of (x, place.s6, place.s2, 1, 0), &corners.share_x);
  Place lines = place_of (y, place.s7, place.s3, fields, field);
  corners.rows = place.s5 + fields * neighbours (lines, &corners.share_y) + field;
  return corners;
}

#define MIXED(corners, first, second, third, fourth)                                     \
  mix (mix (first, second, corners.share_x), mix (third, fourth, corners.share_x),       \
      corners.share_y)

float4
sample_scaled (Layer layer, int x, int y)
{
  Corners at = corners_of (layer.place, layer.fields, x, y);
#define CORNER(column, row) load_mixable (layer, at.columns.column, at.rows.row)
  float4 corners[4] = {CORNER (x, x), CORNER (y, x), CORNER (x, y), CORNER (y, y)};
  float4 mean = MIXED (at, weighted (corners[0]), weighted (corners[1]),
      weighted (corners[2]), weighted (corners[3]));
  float4 plain = MIXED (at, corners[0], corners[1], corners[2], corners[3]);
  return color_of_mixed (
      layer, mean.w > 0.0f ? (float4) (mean.xyz / mean.w, mean.w) : plain);
}

float4
blend (float4 below, float4 layer, int operator)
{
  float kept = below.w * (1.0f - layer.w);
  float sum = layer.w + kept;
  float3 color = layer.xyz;

  if (operator == OPERATOR_SOURCE)
    return layer;
  if (layer.w <= 0.0f && below.w > 0.0f)
    return below;
  if (sum > 0.0f) {
    color = layer.xyz * layer.w + below.xyz * kept;
    if (sum != 1.0f)
      color /= sum;
  }
  return (float4) (
      color, operator == OPERATOR_ADD ? min (layer.w + below.w, 1.0f) : sum);
}

bool
is_covered (int8 place, int x, int y)
{
  return x >= place.s0 && y >= place.s1 && x - place.s0 < place.s2
         && y - place.s1 < place.s3;
}

/* Returns the pixel of a layer at an output position that it covers. */
float4
pixel_of_layer (Layer layer, int x, int y)
{
  int at_x = x - layer.place.s0;
  int at_y = y - layer.place.s1;
  return is_scaled (layer.place)
             ? sample_scaled (layer, at_x, at_y)
             : load_pixel (layer, layer.place.s4 + at_x, layer.place.s5 + at_y);
}

float4
add_layer (float4 below, int x, int y, Layer layer)
{
  if (!is_covered (layer.place, x, y))
    return below;
  float4 pixel = pixel_of_layer (layer, x, y);
  pixel.w *= layer.alpha;
  return blend (below, pixel, layer.operator);
}

/* --- light wrap --- */

/* Returns the alpha of pixel_of_layer() at the nearest position that the layer has. */
float
alpha_of_layer (Layer layer, int x, int y)
{
  int8 place = layer.place;
  int at_x = clamp (x - place.s0, 0, place.s2 - 1);
  int at_y = clamp (y - place.s1, 0, place.s3 - 1);
  if (!is_scaled (place))
    return load_alpha (layer, place.s4 + at_x, place.s5 + at_y);
  Corners at = corners_of (place, layer.fields, at_x, at_y);
#define ALPHA(column, row) load_alpha (layer, at.columns.column, at.rows.row)
  return MIXED (at, ALPHA (x, x), ALPHA (y, x), ALPHA (x, y), ALPHA (y, y));
}

/* Blurs along rows: the light of the layers below, times their alpha, and the layer's
 * alpha. `region` (x, y, width, height) is the part of the output that the layer covers,
 * with `radius` more rows above and below for the blur along columns. `weights`: for
 * distances 0 … `radius`. Beyond an edge, its pixels repeat. */
__kernel void
spread_light (__global const float4 *below, int2 out_size, int4 region,
    __global const float *weights, int radius, __global float4 *spread,
    LAYER_PARAMETERS (0) FORMAT_PARAMETERS)
{
  int x = get_global_id (0);
  int y = get_global_id (1);
  if (x >= region.z || y >= region.w)
    return;
  __global const float4 *line =
      below + (ulong) clamp (region.y + y, 0, out_size.y - 1) * out_size.x;
  float4 sum = (float4) (0.0f);
  for (int away = -radius; away <= radius; away++) {
    int column = region.x + x + away;
    float4 light = weighted (line[clamp (column, 0, out_size.x - 1)]);
    light.w = alpha_of_layer (MAKE_LAYER (0), column, region.y + y);
    sum += weights[abs (away)] * light;
  }
  spread[(ulong) y * region.z + x] = sum;
}

/* For a CPU: three passes, one row per work-item. gather_light() stores each value once,
 * in rows of `lengths.x`, instead of once for each of its neighbours. spread_across() and
 * spread_down() then blur along rows and along columns, four columns at a time. Their
 * rows are `lengths.y` long, a multiple of four. */
__kernel void
gather_light (__global const float4 *below, int2 out_size, int4 region, int radius,
    int2 lengths, __global float4 *light, LAYER_PARAMETERS (0) FORMAT_PARAMETERS)
{
  int y = get_global_id (1);
  if (y >= region.w)
    return;
  __global const float4 *line =
      below + (ulong) clamp (region.y + y, 0, out_size.y - 1) * out_size.x;
  for (int x = 0; x < lengths.x; x++) {
    int column = region.x - radius + x;
    float4 value = weighted (line[clamp (column, 0, out_size.x - 1)]);
    value.w = alpha_of_layer (MAKE_LAYER (0), column, region.y + y);
    light[(ulong) y * lengths.x + x] = value;
  }
}

/* Returns the weighted mean of `2 * radius + 1` values that are `step` apart, for four
 * columns. `first`: the first of these values. */
float16
mean_of_four (__global const float4 *first, long step, __global const float *weights,
    int radius)
{
  float16 sum = (float16) (0.0f);
  for (int away = -radius; away <= radius; away++, first += step)
    sum += weights[abs (away)] * vload16 (0, (__global const float *) first);
  return sum;
}

__kernel void
spread_across (__global const float4 *light, int4 region, __global const float *weights,
    int radius, int2 lengths, __global float4 *spread)
{
  int y = get_global_id (1);
  if (y >= region.w)
    return;
  for (int x = 0; x < lengths.y; x += 4)
    vstore16 (mean_of_four (light + (ulong) y * lengths.x + x, 1, weights, radius), 0,
        (__global float *) (spread + (ulong) y * lengths.y + x));
}

__kernel void
spread_down (__global const float4 *spread, int4 region, __global const float *weights,
    int radius, int2 lengths, __global float4 *light)
{
  int y = get_global_id (1);
  if (y >= region.w - 2 * radius)
    return;
  for (int x = 0; x < lengths.y; x += 4) {
    ulong at = (ulong) y * lengths.y + x;
    vstore16 (mean_of_four (spread + at, lengths.y, weights, radius), 0,
        (__global float *) (light + at));
  }
}

#if WRAP
#define WRAP_PARAMETERS                                                                  \
  , __global const float4 *spread, int4 region, __global const float *weights,           \
      int radius, float wrap
#define WRAP_ARGUMENTS , spread, region, weights, radius, wrap

/* Screens the light from below onto the layer's colours, where blurred alpha is less than
 * 1. */
float4
lit_from_below (float4 pixel, int x, int y WRAP_PARAMETERS)
{
  __global const float4 *middle =
      spread + (ulong) (y - region.y) * region.z + (x - region.x);
  float4 sum = (float4) (0.0f);
  for (int away = -radius; away <= radius; away++)
    sum += weights[abs (away)] * middle[away * region.z];
  float3 light = wrap * max (1.0f - sum.w, 0.0f) * sum.xyz;
  pixel.xyz += light * (1.0f - pixel.xyz / 255.0f);
  return pixel;
}

float4
add_lit_layer (float4 below, int x, int y, Layer layer WRAP_PARAMETERS)
{
  if (!is_covered (layer.place, x, y))
    return below;
  float4 pixel = pixel_of_layer (layer, x, y);
  if (pixel.w > 0.0f)
    pixel = lit_from_below (pixel, x, y WRAP_ARGUMENTS);
  pixel.w *= layer.alpha;
  return blend (below, pixel, layer.operator);
}
#else
#define WRAP_PARAMETERS
#define WRAP_ARGUMENTS
#endif

/* --- a launch --- */

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

/* `area`: left, top, right and bottom of the part of the output to compute. `last`: store
 * bytes instead of passing the pixel on in `carried`. */
#define PARAMETERS                                                                       \
  FRAME (, output), int4 order, int2 out_size, int4 area, float4 curve, int background,  \
      int last, __global float4 *carried, LAYER_PARAMETERS (0), LAYER_PARAMETERS (1),              \
      LAYER_PARAMETERS (2), LAYER_PARAMETERS (3), LAYER_PARAMETERS (4),                  \
      LAYER_PARAMETERS (5), LAYER_PARAMETERS (6),                                        \
      LAYER_PARAMETERS (7) FORMAT_PARAMETERS WRAP_PARAMETERS
#define LAYER_ARGUMENTS(n)                                                               \
  FRAME_ARGUMENTS (layer##n), order##n, place##n, modes##n, alpha##n, curve##n
#define ARGUMENTS                                                                        \
  FRAME_ARGUMENTS (output), order, out_size, area, curve, background, last, carried,     \
      LAYER_ARGUMENTS (0), LAYER_ARGUMENTS (1), LAYER_ARGUMENTS (2),                     \
      LAYER_ARGUMENTS (3), LAYER_ARGUMENTS (4), LAYER_ARGUMENTS (5),                     \
      LAYER_ARGUMENTS (6), LAYER_ARGUMENTS (7) FORMAT_ARGUMENTS WRAP_ARGUMENTS
#define FOR_UPPER_LAYERS(DO) DO (1) DO (2) DO (3) DO (4) DO (5) DO (6) DO (7)

/* Returns the result of the launch: light if the launch is not the last one, else levels,
 * with alpha in 0 … 1. */
float4
blended_pixel (int x, int y, PARAMETERS)
{
  float4 pixel = background == BACKGROUND_CARRIED
                     ? carried[(ulong) y * out_size.x + x]
                     : light_of_pixel (background_at (background, x, y), curve);
#define ADD(n)                                                                           \
  if (place##n.s2 > 0)                                                                   \
    pixel = add_layer (pixel, x, y, MAKE_LAYER (n));
#if WRAP
  pixel = add_lit_layer (pixel, x, y, MAKE_LAYER (0) WRAP_ARGUMENTS);
#else
  ADD (0)
#endif
  FOR_UPPER_LAYERS (ADD)
  return last ? pixel_of_light (pixel, curve) : pixel;
}

int4
rounded_levels (float4 pixel)
{
  return convert_int4_rte ((float4) (pixel.xyz, pixel.w * 255.0f));
}

#if SUBSAMPLED
typedef struct
{
  __global uchar *data;
  int2 size;
  ulong4 start;
  int4 stride, step;
  int2 chroma;
} Canvas;

#define CANVAS                                                                           \
  {output, out_size, formats[0].start, formats[0].stride, formats[0].step,               \
      formats[0].chroma}
#define OUT_GRAY 0
#define OUT_W_SUB 1
#define OUT_H_SUB 1
#define OUT_FIELDS (INTERLACED ? 2 : 1)
#define CHROMA_OUT_H out->chroma.x
#define CHROMA_OUT_V out->chroma.y
#define STORE(component, x, y, value)                                                    \
  (*ADDRESS (out, component, x, y) = (uchar) (value))
#define SOURCE_PARAMETERS PARAMETERS
#define SOURCE_ARGUMENTS ARGUMENTS
#define PIXEL(x, y) by_matrix (rounded_levels (blended_pixel (x, y, ARGUMENTS)), formats)
#include "chromablocks.clh"

__kernel void
composite (PARAMETERS)
{
  const Canvas canvas = CANVAS;
  int x = area.x + 2 * get_global_id (0);
  int block = area.y / 2 + get_global_id (1);
  if (x < area.z && first_line (block) < area.w)
    store_block (&canvas, x, block, ARGUMENTS);
}
#else
void
composite_pixel (int x, int y, PARAMETERS)
{
  float4 pixel = blended_pixel (x, y, ARGUMENTS);
  if (!last) {
    carried[(ulong) y * out_size.x + x] = pixel;
    return;
  }
  uint4 bytes = convert_uint4 (rounded_levels (pixel)) << convert_uint4 (order);
  store_word (LINE (output, y) + 4 * (ulong) x,
      bytes.x | bytes.y | bytes.z | bytes.w);
}

__kernel void
composite (PARAMETERS)
{
  int x = area.x + get_global_id (0);
  int y = area.y + get_global_id (1);
  if (x < area.z && y < area.w)
    composite_pixel (x, y, ARGUMENTS);
}
#endif

#if WIDE
/* For a CPU: a work-item computes a row, or two with SUBSAMPLED, sixteen columns at a
 * time. Columns that a layer covers only in part are computed one by one. */
typedef struct
{
  float16 red, green, blue, alpha;
} WidePixels;

/* Sixteen interleaved pixels, of which four vectors have four each */
#define COMPONENT(n) (float16) (first.n, second.n, third.n, fourth.n)
#define PIXELS_OF_FOUR                                                                   \
  {COMPONENT (s048c), COMPONENT (s159d), COMPONENT (s26ae), COMPONENT (s37bf)}

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

/* light_of_pixel() and pixel_of_light() for sixteen pixels */
#define CONVERT_COLORS(CONVERT)                                                          \
  const TransferFunction of = {curve.s0, curve.s1, curve.s2, curve.s3};                  \
  pixels.red = 255 * CONVERT (float16, pixels.red / 255, of);                            \
  pixels.green = 255 * CONVERT (float16, pixels.green / 255, of);                        \
  pixels.blue = 255 * CONVERT (float16, pixels.blue / 255, of);

INLINED WidePixels
light_of_wide (WidePixels pixels, float4 curve)
{
#if LINEAR
  CONVERT_COLORS (LIGHT_OF)
#endif
  return pixels;
}

INLINED WidePixels
wide_of_light (WidePixels pixels, float4 curve)
{
#if LINEAR
  CONVERT_COLORS (LEVEL_OF)
#endif
  return pixels;
}

INLINED WidePixels
background_wide (int background, int x, int y, float4 curve)
{
  float4 first = light_of_pixel (background_at (background, x, y), curve);
  float4 second = light_of_pixel (background_at (background, x + 8, y), curve);
  WidePixels pixels = {(float16) ((float8) (first.x), (float8) (second.x)),
      (float16) ((float8) (first.y), (float8) (second.y)),
      (float16) ((float8) (first.z), (float8) (second.z)), (float16) (first.w)};
  return pixels;
}

#define STRIP 144 /* maximum input columns for sixteen output columns */

/* Returns the range of columns of the layer that can be computed sixteen at a time. For a
 * scaled layer these are all columns, or none if a strip is too short or light is scaled.
 * For an unscaled one, the chroma neighbours must be inside the input. */
INLINED int2
wide_part_of (Layer layer)
{
  int8 place = layer.place;
  int2 part = (int2) (place.s0, place.s0 + place.s2);
  if (is_scaled (place))
    return !LINEAR && place.s6 <= place.s2 * (STRIP / COLUMNS - 1) ? part
                                                                   : (int2) (INT_MAX);
#if SAMPLED
  if (layer.format->kind != AS_WORDS) {
    int beside = place.s0 - place.s4; /* column of the output for the input's first */
    if (beside & 1)
      return (int2) (INT_MAX);
    part.x = max (part.x, beside + CHROMA_REACH);
    part.y = min (part.y, beside + layer.format->size.x - CHROMA_REACH);
  }
#endif
  return part;
}

INLINED WidePixels
floats_of_levels (Pixels levels, float alpha)
{
  WidePixels pixels = {convert_float16 (levels.x), convert_float16 (levels.y),
      convert_float16 (levels.z), convert_float16 (levels.w) * (1.0f / 255.0f) * alpha};
  return pixels;
}

INLINED WidePixels
floats_of_words (uint16 words, int4 order)
{
  return floats_of_levels (pixels_of_words (words, convert_uint4 (order)), 1.0f);
}

INLINED Pixels
by_matrix_wide (Pixels pixels, __constant const FrameFormat *format)
{
  Pixels made = {color_wide (pixels, format->row0), color_wide (pixels, format->row1),
      color_wide (pixels, format->row2), pixels.w};
  return made;
}

#if SAMPLED
/* Samples before the colour matrix */
INLINED Pixels
wide_raw_samples (Layer layer, int x, int y)
{
  VideoFrame picture = picture_of (layer);
  return read_pixels (&picture, x, y);
}

INLINED Pixels
wide_samples (Layer layer, int x, int y)
{
  Pixels pixels = wide_raw_samples (layer, x, y);
  return layer.format->kind == BY_MATRIX ? by_matrix_wide (pixels, layer.format) : pixels;
}
#endif

INLINED void
blend_wide (WidePixels *below, WidePixels layer, int operator)
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

/* Return the bits that are set in all words, or in any word. */
INLINED uint
bits_of_all (uint16 words)
{
  uint8 eight = words.lo & words.hi;
  uint4 four = eight.lo & eight.hi;
  uint2 two = four.lo & four.hi;
  return two.x & two.y;
}

INLINED uint
bits_of_any (uint16 words)
{
  return ~bits_of_all (~words);
}

/* Return true if the layer shows none of these pixels, or nothing but them. */
INLINED bool
are_clear (Layer layer, uint16 words)
{
  uint alpha = 255u << layer.order.w;
  return (bits_of_any (words) & alpha) == 0 && layer.operator != OPERATOR_SOURCE;
}

INLINED bool
are_opaque (Layer layer, uint16 words)
{
  uint alpha = 255u << layer.order.w;
  return (bits_of_all (words) & alpha) == alpha && layer.alpha == 1.0f;
}

/* Blends the words of a layer that covers all of these pixels. */
INLINED void
add_wide_words (WidePixels *below, Layer layer, uint16 words)
{
  if (are_clear (layer, words) && !any (below->alpha <= 0.0f))
    return;
  Pixels levels = pixels_of_words (words, convert_uint4 (layer.order));
  WidePixels pixels =
      light_of_wide (floats_of_levels (levels, layer.alpha), layer.curve);
  if (are_opaque (layer, words))
    *below = pixels;
  else
    blend_wide (below, pixels, layer.operator);
}

/* neighbours() for sixteen columns: those to the left and to the right, and the weight of
 * the latter. Divides integers as floats, then corrects the quotient. */
typedef struct
{
  int16 left, right;
  float16 share;
} WideCorners;

INLINED WideCorners
wide_corners_of (int8 place, int x)
{
  const int16 columns = (int16) (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  Place first = place_of (x, place.s6, place.s2, 1, 0);
  int16 middle = max (first.middle + columns * (2 * place.s6), (int16) (0));
  WideCorners at;
  at.left = convert_int16 (convert_float16 (middle) / (float) first.unit);
  int16 rest = middle - at.left * first.unit;
  int16 too_far = rest < 0, too_near = rest >= first.unit; /* -1 if true */
  at.left += too_far - too_near;
  rest += first.unit * (too_near - too_far);
  at.right = min (at.left + 1, (int16) (first.count - 1));
  at.share = convert_float16 (rest) / (float) first.unit;
  return at;
}

/* Loads the samples of a row from column `from` to `to`, in the order of `layer`, before the
 * colour matrix. */
INLINED void
load_strip (Layer layer, int from, int to, int line, uint *strip)
{
#if SAMPLED
  if (layer.format->kind != AS_WORDS) {
    uint4 bits = convert_uint4 (layer.order);
    for (int x = from; x <= to;) {
      if (!(x & 1) && x >= CHROMA_REACH
          && x + COLUMNS + CHROMA_REACH <= layer.format->size.x) {
        vstore16 (
            words_of_pixels (wide_raw_samples (layer, x, line), bits), 0, strip + x - from);
        x += COLUMNS;
      } else {
        uint4 bytes = convert_uint4 (raw_pixel (layer, x, line)) << bits;
        strip[x++ - from] = bytes.x | bytes.y | bytes.z | bytes.w;
      }
    }
    return;
  }
#endif
  int x = from;
  for (; x + COLUMNS <= to; x += COLUMNS)
    vstore16 (load_words (address_in (layer, x, line)), 0, strip + x - from);
  for (; x <= to; x++)
    strip[x - from] = load_word (address_in (layer, x, line));
}

INLINED uint16
gathered (const uint *strip, int16 columns)
{
  int at[COLUMNS];
  uint words[COLUMNS];
  vstore16 (columns, 0, at);
  for (int n = 0; n < COLUMNS; n++)
    words[n] = strip[at[n]];
  return vload16 (0, words);
}

/* Two rows of the input that lie around a row of the layer */
typedef struct
{
  uint rows[2][STRIP + COLUMNS]; /* and what is stored beyond */
  int count;                     /* of pixels in a row */
  float share;                   /* weight of the second */
} Strips;

INLINED Strips
load_strips (Layer layer, WideCorners at, int y)
{
  int8 place = layer.place;
  Strips strips;
  int2 lines = place.s5 + neighbours (place_of (y, place.s7, place.s3, 1, 0), &strips.share);
  int from = place.s4 + at.left.s0, to = place.s4 + at.right.sf;
  strips.count = to - from + 1;
  load_strip (layer, from, to, lines.x, strips.rows[0]);
  load_strip (layer, from, to, lines.y, strips.rows[1]);
  return strips;
}

INLINED bool
is_opaque_strip (const Strips *strips, uint alpha)
{
  uint all = alpha;
  for (int n = 0; n < strips->count; n++)
    all &= strips->rows[0][n] & strips->rows[1][n];
  return all == alpha;
}

/* Mixes both rows, then the columns around each of sixteen positions. The members are the
 * bytes of a word. */
INLINED WidePixels
mixed_strips (const Strips *strips, WideCorners at)
{
  float rows[4 * (STRIP + COLUMNS)], mixed[4 * COLUMNS];
  int left[COLUMNS], right[COLUMNS];
  float share[COLUMNS];
  for (int n = 0; n < strips->count; n += 4) {
    float16 first = convert_float16 (as_uchar16 (vload4 (0, strips->rows[0] + n)));
    float16 second = convert_float16 (as_uchar16 (vload4 (0, strips->rows[1] + n)));
    vstore16 (mix (first, second, strips->share), 0, rows + 4 * n);
  }
  vstore16 (at.left - at.left.s0, 0, left);
  vstore16 (at.right - at.left.s0, 0, right);
  vstore16 (at.share, 0, share);
  for (int n = 0; n < COLUMNS; n++)
    vstore4 (mix (vload4 (left[n], rows), vload4 (right[n], rows), share[n]), n, mixed);
  float16 first = vload16 (0, mixed), second = vload16 (1, mixed);
  float16 third = vload16 (2, mixed), fourth = vload16 (3, mixed);
  WidePixels bytes = PIXELS_OF_FOUR;
  return bytes;
}

INLINED float16
float_color_wide (WidePixels pixels, long4 row)
{
  float4 of = convert_float4 (row) / (float) (1 << FRACTION);
  float16 sum =
      of.x * pixels.red + of.y * pixels.green + of.z * pixels.blue + (float16) (of.w);
  return min (max (sum, (float16) (0.0f)), (float16) (255.0f));
}

INLINED WidePixels
color_of_mixed_wide (Layer layer, WidePixels pixels)
{
#if SAMPLED
  __constant const FrameFormat *format = layer.format;
  if (format->kind == BY_MATRIX) {
    WidePixels made = {float_color_wide (pixels, format->row0),
        float_color_wide (pixels, format->row1), float_color_wide (pixels, format->row2),
        pixels.alpha};
    return made;
  }
#endif
  return pixels;
}

/* sample_scaled() for sixteen columns */
INLINED WidePixels
sample_wide (Layer layer, int x, int y)
{
  WideCorners at = wide_corners_of (layer.place, x);
  int from = at.left.s0;
  Strips strips = load_strips (layer, at, y);
  uint4 bits = convert_uint4 (layer.order);
  if (is_opaque_strip (&strips, 255u << bits.w)) {
    WidePixels mixed = mixed_strips (&strips, at);
    const float16 bytes[4] = {mixed.red, mixed.green, mixed.blue, mixed.alpha};
    WidePixels opaque = {bytes[bits.x / 8], bytes[bits.y / 8], bytes[bits.z / 8],
        (float16) (1.0f)};
    return color_of_mixed_wide (layer, opaque);
  }
  uint16 words[4] = {gathered (strips.rows[0], at.left - from),
      gathered (strips.rows[0], at.right - from), gathered (strips.rows[1], at.left - from),
      gathered (strips.rows[1], at.right - from)};
#define LEVELS(n, component) convert_float16 (words[n] >> bits.component & 255)
#define MIXED_WIDE(first, second, third, fourth)                                         \
  mix (mix (first, second, at.share), mix (third, fourth, at.share), strips.share)
#define PLAIN(component)                                                                 \
  MIXED_WIDE (LEVELS (0, component), LEVELS (1, component), LEVELS (2, component),       \
      LEVELS (3, component))
#define ALPHA_WIDE(n) (LEVELS (n, w) * (1.0f / 255.0f))
  float16 alphas[4] = {ALPHA_WIDE (0), ALPHA_WIDE (1), ALPHA_WIDE (2), ALPHA_WIDE (3)};
  WidePixels pixels = {PLAIN (x), PLAIN (y), PLAIN (z),
      MIXED_WIDE (alphas[0], alphas[1], alphas[2], alphas[3])};
  int16 is_visible = pixels.alpha > 0.0f;
#define WEIGHTED(n, component) LEVELS (n, component) * alphas[n]
#define UNWEIGHTED(component)                                                            \
  (MIXED_WIDE (WEIGHTED (0, component), WEIGHTED (1, component),                         \
       WEIGHTED (2, component), WEIGHTED (3, component))                                 \
      / pixels.alpha)
  pixels.red = select (pixels.red, UNWEIGHTED (x), is_visible);
  pixels.green = select (pixels.green, UNWEIGHTED (y), is_visible);
  pixels.blue = select (pixels.blue, UNWEIGHTED (z), is_visible);
  return color_of_mixed_wide (layer, pixels);
}

/* Sets the component order in which the words of sampled layers are built. */
INLINED Layer
in_order (Layer layer)
{
#if SAMPLED
  if (layer.format->kind != AS_WORDS)
    layer.order = (int4) (0, 8, 16, 24);
#endif
  return layer;
}

/* Returns the pixels of an unscaled layer, in the component order of in_order(). */
INLINED uint16
words_of_layer (Layer layer, int x, int y)
{
  int8 place = layer.place;
  int2 at = (int2) (place.s4 + x - place.s0, place.s5 + y - place.s1);
#if SAMPLED
  if (layer.format->kind != AS_WORDS)
    return words_of_pixels (
        wide_samples (layer, at.x, at.y), convert_uint4 (in_order (layer).order));
#endif
  return load_words (address_in (layer, at.x, at.y));
}

INLINED void
add_wide_floats (WidePixels *below, WidePixels pixels, Layer layer)
{
  pixels.alpha *= layer.alpha;
  if (all (pixels.alpha == 1.0f))
    *below = pixels;
  else
    blend_wide (below, pixels, layer.operator);
}

INLINED WidePixels
floats_of_layer (Layer layer, int x, int y)
{
  int8 place = layer.place;
  return is_scaled (place)
             ? sample_wide (in_order (layer), x - place.s0, y - place.s1)
             : light_of_wide (floats_of_words (words_of_layer (layer, x, y),
                                  in_order (layer).order),
                 layer.curve);
}

/* --- in floats --- */

/* Loads sixteen interleaved pixels. */
INLINED WidePixels
load_carried (__global const float4 *at)
{
  __global const float *floats = (__global const float *) at;
  float16 first = vload16 (0, floats), second = vload16 (1, floats);
  float16 third = vload16 (2, floats), fourth = vload16 (3, floats);
  WidePixels pixels = PIXELS_OF_FOUR;
  return pixels;
}

INLINED void
store_carried (__global float4 *at, WidePixels pixels)
{
  __global float *floats = (__global float *) at;
#define FOUR(n, place)                                                                   \
  {                                                                                      \
    float16 four;                                                                        \
    four.s048c = pixels.red.n;                                                           \
    four.s159d = pixels.green.n;                                                         \
    four.s26ae = pixels.blue.n;                                                          \
    four.s37bf = pixels.alpha.n;                                                         \
    vstore16 (four, place, floats);                                                      \
  }
  FOUR (s0123, 0)
  FOUR (s4567, 1)
  FOUR (s89ab, 2)
  FOUR (scdef, 3)
}

#if WRAP
/* lit_from_below() for sixteen columns, whose light is blurred in both directions */
INLINED void
light_wide (WidePixels *pixels, int x, int y WRAP_PARAMETERS)
{
  WidePixels light =
      load_carried (spread + (ulong) (y - region.y) * region.z + (x - region.x));
  float16 share = wrap * max (1.0f - light.alpha, (float16) (0.0f));
  pixels->red += share * light.red * (1.0f - pixels->red / 255.0f);
  pixels->green += share * light.green * (1.0f - pixels->green / 255.0f);
  pixels->blue += share * light.blue * (1.0f - pixels->blue / 255.0f);
}
#endif

/* --- rows --- */

/* With a loop over this array, the blending code is compiled once instead of eight
 * times. */
#define ALL_LAYERS                                                                       \
  {MAKE_LAYER (0), MAKE_LAYER (1), MAKE_LAYER (2), MAKE_LAYER (3), MAKE_LAYER (4),       \
      MAKE_LAYER (5), MAKE_LAYER (6), MAKE_LAYER (7)}

/* The layers on a row: their indices, and the columns that they cover, and that can be
 * computed sixteen at a time */
typedef struct
{
  int count, here[LAYERS];
  int2 covered[LAYERS], wide[LAYERS];
} WideRow;

INLINED WideRow
wide_row (const Layer *layers, int y)
{
  WideRow row;
  row.count = 0;
  for (int n = 0; n < LAYERS; n++) {
    int8 place = layers[n].place;
    if (place.s2 <= 0 || y < place.s1 || y - place.s1 >= place.s3)
      continue;
    row.covered[row.count] = (int2) (place.s0, place.s0 + place.s2);
    row.wide[row.count] = wide_part_of (layers[n]);
    row.here[row.count++] = n;
  }
  return row;
}

/* Returns true if sixteen columns can be computed at a time. */
INLINED bool
is_wide_at (const WideRow *row, int x, int4 area)
{
  int end = x + COLUMNS;
  bool wide = end <= area.z;
  for (int n = 0; n < row->count; n++)
    wide = wide
           && (end <= row->covered[n].x || x >= row->covered[n].y
               || (x >= row->wide[n].x && end <= row->wide[n].y));
  return wide;
}

INLINED bool
is_at (const WideRow *row, int n, int x)
{
  return x >= row->covered[n].x && x < row->covered[n].y;
}

/* blended_pixel() for sixteen columns */
INLINED WidePixels
blended_wide (const WideRow *row, const Layer *layers, int x, int y, PARAMETERS)
{
  WidePixels pixels = background == BACKGROUND_CARRIED
                          ? load_carried (carried + (ulong) y * out_size.x + x)
                          : background_wide (background, x, y, curve);
  for (int n = 0; n < row->count; n++) {
    const Layer layer = layers[row->here[n]];
    if (!is_at (row, n, x))
      continue;
    bool lit = WRAP && row->here[n] == 0;
    if (!lit && !is_scaled (layer.place)) {
      add_wide_words (&pixels, in_order (layer), words_of_layer (layer, x, y));
      continue;
    }
    WidePixels layer_pixels = floats_of_layer (layer, x, y);
#if WRAP
    if (lit)
      light_wide (&layer_pixels, x, y WRAP_ARGUMENTS);
#endif
    add_wide_floats (&pixels, layer_pixels, layer);
  }
  return pixels;
}

/* Returns true if sixteen pixels of the output are opaque pixels of one layer, which is
 * common in keyed video. Sets `words` to them, in the order of the output. */
INLINED bool
find_opaque_words (
    const WideRow *row, const Layer *layers, int x, int y, int4 order, float4 curve,
    uint16 *words)
{
  for (int n = row->count - 1; n >= 0; n--) {
    if (!is_at (row, n, x))
      continue;
    const Layer layer = in_order (layers[row->here[n]]);
    const bool has_other_curve = LINEAR && any (layer.curve != curve);
    if ((WRAP && row->here[n] == 0) || is_scaled (layer.place) || layer.alpha != 1.0f
        || has_other_curve)
      return false;
    *words = words_of_layer (layer, x, y);
    if (are_opaque (layer, *words)) {
      if (any (layer.order != order))
        *words = words_of_pixels (
            pixels_of_words (*words, convert_uint4 (layer.order)), convert_uint4 (order));
      return true;
    }
    if (!are_clear (layer, *words))
      return false;
  }
  return false;
}

/* The result of the last launch for sixteen columns, in the order of the output */
INLINED uint16
words_wide (const WideRow *row, const Layer *layers, int x, int y, PARAMETERS)
{
  uint16 words;
  if (find_opaque_words (row, layers, x, y, order, curve, &words))
    return words;
  WidePixels pixels = wide_of_light (blended_wide (row, layers, x, y, ARGUMENTS), curve);
  uint4 bits = convert_uint4 (order);
  return convert_uint16_rte (pixels.red) << bits.x
         | convert_uint16_rte (pixels.green) << bits.y
         | convert_uint16_rte (pixels.blue) << bits.z
         | convert_uint16_rte (pixels.alpha * 255.0f) << bits.w;
}

#if SUBSAMPLED
__kernel void
composite_cpu (PARAMETERS)
{
  const Canvas canvas = CANVAS;
  const Layer layers[LAYERS] = ALL_LAYERS;
  int block = area.y / 2 + get_global_id (1);
  int first = first_line (block);
  int lines[2] = {first, line_of_block (first, 1, out_size.y)};
  if (first >= area.w)
    return;
  const WideRow rows[2] = {wide_row (layers, lines[0]), wide_row (layers, lines[1])};
  int2 before = 0;
  for (int x = area.x; x < area.z; x += COLUMNS) {
    bool has_before = x > area.x || x == 0;
    if (!has_before || !is_wide_at (&rows[0], x, area) || !is_wide_at (&rows[1], x, area)) {
      for (int at = x; at < min (x + COLUMNS, area.z); at += 2)
        before = store_block (&canvas, at, block, ARGUMENTS);
      continue;
    }
    int16 chroma[2];
    for (int j = 0; j < 2; j++) {
      uint16 words = words_wide (&rows[j], layers, x, lines[j], ARGUMENTS);
      Pixels converted =
          by_matrix_wide (pixels_of_words (words, convert_uint4 (order)), formats);
      store_wide_row (&canvas, x, lines[j], j, converted, &chroma[0], &chroma[1]);
    }
    store_wide_chroma (&canvas, x, block, chroma[0], chroma[1], &before);
  }
}
#else
__kernel void
composite_cpu (PARAMETERS)
{
  const Layer layers[LAYERS] = ALL_LAYERS;
  int y = area.y + get_global_id (1);
  if (y >= area.w)
    return;
  const WideRow row = wide_row (layers, y);
  for (int x = area.x; x < area.z; x += COLUMNS) {
    if (!is_wide_at (&row, x, area)) {
      for (int at = x; at < min (x + COLUMNS, area.z); at++)
        composite_pixel (at, y, ARGUMENTS);
      continue;
    }
    if (last)
      store_words (LINE (output, y) + 4 * (ulong) x,
          words_wide (&row, layers, x, y, ARGUMENTS));
    else
      store_carried (carried + (ulong) y * out_size.x + x,
          blended_wide (&row, layers, x, y, ARGUMENTS));
  }
}
#endif
#endif
