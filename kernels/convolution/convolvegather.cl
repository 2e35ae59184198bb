/* Copies the input of a convolution to floats and adds the border
 *
 * The output is planes, [image][channel][line][column], or pixels,
 * [image][line][column][channel], whose additional channels are 0. It has all rows and
 * columns that the taps reach. `top` rows and `left` columns come before those of the
 * input.
 *
 * `…_lines` copy one row per work-item, for a CPU. `…_numbers` copy one value, or four,
 * per work-item. They have one dimension, because the limit of others may be lower than
 * the number of rows.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolve.clh"

#define INPUT_PARAMETERS                                                                 \
  global const uchar *input, ulong offset, long image_step, long channel_step,           \
      long line_step, long column_step, int channels, int height, int width
#define PLACE_PARAMETERS int lines, int columns, int top, int left, int border

/* Returns the first element of row `y`, or NULL if the whole row is 0. */
global const uchar *
line_at (global const uchar *image, long line_step, int y, int height, int border)
{
  int from = border_index (y, height, border);
  return from < 0 ? (global const uchar *)0 : image + from * line_step;
}

float
number_at (global const uchar *line, long column_step, int x, int width, int border)
{
  int from = border_index (x, width, border);
  return !line || from < 0 ? 0.0f : GET (line + from * column_step);
}

kernel void
gather_plane_lines (INPUT_PARAMETERS, PLACE_PARAMETERS, global float *planes, int pitch)
{
  int y = get_global_id (0), plane = get_global_id (1);
  if (y >= lines)
    return;
  int image = plane / channels, channel = plane % channels;
  global const uchar *line =
      line_at (input + offset + image * image_step + channel * channel_step, line_step,
          y - top, height, border);
  global float *out = planes + ((long)plane * lines + y) * pitch;
  int first = min (left, columns), last = min (left + width, columns);

  for (int x = 0; x < first; x++)
    out[x] = number_at (line, column_step, x - left, width, border);
  if (!line) {
    for (int x = first; x < last; x++)
      out[x] = 0;
  } else if (column_step == sizeof (float)) {
    for (int x = first; x < last; x++)
      out[x] = GET (line + (x - left) * sizeof (float));
  } else if (column_step == 1) {
    for (int x = first; x < last; x++)
      out[x] = GET (line + (x - left));
  } else {
    for (int x = first; x < last; x++)
      out[x] = GET (line + (x - left) * column_step);
  }
  for (int x = max (last, 0); x < columns; x++)
    out[x] = number_at (line, column_step, x - left, width, border);
}

kernel void
gather_plane_numbers (
    INPUT_PARAMETERS, PLACE_PARAMETERS, global float *planes, int pitch, int images)
{
  uint n = get_global_id (0);
  int x = n % columns, row = n / columns, plane = row / lines, y = row % lines;
  int image = plane / channels, channel = plane % channels;
  if (image >= images)
    return;
  global const uchar *line =
      line_at (input + offset + image * image_step + channel * channel_step, line_step,
          y - top, height, border);
  planes[((long)plane * lines + y) * pitch + x] =
      number_at (line, column_step, x - left, width, border);
}

/* `depth`: channels of an output pixel, including the padding of each of `groups` */
float
channel_at (global const uchar *line, long channel_step, long column_step, int x,
    int width, int border, int channels, int groups, int depth, int c)
{
  int of_group = channels / groups, wide = depth / groups;
  int channel = c / wide * of_group + c % wide;
  return c % wide >= of_group
             ? 0.0f
             : number_at (line + channel * channel_step, column_step, x, width, border);
}

kernel void
gather_pixel_lines (
    INPUT_PARAMETERS, PLACE_PARAMETERS, global float *pixels, int groups, int depth)
{
  int y = get_global_id (0), image = get_global_id (1);
  if (y >= lines)
    return;
  global const uchar *line =
      line_at (input + offset + image * image_step, line_step, y - top, height, border);
  global float *out = pixels + ((long)image * lines + y) * columns * depth;
  int of_group = channels / groups, wide = depth / groups;
  int first = min (left, columns), last = max (min (left + width, columns), first);

  if (!line) {
    for (int n = 0; n < columns * depth; n++)
      out[n] = 0;
    return;
  }
  for (int x = 0; x < columns; x++) {
    if (x == first)
      x = last;
    if (x >= columns)
      break;
    for (int c = 0; c < depth; c++)
      out[x * depth + c] = channel_at (line, channel_step, column_step, x - left, width,
          border, channels, groups, depth, c);
  }
  out += first * depth;
  line += (first - left) * column_step;
  if (channel_step == sizeof (float) && column_step == channels * channel_step
      && depth == channels) {
    for (int n = 0; n < (last - first) * depth; n++)
      out[n] = GET (line + n * sizeof (float));
    return;
  }
  for (int c = 0; c < depth; c++) {
    int channel = c / wide * of_group + c % wide;
    if (c % wide < of_group)
      for (int x = 0; x < last - first; x++)
        out[x * depth + c] = GET (line + channel * channel_step + x * column_step);
    else
      for (int x = 0; x < last - first; x++)
        out[x * depth + c] = 0;
  }
}

/* A work-item copies four channels. */
kernel void
gather_pixel_numbers (INPUT_PARAMETERS, PLACE_PARAMETERS, global float *pixels,
    int groups, int depth, int images)
{
  uint n = get_global_id (0);
  int c = n % (depth / 4) * 4, place = n / (depth / 4);
  int x = place % columns, row = place / columns, image = row / lines, y = row % lines;
  if (image >= images)
    return;
  global const uchar *line =
      line_at (input + offset + image * image_step, line_step, y - top, height, border);
  int from = border_index (x - left, width, border);
  float4 four = 0.0f;
  if (line && from >= 0) {
#define CHANNEL(c)                                                                       \
  channel_at (line, channel_step, column_step, x - left, width, border, channels,        \
      groups, depth, c)
#ifdef INPUT_f32
    global const uchar *at = line + from * column_step + c * sizeof (float);
    if (depth == channels && channel_step == sizeof (float)
        && (ulong)at % sizeof (float4) == 0) {
      ((global float4 *)pixels)[n] = *(global const float4 *)at;
      return;
    }
#endif
    four.x = CHANNEL (c);
    four.y = CHANNEL (c + 1);
    four.z = CHANNEL (c + 2);
    four.w = CHANNEL (c + 3);
  }
  ((global float4 *)pixels)[n] = four;
}

/* Copies alpha or padding from the input pixel under the middle tap. Column `left` and
 * row `top` of the input belong to the first output pixel. */
kernel void
keep_component (global const uchar *input, ulong in_offset, long in_line, int in_column,
    int in_height, int in_width, global uchar *output, ulong out_offset, long out_line,
    int out_column, int height, int width, int stride_y, int stride_x, int top, int left, int bytes)
{
  int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  int from_x = clamp (x * stride_x + left, 0, in_width - 1);
  int from_y = clamp (y * stride_y + top, 0, in_height - 1);
  input += in_offset + from_y * in_line + from_x * in_column;
  output += out_offset + y * out_line + x * out_column;
  for (int b = 0; b < bytes; b++)
    output[b] = input[b];
}
