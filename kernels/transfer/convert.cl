/* Converts raw video formats: loads, chroma, scaling, colours, stores
 *
 * A work-item computes one block of output pixels that share their chroma. Build options
 * select the kind of format. Arguments give the positions of the components, so that one
 * program serves all formats of a kind:
 *
 *   IN_..., CHROMA_IN_...      as in videoframe.clh
 *   OUT_..., CHROMA_OUT_...    the same for the output
 *   OUT_COLUMNS                columns that share a block of chroma, or bytes
 *   FIELDS                     2 to convert the two fields separately, else 1
 *   SCALING                    SCALE_NONE, SCALE_NEAREST, SCALE_BILINEAR, SCALE_AREA,
 *                              SCALE_LANCZOS
 *   ORIENTED                   1 for rotation, mirroring or borders
 *   COLORS                     COLORS_COPY, COLORS_MATRIX, COLORS_MAP, COLORS_SHIFT
 *   DITHER                     1 for Bayer dithering
 *   WIDE                       1 for convert_cpu, which also needs
 *   IN_STEPS, OUT_STEPS        values of in_step and out_step
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.clh"
#define COLUMNS 16 /* pixels that fit a CPU's registers */
#include <videoframe.clh>

#define SCALE_NONE 0
#define SCALE_NEAREST 1
#define SCALE_BILINEAR 2
#define SCALE_AREA 3
#define SCALE_LANCZOS 4

#include "convertoutput.clh"

/* Samples the input at the position of an output pixel. */
#if SCALING == SCALE_NONE
int4
sample (const VideoFrame *in, const Taps *taps, int2 out_size, int x, int y)
{
  return read_pixel (in, x, y);
}
#else
#if SCALING == SCALE_NEAREST
int
nearest (Place place)
{
  return min (max (place.middle + place.unit / 2, 0) / place.unit, place.count - 1);
}

int4
sample_at (const VideoFrame *in, Place columns, Place lines, int field)
{
  return read_pixel (in, nearest (columns), FIELDS * nearest (lines) + field);
}
#elif SCALING == SCALE_BILINEAR
int4
sample_at (const VideoFrame *in, Place columns, Place lines, int field)
{
  float share_x, share_y;
  int2 column = neighbours (columns, &share_x);
  int2 row = FIELDS * neighbours (lines, &share_y) + field;
  float4 above = mix (convert_float4 (read_pixel (in, column.x, row.x)),
      convert_float4 (read_pixel (in, column.y, row.x)), share_x);
  float4 below = mix (convert_float4 (read_pixel (in, column.x, row.y)),
      convert_float4 (read_pixel (in, column.y, row.y)), share_x);
  return convert_int4_rte (mix (above, below, share_y));
}
#elif SCALING == SCALE_LANCZOS
/* Beyond an edge of the input, its samples repeat. */
int4
weighted (const VideoFrame *in, const Taps *taps, int x, int y, int field)
{
  __global const float *across = taps->across + x * (taps->count.x + 1);
  __global const float *down = taps->down + y * (taps->count.y + 1);
  int last = (in->size.y - 1 - field) / FIELDS;
  float4 sum = 0;
  for (int row = 0; row < taps->count.y; row++) {
    int line = FIELDS * clamp ((int) down[0] + row, 0, last) + field;
    float4 of_line = 0;
    for (int column = 0; column < taps->count.x; column++)
      of_line += across[1 + column]
                 * convert_float4 (read_pixel (in,
                     clamp ((int) across[0] + column, 0, in->size.x - 1), line));
    sum += down[1 + row] * of_line;
  }
  return clamp (convert_int4_rte (sum), 0, MAXIMUM (IN_BITS));
}
#else
/* Returns the range of the input that an output sample covers: from, to. A row of a field
 * is as high as two of the frame. */
int2
covered (Place place, int fields, int in_size)
{
  int end = place.count * place.unit;
  int middle = place.middle + place.unit / 2;
  int from = clamp (middle - fields * in_size, 0, end - 1);
  return (int2) (from, clamp (middle + fields * in_size, from + 1, end));
}

