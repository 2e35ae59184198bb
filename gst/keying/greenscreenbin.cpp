/* greenscreenbin: a key or a network, and a background, as one element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-greenscreenbin
 *
 * Keys a green or blue screen and composites the foreground over a background, in one
 * element. Input and output are raw video of any format, in system memory or on the
 * device. The background is the stream of the request pad `background`, the image or
 * video file `background-location`, or else `background-color` (0 = transparent). It is
 * scaled to the size of the input. A background that ends before the input repeats its
 * last frame. A background file restarts when the input seeks. If the element started
 * with a background file, another file may be set while playing. It is shown as soon as
 * its first frame is decoded. If it cannot be read, the element posts a warning and keeps
 * the previous background.
 *
 * Opaque output is I420 or NV12 if downstream accepts one of them, so that encoders write
 * 4:2:0 video, which all players show. Elements that only accept full chroma, such as
 * `pngenc`, get full chroma, also behind `videoconvert`. With a transparent
 * `background-color` the output has alpha if downstream accepts it. For another format
 * put a `capsfilter` behind this element.
 *
 * `grow` and `feather` change the shape of the matte, as in #matteshape. `light-wrap` lets
 * the light of a background file or stream bleed over the edges of the foreground, as in
 * #openclcompositor. With `linear`, such a background is blended in linear light, too.
 *
 * The request pads `garbage`, `holdout` and `plate` are those of #chromakey: mattes of
 * what is keyed out and of what stays, and an image of the empty screen. The request pad
 * `matte` gives the matte as GRAY8 video. It must be requested before the element starts.
 * All request pads are linked by their names only, never by gst_element_link().
 *
 * The other properties are those of #chromakey, with the defaults `method=difference
 * auto-key=screen core=true subject=true spill=1`.
 *
 * `screen=none` needs no screen. The network `model-file` finds the person, and #matterefine
 * refines its matte. The properties and request pads of #chromakey cannot be used then,
 * except for `device`.
 *
 * `screen=auto` keys the screen near the edges of the person only. The same network makes a
 * garbage matte, for all that is farther outside than a twentieth of the width, and a
 * holdout matte, for the interior. So lamps and stands vanish, and a green print on a shirt
 * stays.
 *
 * More settings of the network are child properties, such as `network::mean`,
 * `network::state` and `network::precision` of #openclinference. Those of #matterefine are
 * `refine::radius`, `refine::smoothing` and so on. With `screen=auto` they are
 * `mattes::network::mean` and so on. The children exist from the first time that `screen`
 * has this value.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! greenscreenbin background-color=0xff2040c0 !
 * videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 playbin uri=file:///tmp/actor.webm
 * video-filter="greenscreenbin background-location=/tmp/beach.jpg"
 * ]|
 * |[
 * gst-launch-1.0 v4l2src ! greenscreenbin name=key grow=-1 feather=1 light-wrap=0.4
 * linear=true background-location=/tmp/beach.jpg ! videoconvert ! autovideosink
 * filesrc location=/tmp/lamps.png ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 !
 * key.garbage
 * ]|
 * |[
 * gst-launch-1.0 v4l2src ! video/x-raw,format=NV12,width=1280,height=720 !
 * greenscreenbin screen=none model-file=selfie_segmentation.onnx
 * background-location=/tmp/beach.jpg ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/common/elementbin.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/segmenttimes.hpp>
#include <gst/opencl/opencl.h>
#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "elements.h"

GST_DEBUG_CATEGORY_STATIC (greenscreen_bin_debug);
#define GST_CAT_DEFAULT greenscreen_bin_debug

#define ON_DEVICE "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
/* Preferred formats of opaque output. From RGB, videoconvert and encoders make 4:4:4
 * video, which many players do not show. */
#define PREFERRED_FORMATS "video/x-raw, format={I420, NV12}"
#define ALPHA_FORMATS                                                                    \
  "video/x-raw, format={RGBA, BGRA, ARGB, ABGR, AYUV, VUYA, A420, GBRA, RGBA64_LE, "     \
  "ARGB64, AYUV64}"
/* 8-bit formats that chromakey accepts without conversion */
#define KEYED_FORMATS ON_DEVICE ", format={RGBA, NV12, NV21, I420, YV12, YUY2, UYVY}"
/* openclinference samples each pixel several times, so one conversion ahead is faster. */
#define NETWORK_FORMATS ON_DEVICE ", format=RGBA"
#define CAPS "video/x-raw(ANY)"

typedef struct _GstGreenscreenBin GstGreenscreenBin;

namespace {
enum {
  PROP_BACKGROUND_LOCATION = 1,
  PROP_BACKGROUND_COLOR,
  PROP_SCREEN,
  PROP_MODEL_FILE,
  PROP_LIGHT_WRAP,
  FIRST_KEY_PROPERTY,          /* first property of chromakey */
  FIRST_SHAPE_PROPERTY = 1000, /* first property of matteshape */
};

/* Defaults that differ from those of chromakey */
const opencl::OwnDefault defaults[] = {{"method", "difference"}, {"auto-key", "screen"},
    {"core", "true"}, {"subject", "true"}, {"spill", "1"}};

/* Properties of matteshape */
const char *const shape_properties[] = {"grow", "feather"};

/* Request pads of chromakey that the bin has, too */
const char *const key_pads[] = {"garbage", "holdout", "plate"};

enum class Screen { key, none, automatic };

/* Mattes of a network. Garbage begins a twentieth of the width outside of people, since a
 * network does not see single hairs. Holdout begins a tenth inside, since a network fills
 * gaps between hair and neck. Between the two, and where the network is not sure, the key
 * decides. */
#define TO_MATTE                                                                         \
  " ! openclconvert alpha-only=true ! " ON_DEVICE ",format=GRAY8 ! openclkernel "        \
  "expression=\"clamp(10 * x - 8.5, 0, 1)\" name="
const char mattes_description[] =
    "queue name=first ! openclconvert ! " ON_DEVICE ",format=RGBA,width=512,"
    "pixel-aspect-ratio=1/1 ! "
    "openclinference name=network output=alpha ! tee name=people "
    "people. ! queue ! matteshape grow=25 feather=8 invert=true" TO_MATTE "garbage "
    "people. ! queue ! matteshape grow=-50 feather=8" TO_MATTE "holdout";
const char *const matte_names[] = {"garbage", "holdout"};

/* A background file */
struct BackgroundFile {
  std::string location;
  std::vector<GstElement *> elements; /* from filesrc to queue */
  GstPad *end = nullptr;              /* source pad of the queue; owned */
  GstPad *pad = nullptr;      /* (nullable): compositor pad, once it is shown; owned */
  gulong block_probe = 0;     /* probe that blocks `end` until then */
  GstBuffer *frame = nullptr; /* (nullable): the last one; owned */
  guint frames = 0;
  bool is_over = false; /* failed or stopped: ignore its errors */
};
using BackgroundFiles = std::list<BackgroundFile *>;

/* End of the foreground. Later frames are dropped. */
struct End {
  bool is_over = false;
  GstClockTime time = 0; /* running time at the end of its last frame */
  GstSegment segment;
};
} // namespace

#define GST_TYPE_GREENSCREEN_BIN (gst_greenscreen_bin_get_type ())
G_DECLARE_FINAL_TYPE (
    GstGreenscreenBin, gst_greenscreen_bin, GST, GREENSCREEN_BIN, GstBin)

