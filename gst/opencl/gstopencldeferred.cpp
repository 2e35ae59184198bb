/* gstreamer-opencl: contents of a memory that are made when somebody wants them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopencldeferred.h"

G_DEFINE_ABSTRACT_TYPE (GstOpenCLDeferred, gst_opencl_deferred, G_TYPE_OBJECT)

static void
gst_opencl_deferred_class_init (GstOpenCLDeferredClass *klass)
{
}

static void
gst_opencl_deferred_init (GstOpenCLDeferred *self)
{
}
