/* Statistics of each element, and the device's time of each command
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "profile.hpp"

#include "opencl-hpp.hpp"
#include <gst/common/timelimit.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

/* --- statistics --- */

namespace {
struct Time {
  guint64 count = 0;
  GstClockTime time = 0;
  std::array<gsize, 3> group{};
  guint64 local_memory = 0;
};

struct Work {
  gdouble flop = 0, bytes = 0;
  GstClockTime time = 0; /* of all kernels that do it */
};

/* By layer */
using Works = std::map<std::string, Work>;

/* By kernel and layer */
using Times = std::map<std::pair<std::string, std::string>, Time>;
} // namespace

struct _GstOpenCLStatistics {
  std::atomic<int> references{1};
  std::mutex lock; /* protects name, times and works */
  std::string name;
  Times times;
  Works works;
  std::atomic<bool> used{false};
  std::atomic<guint64> uploads{0};
  std::atomic<guint64> upload_bytes{0};
  std::atomic<guint64> downloads{0};
  std::atomic<guint64> download_bytes{0};
  std::atomic<guint64> host_waits{0};
  std::atomic<guint64> throttled{0};
  std::atomic<guint64> launches{0};
};

namespace {
/* Statistics that this thread counts for, or null for those of the application */
thread_local GstOpenCLStatistics *current = nullptr;

GstOpenCLStatistics *
statistics_of_no_element ()
{
  static GstOpenCLStatistics *application = [] {
    auto *stats = new GstOpenCLStatistics;
    stats->name = "(application)";
    return stats;
  }();
  return application;
}

GstOpenCLStatistics *
current_statistics ()
{
  GstOpenCLStatistics *stats = current ? current : statistics_of_no_element ();
  stats->used = true;
  return stats;
}

GQuark
statistics_quark ()
{
  return g_quark_from_static_string ("gst-opencl-statistics");
}

/* Two threads may call this for the same element at once. */
GstOpenCLStatistics *
find_or_attach (GstElement *element)
{
  GObject *object = G_OBJECT (element);
  auto *stats = static_cast<GstOpenCLStatistics *> (
      g_object_get_qdata (object, statistics_quark ()));
  if (stats)
    return stats;

  auto *fresh = new GstOpenCLStatistics;
  GDestroyNotify unref = [] (gpointer data) {
    gst_opencl_statistics_unref (static_cast<GstOpenCLStatistics *> (data));
  };
  if (g_object_replace_qdata (
          object, statistics_quark (), nullptr, fresh, unref, nullptr))
    return fresh;
  delete fresh;
  return static_cast<GstOpenCLStatistics *> (
      g_object_get_qdata (object, statistics_quark ()));
}
} // namespace

GstOpenCLStatistics *
gst_opencl_statistics_of (GstElement *element)
{
  if (!element)
    return statistics_of_no_element ();

  GstOpenCLStatistics *stats = find_or_attach (element);
  gchar *name = gst_object_get_name (GST_OBJECT (element));
  std::lock_guard<std::mutex> guard (stats->lock);
  stats->name = name ? name : "";
  g_free (name);
  return stats;
}

G_DEFINE_BOXED_TYPE (GstOpenCLStatistics, gst_opencl_statistics,
    gst_opencl_statistics_ref, gst_opencl_statistics_unref)

GstOpenCLStatistics *
gst_opencl_statistics_ref (GstOpenCLStatistics *stats)
{
  stats->references++;
  return stats;
}

void
gst_opencl_statistics_unref (GstOpenCLStatistics *stats)
{
  if (--stats->references == 0)
    delete stats;
}

gchar *
gst_opencl_statistics_get_name (GstOpenCLStatistics *stats)
{
  std::lock_guard<std::mutex> guard (stats->lock);
  return g_strdup (stats->name.c_str ());
}

