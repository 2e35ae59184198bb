/* A plot: axes, marks and text by cairo, and curves of device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "plot.hpp"

#include <gst/common/text.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octplot.cl"

namespace oct {
namespace {
/* Lengths in sizes of the font */
const double line_height = 1.25, digit_height = 0.73, gap = 0.4;

struct Rgba {
  guint8 red, green, blue, alpha = G_MAXUINT8;
};

/* In the order of Colour. Curves are seen through the grid. */
const Rgba palette[] = {
    {16, 18, 22},
    {150, 155, 165, 60},
    {150, 155, 165},
    {225, 228, 235},
    {255, 190, 60},
    {255, 90, 80},
    {90, 220, 130},
    {120, 150, 255},
    {90, 100, 120},
};

/* 0xRRGGBB */
cl_uint
opaque (Colour colour)
{
  const Rgba &of = palette[gsize (colour)];
  return cl_uint (of.red) << 16 | cl_uint (of.green) << 8 | of.blue;
}

/* Calls `use` with each multiple of a round step within the axis, and with the text of
 * the displayed number. */
template <typename Use>
void
for_each_tick (const Axis &axis, double most, Use use)
{
  const double low = axis.displayed (axis.low), high = axis.displayed (axis.high);
  const double step = round_up ((high - low) / std::max (most, 1.0));
  if (!(step > 0) || !std::isfinite (step))
    return;
  for (double n = std::ceil (low / step - 1e-9); n * step <= high + 1e-9 * step; n++)
    use (axis.value_of (n * step), opencl::text_of ("%g", n == 0 ? 0 : n * step));
}
} // namespace

double
round_up (double value)
{
  if (!(value > 0) || !std::isfinite (value))
    return 1;
  const double power = std::pow (10, std::floor (std::log10 (value)));
  for (double factor : {1, 2, 5}) {
    if (factor * power >= value * (1 - 1e-9))
      return factor * power;
  }
  return 10 * power;
}

