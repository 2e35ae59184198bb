/* Tests of pipelines on named devices: one element names a device, its neighbours use it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>

using namespace check;

/* PoCL has as many devices as configured; other platforms have a fixed number. */
static const char *const devices_of_pocl = "pthread pthread";

/* The number of devices of platform 0, which "0:N" names. */
static cl_uint
count_devices ()
{
  cl_platform_id platform;
  cl_uint n = 0;
  expect_equal (clGetPlatformIDs (1, &platform, nullptr), CL_SUCCESS);
  expect_equal (
      clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n), CL_SUCCESS);
  return n;
}

static cl_device_id
device_of (GstElement *sink)
{
  Owned<GstSample> sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
  fail_unless (sample != nullptr);
  GstMemory *memory = gst_buffer_peek_memory (gst_sample_get_buffer (sample), 0);
  fail_unless (gst_is_opencl_memory (memory));
  cl_device_id device =
      gst_opencl_context_get_device (gst_opencl_memory_get_context (memory));
  return device;
}

static cl_device_id
device_by_name (const char *name)
{
  GError *error = nullptr;
  Owned<GstOpenCLContext> context = gst_opencl_context_new (name, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  cl_device_id device = gst_opencl_context_get_device (context);
  context = nullptr;
  return device;
}

static std::string
branch (const std::string &device, const char *name)
{
  return "videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=32,height=16 ! "
         "openclupload device="
         + device
         + " ! chromakey ! noisereduce ! keyfill ! appsink sync=false name=" + name + " ";
}

/* State changes start at the sink. So the later elements ask for a context before the
 * element that names a device has started. */
TEST (test_branches_run_on_the_devices_that_their_first_elements_name)
{
  if (count_devices () < 2) {
    check::report_skip ("one device");
    return;
  }
  Owned<GstElement> pipeline =
      gst_parse_launch ((branch ("0:0", "a") + branch ("0:1", "b")).c_str (), nullptr);
  fail_unless (
      gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  for (const char *name : {"a", "b"}) {
    Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
    fail_unless (
        device_of (sink) == device_by_name (g_str_equal (name, "a") ? "0:0" : "0:1"));
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* (transfer full) (nullable): the context of an element that has not started */
static GstOpenCLContext *
ask_before_start (GstElement *element)
{
  Owned<GstPad> pad = gst_element_get_static_pad (element, "src");
  Owned<GstQuery> query = gst_query_new_context (GST_OPENCL_CONTEXT_TYPE);
  GstContext *answer = nullptr;
  GstOpenCLContext *context = nullptr;
  if (gst_pad_query (pad, query))
    gst_query_parse_context (query, &answer);
  if (answer)
    gst_structure_get (gst_context_get_structure (answer), GST_OPENCL_CONTEXT_TYPE,
        GST_TYPE_OPENCL_CONTEXT, &context, nullptr);
  return context;
}

TEST (test_element_with_named_device_has_context_before_start)
{
  Owned<GstElement> named =
      gst_element_factory_make_full ("openclupload", "device", "0:0", nullptr);
  Owned<GstElement> any = gst_element_factory_make ("openclupload", nullptr);
  Owned<GstOpenCLContext> context = ask_before_start (named);

  fail_unless (context != nullptr);
  fail_unless (gst_opencl_context_get_device (context) == device_by_name ("0:0"));
  fail_unless (ask_before_start (any) == nullptr);
}

/* An application's context of that device is the one that neighbours get. */
TEST (test_an_element_tells_neighbours_the_context_that_it_was_given)
{
  Owned<GstOpenCLContext> like = new_context ();
  Owned<GstOpenCLContext> given = new_other_context (like);
  Owned<GstContext> gst_context = gst_opencl_context_to_gst_context (given);
  Owned<GstElement> named = gst_element_factory_make_full (
      "openclupload", "device", gst_opencl_context_get_device_name (like), nullptr);
  gst_element_set_context (named, gst_context);
  Owned<GstOpenCLContext> answered = ask_before_start (named);

  fail_unless (answered == given);
}

/* The device that is set after a context query takes effect. */
TEST (test_a_device_named_after_neighbours_asked_is_the_one_that_counts)
{
  Owned<GstElement> element =
      gst_element_factory_make_full ("openclupload", "device", "0:0", nullptr);
  Owned<GstBus> bus = gst_bus_new ();
  Owned<GstOpenCLContext> context = ask_before_start (element);

  gst_element_set_bus (element, bus);
  g_object_set (element, "device", "no such device", nullptr);
  expect_equal (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  Owned<GstMessage> message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != nullptr);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, nullptr);
}
