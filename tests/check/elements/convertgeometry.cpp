/* Tests that openclconvert turns frames as videoflip does, keeps the aspect ratio with
 * borders, and scales with a Lanczos window as double precision does
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/videoframes.hpp"

#include <gst/video/navigation.h>

#include <cmath>

using video::info_of;
using video::Picture;
using video::Run;
using video::View;

namespace {
const char *const directions[] = {"90r", "180", "90l", "horiz", "vert", "ul-lr", "ur-ll"};

bool
transposes (const std::string &direction)
{
  return direction == "90r" || direction == "90l" || direction == "ul-lr"
         || direction == "ur-ll";
}

/* Output of videoflip on the CPU */
Picture
flipped (const Picture &picture, const std::string &direction)
{
  GstVideoInfo out = transposes (direction)
                         ? info_of (GST_VIDEO_INFO_NAME (&picture.info),
                             picture.info.height, picture.info.width)
                         : picture.info;
  GstHarness *harness =
      gst_harness_new_parse (("videoflip video-direction=" + direction).c_str ());
  gst_harness_set_src_caps (harness, gst_video_info_to_caps (&picture.info));
  GstBuffer *made = gst_harness_push_and_pull (harness, gst_buffer_ref (picture.buffer));
  fail_unless (made != nullptr);
  gst_harness_teardown (harness);
  return Picture (out, made);
}

void
check_direction (const char *format, int width, int height, int padding)
{
  GstVideoInfo in = info_of (format, width, height);
  Picture picture (in), padded (in, padding);
  video::fill_random (picture, 3);
  video::fill_random (padded, 3);
  for (const char *direction : directions) {
    Picture wanted = flipped (picture, direction);
    Run run (std::string ("openclconvert video-direction=") + direction, in, wanted.info);
    int difference = video::largest_difference (run (padded), wanted);
    fail_unless (difference == 0, "%s %dx%d, %s: off by %d", format, width, height,
        direction, difference);
  }
}
} // namespace

TEST (test_convert_turns_pixels_as_videoflip_does)
{
  check_direction ("RGBA", 37, 22, 4);
  check_direction ("GRAY8", 33, 7, 3);
  check_direction ("AYUV", 1, 5, 0);
  check_direction ("Y444", 19, 31, 1);
}

TEST (test_convert_turns_planes_of_chroma_as_videoflip_does)
{
  check_direction ("I420", 54, 22, 6);
  check_direction ("I420", 31, 23, 1);
  check_direction ("NV12", 17, 33, 2);
  check_direction ("NV12", 16, 38, 0);
}

/* Combined with another format and size */
TEST (test_convert_turns_and_scales_in_one)
{
  GstVideoInfo in = info_of ("RGBA", 48, 20);
  Picture picture = video::random_picture (in, 6);
  for (const char *direction : {"90r", "horiz"}) {
    Picture turned = flipped (picture, direction);
    GstVideoInfo out = info_of ("AYUV", 31, 57);
    Run one (std::string ("openclconvert video-direction=") + direction, in, out);
    Run other ("openclconvert", turned.info, out);
    int difference = video::largest_difference (one (picture), other (turned));
    fail_unless (difference <= 1, "%s: off by %d", direction, difference);
  }
}

/* A ramp of the frame with a wave, 0 to 1; each component has its own. */
static double
ramp (int c, double u, double v)
{
  return 0.2 + 0.3 * (c == 1 ? 1 - u : u) + 0.25 * (c == 2 ? 1 - v : v)
         + 0.03 * std::sin (9 * u + 7 * v);
}

static void
fill_ramp (const Picture &picture)
{
  const GstVideoInfo &info = picture.info;
  video::fill (picture, [&] (int c, int x, int y) {
    const double columns = 1 << info.finfo->w_sub[c], rows = 1 << info.finfo->h_sub[c];
    return ramp (c, columns * (x + 0.5) / info.width, rows * (y + 0.5) / info.height);
  });
}

/* Place in the input that is at (u, v) of the turned frame */
static std::pair<double, double>
place_before (const std::string &direction, double u, double v)
{
  const std::string turned_u = "90r 180 horiz ur-ll", turned_v = "90l 180 vert ur-ll";
  u = turned_u.find (direction) != std::string::npos ? 1 - u : u;
  v = turned_v.find (direction) != std::string::npos ? 1 - v : v;
  return transposes (direction) ? std::pair (v, u) : std::pair (u, v);
}

/* Planes of chroma have sizes of their own, of which the last sample belongs to one column or
 * row only. At edges, samples repeat. */
