/* Tests that fusing keying elements into one launch changes no output. The reference is
 * each element in a pipeline of its own.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"
#include <gst/opencl/device/gstopencldeferral.h>
#include "tests/check/elements/keyingreference.hpp"
#include "tests/check/harness.hpp"

#include <gst/opencl/core/memory.hpp>

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;
using keying_frames::Format;
using keying_frames::formats;

namespace {
const char chroma[] = "chromakey name=chroma key-color=0xff0afa19 tolerance=0.03";
using Elements = std::vector<std::string>;

const Elements whole_run = {chroma, "noisereduce name=first iterations=5",
    "flowkey name=flow iterations=3", "noisereduce name=last iterations=5"};

std::string
chain_of (const Elements &elements)
{
  std::string chain;
  for (const std::string &element : elements)
    chain += (chain.empty () ? "" : " ! ") + element;
  return chain;
}

/* Returns the output of each element in a pipeline of its own, fed with the mapped output
 * of the previous one. */
std::vector<Picture>
one_by_one (const std::vector<ElementUnderTest *> &elements, const Picture &picture,
    const Format &format = formats[0])
{
  std::vector<Picture> pictures;
  Owned<GstBuffer> buffer = elements[0]->make_buffer (picture, format, {0, 0});
  for (ElementUnderTest *element : elements) {
    buffer = element->pass (buffer.give (), picture, format);
    pictures.push_back (element->read_buffer (buffer, picture, format));
  }
  return pictures;
}

std::vector<Picture>
one_by_one (
    const Elements &elements, const Picture &picture, const Format &format = formats[0])
{
  std::vector<std::unique_ptr<ElementUnderTest>> alone;
  std::vector<ElementUnderTest *> all;
  for (const std::string &element : elements) {
    alone.push_back (std::make_unique<ElementUnderTest> (element.c_str ()));
    all.push_back (alone.back ().get ());
  }
  return one_by_one (all, picture, format);
}

guint64
launches_of (GstElement *element)
{
  return counts_of (element).launches;
}

guint64
launches_of (ElementUnderTest &elements, const char *name)
{
  GstElement *bin = elements.get_harness ()->element;
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (bin), name);
  return launches_of (element);
}

std::string
random_element (Random &random)
{
  return random.below (2)
             ? text ("noisereduce fill-iterations=%u iterations=%u",
                 random.below (3) ? 0 : random.below (4), random.below (12))
             : text ("flowkey iterations=%u tolerance=%.3f limit=%.2f", random.below (9),
                 0.02 * random.below (3), random.below (3) ? 0 : 0.3 * random.below (2));
}

/* Frames with deferred work, and their expected contents */
struct Pending {
  Pending () : element (chroma), picture (noise (200, 90, 21, 5))
  {
    ElementUnderTest taker ("noisereduce"); /* registers the offer's type */
    taker.run (picture);
    gst_harness_add_propose_allocation_meta (
        element.get_harness (), g_type_from_name ("GstKeyingDeferredChainAPI"), nullptr);
    right = one_by_one (Elements{chroma}, picture)[0];
  }

  GstBuffer *make ()
  {
    element.negotiate (picture, formats[0]);
    GstBuffer *buffer = gst_harness_push_and_pull (
        element.get_harness (), element.make_buffer (picture, formats[0], {0, 0}));
    GstOpenCLDeferred *deferred =
        gst_opencl_memory_ref_deferred (gst_buffer_peek_memory (buffer, 0));
    fail_unless (deferred != nullptr);
    g_object_unref (deferred);
    return buffer;
  }

  ElementUnderTest element;
  Picture picture, right;
};
} // namespace

TEST (test_fused_keying_is_what_the_elements_make_one_by_one)
{
  Random random (5);
  ElementUnderTest together (chain_of (whole_run).c_str ());
  for (int n = 0; n < 24; n++) {
    Picture picture = noise (
        1 + random.below (600), 1 + random.below (300), n, random.below (2) ? 3 : 40);
    const Format &format = formats[random.below (4)];
    assert_same (together.run (picture, format, keying_frames::layouts[n % 6]),
        one_by_one (whole_run, picture, format).back (), "the whole run");
  }
}

