/* Kernel: its program, arguments and launches
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

/**
 * GstOpenCLKernel:
 *
 * A kernel and its arguments. Use it from one thread at a time.
 *
 * An `#include` in a program is replaced by a file from the #GResources, each file once.
 * `"file.cl"` is looked up beside the file that includes it, then in the library's
 * resources. `<file.clh>` is looked up only there. Elements use this file of the library:
 *
 * - `frame.clh`: declares a frame as kernel arguments
 *
 * Includes that are not found are left to the compiler. An `#include` must be on a line
 * of its own and outside of any `#if`. A build log names the original files and lines.
 *
 * Since: 0.2
 */
typedef struct _GstOpenCLKernel GstOpenCLKernel;

#define GST_TYPE_OPENCL_KERNEL (gst_opencl_kernel_get_type ())
/**
 * gst_opencl_kernel_get_type:
 *
 * Returns: the boxed #GType of #GstOpenCLKernel. A copy is another reference.
 *
 * Since: 0.2
 */
GST_OPENCL_API GType gst_opencl_kernel_get_type (void);

/**
 * gst_opencl_kernel_new:
 * @context: the context that it runs in
 * @source: OpenCL C, called `source` in a build log
 * @name: the name of one of its kernels
 * @options: (nullable): compiler options
 * @error: set to %GST_OPENCL_ERROR_BUILD, with the build log after the first line, or if
 *   the program has no such kernel
 *
 * A program is built once for each pair of source and options and kept with the context.
 *
 * Returns: (transfer full) (nullable): a kernel
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLKernel *gst_opencl_kernel_new (GstOpenCLContext *context,
    const gchar *source, const gchar *name, const gchar *options,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_kernel_new_from_resource:
 * @context: the context that it runs in
 * @path: path of a #GResource that holds OpenCL C
 * @name: the name of one of its kernels
 * @options: (nullable): compiler options
 * @error: set as by gst_opencl_kernel_new(), or if there is no such resource
 *
 * Returns: (transfer full) (nullable): a kernel
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLKernel *gst_opencl_kernel_new_from_resource (
    GstOpenCLContext *context, const gchar *path, const gchar *name, const gchar *options,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_kernel_ref:
 * @kernel: a kernel
 *
 * Returns: (transfer full): @kernel
 *
 * Since: 0.3
 */
GST_OPENCL_API GstOpenCLKernel *gst_opencl_kernel_ref (GstOpenCLKernel *kernel);

/**
 * gst_opencl_kernel_unref:
 * @kernel: (transfer full): a kernel
 *
 * Releases a reference. Launches that are enqueued still run.
 *
 * Since: 0.3
 */
GST_OPENCL_API void gst_opencl_kernel_unref (GstOpenCLKernel *kernel);

/**
 * gst_opencl_kernel_get_handle:
 * @kernel: a kernel
 *
 * Returns: (transfer none) (type gpointer): its cl_kernel
 *
 * Since: 0.2
 */
GST_OPENCL_API cl_kernel gst_opencl_kernel_get_handle (const GstOpenCLKernel *kernel);

/**
 * gst_opencl_kernel_get_group_size:
 * @kernel: a kernel
 *
 * Returns: the maximum size of a work-group of this kernel on the device. If the kernel
 *   is built for one size, that size
 *
 * Since: 0.2
 */
GST_OPENCL_API gsize gst_opencl_kernel_get_group_size (const GstOpenCLKernel *kernel);

/**
 * gst_opencl_kernel_set_value:
 * @kernel: a kernel
 * @index: the index of the argument
 * @size: size in bytes of the type that the kernel declares
 * @value: a value of that type; copied
 * @error: set when a call fails
 *
 * Returns: whether the argument is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_kernel_set_value (GstOpenCLKernel *kernel, guint index,
    gsize size, gconstpointer value, GError **error);

/**
 * gst_opencl_kernel_set_buffer:
 * @kernel: a kernel
 * @index: the index of an argument that is a pointer to global or constant memory
 * @buffer: (nullable) (type gpointer): a cl_mem, which the caller keeps until the kernel
 *   is enqueued
 * @error: set when a call fails
 *
 * Returns: whether the argument is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_kernel_set_buffer (
    GstOpenCLKernel *kernel, guint index, cl_mem buffer, GError **error);

/**
 * gst_opencl_kernel_set_local:
 * @kernel: a kernel
 * @index: the index of an argument that is a pointer to local memory
 * @size: bytes for each work-group
 * @error: set if a call fails, or if the kernel would need more local memory than the
 *   device has
 *
 * Returns: whether the argument is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_kernel_set_local (
    GstOpenCLKernel *kernel, guint index, gsize size, GError **error);

/**
 * gst_opencl_kernel_set_frame:
 * @kernel: a kernel
 * @index: the index of the first of three arguments
 * @frame: a mapped frame
 * @plane: the index of a plane
 * @error: set when a call fails
 *
 * Sets the arguments that `FRAME (const, name)` of `frame.clh` declares: the buffer, the
 * start of the plane in it (ulong) and the stride (long), both in bytes.
 *
 * Returns: whether the arguments are set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_kernel_set_frame (GstOpenCLKernel *kernel, guint index,
    const GstOpenCLFrame *frame, guint plane, GError **error);

/**
 * gst_opencl_kernel_launch:
 * @kernel: a kernel whose arguments are set
 * @queue: (type gpointer): a queue of its context
 * @columns: global work size in x. It is rounded up to whole groups, so kernels must
 *   check their ids
 * @rows: global work size in y, rounded up likewise
 * @error: set if the kernel cannot be enqueued
 *
 * Enqueues the kernel in work-groups of a size that the device supports, and counts the
 * launch.
 *
 * Returns: whether it was enqueued
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_kernel_launch (GstOpenCLKernel *kernel,
    cl_command_queue queue, gsize columns, gsize rows, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstOpenCLKernel, gst_opencl_kernel_unref)

G_END_DECLS
