/* octregister: finds how each B-scan of a volume moved against a reference, and averages
 * volumes that are moved back
 *
 * Volumes have dimensions depth:lines:b-scans and values of type NUMBER. A shift tells
 * where structures of the reference are in the volume: `axial` depths deeper, `lateral`
 * A-lines and `row` B-scans further on.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"

typedef struct {
  float axial, lateral, row, correlation;
} Shift;

/* Correlation coefficient of two sets of values, from sums of differences from `pivot` */
typedef struct {
  float a, b, aa, bb, ab, count;
} Sums;

void
add_pair (Sums *sums, float a, float b)
{
  sums->a += a;
  sums->b += b;
  sums->aa += a * a;
  sums->bb += b * b;
  sums->ab += a * b;
  sums->count += 1.0f;
}

float
coefficient (const Sums *sums)
{
  const float n = fmax (sums->count, 1.0f);
  const float aa = sums->aa - sums->a * sums->a / n;
  const float bb = sums->bb - sums->b * sums->b / n;
  const float ab = sums->ab - sums->a * sums->b / n;
  const float both = aa * bb;
  const float value = both > 0.0f ? ab / sqrt (both) : 0.0f;
  return fabs (value) <= 1.001f ? value : 0.0f;
}

/* Computes the correlation coefficient of a B-scan with the reference at one lag. `fine`:
 * lags are within 1 depth and 1 A-line of the shift found, else within the limits. Uses
 * every `line_step`th A-line and `depth_step`th depth. One work-group per lag and
 * B-scan. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
correlate (global const uchar *restrict reference_bytes, ulong reference_offset,
    global const uchar *restrict volume_bytes, ulong volume_offset, uint depths,
    uint lines, uint rows, uint fine, int4 limits, uint line_step, uint depth_step,
    global const Shift *restrict found, global float *restrict scores)
{
  const int width = 2 * limits.x + 1, height = 2 * limits.y + 1;
  const uint count = (uint)(width * height * (2 * limits.z + 1));
  const uint item = get_local_id (0), lag = get_group_id (0) % count;
  const uint row = get_group_id (0) / count;
  int axial = (int)lag % width - limits.x;
  int lateral = (int)lag / width % height - limits.y;
  int away = (int)lag / (width * height) - limits.z;
  if (fine) {
    axial += (int)found[row].axial;
    lateral += (int)found[row].lateral;
    away = (int)found[row].row;
  }
  const int other = (int)row - away;
  local Sums parts[GROUP];
  Sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  if (other >= 0 && other < (int)rows) {
    const size_t size = (size_t)lines * depths;
    global const NUMBER *a =
        (global const NUMBER *)(reference_bytes + reference_offset) + other * size;
    global const NUMBER *b =
        (global const NUMBER *)(volume_bytes + volume_offset) + row * size;
    const float pivot = (float)a[size / 2];
    const int first = max (0, -lateral), last = min ((int)lines, (int)lines - lateral);
    const int top = max (0, -axial), bottom = min ((int)depths, (int)depths - axial);
    for (int line = first; line < last; line += line_step) {
      global const NUMBER *from = a + (size_t)line * depths;
      global const NUMBER *to = b + (size_t)(line + lateral) * depths + axial;
      for (int depth = top + item * depth_step; depth < bottom;
           depth += GROUP * depth_step)
        add_pair (&sums, (float)from[depth] - pivot, (float)to[depth] - pivot);
    }
  }
  parts[item] = sums;
  for (uint stride = GROUP / 2; stride > 0; stride /= 2) {
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    if (item < stride) {
      parts[item].a += parts[item + stride].a;
      parts[item].b += parts[item + stride].b;
      parts[item].aa += parts[item + stride].aa;
      parts[item].bb += parts[item + stride].bb;
      parts[item].ab += parts[item + stride].ab;
      parts[item].count += parts[item + stride].count;
    }
  }
  if (item == 0) {
    sums = parts[0];
    scores[get_group_id (0)] = coefficient (&sums);
  }
}

/* Finds the whole shift with the greatest coefficient. One work-item per B-scan. */
kernel void
find_shifts (global const float *restrict scores, uint rows, int4 limits,
    global Shift *restrict found)
{
  const int width = 2 * limits.x + 1, height = 2 * limits.y + 1;
  const uint count = (uint)(width * height * (2 * limits.z + 1));
  const uint row = get_global_id (0);
  if (row >= rows)
    return;
  global const float *of = scores + (size_t)row * count;
  uint best = count / 2;
  for (uint n = 0; n < count; n++)
    best = of[n] > of[best] ? n : best;
  found[row].axial = (float)((int)best % width - limits.x);
  found[row].lateral = (float)((int)best / width % height - limits.y);
  found[row].row = (float)((int)best / (width * height) - limits.z);
  found[row].correlation = of[best];
}

