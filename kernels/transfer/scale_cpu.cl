/* Scales and converts raw video on a CPU, in two separable passes
 *
 * Options as in convert.cl, without ORIENTED, COLORS_MAP, DITHER, fields and v210, and
 *   TAPS_X, TAPS_Y             weights for each output column and row
 *   IN_STEPS, OUT_STEPS        values of in_step and out_step
 *
 * A work-item computes a band of output rows. It keeps the last TAPS_Y input rows, so that
 * it reads each of them once, unless they are words. For each output row it adds these up,
 * then the columns of the sum, and stores the result as convert_cpu does.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define COLUMNS 16
#define WIDE 1
#include <videoframe.clh>
#include "convertoutput.clh"

#define HAS_ALPHA (in->step.w && out->step.w) /* steps are constants */
/* Values for each pixel */
#define COMPONENTS (IN_GRAY && !HAS_ALPHA ? 1 : 4)
#define OUT_ROWS (1 << OUT_H_SUB) /* of a block */
/* Rounds a row to whole vectors. */
#define PITCH(width) (((width) + COLUMNS - 1) / COLUMNS * COLUMNS)

/* Drivers do not unroll short loops by themselves. */
#define UNROLLED __attribute__ ((opencl_unroll_hint (8)))

/* Working memory of a band: input rows, their weighted sum, and the rows of a block of the
 * output, pixel by pixel */
typedef struct
{
  __global ushort *rows;
  __global float *sum;
  __global float *scaled;
  int next; /* the first input row that is not read yet */
} Band;

#if !IN_PACKED
DECLARE_UNALIGNED (ushort16)
DECLARE_UNALIGNED (ulong16)

INLINED void
keep_pixels (const VideoFrame *in, const Canvas *out, __global ushort *row, int x,
    Pixels pixels)
{
  const ushort16 first = convert_ushort16 (pixels.x);
  if (COMPONENTS == 1) {
    STORE_UNALIGNED (ushort16, row + x, first);
    return;
  }
  const uint16 low = upsample (convert_ushort16 (pixels.y), first);
  const uint16 high = upsample (
      HAS_ALPHA ? convert_ushort16 (pixels.w) : (ushort16) (0), convert_ushort16 (pixels.z));
  STORE_UNALIGNED (ulong16, row + 4 * x, upsample (high, low));
}

INLINED void
keep_pixel (
    const VideoFrame *in, const Canvas *out, __global ushort *row, int x, int4 pixel)
{
  if (COMPONENTS == 1)
    row[x] = pixel.x;
  else
    ((__global ushort4 *) row)[x] = convert_ushort4 (pixel);
}

/* Reads row `y`, with chroma for each column: columns without neighbours one by one, the
 * others sixteen at a time, of which the last may overlap. */
INLINED void
read_row (const VideoFrame *in, const Canvas *out, int y, __global ushort *row)
{
  const int last = (in->size.x - COLUMNS - CHROMA_REACH) & ~1;
  int x = 0;
  for (; x < min (CHROMA_REACH, in->size.x); x++)
    keep_pixel (in, out, row, x, read_pixel (in, x, y));
  for (; x <= last; x += COLUMNS)
    keep_pixels (in, out, row, x, read_pixels (in, x, y));
  if (last >= CHROMA_REACH && x < last + COLUMNS) {
    keep_pixels (in, out, row, last, read_pixels (in, last, y));
    x = last + COLUMNS;
  }
  for (; x < in->size.x; x++)
    keep_pixel (in, out, row, x, read_pixel (in, x, y));
}

