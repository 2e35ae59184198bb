/* Allocators of device memory and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_ALLOCATOR (gst_opencl_allocator_get_type ())
/**
 * GstOpenCLAllocator:
 *
 * Allocates device memory or pinned host memory, which #GstAllocator.mem_type tells:
 * %GST_OPENCL_MEMORY_NAME or %GST_OPENCL_HOST_MEMORY_NAME. Each context has one of both.
 * gst_allocator_find() also finds one by each of these names once the library has made any
 * memory; it allocates on the device that `device=auto` means. gst_opencl_memory_new() and
 * gst_opencl_host_memory_new() say why an allocation failed.
 *
 * Since: 0.3
 */
GST_OPENCL_API
G_DECLARE_FINAL_TYPE (
    GstOpenCLAllocator, gst_opencl_allocator, GST, OPENCL_ALLOCATOR, GstAllocator)

G_END_DECLS
