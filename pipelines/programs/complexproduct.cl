/* The product of complex numbers, element by element
 *
 * A complex array has an innermost 2, so there are half as many work-items as numbers.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
product (global const float2 *a, global const float2 *b, global float2 *output)
{
  const size_t n = get_global_id (0);
  const float2 p = a[n], q = b[n];

  output[n] = (float2) (p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
}
