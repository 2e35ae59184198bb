/* Tests of the pools of device memory and of pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"

#include <gst/video/gstvideometa.h>
#include <gst/video/gstvideopool.h>

#include <set>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
GstBufferPool *
new_active_pool (GstOpenCLContext *context, bool host, const gchar *caps, gsize size)
{
  Owned<GstCaps> parsed = caps ? gst_caps_from_string (caps) : nullptr;
  GstBufferPool *pool =
      gst_opencl_buffer_pool_new_configured (context, host, parsed, size);
  fail_unless (pool != nullptr);
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

void
stop (GstBufferPool *pool)
{
  fail_unless (gst_buffer_pool_set_active (pool, FALSE));
  gst_object_unref (pool);
}

GstBuffer *
acquire (GstBufferPool *pool)
{
  GstBuffer *buffer = nullptr;
  expect_equal (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr), GST_FLOW_OK);
  return buffer;
}
} // namespace

TEST (test_pool_buffers_are_one_memory_of_its_kind)
{
  Owned<GstOpenCLContext> context = new_context ();

  for (bool host : {false, true}) {
    GstBufferPool *pool = new_active_pool (context, host, "application/x-oct", 1000);
    fail_unless (
        gst_opencl_buffer_pool_get_context (GST_OPENCL_BUFFER_POOL (pool)) == context);
    expect_equal (gst_opencl_buffer_pool_is_host (GST_OPENCL_BUFFER_POOL (pool)), host);
    Owned<GstBuffer> buffer = acquire (pool);
    GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
    expect_equal (gst_buffer_n_memory (buffer), 1);
    expect_equal (gst_buffer_get_size (buffer), 1000);
    fail_unless (
        host ? gst_is_opencl_host_memory (memory) : gst_is_opencl_memory (memory));
    fail_unless (gst_buffer_get_video_meta (buffer) == nullptr);
    buffer = nullptr;
    stop (pool);
  }
}

TEST (test_pool_raises_its_size_to_what_the_caps_need)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBufferPool *pool =
      new_active_pool (context, false, "video/x-raw,format=I420,width=33,height=17", 10);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  Owned<GstBuffer> buffer = acquire (pool);
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstVideoInfo info;
  guint size;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 33, 17);
  gst_buffer_pool_config_get_params (config, nullptr, &size, nullptr, nullptr);
  expect_equal (size, GST_VIDEO_INFO_SIZE (&info));
  expect_equal (gst_buffer_get_size (buffer), GST_VIDEO_INFO_SIZE (&info));
  fail_unless (meta != nullptr);
  expect_equal (meta->n_planes, 3);
  for (guint p = 0; p < 3; p++) {
    expect_equal (meta->stride[p], GST_VIDEO_INFO_PLANE_STRIDE (&info, p));
    expect_equal (meta->offset[p], GST_VIDEO_INFO_PLANE_OFFSET (&info, p));
  }
  gst_structure_free (config);
  buffer = nullptr;
  stop (pool);
}

TEST (test_pool_honours_video_alignment)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBufferPool *pool = gst_opencl_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  Owned<GstCaps> caps =
      gst_caps_from_string ("video/x-raw,format=NV12,width=50,height=20");
  GstVideoAlignment alignment;
  GstVideoInfo aligned;

  gst_video_alignment_reset (&alignment);
  alignment.padding_left = 6;
  alignment.padding_right = 10;
  alignment.padding_top = 2;
  alignment.padding_bottom = 4;
  alignment.stride_align[0] = alignment.stride_align[1] = 63;
  gst_video_info_from_caps (&aligned, caps);
  fail_unless (gst_video_info_align (&aligned, &alignment));
  gst_buffer_pool_config_set_params (config, caps, 1, 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));

  Owned<GstBuffer> buffer = acquire (pool);
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  expect_equal (gst_buffer_get_size (buffer), GST_VIDEO_INFO_SIZE (&aligned));
  for (guint p = 0; p < 2; p++) {
    expect_equal (meta->stride[p], GST_VIDEO_INFO_PLANE_STRIDE (&aligned, p));
    expect_equal (meta->stride[p] % 64, 0);
    expect_equal (meta->offset[p], GST_VIDEO_INFO_PLANE_OFFSET (&aligned, p));
  }
  expect_equal (meta->alignment.padding_left, alignment.padding_left);
  expect_equal (meta->width, 50);

  /* The meta describes the whole frame. */
  GstVideoInfo info;
  GstVideoFrame frame;
  gst_video_info_from_caps (&info, caps);
  fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READWRITE));
  for (guint p = 0; p < 2; p++)
    for (int row = 0; row < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, p); row++)
      memset (static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, p))
                  + row * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
          7, 50);
  gst_video_frame_unmap (&frame);
  buffer = nullptr;
  stop (pool);
}

