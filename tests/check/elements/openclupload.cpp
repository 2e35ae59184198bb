/* Tests of openclupload
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-counting.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include "transfer-chain.hpp"

#include <gst/audio/audio.h>

using namespace check;

/* --- pad templates --- */

namespace {
/* Editors choose a family of elements by these, as GES's GESVideoElementSelector does. */
bool
has_video (GstElementFactory *factory, GstPadDirection direction, const char *memory)
{
  const GList *item = gst_element_factory_get_static_pad_templates (factory);
  for (; item; item = item->next) {
    auto *pad = static_cast<GstStaticPadTemplate *> (item->data);
    const Owned<GstCaps> caps = gst_static_pad_template_get_caps (pad);
    for (guint n = 0; pad->direction == direction && n < gst_caps_get_size (caps); n++) {
      const GstStructure *structure = gst_caps_get_structure (caps, n);
      const GstCapsFeatures *features = gst_caps_get_features (caps, n);
      if (gst_structure_has_name (structure, "video/x-raw")
          && !gst_caps_features_is_any (features)
          && gst_caps_features_contains (features, memory)
          && gst_structure_has_field (structure, "format")
          && gst_structure_has_field (structure, "width")
          && gst_structure_has_field (structure, "framerate"))
        return true;
    }
  }
  return false;
}
} // namespace

TEST (test_templates_of_uploads_and_downloads_name_video)
{
  const struct {
    const char *name, *klass, *sink, *source;
  } rows[] = {
      {"openclupload", "Uploader", "memory:SystemMemory", "memory:OpenCLMemory"},
      {"openclupload", "Uploader", "memory:DMABuf", "memory:OpenCLMemory"},
      {"openclupload", "Uploader", "memory:GLMemory", "memory:OpenCLMemory"},
      {"opencldownload", "Downloader", "memory:OpenCLMemory", "memory:SystemMemory"},
      {"opencldownload", "Downloader", "memory:OpenCLMemory", "memory:GLMemory"},
  };
  for (const auto &row : rows) {
    const Owned<GstElementFactory> factory = gst_element_factory_find (row.name);
    const gchar *klass =
        gst_element_factory_get_metadata (factory, GST_ELEMENT_METADATA_KLASS);
    fail_unless (strstr (klass, row.klass) && strstr (klass, "Video"), "%s", klass);
    fail_unless (
        has_video (factory, GST_PAD_SINK, row.sink), "%s: %s", row.name, row.sink);
    fail_unless (
        has_video (factory, GST_PAD_SRC, row.source), "%s: %s", row.name, row.source);
    for (const char *format : {"NV12", "GRAY8", "RGBA64_LE"}) {
      const Owned<GstCaps> sink = gst_caps_from_string (text (
          "video/x-raw(%s),format=%s,width=64,height=48,framerate=25/1", row.sink, format)
                                                            .c_str ());
      const Owned<GstCaps> source = gst_caps_from_string (
          text ("video/x-raw(%s),format=%s,width=64,height=48,framerate=25/1", row.source,
              format)
              .c_str ());
      fail_unless (gst_element_factory_can_sink_all_caps (factory, sink));
      fail_unless (gst_element_factory_can_sink_any_caps (factory, sink));
      fail_unless (gst_element_factory_can_src_all_caps (factory, source));
      fail_unless (gst_element_factory_can_src_any_caps (factory, source));
    }
  }
}

/* Uploads of other caps link as they did. */
TEST (test_pads_take_caps_that_the_templates_do_not_name)
{
  for (const char *name : {"openclupload", "opencldownload"}) {
    const Owned<GstElement> element = gst_element_factory_make (name, nullptr);
    for (const char *pad_name : {"sink", "src"}) {
      const Owned<GstPad> pad = gst_element_get_static_pad (element, pad_name);
      const Owned<GstCaps> caps = gst_pad_query_caps (pad, nullptr);
      fail_unless (gst_caps_is_any (caps), "%s %s", name, pad_name);
    }
  }
}

/* --- bytes --- */

