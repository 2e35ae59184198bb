/* chromakey: what has the colour of the key becomes transparent
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-chromakey
 *
 * Makes those pixels transparent whose colour differs from `key-color` by less than
 * `tolerance`. Red, green and blue stay as filmed; the key is in alpha, straight, and
 * others keep the alpha that they came with. `auto-key` takes the key's colour from the
 * first frame.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey tolerance=0.3 ! keyfill color=0xff0000ff ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/opencl/opencl.h>

#include <algorithm>
#include <cmath>

#include "elements.h"
#include "kernel.hpp"
#include "pixelformats.hpp"

GST_DEBUG_CATEGORY_STATIC (chroma_key_debug);
#define GST_CAT_DEFAULT chroma_key_debug

namespace {
using keying::Channel;
using keying::Kernel;

enum class AutoKey {
  none,
  top_left,
  top_right,
  bottom_left,
  bottom_right,
  rectangle,
};

enum {
  PROP_0,
  PROP_KEY_COLOR,
  PROP_TOLERANCE,
  PROP_CHANNEL,
  PROP_INVERT,
  PROP_OPACITY,
  PROP_AUTO_KEY,
  PROP_AUTO_KEY_X,
  PROP_AUTO_KEY_Y,
  PROP_AUTO_KEY_WIDTH,
  PROP_AUTO_KEY_HEIGHT,
};

struct Rectangle {
  guint x = 0, y = 0;
  guint width = 32, height = 32;
};

struct Settings {
  guint key_color = 0xff00ff00;
  gdouble tolerance = 0.025;
  Channel channel = Channel::all;
  gboolean invert = FALSE;
  gdouble opacity = 1;
  AutoKey auto_key = AutoKey::none;
  Rectangle rectangle;
  guint auto_key_revision = 1; /* counts changes of these two */
};

/* Work-items of the one group that takes the key */
const gsize taking_group = 256;

/* What the streaming thread works with. */
struct Work {
  GstVideoInfo info;
  keying::FrameKernel key_by_distance;
  keying::FrameKernel take_key;
  cl::Buffer auto_key;
  guint taken_revision = 0; /* of the settings that auto_key is from */
};
} // namespace

#define GST_TYPE_CHROMA_KEY (gst_chroma_key_get_type ())
G_DECLARE_FINAL_TYPE (GstChromaKey, gst_chroma_key, GST, CHROMA_KEY, GstOpenCLFilter)

struct _GstChromaKey {
  GstOpenCLFilter parent;

  Settings *settings; /* with the object lock */
  Work *work;         /* between set_formats and close, else null */
};

G_DEFINE_TYPE (GstChromaKey, gst_chroma_key, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (chromakey, "chromakey", GST_RANK_NONE, GST_TYPE_CHROMA_KEY)

static GType
auto_key_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (AutoKey::none), "key-color as it is set", "none"},
      {gint (AutoKey::top_left), "Mean of a sixteenth of the width and height, top left",
          "top-left"},
      {gint (AutoKey::top_right), "The same, top right", "top-right"},
      {gint (AutoKey::bottom_left), "The same, bottom left", "bottom-left"},
      {gint (AutoKey::bottom_right), "The same, bottom right", "bottom-right"},
      {gint (AutoKey::rectangle), "Mean of auto-key-x, -y, -width and -height",
          "rectangle"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstKeyingAutoKey", values));
  return type;
}

/* Properties */

static gboolean
set_auto_key (Settings &settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_AUTO_KEY:
    settings.auto_key = AutoKey (g_value_get_enum (value));
    break;
  case PROP_AUTO_KEY_X:
    settings.rectangle.x = g_value_get_uint (value);
    break;
  case PROP_AUTO_KEY_Y:
    settings.rectangle.y = g_value_get_uint (value);
    break;
  case PROP_AUTO_KEY_WIDTH:
    settings.rectangle.width = g_value_get_uint (value);
    break;
  case PROP_AUTO_KEY_HEIGHT:
    settings.rectangle.height = g_value_get_uint (value);
    break;
  default:
    return FALSE;
  }
  settings.auto_key_revision++;
  return TRUE;
}

static gboolean
set_keying (Settings &settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_KEY_COLOR:
    settings.key_color = g_value_get_uint (value);
    return TRUE;
  case PROP_TOLERANCE:
    settings.tolerance = g_value_get_double (value);
    return TRUE;
  case PROP_CHANNEL:
    settings.channel = Channel (g_value_get_enum (value));
    return TRUE;
  case PROP_INVERT:
    settings.invert = g_value_get_boolean (value);
    return TRUE;
  case PROP_OPACITY:
    settings.opacity = g_value_get_double (value);
    return TRUE;
  default:
    return FALSE;
  }
}

