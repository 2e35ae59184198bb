/* Tests of work that octbackground, octdoppler and octflatten defer to octdisplay: the
 * image is the same as from computed depths, and other readers get the same depths
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

#include "../opencl-counting.hpp"

#include <memory>

using namespace check;
using namespace depths;

namespace {
struct Left {
  const char *label;   /* that defers */
  const char *display; /* properties of octdisplay */
  guint launches;      /* per frame at most, including the image */
};

const Left rows[] = {
    {"octbackground", "db-min=10 db-max=70", 3},
    {"octbackground method=mean dc-depths=5", "db-min=10 db-max=70 flip=true", 3},
    {"octbackground method=none dc-depths=300", "db-min=10 db-max=70", 1},
    {"octbackground weight=0.3 dc-depths=2", "db-min=10 db-max=70", 3},
    {"octbackground weight=0", "db-min=10 db-max=70", 3},
    {"octbackground segment-lines=7", "db-max=200 scale=linear", 3},
    {"octbackground", "db-auto=true", 6}, /* the range needs computed depths */
    {"octdoppler quantity=phase", "", 1},
    {"octdoppler quantity=phase window-depths=4 window-lines=5", "flip=true", 1},
    {"octdoppler line-rate=20000 threshold=40", "min=-1 max=2", 1},
    {"octdoppler line-rate=20000 window-depths=1 window-lines=1 invert=true", "", 1},
    {"octdoppler quantity=phase window-depths=9 window-lines=9", "",
        3}, /* the window sum takes two steps */
    {"octflatten coefficients=<3,0,0,9>", "db-min=10 db-max=70",
        2}, /* deferred on GPUs */
    {"octflatten coefficients=<0,-4.5>", "scale=linear db-max=200 flip=true", 2},
};

struct Size {
  gsize lines, depths;
};
/* On both sides of the sizes of strips, tiles and vectors */
const Size sizes[] = {{2, 1}, {21, 37}, {64, 256}, {67, 259}, {130, 515}};

Pairs
frame_of (const Size &size, guint seed)
{
  Pairs pairs = speckle (seed, size.lines * size.depths);
  for (gsize n = 0; n < pairs.size (); n++)
    pairs[n] += Complex (seed * 50.0 + double (n % size.depths), 20.0);
  return as_float (pairs);
}

std::string
host_caps (const Size &size)
{
  std::string caps = frame_caps ("CF32LE", size.lines, size.depths);
  const std::string memory = "(memory:OpenCLMemory)";
  return caps.erase (caps.find (memory), memory.size ());
}

Values
pixels_of (const Bytes &picture, const Size &size, gsize bytes)
{
  return pixels_in (picture, bytes, size.lines, size.depths);
}

/* The same elements in two chains, with a copy on the host in between */
class Apart {
public:
  Apart (const Left &row, const Size &size, const std::string &more)
      : makes (std::string ("openclupload ! ") + row.label + " ! opencldownload",
          host_caps (size)),
        line (std::string ("openclupload ! octdisplay ") + row.display + more)
  {
  }

  Bytes depths (const Pairs &frame, guint n)
  {
    return read_buffer (makes.pass (complex_frame (frame, n)));
  }
  Bytes picture (const Pairs &frame, guint n)
  {
    Owned<GstBuffer> made = makes.pass (complex_frame (frame, n));
    Owned<GstCaps> caps = makes.caps ();
    if (!shows)
      shows = std::make_unique<Harness> (
          line, Owned<gchar> (gst_caps_to_string (caps)).operator->());
    return read_buffer (shows->pass (gst_buffer_ref (made)));
  }

private:
  Harness makes;
  std::string line;
  std::unique_ptr<Harness> shows;
};

void
expect_same_pictures (const Left &row, const Size &size, gsize bytes)
{
  const std::string format = bytes == 2 ? " ! video/x-raw,format=GRAY16_LE" : "";
  const std::string more = " ! opencldownload" + format + " ! identity";
  Harness together (
      std::string ("openclupload ! ") + row.label + " ! octdisplay " + row.display + more,
      host_caps (size));
  Apart apart (row, size, more);
  for (guint n = 0; n < 3; n++) {
    const Pairs frame = frame_of (size, n + 1);
    const Bytes got = read_buffer (together.pass (complex_frame (frame, n)));
    expect_near (pixels_of (got, size, bytes),
        pixels_of (apart.picture (frame, n), size, bytes), bytes == 1 ? 1 : 8,
        text ("%s, %zux%zu", row.label, size.lines, size.depths));
  }
}
} // namespace

TEST_ROWS (test_octdisplay_deferred_depths_equal_computed_ones, rows)
{
  for (const Size &size : sizes)
    for (gsize bytes : {1, 2})
      expect_same_pictures (row, size, bytes);
}

