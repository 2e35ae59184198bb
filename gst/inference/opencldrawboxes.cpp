/* opencldrawboxes: draws regions of interest and their labels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-opencldrawboxes
 * @title: opencldrawboxes
 *
 * Draws the boxes and labels of each #GstVideoRegionOfInterestMeta, as #opencltensordecoder
 * and detectors of GStreamer attach it, and, built with GStreamer 1.26, of each
 * GstAnalyticsODMtd. A region with a parameter `classification` is a line
 * of text in the upper left corner. Boxes of a class have one colour, by the `class-id` of
 * the parameter, else by the label.
 *
 * Key points with a score above 0.5 are small squares. They are `points` of the parameter
 * `detection`: x, y and score of each. The classes of pixels that #opencltensordecoder
 * `method=segmentation` finds are mixed into the frame in their colours.
 *
 * A label is rendered by cairo on the host the first time that it appears, and uploaded.
 * Everything else is drawn on the device.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 v4l2src ! openclupload ! openclinference model-file=yolov8n.onnx \
 *   fit=letterbox output=meta ! queue ! opencltensordecoder ! opencldrawboxes line-width=4 ! \
 *   opencldownload ! videoconvert ! autovideosink
 * ]| Boxes over the frames of a camera
 *
 * Since: 0.4
 */
#include "elements.h"
#include "regions.hpp"

#include <gst/common/cairo.hpp>
#include <gst/common/colorconversion.hpp>
#include <gst/common/text.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/readframe.hpp>
#include <gst/opencl/device/videoarguments.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>
#include <cstring>
#include <map>

#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/drawitems.cl"
#define DEVICE_VIDEO                                                                     \
  "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), format = (string) "           \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, NV12, NV21, I420, YV12, " \
  "YUY2, UYVY, YVYU, VYUY, Y42B, Y444, NV16, NV61, NV24, AYUV, VUYA, A420, GBR, GBRA, "  \
  "GRAY8 }, width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ]"

namespace {
constexpr gint longest_label = 2048; /* columns */
constexpr gsize most_items = 8192;

struct DrawSettings {
  guint line_width = 2, text_size = 0, color = 0;
  gfloat opacity = 0.5f;
  bool draw_labels = true;
};

/* In the order of drawitems.cl */
struct DrawnItem {
  cl_int x, y, width, height;
  cl_int line, source;
  cl_uint color;
  cl_int unused;
};

/* A picture of text on the device */
struct Label {
  cl_int source, width; /* width 0: there is no room until the next frame */
};

struct DrawWork {
  DrawSettings settings; /* that the rest was made for */
  GstVideoInfo info = {};
  const opencl::Cairo *cairo = nullptr; /* loaded with the first label */
  bool misses_cairo = false;
  opencl::ColorMatrix colors = {};
  gint em = 0, line_height = 0;
  gint alignment = 1;     /* columns and rows that share chroma */
  bool is_packed = false; /* pixels have four bytes */
  opencl::Kernel kernel, mix;
  cl::Buffer palette;                     /* colours of the classes */
  std::vector<DrawnItem> items, uploaded; /* of this frame, and in `table` */
  cl::Buffer table, pixels;               /* `pixels` has all labels */
  std::map<std::pair<std::string, guint>, Label> labels;
  gsize used = 0, capacity = 0; /* of `pixels` */
};
} // namespace

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_VIDEO));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_VIDEO));

G_DECLARE_FINAL_TYPE (
    GstOpenCLDrawBoxes, gst_opencl_draw_boxes, GST, OPENCL_DRAW_BOXES, GstOpenCLFilter)

struct _GstOpenCLDrawBoxes {
  GstOpenCLFilter parent;

  opencl::Settings<DrawSettings> *settings;
  DrawWork *work;
};

