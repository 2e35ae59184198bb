/* Base class of openclupload and opencldownload
 *
 * Accepts any caps, with system or device memory on either side, and buffers of varying
 * size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "opencltransfer.h"

#include "sharing/dmabufimport.hpp"
#include "sharing/glbridge.hpp"
#include "transfercaps.hpp"

#include <gst/common/buffers.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/module.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/opencl/gstopenclfilter.h>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_transfer_debug);
#define GST_CAT_DEFAULT gst_opencl_transfer_debug

typedef struct {
  /* For caps without a buffer size: grows to the largest buffer seen */
  GstBufferPool *pool;
  gsize capacity;
  gboolean any_layout;  /* downstream supports GstVideoMeta */
  gint import_types;    /* GstOpenCLHandleTypes; atomic: any thread may query caps */
  gboolean can_import;  /* the device imports dma_bufs and has not failed yet */
  gboolean is_imported; /* the current frame */
  Memory from, to;
  gboolean takes_pool; /* output buffers are downstream's */
  gboolean can_bridge; /* device and OpenGL share memory, or it was not tried yet */
  GLBridge *bridge;    /* nullptr until the first frame of textures */
  const GLModule *gl;  /* nullptr until it is needed */
  gboolean misses_gl;  /* it cannot be loaded */
  gchar *refused;      /* last posted warning about caps; object lock */
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
  g_atomic_int_set (&private_of (filter)->import_types,
      gst_opencl_context_get_import_types (gst_opencl_filter_get_context (filter)));
  return TRUE;
}

static bool
can_import (gpointer transfer, GstOpenCLHandleTypes type)
{
  return (g_atomic_int_get (&private_of (transfer)->import_types) & type) != 0;
}

/* Memory of Vulkan, which OpenGL imports, too */
static bool
can_share_with_gl (gpointer transfer)
{
  return can_import (transfer, GST_OPENCL_HANDLE_OPAQUE_FD);
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
    mode = can_import (transform, GST_OPENCL_HANDLE_DMA_BUF) ? TransferMode::IMPORT
                                                             : TransferMode::UPLOAD;
  GstCaps *result = gst_caps_is_any (caps)
                        ? gst_caps_ref (caps)
                        : convert_transfer_caps (mode, direction, caps);

  if (direction == GST_PAD_SINK && gst_caps_is_empty (result))
    warn_refused_caps (transform, caps);
  return opencl::filtered_caps (result, filter);
}

/* Returns the module of OpenGL. Says once what is missing. (nullable) */
static const GLModule *
load_gl (gpointer self)
{
  GstOpenCLTransferPrivate *priv = private_of (self);
  GError *error = nullptr;

  if (priv->gl || priv->misses_gl)
    return priv->gl;
  priv->gl = static_cast<const GLModule *> (
      gst_opencl_load_module (GL_MODULE, GL_MODULE_SYMBOL, &error));
  priv->misses_gl = priv->gl == nullptr;
  if (error)
    GST_ELEMENT_WARNING (self, LIBRARY, INIT,
        ("%s cannot share textures with OpenGL: %s", GST_OBJECT_NAME (self),
            error->message),
        (nullptr));
  g_clear_error (&error);
  return priv->gl;
}

/* Returns the display of elements of OpenGL behind `src`, which have it as soon as they are
 * READY. The type is GST_GL_DISPLAY_CONTEXT_TYPE, without the library. (transfer full)
 * (nullable) */
static GstContext *
gl_display_downstream (GstPad *src)
{
  GstQuery *query = gst_query_new_context ("gst.gl.GLDisplay");
  GstContext *display = nullptr;

  if (gst_pad_peer_query (src, query))
    gst_query_parse_context (query, &display);
  if (display)
    gst_context_ref (display);
  gst_query_unref (query);
  return display;
}

static bool
has_gl_downstream (GstPad *src)
{
  GstContext *display = gl_display_downstream (src);
  const bool found = display != nullptr;
  g_clear_pointer (&display, gst_context_unref);
  return found;
}

/* Prefers textures if an element of OpenGL takes them, and the device shares memory with
 * it. Elements that accept any caps would have to map them. */
static GstCaps *
gst_opencl_transfer_fixate_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  const bool prefers_gl = direction == GST_PAD_SINK && can_share_with_gl (transform)
                          && has_gl_downstream (GST_BASE_TRANSFORM_SRC_PAD (transform))
                          && load_gl (transform);
  for (guint i = 0; direction == GST_PAD_SINK && i < gst_caps_get_size (others); i++) {
    if ((memory_of (gst_caps_get_features (others, i)) == Memory::GL) != prefers_gl)
      continue;
    GstCaps *preferred = gst_caps_copy_nth (others, i);
    gst_caps_unref (others);
    others = preferred;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_transfer_parent_class)
      ->fixate_caps (transform, direction, caps, others);
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
  const Memory from = memory_of (gst_caps_get_features (input, 0));
  const Memory to = memory_of (gst_caps_get_features (output, 0));

  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (filter), from == to);
  if (priv->to != to)
    opencl::release_pool (&priv->pool);
  priv->from = from;
  priv->to = to;
  priv->can_import = from != to && can_import (filter, GST_OPENCL_HANDLE_DMA_BUF);
  priv->can_bridge = can_share_with_gl (filter);
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
  opencl::release_pool (&priv->pool);
  priv->capacity = MAX (size, 1);
  priv->pool = gst_opencl_filter_new_pool (
      GST_OPENCL_FILTER (self), priv->to != Memory::DEVICE, priv->capacity);
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