TEST_ROWS (test_convert_turns_and_scales_odd_chroma, {"I420", "NV12", "Y42B", "YUY2"})
{
  std::vector<std::string> all (std::begin (directions), std::end (directions));
  if (!runs_as_gpu ()) /* whose kernel for this is tested in scaledplanes.cpp */
    all.push_back ("identity");
  for (const auto &[width, height] :
      {std::pair (31, 23), std::pair (33, 17), std::pair (34, 19)})
    for (const auto &[wide, high] :
        {std::pair (45, 37), std::pair (49, 15), std::pair (17, 13)})
      for (const std::string &direction : all) {
        Picture picture (info_of (row, width, height, nullptr, "jpeg"), 3);
        fill_ramp (picture);
        const GstVideoInfo out = info_of (row, wide, high, nullptr, "jpeg");
        const Picture made = video::converted (
            "openclconvert scale-method=bilinear video-direction=" + direction, picture,
            out);
        View view (made);
        for (int c = 0; c < 3; c++)
          for (int y = 0; y < view.height (c); y++)
            for (int x = 0; x < view.width (c); x++) {
              const auto [u, v] =
                  place_before (direction, (x + 0.5) * (1 << out.finfo->w_sub[c]) / wide,
                      (y + 0.5) * (1 << out.finfo->h_sub[c]) / high);
              const bool is_edge =
                  x == 0 || y == 0 || x >= view.width (c) - 2 || y >= view.height (c) - 2;
              const double wanted = 255 * ramp (c, u, v);
              const double diff = std::fabs (view.at (c, x, y) - wanted);
              fail_unless (diff <= (c == 0 ? (is_edge ? 3 : 1.1) : (is_edge ? 7.7 : 3.2)),
                  "%s %dx%d to %dx%d, component %d at %d,%d: %d, expected %g",
                  direction.c_str (), width, height, wide, high, c, x, y,
                  view.at (c, x, y), wanted);
            }
      }
}

/* The last sixteen columns that a CPU reads begin at a column that shares its chroma with the
 * next one. */
TEST (test_convert_scales_rows_of_odd_widths)
{
  const char *const line = "openclconvert scale-method=bilinear";
  const Picture picture = video::random_picture (info_of ("I420", 33, 9), 8);
  const Picture made = video::converted (line, picture, info_of ("AYUV", 33, 13));
  const Picture expected =
      video::converted (line, video::converted (line, picture, info_of ("AYUV", 33, 9)),
          info_of ("AYUV", 33, 13));
  const int difference = video::largest_difference (made, expected);
  fail_unless (difference <= 1, "off by %d", difference);
}

static GstCaps *
caps_of (const char *launch_line, const char *in)
{
  GstHarness *harness = gst_harness_new_parse (launch_line);
  gst_harness_set_sink_caps_str (harness, "video/x-raw(memory:OpenCLMemory)");
  gst_harness_set_src_caps_str (harness, in);
  gst_harness_push (harness, gst_buffer_new_allocate (nullptr, 64 * 48 * 4, nullptr));
  GstCaps *caps = gst_pad_get_current_caps (harness->sinkpad);
  gst_harness_teardown (harness);
  return caps;
}

TEST (test_convert_rotation_by_90_swaps_size_and_pixel_aspect_ratio)
{
  GstCaps *caps = caps_of ("openclconvert video-direction=90r",
      "video/x-raw(memory:OpenCLMemory),format=RGBA,width=64,height=48,framerate=25/1,"
      "pixel-aspect-ratio=4/3");
  GstVideoInfo info;
  fail_unless (caps && gst_video_info_from_caps (&info, caps));
  fail_unless (info.width == 48 && info.height == 64, "%dx%d", info.width, info.height);
  fail_unless (info.par_n == 3 && info.par_d == 4, "%d/%d", info.par_n, info.par_d);
  gst_caps_unref (caps);
}

static void
push_tag (GstHarness *harness, const char *orientation)
{
  gst_harness_push_event (harness, gst_event_new_tag (gst_tag_list_new (
                                       GST_TAG_IMAGE_ORIENTATION, orientation, nullptr)));
}

