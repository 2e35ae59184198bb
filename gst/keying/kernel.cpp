/* Kernels over frames of four bytes a pixel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernel.hpp"

#include <algorithm>
#include <gio/gio.h>

#define RESOURCES "/org/freedesktop/gstreamer/opencl/keying/"

namespace keying {
/* Alignments that kernels are built for, the best first */
static const gsize alignments[] = {16, 4, 1};

Grid
grid_of_groups (gsize columns, gsize rows, gsize items, gsize item_rows)
{
  return {{columns * items, rows * item_rows}, {items, item_rows}};
}

static bool
append_source (std::string &source, const std::string &file, GError **error)
{
  std::string path = RESOURCES + file;
  GBytes *bytes =
      g_resources_lookup_data (path.c_str (), G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!bytes)
    return false;
  gsize size;
  const char *text = static_cast<const char *> (g_bytes_get_data (bytes, &size));
  source.append (text, size);
  g_bytes_unref (bytes);
  return true;
}

bool
Kernel::create (GstOpenCLContext *context, const std::vector<std::string> &files,
    const char *name, const std::string &options, GError **error)
{
  std::string source;
  for (const std::string &file : files) {
    if (!append_source (source, file, error))
      return false;
  }
  cl::Program program (
      gst_opencl_context_get_program (context, source.c_str (), options.c_str (), error));
  if (!program ())
    return false;
  cl_int code;
  known_arguments.forget ();
  kernel = cl::Kernel (clCreateKernel (program (), name, &code));
  return gst_opencl_check (code, "clCreateKernel", error)
         && gst_opencl_check (
             clGetKernelWorkGroupInfo (kernel (), gst_opencl_context_get_device (context),
                 CL_KERNEL_WORK_GROUP_SIZE, sizeof largest_group, &largest_group,
                 nullptr),
             "clGetKernelWorkGroupInfo", error);
}

gsize
Kernel::group_size (gsize wanted) const
{
  gsize size = 1;
  while (2 * size <= std::min (wanted, largest_group))
    size *= 2;
  return size;
}

Grid
Kernel::grid_of_items (gsize columns, gsize rows) const
{
  return {{columns, rows}, {group_size (std::min (columns, gsize (128))), 1}};
}

bool
Kernel::set (cl_uint &index, const GstOpenCLFrame *frame, GError **error)
{
  return set (index, frame->data, error)
         && set (index, cl_ulong (frame->offset[0]), error)
         && set (index, cl_long (frame->stride[0]), error);
}

bool
Kernel::set (cl_uint &index, const LocalMemory &memory, GError **error)
{
  return gst_opencl_check (clSetKernelArg (kernel (), index++, memory.bytes, nullptr),
      "clSetKernelArg", error);
}

void
FrameKernel::create (GstOpenCLContext *a_context,
    std::initializer_list<const char *> a_files, const char *a_name,
    const std::string &a_options)
{
  context = a_context;
  files.assign (a_files.begin (), a_files.end ());
  name = a_name;
  options = a_options;
  variants = {};
}

bool
FrameKernel::create_variant (gsize n, GError **error)
{
  return variants[n].create (context, files, name.c_str (),
      options + " -DALIGNMENT=" + std::to_string (alignments[n]), error);
}

static bool
is_aligned (const GstOpenCLFrame *frame, gsize alignment)
{
  return frame->offset[0] % alignment == 0 && frame->stride[0] % gint (alignment) == 0;
}

Kernel *
FrameKernel::variant (
    std::initializer_list<const GstOpenCLFrame *> frames, GError **error)
{
  gsize n = 0;
  for (const GstOpenCLFrame *frame : frames) {
    while (!is_aligned (frame, alignments[n]))
      n++;
  }
  if (!variants[n].created () && !create_variant (n, error))
    return nullptr;
  return &variants[n];
}

cl::Buffer
make_buffer (GstOpenCLContext *context, gsize bytes, GError **error)
{
  cl_int code;
  cl::Buffer buffer (clCreateBuffer (
      gst_opencl_context_get_handle (context), CL_MEM_READ_WRITE, bytes, nullptr, &code));
  gst_opencl_check (code, "clCreateBuffer", error);
  return buffer;
}
} // namespace keying
