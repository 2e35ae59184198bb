/* Tests of contexts: choice of a device, sharing, wrapped handles, programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/context.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/gstopenclerror.h>
#include "tests/check/opencl-counting.hpp"

#include <atomic>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace check;

/* Overrides the C library's function. */
static std::atomic<int> heap_trims{0};

extern "C" int
malloc_trim (size_t)
{
  heap_trims++;
  return 0;
}

static const bool alone = fork_each_test ();

/* --- an element that only has a context --- */

#define TEST_TYPE_HOLDER (test_holder_get_type ())
G_DECLARE_FINAL_TYPE (TestHolder, test_holder, TEST, HOLDER, GstElement)

struct _TestHolder {
  GstElement parent;
  GstOpenCLContext *context;
  const gchar *device;
};

G_DEFINE_FINAL_TYPE (TestHolder, test_holder, GST_TYPE_ELEMENT)

static GstStaticPadTemplate holder_sink =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate holder_src =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static void
test_holder_set_context (GstElement *element, GstContext *context)
{
  TestHolder *self = TEST_HOLDER (element);
  gst_opencl_handle_set_context (element, context, self->device, &self->context);
  GST_ELEMENT_CLASS (test_holder_parent_class)->set_context (element, context);
}

static gboolean
test_holder_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  return gst_opencl_handle_context_query (
             GST_ELEMENT (parent), query, TEST_HOLDER (parent)->context)
         || gst_pad_query_default (pad, parent, query);
}

static void
test_holder_finalize (GObject *object)
{
  gst_clear_object (&TEST_HOLDER (object)->context);
  G_OBJECT_CLASS (test_holder_parent_class)->finalize (object);
}

static void
test_holder_class_init (TestHolderClass *klass)
{
  GST_ELEMENT_CLASS (klass)->set_context = test_holder_set_context;
  G_OBJECT_CLASS (klass)->finalize = test_holder_finalize;
  gst_element_class_add_static_pad_template (GST_ELEMENT_CLASS (klass), &holder_sink);
  gst_element_class_add_static_pad_template (GST_ELEMENT_CLASS (klass), &holder_src);
  gst_element_class_set_static_metadata (
      GST_ELEMENT_CLASS (klass), "Holder", "Generic", "Holds a context", "test");
}

static void
test_holder_init (TestHolder *self)
{
  for (GstStaticPadTemplate *pad_template : {&holder_sink, &holder_src}) {
    GstPad *pad =
        gst_pad_new_from_static_template (pad_template, pad_template->name_template);
    gst_pad_set_query_function (pad, test_holder_query);
    gst_element_add_pad (GST_ELEMENT (self), pad);
  }
}

namespace {
TestHolder *
new_holder ()
{
  return TEST_HOLDER (g_object_new (TEST_TYPE_HOLDER, nullptr));
}

/* holder ! identity ! holder: queries must pass through another element. */
struct Chain {
  GstElement *pipeline = gst_pipeline_new (nullptr);
  TestHolder *first = new_holder ();
  TestHolder *last = new_holder ();