TEST (test_every_video_format_comes_back_as_it_was)
{
  guint n_formats;
  const GstVideoFormat *formats = gst_video_formats_raw (&n_formats);
  /* Odd sizes, and more rows than a palette has entries */
  const gint sizes[][2] = {{17, 13}, {33, 301}};
  Chain chain ("openclupload ! opencldownload");

  fail_unless (n_formats > 100);
  for (guint i = 0; i < n_formats; i++) {
    for (const auto &size : sizes) {
      GstVideoInfo info;
      fail_unless (gst_video_info_set_format (&info, formats[i], size[0], size[1]));
      gst_harness_set_src_caps (chain, gst_video_info_to_caps (&info));
      GstBuffer *input = pattern_buffer (info.size, i);
      fail_unless (chain.push (input) == GST_FLOW_OK, "%s: %s",
          GST_VIDEO_INFO_NAME (&info), chain.messages ().errors[0].c_str ());
      Owned<GstBuffer> output = gst_harness_pull (chain.harness);
      check_pattern (output, info.size, i);
    }
  }
  fail_unless (chain.messages ().errors.empty ());
}

static const char *const linear_formats[] = {"GRAY8", "GRAY16_LE", "I420", "NV12", "NV21",
    "Y42B", "Y444", "RGB", "RGBA", "UYVY", "P010_10LE", "A420", "YVU9", "RGB16"};

/* Six rows have three rows of chroma, but two in each field. */
TEST (test_each_field_keeps_all_its_lines_of_chroma)
{
  for (const char *format : {"I420", "NV12"}) {
    GstVideoInfo info;
    fail_unless (gst_video_info_set_interlaced_format (&info,
        gst_video_format_from_string (format), GST_VIDEO_INTERLACE_MODE_INTERLEAVED, 10,
        6));
    Chain chain ("openclupload ! opencldownload");
    gst_harness_set_src_caps (chain, gst_video_info_to_caps (&info));
    PaddedLayout layout (info, 7, 5);
    const Bytes sent = pattern (layout.size, 1);
    Owned<GstBuffer> output = chain.pass (padded_buffer (info, layout, 1));
    GstVideoFrame frame;
    fail_unless (gst_video_frame_map (&frame, &info, output, GST_MAP_READ));
    for (guint p = 1; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      auto *line = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, p))
                   + 3 * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);
      const auto *expected = &sent[layout.offset[p] + 3 * layout.stride[p]];
      for (gsize x = 0; x < bytes_of_line (info, p); x++)
        expect_equal (line[x], expected[x]);
    }
    gst_video_frame_unmap (&frame);
  }
}

/* Planes that cannot be copied row by row */
TEST (test_gaps_between_tiled_planes_and_before_a_palette_are_honoured)
{
  for (const char *format : {"NV12_4L4", "NV12_64Z32", "NV12_32L32", "RGB8P"}) {
    constexpr gsize gap = 7;
    GstVideoInfo info;
    fail_unless (gst_video_info_set_format (
        &info, gst_video_format_from_string (format), 100, 60));
    Chain chain ("openclupload ! opencldownload");
    gst_harness_set_src_caps (chain, gst_video_info_to_caps (&info));
    GstBuffer *input = pattern_buffer (info.size + gap, 8);
    gsize offset[GST_VIDEO_MAX_PLANES] = {0, info.offset[1] + gap};
    gst_buffer_add_video_meta_full (input, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&info), 100, 60, 2, offset, info.stride);

    Owned<GstBuffer> output = chain.pass (input);
    Bytes expected = pattern (info.size + gap, 8);
    expected.erase (
        expected.begin () + info.offset[1], expected.begin () + info.offset[1] + gap);
    assert_same (read_buffer (output), expected, format);
  }
}

TEST (test_output_has_one_device_memory_and_the_default_layout)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 37, 11);
  PaddedLayout layout (info, 3, 9);
  Chain chain ("openclupload");
  gst_harness_set_src_caps (chain, gst_video_info_to_caps (&info));

  Owned<GstBuffer> output = chain.pass (padded_buffer (info, layout, 1));
  expect_equal (gst_buffer_n_memory (output), 1);
  fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (output, 0)));
  expect_equal (gst_buffer_get_size (output), info.size);
  GstVideoMeta *meta = gst_buffer_get_video_meta (output);
  fail_unless (meta != nullptr);
  for (guint p = 0; p < 2; p++) {
    expect_equal (meta->stride[p], info.stride[p]);
    expect_equal (meta->offset[p], info.offset[p]);
  }
}

