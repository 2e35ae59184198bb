/* A gray picture that a noisy camera films, and the running mean of such frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <random.clh>

kernel void
noise (global const uchar *input, global uchar *output, int stride, uint frame, float noise)
{
  const int x = get_global_id (0), y = get_global_id (1), n = y * stride + x;
  const float drawn = random_uniform (1, y * get_global_size (0) + x, frame);

  output[n] = convert_uchar_sat_rte (input[n] + noise * (drawn - 0.5f));
}

/* `sum` is the weighted sum of the frames so far, and `weight` that of their weights. The
 * weight of a frame is `keep` times that of the one after it: 1 gives the mean of all. */
kernel void
mean (global const uchar *input, global uchar *output, int stride, global float *sum,
    global float *weight, float keep)
{
  const int x = get_global_id (0), y = get_global_id (1), n = y * stride + x;
  const int pixel = y * get_global_size (0) + x;

  sum[pixel] = keep * sum[pixel] + input[n];
  weight[pixel] = keep * weight[pixel] + 1;
  output[n] = convert_uchar_sat_rte (sum[pixel] / weight[pixel]);
}
