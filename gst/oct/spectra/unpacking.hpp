/* Unpacks samples that other kernels do not read: signed, 32-bit or packed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "framebuffers.hpp"
#include "rawspectra.hpp"

#include <gst/opencl/device/kernel.hpp>

namespace oct {
/* Converts samples to float32 or uint16, in a buffer per frame. */
class Unpacking {
public:
  /* `option`: UNPACK_… option of the input, see unpack.cl. `made`: output format */
  bool create (
      GstOpenCLContext *context, const char *option, SampleFormat made, GError **error);

  /* Unpacks and shifts `samples` samples of each A-line from `first` on. `spectra` then
   * describes the result. Allocates only if more frames than before are in flight. */
  bool enqueue (cl_command_queue queue, guint first, guint samples, RawSpectra &spectra,
      GError **error);

private:
  GstOpenCLContext *context = nullptr; /* owned by the element, which outlives this */
  opencl::Kernel kernel;
  gsize sample_bytes = 0;
  FrameBuffers buffers;
};
} // namespace oct
