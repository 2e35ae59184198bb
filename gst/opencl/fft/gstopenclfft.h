/* One- and two-dimensional Fourier transforms by VkFFT or clFFT
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS

/**
 * GstOpenCLFFTLibrary:
 * @GST_OPENCL_FFT_LIBRARY_AUTO: the fastest that takes the lengths
 * @GST_OPENCL_FFT_LIBRARY_CLFFT: clFFT: lengths whose prime factors are at most 13, where
 *   this library was built with it
 * @GST_OPENCL_FFT_LIBRARY_VKFFT: VkFFT: every length
 */
typedef enum {
  GST_OPENCL_FFT_LIBRARY_AUTO,
  GST_OPENCL_FFT_LIBRARY_CLFFT,
  GST_OPENCL_FFT_LIBRARY_VKFFT,
} GstOpenCLFFTLibrary;

/**
 * GST_TYPE_OPENCL_FFT_LIBRARY:
 *
 * The type of a property `fft-library`.
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
 * Returns: whether this build has @library; always so for AUTO and VKFFT
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
 * In two dimensions the same along rows and columns.
 */
typedef enum {
  GST_OPENCL_FFT_FORWARD,
  GST_OPENCL_FFT_INVERSE,
} GstOpenCLFFTDirection;

#define GST_TYPE_OPENCL_FFT_DIRECTION (gst_opencl_fft_direction_get_type ())

/**
 * gst_opencl_fft_direction_get_type:
 *
 * Returns: the type of #GstOpenCLFFTDirection
 */
GST_OPENCL_API GType gst_opencl_fft_direction_get_type (void);

/**
 * GstOpenCLFFTStrides:
 * @sample: elements from a sample to the next along lengths[0]; 0: 1
 * @row: elements from a row to the next along lengths[1]; 0: rows without a gap; of no
 *   meaning in one dimension
 * @transform: elements from a transform of the batch to the next; 0: without a gap
 *
 * Where the samples of one side lie. An element is a float32, or a pair of float32 (real,
 * imaginary). What lies between is neither read nor written. Samples of the input may
 * overlap, those of the output may not.
 */
typedef struct {
  gsize sample;
  gsize row;
  gsize transform;
} GstOpenCLFFTStrides;

/**
 * GstOpenCLFFTDescription:
 * @library: which library
 * @direction: forward or inverse
 * @real: the input of a forward and the output of an inverse transform is real; the other
 *   side then holds bins 0 to lengths[0]/2 of each row, and the other bins, of which an
 *   inverse needs to know nothing, are their conjugates. What an inverse makes of bins
 *   that are of no real signal is undefined
 * @normalized: an inverse divides by the number of samples; otherwise nothing is scaled,
 *   and forward and inverse one after the other multiply by it
 * @dimensions: 1 or 2; 0: 1
 * @lengths: samples of a row and, in two dimensions, rows; each 2 or more
 * @batch: how many transforms; 0: 1
 * @input: where the samples of the input lie
 * @output: where those of the output lie
 *
 * Description of a transform. If only lengths[0] is set, it is one forward transform of one
 * line of complex samples.
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
} GstOpenCLFFTDescription;

/**
 * GstOpenCLFFT:
 *
 * A plan: float32 transforms of one description, with their kernels and work memory.
 */
typedef struct _GstOpenCLFFT GstOpenCLFFT;

#define GST_TYPE_OPENCL_FFT (gst_opencl_fft_get_type ())
/**
 * gst_opencl_fft_get_type:
 *
 * Returns: the boxed #GType of #GstOpenCLFFT, of which a copy is another reference
 */
GST_OPENCL_API GType gst_opencl_fft_get_type (void);

/**
 * gst_opencl_fft_new_described:
 * @context: where it runs
 * @description: what is transformed
 * @error: set to #GST_OPENCL_ERROR_UNSUPPORTED, naming the value, where @description makes
 *   no sense or the library does not take it, and when a call fails
 *
 * Kernels and work memory are made here; gst_opencl_fft_enqueue() allocates nothing. A
 * plan is used from one thread at a time.
 *
 * Returns: (transfer full) (nullable): a plan
 */
GST_OPENCL_API GstOpenCLFFT *gst_opencl_fft_new_described (GstOpenCLContext *context,
    const GstOpenCLFFTDescription *description, GError **error);

/**
 * gst_opencl_fft_new:
 * @context: where it runs
 * @library: which library
 * @length: samples of a line, 2 or more
 * @lines: lines of a batch
 * @real: input is float32; otherwise pairs of float32 (real, imaginary)
 * @error: set with the length and what the library takes, or when a call fails
 *
 * The short form of gst_opencl_fft_new_described() for a forward transform along each of
 * many lines that lie one after the other.
 *
 * Returns: (transfer full) (nullable): a plan
 */
GST_OPENCL_API GstOpenCLFFT *gst_opencl_fft_new (GstOpenCLContext *context,
    GstOpenCLFFTLibrary library, gsize length, gsize lines, gboolean real,
    GError **error);

/**
 * gst_opencl_fft_unref:
 * @fft: (transfer full) (nullable): a plan; what it has enqueued is still done
 */
GST_OPENCL_API void gst_opencl_fft_unref (GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_description:
 * @fft: a plan
 *
 * Returns: (transfer none): what it transforms, with the library that was chosen and every
 *   stride filled in
 */
GST_OPENCL_API const GstOpenCLFFTDescription *gst_opencl_fft_get_description (
    const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_library:
 * @fft: a plan
 *
 * Returns: the library that was chosen, never AUTO
 */
GST_OPENCL_API GstOpenCLFFTLibrary gst_opencl_fft_get_library (const GstOpenCLFFT *fft);

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
 * Returns: bytes that its input has at least
 */
GST_OPENCL_API gsize gst_opencl_fft_get_input_size (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_output_size:
 * @fft: a plan
 *
 * Returns: bytes that its output has at least
 */
GST_OPENCL_API gsize gst_opencl_fft_get_output_size (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_enqueue:
 * @fft: a plan
 * @queue: (type gpointer): an in-order queue of the plan's context
 * @input: (type gpointer): a buffer whose first element is the first sample; left as it is
 * @output: (type gpointer): another buffer for the result
 * @error: set to #GST_OPENCL_ERROR_UNSUPPORTED where both are the same buffer or one is
 *   too small, and when a call fails
 *
 * To begin elsewhere in a buffer, make a sub-buffer of it, once.
 *
 * Returns: whether the transform was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_fft_enqueue (GstOpenCLFFT *fft, cl_command_queue queue,
    cl_mem input, cl_mem output, GError **error);

G_END_DECLS
