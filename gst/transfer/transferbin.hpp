/* Common code of the bins that upload and download automatically
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementbin.hpp>
#include <gst/common/settings.hpp>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_TRANSFER_BIN (gst_opencl_transfer_bin_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLTransferBin, gst_opencl_transfer_bin, GST, OPENCL_TRANSFER_BIN, GstBin)

/**
 * GstOpenCLTransferBinClass:
 *
 * If an element is missing, the bin does not start, and reports which one.
 */
struct _GstOpenCLTransferBinClass {
  GstBinClass parent_class;
};

/**
 * gst_opencl_transfer_bin_add:
 *
 * Returns: (transfer none) (nullable): an element in the bin, not linked yet
 */
GstElement *gst_opencl_transfer_bin_add (gpointer bin, const gchar *factory);

/**
 * gst_opencl_transfer_bin_add_part:
 *
 * Like gst_opencl_transfer_bin_add(), for the element whose properties the bin forwards.
 */
GstElement *gst_opencl_transfer_bin_add_part (gpointer bin, const gchar *factory);

gboolean gst_opencl_transfer_bin_is_complete (gpointer bin);

G_END_DECLS

/* Installs the properties of type `of` on `klass` and forwards them to the part of the
 * bin. A `klass` with properties of its own must chain up to the parent class for them.
 * See install_properties_of (). */
void gst_opencl_transfer_bin_class_forward (gpointer klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted);
