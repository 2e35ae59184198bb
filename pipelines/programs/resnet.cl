/* Operators of the first stage of ResNet-50 beside its convolutions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* RGBA video to an array of shape (1, height, width, 3), each colour with the mean 0 and the
 * deviation 1 that it has over ImageNet */
kernel void
normalized_colours (global const uchar4 *input, global float *output, int input_stride, int shape1)
{
  const size_t column = get_global_id (0), line = get_global_id (1);
  const float3 colour =
      convert_float4 (input[line * (input_stride / 4) + column]).xyz / 255.0f;
  const float3 mean = (float3) (0.485f, 0.456f, 0.406f);
  const float3 deviation = (float3) (0.229f, 0.224f, 0.225f);

  vstore3 ((colour - mean) / deviation, line * shape1 + column, output);
}

/* The largest of each 3x3 at every other place, of (1, height, width, channels) with the
 * channels in fours; there is nothing beyond the edge. */
kernel void
largest (global const float4 *input, global float4 *output, int input_shape0,
    int input_shape1, int input_shape2, int shape1)
{
  const int fours = input_shape0 / 4, four = get_global_id (0);
  const int column = get_global_id (1), line = get_global_id (2);
  float4 most = -INFINITY;

  for (int y = max (2 * line - 1, 0); y <= min (2 * line + 1, input_shape2 - 1); y++)
    for (int x = max (2 * column - 1, 0); x <= min (2 * column + 1, input_shape1 - 1); x++)
      most = fmax (most, input[(y * input_shape1 + x) * fours + four]);
  output[(line * shape1 + column) * fours + four] = most;
}
