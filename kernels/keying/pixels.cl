/* keying: pixels of four bytes, eight at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Built for one combination of
 *   RED, GREEN, BLUE, ALPHA: where each component's byte stands, in bits
 *   ALIGNMENT: offset and stride of every frame are multiples of it: 16, 4 or 1
 */
#define FRAME(access, name)                                                              \
  __global access uchar *name, ulong name##_offset, long name##_stride
#define LINE(name, y) (name + name##_offset + (y)*name##_stride)

#define ALPHA_MASK (255u << ALPHA)
#define COMPONENT(pixels, shift) (((pixels) >> (shift)) & 255u)

/* A GPU faults on a load that is not aligned, so such pixels are put together of bytes.
 */
uint
load_pixel (__global const uchar *line, uint x)
{
#if ALIGNMENT >= 4 && defined(__ENDIAN_LITTLE__)
  return ((__global const uint *)line)[x];
#else
  __global const uchar *bytes = line + 4 * (ulong)x;
  return bytes[0] | (uint)bytes[1] << 8 | (uint)bytes[2] << 16 | (uint)bytes[3] << 24;
#endif
}

void
store_pixel (__global uchar *line, uint x, uint pixel)
{
#if ALIGNMENT >= 4 && defined(__ENDIAN_LITTLE__)
  ((__global uint *)line)[x] = pixel;
#else
  __global uchar *bytes = line + 4 * (ulong)x;
  bytes[0] = pixel;
  bytes[1] = pixel >> 8;
  bytes[2] = pixel >> 16;
  bytes[3] = pixel >> 24;
#endif
}

/* Eight pixels from x, a multiple of 8; those beyond the line are its last one. */
uint8
load_pixels (__global const uchar *line, uint x, uint width)
{
#if ALIGNMENT >= 16 && defined(__ENDIAN_LITTLE__)
  if (x + 8 <= width) {
    __global const uint4 *quads = (__global const uint4 *)(line + 4 * (ulong)x);
    return (uint8)(quads[0], quads[1]);
  }
#endif
  uint last = width - 1;
  return (uint8)(load_pixel (line, x), load_pixel (line, min (x + 1, last)),
      load_pixel (line, min (x + 2, last)), load_pixel (line, min (x + 3, last)),
      load_pixel (line, min (x + 4, last)), load_pixel (line, min (x + 5, last)),
      load_pixel (line, min (x + 6, last)), load_pixel (line, min (x + 7, last)));
}

void
store_pixels (__global uchar *line, uint x, uint width, uint8 pixels)
{
#if ALIGNMENT >= 16 && defined(__ENDIAN_LITTLE__)
  if (x + 8 <= width) {
    __global uint4 *quads = (__global uint4 *)(line + 4 * (ulong)x);
    quads[0] = pixels.lo;
    quads[1] = pixels.hi;
    return;
  }
#endif
  uint each[8];
  vstore8 (pixels, 0, each);
  for (uint n = 0; n < 8 && x + n < width; n++)
    store_pixel (line, x + n, each[n]);
}

/* Sum of the absolute differences of the components in `mask`, 8 bits each. */
uint8
difference (uint8 a, uint8 b, uint mask)
{
  uint8 c = a & mask;
  uint8 d = b & mask;
  return abs_diff (COMPONENT (c, RED), COMPONENT (d, RED))
         + abs_diff (COMPONENT (c, GREEN), COMPONENT (d, GREEN))
         + abs_diff (COMPONENT (c, BLUE), COMPONENT (d, BLUE));
}

/* Square of the distance in the plane of Cb and Cr, both in 1/128 of a level. */
uint8
chroma_square (uint8 pixels, int key_cb, int key_cr)
{
  int8 red = convert_int8 (COMPONENT (pixels, RED));
  int8 green = convert_int8 (COMPONENT (pixels, GREEN));
  int8 blue = convert_int8 (COMPONENT (pixels, BLUE));
  int8 cb = -21 * red - 43 * green + 64 * blue - key_cb;
  int8 cr = 64 * red - 54 * green - 10 * blue - key_cr;
  return convert_uint8 (cb * cb + cr * cr);
}

uint8
with_alpha (uint8 pixels, uint8 alpha)
{
  return (pixels & ~ALPHA_MASK) | alpha << ALPHA;
}
