/* octsignal: draws curves and an overlay of axes and text
 *
 * Built for PIXEL: uchar (grey) or uchar4 (RGBA)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* Value of a curve between its points */
float
value_at (global const float *curve, uint points, float place, int decibels)
{
  const float limited = clamp (place, 0.0f, (float)(points - 1));
  const uint before = min ((uint)limited, points - 1),
             after = min (before + 1, points - 1);
  float a = curve[before], b = curve[after];
  if (decibels) {
    a = 10.0f * log10 (fmax (a, 1e-12f));
    b = 10.0f * log10 (fmax (b, 1e-12f));
  }
  return a + (limited - before) * (b - a);
}

/* Finds the rows that each curve covers in each column, from the left edge of the column
 * to its right edge: curves of many points are drawn as their range. Dimension 0:
 * columns, dimension 1: curves. Curve n begins at value starts[n]. Column c shows the
 * points around first + step c. Values from `low` to `high` are drawn from row `rows` - 1
 * to 0. */
kernel void
find_spans (global const float *restrict values, uint points, uint curves, uint8 starts,
    float first, float step, int decibels, float low, float high, uint columns, uint rows,
    global float2 *restrict spans)
{
  const uint column = get_global_id (0), number = get_global_id (1);
  if (column >= columns || number >= curves)
    return;
  const uint all_starts[8] = {starts.s0, starts.s1, starts.s2, starts.s3, starts.s4,
      starts.s5, starts.s6, starts.s7};
  global const float *curve = values + all_starts[number];
  const float from = first + step * (column - 0.5f), to = first + step * (column + 0.5f);
  float least = value_at (curve, points, from, decibels), most = least;
  for (float place = ceil (fmax (from, 0.0f)); place <= to; place += 1.0f) {
    const float value = value_at (curve, points, place, decibels);
    least = fmin (least, value);
    most = fmax (most, value);
  }
  const float last = value_at (curve, points, to, decibels);
  least = fmin (least, last), most = fmax (most, last);
  const float scale = (rows - 1) / (high - low);
  spans[number * columns + column] =
      (float2)(scale * (high - most) - 0.75f, scale * (high - least) + 0.75f);
}

/* Draws the curves where the overlay is below `curve_colour`: background and grid. The
 * last curve is on top. `plot`: left, top, width and height of the area of curves */
kernel void
draw (global const float2 *restrict spans, uint curves, uint8 colours, int4 plot,
    global const uchar *restrict overlay, uint width, uint height,
    constant PIXEL *palette, uint curve_colour, global uchar *restrict output,
    ulong offset, int stride)
{
  const uint x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const uint all_colours[8] = {colours.s0, colours.s1, colours.s2, colours.s3, colours.s4,
      colours.s5, colours.s6, colours.s7};
  const int column = (int)x - plot.x, row = (int)y - plot.y;
  uint colour = overlay[y * width + x];
  if (colour < curve_colour && column >= 0 && column < plot.z && row >= 0
      && row < plot.w) {
    for (uint n = 0; n < curves; n++) {
      const float2 span = spans[n * plot.z + column];
      if (row >= span.x && row <= span.y)
        colour = all_colours[n];
    }
  }
  ((global PIXEL *)(output + offset + (long)y * stride))[x] = palette[colour];
}
