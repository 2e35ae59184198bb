/* Connected components of pixels above 127, with 4 neighbours each. A component's label is
 * 1 + the least index of its pixels. One work-group repeats until no label changes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define GROUP 256

/* The least label of a pixel and its neighbours; of a pixel without a label 0 */
int
least_around (global const int *labels, int n, int width, int size)
{
  const int own = labels[n], none = INT_MAX;
  const int left = n % width > 0 && labels[n - 1] > 0 ? labels[n - 1] : none;
  const int right = n % width < width - 1 && labels[n + 1] > 0 ? labels[n + 1] : none;
  const int above = n >= width && labels[n - width] > 0 ? labels[n - width] : none;
  const int below = n + width < size && labels[n + width] > 0 ? labels[n + width] : none;

  return own == 0 ? 0 : min (min (min (left, right), min (above, below)), own);
}

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
components (global const uchar *input, global int *output, int shape0, int shape1)
{
  local int changed;
  const int id = get_local_id (0), size = shape0 * shape1;

  for (int n = id; n < size; n += GROUP)
    output[n] = input[n] > 127 ? n + 1 : 0;
  barrier (CLK_GLOBAL_MEM_FENCE);
  for (int again = 1; again;) {
    if (id == 0)
      changed = 0;
    barrier (CLK_LOCAL_MEM_FENCE);
    for (int n = id; n < size; n += GROUP) {
      const int least = least_around (output, n, shape0, size);
      if (least < output[n]) {
        output[n] = least;
        changed = 1;
      }
    }
    barrier (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    again = changed;
    barrier (CLK_LOCAL_MEM_FENCE);
  }
}
