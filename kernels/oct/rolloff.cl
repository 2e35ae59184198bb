/* Depths of a grid, rolled off in place
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A-lines are `bin_stride` bins apart. */
kernel void
roll_off (global float2 *bins, uint bin_stride, global const float *restrict rolloff,
    uint depths, uint lines)
{
  const size_t depth = get_global_id (0), line = get_global_id (1);
  if (depth < depths && line < lines)
    bins[line * bin_stride + depth] *= rolloff[depth];
}
