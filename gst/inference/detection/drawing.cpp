/* Draws rectangles and labels over frames in device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "drawing.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <algorithm>
#include <cairo.h>
#include <cmath>
#include <cstring>
#include <memory>

#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/drawitems.cl"

namespace inference {
namespace {
constexpr gint longest_label = 2048; /* columns */
constexpr gsize most_items = 8192;

struct Free {
  void operator() (cairo_t *context) const { cairo_destroy (context); }
  void operator() (cairo_surface_t *surface) const { cairo_surface_destroy (surface); }
};

double
luma_of (guint color)
{
  return 0.299 * (color >> 16 & 255) + 0.587 * (color >> 8 & 255) + 0.114 * (color & 255);
}

std::unique_ptr<cairo_t, Free>
new_context (cairo_surface_t *surface, double em)
{
  std::unique_ptr<cairo_t, Free> context (cairo_create (surface));
  cairo_select_font_face (
      context.get (), "Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size (context.get (), em);
  return context;
}

std::unique_ptr<cairo_surface_t, Free>
new_surface (gint width, gint height)
{
  return std::unique_ptr<cairo_surface_t, Free> (
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height));
}

/* The parts of `area` outside of `other` */
void
subtract (const Area &area, const Area &other, std::vector<Area> &parts)
{
  const gint left = std::max (area.x, other.x), top = std::max (area.y, other.y);
  const gint right = std::min (area.x + area.width, other.x + other.width),
             bottom = std::min (area.y + area.height, other.y + other.height);
  if (left >= right || top >= bottom) {
    parts.push_back (area);
    return;
  }
  const Area around[] = {
      {area.x, area.y, area.width, top - area.y},
      {area.x, bottom, area.width, area.y + area.height - bottom},
      {area.x, top, left - area.x, bottom - top},
      {right, top, area.x + area.width - right, bottom - top},
  };
  for (const Area &part : around)
    if (!part.is_empty ())
      parts.push_back (part);
}
} // namespace

bool
DrawnItem::operator== (const DrawnItem &other) const
{
  return memcmp (this, &other, sizeof other) == 0;
}

bool
Drawing::create (GstOpenCLContext *a_context, const GstVideoInfo &video, gint text_size,
    GError **error)
{
  std::string options;
  context = a_context;
  info = video;
  em = text_size;
  colors = opencl::color_matrix_from_rgb (info);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++)
    alignment = std::max ({alignment, 1 << GST_VIDEO_FORMAT_INFO_W_SUB (info.finfo, c),
        1 << GST_VIDEO_FORMAT_INFO_H_SUB (info.finfo, c)});
  known.clear ();
  used = 0;
  /* Room for a few of the longest labels */
  capacity =
      std::max<gsize> (1 << 18, 8 * gsize (longest_label) * gsize (line_height ()));
  is_packed = opencl::has_pixels_of_four_bytes (info);
  const guint components = is_packed ? 0 : GST_VIDEO_INFO_N_COMPONENTS (&info);
  opencl::define (options, "COMPONENTS", "", std::to_string (components));
  return kernel.create (context, KERNELS, "draw_items", options, error)
         && opencl::make_buffer (context, capacity * sizeof (cl_uint), labels, error);
}

void
Drawing::begin ()
{
  items.clear ();
  if (std::exchange (is_full, false)) {
    known.clear ();
    used = 0;
  }
}

