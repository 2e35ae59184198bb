/* Tests of device memory that is also the host's: nothing is copied
 *
 * Every device can map its buffers, so these tests run on any device.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <gst/video/gstvideometa.h>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
constexpr gsize size = 5000;

/* A context with shared memory, one memory, and a kernel that adds to every byte */
struct Shared {
  GstOpenCLContext *context;
  GstMemory *memory;
  cl_kernel add;

  Shared ()
  {
    check::set_debug_switch ("share-memory", "1");
    context = new_context ();
    fail_unless (gst_opencl_context_shares_host_memory (context));
    memory = new_memory ();
    add = make_kernel (context, change_source, "add");
  }
  ~Shared ()
  {
    if (memory)
      gst_memory_unref (memory);
    clReleaseKernel (add);
    gst_object_unref (context);
  }

  GstMemory *new_memory ()
  {
    GError *error = nullptr;
    GstMemory *made = gst_opencl_memory_new (context, size, &error);
    fail_unless (made != nullptr, "%s", error ? error->message : "no error");
    return made;
  }

  /* Enqueues a kernel that adds `value`, after `gate` if there is one. */
  void add_on_device (guint8 value, Gate *gate = nullptr)
  {
    cl_command_queue queue = queue_of (context);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, nullptr));
    if (gate)
      gate->put_into (queue);
    OwnedCL<cl_event> event = enqueue_change (
        queue, add, gst_opencl_memory_get_handle (memory), 0, size, value);
    clFlush (queue);
    gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
  }

  /* Enqueues a read that lasts until `gate` opens. */
  void read_on_device (Gate &gate, GstOpenCLQueue which = GST_OPENCL_QUEUE_COMPUTE)
  {
    cl_command_queue queue = queue_of (context, which);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READ, nullptr));
    gst_opencl_memory_end (memory, queue, GST_MAP_READ, gate.event);
    clFlush (queue);
  }
};

unsigned
commands_of_maps ()
{
  return counting::count (counting::ENQUEUE_MAP)
         + counting::count (counting::ENQUEUE_UNMAP);
}

unsigned
copies ()
{
  return counting::count (counting::ENQUEUE_READ)
         + counting::count (counting::ENQUEUE_WRITE);
}

GstOpenCLCounts
application_counts ()
{
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &counts);
  return counts;
}

Bytes
added (Bytes bytes, guint8 value)
{
  for (guint8 &byte : bytes)
    byte += value;
  return bytes;
}

/* Returns true if `work`, in a thread of its own, blocks until `gate` opens. */
template <typename Work>
bool
waits_for (Gate &gate, Work work)
{
  std::atomic<bool> done{false};
  std::thread thread ([&] {
    work ();
    done = true;
  });
  g_usleep (100000);
  const bool waited = !done;
  gate.open ();
  thread.join ();
  return waited;
}
} // namespace

TEST (test_shared_memory_goes_to_the_device_and_back_without_a_copy)
{
  Shared shared;
  Bytes bytes = pattern (size, 1);
  write_memory (shared.memory, bytes);
  shared.add_on_device (0);
  read_memory (shared.memory);
  const unsigned copied = copies (), allocated = counting::allocations ();
  const GstOpenCLCounts before = application_counts ();
  for (guint8 i = 0; i < 50; i++) {
    bytes = pattern (size, i);
    write_memory (shared.memory, bytes);
    shared.add_on_device (i);
    assert_same (read_memory (shared.memory), added (bytes, i), "frame");
    gst_opencl_memory_invalidate (shared.memory);
  }
  const GstOpenCLCounts after = application_counts ();
  expect_equal (copies (), copied);
  expect_equal (counting::allocations (), allocated);
  expect_equal (after.uploads, before.uploads);
  expect_equal (after.downloads, before.downloads);
}

