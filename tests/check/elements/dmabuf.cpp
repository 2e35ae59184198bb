/* Tests of openclupload with memory that has a file descriptor: imported if the device
 * can import, otherwise copied
 *
 * GStreamer's allocator accepts any descriptor that can be mapped, and so does the device
 * of importing-device.hpp.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/importing-device.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include "transfer-chain.hpp"

#include <gst/allocators/allocators.h>

using namespace check;

namespace {
const char dma_buf_gray[] =
    "video/x-raw(memory:DMABuf), format=GRAY8, width=64, height=32, framerate=30/1";

/* A camera's pages, with a new GstMemory around them for each frame */
struct Camera {
  SharedPages pages;
  Owned<GstAllocator> allocator;
  Owned<GstMemory> memory;

  explicit Camera (const Bytes &bytes)
      : pages (bytes), allocator (gst_dmabuf_allocator_new ()),
        memory (gst_dmabuf_allocator_alloc (allocator, dup (pages.fd ()), bytes.size ()))
  {
  }

  /* (transfer full) */
  GstBuffer *frame ()
  {
    GstBuffer *buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, gst_memory_ref (memory));
    return buffer;
  }

  bool has_all_back ()
  {
    return GST_MINI_OBJECT_REFCOUNT_VALUE (static_cast<GstMemory *> (memory)) == 1;
  }
};

std::string
features_of (const Owned<GstCaps> &caps)
{
  Owned<gchar> text = gst_caps_features_to_string (gst_caps_get_features (caps, 0));
  return text.operator char * ();
}

/* Input caps of the element, in its order of preference */
std::vector<std::string>
accepted_features (Harness &chain)
{
  Owned<GstCaps> video = gst_caps_from_string ("video/x-raw(ANY), format=GRAY8");
  Owned<GstCaps> caps = gst_pad_peer_query_caps (chain->srcpad, video);
  std::vector<std::string> features;
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    Owned<gchar> text = gst_caps_features_to_string (gst_caps_get_features (caps, i));
    features.push_back (text.operator char * ());
  }
  return features;
}
/* Frames with gaps between rows and planes are uploaded correctly. */
void
check_padded_lines ()
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 37, 11);
  const PaddedLayout layout (info, 7, 5);
  Camera camera (pattern (layout.size, 3));
  Chain chain ("openclupload ! opencldownload",
      "video/x-raw(memory:DMABuf), format=NV12, width=37, height=11, framerate=30/1");
  GstBuffer *frame = camera.frame ();
  add_layout (frame, info, layout);
  check_lines (chain.pass (frame), info, layout, 3);
}
} // namespace

/* --- devices that do not import --- */

TEST (test_dma_bufs_are_copied_where_the_device_imports_none)
{
  ImportingDevice device ("cl_khr_fp64");
  for (const char *caps : {dma_buf_gray, system_gray}) {
    Chain chain ("openclupload", caps);
    Camera camera (pattern (gray_size, 5));
    Owned<GstBuffer> output = chain.pass (camera.frame ());
    expect_equal (features_of (chain.caps ()), "memory:OpenCLMemory");
    check_pattern (output, gray_size, 5);
    camera.pages.fill (pattern (gray_size, 6));
    check_pattern (output, gray_size, 5);
    expect_equal (counts_of (chain.find ("openclupload")).uploads, 1u);
  }
  expect_equal (device.imported (), 0u);
}

TEST (test_padded_lines_in_a_copied_dma_buf_are_honoured)
{
  ImportingDevice device ("cl_khr_fp64");
  check_padded_lines ();
}

/* --- devices that import --- */

TEST_ROWS (test_dma_bufs_are_read_where_they_are, {dma_buf_gray, system_gray})
{
  ImportingDevice device;
  Chain chain ("openclupload", row);
  Camera camera (pattern (gray_size, 5));
  Owned<GstBuffer> output = chain.pass (camera.frame ());
  fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (output, 0)));
  expect_equal (features_of (chain.caps ()), "memory:OpenCLMemory");
  check_pattern (output, gray_size, 5);
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), 1u);
  expect_equal (counts_of (chain.find ("openclupload")).uploads, 0u);
  fail_unless (chain.messages ().is_clean ());
}

