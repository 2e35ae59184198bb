/* openclconvertbin: openclconvert for pipelines in ordinary memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclconvertbin
 * @title: openclconvertbin
 *
 * Uploads frames, converts format, colours and size on the device, and downloads the
 * result. It replaces `videoconvertscale` where that is too slow. Its properties are
 * those of #openclconvert. Video in device memory is not uploaded, and the result is not
 * downloaded if downstream accepts device memory.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,width=1920,height=1080 !
 * openclconvertbin scale-method=lanczos ! video/x-raw,format=NV12,width=640,height=360 !
 * autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include "elements.h"
#include "transferbin.hpp"

#define GST_TYPE_OPENCL_CONVERT_BIN (gst_opencl_convert_bin_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLConvertBin, gst_opencl_convert_bin, GST,
    OPENCL_CONVERT_BIN, GstOpenCLTransferBin)

struct _GstOpenCLConvertBin {
  GstOpenCLTransferBin parent;
};

G_DEFINE_FINAL_TYPE (
    GstOpenCLConvertBin, gst_opencl_convert_bin, GST_TYPE_OPENCL_TRANSFER_BIN)
GST_ELEMENT_REGISTER_DEFINE (
    openclconvertbin, "openclconvertbin", GST_RANK_NONE, GST_TYPE_OPENCL_CONVERT_BIN)

#define CAPS "video/x-raw(ANY)"

static void
gst_opencl_convert_bin_init (GstOpenCLConvertBin *self)
{
  GstElement *upload = gst_opencl_transfer_bin_add (self, "openclupload");
  GstElement *convert = gst_opencl_transfer_bin_add_part (self, "openclconvert");
  GstElement *download = gst_opencl_transfer_bin_add (self, "opencldownload");

  if (!gst_opencl_transfer_bin_is_complete (self))
    return;
  gst_element_link_many (upload, convert, download, nullptr);
  opencl::add_ghost_pad (self, "sink", upload, "sink");
  opencl::add_ghost_pad (self, "src", download, "src");
}

static void
gst_opencl_convert_bin_class_init (GstOpenCLConvertBinClass *klass)
{
  const GType convert = gst_opencl_convert_get_type ();

  gst_opencl_transfer_bin_class_forward (
      klass, convert, 1, opencl::is_class_property_or_device (convert));

  opencl::describe_element (klass, "OpenCL converter bin",
      "Filter/Converter/Video/Scaler",
      "Uploads video, converts format, colours and size on an OpenCL device, and "
      "downloads the result",
      {CAPS, CAPS});
}
