/* Sums of bytes by key, here the upper three bits. The output is filled with 0 first.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
reducebykey (global const uchar *input, global uint *output)
{
  const uint value = input[get_global_id (0)];
  atomic_add (&output[value >> 5], value);
}
