/* Base class of openclupload and opencldownload
 *
 * Accepts any caps, with system or device memory on either side, and buffers of varying
 * size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "opencltransfer.h"

#include "dmabufimport.hpp"
#include "transfercaps.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/opencl/gstopenclfilter.h>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_transfer_debug);
#define GST_CAT_DEFAULT gst_opencl_transfer_debug

typedef struct {
  /* For caps without a buffer size: grows to the largest buffer seen */
  GstBufferPool *pool;
  gsize capacity;
  gboolean to_device;
  gboolean any_layout;  /* downstream supports GstVideoMeta */
  gint device_imports;  /* atomic: any thread may query caps while it is open */
  gboolean can_import;  /* the device imports dma_bufs and has not failed yet */
  gboolean is_imported; /* the current frame */
  gchar *refused;       /* last posted warning about caps; object lock */
} GstOpenCLTransferPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstOpenCLTransfer, gst_opencl_transfer,
                                  GST_TYPE_OPENCL_FILTER,
                                  G_ADD_PRIVATE (GstOpenCLTransfer);
                                  GST_DEBUG_CATEGORY_INIT (gst_opencl_transfer_debug,
                                      "opencltransfer", 0, "OpenCL upload and download"))

static GstOpenCLTransferPrivate *
private_of (gpointer transfer)
{
  return static_cast<GstOpenCLTransferPrivate *> (
      gst_opencl_transfer_get_instance_private (GST_OPENCL_TRANSFER (transfer)));
}

/* --- caps --- */

static gboolean
gst_opencl_transfer_open (GstOpenCLFilter *filter, GError **error)
{
  const guint types =
      gst_opencl_context_get_import_types (gst_opencl_filter_get_context (filter));
  g_atomic_int_set (
      &private_of (filter)->device_imports, (types & GST_OPENCL_HANDLE_DMA_BUF) != 0);
  return TRUE;
}

static bool
imports_dma_bufs (gpointer transfer)
{
  return g_atomic_int_get (&private_of (transfer)->device_imports) != 0;
}

/* Posts a warning with the reason. A source that queries caps first fails without sending
 * caps. */
static void
warn_refused_caps (gpointer element, const GstCaps *wanted)
{
  GstOpenCLTransferPrivate *priv = private_of (element);
  const std::string refused = refused_dma_drm (wanted);
  if (refused.empty ())
    return;
  GST_OBJECT_LOCK (element);
  const bool is_repeated = g_strcmp0 (priv->refused, refused.c_str ()) == 0;
  g_free (priv->refused);
  priv->refused = g_strdup (refused.c_str ());
  GST_OBJECT_UNLOCK (element);
  if (!is_repeated)
    GST_ELEMENT_WARNING (GST_ELEMENT (element), CORE, NEGOTIATION,
        ("%s", refused.c_str ()), ("%" GST_PTR_FORMAT, wanted));
}

static GstCaps *
gst_opencl_transfer_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  TransferMode mode = TransferMode::DOWNLOAD;
  if (GST_OPENCL_TRANSFER_GET_CLASS (transform)->uploads)
    mode = imports_dma_bufs (transform) ? TransferMode::IMPORT : TransferMode::UPLOAD;
  GstCaps *result = gst_caps_is_any (caps)
                        ? gst_caps_ref (caps)
                        : convert_transfer_caps (mode, direction, caps);

  if (direction == GST_PAD_SINK && gst_caps_is_empty (result))
    warn_refused_caps (transform, caps);
  return opencl::filtered_caps (result, filter);
}

/* Posts an error with the reason, which GStreamer's own error lacks. */
static GstPadProbeReturn
check_caps_event (GstPad *, GstPadProbeInfo *info, gpointer element)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  GstCaps *caps;
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  const std::string refused = refused_dma_drm (caps);
  if (!refused.empty ())
    GST_ELEMENT_ERROR (GST_ELEMENT (element), CORE, NEGOTIATION, ("%s", refused.c_str ()),
        ("%" GST_PTR_FORMAT, caps));
  return GST_PAD_PROBE_OK;
}