/* Bytes that are not written keep their values, also after maps of other kinds. */
TEST (test_shared_memory_written_in_parts_keeps_the_rest)
{
  Shared shared;
  Bytes bytes = pattern (size, 1);
  write_memory (shared.memory, bytes);
  shared.add_on_device (1);
  bytes = added (bytes, 1);
  for (guint i = 0; i < 20; i++) {
    GstMapInfo map;
    fail_unless (
        gst_memory_map (shared.memory, &map, i % 2 ? GST_MAP_WRITE : GST_MAP_READWRITE));
    map.data[i * 7] = bytes[i * 7] = guint8 (i);
    gst_memory_unmap (shared.memory, &map);
    if (i % 3) {
      shared.add_on_device (guint8 (i));
      bytes = added (bytes, guint8 (i));
    }
    if (i % 4 == 0)
      assert_same (read_memory (shared.memory), bytes, "part");
  }
  assert_same (read_memory (shared.memory), bytes, "parts");
}

TEST (test_shared_memory_mapped_again_costs_no_command)
{
  Shared shared;
  unsigned before = commands_of_maps ();
  write_memory (shared.memory, pattern (size, 1));
  expect_equal (commands_of_maps () - before, 1);
  for (guint i = 0; i < 10; i++) {
    read_memory (shared.memory);
    write_memory (shared.memory, pattern (size, i));
  }
  expect_equal (commands_of_maps () - before, 1);
  shared.add_on_device (1); /* ends the mapping */
  expect_equal (commands_of_maps () - before, 2);
  shared.add_on_device (1);
  expect_equal (commands_of_maps () - before, 2);
  assert_same (
      read_memory (shared.memory), added (pattern (size, 9), 2), "after ten writes");
  expect_equal (commands_of_maps () - before, 3);
}

TEST (test_shared_memory_is_read_beside_readers_on_the_device)
{
  Shared shared;
  Bytes bytes = pattern (size, 2);
  Gate gate (shared.context), other (shared.context);
  write_memory (shared.memory, bytes);
  shared.add_on_device (0);
  shared.read_on_device (gate);
  /* This would hang if it waited. */
  assert_same (read_memory (shared.memory), bytes, "beside a reader");
  /* The other way round, without a mapping to end. */
  const unsigned before = commands_of_maps ();
  GstMapInfo map;
  fail_unless (gst_memory_map (shared.memory, &map, GST_MAP_READ));
  shared.read_on_device (other, GST_OPENCL_QUEUE_DOWNLOAD);
  assert_same (Bytes (map.data, map.data + map.size), bytes, "beside a later reader");
  gst_memory_unmap (shared.memory, &map);
  expect_equal (commands_of_maps (), before);
}

TEST (test_shared_memory_is_written_when_readers_on_the_device_are_done)
{
  Shared shared;
  Gate gate (shared.context);
  const GstOpenCLCounts before = application_counts ();
  write_memory (shared.memory, pattern (size, 2));
  shared.add_on_device (0);
  clFinish (queue_of (shared.context)); /* a busy device may still end the mapping */
  shared.read_on_device (gate);
  fail_unless (
      waits_for (gate, [&] { write_memory (shared.memory, pattern (size, 3)); }));
  const GstOpenCLCounts after = application_counts ();
  /* This wait throttles a source; it is not a wait for data. */
  expect_equal (after.throttled - before.throttled, 1);
  expect_equal (after.host_waits, before.host_waits);
  shared.add_on_device (1);
  assert_same (
      read_memory (shared.memory), added (pattern (size, 3), 1), "what was written");
}

/* A source gets its buffer back before the device has filled it for another element. */
TEST (test_shared_memory_discarded_is_waited_for_but_not_for_its_data)
{
  Shared shared;
  Gate gate (shared.context);
  shared.add_on_device (1, &gate);
  gst_opencl_memory_invalidate (shared.memory);
  const GstOpenCLCounts before = application_counts ();
  fail_unless (
      waits_for (gate, [&] { write_memory (shared.memory, pattern (size, 3)); }));
  const GstOpenCLCounts after = application_counts ();
  expect_equal (after.throttled - before.throttled, 1);
  expect_equal (after.host_waits, before.host_waits);
  assert_same (read_memory (shared.memory), pattern (size, 3), "what was written");
}

TEST (test_shared_memory_read_waits_for_the_kernel_and_counts_once)
{
  for (bool ahead : {false, true}) {
    Shared shared;
    Gate gate (shared.context);
    write_memory (shared.memory, pattern (size, 4));
    shared.add_on_device (3, &gate);
    if (ahead) {
      OwnedCL<cl_event> event;
      fail_unless (gst_opencl_memory_prepare_map (shared.memory, event.out (), nullptr));
    }
    const GstOpenCLCounts before = application_counts ();
    fail_unless (waits_for (gate, [&] {
      assert_same (read_memory (shared.memory), added (pattern (size, 4), 3), "read");
    }));
    const GstOpenCLCounts after = application_counts ();
    expect_equal (after.host_waits - before.host_waits, 1);
    expect_equal (after.throttled, before.throttled);
  }
}

