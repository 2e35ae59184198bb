/* openclcompositorbin: openclcompositor for pipelines in ordinary memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclcompositorbin
 * @title: openclcompositorbin
 *
 * Uploads any number of streams of any raw format, blends them on the device, and
 * downloads the result. It replaces `compositor`, as glvideomixer does with OpenGL. The
 * bin and its pads have the properties of #openclcompositor and of GstAggregator, and their
 * signals.
 *
 * |[
 * gst-launch-1.0 openclcompositorbin name=mix sink_1::xpos=100 sink_1::alpha=0.5 !
 * videoconvert ! autovideosink videotestsrc ! mix.sink_0
 * videotestsrc pattern=ball ! mix.sink_1
 * ]|
 *
 * Since: 0.3
 */
#include "compositor/compositorpad.h"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/gstopenclaggregator.h>
#include "elements.h"
#include "transferbin.hpp"

#define CAPS "video/x-raw(ANY)"

/* Selects properties of `kind`, which leaves out those of GstElement or GstPad. */
static std::function<bool (GParamSpec *)>
of_kind (GType kind)
{
  return [kind] (GParamSpec *spec) { return g_type_is_a (spec->owner_type, kind); };
}

/* --- the pad, a proxy of a compositor pad --- */

#define GST_TYPE_OPENCL_COMPOSITOR_BIN_PAD (gst_opencl_compositor_bin_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLCompositorBinPad, gst_opencl_compositor_bin_pad, GST,
    OPENCL_COMPOSITOR_BIN_PAD, GstGhostPad)

struct _GstOpenCLCompositorBinPad {
  GstGhostPad parent;

  GstPad *mix_pad; /* (nullable): pad of the compositor */
};

static void
repeat_consumed (GstPad *pad, GstBuffer *buffer)
{
  g_signal_emit_by_name (pad, "buffer-consumed", buffer);
}

G_DEFINE_FINAL_TYPE (
    GstOpenCLCompositorBinPad, gst_opencl_compositor_bin_pad, GST_TYPE_GHOST_PAD)

static void
gst_opencl_compositor_bin_pad_set_property (
    GObject *object, guint, const GValue *value, GParamSpec *spec)
{
  opencl::forward_set (GST_OPENCL_COMPOSITOR_BIN_PAD (object)->mix_pad, value, spec);
}

static void
gst_opencl_compositor_bin_pad_get_property (
    GObject *object, guint, GValue *value, GParamSpec *spec)
{
  opencl::forward_get (GST_OPENCL_COMPOSITOR_BIN_PAD (object)->mix_pad, value, spec);
}

static void
gst_opencl_compositor_bin_pad_dispose (GObject *object)
{
  gst_clear_object (&GST_OPENCL_COMPOSITOR_BIN_PAD (object)->mix_pad);
  G_OBJECT_CLASS (gst_opencl_compositor_bin_pad_parent_class)->dispose (object);
}

static void
gst_opencl_compositor_bin_pad_class_init (GstOpenCLCompositorBinPadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = gst_opencl_compositor_bin_pad_set_property;
  object_class->get_property = gst_opencl_compositor_bin_pad_get_property;
  object_class->dispose = gst_opencl_compositor_bin_pad_dispose;
  opencl::install_properties_of (
      object_class, GST_TYPE_OPENCL_COMPOSITOR_PAD, 1, of_kind (GST_TYPE_AGGREGATOR_PAD));
  g_signal_new ("buffer-consumed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_FIRST, 0,
      nullptr, nullptr, nullptr, G_TYPE_NONE, 1, GST_TYPE_BUFFER);
}

static void
gst_opencl_compositor_bin_pad_init (GstOpenCLCompositorBinPad *pad)
{
}

/* --- the bin --- */

#define GST_TYPE_OPENCL_COMPOSITOR_BIN (gst_opencl_compositor_bin_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLCompositorBin, gst_opencl_compositor_bin, GST,
    OPENCL_COMPOSITOR_BIN, GstOpenCLTransferBin)

enum { PROP_MIXER = 1 };

struct _GstOpenCLCompositorBin {
  GstOpenCLTransferBin parent;

  GstElement *mix;
};

static void gst_opencl_compositor_bin_child_proxy_init (GstChildProxyInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (GstOpenCLCompositorBin, gst_opencl_compositor_bin,
    GST_TYPE_OPENCL_TRANSFER_BIN,
    G_IMPLEMENT_INTERFACE (
        GST_TYPE_CHILD_PROXY, gst_opencl_compositor_bin_child_proxy_init))
GST_ELEMENT_REGISTER_DEFINE (openclcompositorbin, "openclcompositorbin", GST_RANK_NONE,
    GST_TYPE_OPENCL_COMPOSITOR_BIN)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (CAPS));

