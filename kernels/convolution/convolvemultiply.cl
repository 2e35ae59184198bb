/* Matrix multiplication for convolutions
 *
 * C = A · B, then bias and activation. Row r of A is the input window of output pixel r,
 * counted over images, rows and columns. It is read from the input in place: `fours`
 * holds the offset of each group of four elements. B consists of panels of COLUMNS
 * columns, [batch][panel][k][COLUMNS], padded with zeros. `a_batch` and `c_batch` are the
 * distances between batches, in elements.
 *
 * `multiply_cpu`, for a CPU: a work-item computes ROWS x 2 · LANES of C in registers, `run`
 * times (MOST_RUN at most).
 * `multiply_few`, for a GPU if C is small: a work-item reads A and B from global memory and
 * computes 4 x 4 of C, so that there are many of them, which wait once at most: SHARES of
 * them share each sum, and add up through local memory. `run` is 1.
 * `multiply_gpu`, where `run` is 1: 8 x 16 work-items compute 128 x 64 of C through local
 * memory. If that gives too few work-groups for a device, each computes one of PARTS sums
 * along k. C is then [part][batch], and `finish` of convolvefinish.cl adds up the parts and
 * applies bias and activation.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define PARAMETERS                                                                       \
  global const float *a, long a_offset, int a_batch, int a_image, int a_line,            \
      int a_column, global const int *fours, int n_fours, global const float *b,         \
      global const float *bias, FINISH_PARAMETERS, global OUTPUT *c, long c_offset,      \
      int c_batch, int c_image, int c_line, int c_column, int c_step, int rows,          \
      int lines, int columns, int width, int run

int
place_of_row (int row, int lines, int columns, int of_image, int of_line, int of_column)
{
  int of = row / columns;
  return of / lines * of_image + of % lines * of_line + row % columns * of_column;
}

#ifdef LANES
#define COLUMNS (2 * LANES)

void
put_lanes (FLOATS value, global OUTPUT *c, int c_step, int count)
{
  if (c_step == 1 && count >= LANES) {
    PUT_VECTOR (value, c, 0);
    return;
  }
  float values[LANES];
  VSTORE (value, 0, values);
  for (int l = 0; l < min (count, LANES); l++)
    PUT (values[l], c, (long)l * c_step);
}

#define EACH_ROW _Pragma ("unroll") for (int r = 0; r < ROWS; r++)

#define ROUND(k)                                                                         \
  {                                                                                      \
    FLOATS left = VLOAD (2 * (k), from), right = VLOAD (2 * (k) + 1, from);              \
    EACH_ROW                                                                             \
    {                                                                                    \
      FLOATS value = row[r][step + (k)];                                                 \
      x[r] += value * left;                                                              \
      y[r] += value * right;                                                             \
    }                                                                                    \
  }
/* The same for a panel of which only the left half has columns of C */
#define ROUND_LEFT(k)                                                                    \
  {                                                                                      \
    FLOATS left = VLOAD (2 * (k), from);                                                 \
    EACH_ROW                                                                             \
    x[r] += (FLOATS)row[r][step + (k)] * left;                                           \
  }
#define ALL_ROUNDS(ROUND)                                                                \
  for (int f = four; f < end_four; f++) {                                                \
    int step = fours[f];                                                                 \
    ROUND (0)                                                                            \
    ROUND (1)                                                                            \
    ROUND (2)                                                                            \
    ROUND (3)                                                                            \
    from += 4 * COLUMNS;                                                                 \
  }

/* A row of A and C as a pixel of the output. Rows follow each other without a division. */
typedef struct {
  int column, line, image;
} Pixel;

Pixel
next_pixel (Pixel pixel, int columns, int lines)
{
  if (++pixel.column < columns)
    return pixel;
  pixel.column = 0;
  if (++pixel.line < lines)
    return pixel;
  pixel.line = 0;
  pixel.image++;
  return pixel;
}

/* Groups of four elements along k whose part of a panel stays in a cache of 32 KiB while all rows
 * of a work-item are multiplied with it */