TEST (test_convert_turns_by_tag_and_while_it_plays)
{
  GstVideoInfo in = info_of ("RGBA", 40, 24), out = info_of ("BGRA", 40, 24);
  Picture picture = video::random_picture (in, 2);
  Run run ("openclconvert video-direction=auto", in, out);
  expect_equal (video::largest_difference (run (picture), picture), 0);
  push_tag (run.harness, "rotate-180");
  expect_equal (video::largest_difference (run (picture), flipped (picture, "180")), 0);
  GstElement *convert = gst_harness_find_element (run.harness, "openclconvert");
  gst_util_set_object_arg (G_OBJECT (convert), "video-direction", "vert");
  expect_equal (video::largest_difference (run (picture), flipped (picture, "vert")), 0);
  gst_util_set_object_arg (G_OBJECT (convert), "video-direction", "identity");
  expect_equal (video::largest_difference (run (picture), picture), 0);
  gst_object_unref (convert);
}

/* --- video-direction=auto --- */

namespace {
/* Frames and the element, with caps of both sides equal until frames are turned */
struct Auto {
  GstVideoInfo info = info_of ("RGBA", 40, 24);
  Picture picture{info};
  Run run;

  explicit Auto (const std::string &direction = "auto", const std::string &more = "")
      : run ("openclconvert video-direction=" + direction + more, info, info)
  {
    video::fill_random (picture, 2);
    sent_tags ();
  }

  bool send (GstEvent *event) { return gst_harness_push_event (run.harness, event); }

  /* `orientation` is NULL for a list without the tag. */
  void tag (const char *orientation, GstTagScope scope = GST_TAG_SCOPE_STREAM)
  {
    GstTagList *tags = gst_tag_list_new (GST_TAG_TITLE, "title", nullptr);
    if (orientation)
      gst_tag_list_add (
          tags, GST_TAG_MERGE_REPLACE, GST_TAG_IMAGE_ORIENTATION, orientation, nullptr);
    gst_tag_list_set_scope (tags, scope);
    fail_unless (send (gst_event_new_tag (tags)));
  }

  void start_stream (const char *id)
  {
    fail_unless (send (gst_event_new_stream_start (id)));
    fail_unless (send (gst_event_new_caps (video::device_caps (info))));
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    fail_unless (send (gst_event_new_segment (&segment)));
  }

  void set_direction (const char *direction)
  {
    GstElement *convert = gst_harness_find_element (run.harness, "openclconvert");
    gst_util_set_object_arg (G_OBJECT (convert), "video-direction", direction);
    gst_object_unref (convert);
  }

  /* `direction` is a value of videoflip, or "identity". */
  void expect (const std::string &direction)
  {
    const Picture wanted =
        direction == "identity" ? picture : flipped (picture, direction);
    GstBuffer *made =
        gst_harness_push_and_pull (run.harness, gst_buffer_ref (picture.buffer));
    fail_unless (made != nullptr);
    fail_unless (video::largest_difference (Picture (info, made), wanted) == 0,
        "the frame is not that of %s", direction.c_str ());
  }

  /* Returns the orientation tags sent since the last call, "none" for a list without the
   * tag. */
  std::vector<std::string> sent_tags ()
  {
    std::vector<std::string> sent;
    while (GstEvent *event = gst_harness_try_pull_event (run.harness)) {
      GstTagList *tags;
      gchar *orientation = nullptr;
      if (GST_EVENT_TYPE (event) == GST_EVENT_TAG) {
        gst_event_parse_tag (event, &tags);
        gst_tag_list_get_string (tags, GST_TAG_IMAGE_ORIENTATION, &orientation);
        sent.push_back (orientation ? orientation : "none");
      }
      g_free (orientation);
      gst_event_unref (event);
    }
    return sent;
  }
};

using Tags = std::vector<std::string>;
} // namespace

TEST (test_openclconvert_auto_turns_passed_through_frames)
{
  Auto convert;
  convert.expect ("identity");
  convert.tag ("rotate-180");
  convert.expect ("180");
  convert.tag ("flip-rotate-0");
  convert.expect ("horiz");
  convert.tag ("rotate-0");
  convert.expect ("identity");
}

/* Newer versions of videoflip do the same: the next element must not turn the frame
 * again. */
