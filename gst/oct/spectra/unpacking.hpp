/* Unpacks samples that other kernels do not read: signed, 32-bit or packed. Counts samples
 * that are not finite or saturated
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "framebuffers.hpp"
#include "rawspectra.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/devicevalues.hpp>

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

/* Float input: number of NaN and infinite samples. Integer input: numbers of checked and
 * of saturated samples. Counts are read every few frames, without waiting. Errors are
 * ignored: a failing device also fails the frames, which report it. */
class SampleCounts {
public:
  /* `option` (nullable): UNPACK_… option for integers, see unpack.cl */
  bool create (GstOpenCLContext *context, const char *option, GError **error);

  /* Null before create(). Shared by frames. */
  const std::shared_ptr<cl::Buffer> &counter () const { return counter_; }

  /* Counts saturated samples, in some A-lines of every few frames. Checks `samples`
   * samples from `first` on. They are saturated from `full_scale` on, after the shift. */
  bool count_saturated (cl_command_queue queue, guint first, guint samples,
      guint full_scale, RawSpectra &spectra, GError **error);

  /* Call before each frame. Returns both counts when a read has finished, else null. */
  const cl_uint *poll (cl_command_queue queue);
  /* Call after the last frame. Waits for both counts; returns null if there are none. */
  const cl_uint *wait_for_last (cl_command_queue queue);

private:
  std::shared_ptr<cl::Buffer> counter_;
  opencl::Kernel kernel;
  cl_uint items_of_line = 1;
  guint candidates = 0; /* calls of count_saturated() */
  opencl::ReadBack counts;
  guint frames = 0;
};
} // namespace oct
