/* Sink pad of openclcompositor: position and blending of its stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "compositorpad.h"

#include <gst/common/videoformats.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclaggregator.h>

#define LARGEST_SIDE 32767
#define FARTHEST_WRAP 64

namespace {
/* Crop rectangle of a frame's GstVideoCropMeta */
struct Cropped {
  GstVideoRectangle to = {0, 0, -1, -1}; /* w < 0: there is none */
  bool is_all = false; /* the caps describe the cropped part, not the frame */
};
} // namespace

struct _GstOpenCLCompositorPad {
  GstOpenCLAggregatorPad parent;

  opencl::Settings<GstOpenCLCompositorPlace> *settings;
  Cropped cropped; /* of the last frame; object lock */
};

G_DEFINE_FINAL_TYPE (
    GstOpenCLCompositorPad, gst_opencl_compositor_pad, GST_TYPE_OPENCL_AGGREGATOR_PAD)

const opencl::EnumTypeOf<GstOpenCLCompositorOperator> operator_type (
    "GstOpenCLCompositorOperator",
    {
        {GST_OPENCL_COMPOSITOR_SOURCE, "Replace the layers below", "source"},
        {GST_OPENCL_COMPOSITOR_OVER, "Blend over the layers below by alpha", "over"},
        {GST_OPENCL_COMPOSITOR_ADD, "Blend colours as over, and add alphas", "add"},
    });

const opencl::EnumTypeOf<GstOpenCLCompositorSizing> sizing_type (
    "GstOpenCLCompositorSizingPolicy",
    {
        {GST_OPENCL_COMPOSITOR_SIZING_NONE,
            "Scale to width and height, ignoring the aspect ratio", "none"},
        {GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO,
            "Fit into width and height, centred, keeping the aspect ratio",
            "keep-aspect-ratio"},
    });