  Chain ()
  {
    GstElement *between = gst_element_factory_make ("identity", nullptr);
    gst_bin_add_many (
        GST_BIN (pipeline), GST_ELEMENT (first), between, GST_ELEMENT (last), nullptr);
    fail_unless (gst_element_link_many (
        GST_ELEMENT (first), between, GST_ELEMENT (last), nullptr));
    gst_element_set_state (between, GST_STATE_PAUSED);
    for (TestHolder *holder : {first, last})
      gst_element_foreach_pad (
          GST_ELEMENT (holder),
          [] (GstElement *, GstPad *pad, gpointer) {
            return gst_pad_set_active (pad, TRUE);
          },
          nullptr);
  }
  ~Chain ()
  {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
};

void
ensure (TestHolder *holder)
{
  GError *error = nullptr;
  fail_unless (gst_opencl_ensure_context (
                   GST_ELEMENT (holder), holder->device, &holder->context, &error),
      "%s", error ? error->message : "no error");
}

guint
count_messages (GstElement *pipeline, GstMessageType type)
{
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  guint n = 0;
  while (Owned<GstMessage> message = gst_bus_pop_filtered (bus, type))
    n++;
  return n;
}

std::string
error_of_choice (const gchar *device)
{
  Owned<GError> error;
  GstOpenCLContext *context = gst_opencl_context_new (device, error.out ());
  fail_unless (context == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE));
  return error->message;
}

void
assert_choice_works (const gchar *device)
{
  GError *error = nullptr;
  Owned<GstOpenCLContext> context = gst_opencl_context_new (device, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  fail_unless (gst_opencl_context_matches (context, device));
}

bool
machine_has (cl_device_type type)
{
  cl_platform_id platforms[16];
  cl_uint n = 0, found = 0;
  clGetPlatformIDs (16, platforms, &n);
  for (cl_uint p = 0; p < n; p++) {
    cl_uint devices = 0;
    if (clGetDeviceIDs (platforms[p], type, 0, nullptr, &devices) == CL_SUCCESS)
      found += devices;
  }
  return found > 0;
}
} // namespace

/* --- the end of a context --- */

/* Trimming takes hundreds of milliseconds in an application with a large heap. */
TEST (test_context_end_does_not_trim_the_heap)
{
  gst_object_unref (gst_opencl_context_new (nullptr, nullptr));
  fail_unless_equals_int (heap_trims, 0);
}

/* --- choice of a device --- */

TEST (test_context_is_made_for_every_way_to_name_a_device)
{
  g_unsetenv ("GST_OPENCL_DEVICE");
  Owned<GstOpenCLContext> context = new_context ();
  std::string name = gst_opencl_context_get_device_name (context);
  Owned<gchar> upper = g_ascii_strup (name.substr (2, 6).c_str (), -1);
  Owned<gchar> lower = g_ascii_strdown (name.c_str (), -1);

  for (const gchar *device : {(const gchar *)nullptr, "", "auto", "0:0",
           (const gchar *)upper, (const gchar *)lower})
    assert_choice_works (device);
}

TEST (test_context_of_a_type_is_made_only_where_there_is_such_a_device)
{
  struct {
    const gchar *name;
    cl_device_type type;
  } types[] = {{"cpu", CL_DEVICE_TYPE_CPU}, {"gpu", CL_DEVICE_TYPE_GPU},
      {"accelerator", CL_DEVICE_TYPE_ACCELERATOR}};

  for (auto &type : types) {
    if (machine_has (type.type))
      assert_choice_works (type.name);
    else
      expect_contains (
          error_of_choice (type.name), {std::string ("device=") + type.name});
  }
}

TEST (test_context_of_no_such_device_lists_those_there_are)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::string name = gst_opencl_context_get_device_name (context);

  for (const gchar *device : {"nonsense", "0:99", "77:0", "0:0:0", ":", "-1:0"}) {
    expect_contains (error_of_choice (device), {device, name, "0:0"});
    fail_if (gst_opencl_context_matches (context, device));
  }
}

TEST (test_context_default_comes_from_the_environment)
{
  g_setenv ("GST_OPENCL_DEVICE", "nonsense", TRUE);
  for (const gchar *open : {(const gchar *)nullptr, "", "auto"})
    expect_contains (error_of_choice (open), {"nonsense"});
  assert_choice_works ("0:0"); /* a named device ignores the default */
  g_setenv ("GST_OPENCL_DEVICE", "0:0", TRUE);
  Owned<GstOpenCLContext> context = new_context ();
  context = nullptr;
  expect_contains (error_of_choice ("nonsense"), {"nonsense"});
  g_unsetenv ("GST_OPENCL_DEVICE");
}

TEST (test_context_without_any_device_says_so)
{
  counting::hide_platforms (true);
  for (const gchar *device : {(const gchar *)nullptr, "gpu", "0:0", "nonsense"})
    expect_contains (error_of_choice (device), {"No OpenCL device"});
  counting::hide_platforms (false);
}

namespace {
/* Fails unless no name selects the device, and each error contains `fault`. */
void
assert_not_chosen (const gchar *fault)
{
  for (const gchar *device : {"auto", "0:0", ""}) {
    Owned<GError> error;
    fail_unless (gst_opencl_context_new (device, error.out ()) == nullptr);
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE));
    expect_contains (error->message, {fault, "0:0 "});
  }
  counting::restore_device_info ();
  gst_object_unref (new_context ());
}
} // namespace

