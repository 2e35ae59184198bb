/* Tests of uploads of system memory through pinned memory, as on a discrete GPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <gst/video/gstvideometa.h>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
constexpr gsize KiB = 1024, MiB = 1024 * KiB;
constexpr guint blocks = 8; /* of the ring, 4 MiB each */

/* A context decides when it is created whether uploads are staged. */
GstOpenCLContext *
new_staging_context ()
{
  check::set_debug_switch ("stage-uploads", "1");
  return new_context ();
}

/* System memory that reports its release */
struct Source {
  Bytes bytes;
  std::atomic<bool> released{false};

  explicit Source (Bytes contents) : bytes (std::move (contents)) {}

  GstBuffer *wrap ()
  {
    released = false;
    return gst_buffer_new_wrapped_full (GST_MEMORY_FLAG_READONLY, bytes.data (),
        bytes.size (), 0, bytes.size (), this,
        [] (gpointer self) { static_cast<Source *> (self)->released = true; });
  }
};

GstBuffer *
new_destination (GstOpenCLContext *context, gsize size)
{
  GstBuffer *buffer = gst_buffer_new ();
  GError *error = nullptr;
  GstMemory *memory = gst_opencl_memory_new (context, size, &error);
  fail_unless (memory != nullptr, "%s", error ? error->message : "no error");
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

void
upload (GstOpenCLContext *context, GstBuffer *destination, GstBuffer *source,
    const GstVideoInfo *info = nullptr)
{
  OwnedCL<cl_event> event;
  GError *error = nullptr;
  fail_unless (gst_opencl_buffer_copy_async (
                   context, destination, source, info, event.out (), &error),
      "%s", error ? error->message : "no error");
  fail_unless (event != nullptr);
}

/* Returns true if a frame of `size` is released before the device can have read it. */
bool
is_staged (GstOpenCLContext *context, gsize size)
{
  Source source (pattern (size, 1));
  Owned<GstBuffer> buffer = source.wrap (), destination = new_destination (context, size);
  Gate gate (context);
  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  upload (context, destination, buffer);
  buffer = nullptr;
  g_usleep (20000);
  bool released = source.released;
  gate.open ();
  assert_same (read_buffer (destination), source.bytes, "staged or not");
  fail_unless (soon ([&] { return source.released.load (); }));
  destination = nullptr;
  return released;
}

guint64
throttled ()
{
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &counts);
  return counts.throttled;
}

/* Number of copy threads of this process */
int
copy_threads ()
{
  int n = 0;
  GDir *tasks = g_dir_open ("/proc/self/task", 0, nullptr);
  fail_unless (tasks != nullptr);
  while (const gchar *task = g_dir_read_name (tasks)) {
    std::string path = std::string ("/proc/self/task/") + task + "/comm";
    Owned<gchar> name;
    if (g_file_get_contents (path.c_str (), name.out (), nullptr, nullptr))
      n += g_str_has_prefix (name, "opencl-copy") ? 1 : 0;
  }
  g_dir_close (tasks);
  return n;
}

/* The WARNINGs of the log while this exists */
class Warnings {
public:
  Warnings ()
  {
    gst_debug_set_default_threshold (GST_LEVEL_WARNING);
    gst_debug_add_log_function (keep, this, nullptr);
  }
  ~Warnings () { gst_debug_remove_log_function_by_data (this); }
  Warnings (const Warnings &) = delete;

  void expect (const std::string &part) const
  {
    fail_unless (text.find (part) != std::string::npos, "\"%s\" does not have \"%s\"",
        text.c_str (), part.c_str ());
  }

private:
  static void keep (GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *,
      gint, GObject *, GstDebugMessage *message, gpointer self)
  {
    if (level == GST_LEVEL_WARNING)
      static_cast<Warnings *> (self)->text += gst_debug_message_get (message);
  }

  std::string text;
};

const gsize sizes[] = {256 * KiB, 256 * KiB + 1, MiB - 1, 3 * MiB + 5, 4 * MiB,
    4 * MiB + 1, 8 * MiB, 9 * MiB + 4097, 37 * MiB + 3};
} // namespace

TEST (test_staged_upload_has_every_byte_at_every_size)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  for (gsize size : sizes) {
    Source source (pattern (size, guint (size)));
    Owned<GstBuffer> buffer = source.wrap (),
                     destination = new_destination (context, size);
    upload (context, destination, buffer);
    buffer = nullptr;
    fail_unless (source.released);
    assert_same (read_buffer (destination), source.bytes, std::to_string (size).c_str ());
  }
}