TEST (test_padded_lines_in_an_imported_dma_buf_are_honoured)
{
  ImportingDevice device;
  check_padded_lines ();
  expect_equal (device.imported (), 1u);
}

TEST (test_a_part_of_a_dma_buf_begins_where_it_begins)
{
  ImportingDevice device;
  constexpr gsize start = 4096;
  const Bytes all = pattern (start + gray_size, 7);
  Camera camera (all);
  Chain chain ("openclupload", dma_buf_gray);
  GstBuffer *frame = gst_buffer_new ();
  gst_buffer_append_memory (frame, gst_memory_share (camera.memory, start, gray_size));
  Owned<GstBuffer> output = chain.pass (frame);
  assert_same (read_buffer (output), Bytes (all.begin () + start, all.end ()), "part");
  expect_equal (device.imported (), 1u);
}

TEST (test_a_camera_memory_is_imported_once)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 0));
  for (guint i = 0; i < 10; i++) {
    camera.pages.fill (pattern (gray_size, i));
    check_pattern (chain.pass (camera.frame ()), gray_size, i);
    fail_unless (soon ([&] { return camera.has_all_back (); }));
  }
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), 10u);
  expect_equal (device.released (), 10u);
}

TEST (test_a_camera_has_its_frame_back_when_the_device_has_done_with_it)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 1));
  std::atomic<bool> is_back{false};
  GstBuffer *frame = camera.frame ();
  gst_mini_object_weak_ref (
      GST_MINI_OBJECT_CAST (frame),
      [] (gpointer back, GstMiniObject *) {
        *static_cast<std::atomic<bool> *> (back) = true;
      },
      &is_back);
  {
    Owned<GstBuffer> output = chain.pass (frame);
    GstMemory *memory = gst_buffer_peek_memory (output, 0);
    GstOpenCLContext *context = gst_opencl_memory_get_context (memory);
    Gate gate (context);
    cl_command_queue queue = queue_of (context, GST_OPENCL_QUEUE_DOWNLOAD);
    fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READ, nullptr));
    gate.put_into (queue);
    gst_opencl_memory_end (memory, queue, GST_MAP_READ, gate.event);
    gst_clear_buffer (output.out ());
    g_usleep (100000);
    fail_if (is_back);
    gate.open ();
  }
  fail_unless (soon ([&] { return is_back.load (); }));
}

/* --- a dma_buf that is pushed again while it is in use --- */

/* As from videorate: each frame arrives before the previous one is released. */
TEST (test_openclupload_shares_a_repeated_dma_buf)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 3));
  Owned<GstBuffer> before;
  for (guint i = 0; i < 22; i++) {
    Owned<GstBuffer> output = chain.pass (camera.frame ());
    check_pattern (output, gray_size, 3);
    before = std::move (output);
  }
  expect_equal (device.acquired (), 1u);
  expect_equal (device.released (), 0u);
  before = nullptr;
  fail_unless (soon ([&] { return camera.has_all_back (); }));
  expect_equal (device.imported (), 1u);
  expect_equal (device.released (), 1u);
  expect_equal (counts_of (chain.find ("openclupload")).uploads, 0u);

  /* and is acquired again after that */
  camera.pages.fill (pattern (gray_size, 4));
  check_pattern (chain.pass (camera.frame ()), gray_size, 4);
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), 2u);
}

/* A long repetition must not keep frames that were released. */
TEST (test_openclupload_lets_go_of_repeated_frames)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 3));
  Owned<GstBuffer> first = chain.pass (camera.frame ());
  std::atomic<int> gone{0};
  for (guint i = 0; i < 10; i++) {
    GstBuffer *frame = camera.frame ();
    gst_mini_object_weak_ref (
        GST_MINI_OBJECT_CAST (frame),
        [] (gpointer count, GstMiniObject *) {
          ++*static_cast<std::atomic<int> *> (count);
        },
        &gone);
    Owned<GstBuffer> output = chain.pass (frame);
  }
  fail_unless (soon ([&] { return gone == 10; }));
  expect_equal (device.acquired (), 1u);
}