TEST (test_buffers_of_any_size_come_back_as_they_were)
{
  const char *const caps[] = {"application/octet-stream",
      "application/x-oct, domain=wavelength, format=U16LE, samples=64, lines=2",
      "audio/x-raw, format=S16LE, rate=48000, channels=2, layout=interleaved"};
  const gsize sizes[] = {4, 0, 4096, 1, 100000, 3, 0, 65536, 99999};

  for (const char *these : caps) {
    Chain chain ("openclupload ! opencldownload", these);
    guint seed = 0;
    for (gsize size : sizes) {
      seed++;
      check_pattern (chain.pass (pattern_buffer (size, seed)), size, seed);
    }
    fail_unless (chain.messages ().errors.empty ());
  }
}

TEST (test_held_buffers_keep_their_bytes_when_larger_ones_arrive)
{
  Chain chain ("openclupload", "application/octet-stream");
  const gsize sizes[] = {10, 1000, 100, 50000, 7};
  std::vector<Owned<GstBuffer>> held;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    held.push_back (chain.pass (pattern_buffer (sizes[i], i)));
  for (guint i = 0; i < held.size (); i++)
    check_pattern (held[i], sizes[i], i);
}

TEST (test_alternate_fields_come_back_as_they_were)
{
  Chain chain ("openclupload ! opencldownload",
      "video/x-raw(format:Interlaced), format=I420, width=18, height=14, "
      "framerate=25/1, interlace-mode=alternate");
  GstVideoInfo info;
  Owned<GstCaps> caps = chain.caps ();
  fail_unless (caps != nullptr);
  fail_unless (gst_video_info_from_caps (&info, caps));
  Owned<gchar> features = gst_caps_features_to_string (gst_caps_get_features (caps, 0));
  expect_equal (features, "format:Interlaced");
  check_pattern (chain.pass (pattern_buffer (info.size, 3)), info.size, 3);
}

/* --- metas --- */

TEST (test_timestamps_flags_and_metas_are_kept)
{
  Chain chain ("openclupload ! opencldownload", system_gray);
  Owned<GstCaps> reference = gst_caps_new_empty_simple ("timestamp/x-test");
  GstBuffer *buffer = pattern_buffer (gray_size, 1);
  GST_BUFFER_PTS (buffer) = 5 * GST_SECOND;
  GST_BUFFER_DTS (buffer) = 4 * GST_SECOND;
  GST_BUFFER_DURATION (buffer) = GST_SECOND;
  GST_BUFFER_OFFSET (buffer) = 42;
  GST_BUFFER_OFFSET_END (buffer) = 43;
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
  gst_buffer_add_reference_timestamp_meta (buffer, reference, 77, 88);
  gst_buffer_add_video_region_of_interest_meta (buffer, "eye", 1, 2, 3, 4);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);
  crop->width = 10;

  Owned<GstBuffer> output = chain.pass (buffer);
  expect_equal (GST_BUFFER_PTS (output), 5 * GST_SECOND);
  expect_equal (GST_BUFFER_DTS (output), 4 * GST_SECOND);
  expect_equal (GST_BUFFER_DURATION (output), GST_SECOND);
  expect_equal (GST_BUFFER_OFFSET (output), 42);
  expect_equal (GST_BUFFER_OFFSET_END (output), 43);
  fail_unless (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_DISCONT));
  fail_unless (GST_BUFFER_FLAG_IS_SET (output, GST_BUFFER_FLAG_MARKER));
  GstReferenceTimestampMeta *time =
      gst_buffer_get_reference_timestamp_meta (output, reference);
  fail_unless (time != nullptr);
  expect_equal (time->timestamp, 77);
  fail_unless (gst_buffer_get_meta (output, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
               != nullptr);
  fail_unless (gst_buffer_get_video_crop_meta (output) != nullptr);
  expect_equal (gst_buffer_get_video_crop_meta (output)->width, 10);
}

/* Bytes are copied unchanged, so the positions of channels remain valid. */
TEST (test_planar_audio_keeps_its_audio_meta)
{
  Chain chain ("openclupload ! opencldownload",
      "audio/x-raw, format=S16LE, rate=48000, channels=2, layout=non-interleaved");
  GstAudioInfo info;
  gsize offsets[2] = {512, 0};
  gst_audio_info_set_format (&info, GST_AUDIO_FORMAT_S16LE, 48000, 2, nullptr);
  info.layout = GST_AUDIO_LAYOUT_NON_INTERLEAVED;
  GstBuffer *buffer = pattern_buffer (1024, 2);
  gst_buffer_add_audio_meta (buffer, &info, 256, offsets);

  Owned<GstBuffer> output = chain.pass (buffer);
  GstAudioMeta *meta = gst_buffer_get_audio_meta (output);
  fail_unless (meta != nullptr);
  expect_equal (meta->samples, 256);
  expect_equal (meta->offsets[0], 512);
  check_pattern (output, 1024, 2);
}

