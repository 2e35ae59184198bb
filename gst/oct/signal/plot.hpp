/* A plot: axes, marks and text by cairo, and curves of device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/cairo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace oct {
enum class Colour {
  background,
  grid,
  axes,
  text,
  mark,
  warning,
  curve,
  reference, /* a curve to compare with */
  bound,     /* minimum and maximum */
};

/* Range of values on an axis */
struct Axis {
  double low = 0, high = 1;
  double scale = 1; /* the displayed number of a value is scale * (value + offset) */
  std::string unit;
  double offset = 0;

  double displayed (double value) const { return scale * (value + offset); }
  double value_of (double displayed) const { return displayed / scale - offset; }
};

/* Area of the curves, in pixels */
struct PlotArea {
  gint left, top, width, height;
  bool is_empty () const { return width < 8 || height < 8; }
};

struct TextLine {
  std::string text;
  Colour colour = Colour::text;
};

/* Axes, marks and text, as a transparent image above the curves */
class Overlay {
public:
  Overlay (const opencl::Cairo &cairo, gint width, gint height);

  const PlotArea &area () const { return plot; }
  /* Width of a line, in pixels */
  gint stroke () const { return std::max (gint (em / 16), 1); }
  /* 0xAARRGGBB, multiplied by alpha; null without memory */
  const guint8 *pixels ();

  /* Begins a new image. `text_size`: of the font, in pixels; 0: by the size of the plot.
   * `lines`: number of lines of text above the plot */
  void begin (guint text_size, guint lines);
  /* Sets the area, so that all labels are inside of the image. */
  void draw_axes (const Axis &x, const Axis &y);
  void write (guint line, const TextLine &text);
  /* A horizontal line through the plot, and a cross */
  void mark_y (const Axis &y, double value, Colour colour);
  void cross (const Axis &x, const Axis &y, double at_x, double at_y, Colour colour);

private:
  struct Destroy {
    const opencl::Cairo *cairo;
    void operator() (cairo_t *context) const { cairo->destroy (context); }
  };

  void use_colour (Colour colour);
  void fill (gint left, gint top, gint columns, gint rows, Colour colour);
  /* Writes text at its left end (align=0), centre (0.5) or right end (1). */
  void write_at (
      double x, double baseline, double align, const std::string &text, Colour colour);
  void label_x (const Axis &axis, double baseline, double from, double to);
  gint x_of (const Axis &axis, double value) const;
  gint y_of (const Axis &axis, double value) const;
  double text_width (const std::string &text) const;

  const opencl::Cairo &cairo;
  const gint width, height;
  double em = 1; /* size of the font */
  PlotArea plot = {};
  std::unique_ptr<cairo_t, Destroy> context;
};

/* Smallest number of the form 1, 2 or 5 times a power of ten that is not below `value` */
double round_up (double value);

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

/* Draws curves of device memory and an overlay into frames */
class PlotDrawing {
public:
  bool create (
      GstOpenCLContext *context, gint width, gint height, bool colours, GError **error);
  /* Enqueues an upload of a new overlay. */
  bool set_overlay (cl_command_queue queue, Overlay &overlay, GError **error);
  bool enqueue (cl_command_queue queue, const PlotCurves &curves,
      const GstOpenCLFrame *output, GError **error);

private:
  opencl::Kernel find_spans, draw;
  cl::Buffer spans, overlay;
  std::unique_ptr<opencl::PinnedBlock> staging;
  cl::Event uploaded; /* empty if `staging` is free */
  cl_uint width = 0, height = 0;
  PlotArea area = {};
  gint stroke = 1;
};
} // namespace oct
