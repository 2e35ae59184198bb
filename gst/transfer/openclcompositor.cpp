/* openclcompositor: blends any number of video streams into one
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclcompositor
 * @title: openclcompositor
 *
 * Blends any number of live or recorded streams in device memory, as `compositor` does on
 * the CPU: each sink pad has a position, a size, an alpha, a z-order and an operator.
 * Alpha is straight. Scaling weights colours by alpha, so that transparent pixels do not
 * bleed into visible ones. Up to eight layers take one launch per frame, also in camera
 * formats such as NV12, I420 or YUY2. These get the same colours as from openclconvert.
 *
 * The output has alpha (RGBA, BGRA, ARGB or ABGR), or it is opaque NV12 or I420. RGB is
 * preferred, so that alpha and full chroma are kept. NV12 or I420 is preferred in two
 * cases. The first caps that downstream offers have only 4:2:0 formats, as those of
 * `openclconvert ! video/x-raw(memory:OpenCLMemory),format=NV12`, which then passes frames
 * through. Or all inputs have the same of these two formats, downstream takes one of them
 * unconverted, and `background` is not transparent. Otherwise a `capsfilter` selects them.
 *
 * In NV12 and I420 a transparent background is black. Layers are blended in RGB, and
 * samples equal those that openclconvert makes from RGBA. The samples of a layer are
 * copied, without any conversion, if it is opaque, unscaled and progressive, has even
 * position and size, and has the chroma subsampling, chroma-site and colorimetry of the
 * output. Layers that an opaque layer hides are not blended.
 *
 * With `light-wrap`, the layers below light the edges of a frame, as lenses and air
 * would. The light L is the blurred image below, times 1 minus the blurred alpha, times
 * `light-wrap`. It is screened onto the frame's colours C: C + L (1 - C). The blur is a
 * Gaussian. `light-wrap-radius`, in pixels of the output, is two standard deviations. The
 * nodes LightWrap of Nuke and Autograph do the same if they merge by "screen".
 *
 * With `linear`, light is blended instead of levels. Edges that were keyed with
 * `chromakey linear=true` are then neither too dark nor too bright.
 *
 * `crop-left` and the other crop properties crop the frames of a pad, after a frame's
 * GstVideoCropMeta. An upstream `videocrop` therefore copies nothing. The output is large
 * enough for the frames of all pads, even if downstream scales, and has the colorimetry
 * of the lowest layer.
 *
 * As in `compositor`, `width` and `height` of a pad are in pixels of its frames. If these are not
 * square, the size in the output differs. The size of the output stays when pads are moved,
 * until an input has new caps or the operator of a pad begins or ceases to be `add`.
 *
 * All inputs and the output have the same interlace-mode. Interlaced frames are scaled
 * field by field. Pointer events go to all pads whose frame is under the pointer.
 *
 * |[
 * gst-launch-1.0 openclcompositor name=mix sink_1::xpos=100 sink_1::alpha=0.5 ! \
 *   opencldownload ! videoconvert ! autovideosink \
 *   videotestsrc ! openclupload ! openclconvert ! mix.sink_0 \
 *   videotestsrc pattern=ball ! openclupload ! openclconvert ! mix.sink_1
 * ]|
 */
#include "compositor/compositorpad.h"
#include "convertcaps.hpp"
#include "elements.h"

#include <gst/common/colorconversion.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/common/settings.hpp>
#include <gst/composition/composition.hpp>
#include <gst/opencl/gstopenclaggregator.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/navigation.h>
#include <gst/opencl/gstopenclframe.h>

#include <vector>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_compositor_debug);
#define GST_CAT_DEFAULT gst_opencl_compositor_debug

#define ON_DEVICE "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"
#define CAPS_OF(formats)                                                                 \
  ON_DEVICE ", format=(string){" formats                                                 \
            "}, width=(int)[1, 32767], height=(int)[1, 32767], "                         \
            "framerate=(fraction)[0/1, 2147483647/1]"
#define WORDS "RGBA, BGRA, ARGB, ABGR"
#define SUBSAMPLED "NV12, I420"
#define CAPS CAPS_OF (WORDS ", " SUBSAMPLED)
/* Also the 8-bit formats that openclconvert reads */
#define SINK_CAPS                                                                        \
  CAPS_OF (                                                                              \
      WORDS ", " SUBSAMPLED ", YUY2, UYVY, NV21, YV12, YVYU, VYUY, Y42B, NV16, NV61, "   \
            "Y444, NV24, AYUV, VUYA, A420, RGBx, BGRx, xRGB, xBGR, RGB, BGR, GBR, "      \
            "GBRA, GRAY8")

