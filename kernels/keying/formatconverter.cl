/* keying: converts camera formats to RGBA, for kernels that read a frame several times
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputformat.clh"

/* Eight pixels per work-item */
__kernel void
convert_format (INPUT_FRAME (input), FRAME (, output), uint width, uint height)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x < width && y < height)
    store_pixels (
        LINE (output, y), x, width, input_pixels (INPUT_ROW (input, y), x, width));
}
