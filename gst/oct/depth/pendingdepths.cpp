/* Depths that a filter defers to a directly following octdisplay
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pendingdepths.hpp"

#include <utility>

struct _GstOctDeferredDepths {
  GstOpenCLDeferred parent;

  std::shared_ptr<oct::PendingDepths> *depths;
};

G_DEFINE_FINAL_TYPE (
    GstOctDeferredDepths, gst_oct_deferred_depths, GST_TYPE_OPENCL_DEFERRED)

static gboolean
gst_oct_deferred_depths_fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
    cl_command_queue queue, GError **error)
{
  return gst_oct_deferred_depths_get (GST_OCT_DEFERRED_DEPTHS (deferred))
      .make (queue, data, offset, error);
}

static void
gst_oct_deferred_depths_finalize (GObject *object)
{
  delete GST_OCT_DEFERRED_DEPTHS (object)->depths;
  G_OBJECT_CLASS (gst_oct_deferred_depths_parent_class)->finalize (object);
}

static void
gst_oct_deferred_depths_class_init (GstOctDeferredDepthsClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_oct_deferred_depths_finalize;
  GST_OPENCL_DEFERRED_CLASS (klass)->fill = gst_oct_deferred_depths_fill;
}

static void
gst_oct_deferred_depths_init (GstOctDeferredDepths *self)
{
}

GstOctDeferredDepths *
gst_oct_deferred_depths_new (
    std::shared_ptr<oct::PendingDepths> depths, const GstOpenCLFrame *from)
{
  auto *self = static_cast<GstOctDeferredDepths *> (
      g_object_new (GST_TYPE_OCT_DEFERRED_DEPTHS, nullptr));
  self->depths = new std::shared_ptr<oct::PendingDepths> (std::move (depths));
  gst_opencl_deferred_set_source (GST_OPENCL_DEFERRED (self), from);
  return self;
}

oct::PendingDepths &
gst_oct_deferred_depths_get (GstOctDeferredDepths *deferred)
{
  return **deferred->depths;
}