TEST (test_context_is_not_made_on_a_device_that_cannot_be_used)
{
  const cl_bool no = CL_FALSE;

  counting::override_device_info (CL_DEVICE_AVAILABLE, &no, sizeof no);
  assert_not_chosen ("is not available");
  for (const char *version : {"OpenCL 1.1 Old", "OpenCL 1.0", "OpenGL 4.6", ""}) {
    counting::override_device_info (CL_DEVICE_VERSION, version, strlen (version) + 1);
    assert_not_chosen ("expected OpenCL 1.2 or later");
  }
  for (const char *version : {"OpenCL 1.2", "OpenCL 2.0 x", "OpenCL 10.0"}) {
    counting::override_device_info (CL_DEVICE_VERSION, version, strlen (version) + 1);
    gst_object_unref (new_context ());
  }
}

TEST (test_context_of_an_accelerator_is_made_where_a_device_is_one)
{
  const cl_device_type accelerator = CL_DEVICE_TYPE_ACCELERATOR;

  counting::override_device_info (CL_DEVICE_TYPE, &accelerator, sizeof accelerator);
  for (const gchar *device : {"accelerator", "auto"}) /* if there is no other device */
    assert_choice_works (device);
  expect_contains (error_of_choice ("cpu"), {"device=cpu", "accelerator", "0:0 "});
  g_setenv ("GST_OPENCL_DEVICE", "accelerator", TRUE);
  assert_choice_works ("auto");
  g_unsetenv ("GST_OPENCL_DEVICE");
  counting::restore_device_info ();
}

TEST (test_context_without_a_compiler_is_made_by_name)
{
  const cl_bool no = CL_FALSE;

  counting::override_device_info (CL_DEVICE_COMPILER_AVAILABLE, &no, sizeof no);
  expect_contains (error_of_choice ("auto"), {"has no compiler", "0:0 "});
  Owned<GError> error;
  Owned<GstOpenCLContext> context = gst_opencl_context_new ("0:0", error.out ());
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  counting::fail_call (counting::BUILD_PROGRAM, 1, CL_COMPILER_NOT_AVAILABLE);
  fail_if (gst_opencl_context_get_program (
      context, "kernel void k () {}", nullptr, error.out ()));
  expect_contains (error->message, {"has no compiler"});
  counting::restore_device_info ();
}

TEST (test_context_of_names_that_are_not_text)
{
  const char name[] = "Ger\xe4t \xff";
  Owned<GError> error;

  fail_unless (gst_opencl_context_new ("\xff\xfe", error.out ()) == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE));
  fail_unless (g_utf8_validate (error->message, -1, nullptr));
  counting::override_device_info (CL_DEVICE_NAME, name, sizeof name);
  Owned<GstOpenCLContext> context = gst_opencl_context_new ("ger", error.out ());
  fail_unless (context != nullptr, "%s", error ? error->message : "");
  fail_unless (
      g_utf8_validate (gst_opencl_context_get_device_name (context), -1, nullptr));
  fail_if (gst_opencl_context_matches (context, "\xfe other"));
}

TEST (test_context_that_cannot_be_made_names_the_call)
{
  struct {
    counting::Call call;
    const char *name;
  } calls[] = {{counting::CREATE_CONTEXT, "clCreateContext"},
      {counting::CREATE_QUEUE, "clCreateCommandQueue"}};

  for (auto &one : calls)
    for (unsigned n = 1; n <= (one.call == counting::CREATE_QUEUE ? 4u : 1u); n++) {
      Owned<GError> error;
      counting::fail_call (one.call, n, CL_OUT_OF_HOST_MEMORY);
      fail_unless (gst_opencl_context_new (nullptr, error.out ()) == nullptr);
      expect_contains (error->message, {one.name, "CL_OUT_OF_HOST_MEMORY"});
    }
  Owned<GstOpenCLContext> context = new_context ();
}

/* The loader would crash at a platform that was not told. */
TEST (test_context_is_made_where_the_driver_does_not_tell_the_platform)
{
  for (cl_device_info name : {CL_DEVICE_PLATFORM, CL_DEVICE_HOST_UNIFIED_MEMORY})
    counting::override_device_info (name, nullptr, 0);
  {
    Owned<GstOpenCLContext> context = new_context ();
    clReleaseKernel (make_kernel (context, change_source, "add"));
  }
  counting::restore_device_info ();
}

/* --- sharing --- */

