/* Tests of the base class of filters on a device, with a filter that flips bits
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../opencl-check.hpp"
#include "../opencl-counting.hpp"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/check/gstharness.h>

#include <atomic>
#include <string>
#include <thread>

using namespace check;

/* --- the filter --- */

/* What a test wants of all filters, and what they did. */
namespace {
struct Behaviour {
  std::atomic<bool> open_fails{false};
  std::atomic<bool> set_formats_fails{false};
  std::atomic<bool> transform_fails{false};
  std::atomic<bool> passthrough{false};
  std::atomic<cl_event> gate{nullptr};             /* put into the queue by each frame */
  std::atomic<cl_event> instead_of_event{nullptr}; /* given as a frame's event */
  std::atomic<int> opened{0};
  std::atomic<int> closed{0};
  std::atomic<int> formats{0};
  std::atomic<int> frames{0};
};
Behaviour behaviour;

const gchar *flip_source =
    "__kernel void flip (__global const uchar *in, ulong in_start, uint in_stride,"
    "    __global uchar *out, ulong out_start, uint out_stride, uint width, uint height,"
    "    uchar value) {"
    "  size_t x = get_global_id (0), y = get_global_id (1);"
    "  if (x < width && y < height)"
    "    out[out_start + y * out_stride + x] = in[in_start + y * in_stride + x] ^ value;"
    "}";
} // namespace

#define TEST_TYPE_FLIP (test_flip_get_type ())
G_DECLARE_FINAL_TYPE (TestFlip, test_flip, TEST, FLIP, GstOpenCLFilter)

struct _TestFlip {
  GstOpenCLFilter parent;
  cl_kernel kernel;
  guint8 value;
};

G_DEFINE_FINAL_TYPE (TestFlip, test_flip, GST_TYPE_OPENCL_FILTER)

#define DEVICE_CAPS                                                                      \
  "video/x-raw(memory:OpenCLMemory),format=GRAY8;"                                       \
  "application/x-test(memory:OpenCLMemory)"
static GstStaticPadTemplate flip_sink =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (DEVICE_CAPS ";video/x-raw,format=GRAY8;application/x-test"));
static GstStaticPadTemplate flip_src = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_CAPS));

static gboolean
test_flip_open (GstOpenCLFilter *filter, GError **error)
{
  behaviour.opened++;
  TEST_FLIP (filter)->kernel = nullptr;
  cl_program program = gst_opencl_context_get_program (
      gst_opencl_filter_get_context (filter),
      behaviour.open_fails ? "first line\nwhat is this" : flip_source, nullptr, error);
  if (!program)
    return FALSE;
  cl_int code;
  TEST_FLIP (filter)->kernel = clCreateKernel (program, "flip", &code);
  clReleaseProgram (program);
  return gst_opencl_check (code, "clCreateKernel", error);
}

static void
test_flip_close (GstOpenCLFilter *filter)
{
  behaviour.closed++;
  if (TEST_FLIP (filter)->kernel)
    clReleaseKernel (TEST_FLIP (filter)->kernel);
  TEST_FLIP (filter)->kernel = nullptr;
}

static gboolean
test_flip_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  behaviour.formats++;
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (filter), behaviour.passthrough);
  if (!behaviour.set_formats_fails)
    return TRUE;
  g_set_error (
      error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "width is 3, expected 4");
  return FALSE;
}

static gboolean
test_flip_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  gint bytes;
  if (!gst_structure_get_int (gst_caps_get_structure (caps, 0), "bytes", &bytes))
    return FALSE;
  *size = bytes;
  return TRUE;
}

static gboolean
test_flip_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  TestFlip *self = TEST_FLIP (filter);
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  cl_uint width = info ? info->width : output->size, height = info ? info->height : 1;
  cl_ulong starts[2] = {input->offset[0], output->offset[0]};
  cl_uint strides[2] = {cl_uint (input->stride[0]), cl_uint (output->stride[0])};
  gsize global[2] = {width, height}, local[2] = {16, 1};

  behaviour.frames++;
  if (cl_event gate = behaviour.gate)
    fail_unless_equals_int (
        clEnqueueBarrierWithWaitList (queue, 1, &gate, nullptr), CL_SUCCESS);
  const void *values[] = {&input->data, &starts[0], &strides[0], &output->data,
      &starts[1], &strides[1], &width, &height, &self->value};
  const gsize sizes[] = {sizeof (cl_mem), 8, 4, sizeof (cl_mem), 8, 4, 4, 4, 1};
  for (int i = 0; i < 9; i++)
    fail_unless_equals_int (
        clSetKernelArg (self->kernel, i, sizes[i], values[i]), CL_SUCCESS);
  if (!gst_opencl_launch (queue, self->kernel, 2, global, local, error))
    return FALSE;
  if (!behaviour.transform_fails)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "does not want to");
  return FALSE;
}

static gboolean
test_flip_process (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  if (!GST_OPENCL_FILTER_CLASS (test_flip_parent_class)
           ->process (filter, input, output, event, error))
    return FALSE;
  if (cl_event other = behaviour.instead_of_event) {
    clReleaseEvent (*event);
    clRetainEvent (other);
    *event = other;
  }
  return TRUE;
}

/* The same caps; device memory comes out, any memory may go in. */
static GstCaps *
test_flip_transform_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *filter)
{
  GstCaps *result = gst_caps_copy (caps);
  gst_caps_set_features_simple (
      result, gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, nullptr));
  if (direction == GST_PAD_SRC) {
    GstCaps *system = gst_caps_copy (caps);
    gst_caps_set_features_simple (
        system, gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, nullptr));
    gst_caps_append (result, system);
  }
  if (filter) {
    GstCaps *both = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = both;
  }
  return result;
}

static void
test_flip_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  TEST_FLIP (object)->value = guint8 (g_value_get_uint (value));
}

static void
test_flip_class_init (TestFlipClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  G_OBJECT_CLASS (klass)->set_property = test_flip_set_property;
  g_object_class_install_property (G_OBJECT_CLASS (klass), 1,
      g_param_spec_uint (
          "value", "Value", "Bits to flip", 0, 255, 255, G_PARAM_WRITABLE));
  gst_element_class_add_static_pad_template (element_class, &flip_sink);
  gst_element_class_add_static_pad_template (element_class, &flip_src);
  gst_element_class_set_static_metadata (
      element_class, "Flip", "Filter", "Flips bits", "test");
  GST_BASE_TRANSFORM_CLASS (klass)->transform_caps = test_flip_transform_caps;
  filter_class->open = test_flip_open;
  filter_class->close = test_flip_close;
  filter_class->set_formats = test_flip_set_formats;
  filter_class->get_frame_size = test_flip_get_frame_size;
  filter_class->transform = test_flip_transform;
  filter_class->process = test_flip_process;
}

static void
test_flip_init (TestFlip *self)
{
  self->value = 255;
}

/* --- what the tests share --- */

namespace {
const gchar *small_video = "video/x-raw,format=GRAY8,width=20,height=6,framerate=30/1";
const gchar *small_device_video =
    "video/x-raw(memory:OpenCLMemory),format=GRAY8,width=20,height=6,framerate=30/1";
const gsize small_size = 20 * 6;

/* A filter in a harness, and the bus that its errors go to. */
class Filter {
public:
  explicit Filter (const gchar *caps, guint depth = 4)
      : element (GST_ELEMENT (gst_object_ref_sink (
          g_object_new (TEST_TYPE_FLIP, "async-depth", depth, nullptr)))),
        bus (gst_bus_new ())
  {
    gst_element_set_bus (element, bus);
    harness = gst_harness_new_with_element (element, "sink", "src");
    if (caps)
      gst_harness_set_src_caps_str (harness, caps);
  }
  ~Filter ()
  {
    gst_harness_teardown (harness);
    gst_element_set_bus (element, nullptr);
    gst_object_unref (element);
    gst_object_unref (bus);
  }