TEST (test_device_memory_passes_through)
{
  Chain chain ("openclupload", device_gray);
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstBuffer> buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, gst_opencl_memory_new (context, gray_size, nullptr));

  Owned<GstBuffer> output = chain.pass (gst_buffer_ref (buffer));
  fail_unless (output == buffer);
}

/* --- pinned memory, and calls that do not wait --- */

static bool
is_of_the_host (const Allocation &offered)
{
  return gst_opencl_buffer_pool_is_host (GST_OPENCL_BUFFER_POOL (offered.pool));
}

/* Pinned memory, or device memory if the host shares it */
TEST (test_a_pool_is_offered_upstream)
{
  Chain chain ("openclupload", system_gray);
  const Allocation offered = query_allocation (chain, system_gray);

  fail_unless (GST_IS_OPENCL_BUFFER_POOL (offered.pool));
  expect_equal (is_of_the_host (offered), !shares_memory ());
  expect_equal (offered.size, gray_size);
  fail_unless (
      gst_query_find_allocation_meta (offered.query, GST_VIDEO_META_API_TYPE, nullptr));
}

static bool
is_offered_memory (GstMemory *memory)
{
  return shares_memory () ? gst_is_opencl_memory (memory)
                          : gst_is_opencl_host_memory (memory);
}

TEST (test_a_source_fills_the_memory_that_it_is_offered)
{
  Pipeline pipeline ("videotestsrc num-buffers=30 ! video/x-raw, format=I420, "
                     "width=321, height=99 ! openclupload name=up ! fakesink");
  guint counts[2] = {0, 0};
  watch (pipeline.pad ("up", "sink"), GST_PAD_PROBE_TYPE_BUFFER,
      [&counts] (GstPadProbeInfo *info) {
        GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
        counts[gst_buffer_n_memory (buffer) == 1
               && is_offered_memory (gst_buffer_peek_memory (buffer, 0))]++;
        return GST_PAD_PROBE_OK;
      });

  pipeline.play_to_eos ();
  expect_equal (counts[1], 30);
  expect_equal (counts[0], 0);
}

TEST (test_everyone_who_asks_is_offered_the_same)
{
  Chain chain ("openclupload ! openclupload", system_gray);
  for (guint i = 0; i < 3; i++)
    expect_equal (
        is_of_the_host (query_allocation (chain, system_gray)), !shares_memory ());
}

/* A frame in a buffer of the offered pool */
static GstBuffer *
frame_of_offered_pool (Chain &chain, guint seed)
{
  const Allocation offered = query_allocation (chain, system_gray);
  return filled_buffer (offered.pool, pattern (gray_size, seed)).give ();
}

/* One upload of the frame's bytes, or none and the same memory if it is shared. */
TEST (test_a_frame_in_offered_memory_costs_what_the_device_promises)
{
  const bool shares = shares_memory ();
  Chain chain ("openclupload name=up ! identity", system_gray);
  for (guint i = 0; i < 5; i++) {
    GstBuffer *input = frame_of_offered_pool (chain, i);
    Owned<GstMemory> memory = gst_buffer_get_memory (input, 0);
    const unsigned writes = counting::count (counting::ENQUEUE_WRITE);
    Owned<GstBuffer> output = chain.pass (input);
    expect_equal (gst_buffer_peek_memory (output, 0) == memory, shares);
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (output, 0)));
    expect_equal (counting::count (counting::ENQUEUE_WRITE) - writes, shares ? 0 : 1);
    check_pattern (output, gray_size, i);
  }
  const GstOpenCLCounts counts = counts_of (chain.element (), "up");
  expect_equal (counts.uploads, shares ? 0 : 5);
  expect_equal (counts.upload_bytes, shares ? 0 : 5 * gray_size);
  expect_equal (counts.launches, 0);
  expect_equal (counts.host_waits, 0);
}

/* The source keeps a reference to a frame that downstream writes. */
TEST (test_what_is_written_downstream_does_not_reach_the_source)
{
  Chain chain ("openclupload", system_gray);
  Owned<GstBuffer> input = frame_of_offered_pool (chain, 3);
  Owned<GstBuffer> output =
      gst_buffer_make_writable (chain.pass (gst_buffer_ref (input)).give ());
  gst_buffer_memset (output, 0, 0xaa, gray_size);
  check_pattern (input, gray_size, 3);
}