TEST (test_context_is_made_once_by_threads_that_start_together)
{
  unsigned made = counting::count (counting::CREATE_CONTEXT);
  for (int round = 0; round < 5; round++) {
    std::vector<Owned<GstOpenCLContext>> got (6);
    together (got.size (), [&] (guint i) { got[i] = new_context (); });
    for (const auto &context : got)
      fail_unless (context == got[0]);
  }
  expect_equal (counting::count (counting::CREATE_CONTEXT), made + 5);
}

TEST (test_context_goes_with_its_last_reference)
{
  Owned<GstOpenCLContext> context = new_context ();
  GWeakRef weak;
  g_weak_ref_init (&weak, context);
  context = nullptr;
  fail_unless (g_weak_ref_get (&weak) == nullptr);
  g_weak_ref_clear (&weak);
}

TEST (test_context_is_found_downstream_and_upstream)
{
  Owned<GstOpenCLContext> registered = new_context ();

  for (bool downstream : {false, true}) {
    Chain chain;
    TestHolder *has_one = downstream ? chain.last : chain.first;
    TestHolder *asks = downstream ? chain.first : chain.last;
    has_one->context = new_other_context (registered);
    ensure (asks);
    fail_unless (asks->context == has_one->context);
    expect_equal (count_messages (chain.pipeline, GST_MESSAGE_NEED_CONTEXT), 0);
    expect_equal (count_messages (chain.pipeline, GST_MESSAGE_HAVE_CONTEXT), 0);
  }
}

TEST (test_context_of_a_neighbour_on_another_device_is_left_alone)
{
  Chain chain;
  Owned<GstOpenCLContext> registered = new_context ();
  Owned<GError> error;

  chain.last->context = new_other_context (registered);
  chain.first->device = "nonsense";
  fail_if (gst_opencl_ensure_context (GST_ELEMENT (chain.first), chain.first->device,
      &chain.first->context, error.out ()));
  fail_unless (chain.first->context == nullptr);
  expect_contains (error->message, {"nonsense"});
}

TEST (test_context_that_nobody_has_is_made_and_announced)
{
  Chain chain;
  ensure (chain.first);
  fail_unless (chain.first->context != nullptr);
  Owned<GstBus> bus = gst_element_get_bus (chain.pipeline);
  Owned<GstMessage> message = gst_bus_pop_filtered (bus, GST_MESSAGE_HAVE_CONTEXT);
  Owned<GstContext> announced;
  gst_message_parse_have_context (message, announced.out ());
  expect_equal (gst_context_get_context_type (announced), GST_OPENCL_CONTEXT_TYPE);
  fail_unless (gst_context_is_persistent (announced));

  /* The first element does not ask again, and the last one finds the context by its
   * query. */
  ensure (chain.first);
  ensure (chain.last);
  fail_unless (chain.last->context == chain.first->context);
  expect_equal (count_messages (chain.pipeline, GST_MESSAGE_HAVE_CONTEXT), 0);
}

static GstBusSyncReply
provide_context (GstBus *bus, GstMessage *message, gpointer given)
{
  const gchar *type;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_NEED_CONTEXT
      && gst_message_parse_context_type (message, &type)
      && g_str_equal (type, GST_OPENCL_CONTEXT_TYPE))
    gst_element_set_context (
        GST_ELEMENT (GST_MESSAGE_SRC (message)), static_cast<GstContext *> (given));
  return GST_BUS_PASS;
}

TEST (test_context_can_be_given_by_the_application_when_asked)
{
  Chain chain;
  Owned<GstOpenCLContext> registered = new_context ();
  Owned<GstOpenCLContext> own = new_other_context (registered);
  Owned<GstContext> given = gst_opencl_context_to_gst_context (own);
  Owned<GstBus> bus = gst_element_get_bus (chain.pipeline);

  gst_bus_set_sync_handler (bus, provide_context, given, nullptr);
  ensure (chain.first);
  fail_unless (chain.first->context == own);
  expect_equal (count_messages (chain.pipeline, GST_MESSAGE_HAVE_CONTEXT), 0);
  gst_bus_set_sync_handler (bus, nullptr, nullptr, nullptr);
}

