/* Connected components of pixels above 127, with 4 neighbours each. A component's label is
 * 1 + the least index of its pixels. One work-group lets labels spread by a pixel and more in each of
 * `rounds`, as many as the longest way within a component has pixels.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 256

/* The least label of a pixel and its neighbours; of a pixel without a label 0. Less 1, no label is the
 * largest number. */
int
least_around (global const int *labels, int n, int width, int size)
{
  const int x = n % width, left = n - (x > 0), right = n + (x < width - 1);
  const int above = max (n - width, x), below = min (n + width, size - width + x);
  const uint across = min ((uint)labels[left] - 1, (uint)labels[right] - 1);
  const uint down = min ((uint)labels[above] - 1, (uint)labels[below] - 1);

  return labels[n] ? min ((uint)labels[n] - 1, min (across, down)) + 1 : 0;
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
components (
    global const uchar *input, global int *output, int shape0, int shape1, int rounds)
{
  const int id = get_local_id (0), size = shape0 * shape1;

  for (int n = id; n < size; n += GROUP)
    output[n] = input[n] > 127 ? n + 1 : 0;
  for (int round = 0; round < rounds; round++) {
    barrier (CLK_GLOBAL_MEM_FENCE);
    for (int n = id; n < size; n += GROUP)
      output[n] = least_around (output, n, shape0, size);
  }
}