  /* The errors that it posted since the last call. */
  std::vector<std::string> take_errors ()
  {
    std::vector<std::string> errors;
    while (GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR)) {
      GError *error = nullptr;
      gchar *debug = nullptr;
      gst_message_parse_error (message, &error, &debug);
      errors.push_back (std::string (error->message) + "\n" + (debug ? debug : ""));
      g_error_free (error);
      g_free (debug);
      gst_message_unref (message);
    }
    return errors;
  }

  GstOpenCLContext *context ()
  {
    return gst_opencl_filter_get_context (GST_OPENCL_FILTER (element));
  }

  /* Through PAUSED, as an application that starts again. */
  void restart (const gchar *caps)
  {
    gst_element_set_state (element, GST_STATE_READY);
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    gst_harness_push_event (harness, gst_event_new_flush_start ());
    gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (harness, gst_event_new_stream_start ("again"));
    GstCaps *parsed = gst_caps_from_string (caps);
    gst_harness_push_event (harness, gst_event_new_caps (parsed));
    gst_caps_unref (parsed);
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_harness_push_event (harness, gst_event_new_segment (&segment));
  }

  void check_frame (guint seed)
  {
    GstBuffer *output = gst_harness_push_and_pull (harness, make_frame (seed));
    fail_unless (output != nullptr);
    assert_flipped (output, seed);
    gst_buffer_unref (output);
  }

  static GstBuffer *make_frame (guint seed, gsize size = small_size)
  {
    Bytes bytes = pattern (size, seed);
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, size, nullptr);
    gst_buffer_fill (buffer, 0, bytes.data (), size);
    return buffer;
  }

  static void assert_flipped (GstBuffer *buffer, guint seed, guint8 value = 255)
  {
    Bytes expected = pattern (small_size, seed);
    for (guint8 &byte : expected)
      byte ^= value;
    assert_same (read_buffer (buffer), expected, "flipped frame");
  }

  GstElement *element;
  GstBus *bus;
  GstHarness *harness;
};

/* Work that is to block until `gate` opens. */
template <typename Work>
void
assert_waits_for (Gate &gate, Work work)
{
  std::atomic<bool> done{false};
  std::thread thread ([&] {
    work ();
    done = true;
  });
  g_usleep (150000);
  bool waited = !done;
  behaviour.gate = nullptr;
  gate.open ();
  thread.join ();
  fail_unless (waited);
}

/* Fills `filter` with as many frames as may be in flight. */
void
push_gated (Filter &filter, Gate &gate, int frames)
{
  behaviour.gate = gate.event;
  for (int i = 0; i < frames; i++)
    fail_unless_equals_int (
        gst_harness_push (filter.harness, Filter::make_frame (i)), GST_FLOW_OK);
  behaviour.gate = nullptr;
}

void
assert_one_error_with (Filter &filter, std::initializer_list<const char *> parts)
{
  std::vector<std::string> errors = filter.take_errors ();
  fail_unless_equals_int (errors.size (), 1);
  for (const char *part : parts)
    fail_unless (errors[0].find (part) != std::string::npos, "'%s' is not in: %s", part,
        errors[0].c_str ());
}

GstBuffer *
as_device_buffer (GstOpenCLContext *context, const Bytes &bytes)
{
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (
      buffer, gst_opencl_memory_new (context, bytes.size (), nullptr));
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  return buffer;
}
} // namespace

/* --- values --- */

GST_START_TEST (test_filter_gives_device_memory_of_system_memory)
{
  Filter filter (small_video);
  for (guint seed = 0; seed < 10; seed++) {
    GstBuffer *output =
        gst_harness_push_and_pull (filter.harness, Filter::make_frame (seed));
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (output, 0)));
    Filter::assert_flipped (output, seed);
    gst_buffer_unref (output);
  }
  fail_unless_equals_int (behaviour.opened, 1);
  fail_unless_equals_int (behaviour.formats, 1);
  fail_unless_equals_int (filter.take_errors ().size (), 0);
}
GST_END_TEST;

GST_START_TEST (test_filter_takes_device_memory_as_it_is)
{
  Filter filter (small_device_video);
  unsigned writes = 0;
  for (guint seed = 0; seed < 3; seed++) {
    GstBuffer *input = as_device_buffer (filter.context (), pattern (small_size, seed));
    GstMemory *memory = gst_buffer_peek_memory (input, 0);
    gst_opencl_memory_begin (memory,
        gst_opencl_context_get_queue (filter.context (), GST_OPENCL_QUEUE_COMPUTE),
        GST_MAP_READ, nullptr);
    writes = counting::count (counting::ENQUEUE_WRITE);
    GstBuffer *output = gst_harness_push_and_pull (filter.harness, input);
    fail_unless_equals_int (counting::count (counting::ENQUEUE_WRITE), writes);
    Filter::assert_flipped (output, seed);
    gst_buffer_unref (output);
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_copies_device_memory_of_another_cl_context)
{
  Filter filter (small_device_video);
  GstOpenCLContext *other = new_other_context (filter.context ());

  for (guint seed = 0; seed < 5; seed++) {
    GstBuffer *output = gst_harness_push_and_pull (
        filter.harness, as_device_buffer (other, pattern (small_size, seed)));
    fail_unless (gst_opencl_memory_get_context (gst_buffer_peek_memory (output, 0))
                 == filter.context ());
    Filter::assert_flipped (output, seed);
    gst_buffer_unref (output);
  }
  gst_object_unref (other);
}
GST_END_TEST;

GST_START_TEST (test_filter_joins_the_memories_of_a_buffer)
{
  Filter filter (small_device_video);
  Bytes bytes = pattern (small_size, 3);
  GstBuffer *input =
      as_device_buffer (filter.context (), Bytes (bytes.begin (), bytes.begin () + 33));
  GstBuffer *rest =
      as_device_buffer (filter.context (), Bytes (bytes.begin () + 33, bytes.end ()));
  GstBuffer *output =
      gst_harness_push_and_pull (filter.harness, gst_buffer_append (input, rest));
  Filter::assert_flipped (output, 3);
  gst_buffer_unref (output);
}
GST_END_TEST;

GST_START_TEST (test_filter_honours_strides_and_offsets_of_its_input)
{
  for (bool on_device : {false, true}) {
    Filter filter (on_device ? small_device_video : small_video);
    Bytes padded = pattern (1000, 1), tight = pattern (small_size, 5);
    gsize offset[4] = {77};
    gint stride[4] = {51};
    for (int row = 0; row < 6; row++)
      std::copy_n (tight.begin () + row * 20, 20, padded.begin () + 77 + row * 51);
    GstBuffer *input = on_device ? as_device_buffer (filter.context (), padded)
                                 : Filter::make_frame (1, 1000);
    gst_buffer_fill (input, 0, padded.data (), padded.size ());
    gst_buffer_add_video_meta_full (input, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
    GstBuffer *output = gst_harness_push_and_pull (filter.harness, input);
    Filter::assert_flipped (output, 5);
    gst_buffer_unref (output);
    filter.check_frame (6); /* without the meta the caps count again */
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_takes_a_frame_with_padding_behind_it)
{
  Filter filter (small_video);
  Bytes bytes = pattern (small_size, 8);
  GstBuffer *input = Filter::make_frame (1, small_size + 4096);
  gst_buffer_fill (input, 0, bytes.data (), small_size);
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, input);
  Filter::assert_flipped (output, 8);
  gst_buffer_unref (output);
}
GST_END_TEST;

GST_START_TEST (test_filter_takes_caps_that_are_no_video)
{
  Filter filter ("application/x-test,bytes=120");
  filter.check_frame (3);
  gst_harness_set_src_caps_str (
      filter.harness, "application/x-test(memory:OpenCLMemory),bytes=120");
  filter.check_frame (4);
}
GST_END_TEST;

/* --- how far the host runs ahead --- */

static void
assert_run_ahead_is (guint depth)
{
  gst_element_register (nullptr, "testflip", GST_RANK_NONE, TEST_TYPE_FLIP);
  gchar *line = g_strdup_printf ("videotestsrc num-buffers=20 ! %s ! "
                                 "identity drop-allocation=true ! testflip name=f "
                                 "async-depth=%u ! fakesink sync=false",
      small_video, depth);
  GstElement *pipeline = gst_parse_launch (line, nullptr);
  GstOpenCLContext *context = new_context ();
  Gate gate (context);
  GstBus *bus = gst_element_get_bus (pipeline);

  g_free (line);
  behaviour.gate = gate.event;
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  fail_unless (soon ([&] { return behaviour.frames >= int (depth); }));
  g_usleep (200000);
  /* None of them can have finished. */
  fail_unless_equals_int (behaviour.frames, depth);
  behaviour.gate = nullptr;
  gate.open ();
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, 10 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
  fail_unless_equals_int (behaviour.frames, 20);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  gst_object_unref (context);
}

GST_START_TEST (test_filter_of_depth_1_waits_for_each_frame)
{
  assert_run_ahead_is (1);
}
GST_END_TEST;

GST_START_TEST (test_filter_of_depth_2_runs_2_frames_ahead)
{
  assert_run_ahead_is (2);
}
GST_END_TEST;

GST_START_TEST (test_filter_of_depth_5_runs_5_frames_ahead)
{
  assert_run_ahead_is (5);
}
GST_END_TEST;

GST_START_TEST (test_filter_pushes_before_the_device_has_finished)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  fail_unless_equals_int (gst_harness_buffers_received (filter.harness), 3);
  gate.open ();
  for (guint i = 0; i < 3; i++) {
    GstBuffer *output = gst_harness_pull (filter.harness);
    Filter::assert_flipped (output, i);
    gst_buffer_unref (output);
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_finishes_all_frames_before_eos)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  assert_waits_for (
      gate, [&] { gst_harness_push_event (filter.harness, gst_event_new_eos ()); });
}
GST_END_TEST;

GST_START_TEST (test_filter_finishes_all_frames_before_new_caps)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  assert_waits_for (gate, [&] {
    GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,width=40,height=3");
    gst_harness_push_event (filter.harness, gst_event_new_caps (caps));
    gst_caps_unref (caps);
  });
  fail_unless_equals_int (behaviour.formats, 2);
}
GST_END_TEST;

