/* gstreamer-opencl: contents of a memory that are made when somebody wants them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopencldeferred.h"

typedef struct {
  GstOpenCLFrame source; /* its buffer is a reference, or null */
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
  gst_clear_buffer (&private_of (object)->source.buffer);
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
