/* Products of matrices, of which a convolution consists
 *
 * C = A · B, then bias and activation. Row r of A is what the filters see for one number
 * of the output: of image r / (lines · columns) and so on, so its numbers stand where the
 * input has them, and where each four of them begin is `fours`. B lies in panels of
 * COLUMNS columns, [batch][panel][k][COLUMNS], filled up with zeros. Of a batch, A, B and
 * C stand so many numbers from one to the next.
 *
 * `multiply_lanes`, for a CPU: a work-item makes ROWS x 2 · LANES of C in registers.
 * `multiply_groups`: 16 x 16 work-items make ROWS x COLUMNS of it by way of local memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

/* Where an array's numbers are: from an image, a line, a column to the next. */
typedef struct {
  int image, line, column;
} Steps;

#define PARAMETERS                                                                       \
  global const float *a, int a_batch, int a_image, int a_line, int a_column,             \
      global const int *fours, int n_fours, global const float *b,                       \
      global const float *bias, int activation, global OUTPUT *c, long c_offset,         \
      int c_batch, int c_image, int c_line, int c_column, int c_step, int rows,          \
      int lines, int columns, int width

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

#define ROUND(k)                                                                         \
  {                                                                                      \
    FLOATS left = VLOAD (2 * (k), b), right = VLOAD (2 * (k) + 1, b);                    \
    _Pragma ("unroll") for (int r = 0; r < ROWS; r++)                                    \
    {                                                                                    \
      FLOATS value = row[r][step + (k)];                                                 \
      x[r] += value * left;                                                              \
      y[r] += value * right;                                                             \
    }                                                                                    \
  }

kernel __attribute__ ((reqd_work_group_size (1, 1, 1))) void
multiply_lanes (PARAMETERS)
{
  int first = get_global_id (0) * ROWS, panel = get_global_id (1);
  int batch = get_global_id (2), panels = get_global_size (1);
  global const float *row[ROWS];
  FLOATS x[ROWS], y[ROWS];

  a += (long)batch * a_batch;
  b += ((long)batch * panels + panel) * n_fours * 4 * COLUMNS;
  bias += ((long)batch * panels + panel) * COLUMNS;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    row[r] = a
             + place_of_row (
                 min (first + r, rows - 1), lines, columns, a_image, a_line, a_column);
    x[r] = VLOAD (0, bias);
    y[r] = VLOAD (1, bias);
  }
  for (int f = 0; f < n_fours; f++) {
    int step = fours[f];
    ROUND (0)
    ROUND (1)
    ROUND (2)
    ROUND (3)
    b += 4 * COLUMNS;
  }
  c += c_offset + (long)batch * c_batch + (long)panel * COLUMNS * c_step;
  FLOATS sums[2 * ROWS]; /* the rest of the code is there once */
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    sums[2 * r] = x[r];
    sums[2 * r + 1] = y[r];
  }
#pragma unroll 1
  for (int n = 0; n < 2 * min (ROWS, rows - first); n++) {
    int column = n % 2 * LANES;
    put_lanes (ACTIVATE (sums[n], activation),
        c + place_of_row (first + n / 2, lines, columns, c_image, c_line, c_column)
            + (long)column * c_step,
        c_step, width - panel * COLUMNS - column);
  }
}
#else
/* In a step along k */
#define DEEP 8
#define SIDE 16
#define ROW_FOURS (ROWS / SIDE / 4)
#define COLUMN_FOURS (COLUMNS / SIDE / 4)
/* Reads of four stay aligned, writes of a column meet other banks. */
#define PITCH (ROWS + 4)

/* Every four of local memory is aligned. */
#define FOUR(numbers) (*(local float4 *)(numbers))

/* Fours of A and B that a work-item brings for a step. */
#define A_LOADS ((ROWS * DEEP / 4 + SIDE * SIDE - 1) / (SIDE * SIDE))
#define B_LOADS ((COLUMNS * DEEP / 4 + SIDE * SIDE - 1) / (SIDE * SIDE))