/* Adds up the input rows of an output row. */
INLINED void
add_rows (const VideoFrame *in, const Canvas *out, Band *band, __global const float *entry)
{
  const int pitch = COMPONENTS * PITCH (in->size.x);
  const int first = (int) entry[0];
  for (band->next = max (band->next, first); band->next < first + TAPS_Y; band->next++)
    read_row (in, out, band->next, band->rows + band->next % TAPS_Y * pitch);
  __global const ushort *rows[TAPS_Y];
  UNROLLED for (int n = 0; n < TAPS_Y; n++)
    rows[n] = band->rows + (first + n) % TAPS_Y * pitch;
  for (int x = 0; x < pitch; x += COLUMNS) {
    float16 sum = 0;
    UNROLLED for (int n = 0; n < TAPS_Y; n++)
      sum += entry[1 + n] * convert_float16 (*(__global const ushort16 *) (rows[n] + x));
    *(__global float16 *) (band->sum + x) = sum;
  }
}
#else
/* The same, of pixels of four bytes as they are in memory */
INLINED void
add_rows (const VideoFrame *in, const Canvas *out, Band *band, __global const float *entry)
{
  const int bytes = 4 * in->size.x;
  __global const uchar *rows = in->data + (in->start.x & ~3UL);
  rows += (ulong) entry[0] * in->stride.x;
  for (int x = 0; x < bytes; x += COLUMNS) {
    float16 sum = 0;
    if (x + COLUMNS <= bytes)
      UNROLLED for (int n = 0; n < TAPS_Y; n++)
        sum += entry[1 + n]
               * convert_float16 (LOAD_UNALIGNED (Bytes, rows + n * in->stride.x + x));
    else
      for (int at = x; at < bytes; at += 4)
        UNROLLED for (int n = 0; n < TAPS_Y; n++)
          ((float4 *) &sum)[(at - x) / 4] +=
              entry[1 + n] * convert_float4 (vload4 (0, rows + n * in->stride.x + at));
    *(__global float16 *) (band->sum + x) = sum;
  }
}
#endif

/* Scales the sum of rows to row `j` of the block. */
INLINED void
scale_row (const VideoFrame *in, const Canvas *out, const Band *band, int j)
{
  __global const float *from = band->sum;
  __global float *to = band->scaled + j * COMPONENTS * PITCH (out->size.x);
  __global const float *entry = out->taps.across;
  for (int x = 0; x < out->size.x; x++, entry += TAPS_X + 1) {
    const int first = (int) entry[0];
    if (COMPONENTS == 1) {
      float sum = 0;
      UNROLLED for (int n = 0; n < TAPS_X; n++)
        sum += entry[1 + n] * from[first + n];
      to[x] = sum;
    } else {
      float4 sum = 0;
      UNROLLED for (int n = 0; n < TAPS_X; n++)
        sum += entry[1 + n] * ((__global const float4 *) from)[first + n];
      ((__global float4 *) to)[x] = sum;
    }
  }
}

/* Rounds to the nearest level, ties to even: adding 1.5 * 2^23 drops the fraction. */
INLINED int16
levels (float16 values)
{
  const float shift = 12582912.0f;
  int16 rounded = as_int16 (values + shift) - as_int (shift);
  return clamp (rounded, 0, MAXIMUM (IN_BITS));
}

INLINED Pixels
scaled_pixels (const VideoFrame *in, const Canvas *out, const Band *band, int x, int j)
{
  __global const float16 *from =
      (__global const float16 *) (band->scaled
                                  + COMPONENTS * (j * PITCH (out->size.x) + x));
  Pixels pixels;
  if (COMPONENTS == 1) {
    pixels.x = levels (*from);
    pixels.y = pixels.z = MIDDLE (IN_BITS);
    pixels.w = MAXIMUM (IN_BITS);
    return pixels;
  }
#define VALUES(name) (float16) (from[0].name, from[1].name, from[2].name, from[3].name)
  float16 values[4] = {VALUES (s048c), VALUES (s159d), VALUES (s26ae), VALUES (s37bf)};
  const int4 order = IN_PACKED ? convert_int4 (in->start & 3) : (int4) (0, 1, 2, 3);
  pixels.x = levels (values[order.x]);
  pixels.y = levels (values[order.y]);
  pixels.z = levels (values[order.z]);
  pixels.w = HAS_ALPHA ? levels (values[order.w]) : (int16) (MAXIMUM (IN_BITS));
  return pixels;
}

/* One pixel of the block, near the right edge */
INLINED int4
scaled_pixel (const VideoFrame *in, const Canvas *out, const Colors *colors,
    const Band *band, int x, int y)
{
  const int j = y % OUT_ROWS;
  Pixels pixels = scaled_pixels (in, out, band, x / COLUMNS * COLUMNS, j);
  int values[4][COLUMNS];
  vstore16 (pixels.x, 0, values[0]);
  vstore16 (pixels.y, 0, values[1]);
  vstore16 (pixels.z, 0, values[2]);
  vstore16 (pixels.w, 0, values[3]);
  x %= COLUMNS;
  return convert_pixel ((int4) (values[0][x], values[1][x], values[2][x], values[3][x]),
      colors, (int2) (x, y));
}