TEST (test_context_answers_only_queries_for_it)
{
  TestHolder *holder = new_holder ();
  gst_object_ref_sink (holder);
  GstElement *element = GST_ELEMENT (holder);
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstQuery> other = gst_query_new_context ("gst.cuda.context");
  Owned<GstQuery> latency = gst_query_new_latency ();
  Owned<GstQuery> query = gst_query_new_context (GST_OPENCL_CONTEXT_TYPE);

  fail_if (gst_opencl_handle_context_query (element, other, context));
  fail_if (gst_opencl_handle_context_query (element, latency, context));
  fail_if (gst_opencl_handle_context_query (element, query, nullptr));
  fail_unless (gst_opencl_handle_context_query (element, query, context));
  Owned<GstContext> foreign = gst_context_new ("gst.cuda.context", TRUE);
  Owned<GstContext> empty = gst_context_new (GST_OPENCL_CONTEXT_TYPE, TRUE);
  for (GstContext *given : std::initializer_list<GstContext *>{foreign, empty, nullptr})
    fail_if (gst_opencl_handle_set_context (element, given, nullptr, &holder->context));
  fail_unless (holder->context == nullptr);
  gst_object_unref (holder);
}

/* --- wrapped handles --- */

TEST (test_context_around_an_application_s_handles_uses_them)
{
  Owned<GstOpenCLContext> device = new_context ();
  cl_device_id id = gst_opencl_context_get_device (device);
  cl_int code;
  cl_context handle = clCreateContext (nullptr, 1, &id, nullptr, nullptr, &code);
  cl_command_queue queue = clCreateCommandQueue (handle, id, 0, &code);
  device = nullptr;

  Owned<GstOpenCLContext> context =
      gst_opencl_context_new_wrapped (handle, id, queue, nullptr);
  fail_unless (gst_opencl_context_get_handle (context) == handle);
  fail_unless (gst_opencl_context_get_device (context) == id);
  fail_unless (queue_of (context) == queue);
  for (GstOpenCLQueue other : {GST_OPENCL_QUEUE_UPLOAD, GST_OPENCL_QUEUE_DOWNLOAD})
    fail_unless (queue_of (context, other) != queue && queue_of (context, other));

  /* Elements that pick the device find it. */
  Owned<GstOpenCLContext> found = new_context ();
  fail_unless (found == context);
  found = nullptr;
  context = nullptr;

  /* The application's handles are unchanged. */
  cl_uint references;
  clGetContextInfo (handle, CL_CONTEXT_REFERENCE_COUNT, 4, &references, nullptr);
  expect_equal (clFinish (queue), CL_SUCCESS);
  expect_equal (clReleaseCommandQueue (queue), CL_SUCCESS);
  expect_equal (clReleaseContext (handle), CL_SUCCESS);
}

TEST (test_context_that_is_there_already_stays_the_device_s)
{
  Owned<GstOpenCLContext> first = new_context ();
  Owned<GstOpenCLContext> wrapped = new_other_context (first);
  Owned<GstOpenCLContext> found = new_context ();
  fail_unless (found == first && found != wrapped);
}

TEST (test_context_refuses_queues_that_it_cannot_use)
{
  Owned<GstOpenCLContext> first = new_context (), second = new_other_context (first);
  cl_device_id device = gst_opencl_context_get_device (first);
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue (gst_opencl_context_get_handle (first),
      device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
  Owned<GError> error;

  expect_equal (code, CL_SUCCESS);
  fail_unless (gst_opencl_context_new_wrapped (
                   gst_opencl_context_get_handle (first), device, queue, error.out ())
               == nullptr);
  expect_contains (error->message, {"out of order"});
  clReleaseCommandQueue (queue);

  /* A queue of another cl_context */
  fail_unless (gst_opencl_context_new_wrapped (gst_opencl_context_get_handle (first),
                   device, queue_of (second), error.out ())
               == nullptr);
  expect_contains (error->message, {"context"});
}

/* --- programs --- */

TEST (test_program_is_built_once_for_source_and_options)
{
  Owned<GstOpenCLContext> context = new_context ();
  struct {
    const gchar *source, *options;
    guint builds;
  } wanted[] = {
      {"__kernel void a () {}", nullptr, 1},
      {"__kernel void a () {}", nullptr, 1},
      {"__kernel void a () {}", "", 1},
      {"__kernel void a () {}", "-DX=1", 2},
      {"__kernel void a () {}", "-DX=2", 3},
      {"__kernel void b () {}", "-DX=1", 4},
      {"__kernel void a () {}", "-DX=1", 4},
  };
  for (auto &one : wanted) {
    OwnedCL<cl_program> program =
        gst_opencl_context_get_program (context, one.source, one.options, nullptr);
    fail_unless (program != nullptr);
    expect_equal (gst_opencl_context_get_n_builds (context), one.builds);
    expect_equal (counting::count (counting::BUILD_PROGRAM), one.builds);
  }
}

TEST (test_program_is_built_once_by_threads_that_want_it_together)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::vector<OwnedCL<cl_program>> programs (6);

  together (programs.size (), [&] (guint i) {
    programs[i] =
        gst_opencl_context_get_program (context, change_source, nullptr, nullptr);
  });
  for (const auto &program : programs)
    fail_unless (program && program == programs[0]);
  expect_equal (counting::count (counting::BUILD_PROGRAM), 1);
}

