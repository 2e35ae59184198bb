/* C++ wrapper of GstOpenCLKernel: typed arguments, and variants for frame alignments
 *
 * A kernel that adds a number to each byte of a frame:
 *
 *   // brighten.cl, which kernels.gresource.xml lists
 *   #include <frame.clh>
 *   __kernel void
 *   brighten (FRAME (const, input), FRAME (, output), uint width, uint height, uchar more)
 *   {
 *     const uint x = get_global_id (0), y = get_global_id (1);
 *     if (x < width && y < height) // there may be more work-items than pixels
 *       LINE (output, y)[x] = add_sat (LINE (input, y)[x], more);
 *   }
 *
 *   // In open(), with `opencl::Kernel brighten`: builds the program
 *   return brighten.create (context, "/org/freedesktop/gstreamer/opencl/FIELD/brighten.cl",
 *       "brighten", "", error);
 *
 *   // In transform(): enqueues the kernel, and does not wait. `input` and `output` are
 *   // const GstOpenCLFrame *. Numbers have exactly the types of the kernel's arguments.
 *   return brighten.launch (queue, width, height, error, input, output, cl_uint (width),
 *       cl_uint (height), cl_uchar (more));
 *
 * FrameKernel does the same for kernels that read vectors.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclkernel.h>
#include <gst/opencl/opencl-prelude.h>
#include <gst/opencl/gstopenclerror.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

G_BEGIN_DECLS

/**
 * gst_opencl_launch:
 * @queue: (type gpointer): the queue
 * @kernel: (type gpointer): a kernel whose arguments are set
 * @dimensions: number of dimensions, 1 to 3
 * @global: global work size. It is rounded up to a multiple of @local, so kernels must
 *   check their ids
 * @local: (nullable): work-group size; %NULL lets the device choose
 * @error: set if the kernel cannot be enqueued
 *
 * Enqueues @kernel and counts the launch. For launches that gst_opencl_kernel_launch()
 * does not support.
 *
 * Returns: whether it was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_launch (cl_command_queue queue, cl_kernel kernel,
    guint dimensions, const gsize *global, const gsize *local, GError **error);

/* OpenCL C of a resource, a file or a text, with the library's files included. (transfer
 * full) */