#define FOURS_AT_ONCE (1024 / COLUMNS)

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
multiply_cpu (PARAMETERS)
{
  const int panel = get_global_id (1), batch = get_global_id (2);
  const int begin = get_global_id (0) * ROWS * run, end = min (begin + ROWS * run, rows);
  const long panel_of_all = (long)batch * get_global_size (1) + panel;
  const Pixel start = {begin % columns, begin / columns % lines, begin / columns / lines};
  float kept[MOST_RUN * ROWS * COLUMNS]; /* sums, while more is added */

  a += a_offset + (long)batch * a_batch;
  b += panel_of_all * n_fours * 4 * COLUMNS;
  bias += panel_of_all * COLUMNS;
  LOCATE_RESIDUAL (c)
  c += c_offset + (long)batch * c_batch + (long)panel * COLUMNS * c_step;
  width -= panel * COLUMNS;
  for (int four = 0; four < n_fours; four += FOURS_AT_ONCE) {
    const int end_four = min (four + FOURS_AT_ONCE, n_fours);
    Pixel pixel = start;
    for (int first = begin; first < end; first += ROWS) {
      global const float *row[ROWS], *from = b + (long)four * 4 * COLUMNS;
      float *sums_of_rows = kept + (first - begin) * COLUMNS;
      int to_row[ROWS];
      FLOATS x[ROWS], y[ROWS];
      EACH_ROW
      {
        row[r] =
            a + pixel.image * a_image + pixel.line * a_line + pixel.column * a_column;
        to_row[r] = pixel.image * c_image + pixel.line * c_line + pixel.column * c_column;
        x[r] = four == 0 ? VLOAD (0, bias) : VLOAD (2 * r, sums_of_rows);
        y[r] = four == 0 ? VLOAD (1, bias) : VLOAD (2 * r + 1, sums_of_rows);
        if (first + r + 1 < end)
          pixel = next_pixel (pixel, columns, lines);
      }
      if (width > LANES)
        ALL_ROUNDS (ROUND)
      else
        ALL_ROUNDS (ROUND_LEFT)
      if (end_four < n_fours) {
        EACH_ROW
        {
          VSTORE (x[r], 2 * r, sums_of_rows);
          VSTORE (y[r], 2 * r + 1, sums_of_rows);
        }
        continue;
      }
      if (c_step == 1 && width >= COLUMNS && first + ROWS <= end) {
        EACH_ROW
        {
          global OUTPUT *to = c + to_row[r];
          PUT_VECTOR (FINISH_LANES (x[r], to, 1, LANES), to, 0);
          PUT_VECTOR (FINISH_LANES (y[r], to + LANES, 1, LANES), to, LANES);
        }
        continue;
      }
      FLOATS sums[2 * ROWS]; /* for a loop that is not unrolled */
      EACH_ROW
      {
        sums[2 * r] = x[r];
        sums[2 * r + 1] = y[r];
      }
#pragma unroll 1
      for (int n = 0; n < 2 * min (ROWS, end - first); n++) {
        const int column = n % 2 * LANES, count = width - column;
        global OUTPUT *to = c + to_row[n / 2] + (long)column * c_step;
        if (count > 0)
          put_lanes (FINISH_LANES (sums[n], to, c_step, count), to, c_step, count);
      }
    }
  }
}
#else
/* Four neighbours of the output */
#if defined(OUTPUT_f16)
#define GET_FOUR(from) vload_half4 (0, from)
#define PUT_FOUR(values, to) vstore_half4 (values, 0, to)
#else
#define GET_FOUR(from) vload4 (0, from)
#define PUT_FOUR(values, to) vstore4 (values, 0, to)
#endif
DEFINE_ACTIVATE (float4)
#ifdef RESIDUAL
#define FINISH_FOUR(values, to)                                                          \
  activate_float4 (values + GET_FOUR (RESIDUAL_OF (to)), activation_numbers)
#else
#define FINISH_FOUR(values, to) activate_float4 (values, activation_numbers)
#endif

/* Finishes and stores four neighbours in a row of C, of which `count` exist. */
#if defined(OUTPUT_f32) || defined(OUTPUT_f16)
#define PUT_WHOLE(values, to, count)                                                     \
  if (c_step == 1 && (count) >= 4)                                                       \
    PUT_FOUR (FINISH_FOUR (values, to), to);                                             \
  else
#else
#define PUT_WHOLE(values, to, count)
#endif
#define PUT_OF_ROW(values, to, count)                                                    \
  PUT_WHOLE (values, to, count)                                                          \
  {                                                                                      \
    float each[4];                                                                       \
    vstore4 (values, 0, each);                                                           \
    _Pragma ("unroll") for (int n = 0; n < 4; n++) if (n < (count))                      \
        PUT (FINISH (each[n], (to) + (long)n * c_step), (to) + (long)n * c_step, 0);     \
  }

