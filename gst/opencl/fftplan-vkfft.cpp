/* gstreamer-opencl: transforms by VkFFT
 *
 * VkFFT is one header of 33 thousand lines; no other file includes it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fftplan.hpp"

#include <cinttypes>
#include <clocale>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale.h>

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclstatistics.h>

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

/* VkFFT sets the locale of the whole process while it writes numbers into its kernels,
 * and sets it back from a string that setlocale() has freed: PlainNumbers does so
 * instead. */
static char *
leave_locale (int, const char *)
{
  return nullptr;
}

#define VKFFT_BACKEND 3
#define printf print_to_debug_log
#define setlocale leave_locale
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <vkFFT.h>
#pragma GCC diagnostic pop
#undef setlocale
#undef printf

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
      "%s failed with VkFFTResult %d for %" G_GSIZE_FORMAT " lines of %" G_GSIZE_FORMAT
      " %s samples",
      call, static_cast<int> (result), shape.lines, shape.length,
      shape.real ? "real" : "complex");
  return false;
}

/* Numbers have a point, in this thread, while in scope. */
class PlainNumbers {
public:
  PlainNumbers ()
      : plain (newlocale (LC_ALL_MASK, "C", nullptr)), previous (uselocale (plain))
  {
  }
  ~PlainNumbers ()
  {
    uselocale (previous);
    freelocale (plain);
  }

private:
  locale_t plain, previous;
};

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

  bool initialise (GError **error)
  {
    PlainNumbers numbers;
    VkFFTConfiguration configuration = {};
    configuration.FFTdim = 1;
    configuration.size[0] = shape_.length;
    configuration.numberBatches = shape_.lines;
    configuration.performR2C = shape_.real;
    /* What is not finite in a line would reach the one that it shares a transform with. */
    configuration.disableMergeSequencesR2C = 1;
    configuration.makeForwardPlanOnly = 1;
    configuration.device = &device_;
    configuration.context = &context_;
    configuration.buffer = &output_;
    configuration.isInputFormatted = 1;
    configuration.inputBuffer = &input_;
    configuration.inputBufferStride[0] = shape_.length;

    VkFFTResult result = initializeVkFFT (&application_, configuration);
    initialised_ = result == VKFFT_SUCCESS;
    return check (result, "initializeVkFFT", shape_, error);
  }

  bool enqueue (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) override
  {
    /* The configuration points at these. */
    input_ = input;
    output_ = output;
    VkFFTLaunchParams parameters = {};
    parameters.commandQueue = &queue;
    if (!check (
            VkFFTAppend (&application_, -1, &parameters), "VkFFTAppend", shape_, error))
      return false;
    gst_opencl_count_launches (launches ());
    return true;
  }

  gsize stride () const override { return shape_.bins (); }

private:
  /* As VkFFTAppend() walks through them. */
  guint launches () const
  {
    const VkFFTPlan *plan = application_.localFFTPlan;
    guint uploads = plan->numAxisUploads[0];
    guint back = application_.useBluesteinFFT[0] ? uploads - 1 : 0;
    return uploads + back + (plan->multiUploadR2C ? 1 : 0);
  }

  FFTShape shape_;
  cl_device_id device_;
  cl_context context_;
  cl_mem input_ = nullptr;
  cl_mem output_ = nullptr;
  VkFFTApplication application_ = {};
  bool initialised_ = false;
};
} // namespace

bool
vkfft_accepts (gsize length)
{
  return length >= 2;
}

FFTPlanPointer
make_vkfft_plan (GstOpenCLContext *context, const FFTShape &shape, GError **error)
{
  init_debug_category ();
  auto plan = std::make_unique<VkFFTPlanOwner> (context, shape);
  return plan->initialise (error) ? std::move (plan) : nullptr;
}

} // namespace opencl
