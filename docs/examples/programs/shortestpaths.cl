/* Floyd and Warshall's lengths of shortest paths between all nodes, by one work-group
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 256

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
shortestpaths (global const float *input, global float *output, int shape0)
{
  const int size = shape0 * shape0;

  for (int n = get_local_id (0); n < size; n += GROUP)
    output[n] = n / shape0 == n % shape0 ? 0 : input[n];
  for (int by = 0; by < shape0; by++) {
    barrier (CLK_GLOBAL_MEM_FENCE);
    for (int n = get_local_id (0); n < size; n += GROUP)
      output[n] = fmin (
          output[n], output[n / shape0 * shape0 + by] + output[by * shape0 + n % shape0]);
  }
}