Overlay::Overlay (const opencl::Cairo &cairo, gint width, gint height)
    : cairo (cairo), width (width), height (height), context (nullptr, Destroy{&cairo})
{
  cairo_surface_t *image =
      cairo.image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
  cairo_font_options_t *options = cairo.font_options_create ();
  context.reset (cairo.create (image));
  cairo.surface_destroy (image);
  cairo.font_options_set_antialias (options, CAIRO_ANTIALIAS_GRAY);
  cairo.set_font_options (context.get (), options);
  cairo.font_options_destroy (options);
  cairo.select_font_face (
      context.get (), "Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
}

const guint8 *
Overlay::pixels ()
{
  cairo_surface_t *image = cairo.get_target (context.get ());
  cairo.surface_flush (image);
  return cairo.image_surface_get_data (image);
}

void
Overlay::begin (guint text_size, guint lines)
{
  const double by_size = std::max (std::min (width / 32.0, height / 18.0), 1.0);
  /* A line has room for its margins: a font of negative size would end all drawing. */
  em = text_size > 0 ? double (std::min ({gint (text_size), width, height})) : by_size;
  plot.top = gint ((lines * line_height + 2 * gap) * em);
  plot.height = height - plot.top - gint ((line_height + 2 * gap) * em);
  cairo.set_font_size (context.get (), em);
  cairo.set_operator (context.get (), CAIRO_OPERATOR_CLEAR);
  cairo.paint (context.get ());
  cairo.set_operator (context.get (), CAIRO_OPERATOR_OVER);
}

void
Overlay::use_colour (Colour colour)
{
  const Rgba &of = palette[gsize (colour)];
  cairo.set_source_rgba (context.get (), of.red / 255.0, of.green / 255.0,
      of.blue / 255.0, of.alpha / 255.0);
}

void
Overlay::fill (gint left, gint top, gint columns, gint rows, Colour colour)
{
  use_colour (colour);
  cairo.rectangle (context.get (), left, top, columns, rows);
  cairo.fill (context.get ());
}

double
Overlay::text_width (const std::string &text) const
{
  cairo_text_extents_t extents;
  cairo.text_extents (context.get (), text.c_str (), &extents);
  return extents.x_advance;
}

void
Overlay::write_at (
    double x, double baseline, double align, const std::string &text, Colour colour)
{
  use_colour (colour);
  cairo.move_to (context.get (), x - align * text_width (text), baseline);
  cairo.show_text (context.get (), text.c_str ());
}

/* A long text becomes smaller, so that all of it is seen. */
void
Overlay::write (guint line, const TextLine &text)
{
  const double room = width - 2 * gap * em;
  cairo.set_font_size (
      context.get (), em * std::min (room / std::max (text_width (text.text), 1.0), 1.0));
  write_at (gap * em, (line + 1) * line_height * em, 0, text.text, text.colour);
  cairo.set_font_size (context.get (), em);
}

gint
Overlay::x_of (const Axis &axis, double value) const
{
  const double share = (value - axis.low) / (axis.high - axis.low);
  return plot.left
         + gint (std::lround (std::clamp (share, -1.0, 2.0) * (plot.width - 1)));
}

gint
Overlay::y_of (const Axis &axis, double value) const
{
  const double share = (axis.high - value) / (axis.high - axis.low);
  return plot.top
         + gint (std::lround (std::clamp (share, -1.0, 2.0) * (plot.height - 1)));
}

void
Overlay::mark_y (const Axis &axis, double value, Colour colour)
{
  const gint y = y_of (axis, value);
  if (!plot.is_empty () && y >= plot.top && y < plot.top + plot.height)
    fill (plot.left, y, plot.width, stroke (), colour);
}

void
Overlay::cross (
    const Axis &x_axis, const Axis &y_axis, double at_x, double at_y, Colour colour)
{
  const gint x = x_of (x_axis, at_x), y = y_of (y_axis, at_y), arm = gint (em / 4) + 1;
  fill (x - arm, y, 2 * arm + stroke (), stroke (), colour);
  fill (x, y - arm, stroke (), 2 * arm + stroke (), colour);
}

/* Writes the numbers that fit between `from` and `to`, and draws the grid of all. */
void
Overlay::label_x (const Axis &axis, double baseline, double from, double to)
{
  for_each_tick (
      axis, plot.width / (5 * em), [&] (double value, const std::string &text) {
        const double half = text_width (text) / 2, x = x_of (axis, value);
        fill (gint (x), plot.top, stroke (), plot.height, Colour::grid);
        if (x - half < from || x + half > to)
          return;
        write_at (x, baseline, 0.5, text, Colour::axes);
        from = x + half + gap * em;
      });
}

void
Overlay::draw_axes (const Axis &x_axis, const Axis &y_axis)
{
  double widest = text_width ("00000");
  auto for_each_row = [&] (auto use) {
    for_each_tick (y_axis, plot.height / (2 * line_height * em), use);
  };
  for_each_row ([&] (double, const std::string &text) {
    widest = std::max (widest, text_width (text));
  });
  plot.left = gint (widest + 2 * gap * em);
  plot.width = width - plot.left - gint (1.5 * em);
  if (plot.is_empty ())
    return;
  const gint bottom = plot.top + plot.height;
  for_each_row ([&] (double value, const std::string &text) {
    mark_y (y_axis, value, Colour::grid);
    write_at (plot.left - gap * em, y_of (y_axis, value) + digit_height / 2 * em, 1, text,
        Colour::axes);
  });
  fill (plot.left - stroke (), plot.top, stroke (), plot.height, Colour::axes);
  fill (plot.left - stroke (), bottom, plot.width + stroke (), stroke (), Colour::axes);
  const double baseline = bottom + (2 * gap + digit_height) * em, end = width - gap * em;
  write_at (gap * em, baseline, 0, y_axis.unit, Colour::axes);
  write_at (end, baseline, 1, x_axis.unit, Colour::axes);
  label_x (x_axis, baseline, 2 * gap * em + text_width (y_axis.unit),
      end - text_width (x_axis.unit + " "));
}

namespace {
const gsize most_curves = 8;
} // namespace

bool
PlotDrawing::create (
    GstOpenCLContext *context, gint columns, gint rows, bool colours, GError **error)
{
  const char *options = colours ? "-DCOLOURS=1" : "-DCOLOURS=0";
  const gsize bytes = gsize (columns) * gsize (rows) * sizeof (cl_uchar4);
  width = cl_uint (columns);
  height = cl_uint (rows);
  if (!find_spans.create (context, KERNELS, "find_spans", options, error)
      || !draw.create (context, KERNELS, "draw", options, error)
      || !opencl::make_buffer (
          context, sizeof (cl_float2) * most_curves * width, spans, error)
      || !opencl::make_buffer (context, bytes, overlay, error))
    return false;
  staging = opencl::PinnedBlock::make (context, bytes, error);
  return staging != nullptr;
}

/* An earlier upload ended long ago, unless the device hangs. */
bool
PlotDrawing::set_overlay (cl_command_queue queue, Overlay &image, GError **error)
{
  const gsize bytes = gsize (width) * height * sizeof (cl_uchar4);
  const guint8 *pixels = image.pixels ();
  gboolean is_over = TRUE;
  cl_event event = nullptr;
  if (!pixels) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_FAILED,
        "no memory for a plot of %ux%u", width, height);
    return false;
  }
  if (uploaded () && !gst_opencl_wait (uploaded (), &is_over, error)) {
    if (!is_over)
      (void)staging.release (); /* the device may still read it */
    return false;
  }
  area = image.area ();
  stroke = image.stroke ();
  memcpy (staging->data (), pixels, bytes);
  if (!gst_opencl_check (
          clEnqueueWriteBuffer (queue, overlay (), CL_FALSE, 0, bytes, staging->data (),
              0, nullptr, opencl::Profiled (queue, opencl::command::upload, &event)),
          "clEnqueueWriteBuffer", error))
    return false;
  uploaded = cl::Event (event);
  gst_opencl_count_upload (bytes);
  return true;
}

bool
PlotDrawing::enqueue (cl_command_queue queue, const PlotCurves &plot,
    const GstOpenCLFrame *output, GError **error)
{
  cl_uint8 starts = {}, colours = {};
  const gsize curves =
      area.is_empty () ? 0 : std::min<gsize> (plot.curves.size (), most_curves);
  for (gsize n = 0; n < curves; n++) {
    starts.s[n] = plot.curves[n].start;
    colours.s[n] = opaque (plot.curves[n].colour);
  }
  const double step = (plot.x.high - plot.x.low) / std::max (area.width - 1, 1);
  const cl_int4 box = {{area.left, area.top, area.width, area.height}};
  return (curves == 0
             || find_spans.launch (queue, gsize (area.width), curves, error, plot.values,
                 cl_uint (plot.points), cl_uint (curves), starts, cl_float (plot.x.low),
                 cl_float (step), cl_int (plot.decibels), cl_float (plot.y.low),
                 cl_float (plot.y.high), cl_uint (area.width), cl_uint (area.height),
                 cl_float (stroke), spans ()))
         && draw.launch (queue, width, height, error, spans (), cl_uint (curves), colours,
             box, overlay (), width, height, opaque (Colour::background), output->data,
             cl_ulong (output->offset[0]), cl_int (output->stride[0]));
}
} // namespace oct
