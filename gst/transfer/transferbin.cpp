/* Common code of the bins that upload and download automatically
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "transferbin.hpp"

typedef struct {
  const gchar *missing; /* (nullable): factory that was not found */
  GstElement *part;     /* (nullable): element with the bin's properties */
} GstOpenCLTransferBinPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstOpenCLTransferBin, gst_opencl_transfer_bin, GST_TYPE_BIN)

static GstOpenCLTransferBinPrivate *
private_of (gpointer bin)
{
  return static_cast<GstOpenCLTransferBinPrivate *> (
      gst_opencl_transfer_bin_get_instance_private (GST_OPENCL_TRANSFER_BIN (bin)));
}

GstElement *
gst_opencl_transfer_bin_add (gpointer bin, const gchar *factory)
{
  return opencl::add_to_bin (bin, factory, &private_of (bin)->missing);
}

GstElement *
gst_opencl_transfer_bin_add_part (gpointer bin, const gchar *factory)
{
  GstElement *part = gst_opencl_transfer_bin_add (bin, factory);
  opencl::forward_bindings (bin, part);
  return private_of (bin)->part = part;
}

gboolean
gst_opencl_transfer_bin_is_complete (gpointer bin)
{
  return !private_of (bin)->missing;
}

static GstStateChangeReturn
gst_opencl_transfer_bin_change_state (GstElement *element, GstStateChange change)
{
  if (!opencl::report_missing (element, private_of (element)->missing))
    return GST_STATE_CHANGE_FAILURE;
  return GST_ELEMENT_CLASS (gst_opencl_transfer_bin_parent_class)
      ->change_state (element, change);
}

static void
gst_opencl_transfer_bin_set_property (
    GObject *object, guint, const GValue *value, GParamSpec *spec)
{
  opencl::forward_set (private_of (object)->part, value, spec);
}

static void
gst_opencl_transfer_bin_get_property (
    GObject *object, guint, GValue *value, GParamSpec *spec)
{
  opencl::forward_get (private_of (object)->part, value, spec);
}

void
gst_opencl_transfer_bin_class_forward (gpointer klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  /* GObject does not inherit them. */
  if (!object_class->set_property)
    object_class->set_property = gst_opencl_transfer_bin_set_property;
  if (!object_class->get_property)
    object_class->get_property = gst_opencl_transfer_bin_get_property;
  opencl::install_properties_of (object_class, of, first, is_wanted);
}

static void
gst_opencl_transfer_bin_class_init (GstOpenCLTransferBinClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = gst_opencl_transfer_bin_set_property;
  object_class->get_property = gst_opencl_transfer_bin_get_property;
  GST_ELEMENT_CLASS (klass)->change_state = gst_opencl_transfer_bin_change_state;
  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_TRANSFER_BIN, GstPluginAPIFlags (0));
}

static void
gst_opencl_transfer_bin_init (GstOpenCLTransferBin *bin)
{
}
