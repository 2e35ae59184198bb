/* greenscreenbin: a key or a network, and a background, as one element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-greenscreenbin
 *
 * Keys a green or blue screen and composites the foreground over a background, in one
 * element. Input and output are raw video of any format, in system memory or on the
 * device. The background is the stream of the request pad `background` while that is
 * linked, the image or video file `background-location`, or else `background-color`
 * (0 = transparent). It is scaled to the size of the input. A background that ends before
 * the input repeats its last frame. A film restarts when the input seeks.
 *
 * Films of telephones are turned as their tag says with `video-direction=auto`. Interlaced
 * film needs `deinterlace` before this element, which warns of it.
 *
 * All of this may change while playing. A new file is shown as soon as its first frame is
 * decoded, and a linked pad as soon as it has a frame. If a file cannot be read, the
 * element posts a warning and keeps the previous background, which `background-location`
 * then names again.
 *
 * Opaque output is I420 or NV12 if downstream accepts one of them, so that encoders write
 * 4:2:0 video, which all players show. Elements that only accept full chroma, such as
 * `pngenc`, get full chroma, also behind `videoconvert`. With a transparent
 * `background-color` the output has alpha if downstream accepts it. A `capsfilter` behind it
 * chooses another format.
 *
 * `grow` and `feather` change the shape of the matte, as in #matteshape. `light-wrap` lets
 * the light of a background file or stream bleed over the edges of the foreground, as in
 * #openclcompositor. Where light is keyed (`mixing`), such a background is blended in light,
 * too, but not with `screen=none`: networks learn from pictures whose levels were mixed.
 *
 * The request pads `garbage`, `holdout` and `plate` are those of #chromakey: mattes of
 * what is keyed out and of what stays, and an image of the empty screen. The request pad
 * `matte` gives the matte as GRAY8 video. All request pads are linked by their names only,
 * never by gst_element_link().
 *
 * The other properties are those of #chromakey, with the defaults `method=difference
 * auto-key=screen spill=1`.
 *
 * `screen=none` needs no screen. The network `model-file` finds the person, and #matterefine
 * refines its matte. The properties and request pads of #chromakey cannot be used then,
 * except for `device`. `screen` may change between two frames. If the network cannot
 * start, the element posts a warning and keeps the previous value.
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
 * has this value. `input::caps` is the format that is keyed: with RGBA64_LE the matte of a
 * transparent output has 16 bits.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 playbin uri=file:///tmp/actor.webm
 * video-filter="greenscreenbin background-location=/tmp/beach.jpg"
 * ]|
 * |[
 * gst-launch-1.0 v4l2src ! greenscreenbin name=key grow=-1 feather=1 light-wrap=0.4
 * background-location=/tmp/beach.jpg ! videoconvert ! autovideosink
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
#include <gst/base/gstbasetransform.h>
#include <gst/common/elementbin.hpp>
#include <gst/common/elementerror.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/common/platform.hpp>
#include <gst/common/buffers.hpp>
#include <gst/common/settings.hpp>
#include <gst/video/video.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backgrounds.hpp"
#include "elements.h"

GST_DEBUG_CATEGORY_STATIC (greenscreen_bin_debug);
#define GST_CAT_DEFAULT greenscreen_bin_debug

#define ON_DEVICE "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
/* 8-bit formats that chromakey accepts without conversion */
#define KEYED_FORMATS ON_DEVICE ", format={RGBA, NV12, NV21, I420, YV12, YUY2, UYVY}"
/* openclinference samples each pixel several times, so one conversion ahead is faster. */
#define NETWORK_FORMATS ON_DEVICE ", format=RGBA"
/* RGBA64_LE only if the child `input` is set to it. */
#define SPLIT_FORMATS ON_DEVICE ", format={RGBA, RGBA64_LE}"
#define CAPS "video/x-raw(ANY)"

