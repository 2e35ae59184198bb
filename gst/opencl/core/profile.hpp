/* Statistics of each element, and the device's time of each command
 *
 * The base classes count on behalf of elements. The tracer openclstats enables the profile,
 * which measures each command by element, kernel and layer. While it is disabled, a command
 * costs one relaxed atomic load more. While it is enabled, queues are created with
 * CL_QUEUE_PROFILING_ENABLE, and each command has an event.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GstOpenCLStatistics:
 *
 * Counters of one element. A reference keeps them after the element is gone. All
 * functions may be called from any thread.
 */
typedef struct _GstOpenCLStatistics GstOpenCLStatistics;

#define GST_TYPE_OPENCL_STATISTICS (gst_opencl_statistics_get_type ())
/**
 * gst_opencl_statistics_get_type:
 *
 * Returns: the boxed #GType of #GstOpenCLStatistics. A copy is another reference.
 */
GST_OPENCL_API GType gst_opencl_statistics_get_type (void);

/**
 * GstOpenCLCounts:
 * @uploads: transfers from host to device
 * @upload_bytes: bytes transferred from host to device
 * @downloads: transfers from device to host
 * @download_bytes: bytes transferred from device to host
 * @host_waits: times a thread was blocked because it needed data
 * @throttled: times a thread was blocked to limit the frames in flight
 * @launches: kernels enqueued
 *
 * Counters of one element.
 */
typedef struct {
  guint64 uploads;
  guint64 upload_bytes;
  guint64 downloads;
  guint64 download_bytes;
  guint64 host_waits;
  guint64 throttled;
  guint64 launches;
} GstOpenCLCounts;

/**
 * gst_opencl_statistics_of:
 * @element: (nullable): an element, or %NULL for work outside of any element, such as an
 *   application that maps a buffer in its own thread
 *
 * Returns: (transfer none): the statistics of @element, created by the first call. Every
 *   call updates their name to that of the element.
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_of (GstElement *element);

/**
 * gst_opencl_statistics_ref:
 * @stats: statistics
 *
 * Returns: (transfer full): @stats
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_ref (
    GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_unref:
 * @stats: (transfer full): statistics
 *
 * Releases a reference.
 */
