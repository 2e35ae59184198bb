/* Samples that other kernels do not read as they are: signed, of 32 bits, or packed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "framebuffers.hpp"
#include "rawspectra.hpp"

#include <gst/opencl/kernel/kernel.hpp>

namespace oct {
/* Makes float32 or uint16 of them, in memory that is the frame's alone. */
class Unpacking {
public:
  /* `option` is of the kernel, and `made` what it makes. */
  bool create (
      GstOpenCLContext *context, const char *option, SampleFormat made, GError **error);

  /* `spectra` are all of the frame's, of which `samples` from `first` on are wanted, and
   * become those that were made: shifted. Allocates only where more frames than ever are
   * under way. */
  bool enqueue (cl_command_queue queue, guint first, guint samples, RawSpectra &spectra,
      GError **error);

private:
  GstOpenCLContext *context = nullptr; /* of the element, which outlives this */
  opencl::Kernel kernel;
  gsize sample_bytes = 0;
  FrameBuffers buffers;
};
} // namespace oct
