/* Arrays of random numbers, drawn where they are used
 *
 * REAL: float or double
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <random.clh>

#ifndef REAL
#define REAL float
#endif

/* Stock options, of shape (3, n): their prices now, their strikes and their years */
kernel void
options (global REAL *output, ulong shape0, ulong seed)
{
  const ulong n = get_global_id (0);
  const float4 even = random_uniform4 (seed, n, 0);

  output[n] = (REAL) 5 + 25 * (REAL) even.x;
  output[n + shape0] = (REAL) 1 + 99 * (REAL) even.y;
  output[n + 2 * shape0] = (REAL) 0.25 + (REAL) 9.75 * (REAL) even.z;
}

/* Complex numbers, each part evenly from -1 to 1 */
kernel void
complex_numbers (global float2 *output, ulong seed)
{
  const ulong n = get_global_id (0);

  output[n] = 2 * random_uniform4 (seed, n, 0).xy - 1;
}

kernel void
normal_numbers (global float *output, ulong seed)
{
  const ulong n = get_global_id (0);

  output[n] = random_normal (seed, n, 0);
}