TEST (test_openclconvert_auto_rewrites_orientation_tag)
{
  Auto convert;
  GstTagList *tags = gst_tag_list_new (
      GST_TAG_IMAGE_ORIENTATION, "rotate-180", GST_TAG_TITLE, "title", nullptr);
  gst_tag_list_set_scope (tags, GST_TAG_SCOPE_GLOBAL);
  GstEvent *event = gst_event_new_tag (tags);
  const guint32 seqnum = gst_event_get_seqnum (event);
  fail_unless (convert.send (gst_event_ref (event)));

  GstEvent *sent = gst_harness_try_pull_event (convert.run.harness);
  fail_unless (sent && GST_EVENT_TYPE (sent) == GST_EVENT_TAG);
  GstTagList *expected = gst_tag_list_copy (tags), *rewritten;
  gst_tag_list_add (
      expected, GST_TAG_MERGE_REPLACE, GST_TAG_IMAGE_ORIENTATION, "rotate-0", nullptr);
  gst_event_parse_tag (sent, &rewritten);
  fail_unless (gst_tag_list_is_equal (rewritten, expected));
  fail_unless (gst_tag_list_get_scope (rewritten) == GST_TAG_SCOPE_GLOBAL);
  fail_unless_equals_int (gst_event_get_seqnum (sent), seqnum);
  /* Other elements may share the incoming list. */
  gchar *orientation = nullptr;
  gst_tag_list_get_string (tags, GST_TAG_IMAGE_ORIENTATION, &orientation);
  fail_unless_equals_string (orientation, "rotate-180");
  g_free (orientation);
  gst_tag_list_unref (expected);
  gst_event_unref (sent);
  gst_event_unref (event);
}

TEST (test_openclconvert_auto_twice_turns_once)
{
  Auto convert ("auto", " ! openclconvert video-direction=auto");
  convert.tag ("rotate-180");
  convert.expect ("180");
}

TEST (test_openclconvert_auto_keeps_tags_without_orientation)
{
  Auto convert;
  convert.tag (nullptr);
  fail_unless (convert.sent_tags () == Tags{"none"});
}

TEST (test_openclconvert_set_direction_keeps_orientation_tag)
{
  for (const char *direction : {"identity", "vert"}) {
    Auto convert (direction);
    convert.tag ("rotate-180");
    convert.expect (direction);
    fail_unless (convert.sent_tags () == Tags{"rotate-180"});
  }
}

/* Downstream must know which frames are turned. */
TEST (test_openclconvert_direction_change_sends_orientation_tag_again)
{
  Auto convert;
  convert.tag ("rotate-90", GST_TAG_SCOPE_GLOBAL);
  convert.tag ("rotate-180");
  convert.expect ("180");
  fail_unless (convert.sent_tags () == (Tags{"rotate-0", "rotate-0"}));
  convert.set_direction ("identity");
  convert.expect ("identity");
  fail_unless (convert.sent_tags () == (Tags{"rotate-90", "rotate-180"}));
  convert.set_direction ("vert");
  convert.expect ("vert");
  fail_unless (convert.sent_tags ().empty ());
  convert.set_direction ("auto");
  convert.expect ("180");
  fail_unless (convert.sent_tags () == (Tags{"rotate-0", "rotate-0"}));
}

TEST (test_openclconvert_auto_resets_orientation_with_new_stream)
{
  Auto convert;
  convert.start_stream ("one");
  convert.tag ("rotate-180");
  convert.expect ("180");
  convert.start_stream ("one");
  convert.expect ("180");
  convert.start_stream ("two");
  convert.expect ("identity");
  /* and forgets the tags of the stream before */
  convert.sent_tags ();
  convert.set_direction ("identity");
  convert.expect ("identity");
  fail_unless (convert.sent_tags ().empty ());
}

TEST (test_openclconvert_auto_prefers_stream_scope)
{
  Auto convert;
  convert.tag ("rotate-180", GST_TAG_SCOPE_GLOBAL);
  convert.expect ("180");
  convert.tag ("flip-rotate-0");
  convert.expect ("horiz");
  convert.tag ("rotate-180", GST_TAG_SCOPE_GLOBAL);
  convert.expect ("horiz");
  convert.tag (nullptr);
  convert.expect ("180");
  convert.tag (nullptr, GST_TAG_SCOPE_GLOBAL);
  convert.expect ("identity");
}

TEST (test_openclconvert_auto_keeps_orientation_after_flush)
{
  Auto convert;
  convert.tag ("rotate-180");
  convert.send (gst_event_new_flush_start ());
  convert.send (gst_event_new_flush_stop (TRUE));
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  convert.send (gst_event_new_segment (&segment));
  convert.expect ("180");
}