TEST (test_program_that_does_not_build_gives_the_log)
{
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GError> error;
  const gchar *broken = "__kernel void k (__global int *x) { x[0] = undeclared; }";

  fail_unless (gst_opencl_context_get_program (context, broken, "-DONE=1", error.out ())
               == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD));
  std::string message = error->message;
  auto line_end = message.find ('\n');
  fail_unless (line_end != std::string::npos);
  expect_contains (message.substr (0, line_end), {"does not build"});
  fail_unless (message.find ("undeclared") > line_end);
  expect_contains (message.substr (line_end), {"undeclared", "-DONE=1"});

  /* This failure is not cached: a later build may have the memory that this one
   * lacked. */
  counting::fail_call (counting::BUILD_PROGRAM, 1, CL_OUT_OF_HOST_MEMORY);
  fail_unless (
      gst_opencl_context_get_program (context, change_source, nullptr, error.out ())
      == nullptr);
  clReleaseKernel (make_kernel (context, change_source, "add"));
}

static cl_command_queue
compute_queue_of (GstOpenCLContext *context)
{
  return gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
}

static const struct {
  const char *label;
  cl_command_queue (*of) (GstOpenCLContext *context);
} mapping_queues[] = {
    {"pinned", gst_opencl_context_get_pinning_queue}, {"compute", compute_queue_of}};

/* Driver threads that unmap memory while the process exits use freed data: Intel's
 * abort. */
TEST_ROWS (test_context_ends_after_its_memory_is_unmapped, mapping_queues)
{
  Owned<GstOpenCLContext> context = new_context ();
  Gate gate (context);
  gate.put_into (row.of (context));
  std::atomic<bool> ended{false};
  std::thread last_user ([&] {
    context = nullptr;
    ended = true;
  });
  g_usleep (50000);
  const bool ended_before = ended;
  gate.open ();
  last_user.join ();
  fail_if (ended_before);
}

/* --- deferred release --- */

static void
add_one (gpointer n)
{
  ++*static_cast<std::atomic<int> *> (n);
}

TEST (test_release_after_waits_for_the_event)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::atomic<int> released{0};
  Gate gate (context), failing (context);

  gst_opencl_context_release_after (context, gate.event, add_one, &released);
  g_usleep (50000);
  expect_equal (released, 0);
  gate.open ();
  fail_unless (soon ([&] { return released == 1; }));
  /* A failed command counts as finished. */
  gst_opencl_context_release_after (context, failing.event, add_one, &released);
  failing.fail_call ();
  fail_unless (soon ([&] { return released == 2; }));
}

TEST (test_release_after_keeps_what_it_cannot_wait_for)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::atomic<int> released{0};
  Gate gate (context), unknown (context);

  counting::fail_call (counting::WAIT_FOR_EVENTS, 1, CL_OUT_OF_RESOURCES);
  gst_opencl_context_release_after (context, gate.event, add_one, &released);
  g_usleep (50000);
  expect_equal (released, 0);
  gate.open ();
  fail_unless (soon ([&] { return released == 1; }));
  /* The state of this command is unknown. */
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_OUT_OF_RESOURCES);
  counting::fail_always (counting::GET_EVENT_INFO, CL_OUT_OF_RESOURCES);
  gst_opencl_context_release_after (context, unknown.event, add_one, &released);
  context = nullptr;
  expect_equal (released, 1);
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_SUCCESS);
  counting::fail_always (counting::GET_EVENT_INFO, CL_SUCCESS);
}

