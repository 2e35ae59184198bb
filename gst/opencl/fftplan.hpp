/* gstreamer-opencl: what the FFT libraries have in common; not installed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>

#include <gst/opencl/gstopenclfft.h>

namespace opencl {

/* What is transformed. */
struct FFTShape {
  gsize length;
  gsize lines;
  bool real;

  gsize samples () const { return length * lines; }
  gsize bins () const { return real ? length / 2 + 1 : length; }
};

/* One library's kernels and work memory for one shape. */
class FFTPlan {
public:
  virtual ~FFTPlan () = default;

  /* Leaves the input as it is and waits for nothing. */
  virtual bool enqueue (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) = 0;

  /* Pairs of float32 from one output line to the next. */
  virtual gsize stride () const = 0;
};

using FFTPlanPointer = std::unique_ptr<FFTPlan>;

bool vkfft_accepts (gsize length);
FFTPlanPointer make_vkfft_plan (
    GstOpenCLContext *context, const FFTShape &shape, GError **error);

bool clfft_accepts (gsize length);
FFTPlanPointer make_clfft_plan (
    GstOpenCLContext *context, const FFTShape &shape, GError **error);

/* Transforms real lines by a complex plan of the same length and lines. */
FFTPlanPointer make_widened_plan (GstOpenCLContext *context, const FFTShape &shape,
    FFTPlanPointer complex_plan, GError **error);

} // namespace opencl