struct _GstGreenscreenBin {
  GstBin parent;

  const gchar *missing;         /* (nullable): a required factory that is not installed */
  const gchar *missing_network; /* (nullable): the same for a network */
  GstElement *input;            /* capsfilter before key or network */
  GstElement *key, *fill, *out;
  GstElement *network, *refine; /* (nullable): instead of key if there is no screen */
  GstElement *split, *ahead;    /* (nullable): tee and queue before key, with mattes */
  GstElement *mattes;           /* (nullable): bin that feeds the mattes of key */
  GstElement *shape;            /* behind key or refine */
  GstElement *matte_split;      /* (nullable): tee behind shape, for the pad matte */
  GstElement *matte_end;        /* (nullable): last element of its branch */
  GstElement *compositor;       /* (nullable): replaces fill if there is a background */
  GstElement *foreground_queue; /* (nullable): ahead of compositor */
  GstElement *output_caps;      /* capsfilter behind compositor */
  GstPad *foreground;           /* (nullable): pad of compositor */
  GstPad *background;           /* (nullable): the request pad */
  BackgroundFiles *files; /* background files in the order they were set; object lock */
  GMutex changing;        /* held while a file is shown or removed */
  gchar *location;        /* (nullable); object lock */
  gchar *model_file;      /* (nullable); object lock */
  Screen screen;
  gdouble light_wrap;  /* object lock */
  bool is_transparent; /* background-color has alpha; object lock */
  gint width, height;  /* of the foreground; object lock */
  GstClockTime now;    /* running time of the output; object lock */
};

G_DEFINE_TYPE (GstGreenscreenBin, gst_greenscreen_bin, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE (
    greenscreenbin, "greenscreenbin", GST_RANK_NONE, GST_TYPE_GREENSCREEN_BIN)

GType gst_chroma_key_get_type (void);
GType gst_matte_shape_get_type (void);

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate background_template = GST_STATIC_PAD_TEMPLATE (
    "background", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate matte_template = GST_STATIC_PAD_TEMPLATE (
    "matte", GST_PAD_SRC, GST_PAD_REQUEST, GST_STATIC_CAPS (CAPS ", format=GRAY8"));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

/* --- elements --- */

static GstElement *
add (GstGreenscreenBin *self, const gchar *factory, bool is_locked = false)
{
  return opencl::add_to_bin (self, factory, &self->missing, nullptr, is_locked);
}

/* Adds openclupload, openclconvert and a capsfilter for `formats`. Returns the first and
 * sets the last element. */
static GstElement *
add_converter (GstGreenscreenBin *self, const gchar *formats, GstElement **last,
    bool is_locked = false)
{
  GstElement *upload = add (self, "openclupload", is_locked);
  GstElement *convert = add (self, "openclconvert", is_locked);
  *last = add (self, "capsfilter", is_locked);
  if (!upload || !convert || !*last)
    return nullptr;
  gst_util_set_object_arg (G_OBJECT (*last), "caps", formats);
  gst_element_link_many (upload, convert, *last, nullptr);
  return upload;
}

/* --- key or network --- */

static GType
screen_get_type (void)
{
  static const GEnumValue values[] = {
      {int (Screen::key), "Key the colour of a green or blue screen", "key"},
      {int (Screen::none), "Find the person with the network model-file", "none"},
      {int (Screen::automatic),
          "Key the screen, with garbage and holdout mattes of the network model-file",
          "auto"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstGreenscreenBinScreen", values);
  return type;
}

/* Elements that make alpha */
struct MatteChain {
  GstElement *first, *last;
  std::vector<GstElement *> elements; /* in the order of starting */
};

/* Returns the chain of `screen`: chromakey, too, if the network is missing. */
static MatteChain
matte_chain_of (GstGreenscreenBin *self)
{
  if (self->screen == Screen::key || self->missing_network)
    return {self->key, self->key, {self->key}};
  if (self->screen == Screen::none)
    return {self->network, self->refine, {self->refine, self->network}};
  return {self->split, self->key, {self->key, self->ahead, self->mattes, self->split}};
}

/* Links chromakey with its mattes, or releases their pads. */
static void
use_mattes (GstGreenscreenBin *self, bool are_used)
{
  if (are_used)
    gst_element_link (self->ahead, self->key);
  else
    gst_element_unlink (self->ahead, self->key);
  for (const char *name : matte_names) {
    if (are_used) {
      gst_element_link_pads (self->mattes, name, self->key, name);
    } else if (GstPad *pad = gst_element_get_static_pad (self->key, name)) {
      gst_element_release_request_pad (self->key, pad);
      gst_object_unref (pad);
    }
  }
}

/* Starts and links the elements of `screen`, or stops and unlinks them. */
static void
use_matte (GstGreenscreenBin *self, bool is_used)
{
  const MatteChain chain = matte_chain_of (self);
  for (GstElement *element : chain.elements) {
    gst_element_set_locked_state (element, !is_used);
    if (!is_used)
      gst_element_set_state (element, GST_STATE_NULL);
  }
  if (chain.first == self->split)
    use_mattes (self, is_used);
  if (!is_used) {
    gst_element_unlink (self->input, chain.first);
    gst_element_unlink (chain.last, self->shape);
    return;
  }
  gst_util_set_object_arg (G_OBJECT (self->input), "caps",
      chain.first == self->key ? KEYED_FORMATS : NETWORK_FORMATS);
  gst_element_link (self->input, chain.first);
  gst_element_link (chain.last, self->shape);
  for (GstElement *element : chain.elements)
    gst_element_sync_state_with_parent (element);
}

/* Sets a property of the networks that exist. */
static void
set_networks (GstGreenscreenBin *self, const char *name, const gchar *value)
{
  if (self->network)
    g_object_set (self->network, name, value, nullptr);
  if (self->mattes)
    gst_child_proxy_set (GST_CHILD_PROXY (self->mattes),
        (std::string ("network::") + name).c_str (), value, nullptr);
}

static void
set_model_file (GstGreenscreenBin *self, const gchar *file)
{
  GST_OBJECT_LOCK (self);
  g_free (self->model_file);
  self->model_file = g_strdup (file);
  GST_OBJECT_UNLOCK (self);
  set_networks (self, "model-file", file);
}

static void
add_network (GstGreenscreenBin *self)
{
  self->network =
      opencl::add_to_bin (self, "openclinference", &self->missing_network, "network");
  self->refine =
      opencl::add_to_bin (self, "matterefine", &self->missing_network, "refine");
  if (self->missing_network)
    return;
  gst_util_set_object_arg (G_OBJECT (self->network), "output", "alpha");
  gst_element_link (self->network, self->refine);
}

/* Hides that the bin `mattes` prefers a width, which the key would get, too. */
static GstPadProbeReturn
answer_with_any_size (GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstCaps *filter;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return GST_PAD_PROBE_OK;
  gst_query_parse_caps (query, &filter);
  GstCaps *caps = opencl::filtered_caps (gst_caps_from_string (NETWORK_FORMATS), filter);
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return GST_PAD_PROBE_OK;
}

/* Adds a pad `name` to the bin `mattes`, that of its element `of`. */
static void
show_pad (GstElement *mattes, const char *name, const char *of, const char *pad)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (mattes), of);
  GstPad *target = gst_element_get_static_pad (element, pad);
  gst_element_add_pad (mattes, gst_ghost_pad_new (name, target));
  gst_object_unref (target);
  gst_object_unref (element);
}

static void
add_mattes (GstGreenscreenBin *self)
{
  for (const char *name : {"openclinference", "openclkernel"}) {
    GstElementFactory *factory = gst_element_factory_find (name);
    if (!factory)
      self->missing_network = name;
    gst_clear_object (&factory);
  }
  self->split = opencl::add_to_bin (self, "tee", &self->missing_network);
  self->ahead = opencl::add_to_bin (self, "queue", &self->missing_network);
  if (self->missing_network)
    return;
  self->mattes = gst_parse_bin_from_description (mattes_description, FALSE, nullptr);
  gst_object_set_name (GST_OBJECT (self->mattes), "mattes");
  show_pad (self->mattes, "sink", "first", "sink");
  for (const char *name : matte_names)
    show_pad (self->mattes, name, name, "src");
  GstPad *sink = gst_element_get_static_pad (self->mattes, "sink");
  gst_pad_add_probe (sink,
      GstPadProbeType (GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL),
      answer_with_any_size, nullptr, nullptr);
  gst_object_unref (sink);
  gst_bin_add (GST_BIN (self), self->mattes);
  gst_element_link (self->split, self->ahead);
  gst_element_link (self->split, self->mattes);
}

/* A missing plugin is reported at the start. */
static void
set_screen (GstGreenscreenBin *self, Screen screen)
{
  if (GST_STATE (self) > GST_STATE_READY) {
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("screen can only be set in the states NULL and READY"), (nullptr));
    return;
  }
  if (screen == Screen::none && !self->refine)
    add_network (self);
  if (screen == Screen::automatic && !self->split)
    add_mattes (self);
  set_networks (self, "model-file", self->model_file);
  const bool can_change =
      screen != self->screen && !self->missing && !self->missing_network;
  if (can_change)
    use_matte (self, false);
  self->screen = screen;
  if (can_change)
    use_matte (self, true);
}

/* --- shape of the matte --- */

static bool
has_own_value (GstElement *element, const char *name)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);
  GValue value = G_VALUE_INIT;
  g_object_get_property (G_OBJECT (element), name, &value);
  const bool is_default = g_param_value_defaults (spec, &value);
  g_value_unset (&value);
  return !is_default;
}

