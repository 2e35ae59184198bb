/* Deferred work that fills a memory when it is first accessed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "deferredframe.hpp"

#include <mutex>

typedef struct {
  GstOpenCLFrame source; /* its buffer is a reference, or null */

  /* Frame that the work fills */
  GstCaps *caps; /* (nullable) */
  gsize offset;
  gsize size;
  opencl::PlaneLayouts *layout;                   /* (nullable): of raw video */
  std::shared_ptr<opencl::ElementQueues> *queues; /* (nullable) */
} GstOpenCLDeferredPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstOpenCLDeferred, gst_opencl_deferred, G_TYPE_OBJECT)

static GstOpenCLDeferredPrivate *
private_of (gpointer deferred)
{
  return static_cast<GstOpenCLDeferredPrivate *> (
      gst_opencl_deferred_get_instance_private (GST_OPENCL_DEFERRED (deferred)));
}

static void
gst_opencl_deferred_finalize (GObject *object)
{
  GstOpenCLDeferredPrivate *priv = private_of (object);

  gst_clear_buffer (&priv->source.buffer);
  gst_clear_caps (&priv->caps);
  delete priv->layout;
  delete priv->queues;
  G_OBJECT_CLASS (gst_opencl_deferred_parent_class)->finalize (object);
}

static void
gst_opencl_deferred_class_init (GstOpenCLDeferredClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_opencl_deferred_finalize;
}

static void
gst_opencl_deferred_init (GstOpenCLDeferred *self)
{
}

void
gst_opencl_deferred_set_source (GstOpenCLDeferred *deferred, const GstOpenCLFrame *source)
{
  g_return_if_fail (GST_IS_OPENCL_DEFERRED (deferred));
  g_return_if_fail (source && source->buffer && !private_of (deferred)->source.buffer);
  private_of (deferred)->source = *source;
  gst_buffer_ref (source->buffer);
}

const GstOpenCLFrame *
gst_opencl_deferred_get_source (GstOpenCLDeferred *deferred)
{
  g_return_val_if_fail (GST_IS_OPENCL_DEFERRED (deferred), nullptr);
  const GstOpenCLFrame &source = private_of (deferred)->source;
  return source.buffer ? &source : nullptr;
}

namespace opencl {
/* Returns false if the buffer does not fit its caps. Processing without a merge reports
 * that error. */
static bool
find_layout (GstBuffer *buffer, const GstVideoInfo *info, PlaneLayouts &layout)
{
  GError *error = nullptr;

  if (!info || layout_of (buffer, info, layout, &error))
    return true;
  g_clear_error (&error);
  return false;
}

bool
describe_deferred (
    GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info, GstBuffer *made)
{
  GstOpenCLDeferredPrivate *priv = private_of (deferred);

  delete priv->layout;
  priv->layout = new PlaneLayouts;
  gst_caps_replace (&priv->caps, caps);
  priv->offset = gst_buffer_peek_memory (made, 0)->offset;
  priv->size = gst_buffer_get_size (made);
  return find_layout (made, info, *priv->layout);
}

bool
is_frame_of (GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer *buffer)
{
  GstOpenCLDeferredPrivate *priv = private_of (deferred);
  PlaneLayouts layout;

  return priv->caps && gst_caps_is_equal (priv->caps, caps)
         && gst_buffer_peek_memory (buffer, 0)->offset == priv->offset
         && gst_buffer_get_size (buffer) == priv->size
         && find_layout (buffer, info, layout) && layout == *priv->layout;
}

void
set_deferred_queues (GstOpenCLDeferred *deferred, std::shared_ptr<ElementQueues> queues)
{
  GstOpenCLDeferredPrivate *priv = private_of (deferred);

  delete priv->queues;
  priv->queues = new std::shared_ptr<ElementQueues> (std::move (queues));
}

std::shared_ptr<ElementQueues>
queues_of_deferred (GstOpenCLDeferred *deferred)
{
  const GstOpenCLDeferredPrivate *priv = private_of (deferred);
  return priv->queues ? *priv->queues : nullptr;
}
} // namespace opencl
