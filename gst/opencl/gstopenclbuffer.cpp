/* gstreamer-opencl: copies of whole buffers between host and device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclbuffer.h"

#include "bufferlayout.hpp"
#include "gstopenclerror.h"
#include "gstopenclmemory.h"
#include "gstopenclstatistics.h"
#include "opencl-hpp.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

using opencl::BufferLayout;
using opencl::PlaneLayout;

namespace {
/* A buffer mapped for the CPU; whoever holds it last unmaps and unrefs. */
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
          "A frame's memory cannot be mapped for the CPU");
    return nullptr;
  }
  mapped->buffer = gst_buffer_ref (buffer);
  return mapped;
}

/* One copy of a buffer: what is known of both ends before any byte moves. */
struct Copy {
  GstOpenCLContext *context;
  GstBuffer *source;
  GstMemory *destination;
  gsize size; /* where the bytes are copied as they are */
  bool as_is; /* the strides are the same on both ends */
  BufferLayout from;
  BufferLayout to;
};

bool
is_in_context (GstMemory *memory, GstOpenCLContext *context)
{
  return (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory))
         && gst_opencl_context_get_handle (gst_opencl_memory_get_context (memory))
                == gst_opencl_context_get_handle (context);
}

/* Whether every memory of the source can be transferred without a CPU touching it. */
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

/* The last event is the one that counts: a queue is in order. */
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

/* --- between the device and bytes on the host --- */

struct Transfer {
  cl_command_queue queue;
  bool to_device;
  cl_mem device;
  gsize device_offset;
  guint8 *host;
};

cl_int
enqueue_as_is (const Transfer &transfer, gsize size, cl_event *event)
{
  return transfer.to_device
             ? clEnqueueWriteBuffer (transfer.queue, transfer.device, CL_FALSE,
                 transfer.device_offset, size, transfer.host, 0, nullptr, event)
             : clEnqueueReadBuffer (transfer.queue, transfer.device, CL_FALSE,
                 transfer.device_offset, size, transfer.host, 0, nullptr, event);
}

/* Where a plane begins, as the commands that copy by lines want it. */
struct Origin {
  gsize at[3];

  Origin (gsize start, const PlaneLayout &plane)
      : at{start % plane.stride, start / plane.stride, 0}
  {
  }
};

cl_int
enqueue_plane (const Transfer &transfer, const PlaneLayout &device,
    const PlaneLayout &host, cl_event *event)
{
  const Origin origin (transfer.device_offset + device.offset, device);
  const gsize *device_origin = origin.at;
  gsize host_origin[3] = {0, 0, 0};
  gsize region[3] = {host.row_bytes, host.rows, 1};
  guint8 *bytes = transfer.host + host.offset;
  return transfer.to_device
             ? clEnqueueWriteBufferRect (transfer.queue, transfer.device, CL_FALSE,
                 device_origin, host_origin, region, device.stride, 0, host.stride, 0,
                 bytes, 0, nullptr, event)
             : clEnqueueReadBufferRect (transfer.queue, transfer.device, CL_FALSE,
                 device_origin, host_origin, region, device.stride, 0, host.stride, 0,
                 bytes, 0, nullptr, event);
}

bool
enqueue_transfer (
    const Copy &copy, const Transfer &transfer, cl_event *event, GError **error)
{
  auto count = transfer.to_device ? gst_opencl_count_upload : gst_opencl_count_download;
  cl_event done = nullptr;

  if (copy.as_is) {
    if (!gst_opencl_check (
            enqueue_as_is (transfer, copy.size, &done), "a transfer", error))
      return false;
    keep_last (event, done);
    count (copy.size);
    return true;
  }
  for (guint p = 0; p < copy.from.n_planes; p++) {
    const PlaneLayout &device =
        transfer.to_device ? copy.to.planes[p] : copy.from.planes[p];
    const PlaneLayout &host =
        transfer.to_device ? copy.from.planes[p] : copy.to.planes[p];
    if (!gst_opencl_check (
            enqueue_plane (transfer, device, host, &done), "a transfer by lines", error))
      return false;
    keep_last (event, done);
    count (host.row_bytes * host.rows);
  }
  return true;
}

/* The source stays mapped until the device has read it, without anybody waiting. */
bool
upload_from_cpu (const Copy &copy, cl_event *event, GError **error)
{
  std::unique_ptr<MappedBuffer> mapped = map_for_cpu (copy.source, GST_MAP_READ, error);
  if (!mapped)
    return false;
  cl_command_queue queue =
      gst_opencl_context_get_queue (copy.context, GST_OPENCL_QUEUE_UPLOAD);
  Transfer transfer{queue, true, gst_opencl_memory_get_handle (copy.destination),
      gst_opencl_memory_get_offset (copy.destination), mapped->map.data};

  if (!gst_opencl_memory_begin (copy.destination, queue, GST_MAP_WRITE, error))
    return false;
  bool enqueued = enqueue_transfer (copy, transfer, event, error);
  clFlush (queue);
  if (*event) {
    gst_opencl_memory_end (copy.destination, queue, GST_MAP_WRITE, *event);
    gst_opencl_context_release_after (
        copy.context, *event,
        [] (gpointer data) { delete static_cast<MappedBuffer *> (data); },
        mapped.release ());
  }
  return enqueued;
}