/* Returns the sizes in `caps`, of any format and memory (transfer full). */
static GstCaps *
sizes_of (GstCaps *caps)
{
  GstCaps *sizes = gst_caps_new_empty ();

  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstStructure *of = gst_caps_get_structure (caps, n);
    GstStructure *size = gst_structure_new_empty ("video/x-raw");
    for (const char *field : {"width", "height", "pixel-aspect-ratio"}) {
      if (const GValue *value = gst_structure_get_value (of, field))
        gst_structure_set_value (size, field, value);
    }
    gst_caps_append_structure_full (sizes, size, gst_caps_features_new_any ());
  }
  return sizes;
}

/* The compositor makes the size that is wanted behind the bin, and places its inputs in it. The
 * converter would accept every size, and scale. */
static GstPadProbeReturn
answer_with_size_of_output (GstPad *, GstPadProbeInfo *info, gpointer bin)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return GST_PAD_PROBE_OK;
  GstPad *source = gst_element_get_static_pad (GST_ELEMENT (bin), "src");
  GstCaps *accepted = gst_pad_peer_query_caps (source, nullptr);
  if (!gst_caps_is_any (accepted))
    opencl::narrow_answer (query, sizes_of (accepted));
  gst_caps_unref (accepted);
  gst_object_unref (source);
  return GST_PAD_PROBE_OK;
}

static void
repeat_selected (GstElement *bin, GstSegment *segment, guint64 pts, guint64 dts,
    guint64 duration, GstStructure *info)
{
  g_signal_emit_by_name (bin, "samples-selected", segment, pts, dts, duration, info);
}

static void
gst_opencl_compositor_bin_init (GstOpenCLCompositorBin *self)
{
  self->mix = gst_opencl_transfer_bin_add_part (self, "openclcompositor");
  GstElement *convert = gst_opencl_transfer_bin_add (self, "openclconvert");
  GstElement *download = gst_opencl_transfer_bin_add (self, "opencldownload");

  if (!gst_opencl_transfer_bin_is_complete (self))
    return;
  g_object_set (convert, "qos", FALSE, nullptr); /* the compositor handles QoS */
  g_signal_connect_swapped (
      self->mix, "samples-selected", G_CALLBACK (repeat_selected), self);
  gst_element_link_many (self->mix, convert, download, nullptr);
  opencl::add_ghost_pad (self, "src", download, "src");
  GstPad *converted = gst_element_get_static_pad (convert, "sink");
  gst_pad_add_probe (converted,
      GstPadProbeType (GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL),
      answer_with_size_of_output, self, nullptr);
  gst_object_unref (converted);
}

/* --- pads --- */

/* Adds openclupload and openclconvert in front of `mix_pad`, and returns the upload
 * (transfer none). */
static GstElement *
add_input_chain (GstOpenCLCompositorBin *self, GstPad *mix_pad)
{
  GstElement *upload = gst_opencl_transfer_bin_add (self, "openclupload");
  GstElement *convert = gst_opencl_transfer_bin_add (self, "openclconvert");

  gst_element_link (upload, convert);
  gst_element_link_pads (convert, "src", self->mix, GST_OBJECT_NAME (mix_pad));
  gst_element_sync_state_with_parent (convert);
  gst_element_sync_state_with_parent (upload);
  return upload;
}

static GstPad *
new_pad (GstPadTemplate *pad_template, GstPad *mix_pad, GstElement *upload)
{
  GstPad *target = gst_element_get_static_pad (upload, "sink");
  auto *pad = static_cast<GstOpenCLCompositorBinPad *> (
      g_object_new (GST_TYPE_OPENCL_COMPOSITOR_BIN_PAD, "name", GST_OBJECT_NAME (mix_pad),
          "direction", GST_PAD_SINK, "template", pad_template, nullptr));

  pad->mix_pad = GST_PAD (gst_object_ref (mix_pad));
  opencl::forward_bindings (pad, mix_pad);
  g_signal_connect_object (
      mix_pad, "buffer-consumed", G_CALLBACK (repeat_consumed), pad, G_CONNECT_SWAPPED);
  gst_ghost_pad_set_target (GST_GHOST_PAD (pad), target);
  gst_object_unref (target);
  return GST_PAD (pad);
}