float
coverage (int i, int2 range, int unit)
{
  int begin = max (range.x, i * unit);
  int end = min (range.y, (i + 1) * unit);
  return (float) (end - begin) / (float) (range.y - range.x);
}

int4
sample_at (const VideoFrame *in, Place columns, Place lines, int field)
{
  int2 across = covered (columns, 1, in->size.x);
  int2 down = covered (lines, FIELDS, in->size.y);
  float4 sum = (float4) (0.0f);
  for (int row = down.x / lines.unit; row * lines.unit < down.y; row++) {
    float4 line = (float4) (0.0f);
    for (int column = across.x / columns.unit; column * columns.unit < across.y; column++)
      line += coverage (column, across, columns.unit)
              * convert_float4 (read_pixel (in, column, FIELDS * row + field));
    sum += coverage (row, down, lines.unit) * line;
  }
  return convert_int4_rte (sum);
}
#endif

/* A frame of one row has only one field. */
int4
sample (const VideoFrame *in, const Taps *taps, int2 out_size, int x, int y)
{
  int field = min (FIELD_OF (y), in->size.y - 1);
#if SCALING == SCALE_LANCZOS
  return weighted (in, taps, x, y, field);
#else
  return sample_at (in, place_of (x, in->size.x, out_size.x, 1, 0),
      place_of (y, in->size.y, out_size.y, FIELDS, field), field);
#endif
}
#endif

/* Returns the pixel of the output at `at`. */
int4
pixel_at (const VideoFrame *in, const Canvas *out, const Colors *colors, int2 at)
{
#if ORIENTED
  int2 place = at - out->target.xy, size = out->target.zw;
  if (place.x < 0 || place.y < 0 || place.x >= size.x || place.y >= size.y)
    return out->border;
  if (out->orientation.x) {
    place = place.yx;
    size = size.yx;
  }
  if (out->orientation.y)
    place.x = size.x - 1 - place.x;
  if (out->orientation.z)
    place.y = size.y - 1 - place.y;
  return convert_pixel (sample (in, &out->taps, size, place.x, place.y), colors, at);
#else
  return convert_pixel (sample (in, &out->taps, out->size, at.x, at.y), colors, at);
#endif
}

#define PIXEL(x, y) pixel_at (in, out, colors, (int2) (x, y))
#define SOURCE_PARAMETERS const VideoFrame *in, const Colors *colors
#define SOURCE_ARGUMENTS in, colors
#include "chromablocks.clh"

/* Converts the block that begins at column x, and returns the chroma of its last
 * column. */
int2
convert_block (const VideoFrame *in, const Canvas *out, const Colors *colors, int x,
    int block)
{
#if OUT_PACKED
  int y = first_line (block);
  uint4 bytes = convert_uint4 (PIXEL (x, y)) << (convert_uint4 (out->start & 3) << 3);
  __global uchar *out_line =
      out->data + (out->start.x & ~3UL) + (ulong) y * out->stride.x;
  ((__global uint *) out_line)[x] = bytes.x | bytes.y | bytes.z | bytes.w;
  return 0;
#else
  return store_block (out, x, block, SOURCE_ARGUMENTS);
#endif
}

#define PARAMETERS                                                                       \
  __global const uchar *in_data, int2 in_size, ulong4 in_start, int4 in_stride,          \
      int4 in_step, __global uchar *out_data, int2 out_size, ulong4 out_start,           \
      int4 out_stride, int4 out_step, long4 row0, long4 row1, long4 row2,                \
      __global const float *map, int4 target, int4 orientation, int4 border,             \
      __global const float *across, __global const float *down, int2 taps
#define DECLARE_FRAMES                                                                   \
  VideoFrame in = {in_data, in_size, in_start, in_stride, in_step, FIELDS};              \
  Canvas out = {out_data, out_size, out_start, out_stride, out_step, 0, target,          \
      orientation, border, {across, down, taps}};                                        \
  Colors colors = {row0, row1, row2, map}

