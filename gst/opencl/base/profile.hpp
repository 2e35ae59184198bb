/* Profile: the device's time of each command, by element, kernel and layer
 *
 * The tracer openclstats enables it. While it is disabled, a command costs one relaxed
 * atomic load more. While it is enabled, queues are created with
 * CL_QUEUE_PROFILING_ENABLE, and each command has an event. The times are added to the
 * statistics of the element that enqueued the command (gstopenclstatistics.h).
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclstatistics.h>

G_BEGIN_DECLS
/* Enables the profile for the rest of the process. Queues that exist are not measured. */
GST_OPENCL_API void gst_opencl_profile_enable (void);
GST_OPENCL_API gboolean gst_opencl_profile_is_enabled (void);

/* Properties of a new command queue */
GST_OPENCL_API cl_command_queue_properties gst_opencl_profile_get_queue_properties (void);

/* Returns whether the next command of `queue` is to be measured. */
GST_OPENCL_API gboolean gst_opencl_profile_admits (cl_command_queue queue);
/* Measures a command from the end of `begin` (nullable), else from its own start, to its
 * end. Its name is that of `kernel`, or `name` if `kernel` is null. */
GST_OPENCL_API void gst_opencl_profile_add (cl_command_queue queue, cl_kernel kernel,
    const gchar *name, cl_event begin, cl_event event);

/* Sets the layer of this thread's commands (nullable). Returns the previous one. The
 * caller keeps the string. */
GST_OPENCL_API const gchar *gst_opencl_profile_set_layer (const gchar *layer);

/* Measures the commands that are over. Does not wait. */
GST_OPENCL_API void gst_opencl_profile_poll (void);
/* Measures all commands of `stats` (nullable: of all elements). Gives up those that are
 * not over within a second. */
GST_OPENCL_API void gst_opencl_profile_finish (GstOpenCLStatistics *stats);

/* Number of commands that are not measured yet, and of those that never will be, because
 * they failed, hung, or were too many at once */
GST_OPENCL_API guint gst_opencl_profile_get_n_pending (void);
GST_OPENCL_API guint64 gst_opencl_profile_get_n_missed (void);
G_END_DECLS

namespace opencl {
/* Names of commands that launch no kernel. Parentheses distinguish them from kernels. */
namespace command {
constexpr const char *upload = "(upload)";
constexpr const char *download = "(download)";
constexpr const char *copy = "(copy)";
constexpr const char *fill = "(fill)";
constexpr const char *map = "(map)";
constexpr const char *unmap = "(unmap)";
} // namespace command

/* Argument `event` of a clEnqueue…() call. At the end of the whole expression, the
 * command is added to the profile:
 *
 *   cl_int code = clEnqueueCopyBuffer (queue, …, Profiled (queue, command::copy));
 */
class Profiled {
public:
  /* `wanted` (nullable) is the event that the caller wants itself. */
  Profiled (cl_command_queue queue, const char *name, cl_event *wanted = nullptr)
      : Profiled (queue, nullptr, name, wanted)
  {
  }
  Profiled (cl_command_queue queue, cl_kernel kernel, cl_event *wanted)
      : Profiled (queue, kernel, nullptr, wanted)
  {
  }
  ~Profiled ()
  {
    if (is_measured)
      add ();
  }
  Profiled (const Profiled &) = delete;
  Profiled &operator= (const Profiled &) = delete;

  operator cl_event * () { return event; }

private:
  Profiled (cl_command_queue queue, cl_kernel kernel, const char *name, cl_event *wanted)
      : queue (queue), kernel (kernel), name (name), event (wanted)
  {
    is_measured = gst_opencl_profile_is_enabled () && gst_opencl_profile_admits (queue);
    if (!is_measured)
      return;
    if (!wanted)
      event = &own;
    *event = nullptr;
  }

  void add ()
  {
    if (*event) /* else the call failed */
      gst_opencl_profile_add (queue, kernel, name, nullptr, *event);
    if (own)
      clReleaseEvent (own);
  }

  const cl_command_queue queue;
  const cl_kernel kernel;
  const char *const name;
  cl_event *event;
  cl_event own = nullptr;
  bool is_measured;
};

/* While in scope, commands of this thread belong to a layer of a network. The caller
 * keeps `layer`. */
class ProfileLayer {
public:
  explicit ProfileLayer (const char *layer) : is_set (gst_opencl_profile_is_enabled ())
  {
    if (is_set)
      previous = gst_opencl_profile_set_layer (layer);
  }
  ~ProfileLayer ()
  {
    if (is_set)
      gst_opencl_profile_set_layer (previous);
  }
  ProfileLayer (const ProfileLayer &) = delete;
  ProfileLayer &operator= (const ProfileLayer &) = delete;

private:
  const bool is_set;
  const char *previous = nullptr;
};
} // namespace opencl
