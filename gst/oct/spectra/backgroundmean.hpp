/* Background spectrum as the mean of the A-lines of frames, kept on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "framebuffers.hpp"
#include "rawspectra.hpp"

#include <gst/opencl/device/kernel.hpp>

#include <memory>

namespace oct {
/* Mean of up to `frames` preceding frames; for the first frame, and with `frames` 0,
 * the mean of the frame itself. */
class BackgroundMean {
public:
  /* Allocates memory. update() builds the kernels when a frame first needs them. */
  bool create (GstOpenCLContext *context, SampleFormat input, gsize samples, gsize lines,
      guint frames, GError **error);

  /* Enqueues the kernels that compute the background of `spectra` and include them in the
   * background of later frames. `mean` receives a buffer of float32 values, which is not
   * reused while the caller keeps a reference. */
  bool update (const RawSpectra &spectra, cl_command_queue queue,
      std::shared_ptr<cl::Buffer> &mean, GError **error);

private:
  /* Kernels for one alignment of samples. The index is ALIGNED of the kernels. */
  struct Kernels {
    bool created = false;
    opencl::Kernel sum_blocks;
    opencl::Kernel find_background;
  };

  Kernels *kernels_for (const RawSpectra &spectra, GError **error);

  GstOpenCLContext *context = nullptr; /* owned by the element, which outlives this */
  SampleFormat input = SampleFormat::u16le;
  cl_uint samples = 0;
  Kernels kernels[3];
  cl::Buffer sums;  /* sums of the blocks of one frame */
  cl::Buffer means; /* ring buffer of the means of preceding frames */
  cl_uint block = 0;
  cl_uint blocks = 0;
  cl_uint wide = 0;   /* samples that a work-item adds at once */
  cl_uint frames = 0; /* length of the ring buffer */
  cl_uint filled = 0; /* number of means in it */
  cl_uint next = 0;   /* index of the next one to write */

  FrameBuffers backgrounds;
};
} // namespace oct