GST_START_TEST (test_filter_finishes_all_frames_in_a_flush)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  assert_waits_for (gate, [&] {
    gst_harness_push_event (filter.harness, gst_event_new_flush_start ());
    gst_harness_push_event (filter.harness, gst_event_new_flush_stop (TRUE));
  });
}
GST_END_TEST;

GST_START_TEST (test_filter_finishes_all_frames_before_it_closes)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  assert_waits_for (gate, [&] {
    gst_element_set_state (filter.element, GST_STATE_READY);
    fail_unless_equals_int (behaviour.closed, 1);
  });
}
GST_END_TEST;

GST_START_TEST (test_filter_depth_may_change_while_playing)
{
  Filter filter (small_video, 5);
  Gate gate (filter.context ());
  push_gated (filter, gate, 4);
  g_object_set (filter.element, "async-depth", 2, nullptr);
  assert_waits_for (
      gate, [&] { gst_harness_push (filter.harness, Filter::make_frame (0)); });
  fail_unless_equals_int (behaviour.frames, 5);
}
GST_END_TEST;

GST_START_TEST (test_filter_uploads_a_frame_while_the_device_works_on_the_last)
{
  Filter filter (small_video, 4);
  Gate gate (filter.context ());
  cl_event uploaded;

  filter.check_frame (1);
  push_gated (filter, gate, 1);
  gst_harness_push (filter.harness, Filter::make_frame (2));
  cl_command_queue queue = queue_of (filter.context (), GST_OPENCL_QUEUE_UPLOAD);
  clEnqueueMarkerWithWaitList (queue, 0, nullptr, &uploaded);
  clFlush (queue);
  fail_unless (soon ([&] { return status_of (uploaded) == CL_COMPLETE; }));
  clReleaseEvent (uploaded);
}
GST_END_TEST;

GST_START_TEST (test_filter_in_steady_state_allocates_and_builds_nothing)
{
  Filter filter (small_video);
  unsigned allocations = 0;
  for (guint seed = 0; seed < 60; seed++) {
    filter.check_frame (seed);
    if (seed == 5)
      allocations = counting::allocations ();
  }
  fail_unless_equals_int (counting::allocations (), allocations);
}
GST_END_TEST;

