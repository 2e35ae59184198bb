/* Base class of openclupload and opencldownload
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclfilter.h>

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