/* The output caps already consider the tag. */
TEST (test_openclconvert_auto_takes_tag_before_caps)
{
  GstHarness *harness = gst_harness_new_parse ("openclconvert video-direction=auto");
  gst_harness_set_sink_caps_str (harness, "video/x-raw(memory:OpenCLMemory)");
  gst_harness_push_event (harness, gst_event_new_stream_start ("one"));
  gst_harness_push_event (harness, gst_event_new_tag (gst_tag_list_new (
                                       GST_TAG_IMAGE_ORIENTATION, "rotate-90", nullptr)));
  gst_harness_set_src_caps (harness, video::device_caps (info_of ("RGBA", 64, 48)));
  gst_harness_push (harness, gst_buffer_new_allocate (nullptr, 64 * 48 * 4, nullptr));
  GstCaps *caps = gst_pad_get_current_caps (harness->sinkpad);
  GstVideoInfo info;
  fail_unless (caps && gst_video_info_from_caps (&info, caps));
  fail_unless (info.width == 48 && info.height == 64, "%dx%d", info.width, info.height);
  gst_caps_unref (caps);
  gst_harness_teardown (harness);
}

TEST (test_openclconvert_auto_resets_orientation_in_ready)
{
  Auto convert;
  convert.tag ("rotate-180");
  convert.expect ("180");
  GstElement *element = convert.run.harness->element;
  gst_element_set_state (element, GST_STATE_READY);
  gst_element_set_state (element, GST_STATE_PLAYING);
  convert.start_stream ("one");
  convert.expect ("identity");
}

TEST (test_convert_with_borders_keeps_the_shape_and_is_black_beside_it)
{
  for (const char *format : {"RGBA", "AYUV", "I420", "GRAY8"}) {
    GstVideoInfo in = info_of (format, 48, 24), out = info_of (format, 48, 48);
    Picture picture (in);
    video::fill (picture, [] (int c, int, int) { return c == 3 ? 1 : 0.6; });
    const Picture made =
        video::converted ("openclconvert add-borders=true", picture, out);
    View from (picture), to (made);
    bool is_yuv = GST_VIDEO_INFO_IS_YUV (&out);
    for (int c = 0; c < to.components (); c++) {
      int black = c == 3 ? 255 : is_yuv ? (c == 0 ? 16 : 128) : 0;
      int rows = to.height (c), first = rows / 4, last = rows * 3 / 4;
      for (int y = 0; y < rows; y++)
        for (int x = 0; x < to.width (c); x++)
          fail_unless (
              to.at (c, x, y) == (y >= first && y < last ? from.at (c, x, 0) : black),
              "%s: component %d at %d,%d is %d", format, c, x, y, to.at (c, x, y));
    }
  }
}

/* A frame of 2:1 pixels has the shape of one with twice the columns. */
TEST (test_convert_with_borders_reckons_with_the_shape_of_pixels)
{
  GstVideoInfo in = info_of ("GRAY8", 40, 40);
  Picture picture (in);
  video::fill (picture, [] (int, int, int) { return 1; });
  for (const std::string direction : {"identity", "90r"}) {
    const bool turned = transposes (direction);
    const GstVideoInfo out = info_of ("GRAY8", turned ? 40 : 80, turned ? 80 : 40);
    for (int par : {1, 2}) {
      in.par_n = par;
      picture.info = in;
      const Picture made = video::converted (
          "openclconvert add-borders=true video-direction=" + direction, picture, out);
      View view (made);
      fail_unless (view.at (0, out.width / 2, out.height / 2) == 255);
      fail_unless (view.at (0, turned ? 20 : 2, turned ? 2 : 20) == (par == 2 ? 255 : 0));
    }
  }
}

/* Weight as documented: a window of three lobes, scaled to the larger of both pixels */
static double
lanczos (const View &in, int c, double x, double y, double wide_x, double wide_y)
{
  auto weight = [] (double off) {
    if (off == 0)
      return 1.;
    return fabs (off) < 3
               ? 3 * sin (G_PI * off) * sin (G_PI * off / 3) / (G_PI * G_PI * off * off)
               : 0.;
  };
  double sum = 0, weights = 0;
  for (int row = int (y - 3 * wide_y) - 1; row <= y + 3 * wide_y + 1; row++)
    for (int column = int (x - 3 * wide_x) - 1; column <= x + 3 * wide_x + 1; column++) {
      double w = weight ((row - y) / wide_y) * weight ((column - x) / wide_x);
      weights += w;
      sum += w
             * in.at (c, std::clamp (column, 0, in.width (c) - 1),
                 std::clamp (row, 0, in.height (c) - 1));
    }
  return std::clamp (sum / weights, 0., 255.);
}