TEST (test_ordinary_memory_is_uploaded_once_on_any_device)
{
  Chain chain ("openclupload name=up ! identity", system_gray);
  for (guint i = 0; i < 5; i++)
    chain.pass (pattern_buffer (gray_size, i));
  const GstOpenCLCounts counts = counts_of (chain.element (), "up");
  expect_equal (counts.uploads, 5);
  expect_equal (counts.upload_bytes, 5 * gray_size);
}

TEST (test_host_runs_ahead_by_async_depth_frames_and_no_more)
{
  Chain chain ("openclupload async-depth=3", system_gray);
  Owned<GstOpenCLContext> context = new_context ();
  Gate gate (context, GST_OPENCL_QUEUE_UPLOAD);
  for (guint i = 0; i < 3; i++)
    chain.push (pattern_buffer (gray_size, i));
  expect_equal (gst_harness_buffers_received (chain), 3);

  std::thread fourth ([&] { chain.push (pattern_buffer (gray_size, 3)); });
  g_usleep (100000);
  expect_equal (gst_harness_buffers_received (chain), 3);
  gate.open ();
  fourth.join ();
  for (guint i = 0; i < 4; i++) {
    Owned<GstBuffer> output = gst_harness_pull (chain.harness);
    check_pattern (output, gray_size, i);
  }
}

/* --- caps --- */

struct Negotiation {
  const char *line;
  const char *offered;
  const char *expected;
};

static const Negotiation negotiations[] = {
    {"openclupload", "video/x-raw, format=RGB, width=4, height=4",
        "video/x-raw(memory:OpenCLMemory), format=RGB, width=4, height=4"},
    {"openclupload", "video/x-raw(memory:OpenCLMemory), format=RGB, width=4, height=4",
        "video/x-raw(memory:OpenCLMemory), format=RGB, width=4, height=4"},
    {"openclupload", "application/x-anything, what=1",
        "application/x-anything(memory:OpenCLMemory), what=1"},
    {"openclupload ! openclupload", "video/x-raw, format=RGB, width=4, height=4",
        "video/x-raw(memory:OpenCLMemory), format=RGB, width=4, height=4"},
    {"openclupload ! opencldownload ! openclupload",
        "video/x-raw, format=RGB, width=4, height=4",
        "video/x-raw(memory:OpenCLMemory), format=RGB, width=4, height=4"},
    {"openclupload",
        "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=RGB, "
        "width=4, height=4",
        "video/x-raw(memory:OpenCLMemory, meta:GstVideoOverlayComposition), format=RGB, "
        "width=4, height=4"},
    {"openclupload ! opencldownload",
        "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=RGB, "
        "width=4, height=4",
        "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), format=RGB, "
        "width=4, height=4"},
};

TEST (test_caps_become_those_of_device_memory)
{
  for (const Negotiation &negotiation : negotiations) {
    Chain chain (negotiation.line, negotiation.offered);
    Owned<GstCaps> expected = gst_caps_from_string (negotiation.expected);
    Owned<GstCaps> caps = chain.caps ();
    fail_unless (caps && gst_caps_is_subset (caps, expected),
        "%s with %s gives %s, expected %s", negotiation.line, negotiation.offered,
        caps ? gst_caps_to_string (caps) : "none", negotiation.expected);
  }
}

/* Launch lines with memory:ANY, with ranges, or without features */
TEST (test_links_with_what_people_put_around_it)
{
  const char *const lines[] = {
      "videotestsrc num-buffers=3 ! openclupload ! videorate ! opencldownload ! fakesink",
      "videotestsrc num-buffers=3 ! openclupload ! video/x-raw(ANY) ! fakesink",
      "videotestsrc num-buffers=3 ! openclupload ! "
      "video/x-raw(memory:OpenCLMemory),format=I420 ! queue ! tee ! identity ! fakesink",
      "videotestsrc num-buffers=3 ! opencldownload ! openclupload ! fakesink",
      "videotestsrc num-buffers=3 ! videoconvert ! openclupload ! opencldownload ! "
      "videorate ! videoconvert ! videoscale ! video/x-raw,width=100 ! fakesink",
      "audiotestsrc num-buffers=3 ! openclupload ! opencldownload ! audioconvert ! "
      "audioresample ! fakesink",
  };
  for (const char *line : lines) {
    Outcome outcome = run (line);
    fail_unless (outcome.eos && outcome.errors.empty (), "%s: %s", line,
        outcome.errors.empty () ? "" : outcome.errors[0].c_str ());
  }
}