/* Lets matteshape pass frames on while it has nothing to do. Runs in the streaming
 * thread, between two frames. */
static GstPadProbeReturn
use_shape_if_set (GstPad *, GstPadProbeInfo *, gpointer shape)
{
  auto *transform = GST_BASE_TRANSFORM (shape);
  const bool is_used =
      std::any_of (std::begin (shape_properties), std::end (shape_properties),
          [&] (const char *name) { return has_own_value (GST_ELEMENT (shape), name); });

  if (gst_base_transform_is_passthrough (transform) == is_used) {
    gst_base_transform_set_passthrough (transform, !is_used);
    gst_base_transform_reconfigure_src (transform);
  }
  return GST_PAD_PROBE_OK;
}

static void
watch_shape (GstElement *shape)
{
  GstPad *sink = gst_element_get_static_pad (shape, "sink");
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (shape), TRUE);
  gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_BUFFER, use_shape_if_set, shape, nullptr);
  gst_object_unref (sink);
}

/* Returns whether the bin has a pad whose target a network replaces or stops. */
static bool
has_idle_pad (GstGreenscreenBin *self)
{
  return std::any_of (std::begin (key_pads), std::end (key_pads), [&] (const char *name) {
    GstPad *pad = gst_element_get_static_pad (GST_ELEMENT (self), name);
    const bool has_pad = pad != nullptr;
    gst_clear_object (&pad);
    return has_pad && (self->screen == Screen::none || !g_str_equal (name, "plate"));
  });
}

/* Returns true if all elements exist. Otherwise posts one error. Gives networks the device
 * of chromakey. */
static bool
prepare_elements (GstGreenscreenBin *self)
{
  gchar *device = nullptr;

  if (!opencl::report_missing (self, self->missing))
    return false;
  if (self->screen == Screen::key)
    return true;
  if (!opencl::report_missing (self, self->missing_network))
    return false;
  if (has_idle_pad (self)) {
    GST_ELEMENT_ERROR (self, LIBRARY, SETTINGS,
        ("The pads garbage and holdout need screen=key, and the pad plate needs a "
         "screen"),
        (nullptr));
    return false;
  }
  g_object_get (self->key, "device", &device, nullptr);
  set_networks (self, "device", device);
  g_free (device);
  return true;
}

/* --- output format --- */

static bool
accepts_any_of (GstCaps *accepted, const char *formats)
{
  GstCaps *caps = gst_caps_from_string (formats);
  const bool accepts = gst_caps_can_intersect (accepted, caps);
  gst_caps_unref (caps);
  return accepts;
}

/* Returns the PREFERRED_FORMATS that the element behind `source` prefers, as caps on the
 * device, or EMPTY. videoconvert lists the formats of the element behind it first, and
 * then all that it converts. So a consumer of full chroma, such as pngenc, keeps full
 * chroma. (transfer full) */
static GstCaps *
find_preferred_formats (GstPad *source, bool has_alpha)
{
  GstCaps *best = gst_caps_truncate (gst_pad_peer_query_caps (source, nullptr));
  GstCaps *preferred = gst_caps_from_string (PREFERRED_FORMATS);
  GstCaps *both = gst_caps_intersect (best, preferred);
  GstCaps *found = gst_caps_new_empty ();

  if (!gst_caps_is_empty (both) && !(has_alpha && accepts_any_of (best, ALPHA_FORMATS))) {
    gst_caps_append (found, gst_caps_from_string (ON_DEVICE));
    gst_caps_set_value (found, "format",
        gst_structure_get_value (gst_caps_get_structure (both, 0), "format"));
  }
  gst_caps_unref (both);
  gst_caps_unref (preferred);
  gst_caps_unref (best);
  return found;
}

/* Leaves only these formats in the answer to a CAPS query, if it has any of them. */
static void
narrow_to_preferred_formats (GstGreenscreenBin *self, GstQuery *query)
{
  GstCaps *result;

  GST_OBJECT_LOCK (self);
  const bool has_alpha = self->is_transparent && !self->compositor;
  GST_OBJECT_UNLOCK (self);
  GstPad *source = gst_element_get_static_pad (GST_ELEMENT (self), "src");
  GstCaps *preferred = find_preferred_formats (source, has_alpha);
  gst_query_parse_caps_result (query, &result);
  GstCaps *narrowed = gst_caps_intersect (result, preferred);
  if (!gst_caps_is_empty (narrowed))
    gst_query_set_caps_result (query, narrowed);
  gst_caps_unref (narrowed);
  gst_caps_unref (preferred);
  gst_object_unref (source);
}

/* Narrows the formats that `out` finds behind it. ACCEPT_CAPS is answered alike: a
 * transform keeps its input's format if that is accepted. */
static GstPadProbeReturn
answer_with_preferred_formats (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstCaps *asked;

  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS)
    narrow_to_preferred_formats (GST_GREENSCREEN_BIN (data), query);
  if (GST_QUERY_TYPE (query) == GST_QUERY_ACCEPT_CAPS) {
    GstCaps *narrowed = gst_pad_query_caps (pad, nullptr);
    gst_query_parse_accept_caps (query, &asked);
    if (!gst_caps_can_intersect (asked, narrowed))
      gst_query_set_accept_caps_result (query, FALSE);
    gst_caps_unref (narrowed);
  }
  return GST_PAD_PROBE_OK;
}

