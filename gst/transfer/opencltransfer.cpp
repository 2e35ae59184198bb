/* What openclupload and opencldownload have in common
 *
 * Any caps, with system or device memory on either side; buffers of one size or of many.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "opencltransfer.h"

#include <gst/opencl/opencl-private.hpp>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_transfer_debug);
#define GST_CAT_DEFAULT gst_opencl_transfer_debug

typedef struct {
  /* For caps that do not say how large a buffer is: grows to the largest seen. */
  GstBufferPool *pool;
  gsize capacity;
  gboolean to_device;
  gboolean any_layout; /* downstream knows of GstVideoMeta */
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

enum class Memory { SYSTEM, DEVICE, OTHER };

static Memory
memory_of (const GstCapsFeatures *features)
{
  Memory memory = Memory::SYSTEM; /* also where no feature speaks of memory */

  if (gst_caps_features_is_any (features))
    return Memory::SYSTEM;
  for (guint i = 0; i < gst_caps_features_get_size (features); i++) {
    const gchar *feature = gst_caps_features_get_nth (features, i);
    if (g_str_equal (feature, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY))
      return Memory::DEVICE;
    if (g_str_has_prefix (feature, "memory:")
        && !g_str_equal (feature, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY))
      memory = Memory::OTHER;
  }
  return memory;
}

static gboolean
has_meta_feature (const GstCapsFeatures *features)
{
  for (guint i = 0; i < gst_caps_features_get_size (features); i++) {
    if (g_str_has_prefix (gst_caps_features_get_nth (features, i), "meta:"))
      return TRUE;
  }
  return FALSE;
}

/* The same features, such as meta:… and format:Interlaced, with another memory. By custom
 * system memory is named beside meta:… and not beside others; features are compared as
 * they are spelt. */
