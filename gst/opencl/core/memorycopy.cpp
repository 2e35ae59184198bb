/* Copies between device memory and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclallocator.hpp"
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/base/profile.hpp>

using opencl::device_storage;
using opencl::host_storage;
using opencl::Profiled;
using opencl::storage_of;
using opencl::WaitList;

namespace command = opencl::command;

namespace {
/* Direction of a copy */
struct Direction {
  bool to_host;
  bool from_host;
  GstOpenCLQueue queue;
  const char *call;
  cl_int (*enqueue) (cl_command_queue queue, GstMemory *destination, gsize to,
      GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event);
  void (*count) (gsize size);
};

cl_int
enqueue_on_device (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueCopyBuffer (queue, device_storage (source).handle (),
      device_storage (destination).handle (), from, to, size, waits.size (),
      waits.data (), Profiled (queue, command::copy, event));
}

cl_int
enqueue_upload (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueWriteBuffer (queue, device_storage (destination).handle (), CL_FALSE,
      to, size, host_storage (source).data () + from, waits.size (), waits.data (),
      Profiled (queue, command::upload, event));
}

cl_int
enqueue_download (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueReadBuffer (queue, device_storage (source).handle (), CL_FALSE, from,
      size, host_storage (destination).data () + to, waits.size (), waits.data (),
      Profiled (queue, command::download, event));
}

void
count_copy (gsize size)
{
  gst_opencl_count_launches (1);
}

const Direction directions[] = {
    {false, false, GST_OPENCL_QUEUE_COMPUTE, "clEnqueueCopyBuffer", enqueue_on_device,
        count_copy},
    {false, true, GST_OPENCL_QUEUE_UPLOAD, "clEnqueueWriteBuffer", enqueue_upload,
        gst_opencl_count_upload},
    {true, false, GST_OPENCL_QUEUE_DOWNLOAD, "clEnqueueReadBuffer", enqueue_download,
        gst_opencl_count_download},
};

const Direction *
find_direction (GstMemory *destination, GstMemory *source)
{
  for (const Direction &direction : directions) {
    if (direction.to_host == bool (gst_is_opencl_host_memory (destination))
        && direction.from_host == bool (gst_is_opencl_host_memory (source)))
      return &direction;
  }
  return nullptr;
}

cl_context
handle_of (GstMemory *memory)
{
  return gst_opencl_context_get_handle (gst_opencl_memory_get_context (memory));
}

bool
is_ours (GstMemory *memory)
{
  return gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory);
}

const char *
type_of (GstMemory *memory)
{
  return memory && memory->allocator ? memory->allocator->mem_type : "no memory";
}

/* Returns the direction of a copy that can be enqueued, or nullptr with an error. */
const Direction *
check_direction (GstMemory *destination, GstMemory *source, GError **error)
{
  const char *fault = nullptr;
  const Direction *direction = nullptr;
  if (!is_ours (source) || !is_ours (destination))
    fault = "expected memory of an OpenCL device or pinned host memory";
  else if (handle_of (source) != handle_of (destination))
    fault = "expected memory of one context";
  else if (!(direction = find_direction (destination, source)))
    fault = "expected memory of an OpenCL device on one side";
  if (fault)
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "Cannot copy from %s to %s asynchronously: %s", type_of (source),
        type_of (destination), fault);
  return direction;
}

bool
check_range (GstMemory *memory, gsize offset, gsize size, GError **error)
{
  if (offset <= memory->size && size <= memory->size - offset)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "Cannot copy %" G_GSIZE_FORMAT " bytes at offset %" G_GSIZE_FORMAT
      ": the memory has %" G_GSIZE_FORMAT " bytes",
      size, offset, memory->size);
  return false;
}
} // namespace

gboolean
gst_opencl_memory_copy_async (GstMemory *destination, gsize destination_offset,
    GstMemory *source, gsize source_offset, gsize size, cl_event *event, GError **error)
{
  const Direction *direction = check_direction (destination, source, error);
  if (!direction || !check_range (destination, destination_offset, size, error)
      || !check_range (source, source_offset, size, error))
    return FALSE;

  GstOpenCLContext *context = storage_of (destination).context;
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, direction->queue);
  WaitList waits (context, queue);
  if (!storage_of (source).prepare (queue, GST_MAP_READ, waits, error)
      || !storage_of (destination).prepare (queue, GST_MAP_WRITE, waits, error))
    return FALSE;
  cl_event done;
  cl_int code =
      direction->enqueue (queue, destination, destination->offset + destination_offset,
          source, source->offset + source_offset, size, waits, &done);
  if (!gst_opencl_check (code, direction->call, error))
    return FALSE;
  clFlush (queue);
  direction->count (size);
  gst_opencl_memory_end (source, queue, GST_MAP_READ, done);
  gst_opencl_memory_end (destination, queue, GST_MAP_WRITE, done);
  if (event)
    *event = done;
  else
    clReleaseEvent (done);
  return TRUE;
}