#define STORE(component, x, y, value)                                                    \
  store_sample (ADDRESS (out, component, x, y), value)
#define PIXEL(x, y) scaled_pixel (in, out, colors, band, x, y)
#define SOURCE_PARAMETERS const VideoFrame *in, const Colors *colors, const Band *band
#define SOURCE_ARGUMENTS in, colors, band
#include "chromablocks.clh"

/* Stores a row of words, pixels of four bytes. */
INLINED void
store_words (const VideoFrame *in, const Canvas *out, const Colors *colors,
    const Band *band, int y)
{
#if OUT_PACKED
  const uint4 bits = convert_uint4 (out->start & 3) << 3;
  __global uint *line =
      (__global uint *) (out->data + (out->start.x & ~3UL) + (ulong) y * out->stride.x);
  for (int x = 0; x < out->size.x; x += COLUMNS) {
    WideWords words = words_of_pixels (
        converted_wide (scaled_pixels (in, out, band, x, 0), colors), bits);
    if (x + COLUMNS <= out->size.x) {
      STORE_UNALIGNED (WideWords, line + x, words);
      continue;
    }
    uint each[COLUMNS];
    vstore16 (words, 0, each);
    for (int n = 0; x + n < out->size.x; n++)
      line[x + n] = each[n];
  }
#endif
}

INLINED void
store_rows (const VideoFrame *in, const Canvas *out, const Colors *colors,
    const Band *band, int block)
{
  int2 before = 0;
  for (int x = 0; x < out->size.x; x += COLUMNS) {
    if (x + COLUMNS > out->size.x) {
      for (int at = x; at < out->size.x; at += OUT_BLOCK_W)
        store_block (out, at, block, SOURCE_ARGUMENTS);
      return;
    }
    int16 first, second;
    for (int j = 0; j < OUT_BLOCK_H; j++) {
      int line = line_of_block (block * OUT_BLOCK_H, j, out->size.y);
      store_wide_row (out, x, line, j,
          converted_wide (
              scaled_pixels (in, out, band, x, line - block * OUT_BLOCK_H), colors),
          &first, &second);
    }
#if !OUT_GRAY
    store_wide_chroma (out, x, block, first, second, &before);
#endif
  }
}

__kernel void
scale_cpu (__global const uchar *in_data, int2 in_size, ulong4 in_start, int4 in_stride,
    __global uchar *out_data, int2 out_size, ulong4 out_start, int4 out_stride, long4 row0,
    long4 row1, long4 row2, __global const float *across, __global const float *down,
    __global uchar *memory, int band_blocks, ulong band_bytes)
{
  VideoFrame frame = {in_data, in_size, in_start, in_stride, (int4) (IN_STEPS), 1};
  Canvas canvas = {out_data, out_size, out_start, out_stride, (int4) (OUT_STEPS), 0, 0, 0,
      0, {across, down, (int2) (TAPS_X, TAPS_Y)}};
  const VideoFrame *in = &frame;
  const Canvas *out = &canvas;
  Colors colors = {row0, row1, row2, 0};
  __global float *floats = (__global float *) (memory + get_global_id (0) * band_bytes);
  __global float *scaled = floats + 4 * PITCH (in_size.x);
  Band band = {(__global ushort *) (scaled + OUT_ROWS * 4 * PITCH (out_size.x)), floats,
      scaled, 0};
  const int from = get_global_id (0) * band_blocks;

  for (int block = from; block < from + band_blocks; block++) {
    if (block * OUT_ROWS >= out_size.y)
      return;
    for (int j = 0; j < OUT_ROWS && block * OUT_ROWS + j < out_size.y; j++) {
      add_rows (in, out, &band, down + (block * OUT_ROWS + j) * (TAPS_Y + 1));
      scale_row (in, out, &band, j);
    }
    if (OUT_PACKED)
      store_words (in, out, &colors, &band, block);
    else
      store_rows (in, out, &colors, &band, block);
  }
}