/* By lines, from one device memory into pinned host memory. */
bool
download_by_lines (const Copy &copy, cl_event *event, GError **error)
{
  GstMemory *source = gst_buffer_peek_memory (copy.source, 0);
  cl_command_queue queue =
      gst_opencl_context_get_queue (copy.context, GST_OPENCL_QUEUE_DOWNLOAD);
  Transfer transfer{queue, false, gst_opencl_memory_get_handle (source),
      gst_opencl_memory_get_offset (source),
      gst_opencl_host_memory_get_data (copy.destination)};

  if (!gst_opencl_memory_begin (source, queue, GST_MAP_READ, error)
      || !gst_opencl_memory_begin (copy.destination, queue, GST_MAP_WRITE, error))
    return false;
  bool enqueued = enqueue_transfer (copy, transfer, event, error);
  clFlush (queue);
  if (*event) {
    gst_opencl_memory_end (source, queue, GST_MAP_READ, *event);
    gst_opencl_memory_end (copy.destination, queue, GST_MAP_WRITE, *event);
  }
  return enqueued;
}

/* By lines, from one device memory into another. */
bool
copy_lines_on_device (const Copy &copy, cl_event *event, GError **error)
{
  GstMemory *source = gst_buffer_peek_memory (copy.source, 0);
  cl_command_queue queue =
      gst_opencl_context_get_queue (copy.context, GST_OPENCL_QUEUE_COMPUTE);
  bool enqueued = true;

  if (!gst_opencl_memory_begin (source, queue, GST_MAP_READ, error)
      || !gst_opencl_memory_begin (copy.destination, queue, GST_MAP_WRITE, error))
    return false;
  for (guint p = 0; enqueued && p < copy.from.n_planes; p++) {
    const PlaneLayout &from = copy.from.planes[p], &to = copy.to.planes[p];
    const Origin start (gst_opencl_memory_get_offset (source) + from.offset, from);
    const Origin target (gst_opencl_memory_get_offset (copy.destination) + to.offset, to);
    const gsize region[3] = {from.row_bytes, from.rows, 1};
    cl_event done = nullptr;
    enqueued = gst_opencl_check (
        clEnqueueCopyBufferRect (queue, gst_opencl_memory_get_handle (source),
            gst_opencl_memory_get_handle (copy.destination), start.at, target.at, region,
            from.stride, 0, to.stride, 0, 0, nullptr, &done),
        "clEnqueueCopyBufferRect", error);
    if (enqueued) {
      keep_last (event, done);
      gst_opencl_count_launches (1);
    }
  }
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
        "A frame's memory cannot be mapped for the CPU");
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
plan (Copy &copy, GstBuffer *destination, const GstVideoInfo *info, GError **error)
{
  gsize room = gst_buffer_get_size (destination);

  copy.destination = gst_buffer_peek_memory (destination, 0);
  copy.size = gst_buffer_get_size (copy.source);
  copy.as_is = true;
  if (info) {
    if (!opencl::layout_of (copy.source, info, copy.from, error)
        || !opencl::layout_of (destination, info, copy.to, error))
      return false;
    copy.as_is = copy.from == copy.to;
    copy.size = std::min (copy.size, room); /* padding behind the last line */
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
  g_return_val_if_fail (gst_buffer_n_memory (destination) == 1, FALSE);
  g_return_val_if_fail (event != nullptr, FALSE);

  Copy copy{context, source};
  *event = nullptr;
  if (!plan (copy, destination, info, error))
    return FALSE;
  if (copy.as_is && copy.size == 0)
    return TRUE;

  bool transferable = is_transferable (copy);
  bool to_device = gst_is_opencl_memory (copy.destination);
  bool copied;
  if (transferable && copy.as_is)
    copied = transfer_memories (copy, event, error);
  else if (transferable && is_one_device_memory (copy))
    copied = to_device ? copy_lines_on_device (copy, event, error)
                       : download_by_lines (copy, event, error);
  else if (to_device)
    copied = upload_from_cpu (copy, event, error);
  else
    copied = copy_on_cpu (copy, error);

  if (!copied && *event) {
    clReleaseEvent (*event);
    *event = nullptr;
  }
  return copied;
}
