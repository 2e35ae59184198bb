/* Tests of bins that upload and download themselves: each does the same as the
 * written-out chain
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/base/gstaggregator.h>
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gst/opencl/gstopenclmemory.h>

using namespace check;

namespace {
const char ball[] =
    "videotestsrc num-buffers=2 pattern=ball background-color=0xff00ff00 ! "
    "video/x-raw,format=I420,width=98,height=52,framerate=25/1 ! ";
const char bars[] = "videotestsrc num-buffers=2 ! "
                    "video/x-raw,format=NV12,width=98,height=52,framerate=25/1 ! ";
const char to_rgba[] = " ! video/x-raw,format=RGBA ! appsink name=out sync=false";

/* Returns all frames at the end of the pipeline. */
std::vector<Bytes>
frames_of (const std::string &line)
{
  Pipeline pipeline (line);
  std::vector<Bytes> frames;
  pipeline.start ();
  while (Owned<GstSample> sample = pipeline.pull ())
    frames.push_back (read_buffer (gst_sample_get_buffer (sample)));
  fail_unless (pipeline.messages ().errors.empty (), "%s", line.c_str ());
  return frames;
}

void
expect_same_frames (const std::string &bin, const std::string &written_out)
{
  const std::vector<Bytes> got = frames_of (bin), expected = frames_of (written_out);
  fail_unless (expected.size () >= 2, "%zu frames", expected.size ());
  expect_equal (got.size (), expected.size ());
  for (size_t i = 0; i < got.size (); i++)
    assert_same (got[i], expected[i], bin);
}

/* Sets each property of `factory` on the bin, other than the default, and expects to read
 * it back from the element inside. Returns the number of properties. */
guint
count_forwarded (GstElement *bin, const char *factory)
{
  Owned<GstElement> part = gst_element_factory_make (factory, nullptr);
  guint n, found = 0;
  GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (part), &n);
  for (guint i = 0; i < n; i++) {
    if (specs[i]->owner_type != G_OBJECT_TYPE (part.operator->()))
      continue;
    GParamSpec *own =
        g_object_class_find_property (G_OBJECT_GET_CLASS (bin), specs[i]->name);
    fail_unless (own != nullptr, "no %s", specs[i]->name);
    expect_equal (own->value_type, specs[i]->value_type);
    found++;
  }
  g_free (specs);
  return found;
}

/* The first element of that factory in a bin */
Owned<GstElement>
part_of (GstElement *bin, const char *factory)
{
  for (GList *entry = GST_BIN_CHILDREN (GST_BIN (bin)); entry; entry = entry->next) {
    auto *element = GST_ELEMENT (entry->data);
    if (g_str_equal (GST_OBJECT_NAME (gst_element_get_factory (element)), factory))
      return hold (element);
  }
  ck_abort_msg ("no %s in the bin", factory);
  return nullptr;
}
} // namespace

/* --- openclconvertbin --- */

TEST (test_openclconvertbin_is_upload_conversion_and_download)
{
  const std::string small =
      " ! video/x-raw,width=40,height=30,pixel-aspect-ratio=1/1,format=RGBA ! "
      "appsink name=out sync=false";
  expect_same_frames (
      bars + std::string ("openclconvertbin scale-method=nearest") + small,
      bars
          + std::string ("openclupload ! openclconvert scale-method=nearest ! "
                         "opencldownload")
          + small);
}

/* Rectangles are those of videoconvertscale. */
TEST_ROWS (test_openclconvertbin_adds_borders_as_videoconvertscale,
    {"RGBA,width=320,height=180,pixel-aspect-ratio=1/1",
        "I420,width=200,height=200,pixel-aspect-ratio=1/1",
        "RGBA,width=200,height=201,pixel-aspect-ratio=1/1",
        "I420,width=336,height=78,pixel-aspect-ratio=1/1",
        "RGBA,width=333,height=77,pixel-aspect-ratio=1/1",
        "I420,width=64,height=48,pixel-aspect-ratio=2/1", "I420,width=64,height=48"})
{
  const std::string from = "videotestsrc num-buffers=2 pattern=white ! "
                           "video/x-raw,format=RGBA,width=101,height=57 ! ";
  const std::string to = " ! video/x-raw,format=" + std::string (row)
                         + " ! appsink "
                           "name=out sync=false";
  expect_same_frames (
      from + "openclconvertbin add-borders=true" + to, from + "videoconvertscale" + to);
}