static void
set_background_color (GstGreenscreenBin *self, const GValue *color)
{
  g_object_set_property (G_OBJECT (self->fill), "color", color);
  GST_OBJECT_LOCK (self);
  self->is_transparent = g_value_get_uint (color) >> 24 != 0xff;
  GST_OBJECT_UNLOCK (self);
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self->out));
}

/* A seek excludes changes of the background: the compositor would wait for ever for the flush
 * of a pad that is added while it flushes. */
static gboolean
gst_greenscreen_bin_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  const bool seeks = GST_EVENT_TYPE (event) == GST_EVENT_SEEK;
  GMutex *changing = &GST_GREENSCREEN_BIN (parent)->changing;

  if (seeks)
    g_mutex_lock (changing);
  const gboolean done = gst_pad_event_default (pad, parent, event);
  if (seeks)
    g_mutex_unlock (changing);
  return done;
}

static void
gst_greenscreen_bin_init (GstGreenscreenBin *self)
{
  self->files = new BackgroundFiles;
  g_mutex_init (&self->changing);
  GstElement *first = add_converter (self, KEYED_FORMATS, &self->input);
  self->key = add (self, "chromakey");
  self->shape = add (self, "matteshape");
  self->fill = add (self, "keyfill");
  self->out = add (self, "openclconvert");
  GstElement *download = add (self, "opencldownload");

  if (self->missing)
    return;
  opencl::set_own_defaults (self->key, std::begin (defaults), std::end (defaults));
  gst_util_set_object_arg (G_OBJECT (self->fill), "method", "composite");
  watch_shape (self->shape);
  gst_element_link_many (
      self->input, self->key, self->shape, self->fill, self->out, download, nullptr);
  opencl::add_ghost_pad (self, "sink", first, "sink");
  opencl::add_ghost_pad (self, "src", download, "src");
  GstPad *download_sink = gst_element_get_static_pad (download, "sink");
  gst_pad_add_probe (download_sink,
      GstPadProbeType (GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL),
      answer_with_preferred_formats, self, nullptr);
  GstPad *end = gst_element_get_static_pad (GST_ELEMENT (self), "src");
  gst_pad_set_event_function (end, gst_greenscreen_bin_src_event);
  gst_object_unref (end);
  gst_object_unref (download_sink);
}

/* --- compositor --- */

/* Scales the background to the size of the foreground. */
static gboolean
fit_background (GstElement *, GstPad *pad, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (data);
  guint zorder;

  GST_OBJECT_LOCK (self);
  const gint width = self->width, height = self->height;
  GST_OBJECT_UNLOCK (self);
  g_object_get (pad, "zorder", &zorder, nullptr);
  if (zorder == 0)
    g_object_set (pad, "width", width, "height", height, nullptr);
  return TRUE;
}

/* Sets the output caps and the size of the background from the caps of the foreground. */
static GstPadProbeReturn
fit_to_foreground (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (data);
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GstVideoInfo video;
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  if (!gst_video_info_from_caps (&video, caps))
    return GST_PAD_PROBE_OK;
  GstCaps *caps_out = gst_caps_from_string (ON_DEVICE);
  gst_caps_set_simple (caps_out, "width", G_TYPE_INT, video.width, "height", G_TYPE_INT,
      video.height, "pixel-aspect-ratio", GST_TYPE_FRACTION, video.par_n, video.par_d,
      nullptr);
  if (video.fps_n > 0)
    gst_caps_set_simple (
        caps_out, "framerate", GST_TYPE_FRACTION, video.fps_n, video.fps_d, nullptr);
  g_object_set (self->output_caps, "caps", caps_out, nullptr);
  gst_caps_unref (caps_out);
  GST_OBJECT_LOCK (self);
  self->width = video.width;
  self->height = video.height;
  GST_OBJECT_UNLOCK (self);
  gst_element_foreach_sink_pad (self->compositor, fit_background, self);
  return GST_PAD_PROBE_OK;
}

/* Records the end of the foreground, in its streaming thread. */
static GstPadProbeReturn
watch_foreground (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  End &end = *static_cast<End *> (data);
  GST_OBJECT_LOCK (pad);
  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
    GstClockTime time = opencl::running_time_of (end.segment, GST_BUFFER_PTS (buffer));
    if (GST_CLOCK_TIME_IS_VALID (time))
      end.time =
          time
          + (GST_BUFFER_DURATION_IS_VALID (buffer) ? GST_BUFFER_DURATION (buffer) : 1);
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_SEGMENT) {
    gst_event_copy_segment (GST_PAD_PROBE_INFO_EVENT (info), &end.segment);
    end.is_over = false;
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS) {
    end.is_over = true;
  }
  GST_OBJECT_UNLOCK (pad);
  return GST_PAD_PROBE_OK;
}

/* Ends the output with the foreground if the background is longer. */
static GstPadProbeReturn
end_with_foreground (GstPad *pad, GstPadProbeInfo *info, gpointer above)
{
  End &end = *static_cast<End *> (g_object_get_data (G_OBJECT (above), "end"));
  GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  const GstSegment *segment;

  if (event) {
    gst_event_parse_segment (event, &segment);
    time = opencl::running_time_of (
        *segment, GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)));
    gst_event_unref (event);
  }
  GstObject *bin = gst_element_get_parent (GST_PAD_PARENT (pad));
  if (bin && GST_CLOCK_TIME_IS_VALID (time)) {
    GST_OBJECT_LOCK (bin);
    GST_GREENSCREEN_BIN (bin)->now = time;
    GST_OBJECT_UNLOCK (bin);
  }
  gst_clear_object (&bin);
  GST_OBJECT_LOCK (above);
  const bool is_after = end.is_over && GST_CLOCK_TIME_IS_VALID (time) && time >= end.time;
  GST_OBJECT_UNLOCK (above);
  if (!is_after)
    return GST_PAD_PROBE_OK;
  gst_buffer_unref (GST_PAD_PROBE_INFO_BUFFER (info));
  GST_PAD_PROBE_INFO_FLOW_RETURN (info) = GST_FLOW_EOS;
  return GST_PAD_PROBE_HANDLED;
}

