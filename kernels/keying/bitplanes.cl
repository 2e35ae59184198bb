/* keying: masks of one bit a pixel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bit n of a word is the pixel n to the right of its first. A byte of a word is made of,
 * and makes, eight pixels. A tile is what a work-group holds in local memory: TILE_ROWS
 * lines of TILE_WORDS words, with one more line above and below. Words beside each other
 * in a tile are taken as neighbours also at the ends of its lines. So what lies at a
 * tile's rim is wrong after an iteration, what lies next to it after two: a tile's margin
 * is as wide as its iterations are many, and only what is within is written.
 */
#define TILE_BYTES (4 * TILE_WORDS)
#define TILE_SIZE (TILE_ROWS * TILE_WORDS)
#define TILE_ARRAY ((TILE_ROWS + 2) * TILE_WORDS)

#if defined(__ENDIAN_LITTLE__)
#define BYTE_INDEX(byte) (byte)
#else
#define BYTE_INDEX(byte) ((byte) ^ 3)
#endif

/* Where a program does not know it beforehand */
#if !defined(GROUP_ITEMS)
#define GROUP_ITEMS get_local_size (0)
#endif

#define FOR_EACH_OF_GROUP(n, count)                                                      \
  for (int n = get_local_id (0); n < (int)(count); n += GROUP_ITEMS)

uint
pack_mask (int8 mask)
{
  int8 bits = mask & (int8)(1, 2, 4, 8, 16, 32, 64, 128);
  int4 four = bits.lo | bits.hi;
  int2 two = four.lo | four.hi;
  return two.x | two.y;
}

/* Bits where the sign is negative */
uint
pack_signs (uint8 values)
{
  uint bits = values.s7 >> 31;
  bits = bits << 1 | values.s6 >> 31;
  bits = bits << 1 | values.s5 >> 31;
  bits = bits << 1 | values.s4 >> 31;
  bits = bits << 1 | values.s3 >> 31;
  bits = bits << 1 | values.s2 >> 31;
  bits = bits << 1 | values.s1 >> 31;
  return bits << 1 | values.s0 >> 31;
}

/* Bits of pixels that differ by less, in the components in `mask` */
uint
pack_near (uint8 a, uint8 b, uint mask, uint threshold)
{
#if defined(__NV_CL_C_VERSION)
  /* One instruction a pixel, which NVIDIA's compiler does not find by itself */
#define DIFFERENCE_ABOVE(n)                                                              \
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;"                                        \
      : "=r"(above.s##n)                                                                 \
      : "r"(a.s##n), "r"(b.s##n), "r"(-threshold));
  uint8 above;
  a &= mask;
  b &= mask;
  DIFFERENCE_ABOVE (0)
  DIFFERENCE_ABOVE (1)
  DIFFERENCE_ABOVE (2)
  DIFFERENCE_ABOVE (3)
  DIFFERENCE_ABOVE (4)
  DIFFERENCE_ABOVE (5)
  DIFFERENCE_ABOVE (6)
  DIFFERENCE_ABOVE (7)
  return pack_signs (above);
#else
  return pack_signs (difference (a, b, mask) - threshold);
#endif
}

int8
spread_mask (uint byte)
{
  return ((int8)(byte) & (int8)(1, 2, 4, 8, 16, 32, 64, 128)) != (int8)(0);
}

/* Bits from x of those `count` pixels that lie in the line. */
uint
inside_line (int x, int width, int count)
{
  int begin = clamp (-x, 0, count);
  int end = clamp (width - x, 0, count);
  uint below_end = end == 32 ? ~0u : (1u << end) - 1;
  uint below_begin = begin == 32 ? ~0u : (1u << begin) - 1;
  return below_end & ~below_begin;
}

uint
inside_frame (int x, int y, int width, int height)
{
  return y >= 0 && y < height ? inside_line (x, width, 32) : 0;
}

uint
keyed_of (uint8 pixels, int x, int width)
{
  return pack_mask ((pixels & ALPHA_MASK) == (uint8)(0)) & inside_line (x, width, 8);
}

/* What is no longer keyed becomes opaque; an alpha in between is kept. */
uint8
with_keyed (uint8 pixels, uint keyed)
{
  uint8 alpha = pixels & ALPHA_MASK;
  alpha = select (alpha, (uint8)(ALPHA_MASK), alpha == (uint8)(0));
  alpha = select (alpha, (uint8)(0), spread_mask (keyed));
  return (pixels & ~ALPHA_MASK) | alpha;
}