static void
gst_chroma_key_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  Settings &settings = *GST_CHROMA_KEY (object)->settings;

  GST_OBJECT_LOCK (object);
  gboolean known = set_keying (settings, id, value) || set_auto_key (settings, id, value);
  GST_OBJECT_UNLOCK (object);

  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static Settings
get_settings (gpointer self)
{
  GST_OBJECT_LOCK (self);
  Settings settings = *GST_CHROMA_KEY (self)->settings;
  GST_OBJECT_UNLOCK (self);
  return settings;
}

static void
gst_chroma_key_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  Settings settings = get_settings (object);

  switch (id) {
  case PROP_KEY_COLOR:
    return g_value_set_uint (value, settings.key_color);
  case PROP_TOLERANCE:
    return g_value_set_double (value, settings.tolerance);
  case PROP_CHANNEL:
    return g_value_set_enum (value, gint (settings.channel));
  case PROP_INVERT:
    return g_value_set_boolean (value, settings.invert);
  case PROP_OPACITY:
    return g_value_set_double (value, settings.opacity);
  case PROP_AUTO_KEY:
    return g_value_set_enum (value, gint (settings.auto_key));
  case PROP_AUTO_KEY_X:
    return g_value_set_uint (value, settings.rectangle.x);
  case PROP_AUTO_KEY_Y:
    return g_value_set_uint (value, settings.rectangle.y);
  case PROP_AUTO_KEY_WIDTH:
    return g_value_set_uint (value, settings.rectangle.width);
  case PROP_AUTO_KEY_HEIGHT:
    return g_value_set_uint (value, settings.rectangle.height);
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

/* Kernels and work memory */

static void
gst_chroma_key_close (GstOpenCLFilter *filter)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  delete self->work;
  self->work = nullptr;
}

static gboolean
gst_chroma_key_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);

  gst_chroma_key_close (filter);
  self->work = new Work;
  Work &work = *self->work;
  work.info = *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  work.auto_key = keying::make_buffer (context, sizeof (cl_uint), error);
  const std::string options =
      keying::pixel_options (&work.info) + " -DGROUP=" + std::to_string (taking_group);
  return work.auto_key () != nullptr
         && work.key_by_distance.create (
             context, {"pixels.cl", "chromakey.cl"}, "key_by_distance", options, error)
         && work.take_key.create (
             context, {"pixels.cl", "chromakey.cl"}, "take_key", options, error);
}

/* The work */

/* Within the frame, and at least a pixel */
static Rectangle
clip (const Rectangle &wanted, guint width, guint height)
{
  Rectangle clipped;
  clipped.x = std::min (wanted.x, width - 1);
  clipped.y = std::min (wanted.y, height - 1);
  clipped.width = std::max (1u, std::min (wanted.width, width - clipped.x));
  clipped.height = std::max (1u, std::min (wanted.height, height - clipped.y));
  return clipped;
}

static Rectangle
rectangle_of (const Settings &settings, guint width, guint height)
{
  bool right = settings.auto_key == AutoKey::top_right
               || settings.auto_key == AutoKey::bottom_right;
  bool bottom = settings.auto_key == AutoKey::bottom_left
                || settings.auto_key == AutoKey::bottom_right;
  Rectangle corner;

  if (settings.auto_key == AutoKey::rectangle)
    return clip (settings.rectangle, width, height);
  corner.width = std::max (1u, width / 16);
  corner.height = std::max (1u, height / 16);
  corner.x = right ? width - corner.width : 0;
  corner.y = bottom ? height - corner.height : 0;
  return corner;
}

/* The key goes from the picture to the device's own memory; nobody on the host sees it.
 */
static gboolean
take_key (Work &work, const Settings &settings, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  if (settings.auto_key == AutoKey::none
      || work.taken_revision == settings.auto_key_revision)
    return TRUE;
  work.taken_revision = settings.auto_key_revision;
  Rectangle from = rectangle_of (settings, work.info.width, work.info.height);
  Kernel *kernel = work.take_key.variant ({input}, error);
  return kernel
         && kernel->launch (queue,
             keying::grid_of_groups (1, 1, kernel->group_size (taking_group)), error,
             input, cl_uint (from.x), cl_uint (from.y), cl_uint (from.width),
             cl_uint (from.height), work.auto_key ());
}