TEST_ROWS (test_pool_refuses_caps_that_are_no_video,
    {"NONSENSE,width=1,height=1", "RGBA,width=0,height=1", "I420,width=1,height=0"})
{
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstCaps> caps =
      gst_caps_from_string (("video/x-raw,format=" + std::string (row)).c_str ());

  fail_unless (
      gst_opencl_buffer_pool_new_configured (context, FALSE, caps, 10) == nullptr);
}

/* Pool configurations hold sizes in 32 bits. No device has memory for this size. */
TEST (test_pool_of_more_than_4_GiB_is_not_cut_off)
{
  Owned<GstOpenCLContext> context = new_context ();
  for (bool host : {false, true}) {
    GstBufferPool *pool =
        new_active_pool (context, host, nullptr, (gsize (1) << 46) + 10);
    GstBuffer *buffer = nullptr;
    expect_equal (
        gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr), GST_FLOW_ERROR);
    stop (pool);
  }
}

TEST (test_pool_without_room_gives_an_error_and_works_later)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBufferPool *pool = new_active_pool (context, false, nullptr, 1000);
  GstBuffer *buffer = nullptr, *buffers[GST_OPENCL_MIN_BUFFERS];

  for (GstBuffer *&made_ahead : buffers)
    made_ahead = acquire (pool);
  counting::fail_call (counting::CREATE_BUFFER, 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  expect_equal (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr), GST_FLOW_ERROR);
  buffer = acquire (pool);
  gst_buffer_unref (buffer);
  for (GstBuffer *made_ahead : buffers)
    gst_buffer_unref (made_ahead);
  stop (pool);
}

TEST (test_pool_in_steady_state_allocates_nothing)
{
  Owned<GstOpenCLContext> context = new_context ();
  OwnedCL<cl_kernel> kernel = make_kernel (context, change_source, "add");
  GstBufferPool *device = new_active_pool (context, false, nullptr, 1000);
  GstBufferPool *host = new_active_pool (context, true, nullptr, 1000);
  unsigned allocations = 0;

  for (int i = 0; i < 50; i++) {
    Owned<GstBuffer> work = acquire (device), result = acquire (host);
    GstMemory *memory = gst_buffer_peek_memory (work, 0);
    /* A buffer with smaller contents returns to the pool in its full size. */
    gst_buffer_set_size (work, 500 + i);
    gst_buffer_set_size (result, 500 + i);
    gst_buffer_memset (work, 0, i, 500 + i);
    GstMapInfo map;
    fail_unless (
        gst_buffer_map (work, &map, GstMapFlags (GST_MAP_READWRITE | GST_MAP_OPENCL)));
    clReleaseEvent (enqueue_change (application_queue_of (context), kernel,
        gst_opencl_memory_get_handle (memory), 0, 500, 1));
    gst_buffer_unmap (work, &map);
    fail_unless (gst_opencl_memory_copy_async (
        gst_buffer_peek_memory (result, 0), 0, memory, 0, 500 + i, nullptr, nullptr));
    work = nullptr;
    Bytes bytes = read_buffer (result);
    expect_equal (bytes[0], guint8 (i + 1));
    expect_equal (bytes[499 + i], i ? guint8 (i) : 1);
    result = nullptr;
    if (i == 2)
      allocations = counting::allocations ();
  }
  expect_equal (counting::allocations (), allocations);
  stop (device);
  stop (host);
}

TEST (test_pool_s_next_writer_waits_on_the_device_for_earlier_readers)
{
  Owned<GstOpenCLContext> context = new_context ();
  OwnedCL<cl_kernel> kernel = make_kernel (context, change_source, "add");
  GstBufferPool *pool = new_active_pool (context, false, nullptr, 256);
  GError *error = nullptr;
  Owned<GstMemory> host = gst_opencl_host_memory_new (context, 256, &error);
  Owned<GstMemory> other = gst_opencl_memory_new (context, 256, &error);
  Bytes bytes = pattern (256, 1);
  Gate gate (context);

  Owned<GstBuffer> buffer = acquire (pool);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  cl_mem handle = gst_opencl_memory_get_handle (memory);
  write_memory (other, bytes);
  fail_unless (gst_opencl_memory_copy_async (memory, 0, other, 0, 256, nullptr, nullptr));
  gate.put_into (queue_of (context, GST_OPENCL_QUEUE_DOWNLOAD));
  fail_unless (gst_opencl_memory_copy_async (host, 0, memory, 0, 256, nullptr, nullptr));
  buffer = nullptr;

  for (int others = 0; others < GST_OPENCL_MIN_BUFFERS - 1; others++)
    gst_buffer_unref (acquire (pool));
  buffer = acquire (pool);
  memory = gst_buffer_peek_memory (buffer, 0);
  fail_unless (gst_opencl_memory_get_handle (memory) == handle); /* the same one */
  write_memory (other, pattern (256, 2));
  fail_unless (gst_opencl_memory_copy_async (memory, 0, other, 0, 256, nullptr, nullptr));
  g_usleep (100000);
  gate.open ();
  assert_same (read_memory (host), bytes, "what the earlier reader got");
  assert_same (read_memory (memory), pattern (256, 2), "what the next writer wrote");
  buffer = nullptr;
  host = nullptr;
  other = nullptr;
  stop (pool);
}

