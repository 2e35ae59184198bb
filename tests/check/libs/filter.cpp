/* Tests of the base class of filters on a device, with a filter that flips bits
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

using namespace check;

static const bool alone = fork_each_test ();

/* --- the filter --- */

/* Settings of all filters of a test, and counts of their calls */
namespace {
struct Behaviour {
  std::atomic<bool> open_fails{false};
  std::atomic<bool> set_formats_fails{false};
  std::atomic<bool> transform_fails{false};
  std::atomic<bool> passthrough{false};
  std::atomic<cl_event> gate{nullptr};             /* enqueued before each frame */
  std::atomic<cl_event> instead_of_event{nullptr}; /* returned as a frame's event */
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

static void
describe (GstElementClass *klass, const char *name, GstStaticPadTemplate *sink)
{
  gst_element_class_add_static_pad_template (klass, sink);
  gst_element_class_add_static_pad_template (klass, &flip_src);
  gst_element_class_set_static_metadata (klass, name, "Filter", "Flips bits", "test");
}

static gboolean
test_flip_open (GstOpenCLFilter *filter, GError **error)
{
  behaviour.opened++;
  TEST_FLIP (filter)->kernel = nullptr;
  OwnedCL<cl_program> program = gst_opencl_context_get_program (
      gst_opencl_filter_get_context (filter),
      behaviour.open_fails ? "first line\nwhat is this" : flip_source, nullptr, error);
  if (!program)
    return FALSE;
  cl_int code;
  TEST_FLIP (filter)->kernel = clCreateKernel (program, "flip", &code);
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

/* XORs a frame of the filter's caps with `value`. */
static gboolean
launch_flip (GstOpenCLFilter *filter, cl_kernel kernel, const GstOpenCLFrame *from,
    const GstOpenCLFrame *to, guint8 value, cl_command_queue queue, GError **error)
{
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  cl_uint width = info ? info->width : to->size, height = info ? info->height : 1;
  cl_ulong starts[2] = {from->offset[0], to->offset[0]};
  cl_uint strides[2] = {cl_uint (from->stride[0]), cl_uint (to->stride[0])};
  gsize global[2] = {width, height}, local[2] = {16, 1};
  const void *values[] = {&from->data, &starts[0], &strides[0], &to->data, &starts[1],
      &strides[1], &width, &height, &value};
  const gsize sizes[] = {sizeof (cl_mem), 8, 4, sizeof (cl_mem), 8, 4, 4, 4, 1};
  for (int i = 0; i < 9; i++)
    expect_equal (clSetKernelArg (kernel, i, sizes[i], values[i]), CL_SUCCESS);
  return gst_opencl_launch (queue, kernel, 2, global, local, error);
}

static gboolean
test_flip_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  TestFlip *self = TEST_FLIP (filter);
  behaviour.frames++;
  if (cl_event gate = behaviour.gate)
    expect_equal (clEnqueueBarrierWithWaitList (queue, 1, &gate, nullptr), CL_SUCCESS);
  if (!launch_flip (filter, self->kernel, input, output, self->value, queue, error))
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

/* Keeps the caps. Output is in device memory, input in any memory. */
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
      g_param_spec_uint ("value", "Value", "Bits to flip", 0, 255, 255,
          GParamFlags (G_PARAM_WRITABLE | GST_PARAM_CONTROLLABLE)));
  describe (element_class, "Flip", &flip_sink);
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

/* --- helpers --- */

namespace {
const gchar *small_video = "video/x-raw,format=GRAY8,width=20,height=6,framerate=30/1";
const gchar *small_device_video =
    "video/x-raw(memory:OpenCLMemory),format=GRAY8,width=20,height=6,framerate=30/1";
const gsize small_size = 20 * 6;

class Filter : public Harness {
public:
  explicit Filter (const std::string &caps = "", guint depth = 4)
      : Harness (
          GST_ELEMENT (g_object_new (TEST_TYPE_FLIP, "async-depth", depth, nullptr)),
          caps)
  {
  }

  explicit Filter (GType type)
      : Harness (GST_ELEMENT (g_object_new (type, nullptr)), small_device_video)
  {
  }

  GstOpenCLContext *context ()
  {
    return gst_opencl_filter_get_context (GST_OPENCL_FILTER (element ()));
  }
  GstFlowReturn push_frame (guint seed, gsize size = small_size)
  {
    return push (pattern_buffer (size, seed));
  }
  GstBuffer *device_frame (guint seed, gsize size = small_size)
  {
    return device_buffer (context (), pattern (size, seed));
  }
  void check_frame (guint seed)
  {
    assert_flipped (pass (pattern_buffer (small_size, seed)), seed);
  }