/* Returns the peak between three values, -0.5 to 0.5, of a Gaussian through them. */
float
peak_between (float before, float middle, float after)
{
  if (!(before > 0.0f && middle > 0.0f && after > 0.0f))
    return 0.0f;
  const float a = log (before), b = log (middle), c = log (after);
  const float curvature = a - 2.0f * b + c;
  return curvature < 0.0f ? clamp (0.5f * (a - c) / curvature, -0.5f, 0.5f) : 0.0f;
}

/* Moves the shifts to the peak between the coefficients at 3 x 3 lags around them,
 * `extent` lags apart. Directions with a limit of 0 keep their shift. */
kernel void
refine_shifts (global const float *restrict scores, uint rows, int4 limits,
    global Shift *restrict found)
{
  const uint row = get_global_id (0);
  if (row >= rows)
    return;
  global const float *of = scores + (size_t)row * 9;
  if (limits.x > 0)
    found[row].axial += peak_between (of[3], of[4], of[5]);
  if (limits.y > 0)
    found[row].lateral += peak_between (of[1], of[4], of[7]);
  found[row].correlation = of[4];
}

/* Catmull-Rom weights */
float4
cubic_weights (float t)
{
  return (float4)(((-0.5f * t + 1.0f) * t - 0.5f) * t,
      (1.5f * t - 2.5f) * t * t + 1.0f, ((-1.5f * t + 2.0f) * t + 0.5f) * t,
      (0.5f * t - 0.5f) * t * t);
}

/* Interpolates a B-scan at a depth and an A-line that are inside it. */
float
value_at (global const NUMBER *b_scan, float depth, float line, int depths, int lines)
{
  const int z = (int)floor (depth), x = (int)floor (line);
  const float4 along = cubic_weights (depth - z), across = cubic_weights (line - x);
  const float weights[] = {across.x, across.y, across.z, across.w};
  const int z0 = clamp (z - 1, 0, depths - 1), z1 = clamp (z, 0, depths - 1);
  const int z2 = clamp (z + 1, 0, depths - 1), z3 = clamp (z + 2, 0, depths - 1);
  float sum = 0.0f;
  for (int n = 0; n < 4; n++) {
    global const NUMBER *from = b_scan + (size_t)clamp (x + n - 1, 0, lines - 1) * depths;
    sum += weights[n]
           * (along.x * (float)from[z0] + along.y * (float)from[z1]
               + along.z * (float)from[z2] + along.w * (float)from[z3]);
  }
  return sum;
}

/* Starts the sum with the reference. */
kernel void
start_sum (global const uchar *restrict bytes, ulong offset, uint depths, uint all_lines,
    global float *restrict sum, global ushort *restrict counts)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= all_lines)
    return;
  const size_t at = (size_t)line * depths + depth;
  sum[at] = (float)((global const NUMBER *)(bytes + offset))[at];
  counts[at] = 1;
}

/* Adds the B-scans of a volume, moved back. B-scans whose correlation is below `least`
 * are left out, and so are values from outside. */
kernel void
add_volume (global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    uint rows, global const Shift *restrict shifts, int reach, float least,
    global float *restrict sum, global ushort *restrict counts)
{
  const uint depth = get_global_id (0), line = get_global_id (1) % lines;
  const int row = (int)(get_global_id (1) / lines);
  if (depth >= depths || row >= (int)rows)
    return;
  global const NUMBER *volume = (global const NUMBER *)(bytes + offset);
  const size_t size = (size_t)lines * depths;
  float value = 0.0f;
  uint count = 0;
  for (int y = max (0, row - reach); y <= min ((int)rows - 1, row + reach); y++) {
    const Shift shift = shifts[y];
    const float z = depth + shift.axial, x = line + shift.lateral;
    if (y - (int)shift.row != row || !(shift.correlation >= least) || z < 0.0f
        || z > depths - 1.0f || x < 0.0f || x > lines - 1.0f)
      continue;
    value += value_at (volume + y * size, z, x, (int)depths, (int)lines);
    count++;
  }
  const size_t at = row * size + (size_t)line * depths + depth;
  sum[at] += value;
  counts[at] = (ushort)(counts[at] + count);
}

/* Computes the mean. */
kernel void
mean_volume (global const float *restrict sum, global const ushort *restrict counts,
    uint depths, uint all_lines, global uchar *restrict output, ulong offset)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= all_lines)
    return;
  const size_t at = (size_t)line * depths + depth;
  ((global float *)(output + offset))[at] = sum[at] / (float)counts[at];
}
