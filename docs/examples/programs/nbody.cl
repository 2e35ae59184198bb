/* Accelerations of bodies (x, y, z, mass) by all others, softened by 0.01
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 64

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
nbody (global const float4 *input, global float4 *output, int shape1)
{
  local float4 others[GROUP];
  const int body = get_global_id (0), id = get_local_id (0);
  const float4 own = input[min (body, shape1 - 1)];
  float3 sum = 0;

  for (int first = 0; first < shape1; first += GROUP) {
    const int count = min (GROUP, shape1 - first);
    if (id < count)
      others[id] = input[first + id];
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = 0; n < count; n++) {
      const float3 to = others[n].xyz - own.xyz;
      const float inverse = rsqrt (dot (to, to) + 0.01f);
      sum += others[n].w * inverse * inverse * inverse * to;
    }
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  if (body < shape1)
    output[body] = (float4)(sum, own.w);
}