using transfer::CompositorBackground;
using transfer::Layer;

namespace {
struct CompositorSettings {
  CompositorBackground background = CompositorBackground::checker;
  bool linear = false;
  bool zero_is_unscaled = true;
  bool ignores_inactive = false;
};

/* State of the streaming thread while the element is started */
struct CompositorWork {
  transfer::Composition composition;
  std::vector<Layer> layers; /* of the current frame */
};
} // namespace

#define GST_TYPE_OPENCL_COMPOSITOR (gst_opencl_compositor_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLCompositor, gst_opencl_compositor, GST, OPENCL_COMPOSITOR,
    GstOpenCLAggregator)

struct _GstOpenCLCompositor {
  GstOpenCLAggregator parent;

  opencl::Settings<CompositorSettings> *settings;
  CompositorWork *work; /* while started */
};

G_DEFINE_FINAL_TYPE_WITH_CODE (GstOpenCLCompositor, gst_opencl_compositor,
    GST_TYPE_OPENCL_AGGREGATOR,
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_compositor_debug, "openclcompositor", 0, "OpenCL video compositor"))
GST_ELEMENT_REGISTER_DEFINE (
    openclcompositor, "openclcompositor", GST_RANK_NONE, GST_TYPE_OPENCL_COMPOSITOR)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (SINK_CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

const opencl::EnumTypeOf<CompositorBackground> background_type (
    "GstOpenCLCompositorBackground",
    {
        {CompositorBackground::checker, "Checker pattern", "checker"},
        {CompositorBackground::black, "Black", "black"},
        {CompositorBackground::white, "White", "white"},
        {CompositorBackground::transparent, "Transparent, for further compositing",
            "transparent"},
    });

/* --- properties --- */

const opencl::PropertyTable<CompositorSettings> properties = {
    /**
     * GstOpenCLCompositor:background:
     *
     * Background below the lowest layer.
     *
     * Since: 0.2
     */
    {"background", "Background", "Background below the lowest layer",
        &CompositorSettings::background, background_type, opencl::controllable},
    /**
     * GstOpenCLCompositor:linear:
     *
     * Scale and blend in linear light, by the transfer function of each input.
     *
     * Since: 0.2
     */
    {"linear", "Linear",
        "Scale and blend in linear light, by the transfer function of each input",
        &CompositorSettings::linear, opencl::controllable},
    /**
     * GstOpenCLCompositor:zero-size-is-unscaled:
     *
     * Use the input's width or height where a pad's is 0, instead of hiding the pad.
     *
     * Since: 0.4
     */
    {"zero-size-is-unscaled", "Zero size is unscaled",
        "Use the input's width or height where a pad's is 0, instead of hiding the pad",
        &CompositorSettings::zero_is_unscaled, opencl::playing},
    /**
     * GstOpenCLCompositor:ignore-inactive-pads:
     *
     * Do not wait for pads that have had no frame yet (live pipelines).
     *
     * Since: 0.4
     */
    {"ignore-inactive-pads", "Ignore inactive pads",
        "Do not wait for pads that have had no frame yet (live pipelines)",
        &CompositorSettings::ignores_inactive, opencl::playing},
};

/* --- life cycle --- */

static gboolean
gst_opencl_compositor_open (GstOpenCLAggregator *aggregator, GError **error)
{
  GstOpenCLCompositor *self = GST_OPENCL_COMPOSITOR (aggregator);

  self->work = new CompositorWork;
  return self->work->composition.open (
      gst_opencl_aggregator_get_context (aggregator), error);
}

static void
gst_opencl_compositor_close (GstOpenCLAggregator *aggregator)
{
  GstOpenCLCompositor *self = GST_OPENCL_COMPOSITOR (aggregator);

  delete self->work;
  self->work = nullptr;
}

/* --- caps --- */

static bool
has_caps (GstVideoAggregatorPad *pad)
{
  return pad->info.finfo
         && GST_VIDEO_INFO_FORMAT (&pad->info) != GST_VIDEO_FORMAT_UNKNOWN;
}

/* Finds the format of the lowest pad that has caps. All pads have the same
 * interlace-mode. */
static bool
lowest_info (gpointer compositor, GstVideoInfo &info)
{
  bool found = false;

  GST_OBJECT_LOCK (compositor);
  for (GList *item = GST_ELEMENT (compositor)->sinkpads; item && !found;
       item = item->next) {
    GstVideoAggregatorPad *pad = GST_VIDEO_AGGREGATOR_PAD (item->data);
    found = has_caps (pad);
    if (found)
      info = pad->info;
  }
  GST_OBJECT_UNLOCK (compositor);
  return found;
}

static const gchar *
interlace_mode_of (const GstVideoInfo &info)
{
  return gst_video_interlace_mode_to_string (GST_VIDEO_INFO_INTERLACE_MODE (&info));
}

/* Returns `caps` in each interlace-mode that downstream accepts. Takes ownership of
 * `caps`. (transfer full) */
static GstCaps *
with_modes_of_downstream (GstPad *srcpad, GstCaps *caps)
{
  GstCaps *peer = gst_pad_peer_query_caps (srcpad, caps);
  GstCaps *result = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (peer); i++) {
    const GValue *mode =
        gst_structure_get_value (gst_caps_get_structure (peer, i), "interlace-mode");
    GstCaps *some = gst_caps_copy (caps);
    if (mode)
      gst_caps_set_value (some, "interlace-mode", mode);
    result = gst_caps_merge (result, some);
  }
  gst_caps_unref (peer);
  if (gst_caps_is_empty (result))
    result = gst_caps_merge (result, gst_caps_ref (caps));
  gst_caps_unref (caps);
  return result;
}