TEST (test_release_after_is_done_before_the_context_goes)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::atomic<int> released{0};
  Gate gate (context);

  for (int i = 0; i < 10; i++)
    gst_opencl_context_release_after (context, gate.event, add_one, &released);
  std::thread opener ([&] {
    g_usleep (50000);
    gate.open ();
  });
  context = nullptr;
  expect_equal (released, 10);
  opener.join ();
}

namespace {
struct LastReference {
  GstOpenCLContext *context;
  std::atomic<int> *released;
};

void
drop_last_reference (gpointer data)
{
  auto *last = static_cast<LastReference *> (data);
  gst_object_unref (last->context);
  ++*last->released;
}
} // namespace

TEST (test_release_after_may_drop_the_last_reference_to_the_context)
{
  for (int round = 0; round < 5; round++) {
    GstOpenCLContext *context = new_context ();
    std::atomic<int> released{0};
    Gate gate (context);
    LastReference last{context, &released};

    gst_opencl_context_release_after (context, gate.event, add_one, &released);
    gst_opencl_context_release_after (context, gate.event, drop_last_reference, &last);
    gst_opencl_context_release_after (context, gate.event, add_one, &released);
    gate.open ();
    fail_unless (soon ([&] { return released == 3; }));
  }
}

/* --- a forked child --- */

namespace {
/* Returns the number of uses without an error that says what to do. */
int
count_unexpected (GstOpenCLContext *context, GstMemory *memory)
{
  GstMapInfo map;
  Owned<GError> errors[6];
  TestHolder *holder = new_holder ();
  int unexpected = 0;

  holder->context = GST_OPENCL_CONTEXT (gst_object_ref (context));
  const bool succeeds[] = {gst_opencl_context_new (nullptr, errors[0].out ()) != nullptr,
      gst_opencl_context_new_wrapped (gst_opencl_context_get_handle (context),
          gst_opencl_context_get_device (context), nullptr, errors[1].out ())
          != nullptr,
      bool (gst_opencl_ensure_context (
          GST_ELEMENT (holder), nullptr, &holder->context, errors[2].out ())),
      gst_opencl_context_get_program (
          context, "kernel void k () {}", nullptr, errors[3].out ())
          != nullptr,
      gst_opencl_memory_new (context, 64, errors[4].out ()) != nullptr,
      bool (gst_opencl_memory_begin (memory,
          gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE), GST_MAP_READ,
          errors[5].out ()))};
  for (gsize n = 0; n < G_N_ELEMENTS (errors); n++)
    unexpected += succeeds[n] || !errors[n]
                  || !strstr (errors[n]->message, "start processes with spawn");
  unexpected += gst_memory_map (memory, &map, GST_MAP_READ);
  gst_memory_unref (memory);
  gst_object_unref (context);
  return unexpected;
}
} // namespace

TEST (test_forked_child_gets_errors)
{
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstMemory> memory = gst_opencl_memory_new (context, 64, nullptr);
  int status = -1;
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  gst_memory_unmap (memory, &map);
  const pid_t child = fork ();
  if (child == 0) {
    alarm (20);
    _exit (count_unexpected (context, memory));
  }
  expect_equal (waitpid (child, &status, 0), child);
  expect_equal (status, 0);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ)); /* the parent goes on */
  gst_memory_unmap (memory, &map);
}

TEST (test_enums_are_known_by_their_types)
{
  const struct {
    GType type;
    const gchar *nick;
    int value;
  } enums[] = {
      {GST_TYPE_OPENCL_QUEUE, "upload", GST_OPENCL_QUEUE_UPLOAD},
      {GST_TYPE_OPENCL_ERROR, "no-memory", GST_OPENCL_ERROR_NO_MEMORY},
      {GST_TYPE_OPENCL_FFT_LIBRARY, "vkfft", GST_OPENCL_FFT_LIBRARY_VKFFT},
  };

  for (auto &known : enums) {
    auto *values = static_cast<GEnumClass *> (g_type_class_ref (known.type));
    GEnumValue *value = g_enum_get_value_by_nick (values, known.nick);
    fail_unless (value != nullptr, "%s of %s", known.nick, g_type_name (known.type));
    expect_equal (value->value, known.value);
    g_type_class_unref (values);
  }
}

static void
show_platforms ()
{
  counting::hide_platforms (false);
  counting::restore_device_info ();
  g_unsetenv ("GST_OPENCL_DEVICE");
}

static const bool resets_each_test =
    check::around_each_test (show_platforms, show_platforms);
