/* Draws rectangles, pictures of labels and colours of classes over a frame
 *
 * Built with COMPONENTS, the number of them, or 0 for pixels of four bytes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* An outline of one colour inside of `area`, or a picture, from `source` of `labels` on. The
 * bytes of a colour are those of a pixel, or if COMPONENTS is not 0, its components. */
typedef struct {
  int4 area;  /* x, y, width, height */
  int line;   /* width of the outline, 0: a picture */
  int source; /* in pixels */
  uint color;
  int unused;
} Item;

#define BYTE(c) (color >> (8 * (c)) & 255)
/* An opaque pixel is not read. */
#define MIX(c, level)                                                                    \
  level = opacity == 1 ? BYTE (c)                                                        \
                       : convert_uchar_rte (mix ((float)level, (float)BYTE (c), opacity))

/* Stores component c. Those of chroma are stored once for several pixels: `mask` has the bits of
 * a coordinate that are 0 then. */
#define STORE(c, of)                                                                     \
  if (c < COMPONENTS && ((x & mask_x.of) | (y & mask_y.of)) == 0)                        \
  MIX (c, data[start.of + (long)(y / (mask_y.of + 1)) * stride.of                        \
               + x / (mask_x.of + 1) * step.of])
#define PIXELS                                                                           \
  global uchar *data, ulong4 start, int4 stride, int4 step, int4 mask_x, int4 mask_y

void
store_pixel (PIXELS, int x, int y, uint color, float opacity)
{
#if COMPONENTS == 0
  for (int c = 0; c < 4; c++)
    MIX (c, data[start.x + (long)y * stride.x + 4 * x + c]);
#else
  STORE (0, x);
  STORE (1, y);
  STORE (2, z);
  STORE (3, w);
#endif
}

/* One group, which draws the items in their order */
kernel void
draw_items (PIXELS, global const Item *items, int number, global const uint *labels)
{
  for (int n = 0; n < number; n++) {
    const Item item = items[n];
    const int width = item.area.z, height = item.area.w, line = item.line;
    for (int j = get_local_id (1); j < height; j += get_local_size (1)) {
      const bool whole = line == 0 || j < line || j >= height - line || 2 * line >= width;
      const int columns = whole ? width : 2 * line, y = item.area.y + j;
      for (int i = get_local_id (0); i < columns; i += get_local_size (0)) {
        const int column = whole || i < line ? i : i + width - columns;
        const int x = item.area.x + column;
        const uint color =
            line == 0 ? labels[item.source + j * width + column] : item.color;
        store_pixel (data, start, stride, step, mask_x, mask_y, x, y, color, 1);
      }
    }
    barrier (CLK_GLOBAL_MEM_FENCE);
  }
}

/* Mixes the colours of the classes of all pixels into the frame. Class 255 is none. */
kernel void
mix_classes (PIXELS, int2 size, global const uchar *classes, global const uint *palette,
    float opacity)
{
  const int x = get_global_id (0), y = get_global_id (1), at = y * size.x + x;
  if (x < size.x && y < size.y && classes[at] != 255)
    store_pixel (data, start, stride, step, mask_x, mask_y, x, y, palette[classes[at]],
        opacity);
}
