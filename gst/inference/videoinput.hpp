/* Converts video frames to the input tensor of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "plan/step.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/kernel.hpp>

namespace inference {
enum class Fit { stretch, letterbox, crop, line };
enum class Colors { by_channels, rgb, bgr, rgba, bgra, gray };

/* Number of channels; three for Colors::by_channels */
gint64 channels_of (Colors colors);

/* How a frame becomes numbers: (level / 255 - mean) / deviation for each channel, and 255 times
 * that for integers */
struct VideoMapping {
  Fit fit = Fit::stretch;
  Colors colors = Colors::by_channels;
  std::vector<double> mean, deviation; /* empty: 0 and 1; one number: of all channels */
  guint border = 0xff000000;           /* 0xAARRGGBB, with Fit::letterbox and line */
  bool of_regions = false;             /* not of whole frames */
};

/* Position of the frame in the network's input, in pixels of it. With Fit::crop it is larger
 * than the input. */
struct FittedFrame {
  double left, top, width, height;
};
FittedFrame fit_frame (
    Fit fit, double frame_width, double frame_height, gint width, gint height);

/* Position of a turned region in the frame: `origin` + `across` u + `down` v is that of the point
 * (u, v) of the input, which `fitted` places in it. */
struct CutRegion {
  FittedFrame fitted;
  double origin[2], across[2], down[2];
};

/* Place of a pixel of the network's input, in elements */
struct PixelPlace {
  gint64 offset = 0, channel = 0, line = 0, column = 0;
  gint64 channels = 3, height = 0, width = 0;
  opencl::NumberType type = opencl::NumberType::f32;
};

/* Red, green and blue, 0 … 1, as weighted sums of a frame's three samples and 1 */
void find_color_rows (const GstVideoInfo &video, double rgb[3][4]);

/* Options of kernels that read frames with videoframe.clh, without ALIGNMENT */
std::string reading_options (const GstVideoInfo &video);
/* Makes such a kernel, with a variant for unaligned frames where that counts. */
bool create_for (GstOpenCLContext *context, const GstVideoInfo &video,
    const char *resource, const char *name, const std::string &options,
    opencl::FrameKernel &kernel, GError **error);

/* Scales (mean of the covered pixels if it is made smaller, else bilinear), converts colours
 * and normalizes, in one launch. With `of_regions`, enqueue_region () does so with a part. */
class VideoInput {
public:
  /* Makes tables and the kernel. FALSE with an error if `mapping` does not fit the number of
   * channels. */
  bool create_kernel (GstOpenCLContext *context, const GstVideoInfo &video,
      const VideoMapping &mapping, const PixelPlace &place, GError **error);

  /* `offset` is that of the first element in bytes. */
  bool enqueue_tensor (cl_command_queue queue, const GstOpenCLFrame *frame, cl_mem output,
      gint64 offset, GError **error);
  bool enqueue_region (cl_command_queue queue, const GstOpenCLFrame *frame,
      const CutRegion &region, cl_mem output, gint64 offset, GError **error);

private:
  bool make_tables (
      GstOpenCLContext *context, const VideoMapping &mapping, GError **error);
  bool set_rows (const GstVideoInfo &video, const VideoMapping &mapping, GError **error);

  GstVideoInfo info = {};
  PixelPlace place;
  cl_float4 rows[3] = {}, fill = {};
  cl_float2 alpha = {}; /* factor and summand */
  cl_int2 taps = {};
  cl::Buffer across, down;
  opencl::FrameKernel kernel;
};
} // namespace inference
