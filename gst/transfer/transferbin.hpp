/* Common code of the bins that upload and download automatically
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementbin.hpp>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_TRANSFER_BIN (gst_opencl_transfer_bin_get_type ())
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLTransferBin, gst_opencl_transfer_bin, GST, OPENCL_TRANSFER_BIN, GstBin)

/**
 * GstOpenCLTransferBinClass:
 *
 * A bin that misses an element does not start, and says which.
 */
struct _GstOpenCLTransferBinClass {
  GstBinClass parent_class;
};

/**
 * gst_opencl_transfer_bin_add:
 *
 * Returns: (transfer none) (nullable): an element in the bin, linked with nothing
 */
GstElement *gst_opencl_transfer_bin_add (gpointer bin, const gchar *factory);

/**
 * gst_opencl_transfer_bin_add_part:
 *
 * The same of the one whose properties are the bin's.
 */
GstElement *gst_opencl_transfer_bin_add_part (gpointer bin, const gchar *factory);

gboolean gst_opencl_transfer_bin_is_whole (gpointer bin);

G_END_DECLS

/* Properties of type `of` become the bins' of `klass`, which are set and read by their part:
 * also through the parent class where `klass` has others. See install_properties_of (). */
void gst_opencl_transfer_bin_class_forward (gpointer klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted);
