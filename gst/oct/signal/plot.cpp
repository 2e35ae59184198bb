/* A plot: axes, marks and text as an image of palette indices, and curves of device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "plot.hpp"

#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octplot.cl"

namespace oct {
namespace {
const gint glyph_width = 5, glyph_height = 7, advance = 6, line_height = 9;
const gint label_letters = 6; /* of numbers at the vertical axis */

struct Glyph {
  char letter;
  guint8 rows[glyph_height]; /* lowest bit: right column */
};

/* The letters of the texts of octsignal. '\xb5' is the micro sign. */
const Glyph glyphs[] = {
    {'%', {0x18, 0x19, 0x02, 0x04, 0x08, 0x13, 0x03}},
    {'(', {0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02}},
    {')', {0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08}},
    {'+', {0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x0c, 0x04, 0x08}},
    {'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}},
    {'/', {0x00, 0x01, 0x02, 0x04, 0x08, 0x10, 0x00}},
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}},
    {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'2', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}},
    {'3', {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}},
    {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
    {'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}},
    {'7', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}},
    {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c}},
    {':', {0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00}},
    {'=', {0x00, 0x00, 0x1f, 0x00, 0x1f, 0x00, 0x00}},
    {'A', {0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}},
    {'B', {0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e}},
    {'F', {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10}},
    {'H', {0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}},
    {'M', {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}},
    {'N', {0x11, 0x11, 0x19, 0x15, 0x13, 0x11, 0x11}},
    {'R', {0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11}},
    {'S', {0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e}},
    {'W', {0x11, 0x11, 0x11, 0x15, 0x15, 0x15, 0x0a}},
    {'a', {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f}},
    {'b', {0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x1e}},
    {'c', {0x00, 0x00, 0x0e, 0x10, 0x10, 0x11, 0x0e}},
    {'d', {0x01, 0x01, 0x0d, 0x13, 0x11, 0x11, 0x0f}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e}},
    {'f', {0x06, 0x09, 0x08, 0x1c, 0x08, 0x08, 0x08}},
    {'g', {0x00, 0x0f, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'h', {0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x11}},
    {'i', {0x04, 0x00, 0x0c, 0x04, 0x04, 0x04, 0x0e}},
    {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12}},
    {'l', {0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'m', {0x00, 0x00, 0x1a, 0x15, 0x15, 0x11, 0x11}},
    {'n', {0x00, 0x00, 0x16, 0x19, 0x11, 0x11, 0x11}},
    {'o', {0x00, 0x00, 0x0e, 0x11, 0x11, 0x11, 0x0e}},
    {'p', {0x00, 0x00, 0x1e, 0x11, 0x1e, 0x10, 0x10}},
    {'r', {0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10}},
    {'s', {0x00, 0x00, 0x0e, 0x10, 0x0e, 0x01, 0x1e}},
    {'t', {0x08, 0x08, 0x1c, 0x08, 0x08, 0x09, 0x06}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x13, 0x0d}},
    {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0a, 0x04}},
    {'w', {0x00, 0x00, 0x11, 0x11, 0x15, 0x15, 0x0a}},
    {'x', {0x00, 0x00, 0x11, 0x0a, 0x04, 0x0a, 0x11}},
    {'y', {0x00, 0x00, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'z', {0x00, 0x00, 0x1f, 0x02, 0x04, 0x08, 0x1f}},
    {'\xb5', {0x00, 0x00, 0x11, 0x11, 0x13, 0x1d, 0x10}},
};

/* In the order of Colour */
const PaletteEntry palette[] = {
    {16, 18, 22},
    {48, 52, 60},
    {150, 155, 165},
    {225, 228, 235},
    {255, 190, 60},
    {255, 90, 80},
    {90, 220, 130},
    {120, 150, 255},
    {90, 100, 120},
};
static_assert (G_N_ELEMENTS (palette) == gsize (Colour::entries));

/* (nullable) */
const Glyph *
glyph_of (char letter)
{
  for (const Glyph &glyph : glyphs) {
    if (glyph.letter == letter)
      return &glyph;
  }
  return nullptr;
}

