/* The background of a spectrum as the mean over the lines of frames, kept on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"

#include <gst/opencl/kernel.hpp>

namespace oct {
/* What makes the mean; the kernels are made where their build options are known. */
struct BackgroundKernels {
  opencl::Kernel sum_blocks;
  opencl::Kernel mean_of_rows;
};

/* Of up to `frames` preceding frames, the first one with its own mean; with 0 preceding
 * frames always that of the frame itself. */
class BackgroundMean {
public:
  bool create (GstOpenCLContext *context, gsize samples, gsize lines, guint frames,
      GError **error);

  /* Enqueues what makes the background to be subtracted from `spectra`, and what these
   * add to the background of frames to come. */
  bool update (BackgroundKernels &kernels, const RawSpectra &spectra,
      cl_command_queue queue, GError **error);

  bool is_made () const { return rows () != nullptr; }

  /* The mean spectrum, from the buffer's start on. */
  const cl::Buffer &buffer () const { return rows; }

private:
  bool mean_of_frame (BackgroundKernels &kernels, const RawSpectra &spectra, guint row,
      cl_command_queue queue, GError **error);
  bool mean_of_frames (BackgroundKernels &kernels, const RawSpectra &spectra,
      cl_command_queue queue, GError **error);

  cl::Buffer sums; /* of blocks of lines of one frame */
  cl::Buffer rows; /* the background, then a ring of the frames' means */
  cl_uint block = 0;
  cl_uint blocks = 0;
  guint frames = 0; /* the ring's length, */
  guint filled = 0; /* how much of it is used, */
  guint next = 0;   /* and which of it is written next */
};
} // namespace oct