kernel __attribute__ ((reqd_work_group_size (SIDE, SIDE, 1))) void
multiply_groups (PARAMETERS)
{
  local float as[2][DEEP * PITCH] __attribute__ ((aligned (16)));
  local float bs[2][DEEP * COLUMNS] __attribute__ ((aligned (16)));
  int item = get_local_id (1) * SIDE + get_local_id (0);
  int across = get_local_id (0), down = get_local_id (1);
  int first = get_group_id (0) * ROWS, panel = get_group_id (1);
  int batch = get_group_id (2), panels = get_num_groups (1);
  int n_steps = n_fours / (DEEP / 4);
  int a_row[A_LOADS];
  float4 a_next[A_LOADS], b_next[B_LOADS];
  float4 sum[4 * ROW_FOURS][COLUMN_FOURS];

  a += (long)batch * a_batch;
  b += ((long)batch * panels + panel) * n_fours * 4 * COLUMNS;
  bias += ((long)batch * panels + panel) * COLUMNS;
#pragma unroll
  for (int n = 0; n < A_LOADS; n++)
    a_row[n] =
        place_of_row (min (first + (item + n * SIDE * SIDE) / (DEEP / 4), rows - 1),
            lines, columns, a_image, a_line, a_column);
#pragma unroll
  for (int r = 0; r < 4 * ROW_FOURS; r++)
#pragma unroll
    for (int q = 0; q < COLUMN_FOURS; q++)
      sum[r][q] = vload4 (0, bias + q * 4 * SIDE + across * 4);

#define IN_A(n)                                                                          \
  (ROWS * DEEP / 4 % (SIDE * SIDE) == 0 || item + n * SIDE * SIDE < ROWS * DEEP / 4)
#define IN_B(n)                                                                          \
  (COLUMNS * DEEP / 4 % (SIDE * SIDE) == 0 || item + n * SIDE * SIDE < COLUMNS * DEEP / 4)
#define BRING(step)                                                                      \
  {                                                                                      \
    _Pragma ("unroll") for (int n = 0; n < A_LOADS; n++) if (IN_A (n)) a_next[n] =       \
        *(global const float4 *)(a + a_row[n]                                            \
                                 + fours[(step) * (DEEP / 4) + item % (DEEP / 4)]);      \
    _Pragma ("unroll") for (int n = 0; n < B_LOADS; n++) if (IN_B (n)) b_next[n] = ((    \
        global const float4 *)(b                                                         \
                               + (long)(step)*DEEP * COLUMNS))[item + n * SIDE * SIDE];  \
  }
#define KEEP(part)                                                                       \
  {                                                                                      \
    _Pragma ("unroll") for (int n = 0; n < A_LOADS; n++) if (IN_A (n))                   \
    {                                                                                    \
      local float *at = as[part] + item % (DEEP / 4) * 4 * PITCH                         \
                        + (item + n * SIDE * SIDE) / (DEEP / 4);                         \
      at[0] = a_next[n].x;                                                               \
      at[PITCH] = a_next[n].y;                                                           \
      at[2 * PITCH] = a_next[n].z;                                                       \
      at[3 * PITCH] = a_next[n].w;                                                       \
    }                                                                                    \
    _Pragma ("unroll") for (int n = 0; n < B_LOADS; n++) if (IN_B (n))                   \
        FOUR (bs[part] + 4 * (item + n * SIDE * SIDE)) = b_next[n];                      \
  }

  BRING (0)
  KEEP (0)
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int step = 0; step < n_steps; step++) {
    int part = step % 2;
    if (step + 1 < n_steps)
      BRING (step + 1)
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
      float4 above[ROW_FOURS], beside[COLUMN_FOURS];
#pragma unroll
      for (int q = 0; q < ROW_FOURS; q++)
        above[q] = FOUR (as[part] + k * PITCH + q * 4 * SIDE + down * 4);
#pragma unroll
      for (int q = 0; q < COLUMN_FOURS; q++)
        beside[q] = FOUR (bs[part] + k * COLUMNS + q * 4 * SIDE + across * 4);
#pragma unroll
      for (int r = 0; r < ROW_FOURS; r++)
#pragma unroll
        for (int q = 0; q < COLUMN_FOURS; q++) {
          sum[4 * r][q] = fma (above[r].x, beside[q], sum[4 * r][q]);
          sum[4 * r + 1][q] = fma (above[r].y, beside[q], sum[4 * r + 1][q]);
          sum[4 * r + 2][q] = fma (above[r].z, beside[q], sum[4 * r + 2][q]);
          sum[4 * r + 3][q] = fma (above[r].w, beside[q], sum[4 * r + 3][q]);
        }
    }
    if (step + 1 < n_steps)
      KEEP (1 - part)
    barrier (CLK_LOCAL_MEM_FENCE);
  }

  c += c_offset + (long)batch * c_batch;
#pragma unroll
  for (int r = 0; r < 4 * ROW_FOURS; r++) {
    int row = first + r / 4 * 4 * SIDE + down * 4 + r % 4;
    if (row < rows) {
      global OUTPUT *out =
          c + place_of_row (row, lines, columns, c_image, c_line, c_column);
#pragma unroll
      for (int q = 0; q < COLUMN_FOURS; q++) {
        int column = panel * COLUMNS + q * 4 * SIDE + across * 4;
        float4 values = sum[r][q];
        values.x = activate_float (values.x, activation);
        values.y = activate_float (values.y, activation);
        values.z = activate_float (values.z, activation);
        values.w = activate_float (values.w, activation);
#ifdef OUTPUT_f32
        if (c_step == 1 && column + 3 < width) {
          vstore4 (values, 0, out + column);
          continue;
        }
#endif
        if (column < width)
          PUT (values.x, out, (long)column * c_step);
        if (column + 1 < width)
          PUT (values.y, out, (long)(column + 1) * c_step);
        if (column + 2 < width)
          PUT (values.z, out, (long)(column + 2) * c_step);
        if (column + 3 < width)
          PUT (values.w, out, (long)(column + 3) * c_step);
      }
    }
  }
}
#endif
