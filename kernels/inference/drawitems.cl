/* Draws rectangles and pictures of labels over a frame
 *
 * Built with COMPONENTS, the number of them, or 0 for pixels of four bytes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A rectangle of one colour, or of pixels from `source` on, `width` a row. The bytes of a
 * colour are those of a pixel, or if COMPONENTS is not 0, its components. */
typedef struct {
  int4 area; /* x, y, width, height */
  uint color;
  int source, width; /* -1: none */
  int unused;
} Item;

/* Stores component c. Those of chroma are stored once for several pixels: `mask` has the bits of
 * a coordinate that are 0 then. */
#define STORE(c, of)                                                                     \
  if (c < COMPONENTS && ((x & mask_x.of) | (y & mask_y.of)) == 0)                        \
  data[start.of + (long)(y / (mask_y.of + 1)) * stride.of                                \
       + x / (mask_x.of + 1) * step.of] = color >> (8 * c) & 255

/* Items do not overlap. The third dimension is that of items, and the work-items of the others
 * share the pixels. */
kernel void
draw_items (global uchar *data, ulong4 start, int4 stride, int4 step, int4 mask_x,
    int4 mask_y, global const Item *items, global const uint *labels)
{
  const Item item = items[get_global_id (2)];
  for (int j = get_global_id (1); j < item.area.w; j += get_global_size (1)) {
    const int y = item.area.y + j;
    for (int i = get_global_id (0); i < item.area.z; i += get_global_size (0)) {
      const int x = item.area.x + i;
      const uint color =
          item.source >= 0 ? labels[item.source + j * item.width + i] : item.color;
#if COMPONENTS == 0
      vstore4 (as_uchar4 (color), 0, data + start.x + (long)y * stride.x + 4 * x);
#else
      STORE (0, x);
      STORE (1, y);
      STORE (2, z);
      STORE (3, w);
#endif
    }
  }
}
