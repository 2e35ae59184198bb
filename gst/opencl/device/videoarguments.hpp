/* Kernel arguments and build options for video frames of any format (videoframe.clh)
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <string>
#include <tuple>

namespace opencl {
/* Layout of the components of a frame, as four kernel arguments */
struct VideoLayout {
  cl_int2 size;
  cl_ulong4 start;
  cl_int4 stride;
  cl_int4 step;
};

VideoLayout layout_of (const GstVideoInfo &info, const GstOpenCLFrame &frame);

/* A frame of any format that a kernel reads, as kernel arguments */
struct FrameArguments {
  cl_mem data;
  VideoLayout layout;
  cl_int fields;

  FrameArguments (const GstVideoInfo &info, const GstOpenCLFrame &frame)
      : data (frame.data), layout (layout_of (info, frame)),
        fields (has_two_fields (info, frame.buffer) ? 2 : 1)
  {
  }
  auto arguments () const
  {
    return std::tie (data, layout.size, layout.start, layout.stride, fields);
  }
};
/* Includes the unused byte of RGBx, which is written like alpha but never read. */
VideoLayout layout_of_output (const GstVideoInfo &info, const GstOpenCLFrame &frame);

/* Chroma interpolation: the CHROMA_... constants of videoframe.clh */
enum class ChromaSamples { nearest, centred, cosited };

struct ChromaFilter {
  ChromaSamples across, down;
};

/* Returns the interpolation of chroma. If the frame is not `resampled`, it is
 * `nearest`. */
ChromaFilter chroma_filter (const GstVideoInfo &info, bool resampled);

bool has_pixels_of_four_bytes (const GstVideoInfo &info);
bool is_v210 (const GstVideoInfo &info);

/* Functions that append build options, each after a space. `side` is part of their
 * names. */
void define (
    std::string &options, const char *side, const char *name, const std::string &value);
/* Sample format. With `gray`, only the first component is present. */
void define_samples (
    std::string &options, const char *side, const GstVideoInfo &info, bool gray);
void define_chroma (
    std::string &options, const char *side, const GstVideoInfo &info, bool resampled);
/* Steps of the layout as compile-time constants */
void define_steps (std::string &options, const char *side, const VideoLayout &layout);
} // namespace opencl
