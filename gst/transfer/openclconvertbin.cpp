/* openclconvertbin: openclconvert for pipelines in ordinary memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclconvertbin
 * @title: openclconvertbin
 *
 * Uploads, converts formats, colours and sizes on the device, and downloads: in place of
 * `videoconvertscale` where that is what takes the time. Its properties are those of
 * #openclconvert. Video that is on the device already is not copied, nor is the result
 * where downstream takes device memory.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,width=1920,height=1080 !
 * openclconvertbin scale-method=lanczos ! video/x-raw,format=NV12,width=640,height=360 !
 * autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include "elements.h"

#include <gst/opencl/elementbin.hpp>
#include <gst/opencl/opencl.h>

#define GST_TYPE_OPENCL_CONVERT_BIN (gst_opencl_convert_bin_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLConvertBin, gst_opencl_convert_bin, GST, OPENCL_CONVERT_BIN, GstBin)

struct _GstOpenCLConvertBin {
  GstBin parent;

  const gchar *missing; /* (nullable): a factory without which this does nothing */
  GstElement *convert;
};

G_DEFINE_FINAL_TYPE (GstOpenCLConvertBin, gst_opencl_convert_bin, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE (
    openclconvertbin, "openclconvertbin", GST_RANK_NONE, GST_TYPE_OPENCL_CONVERT_BIN)

#define CAPS "video/x-raw(ANY)"
static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

static void
gst_opencl_convert_bin_init (GstOpenCLConvertBin *self)
{
  GstElement *upload = opencl::add_to_bin (self, "openclupload", &self->missing);
  self->convert = opencl::add_to_bin (self, "openclconvert", &self->missing);
  GstElement *download = opencl::add_to_bin (self, "opencldownload", &self->missing);

  if (self->missing)
    return;
  gst_element_link_many (upload, self->convert, download, nullptr);
  opencl::add_ghost_pad (self, "sink", upload, "sink");
  opencl::add_ghost_pad (self, "src", download, "src");
}

static GstStateChangeReturn
gst_opencl_convert_bin_change_state (GstElement *element, GstStateChange change)
{
  if (!opencl::report_missing (element, GST_OPENCL_CONVERT_BIN (element)->missing))
    return GST_STATE_CHANGE_FAILURE;
  return GST_ELEMENT_CLASS (gst_opencl_convert_bin_parent_class)
      ->change_state (element, change);
}

static void
gst_opencl_convert_bin_set_property (
    GObject *object, guint, const GValue *value, GParamSpec *spec)
{
  opencl::forward_set (GST_OPENCL_CONVERT_BIN (object)->convert, value, spec);
}

static void
gst_opencl_convert_bin_get_property (
    GObject *object, guint, GValue *value, GParamSpec *spec)
{
  opencl::forward_get (GST_OPENCL_CONVERT_BIN (object)->convert, value, spec);
}

static void
gst_opencl_convert_bin_class_init (GstOpenCLConvertBinClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  const GType convert = gst_opencl_convert_get_type ();

  object_class->set_property = gst_opencl_convert_bin_set_property;
  object_class->get_property = gst_opencl_convert_bin_get_property;
  opencl::install_properties_of (
      object_class, convert, 1, opencl::of_class_or_device (convert));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OpenCL converter bin",
      "Filter/Converter/Video/Scaler",
      "Uploads, converts formats, colours and sizes on an OpenCL device, and downloads",
      "GStreamer OpenCL developers");
  element_class->change_state = gst_opencl_convert_bin_change_state;
}
