/* Convolution of 16-bit numbers as a matrix product, with tensor cores where a device has them
 *
 * C = A · B. Row r of A is the input window of output pixel r, read from the input where it
 * lies: tap by tap, channel by channel. The rows of B are filters. Sums are float32.
 *
 * A work-group of WARPS_M x WARPS_N warps of 32 work-items computes BM x BN elements of C. It
 * reads A and B in steps of 32 numbers along k into local memory, STAGES - 1 steps ahead. A
 * row of a step is four chunks of 16 bytes; their order changes with the row, so that eight
 * rows of a column are in different banks. A warp computes BM / WARPS_M x BN / WARPS_N
 * elements as tiles of 16 x 8, in the layout of PTX's mma.m16n8k16.
 *
 * With TENSOR_CORES, NVIDIA's instructions (compute capability 8.0 and newer) copy, load and
 * multiply. Without, the same is plain OpenCL C.
 *
 * Each work-group with the same part computes a range of k. With several parts, or if channels
 * of the output are no neighbours, C is [part][row][filter] in float32 without bias, and
 * convolvefinish.cl's `finish` makes the output. `out_part` is not 0 then.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define ITEMS (32 * WARPS_M * WARPS_N)
#define WARP_ROWS (BM / WARPS_M)
#define WARP_COLUMNS (BN / WARPS_N)
#define TILES_M (WARP_ROWS / 16)
#define TILES_N (WARP_COLUMNS / 8)
#define DEEP 32
#define CHUNKS 4
#define A_COPIES (BM * CHUNKS / ITEMS)
#define B_COPIES (BN * CHUNKS / ITEMS)

/* Index of a chunk in local memory */
#define PLACE(row, chunk) ((row)*CHUNKS + ((chunk) ^ ((row) >> 1 & 3)))

/* --- what differs between devices --- */

#if TENSOR_CORES

#include <tensorcores.clh>

/* Waits until the copies of the oldest step have ended. */
#if STAGES == 4
#define WAIT_FOR_STEP() WAIT_FOR_COPIES (2)
#elif STAGES == 3
#define WAIT_FOR_STEP() WAIT_FOR_COPIES (1)
#else
#define WAIT_FOR_STEP() WAIT_FOR_COPIES (0)
#endif

#define MULTIPLY_STEP(sum, a_tile, b_tile, lane, row, column)                            \
  {                                                                                      \
    _Pragma ("unroll") for (int half_of = 0; half_of < 2; half_of++)                     \
    {                                                                                    \
      uint4 a[TILES_M], b[TILES_N / 2];                                                  \
      _Pragma ("unroll") for (int m = 0; m < TILES_M; m++)                               \
      {                                                                                  \
        const int at = (row) + 16 * m + (lane) % 16;                                     \
        LOAD_MATRICES (a[m], (a_tile) + PLACE (at, 2 * half_of + (lane) / 16), "");          \
      }                                                                                  \
      _Pragma ("unroll") for (int n = 0; n < TILES_N / 2; n++)                           \
      {                                                                                  \
        const int at = (column) + 16 * n + (lane) / 16 * 8 + (lane) % 8;                 \
        LOAD_MATRICES (b[n], (b_tile) + PLACE (at, 2 * half_of + (lane) / 8 % 2), "");       \
      }                                                                                  \
      _Pragma ("unroll") for (int m = 0; m < TILES_M; m++)                               \
          _Pragma ("unroll") for (int n = 0; n < TILES_N / 2; n++)                       \
      {                                                                                  \
        MULTIPLY_TILE (sum[m][2 * n], a[m], b[n].x, b[n].y);                             \
        MULTIPLY_TILE (sum[m][2 * n + 1], a[m], b[n].z, b[n].w);                         \
      }                                                                                  \
    }                                                                                    \
  }

#else

#define STORE_PAIR(values, to) vstore_half2 (values, 0, (local half *)(to))
#define COPY_CHUNK(to, from, valid)                                                      \
  (*(to) = (valid) ? *(global const uint4 *)(from) : (uint4)(0))
#define END_COPIES()
#define WAIT_FOR_STEP()

#define NUMBER(tile, row, k)                                                             \
  vload_half (8 * PLACE (row, (k) / 8) + (k) % 8, (local const half *)(tile))

#define MULTIPLY_STEP(sum, a_tile, b_tile, lane, row, column)                            \
  for (int k = 0; k < DEEP; k++) {                                                       \
    float a[TILES_M][2], b[TILES_N][2];                                                  \
    for (int m = 0; m < TILES_M; m++)                                                    \
      for (int n = 0; n < 2; n++)                                                        \
        a[m][n] = NUMBER (a_tile, (row) + 16 * m + 8 * n + (lane) / 4, k);               \
    for (int m = 0; m < TILES_N; m++)                                                    \
      for (int n = 0; n < 2; n++)                                                        \
        b[m][n] = NUMBER (b_tile, (column) + 8 * m + (lane) % 4 * 2 + n, k);             \
    for (int m = 0; m < TILES_M; m++)                                                    \
      for (int n = 0; n < TILES_N; n++)                                                  \
        sum[m][n] += (float4)(a[m][0] * b[n][0], a[m][0] * b[n][1], a[m][1] * b[n][0],   \
            a[m][1] * b[n][1]);                                                          \
  }

