/* keying: what was filmed as pixels of four bytes, once for all that read it several times
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputformat.clh"

/* Eight a work-item */
__kernel void
take_pixels (FILMED (input), FRAME (, output), uint width, uint height)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x < width && y < height)
    store_pixels (LINE (output, y), x, width,
        filmed_pixels (FILMED_LINE (input, y), x, width));
}