static GstPad *
gst_opencl_compositor_bin_request_new_pad (GstElement *element,
    GstPadTemplate *pad_template, const gchar *name, const GstCaps *caps)
{
  GstOpenCLCompositorBin *self = GST_OPENCL_COMPOSITOR_BIN (element);

  if (!gst_opencl_transfer_bin_is_complete (self))
    return nullptr;
  GstPad *mix_pad = gst_element_request_pad (
      self->mix, gst_element_get_pad_template (self->mix, "sink_%u"), name, nullptr);
  if (!mix_pad)
    return nullptr;
  GstPad *pad = new_pad (pad_template, mix_pad, add_input_chain (self, mix_pad));
  gst_object_unref (mix_pad);
  gst_pad_set_active (pad, TRUE);
  gst_element_add_pad (element, pad);
  gst_child_proxy_child_added (
      GST_CHILD_PROXY (self), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  return pad;
}

static void
gst_opencl_compositor_bin_release_pad (GstElement *element, GstPad *pad)
{
  GstOpenCLCompositorBin *self = GST_OPENCL_COMPOSITOR_BIN (element);
  GstPad *mix_pad = GST_OPENCL_COMPOSITOR_BIN_PAD (pad)->mix_pad;
  GstPad *upload = gst_ghost_pad_get_target (GST_GHOST_PAD (pad));
  GstPad *convert = gst_pad_get_peer (mix_pad);

  gst_child_proxy_child_removed (
      GST_CHILD_PROXY (self), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  gst_pad_set_active (pad, FALSE);
  if (GstElement *mix = gst_pad_get_parent_element (mix_pad)) { /* NULL at dispose */
    gst_element_release_request_pad (mix, mix_pad);
    gst_object_unref (mix);
  }
  for (GstPad *of : {upload, convert}) {
    GstElement *part = of ? gst_pad_get_parent_element (of) : nullptr;
    if (part)
      opencl::remove_from_bin (self, part);
    gst_clear_object (&part);
    gst_clear_object (&of);
  }
  gst_element_remove_pad (element, pad);
}

/* Looks up pads before elements, so that sink_1::xpos works. */
static GObject *
gst_opencl_compositor_bin_get_child_by_name (GstChildProxy *proxy, const gchar *name)
{
  auto *inherited = static_cast<GstChildProxyInterface *> (
      g_type_interface_peek_parent (GST_CHILD_PROXY_GET_INTERFACE (proxy)));
  GstPad *pad = gst_element_get_static_pad (GST_ELEMENT (proxy), name);

  if (pad && GST_IS_OPENCL_COMPOSITOR_BIN_PAD (pad))
    return G_OBJECT (pad);
  gst_clear_object (&pad);
  return inherited->get_child_by_name (proxy, name);
}

static void
gst_opencl_compositor_bin_child_proxy_init (GstChildProxyInterface *iface)
{
  iface->get_child_by_name = gst_opencl_compositor_bin_get_child_by_name;
}

static void
gst_opencl_compositor_bin_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  if (id == PROP_MIXER)
    g_value_set_object (value, GST_OPENCL_COMPOSITOR_BIN (object)->mix);
  else
    G_OBJECT_CLASS (gst_opencl_compositor_bin_parent_class)
        ->get_property (object, id, value, spec);
}

static void
gst_opencl_compositor_bin_class_init (GstOpenCLCompositorBinClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = gst_opencl_compositor_bin_get_property;
  g_object_class_install_property (object_class, PROP_MIXER,
      g_param_spec_object ("mixer", "Mixer",
          "Element that blends the streams, as GStreamer Editing Services ask for it",
          GST_TYPE_ELEMENT, GParamFlags (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  gst_opencl_transfer_bin_class_forward (klass, gst_opencl_compositor_get_type (),
      PROP_MIXER + 1, of_kind (GST_TYPE_AGGREGATOR));
  g_signal_new ("samples-selected", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_FIRST, 0,
      nullptr, nullptr, nullptr, G_TYPE_NONE, 5, GST_TYPE_SEGMENT, G_TYPE_UINT64,
      G_TYPE_UINT64, G_TYPE_UINT64, GST_TYPE_STRUCTURE);

  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &sink_template, GST_TYPE_OPENCL_COMPOSITOR_BIN_PAD);
  opencl::describe_element (klass, "OpenCL compositor bin",
      "Filter/Editor/Video/Compositor",
      "Uploads video streams, blends them on an OpenCL device, and downloads the result",
      {nullptr, CAPS});
  element_class->request_new_pad = gst_opencl_compositor_bin_request_new_pad;
  element_class->release_pad = gst_opencl_compositor_bin_release_pad;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_COMPOSITOR_BIN_PAD, GstPluginAPIFlags (0));
}
