/* GstOpenCLKernel for C++: typed arguments, and variants for frame layouts
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclkernel.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/kernel/gstopenclkernel-private.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace opencl {
/* Number of work-groups and their maximum size. If the device allows fewer work-items, the
 * rows of a group are halved first, then its columns. */
struct Groups {
  gsize columns, rows;
  gsize items, item_rows = 1;
};

/* An argument that is local memory */
struct LocalMemory {
  gsize bytes;
};

class Kernel;

/* A value that sets several arguments of a kernel, such as a frame of several planes */
class ArgumentGroup {
public:
  virtual ~ArgumentGroup () = default;
  virtual bool set (Kernel &kernel, cl_uint &index, GError **error) const = 0;
  /* (nullable): what a kernel's ALIGNMENT speaks of, too */
  virtual const GstOpenCLFrame *aligned () const = 0;
};

class Kernel {
public:
  /* Work-items of the largest group of enqueue(): more hide no more latency, and leave
   * more of them idle at a line's end. */
  static constexpr gsize largest_group = 256;

  bool create (GstOpenCLContext *context, const char *resource, const char *name,
      const char *options, GError **error);
  bool created () const { return kernel != nullptr; }

  bool allows (gsize group) const
  {
    return group <= gst_opencl_kernel_get_group_size (kernel.get ());
  }

  /* `value` is of the very type that the kernel declares; a buffer is a cl_mem, a frame a
   * const GstOpenCLFrame *, of which the first plane is set. `index` moves past it. */
  template <typename Argument>
  bool set (cl_uint &index, const Argument &value, GError **error)
  {
    static_assert (!std::is_pointer_v<Argument>, "a cl_mem or a const GstOpenCLFrame *");
    if constexpr (std::is_base_of_v<ArgumentGroup, Argument>)
      return value.set (*this, index, error);
    else
      return gst_opencl_kernel_set_value (
          kernel.get (), index++, sizeof value, &value, error);
  }
  bool set (cl_uint &index, cl_mem buffer, GError **error);
  bool set (cl_uint &index, const GstOpenCLFrame *frame, GError **error);
  bool set (cl_uint &index, const LocalMemory &memory, GError **error);

  /* In the kernel's order */
  template <typename... Arguments>
  bool set_all ([[maybe_unused]] GError **error, const Arguments &...arguments)
  {
    [[maybe_unused]] cl_uint index = 0;
    return (set (index, arguments, error) && ...);
  }

  bool enqueue (cl_command_queue queue, gsize columns, gsize rows, GError **error)
  {
    return gst_opencl_kernel_launch (kernel.get (), queue, columns, rows, error);
  }
  bool enqueue_groups (cl_command_queue queue, Groups groups, GError **error);

  /* In three dimensions, for a kernel that is built for groups of `local`; `global` is in
   * work-items. */
  bool enqueue_box (cl_command_queue queue, const gsize (&global)[3],
      const gsize (&local)[3], GError **error)
  {
    return gst_opencl_launch (
        queue, gst_opencl_kernel_get_handle (kernel.get ()), 3, global, local, error);
  }

  /* set_all() and enqueue() */
  template <typename... Arguments>
  bool launch (cl_command_queue queue, gsize columns, gsize rows, GError **error,
      const Arguments &...arguments)
  {
    return set_all (error, arguments...) && enqueue (queue, columns, rows, error);
  }

  template <typename... Arguments>
  bool launch_groups (cl_command_queue queue, const Groups &groups, GError **error,
      const Arguments &...arguments)
  {
    return set_all (error, arguments...) && enqueue_groups (queue, groups, error);
  }

  /* In a line, for a kernel that is built for one size of its groups, which it allows */
  template <typename... Arguments>
  bool launch_groups (cl_command_queue queue, gsize groups, gsize group, GError **error,
      const Arguments &...arguments)
  {
    const gsize global = groups * group;
    return set_all (error, arguments...)
           && gst_opencl_launch (queue, gst_opencl_kernel_get_handle (kernel.get ()), 1,
               &global, &group, error);
  }

private:
  struct Free {
    void operator() (GstOpenCLKernel *kernel) const { gst_opencl_kernel_unref (kernel); }
  };

  std::unique_ptr<GstOpenCLKernel, Free> kernel;
};

/* A kernel in a variant for each alignment of the frames among its arguments: the build
 * option ALIGNMENT says of what all their offsets and strides are multiples. A variant is
 * built when it is first needed. */
class FrameKernel {
public:
  /* `alignments`: the best first, the last one 1. The context outlives this. */
  void prepare (GstOpenCLContext *context, const char *resource, const char *name,
      const std::string &options, std::initializer_list<gsize> alignments = {16, 4, 1});

  /* (nullable) */
  Kernel *variant (std::initializer_list<const GstOpenCLFrame *> frames, GError **error);

  template <typename... Arguments>
  bool launch (cl_command_queue queue, gsize columns, gsize rows, GError **error,
      const Arguments &...arguments)
  {
    Kernel *kernel = variant ({frame_of (arguments)...}, error);
    return kernel && kernel->launch (queue, columns, rows, error, arguments...);
  }

  template <typename... Arguments>
  bool launch_groups (cl_command_queue queue, const Groups &groups, GError **error,
      const Arguments &...arguments)
  {
    Kernel *kernel = variant ({frame_of (arguments)...}, error);
    return kernel && kernel->launch_groups (queue, groups, error, arguments...);
  }

private:
  struct Variant {
    gsize alignment;
    Kernel kernel;
  };

  template <typename Argument>
  static const GstOpenCLFrame *frame_of (const Argument &argument)
  {
    if constexpr (std::is_convertible_v<Argument, const GstOpenCLFrame *>)
      return argument;
    else if constexpr (std::is_base_of_v<ArgumentGroup, Argument>)
      return argument.aligned ();
    else
      return nullptr;
  }

  GstOpenCLContext *context = nullptr;
  std::string resource, name, options;
  std::vector<Variant> variants;
};
} // namespace opencl
