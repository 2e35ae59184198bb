/* Depth engine that uses an FFT library, followed by a display kernel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "display.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/gstopenclfft.h>

namespace oct {
/* For all lengths that the library supports. The input is spectra at even wavenumbers. */
class DepthFft : public DepthEngine {
public:
  static std::unique_ptr<DepthEngine> make (
      GstOpenCLContext *context, const EngineFormat &format, GError **error);

  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) override;

private:
  struct Free {
    void operator() (GstOpenCLFFT *fft) const { gst_opencl_fft_unref (fft); }
  };

  bool create (GstOpenCLContext *context, const EngineFormat &format, GError **error);
  bool transform (cl_command_queue queue, const RawSpectra &spectra, GError **error);

  EngineFormat format;
  std::unique_ptr<GstOpenCLFFT, Free> fft;
  cl::Buffer spectra_copy; /* copy of spectra that have an offset in their cl_mem */
  cl::Buffer bins;
  Display display;
};
} // namespace oct
