/* FFT libraries, and the layout of their samples
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * GstOpenCLFFTLibrary:
 * @GST_OPENCL_FFT_LIBRARY_AUTO: the fastest library that supports the lengths
 * @GST_OPENCL_FFT_LIBRARY_CLFFT: clFFT, if it is part of this build: lengths whose prime
 *   factors are at most 13
 * @GST_OPENCL_FFT_LIBRARY_VKFFT: VkFFT: every length
 */
typedef enum {
  GST_OPENCL_FFT_LIBRARY_AUTO,
  GST_OPENCL_FFT_LIBRARY_CLFFT,
  GST_OPENCL_FFT_LIBRARY_VKFFT,
} GstOpenCLFFTLibrary;

/**
 * GstOpenCLFFTStrides:
 * @sample: elements from one sample to the next along lengths[0]; 0 means 1
 * @row: elements from one row to the next along lengths[1]; 0 means no gaps. Ignored in
 *   one dimension
 * @transform: elements from one transform of the batch to the next; 0 means no gaps
 *
 * Layout of the input or output samples. An element is a number, or a pair of numbers
 * (real, imaginary). Gaps are neither read nor written. Input samples may overlap, output
 * samples may not.
 */
typedef struct {
  gsize sample;
  gsize row;
  gsize transform;
} GstOpenCLFFTStrides;

G_END_DECLS
