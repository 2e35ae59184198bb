/* Heat equation on a plate, by explicit steps: the temperature of each point after a step
 *
 * The plate is cold at first. Its left edge and a disk in it are kept at `hot`, its right
 * edge at 0. No heat leaves the other two. `rate` is the diffusivity times the step in time
 * over the square of the distance of two points; above 0.25 the sum is not stable.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
heat (global float *output, global const float *previous, int shape0, int shape1, float rate,
    float hot)
{
  const int x = get_global_id (0), y = get_global_id (1), n = y * shape0 + x;
  const int up = y > 0 ? n - shape0 : n, down = y + 1 < shape1 ? n + shape0 : n;
  const int to_x = x - shape0 / 2, to_y = y - shape1 / 2, radius = shape1 / 8;

  if (x == 0 || to_x * to_x + to_y * to_y < radius * radius)
    output[n] = hot;
  else if (x + 1 == shape0)
    output[n] = 0;
  else
    output[n] = previous[n]
                + rate * (previous[n - 1] + previous[n + 1] + previous[up] + previous[down]
                          - 4 * previous[n]);
}