  static void assert_flipped (GstBuffer *buffer, guint seed, guint8 value = 255)
  {
    assert_same (read_buffer (buffer), flipped (pattern (small_size, seed), value),
        "flipped frame");
  }
  static Bytes flipped (Bytes bytes, guint8 value = 255)
  {
    for (guint8 &byte : bytes)
      byte ^= value;
    return bytes;
  }
};

GstElement *
new_flip ()
{
  return GST_ELEMENT (g_object_new (TEST_TYPE_FLIP, nullptr));
}

/* Fails unless `work` blocks until `gate` opens. */
template <typename Work>
void
assert_waits_for (Gate &gate, Work work)
{
  Worker worker (work);
  bool waited = worker.stays_blocked ();
  behaviour.gate = nullptr;
  gate.open ();
  fail_unless (waited);
}

/* Pushes `frames` frames, which stay in flight until `gate` opens. */
void
push_gated (Filter &filter, Gate &gate, int frames)
{
  behaviour.gate = gate.event;
  for (int i = 0; i < frames; i++)
    expect_equal (filter.push_frame (i), GST_FLOW_OK);
  behaviour.gate = nullptr;
}
} // namespace

/* --- property values --- */

TEST (test_filter_gives_device_memory_of_system_memory)
{
  Filter filter (small_video);
  for (guint seed = 0; seed < 10; seed++) {
    Owned<GstBuffer> output = filter.pass (pattern_buffer (small_size, seed));
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (output, 0)));
    Filter::assert_flipped (output, seed);
  }
  expect_equal (behaviour.opened, 1);
  expect_equal (behaviour.formats, 1);
  fail_unless (filter.messages ().is_clean ());
}

/* The base class supports controllers; the filter has no code for them. */
TEST (test_filter_follows_a_controller)
{
  Filter filter (small_video);
  GstControlSource *source = gst_interpolation_control_source_new ();
  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, nullptr);
  auto *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);
  gst_timed_value_control_source_set (timed, 0, 10);
  gst_timed_value_control_source_set (timed, GST_SECOND, 30);
  gst_object_add_control_binding (GST_OBJECT (filter.element ()),
      gst_direct_control_binding_new_absolute (
          GST_OBJECT (filter.element ()), "value", source));
  gst_object_unref (source);

  for (guint half = 0; half < 3; half++) {
    GstBuffer *input = pattern_buffer (small_size, half);
    GST_BUFFER_PTS (input) = half * GST_SECOND / 2;
    Filter::assert_flipped (filter.pass (input), half, guint8 (10 + 10 * half));
  }
}

TEST (test_filter_takes_device_memory_as_it_is)
{
  Filter filter (small_device_video);
  for (guint seed = 0; seed < 3; seed++) {
    GstBuffer *input = filter.device_frame (seed);
    GstMemory *memory = gst_buffer_peek_memory (input, 0);
    fail_unless (gst_opencl_memory_begin (
        memory, queue_of (filter.context ()), GST_MAP_READ, nullptr));
    const unsigned writes = counting::count (counting::ENQUEUE_WRITE);
    Owned<GstBuffer> output = filter.pass (input);
    expect_equal (counting::count (counting::ENQUEUE_WRITE), writes);
    Filter::assert_flipped (output, seed);
  }
}

TEST (test_filter_copies_device_memory_of_another_cl_context)
{
  Filter filter (small_device_video);
  Owned<GstOpenCLContext> other = new_other_context (filter.context ());

  for (guint seed = 0; seed < 5; seed++) {
    Owned<GstBuffer> output =
        filter.pass (device_buffer (other, pattern (small_size, seed)));
    fail_unless (gst_opencl_memory_get_context (gst_buffer_peek_memory (output, 0))
                 == filter.context ());
    Filter::assert_flipped (output, seed);
  }
}

TEST (test_filter_joins_the_memories_of_a_buffer)
{
  Filter filter (small_device_video);
  Bytes bytes = pattern (small_size, 3);
  GstBuffer *input =
      device_buffer (filter.context (), Bytes (bytes.begin (), bytes.begin () + 33));
  GstBuffer *rest =
      device_buffer (filter.context (), Bytes (bytes.begin () + 33, bytes.end ()));
  Filter::assert_flipped (filter.pass (gst_buffer_append (input, rest)), 3);
}

