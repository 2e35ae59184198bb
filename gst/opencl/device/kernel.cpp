/* C++ wrapper of GstOpenCLKernel: typed arguments, and variants for frame alignments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernel.hpp"

namespace opencl {
bool
Kernel::create (GstOpenCLContext *context, const char *resource, const char *name,
    const char *options, GError **error)
{
  kernel.reset (
      gst_opencl_kernel_new_from_resource (context, resource, name, options, error));
  return created ();
}

bool
Kernel::create_from_source (GstOpenCLContext *context, const char *source,
    const char *name, const char *options, GError **error)
{
  kernel.reset (gst_opencl_kernel_new (context, source, name, options, error));
  return created ();
}

bool
Kernel::set (cl_uint &index, cl_mem buffer, GError **error)
{
  return gst_opencl_kernel_set_buffer (kernel.get (), index++, buffer, error);
}

bool
Kernel::set (cl_uint &index, const GstOpenCLFrame *frame, GError **error)
{
  const cl_uint first = index;
  index += 3;
  return gst_opencl_kernel_set_frame (kernel.get (), first, frame, 0, error);
}

bool
Kernel::set (cl_uint &index, const LocalMemory &memory, GError **error)
{
  return gst_opencl_kernel_set_local (kernel.get (), index++, memory.bytes, error);
}

bool
Kernel::enqueue_groups (cl_command_queue queue, Groups groups, GError **error)
{
  while (groups.item_rows > 1 && !allows (groups.items * groups.item_rows))
    groups.item_rows /= 2;
  groups.items = allowed (groups.items);
  const gsize global[] = {groups.columns * groups.items, groups.rows * groups.item_rows};
  const gsize local[] = {groups.items, groups.item_rows};
  return gst_opencl_launch (
      queue, gst_opencl_kernel_get_handle (kernel.get ()), 2, global, local, error);
}

static bool
is_aligned (const GstOpenCLFrame *frame, gsize alignment)
{
  return !frame
         || (frame->offset[0] % alignment == 0
             && frame->stride[0] % gint (alignment) == 0);
}

void
FrameKernel::prepare (GstOpenCLContext *a_context, const char *a_resource,
    const char *a_name, const std::string &a_options,
    std::initializer_list<gsize> alignments)
{
  context = a_context;
  resource = a_resource;
  name = a_name;
  options = a_options;
  variants.clear ();
  for (gsize alignment : alignments)
    variants.push_back ({alignment, {}});
}

Kernel *
FrameKernel::variant (
    std::initializer_list<const GstOpenCLFrame *> frames, GError **error)
{
  gsize n = 0;
  for (const GstOpenCLFrame *frame : frames) {
    while (n + 1 < variants.size () && !is_aligned (frame, variants[n].alignment))
      n++;
  }
  Variant &chosen = variants[n];
  std::string all = options + " -DALIGNMENT=" + std::to_string (chosen.alignment);
  if (!chosen.kernel.created ()
      && !chosen.kernel.create (
          context, resource.c_str (), name.c_str (), all.c_str (), error))
    return nullptr;
  return &chosen.kernel;
}
} // namespace opencl
