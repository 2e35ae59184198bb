/* Tests of the profile: times of commands by element, kernel and layer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

using namespace check;
using opencl::Profiled;
using opencl::ProfileLayer;

namespace {
/* The profile cannot be disabled again. */
const bool each_has_a_process = fork_each_test ();

const gchar *const source = "kernel void first (global uint *to) { to[0] += 1; }\n"
                            "kernel void second (global uint *to) { to[0] += 2; }\n";
constexpr gsize size = 4096;

GstElement *
new_element (const gchar *name)
{
  return GST_ELEMENT (gst_object_ref_sink (gst_element_factory_make ("identity", name)));
}

/* Counts for an element while in scope. */
class InElement {
public:
  explicit InElement (GstElement *element)
      : previous (gst_opencl_statistics_enter (gst_opencl_statistics_of (element)))
  {
  }
  ~InElement () { gst_opencl_statistics_leave (previous); }
  InElement (const InElement &) = delete;
  InElement &operator= (const InElement &) = delete;

private:
  GstOpenCLStatistics *previous;
};

/* A context with kernels and a buffer for them */
struct Device {
  Device () : Device (Owned<GstOpenCLContext> (new_context ())) {}
  explicit Device (Owned<GstOpenCLContext> a_context)
      : context (std::move (a_context)),
        memory (gst_opencl_memory_new (context, size, nullptr)),
        first (make_kernel (context, source, "first")),
        second (make_kernel (context, source, "second"))
  {
  }

  /* PoCL crashes if the process ends while a thread compiles a kernel. */
  ~Device () { clFinish (queue_of (context)); }
  Device (const Device &) = delete;
  Device &operator= (const Device &) = delete;

  void launch (cl_kernel kernel) { launch (kernel, queue_of (context)); }
  void launch (cl_kernel kernel, cl_command_queue queue)
  {
    const gsize one = 1;
    cl_mem handle = gst_opencl_memory_get_handle (memory);
    clSetKernelArg (kernel, 0, sizeof handle, &handle);
    fail_unless (gst_opencl_launch (queue, kernel, 1, &one, &one, nullptr));
  }

  Owned<GstOpenCLContext> context;
  Owned<GstMemory> memory;
  OwnedCL<cl_kernel> first, second;
};

cl_command_queue_properties
properties_of (cl_command_queue queue)
{
  cl_command_queue_properties properties = ~cl_command_queue_properties (0);
  expect_equal (clGetCommandQueueInfo (
                    queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr),
      CL_SUCCESS);
  return properties;
}

std::vector<cl_command_queue>
queues_of (GstOpenCLContext *context)
{
  std::vector<cl_command_queue> all = {gst_opencl_context_get_pinning_queue (context)};
  for (GstOpenCLQueue which :
      {GST_OPENCL_QUEUE_COMPUTE, GST_OPENCL_QUEUE_UPLOAD, GST_OPENCL_QUEUE_DOWNLOAD}) {
    all.push_back (queue_of (context, which));
    all.push_back (gst_opencl_context_get_queue (context, which));
  }
  return all;
}

MeasuredTimes
finished_times_of (GstElement *element)
{
  gst_opencl_profile_finish (gst_opencl_statistics_of (element));
  return times_of (gst_opencl_statistics_of (element));
}

/* Counts log messages that contain a text. */
void
count_messages (GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *,
    gint, GObject *, GstDebugMessage *message, gpointer data)
{
  if (level == GST_LEVEL_WARNING
      && strstr (gst_debug_message_get (message), "CL_QUEUE_PROFILING_ENABLE"))
    ++*static_cast<guint *> (data);
}
} // namespace

TEST (test_profile_off_has_no_profiling_queues_and_no_events)
{
  Device device;
  for (cl_command_queue queue : queues_of (device.context))
    expect_equal (properties_of (queue) & CL_QUEUE_PROFILING_ENABLE, 0u);

  const unsigned launches = counting::count (counting::ENQUEUE_KERNEL);
  const unsigned events = counting::count (counting::ENQUEUE_KERNEL_WITH_EVENT);
  const ProfileLayer layer ("layer");
  for (int n = 0; n < 10; n++)
    device.launch (device.first);
  expect_equal (counting::count (counting::ENQUEUE_KERNEL) - launches, 10u);
  expect_equal (counting::count (counting::ENQUEUE_KERNEL_WITH_EVENT), events);

  const Profiled without (queue_of (device.context), opencl::command::copy);
  fail_unless (const_cast<Profiled &> (without).operator cl_event * () == nullptr);
  fail_unless (gst_opencl_profile_set_layer (nullptr) == nullptr);
  gst_opencl_profile_finish (nullptr);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  fail_unless (times_of (gst_opencl_statistics_of (nullptr)).empty ());
}