gboolean
gst_opencl_statistics_get_counts (GstOpenCLStatistics *stats, GstOpenCLCounts *counts)
{
  *counts = GstOpenCLCounts ();
  counts->uploads = stats->uploads;
  counts->upload_bytes = stats->upload_bytes;
  counts->downloads = stats->downloads;
  counts->download_bytes = stats->download_bytes;
  counts->host_waits = stats->host_waits;
  counts->throttled = stats->throttled;
  counts->launches = stats->launches;
  return stats->used;
}

GstOpenCLStatistics *
gst_opencl_statistics_enter (GstOpenCLStatistics *stats)
{
  GstOpenCLStatistics *previous = current;
  current = stats;
  return previous;
}

void
gst_opencl_statistics_leave (GstOpenCLStatistics *previous)
{
  current = previous;
}

void
gst_opencl_statistics_mark (GstOpenCLStatistics *stats)
{
  stats->used = true;
}

GstOpenCLStatistics *
gst_opencl_statistics_ref_current (void)
{
  return gst_opencl_statistics_ref (current ? current : statistics_of_no_element ());
}

void
gst_opencl_statistics_add_time (GstOpenCLStatistics *stats, const GstOpenCLTime *time)
{
  std::lock_guard<std::mutex> guard (stats->lock);
  Time &sum = stats->times[{time->kernel, time->layer}];
  sum.count++;
  sum.time += time->time;
  std::copy_n (time->group, 3, sum.group.begin ());
  sum.local_memory = time->local_memory;
}

namespace {
/* Transforms of clFFT have a name in parentheses, too. */
bool
is_transfer (const std::string &name)
{
  return name[0] == '(' && name != "(clFFT)";
}

/* Work of an element or a layer, which has one row of its kernels: that of the slowest.
 * Frames of a network are the inputs and outputs of its layers, too. */
Work
work_of (const Works &works, const Times &times, const Times::value_type &entry)
{
  const auto &[kernel, layer] = entry.first;
  const auto found = works.find (layer);
  Work work;
  if (is_transfer (kernel) || found == works.end ()
      || (layer.empty () && works.size () > 1))
    return work;
  for (const auto &[what, sum] : times) {
    if (what.second != layer || is_transfer (what.first))
      continue;
    if (std::tie (sum.time, what.first) > std::tie (entry.second.time, kernel))
      return Work ();
    work.time += sum.time;
  }
  work.flop = found->second.flop;
  work.bytes = found->second.bytes;
  return work;
}
} // namespace

void
gst_opencl_statistics_foreach_time (
    GstOpenCLStatistics *stats, GstOpenCLTimeFunc func, gpointer user_data)
{
  std::unique_lock<std::mutex> guard (stats->lock);
  const Times times = stats->times;
  const Works works = stats->works;
  guard.unlock ();
  for (const auto &entry : times) {
    const auto &[what, sum] = entry;
    const Work work = work_of (works, times, entry);
    const GstOpenCLTime time = {what.first.c_str (), what.second.c_str (), sum.count,
        sum.time, {sum.group[0], sum.group[1], sum.group[2]}, sum.local_memory, work.flop,
        work.bytes, work.time};
    func (&time, user_data);
  }
}

void
gst_opencl_count_upload (gsize bytes)
{
  GstOpenCLStatistics *stats = current_statistics ();
  stats->uploads++;
  stats->upload_bytes += bytes;
}

void
gst_opencl_count_download (gsize bytes)
{
  GstOpenCLStatistics *stats = current_statistics ();
  stats->downloads++;
  stats->download_bytes += bytes;
}

void
gst_opencl_count_host_wait (void)
{
  current_statistics ()->host_waits++;
}

void
gst_opencl_count_throttled (void)
{
  current_statistics ()->throttled++;
}

void
gst_opencl_count_launches (guint launches)
{
  current_statistics ()->launches += launches;
}

/* --- times of commands --- */

