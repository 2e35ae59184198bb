/* Converts raw video: format, colours, size and orientation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "scaling.hpp"

namespace transfer {
enum class ChromaResampler {
  nearest,
  linear,
};

enum class Dither {
  none,
  bayer,
};

/* Orientation: columns and rows of the input may be swapped, and each may be reversed. */
struct Orientation {
  bool transposed, mirrored_x, mirrored_y;

  bool turns () const { return transposed || mirrored_x || mirrored_y; }
  bool operator== (const Orientation &other) const
  {
    return transposed == other.transposed && mirrored_x == other.mirrored_x
           && mirrored_y == other.mirrored_y;
  }
};

/* Rectangle of the output that shows the input. The rest is border. */
struct TargetRectangle {
  gint left, top, width, height;

  bool covers (const GstVideoInfo &output) const
  {
    return width == output.width && height == output.height;
  }
};

/* Returns frames with the colours of `like` in another format and size. */
GstVideoInfo with_colors_of (
    const GstVideoInfo &like, GstVideoFormat format, gint width, gint height);

struct Conversion {
  GstVideoInfo in, out;
  TargetRectangle target;
  Orientation orientation = {};
  ScaleMethod scale_method = ScaleMethod::bilinear;
  ChromaResampler chroma_resampler = ChromaResampler::linear;
  Dither dither = Dither::none;
  bool alpha_as_gray = false; /* the output shows the input's alpha */
  cl::Buffer colormap =
      {}; /* for gray input: samples of the output, four floats a level */
};

/* Converts frames of one format and size to another, with one launch, or two where planes are
 * scaled first. The context must outlive it. */
class FrameConverter {
public:
  bool prepare (GstOpenCLContext *context, const Conversion &wanted, GError **error);

  /* Launches are on one in-order queue, so that frames share the memory of scaled ones. */
  bool enqueue (cl_command_queue queue, const GstOpenCLFrame &input,
      const GstOpenCLFrame &output, GError **error);

private:
  /* How a frame is computed: a work-item for each block of pixels, or on a CPU for each row
   * of blocks, or for a band of scaled rows; on a GPU, by scaling planes, alone or before the
   * blocks */
  enum class Form { blocks, rows, bands, planes, planes_and_blocks };
  struct Layouts {
    opencl::VideoLayout in, out;
  };

  cl_int2 size_before_rotation () const;
  bool is_scaled (const GstVideoInfo &in) const;
  bool is_plain () const;
  bool is_chroma_resampled (const GstVideoInfo &in) const;
  bool dithers () const;
  bool has_fields (const GstVideoInfo &info) const;
  std::string build_options (bool interlaced) const;
  Form choose_form () const;
  void plan_planes ();
  bool make_taps (GError **error);
  bool prepare_kernels (GError **error);
  Layouts layouts_of (const GstOpenCLFrame &input, const GstOpenCLFrame &output) const;
  bool enqueue_blocks (opencl::Kernel &kernel, cl_mem from, cl_mem to,
      const Layouts &layouts, GError **error);
  bool enqueue_conversion (cl_command_queue queue, const GstOpenCLFrame &input,
      const GstOpenCLFrame &output, GError **error);

  GstOpenCLContext *context = nullptr;
  Conversion how;
  GstVideoInfo source =
      {}; /* input, or what `planes` makes of it, which is then converted */
  opencl::ColorConversion colors;
  cl_int4 border = {};            /* samples of the border */
  opencl::FrameKernel kernels[2]; /* progressive, two fields */
  Form form = Form::blocks;       /* of the first */
  cl::Buffer across, down;        /* scale-method=lanczos: weights, and their number */
  cl_int2 taps = {{0, 0}};
  RowScaler scaler;
  PlaneScaler planes;
  opencl::WorkBuffer scaled; /* the output of `planes`, unless that is the converter's */
};
} // namespace transfer