/* Number with as many digits as steps of `step` need */
std::string
number_text (double value, double step)
{
  char text[32];
  const gint digits = std::clamp (gint (std::ceil (-std::log10 (step) - 1e-9)), 0, 6);
  if (step >= 10000)
    g_snprintf (text, sizeof text, "%gk", value / 1000);
  else
    g_snprintf (text, sizeof text, "%.*f", digits, value);
  return text;
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
    use (axis.value_of (n * step), number_text (n == 0 ? 0 : n * step, step));
}
} // namespace

const PaletteEntry &
palette_entry (Colour colour)
{
  return palette[gsize (colour)];
}

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

Overlay::Overlay (gint width, gint height, guint lines)
    : width (width), height (height),
      zoom (std::max (std::min (width / 320, height / 180), 1)),
      indices (gsize (width) * gsize (height))
{
  plot.left = (label_letters * advance + 2) * zoom;
  plot.top = (gint (lines) * line_height + 6) * zoom;
  plot.width = width - plot.left - 3 * advance * zoom;
  plot.height = height - plot.top - (line_height + 4) * zoom;
}

void
Overlay::clear ()
{
  std::fill (indices.begin (), indices.end (), guint8 (Colour::background));
}

void
Overlay::set (gint x, gint y, Colour colour)
{
  if (x >= 0 && y >= 0 && x < width && y < height)
    indices[gsize (y) * gsize (width) + gsize (x)] = guint8 (colour);
}

/* µ is two bytes of UTF-8, of which the second is that of Latin-1. */
void
Overlay::write_at (gint x, gint y, const std::string &text, Colour colour)
{
  for (char letter : text) {
    if (letter == '\xc2')
      continue;
    const Glyph *glyph = glyph_of (letter);
    for (gint dot = 0; glyph && dot < glyph_width * glyph_height; dot++) {
      const gint column = dot % glyph_width, row = dot / glyph_width;
      if (!(glyph->rows[row] >> (glyph_width - 1 - column) & 1))
        continue;
      for (gint n = 0; n < zoom * zoom; n++)
        set (x + column * zoom + n % zoom, y + row * zoom + n / zoom, colour);
    }
    x += advance * zoom;
  }
}

gint
Overlay::text_width (const std::string &text) const
{
  const auto letters =
      gint (text.size ()) - gint (std::count (text.begin (), text.end (), '\xc2'));
  return (letters * advance - 1) * zoom;
}

