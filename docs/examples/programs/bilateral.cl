/* Bilateral filter of 7 x 7 pixels: a mean of neighbours that are near in place and value
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
bilateral (global const uchar *input, global float *output, int shape0, int shape1,
    float near, float alike)
{
  const int x = get_global_id (0), y = get_global_id (1);
  const float own = input[y * shape0 + x];
  float sum = 0, weights = 0;

  for (int dy = -3; dy <= 3; dy++) {
    for (int dx = -3; dx <= 3; dx++) {
      const int column = clamp (x + dx, 0, shape0 - 1),
                line = clamp (y + dy, 0, shape1 - 1);
      const float value = input[line * shape0 + column], difference = value - own;
      const float weight = exp (-(dx * dx + dy * dy) / (2 * near * near)
                                - difference * difference / (2 * alike * alike));
      sum += weight * value;
      weights += weight;
    }
  }
  output[y * shape0 + x] = sum / weights;
}
