/* Common interface of the FFT libraries (not installed)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/fftlayout.h>
#include <gst/opencl/opencl-prelude.h>

#include <memory>

namespace opencl {

/* Shape of a transform, with all defaults filled in; lengths[1] is 1 in one dimension. */
struct FFTShape {
  gsize lengths[2];
  gsize batch;
  bool real;
  bool inverse;
  bool normalized;
  GstOpenCLFFTStrides input, output;
  bool is_double;

  gsize number_bytes () const
  {
    return is_double ? sizeof (cl_double) : sizeof (cl_float);
  }
  bool is_flat () const { return lengths[1] == 1; }
  gsize samples () const { return lengths[0] * lengths[1]; }
  gsize bins () const { return real ? lengths[0] / 2 + 1 : lengths[0]; }
  bool real_input () const { return real && !inverse; }
  bool real_output () const { return real && inverse; }
  /* Samples in a row of the input or the output */
  gsize input_columns () const { return inverse ? bins () : lengths[0]; }
  gsize output_columns () const { return inverse ? lengths[0] : bins (); }
  gsize input_bytes () const;
  gsize output_bytes () const;
};

/* Returns the strides of rows of `columns` samples without gaps. */
GstOpenCLFFTStrides packed_strides (const FFTShape &shape, gsize columns);

/* Returns true if no prime factor is larger than 13. */
bool has_small_factors (gsize length);

/* Kernels and work memory of one library for one shape */
class FFTPlan {
public:
  virtual ~FFTPlan () = default;

  /* Does not change the input, and does not wait. */
  virtual bool enqueue_transform (
      cl_command_queue queue, cl_mem input, cl_mem output, GError **error) = 0;
};

using FFTPlanPointer = std::unique_ptr<FFTPlan>;

/* An FFT library of this build. If make() fails with GST_OPENCL_ERROR_UNSUPPORTED for
 * real samples, make_fft_plan() calls it again for complex ones. */
struct FFTLibrary {
  GstOpenCLFFTLibrary library;
  const char *name;
  const char *requirement;
  bool (*accepts) (gsize length);
  bool (*supports_input) (const FFTShape &shape);
  bool (*supports_output) (const FFTShape &shape);
  FFTPlanPointer (*make) (
      GstOpenCLContext *context, const FFTShape &shape, GError **error);
};

extern const FFTLibrary vkfft_library;
extern const FFTLibrary clfft_library;

/* Makes a plan for any layout of lengths that the library accepts. Extra launches before
 * or after the transform convert layouts that the library does not support. */
FFTPlanPointer make_fft_plan (const FFTLibrary &library, GstOpenCLContext *context,
    const FFTShape &shape, GError **error);

} // namespace opencl