/* Accepts inputs of any size. All have the interlace-mode of the output. */
static GstCaps *
get_sink_caps (GstAggregator *aggregator, GstPad *pad, GstCaps *filter)
{
  GstCaps *caps = gst_caps_make_writable (gst_pad_get_pad_template_caps (pad));
  GstVideoInfo info;

  if (lowest_info (aggregator, info))
    gst_caps_set_simple (
        caps, "interlace-mode", G_TYPE_STRING, interlace_mode_of (info), nullptr);
  else
    caps = with_modes_of_downstream (GST_AGGREGATOR_SRC_PAD (aggregator), caps);
  return opencl::filtered_caps (caps, filter);
}

/* Refuses fields in separate buffers, and a second interlace-mode. */
static gboolean
accepts_caps (GstAggregator *aggregator, GstPad *pad, GstCaps *caps)
{
  GstCaps *known = gst_caps_from_string (
      SINK_CAPS ", interlace-mode={progressive, interleaved, mixed}");
  GstCaps *complete = gst_caps_copy (caps);
  GstVideoInfo info;

  if (lowest_info (aggregator, info))
    gst_caps_set_simple (
        known, "interlace-mode", G_TYPE_STRING, interlace_mode_of (info), nullptr);
  if (!gst_structure_has_field (gst_caps_get_structure (caps, 0), "interlace-mode"))
    gst_caps_set_simple (
        complete, "interlace-mode", G_TYPE_STRING, "progressive", nullptr);
  gboolean accepted = gst_caps_is_subset (complete, known);
  if (!accepted)
    GST_INFO_OBJECT (
        pad, "refused %" GST_PTR_FORMAT ": expected %" GST_PTR_FORMAT, caps, known);
  gst_caps_unref (complete);
  gst_caps_unref (known);
  return accepted;
}

static gboolean
gst_opencl_compositor_sink_query (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstQuery *query)
{
  GstCaps *caps, *filter;

  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_CAPS:
    gst_query_parse_caps (query, &filter);
    caps = get_sink_caps (aggregator, GST_PAD (pad), filter);
    gst_query_set_caps_result (query, caps);
    gst_caps_unref (caps);
    return TRUE;
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps (query, &caps);
    gst_query_set_accept_caps_result (
        query, accepts_caps (aggregator, GST_PAD (pad), caps));
    return TRUE;
  default:
    break;
  }
  return GST_AGGREGATOR_CLASS (gst_opencl_compositor_parent_class)
      ->sink_query (aggregator, pad, query);
}

/* --- colorimetry that an element upstream lost --- */

/* Returns the only sink pad whose data flow to `source`, a source pad. (transfer full)
 * (nullable) */
static GstPad *
sink_pad_of (GstPad *source)
{
  GstIterator *links = gst_pad_iterate_internal_links (source);
  GValue value = G_VALUE_INIT;
  GstPad *sink = nullptr;

  if (links && gst_iterator_next (links, &value) == GST_ITERATOR_OK) {
    sink = GST_PAD (g_value_dup_object (&value));
    g_value_reset (&value);
    if (gst_iterator_next (links, &value) == GST_ITERATOR_OK)
      gst_clear_object (&sink);
    g_value_unset (&value);
  }
  g_clear_pointer (&links, gst_iterator_free);
  return sink;
}

static bool
is_of_smptealpha (GstPad *pad)
{
  GstObject *parent = gst_object_get_parent (GST_OBJECT (pad));
  GstElementFactory *factory =
      GST_IS_ELEMENT (parent) ? gst_element_get_factory (GST_ELEMENT (parent)) : nullptr;
  const bool is = factory && g_str_equal (GST_OBJECT_NAME (factory), "smptealpha");
  gst_clear_object (&parent);
  return is;
}

