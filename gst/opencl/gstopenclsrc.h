/* Base class of sources that generate frames on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstpushsrc.h>
#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_SRC (gst_opencl_src_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (GstOpenCLSrc, gst_opencl_src, GST, OPENCL_SRC, GstPushSrc)

/**
 * GstOpenCLSrcClass:
 * @open: checks settings and builds kernels. The context is available. Optional
 * @close: releases what @open and @set_format made. All enqueued commands have finished.
 *   Optional
 * @set_format: computes tables and allocates work memory for new caps. All commands
 *   enqueued for the old caps have finished. Optional
 * @get_frame_size: gets the size in bytes of a frame of caps other than `video/x-raw`.
 *   Optional if all caps are raw video
 * @fill_frame: enqueues commands on @queue that compute frame @number, which begins at
 *   @time. Frame 0 begins at the stream's time 0. It must not wait
 *
 * A subclass adds a pad template, and implements #GstBaseSrcClass.fixate() for the size
 * of frames and these functions. The base class has the `device` and `async-depth`
 * properties, finds the context, decides pools, downloads frames if downstream needs
 * system memory, limits the frames in flight, and drains before EOS, seeks, new caps and
 * stop. It posts an @error of any of these functions as one element error. The caps'
 * `framerate` gives timestamps, duration (with `num-buffers`), latency and seeks,
 * forwards and backwards. A live source (gst_base_src_set_live()) outputs each frame when
 * its time begins, and does not seek. A framerate of 0 is a single still frame.
 * Controlled properties are synchronised before each frame. All functions run in the
 * streaming thread or in a state change, never two at a time.
 *
 * Since: 0.2
 */
struct _GstOpenCLSrcClass {
  GstPushSrcClass parent_class;

  gboolean (*open) (GstOpenCLSrc *src, GError **error);
  void (*close) (GstOpenCLSrc *src);
  gboolean (*set_format) (GstOpenCLSrc *src, GstCaps *caps, GError **error);
  gboolean (*get_frame_size) (GstOpenCLSrc *src, GstCaps *caps, gsize *size);
  gboolean (*fill_frame) (GstOpenCLSrc *src, guint64 number, GstClockTime time,
      const GstOpenCLFrame *frame, cl_command_queue queue, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * gst_opencl_src_get_context:
 * @src: a source
 *
 * Returns: (transfer none) (nullable): the source's context; %NULL before it starts
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_src_get_context (GstOpenCLSrc *src);

/**
 * gst_opencl_src_get_video_info:
 * @src: a source
 *
 * Returns: (transfer none) (nullable): the layout of the caps, or %NULL if they are not
 *   raw video
 *
 * Since: 0.2
 */
GST_OPENCL_API const GstVideoInfo *gst_opencl_src_get_video_info (GstOpenCLSrc *src);

G_END_DECLS