GST_START_TEST (test_filter_computes_right_when_frames_grow_and_shrink)
{
  for (const gchar *feature : {"", "(memory:OpenCLMemory)"}) {
    Filter filter (nullptr, 3);
    for (int bytes : {100, 4000, 7, 100, 4001, 4000}) {
      gchar *caps = g_strdup_printf ("application/x-test%s,bytes=%d", feature, bytes);
      gst_harness_set_src_caps_str (filter.harness, caps);
      for (guint seed = 0; seed < 4; seed++) {
        Bytes expected = pattern (bytes, seed);
        GstBuffer *output =
            gst_harness_push_and_pull (filter.harness, Filter::make_frame (seed, bytes));
        for (guint8 &byte : expected)
          byte ^= 255;
        assert_same (read_buffer (output), expected, caps);
        gst_buffer_unref (output);
      }
      g_free (caps);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_leaves_no_buffer_behind)
{
  int before = counting::held_buffers ();
  for (bool fails : {false, true}) {
    Filter filter (small_video);
    GstOpenCLContext *other = new_other_context (filter.context ());
    filter.check_frame (1);
    gst_buffer_unref (gst_harness_push_and_pull (
        filter.harness, as_device_buffer (other, pattern (small_size, 2))));
    behaviour.transform_fails = fails;
    gst_harness_push (filter.harness, Filter::make_frame (3));
    gst_harness_push (filter.harness, Filter::make_frame (4, 3));
    behaviour.transform_fails = false;
    gst_object_unref (other);
    fail_unless (counting::held_buffers () > before);
  }
  fail_unless_equals_int (counting::held_buffers (), before);
}
GST_END_TEST;

GST_START_TEST (test_filter_waits_for_nothing_but_its_depth)
{
  Filter filter (small_video, 64);
  GstBuffer *first = gst_harness_push_and_pull (filter.harness, Filter::make_frame (0));
  gst_buffer_unref (first);
  GstOpenCLCounts counts;
  unsigned finishes = counting::count (counting::FINISH);
  for (guint seed = 0; seed < 30; seed++)
    fail_unless_equals_int (
        gst_harness_push (filter.harness, Filter::make_frame (seed)), GST_FLOW_OK);
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (filter.element), &counts);
  fail_unless_equals_int (counting::count (counting::FINISH), finishes);
  fail_unless_equals_uint64 (counts.host_waits, 0);
  fail_unless_equals_uint64 (counts.throttled, 0);
  fail_unless_equals_uint64 (counts.launches, 31);
  fail_unless_equals_uint64 (counts.uploads, 31);
  fail_unless_equals_uint64 (counts.upload_bytes, 31 * small_size);
  fail_unless_equals_uint64 (counts.downloads, 0);
}
GST_END_TEST;

/* --- failures --- */

static void
assert_device_failure_becomes_one_error (guint depth)
{
  Filter filter (small_video, depth);
  Gate gate (filter.context ());
  guint pushed = 0;
  GstFlowReturn flow = GST_FLOW_OK;

  filter.check_frame (1);
  behaviour.instead_of_event = gate.event;
  gst_harness_push (filter.harness, Filter::make_frame (2));
  gate.let_fail ();
  /* The frames behind it fail too. */
  while (flow == GST_FLOW_OK && pushed < 20) {
    flow = gst_harness_push (filter.harness, Filter::make_frame (3));
    pushed++;
  }
  fail_unless_equals_int (flow, GST_FLOW_ERROR);
  fail_unless (pushed <= depth);
  behaviour.instead_of_event = nullptr;
  gst_harness_push_event (filter.harness, gst_event_new_eos ());
  gst_element_set_state (filter.element, GST_STATE_READY);
  assert_one_error_with (filter, {"frame"});

  filter.restart (small_video);
  while (GstBuffer *left = gst_harness_try_pull (filter.harness))
    gst_buffer_unref (left);
  filter.check_frame (4);
  fail_unless_equals_int (filter.take_errors ().size (), 0);
}

GST_START_TEST (test_filter_reports_a_failure_on_the_device_within_depth_1)
{
  assert_device_failure_becomes_one_error (1);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_a_failure_on_the_device_within_depth_4)
{
  assert_device_failure_becomes_one_error (4);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_many_failures_on_the_device_once)
{
  Filter filter (small_video, 6);
  Gate gate (filter.context ());

  behaviour.instead_of_event = gate.event;
  for (int i = 0; i < 6; i++)
    gst_harness_push (filter.harness, Filter::make_frame (2));
  gate.let_fail ();
  fail_unless_equals_int (
      gst_harness_push (filter.harness, Filter::make_frame (3)), GST_FLOW_ERROR);
  behaviour.instead_of_event = nullptr;
  gst_harness_push_event (filter.harness, gst_event_new_eos ());
  gst_element_set_state (filter.element, GST_STATE_NULL);
  assert_one_error_with (filter, {"frame"});
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_a_failure_of_the_last_frame_at_eos)
{
  Filter filter (small_video, 6);
  Gate gate (filter.context ());

  behaviour.instead_of_event = gate.event;
  gst_harness_push (filter.harness, Filter::make_frame (2));
  gate.let_fail ();
  gst_harness_push_event (filter.harness, gst_event_new_eos ());
  assert_one_error_with (filter, {"frame"});
}
GST_END_TEST;

GST_START_TEST (test_filter_names_both_sizes_of_a_short_frame)
{
  Filter video (small_video), other ("application/x-test,bytes=120");
  int good_frames = 0;

  for (Filter *filter : {&video, &other}) {
    for (gsize size : {gsize (0), gsize (1), small_size - 1}) {
      GstBuffer *frame = size ? Filter::make_frame (1, size) : gst_buffer_new ();
      fail_unless_equals_int (gst_harness_push (filter->harness, frame), GST_FLOW_ERROR);
      std::string got = std::to_string (size) + " bytes";
      assert_one_error_with (*filter, {got.c_str (), "120"});
      /* The same again is the same failure; a good frame ends it. */
      gst_harness_push (filter->harness, Filter::make_frame (1, 3));
      fail_unless_equals_int (filter->take_errors ().size (), 0);
      fail_unless_equals_int (behaviour.frames, good_frames);
      filter->check_frame (++good_frames);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_names_the_size_of_a_short_frame_on_the_device)
{
  Filter filter (small_device_video);
  GstBuffer *frame = as_device_buffer (filter.context (), pattern (119, 1));
  fail_unless_equals_int (gst_harness_push (filter.harness, frame), GST_FLOW_ERROR);
  assert_one_error_with (filter, {"119", "120"});
  filter.restart (small_device_video);
  GstBuffer *output = gst_harness_push_and_pull (
      filter.harness, as_device_buffer (filter.context (), pattern (small_size, 2)));
  Filter::assert_flipped (output, 2);
  gst_buffer_unref (output);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_what_transform_says_once)
{
  Filter filter (small_video);
  behaviour.transform_fails = true;
  fail_unless_equals_int (
      gst_harness_push (filter.harness, Filter::make_frame (1)), GST_FLOW_ERROR);
  behaviour.transform_fails = false;
  assert_one_error_with (filter, {"does not want to"});
  filter.restart (small_video);
  filter.check_frame (2);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_a_launch_that_is_refused)
{
  Filter filter (small_video);
  counting::let_fail (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  fail_unless_equals_int (
      gst_harness_push (filter.harness, Filter::make_frame (1)), GST_FLOW_ERROR);
  assert_one_error_with (filter, {"clEnqueueNDRangeKernel", "CL_OUT_OF_RESOURCES"});
  filter.restart (small_video);
  filter.check_frame (2);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_a_device_without_room)
{
  for (unsigned n : {1u, 2u}) { /* the output, the copy of the input */
    Filter filter (small_video);
    counting::let_fail (counting::CREATE_BUFFER, n, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    fail_unless_equals_int (
        gst_harness_push (filter.harness, Filter::make_frame (1)), GST_FLOW_ERROR);
    assert_one_error_with (filter, {"120 bytes"});
    filter.restart (small_video);
    filter.check_frame (2);
  }
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_caps_that_the_subclass_refuses)
{
  Filter filter (nullptr);
  behaviour.set_formats_fails = true;
  gst_harness_set_src_caps_str (filter.harness, small_video);
  assert_one_error_with (filter, {"width is 3, expected 4"});
  behaviour.set_formats_fails = false;
  filter.restart (small_video);
  filter.check_frame (2);
}
GST_END_TEST;

GST_START_TEST (test_filter_reports_a_build_that_fails_with_its_log)
{
  GstElement *element =
      GST_ELEMENT (gst_object_ref_sink (g_object_new (TEST_TYPE_FLIP, nullptr)));
  GstBus *bus = gst_bus_new ();
  GError *error = nullptr;
  gchar *debug = nullptr;

  gst_element_set_bus (element, bus);
  behaviour.open_fails = true;
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != nullptr);
  gst_message_parse_error (message, &error, &debug);
  fail_unless (strchr (error->message, '\n') == nullptr, "%s", error->message);
  fail_unless (strstr (error->message, "CL_BUILD_PROGRAM_FAILURE"), "%s", error->message);
  fail_unless (strstr (debug, "error:"), "%s", debug); /* the compiler's own words */
  fail_unless (strstr (debug, "'first'"), "%s", debug);
  gst_message_unref (message);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR) == nullptr);
  fail_unless_equals_int (behaviour.closed, 1);

  behaviour.open_fails = false;
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
  fail_unless_equals_int (behaviour.closed, 2);
  g_error_free (error);
  g_free (debug);
  gst_element_set_bus (element, nullptr);
  gst_object_unref (bus);
  gst_object_unref (element);
}
GST_END_TEST;

/* --- the context --- */

GST_START_TEST (test_filter_uses_the_application_s_context_in_every_run)
{
  GstOpenCLContext *device = new_context ();
  GstOpenCLContext *first = new_other_context (device),
                   *second = new_other_context (device);
  GstContext *first_given = gst_opencl_context_to_gst_context (first);
  GstContext *second_given = gst_opencl_context_to_gst_context (second);
  GstElement *element =
      GST_ELEMENT (gst_object_ref_sink (g_object_new (TEST_TYPE_FLIP, nullptr)));
  auto *filter = GST_OPENCL_FILTER (element);

  gst_element_set_context (element, first_given);
  for (int run = 0; run < 3; run++) {
    gst_element_set_state (element, GST_STATE_PAUSED);
    fail_unless (gst_opencl_filter_get_context (filter) == first);
    gst_element_set_state (element, run ? GST_STATE_NULL : GST_STATE_READY);
  }
  /* Another one between two runs is the one of the next; the last one counts. */
  gst_element_set_context (element, second_given);
  gst_element_set_context (element, first_given);
  gst_element_set_context (element, second_given);
  gst_element_set_state (element, GST_STATE_PAUSED);
  fail_unless (gst_opencl_filter_get_context (filter) == second);
  /* While running it keeps what it has. */
  gst_element_set_context (element, first_given);
  fail_unless (gst_opencl_filter_get_context (filter) == second);

  gst_element_set_state (element, GST_STATE_NULL);
  fail_unless (gst_opencl_filter_get_context (filter) == nullptr);
  gst_object_unref (element);
  gst_context_unref (first_given);
  gst_context_unref (second_given);
  gst_object_unref (first);
  gst_object_unref (second);
  gst_object_unref (device);
}
GST_END_TEST;

GST_START_TEST (test_filter_computes_right_after_its_context_was_replaced)
{
  Filter filter (small_video);
  filter.check_frame (1);
  GstOpenCLContext *other = new_other_context (filter.context ());
  GstContext *given = gst_opencl_context_to_gst_context (other);
  gst_element_set_state (filter.element, GST_STATE_READY);
  gst_element_set_context (filter.element, given);
  filter.restart (small_video);
  fail_unless (filter.context () == other);
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, Filter::make_frame (2));
  fail_unless (
      gst_opencl_memory_get_context (gst_buffer_peek_memory (output, 0)) == other);
  Filter::assert_flipped (output, 2);
  gst_buffer_unref (output);
  gst_context_unref (given);
  gst_object_unref (other);
}
GST_END_TEST;

GST_START_TEST (test_filter_without_a_device_gives_one_error_that_says_so)
{
  GstElement *element =
      GST_ELEMENT (gst_object_ref_sink (g_object_new (TEST_TYPE_FLIP, nullptr)));
  GstBus *bus = gst_bus_new ();
  GError *error = nullptr;

  counting::hide_platforms (true);
  gst_element_set_bus (element, bus);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  gst_message_parse_error (message, &error, nullptr);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (strstr (error->message, "No OpenCL device"), "%s", error->message);
  gst_message_unref (message);
  g_error_free (error);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR) == nullptr);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, nullptr);
  gst_object_unref (bus);
  gst_object_unref (element);
}
GST_END_TEST;