/* Looks for the colorimetry upstream of a smptealpha, and sets it in `caps`, the caps of YUV video
 * that comes from there. A source pad has its caps before the element behind it. */
static void
find_colorimetry (GstPad *sink, GstCaps *caps)
{
  GstPad *source = gst_pad_get_peer (sink);
  bool is_lost = false, is_found = false;

  while (source && !is_found) {
    GstCaps *earlier = gst_pad_get_current_caps (source);
    GstVideoInfo info;
    const bool is_yuv = earlier && gst_video_info_from_caps (&info, earlier)
                        && GST_VIDEO_INFO_IS_YUV (&info);
    const GValue *colorimetry = is_yuv ? gst_structure_get_value (
                                    gst_caps_get_structure (earlier, 0), "colorimetry")
                                       : nullptr;
    is_found = colorimetry != nullptr;
    if (is_found && is_lost)
      gst_caps_set_value (caps, "colorimetry", colorimetry);
    gst_clear_caps (&earlier);
    is_lost = is_lost || is_of_smptealpha (source);
    GstPad *before = is_yuv ? sink_pad_of (source) : nullptr;
    gst_object_unref (source);
    source = before ? gst_pad_get_peer (before) : nullptr;
    gst_clear_object (&before);
  }
  gst_clear_object (&source);
}

/* `smptealpha` keeps the samples of YUV video, but not the colorimetry of its caps. GStreamer
 * Editing Services use it for transitions. */
static gboolean
gst_opencl_compositor_sink_event (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  GstVideoInfo info;
  GstCaps *caps;

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    gst_event_parse_caps (event, &caps);
    if (gst_video_info_from_caps (&info, caps) && GST_VIDEO_INFO_IS_YUV (&info)) {
      caps = gst_caps_copy (caps);
      find_colorimetry (GST_PAD (pad), caps);
      gst_event_take (&event, gst_event_new_caps (caps));
      gst_caps_unref (caps);
    }
  }
  return GST_AGGREGATOR_CLASS (gst_opencl_compositor_parent_class)
      ->sink_event (aggregator, pad, event);
}

/* Returns the part of `caps` with this value, or list of values, of a field; empty if
 * there is none. */