namespace {
std::atomic<bool> enabled{false};
thread_local const gchar *current_layer = nullptr;

/* Commands that may be pending at once. Their events use memory of the driver. */
constexpr gsize most_pending = 8192;
/* Commands of a queue between two looks at their events. Asking a driver takes as long as
 * enqueueing a command. */
constexpr gsize batch = 64;
constexpr gint64 longest_wait = G_USEC_PER_SEC;
constexpr gulong pause = 500; /* µs */

struct Unref {
  void operator() (GstOpenCLStatistics *stats) const
  {
    gst_opencl_statistics_unref (stats);
  }
};

struct Command {
  std::unique_ptr<GstOpenCLStatistics, Unref> stats;
  std::string kernel, layer;
  std::array<gsize, 3> group{};
  guint64 local_memory = 0;
  cl::Event begin, event; /* `begin` may be empty */
  guint64 serial = 0;

  bool is_over () const { return status () <= CL_COMPLETE; }
  /* Requires that the command is over. Returns false if it failed. */
  bool measure () const;

private:
  /* A driver that does not answer has lost the device. */
  cl_int status () const
  {
    cl_int now = CL_QUEUED;
    const cl_int code = event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &now);
    return code == CL_SUCCESS ? now : code;
  }
};

bool
Command::measure () const
{
  cl_ulong from = 0, to = 0;
  const cl_int begun = begin ()
                           ? begin.getProfilingInfo (CL_PROFILING_COMMAND_END, &from)
                           : event.getProfilingInfo (CL_PROFILING_COMMAND_START, &from);

  if (status () != CL_COMPLETE || begun != CL_SUCCESS
      || event.getProfilingInfo (CL_PROFILING_COMMAND_END, &to) != CL_SUCCESS)
    return false;
  const GstOpenCLTime time = {kernel.c_str (), layer.c_str (), 1,
      to > from ? to - from : 0, {group[0], group[1], group[2]}, local_memory, 0, 0, 0};
  gst_opencl_statistics_add_time (stats.get (), &time);
  return true;
}

/* Commands whose time is not known yet. Each queue works in order, so that its commands
 * end in order. */
class Pending {
public:
  static Pending &get ()
  {
    static Pending *pending = new Pending; /* outlives every static destructor */
    return *pending;
  }

  bool has_room ()
  {
    std::lock_guard<std::mutex> guard (lock);
    if (n >= most_pending)
      poll_all ();
    if (n >= most_pending)
      missed++;
    return n < most_pending;
  }

  void add (cl_command_queue queue, Command command)
  {
    std::lock_guard<std::mutex> guard (lock);
    std::deque<Command> &commands = queues[queue];
    command.serial = next_serial++;
    commands.push_back (std::move (command));
    n++;
    if (commands.size () % batch == 0)
      poll (commands);
  }

  void poll ()
  {
    std::lock_guard<std::mutex> guard (lock);
    poll_all ();
  }

  /* Does not wait for commands that are added meanwhile. */
  void finish (GstOpenCLStatistics *stats)
  {
    opencl::TimeLimit limit (longest_wait);
    const Selection wanted = {stats, flush ()};
    while (is_pending (wanted)) {
      if (limit.is_over ())
        return give_up (wanted);
      g_usleep (pause);
    }
  }

  gsize size ()
  {
    std::lock_guard<std::mutex> guard (lock);
    return n;
  }

  std::atomic<guint64> missed{0};

private:
  /* Commands of an element (nullable: of all elements), added before a serial number */
  struct Selection {
    GstOpenCLStatistics *stats;
    guint64 end;

    bool operator() (const Command &command) const
    {
      return command.serial < end && (!stats || command.stats.get () == stats);
    }
  };

  void poll (std::deque<Command> &commands)
  {
    while (!commands.empty () && commands.front ().is_over ()) {
      if (!commands.front ().measure ())
        missed++;
      commands.pop_front ();
      n--;
    }
  }

  void poll_all ()
  {
    for (auto queue = queues.begin (); queue != queues.end ();) {
      poll (queue->second);
      queue = queue->second.empty () ? queues.erase (queue) : std::next (queue);
    }
  }

  /* Returns the serial number of the next command. A queue exists as long as the events
   * of its commands. */
  guint64 flush ()
  {
    std::lock_guard<std::mutex> guard (lock);
    for (const auto &queue : queues)
      if (!queue.second.empty ())
        clFlush (queue.first);
    return next_serial;
  }

