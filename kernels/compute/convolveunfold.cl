/* What each number of an output sees of the input, as the row of a matrix ("im2col")
 *
 * Pixels are what convolvegather.cl makes; each four of a row begin at `fours`. A
 * work-item copies `run` fours.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
unfold (global const float *pixels, int of_image, int of_line, int of_column, int start,
    global const int *fours, int n_fours, int run, global float *rows, int depth,
    int height, int width, int n_rows, long rows_start)
{
  int first = get_global_id (0) * run, row = get_global_id (1);
  if (first >= n_fours || row >= n_rows)
    return;
  int line = row / width;
  pixels += (long)(line / height) * of_image + line % height * of_line
            + row % width * of_column + start;
  rows += rows_start + (long)row * depth;
  for (int f = first; f < min (first + run, n_fours); f++)
    vstore4 (vload4 (0, pixels + fours[f]), f, rows);
}