static GstCaps *
with_only (GstCaps *caps, const gchar *field, const gchar *values)
{
  gchar *text = g_strdup_printf (ON_DEVICE ", %s=(string)%s", field, values);
  GstCaps *wanted = gst_caps_from_string (text);
  GstCaps *both = gst_caps_intersect_full (caps, wanted, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (wanted);
  g_free (text);
  return both;
}

/* Returns `caps`, preceded by those with this value of a field. Takes ownership of
 * `caps`. */
static GstCaps *
preferring (GstCaps *caps, const gchar *field, const gchar *value)
{
  return gst_caps_merge (with_only (caps, field, value), caps);
}

/* Returns true if all pads that have caps have this format. */
static bool
have_all_pads_format (gpointer compositor, GstVideoFormat format)
{
  bool have = true;

  GST_OBJECT_LOCK (compositor);
  for (GList *item = GST_ELEMENT (compositor)->sinkpads; item; item = item->next) {
    GstVideoAggregatorPad *pad = GST_VIDEO_AGGREGATOR_PAD (item->data);
    have = have && (!has_caps (pad) || GST_VIDEO_INFO_FORMAT (&pad->info) == format);
  }
  GST_OBJECT_UNLOCK (compositor);
  return have;
}

/* Returns true if no format of the structure keeps more than 4:2:0 video of eight bits
 * does: neither alpha nor full chroma. */
static bool
is_subsampled_only (const GstStructure *structure)
{
  const GValue *formats = gst_structure_get_value (structure, "format");
  auto is_subsampled = [] (const GValue *name) {
    const GstVideoFormat format =
        gst_video_format_from_string (g_value_get_string (name));
    const GstVideoFormatInfo *info = gst_video_format_get_info (format);
    return format != GST_VIDEO_FORMAT_UNKNOWN && !GST_VIDEO_FORMAT_INFO_HAS_ALPHA (info)
           && GST_VIDEO_FORMAT_INFO_IS_YUV (info) && info->w_sub[1] && info->h_sub[1];
  };

  if (!formats)
    return false;
  if (G_VALUE_HOLDS_STRING (formats))
    return is_subsampled (formats);
  bool all = GST_VALUE_HOLDS_LIST (formats);
  for (guint i = 0; all && i < gst_value_list_get_size (formats); i++)
    all = is_subsampled (gst_value_list_get_value (formats, i));
  return all;
}

static bool
takes_subsampled (const GstStructure *structure)
{
  GstStructure *subsampled =
      gst_structure_from_string ("video/x-raw, format=(string){" SUBSAMPLED "}", nullptr);
  const bool takes = gst_structure_can_intersect (structure, subsampled);
  gst_structure_free (subsampled);
  return takes;
}

/* Returns true if a 4:2:0 output loses nothing that downstream or the user wants. The
 * first caps of a converter are those that it passes through: if they have the chroma or
 * the alpha of RGB, it would only interpolate chroma in blended pixels. */
static bool
may_be_subsampled (GstOpenCLCompositor *self, const GstVideoInfo &lowest)
{
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT (&lowest);
  GstCaps *peer = gst_pad_peer_query_caps (GST_AGGREGATOR_SRC_PAD (self), nullptr);
  const GstStructure *wanted =
      gst_caps_get_size (peer) ? gst_caps_get_structure (peer, 0) : nullptr;
  const bool any = gst_caps_is_any (peer) || !wanted;
  const bool may =
      (!any && is_subsampled_only (wanted))
      || ((any || takes_subsampled (wanted))
          && self->settings->committed ().background != CompositorBackground::transparent
          && (format == GST_VIDEO_FORMAT_NV12 || format == GST_VIDEO_FORMAT_I420)
          && have_all_pads_format (self, format));
  gst_caps_unref (peer);
  return may;
}

static gchar *
colorimetry_of_rgb_output (const GstVideoInfo &lowest)
{
  GstVideoInfo output;
  gst_video_info_set_format (&output, GST_VIDEO_FORMAT_RGBA, 1, 1);
  return opencl::converted_colorimetry (lowest, output);
}

/* Returns the part of `caps` in these formats, that of the lowest pad first. */
static GstCaps *
with_formats (GstCaps *caps, const gchar *formats, const GstVideoInfo &lowest)
{
  return preferring (
      with_only (caps, "format", formats), "format", GST_VIDEO_INFO_NAME (&lowest));
}

/* Prefers RGB with alpha unless 4:2:0 loses nothing, and the format of the lowest pad. RGB
 * has the colorimetry that openclconvert would keep. All have the interlace-mode of the
 * lowest pad. */
static GstCaps *
gst_opencl_compositor_update_caps (GstVideoAggregator *aggregator, GstCaps *caps)
{
  GstVideoInfo info;

  if (!lowest_info (aggregator, info))
    return gst_caps_ref (caps);
  GstCaps *possible = with_only (caps, "interlace-mode", interlace_mode_of (info));
  GstCaps *rgb = with_formats (possible, "{" WORDS "}", info);
  GstCaps *subsampled = with_formats (possible, "{" SUBSAMPLED "}", info);
  gst_caps_unref (possible);
  gchar *colors = colorimetry_of_rgb_output (info);
  if (colors)
    rgb = preferring (rgb, "colorimetry", colors);
  g_free (colors);
  return may_be_subsampled (GST_OPENCL_COMPOSITOR (aggregator), info)
             ? gst_caps_merge (subsampled, rgb)
             : gst_caps_merge (rgb, subsampled);
}

/* Size that shows all frames, and the highest framerate */
struct OutputSize {
  gint width = 1, height = 1;
  gint fps_n = 0, fps_d = 1;

  /* Distance to the size to which `structure` would be fixated */
  gint distance_to (const GstStructure *structure) const
  {
    GstStructure *fixated = gst_structure_copy (structure);
    gint nearest_width = width, nearest_height = height;
    gst_structure_fixate_field_nearest_int (fixated, "width", width);
    gst_structure_fixate_field_nearest_int (fixated, "height", height);
    gst_structure_get_int (fixated, "width", &nearest_width);
    gst_structure_get_int (fixated, "height", &nearest_height);
    gst_structure_free (fixated);
    return ABS (nearest_width - width) + ABS (nearest_height - height);
  }
};

static GstOpenCLCompositorPixels
pixels_of (gpointer compositor, gint par_n, gint par_d)
{
  return {par_n, par_d,
      GST_OPENCL_COMPOSITOR (compositor)->settings->committed ().zero_is_unscaled};
}

static OutputSize
output_size_for_pads (GstElement *element, gint par_n, gint par_d)
{
  const GstOpenCLCompositorPixels pixels = pixels_of (element, par_n, par_d);
  OutputSize extent;

  GST_OBJECT_LOCK (element);
  for (GList *item = element->sinkpads; item; item = item->next) {
    const GstVideoInfo *info = &GST_VIDEO_AGGREGATOR_PAD (item->data)->info;
    GstOpenCLCompositorPlace place = gst_opencl_compositor_pad_get_place (
        GST_OPENCL_COMPOSITOR_PAD (item->data), pixels);
    if (place.width == 0)
      continue;
    extent.width = MAX (extent.width, MAX (place.right, place.width));
    extent.height = MAX (extent.height, MAX (place.bottom, place.height));
    if (gst_util_fraction_compare (info->fps_n, info->fps_d, extent.fps_n, extent.fps_d)
        > 0) {
      extent.fps_n = info->fps_n;
      extent.fps_d = info->fps_d;
    }
  }
  GST_OBJECT_UNLOCK (element);
  if (extent.fps_n == 0)
    extent.fps_n = 25;
  return extent;
}

static void
keep_field_order (GstAggregator *aggregator, GstStructure *output)
{
  GstVideoInfo info;

  if (lowest_info (aggregator, info)
      && GST_VIDEO_INFO_INTERLACE_MODE (&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED
      && GST_VIDEO_INFO_FIELD_ORDER (&info) != GST_VIDEO_FIELD_ORDER_UNKNOWN
      && !gst_structure_has_field (output, "field-order"))
    gst_structure_set (output, "field-order", G_TYPE_STRING,
        gst_video_field_order_to_string (GST_VIDEO_INFO_FIELD_ORDER (&info)), nullptr);
}

/* Fixates the pixel-aspect-ratio, and returns the output size for it. */
static OutputSize
fixate_pixels (GstElement *element, GstStructure *structure)
{
  gint par_n = 1, par_d = 1;

  if (gst_structure_has_field (structure, "pixel-aspect-ratio")) {
    gst_structure_fixate_field_nearest_fraction (structure, "pixel-aspect-ratio", 1, 1);
    gst_structure_get_fraction (structure, "pixel-aspect-ratio", &par_n, &par_d);
  }
  return output_size_for_pads (element, par_n, par_d);
}

/* Returns the caps whose size is nearest to that of the frames, so that downstream scales
 * and nothing is cropped. The first caps of a scaler such as openclconvert have the size
 * that it passes through. */
static guint
index_of_best_size (GstElement *element, GstCaps *caps)
{
  guint best = 0;
  gint smallest = G_MAXINT;

  for (guint i = 0; i < gst_caps_get_size (caps) && smallest > 0; i++) {
    GstStructure *structure = gst_structure_copy (gst_caps_get_structure (caps, i));
    const OutputSize extent = fixate_pixels (element, structure);
    const gint distance = extent.distance_to (structure);
    gst_structure_free (structure);
    if (distance >= smallest)
      continue;
    smallest = distance;
    best = i;
  }
  return best;
}

/* Gives a YUV output the colorimetry and chroma-site that openclconvert would keep. */
static void
keep_colours_of_lowest (GstAggregator *aggregator, GstCaps *output)
{
  GstVideoInfo lowest, info;

  if (!lowest_info (aggregator, lowest) || !gst_video_info_from_caps (&info, output)
      || !GST_VIDEO_INFO_IS_YUV (&info))
    return;
  GstCaps *input = gst_video_info_to_caps (&lowest);
  opencl::keep_colours (output, input);
  gst_caps_unref (input);
}

static GstCaps *
gst_opencl_compositor_fixate_src_caps (GstAggregator *aggregator, GstCaps *caps)
{
  GstElement *element = GST_ELEMENT (aggregator);
  GstCaps *fixed = gst_caps_copy_nth (caps, index_of_best_size (element, caps));
  GstStructure *structure = gst_caps_get_structure (fixed, 0);
  const OutputSize extent = fixate_pixels (element, structure);

  gst_caps_unref (caps);
  keep_field_order (aggregator, structure);
  gst_structure_fixate_field_nearest_int (structure, "width", extent.width);
  gst_structure_fixate_field_nearest_int (structure, "height", extent.height);
  gst_structure_fixate_field_nearest_fraction (
      structure, "framerate", extent.fps_n, extent.fps_d);
  fixed = gst_caps_fixate (fixed);
  keep_colours_of_lowest (aggregator, fixed);
  return fixed;
}

/* --- the layers of a frame --- */

static bool
is_visible (const GstOpenCLCompositorPlace &place, const GstVideoInfo &output)
{
  return place.alpha > 0 && place.width > 0 && place.height > 0 && place.x < output.width
         && place.y < output.height && place.x + place.width > 0
         && place.y + place.height > 0;
}

static GstOpenCLCompositorPlace
place_of (GstOpenCLAggregator *aggregator, GstOpenCLAggregatorPad *pad)
{
  const GstVideoInfo &output = GST_VIDEO_AGGREGATOR (aggregator)->info;
  return gst_opencl_compositor_pad_get_place (GST_OPENCL_COMPOSITOR_PAD (pad),
      pixels_of (aggregator, output.par_n, output.par_d));
}

static gboolean
gst_opencl_compositor_uses_pad (
    GstOpenCLAggregator *aggregator, GstOpenCLAggregatorPad *pad)
{
  gst_opencl_compositor_pad_read_crop (GST_OPENCL_COMPOSITOR_PAD (pad),
      gst_video_aggregator_pad_get_prepared_frame (GST_VIDEO_AGGREGATOR_PAD (pad))
          ->buffer);
  return is_visible (place_of (aggregator, pad), GST_VIDEO_AGGREGATOR (aggregator)->info);
}

/* Returns true if a frame of this size fits into the memory of `frame`. */
static bool
holds (const GstOpenCLFrame &frame, const GstVideoFormatInfo *format, gint width,
    gint height)
{
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++) {
    const guint plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
    const gsize columns = gsize (GST_VIDEO_FORMAT_INFO_SCALE_WIDTH (format, c, width));
    const gsize lines = gsize (GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT (format, c, height));
    if (frame.offset[plane] + (lines - 1) * gsize (frame.stride[plane])
            + columns * gsize (GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c))
        > frame.size)
      return false;
  }
  return true;
}

