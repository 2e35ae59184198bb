/* A plot: axes, marks and text as an image of palette indices, and curves of device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <string>
#include <vector>

namespace oct {
/* Entries of the palette. Curves cover those below `axes`. */
enum class Colour : guint8 {
  background,
  grid,
  axes,
  text,
  mark,
  warning,
  curve,
  reference, /* a curve to compare with */
  bound,     /* minimum and maximum */
  entries,
};

struct PaletteEntry {
  guint8 red, green, blue;
  guint8 grey () const { return guint8 ((54 * red + 183 * green + 19 * blue) >> 8); }
};
const PaletteEntry &palette_entry (Colour colour);

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

/* Axes, marks and text, as an image of palette indices */
class Overlay {
public:
  /* `lines`: number of lines of text above the plot */
  Overlay (gint width, gint height, guint lines);

  const PlotArea &area () const { return plot; }
  const std::vector<guint8> &pixels () const { return indices; }

  void clear ();
  void draw_axes (const Axis &x, const Axis &y);
  void write (guint line, const TextLine &text);
  /* Vertical and horizontal lines through the plot, and a cross */
  void mark_x (const Axis &x, double value, Colour colour);
  void mark_y (const Axis &y, double value, Colour colour);
  void cross (const Axis &x, const Axis &y, double at_x, double at_y, Colour colour);

private:
  void set (gint x, gint y, Colour colour);
  void write_at (gint x, gint y, const std::string &text, Colour colour);
  gint x_of (const Axis &axis, double value) const;
  gint y_of (const Axis &axis, double value) const;
  gint text_width (const std::string &text) const;

  const gint width, height;
  gint zoom; /* pixels per dot of a character */
  PlotArea plot;
  std::vector<guint8> indices;
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
