/* Copies samples between two frames with 4:2:0 chroma, which may lie in other planes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* `size` in pixels. start, stride and step: as in VideoFrame, from the first pixel */
#define PARAMETERS                                                                       \
  __global const uchar *in, ulong4 in_start, int4 in_stride, int4 in_step,               \
      __global uchar *out, ulong4 out_start, int4 out_stride, int4 out_step, int2 size
#define ROW(frame, component, y)                                                         \
  (frame + frame##_start.component + (ulong)(y)*frame##_stride.component)
#define COPY(component, x, y)                                                            \
  ROW (out, component, y)                                                                \
  [(ulong)(x)*out_step.component] = ROW (in, component, y)[(ulong)(x)*in_step.component]

/* A work-item copies a block of pixels that share chroma. */
__kernel void
copy_blocks (PARAMETERS)
{
  int x = get_global_id (0);
  int y = get_global_id (1);
  if (2 * x >= size.x || 2 * y >= size.y)
    return;
  for (int line = 2 * y; line < min (2 * y + 2, size.y); line++)
    for (int column = 2 * x; column < min (2 * x + 2, size.x); column++)
      COPY (x, column, line);
  COPY (y, x, y);
  COPY (z, x, y);
}

/* For a CPU: a work-item copies the rows of a block. */
void
copy_row (
    __global const uchar *in, int in_step, __global uchar *out, int out_step, int count)
{
  int n = 0;
  if (in_step == 1 && out_step == 1) {
    for (; n + 16 <= count; n += 16)
      vstore16 (vload16 (0, in + n), 0, out + n);
  }
  for (; n < count; n++)
    out[n * out_step] = in[n * in_step];
}

#define COPY_ROW(component, y, count)                                                    \
  copy_row (ROW (in, component, y), in_step.component, ROW (out, component, y),          \
      out_step.component, count)

__kernel void
copy_rows (PARAMETERS)
{
  int y = get_global_id (1);
  if (2 * y >= size.y)
    return;
  for (int line = 2 * y; line < min (2 * y + 2, size.y); line++)
    COPY_ROW (x, line, size.x);
  int count = (size.x + 1) / 2;
  if (in_step.y == 2 && out_step.y == 2 && in_start.z == in_start.y + 1
      && out_start.z == out_start.y + 1) {
    copy_row (ROW (in, y, y), 1, ROW (out, y, y), 1, 2 * count);
    return;
  }
  COPY_ROW (y, y, count);
  COPY_ROW (z, y, count);
}