/* The bytes of a colour 0xRRGGBB as drawitems.cl stores them, opaque */
cl_uint
Drawing::components_of (guint color) const
{
  const double rgb[] = {
      (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0};
  guint8 bytes[4] = {255, 255, 255, 255};
  cl_uint word;
  for (int c = 0; c < 3; c++) {
    double level = colors.m[c][3];
    for (int k = 0; k < 3; k++)
      level += colors.m[c][k] * rgb[k];
    bytes[is_packed ? GST_VIDEO_INFO_COMP_POFFSET (&info, c) : c] =
        guint8 (std::lround (std::clamp (level, 0.0, 255.0)));
  }
  memcpy (&word, bytes, sizeof word);
  return word;
}

/* Cuts out what later items cover: the kernel draws in any order. */
void
Drawing::add (Area area, cl_uint color, const Label *label)
{
  const gint right = align (std::min (area.x + area.width, info.width)),
             bottom = align (std::min (area.y + area.height, info.height));
  area.x = std::max (area.x, 0) & ~(alignment - 1);
  area.y = std::max (area.y, 0) & ~(alignment - 1);
  area.width = std::min (right, info.width) - area.x;
  area.height = std::min (bottom, info.height) - area.y;
  if (area.is_empty () || items.size () >= most_items)
    return;
  std::vector<DrawnItem> kept;
  std::vector<Area> parts;
  for (const DrawnItem &item : items) {
    parts.clear ();
    subtract (item.area, area, parts);
    for (const Area &part : parts) {
      kept.push_back (item);
      kept.back ().area = part;
      if (item.source >= 0)
        kept.back ().source += (part.y - item.area.y) * item.width + part.x - item.area.x;
    }
  }
  items = std::move (kept);
  items.push_back (
      {area, color, label ? label->source : -1, label ? label->width : 0, 0});
}

void
Drawing::fill (const Area &area, guint color)
{
  add (area, components_of (color), nullptr);
}

/* Black or white text on the colour. It ends where a label is longest, or the frame ends. */
std::vector<cl_uint>
Drawing::render (const std::string &text, guint color, gint &width) const
{
  const gint height = line_height ();
  cairo_text_extents_t extents = {};
  const auto probe = new_surface (1, 1);
  cairo_text_extents (new_context (probe.get (), em).get (), text.c_str (), &extents);
  width = align (std::clamp (
      gint (extents.x_advance + 0.6 * em), 1, std::min (longest_label, info.width)));
  const auto surface = new_surface (width, height);
  const auto cairo = new_context (surface.get (), em);
  cairo_set_source_rgb (cairo.get (), (color >> 16 & 255) / 255.0,
      (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
  cairo_paint (cairo.get ());
  const double level = luma_of (color) > 140 ? 0 : 1;
  cairo_set_source_rgb (cairo.get (), level, level, level);
  cairo_move_to (cairo.get (), 0.3 * em, 1.05 * em);
  cairo_show_text (cairo.get (), text.c_str ());
  cairo_surface_flush (surface.get ());
  std::vector<cl_uint> pixels;
  const guint8 *data = cairo_image_surface_get_data (surface.get ());
  for (gint y = 0; data && y < height; y++)
    for (gint x = 0; x < width; x++) {
      guint32 pixel;
      memcpy (&pixel, data + y * cairo_image_surface_get_stride (surface.get ()) + 4 * x,
          sizeof pixel);
      pixels.push_back (components_of (pixel));
    }
  return pixels;
}

/* A label of width 0 has no room until the next frame. */
bool
Drawing::find_label (cl_command_queue queue, const std::string &text, guint color,
    Label &label, GError **error)
{
  const auto key = std::pair (text, color);
  const auto found = known.find (key);
  if (found != known.end ()) {
    label = found->second;
    return true;
  }
  const std::vector<cl_uint> pixels = render (text, color, label.width);
  const gsize bytes = pixels.size () * sizeof (cl_uint);
  label.source = cl_int (used);
  is_full = pixels.empty () || used + pixels.size () > capacity;
  if (is_full) {
    label.width = 0;
    return true;
  }
  const cl::Buffer upload = opencl::make_table (context, pixels.data (), bytes, error);
  if (!upload ()
      || !gst_opencl_check (
          clEnqueueCopyBuffer (queue, upload (), labels (), 0, used * sizeof (cl_uint),
              bytes, 0, nullptr, opencl::Profiled (queue, opencl::command::copy)),
          "clEnqueueCopyBuffer", error))
    return false;
  used += pixels.size ();
  known[key] = label;
  return true;
}

bool
Drawing::write (cl_command_queue queue, gint x, gint y, const std::string &text,
    guint color, GError **error)
{
  Label label;
  if (!find_label (queue, text, color, label, error))
    return false;
  x = std::clamp (x, 0, std::max (info.width - label.width, 0));
  y = std::clamp (y, 0, std::max (info.height - line_height (), 0));
  add ({x, y, label.width, line_height ()}, 0, &label);
  return true;
}

bool
Drawing::enqueue (cl_command_queue queue, const GstOpenCLFrame &frame, GError **error)
{
  opencl::VideoLayout layout = opencl::layout_of (info, frame);
  cl_int4 mask_x = {}, mask_y = {};
  if (items.empty ())
    return true;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
    mask_x.s[c] = (1 << GST_VIDEO_FORMAT_INFO_W_SUB (info.finfo, c)) - 1;
    mask_y.s[c] = (1 << GST_VIDEO_FORMAT_INFO_H_SUB (info.finfo, c)) - 1;
  }
  if (items != uploaded) {
    uploaded.clear ();
    if (!opencl::make_table (context, items, table, error))
      return false;
    uploaded = items;
  }
  if (is_packed)
    layout.start.s[0] = frame.offset[0];
  /* One work-item on a CPU, which runs those of a group in turns */
  const bool is_wide = !opencl::is_cpu (context) && kernel.allows (256);
  const gsize columns = is_wide ? 32 : 1, rows = is_wide ? 8 : 1;
  const gsize global[] = {columns, rows, items.size ()};
  return kernel.set_all (error, frame.data, layout.start, layout.stride, layout.step,
             mask_x, mask_y, table (), labels ())
         && kernel.enqueue_box (queue, global, {columns, rows, 1}, error);
}
} // namespace inference