static gboolean
gst_opencl_transfer_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenCLTransferPrivate *priv = private_of (filter);
  Memory from = memory_of (gst_caps_get_features (input, 0));
  Memory to = memory_of (gst_caps_get_features (output, 0));

  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (filter), from == to);
  if (priv->pool && priv->to_device != (to == Memory::DEVICE)) {
    gst_buffer_pool_set_active (priv->pool, FALSE);
    gst_clear_object (&priv->pool);
  }
  priv->to_device = to == Memory::DEVICE;
  priv->can_import = priv->to_device && from != to && imports_dma_bufs (filter);
  return TRUE;
}

/* Caps other than raw video do not say how large their buffers are. */
static gboolean
gst_opencl_transfer_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  *size = 0;
  return TRUE;
}

/* --- buffers --- */

static gboolean
ensure_capacity (GstOpenCLTransfer *self, gsize size)
{
  GstOpenCLTransferPrivate *priv = private_of (self);

  if (priv->pool && priv->capacity >= size)
    return TRUE;
  if (priv->pool)
    gst_buffer_pool_set_active (priv->pool, FALSE);
  gst_clear_object (&priv->pool);
  priv->capacity = MAX (size, 1);
  priv->pool = gst_opencl_filter_new_pool (
      GST_OPENCL_FILTER (self), !priv->to_device, priv->capacity);
  return priv->pool && gst_buffer_pool_set_active (priv->pool, TRUE);
}

static GstFlowReturn
acquire_same_size (GstOpenCLTransfer *self, GstBuffer *input, GstBuffer **output)
{
  gsize size = gst_buffer_get_size (input);

  if (!ensure_capacity (self, size)) {
    gst_opencl_post_error (GST_ELEMENT (self),
        g_error_new (GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
            "Cannot create a pool for buffers of %" G_GSIZE_FORMAT " bytes", size));
    return GST_FLOW_ERROR;
  }
  GstFlowReturn flow = /* the pool posts the reason */
      gst_buffer_pool_acquire_buffer (private_of (self)->pool, output, nullptr);
  if (flow == GST_FLOW_OK)
    gst_buffer_set_size (*output, size);
  return flow;
}

/* Proposes no pool for DMABuf and GL memory, which other elements allocate. */
static gboolean
gst_opencl_transfer_propose_allocation (
    GstBaseTransform *transform, GstQuery *decide_query, GstQuery *query)
{
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!caps || !is_memory_of_others (memory_of (gst_caps_get_features (caps, 0))))
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_transfer_parent_class)
        ->propose_allocation (transform, decide_query, query);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

/* Device memory carries its layout. System memory needs GstVideoMeta downstream. */
static gboolean
gst_opencl_transfer_decide_allocation (GstBaseTransform *transform, GstQuery *query)
{
  private_of (transform)->any_layout =
      GST_OPENCL_TRANSFER_GET_CLASS (transform)->uploads
      || gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_transfer_parent_class)
      ->decide_allocation (transform, query);
}

static gboolean
is_usable_as_output (GstOpenCLFilter *filter, GstBuffer *input)
{
  return gst_opencl_buffer_is_host_visible (gst_opencl_filter_get_context (filter), input,
      gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
      private_of (filter)->any_layout);
}

/* Imports the input if it is a dma_buf that the device can read. Then process () has
 * nothing to do. */
static bool
import_input (GstOpenCLTransfer *self, GstBuffer *input, GstBuffer **output)
{
  GstOpenCLTransferPrivate *priv = private_of (self);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  GError *error = nullptr;

  priv->is_imported = false;
  if (!priv->to_device || !priv->can_import || !is_dma_buf (input))
    return false;
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  *output = import_dma_buf (gst_opencl_filter_get_context (filter), input,
      info ? GST_VIDEO_INFO_FORMAT (info) : GST_VIDEO_FORMAT_UNKNOWN, &error);
  priv->is_imported = priv->can_import = *output != nullptr;
  if (error)
    GST_WARNING_OBJECT (
        self, "cannot import the dma_buf, copying from now on: %s", error->message);
  g_clear_error (&error);
  return priv->is_imported;
}

