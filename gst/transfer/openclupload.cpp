/* openclupload: copies buffers into OpenCL device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclupload
 * @title: openclupload
 *
 * Copies buffers of any caps into device memory, asynchronously. It offers upstream a
 * pool of pinned host memory: a source that fills it costs no copy on the host. Other
 * memory is kept until the device has read it, or, where it is much and the device does
 * not share it, copied to pinned memory first. Device memory passes through; on a device
 * that works in the host's memory that is what the pool is of, and nothing is copied.
 *
 * Video may come as `memory:DMABuf`, too, or in a dma_buf without saying so: where the
 * device imports such memory it reads it where it is, and no filter writes there; else it
 * is copied. Of `memory:GLMemory` the host reads the textures. DMABuf of `format=DMA_DRM`
 * (GStreamer 1.24 and newer) has to be linear: `drm-format=NV12` becomes `format=NV12`.
 *
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8 ! openclupload !
 * opencldownload ! fakesink
 * ]|
 * |[
 * gst-launch-1.0 gltestsrc ! openclupload ! openclconvert ! opencldownload ! glimagesink
 * ]|
 */
#include "elements.h"
#include "opencltransfer.h"

#define GST_TYPE_OPENCL_UPLOAD (gst_opencl_upload_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLUpload, gst_opencl_upload, GST, OPENCL_UPLOAD, GstOpenCLTransfer)

struct _GstOpenCLUpload {
  GstOpenCLTransfer parent;
};

G_DEFINE_FINAL_TYPE (GstOpenCLUpload, gst_opencl_upload, GST_TYPE_OPENCL_TRANSFER)
GST_ELEMENT_REGISTER_DEFINE (
    openclupload, "openclupload", GST_RANK_NONE, GST_TYPE_OPENCL_UPLOAD)

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static void
gst_opencl_upload_class_init (GstOpenCLUploadClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  gst_element_class_set_static_metadata (element_class, "OpenCL uploader",
      "Filter/Converter/Video", "Copies buffers into OpenCL device memory",
      "The gst-opencl developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  GST_OPENCL_TRANSFER_CLASS (klass)->uploads = TRUE;
}

static void
gst_opencl_upload_init (GstOpenCLUpload *self)
{
}