/* Returns true for pools whose memory is no better than our own, which is pinned. */
static bool
has_plain_memory (GstBufferPool *pool, GstAllocator *allocator)
{
  const GType type = G_OBJECT_TYPE (pool);
  return GST_IS_OPENCL_BUFFER_POOL (pool)
         || ((type == GST_TYPE_VIDEO_BUFFER_POOL || type == GST_TYPE_BUFFER_POOL)
             && (!allocator || g_str_equal (allocator->mem_type, GST_ALLOCATOR_SYSMEM)));
}

/* Configures a pool of the query for the base class, and keeps the pool's own allocator. With
 * `gl` the pool must make textures. */
static bool
offer_pool (GstQuery *query, GstCaps *caps, guint index, const GLModule *gl)
{
  GstBufferPool *pool;
  GstAllocator *allocator = nullptr;
  GstAllocationParams params;
  guint size, min, max;

  gst_query_parse_nth_allocation_pool (query, index, &pool, &size, &min, &max);
  if (!pool)
    return false;
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_allocator (config, &allocator, &params);
  const bool suits = gl ? gl->is_pool (pool) : !has_plain_memory (pool, allocator);
  if (suits && gst_query_get_n_allocation_params (query) == 0)
    gst_query_add_allocation_param (query, allocator, &params);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (suits) {
    gst_buffer_pool_set_config (pool, config);
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  } else {
    gst_structure_free (config);
  }
  gst_object_unref (pool);
  return suits;
}

/* Not all elements of OpenGL offer a pool. */
static void
add_pool_of_textures (GstBaseTransform *transform, GstQuery *query, gsize size)
{
  GstContext *display = gl_display_downstream (GST_BASE_TRANSFORM_SRC_PAD (transform));
  GstBufferPool *pool = display ? load_gl (transform)->new_pool (display) : nullptr;
  g_clear_pointer (&display, gst_context_unref);
  if (pool)
    gst_query_add_allocation_pool (query, pool, size, 0, 0);
  gst_clear_object (&pool);
}

/* Video goes to memory that downstream needs: textures, dma_bufs, memory of a display or of
 * another process. */
static bool
offer_pool_of_downstream (GstBaseTransform *transform, GstQuery *query)
{
  GstOpenCLTransferPrivate *priv = private_of (transform);
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  const GstVideoInfo *info =
      gst_opencl_filter_get_video_info (GST_OPENCL_FILTER (transform), GST_PAD_SRC);
  if (priv->to == Memory::DEVICE || !caps || !info)
    return false;
  if (priv->to == Memory::GL)
    add_pool_of_textures (transform, query, GST_VIDEO_INFO_SIZE (info));
  for (guint i = 0; i < gst_query_get_n_allocation_pools (query); i++) {
    if (offer_pool (query, caps, i, priv->to == Memory::GL ? priv->gl : nullptr))
      return true;
  }
  return false;
}

/* Device memory carries its layout. System memory needs GstVideoMeta downstream. */
static gboolean
gst_opencl_transfer_decide_allocation (GstBaseTransform *transform, GstQuery *query)
{
  GstOpenCLTransferPrivate *priv = private_of (transform);
  if (priv->to == Memory::GL && !load_gl (transform))
    return FALSE;
  priv->any_layout =
      GST_OPENCL_TRANSFER_GET_CLASS (transform)->uploads
      || gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  priv->takes_pool = offer_pool_of_downstream (transform, query);
  if (priv->to == Memory::GL && !priv->takes_pool) {
    GST_ELEMENT_ERROR (transform, RESOURCE, NOT_FOUND,
        ("No element downstream has an OpenGL context for textures: let an element of "
         "OpenGL follow, such as glimagesink."),
        (nullptr));
    return FALSE;
  }
  gpointer klass = priv->takes_pool ? g_type_class_peek (GST_TYPE_BASE_TRANSFORM)
                                    : gst_opencl_transfer_parent_class;
  return GST_BASE_TRANSFORM_CLASS (klass)->decide_allocation (transform, query);
}