#ifdef SHARES
#define ACROSS 16
#define DOWN 4
#define ROWS (4 * DOWN)
#define COLUMNS (4 * ACROSS)
kernel __attribute__ ((reqd_work_group_size (ACROSS, DOWN, SHARES))) void
multiply_few (PARAMETERS)
{
  const int across = get_local_id (0), down = get_local_id (1), share = get_local_id (2);
  const int first = get_group_id (0) * ROWS + 4 * down, panel = get_group_id (1);
  const int batch = get_group_id (2), panels = get_num_groups (1);
  const int column = panel * COLUMNS + 4 * across;
  int a_row[4];
  float4 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

  a += a_offset + (long)batch * a_batch;
  b += ((long)batch * panels + panel) * n_fours * 4 * COLUMNS + 4 * across;
#pragma unroll
  for (int r = 0; r < 4; r++)
    a_row[r] = place_of_row (
        min (first + r, rows - 1), lines, columns, a_image, a_line, a_column);
#pragma unroll 2
  for (int f = share; f < n_fours; f += SHARES) {
    const int four = fours[f];
    global const float *of = b + (long)f * 4 * COLUMNS;
    const float4 b0 = vload4 (0, of), b1 = vload4 (0, of + COLUMNS),
                 b2 = vload4 (0, of + 2 * COLUMNS), b3 = vload4 (0, of + 3 * COLUMNS);
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const float4 by = *(global const float4 *)(a + a_row[r] + four);
      sum[r] = fma ((float4)by.x, b0, sum[r]);
      sum[r] = fma ((float4)by.y, b1, sum[r]);
      sum[r] = fma ((float4)by.z, b2, sum[r]);
      sum[r] = fma ((float4)by.w, b3, sum[r]);
    }
  }
#if SHARES > 1
  local float4 shared_sums[SHARES - 1][4][DOWN][ACROSS];
#pragma unroll
  for (int r = 0; r < 4 && share > 0; r++)
    shared_sums[share - 1][r][down][across] = sum[r];
  barrier (CLK_LOCAL_MEM_FENCE);
  if (share > 0)
    return;
#pragma unroll
  for (int n = 0; n < SHARES - 1; n++)
#pragma unroll
    for (int r = 0; r < 4; r++)
      sum[r] += shared_sums[n][r][down][across];
#endif
  const float4 with =
      vload4 (0, bias + ((long)batch * panels + panel) * COLUMNS + 4 * across);
  LOCATE_RESIDUAL (c)
  c += c_offset + (long)batch * c_batch + (long)column * c_step;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    if (first + r >= rows)
      break;
    global OUTPUT *to =
        c + place_of_row (first + r, lines, columns, c_image, c_line, c_column);
    PUT_OF_ROW (sum[r] + with, to, width - column)
  }
}
#else
/* A work-item computes 8 x 8 of C: two groups of four rows by two of four columns. */
#define ACROSS 8
#define DOWN 16
#define ITEMS (ACROSS * DOWN)
#define ROWS (2 * 4 * DOWN)
#define COLUMNS (2 * 4 * ACROSS)
/* Elements of a step along k */
#define DEEP 16
#define FOURS (DEEP / 4)
/* Keeps reads of four elements aligned, and avoids bank conflicts when a column is
 * written. */
#define PITCH (ROWS + 4)

/* An aligned group of four elements in local memory */
#define FOUR(numbers) (*(local float4 *)(numbers))

/* Groups of four elements of A and B that a work-item loads per step */
#define A_LOADS (ROWS * FOURS / ITEMS)
#define B_LOADS (COLUMNS * FOURS / ITEMS)

/* Loads the next groups of A and B from global memory into registers. Also loads the
 * offset of A's group after that, because its latency is as long. */
#define BRING(step)                                                                      \
  {                                                                                      \
    _Pragma ("unroll") for (int n = 0; n < A_LOADS; n++) a_next[n] =                     \
        *(global const float4 *)(a + a_row[n] + four);                                   \
    four = fours[min ((step) + 1, n_steps - 1) * FOURS + item % FOURS];                  \
    _Pragma ("unroll") for (int n = 0; n < B_LOADS; n++) b_next[n] =                     \
        ((global const float4 *)(b + (long)(step)*DEEP * COLUMNS))[item + n * ITEMS];    \
  }
/* Stores these registers in one of the two local buffers, A transposed. */
#define KEEP(side)                                                                       \
  {                                                                                      \
    _Pragma ("unroll") for (int n = 0; n < A_LOADS; n++)                                 \
    {                                                                                    \
      local float *at =                                                                  \
          as[side] + item % FOURS * 4 * PITCH + (item + n * ITEMS) / FOURS;              \
      at[0] = a_next[n].x;                                                               \
      at[PITCH] = a_next[n].y;                                                           \
      at[2 * PITCH] = a_next[n].z;                                                       \
      at[3 * PITCH] = a_next[n].w;                                                       \
    }                                                                                    \
    _Pragma ("unroll") for (int n = 0; n < B_LOADS; n++)                                 \
        FOUR (bs[side] + 4 * (item + n * ITEMS)) = b_next[n];                            \
  }
