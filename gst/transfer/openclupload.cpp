/* openclupload: copies buffers into OpenCL device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclupload
 * @title: openclupload
 *
 * Copies buffers of any caps into device memory, asynchronously. It offers upstream a
 * pool of pinned host memory, so that a source that uses it needs no copy on the host.
 * Other memory is kept until the device has read it. Large buffers are first copied to
 * pinned memory, unless the device shares memory with the host. Device memory passes
 * through. On a device that shares memory with the host, the pool allocates device
 * memory, and nothing is copied.
 *
 * Video may also come as `memory:DMABuf`, or in a dma_buf with other caps. A device that
 * can import such memory reads it in place, and no filter writes to it. Otherwise it is
 * copied. Textures of `memory:GLMemory` are copied on the device if it shares memory with
 * OpenGL, else by the host. DMABuf with `format=DMA_DRM`
 * (GStreamer 1.24 and newer) must be linear: `drm-format=NV12` becomes `format=NV12`.
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

#define IMPORTED_CAPS                                                                    \
  TRANSFER_VIDEO ("(memory:DMABuf)")                                                     \
  "video/x-raw(memory:DMABuf)" TRANSFER_FIELDS ("DMA_DRM")                               \
      TRANSFER_VIDEO ("(memory:GLMemory)")

static void
gst_opencl_upload_class_init (GstOpenCLUploadClass *klass)
{
  opencl::describe_element (klass, "OpenCL uploader", "Filter/Video/Uploader",
      "Copies buffers to OpenCL device memory",
      {HOST_CAPS IMPORTED_CAPS DEVICE_CAPS, DEVICE_CAPS});
  GST_OPENCL_TRANSFER_CLASS (klass)->uploads = TRUE;
}

static void
gst_opencl_upload_init (GstOpenCLUpload *self)
{
}
