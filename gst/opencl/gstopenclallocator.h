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
 * Allocates device memory or pinned host memory. #GstAllocator.mem_type tells which:
 * %GST_OPENCL_MEMORY_NAME or %GST_OPENCL_HOST_MEMORY_NAME. Each context has one allocator
 * of each kind. Once the library has allocated any memory, gst_allocator_find() also
 * finds an allocator by each of these names, for the device that `device=auto` selects.
 * gst_opencl_memory_new() and gst_opencl_host_memory_new() report why an allocation
 * failed.
 *
 * Since: 0.3
 */
GST_OPENCL_API
G_DECLARE_FINAL_TYPE (
    GstOpenCLAllocator, gst_opencl_allocator, GST, OPENCL_ALLOCATOR, GstAllocator)

G_END_DECLS
