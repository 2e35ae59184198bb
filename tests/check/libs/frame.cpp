/* Tests of GstOpenCLFrame, a buffer mapped for kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

#include <gst/video/gstvideometa.h>

using namespace check;

namespace {
GstBuffer *
new_buffer (GstOpenCLContext *context, gsize size, gsize front = 0)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstMemory *memory = gst_opencl_memory_new (context, size + front, nullptr);
  gst_memory_resize (memory, front, size);
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

void
unmap (GstOpenCLFrame &frame)
{
  OwnedCL<cl_event> event;
  clEnqueueMarkerWithWaitList (frame.queue, 0, nullptr, event.out ());
  gst_opencl_frame_unmap (&frame, event);
  clFlush (frame.queue);
}

/* Fails unless mapping fails with a message that contains all `parts`. */
void
assert_refused (GstOpenCLContext *context, GstBuffer *buffer, const GstVideoInfo *info,
    gsize size, std::initializer_list<const char *> parts)
{
  GstOpenCLFrame frame;
  Owned<GError> error;
  fail_if (gst_opencl_frame_map (
      &frame, info, size, buffer, queue_of (context), GST_MAP_READ, error.out ()));
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  for (const char *part : parts)
    fail_unless (
        strstr (error->message, part), "'%s' is not in: %s", part, error->message);
  gst_buffer_unref (buffer);
}
} // namespace

TEST (test_frame_of_bytes_is_one_plane)
{
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstBuffer> buffer = new_buffer (context, 100, 12);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstOpenCLFrame frame;

  fail_unless (gst_opencl_frame_map (
      &frame, nullptr, 100, buffer, queue_of (context), GST_MAP_WRITE, nullptr));
  fail_unless (frame.buffer == buffer && frame.memory == memory);
  fail_unless (frame.data == gst_opencl_memory_get_handle (memory));
  expect_equal (frame.size, 100);
  expect_equal (frame.n_planes, 1);
  expect_equal (frame.offset[0], 12);
  expect_equal (frame.stride[0], 0);
  expect_equal (GST_VIDEO_INFO_FORMAT (&frame.info), GST_VIDEO_FORMAT_UNKNOWN);
  expect_equal (GST_VIDEO_INFO_WIDTH (&frame.info), 0);
  unmap (frame);
}

TEST (test_frame_of_video_takes_its_layout_from_the_caps_or_from_its_meta)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 30, 10);
  Owned<GstBuffer> buffer = new_buffer (context, 2000, 7);
  GstOpenCLFrame frame;

  fail_unless (gst_opencl_frame_map (
      &frame, &info, 0, buffer, queue_of (context), GST_MAP_WRITE, nullptr));
  expect_equal (frame.n_planes, 2);
  for (guint p = 0; p < 2; p++) {
    expect_equal (frame.offset[p], 7 + GST_VIDEO_INFO_PLANE_OFFSET (&info, p));
    expect_equal (frame.stride[p], GST_VIDEO_INFO_PLANE_STRIDE (&info, p));
  }
  unmap (frame);

  gsize offset[4] = {100, 1000};
  gint stride[4] = {77, 64};
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_NV12, 30, 10, 2, offset, stride);
  fail_unless (gst_opencl_frame_map (
      &frame, &info, 0, buffer, queue_of (context), GST_MAP_WRITE, nullptr));
  for (guint p = 0; p < 2; p++) {
    expect_equal (frame.offset[p], 7 + offset[p]);
    expect_equal (frame.stride[p], stride[p]);
    expect_equal (GST_VIDEO_INFO_PLANE_OFFSET (&frame.info, p), offset[p]);
    expect_equal (GST_VIDEO_INFO_PLANE_STRIDE (&frame.info, p), stride[p]);
  }
  expect_equal (GST_VIDEO_INFO_FORMAT (&frame.info), GST_VIDEO_FORMAT_NV12);
  expect_equal (GST_VIDEO_INFO_WIDTH (&frame.info), 30);
  expect_equal (GST_VIDEO_INFO_HEIGHT (&frame.info), 10);
  unmap (frame);
}

TEST (test_frame_that_is_too_short_is_refused_with_both_sizes)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);

  assert_refused (context, new_buffer (context, 99), nullptr, 100, {"99 ", "100 "});
  assert_refused (context, new_buffer (context, 119), &info, 0, {"119 ", "120 "});
  /* Memory beyond the size of the buffer is not part of it. */
  GstBuffer *cut = new_buffer (context, 200);
  gst_buffer_resize (cut, 0, 99);
  assert_refused (context, cut, nullptr, 100, {"99 ", "100 "});
  /* A meta that extends beyond the end */
  gsize offset[4] = {50};
  gint stride[4] = {20};
  GstBuffer *shifted = new_buffer (context, 120);
  gst_buffer_add_video_meta_full (shifted, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
  assert_refused (context, shifted, &info, 0, {"120 ", "170 "});
  /* A meta whose end overflows */
  offset[0] = gsize (0) - 100;
  GstBuffer *wrapped = new_buffer (context, 120);
  gst_buffer_add_video_meta_full (wrapped, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
  assert_refused (context, wrapped, &info, 0, {"120 "});
}

TEST (test_frame_with_a_stride_shorter_than_a_line_is_refused)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 20, 6);
  gsize offset[4] = {};
  gint stride[4] = {19};
  GstBuffer *buffer = new_buffer (context, 1000);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 20, 6, 1, offset, stride);
  assert_refused (context, buffer, &info, 0, {"19 ", "20"});
}

TEST (test_frame_of_other_memory_is_refused)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstBuffer *two = gst_buffer_append (new_buffer (context, 50), new_buffer (context, 50));
  GstBuffer *pinned = gst_buffer_new ();
  gst_buffer_append_memory (pinned, gst_opencl_host_memory_new (context, 100, nullptr));

  assert_refused (context, two, nullptr, 100, {"2 memories", "OpenCLMemory"});
  assert_refused (context, pinned, nullptr, 100, {"OpenCLHostMemory"});
  assert_refused (context, gst_buffer_new_allocate (nullptr, 100, nullptr), nullptr, 100,
      {"SystemMemory"});
  assert_refused (context, gst_buffer_new (), nullptr, 100, {"0 memories"});
}

TEST (test_frame_orders_what_is_enqueued_between_map_and_unmap)
{
  Owned<GstOpenCLContext> context = new_context ();
  /* The order of the two kernels makes a difference. */
  OwnedCL<cl_kernel> add = make_kernel (context, change_source, "add");
  OwnedCL<cl_kernel> flip = make_kernel (context, change_source, "flip");
  Owned<GstBuffer> buffer = new_buffer (context, 300);
  Gate gate (context);
  Bytes bytes = pattern (300, 1);

  gst_buffer_fill (buffer, 0, bytes.data (), 300);
  for (GstOpenCLQueue which : {GST_OPENCL_QUEUE_DOWNLOAD, GST_OPENCL_QUEUE_COMPUTE}) {
    GstOpenCLFrame frame;
    fail_unless (gst_opencl_frame_map (&frame, nullptr, 300, buffer,
        queue_of (context, which), GST_MAP_READWRITE, nullptr));
    bool first = which == GST_OPENCL_QUEUE_DOWNLOAD;
    if (first)
      gate.put_into (frame.queue);
    clReleaseEvent (
        enqueue_change (frame.queue, first ? add : flip, frame.data, 0, 300, 77));
    unmap (frame);
  }
  g_usleep (50000);
  gate.open ();
  for (guint8 &byte : bytes)
    byte = guint8 (byte + 77) ^ 77;
  assert_same (read_buffer (buffer), bytes, "after both kernels");
}
