/* Where the samples of raw video stand in their bytes, and their bits in these
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

namespace opencl {
/* Bytes from where a pixel begins in the component's plane */
guint sample_offset (const GstVideoInfo &info, guint component);

/* Bits below the lowest one of a sample, in its two bytes */
guint sample_shift (const GstVideoInfo &info);

/* Whether the higher of two bytes comes first */
bool is_big_endian (const GstVideoInfo &info);
} // namespace opencl
