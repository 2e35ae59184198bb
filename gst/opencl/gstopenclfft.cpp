/* gstreamer-opencl: one-dimensional Fourier transforms of many lines, by VkFFT or clFFT
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclfft.h"

#include <utility>

#include "fftplan.hpp"
#include "gstopenclerror.h"

using opencl::FFTPlanPointer;
using opencl::FFTShape;

GST_DEBUG_CATEGORY_STATIC (fft_debug);
#define GST_CAT_DEFAULT fft_debug

struct _GstOpenCLFFT {
  GstOpenCLContext *context;
  GstOpenCLFFTLibrary library;
  FFTPlanPointer plan;
};

namespace {
struct Library {
  GstOpenCLFFTLibrary library;
  const char *name;
  const char *takes;
  bool (*accepts) (gsize length);
  FFTPlanPointer (*make) (
      GstOpenCLContext *context, const FFTShape &shape, GError **error);
};

/* In the order in which AUTO tries them. */
const Library libraries[] = {
    {GST_OPENCL_FFT_LIBRARY_VKFFT, "VkFFT", "a line has 2 samples or more",
        opencl::vkfft_accepts, opencl::make_vkfft_plan},
    {GST_OPENCL_FFT_LIBRARY_CLFFT, "clFFT",
        "prime factors must be at most 13; use fft-library=vkfft or auto",
        opencl::clfft_accepts, opencl::make_clfft_plan},
};

bool
is_candidate (const Library &entry, GstOpenCLFFTLibrary wanted)
{
  return wanted == GST_OPENCL_FFT_LIBRARY_AUTO || wanted == entry.library;
}

const Library *
find_library (GstOpenCLFFTLibrary wanted, gsize length)
{
  for (const Library &entry : libraries) {
    if (is_candidate (entry, wanted) && entry.accepts (length))
      return &entry;
  }
  return nullptr;
}

void
refuse (GstOpenCLFFTLibrary wanted, gsize length, GError **error)
{
  for (const Library &entry : libraries) {
    if (is_candidate (entry, wanted)) {
      g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
          "%s cannot transform %" G_GSIZE_FORMAT " samples: %s", entry.name, length,
          entry.takes);
      return;
    }
  }
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "No FFT library has the number %d", wanted);
}

/* VkFFT refuses real lines that are odd and too long for the device's local memory; it
 * does not refuse complex ones. */
FFTPlanPointer
make_plan (const Library &entry, GstOpenCLContext *context, const FFTShape &shape,
    GError **error)
{
  g_autoptr (GError) refusal = nullptr;
  FFTPlanPointer plan = entry.make (context, shape, &refusal);
  if (plan)
    return plan;
  if (!shape.real
      || !g_error_matches (refusal, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED)) {
    g_propagate_error (error, g_steal_pointer (&refusal));
    return nullptr;
  }

  GST_DEBUG ("A complex transform instead: %s", refusal->message);
  FFTShape complex_shape = {shape.length, shape.lines, false};
  return opencl::make_widened_plan (
      context, shape, entry.make (context, complex_shape, error), error);
}

void
init_debug_category ()
{
  static const bool initialised = [] {
    GST_DEBUG_CATEGORY_INIT (fft_debug, "openclfft", 0, "Fourier transforms on OpenCL");
    return true;
  }();
  (void)initialised;
}
} // namespace

GType
gst_opencl_fft_library_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_FFT_LIBRARY_AUTO, "VkFFT where it takes the length, else clFFT",
          "auto"},
      {GST_OPENCL_FFT_LIBRARY_CLFFT, "clFFT: lengths whose prime factors are at most 13",
          "clfft"},
      {GST_OPENCL_FFT_LIBRARY_VKFFT, "VkFFT: every length", "vkfft"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOpenCLFFTLibrary", values);
  return type;
}

gboolean
gst_opencl_fft_library_accepts (GstOpenCLFFTLibrary library, gsize length)
{
  return find_library (library, length) != nullptr;
}

GstOpenCLFFT *
gst_opencl_fft_new (GstOpenCLContext *context, GstOpenCLFFTLibrary library, gsize length,
    gsize lines, gboolean real, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (lines > 0, nullptr);

  init_debug_category ();
  const Library *entry = find_library (library, length);
  if (!entry) {
    refuse (library, length, error);
    return nullptr;
  }

  FFTPlanPointer plan =
      make_plan (*entry, context, {length, lines, real != FALSE}, error);
  if (!plan)
    return nullptr;
  GST_DEBUG ("%s transforms %" G_GSIZE_FORMAT " lines of %" G_GSIZE_FORMAT " samples",
      entry->name, lines, length);
  return new GstOpenCLFFT{static_cast<GstOpenCLContext *> (gst_object_ref (context)),
      entry->library, std::move (plan)};
}

void
gst_opencl_fft_free (GstOpenCLFFT *fft)
{
  if (!fft)
    return;
  fft->plan.reset ();
  gst_object_unref (fft->context);
  delete fft;
}

GstOpenCLFFTLibrary
gst_opencl_fft_get_library (const GstOpenCLFFT *fft)
{
  return fft->library;
}

gsize
gst_opencl_fft_get_output_stride (const GstOpenCLFFT *fft)
{
  return fft->plan->stride ();
}

gboolean
gst_opencl_fft_enqueue (GstOpenCLFFT *fft, cl_command_queue queue, cl_mem input,
    cl_mem output, GError **error)
{
  g_return_val_if_fail (input != output, FALSE);
  return fft->plan->enqueue (queue, input, output, error);
}