static void
watch_pads (GstGreenscreenBin *self, GstPad *above)
{
  End *end = new End;
  GstPad *source = gst_element_get_static_pad (self->compositor, "src");

  gst_segment_init (&end->segment, GST_FORMAT_TIME);
  g_object_set_data_full (G_OBJECT (above), "end", end,
      [] (gpointer data) { delete static_cast<End *> (data); });
  gst_pad_add_probe (
      above, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, fit_to_foreground, self, nullptr);
  gst_pad_add_probe (above,
      GstPadProbeType (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
      watch_foreground, end, nullptr);
  gst_pad_add_probe (
      source, GST_PAD_PROBE_TYPE_BUFFER, end_with_foreground, above, nullptr);
  gst_object_unref (source);
}

static void
set_light_wrap (GstGreenscreenBin *self, gdouble light_wrap)
{
  GST_OBJECT_LOCK (self);
  self->light_wrap = light_wrap;
  GstPad *foreground = self->foreground;
  GST_OBJECT_UNLOCK (self);
  if (foreground)
    g_object_set (foreground, "light-wrap", light_wrap, nullptr);
}

/* Returns the last element of the matte, which fill or compositor follows. */
static GstElement *
end_of_matte (GstGreenscreenBin *self)
{
  return self->matte_split ? self->matte_split : self->shape;
}

/* Replaces keyfill by openclcompositor. */
static bool
insert_compositor (GstGreenscreenBin *self)
{
  if (self->compositor)
    return true;
  GstElement *ahead = add (self, "queue");
  GstElement *compositor = add (self, "openclcompositor");
  self->output_caps = add (self, "capsfilter");
  if (!ahead || !compositor || !self->output_caps)
    return false;
  self->compositor = compositor;
  self->foreground_queue = ahead;
  gst_util_set_object_arg (G_OBJECT (compositor), "background", "transparent");
  g_object_bind_property (
      self->key, "linear", compositor, "linear", G_BINDING_SYNC_CREATE);
  gst_element_unlink_many (end_of_matte (self), self->fill, self->out, nullptr);
  gst_element_set_locked_state (self->fill, TRUE);
  GstPad *above = gst_element_request_pad_simple (compositor, "sink_%u");
  GstPad *source = gst_element_get_static_pad (ahead, "src");
  GST_OBJECT_LOCK (self);
  self->foreground = above;
  const gdouble light_wrap = self->light_wrap;
  GST_OBJECT_UNLOCK (self);
  g_object_set (above, "zorder", 1, "light-wrap", light_wrap, nullptr);
  watch_pads (self, above);
  gst_element_link (end_of_matte (self), ahead);
  gst_pad_link (source, above);
  gst_element_link_many (compositor, self->output_caps, self->out, nullptr);
  gst_object_unref (source);
  gst_object_unref (above);
  return true;
}

/* Links `source` as the background. Returns the pad of the compositor (transfer full). */
static GstPad *
link_background (GstGreenscreenBin *self, GstPad *source)
{
  GstPad *below = gst_element_request_pad_simple (self->compositor, "sink_%u");
  g_object_set (below, "zorder", 0, "repeat-after-eos", TRUE, nullptr);
  fit_background (self->compositor, below, self);
  gst_pad_link (source, below);
  return below;
}

/* Adds the elements that upload and convert a background, up to a queue: (transfer
 * none) (nullable) */
static GstElement *
add_background_converter (
    GstGreenscreenBin *self, GstElement **queue, bool is_locked = false)
{
  GstElement *last;
  GstElement *first = add_converter (self, ON_DEVICE ", format=RGBA", &last, is_locked);
  *queue = add (self, "queue", is_locked);
  if (!first || !*queue)
    return nullptr;
  gst_element_link (last, *queue);
  return first;
}

/* --- background files --- */

static void change_file (GstGreenscreenBin *self, const gchar *location);

/* Keeps the last frame of a file, for show_again(), and counts the frames. */
static GstPadProbeReturn
keep_frame (GstPad *end, GstPadProbeInfo *info, gpointer data)
{
  BackgroundFile *file = static_cast<BackgroundFile *> (data);
  GST_OBJECT_LOCK (end);
  gst_buffer_replace (&file->frame, GST_PAD_PROBE_INFO_BUFFER (info));
  file->frames++;
  GST_OBJECT_UNLOCK (end);
  return GST_PAD_PROBE_OK;
}

/* Returns the segment in which the frame has the running time 0. */
static GstEvent *
segment_of (GstEvent *segment, GstBuffer *frame)
{
  GstSegment begin;
  gst_event_copy_segment (segment, &begin);
  begin.start = begin.position =
      GST_BUFFER_PTS_IS_VALID (frame) ? GST_BUFFER_PTS (frame) : 0;
  begin.base = begin.time = 0;
  return gst_event_new_segment (&begin);
}

/* Flushes the compositor's pad and sends it the last frame again. The decoder is not told:
 * seeks in decodebin can fail while it finds the type of a file. */
static void
show_again (BackgroundFile *file, guint32 seqnum)
{
  GstPad *pad = gst_pad_get_peer (file->end);
  if (!pad)
    return; /* It is being replaced. */
  GstEvent *segment = gst_pad_get_sticky_event (file->end, GST_EVENT_SEGMENT, 0);
  GstEvent *start = gst_event_new_flush_start (), *stop = gst_event_new_flush_stop (TRUE);
  GstBuffer *frame = nullptr;

  GST_OBJECT_LOCK (file->end);
  gst_buffer_replace (&frame, file->frame);
  GST_OBJECT_UNLOCK (file->end);
  gst_event_set_seqnum (start, seqnum);
  gst_event_set_seqnum (stop, seqnum);
  gst_pad_send_event (pad, start);
  GST_PAD_STREAM_LOCK (pad); /* A frame that the queue still pushes comes after EOS. */
  gst_pad_send_event (pad, stop);
  if (segment && frame) {
    gst_pad_send_event (pad, segment_of (segment, frame));
    gst_pad_chain (pad, gst_buffer_ref (frame));
    gst_pad_send_event (pad, gst_event_new_eos ());
  }
  GST_PAD_STREAM_UNLOCK (pad);
  gst_clear_event (&segment);
  gst_clear_buffer (&frame);
  gst_object_unref (pad);
}

/* Starts the file that is shown anew. */
static void
restart_film (GstElement *element, gpointer)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);
  GST_OBJECT_LOCK (self);
  gchar *location = g_strdup (self->location);
  GST_OBJECT_UNLOCK (self);
  if (location)
    change_file (self, location);
  g_free (location);
}

/* Keeps the background file when the foreground seeks, since the compositor forgets the frame
 * that it showed. Positions of the foreground are not those of the file: a film restarts. */
static GstPadProbeReturn
restart_with_foreground (GstPad *end, GstPadProbeInfo *info, gpointer data)
{
  BackgroundFile *file = static_cast<BackgroundFile *> (data);
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GstSeekFlags flags;

  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return GST_PAD_PROBE_OK;
  gst_event_parse_seek (
      event, nullptr, nullptr, &flags, nullptr, nullptr, nullptr, nullptr);
  GstObject *bin = gst_element_get_parent (GST_PAD_PARENT (end));
  if (!(flags & GST_SEEK_FLAG_FLUSH) || !bin) {
    gst_clear_object (&bin);
    return GST_PAD_PROBE_OK;
  }
  GST_OBJECT_LOCK (bin);
  GST_GREENSCREEN_BIN (bin)->now = 0;
  GST_OBJECT_UNLOCK (bin);
  GST_OBJECT_LOCK (end);
  const bool is_film = file->frames > 1;
  GST_OBJECT_UNLOCK (end);
  if (is_film) {
    gst_pad_add_probe (
        end, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM,
        [] (GstPad *, GstPadProbeInfo *, gpointer) { return GST_PAD_PROBE_OK; }, nullptr,
        nullptr);
    gst_element_call_async (GST_ELEMENT (bin), restart_film, nullptr, nullptr);
  }
  show_again (file, gst_event_get_seqnum (event));
  gst_object_unref (bin);
  gst_event_unref (event);
  return GST_PAD_PROBE_HANDLED;
}

static void
link_decoded (GstElement *, GstPad *pad, gpointer to)
{
  GstPad *sink = gst_element_get_static_pad (GST_ELEMENT (to), "sink");
  if (!gst_pad_is_linked (sink))
    gst_pad_link (pad, sink);
  gst_object_unref (sink);
}

/* Adds the elements from the file to the compositor, not started: (nullable). Their state
 * is locked, so that a change of the bin's state does not start them before they are
 * linked. */
