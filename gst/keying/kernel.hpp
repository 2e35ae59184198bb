/* Kernels over frames of four bytes a pixel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/kernelarguments.hpp>
#include <gst/opencl/opencl.h>
#include <gst/opencl/opencl-hpp.hpp>

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

namespace keying {
/* Where a kernel runs: work-items in all, and of a group */
struct Grid {
  std::array<gsize, 2> global;
  std::array<gsize, 2> local;
};

/* So many groups of so many work-items */
Grid grid_of_groups (gsize columns, gsize rows, gsize items, gsize item_rows = 1);

/* An argument that is local memory */
struct LocalMemory {
  gsize bytes;
};

class Kernel {
public:
  bool create (GstOpenCLContext *context, const std::vector<std::string> &files,
      const char *name, const std::string &options, GError **error);

  bool created () const { return kernel () != nullptr; }
  /* The largest power of two that the device runs this kernel in, up to `wanted` */
  gsize group_size (gsize wanted) const;
  /* So many work-items, at least, in groups of neighbours in a line */
  Grid grid_of_items (gsize columns, gsize rows) const;

  /* Arguments in the kernel's order, each of the very type that the kernel declares;
   * buffers as cl_mem, frames as const GstOpenCLFrame *. */
  template <typename... Arguments>
  bool launch (
      cl_command_queue queue, const Grid &grid, GError **error, Arguments... arguments)
  {
    cl_uint index = 0;
    return (set (index, arguments, error) && ...)
           && gst_opencl_launch (
               queue, kernel (), 2, grid.global.data (), grid.local.data (), error);
  }

private:
  template <typename Argument>
  bool set (cl_uint &index, const Argument &argument, GError **error)
  {
    return known_arguments.set (kernel (), index++, argument, error);
  }
  bool set (cl_uint &index, const GstOpenCLFrame *frame, GError **error);
  bool set (cl_uint &index, const LocalMemory &memory, GError **error);

  cl::Kernel kernel;
  opencl::KernelArguments known_arguments;
  gsize largest_group = 1;
};

/* A kernel that reads or writes frames, in a variant for each alignment, which is built
 * when the first frame that needs it comes. */
class FrameKernel {
public:
  void create (GstOpenCLContext *context, std::initializer_list<const char *> files,
      const char *name, const std::string &options);

  /* (nullable): the variant for frames that are placed like these */
  Kernel *variant (std::initializer_list<const GstOpenCLFrame *> frames, GError **error);

private:
  bool create_variant (gsize n, GError **error);

  GstOpenCLContext *context = nullptr; /* the filter's, which outlives this */
  std::vector<std::string> files;
  std::string name;
  std::string options;
  std::array<Kernel, 3> variants;
};

/* (nullable) device memory of the right size; a failure is in the error */
cl::Buffer make_buffer (GstOpenCLContext *context, gsize bytes, GError **error);
} // namespace keying
