/* The step of k-means that gives each point the index of its nearest centre
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
nearest (global const float4 *input, global const float4 *centres, int centres_shape1,
    global int *output)
{
  const float4 point = input[get_global_id (0)];
  float least = INFINITY;
  int best = 0;

  for (int n = 0; n < centres_shape1; n++) {
    const float4 to = centres[n] - point;
    const float squared = dot (to, to);
    if (squared < least) {
      least = squared;
      best = n;
    }
  }
  output[get_global_id (0)] = best;
}
