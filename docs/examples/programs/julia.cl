/* Steps until z -> z * z + c leaves the circle of radius 2, 100 at most
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
julia (global int *output, int shape0, int shape1, float2 c)
{
  const int x = get_global_id (0), y = get_global_id (1);
  float2 z = (float2)(x, y) / (float2)(shape0, shape1) * 3 - 1.5f;
  int steps = 0;

  for (; steps < 100 && dot (z, z) <= 4; steps++)
    z = (float2)(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
  output[y * shape0 + x] = steps;
}