  bool is_pending (const Selection &wanted)
  {
    std::lock_guard<std::mutex> guard (lock);
    poll_all ();
    return std::any_of (queues.begin (), queues.end (), [&] (const auto &queue) {
      return std::any_of (queue.second.begin (), queue.second.end (), wanted);
    });
  }

  void give_up (const Selection &wanted)
  {
    std::lock_guard<std::mutex> guard (lock);
    for (auto &[queue, commands] : queues) {
      const auto given_up = std::remove_if (commands.begin (), commands.end (), wanted);
      missed += std::distance (given_up, commands.end ());
      n -= std::distance (given_up, commands.end ());
      commands.erase (given_up, commands.end ());
    }
  }

  std::mutex lock;
  std::map<cl_command_queue, std::deque<Command>> queues;
  gsize n = 0; /* commands in all queues */
  guint64 next_serial = 0;
};

std::string
name_of (cl_kernel kernel)
{
  return cl::Kernel (kernel, true).getInfo<CL_KERNEL_FUNCTION_NAME> ();
}

guint64
local_memory_of (cl_command_queue queue, cl_kernel kernel)
{
  cl_device_id device = nullptr;
  cl_ulong bytes = 0;
  clGetCommandQueueInfo (queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  clGetKernelWorkGroupInfo (
      kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  return bytes;
}
} // namespace

void
gst_opencl_profile_enable (void)
{
  enabled.store (true, std::memory_order_relaxed);
}

gboolean
gst_opencl_profile_is_enabled (void)
{
  return enabled.load (std::memory_order_relaxed);
}

cl_command_queue_properties
gst_opencl_profile_get_queue_properties (void)
{
  return gst_opencl_profile_is_enabled () ? CL_QUEUE_PROFILING_ENABLE : 0;
}

gboolean
gst_opencl_profile_admits (cl_command_queue queue)
{
  cl_command_queue_properties properties = 0;
  clGetCommandQueueInfo (
      queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
  return (properties & CL_QUEUE_PROFILING_ENABLE) && Pending::get ().has_room ();
}

void
gst_opencl_profile_add (cl_command_queue queue, cl_kernel kernel, const gchar *name,
    const gsize *group, cl_event begin, cl_event event)
{
  Command command;
  command.stats.reset (gst_opencl_statistics_ref_current ());
  command.kernel = kernel ? name_of (kernel) : name;
  command.local_memory = kernel ? local_memory_of (queue, kernel) : 0;
  if (group)
    std::copy_n (group, 3, command.group.begin ());
  command.layer = current_layer ? current_layer : "";
  if (begin)
    command.begin = opencl::retained<cl::Event> (begin, nullptr);
  command.event = opencl::retained<cl::Event> (event, nullptr);
  if (command.event () && bool (command.begin ()) == bool (begin))
    Pending::get ().add (queue, std::move (command));
  else
    Pending::get ().missed++;
}

void
gst_opencl_profile_add_work (const gchar *layer, gdouble flop, gdouble bytes)
{
  if (!gst_opencl_profile_is_enabled ())
    return;
  GstOpenCLStatistics *stats = current ? current : statistics_of_no_element ();
  std::lock_guard<std::mutex> guard (stats->lock);
  Work &sum = stats->works[layer];
  sum.flop += flop;
  sum.bytes += bytes;
}

const gchar *
gst_opencl_profile_set_layer (const gchar *layer)
{
  const gchar *previous = current_layer;
  current_layer = layer;
  return previous;
}

void
gst_opencl_profile_poll (void)
{
  Pending::get ().poll ();
}

void
gst_opencl_profile_finish (GstOpenCLStatistics *stats)
{
  Pending::get ().finish (stats);
}

guint
gst_opencl_profile_get_n_pending (void)
{
  return guint (Pending::get ().size ());
}

guint64
gst_opencl_profile_get_n_missed (void)
{
  return Pending::get ().missed;
}
