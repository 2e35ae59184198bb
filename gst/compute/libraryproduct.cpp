/* Products of matrices by CLBlast, where this build has it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "libraryproduct.hpp"

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/base/gstopenclstatistics-private.h>
#include <gst/opencl/libraries.h>

#ifdef HAVE_CLBLAST
#include <clblast_c.h>
#endif

namespace compute {
#ifdef HAVE_CLBLAST
bool
has_clblast ()
{
  return true;
}

bool
enqueue_library_product (
    cl_command_queue queue, const LibraryProduct &product, GError **error)
{
  const CLBlastStatusCode code = CLBlastSgemm (CLBlastLayoutRowMajor, CLBlastTransposeNo,
      CLBlastTransposeNo, product.rows, product.width, product.depth, 1.0f, product.a,
      product.a_offset, product.depth, product.b, product.b_offset, product.width, 0.0f,
      product.c, product.c_offset, product.width, &queue, nullptr);
  gst_opencl_count_launches (1); /* how many they are CLBlast does not tell */
  return gst_opencl_check (cl_int (code), "CLBlastSgemm", error);
}
#else
bool
has_clblast ()
{
  return false;
}

bool
enqueue_library_product (cl_command_queue, const LibraryProduct &, GError **error)
{
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "Built without CLBlast: use gemm=own or auto");
  return false;
}
#endif
} // namespace compute
