/* The background of a spectrum as the mean over the lines of frames, kept on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "framebuffers.hpp"
#include "rawspectra.hpp"

#include <gst/opencl/kernel/kernel.hpp>

#include <memory>

namespace oct {
/* Mean of up to `frames` preceding frames; for the first frame, and with `frames` 0,
 * the mean of the frame itself. */
class BackgroundMean {
public:
  /* Work memory only: kernels are built for the first frame that needs them. */
  bool create (GstOpenCLContext *context, SampleFormat input, gsize samples, gsize lines,
      guint frames, GError **error);

  /* Enqueues the kernels that compute the background of `spectra` and that add them to the
   * background of later frames. `mean` is float32 from its start on, and has no other
   * owner while the caller keeps it. */
  bool update (const RawSpectra &spectra, cl_command_queue queue,
      std::shared_ptr<cl::Buffer> &mean, GError **error);

private:
  /* For one way in which samples may lie; 0, 1, 2 as ALIGNED of the kernels. */
  struct Kernels {
    bool created = false;
    opencl::Kernel sum_blocks;
    opencl::Kernel find_background;
  };

  Kernels *suiting (const RawSpectra &spectra, GError **error);

  GstOpenCLContext *context = nullptr; /* of the element, which outlives this */
  SampleFormat input = SampleFormat::u16le;
  cl_uint samples = 0;
  Kernels kernels[3];
  cl::Buffer sums;  /* of blocks of lines of one frame */
  cl::Buffer means; /* a ring of the preceding frames' */
  cl_uint block = 0;
  cl_uint blocks = 0;
  cl_uint together = 0; /* lines that a work-item adds at once, */
  cl_uint wide = 0;     /* and samples */
  cl_uint workers = 0;  /* work-items for a block */
  cl_uint frames = 0;   /* the ring's length, */
  cl_uint filled = 0;   /* how much of it is used, */
  cl_uint next = 0;     /* and which of it is written next */

  FrameBuffers backgrounds;
};
} // namespace oct