TEST_ROWS (test_gpu_deferred_depths_equal_computed_ones, rows)
{
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  counting::override_device_info (CL_DEVICE_TYPE, &gpu, sizeof gpu);
  for (const Size &size : {sizes[1], sizes[3]})
    expect_same_pictures (row, size, 1);
  counting::restore_device_info ();
}

TEST_ROWS (test_octdisplay_takes_depths_in_as_few_launches_as_it_promises, rows)
{
  const Size size = {67, 259};
  Harness harness (std::string ("openclupload ! ") + row.label + " ! octdisplay "
                       + row.display + " ! opencldownload",
      host_caps (size));
  /* A frame is read before the next one, which frees its memory. */
  const auto show = [&] (guint n) {
    read_buffer (harness.pass (complex_frame (frame_of (size, n + 1), n)));
  };
  for (guint n = 0; n < 3; n++)
    show (n);
  const guint launched = counting::count (counting::ENQUEUE_KERNEL);
  const guint allocated = counting::allocations ();
  for (guint n = 3; n < 8; n++)
    show (n);
  const guint more = counting::count (counting::ENQUEUE_KERNEL) - launched;
  fail_unless (more >= 5 && more <= 5 * row.launches, "%u launches for 5 frames", more);
  expect_equal (counting::allocations (), allocated);
}

/* An element that keeps frames and reads them after later ones; deferred work must use
 * the pattern of its own frame. */
TEST_ROWS (test_deferred_depths_belong_to_their_frame,
    std::vector<const char *> (
        {"octbackground", "octbackground method=recorded", "octdoppler quantity=phase"}))
{
  const Size size = {67, 259};
  const Left plain = {row, "", 0};
  Harness harness (
      std::string ("openclupload ! ") + row + " ! octdisplay name=show ! opencldownload",
      host_caps (size));
  Owned<GstElement> show = harness.find ("octdisplay");
  Owned<GstPad> pad = gst_element_get_static_pad (show, "sink");
  std::vector<Owned<GstBuffer>> kept;
  watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *info) {
    kept.emplace_back (gst_buffer_ref (GST_PAD_PROBE_INFO_BUFFER (info)));
    return GST_PAD_PROBE_OK;
  });
  Apart apart (plain, size, "");
  std::vector<Values> expected;
  for (guint n = 0; n < 4; n++) {
    const Pairs frame = frame_of (size, 3 * n + 1);
    harness.pass (complex_frame (frame, n));
    expected.push_back (numbers_in<float> (apart.depths (frame, n)));
  }
  for (gsize n = kept.size (); n-- > 0;)
    expect_near (
        numbers_in<float> (read_buffer (kept[n])), expected[n], 1e-3, text ("%zu", n));
}

/* Properties of both elements change, one at a time, between deferred frames. */
TEST (test_settings_while_depths_are_left_hold_for_the_next_frame)
{
  const Size size = {67, 259};
  Harness harness ("openclupload ! octbackground ! octdisplay db-min=10 db-max=70 ! "
                   "opencldownload",
      host_caps (size));
  Owned<GstElement> pattern = harness.find ("octbackground");
  Owned<GstElement> show = harness.find ("octdisplay");
  const struct {
    const char *label, *display;
    std::function<void ()> set;
  } turns[] = {
      {"octbackground dc-depths=40", "db-min=10 db-max=70",
          [&] { g_object_set (pattern, "dc-depths", 40u, nullptr); }},
      {"octbackground dc-depths=40", "db-min=10 db-max=50",
          [&] { g_object_set (show, "db-max", 50.0, nullptr); }},
      {"octbackground dc-depths=40 method=mean", "db-min=10 db-max=50",
          [&] {
            gst_util_set_object_arg (G_OBJECT ((GstElement *)pattern), "method", "mean");
          }},
      {"octbackground dc-depths=40 method=mean", "db-auto=true",
          [&] { g_object_set (show, "db-auto", TRUE, nullptr); }},
      {"octbackground dc-depths=40 method=mean", "db-min=10 db-max=50",
          [&] { g_object_set (show, "db-auto", FALSE, nullptr); }},
  };
  guint n = 0;
  harness.pass (complex_frame (frame_of (size, 1), n++));
  for (const auto &turn : turns) {
    turn.set ();
    const Pairs frame = frame_of (size, 5 + n);
    const Bytes got = read_buffer (harness.pass (complex_frame (frame, n)));
    Apart apart ({turn.label, turn.display, 0}, size, " ! opencldownload");
    expect_near (pixels_of (got, size, 1), pixels_of (apart.picture (frame, n), size, 1),
        1, turn.display);
    n++;
  }
}