GST_OPENCL_API gchar *gst_opencl_source_of_resource (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_file (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_text (const gchar *text);
G_END_DECLS

namespace opencl {
/* PoCL ends the process when a kernel is launched with more local memory than the device
 * has, so the sum of all is checked when an argument is set. */
class LocalArguments {
public:
  /* Sets an argument. Every call must name the same kernel. Fails if the kernel would
   * need more local memory than the device has; the error has both sizes and `name`.
   * `bytes` may be larger than any gsize. */
  bool set (cl_kernel kernel, cl_device_id device, cl_uint index, const std::string &name,
      long double bytes, GError **error);

private:
  bool find_limits (cl_kernel kernel, cl_device_id device, GError **error);

  cl_ulong most = 0;              /* limit of the device (0 = not known yet) */
  cl_ulong own = 0;               /* of the kernel without its arguments */
  std::map<cl_uint, gsize> sizes; /* sizes of the arguments */
};

/* Runs before the first argument is set, because the driver also counts arguments. */
inline bool
LocalArguments::find_limits (cl_kernel kernel, cl_device_id device, GError **error)
{
  return most > 0
         || (gst_opencl_check (clGetKernelWorkGroupInfo (kernel, device,
                                   CL_KERNEL_LOCAL_MEM_SIZE, sizeof own, &own, nullptr),
                 "clGetKernelWorkGroupInfo", error)
             && gst_opencl_check (clGetDeviceInfo (device, CL_DEVICE_LOCAL_MEM_SIZE,
                                      sizeof most, &most, nullptr),
                 "clGetDeviceInfo", error));
}

/* GLib, of another C library on Windows, may know another long double. */
inline std::string
digits_of (long double whole)
{
  const std::string text = std::to_string (whole);
  return text.substr (0, text.size () - 7); /* without .000000 */
}

inline bool
LocalArguments::set (cl_kernel kernel, cl_device_id device, cl_uint index,
    const std::string &name, long double bytes, GError **error)
{
  if (!find_limits (kernel, device, error))
    return false;
  long double others = own;
  for (const auto &[other, size] : sizes)
    others += other == index ? 0 : size;
  if (bytes + others > most) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "The argument %s needs %s bytes of local memory and the rest of the kernel "
        "%s, but a work-group has only %" G_GUINT64_FORMAT " bytes on the device",
        name.c_str (), digits_of (bytes).c_str (), digits_of (others).c_str (),
        guint64 (most));
    return false;
  }
  sizes[index] = gsize (bytes);
  return gst_opencl_check (
      clSetKernelArg (kernel, index, sizes[index], nullptr), "clSetKernelArg", error);
}

/* Number of work-groups and their maximum size. If the device allows fewer work-items,
 * the rows of a group are halved first, then its columns. */
struct Groups {
  gsize columns, rows;
  gsize items, item_rows = 1;
};

/* A local memory argument */
struct LocalMemory {
  gsize bytes;
};

class Kernel;

/* A value that sets several arguments of a kernel, such as a frame of several planes */
class ArgumentGroup {
public:
  virtual ~ArgumentGroup () = default;
  virtual bool set (Kernel &kernel, cl_uint &index, GError **error) const = 0;
  /* Returns a frame to which the kernel's ALIGNMENT applies, too. (nullable) */
  virtual const GstOpenCLFrame *aligned () const = 0;
};

/* Whether a struct sets several arguments by its members. It has a function
 *   auto arguments () const { return std::tie (…); }
 * that returns them in the kernel's order. */
template <typename Struct, typename = void> struct HasArguments : std::false_type {
};
template <typename Struct>
struct HasArguments<Struct,
    std::void_t<decltype (std::declval<const Struct &> ().arguments ())>>
    : std::true_type {
};

class Kernel {
public:
  /* Maximum work-group size of enqueue(). Larger groups hide no more latency, and leave
   * more work-items idle at the end of a row. */
  static constexpr gsize largest_group = 256;

  bool create (GstOpenCLContext *context, const char *resource, const char *name,
      const char *options, GError **error);
  bool create (GstOpenCLContext *context, const char *resource, const char *name,
      const std::string &options, GError **error)
  {
    return create (context, resource, name, options.c_str (), error);
  }
  /* The same for OpenCL C that is not in a resource */
  bool create_from_source (GstOpenCLContext *context, const char *source,
      const char *name, const char *options, GError **error);
  bool created () const { return kernel != nullptr; }

  bool allows (gsize group) const
  {
    return group <= gst_opencl_kernel_get_group_size (kernel.get ());
  }

  /* Returns `group`, or as many times half of it as the kernel needs. */
  gsize allowed (gsize group) const
  {
    while (group > 1 && !allows (group))
      group /= 2;
    return group;
  }

  /* `value` must have exactly the type that the kernel declares. A buffer is a cl_mem. A
   * frame is a const GstOpenCLFrame * (gstopenclframe.h): its first plane sets the three
   * arguments that FRAME of frame.clh declares. Advances `index` past the argument. */
  template <typename Argument>
  bool set (cl_uint &index, const Argument &value, GError **error)
  {
    static_assert (!std::is_pointer_v<Argument>, "a cl_mem or a const GstOpenCLFrame *");
    if constexpr (std::is_base_of_v<ArgumentGroup, Argument>)
      return value.set (*this, index, error);
    else if constexpr (HasArguments<Argument>::value)
      return std::apply (
          [&] (const auto &...members) { return (set (index, members, error) && ...); },
          value.arguments ());
    else
      return gst_opencl_kernel_set_value (
          kernel.get (), index++, sizeof value, &value, error);
  }
  bool set (cl_uint &index, cl_mem buffer, GError **error);
  bool set (cl_uint &index, const GstOpenCLFrame *frame, GError **error);
  bool set (cl_uint &index, const LocalMemory &memory, GError **error);

  /* Sets all arguments, in the kernel's order */
  template <typename... Arguments>
  bool set_all ([[maybe_unused]] GError **error, const Arguments &...arguments)
  {
    [[maybe_unused]] cl_uint index = 0;
    return (set (index, arguments, error) && ...);
  }

  cl_kernel handle () const { return gst_opencl_kernel_get_handle (kernel.get ()); }

  /* Launches at least `columns` × `rows` work-items: a kernel must check its ids. */
  bool enqueue (cl_command_queue queue, gsize columns, gsize rows, GError **error)
  {
    return gst_opencl_kernel_launch (kernel.get (), queue, columns, rows, error);
  }
  bool enqueue_groups (cl_command_queue queue, Groups groups, GError **error);

  /* Launches in three dimensions, for a kernel that is built for work-groups of `local`.
   * `global` is in work-items. */
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

  /* Launches in one dimension, for a kernel that is built for work-groups of size
   * `group` */
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

/* Builds several kernels of one source with the same options. */
struct NamedKernel {
  Kernel &kernel;
  const char *name;
};

inline bool
create_kernels (GstOpenCLContext *context, const char *resource,
    const std::string &options, std::initializer_list<NamedKernel> kernels,
    GError **error)
{
  for (const NamedKernel &wanted : kernels) {
    if (!wanted.kernel.create (context, resource, wanted.name, options, error))
      return false;
  }
  return true;
}

/* Builds kernels for `group` work-items, or as many times half of them as all of `limited` need.
 * `build` makes the kernels for `group`. */
template <typename Build>
bool
build_for_group (
    gsize &group, std::initializer_list<const Kernel *> limited, const Build &build)
{
  for (;; group /= 2) {
    bool fits = true;
    if (!build ())
      return false;
    for (const Kernel *kernel : limited)
      fits = fits && kernel->allows (group);
    if (fits || group == 1)
      return true;
  }
}

/* A kernel with one variant for each alignment of its frame arguments. All their offsets
 * and strides are multiples of the build option ALIGNMENT. A variant is built at its
 * first use. */
class FrameKernel {
public:
  /* `alignments` are in descending order, and the last is 1. The context must outlive
   * this. */
  void prepare (GstOpenCLContext *context, const char *resource, const char *name,
      const std::string &options, std::initializer_list<gsize> alignments = {16, 4, 1});

  /* Returns the variant for these frames. (nullable) */
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