/* Another memory, and another descriptor, of the same dma_buf */
TEST (test_openclupload_shares_a_dma_buf_in_other_memory)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 3));
  Owned<GstBuffer> first = chain.pass (camera.frame ());
  GstBuffer *frame = gst_buffer_new ();
  gst_buffer_append_memory (frame,
      gst_dmabuf_allocator_alloc (camera.allocator, dup (camera.pages.fd ()), gray_size));
  Owned<GstBuffer> second = chain.pass (frame);
  check_pattern (second, gray_size, 3);
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), 1u);
  expect_equal (counts_of (chain.find ("openclupload")).uploads, 0u);

  /* Other pages are another dma_buf. */
  Camera other (pattern (gray_size, 5));
  check_pattern (chain.pass (other.frame ()), gray_size, 5);
  expect_equal (device.imported (), 2u);
  expect_equal (device.acquired (), 2u);
}

/* The first memory covers only the beginning of the dma_buf. */
TEST (test_openclupload_shares_a_dma_buf_with_more_of_it)
{
  ImportingDevice device;
  const Bytes all = pattern (2 * gray_size, 7);
  Camera camera (all);
  Chain chain ("openclupload", dma_buf_gray);
  GstBuffer *frame = gst_buffer_new ();
  gst_buffer_append_memory (frame,
      gst_dmabuf_allocator_alloc (camera.allocator, dup (camera.pages.fd ()), gray_size));
  Owned<GstBuffer> first = chain.pass (frame);
  frame = gst_buffer_new ();
  gst_buffer_append_memory (
      frame, gst_memory_share (camera.memory, gray_size, gray_size));
  Owned<GstBuffer> second = chain.pass (frame);
  assert_same (read_buffer (first), pattern (gray_size, 7), "first");
  assert_same (
      read_buffer (second), Bytes (all.begin () + gray_size, all.end ()), "second");
  expect_equal (device.imported (), 1u);
  expect_equal (device.acquired (), 1u);
}

/* Two elements of one device in two threads */
TEST (test_openclupload_shares_a_dma_buf_between_branches)
{
  ImportingDevice device;
  Pipeline pipeline (
      std::string ("appsrc name=in format=time caps=\"") + dma_buf_gray
      + "\" ! tee name=t ! queue ! openclupload name=a ! "
        "appsink name=out sync=false "
        "t. ! queue ! openclupload name=b ! appsink name=other sync=false");
  Camera camera (pattern (gray_size, 3));
  pipeline.start ();
  for (guint i = 0; i < 30; i++) {
    GstBuffer *frame = camera.frame ();
    GST_BUFFER_PTS (frame) = i * 33 * GST_MSECOND;
    gst_app_src_push_buffer (GST_APP_SRC (pipeline["in"]), frame);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (pipeline["in"]));
  for (guint i = 0; i < 30; i++)
    for (const char *sink : {"out", "other"}) {
      Owned<GstSample> sample = pipeline.pull (sink);
      fail_unless (sample, "%s", pipeline.messages ().line ().c_str ());
      check_pattern (gst_sample_get_buffer (sample), gray_size, 3);
    }
  for (const char *name : {"a", "b"})
    expect_equal (counts_of (pipeline[name]).uploads, 0u);
  expect_equal (device.imported (), 1u);
}

TEST (test_an_imported_frame_is_not_for_writing)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 1));
  Owned<GstBuffer> output = chain.pass (camera.frame ());
  GstMapInfo map;
  fail_if (gst_memory_map (gst_buffer_peek_memory (output, 0), &map, GST_MAP_WRITE));
}

/* A driver refuses memory that it cannot access. */
TEST (test_what_the_device_refuses_is_copied_without_an_error)
{
  ImportingDevice device;
  Chain chain ("openclupload", dma_buf_gray);
  Camera camera (pattern (gray_size, 4));
  device.fail_import (CL_INVALID_OPERATION);
  for (guint i = 0; i < 3; i++)
    check_pattern (chain.pass (camera.frame ()), gray_size, 4);
  expect_equal (device.imported (), 0u);
  expect_equal (counts_of (chain.find ("openclupload")).uploads, 3u);
  fail_unless (chain.messages ().is_clean ());
}