/* --- errors --- */

TEST (test_a_short_frame_is_a_warning_that_names_both_sizes)
{
  Chain chain ("openclupload name=up", system_gray);
  for (guint i = 0; i < 2; i++)
    expect_equal (chain.push (pattern_buffer (gray_size, i)), GST_FLOW_OK);
  expect_equal (chain.push (pattern_buffer (gray_size - 1, 9)), GST_FLOW_OK);

  expect_contains (chain.messages ().warnings.at (0), {"2047", "2048"});
  for (guint i = 0; i < 2; i++) {
    Owned<GstBuffer> earlier = gst_harness_pull (chain.harness);
    check_pattern (earlier, gray_size, i);
  }
}

/* A GstVideoMeta gives the offsets of the planes, in memory of any size. */
TEST (test_a_frame_with_a_meta_may_be_part_of_a_larger_buffer)
{
  Chain chain ("openclupload ! opencldownload", system_gray);
  GstBuffer *buffer = pattern_buffer (4 * gray_size, 1);
  gst_buffer_add_video_meta (
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 64, 32);
  check_pattern (chain.pass (buffer), gray_size, 1);
  fail_unless (chain.messages ().is_clean ());
}

TEST_ROWS (test_video_without_pixels_is_refused,
    {"width=0,height=2", "width=2,height=0", "width=0,height=0"})
{
  const std::string text = "video/x-raw,format=RGBA,framerate=30/1," + std::string (row);
  for (const char *element : {"openclupload", "opencldownload"}) {
    Chain chain (element, system_gray);
    gst_harness_set_src_caps (chain.harness, gst_caps_from_string (text.c_str ()));
    expect_equal (chain.push (pattern_buffer (gray_size, 1)), GST_FLOW_NOT_NEGOTIATED);
  }
}

struct Unallocatable {
  const char *caps;
  gsize size;
  const char *named; /* part of the message */
};

static const Unallocatable unallocatable[] = {
    {system_gray, gray_size, "2048"}, {"application/octet-stream", 3000, "3000"}};

TEST (test_no_device_memory_is_one_error_and_ready_mends_it)
{
  for (const Unallocatable &frame : unallocatable) {
    Chain chain ("openclupload name=up", frame.caps);
    counting::fail_buffers_after (0);
    GstFlowReturn flow = chain.push (pattern_buffer (frame.size, 1));
    counting::fail_buffers_after (-1);
    expect_equal (flow, GST_FLOW_ERROR);
    chain.messages ().expect_one_error ({frame.named});

    chain.restart (frame.caps);
    Owned<GstBuffer> output = chain.pass (pattern_buffer (frame.size, 2));
    check_pattern (output, frame.size, 2);
    fail_unless (chain.messages ().errors.empty ());
  }
}

/* Later frames fail too: no earlier frame is lost, and nothing hangs. */
TEST (test_device_memory_that_runs_out_later_loses_no_earlier_frame)
{
  const guint room = GST_OPENCL_MIN_BUFFERS;
  Chain chain ("openclupload", system_gray);
  counting::fail_buffers_after (room);
  for (guint i = 0; i < room + 2; i++)
    chain.push (pattern_buffer (gray_size, i));
  counting::fail_buffers_after (-1);
  expect_equal (gst_harness_buffers_received (chain), room);
  for (guint i = 0; i < room; i++) {
    Owned<GstBuffer> output = gst_harness_pull (chain.harness);
    check_pattern (output, gray_size, i);
  }
}

TEST_ROWS (test_an_unknown_device_is_one_error_that_names_it, {"environment", "property"})
{
  LoneElement upload ("openclupload");
  if (g_str_equal (row, "environment"))
    g_setenv ("GST_OPENCL_DEVICE", "nonsense", TRUE);
  else
    g_object_set (static_cast<GstElement *> (upload), "device", "nonsense", nullptr);
  fail_if (upload.reaches_state (GST_STATE_PAUSED));
  upload.messages ().expect_one_error ({"nonsense"});

  g_unsetenv ("GST_OPENCL_DEVICE");
  g_object_set (static_cast<GstElement *> (upload), "device", "0:0", nullptr);
  fail_unless (
      upload.reaches_state (GST_STATE_NULL) && upload.reaches_state (GST_STATE_PAUSED));
}
