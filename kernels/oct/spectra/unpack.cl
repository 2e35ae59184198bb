/* Unpacks samples in formats that other kernels do not read, and counts saturated samples
 *
 * Built for one of the formats of samples.clh
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "samples.clh"

/* Unpacks `samples` samples of each A-line from `first` on. A-lines of the output are
 * contiguous. */
kernel void
unpack (global const uchar *restrict input, ulong input_offset, long input_stride,
    uint first, uint samples, uint lines, uint shift, global SAMPLE *restrict output)
{
  const uint sample = get_global_id (0), line = get_global_id (1);
  if (sample >= samples || line >= lines)
    return;
  output[(size_t)line * samples + sample] =
      sample_at (input + input_offset + line * input_stride, first + sample, shift);
}

/* Adds the number of samples to counts[0], and the number of saturated samples to
 * counts[1]. All work-items of dimension 0 share an A-line. */
kernel void
count_saturated (global const uchar *restrict input, ulong input_offset,
    long input_stride, uint first, uint samples, uint lines, uint shift, float full_scale,
    global uint *counts)
{
  const uint item = get_global_id (0), line = get_global_id (1);
  if (line >= lines)
    return;
  global const uchar *from = input + input_offset + line * input_stride;
  uint saturated = 0;
  for (uint n = item; n < samples; n += get_global_size (0)) {
    const float value = sample_at (from, first + n, shift);
    /* The lowest signed sample is one further from zero than the highest. */
    saturated += value >= full_scale || value <= -full_scale - 1;
  }
  if (item == 0)
    atomic_add (counts, samples);
  if (saturated > 0)
    atomic_add (counts + 1, saturated);
}
