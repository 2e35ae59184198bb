/* Kernel: its program, arguments and launches
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/gstopenclkernel.h>

#include "kernel.hpp"
#include "preparation.hpp"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/programs.hpp>

#include <algorithm>
#include <gst/opencl/core/deviceinfo.hpp>

#include <atomic>
#include <memory>

struct _GstOpenCLKernel {
  std::atomic<int> references{1};
  cl::Kernel handle;
  cl_device_id device = nullptr;
  gsize largest_group = 1;
  gsize units = 0; /* compute units of a GPU; 0: another device */
  opencl::LocalArguments local_arguments;
};

static gboolean
get_group_info (cl_kernel kernel, GstOpenCLContext *context,
    cl_kernel_work_group_info what, gsize size, void *value, GError **error)
{
  return gst_opencl_check (
      clGetKernelWorkGroupInfo (
          kernel, gst_opencl_context_get_device (context), what, size, value, nullptr),
      "clGetKernelWorkGroupInfo", error);
}

/* A kernel that is built for one work-group size runs in that size. NVIDIA's driver
 * reports a smaller maximum for it. */
static gboolean
find_largest_group (GstOpenCLKernel &kernel, GstOpenCLContext *context, GError **error)
{
  gsize built_for[3] = {};

  if (!get_group_info (kernel.handle (), context, CL_KERNEL_WORK_GROUP_SIZE,
          sizeof kernel.largest_group, &kernel.largest_group, error)
      || !get_group_info (kernel.handle (), context, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
          sizeof built_for, built_for, error))
    return FALSE;
  if (built_for[0] > 0)
    kernel.largest_group = built_for[0] * built_for[1] * built_for[2];
  return TRUE;
}

/* `from` names the program in errors. */
static GstOpenCLKernel *
make_kernel (GstOpenCLContext *context, const std::string &source, const gchar *from,
    const gchar *name, const gchar *options, GError **error)
{
  cl::Program program (
      gst_opencl_context_get_program (context, source.c_str (), options, error));
  if (!program ())
    return nullptr;
  auto kernel = std::make_unique<GstOpenCLKernel> ();
  cl_int code;
  kernel->handle = cl::Kernel (clCreateKernel (program (), name, &code));
  kernel->device = gst_opencl_context_get_device (context);
  if (!opencl::is_cpu (context))
    kernel->units = opencl::compute_units (context);
  gchar *call = g_strdup_printf ("clCreateKernel of \"%s\" in %s", name, from);
  gboolean made = gst_opencl_check (code, call, error)
                  && find_largest_group (*kernel, context, error);
  g_free (call);
  return made ? kernel.release () : nullptr;
}

GstOpenCLKernel *
gst_opencl_kernel_new (GstOpenCLContext *context, const gchar *source, const gchar *name,
    const gchar *options, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (source != nullptr && name != nullptr, nullptr);

  return make_kernel (
      context, opencl::source_of_text (source), "source", name, options, error);
}

GstOpenCLKernel *
gst_opencl_kernel_new_from_resource (GstOpenCLContext *context, const gchar *path,
    const gchar *name, const gchar *options, GError **error)
{
  std::string source;

  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (path != nullptr && name != nullptr, nullptr);

  return opencl::source_of_resource (path, source, error)
             ? make_kernel (context, source, path, name, options, error)
             : nullptr;
}

gchar *
gst_opencl_source_of_resource (const gchar *path, GError **error)
{
  std::string source;
  return opencl::source_of_resource (path, source, error) ? g_strdup (source.c_str ())
                                                          : nullptr;
}

gchar *
gst_opencl_source_of_file (const gchar *path, GError **error)
{
  std::string source;
  return opencl::source_of_file (path, source, error) ? g_strdup (source.c_str ())
                                                      : nullptr;
}

gchar *
gst_opencl_source_of_text (const gchar *text)
{
  return g_strdup (opencl::source_of_text (text).c_str ());
}

GstOpenCLKernel *
gst_opencl_kernel_ref (GstOpenCLKernel *kernel)
{
  kernel->references++;
  return kernel;
}

G_DEFINE_BOXED_TYPE (
    GstOpenCLKernel, gst_opencl_kernel, gst_opencl_kernel_ref, gst_opencl_kernel_unref)

void
gst_opencl_kernel_unref (GstOpenCLKernel *kernel)
{
  if (kernel && --kernel->references == 0)
    delete kernel;
}

