/* Squared sizes of complex numbers, as complex numbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
power (global const float2 *input, global float2 *output)
{
  const size_t n = get_global_id (0);
  output[n] = (float2)(dot (input[n], input[n]), 0);
}