namespace {
using keying::Backgrounds;
using opencl::ObjectLock;

enum {
  PROP_BACKGROUND_LOCATION = 1,
  PROP_BACKGROUND_COLOR,
  PROP_SCREEN,
  PROP_MODEL_FILE,
  PROP_VIDEO_DIRECTION,
  FIRST_KEY_PROPERTY,          /* first property of chromakey */
  FIRST_SHAPE_PROPERTY = 1000, /* first property of matteshape */
  FIRST_FILL_PROPERTY = 2000,  /* first property of keyfill */
};

/* Defaults that differ from those of chromakey */
const opencl::OwnDefault defaults[] = {
    {"method", "difference"}, {"auto-key", "screen"}, {"spill", "1"}};

/* Properties of matteshape and keyfill */
const char *const shape_properties[] = {"grow", "feather"};
const char *const fill_properties[] = {"light-wrap"};

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

const char matte_description[] =
    "queue ! openclconvert alpha-only=true ! " ON_DEVICE ",format=GRAY8 ! opencldownload";
} // namespace

#define GST_TYPE_GREENSCREEN_BIN (gst_greenscreen_bin_get_type ())
G_DECLARE_FINAL_TYPE (
    GstGreenscreenBin, gst_greenscreen_bin, GST, GREENSCREEN_BIN, GstBin)

struct _GstGreenscreenBin {
  GstBin parent;

  const gchar *missing;         /* (nullable): a required factory that is not installed */
  const gchar *missing_network; /* (nullable): the same for a network */
  GstElement *convert;          /* to formats of the key or network; turns frames */
  GstElement *input;            /* capsfilter before key or network */
  GstElement *key, *fill;
  GstElement *network, *refine; /* (nullable): instead of key if there is no screen */
  GstElement *split, *ahead;    /* (nullable): tee and queue before key, with mattes */
  GstElement *mattes;           /* (nullable): bin that feeds the mattes of key */
  GstElement *shape;            /* behind key or refine */
  GstElement *keyed;            /* tee behind shape, for the pad matte */
  GstElement *matte;            /* (nullable): bin of the pad matte */
  GstPad *background;           /* (nullable): the request pad */
  Backgrounds *backgrounds;
  gchar *model_file; /* (nullable); object lock */
  /* A streaming thread, which may wait for the application, does not take it. */
  std::recursive_mutex *changing_screen;
  Screen screen, wanted_screen; /* in effect, and set; object lock */
  gchar *failure; /* (nullable): of elements that start for `screen`; object lock */
  bool is_trying; /* these start while playing; object lock */
};