/* A decoder reads a frame that it has already pushed. */
TEST (test_shared_memory_stays_mapped_while_the_device_reads)
{
  Shared shared;
  Bytes bytes = pattern (size, 5);
  GstMapInfo map;
  write_memory (shared.memory, bytes);
  fail_unless (gst_memory_map (shared.memory, &map, GST_MAP_READ));
  Owned<GstMemory> copied = gst_memory_copy (shared.memory, 0, -1);
  assert_same (read_memory (copied), bytes, "what the device read");
  assert_same (Bytes (map.data, map.data + map.size), bytes, "what the CPU reads on");
  gst_memory_unmap (shared.memory, &map);
  shared.add_on_device (1);
  assert_same (read_memory (shared.memory), added (bytes, 1), "afterwards");
}

/* Some devices map a buffer at a new address each time, as rusticl does, or cannot map it
 * twice. */
TEST (test_a_device_that_does_not_map_in_place_copies)
{
  counting::fail_call (counting::ENQUEUE_MAP, 2, CL_MAP_FAILURE);
  Owned<GstOpenCLContext> context = new_context ();
  fail_if (gst_opencl_context_shares_host_memory (context));
}

TEST (test_shared_memory_mapped_within_a_map_lasts_as_long_as_either)
{
  Shared shared;
  GstMapInfo outer, inner, share;
  fail_unless (gst_memory_map (shared.memory, &outer, GST_MAP_READWRITE));
  fail_unless (gst_memory_map (shared.memory, &inner, GST_MAP_WRITE));
  memset (inner.data, 1, size);
  gst_memory_unmap (shared.memory, &inner);
  memset (outer.data, 2, size / 2);
  gst_memory_unmap (shared.memory, &outer);
  shared.add_on_device (1);
  Bytes expected (size, 2);
  std::fill_n (expected.begin (), size / 2, 3);
  assert_same (read_memory (shared.memory), expected, "nested");

  Owned<GstMemory> part = gst_memory_share (shared.memory, 100, 50);
  fail_unless (gst_memory_map (shared.memory, &outer, GST_MAP_READ));
  fail_unless (gst_memory_map (part, &share, GST_MAP_READ));
  expect_equal (share.size, 50);
  gst_memory_unmap (shared.memory, &outer);
  assert_same (Bytes (share.data, share.data + 50), Bytes (50, 3), "share");
  gst_memory_unmap (part, &share);
}

TEST (test_shared_memory_is_read_by_threads_while_kernels_read_it)
{
  Shared shared;
  Bytes bytes = pattern (size, 6);
  write_memory (shared.memory, bytes);
  for (int round = 0; round < 30; round++) {
    shared.add_on_device (1);
    bytes = added (bytes, 1);
    together (6, [&] (guint t) {
      if (t % 2) {
        assert_same (read_memory (shared.memory), bytes, "CPU");
      } else {
        Owned<GstMemory> copied = gst_memory_copy (shared.memory, 0, -1);
        assert_same (read_memory (copied), bytes, "device");
      }
    });
  }
}

TEST (test_shared_memory_whose_map_fails_can_be_mapped_later)
{
  Shared shared;
  GstMapInfo map;
  write_memory (shared.memory, pattern (size, 7));
  shared.add_on_device (1);
  for (auto access : {GST_MAP_READ, GST_MAP_WRITE}) {
    counting::fail_call (counting::ENQUEUE_MAP, 1, CL_MAP_FAILURE);
    fail_if (gst_memory_map (shared.memory, &map, access));
  }
  cl_event event = nullptr;
  Owned<GError> error;
  counting::fail_call (counting::ENQUEUE_MAP, 1, CL_MAP_FAILURE);
  fail_if (gst_opencl_memory_prepare_map (shared.memory, &event, error.out ()));
  expect_contains (error->message, {"CL_MAP_FAILURE"});
  assert_same (read_memory (shared.memory), added (pattern (size, 7), 1), "later");
}

