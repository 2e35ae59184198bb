/* Kernel arguments and build options for video frames of any format (videoframe.clh)
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

#include <string>

namespace opencl {
/* Where the components of a picture stand, four arguments of a kernel */
struct VideoLayout {
  cl_int2 size;
  cl_ulong4 start;
  cl_int4 stride;
  cl_int4 step;
};

VideoLayout layout_of (const GstVideoInfo &info, const GstOpenCLFrame &frame);
/* Padding is filled as alpha is, but never read. */
VideoLayout layout_of_output (const GstVideoInfo &info, const GstOpenCLFrame &frame);

/* Where chroma stands, by the names and numbers of videoframe.clh */
enum class ChromaSamples { nearest, centred, cosited };

struct ChromaFilter {
  ChromaSamples across, down;
};

/* How chroma is taken from one raster to another; not `resampled`: the nearest */
ChromaFilter chroma_filter (const GstVideoInfo &info, bool resampled);

bool has_pixels_of_four_bytes (const GstVideoInfo &info);
bool is_v210 (const GstVideoInfo &info);

/* Build options, each begun by a blank. `side` is what their names begin with. */
void define (
    std::string &options, const char *side, const char *name, const std::string &value);
/* Where samples stand; `gray`: only the first component is there */
void define_samples (
    std::string &options, const char *side, const GstVideoInfo &info, bool gray);
void define_chroma (
    std::string &options, const char *side, const GstVideoInfo &info, bool resampled);
/* The layout's steps, where the compiler is to know them */
void define_steps (std::string &options, const char *side, const VideoLayout &layout);
} // namespace opencl