TEST (test_filter_honours_strides_and_offsets_of_its_input)
{
  for (bool on_device : {false, true}) {
    Filter filter (on_device ? small_device_video : small_video);
    Bytes padded = pattern (1000, 1), tight = pattern (small_size, 5);
    gsize offset[4] = {77};
    gint stride[4] = {51};
    for (int row = 0; row < 6; row++)
      std::copy_n (tight.begin () + row * 20, 20, padded.begin () + 77 + row * 51);
    GstBuffer *input =
        on_device ? device_buffer (filter.context (), padded) : buffer_of (padded);
    gst_buffer_add_video_meta_full (input, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
    Filter::assert_flipped (filter.pass (input), 5);
    filter.check_frame (6); /* without the meta the caps count again */
  }
}

TEST (test_filter_takes_caps_that_are_no_video)
{
  Filter filter ("application/x-test,bytes=120");
  filter.check_frame (3);
  filter.set_caps ("application/x-test(memory:OpenCLMemory),bytes=120");
  filter.check_frame (4);
}

/* --- frames in flight --- */

TEST_ROWS (test_filter_runs_ahead_by_its_depth, {1, 2, 5})
{
  gst_element_register (nullptr, "testflip", GST_RANK_NONE, TEST_TYPE_FLIP);
  Pipeline pipeline (text ("videotestsrc num-buffers=20 ! %s ! "
                           "identity drop-allocation=true ! testflip name=f "
                           "async-depth=%d ! fakesink sync=false",
      small_video, row));
  Owned<GstOpenCLContext> context = new_context ();
  Gate gate (context);

  behaviour.gate = gate.event;
  pipeline.start ();
  fail_unless (soon ([&] { return behaviour.frames >= row; }));
  g_usleep (200000);
  /* None of them can have finished. */
  expect_equal (behaviour.frames, row);
  behaviour.gate = nullptr;
  gate.open ();
  pipeline.play_to_eos ();
  expect_equal (behaviour.frames, 20);
}

TEST (test_filter_pushes_before_the_device_has_finished)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  expect_equal (gst_harness_buffers_received (filter), 3);
  gate.open ();
  for (guint i = 0; i < 3; i++)
    Filter::assert_flipped (filter.pull (), i);
}

/* Events and state changes that may follow frames */
static const struct {
  const char *label;
  void (*follow) (Filter &filter);
} followers[] = {
    {"eos", [] (Filter &filter) { filter.send (gst_event_new_eos ()); }},
    {"new caps",
        [] (Filter &filter) {
          filter.send (gst_event_new_caps (
              caps_of ("video/x-raw,format=GRAY8,width=40,height=3")));
          expect_equal (behaviour.formats, 2);
        }},
    {"flush", [] (Filter &filter) { filter.flush (); }},
    {"the end of the element",
        [] (Filter &filter) {
          gst_element_set_state (filter.element (), GST_STATE_READY);
          expect_equal (behaviour.closed, 1);
        }},
};

TEST_ROWS (test_filter_finishes_all_frames_before, followers)
{
  Filter filter (small_video, 3);
  Gate gate (filter.context ());
  push_gated (filter, gate, 3);
  assert_waits_for (gate, [&] { row.follow (filter); });
}

TEST (test_filter_depth_may_change_while_playing)
{
  Filter filter (small_video, 5);
  Gate gate (filter.context ());
  push_gated (filter, gate, 4);
  g_object_set (filter.element (), "async-depth", 2, nullptr);
  assert_waits_for (gate, [&] { filter.push_frame (0); });
  expect_equal (behaviour.frames, 5);
}

TEST (test_filter_uploads_a_frame_while_the_device_works_on_the_last)
{
  Filter filter (small_video, 4);
  Gate gate (filter.context ());
  OwnedCL<cl_event> uploaded;

  filter.check_frame (1);
  push_gated (filter, gate, 1);
  filter.push_frame (2);
  cl_command_queue queue = queue_of (filter.context (), GST_OPENCL_QUEUE_UPLOAD);
  clEnqueueMarkerWithWaitList (queue, 0, nullptr, uploaded.out ());
  clFlush (queue);
  fail_unless (soon ([&] { return status_of (uploaded) == CL_COMPLETE; }));
}

TEST (test_filter_in_steady_state_allocates_and_builds_nothing)
{
  Filter filter (small_video);
  unsigned allocations = 0;
  for (guint seed = 0; seed < 60; seed++) {
    filter.check_frame (seed);
    if (seed == 5)
      allocations = counting::allocations ();
  }
  expect_equal (counting::allocations (), allocations);
}