/* The upload into that buffer would make the host wait. */
TEST (test_pool_gives_no_buffer_to_an_upload_that_is_still_read)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBufferPool *pool = new_active_pool (context, false, nullptr, 256);
  GError *error = nullptr;
  Owned<GstMemory> host = gst_opencl_host_memory_new (context, 256, &error);
  std::set<cl_mem> used;
  Gate gate (context);

  write_memory (host, pattern (256, 1));
  for (guint n = 0; n < 20; n++) {
    Owned<GstBuffer> buffer = acquire (pool);
    GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
    used.insert (gst_opencl_memory_get_handle (memory));
    fail_unless (
        gst_opencl_memory_copy_async (memory, 0, host, 0, 256, nullptr, nullptr));
    gst_opencl_memory_end (memory, queue_of (context), GST_MAP_READ, gate.event);
  }
  expect_equal (used.size (), 20u);
  gate.open ();
  Owned<GstBuffer> buffer = acquire (pool);
  fail_unless (
      used.count (gst_opencl_memory_get_handle (gst_buffer_peek_memory (buffer, 0))));
  buffer = nullptr;
  host = nullptr;
  stop (pool);
}

/* gst_buffer_make_writable() on a buffer of a tee gives a second buffer around the same
 * memory; the first goes back to its pool. */
TEST (test_pool_leaves_memory_alone_that_another_buffer_still_holds)
{
  Owned<GstOpenCLContext> context = new_context ();
  OwnedCL<cl_kernel> kernel = make_kernel (context, change_source, "add");

  for (bool host : {false, true}) {
    GstBufferPool *pool = new_active_pool (context, host, nullptr, 256);
    Owned<GstBuffer> buffer = acquire (pool);
    Bytes bytes = pattern (256, 1);
    gst_buffer_fill (buffer, 0, bytes.data (), 256);
    if (!host) {
      GstMapInfo map;
      fail_unless (gst_buffer_map (
          buffer, &map, GstMapFlags (GST_MAP_READWRITE | GST_MAP_OPENCL)));
      clReleaseEvent (enqueue_change (application_queue_of (context), kernel,
          gst_opencl_memory_get_handle (gst_buffer_peek_memory (buffer, 0)), 0, 256, 1));
      gst_buffer_unmap (buffer, &map);
      for (guint8 &byte : bytes)
        byte++;
    }
    Owned<GstBuffer> kept = gst_buffer_copy (buffer);
    Owned<GstBuffer> part =
        gst_buffer_copy_region (buffer, GST_BUFFER_COPY_MEMORY, 100, 50);
    buffer = nullptr;
    Owned<GstBuffer> next = acquire (pool);
    gst_buffer_memset (next, 0, 0xee, 256);
    assert_same (read_buffer (kept), bytes, "the buffer that holds the memory");
    assert_same (read_buffer (part), Bytes (bytes.begin () + 100, bytes.begin () + 150),
        "the buffer that holds a part");
    next = nullptr;
    kept = nullptr;
    part = nullptr;
    stop (pool);
  }
}

TEST (test_pool_buffer_outlives_its_pool_and_context)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBufferPool *pool = new_active_pool (context, false, nullptr, 256);
  Owned<GstBuffer> buffer = acquire (pool);

  stop (pool);
  context = nullptr;
  Bytes bytes = pattern (256, 1);
  gst_buffer_fill (buffer, 0, bytes.data (), 256);
  assert_same (read_buffer (buffer), bytes, "buffer");
}

TEST (test_pool_that_the_device_has_no_room_for_keeps_nothing)
{
  for (bool host : {false, true}) {
    Owned<GstOpenCLContext> context = new_context ();
    GWeakRef alive;
    g_weak_ref_init (&alive, context);
    GstBufferPool *pool =
        gst_opencl_buffer_pool_new_configured (context, host, nullptr, 1000);
    GstBuffer *buffers[3] = {};
    GstFlowReturn flow = GST_FLOW_OK;
    int held = counting::held_buffers ();

    counting::fail_buffers_after (2);
    if (gst_buffer_pool_set_active (pool, TRUE)) {
      for (GstBuffer *&buffer : buffers)
        flow = gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr);
    }
    counting::fail_buffers_after (-1);
    fail_unless (buffers[2] == nullptr || flow == GST_FLOW_OK);
    for (GstBuffer *buffer : buffers)
      gst_clear_buffer (&buffer);
    gst_buffer_pool_set_active (pool, FALSE);
    expect_equal (counting::held_buffers (), held);
    /* The pool still works. */
    fail_unless (gst_buffer_pool_set_active (pool, TRUE));
    gst_buffer_unref (acquire (pool));
    stop (pool);
    expect_equal (counting::held_buffers (), held);
    context = nullptr;
    fail_unless (g_weak_ref_get (&alive) == nullptr);
    g_weak_ref_clear (&alive);
  }
}