static const opencl::PropertyTable<DrawSettings> properties = {
    {"line-width", "Line width", "Width of the lines in pixels (0 = no boxes and points)",
        &DrawSettings::line_width, {0, 256}, opencl::controllable},
    {"opacity", "Opacity", "Opacity of the segmentation overlay (0 = not drawn)",
        &DrawSettings::opacity, {0, 1}, opencl::controllable},
    {"outline-color", "Outline color",
        "Colour of all boxes, 0xAARRGGBB, alpha is ignored (0 = one colour per class)",
        &DrawSettings::color, {0, G_MAXUINT}, opencl::controllable},
    {"draw-labels", "Draw labels", "Draw the labels of regions and their scores",
        &DrawSettings::draw_labels, opencl::controllable},
    {"text-size", "Text size", "Font size in pixels (0 = depends on the frame's height)",
        &DrawSettings::text_size, {0, 256}, opencl::playing},
};

/* --- life --- */

static void
gst_opencl_draw_boxes_close (GstOpenCLFilter *filter)
{
  *GST_OPENCL_DRAW_BOXES (filter)->work = DrawWork ();
}

static gint
aligned (const DrawWork &work, gint length)
{
  return (length + work.alignment - 1) & ~(work.alignment - 1);
}

/* The bytes of a colour 0xRRGGBB as drawitems.cl stores them, opaque */
static cl_uint
stored_color (const DrawWork &work, guint color)
{
  guint8 bytes[4] = {255, 255, 255, 255};
  cl_uint word;
  for (guint c = 0; c < 3; c++) {
    double level = work.colors.m[c][3];
    for (guint k = 0; k < 3; k++)
      level += work.colors.m[c][k] * (color >> (16 - 8 * k) & 255) / 255;
    bytes[work.is_packed ? GST_VIDEO_INFO_COMP_POFFSET (&work.info, c) : c] =
        guint8 (std::lround (std::clamp (level, 0.0, 255.0)));
  }
  memcpy (&word, bytes, sizeof word);
  return word;
}

/* Hues at the golden ratio of the circle, which neighbours do not share */
static guint
color_of_class (guint number)
{
  const double hue = 6 * std::fmod (0.33 + number * 0.61803398875, 1.0);
  auto level = [&] (double shift) {
    const double at = std::fmod (hue + shift, 6.0);
    const double share = std::clamp (std::min (at, 4 - at), 0.0, 1.0);
    return guint (std::lround (255 * (0.15 + 0.85 * (1 - share))));
  };
  return level (5) << 16 | level (3) << 8 | level (1);
}

static bool
make_work (GstOpenCLDrawBoxes *self, const DrawSettings &settings, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  DrawWork &work = *self->work;
  std::string options;
  work = {};
  work.settings = settings;
  work.info = *gst_opencl_filter_get_video_info (GST_OPENCL_FILTER (self), GST_PAD_SRC);
  work.colors = opencl::color_matrix_from_rgb (work.info);
  const guint components = GST_VIDEO_INFO_N_COMPONENTS (&work.info);
  for (guint c = 0; c < components; c++)
    work.alignment =
        std::max ({work.alignment, 1 << GST_VIDEO_FORMAT_INFO_W_SUB (work.info.finfo, c),
            1 << GST_VIDEO_FORMAT_INFO_H_SUB (work.info.finfo, c)});
  work.em = settings.text_size > 0 ? gint (settings.text_size)
                                   : CLAMP (work.info.height / 36, 12, 256);
  work.line_height = aligned (work, gint (1.4 * work.em));
  /* Room for a few of the longest labels */
  work.capacity =
      std::max<gsize> (1 << 18, 8 * gsize (longest_label) * gsize (work.line_height));
  work.is_packed = opencl::has_pixels_of_four_bytes (work.info);
  opencl::define (
      options, "COMPONENTS", "", std::to_string (work.is_packed ? 0 : components));
  std::vector<cl_uint> palette;
  for (guint n = 0; n < 256; n++)
    palette.push_back (stored_color (work, color_of_class (n)));
  return opencl::create_kernels (context, KERNELS, options,
             {{work.kernel, "draw_items"}, {work.mix, "mix_classes"}}, error)
         && opencl::make_table (context, palette, work.palette, error)
         && opencl::make_buffer (
             context, work.capacity * sizeof (cl_uint), work.pixels, error);
}