TEST_ROWS (
    test_filter_computes_right_when_frames_grow_and_shrink, {"", "(memory:OpenCLMemory)"})
{
  Filter filter ("", 3);
  for (int bytes : {100, 4000, 7, 100, 4001, 4000}) {
    const std::string caps = text ("application/x-test%s,bytes=%d", row, bytes);
    filter.set_caps (caps);
    for (guint seed = 0; seed < 4; seed++)
      assert_same (read_buffer (filter.pass (pattern_buffer (bytes, seed))),
          Filter::flipped (pattern (bytes, seed)), caps);
  }
}

TEST (test_filter_leaves_no_buffer_behind)
{
  int before = counting::held_buffers ();
  for (bool fails : {false, true}) {
    Filter filter (small_video);
    Owned<GstOpenCLContext> other = new_other_context (filter.context ());
    filter.check_frame (1);
    filter.pass (device_buffer (other, pattern (small_size, 2)));
    behaviour.transform_fails = fails;
    filter.push_frame (3);
    filter.push_frame (4, 3);
    behaviour.transform_fails = false;
    fail_unless (counting::held_buffers () > before);
  }
  expect_equal (counting::held_buffers (), before);
}

TEST (test_filter_waits_for_nothing_but_its_depth)
{
  Filter filter (small_video, 64);
  filter.pass (pattern_buffer (small_size, 0));
  unsigned finishes = counting::count (counting::FINISH);
  for (guint seed = 0; seed < 30; seed++)
    expect_equal (filter.push_frame (seed), GST_FLOW_OK);
  const GstOpenCLCounts counts = counts_of (filter.element ());
  expect_equal (counting::count (counting::FINISH), finishes);
  expect_equal (counts.host_waits, 0);
  expect_equal (counts.throttled, 0);
  expect_equal (counts.launches, 31);
  expect_equal (counts.uploads, 31);
  expect_equal (counts.upload_bytes, 31 * small_size);
  expect_equal (counts.downloads, 0);
}

/* --- failures --- */

TEST_ROWS (test_filter_reports_a_failure_on_the_device_within_its_depth, {1u, 4u})
{
  Filter filter (small_video, row);
  Gate gate (filter.context ());
  guint pushed = 0;
  GstFlowReturn flow = GST_FLOW_OK;

  filter.check_frame (1);
  behaviour.instead_of_event = gate.event;
  filter.push_frame (2);
  gate.fail_call ();
  /* Later frames fail too. */
  while (flow == GST_FLOW_OK && pushed < 20) {
    flow = filter.push_frame (3);
    pushed++;
  }
  expect_equal (flow, GST_FLOW_ERROR);
  fail_unless (pushed <= row);
  behaviour.instead_of_event = nullptr;
  filter.send (gst_event_new_eos ());
  gst_element_set_state (filter.element (), GST_STATE_READY);
  filter.messages ().expect_one_error ({"frame"});

  filter.restart (small_video);
  while (Owned<GstBuffer> left = gst_harness_try_pull (filter))
    ;
  filter.check_frame (4);
  fail_unless (filter.messages ().is_clean ());
}

TEST (test_filter_reports_a_failure_of_the_last_frame_at_eos)
{
  Filter filter (small_video, 6);
  Gate gate (filter.context ());

  behaviour.instead_of_event = gate.event;
  filter.push_frame (2);
  gate.fail_call ();
  filter.send (gst_event_new_eos ());
  filter.messages ().expect_one_error ({"frame"});
}

/* Expects that the frame is dropped with a WARNING that names both sizes. */
static void
expect_dropped (Filter &filter, GstBuffer *frame)
{
  const std::string size = std::to_string (gst_buffer_get_size (frame)) + " bytes";
  expect_equal (filter.push (frame), GST_FLOW_OK);
  const Outcome messages = filter.messages ();
  fail_unless (messages.errors.empty () && !gst_harness_try_pull (filter));
  expect_equal (messages.warnings.size (), 1u);
  expect_contains (messages.warnings[0], {size, "120", "dropping"});
}

TEST (test_filter_drops_a_short_frame)
{
  Filter video (small_video), other ("application/x-test,bytes=120"),
      device (small_device_video);

  expect_dropped (device, device.device_frame (1, 119));
  for (Filter *filter : {&video, &other, &device}) {
    const int frames = behaviour.frames;
    for (gsize size : {gsize (0), gsize (1), small_size - 1})
      expect_dropped (*filter, size ? pattern_buffer (size, 1) : gst_buffer_new ());
    expect_equal (behaviour.frames, frames);
    for (bool is_first : {true, false}) {
      Owned<GstBuffer> output = filter->pass (pattern_buffer (small_size, 2));
      Filter::assert_flipped (output, 2);
      expect_equal (bool (GST_BUFFER_IS_DISCONT (output)), is_first);
    }
  }
}