TEST (test_openclconvertbin_has_the_properties_of_openclconvert)
{
  LoneElement bin ("openclconvertbin");
  fail_unless (count_forwarded (bin, "openclconvert") >= 6);
  Owned<GstElement> convert = part_of (bin, "openclconvert");
  gboolean borders = FALSE;
  Owned<gchar> device;
  g_object_set (bin.element, "add-borders", TRUE, "device", "cpu", nullptr);
  g_object_get (convert, "add-borders", &borders, "device", device.out (), nullptr);
  fail_unless (borders);
  expect_equal (device, "cpu");
}

TEST (test_openclconvertbin_copies_nothing_that_is_on_the_device)
{
  Harness harness ("openclconvertbin",
      "video/x-raw(memory:OpenCLMemory), format=GRAY8, width=64, height=32, "
      "framerate=25/1");
  Owned<GstOpenCLContext> context = new_context ();
  harness.pass (device_buffer (context, pattern (64 * 32, 1)));
  expect_equal (
      counts_of (part_of (harness.find ("openclconvertbin"), "openclupload")).uploads,
      0u);
}

/* --- openclfilterbin --- */

TEST (test_openclfilterbin_converts_for_a_filter_of_pictures)
{
  expect_same_frames (
      std::string (ball) + "openclfilterbin filter=\"chromakey ! keyfill\"" + to_rgba,
      std::string (ball)
          + "openclupload ! openclconvert ! chromakey ! keyfill ! openclconvert ! "
            "opencldownload"
          + to_rgba);
}

TEST (test_openclfilterbin_leaves_spectra_as_they_are)
{
  const std::string source =
      "octtestsrc num-buffers=2 ! "
      "video/x-raw(memory:OpenCLMemory),width=256,height=20 ! opencldownload ! ";
  const std::string end = " ! video/x-raw,format=GRAY8 ! appsink name=out sync=false";
  expect_same_frames (
      source + "openclfilterbin filter=\"octwindowinterp ! octfft\"" + end,
      source + "openclupload ! octwindowinterp ! octfft ! opencldownload" + end);
}

TEST (test_openclfilterbin_without_a_filter_says_so)
{
  LoneElement bin ("openclfilterbin");
  fail_if (bin.reaches_state (GST_STATE_PAUSED));
  bin.messages ().expect_one_error ({"filter is not set"});
}

TEST (test_openclfilterbin_rejects_other_elements_and_keeps_its_filter)
{
  LoneElement bin ("openclfilterbin");
  Owned<GstElement> filter = hold (launch ("openclconvert"));
  Owned<GstElement> sink = hold (launch ("fakesink"));
  g_object_set (bin.element, "filter", filter.operator->(), nullptr);
  g_object_set (bin.element, "filter", sink.operator->(), nullptr);
  expect_warnings (bin.bus, "a sink", {"filter has no pads sink and src"});
  Owned<GstElement> kept;
  g_object_get (bin.element, "filter", kept.out (), nullptr);
  fail_unless (kept == filter);
}

TEST (test_openclfilterbin_changes_filter_only_between_runs)
{
  const std::string caps = "video/x-raw, format=RGBA, width=8, height=8, framerate=25/1";
  Harness harness ("openclfilterbin filter=\"openclkernel expression=1-x\"", caps);
  Owned<GstElement> bin = harness.find ("openclfilterbin");
  const Bytes bytes (8 * 8 * 4, 10);
  const auto result = [&] { return read_buffer (harness.pass (buffer_of (bytes))); };
  assert_same (result (), Bytes (bytes.size (), 245), "inverted");

  g_object_set (bin, "filter", launch ("openclkernel expression=x"), nullptr);
  expect_warnings (
      harness.bus, "while playing", {"filter cannot be changed while playing"});
  assert_same (result (), Bytes (bytes.size (), 245), "as before");

  gst_element_set_state (harness.element (), GST_STATE_READY);
  g_object_set (bin, "filter", launch ("openclkernel expression=x"), nullptr);
  harness.restart (caps);
  assert_same (result (), bytes, "another filter");
}

TEST (test_bins_in_a_row_stay_on_the_device)
{
  Pipeline pipeline (bars
                     + std::string ("openclconvertbin ! openclfilterbin name=second "
                                    "filter=\"openclkernel expression=1-x\" ! fakesink"));
  pipeline.set_state (GST_STATE_PAUSED);
  Owned<GstCaps> caps = gst_pad_get_current_caps (pipeline.pad ("second", "sink"));
  fail_unless (gst_caps_features_contains (
      gst_caps_get_features (caps, 0), GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY));
  pipeline.play_to_eos ();
  expect_equal (counts_of (part_of (pipeline["second"], "openclupload")).uploads, 0u);
}

