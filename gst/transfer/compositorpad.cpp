/* A sink pad of openclcompositor: where its picture goes, and how it is blended
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "compositorpad.h"

#define LARGEST_SIDE 32767

enum {
  PROP_0,
  PROP_XPOS,
  PROP_YPOS,
  PROP_WIDTH,
  PROP_HEIGHT,
  PROP_ALPHA,
  PROP_OPERATOR,
};

struct _GstOpenCLCompositorPad {
  GstOpenCLAggregatorPad parent;

  GstOpenCLCompositorPlace place; /* as set; object lock */
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

static void
gst_opencl_compositor_pad_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstOpenCLCompositorPlace &place = GST_OPENCL_COMPOSITOR_PAD (object)->place;

  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_XPOS:
    place.x = g_value_get_int (value);
    break;
  case PROP_YPOS:
    place.y = g_value_get_int (value);
    break;
  case PROP_WIDTH:
    place.width = g_value_get_int (value);
    break;
  case PROP_HEIGHT:
    place.height = g_value_get_int (value);
    break;
  case PROP_ALPHA:
    place.alpha = g_value_get_double (value);
    break;
  case PROP_OPERATOR:
    place.blend_operator = GstOpenCLCompositorOperator (g_value_get_enum (value));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_opencl_compositor_pad_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  GstOpenCLCompositorPlace place = GST_OPENCL_COMPOSITOR_PAD (object)->place;
  GST_OBJECT_UNLOCK (object);

  switch (id) {
  case PROP_XPOS:
    return g_value_set_int (value, place.x);
  case PROP_YPOS:
    return g_value_set_int (value, place.y);
  case PROP_WIDTH:
    return g_value_set_int (value, place.width);
  case PROP_HEIGHT:
    return g_value_set_int (value, place.height);
  case PROP_ALPHA:
    return g_value_set_double (value, place.alpha);
  case PROP_OPERATOR:
    return g_value_set_enum (value, place.blend_operator);
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

/* The width of the picture where pixels have the output's shape. */
static gint
shown_width (const GstVideoInfo *info, gint par_n, gint par_d)
{
  gint64 n = gint64 (GST_VIDEO_INFO_PAR_N (info)) * par_d;
  gint64 d = gint64 (GST_VIDEO_INFO_PAR_D (info)) * par_n;
  gint64 width = (GST_VIDEO_INFO_WIDTH (info) * n + d / 2) / MAX (d, 1);
  return gint (CLAMP (width, 1, LARGEST_SIDE));
}

GstOpenCLCompositorPlace
gst_opencl_compositor_pad_get_place (GstOpenCLCompositorPad *pad, gint par_n, gint par_d)
{
  GST_OBJECT_LOCK (pad);
  GstOpenCLCompositorPlace place = pad->place;
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
  return place;
}

static void
install_int (GObjectClass *object_class, guint id, const gchar *name, const gchar *nick,
    const gchar *blurb, gint minimum, gint initial)
{
  g_object_class_install_property (object_class, id,
      g_param_spec_int (name, nick, blurb, minimum, LARGEST_SIDE, initial,
          GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_CONTROLLABLE
                       | GST_PARAM_MUTABLE_PLAYING)));
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_CONTROLLABLE
                   | GST_PARAM_MUTABLE_PLAYING);

  install_int (object_class, PROP_XPOS, "xpos", "X position",
      "Column of the output where the picture begins", -LARGEST_SIDE, 0);
  install_int (object_class, PROP_YPOS, "ypos", "Y position",
      "Line of the output where the picture begins", -LARGEST_SIDE, 0);
  install_int (object_class, PROP_WIDTH, "width", "Width",
      "Columns that the picture is scaled to (-1 or 0: as it comes)", -1, -1);
  install_int (object_class, PROP_HEIGHT, "height", "Height",
      "Lines that the picture is scaled to (-1 or 0: as it comes)", -1, -1);
  g_object_class_install_property (object_class, PROP_ALPHA,
      g_param_spec_double ("alpha", "Alpha",
          "By how much the picture's own alpha is multiplied", 0, 1, 1, flags));
  g_object_class_install_property (object_class, PROP_OPERATOR,
      g_param_spec_enum ("operator", "Operator",
          "How the picture is blended with what is below", operator_get_type (),
          GST_OPENCL_COMPOSITOR_OVER, flags));
}

static void
gst_opencl_compositor_pad_class_init (GstOpenCLCompositorPadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = gst_opencl_compositor_pad_set_property;
  object_class->get_property = gst_opencl_compositor_pad_get_property;
  install_properties (object_class);

  gst_type_mark_as_plugin_api (operator_get_type (), GstPluginAPIFlags (0));
}

static void
gst_opencl_compositor_pad_init (GstOpenCLCompositorPad *pad)
{
  pad->place = {0, 0, -1, -1, 1, GST_OPENCL_COMPOSITOR_OVER};
}
