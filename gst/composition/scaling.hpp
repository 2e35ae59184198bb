/* Input samples and their weights for each row or column of a scaled image
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <vector>

namespace transfer {
enum class ScaleMethod {
  nearest,
  bilinear,
  area,
  lanczos,
};

/* Returns Lanczos weights with three lobes, widened when the size decreases. Each of
 * `out_size` positions has the index of its first input sample and lanczos_taps ()
 * weights. `fields`: number of interleaved fields. */
std::vector<cl_float> lanczos_table (gint in_size, gint out_size, gint fields);
gint lanczos_taps (gint in_size, gint out_size);

/* Weights of one direction. Each position of the output has the index of its first input
 * sample and `taps` weights, all of samples that exist. */
struct ScaleTable {
  gint taps = 0;
  std::vector<cl_float> values;
};

ScaleTable scale_table (ScaleMethod method, gint in_size, gint out_size);

/* Options of scale_cpu.cl and convert_cpu for both layouts, whose steps become constants */
void define_wide (std::string &options, const GstVideoInfo &in, const GstVideoInfo &out);

/* Scales and converts progressive video on a CPU, by scale_cpu.cl. The context must outlive
 * it. */
class RowScaler {
public:
  /* Whether the kernel scales to this size. Working memory grows with the reduction. */
  static bool can_scale (const GstVideoInfo &in, gint width, gint height);

  /* `options`: formats, chroma and colours, as of convert.cl */
  bool prepare (GstOpenCLContext *context, ScaleMethod method, const GstVideoInfo &in,
      const GstVideoInfo &out, const std::string &options, GError **error);

  /* Uses one working memory: the launches of a scaler are on one in-order queue. */
  bool enqueue_scaling (cl_command_queue queue, const GstOpenCLFrame &input,
      const GstOpenCLFrame &output, const opencl::VideoLayout &in,
      const opencl::VideoLayout &out, const opencl::FixedPointRow (&colors)[3],
      GError **error);

private:
  bool make_memory (GstOpenCLContext *context, const GstVideoInfo &in,
      const GstVideoInfo &out, GError **error);

  opencl::FrameKernel kernel;
  bool has_words_in = false, has_words_out = false;
  cl::Buffer across, down;
  cl_int2 taps = {{0, 0}};
  gsize bands = 0;
  cl_int band_blocks = 0; /* rows of blocks in each */
  cl_ulong band_bytes = 0;
  opencl::WorkBuffer memory;
};

/* Scales the planes of progressive video on a GPU, by scale_planes.cl, to a frame of the
 * same format. The context must outlive it. */
class PlaneScaler {
public:
  /* Returns false if the kernel does not support the format, or the reduction needs more
   * local memory than the device has. `out`: the input's format in another size */
  bool plan (GstOpenCLContext *context, ScaleMethod method, const GstVideoInfo &in,
      const GstVideoInfo &out);
  bool prepare (GstOpenCLContext *context, GError **error);
  bool enqueue_scaling (cl_command_queue queue, const GstOpenCLFrame &input,
      const GstOpenCLFrame &output, GError **error);

private:
  /* Weights of columns or rows, as in the kernel */
  struct Direction {
    gint taps = 0, step = 0;
    std::vector<cl_float> values;
    cl::Buffer table;
  };

  static Direction direction (ScaleMethod method, gint in_size, gint out_size,
      guint subsampling, opencl::ChromaSamples site);

  guint n_planes = 0;
  gint samples = 0; /* of a pixel, in the plane that has most */
  cl_int16 sizes = {};
  Direction columns, rows;
  gint tile_width = 0, reach = 0; /* output and input columns of a tile */
  gsize items = 0;                /* of a work-group */
  std::string options;
  opencl::Kernel kernel;
};
} // namespace transfer
