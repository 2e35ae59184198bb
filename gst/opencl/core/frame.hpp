/* Plane layouts of frames, and frames that deferred work fills
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "queues.hpp"

#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/opencl-prelude.h>

#include <gst/video/video.h>

namespace opencl {
struct PlaneLayout {
  gsize offset;    /* of the first row, in bytes from the buffer's start */
  gsize stride;    /* bytes from row to row */
  gsize row_bytes; /* bytes of a row that hold pixels */
  gsize rows;

  bool operator== (const PlaneLayout &other) const
  {
    return offset == other.offset && stride == other.stride
           && row_bytes == other.row_bytes && rows == other.rows;
  }
};

struct PlaneLayouts {
  guint n_planes = 0;
  PlaneLayout planes[GST_VIDEO_MAX_PLANES];

  bool operator== (const PlaneLayouts &other) const;
  gsize bytes_needed () const;
};

/* Finds the layout from the caps (`info`) and the buffer's GstVideoMeta. Fails with
 * GST_STREAM_ERROR if they contradict each other, or if the buffer is too short. */
bool layout_of (
    GstBuffer *buffer, const GstVideoInfo *info, PlaneLayouts &layout, GError **error);

/* Returns whether a buffer of `size` bytes has bytes or bits that hold no pixel. */
bool has_padding (const GstVideoInfo *info, gsize size);

/* Records that `deferred` fills all of `made`, a frame of `caps`. `info` is NULL unless
 * the caps are raw video. Returns false if the buffer does not fit its caps. */
bool describe_deferred (GstOpenCLDeferred *deferred, GstCaps *caps,
    const GstVideoInfo *info, GstBuffer *made);

/* Returns whether `buffer`, a frame of `caps`, is exactly the frame that `deferred`
 * fills. */
bool is_frame_of (GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer *buffer);

/* Sets the queues of the element that deferred the work, which order its access to memory
 * of that element. */
void set_deferred_queues (
    GstOpenCLDeferred *deferred, std::shared_ptr<ElementQueues> queues);
/* (nullable): NULL if they are not set */
std::shared_ptr<ElementQueues> queues_of_deferred (GstOpenCLDeferred *deferred);

} // namespace opencl
