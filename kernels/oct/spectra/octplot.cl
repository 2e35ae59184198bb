/* octsignal: draws curves and an overlay of axes and text
 *
 * Built for COLOURS: 1 (RGBA) or 0 (grey)
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
 * to 0, in lines of `stroke` pixels. */
kernel void
find_spans (global const float *restrict values, uint points, uint curves, uint8 starts,
    float first, float step, int decibels, float low, float high, uint columns, uint rows,
    float stroke, global float2 *restrict spans)
{
  const uint column = get_global_id (0), number = get_global_id (1);
  if (column >= columns || number >= curves)
    return;
  const uint all_starts[8] = {starts.s0, starts.s1, starts.s2, starts.s3, starts.s4,
      starts.s5, starts.s6, starts.s7};
  global const float *curve = values + all_starts[number];
  const float from = first + step * (column - 0.5f * stroke),
              to = first + step * (column + 0.5f * stroke);
  float least = value_at (curve, points, from, decibels), most = least;
  for (float place = ceil (fmax (from, 0.0f)); place <= to; place += 1.0f) {
    const float value = value_at (curve, points, place, decibels);
    least = fmin (least, value);
    most = fmax (most, value);
  }
  const float last = value_at (curve, points, to, decibels);
  least = fmin (least, last), most = fmax (most, last);
  const float scale = (rows - 1) / (high - low), reach = 0.25f + 0.5f * stroke;
  spans[number * columns + column] =
      (float2)(scale * (high - most) - reach, scale * (high - least) + reach);
}

/* Draws the curves, of which the last is on top, and the overlay above them. Colours are
 * 0xRRGGBB. `plot`: left, top, width and height of the area of curves. `overlay`:
 * 0xAARRGGBB, multiplied by alpha */
kernel void
draw (global const float2 *restrict spans, uint curves, uint8 colours, int4 plot,
    global const uint *restrict overlay, uint width, uint height, uint background,
    global uchar *restrict output, ulong offset, int stride)
{
  const uint x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const uint all_colours[8] = {colours.s0, colours.s1, colours.s2, colours.s3, colours.s4,
      colours.s5, colours.s6, colours.s7};
  const int column = (int)x - plot.x, row = (int)y - plot.y;
  uint colour = background;
  if (column >= 0 && column < plot.z && row >= 0 && row < plot.w) {
    for (uint n = 0; n < curves; n++) {
      const float2 span = spans[n * plot.z + column];
      if (row >= span.x && row <= span.y)
        colour = all_colours[n];
    }
  }
  const uint above = overlay[y * width + x], share = 256 - (above >> 24);
  const uint seen = above + ((colour & 0xff00ff) * share >> 8 & 0xff00ff)
                    + ((colour & 0xff00) * share >> 8 & 0xff00);
  global uchar *line = output + offset + (long)y * stride;
#if COLOURS
  ((global uchar4 *)line)[x] = (uchar4)(seen >> 16, seen >> 8, seen, 255);
#else
  line[x] = (54 * (seen >> 16 & 255) + 183 * (seen >> 8 & 255) + 19 * (seen & 255)) >> 8;
#endif
}
