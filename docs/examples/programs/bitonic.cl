/* Sorts each row of up to 1024 numbers by Batcher's bitonic network in local memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 256
#define SIZE 1024

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
bitonic (global const float *input, global float *output, int shape0)
{
  local float row[SIZE];
  const int id = get_local_id (0), first = get_group_id (1) * shape0;

  for (int n = id; n < SIZE; n += GROUP)
    row[n] = n < shape0 ? input[first + n] : INFINITY;
  for (int run = 2; run <= SIZE; run *= 2) {
    for (int gap = run / 2; gap > 0; gap /= 2) {
      barrier (CLK_LOCAL_MEM_FENCE);
      for (int n = id; n < SIZE; n += GROUP) {
        const int other = n ^ gap;
        const float a = row[n], b = row[other];
        if (other > n && (a > b) == ((n & run) == 0)) {
          row[n] = b;
          row[other] = a;
        }
      }
    }
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  for (int n = id; n < shape0; n += GROUP)
    output[first + n] = row[n];
}
