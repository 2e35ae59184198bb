/* Transforms by VkFFT
 *
 * VkFFT is one header of 33 thousand lines; no other file includes it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/platform.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include "fftplan.hpp"

#include <algorithm>
#include <cinttypes>
#include <clocale>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

GST_DEBUG_CATEGORY_STATIC (vkfft_debug);
#define GST_CAT_DEFAULT vkfft_debug

/* VkFFT prints build logs to the standard output, which may be a pipeline's data. */
static int G_GNUC_PRINTF (1, 2) print_to_debug_log (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  gst_debug_log_valist (
      vkfft_debug, GST_LEVEL_DEBUG, "vkFFT.h", "", 0, nullptr, format, arguments);
  va_end (arguments);
  return 0;
}

/* VkFFT 1.2 sets the locale of the whole process while it writes numbers into its
 * kernels, and sets it back from a string that setlocale() has freed. VkFFT 1.3.4 leaves
 * the locale alone. PlainNumbers sets it for both. */
[[maybe_unused]] static char *
leave_locale (int, const char *)
{
  return nullptr;
}

/* A device that emulates local memory in ordinary memory, such as PoCL's, keeps private
 * memory of all work-items of a work-group on the stack of a thread. Work-groups that use
 * all of its local memory overflow that stack, and are slower than smaller ones. */
static cl_int
limit_local_memory (
    cl_device_id device, cl_device_info name, size_t size, void *value, size_t *bytes)
{
  const cl_ulong most = 64 << 10;
  cl_device_local_mem_type type = CL_LOCAL;

  if (name == CL_DEVICE_LOCAL_MEM_SIZE)
    clGetDeviceInfo (device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof type, &type, nullptr);
  const cl_int code = clGetDeviceInfo (device, name, size, value, bytes);
  if (type == CL_GLOBAL && code == CL_SUCCESS && value)
    *static_cast<cl_ulong *> (value) = std::min (*static_cast<cl_ulong *> (value), most);
  return code;
}

#define VKFFT_BACKEND 3
#define printf print_to_debug_log
#define setlocale leave_locale
#define clEnqueueNDRangeKernel opencl::enqueue_or_compile
#define clGetDeviceInfo limit_local_memory
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <vkFFT.h>
#pragma GCC diagnostic pop
#undef clGetDeviceInfo
#undef clEnqueueNDRangeKernel
#undef setlocale
#undef printf

/* meson reads VKFFT_VERSION from the header. */
#if VKFFT_VERSION < 10303
#define bigSequenceEvenR2C multiUploadR2C
#endif

namespace opencl {
namespace {
void
init_debug_category ()
{
  static const bool initialised = [] {
    GST_DEBUG_CATEGORY_INIT (vkfft_debug, "openclvkfft", 0, "VkFFT in gstreamer-opencl");
    return true;
  }();
  (void)initialised;
}

bool
is_refusal (VkFFTResult result)
{
  return result == VKFFT_ERROR_UNSUPPORTED_RADIX
         || result == VKFFT_ERROR_UNSUPPORTED_FFT_LENGTH
         || result == VKFFT_ERROR_UNSUPPORTED_FFT_LENGTH_R2C;
}

bool
check (VkFFTResult result, const char *call, const FFTShape &shape, GError **error)
{
  if (result == VKFFT_SUCCESS)
    return true;
  g_set_error (error, GST_OPENCL_ERROR,
      is_refusal (result) ? GST_OPENCL_ERROR_UNSUPPORTED : GST_OPENCL_ERROR_FAILED,
      "%s failed with VkFFTResult %d for %" G_GSIZE_FORMAT
      " transforms of %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " %s samples",
      call, static_cast<int> (result), shape.batch, shape.lengths[0], shape.lengths[1],
      shape.real ? "real" : "complex");
  return false;
}

/* VkFFT's strides are those of rows, images, volumes and, from 1.3 on, more dimensions.
 * In one dimension, the transforms of the batch are its rows. */
template <gsize dimensions>
void
set_strides (
    uint64_t (&to)[dimensions], const FFTShape &shape, const GstOpenCLFFTStrides &strides)
{
  to[0] = shape.is_flat () ? strides.transform : strides.row;
  std::fill (std::begin (to) + 1, std::end (to), strides.transform);
}

class VkFFTPlanOwner : public FFTPlan {
public:
  VkFFTPlanOwner (GstOpenCLContext *context, const FFTShape &shape)
      : shape_ (shape), device_ (gst_opencl_context_get_device (context)),
        context_ (gst_opencl_context_get_handle (context))
  {
  }

  ~VkFFTPlanOwner () override
  {
    if (initialised_)
      deleteVkFFT (&application_);
  }

  bool initialise (GstOpenCLContext *context, GError **error)
  {
    PlainNumbers numbers;
    VkFFTResult result = initializeVkFFT (&application_, configuration ());
    initialised_ = result == VKFFT_SUCCESS;
    return check (result, "initializeVkFFT", shape_, error) && is_right (error)
           && allocate_work (context, error);
  }