TEST (test_filter_reports_the_tenth_short_frame_in_a_row)
{
  Filter filter (small_video);

  for (int time = 0; time < 2; time++) {
    filter.check_frame (1);
    for (int frame = 0; frame < 9; frame++)
      expect_dropped (filter, pattern_buffer (119, 1));
  }
  expect_equal (filter.push_frame (1, 119), GST_FLOW_ERROR);
  filter.messages ().expect_one_error ({"119 bytes", "120"});
  filter.restart (small_video);
  expect_dropped (filter, pattern_buffer (119, 1));
  filter.check_frame (2);
}

TEST (test_filter_reports_what_transform_says_once)
{
  Filter filter (small_video);
  behaviour.transform_fails = true;
  expect_equal (filter.push_frame (1), GST_FLOW_ERROR);
  behaviour.transform_fails = false;
  filter.messages ().expect_one_error ({"does not want to"});
  filter.restart (small_video);
  filter.check_frame (2);
}

/* A flush or READY ends this state. */
TEST (test_filter_sends_nothing_after_a_device_error)
{
  Filter filter (small_video);
  filter.check_frame (1);
  counting::fail_call (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  expect_equal (filter.push_frame (2), GST_FLOW_ERROR);
  filter.messages ().expect_one_error ({"clEnqueueNDRangeKernel"});
  for (int n = 0; n < 3; n++)
    expect_equal (filter.push_frame (3), GST_FLOW_ERROR);
  fail_if (gst_harness_try_pull (filter));
  fail_unless (filter.messages ().is_clean ());
  filter.flush ();
  filter.start_segment ();
  filter.check_frame (4);
  fail_unless (filter.messages ().is_clean ());
}

TEST (test_filter_reports_a_device_without_room)
{
  for (unsigned n : {1u, 2u}) { /* the output, the copy of the input */
    Filter filter (small_video);
    counting::fail_call (counting::CREATE_BUFFER, n, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    expect_equal (filter.push_frame (1), GST_FLOW_ERROR);
    filter.messages ().expect_one_error ({"120 bytes"});
    filter.restart (small_video);
    filter.check_frame (2);
  }
}

TEST (test_filter_reports_caps_that_the_subclass_refuses)
{
  Filter filter;
  behaviour.set_formats_fails = true;
  filter.set_caps (small_video);
  filter.messages ().expect_one_error ({"width is 3, expected 4"});
  behaviour.set_formats_fails = false;
  filter.restart (small_video);
  filter.check_frame (2);
}

TEST (test_filter_reports_a_build_that_fails_with_its_log)
{
  LoneElement element (new_flip ());

  behaviour.open_fails = true;
  fail_if (element.reaches_state (GST_STATE_PAUSED));
  Outcome messages = element.messages ();
  messages.expect_one_error ({"CL_BUILD_PROGRAM_FAILURE"});
  fail_unless (messages.errors[0].find ('\n') == std::string::npos);
  expect_contains (
      messages.details[0], {"error:", "'first'"}); /* the compiler's output */
  expect_equal (behaviour.closed, 1);

  behaviour.open_fails = false;
  fail_unless (element.reaches_state (GST_STATE_PAUSED));
  gst_element_set_state (element, GST_STATE_NULL);
  expect_equal (behaviour.closed, 2);
}

/* --- the context --- */

static GstOpenCLContext *
context_of (GstElement *filter)
{
  return gst_opencl_filter_get_context (GST_OPENCL_FILTER (filter));
}

TEST (test_filter_uses_the_application_s_context_in_every_run)
{
  Owned<GstOpenCLContext> device = new_context ();
  Owned<GstOpenCLContext> first = new_other_context (device);
  Owned<GstOpenCLContext> second = new_other_context (device);
  LoneElement element (new_flip ());

  set_context (element, first);
  for (int run = 0; run < 3; run++) {
    fail_unless (element.reaches_state (GST_STATE_PAUSED));
    fail_unless (context_of (element) == first);
    gst_element_set_state (element, run ? GST_STATE_NULL : GST_STATE_READY);
  }
  /* Contexts set between two runs apply to the next run; the last one counts. */
  for (const auto *context : {&second, &first, &second})
    set_context (element, *context);
  fail_unless (element.reaches_state (GST_STATE_PAUSED));
  fail_unless (context_of (element) == second);
  /* A running element keeps its context. */
  set_context (element, first);
  fail_unless (context_of (element) == second);

  gst_element_set_state (element, GST_STATE_NULL);
  fail_unless (context_of (element) == nullptr);
}

TEST (test_filter_computes_right_after_its_context_was_replaced)
{
  Filter filter (small_video);
  filter.check_frame (1);
  Owned<GstOpenCLContext> other = new_other_context (filter.context ());
  gst_element_set_state (filter.element (), GST_STATE_READY);
  set_context (filter.element (), other);
  filter.restart (small_video);
  fail_unless (filter.context () == other);
  Owned<GstBuffer> output = filter.pass (pattern_buffer (small_size, 2));
  fail_unless (
      gst_opencl_memory_get_context (gst_buffer_peek_memory (output, 0)) == other);
  Filter::assert_flipped (output, 2);
}

TEST (test_filter_without_a_device_gives_one_error_that_says_so)
{
  LoneElement element (new_flip ());

  counting::hide_platforms (true);
  fail_if (element.reaches_state (GST_STATE_PAUSED));
  Owned<GstMessage> message = gst_bus_pop_filtered (element.bus, GST_MESSAGE_ERROR);
  Owned<GError> error;
  gst_message_parse_error (message, error.out (), nullptr);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  expect_contains (error->message, {"No OpenCL device"});
  fail_unless (element.messages ().is_clean ());
}

/* --- allocation --- */

static const struct {
  const gchar *label; /* the caps */
  bool host;
} offers[] = {{small_video, true}, {small_device_video, false},
    {"application/x-test,bytes=120", true}};

TEST_ROWS (test_filter_offers_upstream_the_memory_of_the_caps, offers)
{
  Filter filter (row.label);
  const Allocation offered = query_allocation (filter, row.label);
  auto *pool = reinterpret_cast<GstOpenCLBufferPool *> (offered.pool.operator->());

  expect_equal (gst_query_get_n_allocation_pools (offered.query), 1);
  fail_unless (GST_IS_OPENCL_BUFFER_POOL (pool));
  expect_equal (gst_opencl_buffer_pool_is_host (pool), row.host && !shares_memory ());
  fail_unless (gst_opencl_buffer_pool_get_context (pool) == filter.context ());
  expect_equal (offered.size, 120);
  expect_equal (offered.max, 0);
  fail_unless (
      gst_query_find_allocation_meta (offered.query, GST_VIDEO_META_API_TYPE, nullptr));

  /* Its buffers are uploaded without a copy on the host. A device that shares the host's
   * memory uploads nothing. */
  GstBuffer *buffer = filled_buffer (offered.pool, pattern (small_size, 9)).give ();
  const unsigned writes = counting::count (counting::ENQUEUE_WRITE);
  Owned<GstBuffer> output = filter.pass (buffer);
  if (shares_memory ())
    expect_equal (counting::count (counting::ENQUEUE_WRITE), writes);
  Filter::assert_flipped (output, 9);
}

static GstBufferPool *
pool_of_first_output (Filter &filter, GstBufferPool *offered)
{
  offer_pool (filter, offered, small_size);
  filter.set_caps (small_video);
  Owned<GstBuffer> output = filter.pass (pattern_buffer (small_size, 1));
  Filter::assert_flipped (output, 1);
  return output->pool;
}

TEST (test_filter_writes_into_the_pool_that_downstream_offers)
{
  Filter filter;
  Owned<GstBufferPool> pool = gst_opencl_buffer_pool_new_configured (
      filter.context (), FALSE, caps_of (small_device_video), small_size);
  fail_unless (pool_of_first_output (filter, pool) == pool);
}

TEST (test_filter_leaves_pools_alone_that_are_not_its_memory)
{
  Filter system, pinned, foreign;
  Owned<GstCaps> caps = caps_of (small_device_video);
  Owned<GstOpenCLContext> other = new_other_context (system.context ());
  Owned<GstBufferPool> pools[] = {gst_buffer_pool_new (),
      gst_opencl_buffer_pool_new_configured (pinned.context (), TRUE, caps, small_size),
      gst_opencl_buffer_pool_new_configured (other, FALSE, caps, small_size)};
  Filter *filters[] = {&system, &pinned, &foreign};

  for (int i = 0; i < 3; i++)
    fail_unless (pool_of_first_output (*filters[i], pools[i]) != pools[i]);
}

TEST (test_filter_in_passthrough_leaves_buffers_as_they_are)
{
  behaviour.passthrough = true;
  Filter filter (small_device_video);
  Owned<GstBuffer> input = filter.device_frame (1);
  fail_unless (filter.pass (gst_buffer_ref (input)) == input);
  expect_equal (behaviour.frames, 0);
}

TEST (test_filter_passes_timestamps_flags_and_qos)
{
  Filter filter (small_video);
  GstBuffer *input = pattern_buffer (small_size, 1);
  GST_BUFFER_PTS (input) = 42 * GST_MSECOND;
  GST_BUFFER_DURATION (input) = 7 * GST_MSECOND;
  GST_BUFFER_FLAG_SET (input, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER);
  Owned<GstBuffer> output = filter.pass (input);
  expect_equal (GST_BUFFER_PTS (output), 42 * GST_MSECOND);
  expect_equal (GST_BUFFER_DURATION (output), 7 * GST_MSECOND);
  fail_unless (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_MARKER));
  fail_unless (
      gst_base_transform_is_qos_enabled (GST_BASE_TRANSFORM (filter.element ())));
}

TEST (test_launch_rounds_up_to_whole_groups)
{
  Owned<GstOpenCLContext> context = new_context ();
  OwnedCL<cl_kernel> kernel = make_kernel (context,
      "__kernel void sizes (__global ulong *out) {"
      "  for (uint d = 0; d < 3; d++) { out[d] = get_global_size (d);"
      "    out[3 + d] = get_local_size (d); } }",
      "sizes");
  Owned<GstMemory> memory = gst_opencl_memory_new (context, 48, nullptr);
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
        application_queue_of (context), kernel, 3, one.global, one.local, nullptr));
    gst_memory_unmap (memory, &map);
    Bytes bytes = read_memory (memory);
    fail_unless (memcmp (bytes.data (), one.expected, 48) == 0);
  }
  Owned<GError> error;
  gsize global[1] = {4}, huge[1] = {1 << 30};
  fail_if (gst_opencl_launch (queue_of (context), kernel, 1, global, huge, error.out ()));
  expect_contains (error->message, {"clEnqueueNDRangeKernel"});
}

