/* Counts of each byte. The output is filled with 0 first (fill-output).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
histogram (global const uchar *input, global uint *output)
{
  atomic_inc (&output[input[get_global_id (0)]]);
}
