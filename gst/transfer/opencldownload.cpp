/* opencldownload: copies buffers out of OpenCL device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-opencldownload
 * @title: opencldownload
 *
 * Copies buffers of any caps out of device memory. It pushes pinned host memory at once;
 * mapping that memory waits for the transfer. Transfers therefore overlap with
 * downstream's work, and add no frame of latency. On a device that shares memory with the
 * host, it pushes the input buffer itself, whose map waits for the device. It then copies
 * only if downstream needs another layout. System memory passes through, and so does
 * device memory if downstream accepts nothing else.
 *
 * If downstream offers a pool of other memory than plain system memory, such as that of a
 * display, it fills buffers of that pool, and waits until it has. A dma_buf is written by
 * the device if it can import it. Textures (`memory:GLMemory`) are written on the device if
 * it shares memory with OpenGL, and then they are preferred for elements of OpenGL.
 *
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8 ! openclupload !
 * opencldownload ! autovideosink
 * ]|
 */
#include "elements.h"
#include "opencltransfer.h"

#define GST_TYPE_OPENCL_DOWNLOAD (gst_opencl_download_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLDownload, gst_opencl_download, GST, OPENCL_DOWNLOAD, GstOpenCLTransfer)

struct _GstOpenCLDownload {
  GstOpenCLTransfer parent;
};

G_DEFINE_FINAL_TYPE (GstOpenCLDownload, gst_opencl_download, GST_TYPE_OPENCL_TRANSFER)
GST_ELEMENT_REGISTER_DEFINE (
    opencldownload, "opencldownload", GST_RANK_NONE, GST_TYPE_OPENCL_DOWNLOAD)

static void
gst_opencl_download_class_init (GstOpenCLDownloadClass *klass)
{
  opencl::describe_element (klass, "OpenCL downloader", "Filter/Video/Downloader",
      "Copies buffers from OpenCL device memory",
      {DEVICE_CAPS HOST_CAPS,
          HOST_CAPS TRANSFER_VIDEO ("(memory:GLMemory)") DEVICE_CAPS});
  GST_OPENCL_TRANSFER_CLASS (klass)->uploads = FALSE;
}

static void
gst_opencl_download_init (GstOpenCLDownload *self)
{
}
