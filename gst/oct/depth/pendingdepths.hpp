/* Depths that a filter leaves to a directly following octdisplay
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "display.hpp"

#include <gst/opencl/elements/gstopencldeferral.h>

#include <memory>

namespace oct {
/* Pending work for another filter, on the queue of its own context. Usable from any
 * thread, while the first filter has further work pending. */
class PendingDepths {
public:
  virtual ~PendingDepths () = default;

  /* All of the depths, from byte `offset` of `data` on. */
  virtual bool make (
      cl_command_queue queue, cl_mem data, gsize offset, GError **error) = 0;
  /* A picture of them instead, as `display` would make it of the depths. */
  virtual bool show (Display &display, cl_command_queue queue, const DepthOutput &picture,
      GError **error) = 0;
};
} // namespace oct

G_BEGIN_DECLS

#define GST_TYPE_OCT_DEFERRED_DEPTHS (gst_oct_deferred_depths_get_type ())
G_DECLARE_FINAL_TYPE (GstOctDeferredDepths, gst_oct_deferred_depths, GST,
    OCT_DEFERRED_DEPTHS, GstOpenCLDeferred)

G_END_DECLS

/* `from` becomes its source. */
GstOctDeferredDepths *gst_oct_deferred_depths_new (
    std::shared_ptr<oct::PendingDepths> depths, const GstOpenCLFrame *from);

oct::PendingDepths &gst_oct_deferred_depths_get (GstOctDeferredDepths *deferred);