static gboolean
gst_opencl_draw_boxes_set_formats (
    GstOpenCLFilter *filter, GstCaps *, GstCaps *, GError **error)
{
  GstOpenCLDrawBoxes *self = GST_OPENCL_DRAW_BOXES (filter);
  return make_work (self, self->settings->committed (), error);
}

/* --- items --- */

/* Draws an outline inside of the part of a box that is in the frame. */
static void
add_outline (DrawWork &work, const GstVideoRegionOfInterestMeta &box, guint color,
    guint line_width)
{
  const gint line = aligned (work, gint (line_width));
  const guint right = MIN (guint64 (box.x) + box.w, guint64 (work.info.width)),
              bottom = MIN (guint64 (box.y) + box.h, guint64 (work.info.height));
  if (box.x >= right || box.y >= bottom || line == 0 || work.items.size () >= most_items)
    return;
  const gint x = gint (box.x) & ~(work.alignment - 1),
             y = gint (box.y) & ~(work.alignment - 1);
  work.items.push_back ({x, y, MIN (aligned (work, gint (right)), work.info.width) - x,
      MIN (aligned (work, gint (bottom)), work.info.height) - y, line, 0,
      stored_color (work, color), 0});
}

/* Without cairo there are boxes only. */
static bool
has_cairo (GstOpenCLDrawBoxes *self)
{
  DrawWork &work = *self->work;
  GError *error = nullptr;
  if (work.cairo || work.misses_cairo)
    return work.cairo;
  work.cairo = opencl::Cairo::load (&error);
  work.misses_cairo = !work.cairo;
  if (error)
    GST_ELEMENT_WARNING (self, LIBRARY, INIT,
        ("%s draws no labels: %s", GST_OBJECT_NAME (self), error->message), (nullptr));
  g_clear_error (&error);
  return work.cairo;
}