#endif

/* Chunks of a row of the result in local memory, one of them unused: rows are then in
 * different banks */
#define TILE_CHUNKS (BN / 8 + 1)

/* Offset of a row of C in the output. A dense output needs no division. */
#define ROW_OFFSET(row)                                                                  \
  (dense ? (long)(row)*out_column                                                        \
         : (row) / width / height * out_image + (row) / width % height * out_line        \
               + (row) % width * out_column)

/* --- the product --- */

/* The input window of a row of A */
typedef struct {
  global const half *image; /* at the chunk's first channel */
  int y, x;                 /* of the first tap */
} Window;

kernel __attribute__ ((reqd_work_group_size (ITEMS, 1, 1))) void
multiply_half (global const half *input, long in_offset, long in_image, int in_line,
    int in_column, int in_height, int in_width, int channels, int tap_columns, int taps,
    int stride_y, int stride_x, int dilation_y, int dilation_x, int top, int left,
    global const half *weights, int steps, global const float *bias, FINISH_PARAMETERS,
    global OUTPUT *output, long out_offset, long out_part, long out_image, long out_line,
    long out_column, int height, int width, int rows, int filters, int parts, int dense,
    int wide)
{
  local uint4 tiles[STAGES][(BM + BN) * CHUNKS] __attribute__ ((aligned (128)));
  const int item = get_local_id (0), lane = item % 32, warp = item / 32;
  const int warp_row = warp / WARPS_N * WARP_ROWS;
  const int warp_column = warp % WARPS_N * WARP_COLUMNS;
  const int first_row = get_group_id (0) * BM, first_filter = get_group_id (1) * BN;
  const int part = get_group_id (2);
  const int begin = (int)((long)steps * part / parts);
  const int end = (int)((long)steps * (part + 1) / parts);
  Window window[A_COPIES];
  global const half *filter[B_COPIES];
  float4 sum[TILES_M][TILES_N];

  input += in_offset;
#pragma unroll
  for (int n = 0; n < A_COPIES; n++) {
    const int row = first_row + (item + n * ITEMS) / CHUNKS;
    const int inside = min (row, rows - 1), line = inside / width;
    window[n].image = input + line / height * in_image;
    /* A window above the input reads only zeros. */
    window[n].y = row < rows ? line % height * stride_y - top : -(1 << 24);
    window[n].x = inside % width * stride_x - left;
  }
#pragma unroll
  for (int n = 0; n < B_COPIES; n++) {
    const int row = (item + n * ITEMS) / CHUNKS;
    filter[n] = weights + (long)(first_filter + row) * steps * DEEP
                + (item + n * ITEMS) % CHUNKS * 8;
  }
#pragma unroll
  for (int m = 0; m < TILES_M; m++)
#pragma unroll
    for (int n = 0; n < TILES_N; n++)
      sum[m][n] = 0.0f;

  /* The chunk of this work-item in the next step: tap and channel */
  int tap, channel;
  {
    const int k = begin * DEEP + item % CHUNKS * 8;
    tap = k / channels;
    channel = k % channels;
  }
#define COPY_STEP(step)                                                                  \
  {                                                                                      \
    local uint4 *tile = tiles[((step)-begin) % STAGES];                                  \
    const int tap_y = tap / tap_columns * dilation_y,                                    \
              tap_x = tap % tap_columns * dilation_x;                                    \
    _Pragma ("unroll") for (int n = 0; n < A_COPIES; n++)                                \
    {                                                                                    \
      const int at = item + n * ITEMS, y = window[n].y + tap_y, x = window[n].x + tap_x; \
      const bool valid =                                                                 \
          y >= 0 && y < in_height && x >= 0 && x < in_width && tap < taps;               \
      global const half *from =                                                          \
          valid ? window[n].image + (long)y * in_line + (long)x * in_column + channel    \
                : input;                                                                 \
      COPY_CHUNK (tile + PLACE (at / CHUNKS, at % CHUNKS), from, valid);                 \
    }                                                                                    \
    _Pragma ("unroll") for (int n = 0; n < B_COPIES; n++)                                \
    {                                                                                    \
      const int at = item + n * ITEMS;                                                   \
      COPY_CHUNK (tile + BM * CHUNKS + PLACE (at / CHUNKS, at % CHUNKS),                 \
          filter[n] + (long)(step)*DEEP, true);                                          \
    }                                                                                    \
    channel += DEEP;                                                                     \
    while (channel >= channels) {                                                        \
      channel -= channels;                                                               \
      tap++;                                                                             \
    }                                                                                    \
  }

#pragma unroll
  for (int ahead = 0; ahead < STAGES - 1; ahead++) {
    if (begin + ahead < end)
      COPY_STEP (begin + ahead)
    END_COPIES ();
  }
  for (int step = begin; step < end; step++) {
    WAIT_FOR_STEP ();
    barrier (CLK_LOCAL_MEM_FENCE);
    /* The step that was multiplied last is free now. */
    if (step + STAGES - 1 < end)
      COPY_STEP (step + STAGES - 1)
    END_COPIES ();
    local const uint4 *a_tile = tiles[(step - begin) % STAGES];
    local const uint4 *b_tile = a_tile + BM * CHUNKS;
    MULTIPLY_STEP (sum, a_tile, b_tile, lane, warp_row, warp_column)
#if STAGES == 1
    barrier (CLK_LOCAL_MEM_FENCE);
#endif
  }

#define BIAS(column) (out_part == 0 ? bias[column] : 0.0f)
  LOCATE_RESIDUAL (output)
  output += out_offset + part * out_part;
#if defined(OUTPUT_f16)
  if (wide) {
    /* The tile goes through local memory, so that rows are read and written in chunks. */
    local uint *tile = (local uint *)tiles;
    barrier (CLK_LOCAL_MEM_FENCE);
#ifdef RESIDUAL
    for (int n = item; n < BM * BN / 8; n += ITEMS) {
      const int row = first_row + n / (BN / 8), column = first_filter + n % (BN / 8) * 8;
      if (row < rows && column < filters)
        ((local uint4 *)tile)[n / (BN / 8) * TILE_CHUNKS + n % (BN / 8)] =
            *(global const uint4 *)RESIDUAL_OF (output + ROW_OFFSET (row) + column);
    }
    barrier (CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll
    for (int m = 0; m < TILES_M; m++)
#pragma unroll
      for (int side = 0; side < 2; side++)
#pragma unroll
        for (int n = 0; n < TILES_N; n++) {
          const int column = warp_column + 8 * n + lane % 4 * 2;
          local uint *pair = tile
                             + (warp_row + 16 * m + 8 * side + lane / 4) * TILE_CHUNKS * 4
                             + column / 2;
          float2 values = side ? sum[m][n].zw : sum[m][n].xy;
          values.x += BIAS (first_filter + column);
          values.y += BIAS (first_filter + column + 1);
#ifdef RESIDUAL
          values += vload_half2 (0, (local const half *)pair);
#endif
          values.x = activate_float (values.x, activation_numbers);
          values.y = activate_float (values.y, activation_numbers);
          STORE_PAIR (values, pair);
        }
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = item; n < BM * BN / 8; n += ITEMS) {
      const int row = first_row + n / (BN / 8), column = first_filter + n % (BN / 8) * 8;
      if (row < rows && column < filters)
        *(global uint4 *)(output + ROW_OFFSET (row) + column) =
            ((local const uint4 *)tile)[n / (BN / 8) * TILE_CHUNKS + n % (BN / 8)];
    }
    return;
  }
#endif
#pragma unroll
  for (int m = 0; m < TILES_M; m++) {
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const int row = first_row + warp_row + 16 * m + 8 * side + lane / 4;
      if (row >= rows)
        continue;
      global OUTPUT *of_row = output + ROW_OFFSET (row);
#pragma unroll
      for (int n = 0; n < 2 * TILES_N; n++) {
        const int column =
            first_filter + warp_column + 8 * (n / 2) + lane % 4 * 2 + n % 2;
        const float2 values = side ? sum[m][n / 2].zw : sum[m][n / 2].xy;
        if (column < filters)
          PUT (activate_float (ADD_RESIDUAL ((n % 2 ? values.y : values.x) + BIAS (column),
                                   of_row + column),
                   activation_numbers),
              of_row, column);
      }
    }
  }
}

/* Copies an array to pixels [image][line][column][depth] of halves. `depth` is 4, or a multiple
 * of eight; channels after `channels` and columns outside the input are 0. A work-item writes
 * eight halves. Strides of the input are in bytes. */
kernel void
gather_half (global const uchar *input, ulong offset, long image_step, long channel_step,
    long line_step, long column_step, int channels, int height, int width, int depth,
    int columns, int left, global half *pixels, uint items)
{
  const uint item = get_global_id (0);
  if (item >= items)
    return;
  const int of_line = columns * depth / 8;
  const uint line = item / of_line;
  const int y = line % height, image = line / height;
  const int begin = item % of_line * 8;
  int x = begin / depth, c = begin % depth;
  float values[8];
  input += offset + image * image_step + y * line_step;
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const int from = x - left;
    values[n] = c < channels && from >= 0 && from < width
                    ? GET (input + from * column_step + c * channel_step)
                    : 0.0f;
    if (++c == depth) {
      c = 0;
      x++;
    }
  }
  vstore_half8 (vload8 (0, values), item, pixels);
}