/* Checks that the frame contains the part to show. A frame may be larger than its caps,
 * which describe the part that its GstVideoCropMeta shows. */
static bool
has_visible_part (const Layer &layer, GError **error)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (layer.frame->buffer);
  const GstVideoRectangle &visible = layer.place.visible;
  const gint width = meta ? gint (meta->width) : layer.info->width;
  const gint height = meta ? gint (meta->height) : layer.info->height;

  if (visible.x + visible.w <= width && visible.y + visible.h <= height
      && holds (*layer.frame, layer.info->finfo, width, height))
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A frame of %dx%d is cropped to %dx%d at %d,%d, which is outside the frame", width,
      height, visible.w, visible.h, visible.x, visible.y);
  return false;
}

/* The visible part of an interlaced layer starts at an even row, so that rows stay in
 * their field. */
static Layer
layer_of (GstOpenCLAggregator *aggregator, const GstOpenCLAggregatorInput &input)
{
  const GstVideoInfo &info = GST_VIDEO_AGGREGATOR_PAD (input.pad)->info;
  Layer layer = {&info, &input.frame, place_of (aggregator, input.pad),
      opencl::has_two_fields (info, input.frame.buffer)};
  if (layer.interlaced)
    layer.place.visible.y &= ~1;
  return layer;
}