G_DEFINE_TYPE (GstGreenscreenBin, gst_greenscreen_bin, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE (
    greenscreenbin, "greenscreenbin", GST_RANK_NONE, GST_TYPE_GREENSCREEN_BIN)

GType gst_chroma_key_get_type (void);
GType gst_matte_shape_get_type (void);
GType gst_key_fill_get_type (void);

static GstStaticPadTemplate background_template = GST_STATIC_PAD_TEMPLATE (
    "background", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate matte_template = GST_STATIC_PAD_TEMPLATE (
    "matte", GST_PAD_SRC, GST_PAD_REQUEST, GST_STATIC_CAPS (CAPS ", format=GRAY8"));

/* --- elements --- */

static GstElement *
add (GstGreenscreenBin *self, const gchar *factory)
{
  return opencl::add_to_bin (self, factory, &self->missing);
}

/* --- key or network --- */

const opencl::EnumTypeOf<Screen> screen_type ("GstGreenscreenBinScreen",
    {
        {Screen::key, "Key the colour of a green or blue screen", "key"},
        {Screen::none, "Find the person with the network model-file", "none"},
        {Screen::automatic,
            "Key the screen, with garbage and holdout mattes of the network model-file",
            "auto"},
    });

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

/* Starts and links the elements of `screen`, or stops and unlinks them. Returns false if
 * they cannot start. */
static bool
use_matte (GstGreenscreenBin *self, bool is_used)
{
  const MatteChain chain = matte_chain_of (self);
  bool has_started = true;
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
    return true;
  }
  gst_util_set_object_arg (G_OBJECT (self->input), "caps",
      chain.first == self->key ? KEYED_FORMATS : NETWORK_FORMATS);
  gst_element_link (self->input, chain.first);
  gst_element_link (chain.last, self->shape);
  for (GstElement *element : chain.elements)
    has_started = has_started && gst_element_sync_state_with_parent (element);
  return has_started;
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
  {
    ObjectLock lock (self);
    g_free (self->model_file);
    self->model_file = g_strdup (file);
  }
  set_networks (self, "model-file", file);
}

static void
add_network (GstGreenscreenBin *self)
{
  self->network = opencl::add_to_bin (
      self, "openclinference", &self->missing_network, "network", true);
  self->refine =
      opencl::add_to_bin (self, "matterefine", &self->missing_network, "refine", true);
  if (self->missing_network)
    return;
  gst_util_set_object_arg (G_OBJECT (self->network), "output", "alpha");
  g_object_set (self->network, "model-file", self->model_file, nullptr);
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
  GstCaps *caps = opencl::filtered_caps (gst_caps_from_string (SPLIT_FORMATS), filter);
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
  /* Launch lines would find an automatic name, such as tee0, before a tee0 of the user. */
  self->split = opencl::add_to_bin (self, "tee", &self->missing_network, "split", true);
  self->ahead = opencl::add_to_bin (self, "queue", &self->missing_network, "ahead", true);
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
  gst_element_set_locked_state (self->mattes, TRUE);
  gst_bin_add (GST_BIN (self), self->mattes);
  gst_element_link (self->split, self->ahead);
  gst_element_link (self->split, self->mattes);
  set_networks (self, "model-file", self->model_file);
}

/* Returns whether the bin has a pad whose target the network of `screen` replaces. */
static bool
has_idle_pad (GstGreenscreenBin *self, Screen screen)
{
  return std::any_of (std::begin (key_pads), std::end (key_pads), [&] (const char *name) {
    GstPad *pad = gst_element_get_static_pad (GST_ELEMENT (self), name);
    const bool has_pad = pad != nullptr;
    gst_clear_object (&pad);
    return has_pad && screen != Screen::key
           && (screen == Screen::none || !g_str_equal (name, "plate"));
  });
}

#define IDLE_PAD                                                                         \
  "The pads garbage and holdout need screen=key, and the pad plate needs a screen"

/* Gives networks the device of chromakey. */
static void
set_device_of_networks (GstGreenscreenBin *self)
{
  gchar *device = nullptr;
  g_object_get (self->key, "device", &device, nullptr);
  set_networks (self, "device", device);
  g_free (device);
}

/* Returns true if all elements exist and can be used. Otherwise posts one error. */
static bool
prepare_elements (GstGreenscreenBin *self)
{
  if (!opencl::report_missing (self, self->missing))
    return false;
  if (self->screen == Screen::key)
    return true;
  if (!opencl::report_missing (self, self->missing_network))
    return false;
  if (has_idle_pad (self, self->screen)) {
    GST_ELEMENT_ERROR (self, LIBRARY, SETTINGS, (IDLE_PAD), (nullptr));
    return false;
  }
  set_device_of_networks (self);
  return true;
}

/* Transforms `linear` of the key to that of the background. */
static gboolean
blends_light (GBinding *, const GValue *keys_light, GValue *blends, gpointer bin)
{
  const bool has_key = GST_GREENSCREEN_BIN (bin)->screen != Screen::none;
  g_value_set_boolean (blends, has_key && g_value_get_boolean (keys_light));
  return TRUE;
}

/* Takes the elements of `screen` into use instead of the present ones, which have no frame
 * any more. */
static bool
exchange_matte (GstGreenscreenBin *self, Screen screen)
{
  use_matte (self, false);
  GST_OBJECT_LOCK (self);
  self->screen = screen;
  GST_OBJECT_UNLOCK (self);
  g_object_notify (G_OBJECT (self->key), "linear"); /* for blends_light () */
  return use_matte (self, true);
}

/* Waits until the queues of screen=auto have no frame any more. */
static void
drain_queues (GstGreenscreenBin *self, GstPad *source)
{
  GstQuery *drain = gst_query_new_drain ();
  if (self->screen == Screen::automatic)
    gst_pad_peer_query (source, drain);
  gst_query_unref (drain);
}

/* Returns the reason why the elements of `screen` cannot be used, or NULL. */
static gchar *
try_screen (GstGreenscreenBin *self, GstPad *source, Screen screen)
{
  const Screen before = self->screen;
  if (self->missing_network)
    return g_strdup_printf ("No element \"%s\"", self->missing_network);
  if (has_idle_pad (self, screen))
    return g_strdup (IDLE_PAD);
  set_device_of_networks (self);
  drain_queues (self, source);
  GST_OBJECT_LOCK (self);
  self->is_trying = true;
  GST_OBJECT_UNLOCK (self);
  const bool has_started = exchange_matte (self, screen);
  GST_OBJECT_LOCK (self);
  self->is_trying = false;
  gchar *failure = std::exchange (self->failure, nullptr);
  GST_OBJECT_UNLOCK (self);
  if (has_started) {
    g_free (failure);
    return nullptr;
  }
  exchange_matte (self, before);
  return failure ? failure : g_strdup ("its elements do not start");
}

/* Changes to the screen that was set. Runs in the streaming thread, between two frames.
 * While the bin changes state, a later frame does it: if an element did not start, that
 * change would fail, too. */
static GstPadProbeReturn
follow_screen (GstPad *source, GstPadProbeInfo *, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (data);
  if (!GST_STATE_TRYLOCK (self))
    return GST_PAD_PROBE_PASS;
  GST_OBJECT_LOCK (self);
  const Screen wanted = self->wanted_screen;
  GST_OBJECT_UNLOCK (self);
  gchar *failure = wanted != self->screen ? try_screen (self, source, wanted) : nullptr;
  GST_STATE_UNLOCK (self);
  if (!failure)
    return GST_PAD_PROBE_REMOVE;
  GST_OBJECT_LOCK (self);
  self->wanted_screen = self->screen;
  GST_OBJECT_UNLOCK (self);
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
      ("Could not change screen, keeping the previous one: %s", failure), (nullptr));
  g_object_notify (G_OBJECT (self), "screen");
  g_free (failure);
  return GST_PAD_PROBE_REMOVE;
}

