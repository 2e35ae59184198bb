/* opencldrawboxes: draws regions of interest and their labels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-opencldrawboxes
 * @title: opencldrawboxes
 *
 * Draws the boxes and labels of each #GstVideoRegionOfInterestMeta, as #opencltensordecoder
 * and detectors of GStreamer attach it. A region with a parameter `classification` is a line
 * of text in the upper left corner. Boxes of a class have one colour, by the `class-id` of
 * the parameter, else by the label.
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
#include "detection/drawing.hpp"
#include "elements.h"

#include <gst/common/settings.hpp>
#include <gst/common/text.hpp>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

using inference::Area;
using inference::Drawing;

#define DEVICE_VIDEO                                                                     \
  "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), format = (string) "           \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, NV12, NV21, I420, YV12, " \
  "YUY2, UYVY, YVYU, VYUY, Y42B, Y444, NV16, NV61, NV24, AYUV, VUYA, A420, GBR, GBRA, "  \
  "GRAY8 }, width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ]"

namespace {
struct DrawSettings {
  guint line_width = 2, text_size = 0, color = 0;
  bool draw_labels = true;
};

/* A region of interest */
struct Region {
  Area area;
  std::string text;
  guint color;
  bool is_class; /* of the whole frame */
};

struct DrawWork {
  DrawSettings settings; /* that `drawing` was made for */
  std::unique_ptr<Drawing> drawing;
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

G_DEFINE_TYPE (GstOpenCLDrawBoxes, gst_opencl_draw_boxes, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    opencldrawboxes, "opencldrawboxes", GST_RANK_NONE, gst_opencl_draw_boxes_get_type ())

static const opencl::PropertyTable<DrawSettings> properties = {
    {"line-width", "Line width", "Width of the lines in pixels (0 = no boxes)",
        &DrawSettings::line_width, {0, 256}, opencl::controllable},
    {"outline-color", "Outline color",
        "Colour of all boxes, 0xAARRGGBB, of which AA is not used (0 = by the class)",
        &DrawSettings::color, {0, G_MAXUINT}, opencl::controllable},
    {"draw-labels", "Draw labels", "Draw the labels of regions and their scores",
        &DrawSettings::draw_labels, opencl::controllable},
    {"text-size", "Text size", "Size of the font in pixels (0 = by the frame's height)",
        &DrawSettings::text_size, {0, 256}, opencl::playing},
};

/* --- life --- */

static void
gst_opencl_draw_boxes_close (GstOpenCLFilter *filter)
{
  *GST_OPENCL_DRAW_BOXES (filter)->work = DrawWork ();
}

static bool
make_drawing (GstOpenCLDrawBoxes *self, const DrawSettings &settings, GError **error)
{
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  const guint size = settings.text_size > 0 ? settings.text_size
                                            : guint (CLAMP (info->height / 36, 12, 256));
  self->work->settings = settings;
  self->work->drawing = std::make_unique<Drawing> ();
  return self->work->drawing->create (
      gst_opencl_filter_get_context (filter), *info, gint (size), error);
}

static gboolean
gst_opencl_draw_boxes_set_formats (
    GstOpenCLFilter *filter, GstCaps *, GstCaps *, GError **error)
{
  GstOpenCLDrawBoxes *self = GST_OPENCL_DRAW_BOXES (filter);
  return make_drawing (self, self->settings->committed (), error);
}

/* --- regions --- */

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

static Region
region_of (GstVideoRegionOfInterestMeta *meta, guint fixed_color)
{
  const gchar *type = g_quark_to_string (meta->roi_type);
  auto side = [] (guint length) { return gint (MIN (length, guint (G_MAXINT16))); };
  Region region = {{side (meta->x), side (meta->y), side (meta->w), side (meta->h)},
      type ? type : "", 0, false};
  gdouble score;
  gint number = gint (g_str_hash (region.text.c_str ()) % 1024);
  GstStructure *param =
      gst_video_region_of_interest_meta_get_param (meta, "classification");
  region.is_class = param != nullptr;
  if (!param)
    param = gst_video_region_of_interest_meta_get_param (meta, "detection");
  if (param && gst_structure_get_double (param, "score", &score))
    region.text += opencl::text_of (" %.0f %%", std::floor (100 * CLAMP (score, 0, 1)));
  if (param)
    gst_structure_get_int (param, "class-id", &number);
  region.color =
      fixed_color > 0 ? fixed_color & 0xffffff : color_of_class (guint (number));
  return region;
}

/* The lines are inside of the box. */
static void
draw_box (Drawing &drawing, const Area &box, gint line, guint color)
{
  const gint across = MIN (line, box.width), down = MIN (line, box.height);
  drawing.fill ({box.x, box.y, box.width, down}, color);
  drawing.fill ({box.x, box.y + box.height - down, box.width, down}, color);
  drawing.fill ({box.x, box.y, across, box.height}, color);
  drawing.fill ({box.x + box.width - across, box.y, across, box.height}, color);
}

/* A label is above its box, if there is room. The best region comes first, and its label is
 * drawn last. */
static bool
draw_regions (GstOpenCLDrawBoxes *self, const DrawSettings &settings,
    const std::vector<Region> &regions, cl_command_queue queue, GError **error)
{
  Drawing &drawing = *self->work->drawing;
  gint row = 0;
  drawing.begin ();
  for (auto region = regions.rbegin (); region != regions.rend (); ++region)
    if (!region->is_class && settings.line_width > 0)
      draw_box (drawing, region->area, gint (settings.line_width), region->color);
  for (auto region = regions.rbegin (); region != regions.rend (); ++region) {
    const Area &area = region->area;
    if (!settings.draw_labels || region->text.empty () || region->is_class)
      continue;
    if (!drawing.write (queue, area.x,
            area.y >= drawing.line_height () ? area.y - drawing.line_height () : area.y,
            region->text, region->color, error))
      return false;
  }
  for (const Region &region : regions) {
    if (settings.draw_labels && region.is_class
        && !drawing.write (
            queue, 0, drawing.line_height () * row++, region.text, region.color, error))
      return false;
  }
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

static gboolean
gst_opencl_draw_boxes_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLDrawBoxes *self = GST_OPENCL_DRAW_BOXES (filter);
  const DrawSettings settings = self->settings->committed ();
  std::vector<Region> regions;
  gpointer state = nullptr;
  if (settings.text_size != self->work->settings.text_size
      && !make_drawing (self, settings, error))
    return FALSE;
  /* The input may be a copy in this context's memory, without metas. */
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             output->buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    regions.push_back (region_of (
        reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta), settings.color));
  return copy_planes (output->info, *input, *output, queue, error)
         && draw_regions (self, settings, regions, queue, error)
         && self->work->drawing->enqueue (queue, *output, error);
}

/* --- the class --- */

static void
gst_opencl_draw_boxes_init (GstOpenCLDrawBoxes *self)
{
  self->settings = new opencl::Settings<DrawSettings> (self, properties);
  self->work = new DrawWork ();
}

static void
gst_opencl_draw_boxes_class_init (GstOpenCLDrawBoxesClass *klass)
{
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOpenCLDrawBoxes::settings, &GstOpenCLDrawBoxes::work> (
      klass, properties);
  opencl::describe_element (klass, "OpenCL boxes and labels", "Filter/Effect/Video",
      "Draws regions of interest and their labels on an OpenCL device", {},
      {&sink_template, &src_template});

  filter_class->close = gst_opencl_draw_boxes_close;
  filter_class->set_formats = gst_opencl_draw_boxes_set_formats;
  filter_class->transform = gst_opencl_draw_boxes_transform;
}
