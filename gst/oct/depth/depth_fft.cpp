/* Depth engine that uses an FFT library, followed by a display kernel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "display.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/core/opencl-hpp.hpp>

namespace oct {
namespace {
gsize
bytes_of_spectra (const EngineFormat &format)
{
  return gsize (format.samples) * format.lines * sizeof (cl_float)
         * (format.complex ? 2 : 1);
}

/* For all lengths that the library supports. The input is spectra at even wavenumbers. */
class DepthFft : public DepthEngine {
public:
  bool create (GstOpenCLContext *context, const EngineFormat &format, GError **error);

  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) override;

private:
  struct Free {
    void operator() (GstOpenCLFFT *fft) const { gst_opencl_fft_free (fft); }
  };

  bool transform (cl_command_queue queue, const RawSpectra &spectra, GError **error);

  EngineFormat format;
  std::unique_ptr<GstOpenCLFFT, Free> fft;
  cl::Buffer spectra_copy; /* copy of spectra that have an offset in their cl_mem */
  cl::Buffer bins;
  Display display;
};
} // namespace

std::unique_ptr<DepthEngine>
make_fft_engine (GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  auto made = std::make_unique<DepthFft> ();
  if (!made->create (context, format, error))
    return nullptr;
  return made;
}

bool
DepthFft::create (GstOpenCLContext *context, const EngineFormat &wanted, GError **error)
{
  format = wanted;
  fft.reset (gst_opencl_fft_new (
      context, format.library, format.samples, format.lines, !format.complex, error));
  if (!fft)
    return false;
  gsize stride = gst_opencl_fft_get_output_stride (fft.get ());
  return opencl::make_buffer (
             context, stride * format.lines * sizeof (cl_float2), bins, error)
         && opencl::make_buffer (context, bytes_of_spectra (format), spectra_copy, error)
         && display.create (context, ValueType::complex, format.output, error);
}

/* The FFT library reads its input from the start of a cl_mem. Other spectra are
 * copied. */
bool
DepthFft::transform (cl_command_queue queue, const RawSpectra &spectra, GError **error)
{
  cl_mem from = spectra.data;
  if (spectra.offset > 0) {
    from = spectra_copy ();
    cl_int code = clEnqueueCopyBuffer (queue, spectra.data, from, spectra.offset, 0,
        bytes_of_spectra (format), 0, nullptr,
        opencl::Profiled (queue, opencl::command::copy));
    if (!gst_opencl_check (code, "clEnqueueCopyBuffer", error))
      return false;
  }
  return gst_opencl_fft_enqueue (fft.get (), queue, from, bins (), error);
}

bool
DepthFft::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem, cl_mem,
    cl_uint, const DepthOutput &output, GError **error)
{
  const DisplayInput values = {
      bins (), 0, guint (gst_opencl_fft_get_output_stride (fft.get ())), format.lines};
  return transform (queue, spectra, error)
         && display.enqueue (queue, values, output, error);
}
} // namespace oct