__kernel void
convert (PARAMETERS)
{
  DECLARE_FRAMES;
  int x = get_global_id (0) * OUT_COLUMNS, block = get_global_id (1);
  if (x >= out_size.x || first_line (block) >= out_size.y)
    return;
#if OUT_COLUMNS == OUT_BLOCK_W
  convert_block (&in, &out, &colors, x, block);
#else
#if OUT_V210
  uint4 words = 0;
  out.words = &words;
#endif
  for (int column = x; column < min (x + OUT_COLUMNS, out_size.x); column += OUT_BLOCK_W)
    convert_block (&in, &out, &colors, column, block);
#endif
#if OUT_V210
  __global uchar *line = out.data + out.start.x + (ulong) block * out.stride.x;
#ifdef __ENDIAN_LITTLE__
  vstore16 (as_uchar16 (words), x / 6, line);
#else
  vstore16 (as_uchar16 (words).s32107654ba98fedc, x / 6, line);
#endif
#endif
}

#if WIDE
/* Converts sixteen columns. Replaces `before` by the chroma to the left of the next sixteen
 * columns. */
INLINED void
convert_wide_block (const VideoFrame *in, const Canvas *out, const Colors *colors, int x,
    int block, int2 *before)
{
  int y = block << OUT_H_SUB;
#if OUT_PACKED
  Pixels pixels = converted_wide (read_pixels (in, x, y), colors);
  uint4 bits = convert_uint4 (out->start & 3) << 3;
  __global uchar *line = out->data + (out->start.x & ~3UL) + (ulong) y * out->stride.x;
  STORE_UNALIGNED (
      WideWords, (__global uint *) line + x, words_of_pixels (pixels, bits));
#else
  int16 first, second;
  for (int j = 0; j < OUT_BLOCK_H; j++) {
    int line = line_of_block (y, j, out->size.y);
    store_wide_row (out, x, line, j, converted_wide (read_pixels (in, x, line), colors),
        &first, &second);
  }
#if !OUT_GRAY
  store_wide_chroma (out, x, block, first, second, before);
#endif
#endif
}

/* Converts sixteen columns from x on, or fewer, next to an edge: those without neighbours
 * one by one. The others also belong to sixteen columns that have neighbours, but for the
 * chroma to the left of these. Returns the chroma of the last column. */
INLINED int2
convert_edge (const VideoFrame *in, const Canvas *out, const Colors *colors, int x,
    int block, int2 before)
{
  const int end = min (x + COLUMNS, out->size.x), reach = CHROMA_REACH;
  const int last = (out->size.x - COLUMNS - reach) & ~1, inside = max (min (x, last), reach);
  int at = x;
  if (CHROMA_OUT_H != CHROMA_COSITED && inside <= last) {
    for (; at < inside; at += OUT_BLOCK_W)
      convert_block (in, out, colors, at, block);
    convert_wide_block (in, out, colors, inside, block, &before);
    at = inside + COLUMNS;
  }
  for (; at < end; at += OUT_BLOCK_W)
    before = convert_block (in, out, colors, at, block);
  return before;
}

/* For a CPU, without scaling, fields and dithering: a work-item converts the rows of a
 * block, sixteen columns at a time. */
__kernel void
convert_cpu (PARAMETERS)
{
  DECLARE_FRAMES;
  in.step = (int4) (IN_STEPS); /* constants, so that the compiler drops unused code */
  out.step = (int4) (OUT_STEPS);
  int block = get_global_id (1);
  int2 before = 0;
  if (block << OUT_H_SUB >= out_size.y)
    return;
  for (int x = 0; x < out_size.x; x += COLUMNS) {
    if (x >= CHROMA_REACH && x + COLUMNS + CHROMA_REACH <= out_size.x) {
      convert_wide_block (&in, &out, &colors, x, block, &before);
      continue;
    }
    before = convert_edge (&in, &out, &colors, x, block, before);
  }
}
#endif
