/* octrender: ray casting of a volume
 *
 * NUMBER is the type of a voxel. x (depth) varies fastest, then y (line), then z
 * (B-scan). Coordinates are in voxels from a corner of the volume, so the centre of the
 * first voxel is at 0.5. Values up to `black` are invisible. Values from `white` on have
 * full brightness.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* Voxels along each side of a brick. A ray interpolates between voxels of a brick and
 * their neighbours, so both limit the values in a brick. */
#define BRICK 8

/* Computes the maximum along x of each brick and one neighbour on either side. */
kernel void
bound_depths (global const NUMBER *restrict volume, ulong offset, uint4 size, uint bricks,
    global NUMBER *restrict bounds)
{
  const uint brick = get_global_id (0);
  const size_t line = get_global_id (1);
  if (brick >= bricks || line >= size.y * (size_t)size.z)
    return;

  global const NUMBER *from = volume + offset + line * size.x;
  const uint first = max (brick * BRICK, 1u) - 1;
  const uint last = min (brick * BRICK + BRICK, size.x - 1);
  NUMBER greatest = from[first];
  for (uint x = first + 1; x <= last; x++)
    greatest = max (greatest, from[x]);
  bounds[line * bricks + brick] = greatest;
}

/* Computes the maximum of each brick and its neighbours from the maxima along x. */
kernel void
bound_bricks (global const NUMBER *restrict depths, uint4 size, uint4 bricks,
    global NUMBER *restrict bounds)
{
  const uint brick_x = get_global_id (0), row = get_global_id (1);
  if (brick_x >= bricks.x || row >= bricks.y * bricks.z)
    return;

  const uint brick_y = row % bricks.y, brick_z = row / bricks.y;
  const uint last_y = min (brick_y * BRICK + BRICK, size.y - 1);
  const uint last_z = min (brick_z * BRICK + BRICK, size.z - 1);
  const uint first_y = max (brick_y * BRICK, 1u) - 1;
  const uint first_z = max (brick_z * BRICK, 1u) - 1;
  NUMBER greatest = depths[(first_z * (size_t)size.y + first_y) * bricks.x + brick_x];
  for (uint z = first_z; z <= last_z; z++) {
    for (uint y = first_y; y <= last_y; y++)
      greatest = max (greatest, depths[(z * (size_t)size.y + y) * bricks.x + brick_x]);
  }
  bounds[row * (size_t)bricks.x + brick_x] = greatest;
}

/* Interpolates between the eight voxels around `place`. Repeats the outermost voxels
 * beyond their centres. */
float
value_at (global const NUMBER *volume, uint4 size, float4 place)
{
  const float4 last = convert_float4 (size) - 1.0f;
  const float4 at = clamp (place - 0.5f, (float4)0.0f, last);
  const uint4 low = convert_uint4 (at);
  const float4 part = at - convert_float4 (low);
  const size_t line = size.x, plane = (size_t)size.x * size.y;
  const uint right = low.x + 1 < size.x ? 1 : 0;
  const size_t below = low.y + 1 < size.y ? line : 0;
  const size_t behind = low.z + 1 < size.z ? plane : 0;
  global const NUMBER *v = volume + low.z * plane + low.y * line + low.x;

  const float4 left_ones = (float4)(v[0], v[below], v[behind], v[below + behind]);
  const float4 right_ones =
      (float4)(v[right], v[below + right], v[behind + right], v[below + behind + right]);
  const float4 along_x = mix (left_ones, right_ones, part.x);
  const float2 along_y = mix (along_x.s02, along_x.s13, part.y);
  return mix (along_y.x, along_y.y, part.z);
}

/* Returns the range of samples of a ray that are within [0, size] along one axis. */
float2
samples_within (float start, float step, float size)
{
  if (fabs (step) < 1e-9f)
    return start >= 0.0f && start <= size ? (float2)(-FLT_MAX, FLT_MAX)
                                          : (float2)(FLT_MAX, -FLT_MAX);
  const float a = -start / step, b = (size - start) / step;
  return (float2)(fmin (a, b), fmax (a, b));
}

/* Returns the sample, with a fraction, at which the ray leaves a brick along one axis. */
float
exit_at (float start, float step, uint brick)
{
  if (fabs (step) < 1e-9f)
    return FLT_MAX;
  const float side = (float)(step > 0.0f ? brick * BRICK + BRICK : brick * BRICK);
  return (side - start) / step;
}

/* Casts one ray per pixel. The ray of pixel (x, y) passes through
 * origin + x * across + y * down, on the plane through the centre of the volume. Its
 * samples are `along` apart, before and behind this plane. Displays the brightest sample,
 * or with `blends` composites all samples. Then a sample of full brightness hides
 * `opacity` of what is behind it, for a step of length 1. `unit` is the length of a
 * step. */
kernel void
render (global const NUMBER *restrict volume, ulong offset, uint4 size,
    global const NUMBER *restrict bounds, uint4 bricks, float4 origin, float4 across,
    float4 down, float4 along, float black, float white, uint blends, float opacity,
    float unit, global uchar *restrict output, ulong output_offset, uint stride,
    uint width, uint height)
{
  const uint x = get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;

  const float4 start = origin + (float)x * across + (float)y * down;
  const float2 of_x = samples_within (start.x, along.x, (float)size.x);
  const float2 of_y = samples_within (start.y, along.y, (float)size.y);
  const float2 of_z = samples_within (start.z, along.z, (float)size.z);
  const float first = ceil (fmax (of_x.x, fmax (of_y.x, of_z.x)));
  const float last = floor (fmin (of_x.y, fmin (of_y.y, of_z.y)));
  const float scale = 1.0f / (white - black);

  float brightest = black, light = 0.0f, transmittance = 1.0f;
  for (float n = first; n <= last;) {
    const float4 place = start + n * along;
    const uint4 brick =
        min (convert_uint4_sat (place) / BRICK, max (bricks, (uint4)1u) - 1u);
    const float bound =
        (float)bounds[(brick.z * (size_t)bricks.y + brick.y) * bricks.x + brick.x];
    if (!(bound > brightest)) {
      const float exit_sample = fmin (
          exit_at (start.x, along.x, brick.x), fmin (exit_at (start.y, along.y, brick.y),
                                                   exit_at (start.z, along.z, brick.z)));
      n = fmax (n, floor (exit_sample)) + 1.0f;
      continue;
    }
    n += 1.0f;
    const float value = value_at (volume + offset, size, place);
    if (!blends) {
      brightest = fmax (brightest, value);
      if (brightest >= white)
        break;
      continue;
    }
    const float part = clamp ((value - black) * scale, 0.0f, 1.0f);
    const float clear = 1.0f - opacity * part;
    const float alpha = 1.0f - (unit == 1.0f ? clear : pow (clear, unit));
    light += transmittance * alpha * part;
    transmittance *= 1.0f - alpha;
    if (transmittance < 1e-3f)
      break;
  }

  const float coverage = 1.0f - transmittance;
  const float gray = blends ? light : (brightest - black) * scale;
#ifdef COLORS
  const float straight = blends && coverage > 0.0f ? light / coverage : gray;
  const uchar level = (uchar)rint (255.0f * fmin (straight, 1.0f));
  global uchar *pixel = output + output_offset + y * (size_t)stride + 4 * x;
  vstore4 ((uchar4)(level, level, level,
               blends ? (uchar)rint (255.0f * coverage) : (uchar)255),
      0, pixel);
#else
  output[output_offset + y * (size_t)stride + x] =
      (uchar)rint (255.0f * fmin (gray, 1.0f));
#endif
}