/* The output is interlaced if any layer is. The lowest interlaced layer sets the field
 * order. */
static void
flag_fields (GstBuffer *output, const std::vector<Layer> &layers)
{
  const guint order = GST_VIDEO_BUFFER_FLAG_TFF;

  for (const Layer &layer : layers) {
    if (!layer.interlaced)
      continue;
    GST_BUFFER_FLAG_SET (output, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAGS (layer.frame->buffer) & order);
    return;
  }
}

/* If one transfer function is unknown, levels are blended instead of light. */
static bool
blends_light (GstOpenCLCompositor *self, const CompositorSettings &settings)
{
  const GstVideoInfo &info = GST_VIDEO_AGGREGATOR (self)->info;
  if (!settings.linear
      || transfer::are_transfer_functions_known (self->work->layers, info))
    return settings.linear;
  self->settings->warn (
      g_error_new_literal (GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "linear=true: unknown transfer function, blending levels instead"));
  return false;
}

static gboolean
gst_opencl_compositor_combine (GstOpenCLAggregator *aggregator,
    const GstOpenCLAggregatorInput *inputs, guint n_inputs, const GstOpenCLFrame *output,
    cl_command_queue queue, GError **error)
{
  GstOpenCLCompositor *self = GST_OPENCL_COMPOSITOR (aggregator);
  std::vector<Layer> &layers = self->work->layers;
  const CompositorSettings settings = self->settings->committed ();
  const GstVideoInfo &info = GST_VIDEO_AGGREGATOR (self)->info;
  const CompositorBackground background =
      settings.background == CompositorBackground::transparent
              && !GST_VIDEO_INFO_HAS_ALPHA (&info)
          ? CompositorBackground::black
          : settings.background;

  layers.clear ();
  for (const GstOpenCLAggregatorInput *input = inputs; input < inputs + n_inputs;
       input++) {
    layers.push_back (layer_of (aggregator, *input));
    if (!has_visible_part (layers.back (), error))
      return FALSE;
  }
  transfer::remove_hidden_layers (layers, info);
  flag_fields (output->buffer, layers);
  return self->work->composition.blend (
      layers, info, *output, background, blends_light (self, settings), error);
}