TEST (test_planes_with_a_descriptor_each_are_copied_as_one_frame)
{
  ImportingDevice device;
  Chain chain ("openclupload",
      "video/x-raw(memory:DMABuf), format=NV12, width=64, height=32, framerate=30/1");
  const Bytes all = pattern (gray_size * 3 / 2, 2);
  Camera luma (Bytes (all.begin (), all.begin () + gray_size));
  Camera chroma (Bytes (all.begin () + gray_size, all.end ()));
  GstBuffer *frame = luma.frame ();
  gst_buffer_append_memory (frame, gst_memory_ref (chroma.memory));
  check_pattern (chain.pass (frame), all.size (), 2);
  expect_equal (device.imported (), 0u);
}

/* --- caps and pools --- */

/* An element that has not started knows no device. If the device imports, a dma_buf is
 * cheapest. */
TEST (test_a_dma_buf_is_preferred_where_it_is_imported)
{
  const std::vector<std::string> copying = {
      "memory:OpenCLMemory", "memory:SystemMemory", "memory:DMABuf", "memory:GLMemory"};
  const std::vector<std::string> importing = {
      "memory:OpenCLMemory", "memory:DMABuf", "memory:SystemMemory", "memory:GLMemory"};
  {
    ImportingDevice device ("cl_khr_fp64");
    Chain chain ("openclupload ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"");
    fail_unless (accepted_features (chain) == copying);
  }
  ImportingDevice device;
  Chain chain ("openclupload ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"");
  fail_unless (accepted_features (chain) == importing);
}

TEST (test_only_video_comes_as_dma_buf_or_texture)
{
  Chain chain (
      "openclupload ! capsfilter caps=\"application/x-oct(memory:OpenCLMemory)\"");
  Owned<GstCaps> caps = gst_pad_peer_query_caps (chain->srcpad, nullptr);
  expect_equal (gst_caps_get_size (caps), 2u);
}

/* Textures with target external-oes cannot be read. */
TEST (test_textures_that_can_be_read_are_taken)
{
  Chain chain ("openclupload ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"");
  const struct {
    const char *target;
    bool is_taken;
  } rows[] = {{"2D", true}, {"rectangle", true}, {"external-oes", false}};
  for (const auto &row : rows) {
    Owned<GstCaps> caps = gst_caps_from_string (
        (std::string ("video/x-raw(memory:GLMemory), format=RGBA, width=64, height=32, "
                      "framerate=30/1, texture-target=")
            + row.target)
            .c_str ());
    Owned<GstCaps> taken = gst_pad_peer_query_caps (chain->srcpad, caps);
    expect_equal (!gst_caps_is_empty (taken), row.is_taken);
    if (!row.is_taken)
      continue;
    fail_unless (gst_pad_push_event (chain->srcpad, gst_event_new_stream_start ("gl")));
    fail_unless (gst_pad_push_event (chain->srcpad, gst_event_new_caps (caps)));
    Owned<GstCaps> made = chain.caps ();
    fail_if (
        gst_structure_has_field (gst_caps_get_structure (made, 0), "texture-target"));
  }
}

TEST (test_no_pool_is_offered_for_memory_of_others)
{
  Chain chain ("openclupload", dma_buf_gray);
  const Allocation offered = query_allocation (chain, dma_buf_gray);
  fail_if (offered.pool);
  fail_unless (
      gst_query_find_allocation_meta (offered.query, GST_VIDEO_META_API_TYPE, nullptr));
}

/* --- caps of GStreamer 1.24 and newer --- */

namespace {
/* By <drm_fourcc.h>: XR24 is a 32-bit word x:R:G:B, whose bytes in memory are B, G, R, x. */
const struct {
  const char *drm, *raw;
} linear_formats[] = {{"NV12", "NV12"}, {"NV12:0x0000000000000000", "NV12"},
    {"YU12", "I420"}, {"XR24", "BGRx"}, {"AB24", "RGBA"}, {"YUYV", "YUY2"},
    {"R8  ", "GRAY8"}, {"P010", "P010_10LE"}};

std::string
drm_caps (const std::string &format, int width = 37, int height = 11)
{
  return "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(string)\"" + format
         + "\", width=" + std::to_string (width) + ", height=" + std::to_string (height)
         + ", framerate=30/1";
}

GstVideoInfo
info_of (const char *raw)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, gst_video_format_from_string (raw), 37, 11);
  return info;
}

/* Rows of each format, with the layout of the caps and with that of a meta */
void
check_linear_formats (bool imports)
{
  for (const auto &row : linear_formats) {
    const GstVideoInfo info = info_of (row.raw);
    for (gsize gap : {0, 16}) {
      ImportingDevice device (imports ? "cl_khr_external_memory_dma_buf" : "cl_khr_fp64");
      const PaddedLayout layout (info, gap, int (gap));
      Camera camera (pattern (layout.size, 3));
      Chain chain ("openclupload", drm_caps (row.drm));
      GstBuffer *frame = camera.frame ();
      if (gap > 0)
        add_layout (frame, info, layout);
      check_lines (chain.pass (frame), info, layout, 3);
      Owned<GstCaps> caps = chain.caps ();
      const GstStructure *made = gst_caps_get_structure (caps, 0);
      expect_equal (features_of (caps), "memory:OpenCLMemory");
      expect_equal (gst_structure_get_string (made, "format"), row.raw);
      fail_if (gst_structure_has_field (made, "drm-format"));
      expect_equal (device.imported (), imports ? 1u : 0u);
      fail_unless (chain.messages ().is_clean ());
    }
  }
}

std::string
text_of (const Owned<GstCaps> &caps)
{
  Owned<gchar> text = gst_caps_to_string (caps);
  return text.operator char * ();
}

Owned<GstCaps>
accepted_of (Harness &chain, const std::string &caps)
{
  Owned<GstCaps> filter = gst_caps_from_string (caps.c_str ());
  return gst_pad_peer_query_caps (chain->srcpad, filter);
}
} // namespace

TEST (test_linear_dma_drm_is_imported)
{
  check_linear_formats (true);
}

TEST (test_linear_dma_drm_is_copied)
{
  check_linear_formats (false);
}

TEST (test_dma_drm_planes_with_a_descriptor_each_are_copied)
{
  ImportingDevice device;
  const GstVideoInfo info = info_of ("NV12");
  PaddedLayout layout (info, 0, 4);
  const Bytes all = pattern (layout.size, 2);
  Camera luma (Bytes (all.begin (), all.begin () + layout.offset[1]));
  Camera chroma (Bytes (all.begin () + layout.offset[1], all.end ()));
  GstBuffer *frame = luma.frame ();
  gst_buffer_append_memory (frame, gst_memory_ref (chroma.memory));
  add_layout (frame, info, layout);
  Chain chain ("openclupload ! opencldownload", drm_caps ("NV12"));
  check_lines (chain.pass (frame), info, layout, 2);
  expect_equal (device.imported (), 0u);
}

static const char *const refused_formats[] = {
    "NV12:0x0100000000000001", /* Intel's tiles */
    "NV12:0x00ffffffffffffff", /* DRM_FORMAT_MOD_INVALID: the driver's choice */
    "ZZZZ",
};

TEST_ROWS (test_tiled_dma_drm_is_refused_with_the_reason, refused_formats)
{
  Pipeline pipeline ("appsrc name=in format=time ! openclupload ! fakesink");
  Owned<GstCaps> caps = gst_caps_from_string (drm_caps (row).c_str ());
  Camera camera (pattern (gray_size, 3));
  gst_app_src_set_caps (GST_APP_SRC (pipeline["in"]), caps);
  gst_app_src_push_buffer (GST_APP_SRC (pipeline["in"]), camera.frame ());
  gst_app_src_end_of_stream (GST_APP_SRC (pipeline["in"]));
  const Outcome outcome = pipeline.play ();
  fail_if (outcome.errors.empty ());
  for (const char *part : {row, "drm-format=", "expected linear memory", "YU12"})
    fail_unless (outcome.errors[0].find (part) != std::string::npos, "no %s in: %s", part,
        outcome.line ().c_str ());
}

/* Only linear formats are offered, so that a source can choose one of them. */
TEST (test_only_linear_dma_drm_is_offered)
{
  Chain chain ("openclupload");
  Owned<GstCaps> taken =
      accepted_of (chain, "video/x-raw(memory:DMABuf), format=DMA_DRM, "
                          "drm-format=(string){NV12:0x0100000000000001, "
                          "NV12, NV12:0x0000000000000000}; video/x-raw, format=NV12");
  Owned<GstCaps> expected = gst_caps_from_string (
      "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(string){NV12, "
      "NV12:0x0000000000000000}; video/x-raw, format=NV12");
  expect_equal (text_of (taken), text_of (expected));
  Chain behind ("openclupload ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory), "
                "format=RGBA\"");
  taken = accepted_of (behind, "video/x-raw(memory:DMABuf), format=DMA_DRM");
  expected = gst_caps_from_string ("video/x-raw(memory:DMABuf), format=DMA_DRM, "
                                   "drm-format=(string){AB24, AB24:0x0000000000000000}");
  expect_equal (text_of (taken), text_of (expected));
}

/* A source that queries caps first sends nothing, so the element posts a warning. */
TEST (test_tiled_dma_drm_source_warning)
{
  Chain chain ("openclupload ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"");
  for (int i = 0; i < 3; i++) {
    Owned<GstCaps> taken = accepted_of (chain, drm_caps ("NV12:0x0100000000000001"));
    fail_unless (gst_caps_is_empty (taken));
  }
  const Outcome outcome = chain.messages ();
  expect_equal (outcome.warnings.size (), gsize (1));
  fail_unless (outcome.warnings[0].find ("NV12:0x0100000000000001") != std::string::npos);
  fail_unless (outcome.errors.empty ());
}

#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/video/video-info-dma.h>

TEST (test_dma_drm_codes_are_gstreamers)
{
  ImportingDevice device;
  guint compared = 0;
  for (int n = GST_VIDEO_FORMAT_I420; n <= GST_VIDEO_FORMAT_Y412_LE; n++) {
    const auto format = GstVideoFormat (n);
    const guint32 code = gst_video_dma_drm_fourcc_from_format (format);
    Chain chain (std::string ("openclupload ! capsfilter caps=\"video/x-raw("
                              "memory:OpenCLMemory), format=")
                 + gst_video_format_to_string (format) + "\"");
    Owned<GstCaps> taken =
        accepted_of (chain, "video/x-raw(memory:DMABuf), format=DMA_DRM");
    if (code == 0 || gst_caps_is_empty (taken))
      continue;
    Owned<gchar> name = gst_video_dma_drm_fourcc_to_string (code, 0);
    const GValue *given =
        gst_structure_get_value (gst_caps_get_structure (taken, 0), "drm-format");
    expect_equal (g_value_get_string (gst_value_list_get_value (given, 0)),
        static_cast<gchar *> (name));
    compared++;
  }
  expect_equal (compared, GST_CHECK_VERSION (1, 28, 0)   ? 39u
                          : GST_CHECK_VERSION (1, 26, 0) ? 38u
                                                         : 37u);
}

/* As gst_video_info_dma_drm_to_video_info() and similar functions set it */
TEST (test_dma_drm_in_the_meta_is_the_format_of_the_caps)
{
  for (const char *extensions : {"cl_khr_external_memory_dma_buf", "cl_khr_fp64"}) {
    ImportingDevice device (extensions);
    const GstVideoInfo info = info_of ("NV12");
    PaddedLayout layout (info, 16, 16);
    Camera camera (pattern (layout.size, 3));
    Chain chain ("openclupload", drm_caps ("NV12"));
    GstBuffer *frame = camera.frame ();
    gst_buffer_add_video_meta_full (frame, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_DMA_DRM, 37, 11, 2, layout.offset, layout.stride);
    check_lines (chain.pass (frame), info, layout, 3);
  }
}
#endif

/* --- pools of downstream --- */

namespace {
/* A pool as of a display: memory with a file descriptor, and rows and planes that lie
 * apart */
struct DisplayPool {
  GstBufferPool parent;
  SharedPages *pages;
  GstAllocator *allocator;
};
using DisplayPoolClass = GstBufferPoolClass;
GType display_pool_get_type ();
G_DEFINE_TYPE (DisplayPool, display_pool, GST_TYPE_BUFFER_POOL)

const GstVideoInfo &
shown_info ()
{
  static GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 37, 11);
  return info;
}

const PaddedLayout &
shown_layout ()
{
  static const PaddedLayout layout (shown_info (), 7, 5);
  return layout;
}

GstFlowReturn
display_pool_alloc (GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *)
{
  auto *self = reinterpret_cast<DisplayPool *> (pool);
  *buffer = gst_buffer_new ();
  gst_buffer_append_memory (*buffer, gst_dmabuf_allocator_alloc (self->allocator,
                                         dup (self->pages->fd ()), shown_layout ().size));
  add_layout (*buffer, shown_info (), shown_layout ());
  return GST_FLOW_OK;
}

void
display_pool_class_init (DisplayPoolClass *klass)
{
  klass->alloc_buffer = display_pool_alloc;
}

void
display_pool_init (DisplayPool *self)
{
  self->pages = new SharedPages (Bytes (shown_layout ().size));
  self->allocator = gst_dmabuf_allocator_new ();
}

/* Frames of NV12 from opencldownload, with `pool` offered by downstream */
struct Shown {
  Chain chain{"openclupload ! opencldownload name=down"};
  const PaddedLayout dense{shown_info (), 0, 0};

  explicit Shown (GstBufferPool *pool)
  {
    offer_pool (chain, pool, guint (shown_layout ().size));
    chain.set_caps ("video/x-raw, format=NV12, width=37, height=11, framerate=30/1");
  }

  /* Passes a frame, and checks the result. Returns whether it is of `pool`. */
  bool passes_to (GstBufferPool *pool, guint seed)
  {
    Owned<GstBuffer> output = chain.pass (padded_buffer (shown_info (), dense, seed));
    check_lines (output, shown_info (), dense, seed);
    return output->pool == pool;
  }
};
} // namespace

TEST (test_downloads_go_to_the_memory_that_downstream_needs)
{
  ImportingDevice device ("cl_khr_fp64");
  Owned<GstBufferPool> pool =
      GST_BUFFER_POOL (g_object_new (display_pool_get_type (), nullptr));
  Shown shown (pool);
  for (guint seed = 0; seed < 5; seed++)
    fail_unless (shown.passes_to (pool, seed));
  expect_equal (device.imported (), 0u);
}

TEST (test_downloads_to_a_dma_buf_are_copies_on_the_device)
{
  ImportingDevice device;
  Owned<GstBufferPool> pool =
      GST_BUFFER_POOL (g_object_new (display_pool_get_type (), nullptr));
  Shown shown (pool);
  for (guint seed = 0; seed < 5; seed++)
    fail_unless (shown.passes_to (pool, seed));
  expect_equal (device.imported (), 1u);
  expect_equal (device.released (), 5u);
  expect_equal (counts_of (shown.chain.find ("opencldownload")).downloads, 0u);
}

TEST (test_downloads_to_a_dma_buf_that_the_device_refuses_are_copied)
{
  ImportingDevice device;
  Owned<GstBufferPool> pool =
      GST_BUFFER_POOL (g_object_new (display_pool_get_type (), nullptr));
  Shown shown (pool);
  device.fail_import (CL_INVALID_OPERATION);
  for (guint seed = 0; seed < 3; seed++)
    fail_unless (shown.passes_to (pool, seed));
  fail_unless (shown.chain.messages ().is_clean ());
}

/* The device's own memory needs no copy, or one less. */
TEST (test_downloads_do_not_go_to_plain_memory)
{
  Owned<GstBufferPool> pool = gst_video_buffer_pool_new ();
  Owned<GstCaps> caps = gst_video_info_to_caps (&shown_info ());
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, guint (shown_info ().size), 0, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  Shown shown (pool);
  fail_if (shown.passes_to (pool, 1));
}
