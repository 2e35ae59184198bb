/* A mapped frame for kernels: one cl_mem with its planes and strides
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frame.hpp"

#include <gst/common/buffers.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

#include <gst/video/gstvideometa.h>

#include <algorithm>
#include <mutex>

namespace opencl {
/* --- plane layouts --- */

bool
PlaneLayouts::operator== (const PlaneLayouts &other) const
{
  return n_planes == other.n_planes
         && std::equal (planes, planes + n_planes, other.planes);
}

gsize
PlaneLayouts::bytes_needed () const
{
  gsize needed = 0;
  for (guint p = 0; p < n_planes; p++) {
    const PlaneLayout &plane = planes[p];
    needed = std::max (
        needed, end_of_rows (plane.offset, plane.stride, plane.rows, plane.row_bytes));
  }
  return needed;
}

/* Returns the bytes of a row that hold pixels. Formats whose components are not whole
 * bytes use the whole stride. */
static gsize
row_bytes_of (const GstVideoInfo *info, guint plane, gsize stride)
{
  gsize bytes = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (info, c) != plane)
      continue;
    gsize pixel_stride = GST_VIDEO_INFO_COMP_PSTRIDE (info, c);
    if (pixel_stride == 0)
      return stride;
    bytes = std::max (bytes, gsize (GST_VIDEO_INFO_COMP_WIDTH (info, c)) * pixel_stride);
  }
  bool whole_pixels = GST_VIDEO_FORMAT_INFO_IS_COMPLEX (info->finfo) == 0;
  return whole_pixels && bytes > 0 ? std::min (bytes, stride) : stride;
}

/* Tiles and palettes have no rows of pixels, so these planes are copied in one piece. */
static bool
is_in_one_piece (const GstVideoInfo *info, guint plane)
{
  return GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo)
         || (GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info->finfo)
             && plane == GST_VIDEO_COMP_PALETTE);
}

/* Returns the bytes from the plane's offset in the caps to the next plane, or to the
 * end. */
static gsize
bytes_of_plane (const GstVideoInfo *info, guint plane)
{
  gsize start = GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
  gsize end = GST_VIDEO_INFO_SIZE (info);
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    gsize other = GST_VIDEO_INFO_PLANE_OFFSET (info, p);
    if (other > start)
      end = std::min (end, other);
  }
  return end - start;
}

static bool
is_of_two_fields (const GstVideoInfo *info)
{
  return GST_VIDEO_INFO_IS_INTERLACED (info)
         && GST_VIDEO_INFO_INTERLACE_MODE (info) != GST_VIDEO_INTERLACE_MODE_ALTERNATE;
}

/* Both fields of an interlaced frame have the same number of chroma rows, if GstVideoInfo
 * leaves room for them. */
static gsize
rows_of (const GstVideoInfo *info, guint plane)
{
  gsize room = bytes_of_plane (info, plane) / GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  gsize rows = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (info, c) != plane)
      continue;
    rows = std::max (rows, gsize (GST_VIDEO_INFO_COMP_HEIGHT (info, c)));
    if (is_of_two_fields (info) && GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c) > 0)
      rows = std::max (rows, std::min (room, gsize (GST_ROUND_UP_2 (rows))));
  }
  return rows ? rows : GST_VIDEO_INFO_HEIGHT (info);
}

/* Since GStreamer 1.24 the meta of a DMABuf may have the format DMA_DRM. Then the caps
 * name the format. */
static bool
is_format_of (const GstVideoMeta *meta, const GstVideoInfo *info)
{
  static const GstVideoFormat dma_drm = gst_video_format_from_string ("DMA_DRM");
  return meta->format == GST_VIDEO_INFO_FORMAT (info)
         || (meta->format == dma_drm && dma_drm != GST_VIDEO_FORMAT_UNKNOWN);
}

/* A decoded frame may be larger than the caps say, as for gst_video_frame_map(). */
static bool
meta_matches (const GstVideoMeta *meta, const GstVideoInfo *info, GError **error)
{
  if (is_format_of (meta, info) && meta->width >= guint (GST_VIDEO_INFO_WIDTH (info))
      && meta->height >= guint (GST_VIDEO_INFO_HEIGHT (info))
      && meta->n_planes == GST_VIDEO_INFO_N_PLANES (info))
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "The frame's GstVideoMeta has %s %ux%u, expected %s %dx%d from the caps",
      gst_video_format_to_string (meta->format), meta->width, meta->height,
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info));
  return false;
}

static bool
is_long_enough (GstBuffer *buffer, gsize needed, GError **error)
{
  gsize size = gst_buffer_get_size (buffer);
  return size >= needed || refuse_frame_size (size, "at least ", needed, error);
}

