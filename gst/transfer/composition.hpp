/* The layers of a frame of openclcompositor's, and the launches that blend them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "compositorpad.h"

#include <gst/opencl/devicebuffer.hpp>
#include <gst/opencl/kernel.hpp>
#include <gst/opencl/lightcurve.hpp>
#include <gst/opencl/opencl-private.hpp>

#include <vector>

namespace transfer {
/* In the order of the kernel's backgrounds. */
enum class Background {
  checker,
  black,
  white,
  transparent,
  carried, /* of the launch before; no choice of the user's */
};

/* A picture of one frame. */
struct Layer {
  const GstVideoInfo *info;
  const GstOpenCLFrame *frame;
  GstOpenCLCompositorPlace place;
  bool interlaced;
};

/* Whether light can be blended: what it is, the transfer functions of all say. */
bool is_light_known (const std::vector<Layer> &layers, const GstVideoInfo &output);

/* Up to eight layers, of which the first may be lit by what is below it, take a launch. What
 * is more takes several, which hand the pixels on in floats. */
class Composition {
public:
  bool open (GstOpenCLContext *context, GError **error);

  /* From the lowest layer to the highest */
  bool blend (const std::vector<Layer> &layers, const GstVideoInfo &info,
      const GstOpenCLFrame &output, Background background, bool linear, GError **error);

private:
  struct Frame;
  struct Launch;

  opencl::Kernel *choose_kernel (
      const Frame &frame, bool wraps, bool *wide, GError **error);
  bool launch (const Frame &frame, const Launch &what, GError **error);
  bool spread_light (const Frame &frame, const Layer &layer, GError **error);
  bool ensure_carried (const Frame &frame, GError **error);
  bool ensure_weights (guint radius, GError **error);

  GstOpenCLContext *context = nullptr;
  bool is_cpu = false;
  opencl::FrameKernel levels[2];   /* for progressive layers only, and for any */
  opencl::FrameKernel light;       /* for any, blended as light */
  opencl::FrameKernel wrapping[2]; /* levels, and light, with a first layer that is lit */
  opencl::FrameKernel spreading[2]; /* what lights it */
  cl::Buffer carried;               /* between launches */
  gsize carried_pixels = 0;
  cl::Buffer spread, weights; /* of a layer that is lit, and of its radius */
  gsize spread_pixels = 0;
  guint radius = 0;
  cl_int4 region = {};
};
} // namespace transfer