static GstFlowReturn
gst_opencl_transfer_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (transform);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (transform);

  if (!gst_base_transform_is_passthrough (transform)
      && is_usable_as_output (filter, input)) {
    *output = input; /* same buffer: the parent class works in place */
    return GST_FLOW_OK;
  }
  if (import_input (GST_OPENCL_TRANSFER (transform), input, output)) {
    klass->copy_metadata (transform, input, *output);
    return GST_FLOW_OK;
  }
  if (gst_base_transform_is_passthrough (transform)
      || gst_opencl_filter_get_video_info (filter, GST_PAD_SINK))
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_transfer_parent_class)
        ->prepare_output_buffer (transform, input, output);

  GstFlowReturn flow = acquire_same_size (GST_OPENCL_TRANSFER (transform), input, output);
  if (flow == GST_FLOW_OK)
    klass->copy_metadata (transform, input, *output);
  return flow;
}

/* The contents stay the same, so all metas are copied except those about memory. */
static gboolean
gst_opencl_transfer_transform_meta (
    GstBaseTransform *transform, GstBuffer *output, GstMeta *meta, GstBuffer *input)
{
  return !gst_meta_api_type_has_tag (meta->info->api, _gst_meta_tag_memory);
}

static gboolean
gst_opencl_transfer_process (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  if (private_of (filter)->is_imported)
    return TRUE;
  if (output == input) /* the same memory on both sides */
    return private_of (filter)->to_device
           || gst_opencl_memory_prepare_map (
               gst_buffer_peek_memory (input, 0), event, error);
  return gst_opencl_buffer_copy_async (gst_opencl_filter_get_context (filter), output,
      input, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK), event, error);
}

static void
gst_opencl_transfer_close (GstOpenCLFilter *filter)
{
  GstOpenCLTransferPrivate *priv = private_of (filter);

  g_atomic_int_set (&priv->device_imports, FALSE);
  if (priv->pool)
    gst_buffer_pool_set_active (priv->pool, FALSE);
  gst_clear_object (&priv->pool);
}

static void
gst_opencl_transfer_finalize (GObject *object)
{
  g_free (private_of (object)->refused);
  G_OBJECT_CLASS (gst_opencl_transfer_parent_class)->finalize (object);
}

/* Templates of the pads: those of the class, which name caps, do not restrict them. */
static GstStaticPadTemplate any_sink =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate any_source =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static void
gst_opencl_transfer_class_init (GstOpenCLTransferClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_opencl_transfer_finalize;
  transform_class->transform_caps = gst_opencl_transfer_transform_caps;
  transform_class->propose_allocation = gst_opencl_transfer_propose_allocation;
  transform_class->decide_allocation = gst_opencl_transfer_decide_allocation;
  transform_class->prepare_output_buffer = gst_opencl_transfer_prepare_output_buffer;
  transform_class->transform_meta = gst_opencl_transfer_transform_meta;
  filter_class->set_formats = gst_opencl_transfer_set_formats;
  filter_class->get_frame_size = gst_opencl_transfer_get_frame_size;
  filter_class->process = gst_opencl_transfer_process;
  filter_class->open = gst_opencl_transfer_open;
  filter_class->close = gst_opencl_transfer_close;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_TRANSFER, GstPluginAPIFlags (0));
}

static void
gst_opencl_transfer_init (GstOpenCLTransfer *self)
{
  for (GstPad *pad :
      {GST_BASE_TRANSFORM_SINK_PAD (self), GST_BASE_TRANSFORM_SRC_PAD (self)}) {
    GstPadTemplate *any =
        gst_static_pad_template_get (GST_PAD_IS_SINK (pad) ? &any_sink : &any_source);
    g_object_set (pad, "template", any, nullptr);
    gst_object_unref (any);
  }
  /* Late frames are not dropped here: downstream decides. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
  gst_pad_add_probe (GST_BASE_TRANSFORM_SINK_PAD (self),
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, check_caps_event, self, nullptr);
}
