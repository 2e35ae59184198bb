/* openclfilterbin: any filter of the device for pipelines in ordinary memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclfilterbin
 * @title: openclfilterbin
 *
 * Uploads frames, runs `filter` on the device, and downloads the result, as glfilterbin
 * does with OpenGL. It is for applications that accept a single element, such as playbin.
 * `filter` is an element or a chain of elements, and frames stay on the device throughout
 * the chain. On each side where it accepts only video, the bin adds an openclconvert, so
 * that any raw format is possible.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! openclfilterbin filter="chromakey ! keyfill" !
 * videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 playbin uri=file:///tmp/film.webm
 * video-filter="openclfilterbin filter=\"openclkernel expression=1-x\""
 * ]|
 *
 * Since: 0.3
 */
#include "elements.h"
#include "transferbin.hpp"

#include <gst/opencl/gstopenclfilter.h>

#include <utility>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_filter_bin_debug);
#define GST_CAT_DEFAULT gst_opencl_filter_bin_debug

namespace {
enum {
  PROP_FILTER = 1,
  PROP_DEVICE,
};
} // namespace

#define GST_TYPE_OPENCL_FILTER_BIN (gst_opencl_filter_bin_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLFilterBin, gst_opencl_filter_bin, GST, OPENCL_FILTER_BIN,
    GstOpenCLTransferBin)

struct _GstOpenCLFilterBin {
  GstOpenCLTransferBin parent;

  GstElement *upload, *download;
  GstElement *filter;         /* (nullable) */
  GstElement *before, *after; /* (nullable): openclconvert on each side */
};

G_DEFINE_FINAL_TYPE_WITH_CODE (GstOpenCLFilterBin, gst_opencl_filter_bin,
    GST_TYPE_OPENCL_TRANSFER_BIN,
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_filter_bin_debug, "openclfilterbin", 0, "OpenCL filter bin"))
GST_ELEMENT_REGISTER_DEFINE (
    openclfilterbin, "openclfilterbin", GST_RANK_NONE, GST_TYPE_OPENCL_FILTER_BIN)

static void
gst_opencl_filter_bin_init (GstOpenCLFilterBin *self)
{
  self->upload = gst_opencl_transfer_bin_add_part (self, "openclupload");
  self->download = gst_opencl_transfer_bin_add (self, "opencldownload");
  if (!gst_opencl_transfer_bin_is_complete (self))
    return;
  opencl::add_ghost_pad (self, "sink", self->upload, "sink");
  opencl::add_ghost_pad (self, "src", self->download, "src");
}

/* --- the filter and its converters --- */

/* Returns true if the pad accepts only raw video. Spectra and arrays are not
 * converted. */
static bool
accepts_only_video (GstElement *element, const gchar *pad_name)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);
  GstCaps *caps = gst_pad_query_caps (pad, nullptr);
  bool is_video = !gst_caps_is_any (caps) && !gst_caps_is_empty (caps);

  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    is_video =
        is_video
        && gst_structure_has_name (gst_caps_get_structure (caps, i), "video/x-raw");
  gst_caps_unref (caps);
  gst_object_unref (pad);
  return is_video;
}

static bool
has_filter_pads (GstElement *element)
{
  GstPad *sink = gst_element_get_static_pad (element, "sink");
  GstPad *source = gst_element_get_static_pad (element, "src");
  const bool has_both = sink && source;
  gst_clear_object (&sink);
  gst_clear_object (&source);
  return has_both;
}

/* Links all parts that exist. Removed elements are already unlinked. */
static bool
link_parts (GstOpenCLFilterBin *self)
{
  GstElement *last = self->upload;

  for (GstElement *part : {self->before, self->filter, self->after, self->download}) {
    if (part && !gst_element_link (last, part))
      return false;
    last = part ? part : last;
  }
  return true;
}