/* Takes the screen that was set into use while there are no frames. */
static void
apply_screen (GstGreenscreenBin *self)
{
  if (self->wanted_screen == self->screen)
    return;
  if (self->missing || self->missing_network)
    self->screen = self->wanted_screen;
  else
    exchange_matte (self, self->wanted_screen);
}

/* A missing plugin is reported at the start. */
static void
set_screen (GstGreenscreenBin *self, Screen screen)
{
  const std::lock_guard<std::recursive_mutex> lock (*self->changing_screen);
  if (screen == Screen::none && !self->refine)
    add_network (self);
  if (screen == Screen::automatic && !self->split)
    add_mattes (self);
  GST_OBJECT_LOCK (self);
  self->wanted_screen = screen;
  const bool has_frames = MAX (GST_STATE (self), GST_STATE_NEXT (self)) > GST_STATE_READY;
  GST_OBJECT_UNLOCK (self);
  if (!has_frames)
    return apply_screen (self);
  GstPad *source = gst_element_get_static_pad (self->input, "src");
  gst_pad_add_probe (source,
      GstPadProbeType (GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      follow_screen, self, nullptr);
  gst_object_unref (source);
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

/* Lets an element pass frames on while it has nothing to do. */
static void
use_if (GstElement *element, bool is_used)
{
  auto *transform = GST_BASE_TRANSFORM (element);
  if (gst_base_transform_is_passthrough (transform) == is_used) {
    gst_base_transform_set_passthrough (transform, !is_used);
    gst_base_transform_reconfigure_src (transform);
  }
}

/* Runs in the streaming thread, before each frame of the foreground and at a flush. */
static GstPadProbeReturn
watch_foreground (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (data);
  const GstSegment *segment = nullptr;
  GstClockTime now = 0;

  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    use_if (self->shape,
        std::any_of (std::begin (shape_properties), std::end (shape_properties),
            [&] (const char *name) { return has_own_value (self->shape, name); }));
    use_if (self->fill, !self->backgrounds->are_empty ());
    GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
    if (!event)
      return GST_PAD_PROBE_OK;
    gst_event_parse_segment (event, &segment);
    now = opencl::running_time_of (
        *segment, GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)));
    gst_event_unref (event);
  }
  self->backgrounds->set_time (now);
  if (!segment
      && GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP)
    self->backgrounds->restart_film ();
  return GST_PAD_PROBE_OK;
}