cl_kernel
gst_opencl_kernel_get_handle (const GstOpenCLKernel *kernel)
{
  g_return_val_if_fail (kernel != nullptr, nullptr);
  return kernel->handle ();
}

gsize
gst_opencl_kernel_get_group_size (const GstOpenCLKernel *kernel)
{
  g_return_val_if_fail (kernel != nullptr, 0);
  return kernel->largest_group;
}

gboolean
gst_opencl_kernel_set_value (
    GstOpenCLKernel *kernel, guint index, gsize size, gconstpointer value, GError **error)
{
  g_return_val_if_fail (kernel != nullptr, FALSE);
  return gst_opencl_check (
      clSetKernelArg (kernel->handle (), index, size, value), "clSetKernelArg", error);
}

gboolean
gst_opencl_kernel_set_buffer (
    GstOpenCLKernel *kernel, guint index, cl_mem buffer, GError **error)
{
  return gst_opencl_kernel_set_value (kernel, index, sizeof buffer, &buffer, error);
}

gboolean
gst_opencl_kernel_set_local (
    GstOpenCLKernel *kernel, guint index, gsize size, GError **error)
{
  g_return_val_if_fail (kernel != nullptr, FALSE);
  return kernel->local_arguments.set (
      kernel->handle (), kernel->device, index, std::to_string (index), size, error);
}

gboolean
gst_opencl_kernel_set_frame (GstOpenCLKernel *kernel, guint index,
    const GstOpenCLFrame *frame, guint plane, GError **error)
{
  g_return_val_if_fail (frame != nullptr && plane < GST_VIDEO_MAX_PLANES, FALSE);
  const cl_ulong offset = frame->offset[plane];
  const cl_long stride = frame->stride[plane];

  return gst_opencl_kernel_set_buffer (kernel, index, frame->data, error)
         && gst_opencl_kernel_set_value (kernel, index + 1, sizeof offset, &offset, error)
         && gst_opencl_kernel_set_value (
             kernel, index + 2, sizeof stride, &stride, error);
}

/* Returns the work-group size for a row. Smaller groups leave a GPU idle, and so do few groups:
 * less than two for each compute unit. There are only few sizes, because PoCL compiles a kernel
 * again for each. */
static gsize
group_of_columns (const GstOpenCLKernel *kernel, gsize columns, gsize rows)
{
  const gsize least =
      kernel->units > 0 && columns <= 64 * kernel->units / std::max (rows, gsize (1))
          ? 32
          : 64;
  const gsize most =
      std::min (kernel->largest_group, gsize (opencl::Kernel::largest_group));
  gsize group = std::min (most, least);
  while (2 * group <= most && group < columns
         && columns / (2 * group) >= 2 * kernel->units / std::max (rows, gsize (1)))
    group *= 2;
  return group;
}

gboolean
gst_opencl_kernel_launch (GstOpenCLKernel *kernel, cl_command_queue queue, gsize columns,
    gsize rows, GError **error)
{
  g_return_val_if_fail (kernel != nullptr, FALSE);
  const gsize global[] = {columns, rows};
  const gsize local[] = {group_of_columns (kernel, columns, rows), 1};
  return gst_opencl_launch (queue, kernel->handle (), 2, global, local, error);
}

gboolean
gst_opencl_launch (cl_command_queue queue, cl_kernel kernel, guint dimensions,
    const gsize *global, const gsize *local, GError **error)
{
  gsize rounded[3];

  g_return_val_if_fail (dimensions >= 1 && dimensions <= 3, FALSE);
  for (guint d = 0; d < dimensions; d++) {
    const gsize group = local ? local[d] : 1;
    if (group == 0 || global[d] > G_MAXSIZE - (group - 1)) {
      return gst_opencl_check (
          group == 0 ? CL_INVALID_WORK_GROUP_SIZE : CL_INVALID_GLOBAL_WORK_SIZE,
          "gst_opencl_launch", error);
    }
    rounded[d] = (global[d] + group - 1) / group * group;
  }
  cl_int code = opencl::enqueue_or_compile (
      queue, kernel, dimensions, nullptr, rounded, local, 0, nullptr, nullptr);
  if (!gst_opencl_check (code, "clEnqueueNDRangeKernel", error))
    return FALSE;
  gst_opencl_count_launches (1);
  return TRUE;
}

gconstpointer
gst_opencl_set_compile_only (gconstpointer cancelled)
{
  return opencl::set_compile_only (static_cast<const std::atomic<bool> *> (cancelled));
}
