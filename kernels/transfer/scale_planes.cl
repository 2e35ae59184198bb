/* Scales the planes of a frame on a GPU, in two separable passes through local memory
 *
 * A work-group computes a tile of a plane. The groups of one plane follow those of another,
 * so that one launch scales a frame. Each table has an entry for each position of luma, and
 * then for those of chroma: the first input sample and its weights. Planes 1 and 2 use the
 * entries for chroma in all formats. Build options:
 *
 *   IN_BITS, IN_SHIFT          as in videoframe.clh
 *   COMPONENTS                 interleaved samples of a pixel, an expression of `plane`
 *   MOST_COMPONENTS            the largest of them
 *   TAPS_X, TAPS_Y             weights for each output column and row
 *   STEP_X, STEP_Y             input columns from one output column to the next, if all have
 *                              the same weights, else 0; the same for rows
 *   TILE_W, REACH              columns of a tile in the output, and in the input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#if IN_BITS > 8
typedef ushort Sample;
typedef ushort4 Samples;
#define LOAD(at) ((at)[0] | (at)[1] << 8) /* a plane may have any alignment */
#else
typedef uchar Sample;
typedef uchar4 Samples;
#define LOAD(at) (at)[0]
#endif
#define SAMPLE_BYTES ((int) sizeof (Sample))
#define MAXIMUM ((1 << IN_BITS) - 1)
#define LEVEL(sample) ((sample) >> IN_SHIFT & MAXIMUM)
#define TILE_H 16
#define QUADS (TILE_H / 4) /* of rows */
#define RUN 8              /* output columns for a work-item */
/* Fours of samples in a row that a tile needs. They are aligned in memory. */
#define FOURS_OF(components) ((REACH * (components) + 6) / 4)
#define OUT_PITCH (TILE_W * MOST_COMPONENTS * SAMPLE_BYTES / 4 + 1)
#define TILES_OF(height) (((height) + TILE_H - 1) / TILE_H)
#define PART(vector, n) (((const float *) &(vector))[n])
#define UNROLLED _Pragma ("unroll")
#define FOR_EACH_ITEM(i, count)                                                          \
  for (int i = get_local_id (0); i < (count); i += get_local_size (0))

/* Weighted sums for `count` outputs of four rows or columns, four outputs at a time. With a
 * step, reads each sample once. */
#define FILTER(taps, step, count, table, at, size, READ, WRITE)                          \
  do {                                                                                   \
    __global const float *entry = (table) + (at) * ((taps) + 1);                         \
    const int first = (int) entry[0];                                                    \
    float weights[taps];                                                                 \
    float4 samples[(count) * (step) + (taps)];                                           \
    if (step)                                                                            \
      UNROLLED for (int n = 0; n < (taps); n++) weights[n] = entry[1 + n];               \
    UNROLLED for (int j = 0; j < (count); j += 4)                                        \
    {                                                                                    \
      float4 sums[4] = {0, 0, 0, 0};                                                     \
      UNROLLED for (int k = 0; k < 4; k++)                                               \
      {                                                                                  \
        const int begin = (j + k) * (step);                                              \
        if (step)                                                                        \
          UNROLLED for (int n = 0; n < (taps); n++)                                      \
          {                                                                              \
            if (begin == 0 || n >= (taps) - (step))                                      \
              samples[begin + n] = READ (first + begin + n);                             \
            sums[k] += weights[n] * samples[begin + n];                                  \
          }                                                                              \
        else                                                                             \
          entry = (table) + min ((at) + j + k, (size)-1) * ((taps) + 1);                 \
        for (int n = 0; n < (taps) && !(step); n++)                                      \
          sums[k] += entry[1 + n] * READ ((int) entry[0] + n);                           \
      }                                                                                  \
      UNROLLED for (int k = 0; k < 4; k++) WRITE (j, k);                                 \
    }                                                                                    \
  } while (0)

/* Local memory holds each sample of a tile with those of the three rows below. Work-items
 * that differ in the rows, or in the fours of samples, access different banks. */
#define PLACE(sample, quad) ((sample) * QUADS + (quad) + ((sample) >> 2))

#define ROW(line)                                                                        \
  (from + clamp (line, 0, size.y - 1) * (ulong) (uint) layout.y)
#define READ_ROW(line)                                                                   \
  convert_float4 (LEVEL (convert_int4 (*(__global const Samples *) ROW (line))))
#define WRITE_ROWS(j, k)                                                                 \
  rows[PLACE (4 * four + k, (j) / 4)] = (float4) (PART (sums[0], k), PART (sums[1], k),  \
      PART (sums[2], k), PART (sums[3], k))
