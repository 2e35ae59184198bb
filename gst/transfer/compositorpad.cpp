/* A sink pad of openclcompositor: where its picture goes, and how it is blended
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "compositorpad.h"

#include <gst/opencl/settings.hpp>

#define LARGEST_SIDE 32767

struct _GstOpenCLCompositorPad {
  GstOpenCLAggregatorPad parent;

  opencl::Settings<GstOpenCLCompositorPlace> *settings;
};

G_DEFINE_FINAL_TYPE (
    GstOpenCLCompositorPad, gst_opencl_compositor_pad, GST_TYPE_OPENCL_AGGREGATOR_PAD)

static GType
operator_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_COMPOSITOR_SOURCE, "In place of what is below", "source"},
      {GST_OPENCL_COMPOSITOR_OVER, "Over what is below, as alpha says", "over"},
      {GST_OPENCL_COMPOSITOR_ADD, "Colours as with over, alphas added", "add"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstOpenCLCompositorOperator", values));
  return type;
}

static GType
sizing_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_COMPOSITOR_SIZING_NONE,
          "Scaled to width and height, whatever its shape", "none"},
      {GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO,
          "As large as fits into width and height in its own shape, in their middle",
          "keep-aspect-ratio"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstOpenCLCompositorSizingPolicy", values));
  return type;
}

const opencl::PropertyTable<GstOpenCLCompositorPlace> properties = {
    {"xpos", "X position", "Column of the output where the picture begins",
        &GstOpenCLCompositorPlace::x, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    {"ypos", "Y position", "Line of the output where the picture begins",
        &GstOpenCLCompositorPlace::y, {-LARGEST_SIDE, LARGEST_SIDE},
        opencl::controllable},
    {"width", "Width", "Columns that the picture is scaled to (-1 or 0: as it comes)",
        &GstOpenCLCompositorPlace::width, {-1, LARGEST_SIDE}, opencl::controllable},
    {"height", "Height", "Lines that the picture is scaled to (-1 or 0: as it comes)",
        &GstOpenCLCompositorPlace::height, {-1, LARGEST_SIDE}, opencl::controllable},
    {"alpha", "Alpha", "By how much the picture's own alpha is multiplied",
        &GstOpenCLCompositorPlace::alpha, {0, 1}, opencl::controllable},
    {"operator", "Operator", "How the picture is blended with what is below",
        &GstOpenCLCompositorPlace::blend_operator, operator_get_type,
        opencl::controllable},
    {"sizing-policy", "Sizing policy",
        "What becomes of a picture whose shape is not that of width and height",
        &GstOpenCLCompositorPlace::sizing, sizing_get_type, opencl::controllable},
};

/* The width of the picture where pixels have the output's shape. */
static gint
shown_width (const GstVideoInfo *info, gint par_n, gint par_d)
{
  gint64 n = gint64 (GST_VIDEO_INFO_PAR_N (info)) * par_d;
  gint64 d = gint64 (GST_VIDEO_INFO_PAR_D (info)) * par_n;
  gint64 width = (GST_VIDEO_INFO_WIDTH (info) * n + d / 2) / MAX (d, 1);
  return gint (CLAMP (width, 1, LARGEST_SIDE));
}

/* Within the place that it has, which is of the output's pixels */
static void
keep_shape (
    GstOpenCLCompositorPlace &place, const GstVideoInfo *info, gint par_n, gint par_d)
{
  guint n, d;

  if (!gst_video_calculate_display_ratio (&n, &d, GST_VIDEO_INFO_WIDTH (info),
          GST_VIDEO_INFO_HEIGHT (info), GST_VIDEO_INFO_PAR_N (info),
          GST_VIDEO_INFO_PAR_D (info), par_n, par_d))
    return;
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

GstOpenCLCompositorPlace
gst_opencl_compositor_pad_get_place (GstOpenCLCompositorPad *pad, gint par_n, gint par_d)
{
  GstOpenCLCompositorPlace place = pad->settings->committed ();
  GST_OBJECT_LOCK (pad);
  GstVideoInfo info = GST_VIDEO_AGGREGATOR_PAD (pad)->info;
  GST_OBJECT_UNLOCK (pad);

  if (!info.finfo || GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_UNKNOWN) {
    place.width = place.height = 0;
    return place;
  }
  if (place.width <= 0)
    place.width = shown_width (&info, par_n, par_d);
  if (place.height <= 0)
    place.height = GST_VIDEO_INFO_HEIGHT (&info);
  if (place.sizing == GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO)
    keep_shape (place, &info, par_n, par_d);
  return place;
}

static void
gst_opencl_compositor_pad_finalize (GObject *object)
{
  delete GST_OPENCL_COMPOSITOR_PAD (object)->settings;
  G_OBJECT_CLASS (gst_opencl_compositor_pad_parent_class)->finalize (object);
}

static void
gst_opencl_compositor_pad_class_init (GstOpenCLCompositorPadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = gst_opencl_compositor_pad_finalize;
  opencl::install_settings<&GstOpenCLCompositorPad::settings> (klass, properties);

  gst_type_mark_as_plugin_api (operator_get_type (), GstPluginAPIFlags (0));
  gst_type_mark_as_plugin_api (sizing_get_type (), GstPluginAPIFlags (0));
}

static void
gst_opencl_compositor_pad_init (GstOpenCLCompositorPad *pad)
{
  pad->settings = new opencl::Settings<GstOpenCLCompositorPlace> (pad, properties);
}