TEST (test_shared_memory_freed_in_any_state_leaves_no_buffer_behind)
{
  const int before = counting::held_buffers ();
  {
    Shared shared;
    for (int state = 0; state < 4; state++) {
      OwnedCL<cl_event> event;
      if (state > 0)
        write_memory (shared.memory, pattern (size, 1));
      if (state > 1)
        shared.add_on_device (1);
      if (state > 2) {
        fail_unless (
            gst_opencl_memory_prepare_map (shared.memory, event.out (), nullptr));
      }
      gst_memory_unref (shared.memory);
      shared.memory = shared.new_memory ();
    }
  }
  expect_equal (counting::held_buffers (), before);
}

/* --- buffers --- */

namespace {
GstBuffer *
buffer_of (std::initializer_list<GstMemory *> memories)
{
  GstBuffer *buffer = gst_buffer_new ();
  for (GstMemory *memory : memories)
    gst_buffer_append_memory (buffer, memory);
  return buffer;
}

struct Planes {
  gsize offset, bytes;
  gint stride;
  /* Accepted with any layout, and with that of the caps alone */
  bool any_layout, as_caps;
};
} // namespace

TEST (test_one_memory_of_the_context_is_host_visible)
{
  Shared shared;
  Owned<GstOpenCLContext> other = new_other_context (shared.context);
  check::set_debug_switch ("share-memory", "0");
  Owned<GstOpenCLContext> apart = new_other_context (shared.context);
  const struct {
    GstOpenCLContext *context;
    GstBuffer *buffer;
    bool is;
  } cases[] = {
      {shared.context, buffer_of ({shared.new_memory ()}), true},
      {shared.context, buffer_of ({shared.new_memory (), shared.new_memory ()}), false},
      {shared.context, buffer_of ({}), false},
      {shared.context,
          buffer_of ({gst_opencl_host_memory_new (shared.context, size, nullptr)}),
          false},
      {shared.context, gst_buffer_new_allocate (nullptr, size, nullptr), false},
      {shared.context, buffer_of ({gst_opencl_memory_new (other, size, nullptr)}), false},
      {apart, buffer_of ({gst_opencl_memory_new (apart, size, nullptr)}), false},
  };
  for (const auto &one : cases) {
    expect_equal (
        gst_opencl_buffer_is_host_visible (one.context, one.buffer, nullptr, TRUE),
        one.is);
    gst_buffer_unref (one.buffer);
  }
}

TEST (test_lines_have_to_stand_where_the_next_user_looks_for_them)
{
  Shared shared;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  const Planes layouts[] = {
      {0, 120, 20, true, true},
      {0, 121, 20, true, false},
      {1, 121, 20, true, false},
      {0, 144, 24, true, false},
      {0, 119, 20, false, false},
      {2, 121, 20, false, false},
  };
  for (const Planes &layout : layouts) {
    Owned<GstBuffer> buffer =
        buffer_of ({gst_opencl_memory_new (shared.context, layout.bytes, nullptr)});
    gsize offset[GST_VIDEO_MAX_PLANES] = {layout.offset};
    gint stride[GST_VIDEO_MAX_PLANES] = {layout.stride};
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
    for (bool any : {false, true})
      expect_equal (
          gst_opencl_buffer_is_host_visible (shared.context, buffer, &info, any),
          any ? layout.any_layout : layout.as_caps);
  }
}

TEST (test_environment_overrides_host_memory_sharing)
{
  const struct {
    const char *value;
    bool shares;
  } cases[] = {{"0", false}, {"1", true}};
  for (const auto &one : cases) {
    check::set_debug_switch ("share-memory", one.value);
    Owned<GstOpenCLContext> context = new_context ();
    expect_equal (gst_opencl_context_shares_host_memory (context), one.shares);
  }
  for (const char *nothing : {"", (const char *)nullptr}) {
    if (nothing)
      g_setenv ("GST_OPENCL_DEBUG", nothing, TRUE);
    else
      g_unsetenv ("GST_OPENCL_DEBUG");
    Owned<GstOpenCLContext> context = new_context ();
    expect_equal (gst_opencl_context_shares_host_memory (context), shares_memory ());
  }
}