TEST (test_profile_on_has_profiling_queues_and_events)
{
  gst_opencl_profile_enable ();
  Device device;
  for (cl_command_queue queue : queues_of (device.context))
    expect_equal (
        properties_of (queue), cl_command_queue_properties (CL_QUEUE_PROFILING_ENABLE));
  const unsigned events = counting::count (counting::ENQUEUE_KERNEL_WITH_EVENT);
  for (int n = 0; n < 10; n++)
    device.launch (device.first);
  expect_equal (counting::count (counting::ENQUEUE_KERNEL_WITH_EVENT) - events, 10u);
}

/* A context from before the tracer started works on. */
TEST (test_profile_does_not_measure_queues_from_before)
{
  Device device;
  device.launch (device.first); /* creates the queue */
  gst_opencl_profile_enable ();
  Owned<GstElement> element = new_element ("e");
  {
    const InElement scope (element);
    device.launch (device.first);
  }
  fail_unless (finished_times_of (element).empty ());
  expect_equal (gst_opencl_profile_get_n_missed (), 0u);
}

TEST (test_profile_adds_times_by_element_kernel_and_layer)
{
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> a = new_element ("a"), b = new_element ("b");
  const gint64 start = g_get_monotonic_time ();
  {
    const InElement in_a (a);
    device.launch (device.first);
    const ProfileLayer conv ("conv");
    device.launch (device.first);
    device.launch (device.second);
    {
      const ProfileLayer relu ("relu");
      const InElement in_b (b);
      device.launch (device.second);
    }
    device.launch (device.first);
  }
  const MeasuredTimes of_a = finished_times_of (a), of_b = finished_times_of (b);
  const gint64 wall = (g_get_monotonic_time () - start) * 1000; /* ns */

  expect_equal (of_a.size (), 3u);
  expect_equal (of_a.at ({"first", ""}).count, 1u);
  expect_equal (of_a.at ({"first", "conv"}).count, 2u);
  expect_equal (of_a.at ({"second", "conv"}).count, 1u);
  expect_equal (of_b.size (), 1u);
  expect_equal (of_b.at ({"second", "relu"}).count, 1u);
  GstClockTime sum = 0;
  for (const MeasuredTimes *times : {&of_a, &of_b})
    for (const auto &entry : *times)
      sum += entry.second.time;
  fail_unless (sum > 0 && sum <= GstClockTime (wall),
      "%" G_GUINT64_FORMAT " of %" G_GINT64_FORMAT " ns", sum, wall);
}

TEST (test_profile_names_transfers)
{
  check::set_debug_switch ("share-memory", "0");
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> element = new_element ("e");
  Owned<GstMemory> other = gst_opencl_memory_new (device.context, size, nullptr);
  {
    const InElement scope (element);
    write_memory (device.memory, pattern (size, 1));
    fail_unless (gst_opencl_memory_copy_async (
        other, 0, device.memory, 0, size, nullptr, nullptr));
    assert_same (read_memory (other), pattern (size, 1), "copy");
    const cl_uint zero = 0;
    const cl_command_queue queue = queue_of (device.context);
    expect_equal (
        clEnqueueFillBuffer (queue, gst_opencl_memory_get_handle (other), &zero,
            sizeof zero, 0, size, 0, nullptr, Profiled (queue, opencl::command::fill)),
        CL_SUCCESS);
  }
  const MeasuredTimes times = finished_times_of (element);
  expect_equal (times.size (), 4u);
  for (const char *kind : {"(upload)", "(copy)", "(download)", "(fill)"})
    expect_equal (times.at ({kind, ""}).count, 1u, kind);
}

TEST (test_profile_keeps_the_event_of_the_caller)
{
  gst_opencl_profile_enable ();
  Device device;
  const cl_command_queue queue = queue_of (device.context);
  const cl_uint zero = 0;
  cl_event event = nullptr;
  expect_equal (clEnqueueFillBuffer (queue, gst_opencl_memory_get_handle (device.memory),
                    &zero, sizeof zero, 0, size, 0, nullptr,
                    Profiled (queue, opencl::command::fill, &event)),
      CL_SUCCESS);
  fail_unless (event != nullptr);
  device.launch (device.first); /* PoCL keeps the last event of a queue */
  gst_opencl_profile_finish (nullptr);
  expect_equal (status_of (event), CL_COMPLETE);
  /* A driver may keep the event for a moment after its command has ended. */
  cl_uint references = 0;
  for (int n = 0; n < 1000 && references != 1; n++) {
    g_usleep (1000);
    expect_equal (clGetEventInfo (event, CL_EVENT_REFERENCE_COUNT, sizeof references,
                      &references, nullptr),
        CL_SUCCESS);
  }
  expect_equal (references, 1u);
  clReleaseEvent (event);
}