static cairo_t *
new_cairo (const DrawWork &work, gint width)
{
  const opencl::Cairo &cairo = *work.cairo;
  cairo_surface_t *surface =
      cairo.image_surface_create (CAIRO_FORMAT_RGB24, width, work.line_height);
  cairo_t *context = cairo.create (surface);
  cairo.surface_destroy (surface);
  cairo.select_font_face (
      context, "Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo.set_font_size (context, work.em);
  return context;
}

/* Returns black or white text on the colour, as wide as there is room. */
static std::vector<cl_uint>
render (const DrawWork &work, const std::string &text, guint color, gint &width)
{
  const opencl::Cairo &cairo = *work.cairo;
  cairo_text_extents_t extents = {};
  cairo_t *context = new_cairo (work, 1);
  cairo.text_extents (context, text.c_str (), &extents);
  cairo.destroy (context);
  width = std::min (aligned (work, std::clamp (gint (extents.x_advance + 0.6 * work.em),
                                       1, longest_label)),
      work.info.width);
  context = new_cairo (work, width);
  const double red = (color >> 16 & 255) / 255.0, green = (color >> 8 & 255) / 255.0,
               blue = (color & 255) / 255.0;
  cairo.set_source_rgba (context, red, green, blue, 1);
  cairo.paint (context);
  const double level = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 ? 0 : 1;
  cairo.set_source_rgba (context, level, level, level, 1);
  cairo.move_to (context, 0.3 * work.em, 1.05 * work.em);
  cairo.show_text (context, text.c_str ());
  cairo_surface_t *surface = cairo.get_target (context);
  cairo.surface_flush (surface);
  std::vector<cl_uint> pixels;
  const guint8 *data = cairo.image_surface_get_data (surface);
  for (gint y = 0; data && y < work.line_height; y++)
    for (gint x = 0; x < width; x++) {
      guint32 pixel;
      memcpy (&pixel, data + y * cairo.image_surface_get_stride (surface) + 4 * x,
          sizeof pixel);
      pixels.push_back (stored_color (work, pixel));
    }
  cairo.destroy (context);
  return pixels;
}

/* A text that is new is rendered, and uploaded behind the others. */
static bool
find_label (GstOpenCLDrawBoxes *self, const std::string &text, guint color,
    cl_command_queue queue, Label &label, GError **error)
{
  DrawWork &work = *self->work;
  const auto key = std::pair (text, color);
  const auto found = work.labels.find (key);
  if (found != work.labels.end ()) {
    label = found->second;
    return true;
  }
  const std::vector<cl_uint> pixels = render (work, text, color, label.width);
  const gsize bytes = pixels.size () * sizeof (cl_uint);
  label.source = cl_int (work.used);
  if (pixels.empty () || work.used + pixels.size () > work.capacity) {
    label.width = 0;
    work.used = work.capacity;
    return true;
  }
  const cl::Buffer upload =
      opencl::make_table (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
          pixels.data (), bytes, error);
  if (!upload ()
      || !gst_opencl_check (clEnqueueCopyBuffer (queue, upload (), work.pixels (), 0,
                                work.used * sizeof (cl_uint), bytes, 0, nullptr,
                                opencl::Profiled (queue, opencl::command::copy)),
          "clEnqueueCopyBuffer", error))
    return false;
  work.used += pixels.size ();
  work.labels[key] = label;
  return true;
}

/* Draws a label whose lower left corner is x, y, or below that if there is no room. */
static bool
add_label (GstOpenCLDrawBoxes *self, guint x, guint y, const std::string &text,
    guint color, cl_command_queue queue, GError **error)
{
  DrawWork &work = *self->work;
  Label label;
  if (!find_label (self, text, color, queue, label, error))
    return false;
  const gint height = work.line_height, bottom = gint (MIN (y, guint (work.info.height))),
             top = bottom >= height ? bottom - height : bottom;
  if (label.width == 0 || top + height > work.info.height
      || work.items.size () >= most_items)
    return true;
  work.items.push_back (
      {gint (MIN (x, guint (work.info.width - label.width))) & ~(work.alignment - 1),
          top & ~(work.alignment - 1), label.width, height, 0, label.source, 0, 0});
  return true;
}

/* --- regions --- */

/* "label 97 %" */
static std::string
text_with_score (const gchar *label, const GstStructure *param)
{
  gdouble score;
  return param && gst_structure_get_double (param, "score", &score) ? opencl::text_of (
             "%s %.0f %%", label, std::round (100 * CLAMP (score, 0, 1)))
                                                                    : label;
}

/* A region of interest, and its parameter `detection` or `classification` */
struct Region {
  GstVideoRegionOfInterestMeta *meta;
  GstStructure *param; /* (nullable) */
  bool is_class;       /* of the whole frame */

  guint color (guint fixed) const
  {
    gint number = gint (g_str_hash (type ()) % 1024);
    if (param)
      gst_structure_get_int (param, "class-id", &number);
    return fixed > 0 ? fixed & 0xffffff : color_of_class (guint (number));
  }
  std::string text () const
  {
    const GstStructure *words = param_named ("text"),
                       *of = param_named ("classification");
    const gchar *label = of ? gst_structure_get_string (of, "label") : nullptr,
                *read = words ? gst_structure_get_string (words, "text") : nullptr;
    if (read)
      return read;
    const std::string own = text_with_score (type (), param);
    return is_class || !label ? own : own + ", " + text_with_score (label, of);
  }
  GstStructure *param_named (const gchar *name) const
  {
    return gst_video_region_of_interest_meta_get_param (meta, name);
  }
  const gchar *type () const
  {
    const gchar *name = g_quark_to_string (meta->roi_type);
    return name ? name : "";
  }
};

static std::vector<Region>
regions_of (GstBuffer *frame)
{
  std::vector<Region> regions;
  for (GstVideoRegionOfInterestMeta *meta : inference::region_metas_of (frame)) {
    GstStructure *object =
        gst_video_region_of_interest_meta_get_param (meta, "detection");
    GstStructure *classes =
        gst_video_region_of_interest_meta_get_param (meta, "classification");
    regions.push_back ({meta, object ? object : classes, !object && classes});
  }
  return regions;
}

/* Fills a square of three line widths around each key point with a score above 0.5. */
static void
add_points (DrawWork &work, const GstStructure *param, guint color)
{
  const GValue *list = param ? gst_structure_get_value (param, "points") : nullptr;
  const double half = 1.5 * work.settings.line_width;
  std::vector<double> all;
  if (list && GST_VALUE_HOLDS_ARRAY (list))
    opencl::read_value (list, all);
  /* A NaN becomes 0. */
  auto at = [] (double place) {
    return guint (std::fmin (std::fmax (place + 0.5, 0), G_MAXINT16));
  };
  for (const double *p = all.data (); p + 2 < all.data () + all.size (); p += 3) {
    const guint x = at (p[0] - half), y = at (p[1] - half);
    const GstVideoRegionOfInterestMeta square = {
        {}, 0, 0, 0, x, y, at (p[0] + half) - x, at (p[1] + half) - y, nullptr};
    if (p[2] > 0.5)
      add_outline (work, square, color, guint (2 * half));
  }
}

/* The best region comes first, and is drawn last. Labels cover boxes. */
static bool
add_regions (GstOpenCLDrawBoxes *self, const std::vector<Region> &regions,
    cl_command_queue queue, GError **error)
{
  DrawWork &work = *self->work;
  const guint fixed = self->settings->committed ().color;
  const bool draws_labels =
      work.settings.draw_labels && !regions.empty () && has_cairo (self);
  guint row = 0;
  work.items.clear ();
  if (work.used == work.capacity) { /* there was no room */
    work.labels.clear ();
    work.used = 0;
  }
  for (auto region = regions.rbegin (); region != regions.rend (); ++region)
    if (!region->is_class) {
      add_outline (work, *region->meta, region->color (fixed), work.settings.line_width);
      add_points (work, region->param, region->color (fixed));
    }
  for (auto region = regions.rbegin (); region != regions.rend (); ++region)
    if (draws_labels && !region->is_class
        && !add_label (self, region->meta->x, region->meta->y, region->text (),
            region->color (fixed), queue, error))
      return false;
  for (const Region &region : regions)
    if (draws_labels && region.is_class
        && !add_label (self, 0, ++row * guint (work.line_height), region.text (),
            region.color (fixed), queue, error))
      return false;
  return true;
}

/* --- frames --- */

/* Bytes and rows of a plane. Chroma of an odd width has the longer rows. */
static std::pair<gsize, gsize>
size_of_plane (const GstVideoInfo &info, guint plane)
{
  std::pair<gsize, gsize> size = {0, 0};
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (&info, c) != plane)
      continue;
    size.first = std::max (size.first, gsize (GST_VIDEO_INFO_COMP_WIDTH (&info, c)
                                              * GST_VIDEO_INFO_COMP_PSTRIDE (&info, c)));
    size.second = std::max (size.second, gsize (GST_VIDEO_INFO_COMP_HEIGHT (&info, c)));
  }
  return size;
}

