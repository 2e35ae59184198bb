/* Transforms by clFFT
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fftplan.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/events.hpp>
#include <gst/opencl/core/hooks.hpp>

#include <clFFT.h>
#include <mutex>

namespace opencl {
namespace {
/* Limit of a one-dimensional transform in single precision (clFFT's documentation) */
const gsize longest_line = gsize (1) << 24;

/* clFFT has one state for the whole process. It is set up at the first plan and torn down
 * when the process ends, because a teardown invalidates every plan in the process. */
class Setup {
public:
  Setup ()
  {
    clfftSetupData data;
    status_ = clfftInitSetupData (&data);
    if (status_ == CLFFT_SUCCESS)
      status_ = clfftSetup (&data);
  }

  ~Setup ()
  {
    if (status_ == CLFFT_SUCCESS)
      clfftTeardown ();
  }

  static clfftStatus once ()
  {
    static const Setup setup;
    return setup.status_;
  }

private:
  clfftStatus status_;
};

/* Measures the commands that a library enqueues while in scope, as one command. */
class ProfiledSpan {
public:
  ProfiledSpan (cl_command_queue queue, const char *name) : queue (queue), name (name)
  {
    if (gst_opencl_profile_is_enabled () && gst_opencl_profile_admits (queue))
      begin = end_of_queue ();
  }
  ~ProfiledSpan ()
  {
    if (!begin ())
      return;
    const cl::Event end = end_of_queue ();
    if (end ())
      gst_opencl_profile_add (queue, nullptr, name, nullptr, begin (), end ());
  }
  ProfiledSpan (const ProfiledSpan &) = delete;
  ProfiledSpan &operator= (const ProfiledSpan &) = delete;

private:
  cl::Event end_of_queue ()
  {
    cl_event event = nullptr;
    enqueue_end (queue, &event, nullptr);
    return cl::Event (event);
  }

  const cl_command_queue queue;
  const char *const name;
  cl::Event begin;
};

class ClFFTPlan : public FFTPlan {
public:
  explicit ClFFTPlan (const FFTShape &shape) : shape_ (shape) {}

  ~ClFFTPlan () override
  {
    if (handle_)
      clfftDestroyPlan (&handle_);
  }

  bool bake (GstOpenCLContext *context, GError **error)
  {
    return create (gst_opencl_context_get_handle (context), error) && describe (error)
           && compile (
               gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE),
               error)
           && allocate (context, error) && rehearse (context, error);
  }

  bool enqueue_transform (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) override
  {
    if (compiles_only ()) /* clFFT launches kernels itself */
      return true;
    const ProfiledSpan span (queue, "(clFFT)");
    if (!transform (queue, input, output, error))
      return false;
    gst_opencl_count_launches (1); /* clFFT does not report how many */
    return true;
  }

private:
  static bool check (clfftStatus status, const char *call, GError **error)
  {
    return gst_opencl_check (static_cast<cl_int> (status), call, error);
  }

  bool create (cl_context context, GError **error)
  {
    return check (Setup::once (), "clfftSetup", error)
           && check (clfftCreateDefaultPlan (&handle_, context,
                         shape_.is_flat () ? CLFFT_1D : CLFFT_2D, shape_.lengths),
               "clfftCreateDefaultPlan", error);
  }

  clfftDirection direction () const
  {
    return shape_.inverse ? CLFFT_BACKWARD : CLFFT_FORWARD;
  }

  clfftLayout bins_layout () const
  {
    return shape_.real ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_COMPLEX_INTERLEAVED;
  }

  float scale () const
  {
    return shape_.inverse && shape_.normalized ? 1.0f / shape_.samples () : 1.0f;
  }

  bool describe (GError **error)
  {
    return check (clfftSetPlanPrecision (handle_, CLFFT_SINGLE), "clfftSetPlanPrecision",
               error)
           && check (clfftSetLayout (handle_,
                         shape_.real_input () ? CLFFT_REAL : bins_layout (),
                         shape_.real_output () ? CLFFT_REAL : bins_layout ()),
               "clfftSetLayout", error)
           && check (clfftSetResultLocation (handle_, CLFFT_OUTOFPLACE),
               "clfftSetResultLocation", error)
           && check (clfftSetPlanBatchSize (handle_, shape_.batch),
               "clfftSetPlanBatchSize", error)
           && check (clfftSetPlanScale (handle_, direction (), scale ()),
               "clfftSetPlanScale", error)
           && describe_strides (error);
  }

  bool describe_strides (GError **error)
  {
    const clfftDim dimensions = shape_.is_flat () ? CLFFT_1D : CLFFT_2D;
    size_t input[] = {shape_.input.sample, shape_.input.row};
    size_t output[] = {shape_.output.sample, shape_.output.row};
    return check (clfftSetPlanInStride (handle_, dimensions, input),
               "clfftSetPlanInStride", error)
           && check (clfftSetPlanOutStride (handle_, dimensions, output),
               "clfftSetPlanOutStride", error)
           && check (clfftSetPlanDistance (
                         handle_, shape_.input.transform, shape_.output.transform),
               "clfftSetPlanDistance", error);
  }

  bool compile (cl_command_queue queue, GError **error)
  {
    return check (
        clfftBakePlan (handle_, 1, &queue, nullptr, nullptr), "clfftBakePlan", error);
  }

  bool allocate (GstOpenCLContext *context, GError **error)
  {
    size_t bytes = 0;
    if (!check (clfftGetTmpBufSize (handle_, &bytes), "clfftGetTmpBufSize", error))
      return false;
    return bytes == 0 || make_buffer (context, bytes, work_, error);
  }

  /* clFFT allocates more work memory at the first transform, so one runs here. This waits
   * for it, because a transform on another queue may use that memory next. */
  bool rehearse (GstOpenCLContext *context, GError **error)
  {
    cl::Buffer input, output;
    if (!make_buffer (context, shape_.input_bytes (), input, error)
        || !make_buffer (context, shape_.output_bytes (), output, error))
      return false;
    cl_command_queue queue =
        gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
    return transform (queue, input (), output (), error)
           && gst_opencl_check (finish_with_timeout (queue), "clFinish", error);
  }

  bool transform (cl_command_queue queue, cl_mem input, cl_mem output, GError **error)
  {
    return check (clfftEnqueueTransform (handle_, direction (), 1, &queue, 0, nullptr,
                      nullptr, &input, &output, work_ ()),
        "clfftEnqueueTransform", error);
  }

  FFTShape shape_;
  clfftPlanHandle handle_ = 0;
  cl::Buffer work_;
};

bool
accepts (gsize length)
{
  return length >= 2 && length <= longest_line && has_small_factors (length);
}

bool
supports_any_strides (const FFTShape &shape)
{
  return true;
}

FFTPlanPointer
make (GstOpenCLContext *context, const FFTShape &shape, GError **error)
{
  /* clFFT's plans of one kind share programs. If two threads bake such plans at once,
   * both add the program, and clFFT aborts. */
  static std::mutex baking;
  std::lock_guard<std::mutex> guard (baking);
  auto plan = std::make_unique<ClFFTPlan> (shape);
  return plan->bake (context, error) ? std::move (plan) : nullptr;
}
} // namespace

const FFTLibrary clfft_library = {GST_OPENCL_FFT_LIBRARY_CLFFT, "clFFT",
    "prime factors must be at most 13; use fft-library=vkfft or auto", accepts,
    supports_any_strides, supports_any_strides, make};

} // namespace opencl