/* --- allocation --- */

static GstQuery *
ask_allocation (Filter &filter, const gchar *text)
{
  GstCaps *caps = gst_caps_from_string (text);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  fail_unless (gst_pad_peer_query (filter.harness->srcpad, query));
  gst_caps_unref (caps);
  return query;
}

GST_START_TEST (test_filter_offers_upstream_the_memory_of_the_caps)
{
  struct {
    const gchar *caps;
    bool host;
  } offers[] = {{small_video, true}, {small_device_video, false},
      {"application/x-test,bytes=120", true}};

  for (auto &offer : offers) {
    Filter filter (offer.caps);
    GstQuery *query = ask_allocation (filter, offer.caps);
    GstBufferPool *pool;
    guint size, min, max;

    fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 1);
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
    fail_unless (GST_IS_OPENCL_BUFFER_POOL (pool));
    fail_unless_equals_int (
        gst_opencl_buffer_pool_is_host (GST_OPENCL_BUFFER_POOL (pool)),
        offer.host && !shares_memory ());
    fail_unless (gst_opencl_buffer_pool_get_context (GST_OPENCL_BUFFER_POOL (pool))
                 == filter.context ());
    fail_unless_equals_int (size, 120);
    fail_unless_equals_int (max, 0);
    fail_unless (
        gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr));

    /* Its buffers are taken without a copy on the host; on a device that works in the
     * host's memory, without any. */
    GstBuffer *buffer = nullptr;
    fail_unless (gst_buffer_pool_set_active (pool, TRUE));
    gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr);
    Bytes bytes = pattern (small_size, 9);
    gst_buffer_fill (buffer, 0, bytes.data (), small_size);
    const unsigned writes = counting::count (counting::ENQUEUE_WRITE);
    GstBuffer *output = gst_harness_push_and_pull (filter.harness, buffer);
    if (shares_memory ())
      fail_unless_equals_int (counting::count (counting::ENQUEUE_WRITE), writes);
    Filter::assert_flipped (output, 9);
    gst_buffer_unref (output);
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    gst_query_unref (query);
  }
}
GST_END_TEST;

namespace {
/* Answers the ALLOCATION query that the filter sends downstream. */
struct Offer {
  GstBufferPool *pool;
};
} // namespace

static GstPadProbeReturn
answer_allocation (GstPad *pad, GstPadProbeInfo *info, gpointer offer)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (
      query, static_cast<Offer *> (offer)->pool, small_size, 3, 0);
  return GST_PAD_PROBE_HANDLED;
}

static GstBufferPool *
pool_of_first_output (Filter &filter, GstBufferPool *offered)
{
  Offer offer{offered};
  GstPad *peer = gst_pad_get_peer (filter.harness->sinkpad);
  gst_object_unref (peer);
  gst_pad_add_probe (filter.harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      answer_allocation, &offer, nullptr);
  gst_harness_set_src_caps_str (filter.harness, small_video);
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, Filter::make_frame (1));
  Filter::assert_flipped (output, 1);
  GstBufferPool *pool = output->pool;
  gst_buffer_unref (output);
  return pool;
}

GST_START_TEST (test_filter_writes_into_the_pool_that_downstream_offers)
{
  Filter filter (nullptr);
  GstCaps *caps = gst_caps_from_string (small_device_video);
  GstBufferPool *pool =
      gst_opencl_buffer_pool_new_configured (filter.context (), FALSE, caps, small_size);
  fail_unless (pool_of_first_output (filter, pool) == pool);
  gst_object_unref (pool);
  gst_caps_unref (caps);
}
GST_END_TEST;

GST_START_TEST (test_filter_leaves_pools_alone_that_are_not_its_memory)
{
  Filter system (nullptr), pinned (nullptr), foreign (nullptr);
  GstCaps *caps = gst_caps_from_string (small_device_video);
  GstOpenCLContext *other = new_other_context (system.context ());
  GstBufferPool *pools[] = {gst_buffer_pool_new (),
      gst_opencl_buffer_pool_new_configured (pinned.context (), TRUE, caps, small_size),
      gst_opencl_buffer_pool_new_configured (other, FALSE, caps, small_size)};
  Filter *filters[] = {&system, &pinned, &foreign};

  for (int i = 0; i < 3; i++) {
    fail_unless (pool_of_first_output (*filters[i], pools[i]) != pools[i]);
    gst_object_unref (pools[i]);
  }
  gst_object_unref (other);
  gst_caps_unref (caps);
}
GST_END_TEST;

GST_START_TEST (test_filter_in_passthrough_leaves_buffers_as_they_are)
{
  behaviour.passthrough = true;
  Filter filter (small_device_video);
  GstBuffer *input = as_device_buffer (filter.context (), pattern (small_size, 1));
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, gst_buffer_ref (input));
  fail_unless (output == input);
  fail_unless_equals_int (behaviour.frames, 0);
  gst_buffer_unref (output);
  gst_buffer_unref (input);
  behaviour.passthrough = false;
}
GST_END_TEST;

