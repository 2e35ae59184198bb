/* Common interface of the FFT libraries (not installed)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>

#include <gst/opencl/fft/gstopenclfft.h>

namespace opencl {

/* Shape of a transform, with all defaults filled in; lengths[1] is 1 in one dimension. */
struct FFTShape {
  gsize lengths[2];
  gsize batch;
  bool real;
  bool inverse;
  bool normalized;
  GstOpenCLFFTStrides input, output;

  bool is_flat () const { return lengths[1] == 1; }
  gsize samples () const { return lengths[0] * lengths[1]; }
  gsize bins () const { return real ? lengths[0] / 2 + 1 : lengths[0]; }
  bool real_input () const { return real && !inverse; }
  bool real_output () const { return real && inverse; }
  /* In a row of either side. */
  gsize input_columns () const { return inverse ? bins () : lengths[0]; }
  gsize output_columns () const { return inverse ? lengths[0] : bins (); }
  gsize input_bytes () const;
  gsize output_bytes () const;
};

/* Where `columns` samples a row lie without a gap. */
GstOpenCLFFTStrides packed_strides (const FFTShape &shape, gsize columns);

/* One library's kernels and work memory for one shape. */
class FFTPlan {
public:
  virtual ~FFTPlan () = default;

  /* Leaves the input as it is and waits for nothing. */
  virtual bool enqueue (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) = 0;
};

using FFTPlanPointer = std::unique_ptr<FFTPlan>;

/* A library that is built: which lengths it takes, which strides, and its plans. A plan
 * that fails with GST_OPENCL_ERROR_UNSUPPORTED is asked for again as a complex one. */
struct FFTLibrary {
  GstOpenCLFFTLibrary library;
  const char *name;
  const char *takes;
  bool (*accepts) (gsize length);
  bool (*takes_input) (const FFTShape &shape);
  bool (*takes_output) (const FFTShape &shape);
  FFTPlanPointer (*make) (
      GstOpenCLContext *context, const FFTShape &shape, GError **error);
};

extern const FFTLibrary vkfft_library;
extern const FFTLibrary clfft_library;

/* A plan of a library for any shape of lengths that it accepts: what the library does not
 * take itself is put in order before, or after, in a launch of its own. */
FFTPlanPointer make_fft_plan (const FFTLibrary &library, GstOpenCLContext *context,
    const FFTShape &shape, GError **error);

} // namespace opencl