  bool enqueue_transform (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) override
  {
    /* The configuration has pointers to these. */
    input_ = input;
    output_ = output;
    VkFFTLaunchParams parameters = {};
    parameters.commandQueue = &queue;
    if (!check (VkFFTAppend (&application_, shape_.inverse ? 1 : -1, &parameters),
            "VkFFTAppend", shape_, error))
      return false;
    gst_opencl_count_launches (launches ());
    return true;
  }

private:
  /* The first launch reads the input, and the last one writes the output. Intermediate
   * results have a separate buffer, whose rows have no gaps: VkFFT allocates its further
   * work memory without gaps. */
  VkFFTConfiguration configuration ()
  {
    VkFFTConfiguration configuration = {};
    configuration.FFTdim = shape_.is_flat () ? 1 : 2;
    configuration.size[0] = shape_.lengths[0];
    configuration.size[1] = shape_.lengths[1];
    configuration.numberBatches = shape_.batch;
    configuration.performR2C = shape_.real;
    configuration.doublePrecision = shape_.is_double;
    /* Merged transforms would spread non-finite samples of one line to another. */
    configuration.disableMergeSequencesR2C = 1;
    configuration.normalize = shape_.inverse && shape_.normalized;
    configuration.makeForwardPlanOnly = !shape_.inverse;
    configuration.makeInversePlanOnly = shape_.inverse;
    configuration.useUint64 = needs_wide_indices ();
    configuration.device = &device_;
    configuration.context = &context_;
    configuration.buffer = &between_;
    configuration.isInputFormatted = configuration.isOutputFormatted = 1;
    configuration.inputBuffer = &input_;
    configuration.outputBuffer = &output_;
    set_strides (configuration.inputBufferStride, shape_, shape_.input);
    set_strides (configuration.outputBufferStride, shape_, shape_.output);
    set_strides (
        configuration.bufferStride, shape_, packed_strides (shape_, shape_.bins ()));
    return configuration;
  }

  bool needs_wide_indices () const
  {
    const gsize most = G_MAXUINT32;
    return std::max (shape_.input_bytes (), shape_.output_bytes ())
               / shape_.number_bytes ()
           > most;
  }

  /* Refuses long inverse transforms to real samples, for which VkFFT reads bins from the
   * wrong buffer. VkFFT 1.3 also accepts long odd lengths, but its results are wrong. */
  bool is_right (GError **error)
  {
    const bool is_long = plan ()->bigSequenceEvenR2C || plan ()->numAxisUploads[0] > 1;
    return check (shape_.real_output () && is_long
                      ? VKFFT_ERROR_UNSUPPORTED_FFT_LENGTH_R2C
                      : VKFFT_SUCCESS,
        "An inverse transform in several launches", shape_, error);
  }

  const VkFFTPlan *plan () const
  {
    return shape_.inverse ? application_.localFFTPlan_inverse : application_.localFFTPlan;
  }

  bool allocate_work (GstOpenCLContext *context, GError **error)
  {
    if (launches () == 1)
      return true;
    const gsize values = shape_.batch * shape_.lengths[1] * shape_.bins ();
    bool made = make_buffer (context, values * 2 * shape_.number_bytes (), work_, error);
    between_ = work_ ();
    return made;
  }

  /* Counts launches as VkFFTAppend() makes them. */
  guint launches () const
  {
    guint count = plan ()->bigSequenceEvenR2C ? 1 : 0;
    for (guint axis = 0; axis < (shape_.is_flat () ? 1 : 2); axis++) {
      guint uploads = plan ()->numAxisUploads[axis];
      count += uploads + (application_.useBluesteinFFT[axis] ? uploads - 1 : 0);
    }
    return count;
  }

  FFTShape shape_;
  cl_device_id device_;
  cl_context context_;
  cl::Buffer work_;
  cl_mem between_ = nullptr;
  cl_mem input_ = nullptr;
  cl_mem output_ = nullptr;
  VkFFTApplication application_ = {};
  bool initialised_ = false;
};

bool
accepts (gsize length)
{
  return length >= 2;
}

/* VkFFT transforms long real lines as pairs of samples, as if these were complex.
 * Therefore strides must be whole pairs. */
bool
supports_strides (const FFTShape &shape, const GstOpenCLFFTStrides &strides, bool real)
{
  const bool pairs = real && shape.lengths[0] % 2 == 0;
  return strides.sample == 1 && !(pairs && (strides.row % 2 || strides.transform % 2));
}

bool
supports_input (const FFTShape &shape)
{
  return supports_strides (shape, shape.input, shape.real_input ());
}

bool
supports_output (const FFTShape &shape)
{
  return supports_strides (shape, shape.output, shape.real_output ());
}

FFTPlanPointer
make (GstOpenCLContext *context, const FFTShape &shape, GError **error)
{
  init_debug_category ();
  auto plan = std::make_unique<VkFFTPlanOwner> (context, shape);
  return plan->initialise (context, error) ? std::move (plan) : nullptr;
}
} // namespace

const FFTLibrary vkfft_library = {GST_OPENCL_FFT_LIBRARY_VKFFT, "VkFFT",
    "expected at least 2 samples", accepts, supports_input, supports_output, make};

} // namespace opencl
