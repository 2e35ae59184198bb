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

struct PadSettings : GstOpenCLCompositorPlace {
  opencl::Structure converter_config; /* has no effect */
};
} // namespace

struct _GstOpenCLCompositorPad {
  GstOpenCLAggregatorPad parent;

  opencl::Settings<PadSettings> *settings;
  Cropped cropped; /* of the last frame; object lock */
  bool adds;       /* whether the operator is "add"; object lock */
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

const opencl::PropertyTable<PadSettings> properties = {
    /**
     * GstOpenCLCompositorPad:xpos:
     *
     * Left edge of the frame in the output, in pixels.
     *
     * Since: 0.2
     */
    {"xpos", "X position", "Left edge of the frame in the output, in pixels",
        &GstOpenCLCompositorPlace::x, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    /**
     * GstOpenCLCompositorPad:ypos:
     *
     * Top edge of the frame in the output, in pixels.
     *
     * Since: 0.2
     */
    {"ypos", "Y position", "Top edge of the frame in the output, in pixels",
        &GstOpenCLCompositorPlace::y, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    /**
     * GstOpenCLCompositorPad:width:
     *
     * Width of the frame in the output, in pixels (-1 or 0 = input width).
     *
     * Since: 0.2
     */
    {"width", "Width",
        "Width of the frame in the output, in pixels (-1 or 0 = input width)",
        &GstOpenCLCompositorPlace::width, {-1, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:height:
     *
     * Height of the frame in the output, in pixels (-1 or 0 = input height).
     *
     * Since: 0.2
     */
    {"height", "Height",
        "Height of the frame in the output, in pixels (-1 or 0 = input height)",
        &GstOpenCLCompositorPlace::height, {-1, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:crop-left:
     *
     * Pixels to crop at the left.
     *
     * Since: 0.3
     */
    {"crop-left", "Crop left", "Pixels to crop at the left",
        &GstOpenCLCompositorPlace::crop_left, {0, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:crop-right:
     *
     * Pixels to crop at the right.
     *
     * Since: 0.3
     */
    {"crop-right", "Crop right", "Pixels to crop at the right",
        &GstOpenCLCompositorPlace::crop_right, {0, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:crop-top:
     *
     * Pixels to crop at the top.
     *
     * Since: 0.3
     */
    {"crop-top", "Crop top", "Pixels to crop at the top",
        &GstOpenCLCompositorPlace::crop_top, {0, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:crop-bottom:
     *
     * Pixels to crop at the bottom.
     *
     * Since: 0.3
     */
    {"crop-bottom", "Crop bottom", "Pixels to crop at the bottom",
        &GstOpenCLCompositorPlace::crop_bottom, {0, LARGEST_SIDE}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:alpha:
     *
     * Factor for the alpha of the frame.
     *
     * Since: 0.2
     */
    {"alpha", "Alpha", "Factor for the alpha of the frame",
        &GstOpenCLCompositorPlace::alpha, {0, 1}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:operator:
     *
     * Operator that blends the frame with the layers below.
     *
     * Since: 0.2
     */
    {"operator", "Operator", "Operator that blends the frame with the layers below",
        &GstOpenCLCompositorPlace::blend_operator, operator_type, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:sizing-policy:
     *
     * Scaling of a frame whose aspect ratio differs from that of width and height.
     *
     * Since: 0.3
     */
    {"sizing-policy", "Sizing policy",
        "Scaling of a frame whose aspect ratio differs from that of width and height",
        &GstOpenCLCompositorPlace::sizing, sizing_type, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:light-wrap:
     *
     * Strength of the light wrap from the layers below (0 = none).
     *
     * Since: 0.3
     */
    {"light-wrap", "Light wrap",
        "Strength of the light wrap from the layers below (0 = none)",
        &GstOpenCLCompositorPlace::light_wrap, {0, 1}, opencl::controllable},
    /**
     * GstOpenCLCompositorPad:light-wrap-radius:
     *
     * Radius of the light wrap in output pixels (two standard deviations of a Gaussian
     * blur).
     *
     * Since: 0.3
     */
    {"light-wrap-radius", "Light wrap radius",
        "Radius of the light wrap in output pixels (two standard deviations of a "
        "Gaussian blur)",
        &GstOpenCLCompositorPlace::light_wrap_radius, {1, FARTHEST_WRAP},
        opencl::controllable},
    /**
     * GstOpenCLCompositorPad:converter-config:
     *
     * Accepted for applications that use compositor, without effect.
     *
     * Since: 0.4
     */
    {"converter-config", "Converter configuration",
        "Accepted for applications that use compositor, without effect",
        &PadSettings::converter_config, opencl::playing},
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

/* Converts the place from pixels of the input to those of the output, whose width is `n` / `d`
 * of the height. As in `compositor`, one side stays: the height, if both are possible, for
 * the sake of interlaced video. */
static void
convert_pixels (Place &place, guint n, guint d)
{
  auto scaled = [] (gint side, guint by, guint to) {
    return CLAMP (
        gint (gst_util_uint64_scale_int (side, gint (by), gint (to))), 1, LARGEST_SIDE);
  };
  if (guint (place.height) % n != 0 && guint (place.width) % d == 0)
    place.height = scaled (place.width, d, n);
  else
    place.width = scaled (place.height, n, d);
}

/* Sets the size in the output. Sides that are not set are those of the visible part. */
static bool
set_size (Place &place, const GstVideoInfo &info, const GstOpenCLCompositorPixels &output)
{
  const bool fits = place.sizing == GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO;
  const gint unset = output.zero_is_unscaled ? 0 : -1;
  guint n, d;

  place.width = place.width <= unset ? place.visible.w : place.width;
  place.height = place.height <= unset ? place.visible.h : place.height;
  if (place.visible.w <= 0 || place.visible.h <= 0 || place.width == 0
      || place.height == 0
      || !opencl::calculate_display_ratio (&n, &d, fits ? place.visible.w : place.width,
          fits ? place.visible.h : place.height, {info.par_n, info.par_d},
          {output.par_n, output.par_d}))
    return false;
  if (!fits)
    convert_pixels (place, n, d);
  place.right = place.x + place.width;
  place.bottom = place.y + place.height;
  if (fits)
    keep_aspect_ratio (place, n, d);
  return true;
}

GstOpenCLCompositorPlace
gst_opencl_compositor_pad_get_place (
    GstOpenCLCompositorPad *pad, const GstOpenCLCompositorPixels &output)
{
  Place place = pad->settings->committed ();
  GST_OBJECT_LOCK (pad);
  const GstVideoInfo info = GST_VIDEO_AGGREGATOR_PAD (pad)->info;
  const Cropped cropped = pad->cropped;
  GST_OBJECT_UNLOCK (pad);

  if (info.finfo && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_UNKNOWN)
    place.visible = visible_part_of (place, info, cropped);
  if (cropped.is_all)
    place.origin_x = cropped.to.x, place.origin_y = cropped.to.y;
  if (!set_size (place, info, output))
    place.width = place.height = 0;
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

/* Negotiates again when the operator becomes "add" or ceases to be, as `compositor` does. GStreamer
 * Editing Services rely on it: a transition sets the first new operator and the places of its
 * frames together, and the size that was fixed before has no room for them. */
static void
renegotiate_for_operator (GstOpenCLCompositorPad *pad)
{
  const bool adds =
      pad->settings->committed ().blend_operator == GST_OPENCL_COMPOSITOR_ADD;
  GST_OBJECT_LOCK (pad);
  const bool changes = adds != pad->adds;
  pad->adds = adds;
  GST_OBJECT_UNLOCK (pad);
  GstObject *aggregator = changes ? gst_object_get_parent (GST_OBJECT (pad)) : nullptr;
  if (aggregator)
    gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (aggregator));
  gst_clear_object (&aggregator);
}

static void
gst_opencl_compositor_pad_class_init (GstOpenCLCompositorPadClass *klass)
{

  opencl::install_settings<&GstOpenCLCompositorPad::settings> (klass, properties);
}

static void
gst_opencl_compositor_pad_init (GstOpenCLCompositorPad *pad)
{
  pad->settings = new opencl::Settings<PadSettings> (pad, properties);
  pad->cropped = {};
  g_signal_connect (
      pad, "notify::operator", G_CALLBACK (renegotiate_for_operator), nullptr);
}