/* --- openclcompositorbin --- */

TEST (test_openclcompositorbin_is_the_compositor_of_streams_of_any_format)
{
  const std::string places = " name=mix background=black sink_1::xpos=30 sink_1::ypos=10 "
                             "sink_1::width=50 sink_1::alpha=0.5";
  const std::string end = std::string (to_rgba) + " ";
  expect_same_frames (
      "openclcompositorbin" + places + end + bars + "mix.sink_0 " + ball + "mix.sink_1",
      "openclcompositor" + places + " ! openclconvert ! opencldownload" + end + bars
          + "openclupload ! openclconvert ! mix.sink_0 " + ball
          + "openclupload ! openclconvert ! mix.sink_1");
}

TEST (test_openclcompositorbin_forwards_properties_and_pads)
{
  LoneElement bin ("openclcompositorbin");
  fail_unless (count_forwarded (bin, "openclcompositor") >= 2);
  Owned<GstElement> mix = part_of (bin, "openclcompositor");
  Owned<GstPad> pad = gst_element_request_pad_simple (bin, "sink_%u");
  Owned<GstElement> upload = part_of (bin, "openclupload");
  Owned<GstPad> place = gst_element_get_static_pad (mix, GST_OBJECT_NAME (pad));
  fail_unless (place);
  gint x = 0;
  gdouble alpha = 0;
  g_object_set (pad, "xpos", 17, "alpha", 0.25, nullptr);
  g_object_get (place, "xpos", &x, "alpha", &alpha, nullptr);
  expect_equal (x, 17);
  expect_equal (alpha, 0.25);
  /* An application that only knows names can set it */
  gst_child_proxy_set (GST_CHILD_PROXY (bin.element.operator->()), "sink_0::ypos", 5,
      (GST_OBJECT_NAME (upload) + std::string ("::async-depth")).c_str (), 2, nullptr);
  g_object_get (place, "ypos", &x, nullptr);
  expect_equal (x, 5);
  gst_element_release_request_pad (bin, pad);
}

/* All but threads of the CPU, and a property that only the constructor sets */
TEST (test_openclcompositorbin_has_the_properties_of_compositor)
{
  LoneElement bin ("openclcompositorbin");
  Owned<GstElement> compositor = gst_element_factory_make ("compositor", nullptr);
  Owned<GstPad> pad = gst_element_request_pad_simple (bin, "sink_%u");
  Owned<GstPad> reference = gst_element_request_pad_simple (compositor, "sink_%u");
  const std::pair<gpointer, gpointer> pairs[] = {
      {bin.element.operator->(), compositor.operator->()},
      {pad.operator->(), reference.operator->()}};
  for (const auto &[ours, theirs] : pairs) {
    guint n;
    GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (theirs), &n);
    for (guint i = 0; i < n; i++) {
      const std::string name = specs[i]->name;
      GParamSpec *own =
          g_object_class_find_property (G_OBJECT_GET_CLASS (ours), name.c_str ());
      fail_unless (
          own || name == "max-threads" || name == "force-live", "no %s", name.c_str ());
    }
    g_free (specs);
  }
  g_object_set (bin.element.operator->(), "ignore-inactive-pads", TRUE, nullptr);
  Owned<GstElement> mix = part_of (bin, "openclcompositor");
  fail_unless (gst_aggregator_get_ignore_inactive_pads (
      reinterpret_cast<GstAggregator *> (mix.operator->())));
}

TEST (test_openclcompositorbin_emits_signals_of_the_aggregator)
{
  Pipeline pipeline (std::string (bars)
                     + "openclcompositorbin name=mix emit-signals=true "
                       "sink_0::emit-signals=true ! fakesink");
  guint selected = 0, consumed = 0;
  const auto count = +[] (guint *counter) { ++*counter; };
  g_signal_connect_swapped (
      pipeline["mix"], "samples-selected", G_CALLBACK (count), &selected);
  g_signal_connect_swapped (pipeline.pad ("mix", "sink_0").operator->(),
      "buffer-consumed", G_CALLBACK (count), &consumed);
  pipeline.play_to_eos ();
  expect_equal (selected, 2u);
  expect_equal (consumed, 2u);
}