static void
watch_shape (GstGreenscreenBin *self)
{
  GstPad *sink = gst_element_get_static_pad (self->shape, "sink");
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (self->shape), TRUE);
  gst_pad_add_probe (sink,
      GstPadProbeType (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_FLUSH),
      watch_foreground, self, nullptr);
  gst_object_unref (sink);
}

/* --- the chain --- */

/* The stream of the pad background follows a seek. */
static gboolean
gst_greenscreen_bin_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstPad *background = gst_element_get_static_pad (GST_ELEMENT (parent), "background");
  if (background && GST_EVENT_TYPE (event) == GST_EVENT_SEEK)
    gst_pad_push_event (background, gst_event_ref (event));
  gst_clear_object (&background);
  return gst_pad_event_default (pad, parent, event);
}

static GstElement *
part_of (GstGreenscreenBin *self, guint id)
{
  return id >= FIRST_FILL_PROPERTY    ? self->fill
         : id >= FIRST_SHAPE_PROPERTY ? self->shape
                                      : self->key;
}

static void
gst_greenscreen_bin_init (GstGreenscreenBin *self)
{
  self->backgrounds = new Backgrounds (self);
  self->changing_screen = new std::recursive_mutex;
  GstElement *upload = add (self, "openclupload");
  self->convert = add (self, "openclconvert");
  self->input = opencl::add_to_bin (self, "capsfilter", &self->missing, "input");
  self->key = opencl::add_to_bin (self, "chromakey", &self->missing, "chromakey");
  self->shape = add (self, "matteshape");
  self->keyed = opencl::add_to_bin (self, "tee", &self->missing, "keyed");
  self->fill = add (self, "keyfill");
  GstElement *out = add (self, "openclconvert");
  GstElement *download = add (self, "opencldownload");

  self->backgrounds->set_elements (self->fill, out);
  if (self->missing)
    return;
  for (GstElement *part : {self->key, self->shape, self->fill})
    opencl::forward_bindings (self, part, [self, part] (GParamSpec *spec) {
      return spec->param_id >= FIRST_KEY_PROPERTY
             && part_of (self, spec->param_id) == part;
    });
  opencl::set_own_defaults (self->key, std::begin (defaults), std::end (defaults));
  gst_util_set_object_arg (G_OBJECT (self->fill), "method", "composite");
  g_object_bind_property_full (self->key, "linear", self->fill, "linear",
      G_BINDING_SYNC_CREATE, blends_light, nullptr, self, nullptr);
  watch_shape (self);
  gst_util_set_object_arg (G_OBJECT (self->input), "caps", KEYED_FORMATS);
  gst_element_link_many (upload, self->convert, self->input, self->key, self->shape,
      self->keyed, self->fill, out, download, nullptr);
  opencl::add_ghost_pad (self, "sink", upload, "sink");
  opencl::add_ghost_pad (self, "src", download, "src");
  self->backgrounds->prefer_formats (download);
  GstPad *end = gst_element_get_static_pad (GST_ELEMENT (self), "src");
  gst_pad_set_event_function (end, gst_greenscreen_bin_src_event);
  gst_object_unref (end);
}