/* `filter`: (transfer floating) (nullable) */
static void
replace_filter (GstOpenCLFilterBin *self, GstElement *filter)
{
  for (GstElement **part : {&self->before, &self->filter, &self->after})
    if (*part)
      opencl::remove_from_bin (self, std::exchange (*part, nullptr));
  if (!filter || !gst_opencl_transfer_bin_is_complete (self))
    return;
  gst_bin_add (GST_BIN (self), filter);
  self->filter = filter;
  if (accepts_only_video (filter, "sink"))
    self->before = gst_opencl_transfer_bin_add (self, "openclconvert");
  if (accepts_only_video (filter, "src"))
    self->after = gst_opencl_transfer_bin_add (self, "openclconvert");
  if (!link_parts (self))
    GST_ELEMENT_WARNING (self, CORE, NEGOTIATION,
        ("%s cannot be linked: its pads do not accept device memory",
            GST_OBJECT_NAME (filter)),
        (nullptr));
}

/* If the filter cannot be used, the previous one stays. */
static void
set_filter (GstOpenCLFilterBin *self, GstElement *filter)
{
  const char *fault = nullptr;

  if (GST_STATE (self) > GST_STATE_READY)
    fault = "cannot be changed while playing";
  else if (filter && !has_filter_pads (filter))
    fault = "has no pads sink and src";
  else if (filter && GST_OBJECT_PARENT (filter))
    fault = "is in another bin";
  if (!fault) {
    replace_filter (self, filter);
    return;
  }
  GST_ELEMENT_WARNING (
      self, LIBRARY, SETTINGS, ("filter %s: keeping the previous one", fault), (nullptr));
}

static GstStateChangeReturn
gst_opencl_filter_bin_change_state (GstElement *element, GstStateChange change)
{
  GstOpenCLFilterBin *self = GST_OPENCL_FILTER_BIN (element);

  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && !self->filter) {
    GST_ELEMENT_ERROR (self, LIBRARY, SETTINGS,
        ("filter is not set, expected an element or a chain of elements"), (nullptr));
    return GST_STATE_CHANGE_FAILURE;
  }
  return GST_ELEMENT_CLASS (gst_opencl_filter_bin_parent_class)
      ->change_state (element, change);
}

/* --- properties --- */

static void
gst_opencl_filter_bin_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstOpenCLFilterBin *self = GST_OPENCL_FILTER_BIN (object);

  if (id != PROP_FILTER) {
    G_OBJECT_CLASS (gst_opencl_filter_bin_parent_class)
        ->set_property (object, id, value, spec);
    return;
  }
  /* Takes a floating filter, even if set_filter () refuses it. */
  GstElement *filter = GST_ELEMENT (g_value_get_object (value));
  if (filter)
    gst_object_ref_sink (filter);
  set_filter (self, filter);
  gst_clear_object (&filter);
}

static void
gst_opencl_filter_bin_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstOpenCLFilterBin *self = GST_OPENCL_FILTER_BIN (object);

  if (id == PROP_FILTER)
    g_value_set_object (value, self->filter);
  else
    G_OBJECT_CLASS (gst_opencl_filter_bin_parent_class)
        ->get_property (object, id, value, spec);
}

static void
gst_opencl_filter_bin_class_init (GstOpenCLFilterBinClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  object_class->set_property = gst_opencl_filter_bin_set_property;
  object_class->get_property = gst_opencl_filter_bin_get_property;
  g_object_class_install_property (object_class, PROP_FILTER,
      g_param_spec_object ("filter", "Filter",
          "Element for device memory with pads sink and src, or a chain of such elements",
          GST_TYPE_ELEMENT,
          GParamFlags (
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)));
  gst_opencl_transfer_bin_class_forward (klass, GST_TYPE_OPENCL_FILTER, PROP_DEVICE,
      [] (GParamSpec *spec) { return g_str_equal (spec->name, "device"); });

  opencl::describe_element (klass, "OpenCL filter bin", "Filter/Video",
      "Uploads buffers, runs a filter on an OpenCL device, and downloads the result",
      {"ANY", "ANY"});
  element_class->change_state = gst_opencl_filter_bin_change_state;
}
