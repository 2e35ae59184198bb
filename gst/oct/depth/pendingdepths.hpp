/* Depths that a filter defers to a directly following octdisplay
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "display.hpp"

#include <gst/opencl/device/gstopencldeferral.h>

#include <memory>

namespace oct {
/* Deferred work, which runs on a queue of the filter's own context. It can run in any
 * thread, while the filter defers more work. */
class PendingDepths {
public:
  virtual ~PendingDepths () = default;

  /* Writes all depths to `data` from byte `offset` on. */
  virtual bool make (
      cl_command_queue queue, cl_mem data, gsize offset, GError **error) = 0;
  /* Writes the image that `display` would make of the depths, instead of the depths. */
  virtual bool show (Display &display, cl_command_queue queue, const DepthOutput &image,
      GError **error) = 0;
};
} // namespace oct

G_BEGIN_DECLS

#define GST_TYPE_OCT_DEFERRED_DEPTHS (gst_oct_deferred_depths_get_type ())
G_DECLARE_FINAL_TYPE (GstOctDeferredDepths, gst_oct_deferred_depths, GST,
    OCT_DEFERRED_DEPTHS, GstOpenCLDeferred)

G_END_DECLS

/* `from` becomes the source of the deferred work. */
GstOctDeferredDepths *gst_oct_deferred_depths_new (
    std::shared_ptr<oct::PendingDepths> depths, const GstOpenCLFrame *from);

oct::PendingDepths &gst_oct_deferred_depths_get (GstOctDeferredDepths *deferred);