/* --- events from downstream --- */

/* Pushes the event to `pad` if the pointer is over its frame, in pixels of that frame. */
static gboolean
push_pointer (GstElement *element, GstPad *pad, gpointer event)
{
  gdouble x, y;

  GST_OBJECT_LOCK (element);
  const GstVideoInfo output = GST_VIDEO_AGGREGATOR (element)->info;
  GST_OBJECT_UNLOCK (element);
  GstOpenCLCompositorPlace place = gst_opencl_compositor_pad_get_place (
      GST_OPENCL_COMPOSITOR_PAD (pad), pixels_of (element, output.par_n, output.par_d));
  if (place.width == 0
      || !gst_navigation_event_get_coordinates (GST_EVENT (event), &x, &y) || x < place.x
      || y < place.y || x >= place.x + place.width || y >= place.y + place.height)
    return TRUE;
  GstEvent *mapped = gst_event_copy (GST_EVENT (event));
  const GstVideoRectangle &visible = place.visible;
  gst_navigation_event_set_coordinates (mapped,
      visible.x - place.origin_x + (x - place.x) * visible.w / place.width,
      visible.y - place.origin_y + (y - place.y) * visible.h / place.height);
  gst_pad_push_event (pad, mapped);
  return TRUE;
}

/* As with `compositor`, all frames under the pointer get the event. */
static gboolean
gst_opencl_compositor_src_event (GstAggregator *aggregator, GstEvent *event)
{
  gdouble x, y;

  if (GST_EVENT_TYPE (event) != GST_EVENT_NAVIGATION
      || !gst_navigation_event_get_coordinates (event, &x, &y))
    return GST_AGGREGATOR_CLASS (gst_opencl_compositor_parent_class)
        ->src_event (aggregator, event);
  gst_element_foreach_sink_pad (GST_ELEMENT (aggregator), push_pointer, event);
  gst_event_unref (event);
  return TRUE;
}

/* --- the class --- */

/* Upstream may leave cropping to the compositor. */
static gboolean
gst_opencl_compositor_propose_allocation (GstAggregator *aggregator,
    GstAggregatorPad *pad, GstQuery *decide_query, GstQuery *query)
{
  gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  return GST_AGGREGATOR_CLASS (gst_opencl_compositor_parent_class)
      ->propose_allocation (aggregator, pad, decide_query, query);
}

static void
set_vfuncs (GstOpenCLCompositorClass *klass)
{
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);
  GstOpenCLAggregatorClass *opencl_class = GST_OPENCL_AGGREGATOR_CLASS (klass);

  aggregator_class->sink_query = gst_opencl_compositor_sink_query;
  aggregator_class->sink_event = gst_opencl_compositor_sink_event;
  aggregator_class->src_event = gst_opencl_compositor_src_event;
  aggregator_class->fixate_src_caps = gst_opencl_compositor_fixate_src_caps;
  aggregator_class->propose_allocation = gst_opencl_compositor_propose_allocation;
  GST_VIDEO_AGGREGATOR_CLASS (klass)->update_caps = gst_opencl_compositor_update_caps;
  opencl_class->open = gst_opencl_compositor_open;
  opencl_class->close = gst_opencl_compositor_close;
  opencl_class->uses_pad = gst_opencl_compositor_uses_pad;
  opencl_class->combine = gst_opencl_compositor_combine;
}

static void
gst_opencl_compositor_class_init (GstOpenCLCompositorClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  opencl::install_settings<&GstOpenCLCompositor::settings> (klass, properties);
  set_vfuncs (klass);

  opencl::describe_element (klass, "OpenCL compositor", "Filter/Editor/Video/Compositor",
      "Scales and blends any number of video streams in device memory");
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &src_template, GST_TYPE_AGGREGATOR_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &sink_template, GST_TYPE_OPENCL_COMPOSITOR_PAD);

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_COMPOSITOR_PAD, GstPluginAPIFlags (0));
}

static void
apply_ignored_pads (GstOpenCLCompositor *self)
{
  gst_aggregator_set_ignore_inactive_pads (
      GST_AGGREGATOR (self), self->settings->committed ().ignores_inactive);
}

static void
gst_opencl_compositor_init (GstOpenCLCompositor *self)
{
  self->settings = new opencl::Settings<CompositorSettings> (self, properties);
  g_signal_connect (
      self, "notify::ignore-inactive-pads", G_CALLBACK (apply_ignored_pads), nullptr);
}
