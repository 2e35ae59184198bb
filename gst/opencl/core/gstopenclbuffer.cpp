/* Copies of whole buffers between host and device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/gstopenclbuffer.h>

#include "context.hpp"
#include "events.hpp"
#include "frame.hpp"
#include "memory.hpp"
#include "staging.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

using opencl::CopyEnd;
using opencl::count_copy;
using opencl::enqueue_bytes;
using opencl::is_in_context;
using opencl::PlaneLayout;
using opencl::PlaneLayouts;
using opencl::Profiled;
using opencl::StagingRing;
using opencl::TrackedEvent;

namespace command = opencl::command;

namespace {
/* A buffer mapped for the CPU. The last reference unmaps and unrefs it. */
struct MappedBuffer {
  GstBuffer *buffer = nullptr;
  GstMapInfo map;

  ~MappedBuffer ()
  {
    if (!buffer)
      return;
    gst_buffer_unmap (buffer, &map);
    gst_buffer_unref (buffer);
  }
};

std::unique_ptr<MappedBuffer>
map_for_cpu (GstBuffer *buffer, GstMapFlags access, GError **error)
{
  auto mapped = std::make_unique<MappedBuffer> ();
  if (!gst_buffer_map (buffer, &mapped->map, access)) {
    if (error && !*error)
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "Cannot map a frame's memory for the CPU");
    return nullptr;
  }
  mapped->buffer = gst_buffer_ref (buffer);
  return mapped;
}

/* Plan of one buffer copy */
struct Copy {
  GstOpenCLContext *context;
  GstBuffer *source;
  GstMemory *destination;
  gsize size; /* number of bytes if as_is */
  bool as_is; /* source and destination have the same layout */
  PlaneLayouts from;
  PlaneLayouts to;
};

/* Returns whether every memory of the source can be copied without the CPU. */
bool
is_transferable (const Copy &copy)
{
  const bool to_host = gst_is_opencl_host_memory (copy.destination);
  for (guint i = 0; i < gst_buffer_n_memory (copy.source); i++) {
    GstMemory *memory = gst_buffer_peek_memory (copy.source, i);
    if (!is_in_context (memory, copy.context)
        || (to_host && gst_is_opencl_host_memory (memory)))
      return false;
  }
  return true;
}

/* Keeps only the last event, because the queue is in order. */
void
keep_last (cl_event *last, cl_event event)
{
  if (*last)
    clReleaseEvent (*last);
  *last = event;
}

bool
transfer_memories (const Copy &copy, cl_event *event, GError **error)
{
  gsize done = 0;
  for (guint i = 0; i < gst_buffer_n_memory (copy.source); i++) {
    GstMemory *memory = gst_buffer_peek_memory (copy.source, i);
    gsize size = std::min (memory->size, copy.size - done);
    cl_event copied = nullptr;
    if (size == 0)
      continue;
    if (!gst_opencl_memory_copy_async (
            copy.destination, done, memory, 0, size, &copied, error))
      return false;
    keep_last (event, copied);
    done += size;
  }
  return true;
}

/* --- commands --- */

/* Origin of a plane, as an argument of the clEnqueue...BufferRect() functions */
struct Origin {
  gsize at[3];

  Origin (const CopyEnd &end, const PlaneLayout &plane)
      : at{(end.offset + plane.offset) % plane.stride,
          (end.offset + plane.offset) / plane.stride, 0}
  {
  }
};

cl_int
enqueue_rows (cl_command_queue queue, const CopyEnd &to, const PlaneLayout &to_plane,
    const CopyEnd &from, const PlaneLayout &from_plane, gsize lines)
{
  const Origin target (to, to_plane), start (from, from_plane);
  const gsize region[3] = {from_plane.row_bytes, lines, 1};
  if (!from.device)
    return clEnqueueWriteBufferRect (queue, to.device, CL_FALSE, target.at, start.at,
        region, to_plane.stride, 0, from_plane.stride, 0, from.host, 0, nullptr,
        Profiled (queue, command::upload));
  if (!to.device)
    return clEnqueueReadBufferRect (queue, from.device, CL_FALSE, start.at, target.at,
        region, from_plane.stride, 0, to_plane.stride, 0, to.host, 0, nullptr,
        Profiled (queue, command::download));
  return clEnqueueCopyBufferRect (queue, from.device, to.device, start.at, target.at,
      region, from_plane.stride, 0, to_plane.stride, 0, 0, nullptr,
      Profiled (queue, command::copy));
}