static bool
copy_planes (const GstVideoInfo &info, const GstOpenCLFrame &input,
    const GstOpenCLFrame &output, cl_command_queue queue, GError **error)
{
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES (&info); plane++) {
    const auto [bytes, rows] = size_of_plane (info, plane);
    const gsize in = gsize (input.stride[plane]), out = gsize (output.stride[plane]);
    const gsize from[] = {input.offset[plane] % in, input.offset[plane] / in, 0};
    const gsize to[] = {output.offset[plane] % out, output.offset[plane] / out, 0};
    const gsize region[] = {bytes, rows, 1};
    if (!gst_opencl_check (
            clEnqueueCopyBufferRect (queue, input.data, output.data, from, to, region, in,
                0, out, 0, 0, nullptr, opencl::Profiled (queue, opencl::command::copy)),
            "clEnqueueCopyBufferRect", error))
      return false;
  }
  return true;
}

/* Mixes the colours of the map of classes into the frame, if there is one. */
static bool
mix_classes (DrawWork &work, const GstOpenCLFrame &frame,
    const opencl::VideoLayout &layout, cl_int4 mask_x, cl_int4 mask_y,
    cl_command_queue queue, GError **error)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (frame.buffer, CLASS_MAP_META);
  const GValue *map =
      meta ? gst_structure_get_value (gst_custom_meta_get_structure (meta), "map")
           : nullptr;
  const cl_int2 size = {{work.info.width, work.info.height}};
  const gsize width = gsize (size.s[0]), height = gsize (size.s[1]);
  opencl::ReadFrame classes;
  return !map || work.settings.opacity == 0
         || (classes.map (
                 gst_value_get_buffer (map), nullptr, width * height, queue, error)
             && work.mix.launch (queue, width, height, error, frame.data, layout.start,
                 layout.stride, layout.step, mask_x, mask_y, size, classes.frame ()->data,
                 work.palette (), work.settings.opacity));
}

