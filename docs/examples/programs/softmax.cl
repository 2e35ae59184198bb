/* Softmax of each row by a work-group of 64
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 64

float
reduced (local float *values, float value, bool adds)
{
  const int id = get_local_id (0);

  values[id] = value;
  for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    barrier (CLK_LOCAL_MEM_FENCE);
    if (id < half_of)
      values[id] = adds ? values[id] + values[id + half_of]
                        : fmax (values[id], values[id + half_of]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  const float result = values[0];
  barrier (CLK_LOCAL_MEM_FENCE);
  return result;
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
softmax (global const float *input, global float *output, int shape0)
{
  local float values[GROUP];
  const int id = get_local_id (0), first = get_group_id (1) * shape0;
  float largest = -INFINITY, sum = 0;

  for (int n = id; n < shape0; n += GROUP)
    largest = fmax (largest, input[first + n]);
  largest = reduced (values, largest, false);
  for (int n = id; n < shape0; n += GROUP)
    sum += exp (input[first + n] - largest);
  sum = reduced (values, sum, true);
  for (int n = id; n < shape0; n += GROUP)
    output[first + n] = exp (input[first + n] - largest) / sum;
}