static gboolean
gst_chroma_key_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  Work &work = *self->work;
  Settings settings = get_settings (self);
  cl_uint width = work.info.width, height = work.info.height;
  Kernel *kernel = work.key_by_distance.variant ({input, output}, error);

  return kernel && take_key (work, settings, input, queue, error)
         && kernel->launch (queue, kernel->grid_of_items ((width + 7) / 8, height), error,
             input, output, width, height, work.auto_key (),
             cl_uint (settings.auto_key != AutoKey::none), cl_uint (settings.key_color),
             keying::component_mask (&work.info, settings.channel),
             keying::difference_threshold (settings.tolerance, settings.channel),
             cl_int (settings.invert ? -1 : 0),
             cl_uint (std::lround (settings.opacity * 65536)));
}

static void
gst_chroma_key_init (GstChromaKey *self)
{
  self->settings = new Settings;
}

static void
gst_chroma_key_finalize (GObject *object)
{
  GstChromaKey *self = GST_CHROMA_KEY (object);
  delete self->settings;
  delete self->work;
  G_OBJECT_CLASS (gst_chroma_key_parent_class)->finalize (object);
}

static void
install_keying_properties (GObjectClass *klass)
{
  const Settings defaults;

  g_object_class_install_property (klass, PROP_KEY_COLOR,
      g_param_spec_uint ("key-color", "Key color",
          "The colour that becomes transparent, 0xAARRGGBB (alpha is ignored)", 0,
          G_MAXUINT, defaults.key_color, keying::playing_flags));
  g_object_class_install_property (klass, PROP_TOLERANCE,
      g_param_spec_double ("tolerance", "Tolerance",
          "A pixel is keyed when it differs from the key by less: the mean of red's, "
          "green's and blue's difference, or that of one channel, 1 from black to white",
          0, 1, defaults.tolerance, keying::playing_flags));
  g_object_class_install_property (klass, PROP_CHANNEL,
      g_param_spec_enum ("channel", "Channel", "What tolerance compares",
          keying::channel_get_type (), gint (defaults.channel), keying::playing_flags));
  g_object_class_install_property (klass, PROP_INVERT,
      g_param_spec_boolean ("invert", "Invert", "Key what differs from the key instead",
          defaults.invert, keying::playing_flags));
  g_object_class_install_property (klass, PROP_OPACITY,
      g_param_spec_double ("opacity", "Opacity", "What is not keyed is as opaque", 0, 1,
          defaults.opacity, keying::playing_flags));
}

static void
install_auto_key_properties (GObjectClass *klass)
{
  const Settings defaults;
  const struct {
    guint id;
    const char *name, *nick, *blurb;
    guint least, initial;
  } sides[] = {
      {PROP_AUTO_KEY_X, "auto-key-x", "Auto key's left",
          "First column of auto-key's rectangle", 0, defaults.rectangle.x},
      {PROP_AUTO_KEY_Y, "auto-key-y", "Auto key's top",
          "First line of auto-key's rectangle", 0, defaults.rectangle.y},
      {PROP_AUTO_KEY_WIDTH, "auto-key-width", "Auto key's width",
          "Columns of auto-key's rectangle", 1, defaults.rectangle.width},
      {PROP_AUTO_KEY_HEIGHT, "auto-key-height", "Auto key's height",
          "Lines of auto-key's rectangle", 1, defaults.rectangle.height},
  };

  g_object_class_install_property (klass, PROP_AUTO_KEY,
      g_param_spec_enum ("auto-key", "Auto key",
          "Where to take the key from, instead of key-color, in the first frame or the "
          "next one after a change of this",
          auto_key_get_type (), gint (defaults.auto_key), keying::playing_flags));
  for (const auto &side : sides)
    g_object_class_install_property (klass, side.id,
        g_param_spec_uint (side.name, side.nick, side.blurb, side.least, G_MAXINT,
            side.initial, keying::playing_flags));
}

static void
gst_chroma_key_class_init (GstChromaKeyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  object_class->set_property = gst_chroma_key_set_property;
  object_class->get_property = gst_chroma_key_get_property;
  object_class->finalize = gst_chroma_key_finalize;
  install_keying_properties (object_class);
  install_auto_key_properties (object_class);

  keying::set_up_class (filter_class);
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Chroma key",
      "Filter/Effect/Video",
      "Makes what has the colour of the key transparent, on an OpenCL device",
      "The gst-opencl developers");
  gst_type_mark_as_plugin_api (keying::channel_get_type (), GstPluginAPIFlags (0));
  gst_type_mark_as_plugin_api (auto_key_get_type (), GstPluginAPIFlags (0));

  filter_class->close = gst_chroma_key_close;
  filter_class->set_formats = gst_chroma_key_set_formats;
  filter_class->transform = gst_chroma_key_transform;

  GST_DEBUG_CATEGORY_INIT (chroma_key_debug, "chromakey", 0, "Chroma key");
}