/* A CPU processes sixteen columns at once. The last ones may begin at any column. */
TEST (test_convert_lanczos_is_its_window_in_double_precision)
{
  const int sizes[][4] = {{37, 22, 61, 47}, {37, 22, 13, 40}, {37, 22, 23, 9},
      {33, 9, 49, 9}, {49, 9, 33, 9}, {33, 9, 33, 13}, {33, 13, 33, 9}, {81, 7, 17, 11},
      {17, 11, 81, 7}, {16, 5, 17, 4}, {17, 5, 16, 6}, {39, 6, 55, 5}, {55, 5, 39, 6}};
  for (const auto &size : sizes) {
    if (runs_as_gpu () && &size - sizes == 3)
      break;
    GstVideoInfo in = info_of ("AYUV", size[0], size[1]);
    GstVideoInfo out = info_of ("AYUV", size[2], size[3]);
    Picture picture = video::random_picture (in, 8);
    const Picture made =
        video::converted ("openclconvert scale-method=lanczos", picture, out);
    View from (picture), to (made);
    double ratio_x = double (size[0]) / size[2], ratio_y = double (size[1]) / size[3];
    for (int c = 0; c < 4; c++)
      for (int y = 0; y < size[3]; y++)
        for (int x = 0; x < size[2]; x++) {
          double wanted = lanczos (from, c, (x + 0.5) * ratio_x - 0.5,
              (y + 0.5) * ratio_y - 0.5, std::max (1., ratio_x), std::max (1., ratio_y));
          fail_unless (fabs (to.at (c, x, y) - wanted) < 0.52,
              "%dx%d to %dx%d: component %d at %d,%d is %d, expected %g", size[0],
              size[1], size[2], size[3], c, x, y, to.at (c, x, y), wanted);
        }
  }
}

static GstPadProbeReturn
keep_navigation (GstPad *pad, GstPadProbeInfo *info, gpointer place)
{
  gdouble *point = static_cast<gdouble *> (place);
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION)
    gst_navigation_event_get_coordinates (event, &point[0], &point[1]);
  return GST_PAD_PROBE_OK;
}

/* The top left corner of a frame turned to the right was at the bottom left. */
TEST (test_convert_navigation_events_use_input_orientation)
{
  GstVideoInfo in = info_of ("RGBA", 40, 24), out = info_of ("RGBA", 24, 40);
  Picture picture (in);
  gdouble point[2] = {-1, -1};
  Run run ("openclconvert video-direction=90r", in, out);
  gst_pad_add_probe (run.harness->srcpad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
      keep_navigation, point, nullptr);
  run (picture);
  gst_harness_push_upstream_event (run.harness,
      gst_event_new_navigation (gst_structure_new ("application/x-gst-navigation",
          "event", G_TYPE_STRING, "mouse-move", "button", G_TYPE_INT, 0, "pointer_x",
          G_TYPE_DOUBLE, 3., "pointer_y", G_TYPE_DOUBLE, 10., nullptr)));
  fail_unless (fabs (point[0] - 10) < 1e-6 && fabs (point[1] - 21) < 1e-6, "%g,%g",
      point[0], point[1]);
}

/* --- regions of interest --- */

namespace {
struct Region {
  int x, y, w, h;

  bool operator== (const Region &other) const
  {
    return x == other.x && y == other.y && w == other.w && h == other.h;
  }
};

std::string
text_of (const std::vector<Region> &regions)
{
  std::string text;
  for (const Region &region : regions)
    text += " " + std::to_string (region.x) + "," + std::to_string (region.y) + " "
            + std::to_string (region.w) + "x" + std::to_string (region.h);
  return text;
}

std::vector<Region>
regions_of (GstBuffer *buffer)
{
  std::vector<Region> regions;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *region = reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta);
    regions.push_back (
        {int (region->x), int (region->y), int (region->w), int (region->h)});
  }
  return regions;
}

GstVideoRegionOfInterestMeta *
add_region (const Picture &picture, const Region &region)
{
  return gst_buffer_add_video_region_of_interest_meta (
      picture.buffer, "face", region.x, region.y, region.w, region.h);
}

const struct {
  const char *label; /* properties */
  int width, height; /* of the output; the input has 64x32 */
  Region expected;   /* of the input region 48,0 16x8 */
} region_rows[] = {
    {"video-direction=identity", 64, 32, {48, 0, 16, 8}},
    {"video-direction=180", 64, 32, {0, 24, 16, 8}},
    {"video-direction=horiz", 64, 32, {0, 0, 16, 8}},
    {"video-direction=vert", 64, 32, {48, 24, 16, 8}},
    {"video-direction=90r", 32, 64, {24, 48, 8, 16}},
    {"video-direction=90l", 32, 64, {0, 0, 8, 16}},
    {"video-direction=ul-lr", 32, 64, {0, 48, 8, 16}},
    {"video-direction=ur-ll", 32, 64, {24, 0, 8, 16}},
    {"video-direction=180 scale-method=nearest", 192, 64, {0, 48, 48, 16}},
    {"video-direction=90r scale-method=nearest", 96, 64, {72, 48, 24, 16}},
    {"add-borders=true", 64, 64, {48, 16, 16, 8}},
    {"add-borders=true video-direction=90r", 64, 64, {40, 48, 8, 16}},
    {"add-borders=true video-direction=180", 32, 32, {0, 20, 8, 4}},
    {"add-borders=false", 64, 64, {48, 0, 16, 16}},
};
} // namespace

