/* Blends the layers of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "compositorplace.h"
#include "converter.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/common/colorconversion.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <vector>

namespace transfer {
/* In the order of the kernel's backgrounds. */
enum class CompositorBackground {
  checker,
  black,
  white,
  transparent,
  carried, /* result of the previous launch; internal */
};

/* A layer of one output frame */
struct Layer {
  const GstVideoInfo *info;
  const GstOpenCLFrame *frame;
  GstOpenCLCompositorPlace place;
  bool interlaced;
  bool converted = false; /* `frame` is not that of its buffer */
};

/* Sample layout and colour conversion of a layer or of the output, as in the kernel */
struct FrameFormat {
  cl_ulong4 start;
  opencl::FixedPointRow rows[3];
  cl_int4 stride, step;
  cl_int2 size, subsampling, chroma;
  cl_int gray, kind;
};
static_assert (sizeof (FrameFormat) == 192);

/* Returns true if light can be blended: all transfer functions are known. */
bool are_transfer_functions_known (
    const std::vector<Layer> &layers, const GstVideoInfo &output);

/* Removes layers that cannot be seen: an opaque layer above covers them completely. */
void remove_hidden_layers (std::vector<Layer> &layers, const GstVideoInfo &output);

/* A conversion with memory for the frame on one side of it */
struct StoredConversion {
  /* Prepares a conversion from `input` to `output`, with memory for `stored`, one of them. */
  bool adapt (GstOpenCLContext *context, const GstVideoInfo &input,
      const GstVideoInfo &output, const GstVideoInfo &stored, GError **error);

  GstVideoInfo in = {}, out = {};
  FrameConverter converter;
  opencl::WorkBuffer memory;
  GstOpenCLFrame frame = {};
};

/* A layer that is converted or scaled before it is blended */
class ConvertedLayer {
public:
  /* Returns false while the size changes, as in an animation: each size needs new tables and
   * memory. The blending kernel scales such a layer. */
  bool is_steady (const Layer &layer, const GstVideoInfo &wanted);

  /* Replaces the frame of `layer` by a frame of `wanted`, which this owns. */
  bool convert (GstOpenCLContext *context, cl_command_queue queue, Layer &layer,
      const GstVideoInfo &wanted, GError **error);

private:
  StoredConversion made;
  GstVideoInfo last = {};   /* wanted for the last frame */
  guint frames_of_size = 0; /* since it changed */
};

/* Blends up to eight layers in one launch. Further launches blend more layers, and get
 * the previous result in floats. A layer with light wrap is the first of its launch.
 * Opaque layers that have the samples of a YUV output are copied instead. */
class Composition {
public:
  bool open (GstOpenCLContext *context, GError **error);

  /* From the lowest layer to the highest */
  bool blend (std::vector<Layer> layers, const GstVideoInfo &info,
      const GstOpenCLFrame &output, CompositorBackground background, bool linear,
      GError **error);

private:
  struct Frame;
  struct Launch;

  /* Build options of the kernels: what they can do besides blending unscaled pixels. Only
   * the last launch stores a SUBSAMPLED output. */
  enum Ability {
    INTERLACED = 1,
    LINEAR = 2,
    SAMPLED = 4,
    WRAP = 8,
    SUBSAMPLED = 16,
    ALL = 31
  };

  static guint abilities_for (
      const std::vector<Layer> &layers, const GstVideoInfo &blended, bool linear);
  bool scale_layers (std::vector<Layer> &layers, const GstVideoInfo &info,
      cl_command_queue queue, GError **error);
  bool color_layers (std::vector<Layer> &layers, gsize first, gsize end,
      const GstVideoInfo &info, cl_command_queue queue, GError **error);
  bool blend_and_store (
      const Frame &frame, CompositorBackground background, GError **error);
  bool is_wide (guint abilities) const;
  opencl::Kernel *choose_kernel (const Frame &frame, guint abilities, GError **error);
  bool launch (const Frame &frame, const Launch &what, GError **error);
  bool copy (const Frame &frame, gsize first, gsize end, GError **error);
  bool blend_area (const Frame &frame, CompositorBackground background, GError **error);
  bool spread_light (const Frame &frame, gsize lit, GError **error);
  bool spread_along_lines (const Frame &frame, gsize lit, GError **error);
  bool spread_by_lines (const Frame &frame, gsize lit, GError **error);
  bool set_lit_layer (opencl::Kernel &kernel, cl_uint index, const Frame &frame,
      gsize lit, GError **error);
  bool set_formats (
      opencl::Kernel &kernel, cl_uint &index, gsize first_layer, GError **error);
  static gsize end_of_launch (const Frame &frame, gsize first);
  bool ensure_carried (const Frame &frame, GError **error);
  bool ensure_weights (guint radius, GError **error);
  bool ensure_formats (const Frame &frame, GError **error);

  GstOpenCLContext *context = nullptr;
  bool is_cpu = false;
  opencl::FrameKernel blending[ALL + 1], copying;
  std::vector<std::unique_ptr<ConvertedLayer>> scaled, colored; /* by the layer's index */
  StoredConversion
      rgb; /* on a GPU: from blended pixels, which are stored, to a YUV output */
  cl::Buffer carried; /* between launches */
  gsize carried_pixels = 0;

  /* Kernels that blur the light for a layer with WRAP: along rows, and on a CPU also
   * along columns */
  struct Spreading {
    opencl::FrameKernel along, gather, across, down;
  } spreading[SUBSAMPLED];
  cl::Buffer spread, light, weights, one; /* for light wrap */
  gsize spread_pixels = 0, light_pixels = 0;
  guint radius = 0;
  /* Light for the pixels of the layer, and the blur that the blending kernel still
   * applies */
  struct Lighting {
    cl_mem values, weights;
    cl_int4 region;
    cl_int radius;
  } lighting = {};
  /* Formats on the device, if the kernels need them. They change whenever a layer becomes
   * visible or invisible. */
  struct FormatTable {
    std::vector<FrameFormat> formats;
    cl::Buffer buffer;
  };
  static constexpr gsize most_format_tables = 16;
  std::vector<FormatTable> format_tables;
  cl::Buffer format_table; /* of the frame */
};
} // namespace transfer