/* --- errors --- */

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

/* Returns what becomes of the error of a child. Keeps that of an element that is tried. */
static Backgrounds::Fate
judge_error (GstGreenscreenBin *self, GstObject *child, const GError *error)
{
  Backgrounds::Fate fate;
  if (self->backgrounds->judge_error (child, fate))
    return fate;
  ObjectLock lock (self);
  if (!self->is_trying)
    return Backgrounds::Fate::post;
  if (!self->failure)
    self->failure = g_strdup (error->message);
  return Backgrounds::Fate::drop;
}

static void
handle_error (GstGreenscreenBin *self, GstMessage *message)
{
  GError *error = nullptr;
  gst_message_parse_error (message, &error, nullptr);
  GstObject *child = child_of (self, GST_MESSAGE_SRC (message));
  const Backgrounds::Fate fate = judge_error (self, child, error);
  gst_clear_object (&child);
  if (fate == Backgrounds::Fate::warn) {
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("Could not load the new background, keeping the previous one: %s",
            error->message),
        (nullptr));
    self->backgrounds->settle ();
  }
  g_error_free (error);
  if (fate == Backgrounds::Fate::post)
    GST_BIN_CLASS (gst_greenscreen_bin_parent_class)
        ->handle_message (GST_BIN (self), message);
  else
    gst_message_unref (message);
}

/* Turns errors of a file that is not shown into warnings, so that a bad file does not end
 * the stream. */
static void
gst_greenscreen_bin_handle_message (GstBin *bin, GstMessage *message)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR && GST_MESSAGE_SRC (message))
    handle_error (GST_GREENSCREEN_BIN (bin), message);
  else
    GST_BIN_CLASS (gst_greenscreen_bin_parent_class)->handle_message (bin, message);
}

/* --- request pads --- */

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

static void
show_stream (GstPad *, GstPad *, gpointer self)
{
  GST_GREENSCREEN_BIN (self)->backgrounds->show_stream ();
}

static void
hide_stream (GstPad *pad, GstPad *, gpointer self)
{
  GST_GREENSCREEN_BIN (self)->backgrounds->hide_stream (pad);
}

static GstPad *
request_background (GstGreenscreenBin *self, GstPadTemplate *of)
{
  GstPad *target = self->background ? nullptr : self->backgrounds->add_stream ();
  if (!target)
    return nullptr;
  self->background = add_requested_pad (self, "background", target, of);
  g_signal_connect (self->background, "linked", G_CALLBACK (show_stream), self);
  g_signal_connect (self->background, "unlinked", G_CALLBACK (hide_stream), self);
  gst_object_unref (target);
  return self->background;
}

static void
release_background (GstGreenscreenBin *self)
{
  g_signal_handlers_disconnect_by_data (std::exchange (self->background, nullptr), self);
  self->backgrounds->remove_stream ();
}

static GstPad *
request_matte (GstGreenscreenBin *self, GstPadTemplate *of)
{
  self->matte = self->matte ? nullptr : keying::parse_bin (self, matte_description);
  if (!self->matte)
    return nullptr;
  gst_bin_add (GST_BIN (self), self->matte);
  gst_element_sync_state_with_parent (self->matte);
  gst_element_link (self->keyed, self->matte);
  GstPad *target = gst_element_get_static_pad (self->matte, "src");
  GstPad *pad = add_requested_pad (self, "matte", target, of);
  gst_object_unref (target);
  return pad;
}

