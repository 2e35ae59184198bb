/* Real samples to pairs of (real, 0)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
widen (global const float *restrict samples, global float2 *restrict pairs, ulong count)
{
  size_t n = get_global_id (0);
  if (n < count)
    pairs[n] = (float2) (samples[n], 0.0f);
}