const opencl::PropertyTable<GstOpenCLCompositorPlace> properties = {
    {"xpos", "X position", "Left edge of the frame in the output, in pixels",
        &GstOpenCLCompositorPlace::x, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    {"ypos", "Y position", "Top edge of the frame in the output, in pixels",
        &GstOpenCLCompositorPlace::y, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    {"width", "Width",
        "Width of the frame in the output, in pixels (-1 or 0 = input width)",
        &GstOpenCLCompositorPlace::width, {-1, LARGEST_SIDE}, opencl::controllable},
    {"height", "Height",
        "Height of the frame in the output, in pixels (-1 or 0 = input height)",
        &GstOpenCLCompositorPlace::height, {-1, LARGEST_SIDE}, opencl::controllable},
    {"crop-left", "Crop left", "Pixels to crop at the left",
        &GstOpenCLCompositorPlace::crop_left, {0, LARGEST_SIDE}, opencl::controllable},
    {"crop-right", "Crop right", "Pixels to crop at the right",
        &GstOpenCLCompositorPlace::crop_right, {0, LARGEST_SIDE}, opencl::controllable},
    {"crop-top", "Crop top", "Pixels to crop at the top",
        &GstOpenCLCompositorPlace::crop_top, {0, LARGEST_SIDE}, opencl::controllable},
    {"crop-bottom", "Crop bottom", "Pixels to crop at the bottom",
        &GstOpenCLCompositorPlace::crop_bottom, {0, LARGEST_SIDE}, opencl::controllable},
    {"alpha", "Alpha", "Factor for the alpha of the frame",
        &GstOpenCLCompositorPlace::alpha, {0, 1}, opencl::controllable},
    {"operator", "Operator", "Operator that blends the frame with the layers below",
        &GstOpenCLCompositorPlace::blend_operator, operator_type, opencl::controllable},
    {"sizing-policy", "Sizing policy",
        "Scaling of a frame whose aspect ratio differs from that of width and height",
        &GstOpenCLCompositorPlace::sizing, sizing_type, opencl::controllable},
    {"light-wrap", "Light wrap",
        "Strength of the light wrap from the layers below (0 = none)",
        &GstOpenCLCompositorPlace::light_wrap, {0, 1}, opencl::controllable},
    {"light-wrap-radius", "Light wrap radius",
        "Radius of the light wrap in output pixels (two standard deviations of a "
        "Gaussian blur)",
        &GstOpenCLCompositorPlace::light_wrap_radius, {1, FARTHEST_WRAP},
        opencl::controllable},
};

using Place = GstOpenCLCompositorPlace;

/* Crops the frame by its meta, and the rest by the properties. */
static GstVideoRectangle
visible_part_of (const Place &place, const GstVideoInfo &info, const Cropped &cropped)
{
  GstVideoRectangle visible = cropped.to;
  if (visible.w < 0)
    visible = {0, 0, info.width, info.height};
  visible.x += place.crop_left;
  visible.y += place.crop_top;
  visible.w -= place.crop_left + place.crop_right;
  visible.h -= place.crop_top + place.crop_bottom;
  return visible;
}

static gint
scaled_side (gint side, guint n, guint d)
{
  return CLAMP (
      gint (gst_util_uint64_scale_int (side, gint (n), gint (d))), 1, LARGEST_SIDE);
}

/* Neither width nor height is set. As in `compositor`, one of them stays: the height, if
 * both are possible, for the sake of interlaced video. */
static void
set_natural_size (Place &place, guint n, guint d)
{
  place.width = place.visible.w;
  place.height = place.visible.h;
  if (place.sizing == GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO)
    return; /* keep_aspect_ratio () fits it */
  if (guint (place.height) % n != 0 && guint (place.width) % d == 0)
    place.height = scaled_side (place.width, d, n);
  else
    place.width = scaled_side (place.height, n, d);
}

/* Fits the frame into its place, and keeps its aspect ratio. */
static void
keep_aspect_ratio (Place &place, guint n, guint d)
{
  const gint width =
      gint (gst_util_uint64_scale_int_round (place.height, gint (n), gint (d)));
  const gint height =
      gint (gst_util_uint64_scale_int_round (place.width, gint (d), gint (n)));
  if (width < place.width) {
    place.x += (place.width - MAX (width, 1)) / 2;
    place.width = MAX (width, 1);
  } else if (height < place.height) {
    place.y += (place.height - MAX (height, 1)) / 2;
    place.height = MAX (height, 1);
  }
}

/* `n` / `d`: aspect ratio of the visible part, in pixels of the output */
static void
set_size (Place &place, guint n, guint d)
{
  if (place.width <= 0 && place.height <= 0)
    set_natural_size (place, n, d);
  else if (place.width <= 0)
    place.width = scaled_side (place.visible.h, n, d);
  else if (place.height <= 0)
    place.height = place.visible.h;
  place.right = place.x + place.width;
  place.bottom = place.y + place.height;
  if (place.sizing == GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO)
    keep_aspect_ratio (place, n, d);
}

GstOpenCLCompositorPlace
gst_opencl_compositor_pad_get_place (GstOpenCLCompositorPad *pad, gint par_n, gint par_d)
{
  Place place = pad->settings->committed ();
  GST_OBJECT_LOCK (pad);
  const GstVideoInfo info = GST_VIDEO_AGGREGATOR_PAD (pad)->info;
  const Cropped cropped = pad->cropped;
  GST_OBJECT_UNLOCK (pad);
  const bool known =
      info.finfo && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_UNKNOWN;
  guint n, d;

  if (known)
    place.visible = visible_part_of (place, info, cropped);
  if (cropped.is_all)
    place.origin_x = cropped.to.x, place.origin_y = cropped.to.y;
  if (place.visible.w <= 0 || place.visible.h <= 0
      || !opencl::calculate_display_ratio (&n, &d, place.visible.w, place.visible.h,
          {info.par_n, info.par_d}, {par_n, par_d}))
    place.width = place.height = 0;
  else
    set_size (place, n, d);
  return place;
}

void
gst_opencl_compositor_pad_read_crop (GstOpenCLCompositorPad *pad, GstBuffer *frame)
{
  const GstVideoInfo &info = GST_VIDEO_AGGREGATOR_PAD (pad)->info;
  const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (frame);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (frame);
  Cropped cropped;
  auto side = [] (guint side) { return gint (MIN (side, guint (LARGEST_SIDE))); };

  if (crop) {
    cropped.to = {
        side (crop->x), side (crop->y), side (crop->width), side (crop->height)};
    cropped.is_all = meta
                     && (meta->width != guint (GST_VIDEO_INFO_WIDTH (&info))
                         || meta->height != guint (GST_VIDEO_INFO_HEIGHT (&info)));
  }
  GST_OBJECT_LOCK (pad);
  pad->cropped = cropped;
  GST_OBJECT_UNLOCK (pad);
}

static void
gst_opencl_compositor_pad_class_init (GstOpenCLCompositorPadClass *klass)
{

  opencl::install_settings<&GstOpenCLCompositorPad::settings> (klass, properties);
}

static void
gst_opencl_compositor_pad_init (GstOpenCLCompositorPad *pad)
{
  pad->settings = new opencl::Settings<GstOpenCLCompositorPlace> (pad, properties);
  pad->cropped = {};
}
