/* Product of a matrix and a vector: a work-group of 64 sums a row
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel __attribute__ ((reqd_work_group_size (64, 1, 1))) void
matvec (global const float *input, global const float *vector, global float *output,
    int input_shape0)
{
  local float sums[64];
  const int row = get_group_id (0), id = get_local_id (0);
  float sum = 0;

  for (int n = id; n < input_shape0; n += 64)
    sum += input[row * input_shape0 + n] * vector[n];
  sums[id] = sum;
  for (int half_of = 32; half_of > 0; half_of /= 2) {
    barrier (CLK_LOCAL_MEM_FENCE);
    if (id < half_of)
      sums[id] += sums[id + half_of];
  }
  if (id == 0)
    output[row] = sums[0];
}