/* Expected regions were worked out by hand. */
TEST_ROWS (test_openclconvert_region_of_interest, region_rows)
{
  GstVideoInfo in = info_of ("RGBA", 64, 32);
  GstVideoInfo out = info_of ("BGRA", row.width, row.height);
  Picture picture = video::random_picture (in, 1);
  add_region (picture, {48, 0, 16, 8});
  Run run (std::string ("openclconvert ") + row.label, in, out);
  const std::vector<Region> regions = regions_of (run (picture).buffer);
  fail_unless (
      regions == std::vector<Region>{row.expected}, "%s", text_of (regions).c_str ());
}

/* Returns the bounding box of white pixels. */
static Region
found_in (const Picture &picture)
{
  View view (picture);
  int left = view.width (0), top = view.height (0), right = 0, bottom = 0;
  for (int y = 0; y < view.height (0); y++)
    for (int x = 0; x < view.width (0); x++)
      if (view.at (0, x, y) == 255) {
        left = std::min (left, x), right = std::max (right, x + 1);
        top = std::min (top, y), bottom = std::max (bottom, y + 1);
      }
  return {left, top, right - left, bottom - top};
}

/* A white rectangle is inside the region that marks it. */
TEST_ROWS (test_openclconvert_region_of_interest_is_what_it_marks, region_rows)
{
  GstVideoInfo in = info_of ("GRAY8", 64, 32);
  GstVideoInfo out = info_of ("GRAY8", row.width, row.height);
  for (const Region &region : {Region{48, 0, 16, 8}, {4, 8, 12, 20}, {0, 0, 64, 32}}) {
    Picture picture (in);
    video::fill (picture, [&] (int, int x, int y) {
      return x >= region.x && x < region.x + region.w && y >= region.y
             && y < region.y + region.h;
    });
    add_region (picture, region);
    Run run (std::string ("openclconvert scale-method=nearest ") + row.label, in, out);
    GstBuffer *made =
        gst_harness_push_and_pull (run.harness, gst_buffer_ref (picture.buffer));
    Picture output (out, made);
    const Region found = found_in (output);
    fail_unless (regions_of (made) == std::vector<Region>{found}, "%s, found %s",
        text_of (regions_of (made)).c_str (), text_of ({found}).c_str ());
  }
}

TEST (test_openclconvert_region_of_interest_stays_in_frame)
{
  const struct {
    const char *properties;
    std::vector<Region> expected;
  } rows[] = {
      {"", {{60, 28, 4, 4}, {60, 0, 4, 32}, {10, 12, 0, 5}}},
      {"video-direction=180", {{0, 0, 4, 4}, {0, 0, 4, 32}, {54, 15, 0, 5}}},
      {"video-direction=90r", {{0, 60, 4, 4}, {0, 60, 32, 4}, {15, 10, 5, 0}}},
  };
  GstVideoInfo in = info_of ("RGBA", 64, 32);
  for (const auto &row : rows) {
    const bool sideways = strstr (row.properties, "90r");
    GstVideoInfo out = info_of ("BGRA", sideways ? 32 : 64, sideways ? 64 : 32);
    Picture picture (in);
    add_region (picture, {60, 28, 16, 8});
    add_region (picture, {64, 0, 4, 4});
    add_region (picture, {60, 0, G_MAXINT, G_MAXINT});
    add_region (picture, {10, 12, 0, 5});
    Run run (std::string ("openclconvert ") + row.properties, in, out);
    const std::vector<Region> regions = regions_of (run (picture).buffer);
    fail_unless (
        regions == row.expected, "%s:%s", row.properties, text_of (regions).c_str ());
  }
}

TEST (test_openclconvert_region_of_interest_keeps_a_pixel)
{
  Picture picture (info_of ("RGBA", 64, 32));
  add_region (picture, {63, 31, 1, 1});
  add_region (picture, {6, 0, 2, 9});
  Run run ("openclconvert", picture.info, info_of ("RGBA", 16, 8));
  const std::vector<Region> regions = regions_of (run (picture).buffer);
  fail_unless (regions == std::vector<Region> ({{15, 7, 1, 1}, {1, 0, 1, 2}}), "%s",
      text_of (regions).c_str ());
}

