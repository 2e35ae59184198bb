/* Byte offset, bit shift and byte order of samples in raw video
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

namespace opencl {
/* Returns the byte offset of a component from the start of a pixel in its plane */
guint sample_offset (const GstVideoInfo &info, guint component);

/* Returns the number of padding bits below a sample, such as 6 in P010_10LE */
guint sample_shift (const GstVideoInfo &info);

/* Returns true if samples have two bytes and the high byte comes first */
bool is_big_endian (const GstVideoInfo &info);
} // namespace opencl