/* Copies the last row separately: NVIDIA's driver requires its whole stride to be inside
 * the buffer, but a frame may end with the last pixel. */
cl_int
enqueue_plane (cl_command_queue queue, const CopyEnd &to, const PlaneLayout &to_plane,
    const CopyEnd &from, const PlaneLayout &from_plane, cl_event *event)
{
  gsize last = from_plane.rows - 1;
  if (last > 0) {
    cl_int code = enqueue_rows (queue, to, to_plane, from, from_plane, last);
    if (code != CL_SUCCESS)
      return code;
  }
  return enqueue_bytes (queue, to, to_plane.offset + last * to_plane.stride, from,
      from_plane.offset + last * from_plane.stride, from_plane.row_bytes, nullptr, event);
}

bool
enqueue_copy (const Copy &copy, cl_command_queue queue, const CopyEnd &to,
    const CopyEnd &from, cl_event *event, GError **error)
{
  cl_event done = nullptr;

  if (copy.as_is) {
    if (!gst_opencl_check (
            enqueue_bytes (queue, to, 0, from, 0, copy.size, nullptr, &done), "a copy",
            error))
      return false;
    keep_last (event, done);
    count_copy (to, from, copy.size);
    return true;
  }
  for (guint p = 0; p < copy.from.n_planes; p++) {
    const PlaneLayout &from_plane = copy.from.planes[p], &to_plane = copy.to.planes[p];
    if (!gst_opencl_check (enqueue_plane (queue, to, to_plane, from, from_plane, &done),
            "a copy of rows", error))
      return false;
    keep_last (event, done);
    count_copy (to, from, from_plane.row_bytes * from_plane.rows);
  }
  return true;
}

/* --- uploads through pinned memory --- */

/* Rows are staged together with the padding between them, so at most half may be
 * padding. */
bool
fits_staging (const PlaneLayout &plane)
{
  return plane.stride <= StagingRing::block_size && plane.stride <= 2 * plane.row_bytes;
}

/* Returns the staging ring for `copy`, or nullptr if a direct upload is faster. */
StagingRing *
staging_for (const Copy &copy)
{
  StagingRing *ring = gst_opencl_context_get_staging_ring (copy.context);
  const bool is_pinned = gst_buffer_n_memory (copy.source) == 1 && is_transferable (copy);

  if (!ring || is_pinned || copy.size < StagingRing::smallest_frame)
    return nullptr;
  if (!copy.as_is
      && !std::all_of (
          copy.from.planes, copy.from.planes + copy.from.n_planes, fits_staging))
    return nullptr;
  return ring->is_usable () ? ring : nullptr;
}

/* Upload of one frame in pieces */
struct StagedUpload {
  StagingRing &ring;
  cl_command_queue queue;
  CopyEnd to;
  const guint8 *from;
  cl_event *last;
  GError **error;

  /* `enqueue (staged, event)` uploads the `size` bytes from `offset` on. */
  template <typename Enqueue> bool stage (gsize offset, gsize size, Enqueue enqueue)
  {
    StagingRing::Slot *slot = ring.fill (from + offset, size, error);
    cl_event done = nullptr;
    if (!slot)
      return false;
    bool enqueued =
        gst_opencl_check (enqueue (CopyEnd{nullptr, slot->block->data (), 0}, &done),
            "a staged copy", error);
    clFlush (queue);
    ring.give_back (*slot, queue, done);
    if (done)
      keep_last (last, done);
    return enqueued;
  }
};

/* Divides `whole` into the fewest pieces of at most `most`, all about equally large.
 * Returns the size of a piece. */
gsize
piece_of (gsize whole, gsize most)
{
  gsize pieces = (whole + most - 1) / most;
  return (whole + pieces - 1) / pieces;
}

bool
stage_bytes (StagedUpload &upload, gsize size)
{
  constexpr gsize page = 4096;
  gsize piece = piece_of (size, StagingRing::block_size);
  piece = (piece + page - 1) / page * page;
  for (gsize done = 0; done < size; done += piece) {
    gsize bytes = std::min (piece, size - done);
    auto enqueue = [&] (const CopyEnd &staged, cl_event *event) {
      return enqueue_bytes (
          upload.queue, upload.to, done, staged, 0, bytes, nullptr, event);
    };
    if (!upload.stage (done, bytes, enqueue))
      return false;
  }
  return true;
}