static BackgroundFile *
add_file (GstGreenscreenBin *self, const gchar *location)
{
  GstElement *source = add (self, "filesrc", true);
  GstElement *decoder = add (self, "decodebin", true);
  GstElement *convert = add (self, "videoconvert", true);
  GstElement *queue = nullptr;
  GstElement *first = add_background_converter (self, &queue, true);

  if (!first || !source || !convert || !decoder)
    return nullptr;
  GstCaps *video = gst_caps_from_string ("video/x-raw(ANY)");
  g_object_set (source, "location", location, nullptr);
  g_object_set (decoder, "caps", video, "expose-all-streams", FALSE, nullptr);
  gst_caps_unref (video);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (link_decoded), convert);
  gst_element_link (source, decoder);
  gst_element_link (convert, first);

  BackgroundFile *file = new BackgroundFile;
  file->location = location;
  file->elements = {source, decoder, convert};
  for (GstElement *element = first; element != queue;) {
    file->elements.push_back (element);
    GstPad *pad = gst_element_get_static_pad (element, "src");
    GstPad *peer = gst_pad_get_peer (pad);
    element = GST_PAD_PARENT (peer);
    gst_object_unref (peer);
    gst_object_unref (pad);
  }
  file->elements.push_back (queue);
  file->end = gst_element_get_static_pad (queue, "src");
  gst_pad_add_probe (file->end, GST_PAD_PROBE_TYPE_BUFFER, keep_frame, file, nullptr);
  gst_pad_add_probe (file->end, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
      restart_with_foreground, file, nullptr);
  GST_OBJECT_LOCK (self);
  self->files->push_back (file);
  GST_OBJECT_UNLOCK (self);
  return file;
}

/* Unlinks the file before the decoder stops, and hides the error that this causes.
 * Otherwise decodebin may stop while it finds the type of the file, and its type finder
 * then pushes data on a pad that is no longer in push mode, which GStreamer reports as a
 * critical fault. */
static void
stop_reading (GstGreenscreenBin *self, BackgroundFile *file)
{
  GST_OBJECT_LOCK (self);
  file->is_over = true;
  GST_OBJECT_UNLOCK (self);
  gst_element_unlink (file->elements[0], file->elements[1]);
}

/* Releases the compositor pad first, since a frame may be blocked in it. */
static void
remove_file (GstGreenscreenBin *self, BackgroundFile *file)
{
  stop_reading (self, file);
  if (file->pad)
    gst_element_release_request_pad (self->compositor, file->pad);
  if (file->block_probe)
    gst_pad_remove_probe (file->end, file->block_probe);
  /* The queue first: the decoder may wait for space in it. */
  for (auto element = file->elements.rbegin (); element != file->elements.rend ();
       ++element) {
    gst_element_set_locked_state (*element, TRUE);
    gst_element_set_state (*element, GST_STATE_NULL);
  }
  GST_OBJECT_LOCK (self);
  self->files->remove (file);
  GST_OBJECT_UNLOCK (self);
  for (GstElement *element : file->elements)
    gst_bin_remove (GST_BIN (self), element);
  gst_clear_object (&file->pad);
  gst_clear_object (&file->end);
  gst_clear_buffer (&file->frame);
  delete file;
}

/* Returns whether the file is still in the bin. Call with `changing` held. */
static bool
has_file (GstGreenscreenBin *self, BackgroundFile *file)
{
  GST_OBJECT_LOCK (self);
  const bool is =
      std::find (self->files->begin (), self->files->end (), file) != self->files->end ();
  GST_OBJECT_UNLOCK (self);
  return is;
}

static void
remove_files_before (GstGreenscreenBin *self, BackgroundFile *file)
{
  GST_OBJECT_LOCK (self);
  const BackgroundFiles all = *self->files;
  GST_OBJECT_UNLOCK (self);
  for (BackgroundFile *before : all) {
    if (before == file)
      return;
    remove_file (self, before);
  }
}

/* Called asynchronously once the first frame is decoded. The file starts at the current
 * time. */
static void
show_file (GstElement *element, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);
  BackgroundFile *file = static_cast<BackgroundFile *> (data);

  g_mutex_lock (&self->changing);
  if (has_file (self, file) && file->block_probe && !file->is_over) {
    GST_OBJECT_LOCK (self);
    const GstClockTime now = self->now;
    GST_OBJECT_UNLOCK (self);
    gst_pad_set_offset (file->end, gint64 (now));
    file->pad = link_background (self, file->end);
    gst_pad_remove_probe (file->end, file->block_probe);
    file->block_probe = 0;
    remove_files_before (self, file);
  }
  g_mutex_unlock (&self->changing);
}

/* Called asynchronously if the file cannot be read. */
static void
remove_failed_file (GstElement *element, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);
  BackgroundFile *file = static_cast<BackgroundFile *> (data);

  g_mutex_lock (&self->changing);
  if (has_file (self, file))
    remove_file (self, file);
  g_mutex_unlock (&self->changing);
}

static GstPadProbeReturn
hold_first_frame (GstPad *pad, GstPadProbeInfo *, gpointer data)
{
  GstObject *self = gst_element_get_parent (GST_PAD_PARENT (pad));
  if (self)
    gst_element_call_async (GST_ELEMENT (self), show_file, data, nullptr);
  gst_clear_object (&self);
  return GST_PAD_PROBE_OK;
}

/* Changes the file while playing. The previous one stays until the first frame is
 * decoded. */
static void
change_file (GstGreenscreenBin *self, const gchar *location)
{
  g_mutex_lock (&self->changing);
  BackgroundFile *file = add_file (self, location);
  if (file) {
    file->block_probe = gst_pad_add_probe (file->end,
        GstPadProbeType (GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
        hold_first_frame, file, nullptr);
    /* Its changes of state are not those of the pipeline, which may change its own. */
    g_object_set (file->elements[1], "async-handling", TRUE, nullptr);
    for (auto element = file->elements.rbegin (); element != file->elements.rend ();
         ++element) {
      gst_element_set_locked_state (*element, FALSE);
      gst_element_sync_state_with_parent (*element);
    }
  }
  g_mutex_unlock (&self->changing);
}

/* (transfer full) (nullable): the child of the bin that is or contains `source` */
static GstObject *
child_of (GstGreenscreenBin *self, GstObject *source)
{
  auto *child = static_cast<GstObject *> (gst_object_ref (source));
  while (GstObject *parent = gst_object_get_parent (child)) {
    if (parent == GST_OBJECT (self)) {
      gst_object_unref (parent);
      return child;
    }
    gst_object_unref (child);
    child = parent;
  }
  gst_object_unref (child);
  return nullptr;
}

/* Returns the file that contains `element`, unless it is shown: (nullable) */
static BackgroundFile *
find_hidden_file (GstGreenscreenBin *self, GstObject *element)
{
  for (BackgroundFile *file : *self->files) {
    for (GstElement *child : file->elements) {
      if (GST_OBJECT (child) == element)
        return file->is_over || file->block_probe ? file : nullptr;
    }
  }
  return nullptr;
}

/* Turns errors of a file that is not shown into warnings, so that a bad file does not end
 * the stream. */
static void
gst_greenscreen_bin_handle_message (GstBin *bin, GstMessage *message)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (bin);
  bool was_over = false;
  BackgroundFile *file = nullptr;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR && GST_MESSAGE_SRC (message)) {
    GstObject *element = child_of (self, GST_MESSAGE_SRC (message));
    GST_OBJECT_LOCK (self);
    file = find_hidden_file (self, element);
    was_over = file && std::exchange (file->is_over, true);
    GST_OBJECT_UNLOCK (self);
    gst_clear_object (&element);
  }
  if (!file) {
    GST_BIN_CLASS (gst_greenscreen_bin_parent_class)->handle_message (bin, message);
    return;
  }
  if (!was_over) {
    GError *error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("Could not load the new background, keeping the previous one: %s",
            error->message),
        (nullptr));
    g_error_free (error);
    gst_element_call_async (GST_ELEMENT (self), remove_failed_file, file, nullptr);
  }
  gst_message_unref (message);
}