GST_START_TEST (test_filter_passes_timestamps_flags_and_qos)
{
  Filter filter (small_video);
  GstBuffer *input = Filter::make_frame (1);
  GST_BUFFER_PTS (input) = 42 * GST_MSECOND;
  GST_BUFFER_DURATION (input) = 7 * GST_MSECOND;
  GST_BUFFER_FLAG_SET (input, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER);
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, input);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (output), 42 * GST_MSECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (output), 7 * GST_MSECOND);
  fail_unless (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_MARKER));
  gst_buffer_unref (output);
  fail_unless (gst_base_transform_is_qos_enabled (GST_BASE_TRANSFORM (filter.element)));
}
GST_END_TEST;

GST_START_TEST (test_launch_rounds_up_to_whole_groups)
{
  GstOpenCLContext *context = new_context ();
  cl_kernel kernel = make_kernel (context,
      "__kernel void sizes (__global ulong *out) {"
      "  for (uint d = 0; d < 3; d++) { out[d] = get_global_size (d);"
      "    out[3 + d] = get_local_size (d); } }",
      "sizes");
  GstMemory *memory = gst_opencl_memory_new (context, 48, nullptr);
  cl_mem handle = gst_opencl_memory_get_handle (memory);
  struct {
    gsize global[3], local[3];
    gulong expected[6];
  } cases[] = {
      {{1, 1, 1}, {4, 2, 1}, {4, 2, 1, 4, 2, 1}},
      {{8, 2, 3}, {4, 2, 1}, {8, 2, 3, 4, 2, 1}},
      {{9, 3, 5}, {4, 2, 2}, {12, 4, 6, 4, 2, 2}},
  };
  for (auto &one : cases) {
    GstMapInfo map;
    gst_memory_map (memory, &map, GstMapFlags (GST_MAP_WRITE | GST_MAP_OPENCL));
    clSetKernelArg (kernel, 0, sizeof handle, &handle);
    fail_unless (gst_opencl_launch (
        queue_of (context), kernel, 3, one.global, one.local, nullptr));
    gst_memory_unmap (memory, &map);
    Bytes bytes = read_memory (memory);
    fail_unless (memcmp (bytes.data (), one.expected, 48) == 0);
  }
  GError *error = nullptr;
  gsize global[1] = {4}, huge[1] = {1 << 30};
  fail_if (gst_opencl_launch (queue_of (context), kernel, 1, global, huge, &error));
  fail_unless (strstr (error->message, "clEnqueueNDRangeKernel"));
  g_error_free (error);
  gst_memory_unref (memory);
  clReleaseKernel (kernel);
  gst_object_unref (context);
}
GST_END_TEST;

/* --- a tee --- */

static void
assert_branch (GstElement *pipeline, const gchar *name, guint frames, guint8 value)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
  for (guint seed = 0; seed < frames; seed++) {
    GstSample *sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
    fail_unless (sample != nullptr);
    Filter::assert_flipped (gst_sample_get_buffer (sample), seed, value);
    gst_sample_unref (sample);
  }
  gst_object_unref (sink);
}

GST_START_TEST (test_tee_gives_the_same_bytes_to_the_cpu_and_to_the_device)
{
  const guint n_frames = 300;
  gst_element_register (nullptr, "testflip", GST_RANK_NONE, TEST_TYPE_FLIP);
  GstElement *pipeline = gst_parse_launch (
      "appsrc name=src format=time block=true max-buffers=4 ! testflip value=90 ! "
      "tee name=t  t. ! queue ! appsink name=cpu sync=false max-buffers=4 "
      "t. ! queue ! testflip value=165 ! appsink name=device sync=false max-buffers=4 "
      "t. ! queue ! identity signal-handoffs=true ! appsink name=copy sync=false "
      "max-buffers=4",
      nullptr);
  GstElement *src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  GstCaps *caps = gst_caps_from_string (small_video);

  gst_app_src_set_caps (GST_APP_SRC (src), caps);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  std::thread branches[] = {std::thread (assert_branch, pipeline, "cpu", n_frames, 90),
      std::thread (assert_branch, pipeline, "device", n_frames, 255),
      std::thread (assert_branch, pipeline, "copy", n_frames, 90)};
  for (guint seed = 0; seed < n_frames; seed++) {
    GstBuffer *frame = Filter::make_frame (seed);
    GST_BUFFER_PTS (frame) = seed * GST_MSECOND;
    fail_unless_equals_int (
        gst_app_src_push_buffer (GST_APP_SRC (src), frame), GST_FLOW_OK);
  }
  for (std::thread &branch : branches)
    branch.join ();
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_caps_unref (caps);
  gst_object_unref (src);
  gst_object_unref (pipeline);
}
GST_END_TEST;

static void
reset_behaviour ()
{
  behaviour.open_fails = behaviour.set_formats_fails = false;
  behaviour.transform_fails = behaviour.passthrough = false;
  behaviour.gate = behaviour.instead_of_event = nullptr;
  behaviour.opened = behaviour.closed = behaviour.formats = behaviour.frames = 0;
}

static void
show_platforms ()
{
  counting::hide_platforms (false);
}

/* --- none, several, in place --- */

/* What `outputs` says of every input, as flips of bits; in place where it is to be. */
#define TEST_TYPE_COUNTED (test_counted_get_type ())
G_DECLARE_FINAL_TYPE (TestCounted, test_counted, TEST, COUNTED, GstOpenCLFilter)

struct _TestCounted {
  GstOpenCLFilter parent;
  guint inputs;
};

G_DEFINE_FINAL_TYPE (TestCounted, test_counted, GST_TYPE_OPENCL_FILTER)

static GstStaticPadTemplate counted_sink = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_CAPS));
static guint (*outputs_of) (guint input);

static gboolean
enqueue_flip (const GstOpenCLFrame *from, const GstOpenCLFrame *to, guint8 value,
    cl_command_queue queue, GstOpenCLContext *context, GError **error)
{
  cl_kernel kernel = make_kernel (context, flip_source, "flip");
  cl_ulong starts[2] = {from->offset[0], to->offset[0]};
  cl_uint strides[2] = {cl_uint (from->stride[0]), cl_uint (to->stride[0])};
  cl_uint width = 20, height = 6;
  gsize global[2] = {width, height};
  const void *values[] = {&from->data, &starts[0], &strides[0], &to->data, &starts[1],
      &strides[1], &width, &height, &value};
  const gsize sizes[] = {sizeof (cl_mem), 8, 4, sizeof (cl_mem), 8, 4, 4, 4, 1};
  for (int i = 0; i < 9; i++)
    fail_unless_equals_int (clSetKernelArg (kernel, i, sizes[i], values[i]), CL_SUCCESS);
  gboolean launched = gst_opencl_launch (queue, kernel, 2, global, nullptr, error);
  clReleaseKernel (kernel);
  return launched;
}

static gboolean
test_counted_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  *outputs = outputs_of (TEST_COUNTED (filter)->inputs++);
  return TRUE;
}

static gboolean
test_counted_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  return enqueue_flip (input, output,
      guint8 (1 + gst_opencl_filter_get_output_index (filter)), queue,
      gst_opencl_filter_get_context (filter), error);
}

static void
test_counted_class_init (TestCountedClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  gst_element_class_add_static_pad_template (element_class, &counted_sink);
  gst_element_class_add_static_pad_template (element_class, &flip_src);
  gst_element_class_set_static_metadata (
      element_class, "Counted", "Filter", "None, one or several", "test");
  GST_OPENCL_FILTER_CLASS (klass)->submit = test_counted_submit;
  GST_OPENCL_FILTER_CLASS (klass)->transform = test_counted_transform;
}

static void
test_counted_init (TestCounted *self)
{
}

