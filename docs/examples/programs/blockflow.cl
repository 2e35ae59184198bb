/* Motion between two pictures by blocks of 16 x 16: the shift of up to 4 pixels with the least
 * sum of absolute differences, of equal ones the first
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
blockflow (
    global const uchar *input, global int *output, int input_shape0, int input_shape1)
{
  const int left = get_global_id (0) * 16, top = get_global_id (1) * 16;
  global const uchar *next = input + input_shape0 * input_shape1;
  int least = INT_MAX;
  int2 best = 0;

  for (int dy = -4; dy <= 4; dy++) {
    for (int dx = -4; dx <= 4; dx++) {
      int sum = 0;
      for (int y = top; y < top + 16; y++) {
        for (int x = left; x < left + 16; x++) {
          const int to_x = clamp (x + dx, 0, input_shape0 - 1);
          const int to_y = clamp (y + dy, 0, input_shape1 - 1);
          sum += abs_diff (input[y * input_shape0 + x], next[to_y * input_shape0 + to_x]);
        }
      }
      if (sum < least) {
        least = sum;
        best = (int2)(dx, dy);
      }
    }
  }
  vstore2 (best, get_global_id (1) * (input_shape0 / 16) + get_global_id (0), output);
}
