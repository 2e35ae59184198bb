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
 * @open: the context is there: check settings, build kernels. Optional
 * @close: everything enqueued has finished: release what @open and @set_format made.
 *   Optional
 * @set_format: new caps: compute tables and make work memory. Everything enqueued for the
 *   old caps has finished. Optional
 * @get_frame_size: the size in bytes of a frame of caps other than `video/x-raw`. Optional
 *   where all caps are raw video
 * @fill_frame: enqueue what makes frame @number, counted from 0 at the time 0 of the
 *   stream, which begins at @time, on @queue, and wait for nothing
 *
 * A subclass writes a pad template, a #GstBaseSrcClass.fixate() for the size of frames, and
 * these. The base class has the `device` and `async-depth` properties, finds the context,
 * decides pools, downloads where downstream wants system memory, bounds the run-ahead,
 * drains before EOS, seeks, new caps and stop, and turns a @error of any of these into one
 * element error. The caps' `framerate` gives timestamps, duration (with `num-buffers`),
 * latency and seeks, forwards and backwards; a live source
 * (gst_base_src_set_live()) gives each frame when its time begins and does not seek. A
 * framerate of 0 is a still of one frame. Properties that are controlled are synchronised
 * before each frame. All run in the streaming thread or in a state change, never two at a
 * time.
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
 * Returns: (transfer none) (nullable): the caps' layout, %NULL where they are not raw
 *   video
 *
 * Since: 0.2
 */
GST_OPENCL_API const GstVideoInfo *gst_opencl_src_get_video_info (GstOpenCLSrc *src);

G_END_DECLS
