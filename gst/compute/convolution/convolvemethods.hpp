/* Convolution methods
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolver.hpp"

namespace compute {
using MakeConvolver = std::unique_ptr<Convolver> (*) (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Direct summation: depthwise if each channel has a filter of its own, as a matrix
 * product if a group has enough filters, otherwise tap by tap over planes */
std::unique_ptr<Convolver> make_direct (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

bool is_depthwise (const Convolution &convolution);
std::unique_ptr<Convolver> make_depthwise (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Rows, then columns: each kernel is a column times a row, and each group has one
 * channel. */
bool is_separable (const Convolution &convolution, const Filters &filters);
std::unique_ptr<Convolver> make_separable (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* 3×3 taps, one group, stride 1, dilation 1: 36 products instead of 144 */
bool is_winograd (const Convolution &convolution);
std::unique_ptr<Convolver> make_winograd (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* As the direct matrix product, but writes the left matrix to memory. Arrays only. */
std::unique_ptr<Convolver> make_im2col (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* 16-bit arrays, on tensor cores */
bool has_tensor_cores (GstOpenCLContext *context);
bool is_half (GstOpenCLContext *context, const Convolution &convolution);
std::unique_ptr<Convolver> make_half (const Device &device,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Double precision, for float64 arrays */
std::unique_ptr<Convolver> make_double (
    GstOpenCLContext *context, const Convolution &convolution, GError **error);

/* Multiplication of Fourier spectra */
std::unique_ptr<Convolver> make_fft (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error);
} // namespace compute