static GstCapsFeatures *
with_memory (const GstCapsFeatures *features, Memory memory)
{
  GstCapsFeatures *changed = gst_caps_features_is_any (features)
                                 ? gst_caps_features_new_empty ()
                                 : gst_caps_features_copy (features);

  if (memory_of (changed) == memory)
    return changed;
  gst_caps_features_remove (changed, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
  gst_caps_features_remove (changed, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  if (memory == Memory::DEVICE)
    gst_caps_features_add (changed, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
  else if (has_meta_feature (changed))
    gst_caps_features_add (changed, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  return changed;
}

/* Not gst_caps_simplify(), which makes lists of ranges that GStreamer cannot compare. */
static void
append_with_memory (GstCaps *result, const GstCaps *caps, guint index, Memory memory)
{
  GstStructure *structure = gst_caps_get_structure (caps, index);
  GstCapsFeatures *features = with_memory (gst_caps_get_features (caps, index), memory);

  if (gst_caps_is_subset_structure_full (result, structure, features))
    gst_caps_features_free (features);
  else
    gst_caps_append_structure_full (result, gst_structure_copy (structure), features);
}

/* What can stand on the other side of device or of system memory, best first. */
struct Conversion {
  gboolean uploads;
  GstPadDirection known;
  Memory memory;
  guint n_others;
  Memory others[2];
};

static const Conversion conversions[] = {
    {TRUE, GST_PAD_SINK, Memory::SYSTEM, 1, {Memory::DEVICE}},
    {TRUE, GST_PAD_SINK, Memory::DEVICE, 1, {Memory::DEVICE}},
    {TRUE, GST_PAD_SRC, Memory::DEVICE, 2, {Memory::DEVICE, Memory::SYSTEM}},
    {FALSE, GST_PAD_SINK, Memory::SYSTEM, 1, {Memory::SYSTEM}},
    {FALSE, GST_PAD_SINK, Memory::DEVICE, 2, {Memory::SYSTEM, Memory::DEVICE}},
    {FALSE, GST_PAD_SRC, Memory::SYSTEM, 2, {Memory::DEVICE, Memory::SYSTEM}},
    {FALSE, GST_PAD_SRC, Memory::DEVICE, 1, {Memory::DEVICE}},
};

static const Conversion *
find_conversion (gboolean uploads, GstPadDirection known, Memory memory)
{
  for (const Conversion &conversion : conversions) {
    if (conversion.uploads == uploads && conversion.known == known
        && conversion.memory == memory)
      return &conversion;
  }
  return nullptr;
}

/* All structures in the best memory first, then all in the next. */
static GstCaps *
convert_caps (gboolean uploads, GstPadDirection known, GstCaps *caps)
{
  GstCaps *result = gst_caps_new_empty ();

  for (guint choice = 0; choice < 2; choice++) {
    for (guint i = 0; i < gst_caps_get_size (caps); i++) {
      const Conversion *conversion =
          find_conversion (uploads, known, memory_of (gst_caps_get_features (caps, i)));
      if (conversion && choice < conversion->n_others)
        append_with_memory (result, caps, i, conversion->others[choice]);
    }
  }
  return result;
}

static GstCaps *
gst_opencl_transfer_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  gboolean uploads = GST_OPENCL_TRANSFER_GET_CLASS (transform)->uploads;
  GstCaps *result = gst_caps_is_any (caps) ? gst_caps_ref (caps)
                                           : convert_caps (uploads, direction, caps);

  if (filter) {
    GstCaps *both = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = both;
  }
  return result;
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
acquire_as_large (GstOpenCLTransfer *self, GstBuffer *input, GstBuffer **output)
{
  gsize size = gst_buffer_get_size (input);

  if (!ensure_capacity (self, size)) {
    gst_opencl_post_error (GST_ELEMENT (self),
        g_error_new (GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
            "No pool for a buffer of %" G_GSIZE_FORMAT " bytes", size));
    return GST_FLOW_ERROR;
  }
  GstFlowReturn flow = /* the pool says why not */
      gst_buffer_pool_acquire_buffer (private_of (self)->pool, output, nullptr);
  if (flow == GST_FLOW_OK)
    gst_buffer_set_size (*output, size);
  return flow;
}

/* Device memory travels with its layout. */
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
is_output_as_it_is (GstOpenCLFilter *filter, GstBuffer *input)
{
  return gst_opencl_buffer_is_host_visible (gst_opencl_filter_get_context (filter), input,
      gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
      private_of (filter)->any_layout);
}

static GstFlowReturn
gst_opencl_transfer_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (transform);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (transform);

  if (!gst_base_transform_is_passthrough (transform)
      && is_output_as_it_is (filter, input)) {
    *output = input; /* which the parent class takes for its own then */
    return GST_FLOW_OK;
  }
  if (gst_base_transform_is_passthrough (transform)
      || gst_opencl_filter_get_video_info (filter, GST_PAD_SINK))
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_transfer_parent_class)
        ->prepare_output_buffer (transform, input, output);

  GstFlowReturn flow = acquire_as_large (GST_OPENCL_TRANSFER (transform), input, output);
  if (flow == GST_FLOW_OK)
    klass->copy_metadata (transform, input, *output);
  return flow;
}

/* The bytes stay what they are, so every meta holds but those about the memory. */
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
  if (output == input) /* the same memory on both sides */
    return private_of (filter)->to_device
           || gst_opencl_memory_map_ahead (
               gst_buffer_peek_memory (input, 0), event, error);
  return gst_opencl_buffer_copy_async (gst_opencl_filter_get_context (filter), output,
      input, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK), event, error);
}

static void
gst_opencl_transfer_close (GstOpenCLFilter *filter)
{
  GstOpenCLTransferPrivate *priv = private_of (filter);

  if (priv->pool)
    gst_buffer_pool_set_active (priv->pool, FALSE);
  gst_clear_object (&priv->pool);
}

static void
gst_opencl_transfer_class_init (GstOpenCLTransferClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  transform_class->transform_caps = gst_opencl_transfer_transform_caps;
  transform_class->decide_allocation = gst_opencl_transfer_decide_allocation;
  transform_class->prepare_output_buffer = gst_opencl_transfer_prepare_output_buffer;
  transform_class->transform_meta = gst_opencl_transfer_transform_meta;
  filter_class->set_formats = gst_opencl_transfer_set_formats;
  filter_class->get_frame_size = gst_opencl_transfer_get_frame_size;
  filter_class->process = gst_opencl_transfer_process;
  filter_class->close = gst_opencl_transfer_close;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_TRANSFER, GstPluginAPIFlags (0));
}

static void
gst_opencl_transfer_init (GstOpenCLTransfer *self)
{
  /* A transfer loses no time by being late: whoever is downstream decides. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}
