/* Transforms with layouts that the FFT library does not support
 *
 * These are strides, and real samples of a length for which the library has only complex
 * transforms.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fftplan.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclkernel.h>

#include <utility>

GST_DEBUG_CATEGORY_EXTERN (gst_opencl_fft_debug);
#define GST_CAT_DEFAULT gst_opencl_fft_debug

namespace opencl {
namespace {
const char *const resource = "/org/freedesktop/gstreamer/opencl/library/fftarrange.cl";

/* One launch of a kernel in fftarrange.cl */
class Arrangement {
public:
  bool create (GstOpenCLContext *context, const char *name, const FFTShape &shape,
      gsize columns, const GstOpenCLFFTStrides &from, const GstOpenCLFFTStrides &to,
      GError **error)
  {
    columns_ = columns;
    lines_ = shape.lengths[1] * shape.batch;
    const cl_uint4 counts = {
        {cl_uint (columns), cl_uint (shape.lengths[1]), cl_uint (shape.batch), 0}};
    kernel_.reset (gst_opencl_kernel_new_from_resource (context, resource, name,
        shape.is_double ? "-DREAL=double -DREAL2=double2" : nullptr, error));
    return kernel_ && set (1, vector_of (from), error) && set (3, vector_of (to), error)
           && set (4, counts, error);
  }

  bool enqueue (cl_command_queue queue, cl_mem from, cl_mem to, GError **error)
  {
    return gst_opencl_kernel_set_buffer (kernel_.get (), 0, from, error)
           && gst_opencl_kernel_set_buffer (kernel_.get (), 2, to, error)
           && gst_opencl_kernel_launch (kernel_.get (), queue, columns_, lines_, error);
  }

private:
  struct Free {
    void operator() (GstOpenCLKernel *kernel) const { gst_opencl_kernel_unref (kernel); }
  };

  static cl_ulong4 vector_of (const GstOpenCLFFTStrides &strides)
  {
    return {{strides.sample, strides.row, strides.transform, 0}};
  }

  template <typename Vector> bool set (guint index, const Vector &value, GError **error)
  {
    return gst_opencl_kernel_set_value (
        kernel_.get (), index, sizeof value, &value, error);
  }

  std::unique_ptr<GstOpenCLKernel, Free> kernel_;
  gsize columns_ = 0, lines_ = 0;
};

/* Kernels that run before and after a library's plan, if needed */
struct Steps {
  const char *before = nullptr;
  const char *after = nullptr;
  FFTShape inner;
};

class ArrangedPlan : public FFTPlan {
public:
  bool create (GstOpenCLContext *context, const FFTShape &shape, const Steps &steps,
      FFTPlanPointer plan, GError **error)
  {
    inner_ = std::move (plan);
    const gsize columns = steps.inner.input_columns ();
    return (!steps.before
               || (before_.create (context, steps.before, shape, columns, shape.input,
                       steps.inner.input, error)
                   && make_buffer (context, steps.inner.input_bytes (), input_, error)))
           && (!steps.after
               || (after_.create (context, steps.after, shape, shape.output_columns (),
                       steps.inner.output, shape.output, error)
                   && make_buffer (
                       context, steps.inner.output_bytes (), output_, error)));
  }

  bool enqueue_transform (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) override
  {
    const cl_mem from = input_ () ? input_ () : input;
    const cl_mem to = output_ () ? output_ () : output;
    return (!input_ () || before_.enqueue (queue, input, from, error))
           && inner_->enqueue_transform (queue, from, to, error)
           && (!output_ () || after_.enqueue (queue, to, output, error));
  }

private:
  FFTPlanPointer inner_;
  Arrangement before_, after_;
  cl::Buffer input_, output_;
};

/* Converts to and from strides that the library supports. */
Steps
steps_for_strides (const FFTLibrary &library, const FFTShape &shape)
{
  Steps steps;
  steps.inner = shape;
  if (!library.supports_input (shape)) {
    steps.before = shape.real_input () ? "move_real" : "move_complex";
    steps.inner.input = packed_strides (shape, shape.input_columns ());
  }
  if (!library.supports_output (shape)) {
    steps.after = shape.real_output () ? "move_real" : "move_complex";
    steps.inner.output = packed_strides (shape, shape.output_columns ());
  }
  return steps;
}

/* Uses a complex transform instead of a real one. */
Steps
steps_for_complex (const FFTShape &shape)
{
  Steps steps;
  steps.inner = shape;
  steps.inner.real = false;
  steps.inner.input = steps.inner.output = packed_strides (shape, shape.lengths[0]);
  steps.before = shape.inverse ? "complete" : "widen";
  steps.after = shape.inverse ? "extract_real" : "move_complex";
  return steps;
}

FFTPlanPointer
make_with_steps (const FFTLibrary &library, GstOpenCLContext *context,
    const FFTShape &shape, const Steps &steps, GError **error)
{
  FFTPlanPointer inner = library.make (context, steps.inner, error);
  if (!inner || (!steps.before && !steps.after))
    return inner;
  auto plan = std::make_unique<ArrangedPlan> ();
  return plan->create (context, shape, steps, std::move (inner), error) ? std::move (plan)
                                                                        : nullptr;
}
} // namespace

/* VkFFT refuses real lines that are odd and too long for the device's local memory; it
 * does not refuse complex ones. */
FFTPlanPointer
make_fft_plan (const FFTLibrary &library, GstOpenCLContext *context,
    const FFTShape &shape, GError **error)
{
  GError *refusal = nullptr;
  FFTPlanPointer plan = make_with_steps (
      library, context, shape, steps_for_strides (library, shape), &refusal);
  if (plan)
    return plan;
  if (!shape.real
      || !g_error_matches (refusal, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED)) {
    g_propagate_error (error, refusal);
    return nullptr;
  }
  GST_DEBUG ("using a complex transform instead: %s", refusal->message);
  g_error_free (refusal);
  return make_with_steps (library, context, shape, steps_for_complex (shape), error);
}

} // namespace opencl