/* `smptealpha` drops the colorimetry, which is of full range. */
TEST (test_openclcompositorbin_keeps_the_range_of_transitions)
{
  const std::string source = "videotestsrc num-buffers=2 pattern=red ! video/x-raw,"
                             "format=I420,width=32,height=32,colorimetry=1:4:0:0 ! ";
  expect_same_frames (
      source + "queue ! smptealpha ! queue ! openclcompositorbin background=black"
          + to_rgba,
      source + "openclcompositorbin background=black" + to_rgba);
}

TEST (test_openclcompositorbin_gives_back_what_a_pad_took)
{
  LoneElement bin ("openclcompositorbin");
  fail_unless (bin.reaches_state (GST_STATE_READY));
  const gint before = GST_BIN_NUMCHILDREN (bin.element.operator->());
  for (guint i = 0; i < 3; i++) {
    Owned<GstPad> first = gst_element_request_pad_simple (bin, "sink_%u");
    Owned<GstPad> second = gst_element_request_pad_simple (bin, "sink_%u");
    expect_equal (GST_BIN_NUMCHILDREN (bin.element.operator->()), before + 4);
    gst_element_release_request_pad (bin, first);
    gst_element_release_request_pad (bin, second);
    expect_equal (GST_BIN_NUMCHILDREN (bin.element.operator->()), before);
  }
  Owned<GstPad> left = gst_element_request_pad_simple (bin, "sink_%u");
}

TEST (test_openclcompositorbin_takes_a_stream_while_it_plays)
{
  Pipeline pipeline ("videotestsrc is-live=true ! video/x-raw,width=64,height=48 ! "
                     "openclcompositorbin name=mix background=black ! "
                     "video/x-raw,format=RGBA,width=64,height=48 ! "
                     "appsink name=out sync=false max-buffers=2 drop=true");
  pipeline.start ();
  fail_unless (pipeline.pull ());
  Owned<GstElement> source = hold (launch ("videotestsrc pattern=blue is-live=true"));
  gst_bin_add (GST_BIN (pipeline.pipeline.operator->()), source);
  Owned<GstPad> pad = gst_element_request_pad_simple (pipeline["mix"], "sink_%u");
  Owned<GstPad> from = gst_element_get_static_pad (source, "src");
  expect_equal (gst_pad_link (from, pad), GST_PAD_LINK_OK);
  gst_element_sync_state_with_parent (source);
  const auto is_blue = [&] {
    Owned<GstSample> sample = pipeline.pull ();
    const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
    return bytes[0] < 16 && bytes[1] < 16 && bytes[2] > 240;
  };
  fail_unless (soon (is_blue));
  fail_unless (pipeline.messages ().errors.empty ());
}

/* --- animation --- */

namespace {
#define WHITE                                                                            \
  "videotestsrc num-buffers=11 pattern=white ! "                                         \
  "video/x-raw,format=RGBA,width=16,height=16,framerate=10/1 ! "
struct Animated {
  const char *label, *line;
  bool is_pad;
  const char *property;
};
const Animated animated[] = {
    {"pad of openclcompositorbin",
        WHITE "mix.sink_0 openclcompositorbin name=mix background=black", true, "alpha"},
    {"greenscreenbin",
        WHITE "greenscreenbin name=mix method=distance auto-key=none core=false", false,
        "opacity"},
};
} // namespace

/* From 0 to 1 within a second */
TEST_ROWS (test_bins_follow_control_bindings, animated)
{
  Pipeline pipeline (std::string (row.line) + to_rgba);
  Owned<GstPad> pad = pipeline.pad ("mix", row.is_pad ? "sink_0" : "sink");
  GstObject *object =
      row.is_pad ? GST_OBJECT_CAST (pad.operator->()) : GST_OBJECT_CAST (pipeline["mix"]);
  GstControlSource *source = gst_interpolation_control_source_new ();
  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, nullptr);
  gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source), 0, 0);
  gst_timed_value_control_source_set (
      GST_TIMED_VALUE_CONTROL_SOURCE (source), GST_SECOND, 1);
  fail_unless (gst_object_add_control_binding (
      object, gst_direct_control_binding_new (object, row.property, source)));
  gst_object_unref (source);
  pipeline.start ();
  for (int n = 0; n < 11; n++) {
    Owned<GstSample> sample = pipeline.pull ();
    fail_unless (sample != nullptr);
    const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
    fail_unless (std::abs (bytes[0] - 25.5 * n) <= 2, "frame %d is %d", n, bytes[0]);
  }
}
