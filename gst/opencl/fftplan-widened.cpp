/* gstreamer-opencl: real lines through a complex transform, where a library has no real
 * transform of their length
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fftplan.hpp"

#include <utility>

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/opencl-hpp.hpp>

namespace opencl {
namespace {
const char *const widen_resource = "/org/freedesktop/gstreamer/opencl/library/widen.cl";

class WidenedPlan : public FFTPlan {
public:
  WidenedPlan (cl::Kernel kernel, cl::Buffer widened, gsize samples, FFTPlanPointer plan)
      : kernel_ (std::move (kernel)), widened_ (std::move (widened)), samples_ (samples),
        plan_ (std::move (plan))
  {
  }

  bool enqueue (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) override
  {
    return gst_opencl_check (clSetKernelArg (kernel_ (), 0, sizeof input, &input),
               "clSetKernelArg", error)
           && gst_opencl_launch (queue, kernel_ (), 1, &samples_, nullptr, error)
           && plan_->enqueue (queue, widened_ (), output, error);
  }

  gsize stride () const override { return plan_->stride (); }

private:
  cl::Kernel kernel_;
  cl::Buffer widened_;
  gsize samples_;
  FFTPlanPointer plan_;
};
} // namespace

FFTPlanPointer
make_widened_plan (GstOpenCLContext *context, const FFTShape &shape,
    FFTPlanPointer complex_plan, GError **error)
{
  if (!complex_plan)
    return nullptr;

  cl::Kernel kernel (gst_opencl_context_create_kernel (
      context, widen_resource, "widen", nullptr, error));
  if (!kernel ())
    return nullptr;

  cl_int code;
  cl::Buffer widened (clCreateBuffer (gst_opencl_context_get_handle (context),
      CL_MEM_READ_WRITE, shape.samples () * sizeof (cl_float2), nullptr, &code));
  if (!gst_opencl_check (code, "clCreateBuffer", error))
    return nullptr;

  cl_ulong samples = shape.samples ();
  if (!gst_opencl_check (kernel.setArg (1, widened), "clSetKernelArg", error)
      || !gst_opencl_check (kernel.setArg (2, samples), "clSetKernelArg", error))
    return nullptr;
  return FFTPlanPointer (new WidenedPlan (
      std::move (kernel), std::move (widened), samples, std::move (complex_plan)));
}

} // namespace opencl
