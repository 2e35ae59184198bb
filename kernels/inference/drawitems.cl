/* Draws rectangles and pictures of labels over a frame
 *
 * Built with COMPONENTS, the number of them.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A rectangle of one colour, or of pixels from `source` on, `width` a row. Colours have the
 * components of the frame, the first one in the lowest byte. */
typedef struct {
  int4 area; /* x, y, width, height */
  uint color;
  int source, width; /* -1: none */
  int unused;
} Item;

/* Items do not overlap. The second dimension is that of items, and the work-items of the first
 * one share the pixels. `mask` has for each component the bits of a coordinate that must be 0
 * for a pixel that stores it. */
kernel void
draw_items (global uchar *data, ulong4 start, int4 stride, int4 step, int4 mask_x,
    int4 mask_y, global const Item *items, int number, global const uint *labels)
{
  if (get_global_id (1) >= number)
    return;
  const Item item = items[get_global_id (1)];
  const ulong starts[] = {start.x, start.y, start.z, start.w};
  const int strides[] = {stride.x, stride.y, stride.z, stride.w};
  const int steps[] = {step.x, step.y, step.z, step.w};
  const int masks_x[] = {mask_x.x, mask_x.y, mask_x.z, mask_x.w};
  const int masks_y[] = {mask_y.x, mask_y.y, mask_y.z, mask_y.w};
  const int pixels = item.area.z * item.area.w;
  for (int n = get_global_id (0); n < pixels; n += get_global_size (0)) {
    const int i = n % item.area.z, j = n / item.area.z;
    const int x = item.area.x + i, y = item.area.y + j;
    const uint color =
        item.source >= 0 ? labels[item.source + j * item.width + i] : item.color;
    for (int c = 0; c < COMPONENTS; c++) {
      if (((x & masks_x[c]) | (y & masks_y[c])) == 0) {
        const int column = x / (masks_x[c] + 1), row = y / (masks_y[c] + 1);
        data[starts[c] + (long)row * strides[c] + column * steps[c]] =
            color >> (8 * c) & 255;
      }
    }
  }
}
