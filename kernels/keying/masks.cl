/* keying: a frame's alpha as a mask, and a mask as a frame's alpha
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A line's eight pixels: global size 4 * words, height */
__kernel void
pack_keyed (
    FRAME (const, input), uint width, uint height, __global uchar *keyed, uint words)
{
  uint byte = get_global_id (0);
  uint y = get_global_id (1);
  if (byte >= 4 * words || y >= height)
    return;
  uint x = 8 * byte;
  uint bits =
      x < width ? keyed_of (load_pixels (LINE (input, y), x, width), x, width) : 0;
  keyed[BYTE_INDEX ((ulong)y * 4 * words + byte)] = bits;
}

__kernel void
apply_keyed (FRAME (const, input), FRAME (, output), uint width, uint height,
    __global const uchar *keyed, uint words)
{
  uint byte = get_global_id (0);
  uint y = get_global_id (1);
  uint x = 8 * byte;
  if (x >= width || y >= height)
    return;
  uint bits = keyed[BYTE_INDEX ((ulong)y * 4 * words + byte)];
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  store_pixels (LINE (output, y), x, width, with_keyed (pixels, bits));
}

/* The plain form's masks: a byte a pixel, 1 where keyed */
__kernel void
mask_of_alpha (FRAME (const, input), uint width, uint height, __global uchar *mask)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x < width && y < height)
    mask[(ulong)y * width + x] = (load_pixel (LINE (input, y), x) & ALPHA_MASK) == 0;
}

__kernel void
alpha_of_mask (FRAME (const, input), FRAME (, output), uint width, uint height,
    __global const uchar *mask)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint pixel = load_pixel (LINE (input, y), x);
  if (mask[(ulong)y * width + x])
    pixel &= ~ALPHA_MASK;
  else if ((pixel & ALPHA_MASK) == 0)
    pixel |= ALPHA_MASK;
  store_pixel (LINE (output, y), x, pixel);
}