static void
release_matte (GstGreenscreenBin *self)
{
  GstElement *matte = std::exchange (self->matte, nullptr);
  if (!matte)
    return;
  GstPad *sink = gst_element_get_static_pad (matte, "sink");
  GstPad *source = gst_pad_get_peer (sink);
  gst_element_release_request_pad (self->keyed, source);
  gst_object_unref (source);
  gst_object_unref (sink);
  opencl::remove_from_bin (self, matte);
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

static void
gst_greenscreen_bin_release_pad (GstElement *element, GstPad *pad)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);
  GstPad *target = gst_ghost_pad_get_target (GST_GHOST_PAD (pad));

  gst_pad_set_active (pad, FALSE);
  if (pad == self->background)
    release_background (self);
  else if (GST_PAD_IS_SRC (pad))
    release_matte (self);
  else if (target)
    gst_element_release_request_pad (self->key, target);
  gst_clear_object (&target);
  gst_element_remove_pad (element, pad);
}

static GstStateChangeReturn
gst_greenscreen_bin_change_state (GstElement *element, GstStateChange change)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (element);

  /* After a failure, GStreamer changes from NULL to NULL. */
  const bool rises = change == GST_STATE_CHANGE_NULL_TO_READY
                     || change == GST_STATE_CHANGE_READY_TO_PAUSED;

  if (rises) {
    const std::lock_guard<std::recursive_mutex> lock (*self->changing_screen);
    apply_screen (self);
    if (!prepare_elements (self))
      return GST_STATE_CHANGE_FAILURE;
  }
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED)
    self->backgrounds->start ();
  if (GST_STATE_TRANSITION_NEXT (change) <= GST_STATE_READY)
    self->backgrounds->stop ();
  const GstStateChangeReturn result = GST_ELEMENT_CLASS (gst_greenscreen_bin_parent_class)
                                          ->change_state (element, change);
  /* After a failure, GstBin also changes the state of locked elements, but not here. */
  if (change == GST_STATE_CHANGE_READY_TO_NULL)
    for (GstElement *child :
        {self->key, self->network, self->refine, self->split, self->ahead, self->mattes})
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

  switch (id) {
  case PROP_BACKGROUND_LOCATION:
    self->backgrounds->set_location (g_value_get_string (value));
    break;
  case PROP_BACKGROUND_COLOR:
    self->backgrounds->set_color (g_value_get_uint (value));
    break;
  case PROP_SCREEN:
    set_screen (self, Screen (g_value_get_enum (value)));
    break;
  case PROP_MODEL_FILE:
    set_model_file (self, g_value_get_string (value));
    break;
  case PROP_VIDEO_DIRECTION:
    opencl::forward_set (self->convert, value, spec);
    break;
  default:
    opencl::forward_set (part_of (self, id), value, spec);
  }
}

static void
gst_greenscreen_bin_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);

  if (id == PROP_BACKGROUND_LOCATION) {
    g_value_take_string (value, self->backgrounds->dup_location ());
  } else if (id == PROP_BACKGROUND_COLOR && self->fill) {
    g_object_get_property (G_OBJECT (self->fill), "color", value);
  } else if (id == PROP_SCREEN) {
    ObjectLock lock (self);
    g_value_set_enum (value, int (self->wanted_screen));
  } else if (id == PROP_MODEL_FILE) {
    ObjectLock lock (self);
    g_value_set_string (value, self->model_file);
  } else if (id == PROP_VIDEO_DIRECTION) {
    opencl::forward_get (self->convert, value, spec);
  } else if (id >= FIRST_KEY_PROPERTY) {
    opencl::forward_get (part_of (self, id), value, spec);
  }
}