TEST (test_fused_keying_in_any_order_is_what_they_make_one_by_one)
{
  Random random (6);
  for (int n = 0; n < 40; n++) {
    Elements elements;
    if (random.below (4))
      elements.push_back (
          random.below (3) ? chroma : std::string (chroma) + " opacity=0.4 invert=true");
    for (guint left = 1 + random.below (5); left > 0; left--)
      elements.push_back (random_element (random));
    std::string chain = chain_of (elements);
    ElementUnderTest together (chain.c_str ());
    Picture picture = noise (300, 140, n, 20);
    assert_same (
        together.run (picture), one_by_one (elements, picture).back (), chain.c_str ());
  }
}

TEST (test_fused_keying_costs_one_launch_a_frame)
{
  ElementUnderTest together (chain_of (whole_run).c_str ());
  for (int n = 0; n < 3; n++)
    together.run (noise (100, 80, n, 5));
  for (const char *name : {"chroma", "first", "flow"})
    expect_equal (launches_of (together, name), 0);
  expect_equal (launches_of (together, "last"), 3);
}

/* A run whose reach is too large for one launch is split; each launch is counted for its
 * element. */
TEST (test_fused_keying_that_looks_too_far_takes_more_launches)
{
  Elements elements = {"noisereduce name=first iterations=20",
      "noisereduce name=second iterations=20", "noisereduce name=third iterations=12"};
  ElementUnderTest together (chain_of (elements).c_str ());
  Picture picture = noise (400, 300, 3, 97);
  assert_same (
      together.run (picture), one_by_one (elements, picture).back (), "52 iterations");
  expect_equal (launches_of (together, "first"), 0);
  expect_equal (launches_of (together, "second"), 1);
  expect_equal (launches_of (together, "third"), 1);
}

/* Settings of an element that cannot be fused with its neighbours */
TEST (test_fused_keying_goes_around_what_cannot_take_part)
{
  for (const char *odd : {"flowkey iterations=0", "noisereduce iterations=70",
           "chromakey method=chroma", "chromakey spill=1", "chromakey auto-key=rectangle",
           "keyfill color=0x80ff0000", "splashkey block-size=16"}) {
    Elements elements = {chroma, "noisereduce iterations=2", odd, "flowkey iterations=4",
        "noisereduce iterations=3"};
    ElementUnderTest together (chain_of (elements).c_str ());
    Picture picture = noise (300, 140, 8, 10);
    assert_same (together.run (picture), one_by_one (elements, picture).back (), odd);
  }
}

/* auto-key takes the key colour from one frame and keeps it for later frames. */
TEST (test_fused_keying_keeps_the_key_that_was_taken)
{
  Elements elements = {"chromakey auto-key=rectangle tolerance=0.2", whole_run[1]};
  ElementUnderTest together (chain_of (elements).c_str ());
  ElementUnderTest key (elements[0].c_str ()), reduce (elements[1].c_str ());
  for (int n = 0; n < 5; n++) {
    if (n == 3) {
      together.set ("chromakey", "auto-key", 1);
      key.set ("chromakey", "auto-key", 1);
    }
    Picture picture = noise (200, 100, 30 + n, 5);
    std::vector<ElementUnderTest *> all = {&key, &reduce};
    assert_same (together.run (picture), one_by_one (all, picture).back (), "a frame");
  }
}

TEST (test_fused_keying_follows_properties_while_it_plays)
{
  ElementUnderTest together (chain_of (whole_run).c_str ());
  ElementUnderTest key (chroma), flow ("flowkey iterations=3");
  ElementUnderTest first ("noisereduce"), last ("noisereduce");
  Random random (9);
  for (int n = 0; n < 30; n++) {
    double tolerance = 0.01 * random.below (5);
    int iterations = random.below (20);
    for (ElementUnderTest *element : {&together, &key})
      element->set ("chromakey", "tolerance", tolerance, "method",
          random.below (1) + (n % 7 == 3), "opacity", n % 5 ? 1 : 0.5);
    for (ElementUnderTest *element : {&together, &flow})
      element->set ("flowkey", "iterations", iterations, "tolerance", tolerance);
    Picture picture = noise (150, 90, n, 5);
    std::vector<ElementUnderTest *> all = {&key, &first, &flow, &last};
    assert_same (together.run (picture), one_by_one (all, picture).back (), "a frame");
  }
}