static bool
refuse_stride (gint stride, const char *comparison, gsize expected, GError **error)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A plane's stride is %d bytes, expected %s %" G_GSIZE_FORMAT, stride, comparison,
      expected);
  return false;
}

static bool
plane_of (const GstVideoMeta *meta, const GstVideoInfo *info, guint p, PlaneLayout &plane,
    GError **error)
{
  gint own_stride = GST_VIDEO_INFO_PLANE_STRIDE (info, p);
  gint stride = meta ? meta->stride[p] : own_stride;
  gsize offset = meta ? meta->offset[p] : GST_VIDEO_INFO_PLANE_OFFSET (info, p);

  if (is_in_one_piece (info, p)) {
    gsize bytes = bytes_of_plane (info, p);
    plane = {offset, bytes, bytes, 1};
    return stride == own_stride
           || refuse_stride (stride, "exactly", gsize (own_stride), error);
  }
  gsize row_bytes = row_bytes_of (info, p, own_stride);
  plane = {offset, gsize (stride), row_bytes, rows_of (info, p)};
  return (stride >= 0 && gsize (stride) >= row_bytes)
         || refuse_stride (stride, "at least", row_bytes, error);
}

/* Rows of complex formats and tiles may end with bits that belong to no pixel, and the
 * last chroma sample of a row may belong to a pixel beyond it. */
static bool
has_whole_rows (const GstVideoInfo *info)
{
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    if (GST_VIDEO_INFO_COMP_WIDTH (info, c)
            << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c)
        != GST_VIDEO_INFO_WIDTH (info))
      return false;
  }
  return !GST_VIDEO_FORMAT_INFO_IS_COMPLEX (info->finfo)
         && !GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo);
}

bool
has_padding (const GstVideoInfo *info, gsize size)
{
  gsize used = 0;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    used += rows_of (info, p)
            * row_bytes_of (info, p, gsize (GST_VIDEO_INFO_PLANE_STRIDE (info, p)));
  return used != size || !has_whole_rows (info);
}

bool
layout_of (
    GstBuffer *buffer, const GstVideoInfo *info, PlaneLayouts &layout, GError **error)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  if (meta && !meta_matches (meta, info, error))
    return false;

  layout.n_planes = GST_VIDEO_INFO_N_PLANES (info);
  for (guint p = 0; p < layout.n_planes; p++) {
    if (!plane_of (meta, info, p, layout.planes[p], error))
      return false;
  }
  return is_long_enough (buffer, layout.bytes_needed (), error);
}
} // namespace opencl

/* --- deferred work --- */

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

/* --- mapped frames --- */

static gboolean
find_planes (GstOpenCLFrame *frame, const GstVideoInfo *info, gsize size, GError **error)
{
  opencl::PlaneLayouts layout;
  gsize start = gst_opencl_memory_get_offset (frame->memory);

  if (!info) {
    frame->n_planes = 1;
    frame->offset[0] = start;
    return opencl::is_long_enough (frame->buffer, size, error);
  }
  if (!opencl::layout_of (frame->buffer, info, layout, error))
    return FALSE;
  frame->info = *info;
  frame->n_planes = layout.n_planes;
  for (guint p = 0; p < layout.n_planes; p++) {
    const opencl::PlaneLayout &plane = layout.planes[p];
    frame->offset[p] = start + plane.offset;
    frame->stride[p] = gint (plane.stride);
    frame->info.offset[p] = plane.offset;
    frame->info.stride[p] = gint (plane.stride);
  }
  return TRUE;
}

gboolean
gst_opencl_frame_map (GstOpenCLFrame *frame, const GstVideoInfo *info, gsize size,
    GstBuffer *buffer, cl_command_queue queue, GstMapFlags access, GError **error)
{
  g_return_val_if_fail (frame != nullptr, FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), FALSE);

  *frame = GstOpenCLFrame ();
  gst_video_info_init (&frame->info);
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  if (!gst_is_opencl_memory (memory)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A frame has %u memories of type %s, expected one of "
        "type " GST_OPENCL_MEMORY_NAME,
        gst_buffer_n_memory (buffer), memory ? memory->allocator->mem_type : "various");
    return FALSE;
  }
  frame->buffer = buffer;
  frame->memory = memory;
  frame->data = gst_opencl_memory_get_handle (memory);
  frame->size = gst_buffer_get_size (buffer);
  frame->access = access;
  frame->queue = queue;
  gst_opencl_profile_add_work ("", 0, gdouble (frame->size));
  return find_planes (frame, info, size, error)
         && gst_opencl_memory_begin (memory, queue, access, error);
}

void
gst_opencl_frame_unmap (GstOpenCLFrame *frame, cl_event event)
{
  g_return_if_fail (frame != nullptr && frame->memory != nullptr);
  gst_opencl_memory_end (frame->memory, frame->queue, frame->access, event);
  frame->memory = nullptr;
}