TEST (test_staged_upload_takes_parts_of_memories_to_parts_of_memories)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Bytes bytes = pattern (6 * MiB, 3), around (6 * MiB, 0x55);
  for (guint n : {1u, 3u}) {
    Owned<GstBuffer> source = gst_buffer_new ();
    for (guint i = 0; i < n; i++) {
      GstMemory *memory = gst_allocator_alloc (nullptr, 2 * MiB + 100, nullptr);
      write_memory (memory,
          Bytes (bytes.begin () + i * MiB, bytes.begin () + i * MiB + 2 * MiB + 100));
      gst_memory_resize (memory, 33, MiB + 7);
      gst_buffer_append_memory (source, memory);
    }
    Owned<GstBuffer> destination = new_destination (context, around.size ());
    write_memory (gst_buffer_peek_memory (destination, 0), around);
    gst_memory_resize (gst_buffer_peek_memory (destination, 0), 77, 5 * MiB);
    upload (context, destination, source);
    source = nullptr;

    Bytes expected = around;
    for (guint i = 0; i < n; i++)
      std::copy_n (
          bytes.begin () + i * MiB + 33, MiB + 7, expected.begin () + 77 + i * (MiB + 7));
    gst_memory_resize (gst_buffer_peek_memory (destination, 0), -77, around.size ());
    assert_same (read_buffer (destination), expected, n == 1 ? "one" : "three");
  }
}

namespace {
struct Picture {
  GstVideoFormat format;
  int width, height;
  gint extra_in, extra_out; /* bytes of stride */
  bool staged;
};

const Picture pictures[] = {
    {GST_VIDEO_FORMAT_GRAY16_LE, 2048, 1024, 64, 0, true},
    {GST_VIDEO_FORMAT_GRAY16_LE, 2048, 1024, 0, 96, true},
    {GST_VIDEO_FORMAT_GRAY8, 1023, 6007, 9, 17, true},
    {GST_VIDEO_FORMAT_RGBA, 700, 401, 4, 128, true},
    {GST_VIDEO_FORMAT_I420, 1281, 721, 7, 0, true},
    {GST_VIDEO_FORMAT_NV12, 1920, 1081, 11, 5, true},
    {GST_VIDEO_FORMAT_GRAY8, 300, 2000, 301, 0, false},
};

/* Lays out planes one after another, with `extra` bytes after each row and 40 before each
 * plane; returns the total size. */
gsize
place (const GstVideoInfo &info, gint extra, gsize offset[], gint stride[])
{
  gsize end = 0;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
    offset[p] = end + 40;
    stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p) + extra;
    end = offset[p] + stride[p] * GST_VIDEO_INFO_COMP_HEIGHT (&info, p);
  }
  return end;
}

void
add_meta (GstBuffer *buffer, const GstVideoInfo &info, gsize offset[], gint stride[])
{
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (&info), GST_VIDEO_INFO_WIDTH (&info),
      GST_VIDEO_INFO_HEIGHT (&info), GST_VIDEO_INFO_N_PLANES (&info), offset, stride);
}

gsize
line_bytes (const GstVideoInfo &info, guint plane)
{
  return GST_VIDEO_INFO_COMP_WIDTH (&info, plane)
         * GST_VIDEO_INFO_COMP_PSTRIDE (&info, plane);
}

void
check_picture (GstOpenCLContext *context, const Picture &picture)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, picture.format, picture.width, picture.height);
  gsize in_offset[4] = {}, out_offset[4] = {};
  gint in_stride[4] = {}, out_stride[4] = {};
  Source source (pattern (place (info, picture.extra_in, in_offset, in_stride), 5));
  Bytes expected (place (info, picture.extra_out, out_offset, out_stride), 0x55);
  Owned<GstBuffer> buffer = source.wrap ();
  Owned<GstBuffer> destination = new_destination (context, expected.size ());
  add_meta (buffer, info, in_offset, in_stride);
  add_meta (destination, info, out_offset, out_stride);
  write_memory (gst_buffer_peek_memory (destination, 0), expected);

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
    for (int row = 0; row < GST_VIDEO_INFO_COMP_HEIGHT (&info, p); row++)
      std::copy_n (source.bytes.begin () + in_offset[p] + row * in_stride[p],
          line_bytes (info, p), expected.begin () + out_offset[p] + row * out_stride[p]);

  Gate gate (context);
  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  upload (context, destination, buffer, &info);
  buffer = nullptr;
  expect_equal (source.released, picture.staged);
  gate.open ();
  assert_same (read_buffer (destination), expected, GST_VIDEO_INFO_NAME (&info));
  fail_unless (soon ([&] { return source.released.load (); }));
}
} // namespace

/* Also checks that nothing is written between the rows. */
TEST (test_staged_upload_of_video_honours_strides_and_planes)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  for (const Picture &picture : pictures)
    check_picture (context, picture);
}

TEST (test_only_large_frames_are_staged)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  fail_if (is_staged (context, 256 * KiB - 1));
  expect_equal (copy_threads (), 0);
  fail_unless (is_staged (context, 256 * KiB));
  fail_unless (is_staged (context, 4 * MiB));
}

