/* gstreamer-opencl: one-dimensional Fourier transforms of many lines, by VkFFT or clFFT
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS

/**
 * GstOpenCLFFTLibrary:
 * @GST_OPENCL_FFT_LIBRARY_AUTO: the fastest that takes the length
 * @GST_OPENCL_FFT_LIBRARY_CLFFT: clFFT: lengths whose prime factors are at most 13
 * @GST_OPENCL_FFT_LIBRARY_VKFFT: VkFFT: every length
 */
typedef enum
{
  GST_OPENCL_FFT_LIBRARY_AUTO,
  GST_OPENCL_FFT_LIBRARY_CLFFT,
  GST_OPENCL_FFT_LIBRARY_VKFFT,
} GstOpenCLFFTLibrary;

#define GST_TYPE_OPENCL_FFT_LIBRARY (gst_opencl_fft_library_get_type ())
GST_OPENCL_API GType gst_opencl_fft_library_get_type (void);

/**
 * GstOpenCLFFT:
 *
 * A plan: forward, float32, unscaled, X[b] = sum_n x[n] exp(-2 pi i b n / length), along
 * each of a batch of contiguous lines.
 */
typedef struct _GstOpenCLFFT GstOpenCLFFT;

/**
 * gst_opencl_fft_library_accepts:
 *
 * Returns: whether @library can transform lines of @length
 */
GST_OPENCL_API gboolean gst_opencl_fft_library_accepts (GstOpenCLFFTLibrary library,
    gsize length);

/**
 * gst_opencl_fft_new:
 * @library: which library
 * @length: samples of a line, 2 or more
 * @lines: lines of a batch
 * @real: input is float32; otherwise pairs of float32 (real, imaginary)
 * @error: set with the length and what the library takes, or when a call fails
 *
 * Kernels and work memory are made here; gst_opencl_fft_enqueue() allocates nothing. A
 * plan is used from one thread at a time.
 *
 * Returns: (transfer full) (nullable): a plan
 */
GST_OPENCL_API GstOpenCLFFT *gst_opencl_fft_new (GstOpenCLContext *context,
    GstOpenCLFFTLibrary library, gsize length, gsize lines, gboolean real,
    GError **error);

GST_OPENCL_API void gst_opencl_fft_free (GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_library:
 *
 * Returns: the library that was chosen, never AUTO
 */
GST_OPENCL_API GstOpenCLFFTLibrary gst_opencl_fft_get_library (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_get_output_stride:
 *
 * Returns: pairs of float32 from one output line to the next, at least length/2 + 1 for
 *   real and length for complex input; the bins past length/2 of a real line are undefined
 */
GST_OPENCL_API gsize gst_opencl_fft_get_output_stride (const GstOpenCLFFT *fft);

/**
 * gst_opencl_fft_enqueue:
 * @queue: an in-order queue of the plan's context
 * @input: lines x length samples from the start of the buffer; left as it is
 * @output: lines x stride pairs of float32; not @input
 * @error: set when a call fails
 *
 * Returns: whether the transform was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_fft_enqueue (GstOpenCLFFT *fft, cl_command_queue queue,
    cl_mem input, cl_mem output, GError **error);

G_END_DECLS
