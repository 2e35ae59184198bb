/* Convolution of float64 arrays in double precision
 *
 * Reads the input in place. A work-item computes one pixel for four filters of a group.
 * The last four of a group may be fewer. Weights are [four][line][column][channel of
 * group][4].
 *
 * With CHANNELS_FIRST, neighbouring work-items compute neighbouring columns, otherwise
 * neighbouring filters.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

kernel void
convolve_double (global const uchar *input, long in_offset, long in_image,
    long in_channel, long in_line, long in_column, int in_height, int in_width, int top,
    int left, int border, global const double4 *weights, int tap_lines, int tap_columns,
    int stride_y, int stride_x, int dilation_y, int dilation_x, int channels_of_group,
    int filters_of_group, global const double4 *bias, float4 activation_numbers,
    global double *output, long out_offset, long out_image,
    long out_channel, long out_line, long out_column, int fours, int height, int width,
    uint items)
{
  uint n = get_global_id (0);
  if (n >= items)
    return;
#ifdef CHANNELS_FIRST
  int x = n % width, y = n / width % height, row = n / width / height;
  int four = row % fours, image = row / fours;
#else
  int four = n % fours, place = n / fours;
  int x = place % width, y = place / width % height, image = place / width / height;
#endif
  int fours_of_group = (filters_of_group + 3) / 4, group = four / fours_of_group;
  int filter = four % fours_of_group * 4; /* of the group */
  double4 sum = bias[four];

  weights += (long)four * tap_lines * tap_columns * channels_of_group;
  input += in_offset + image * in_image + (long)group * channels_of_group * in_channel;
  for (int j = 0; j < tap_lines; j++) {
    int from_y = border_index (y * stride_y + j * dilation_y - top, in_height, border);
    for (int i = 0; i < tap_columns; i++) {
      int from_x = border_index (x * stride_x + i * dilation_x - left, in_width, border);
      global const uchar *from = input + from_y * in_line + from_x * in_column;
      if (from_y >= 0 && from_x >= 0)
        for (int c = 0; c < channels_of_group; c++)
          sum += weights[c] * GET (from + c * in_channel);
      weights += channels_of_group;
    }
  }
  double values[4];
  vstore4 (sum, 0, values);
  output += out_offset + image * out_image + y * out_line + x * out_column
            + (long)(group * filters_of_group + filter) * out_channel;
  for (int f = 0; f < min (4, filters_of_group - filter); f++)
    PUT (activate_double (values[f], activation_numbers), output,
        f * out_channel);
}