bool
stage_plane (StagedUpload &upload, const PlaneLayout &from, const PlaneLayout &to)
{
  gsize most = (StagingRing::block_size - from.row_bytes) / from.stride + 1;
  gsize piece = piece_of (from.rows, most);
  for (gsize row = 0; row < from.rows; row += piece) {
    gsize rows = std::min (piece, from.rows - row);
    PlaneLayout lines{0, from.stride, from.row_bytes, rows};
    PlaneLayout target{to.offset + row * to.stride, to.stride, to.row_bytes, rows};
    auto enqueue = [&] (const CopyEnd &staged, cl_event *event) {
      return enqueue_plane (upload.queue, upload.to, target, staged, lines, event);
    };
    if (!upload.stage (from.offset + row * from.stride,
            (rows - 1) * from.stride + from.row_bytes, enqueue))
      return false;
  }
  return true;
}

/* The source may be reused once this returns. */
bool
enqueue_staged (const Copy &copy, StagedUpload upload)
{
  if (copy.as_is) {
    if (!stage_bytes (upload, copy.size))
      return false;
    gst_opencl_count_upload (copy.size);
    return true;
  }
  for (guint p = 0; p < copy.from.n_planes; p++) {
    const PlaneLayout &plane = copy.from.planes[p];
    if (!stage_plane (upload, plane, copy.to.planes[p]))
      return false;
    gst_opencl_count_upload (plane.row_bytes * plane.rows);
  }
  return true;
}

/* Keeps `mapped` until the device has read it. GstMemory counts its locks in 8 bits and does
 * not check for an overflow. A still image, or a frame for many branches, is one memory, so
 * the number of sources held at a time is limited. Beyond the limit, waits for the upload. */
void
release_after_upload (
    GstOpenCLContext *context, cl_event upload, std::unique_ptr<MappedBuffer> mapped)
{
  constexpr guint max_held = 128;
  static std::atomic<guint> n_held{0};

  if (n_held >= max_held) {
    const TrackedEvent tracked (upload);
    gst_opencl_count_throttled ();
    tracked.wait (); /* the element reports a failure */
    if (tracked.is_known_complete ())
      return;
  }
  n_held++;
  gst_opencl_context_release_after (
      context, upload,
      [] (gpointer data) {
        delete static_cast<MappedBuffer *> (data);
        n_held--;
      },
      mapped.release ());
}

/* Does not wait for this upload: either the bytes are staged, or the source stays mapped
 * until the device has read it. */
bool
upload_from_cpu (const Copy &copy, cl_event *event, GError **error)
{
  StagingRing *ring = staging_for (copy);
  std::unique_ptr<MappedBuffer> mapped = map_for_cpu (copy.source, GST_MAP_READ, error);
  if (!mapped)
    return false;
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (copy.context, GST_OPENCL_QUEUE_UPLOAD);

  if (!gst_opencl_memory_begin (copy.destination, queue, GST_MAP_WRITE, error))
    return false;
  const CopyEnd to (copy.destination);
  bool enqueued =
      ring ? enqueue_staged (copy, {*ring, queue, to, mapped->map.data, event, error})
           : enqueue_copy (copy, queue, to, {nullptr, mapped->map.data, 0}, event, error);
  clFlush (queue);
  if (!enqueued)
    opencl::finish_with_timeout (queue); /* enqueued parts may still read the source */
  if (*event)
    gst_opencl_memory_end (copy.destination, queue, GST_MAP_WRITE, *event);
  if (*event && !ring)
    release_after_upload (copy.context, *event, std::move (mapped));
  return enqueued;
}

/* Copies from one device memory whose plane layout differs from that of the
 * destination. */
bool
copy_rows_from_device (const Copy &copy, cl_event *event, GError **error)
{
  GstMemory *source = gst_buffer_peek_memory (copy.source, 0);
  cl_command_queue queue = gst_opencl_context_get_thread_queue (
      copy.context, gst_is_opencl_memory (copy.destination) ? GST_OPENCL_QUEUE_COMPUTE
                                                            : GST_OPENCL_QUEUE_DOWNLOAD);

  if (!gst_opencl_memory_begin (source, queue, GST_MAP_READ, error)
      || !gst_opencl_memory_begin (copy.destination, queue, GST_MAP_WRITE, error))
    return false;
  bool enqueued = enqueue_copy (
      copy, queue, CopyEnd (copy.destination), CopyEnd (source), event, error);
  clFlush (queue);
  if (*event) {
    gst_opencl_memory_end (source, queue, GST_MAP_READ, *event);
    gst_opencl_memory_end (copy.destination, queue, GST_MAP_WRITE, *event);
  }
  return enqueued;
}

