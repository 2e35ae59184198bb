/* One- and two-dimensional Fourier transforms by VkFFT or clFFT
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/fftlayout.h>
#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GST_TYPE_OPENCL_FFT_LIBRARY:
 *
 * The type of the property `fft-library`.
 */
#define GST_TYPE_OPENCL_FFT_LIBRARY (gst_opencl_fft_library_get_type ())

/**
 * gst_opencl_fft_library_get_type:
 *
 * Returns: the type of #GstOpenCLFFTLibrary
 */
GST_OPENCL_API GType gst_opencl_fft_library_get_type (void);

/**
 * gst_opencl_fft_library_is_built:
 * @library: which library
 *
 * Returns: whether this build has @library; always %TRUE for AUTO and VKFFT
 */
GST_OPENCL_API gboolean gst_opencl_fft_library_is_built (GstOpenCLFFTLibrary library);

/**
 * gst_opencl_fft_library_accepts:
 * @library: which library
 * @length: samples of a line
 *
 * Returns: whether @library is built and can transform lines of @length
 */
GST_OPENCL_API gboolean gst_opencl_fft_library_accepts (
    GstOpenCLFFTLibrary library, gsize length);

/**
 * GstOpenCLFFTDirection:
 * @GST_OPENCL_FFT_FORWARD: X[b] = sum_n x[n] exp(-2 pi i b n / length)
 * @GST_OPENCL_FFT_INVERSE: x[n] = sum_b X[b] exp(+2 pi i b n / length)
 *
 * Two-dimensional transforms do the same along rows and columns.
 */
typedef enum {
  GST_OPENCL_FFT_FORWARD,
  GST_OPENCL_FFT_INVERSE,
} GstOpenCLFFTDirection;

/**
 * GstOpenCLFFTDescription:
 * @library: which library
 * @direction: forward or inverse
 * @real: the input of a forward or the output of an inverse transform is real. The other
 *   side then has bins 0 to lengths[0]/2 of each row. The other bins are their
 *   conjugates, and an inverse does not need them. The result of an inverse is undefined
 *   if the bins are not those of a real signal
 * @normalized: an inverse divides by the number of samples. Otherwise nothing is scaled,
 *   and a forward and an inverse transform together multiply by that number
 * @dimensions: number of dimensions, 1 or 2; 0 means 1
 * @lengths: samples of a row and, in two dimensions, rows; each 2 or more
 * @batch: number of transforms; 0 means 1
 * @input: layout of the input samples
 * @output: layout of the output samples
 * @double_precision: numbers are float64 instead of float32; VkFFT only
 *
 * Description of a transform. If only lengths[0] is set, it is one forward transform of
 * one row of complex samples.
 */
typedef struct {
  GstOpenCLFFTLibrary library;
  GstOpenCLFFTDirection direction;
  gboolean real;
  gboolean normalized;
  guint dimensions;
  gsize lengths[2];
  gsize batch;
  GstOpenCLFFTStrides input;
  GstOpenCLFFTStrides output;
  gboolean double_precision;
} GstOpenCLFFTDescription;

/**
 * GstOpenCLFFT:
 *
 * A plan for transforms of one description, with its kernels and work memory.
 */
typedef struct _GstOpenCLFFT GstOpenCLFFT;

/**
 * gst_opencl_fft_new_described:
 * @context: the context that it runs in
 * @description: the transform
 * @error: set to #GST_OPENCL_ERROR_UNSUPPORTED, with the value, if @description is
 *   invalid or the library does not support it. Also set if a call fails
 *
 * Creates kernels and work memory; gst_opencl_fft_enqueue() allocates nothing. Use a plan
 * from one thread at a time.
 *
 * Returns: (transfer full) (nullable): a plan
 */
GST_OPENCL_API GstOpenCLFFT *gst_opencl_fft_new_described (GstOpenCLContext *context,
    const GstOpenCLFFTDescription *description, GError **error);

/**
 * gst_opencl_fft_new:
 * @context: the context that it runs in
 * @library: which library
 * @length: samples of a line, 2 or more
 * @lines: lines of a batch
 * @real: input is float32; otherwise pairs of float32 (real, imaginary)
 * @error: set if the library does not support @length, with the lengths that it supports.
 *   Also set if a call fails
 *
 * Short form of gst_opencl_fft_new_described(), for forward transforms of lines that
 * follow each other without gaps.
 *
 * Returns: (transfer full) (nullable): a plan
 */
GST_OPENCL_API GstOpenCLFFT *gst_opencl_fft_new (GstOpenCLContext *context,
    GstOpenCLFFTLibrary library, gsize length, gsize lines, gboolean real,
    GError **error);

/**
 * gst_opencl_fft_free:
 * @fft: (transfer full) (nullable): a plan; transforms that it has enqueued still run
 */
GST_OPENCL_API void gst_opencl_fft_free (GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_description:
 * @fft: a plan
 *
 * Returns: (transfer none): its description, with the library that was chosen and all
 *   strides filled in
 */
GST_OPENCL_API const GstOpenCLFFTDescription *gst_opencl_fft_get_description (
    const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_output_stride:
 * @fft: a plan
 *
 * Returns: elements from one transform of the output to the next
 */
GST_OPENCL_API gsize gst_opencl_fft_get_output_stride (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_input_size:
 * @fft: a plan
 *
 * Returns: minimum size of its input in bytes
 */
GST_OPENCL_API gsize gst_opencl_fft_get_input_size (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_output_size:
 * @fft: a plan
 *
 * Returns: minimum size of its output in bytes
 */
GST_OPENCL_API gsize gst_opencl_fft_get_output_size (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_enqueue:
 * @fft: a plan
 * @queue: (type gpointer): an in-order queue of the plan's context
 * @input: (type gpointer): a buffer whose first element is the first sample; not changed
 * @output: (type gpointer): another buffer for the result
 * @error: set to #GST_OPENCL_ERROR_UNSUPPORTED if both are the same buffer or one is too
 *   small. Also set if a call fails
 *
 * To start elsewhere in a buffer, create a sub-buffer once.
 *
 * Returns: whether the transform was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_fft_enqueue (GstOpenCLFFT *fft, cl_command_queue queue,
    cl_mem input, cl_mem output, GError **error);

G_END_DECLS