static bool
draw (GstOpenCLDrawBoxes *self, const GstOpenCLFrame &frame, cl_command_queue queue,
    GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  DrawWork &work = *self->work;
  opencl::VideoLayout layout = opencl::layout_of (work.info, frame);
  cl_int4 mask_x = {}, mask_y = {};
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&work.info); c++) {
    mask_x.s[c] = (1 << GST_VIDEO_FORMAT_INFO_W_SUB (work.info.finfo, c)) - 1;
    mask_y.s[c] = (1 << GST_VIDEO_FORMAT_INFO_H_SUB (work.info.finfo, c)) - 1;
  }
  if (work.is_packed)
    layout.start.s[0] = frame.offset[0];
  if (!mix_classes (work, frame, layout, mask_x, mask_y, queue, error))
    return false;
  if (work.items.empty ())
    return true;
  const gsize bytes = work.items.size () * sizeof (DrawnItem);
  if (work.items.size () != work.uploaded.size ()
      || memcmp (work.items.data (), work.uploaded.data (), bytes) != 0) {
    work.uploaded.clear ();
    if (!opencl::make_table (context, work.items, work.table, error))
      return false;
    work.uploaded = work.items;
  }
  /* One work-item on a CPU, which runs those of a group in turns */
  const bool is_wide = !opencl::is_cpu (context) && work.kernel.allows (256);
  const gsize group[] = {gsize (is_wide ? 32 : 1), gsize (is_wide ? 8 : 1), 1};
  return work.kernel.set_all (error, frame.data, layout.start, layout.stride, layout.step,
             mask_x, mask_y, work.table (), cl_int (work.items.size ()), work.pixels ())
         && work.kernel.enqueue_box (queue, group, group, error);
}

static gboolean
gst_opencl_draw_boxes_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLDrawBoxes *self = GST_OPENCL_DRAW_BOXES (filter);
  const DrawSettings settings = self->settings->committed ();
  if (settings.text_size != self->work->settings.text_size
      && !make_work (self, settings, error))
    return FALSE;
  self->work->settings = settings;
  /* The input may be a copy in this context's memory, without metas. */
  inference::add_analytics_regions (output->buffer);
  return copy_planes (output->info, *input, *output, queue, error)
         && add_regions (self, regions_of (output->buffer), queue, error)
         && draw (self, *output, queue, error);
}

/* --- the class --- */

static const opencl::FilterElement<GstOpenCLDrawBoxes, &GstOpenCLDrawBoxes::work>
    element = {"GstOpenCLDrawBoxes", properties, "OpenCL boxes and labels",
        "Filter/Effect/Video",
        "Draws regions of interest and their labels on an OpenCL device",
        {&sink_template, &src_template},
        {gst_opencl_draw_boxes_close, gst_opencl_draw_boxes_set_formats,
            gst_opencl_draw_boxes_transform},
        nullptr, opencl::drops_late_frames,
        opencl::create_members<&GstOpenCLDrawBoxes::work>};

OPENCL_FILTER_DEFINE (opencldrawboxes, gst_opencl_draw_boxes, element)
