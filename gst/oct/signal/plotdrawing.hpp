/* Draws curves of device memory and an overlay into frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "overlay.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <vector>

namespace oct {
/* Curves of the same number of points, and the ranges of both axes. The vertical axis
 * shows the values, or their decibels. */
struct PlotCurves {
  struct Curve {
    guint start; /* first value in the buffer */
    Colour colour;
  };

  cl_mem values;
  guint points;
  bool decibels;
  Axis x, y;                 /* x in points */
  std::vector<Curve> curves; /* at most 8; later ones on top */
};

class PlotDrawing {
public:
  bool create (
      GstOpenCLContext *context, gint width, gint height, bool colours, GError **error);
  /* Enqueues an upload of a new overlay. */
  bool set_overlay (cl_command_queue queue, const Overlay &overlay, GError **error);
  bool enqueue (cl_command_queue queue, const PlotCurves &curves,
      const GstOpenCLFrame *output, GError **error);

private:
  opencl::Kernel find_spans, draw;
  cl::Buffer palette, spans, overlay;
  std::unique_ptr<opencl::PinnedBlock> staging;
  cl::Event uploaded; /* empty if `staging` is free */
  cl_uint width = 0, height = 0;
  PlotArea area = {};
};
} // namespace oct