/* --- a tee --- */

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

static const bool resets_each_test =
    check::around_each_test (reset_behaviour, show_platforms);

/* --- several outputs or none, in place --- */

/* Filter with `outputs_of` outputs for each input, each the input XORed; in place if
 * requested */
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
launch_new_flip (GstOpenCLFilter *filter, const GstOpenCLFrame *from,
    const GstOpenCLFrame *to, guint8 value, cl_command_queue queue, GError **error)
{
  OwnedCL<cl_kernel> kernel =
      make_kernel (gst_opencl_filter_get_context (filter), flip_source, "flip");
  return launch_flip (filter, kernel, from, to, value, queue, error);
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
  return launch_new_flip (filter, input, output,
      guint8 (1 + gst_opencl_filter_get_output_index (filter)), queue, error);
}

static void
test_counted_class_init (TestCountedClass *klass)
{
  describe (GST_ELEMENT_CLASS (klass), "Counted", &counted_sink);
  GST_OPENCL_FILTER_CLASS (klass)->submit = test_counted_submit;
  GST_OPENCL_FILTER_CLASS (klass)->transform = test_counted_transform;
}

static void
test_counted_init (TestCounted *self)
{
}

static GstBuffer *
timed_frame (Filter &filter, guint n)
{
  GstBuffer *buffer = filter.device_frame (n);
  GST_BUFFER_PTS (buffer) = n * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

TEST (test_filter_may_drop_every_second_frame)
{
  outputs_of = [] (guint input) { return input % 2; };
  Filter filter (TEST_TYPE_COUNTED);
  for (guint n = 0; n < 6; n++)
    expect_equal (filter.push (timed_frame (filter, n)), GST_FLOW_OK);
  expect_equal (gst_harness_buffers_received (filter), 3);
  for (guint n = 1; n < 6; n += 2) {
    Owned<GstBuffer> output = filter.pull ();
    expect_equal (GST_BUFFER_PTS (output), n * 40 * GST_MSECOND);
    Filter::assert_flipped (output, n, 1);
  }
}

TEST (test_filter_may_give_two_frames_for_one)
{
  outputs_of = [] (guint) { return 2u; };
  Filter filter (TEST_TYPE_COUNTED);
  for (guint n = 0; n < 3; n++)
    expect_equal (filter.push (timed_frame (filter, n)), GST_FLOW_OK);
  expect_equal (gst_harness_buffers_received (filter), 6);
  for (guint n = 0; n < 6; n++) {
    Owned<GstBuffer> output = filter.pull ();
    expect_equal (GST_BUFFER_PTS (output), n * 20 * GST_MSECOND);
    expect_equal (GST_BUFFER_DURATION (output), 20 * GST_MSECOND);
    Filter::assert_flipped (output, n / 2, 1 + n % 2);
  }
}

TEST (test_filter_copies_an_input_from_elsewhere_once_for_all_its_outputs)
{
  outputs_of = [] (guint) { return 2u; };
  Filter filter (TEST_TYPE_COUNTED);
  expect_equal (filter.push_frame (3), GST_FLOW_OK);
  for (guint n = 0; n < 2; n++)
    Filter::assert_flipped (filter.pull (), 3, 1 + n);
  expect_equal (counts_of (filter.element ()).uploads, 1);
}

/* --- metas --- */

TEST (test_filter_keeps_the_metas_that_still_hold)
{
  Filter filter (small_device_video);
  GstBuffer *input = filter.device_frame (1);
  gst_buffer_add_video_region_of_interest_meta (input, "face", 3, 1, 5, 4);
  const guint8 caption[] = {1, 2, 3};
  gst_buffer_add_video_caption_meta (
      input, GST_VIDEO_CAPTION_TYPE_CEA708_RAW, caption, sizeof caption);
  Owned<GstBuffer> output = filter.pass (input);
  auto *region = reinterpret_cast<GstVideoRegionOfInterestMeta *> (
      gst_buffer_get_meta (output, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless (region != nullptr);
  fail_unless (region->x == 3 && region->y == 1 && region->w == 5 && region->h == 4);
  fail_unless (gst_buffer_get_meta (output, GST_VIDEO_CAPTION_META_API_TYPE) != nullptr);
}

/* --- memory --- */

/* --- choice and loss of a context --- */

TEST (test_linked_filters_keep_the_contexts_that_each_was_given)
{
  gst_element_register (nullptr, "testflip", GST_RANK_NONE, TEST_TYPE_FLIP);
  Pipeline pipeline ("testflip name=0 ! testflip name=1 ! testflip name=2");
  Owned<GstOpenCLContext> device = new_context ();
  Owned<GstOpenCLContext> first = new_other_context (device);
  Owned<GstOpenCLContext> last = new_other_context (device);
  set_context (pipeline["0"], first);
  set_context (pipeline["2"], last);
  for (int run = 0; run < 3; run++) {
    for (const char *name : {"2", "1", "0"})
      gst_element_set_state (pipeline[name], GST_STATE_PAUSED);
    fail_unless (context_of (pipeline["0"]) == first, "run %d", run);
    fail_unless (context_of (pipeline["2"]) == last, "run %d", run);
    /* The element between them takes the context of its downstream neighbour. */
    fail_unless (context_of (pipeline["1"]) == last, "run %d", run);
    for (const char *name : {"0", "1", "2"})
      gst_element_set_state (pipeline[name], run ? GST_STATE_NULL : GST_STATE_READY);
  }
}

TEST (test_filter_works_again_after_its_device_was_lost)
{
  Filter filter (small_video);
  Owned<GstOpenCLContext> before = hold (filter.context ());
  filter.check_frame (1);
  counting::lose_device (true);
  expect_equal (filter.push_frame (2), GST_FLOW_ERROR);
  filter.messages ().expect_one_error ();

  /* Other objects still hold the old context and offer it. */
  gst_element_set_state (filter.element (), GST_STATE_READY);
  set_context (filter.element (), before);
  filter.restart (small_video);
  fail_unless (filter.context () != before);
  filter.check_frame (3);
  fail_unless (filter.messages ().is_clean ());
  Owned<GstOpenCLContext> registered = new_context ();
  fail_unless (registered == filter.context ());
  counting::lose_device (false);
}

/* A failed call on a device that still works does not mean that the device is lost. */
TEST (test_filter_keeps_its_context_after_a_launch_without_resources)
{
  Filter filter (small_video);
  Owned<GstOpenCLContext> before = hold (filter.context ());
  counting::fail_call (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  expect_equal (filter.push_frame (1), GST_FLOW_ERROR);
  filter.messages ();
  filter.restart (small_video);
  fail_unless (filter.context () == before);
  filter.check_frame (2);
}