/* A probe that maps every frame for the CPU */
static GstPadProbeReturn
keep_bytes (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstMapInfo map;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  memcpy (static_cast<Picture *> (user_data)->pixels.data (), map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  return GST_PAD_PROBE_OK;
}

TEST (test_fused_keying_lets_a_probe_between_see_what_is_there)
{
  Picture picture = noise (301, 142, 12, 5);
  std::vector<Picture> right = one_by_one (whole_run, picture);
  const char *const names[] = {"chroma", "first", "flow"};
  for (int probed = 0; probed < 3; probed++) {
    ElementUnderTest together (chain_of (whole_run).c_str ());
    GstElement *bin = together.get_harness ()->element;
    Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (bin), names[probed]);
    Owned<GstPad> pad = gst_element_get_static_pad (element, "src");
    Picture seen (picture.width, picture.height);
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, keep_bytes, &seen, nullptr);
    assert_same (together.run (picture), right.back (), "behind a probe");
    assert_same (seen, right[probed], names[probed]);
  }
}

/* Compared with the rule itself: fused, with a probe in between, and one by one */
TEST (test_fused_keying_restores_alpha)
{
  const Elements elements = {std::string (chroma) + " opacity=0.5", "noisereduce"};
  Picture picture = noise (203, 97, 17, 3);
  Picture keyed = picture;
  for (Pixel &pixel : keyed.pixels) {
    bool near = distance_below (pixel, {10, 250, 25, 255}, 0.03);
    pixel.alpha = near ? 0 : times_opacity (pixel.alpha, 0.5);
  }
  Picture right = with_mask (keyed, reduce (mask_of (keyed), 5), picture, 0.5);
  size_t taken_back = 0;
  for (size_t n = 0; n < keyed.pixels.size (); n++) {
    uint8_t alpha = right.pixels[n].alpha;
    taken_back += keyed.pixels[n].alpha == 0 && alpha > 0 && alpha < 128;
  }
  fail_unless (taken_back > 100);

  ElementUnderTest together (chain_of (elements).c_str ());
  assert_same (together.run (picture), right, "together");
  assert_same (one_by_one (elements, picture).back (), right, "one by one");
  GstElement *bin = together.get_harness ()->element;
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (bin), "chroma");
  Owned<GstPad> pad = gst_element_get_static_pad (element, "src");
  Picture seen (picture.width, picture.height);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, keep_bytes, &seen, nullptr);
  assert_same (together.run (picture), right, "with a probe");
  assert_same (seen, keyed, "what the probe sees");
}

/* Returns all frames that arrive at the appsink `name` until EOS. */
static std::vector<Picture>
pull_all (
    GstElement *pipeline, const char *name, ElementUnderTest &frames, const Picture &like)
{
  Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
  std::vector<Picture> pictures;
  while (Owned<GstSample> sample = gst_app_sink_pull_sample (GST_APP_SINK (sink))) {
    pictures.push_back (
        frames.read_buffer (gst_sample_get_buffer (sample), like, formats[0]));
  }
  sink = nullptr;
  return pictures;
}