GST_OPENCL_API void gst_opencl_statistics_unref (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_name:
 * @stats: statistics
 *
 * Returns: (transfer full): the element's name, or "(application)" for work outside of
 *   any element
 */
GST_OPENCL_API gchar *gst_opencl_statistics_get_name (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_counts:
 * @stats: statistics
 * @counts: (out caller-allocates): the counters now
 *
 * Returns: whether an element that uses OpenCL owns @stats or anything was counted
 */
GST_OPENCL_API gboolean gst_opencl_statistics_get_counts (
    GstOpenCLStatistics *stats, GstOpenCLCounts *counts);

/**
 * gst_opencl_statistics_enter:
 * @stats: (nullable): the statistics that this thread counts for from now on
 *
 * Elements enter their own statistics around their work. The tracer does so for elements
 * that do not use OpenCL.
 *
 * Returns: (transfer none) (nullable): the previous statistics, for
 *   gst_opencl_statistics_leave()
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_enter (
    GstOpenCLStatistics *stats);
GST_OPENCL_API void gst_opencl_statistics_leave (GstOpenCLStatistics *previous);

/**
 * gst_opencl_statistics_mark:
 * @stats: statistics of an element that uses OpenCL, so that the tracer reports it even
 *   when all its counters are 0
 */
GST_OPENCL_API void gst_opencl_statistics_mark (GstOpenCLStatistics *stats);

/**
 * GstOpenCLTime:
 * @kernel: function name of a kernel, or a kind of transfer, such as "(upload)"
 * @layer: layer of a network that launched it, or ""
 * @count: commands measured
 * @time: time that the device worked on all of them
 * @group: work-group size of the last launch; 0 if the driver chose it
 * @local_memory: local memory of a work-group in bytes
 * @flop: floating-point operations of the element or layer, or 0 if they are not known
 * @bytes: bytes of its inputs and outputs, or 0
 * @work_time: time of all kernels that do this work, or 0
 *
 * Time of one element on the device. The slowest kernel of an element or layer has its operations
 * and bytes.
 */
typedef struct {
  const gchar *kernel;
  const gchar *layer;
  guint64 count;
  GstClockTime time;
  gsize group[3];
  guint64 local_memory;
  gdouble flop, bytes;
  GstClockTime work_time;
} GstOpenCLTime;

typedef void (*GstOpenCLTimeFunc) (const GstOpenCLTime *time, gpointer user_data);

/**
 * gst_opencl_statistics_foreach_time:
 * @stats: statistics
 * @func: (scope call): called with each time measured so far, without a lock
 * @user_data: argument of @func
 *
 * Reads the times of an element. There are none unless gst_opencl_profile_enable() was
 * called (profile.hpp).
 */
GST_OPENCL_API void gst_opencl_statistics_foreach_time (
    GstOpenCLStatistics *stats, GstOpenCLTimeFunc func, gpointer user_data);

/* Only for profile.cpp. gst_opencl_statistics_ref_current() returns the statistics that
 * this thread counts for (transfer full). */
GstOpenCLStatistics *gst_opencl_statistics_ref_current (void);
/* Adds one command, whose time is `time->time`. */
void gst_opencl_statistics_add_time (
    GstOpenCLStatistics *stats, const GstOpenCLTime *time);

/* Count for the element that gst_opencl_statistics_enter() set in this thread. */
GST_OPENCL_API void gst_opencl_count_upload (gsize bytes);
GST_OPENCL_API void gst_opencl_count_download (gsize bytes);
GST_OPENCL_API void gst_opencl_count_host_wait (void);
GST_OPENCL_API void gst_opencl_count_throttled (void);
GST_OPENCL_API void gst_opencl_count_launches (guint launches);

/* --- profile --- */

/* Enables the profile for the rest of the process. Queues that exist are not measured. */
GST_OPENCL_API void gst_opencl_profile_enable (void);
GST_OPENCL_API gboolean gst_opencl_profile_is_enabled (void);

/* Properties of a new command queue */
GST_OPENCL_API cl_command_queue_properties gst_opencl_profile_get_queue_properties (void);

/* Returns whether the next command of `queue` is to be measured. */
GST_OPENCL_API gboolean gst_opencl_profile_admits (cl_command_queue queue);
/* Measures a command from the end of `begin` (nullable), else from its own start, to its
 * end. Its name is that of `kernel`, or `name` if `kernel` is null. `group` (nullable) is
 * the size of a work-group in three dimensions. */
GST_OPENCL_API void gst_opencl_profile_add (cl_command_queue queue, cl_kernel kernel,
    const gchar *name, const gsize *group, cl_event begin, cl_event event);

/* Adds work of this thread's element, or of a layer of its network (else ""), if the profile
 * is enabled: floating-point operations, and bytes of inputs and outputs. */
GST_OPENCL_API void gst_opencl_profile_add_work (
    const gchar *layer, gdouble flop, gdouble bytes);

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
  /* `local` (nullable) is the size of a work-group. */
  Profiled (cl_command_queue queue, cl_kernel kernel, cl_event *wanted,
      cl_uint dimensions, const gsize *local)
      : Profiled (queue, kernel, nullptr, wanted)
  {
    for (cl_uint n = 0; n < 3 && local; n++)
      group[n] = n < dimensions ? local[n] : 1;
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
      gst_opencl_profile_add (queue, kernel, name, group, nullptr, *event);
    if (own)
      clReleaseEvent (own);
  }

  const cl_command_queue queue;
  const cl_kernel kernel;
  const char *const name;
  gsize group[3] = {};
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