/* Adds a ghost pad `name`, active if the bin has started: (transfer none) */
static GstPad *
add_requested_pad (
    GstGreenscreenBin *self, const gchar *name, GstPad *target, GstPadTemplate *of)
{
  GstPad *pad = gst_ghost_pad_new_from_template (name, target, of);
  if (GST_STATE (self) > GST_STATE_READY)
    gst_pad_set_active (pad, TRUE);
  gst_element_add_pad (GST_ELEMENT (self), pad);
  return pad;
}

/* (transfer none) (nullable): a ghost pad of a request pad of chromakey */
static GstPad *
request_key_pad (GstGreenscreenBin *self, const gchar *name, GstPadTemplate *of)
{
  GstPad *used = gst_element_get_static_pad (self->key, name);
  GstPad *target = used ? nullptr : gst_element_request_pad_simple (self->key, name);
  gst_clear_object (&used);
  if (!target)
    return nullptr;
  GstPad *pad = add_requested_pad (self, name, target, of);
  gst_object_unref (target);
  return pad;
}

static GstPad *
request_background (GstGreenscreenBin *self, GstPadTemplate *of)
{
  if (self->compositor)
    return nullptr;
  GstElement *queue = nullptr;
  GstElement *first = add_background_converter (self, &queue);
  if (!first || !insert_compositor (self))
    return nullptr;
  GstPad *end = gst_element_get_static_pad (queue, "src");
  gst_object_unref (link_background (self, end));
  gst_object_unref (end);
  GstPad *target = gst_element_get_static_pad (first, "sink");
  self->background = add_requested_pad (self, "background", target, of);
  gst_object_unref (target);
  if (GST_STATE (self) > GST_STATE_NULL)
    gst_bin_sync_children_states (GST_BIN (self));
  return self->background;
}

/* Puts a tee behind the matte, with a branch that ends in `matte_end`. */
static bool
insert_matte_branch (GstGreenscreenBin *self)
{
  GstElement *split = add (self, "tee");
  GstElement *queue = add (self, "queue");
  GstElement *convert = add (self, "openclconvert");
  GstElement *caps = add (self, "capsfilter");
  GstElement *download = add (self, "opencldownload");
  GstElement *next = self->compositor ? self->foreground_queue : self->fill;
  if (!split || !queue || !convert || !caps || !download)
    return false;
  g_object_set (split, "allow-not-linked", TRUE, nullptr);
  g_object_set (convert, "alpha-only", TRUE, nullptr);
  gst_util_set_object_arg (G_OBJECT (caps), "caps", ON_DEVICE ", format=GRAY8");
  gst_element_unlink (self->shape, next);
  gst_element_link_many (self->shape, split, next, nullptr);
  gst_element_link_many (split, queue, convert, caps, download, nullptr);
  self->matte_split = split;
  self->matte_end = download;
  if (GST_STATE (self) > GST_STATE_NULL)
    gst_bin_sync_children_states (GST_BIN (self));
  return true;
}

/* Elements that have started are not relinked. */
static GstPad *
request_matte (GstGreenscreenBin *self, GstPadTemplate *of)
{
  GstPad *used = gst_element_get_static_pad (GST_ELEMENT (self), "matte");
  const bool is_used = used != nullptr;
  gst_clear_object (&used);
  if (is_used || GST_STATE (self) > GST_STATE_READY)
    return nullptr;
  if (!self->matte_split && !insert_matte_branch (self))
    return nullptr;
  GstPad *target = gst_element_get_static_pad (self->matte_end, "src");
  GstPad *pad = add_requested_pad (self, "matte", target, of);
  gst_object_unref (target);
  return pad;
}

static GstPad *
gst_greenscreen_bin_request_new_pad (
    GstElement *element, GstPadTemplate *of, const gchar *name, const GstCaps *)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);

  if (!name || self->missing) /* gst_element_link() gives no name */
    return nullptr;
  if (g_str_equal (name, "matte"))
    return request_matte (self, of);
  return g_str_equal (name, "background") ? request_background (self, of)
                                          : request_key_pad (self, name, of);
}

/* The compositor stays and shows the foreground alone. */
static void
gst_greenscreen_bin_release_pad (GstElement *element, GstPad *pad)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);
  GstPad *target = gst_ghost_pad_get_target (GST_GHOST_PAD (pad));

  gst_pad_set_active (pad, FALSE);
  const bool is_source = GST_PAD_IS_SRC (pad);
  if (pad == self->background)
    self->background = nullptr;
  else if (target && !is_source)
    gst_element_release_request_pad (self->key, target);
  gst_clear_object (&target);
  gst_element_remove_pad (element, pad);
}

/* A bin starts its elements from the sinks on. Until decodebin has a source pad it counts
 * as a sink, so the elements behind it are started here, before it. */
static void
start_behind_decoders (GstGreenscreenBin *self)
{
  GST_OBJECT_LOCK (self);
  const BackgroundFiles files = *self->files;
  GST_OBJECT_UNLOCK (self);
  if (!files.empty ())
    gst_element_set_state (self->compositor, GST_STATE_PAUSED);
  for (BackgroundFile *file : files) {
    for (gsize n = file->elements.size () - 1; n > 1; n--)
      gst_element_set_state (file->elements[n], GST_STATE_PAUSED);
  }
}

/* Applies the location that was set before the start. */
static void
apply_location (GstGreenscreenBin *self)
{
  GST_OBJECT_LOCK (self);
  gchar *location = g_strdup (self->location);
  BackgroundFile *last = self->files->empty () ? nullptr : self->files->back ();
  GST_OBJECT_UNLOCK (self);
  const bool is_new = location && !self->background && !self->missing
                      && (!last || last->block_probe || last->location != location);
  g_mutex_lock (&self->changing);
  BackgroundFile *file =
      is_new && insert_compositor (self) ? add_file (self, location) : nullptr;
  if (file) {
    file->pad = link_background (self, file->end);
    for (GstElement *element : file->elements)
      gst_element_set_locked_state (element, FALSE);
    remove_files_before (self, file);
  }
  g_mutex_unlock (&self->changing);
  g_free (location);
}

/* Stops (false) or restores (true) the reading of files whose decoder has no pad yet. */
static void
link_unread_files (GstGreenscreenBin *self, bool are_linked)
{
  g_mutex_lock (&self->changing);
  GST_OBJECT_LOCK (self);
  const BackgroundFiles files = *self->files;
  GST_OBJECT_UNLOCK (self);
  for (BackgroundFile *file : files) {
    if (!are_linked && file->elements[1]->numsrcpads == 0) {
      stop_reading (self, file);
    } else if (are_linked && gst_element_link (file->elements[0], file->elements[1])) {
      GST_OBJECT_LOCK (self);
      file->is_over = false;
      GST_OBJECT_UNLOCK (self);
    }
  }
  g_mutex_unlock (&self->changing);
}

