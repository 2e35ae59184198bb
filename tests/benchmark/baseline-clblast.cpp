/* opencl-bench: matrix products by CLBlast alone
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "convolvecases.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/libraries.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#ifdef HAVE_CLBLAST
#include <clblast_c.h>
#endif

namespace bench {
#ifdef HAVE_CLBLAST
namespace {
/* Random numbers between -0.5 and 0.5: with zeros a driver might be faster. */
cl::Buffer
matrix_of (GstOpenCLContext *context, gsize count, GError **error)
{
  return opencl::make_table (
      context, random_numbers (count).data (), count * sizeof (cl_float), error);
}

/* Number of products in flight */
const gsize ahead = 4;

/* Enqueues a product, and waits for the one that is `ahead` before it. */
class Products {
public:
  Products (GstOpenCLContext *context, const Product &product, GError **error)
      : product (product),
        queue (gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE)),
        a (matrix_of (context, product.rows * product.depth, error))
  {
    if (a ())
      b = matrix_of (context, product.depth * product.width, error);
    if (b ())
      c = opencl::make_buffer (
          context, product.rows * product.width * sizeof (cl_float), error);
  }
  ~Products () { clFinish (queue); }
  Products (const Products &) = delete;

  bool are_made () const { return c () != nullptr; }

  bool step (GError **error)
  {
    cl_event event = nullptr;
    const CLBlastStatusCode code =
        CLBlastSgemm (CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo,
            product.rows, product.width, product.depth, 1.0f, a (), 0, product.depth,
            b (), 0, product.width, 0.0f, c (), 0, product.width, &queue, &event);
    if (!gst_opencl_check (cl_int (code), "CLBlastSgemm", error))
      return false;
    cl::Event &oldest = events[count++ % ahead];
    const bool waited = !oldest () || oldest.wait () == CL_SUCCESS;
    oldest = cl::Event (event);
    return waited && gst_opencl_check (clFlush (queue), "clFlush", error);
  }

private:
  const Product product;
  cl_command_queue queue;
  cl::Buffer a, b, c;
  cl::Event events[ahead];
  gsize count = 0;
};
} // namespace

void
measure_clblast (GstOpenCLContext *context, const Product &product, const Timing &timing,
    Result &result)
{
  GError *error = nullptr;
  Products products (context, product, &error);
  if (products.are_made ())
    result.rates = repeat (timing, [&] { return products.step (&error); });
  for (double &rate : result.rates)
    rate *= product.operations ();
  if (error)
    result.error = error->message;
  g_clear_error (&error);
}
#else
void
measure_clblast (GstOpenCLContext *, const Product &, const Timing &, Result &result)
{
  result.error = "built without CLBlast";
}
#endif
} // namespace bench
