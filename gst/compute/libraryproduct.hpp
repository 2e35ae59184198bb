/* Products of matrices by CLBlast, where this build has it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

namespace compute {
bool has_clblast ();

/* Row-major C (rows × width) = A (rows × depth) · B (depth × width), each beginning so many
 * numbers from its buffer's start. */
struct LibraryProduct {
  gsize rows, depth, width;
  cl_mem a, b, c;
  gsize a_offset, b_offset, c_offset;
};
bool enqueue_library_product (
    cl_command_queue queue, const LibraryProduct &product, GError **error);
} // namespace compute