static GstStateChangeReturn
gst_greenscreen_bin_change_state (GstElement *element, GstStateChange change)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);

  /* After a failure, GStreamer changes from NULL to NULL. */
  const bool rises = change == GST_STATE_CHANGE_NULL_TO_READY
                     || change == GST_STATE_CHANGE_READY_TO_PAUSED;

  if (rises)
    apply_location (self);
  if (rises && !prepare_elements (self))
    return GST_STATE_CHANGE_FAILURE;
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) {
    link_unread_files (self, true);
    start_behind_decoders (self);
  }
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY)
    link_unread_files (self, false);
  const GstStateChangeReturn result = GST_ELEMENT_CLASS (gst_greenscreen_bin_parent_class)
                                          ->change_state (element, change);
  /* After a failure, GstBin also changes the state of locked elements, but not here. */
  if (change == GST_STATE_CHANGE_READY_TO_NULL)
    for (GstElement *child : {self->key, self->network, self->refine, self->split,
             self->ahead, self->mattes, self->fill})
      if (child && gst_element_is_locked_state (child))
        gst_element_set_state (child, GST_STATE_NULL);
  return result;
}

/* --- properties --- */

static void
gst_greenscreen_bin_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);

  if (id >= FIRST_SHAPE_PROPERTY) {
    opencl::forward_set (self->shape, value, spec);
  } else if (id >= FIRST_KEY_PROPERTY) {
    opencl::forward_set (self->key, value, spec);
  } else if (id == PROP_BACKGROUND_COLOR && self->fill && self->out) {
    set_background_color (self, value);
  } else if (id == PROP_SCREEN) {
    set_screen (self, Screen (g_value_get_enum (value)));
  } else if (id == PROP_MODEL_FILE) {
    set_model_file (self, g_value_get_string (value));
  } else if (id == PROP_LIGHT_WRAP) {
    set_light_wrap (self, g_value_get_double (value));
  } else if (id == PROP_BACKGROUND_LOCATION) {
    GST_OBJECT_LOCK (self);
    g_free (self->location);
    self->location = g_value_dup_string (value);
    const bool plays = GST_STATE (self) >= GST_STATE_PAUSED;
    const bool has_file_background = !self->files->empty ();
    GST_OBJECT_UNLOCK (self);
    if (!plays || !g_value_get_string (value))
      return;
    if (has_file_background)
      change_file (self, g_value_get_string (value));
    else
      GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
          ("background-location takes effect at the next start, as the element started "
           "without a background file"),
          (nullptr));
  }
}

static void
gst_greenscreen_bin_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);

  if (id >= FIRST_SHAPE_PROPERTY) {
    opencl::forward_get (self->shape, value, spec);
  } else if (id >= FIRST_KEY_PROPERTY) {
    opencl::forward_get (self->key, value, spec);
  } else if (id == PROP_BACKGROUND_COLOR && self->fill) {
    g_object_get_property (G_OBJECT (self->fill), "color", value);
  } else if (id == PROP_SCREEN) {
    g_value_set_enum (value, int (self->screen));
  } else if (id == PROP_MODEL_FILE) {
    GST_OBJECT_LOCK (self);
    g_value_set_string (value, self->model_file);
    GST_OBJECT_UNLOCK (self);
  } else if (id == PROP_LIGHT_WRAP) {
    GST_OBJECT_LOCK (self);
    g_value_set_double (value, self->light_wrap);
    GST_OBJECT_UNLOCK (self);
  } else if (id == PROP_BACKGROUND_LOCATION) {
    GST_OBJECT_LOCK (self);
    g_value_set_string (value, self->location);
    GST_OBJECT_UNLOCK (self);
  }
}

static void
gst_greenscreen_bin_finalize (GObject *object)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);
  for (BackgroundFile *file : *self->files) {
    gst_clear_object (&file->pad);
    gst_clear_object (&file->end);
    gst_clear_buffer (&file->frame);
    delete file;
  }
  delete self->files;
  g_mutex_clear (&self->changing);
  g_free (self->location);
  g_free (self->model_file);
  G_OBJECT_CLASS (gst_greenscreen_bin_parent_class)->finalize (object);
}

static void
add_key_pads (GstElementClass *klass, GType key)
{
  auto *key_class = GST_ELEMENT_CLASS (g_type_class_ref (key));
  for (const char *name : key_pads)
    gst_element_class_add_pad_template (klass,
        GST_PAD_TEMPLATE (
            gst_object_ref (gst_element_class_get_pad_template (key_class, name))));
  g_type_class_unref (key_class);
}

static void
gst_greenscreen_bin_class_init (GstGreenscreenBinClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  const GParamFlags flags = GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

  object_class->finalize = gst_greenscreen_bin_finalize;
  object_class->set_property = gst_greenscreen_bin_set_property;
  object_class->get_property = gst_greenscreen_bin_get_property;
  g_object_class_install_property (object_class, PROP_BACKGROUND_LOCATION,
      g_param_spec_string ("background-location", "Background location",
          "Image or video file for the background, if the pad background is not linked",
          nullptr, GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property (object_class, PROP_BACKGROUND_COLOR,
      g_param_spec_uint ("background-color", "Background color",
          "Background colour, 0xAARRGGBB (0 = transparent; without a background file or "
          "stream)",
          0, G_MAXUINT, 0xff000000, GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property (object_class, PROP_SCREEN,
      g_param_spec_enum ("screen", "Screen",
          "Method that separates the person from the background (none = the network "
          "model-file alone, without the properties of chromakey)",
          screen_get_type (), int (Screen::key),
          GParamFlags (flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property (object_class, PROP_MODEL_FILE,
      g_param_spec_string ("model-file", "Model file",
          "ONNX file of a matting network (screen=none and screen=auto)", nullptr,
          GParamFlags (flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property (object_class, PROP_LIGHT_WRAP,
      g_param_spec_double ("light-wrap", "Light wrap",
          "Strength of the light wrap from the background (0 = none; with a background "
          "file or stream)",
          0, 1, 0, GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  const GType key = gst_chroma_key_get_type ();
  opencl::install_properties_of (object_class, key, FIRST_KEY_PROPERTY,
      opencl::is_class_property_or_device (key), std::begin (defaults),
      std::end (defaults));
  opencl::install_properties_of (object_class, gst_matte_shape_get_type (),
      FIRST_SHAPE_PROPERTY, [] (GParamSpec *spec) {
        return std::any_of (std::begin (shape_properties), std::end (shape_properties),
            [&] (const char *name) { return g_str_equal (spec->name, name); });
      });
  add_key_pads (element_class, key);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &background_template);
  gst_element_class_add_static_pad_template (element_class, &matte_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Green screen",
      "Filter/Effect/Video",
      "Keys a green screen and composites the foreground over a background on an OpenCL "
      "device",
      "The gst-opencl developers");
  element_class->request_new_pad = gst_greenscreen_bin_request_new_pad;
  GST_BIN_CLASS (klass)->handle_message = gst_greenscreen_bin_handle_message;
  element_class->release_pad = gst_greenscreen_bin_release_pad;
  element_class->change_state = gst_greenscreen_bin_change_state;

  GST_DEBUG_CATEGORY_INIT (greenscreen_bin_debug, "greenscreenbin", 0, "Green screen");
}