#define TEST_TYPE_PLACED (test_placed_get_type ())
G_DECLARE_FINAL_TYPE (TestPlaced, test_placed, TEST, PLACED, GstOpenCLFilter)
struct _TestPlaced {
  GstOpenCLFilter parent;
};
G_DEFINE_FINAL_TYPE (TestPlaced, test_placed, GST_TYPE_OPENCL_FILTER)

static gboolean
test_placed_transform_in_place (GstOpenCLFilter *filter, const GstOpenCLFrame *frame,
    cl_command_queue queue, GError **error)
{
  return enqueue_flip (
      frame, frame, 255, queue, gst_opencl_filter_get_context (filter), error);
}

static void
test_placed_class_init (TestPlacedClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  gst_element_class_add_static_pad_template (element_class, &counted_sink);
  gst_element_class_add_static_pad_template (element_class, &flip_src);
  gst_element_class_set_static_metadata (
      element_class, "Placed", "Filter", "In place", "test");
  GST_OPENCL_FILTER_CLASS (klass)->transform_in_place = test_placed_transform_in_place;
}

static void
test_placed_init (TestPlaced *self)
{
}

namespace {
GstHarness *
harness_of (GType type)
{
  auto *element = GST_ELEMENT (gst_object_ref_sink (g_object_new (type, nullptr)));
  GstHarness *harness = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_src_caps_str (harness, small_device_video);
  return harness;
}

GstOpenCLContext *
context_of (GstHarness *harness)
{
  return gst_opencl_filter_get_context (GST_OPENCL_FILTER (harness->element));
}

GstBuffer *
timed_frame (GstHarness *harness, guint n)
{
  GstBuffer *buffer = as_device_buffer (context_of (harness), pattern (small_size, n));
  GST_BUFFER_PTS (buffer) = n * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}
} // namespace

GST_START_TEST (test_filter_may_drop_every_second_frame)
{
  outputs_of = [] (guint input) { return input % 2; };
  GstHarness *harness = harness_of (TEST_TYPE_COUNTED);
  for (guint n = 0; n < 6; n++)
    fail_unless_equals_int (
        gst_harness_push (harness, timed_frame (harness, n)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_buffers_received (harness), 3);
  for (guint n = 1; n < 6; n += 2) {
    GstBuffer *output = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (output), n * 40 * GST_MSECOND);
    Filter::assert_flipped (output, n, 1);
    gst_buffer_unref (output);
  }
  gst_harness_teardown (harness);
}
GST_END_TEST

GST_START_TEST (test_filter_may_give_two_frames_for_one)
{
  outputs_of = [] (guint) { return 2u; };
  GstHarness *harness = harness_of (TEST_TYPE_COUNTED);
  for (guint n = 0; n < 3; n++)
    fail_unless_equals_int (
        gst_harness_push (harness, timed_frame (harness, n)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_buffers_received (harness), 6);
  for (guint n = 0; n < 6; n++) {
    GstBuffer *output = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (output), n * 20 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (output), 20 * GST_MSECOND);
    Filter::assert_flipped (output, n / 2, 1 + n % 2);
    gst_buffer_unref (output);
  }
  gst_harness_teardown (harness);
}
GST_END_TEST

GST_START_TEST (test_filter_copies_an_input_from_elsewhere_once_for_all_its_outputs)
{
  outputs_of = [] (guint) { return 2u; };
  GstHarness *harness = harness_of (TEST_TYPE_COUNTED);
  const Bytes bytes = pattern (small_size, 3);
  GstBuffer *input = gst_buffer_new_memdup (bytes.data (), bytes.size ());
  fail_unless_equals_int (gst_harness_push (harness, input), GST_FLOW_OK);
  for (guint n = 0; n < 2; n++) {
    GstBuffer *output = gst_harness_pull (harness);
    Filter::assert_flipped (output, 3, 1 + n);
    gst_buffer_unref (output);
  }
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (harness->element), &counts);
  fail_unless_equals_uint64 (counts.uploads, 1);
  gst_harness_teardown (harness);
}
GST_END_TEST

GST_START_TEST (test_filter_in_place_copies_only_what_somebody_else_holds)
{
  GstHarness *harness = harness_of (TEST_TYPE_PLACED);
  GstBuffer *input = timed_frame (harness, 1);
  GstMemory *memory = gst_buffer_peek_memory (input, 0);
  GstBuffer *output = gst_harness_push_and_pull (harness, input);
  fail_unless (gst_buffer_peek_memory (output, 0) == memory);
  Filter::assert_flipped (output, 1);
  gst_buffer_unref (output);

  GstBuffer *held = timed_frame (harness, 2);
  output = gst_harness_push_and_pull (harness, gst_buffer_ref (held));
  fail_unless (gst_buffer_peek_memory (output, 0) != gst_buffer_peek_memory (held, 0));
  Filter::assert_flipped (output, 2);
  Filter::assert_flipped (held, 2, 0);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (output), GST_BUFFER_PTS (held));
  gst_buffer_unref (output);
  gst_buffer_unref (held);
  gst_harness_teardown (harness);
}
GST_END_TEST

/* --- metas --- */

