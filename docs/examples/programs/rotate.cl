/* Rotation about the middle by `angle` radians, bilinear; outside it is 0
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
float
pixel (global const uchar *input, int x, int y, int width, int height)
{
  return x >= 0 && x < width && y >= 0 && y < height ? input[y * width + x] : 0;
}

kernel void
rotate_picture (
    global const uchar *input, global float *output, int shape0, int shape1, float angle)
{
  const float2 middle = (float2)(shape0 - 1, shape1 - 1) / 2;
  const float2 to = (float2)(get_global_id (0), get_global_id (1)) - middle;
  const float2 at = (float2)(cos (angle) * to.x + sin (angle) * to.y,
                        cos (angle) * to.y - sin (angle) * to.x)
                    + middle;
  const int x = floor (at.x), y = floor (at.y);
  const float right = at.x - x, below = at.y - y;
  const float upper = mix (pixel (input, x, y, shape0, shape1),
      pixel (input, x + 1, y, shape0, shape1), right);
  const float lower = mix (pixel (input, x, y + 1, shape0, shape1),
      pixel (input, x + 1, y + 1, shape0, shape1), right);

  output[get_global_id (1) * shape0 + get_global_id (0)] = mix (upper, lower, below);
}
