/* Deferred work of an element as a C++ object, for the element that follows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>
#include <utility>
#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
/* Work that fills a buffer. It runs on a queue of the element's own context, in any
 * thread, while the element defers more work. `Work` has
 *   type_name: name of the GType
 *   bool write (cl_command_queue queue, cl_mem data, gsize offset, GError **error): writes
 *     all output to `data` from byte `offset` on */
template <typename Work> struct PendingWork {
  GstOpenCLDeferred parent;
  std::shared_ptr<Work> *work;

  static GType get_type ()
  {
    static gsize type = 0;
    if (g_once_init_enter (&type))
      g_once_init_leave (
          &type, g_type_register_static_simple (GST_TYPE_OPENCL_DEFERRED, Work::type_name,
                     sizeof (GstOpenCLDeferredClass), init_class, sizeof (PendingWork),
                     nullptr, G_TYPE_FLAG_FINAL));
    return type;
  }

  static Work &of (gpointer deferred)
  {
    return **static_cast<PendingWork *> (deferred)->work;
  }

  /* Defers the work for a filter's output. `source` becomes its source. */
  static void defer (GstOpenCLFilter *filter, std::shared_ptr<Work> work,
      const GstOpenCLFrame *source, GstBuffer *output)
  {
    auto *self = static_cast<PendingWork *> (g_object_new (get_type (), nullptr));
    self->work = new std::shared_ptr<Work> (std::move (work));
    gst_opencl_deferred_set_source (&self->parent, source);
    gst_opencl_filter_defer (filter, &self->parent, output);
    g_object_unref (self);
  }

  /* For merge() of a filter: maps the output, of `size` bytes, lets `enqueue` (const
   * GstOpenCLFrame *output) do the work, and unmaps both buffers. */
  template <typename Enqueue>
  static GstOpenCLMergeResult merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
      GstBuffer *buffer, gsize size, cl_event *event, GError **error, Enqueue enqueue)
  {
    cl_command_queue queue = gst_opencl_filter_get_queue (filter);
    GstOpenCLFrame output;
    if (!gst_opencl_frame_map (&output,
            gst_opencl_filter_get_video_info (filter, GST_PAD_SRC), size, buffer, queue,
            GST_MAP_WRITE, error))
      return GST_OPENCL_MERGE_FAILED;
    const bool enqueued = enqueue (&output);
    GstOpenCLFrame from = *gst_opencl_deferred_get_source (pending);
    const bool unmapped = gst_opencl_frames_unmap (
        queue, &from, &output, event, enqueued ? error : nullptr);
    return enqueued && unmapped ? GST_OPENCL_MERGED : GST_OPENCL_MERGE_FAILED;
  }

private:
  static inline gpointer parent_class;

  static gboolean fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
      cl_command_queue queue, GError **error)
  {
    return of (deferred).write (queue, data, offset, error);
  }

  static void finalize (GObject *object)
  {
    delete reinterpret_cast<PendingWork *> (object)->work;
    G_OBJECT_CLASS (parent_class)->finalize (object);
  }

  static void init_class (gpointer klass, gpointer)
  {
    parent_class = g_type_class_peek_parent (klass);
    G_OBJECT_CLASS (klass)->finalize = finalize;
    GST_OPENCL_DEFERRED_CLASS (klass)->fill = fill;
  }
};
} // namespace oct
