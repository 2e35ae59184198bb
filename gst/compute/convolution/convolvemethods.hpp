/* The methods of a convolution
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolver.hpp"

namespace compute {
using MakeConvolver = std::unique_ptr<Convolver> (*) (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Each number of the output as the sum that it is: over planes, or where a group has
 * filters enough, as a product of matrices whose left one is the input itself, or where
 * each channel is by itself and beside the next, in a lane for each. */
std::unique_ptr<Convolver> make_direct (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

bool is_depthwise (const Convolution &convolution);
std::unique_ptr<Convolver> make_depthwise (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

/* Lines, then columns: taps that are a column times a line, each channel by itself. */
bool is_separable (const Convolution &convolution, const Filters &filters);
std::unique_ptr<Convolver> make_separable (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

/* 3×3 taps of one group, side by side: 36 products in place of 144. */
bool is_winograd (const Convolution &convolution);
std::unique_ptr<Convolver> make_winograd (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

/* As direct over pixels, with the left matrix written out. Arrays only. */
std::unique_ptr<Convolver> make_im2col (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);

/* In double precision: method=direct of float64 arrays. */
std::unique_ptr<Convolver> make_double (
    GstOpenCLContext *context, const Convolution &convolution, GError **error);

/* By way of spectra. */
std::unique_ptr<Convolver> make_fft (GstOpenCLContext *context,
    const Convolution &convolution, const Filters &filters, GError **error);
} // namespace compute
