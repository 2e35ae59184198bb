/* Shares of random points in a quarter of a circle; 4 times their mean is pi
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <random.clh>

kernel void
montecarlo (global float *output, uint seed)
{
  const uint index = get_global_id (0);
  int inside = 0;

  for (uint draw = 0; draw < 64; draw++) {
    const float4 r = random_uniform4 (seed, index, draw);
    inside += (r.x * r.x + r.y * r.y < 1) + (r.z * r.z + r.w * r.w < 1);
  }
  output[index] = inside / 128.0f;
}