TEST (test_frames_are_staged_where_the_device_does_not_share_host_memory)
{
  check::set_debug_switch ("stage-uploads", nullptr);
  Owned<GstOpenCLContext> context = new_context ();
  expect_equal (
      is_staged (context, 4 * MiB), !gst_opencl_context_shares_host_memory (context));
  context = nullptr;
  check::set_debug_switch ("stage-uploads", "0");
  context = new_context ();
  fail_if (is_staged (context, 4 * MiB));
}

TEST (test_debug_variable_warns_of_unknown_switches_and_values)
{
  const Warnings warnings;
  g_setenv ("GST_OPENCL_DEBUG", "shared=1,stage-uploads=0,share-memory=yes", TRUE);
  Owned<GstOpenCLContext> context = new_context ();
  warnings.expect ("\"shared=1\"");
  warnings.expect ("\"share-memory=yes\"");
  warnings.expect ("share-memory, stage-uploads, convolve-groups");
  fail_if (is_staged (context, 4 * MiB));
}

TEST_ROWS (test_timeout_that_is_no_number_of_seconds_is_a_warning, {"abc", "1s", "-1"})
{
  const Warnings warnings;
  g_setenv ("GST_OPENCL_TIMEOUT", row, TRUE);
  Owned<GstOpenCLContext> context = new_context ();
  Source source (pattern (KiB, 1));
  Owned<GstBuffer> buffer = source.wrap (), destination = new_destination (context, KiB);
  Gate gate (context);
  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  upload (context, destination, buffer);
  std::thread later ([&gate] {
    g_usleep (50000);
    gate.open ();
  });
  assert_same (read_buffer (destination), source.bytes, row);
  later.join ();
  warnings.expect (std::string ("GST_OPENCL_TIMEOUT=") + row);
}

TEST (test_staged_uploads_from_many_threads_do_not_mix)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  std::atomic<guint> wrong{0};
  together (12, [&] (guint t) {
    for (guint i = 0; i < 6; i++) {
      Source source (pattern (256 * KiB + (t * 7 + i) * 91001 % (5 * MiB), t * 100 + i));
      Owned<GstBuffer> buffer = source.wrap ();
      Owned<GstBuffer> destination = new_destination (context, source.bytes.size ());
      upload (context, destination, buffer);
      buffer = nullptr;
      Bytes expected = source.bytes;
      /* The source is no longer in use. */
      std::fill (source.bytes.begin (), source.bytes.end (), 0);
      wrong += read_buffer (destination) != expected ? 1 : 0;
    }
  });
  expect_equal (wrong, 0);
}

TEST (test_staged_uploads_to_one_memory_arrive_in_order)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Source source (Bytes (5 * MiB));
  Owned<GstBuffer> destination = new_destination (context, source.bytes.size ());
  for (guint i = 0; i < 20; i++) {
    source.bytes = pattern (5 * MiB, i);
    Owned<GstBuffer> buffer = source.wrap ();
    upload (context, destination, buffer);
    buffer = nullptr;
    if (i % 4 == 3)
      assert_same (read_buffer (destination), source.bytes, "the last");
  }
}

TEST (test_staged_uploads_run_ahead_by_the_ring_and_are_throttled_then)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Source source (pattern (MiB, 1));
  Owned<GstBuffer> buffer = source.wrap (), destination = new_destination (context, MiB);
  Gate gate (context);
  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  guint64 before = throttled ();
  for (guint i = 0; i < blocks; i++)
    upload (context, destination, buffer);
  expect_equal (throttled (), before);

  std::atomic<bool> done{false}, waited{false};
  std::thread opener ([&] {
    waited = soon ([&] { return throttled () == before + 1; });
    g_usleep (20000);
    waited = waited && !done;
    gate.open ();
  });
  upload (context, destination, buffer); /* the ninth of this thread's ring */
  done = true;
  opener.join ();
  fail_unless (waited);
  assert_same (read_buffer (destination), source.bytes, "ninth");
  expect_equal (throttled (), before + 1);
}