bool
copy_on_cpu (const Copy &copy, GError **error)
{
  std::unique_ptr<MappedBuffer> from = map_for_cpu (copy.source, GST_MAP_READ, error);
  if (!from)
    return false;
  GstMapInfo to;
  if (!gst_memory_map (copy.destination, &to, GST_MAP_WRITE)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "Cannot map a frame's memory for the CPU");
    return false;
  }
  if (copy.as_is)
    memcpy (to.data, from->map.data, copy.size);
  for (guint p = 0; !copy.as_is && p < copy.from.n_planes; p++) {
    const PlaneLayout &source = copy.from.planes[p], &target = copy.to.planes[p];
    for (gsize row = 0; row < source.rows; row++)
      memcpy (to.data + target.offset + row * target.stride,
          from->map.data + source.offset + row * source.stride, source.row_bytes);
  }
  gst_memory_unmap (copy.destination, &to);
  return true;
}

bool
check_destination (GstOpenCLContext *context, GstBuffer *destination, GError **error)
{
  guint n = gst_buffer_n_memory (destination);
  GstMemory *memory = n == 1 ? gst_buffer_peek_memory (destination, 0) : nullptr;
  if (memory && is_in_context (memory, context))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "Cannot copy to %u memories of type %s: expected one of device memory or "
      "pinned host memory of the context on %s",
      n, memory ? memory->allocator->mem_type : "various",
      gst_opencl_context_get_device_name (context));
  return false;
}

bool
plan (Copy &copy, GstBuffer *destination, const GstVideoInfo *info, GError **error)
{
  gsize room = gst_buffer_get_size (destination);

  if (!check_destination (copy.context, destination, error))
    return false;
  copy.destination = gst_buffer_peek_memory (destination, 0);
  copy.size = gst_buffer_get_size (copy.source);
  copy.as_is = true;
  if (info) {
    if (!opencl::layout_of (copy.source, info, copy.from, error)
        || !opencl::layout_of (destination, info, copy.to, error))
      return false;
    copy.as_is = copy.from == copy.to;
    copy.size = std::min (copy.size, room); /* the rest is padding after the last row */
  }
  if (copy.as_is && copy.size > room) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A frame has %" G_GSIZE_FORMAT " bytes, expected at most %" G_GSIZE_FORMAT,
        copy.size, room);
    return false;
  }
  return true;
}

bool
is_one_device_memory (const Copy &copy)
{
  return gst_buffer_n_memory (copy.source) == 1
         && gst_is_opencl_memory (gst_buffer_peek_memory (copy.source, 0));
}
} // namespace

gboolean
gst_opencl_buffer_copy_async (GstOpenCLContext *context, GstBuffer *destination,
    GstBuffer *source, const GstVideoInfo *info, cl_event *event, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (destination) && GST_IS_BUFFER (source), FALSE);
  g_return_val_if_fail (event != nullptr, FALSE);

  Copy copy{context, source};
  *event = nullptr;
  if (!plan (copy, destination, info, error))
    return FALSE;
  if (copy.as_is && copy.size == 0)
    return TRUE;

  bool transferable = is_transferable (copy);
  bool copied;
  if (transferable && copy.as_is)
    copied = transfer_memories (copy, event, error);
  else if (transferable && is_one_device_memory (copy))
    copied = copy_rows_from_device (copy, event, error);
  else if (gst_is_opencl_memory (copy.destination))
    copied = upload_from_cpu (copy, event, error);
  else
    copied = copy_on_cpu (copy, error);

  if (!copied && *event) {
    clReleaseEvent (*event);
    *event = nullptr;
  }
  return copied;
}

gboolean
gst_opencl_buffer_get_handle (GstBuffer *buffer, cl_mem *handle, gsize *offset)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && handle, FALSE);
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;

  if (!gst_is_opencl_memory (memory))
    return FALSE;
  *handle = gst_opencl_memory_get_handle (memory);
  if (offset)
    *offset = gst_opencl_memory_get_offset (memory);
  return TRUE;
}