TEST (test_fused_keying_is_the_same_in_every_branch_of_a_tee)
{
  const Elements branches[][2] = {
      {{"noisereduce iterations=4", "flowkey"}, {"flowkey iterations=7"}},
      {{"noisereduce iterations=4", "flowkey"}, {"identity"}},
      {{"flowkey iterations=0"}, {"noisereduce iterations=9", "noisereduce"}},
  };
  ElementUnderTest frames ("identity");
  Picture picture = noise (400, 200, 13, 5);
  for (const auto &branch : branches) {
    Owned<GstElement> pipeline = check::launch (
        "appsrc name=source format=time caps=\"video/x-raw(memory:OpenCLMemory), "
        "format=RGBA, width=400, height=200, framerate=30/1\" ! "
        + std::string (chroma) + " ! flowkey iterations=2 ! tee name=t ! queue ! "
        + chain_of (branch[0]) + " ! appsink name=a sync=false t. ! queue ! "
        + chain_of (branch[1]) + " ! appsink name=b sync=false");
    Owned<GstElement> source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    for (int n = 0; n < 6; n++)
      gst_app_src_push_buffer (
          GST_APP_SRC (source), frames.make_buffer (picture, formats[0], {0, 0}));
    gst_app_src_end_of_stream (GST_APP_SRC (source));

    const char *const sinks[] = {"a", "b"};
    for (int n = 0; n < 2; n++) {
      std::vector<Picture> pictures = pull_all (pipeline, sinks[n], frames, picture);
      Elements whole = {chroma, "flowkey iterations=2"};
      whole.insert (whole.end (), branch[n].begin (), branch[n].end ());
      Picture right = one_by_one (whole, picture).back ();
      expect_equal (pictures.size (), 6);
      for (const Picture &each : pictures)
        assert_same (each, right, sinks[n]);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

TEST (test_fused_keying_survives_a_flush)
{
  ElementUnderTest together (chain_of (whole_run).c_str ());
  Picture picture = noise (120, 90, 14, 5);
  Picture right = one_by_one (whole_run, picture).back ();
  assert_same (together.run (picture), right, "before");
  for (int n = 0; n < 3; n++) {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_harness_push_event (together.get_harness (), gst_event_new_flush_start ());
    gst_harness_push_event (together.get_harness (), gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (together.get_harness (), gst_event_new_segment (&segment));
    assert_same (together.run (picture), right, "after");
  }
}

/* Deferred work outlives the element that created it. */
TEST (test_fused_keying_what_is_pending_outlives_flush_and_element)
{
  auto pending = std::make_unique<Pending> ();
  ElementUnderTest frames ("identity");
  Picture picture = pending->picture, right = pending->right;
  GstHarness *harness = pending->element.get_harness ();
  Owned<GstBuffer> flushed = pending->make ();
  gst_harness_push_event (harness, gst_event_new_flush_start ());
  gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE));
  assert_same (frames.read_buffer (flushed, picture, formats[0]), right, "flushed");
  flushed = nullptr;
  pending.reset ();

  pending = std::make_unique<Pending> ();
  Owned<GstBuffer> left = pending->make ();
  Owned<GstBuffer> unwanted = pending->make ();
  pending.reset ();
  unwanted = nullptr;
  assert_same (frames.read_buffer (left, picture, formats[0]), right, "left");
}

TEST (test_fused_keying_has_the_properties_of_the_frames_time)
{
  Pending pending;
  GstBuffer *buffer = pending.make ();
  pending.element.set ("chromakey", "key-color", 0xff000000u, "tolerance", 0.9);
  ElementUnderTest taker ("noisereduce iterations=2");
  taker.negotiate (pending.picture, formats[0]);
  Owned<GstBuffer> taken = gst_harness_push_and_pull (taker.get_harness (), buffer);
  Elements elements = {chroma, "noisereduce iterations=2"};
  assert_same (taker.read_buffer (taken, pending.picture, formats[0]),
      one_by_one (elements, pending.picture).back (), "as it was keyed");
}

/* Deferred work keeps its source frame read-only, because it still reads the frame and
 * the original alpha. */
TEST (test_fused_keying_holds_its_source)
{
  Pending pending;
  pending.element.negotiate (pending.picture, formats[0]);
  Owned<GstBuffer> source =
      pending.element.make_buffer (pending.picture, formats[0], {0, 0});
  gst_buffer_ref (source);
  Owned<GstBuffer> made =
      gst_harness_push_and_pull (pending.element.get_harness (), source);
  fail_unless (!gst_buffer_is_writable (source));
  assert_same (
      pending.element.read_buffer (made, pending.picture, formats[0]), pending.right, "");
  fail_unless (!gst_buffer_is_writable (source));
  made = nullptr;
  fail_unless (gst_buffer_is_writable (source));
}

/* The upper half of a frame as a frame of its own, as an element in between may create
 * it */
TEST (test_fused_keying_does_not_merge_for_another_frame)
{
  Pending pending;
  Owned<GstBuffer> whole = pending.make ();
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, gst_buffer_get_memory (whole, 0));
  gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      gst_video_format_from_string (formats[0].name), 200, 45);
  Picture half (200, 45);
  for (gsize n = 0; n < half.pixels.size (); n++)
    half.pixels[n] = pending.right.pixels[n];

  ElementUnderTest taker ("noisereduce iterations=3");
  taker.negotiate (half, formats[0]);
  Owned<GstBuffer> taken = gst_harness_push_and_pull (taker.get_harness (), buffer);
  assert_same (taker.read_buffer (taken, half, formats[0]),
      with_mask (half, reduce (mask_of (half), 3)), "the upper half");
}
