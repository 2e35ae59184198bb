/* Device memory (a GstMemory in a cl_mem) and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclmemory
 * @title: GstOpenCLMemory
 *
 * Device memory is one linear cl_mem. %GST_MAP_OPENCL maps it without waiting. A CPU map
 * blocks until the contents are available. It maps the cl_mem itself if the device works
 * in host memory, else pinned staging memory. Staging memory is allocated at the first
 * CPU map. After a CPU write it is uploaded at the next use on the device.
 *
 * Every memory records the events of its last write and of the reads since then, so that
 * commands on different queues wait for each other on the device. Only an upload on a
 * queue that all threads share waits on the host.
 *
 * A CPU map fails if the contents could not be computed or transferred. If the memory is
 * from an element's pool, the element posts an error, and a read-only map succeeds with a
 * size of 0 instead: theoraenc and vp8enc of GStreamer 1.22.0, which do not check maps,
 * would crash.
 */
#include <gst/opencl/gstopenclmemory.h>

#include "gstopenclallocator.hpp"
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclmemory-private.h>

using opencl::device_storage;
using opencl::host_storage;
using opencl::storage_of;
using opencl::TrackedEvent;

static gboolean
is_of (GstMemory *memory, gboolean host)
{
  return memory && GST_IS_OPENCL_ALLOCATOR (memory->allocator)
         && GST_OPENCL_ALLOCATOR (memory->allocator)->host == host;
}

gboolean
gst_is_opencl_memory (GstMemory *memory)
{
  return is_of (memory, FALSE);
}

gboolean
gst_is_opencl_host_memory (GstMemory *memory)
{
  return is_of (memory, TRUE);
}

GstMemory *
gst_opencl_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return opencl::allocate_memory (
      context, FALSE, size, opencl::Contents::undefined, error);
}

GstMemory *
gst_opencl_host_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return opencl::allocate_memory (
      context, TRUE, size, opencl::Contents::undefined, error);
}

GstMemory *
gst_opencl_memory_new_wrapped (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (
      gst_opencl_context_check_buffer (context, handle, size, "buffer", nullptr),
      nullptr);

  return opencl::wrap_memory (context, handle, size, user_data, notify);
}

GstOpenCLContext *
gst_opencl_memory_get_context (GstMemory *memory)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), nullptr);
  return storage_of (memory).context;
}

cl_mem
gst_opencl_memory_get_handle (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), nullptr);
  return device_storage (memory).handle ();
}

gsize
gst_opencl_memory_get_offset (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), 0);
  return memory->offset;
}

guint8 *
gst_opencl_host_memory_get_data (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_host_memory (memory), nullptr);
  return host_storage (memory).data () + memory->offset;
}

gboolean
gst_opencl_memory_begin (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, GError **error)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), FALSE);
  opencl::Storage &storage = storage_of (memory);
  return gst_opencl_context_check_queue (storage.context, queue, error)
         && storage.begin (queue, access, error);
}

void
gst_opencl_memory_end (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, cl_event event)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  opencl::Storage &storage = storage_of (memory);
  g_return_if_fail (gst_opencl_context_check_queue (storage.context, queue, nullptr));
  storage.end (queue, access, event);
}

void
gst_opencl_memory_invalidate (GstMemory *memory)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  storage_of (memory).invalidate ();
}

gboolean
gst_opencl_memory_prepare_map (GstMemory *memory, cl_event *event, GError **error)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), FALSE);
  g_return_val_if_fail (event != nullptr, FALSE);

  TrackedEvent enqueued;
  if (!storage_of (memory).prepare_map (enqueued, error))
    return FALSE;
  *event = enqueued ();
  if (!*event || clRetainEvent (*event) == CL_SUCCESS)
    return TRUE;
  *event = nullptr; /* no reference for the caller, so wait here */
  return gst_opencl_check (enqueued.wait (), "clEnqueueMapBuffer", error);
}

void
gst_opencl_memory_defer (GstMemory *memory, GstOpenCLDeferred *deferred)
{
  g_return_if_fail (gst_is_opencl_memory (memory));
  g_return_if_fail (GST_IS_OPENCL_DEFERRED (deferred));
  device_storage (memory).defer (deferred, memory->offset);
}

GstOpenCLDeferred *
gst_opencl_memory_ref_deferred (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), nullptr);
  return device_storage (memory).ref_deferred ();
}