/* Reads the operands of one k while those of the previous k are multiplied. */
#define READ(set, side, k)                                                               \
  _Pragma ("unroll") for (int q = 0; q < 2; q++)                                         \
  {                                                                                      \
    above[set][q] = FOUR (as[side] + (k)*PITCH + q * 4 * DOWN + down * 4);               \
    beside[set][q] = FOUR (bs[side] + (k)*COLUMNS + q * 4 * ACROSS + across * 4);        \
  }
#define MULTIPLY(set)                                                                    \
  _Pragma ("unroll") for (int r = 0; r < 2; r++)                                         \
      _Pragma ("unroll") for (int q = 0; q < 2; q++)                                     \
  {                                                                                      \
    float4 by = beside[set][q];                                                          \
    sum[4 * r][q] = fma ((float4)above[set][r].x, by, sum[4 * r][q]);                    \
    sum[4 * r + 1][q] = fma ((float4)above[set][r].y, by, sum[4 * r + 1][q]);            \
    sum[4 * r + 2][q] = fma ((float4)above[set][r].z, by, sum[4 * r + 2][q]);            \
    sum[4 * r + 3][q] = fma ((float4)above[set][r].w, by, sum[4 * r + 3][q]);            \
  }

kernel __attribute__ ((reqd_work_group_size (ACROSS, DOWN, 1))) void
multiply_gpu (PARAMETERS)
{
  local float as[2][DEEP * PITCH] __attribute__ ((aligned (16)));
  local float bs[2][DEEP * COLUMNS] __attribute__ ((aligned (16)));
  int across = get_local_id (0), down = get_local_id (1), item = down * ACROSS + across;
  int first = get_group_id (0) * ROWS, panel = get_group_id (1);
  int batches = get_num_groups (2) / PARTS, panels = get_num_groups (1);
  int batch = get_group_id (2) % batches, part = get_group_id (2) / batches;
  int steps = n_fours / FOURS;
  int begin = steps * part / PARTS, n_steps = steps * (part + 1) / PARTS;
  int a_row[A_LOADS];
  float4 a_next[A_LOADS], b_next[B_LOADS], above[2][2], beside[2][2], sum[8][2];

  a += a_offset + (long)batch * a_batch;
  b += ((long)batch * panels + panel) * n_fours * 4 * COLUMNS;
  bias += ((long)batch * panels + panel) * COLUMNS;
#pragma unroll
  for (int n = 0; n < A_LOADS; n++)
    a_row[n] = place_of_row (min (first + (item + n * ITEMS) / FOURS, rows - 1), lines,
        columns, a_image, a_line, a_column);
#pragma unroll
  for (int r = 0; r < 8; r++)
#pragma unroll
    for (int q = 0; q < 2; q++)
      sum[r][q] =
          PARTS == 1 ? vload4 (0, bias + q * 4 * ACROSS + across * 4) : (float4)0.0f;

  int four = fours[begin * FOURS + item % FOURS];
  BRING (begin)
  KEEP (0)
  barrier (CLK_LOCAL_MEM_FENCE);
  READ (0, 0, 0)
  for (int step = begin; step < n_steps; step++) {
    int side = (step - begin) % 2;
    if (step + 1 < n_steps)
      BRING (step + 1)
#pragma unroll
    for (int k = 0; k < DEEP - 1; k++) {
      READ ((k + 1) % 2, side, k + 1)
      MULTIPLY (k % 2)
    }
    if (step + 1 < n_steps)
      KEEP (1 - side)
    barrier (CLK_LOCAL_MEM_FENCE);
    if (step + 1 < n_steps)
      READ (0, 1 - side, 0)
    MULTIPLY (1)
  }

  LOCATE_RESIDUAL (c)
  c += c_offset + ((long)part * batches + batch) * c_batch;
#pragma unroll
  for (int r = 0; r < 8; r++) {
    const int row = first + r / 4 * 4 * DOWN + down * 4 + r % 4;
    if (row >= rows)
      continue;
    global OUTPUT *out =
        c + place_of_row (row, lines, columns, c_image, c_line, c_column);
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int column = panel * COLUMNS + q * 4 * ACROSS + across * 4;
      PUT_OF_ROW (sum[r][q], out + (long)column * c_step, width - column)
    }
  }
}
#endif
#endif