#define READ_COLUMN(column)                                                              \
  rows[PLACE (                                                                           \
      (clamp (column, 0, size.x - 1) - first_x) * components + skipped + component, quad)]
#define WRITE_COLUMN(j, k)                                                               \
  UNROLLED for (int n = 0; n < 4; n++)                                                   \
      to[n * OUT_PITCH * 4 / SAMPLE_BYTES + (j + k) * components] =                      \
      clamp (convert_int_rte (PART (sums[k], n)), 0, MAXIMUM) << IN_SHIFT

/* For each plane, `sizes` has the width and height of the input and of the output, and
 * `layouts` has the start and stride of both. */
__kernel void
scale_planes (__global const uchar *in_data, __global uchar *out_data, int16 sizes,
    ulong16 layouts, __global const float *across, __global const float *down)
{
  __local float4 rows[FOURS_OF (MOST_COMPONENTS) * (4 * QUADS + 1)];
  __local uint staged[TILE_H * OUT_PITCH];
  const int2 luma = sizes.s23;
  int plane = 0, tile = get_group_id (1);
  for (; tile >= TILES_OF (sizes.s3); plane++) {
    tile -= TILES_OF (sizes.s3);
    sizes = sizes.s456789abcdefcdef;
    layouts = layouts.s456789abcdefcdef;
  }
  if (plane == 1 || plane == 2) {
    across += luma.x * (TAPS_X + 1);
    down += luma.y * (TAPS_Y + 1);
  }
  const int4 size = sizes.s0123;
  const ulong4 layout = layouts.s0123;
  const int components = COMPONENTS, end = size.x * components;
  const int x0 = get_group_id (0) * TILE_W, y0 = tile * TILE_H;
  if (x0 >= size.z)
    return;
  const int first_x = clamp ((int) across[x0 * (TAPS_X + 1)], 0, size.x - 1);
  const int skipped = first_x * components & 3; /* samples, before the first */
  const bool is_aligned = ((layout.x | layout.y) & (4 * SAMPLE_BYTES - 1)) == 0;

  /* Rows of the output, in columns of the input */
  FOR_EACH_ITEM (four, FOURS_OF (components)) {
    const int sample = first_x * components - skipped + 4 * four; /* of the row */
    __global const uchar *from = in_data + layout.x + sample * SAMPLE_BYTES;
    if (is_aligned && sample + 4 <= end) {
      FILTER (TAPS_Y, STEP_Y, TILE_H, down, y0, size.w, READ_ROW, WRITE_ROWS);
      continue;
    }
    for (int n = 0; n < min (4, end - sample) * TILE_H; n++) {
      const int y = n % TILE_H, k = n / TILE_H;
      __global const float *entry = down + min (y0 + y, size.w - 1) * (TAPS_Y + 1);
      float sum = 0;
      for (int tap = 0; tap < TAPS_Y; tap++)
        sum += entry[1 + tap] * LEVEL (LOAD (ROW ((int) entry[0] + tap) + k * SAMPLE_BYTES));
      ((__local float *) (rows + PLACE (4 * four + k, y / 4)))[y % 4] = sum;
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  FOR_EACH_ITEM (i, QUADS * components * (TILE_W / RUN)) {
    const int quad = i % QUADS, component = i / QUADS % components;
    const int run = i / (QUADS * components) * RUN;
    __local Sample *to = (__local Sample *) (staged + 4 * quad * OUT_PITCH)
                         + run * components + component;
    if (x0 + run < size.z)
      FILTER (TAPS_X, STEP_X, RUN, across, x0 + run, size.z, READ_COLUMN, WRITE_COLUMN);
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  /* Words, where rows of the output are aligned to words */
  const int pixel = components * SAMPLE_BYTES, words = TILE_W * pixel / 4;
  FOR_EACH_ITEM (i, min (TILE_H, size.w - y0) * words) {
    const int y = i / words, word = i % words;
    const int left = (size.z - x0) * pixel - 4 * word; /* bytes up to the right edge */
    __global uchar *to =
        out_data + layout.z + (y0 + y) * layout.w + x0 * pixel + 4 * word;
    __local const uint *from = staged + y * OUT_PITCH + word;
    if (left >= 4 && ((layout.z | layout.w) & 3) == 0)
      *(__global uint *) to = *from;
    else
      for (int n = 0; n < min (left, 4); n++)
        to[n] = ((__local const uchar *) from)[n];
  }
}
