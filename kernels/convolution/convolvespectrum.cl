/* Correlation as multiplication of spectra
 *
 * Spectra are [image][plane][bin] and [filter][plane of group][bin], of pairs (real,
 * imaginary). The output is [image][filter][bin].
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
kernel void
multiply_spectra (global const float2 *spectra, int planes, int planes_of_group,
    global const float2 *taps, int filters, int filters_of_group, int bins,
    global float2 *output, int run, int rows)
{
  uint n = get_global_id (0), runs = (bins + run - 1) / run;
  int first = n % runs * run, row = n / runs;
  int image = row / filters, filter = row % filters;
  if (row >= rows)
    return;
  spectra += (long)(image * planes + filter / filters_of_group * planes_of_group) * bins;
  taps += (long)filter * planes_of_group * bins;
  output += (long)row * bins;
  int last = min (first + run, bins);
  for (int plane = 0; plane < planes_of_group; plane++) {
    for (int bin = first; bin < last; bin++) {
      float2 a = spectra[bin], b = taps[bin]; /* a · conj (b) */
      float2 product = (float2)(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
      output[bin] = plane == 0 ? product : output[bin] + product;
    }
    spectra += bins;
    taps += bins;
  }
}