/* A block that the device may still read is not filled, either. */
TEST (test_staged_upload_says_so_when_it_cannot_wait_for_a_block)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Source source (pattern (256 * KiB, 1));
  Owned<GstBuffer> buffer = source.wrap (),
                   destination = new_destination (context, 256 * KiB);
  Owned<GError> error;
  cl_event event = nullptr;
  Gate gate (context);

  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  for (guint i = 0; i < blocks; i++)
    upload (context, destination, buffer);
  counting::fail_always (counting::GET_EVENT_INFO, CL_OUT_OF_RESOURCES);
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_OUT_OF_RESOURCES);
  std::thread opener ([&gate] { /* a failed copy waits for its commands in flight */
    g_usleep (200000);
    gate.open ();
  });
  fail_if (gst_opencl_buffer_copy_async (
      context, destination, buffer, nullptr, &event, error.out ()));
  expect_contains (error->message, {"CL_OUT_OF_RESOURCES"});
  opener.join ();
  counting::fail_always (counting::GET_EVENT_INFO, CL_SUCCESS);
  counting::fail_always (counting::WAIT_FOR_EVENTS, CL_SUCCESS);
  for (guint i = 0; i < 2 * blocks; i++)
    upload (context, destination, buffer);
  assert_same (read_buffer (destination), source.bytes, "again");
}

/* The second frame allocates nothing and starts no thread. */
TEST (test_staged_uploads_allocate_only_at_the_first)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Source source (pattern (9 * MiB, 1));
  Owned<GstBuffer> buffer = source.wrap (),
                   destination = new_destination (context, 9 * MiB);
  expect_equal (copy_threads (), 0);
  unsigned before = counting::count (counting::CREATE_BUFFER);
  upload (context, destination, buffer);
  expect_equal (counting::count (counting::CREATE_BUFFER) - before, int (blocks));
  int threads = std::clamp (int (std::thread::hardware_concurrency ()), 1, 8) - 1;
  /* Threads get their names late. */
  fail_unless (soon ([&] { return copy_threads () == threads; }));

  unsigned allocations = counting::allocations ();
  unsigned maps = counting::count (counting::ENQUEUE_MAP);
  for (guint i = 0; i < 30; i++)
    upload (context, destination, buffer);
  expect_equal (counting::allocations (), allocations);
  expect_equal (counting::count (counting::ENQUEUE_MAP), maps);
  expect_equal (copy_threads (), threads);
  assert_same (read_buffer (destination), source.bytes, "last");
}

TEST (test_staged_uploads_do_with_the_pinned_memory_there_is)
{
  for (int room : {0, 1, 3}) {
    Owned<GstOpenCLContext> context = new_staging_context ();
    Source source (pattern (13 * MiB, 1));
    Owned<GstBuffer> destination = new_destination (context, source.bytes.size ());
    counting::fail_buffers_after (room);
    for (guint i = 0; i < 3; i++) {
      Owned<GstBuffer> buffer = source.wrap ();
      upload (context, destination, buffer);
      buffer = nullptr;
      fail_unless (soon ([&] { return source.released.load (); }));
    }
    counting::fail_buffers_after (-1);
    assert_same (read_buffer (destination), source.bytes, std::to_string (room).c_str ());
  }
}

TEST (test_staged_upload_enqueue_failure_is_reported_and_released)
{
  Owned<GstOpenCLContext> context = new_staging_context ();
  Source source (pattern (11 * MiB, 1));
  Owned<GstBuffer> buffer = source.wrap (),
                   destination = new_destination (context, 11 * MiB);
  for (unsigned piece : {1, 2, 3}) {
    Owned<GError> error;
    cl_event event = nullptr;
    counting::fail_call (counting::ENQUEUE_WRITE, piece, CL_OUT_OF_RESOURCES);
    fail_if (gst_opencl_buffer_copy_async (
        context, destination, buffer, nullptr, &event, error.out ()));
    fail_unless (event == nullptr);
    expect_contains (error->message, {"CL_OUT_OF_RESOURCES"});
    expect_equal (GST_MINI_OBJECT_REFCOUNT_VALUE (buffer), 1);
    for (guint i = 0; i < 2 * blocks; i++)
      upload (context, destination, buffer); /* all blocks are free again */
    assert_same (read_buffer (destination), source.bytes, "again");
  }
}

/* The last reference is dropped during a transfer, also by the context's own thread. */
TEST (test_a_context_takes_its_staging_memory_and_threads_with_it)
{
  for (bool in_own_thread : {false, true}) {
    int held = counting::held_buffers ();
    Owned<GstOpenCLContext> context = new_staging_context ();
    Source source (pattern (6 * MiB, 1));
    Owned<GstBuffer> buffer = source.wrap (),
                     destination = new_destination (context, 6 * MiB);
    OwnedCL<cl_event> event;
    fail_unless (gst_opencl_buffer_copy_async (
        context, destination, buffer, nullptr, event.out (), nullptr));
    buffer = nullptr;
    destination = nullptr;
    if (in_own_thread) {
      Gate gate (context);
      gst_opencl_context_release_after (
          context, gate.event, [] (gpointer last) { gst_object_unref (last); },
          context.operator->());
      gate.open ();
      context.give ();
    } else {
      context = nullptr;
    }
    fail_unless (soon ([&] { return counting::held_buffers () == held; }));
    fail_unless (soon ([&] { return copy_threads () == 0; }));
  }
}