/* GstBin removes its children before GstElement releases request pads. */
static void
gst_greenscreen_bin_dispose (GObject *object)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);
  if (self->background) {
    g_signal_handlers_disconnect_by_data (self->background, self);
    gst_ghost_pad_set_target (GST_GHOST_PAD (self->background), nullptr);
    self->backgrounds->forget_stream ();
  }
  self->background = nullptr;
  self->matte = nullptr;
  G_OBJECT_CLASS (gst_greenscreen_bin_parent_class)->dispose (object);
}

static void
gst_greenscreen_bin_finalize (GObject *object)
{
  GstGreenscreenBin *self = GST_GREENSCREEN_BIN (object);
  delete self->backgrounds;
  delete self->changing_screen;
  g_free (self->model_file);
  g_free (self->failure);
  G_OBJECT_CLASS (gst_greenscreen_bin_parent_class)->finalize (object);
}

template <gsize n>
static std::function<bool (GParamSpec *)>
is_any_of (const char *const (&names)[n])
{
  return [&names] (GParamSpec *spec) {
    return std::any_of (std::begin (names), std::end (names),
        [&] (const char *name) { return g_str_equal (spec->name, name); });
  };
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

  object_class->dispose = gst_greenscreen_bin_dispose;
  object_class->finalize = gst_greenscreen_bin_finalize;
  object_class->set_property = gst_greenscreen_bin_set_property;
  object_class->get_property = gst_greenscreen_bin_get_property;
  g_object_class_install_property (object_class, PROP_BACKGROUND_LOCATION,
      g_param_spec_string ("background-location", "Background location",
          "Image or video file for the background, if the pad background is not linked",
          nullptr, GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property (object_class, PROP_BACKGROUND_COLOR,
      g_param_spec_uint ("background-color", "Background color",
          "Colour of the background without background-location and without a stream at "
          "the pad background, 0xAARRGGBB (0 = transparent)",
          0, G_MAXUINT, 0xff000000, GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property (object_class, PROP_SCREEN,
      g_param_spec_enum ("screen", "Screen",
          "Method that separates the person from the background (none = the network "
          "model-file alone, without the properties of chromakey)",
          screen_type.get (), int (Screen::key),
          GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property (object_class, PROP_MODEL_FILE,
      g_param_spec_string ("model-file", "Model file",
          "ONNX file of a matting network (screen=none and screen=auto)", nullptr,
          GParamFlags (flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property (object_class, PROP_VIDEO_DIRECTION,
      g_param_spec_enum ("video-direction", "Video direction",
          "Rotation or mirroring of the input (auto = by the image-orientation tag)",
          GST_TYPE_VIDEO_ORIENTATION_METHOD, GST_VIDEO_ORIENTATION_IDENTITY,
          GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
  const GType key = gst_chroma_key_get_type ();
  opencl::install_properties_of (object_class, key, FIRST_KEY_PROPERTY,
      opencl::is_class_property_or_device (key), std::begin (defaults),
      std::end (defaults));
  opencl::install_properties_of (object_class, gst_matte_shape_get_type (),
      FIRST_SHAPE_PROPERTY, is_any_of (shape_properties));
  opencl::install_properties_of (object_class, gst_key_fill_get_type (),
      FIRST_FILL_PROPERTY, is_any_of (fill_properties));
  add_key_pads (element_class, key);

  opencl::describe_element (klass, "Green screen", "Filter/Effect/Video",
      "Keys a green screen and composites the foreground over a background on an OpenCL "
      "device",
      {CAPS, CAPS}, {&background_template, &matte_template});
  element_class->request_new_pad = gst_greenscreen_bin_request_new_pad;
  GST_BIN_CLASS (klass)->handle_message = gst_greenscreen_bin_handle_message;
  element_class->release_pad = gst_greenscreen_bin_release_pad;
  element_class->change_state = gst_greenscreen_bin_change_state;

  GST_DEBUG_CATEGORY_INIT (greenscreen_bin_debug, "greenscreenbin", 0, "Green screen");
}
