/* The Mandelbrot set: how soon z² + c leaves a circle, from black to white where it stays
 *
 * A work-item does LANES neighbours of a line, 2, 4, 8 or 16. `span` is the width of the
 * picture at the time 0; it shrinks by e in 1 / `zoom` seconds.
 *
 * REAL: float or double
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef REAL
#define REAL float
#endif
#ifndef LANES
#define LANES 4
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_ (a, b)
#define REALS JOIN (REAL, LANES)
#define INTS JOIN (int, LANES)
#define REAL2 JOIN (REAL, 2)

kernel void
mandelbrot (global uchar *output, int width, int height, int stride, float time,
    REAL2 centre, REAL span, REAL zoom, int iterations)
{
  const int first = get_global_id (0) * LANES, line = get_global_id (1);
  const REAL scale = span * exp (-zoom * time) / width;
  int places[LANES], counts[LANES];

  for (int n = 0; n < LANES; n++)
    places[n] = first + n;
  const REALS column = JOIN (convert_, REALS) (JOIN (vload, LANES) (0, places));
  const REALS real_part = centre.x + (column - (REAL) 0.5 * width) * scale;
  const REALS imaginary = centre.y + (line - (REAL) 0.5 * height) * scale;
  REALS x = 0, y = 0;
  INTS count = 0;

  for (int n = 0; n < iterations; n++) {
    const REALS xx = x * x, yy = y * y;
    const INTS stays = JOIN (convert_, INTS) (xx + yy <= (REALS) (4));
    if (!any (stays))
      break;
    count -= stays;
    y = 2 * x * y + imaginary;
    x = xx - yy + real_part;
  }

  JOIN (vstore, LANES) (count, 0, counts);
  for (int n = 0; n < LANES && first + n < width; n++)
    output[line * stride + first + n] = convert_uchar_sat_rte (counts[n] * 255.0f / iterations);
}