GST_START_TEST (test_filter_keeps_the_metas_that_still_hold)
{
  Filter filter (small_device_video);
  GstBuffer *input = as_device_buffer (filter.context (), pattern (small_size, 1));
  gst_buffer_add_video_region_of_interest_meta (input, "face", 3, 1, 5, 4);
  const guint8 caption[] = {1, 2, 3};
  gst_buffer_add_video_caption_meta (
      input, GST_VIDEO_CAPTION_TYPE_CEA708_RAW, caption, sizeof caption);
  GstBuffer *output = gst_harness_push_and_pull (filter.harness, input);
  auto *region = reinterpret_cast<GstVideoRegionOfInterestMeta *> (
      gst_buffer_get_meta (output, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless (region != nullptr);
  fail_unless (region->x == 3 && region->y == 1 && region->w == 5 && region->h == 4);
  fail_unless (gst_buffer_get_meta (output, GST_VIDEO_CAPTION_META_API_TYPE) != nullptr);
  gst_buffer_unref (output);
}
GST_END_TEST

/* --- memory --- */

GST_START_TEST (test_a_frame_takes_one_buffer_of_each_link)
{
  outputs_of = [] (guint) { return 1u; };
  GstHarness *harness = harness_of (TEST_TYPE_COUNTED);
  /* One after the other they are the same. */
  for (guint n = 0; n < 5; n++) {
    GstBuffer *input = timed_frame (harness, n);
    unsigned made = counting::count (counting::CREATE_BUFFER);
    gst_buffer_unref (gst_harness_push_and_pull (harness, input));
    fail_unless_equals_int (
        counting::count (counting::CREATE_BUFFER), made + (n == 0 ? 1 : 0));
  }
  gst_harness_teardown (harness);
}
GST_END_TEST

/* --- which context, and one that is lost --- */

GST_START_TEST (test_linked_filters_keep_the_contexts_that_each_was_given)
{
  GstOpenCLContext *device = new_context ();
  GstOpenCLContext *given[] = {new_other_context (device), new_other_context (device)};
  GstElement *pipeline = gst_pipeline_new (nullptr);
  GstElement *filters[3];
  for (GstElement *&filter : filters) {
    filter = GST_ELEMENT (g_object_new (TEST_TYPE_FLIP, nullptr));
    gst_bin_add (GST_BIN (pipeline), filter);
  }
  fail_unless (gst_element_link_many (filters[0], filters[1], filters[2], nullptr));
  for (int i = 0; i < 2; i++) {
    GstContext *context = gst_opencl_context_to_gst_context (given[i]);
    gst_element_set_context (filters[2 * i], context);
    gst_context_unref (context);
  }
  for (int run = 0; run < 3; run++) {
    for (int i = 2; i >= 0; i--)
      gst_element_set_state (filters[i], GST_STATE_PAUSED);
    auto context_of = [&] (int i) {
      return gst_opencl_filter_get_context (GST_OPENCL_FILTER (filters[i]));
    };
    fail_unless (context_of (0) == given[0], "run %d", run);
    fail_unless (context_of (2) == given[1], "run %d", run);
    /* Between them, downstream's. */
    fail_unless (context_of (1) == given[1], "run %d", run);
    for (GstElement *filter : filters)
      gst_element_set_state (filter, run ? GST_STATE_NULL : GST_STATE_READY);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  gst_object_unref (given[0]);
  gst_object_unref (given[1]);
  gst_object_unref (device);
}
GST_END_TEST

GST_START_TEST (test_filter_works_again_after_its_device_was_lost)
{
  Filter filter (small_video);
  GstOpenCLContext *before = GST_OPENCL_CONTEXT (gst_object_ref (filter.context ()));
  filter.check_frame (1);
  counting::lose_device (true);
  fail_unless_equals_int (
      gst_harness_push (filter.harness, Filter::make_frame (2)), GST_FLOW_ERROR);
  fail_unless_equals_int (filter.take_errors ().size (), 1);

  /* Others hold the old one still, and offer it. */
  GstContext *offered = gst_opencl_context_to_gst_context (before);
  gst_element_set_state (filter.element, GST_STATE_READY);
  gst_element_set_context (filter.element, offered);
  gst_context_unref (offered);
  filter.restart (small_video);
  fail_unless (filter.context () != before);
  filter.check_frame (3);
  fail_unless_equals_int (filter.take_errors ().size (), 0);
  GstOpenCLContext *registered = new_context ();
  fail_unless (registered == filter.context ());
  gst_object_unref (registered);
  gst_object_unref (before);
  counting::lose_device (false);
}
GST_END_TEST

/* A call that fails on a device that works on says nothing of the device. */
GST_START_TEST (test_filter_keeps_its_context_after_a_launch_without_resources)
{
  Filter filter (small_video);
  GstOpenCLContext *before = GST_OPENCL_CONTEXT (gst_object_ref (filter.context ()));
  counting::let_fail (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  fail_unless_equals_int (
      gst_harness_push (filter.harness, Filter::make_frame (1)), GST_FLOW_ERROR);
  filter.take_errors ();
  filter.restart (small_video);
  fail_unless (filter.context () == before);
  filter.check_frame (2);
  gst_object_unref (before);
}
GST_END_TEST

static Suite *
filter_suite ()
{
  Suite *suite = suite_create ("filter");
  TCase *values = tcase_create ("values"), *ahead = tcase_create ("run-ahead"),
        *failures = tcase_create ("failures"), *context = tcase_create ("context"),
        *allocation = tcase_create ("allocation");
  for (TCase *all : {values, ahead, failures, context, allocation}) {
    suite_add_tcase (suite, all);
    tcase_add_checked_fixture (all, reset_behaviour, show_platforms);
  }

  tcase_add_test (values, test_filter_may_drop_every_second_frame);
  tcase_add_test (values, test_filter_may_give_two_frames_for_one);
  tcase_add_test (
      values, test_filter_copies_an_input_from_elsewhere_once_for_all_its_outputs);
  tcase_add_test (values, test_filter_in_place_copies_only_what_somebody_else_holds);
  tcase_add_test (values, test_filter_keeps_the_metas_that_still_hold);
  tcase_add_test (values, test_a_frame_takes_one_buffer_of_each_link);
  tcase_add_test (values, test_linked_filters_keep_the_contexts_that_each_was_given);
  tcase_add_test (values, test_filter_works_again_after_its_device_was_lost);
  tcase_add_test (values, test_filter_keeps_its_context_after_a_launch_without_resources);
  tcase_add_test (values, test_filter_gives_device_memory_of_system_memory);
  tcase_add_test (values, test_filter_takes_device_memory_as_it_is);
  tcase_add_test (values, test_filter_copies_device_memory_of_another_cl_context);
  tcase_add_test (values, test_filter_joins_the_memories_of_a_buffer);
  tcase_add_test (values, test_filter_honours_strides_and_offsets_of_its_input);
  tcase_add_test (values, test_filter_takes_a_frame_with_padding_behind_it);
  tcase_add_test (values, test_filter_takes_caps_that_are_no_video);
  tcase_add_test (values, test_launch_rounds_up_to_whole_groups);
  tcase_add_test (values, test_tee_gives_the_same_bytes_to_the_cpu_and_to_the_device);

  tcase_add_test (ahead, test_filter_of_depth_1_waits_for_each_frame);
  tcase_add_test (ahead, test_filter_of_depth_2_runs_2_frames_ahead);
  tcase_add_test (ahead, test_filter_of_depth_5_runs_5_frames_ahead);
  tcase_add_test (ahead, test_filter_pushes_before_the_device_has_finished);
  tcase_add_test (ahead, test_filter_finishes_all_frames_before_eos);
  tcase_add_test (ahead, test_filter_finishes_all_frames_before_new_caps);
  tcase_add_test (ahead, test_filter_finishes_all_frames_in_a_flush);
  tcase_add_test (ahead, test_filter_finishes_all_frames_before_it_closes);
  tcase_add_test (ahead, test_filter_depth_may_change_while_playing);
  tcase_add_test (ahead, test_filter_uploads_a_frame_while_the_device_works_on_the_last);
  tcase_add_test (ahead, test_filter_in_steady_state_allocates_and_builds_nothing);
  tcase_add_test (values, test_filter_computes_right_when_frames_grow_and_shrink);
  tcase_add_test (allocation, test_filter_leaves_no_buffer_behind);
  tcase_add_test (ahead, test_filter_waits_for_nothing_but_its_depth);

  tcase_add_test (failures, test_filter_reports_a_failure_on_the_device_within_depth_1);
  tcase_add_test (failures, test_filter_reports_a_failure_on_the_device_within_depth_4);
  tcase_add_test (failures, test_filter_reports_many_failures_on_the_device_once);
  tcase_add_test (failures, test_filter_reports_a_failure_of_the_last_frame_at_eos);
  tcase_add_test (failures, test_filter_names_both_sizes_of_a_short_frame);
  tcase_add_test (failures, test_filter_names_the_size_of_a_short_frame_on_the_device);
  tcase_add_test (failures, test_filter_reports_what_transform_says_once);
  tcase_add_test (failures, test_filter_reports_a_launch_that_is_refused);
  tcase_add_test (failures, test_filter_reports_a_device_without_room);
  tcase_add_test (failures, test_filter_reports_caps_that_the_subclass_refuses);
  tcase_add_test (failures, test_filter_reports_a_build_that_fails_with_its_log);

  tcase_add_test (context, test_filter_uses_the_application_s_context_in_every_run);
  tcase_add_test (context, test_filter_computes_right_after_its_context_was_replaced);
  tcase_add_test (context, test_filter_without_a_device_gives_one_error_that_says_so);

  tcase_add_test (allocation, test_filter_offers_upstream_the_memory_of_the_caps);
  tcase_add_test (allocation, test_filter_writes_into_the_pool_that_downstream_offers);
  tcase_add_test (allocation, test_filter_leaves_pools_alone_that_are_not_its_memory);
  tcase_add_test (allocation, test_filter_in_passthrough_leaves_buffers_as_they_are);
  tcase_add_test (allocation, test_filter_passes_timestamps_flags_and_qos);
  return suite;
}

GST_CHECK_MAIN (filter);