void
Overlay::write (guint line, const TextLine &text)
{
  write_at (3 * zoom, (gint (line) * line_height + 2) * zoom, text.text, text.colour);
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
Overlay::mark_x (const Axis &axis, double value, Colour colour)
{
  const gint x = x_of (axis, value);
  if (plot.is_empty () || x < plot.left || x >= plot.left + plot.width)
    return;
  for (gint y = plot.top; y < plot.top + plot.height; y++)
    set (x, y, colour);
}

void
Overlay::mark_y (const Axis &axis, double value, Colour colour)
{
  const gint y = y_of (axis, value);
  if (plot.is_empty () || y < plot.top || y >= plot.top + plot.height)
    return;
  for (gint x = plot.left; x < plot.left + plot.width; x++)
    set (x, y, colour);
}

void
Overlay::cross (
    const Axis &x_axis, const Axis &y_axis, double at_x, double at_y, Colour colour)
{
  const gint x = x_of (x_axis, at_x), y = y_of (y_axis, at_y), arm = 2 * zoom;
  for (gint n = -arm; n <= arm; n++) {
    set (x + n, y, colour);
    set (x, y + n, colour);
  }
}

void
Overlay::draw_axes (const Axis &x_axis, const Axis &y_axis)
{
  const gint bottom = plot.top + plot.height + 3 * zoom;
  if (plot.is_empty ())
    return;
  for_each_tick (x_axis, plot.width / (10.0 * advance * zoom),
      [&] (double value, const std::string &text) {
        mark_x (x_axis, value, Colour::grid);
        write_at (
            x_of (x_axis, value) - text_width (text) / 2, bottom, text, Colour::axes);
      });
  for_each_tick (y_axis, plot.height / (2.0 * line_height * zoom),
      [&] (double value, const std::string &text) {
        mark_y (y_axis, value, Colour::grid);
        write_at (plot.left - text_width (text) - 2 * zoom,
            y_of (y_axis, value) - glyph_height * zoom / 2, text, Colour::axes);
      });
  for (gint x = plot.left; x < plot.left + plot.width; x++)
    set (x, plot.top + plot.height, Colour::axes);
  for (gint y = plot.top; y <= plot.top + plot.height; y++)
    set (plot.left - 1, y, Colour::axes);
  write_at (width - text_width (x_axis.unit) - zoom,
      bottom - line_height * zoom - 4 * zoom, x_axis.unit, Colour::axes);
  write_at (zoom, bottom, y_axis.unit, Colour::axes);
}

namespace {
const gsize most_curves = 8;

std::vector<guint8>
palette_values (bool colours)
{
  std::vector<guint8> values;
  for (guint8 n = 0; n < guint8 (Colour::entries); n++) {
    const PaletteEntry &entry = palette_entry (Colour (n));
    if (colours)
      values.insert (values.end (), {entry.red, entry.green, entry.blue, G_MAXUINT8});
    else
      values.push_back (entry.grey ());
  }
  return values;
}
} // namespace

bool
PlotDrawing::create (
    GstOpenCLContext *context, gint columns, gint rows, bool colours, GError **error)
{
  const char *options = colours ? "-DPIXEL=uchar4" : "-DPIXEL=uchar";
  const std::vector<guint8> entries = palette_values (colours);
  const gsize pixels = gsize (columns) * gsize (rows);
  width = cl_uint (columns);
  height = cl_uint (rows);
  palette = opencl::make_table (context, entries.data (), entries.size (), error);
  if (!palette () || !find_spans.create (context, KERNELS, "find_spans", options, error)
      || !draw.create (context, KERNELS, "draw", options, error)
      || !opencl::make_buffer (
          context, sizeof (cl_float2) * most_curves * width, spans, error)
      || !opencl::make_buffer (context, pixels, overlay, error))
    return false;
  staging = opencl::PinnedBlock::make (context, pixels, error);
  return staging != nullptr;
}

/* An earlier upload ended long ago, unless the device hangs. */
bool
PlotDrawing::set_overlay (cl_command_queue queue, const Overlay &image, GError **error)
{
  gboolean is_over = TRUE;
  cl_event event = nullptr;
  if (uploaded () && !gst_opencl_wait (uploaded (), &is_over, error)) {
    if (!is_over)
      (void)staging.release (); /* the device may still read it */
    return false;
  }
  area = image.area ();
  memcpy (staging->data (), image.pixels ().data (), image.pixels ().size ());
  if (!gst_opencl_check (clEnqueueWriteBuffer (queue, overlay (), CL_FALSE, 0,
                             image.pixels ().size (), staging->data (), 0, nullptr,
                             opencl::Profiled (queue, opencl::command::upload, &event)),
          "clEnqueueWriteBuffer", error))
    return false;
  uploaded = cl::Event (event);
  gst_opencl_count_upload (image.pixels ().size ());
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
    colours.s[n] = cl_uint (plot.curves[n].colour);
  }
  const double step = (plot.x.high - plot.x.low) / std::max (area.width - 1, 1);
  const cl_int4 box = {{area.left, area.top, area.width, area.height}};
  return (curves == 0
             || find_spans.launch (queue, gsize (area.width), curves, error, plot.values,
                 cl_uint (plot.points), cl_uint (curves), starts, cl_float (plot.x.low),
                 cl_float (step), cl_int (plot.decibels), cl_float (plot.y.low),
                 cl_float (plot.y.high), cl_uint (area.width), cl_uint (area.height),
                 spans ()))
         && draw.launch (queue, width, height, error, spans (), cl_uint (curves), colours,
             box, overlay (), width, height, palette (), cl_uint (Colour::axes),
             output->data, cl_ulong (output->offset[0]), cl_int (output->stride[0]));
}
} // namespace oct
