/* Makes the input of a network from a video frame: scaling, colours and normalization
 *
 * A work-item computes one pixel of the network's input. Each column and row of it is a
 * weighted sum of input columns and rows: `across` and `down` have for each the index of the
 * first one, then `taps` weights. An index of -1 marks pixels outside the frame, which get
 * `fill`. (inputs of videoinput.cpp)
 *
 * Built with the options of videoframe.clh, CHANNELS (1 or 3), STORED (float or half), and
 * IS_HALF.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <videoframe.clh>

#if IS_HALF
#define STORE(value, at) vstore_half (value, 0, at)
#else
#define STORE(value, at) (*(at) = (value))
#endif

kernel void
prepare (global const uchar *data, int2 size, ulong4 start, int4 stride, int4 step, int fields,
    global const float *restrict across, global const float *restrict down, int2 taps,
    float4 row0, float4 row1, float4 row2, float4 fill, global STORED *restrict output,
    long output_offset, long channel_step, long line_step, long column_step, int width,
    int height)
{
  const int x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const VideoFrame frame = {data, size, start, stride, step, fields};
  const VideoFrame *in = &frame;
  across += x * (taps.x + 1);
  down += y * (taps.y + 1);
  const int first_x = (int)across[0], first_y = (int)down[0];
  float values[3] = {fill.x, fill.y, fill.z};
  if (first_x >= 0 && first_y >= 0) {
    float4 sum = 0.0f;
    for (int j = 0; j < taps.y; j++) {
      if (down[1 + j] == 0.0f)
        continue;
      float4 line = 0.0f;
      for (int i = 0; i < taps.x; i++)
        if (across[1 + i] != 0.0f)
          line += across[1 + i]
                  * convert_float4 (read_pixel (in, first_x + i, first_y + j));
      sum += down[1 + j] * line;
    }
    sum.w = 1.0f;
    values[0] = dot (sum, row0);
    values[1] = dot (sum, row1);
    values[2] = dot (sum, row2);
  }
  output += output_offset + y * line_step + x * column_step;
  for (int c = 0; c < CHANNELS; c++)
    STORE (values[c], output + c * channel_step);
}