static gboolean
is_usable_as_output (GstOpenCLFilter *filter, GstBuffer *input)
{
  return !private_of (filter)->takes_pool
         && gst_opencl_buffer_is_host_visible (gst_opencl_filter_get_context (filter),
             input, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
             private_of (filter)->any_layout);
}

/* Says why memory is not shared. The frame, and all that follow, are copied. */
static void
stop_sharing (GstOpenCLTransfer *self, gboolean *can_share, GError *error)
{
  *can_share = FALSE;
  GST_WARNING_OBJECT (self, "cannot share memory, copying from now on: %s",
      error ? error->message : "no reason given");
  g_clear_error (&error);
}

/* Returns the bridge for `textures`, or nullptr if there is none. */
static GLBridge *
bridge_for (GstOpenCLTransfer *self, GstBuffer *textures)
{
  GstOpenCLTransferPrivate *priv = private_of (self);
  GError *error = nullptr;

  if (!priv->can_bridge || (priv->bridge && priv->bridge->fits (textures)))
    return priv->can_bridge ? priv->bridge : nullptr;
  delete priv->bridge;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  const GLModule *gl = load_gl (self);
  priv->bridge = gl ? gl->new_bridge (context, textures, &error).release () : nullptr;
  if (!priv->bridge)
    stop_sharing (self, &priv->can_bridge, error);
  return priv->bridge;
}

/* Returns the input as device memory if it is a dma_buf that the device can read, or
 * textures that it can copy. Then process () has nothing to do. */
static bool
import_input (GstOpenCLTransfer *self, GstBuffer *input, GstBuffer **output)
{
  GstOpenCLTransferPrivate *priv = private_of (self);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  GError *error = nullptr;
  gboolean *can_share = priv->from == Memory::GL ? &priv->can_bridge : &priv->can_import;

  priv->is_imported = FALSE;
  if (priv->to != Memory::DEVICE || priv->from == priv->to)
    return false;
  if (priv->from == Memory::GL) {
    GLBridge *bridge = bridge_for (self, input);
    *output = bridge ? bridge->read (input, &error) : nullptr;
  } else if (priv->can_import && is_dma_buf (input)) {
    const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
    *output = import_dma_buf (gst_opencl_filter_get_context (filter), input,
        info ? GST_VIDEO_INFO_FORMAT (info) : GST_VIDEO_FORMAT_UNKNOWN, &error);
  } else {
    return false;
  }
  priv->is_imported = *output != nullptr;
  if (error)
    stop_sharing (self, can_share, error);
  return priv->is_imported;
}

/* Copies to memory that neither is the context's nor can be shared with it. */
static bool
copy_on_host (
    const GstVideoInfo *info, GstBuffer *input, GstBuffer *output, GError **error)
{
  GstVideoFrame from, to;
  bool copied = false;

  if (gst_video_frame_map (&from, info, input, GST_MAP_READ)) {
    if (gst_video_frame_map (&to, info, output, GST_MAP_WRITE)) {
      copied = gst_video_frame_copy (&to, &from);
      gst_video_frame_unmap (&to);
    }
    gst_video_frame_unmap (&from);
  }
  if (!copied)
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "Cannot copy a frame to memory of downstream");
  return copied;
}

/* Copies a frame to a buffer of downstream's pool, on the device if that can be. */
static gboolean
copy_to_downstream (GstOpenCLTransfer *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstOpenCLTransferPrivate *priv = private_of (self);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  GError *reason = nullptr;

  if (GLBridge *bridge = priv->to == Memory::GL ? bridge_for (self, output) : nullptr) {
    if (bridge->write (output, input, info, event, &reason))
      return TRUE;
    stop_sharing (self, &priv->can_bridge, reason);
  } else if (priv->can_import && is_dma_buf (output)) {
    if (copy_to_dma_buf (
            gst_opencl_filter_get_context (filter), output, input, info, event, &reason))
      return TRUE;
    stop_sharing (self, &priv->can_import, reason);
  }
  g_clear_pointer (event, clReleaseEvent);
  return copy_on_host (info, input, output, error);
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
  if (private_of (filter)->takes_pool)
    return copy_to_downstream (GST_OPENCL_TRANSFER (filter), input, output, event, error);
  if (output == input) /* the same memory on both sides */
    return private_of (filter)->to == Memory::DEVICE
           || gst_opencl_memory_prepare_map (
               gst_buffer_peek_memory (input, 0), event, error);
  return gst_opencl_buffer_copy_async (gst_opencl_filter_get_context (filter), output,
      input, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK), event, error);
}

static void
gst_opencl_transfer_close (GstOpenCLFilter *filter)
{
  GstOpenCLTransferPrivate *priv = private_of (filter);

  g_atomic_int_set (&priv->import_types, 0);
  delete priv->bridge;
  priv->bridge = nullptr;
  opencl::release_pool (&priv->pool);
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
  transform_class->fixate_caps = gst_opencl_transfer_fixate_caps;
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