TEST (test_profile_does_not_wait_for_a_slow_device)
{
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> element = new_element ("e");
  GstOpenCLStatistics *statistics = gst_opencl_statistics_of (element);
  Gate gate (device.context, GST_OPENCL_QUEUE_COMPUTE);
  {
    const InElement scope (element);
    for (int n = 0; n < 200; n++)
      device.launch (device.first);
  }
  gst_opencl_profile_poll ();
  expect_equal (gst_opencl_profile_get_n_pending (), 200u);
  fail_unless (times_of (statistics).empty ());
  gate.open ();
  expect_equal (finished_times_of (element).at ({"first", ""}).count, 200u);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  expect_equal (gst_opencl_profile_get_n_missed (), 0u);
}

/* Another queue that is stuck does not delay this one. */
TEST (test_profile_measures_each_queue_in_its_own_order)
{
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> stuck = new_element ("stuck"), running = new_element ("running");
  Gate gate (device.context, GST_OPENCL_QUEUE_COMPUTE);
  {
    const InElement scope (stuck);
    device.launch (device.first);
  }
  Worker ([&] {
    const InElement scope (running);
    for (int n = 0; n < 50; n++)
      device.launch (device.second);
  });
  expect_equal (finished_times_of (running).at ({"second", ""}).count, 50u);
  expect_equal (gst_opencl_profile_get_n_pending (), 1u);
  gate.open ();
  expect_equal (finished_times_of (stuck).at ({"first", ""}).count, 1u);
}

TEST (test_profile_bounds_the_pending_commands)
{
  constexpr guint most = 8192, more = 100;
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> element = new_element ("e");
  Gate gate (device.context, GST_OPENCL_QUEUE_COMPUTE);
  {
    const InElement scope (element);
    for (guint n = 0; n < most + more; n++)
      device.launch (device.first);
  }
  expect_equal (gst_opencl_profile_get_n_pending (), most);
  expect_equal (gst_opencl_profile_get_n_missed (), more);
  gate.open ();
  clFinish (queue_of (device.context));
  expect_equal (finished_times_of (element).at ({"first", ""}).count, most);
}

TEST (test_profile_gives_up_a_command_that_hangs)
{
  gst_opencl_profile_enable ();
  Device device;
  Owned<GstElement> element = new_element ("e");
  Gate gate (device.context, GST_OPENCL_QUEUE_COMPUTE);
  {
    const InElement scope (element);
    for (int n = 0; n < 3; n++)
      device.launch (device.first);
  }
  fail_unless (finished_times_of (element).empty ());
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  expect_equal (gst_opencl_profile_get_n_missed (), 3u);
}

TEST (test_profile_forgets_a_command_that_failed)
{
  gst_opencl_profile_enable ();
  Device device;
  const gsize one = 1;
  Owned<GError> error;
  counting::fail_call (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  fail_if (gst_opencl_launch (
      queue_of (device.context), device.first, 1, &one, &one, error.out ()));
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);

  device.launch (device.first);
  counting::fail_always (counting::GET_EVENT_INFO, CL_OUT_OF_RESOURCES);
  gst_opencl_profile_finish (nullptr);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  expect_equal (gst_opencl_profile_get_n_missed (), 1u);
  fail_unless (times_of (gst_opencl_statistics_of (nullptr)).empty ());
  counting::fail_always (counting::GET_EVENT_INFO, CL_SUCCESS);
}

/* An application's queue with and without CL_QUEUE_PROFILING_ENABLE */
TEST_ROWS (test_profile_of_a_supplied_queue, {0u, 1u})
{
  const bool is_profiled = row;
  guint warnings = 0;
  gst_opencl_profile_enable ();
  Owned<GstOpenCLContext> like = new_context ();
  cl_device_id id = gst_opencl_context_get_device (like);
  cl_context handle = gst_opencl_context_get_handle (like);
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue (
      handle, id, is_profiled ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  expect_equal (code, CL_SUCCESS);

  gst_debug_set_default_threshold (GST_LEVEL_WARNING);
  gst_debug_add_log_function (count_messages, &warnings, nullptr);
  Owned<GstOpenCLContext> context =
      gst_opencl_context_new_wrapped (handle, id, queue, nullptr);
  gst_debug_remove_log_function (count_messages);
  expect_equal (warnings, is_profiled ? 0u : 1u);

  Device device (std::move (context));
  Owned<GstElement> element = new_element ("e");
  {
    const InElement scope (element);
    device.launch (device.first, queue);
  }
  expect_equal (clFinish (queue), CL_SUCCESS);
  expect_equal (finished_times_of (element).size (), is_profiled ? 1u : 0u);
  expect_equal (gst_opencl_profile_get_n_missed (), 0u);
  clReleaseCommandQueue (queue);
}
