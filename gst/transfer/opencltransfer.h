/* Base class of openclupload and opencldownload
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclfilter.h>

/* Caps of the pad templates, by which editors choose elements. The pads themselves take any
 * caps. */
#define TRANSFER_FIELDS(formats)                                                         \
  ", format=(string)" formats ", width=(int)[1, max], height=(int)[1, max], "            \
  "framerate=(fraction)[0, max]; "
#define TRANSFER_VIDEO(memory)                                                           \
  "video/x-raw" memory TRANSFER_FIELDS (GST_VIDEO_FORMATS_ALL)
#define TRANSFER_CAPS(memory)                                                            \
  TRANSFER_VIDEO (memory) "application/x-oct" memory "; other/tensors" memory "; "
#define HOST_CAPS TRANSFER_CAPS ("")
#define DEVICE_CAPS TRANSFER_CAPS ("(memory:OpenCLMemory)")

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_TRANSFER (gst_opencl_transfer_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLTransfer, gst_opencl_transfer, GST, OPENCL_TRANSFER, GstOpenCLFilter)

/**
 * GstOpenCLTransferClass:
 * @uploads: whether the output is device memory; otherwise it is system memory, or device
 *   memory passed through where downstream takes nothing else
 */
struct _GstOpenCLTransferClass {
  GstOpenCLFilterClass parent_class;

  gboolean uploads;
};

G_END_DECLS
