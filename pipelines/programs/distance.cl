/* Great-circle distance of every point of a mesh to one, in km
 *
 * The mesh is of shape0 longitudes from `west` to `east` and shape1 latitudes from `south`
 * to `north`, both ends included, in degrees. Differences are taken of places in the mesh,
 * not of angles, so that they keep their digits where they are small.
 *
 * A work-item does LANES neighbours of a line, 2, 4, 8 or 16; shape0 is a multiple of that.
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
#define DEGREE ((REAL) 0.017453292519943295)
#define EARTH ((REAL) 6371.0)

kernel void
distance_to (global REAL *output, int shape0, int shape1, REAL south, REAL north,
    REAL west, REAL east, REAL latitude, REAL longitude)
{
  const int first = get_global_id (0) * LANES, y = get_global_id (1);
  const REAL step_y = (north - south) / (shape1 - 1), step_x = (east - west) / (shape0 - 1);
  const REAL place_y = (latitude - south) / (north - south) * (shape1 - 1);
  const REAL place_x = (longitude - west) / (east - west) * (shape0 - 1);
  const REAL from_latitude = (y - place_y) * step_y * DEGREE;
  const REAL sine_y = sin (from_latitude / 2);
  const REAL cosines = cos (latitude * DEGREE) * cos (latitude * DEGREE + from_latitude);
  REAL columns[LANES];

  for (int n = 0; n < LANES; n++)
    columns[n] = first + n - place_x;
  const REALS from_longitude = JOIN (vload, LANES) (0, columns) * (step_x * DEGREE);
  const REALS sine_x = sin (from_longitude / 2);
  const REALS haversine = sine_y * sine_y + cosines * sine_x * sine_x;
  JOIN (vstore, LANES) (2 * EARTH * asin (sqrt (haversine)), 0, output + y * shape0 + first);
}