TEST (test_openclconvert_region_of_interest_keeps_what_it_says)
{
  GstVideoInfo in = info_of ("RGBA", 64, 32);
  Picture picture (in);
  GstVideoRegionOfInterestMeta *region = add_region (picture, {48, 0, 16, 8});
  region->id = 5, region->parent_id = 3;
  gst_video_region_of_interest_meta_add_param (
      region, gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, 0.5, nullptr));
  const Picture made =
      video::converted ("openclconvert video-direction=180", picture, in);
  auto *moved = reinterpret_cast<GstVideoRegionOfInterestMeta *> (
      gst_buffer_get_meta (made.buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless (moved != nullptr);
  fail_unless_equals_int (moved->id, 5);
  fail_unless_equals_int (moved->parent_id, 3);
  fail_unless_equals_string (g_quark_to_string (moved->roi_type), "face");
  GstStructure *param = gst_video_region_of_interest_meta_get_param (moved, "detection");
  gdouble confidence = 0;
  fail_unless (param && gst_structure_get_double (param, "confidence", &confidence));
  fail_unless (confidence == 0.5);
}

/* The next frame is turned, without new caps. */
TEST (test_openclconvert_region_of_interest_follows_property)
{
  Auto convert ("identity");
  add_region (convert.picture, {1, 2, 3, 4});
  auto regions = [&] {
    GstBuffer *made = gst_harness_push_and_pull (
        convert.run.harness, gst_buffer_ref (convert.picture.buffer));
    const std::vector<Region> found = regions_of (made);
    gst_buffer_unref (made);
    return found;
  };
  fail_unless (regions () == (std::vector<Region>{{1, 2, 3, 4}}));
  convert.set_direction ("180");
  fail_unless (regions () == (std::vector<Region>{{36, 18, 3, 4}}));
  convert.set_direction ("auto");
  convert.tag ("flip-rotate-0");
  fail_unless (regions () == (std::vector<Region>{{36, 2, 3, 4}}));
}

/* A crop is a region too. Metas of bars and of active formats do not apply to turned
 * frames. */
TEST (test_openclconvert_crop_is_turned_and_other_places_are_dropped)
{
  GstVideoInfo in = info_of ("RGBA", 64, 32);
  Picture picture (in);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (picture.buffer);
  crop->x = 48, crop->y = 0, crop->width = 16, crop->height = 8;
  gst_buffer_add_video_afd_meta (
      picture.buffer, 0, GST_VIDEO_AFD_SPEC_ATSC_A53, GST_VIDEO_AFD_16_9_TOP_ALIGNED);
  const Picture made =
      video::converted ("openclconvert video-direction=180", picture, in);
  crop = gst_buffer_get_video_crop_meta (made.buffer);
  fail_unless (
      crop && crop->x == 0 && crop->y == 24 && crop->width == 16 && crop->height == 8);
  fail_if (gst_buffer_get_meta (made.buffer, GST_VIDEO_AFD_META_API_TYPE));
}

/* As of a broken header; a CRITICAL fails any test. */
TEST_ROWS (test_a_pixel_aspect_ratio_of_0_is_taken_as_1,
    {"openclconvert ! video/x-raw(ANY),width=32,height=80",
        "openclconvert add-borders=true ! video/x-raw(ANY),width=32,height=80",
        "openclconvert video-direction=90r ! video/x-raw(ANY),width=32",
        "openclcompositor sink_0::width=32 sink_0::height=80 "
        "sink_0::sizing-policy=keep-aspect-ratio ! video/x-raw(ANY),width=32,height=80"})
{
  std::vector<check::Bytes> frames;
  for (const char *ratio : {"1/1", "0/1"}) {
    check::Pipeline pipeline (
        "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=64,"
        "height=48 ! capssetter caps=video/x-raw,pixel-aspect-ratio="
        "(fraction)"
        + std::string (ratio) + " ! openclupload ! " + row
        + " ! opencldownload ! appsink name=out sync=false");
    pipeline.start ();
    const check::Owned<GstSample> sample = pipeline.pull ();
    fail_unless (sample, "%s", pipeline.messages ().line ().c_str ());
    frames.push_back (check::read_buffer (gst_sample_get_buffer (sample)));
  }
  check::assert_same (frames[1], frames[0], row);
}
