/* Tests of greenscreenbin, a keyer with a background, in pipelines and in playbin
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"
#include "tests/check/slowness.hpp"

#include <gst/video/video.h>

#include <cmath>
#include <sys/stat.h>

using namespace check;

namespace {
/* A screen of 16,160,48 with a white square in columns 64 to 95 and rows 32 to 63 */
/* The compositor of GStreamer 1.26 prefers AYUV64, in the transfer function of BT.601. */
#define FOREGROUND                                                                       \
  "compositor name=mix sink_1::xpos=64 sink_1::ypos=32 ! video/x-raw,format=RGBA ! "     \
  "identity name=film "                                                                  \
  "videotestsrc num-buffers=5 pattern=solid-color foreground-color=0xff10a030 ! "        \
  "video/x-raw,width=160,height=96,framerate=25/1 ! mix.sink_0 "                         \
  "videotestsrc num-buffers=5 pattern=white ! video/x-raw,width=32,height=32,"           \
  "framerate=25/1 ! mix.sink_1 "
#define END                                                                              \
  " ! videoconvert ! video/x-raw,format=RGBA ! fakesink name=end sync=false "            \
  "signal-handoffs=true "

#define ON_DEVICE "video/x-raw(memory:OpenCLMemory)"

struct Result {
  guint frames = 0;
  GstVideoInfo info;
  std::vector<guint8> bytes; /* of the last frame */

  std::array<int, 4> at (int x, int y) const
  {
    const guint8 *pixel = &bytes[size_t (y) * info.stride[0] + 4 * x];
    return {pixel[0], pixel[1], pixel[2], pixel[3]};
  }
};

void
take_frame (GstElement *, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  Result &result = *static_cast<Result *> (data);
  Owned<GstCaps> caps = gst_pad_get_current_caps (pad);
  result.frames++;
  fail_unless (gst_video_info_from_caps (&result.info, caps));
  result.bytes = read_buffer (buffer);
}

/* Plays until EOS. */
Result
result_of (const std::string &launch)
{
  Result result;
  Pipeline pipeline (launch);
  g_signal_connect (pipeline["end"], "handoff", G_CALLBACK (take_frame), &result);
  pipeline.play_to_eos ();
  return result;
}

/* Tolerance of a level for videoconvert, whose white is 253 after YUV, and of one for
 * JPEG */
void
expect_color (const Result &result, int x, int y, const std::array<int, 4> &color)
{
  std::array<int, 4> is = result.at (x, y);
  for (int n = 0; n < 4; n++)
    fail_unless (abs (is[n] - color[n]) <= 2, "%d,%d is %d,%d,%d,%d", x, y, is[0], is[1],
        is[2], is[3]);
}

/* Fails unless the white square is before this background, and nothing else. */
void
expect_square_before (
    const Result &result, const std::array<int, 4> &left, const std::array<int, 4> &right)
{
  fail_unless (result.frames == 5, "%u frames", result.frames);
  fail_unless (result.info.width == 160 && result.info.height == 96);
  expect_color (result, 80, 48, {255, 255, 255, 255});
  for (int y : {3, 48, 92}) {
    expect_color (result, 20, y, left);
    expect_color (result, 140, y, right);
  }
}

const std::array<int, 4> blue = {32, 64, 192, 255}, red = {200, 20, 40, 255};

/* Writes a picture of one colour and returns its path. */
std::string
written (Folder &folder, const char *name, const char *color)
{
  const std::string path = folder.file (name);
  Pipeline (text ("videotestsrc num-buffers=1 pattern=solid-color foreground-color=%s ! "
                  "pngenc ! filesink location=%s",
                color, path.c_str ()))
      .play_to_eos ();
  return path;
}

/* Returns true if the sink shows this colour within some seconds, without an error. */
bool
becomes (GstElement *sink, const std::array<int, 4> &color)
{
  const gint64 until =
      g_get_monotonic_time () + gint64 (20 * check::slowness ()) * G_USEC_PER_SEC;
  while (g_get_monotonic_time () < until) {
    Owned<GstSample> sample;
    g_signal_emit_by_name (sink, "pull-sample", sample.out ());
    fail_unless (sample);
    const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
    if (std::equal (color.begin (), color.begin () + 3, bytes.begin (),
            [] (int a, int b) { return abs (a - b) <= 2; }))
      return true;
  }
  return false;
}

/* A green screen without a foreground, keyed until the test stops it */
struct Played {
  Owned<GstElement> pipeline, end, key;
  Owned<GstBus> bus;

  explicit Played (const char *property, const std::string &value)
      : Played ("videotestsrc pattern=solid-color foreground-color=0xff10a030 ! "
                "video/x-raw,width=64,height=48,framerate=25/1",
          property, value)
  {
  }
  Played (const char *film, const char *property, const std::string &value)
  {
    pipeline = launch (std::string (film)
                       + " ! greenscreenbin name=key ! videoconvert ! "
                         "video/x-raw,format=RGBA ! "
                         "appsink name=end sync=false max-buffers=1");
    end = gst_bin_get_by_name (GST_BIN ((GstElement *)pipeline), "end");
    key = gst_bin_get_by_name (GST_BIN ((GstElement *)pipeline), "key");
    bus = gst_element_get_bus (pipeline);
    set (property, value);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  }
  ~Played () { gst_element_set_state (pipeline, GST_STATE_NULL); }

  Bytes pull (const std::string &when)
  {
    static const guint64 limit = guint64 (20 * GST_SECOND * check::slowness ());
    Owned<GstSample> sample;
    g_signal_emit_by_name (end, "try-pull-sample", limit, sample.out ());
    fail_unless (sample, "no frame after %s", when.c_str ());
    return read_buffer (gst_sample_get_buffer (sample));
  }

  /* A seek right after another one can leave GStreamer's pipeline paused. */
  void goes_on ()
  {
    for (int time = 0; time < 2; time++) {
      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      fail_unless (gst_element_get_state (
                       pipeline, nullptr, nullptr, 20 * GST_SECOND * check::slowness ())
                   == GST_STATE_CHANGE_SUCCESS);
    }
  }

  void set (const char *property, const std::string &value)
  {
    gst_util_set_object_arg (G_OBJECT ((GstElement *)key), property, value.c_str ());
  }

  void start_again ()
  {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  }

  /* Expects one warning, and the same colour behind the foreground. */
  void expect_warning (const std::array<int, 4> &color)
  {
    GstMessage *message = nullptr;
    for (int frame = 0; frame < 2000 && !message; frame++) {
      fail_unless (becomes (end, color));
      message = gst_bus_pop_filtered (
          bus, GstMessageType (GST_MESSAGE_WARNING | GST_MESSAGE_ERROR));
    }
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING);
    gst_message_unref (message);
    fail_unless (becomes (end, color));
  }
};
} // namespace

TEST (test_greenscreenbin_puts_the_picture_over_a_colour_in_every_format)
{
  for (const char *format : {"I420", "NV12", "YUY2", "RGBA", "BGRx"}) {
    std::string launch =
        std::string (FOREGROUND "film. ! videoconvert ! video/x-raw,format=") + format
        + " ! greenscreenbin background-color=0xff2040c0" END;
    expect_square_before (result_of (launch), blue, blue);
  }
}

/* GStreamer looks for the names of a launch line in bins, too, and finds theirs first. */
TEST (test_greenscreenbin_has_no_tee_of_an_automatic_name)
{
  Pipeline pipeline ("videotestsrc ! greenscreenbin name=bin ! fakesink");
  GstIterator *tees =
      gst_bin_iterate_all_by_element_factory_name (GST_BIN (pipeline["bin"]), "tee");
  guint count = 0;
  g_auto (GValue) item = G_VALUE_INIT;
  while (gst_iterator_next (tees, &item) == GST_ITERATOR_OK) {
    Owned<gchar> name = gst_object_get_name (GST_OBJECT (g_value_get_object (&item)));
    fail_if (g_regex_match_simple (
                 "^tee[0-9]+$", name, GRegexCompileFlags (0), GRegexMatchFlags (0)),
        "%s", static_cast<gchar *> (name));
    count++;
    g_value_reset (&item);
  }
  gst_iterator_free (tees);
  fail_unless (count > 0);
}

TEST (test_greenscreenbin_takes_screens_from_several_threads)
{
  for (int i = 0; i < 20; i++) {
    Pipeline pipeline ("videotestsrc ! greenscreenbin name=bin ! fakesink");
    GstElement *bin = pipeline["bin"];
    together (3, [&] (guint number) {
      const char *screens[] = {"none", "auto", "key"};
      for (guint n = 0; n < 9; n++)
        gst_util_set_object_arg (G_OBJECT (bin), "screen", screens[(number + n) % 3]);
    });
  }
}

/* A film that lies on its side, with the tag of a telephone, as videoflip shows it */
TEST_ROWS (
    test_greenscreenbin_turns_a_film_as_its_tag_says, {"rotate-90", "flip-rotate-180"})
{
  const std::string filmed =
      text (FOREGROUND "film. ! taginject tags=image-orientation=%s", row);
  const std::string key = " ! greenscreenbin background-color=0xff2040c0",
                    turning = key + " video-direction=auto";
  const Result turned = result_of (filmed + turning + END),
               expected =
                   result_of (filmed + " ! videoflip video-direction=auto" + key + END);
  expect_equal (turned.frames, expected.frames);
  expect_equal (turned.info.width, expected.info.width);
  expect_equal (turned.info.height, expected.info.height);
  fail_unless (expected.info.width == (std::string (row) == "rotate-90" ? 96 : 160));
  for (int y : {10, 40, 80})
    for (int x : {10, 40, 80})
      expect_color (turned, x, y, expected.at (x, y));
}

TEST (test_greenscreenbin_leaves_the_picture_transparent_where_asked)
{
  Result result = result_of (FOREGROUND
      "film. ! greenscreenbin background-color=0 ! video/x-raw,format=RGBA" END);
  fail_unless (result.at (20, 20)[3] == 0 && result.at (80, 48)[3] == 255);
}

/* An endless background of another size */
TEST (test_greenscreenbin_shows_what_comes_in_on_its_background_pad)
{
  Result result = result_of (FOREGROUND
      "film. ! queue ! greenscreenbin name=key" END
      "compositor name=behind sink_1::xpos=20 ! video/x-raw,format=RGBA ! queue ! "
      "key.background "
      "videotestsrc pattern=solid-color foreground-color=0xff2040c0 ! "
      "video/x-raw,width=40,height=30,framerate=25/1 ! behind.sink_0 "
      "videotestsrc pattern=solid-color foreground-color=0xffc81428 ! "
      "video/x-raw,width=20,height=30,framerate=25/1 ! behind.sink_1");
  expect_square_before (result, blue, red);
}

TEST (test_greenscreenbin_shows_a_picture_or_a_film_of_any_length_behind)
{
  Folder folder;
  const std::string picture = written (folder, "blue.png", "0xff2040c0"),
                    film = folder.file ("blue.avi");
  for (const char *frames : {"2", "50"}) {
    /* videotestsrc has no full range, and videoconvert is off by 4 levels here. */
    Pipeline (text ("videotestsrc pattern=solid-color foreground-color=0xff2040c0 "
                    "num-buffers=%s ! video/x-raw,format=RGBA,framerate=25/1 ! "
                    "openclupload ! openclconvert ! " ON_DEVICE
                    ",format=I420,colorimetry=1:4:0:0 ! opencldownload ! "
                    "jpegenc quality=100 ! avimux ! filesink location=%s",
                  frames, film.c_str ()))
        .play_to_eos ();
    for (const std::string &location : {picture, film})
      expect_square_before (
          result_of (
              FOREGROUND "film. ! greenscreenbin background-location=" + location + END),
          blue, blue);
  }
}

/* A file that cannot be read, with a colour and with a picture */
TEST (test_greenscreenbin_getter_tells_the_background_in_effect)
{
  Folder folder;
  const std::string picture = written (folder, "red.png", "0xffc81428"),
                    none = folder.write ("none.png", "no picture");
  Played played ("background-color", "0xff2040c0");
  const auto location = [&] {
    Owned<gchar> text;
    g_object_get (played.key, "background-location", text.out (), nullptr);
    return std::string (text ? static_cast<gchar *> (text) : "");
  };
  fail_unless (becomes (played.end, blue));
  played.set ("background-location", none);
  played.expect_warning (blue);
  fail_unless (soon ([&] { return location ().empty (); }), "%s", location ().c_str ());
  played.set ("background-location", picture);
  fail_unless (becomes (played.end, red));
  expect_equal (location (), picture);
  played.set ("background-location", none);
  played.expect_warning (red);
  fail_unless (soon ([&] { return location () == picture; }), "%s", location ().c_str ());
}

/* Another picture, then an invalid one, then another picture */
TEST (test_greenscreenbin_changes_its_background_while_it_plays)
{
  Folder folder;
  const std::string first = written (folder, "blue.png", "0xff2040c0"),
                    second = written (folder, "red.png", "0xffc81428"),
                    none = folder.write ("none.png", "no picture"),
                    fifo = folder.file ("fifo.png");
  fail_unless (mkfifo (fifo.c_str (), 0600) == 0);
  Played played ("background-location", first);
  fail_unless (becomes (played.end, blue));
  played.set ("background-location", second);
  fail_unless (becomes (played.end, red));
  for (const std::string &bad : {none, folder.file ("missing.png"), fifo}) {
    played.set ("background-location", bad);
    played.expect_warning (red);
  }
  played.set ("background-location", first);
  fail_unless (becomes (played.end, blue));
  played.set ("background-location", second);
  played.start_again ();
  fail_unless (becomes (played.end, red));
}

/* Images, and films that end early or late. A film restarts. */
TEST_ROWS (test_greenscreenbin_keeps_its_background_after_a_seek,
    {"num-buffers=1 ! pngenc",
        "num-buffers=1 ! video/x-raw,format=RGB ! jpegenc quality=100",
        "num-buffers=3 ! video/x-raw,format=RGB ! jpegenc quality=100 ! avimux",
        "num-buffers=150 ! video/x-raw,format=RGB ! jpegenc quality=100 ! avimux"})
{
  Folder folder;
  const std::string behind = folder.file ("behind");
  Pipeline ("videotestsrc pattern=white " + std::string (row)
            + " ! filesink location=" + behind)
      .play_to_eos ();
  Played played ("background-location", behind);
  const std::array<int, 4> white = {254, 254, 254, 255};
  fail_unless (becomes (played.end, white));
  for (int second : {3, 0, 1, 2, 0}) {
    fail_unless (gst_element_seek_simple (
        played.end, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, second * GST_SECOND));
    played.goes_on ();
    fail_unless (becomes (played.end, white), "not at %d s", second);
  }
}

namespace {
/* A stream of one colour, linked to a request pad of greenscreenbin */
struct Stream {
  Played &played;
  Owned<GstPad> pad;
  GstElement *source = nullptr;

  explicit Stream (Played &of, bool requests = true) : played (of)
  {
    if (requests)
      request ();
  }
  void request ()
  {
    pad = gst_element_request_pad_simple (played.key, "background");
    fail_unless (pad);
  }
  void link (const char *color, bool is_live)
  {
    source = gst_parse_bin_from_description (
        text ("videotestsrc is-live=%d pattern=solid-color foreground-color=%s ! "
              "video/x-raw,width=40,height=30,framerate=25/1",
            is_live, color)
            .c_str (),
        TRUE, nullptr);
    gst_bin_add (GST_BIN ((GstElement *)played.pipeline), source);
    Owned<GstPad> end = gst_element_get_static_pad (source, "src");
    expect_equal (gst_pad_link (end, pad), GST_PAD_LINK_OK);
    gst_element_sync_state_with_parent (source);
  }
  void unlink ()
  {
    Owned<GstPad> end = gst_element_get_static_pad (source, "src");
    gst_element_set_state (source, GST_STATE_NULL);
    fail_unless (gst_pad_unlink (end, pad));
    gst_bin_remove (GST_BIN ((GstElement *)played.pipeline), source);
    source = nullptr;
  }
  void release ()
  {
    gst_element_release_request_pad (played.key, pad);
    pad = nullptr;
  }
};
} // namespace

/* The background is decoded long before the first frame of the camera. */
TEST (test_greenscreenbin_of_a_camera_begins_at_its_size)
{
  Folder folder;
  const std::string launch =
      "videotestsrc is-live=true pattern=solid-color foreground-color=0xff10a030 ! "
      "video/x-raw,width=64,height=48,framerate=2/1 ! greenscreenbin "
      "background-location="
      + written (folder, "blue.png", "0xff2040c0")
      + " ! videoconvert ! video/x-raw,format=RGBA ! appsink name=out sync=false";
  Pipeline pipeline (launch);
  pipeline.start ();
  for (int frame = 0; frame < 2; frame++) {
    Owned<GstSample> sample = pipeline.pull ();
    GstVideoInfo info;
    fail_unless (
        sample && gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
    fail_unless (
        info.width == 64 && info.height == 48, "%d x %d", info.width, info.height);
  }
  fail_unless (becomes (pipeline["out"], blue));
}

namespace {
/* As x264enc, which prefers full chroma */
#define ENCODER "video/x-raw,format={Y444,Y42B,I420,YV12,NV12}"

const gchar *
format_of (Pipeline &pipeline)
{
  Owned<GstPad> pad = pipeline.pad ("key", "src");
  Owned<GstCaps> caps = gst_pad_get_current_caps (pad);
  fail_unless (caps, "no caps");
  return g_intern_string (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "format"));
}

struct Consumer {
  const char *settings, *downstream;
  std::vector<std::string> expected; /* one of these formats */
};
const std::vector<std::string> played = {"I420", "NV12"}, with_alpha = {"RGBA", "BGRA"},
                               full = {"RGBA", "RGB", "Y444", "BGRA"};
const Consumer consumers[] = {
    {"", "videoconvert ! " ENCODER, played},
    {"", ENCODER, played},
    {"", "queue ! videoconvert ! videoscale ! " ENCODER, played},
    {"", "video/x-raw,format={RGBA,NV12}", {"NV12"}},
    {"", "jpegenc", played},
    {"", "videoconvert ! vp8enc deadline=1", {"I420"}},
    {"background-color=0xff2040c0", "videoconvert ! " ENCODER, played},
    /* Full chroma, if downstream accepts nothing else */
    {"", "videoconvert ! pngenc", full},
    {"", "pngenc", full},
    {"", "videoconvert ! video/x-raw,format=Y444", full},
    {"", "video/x-raw,format=Y444", {"Y444"}},
    {"", "video/x-raw,format=BGRx", {"BGRx"}},
    {"", ON_DEVICE " ! openclconvert ! " ON_DEVICE ",format={RGBA,I420} ! opencldownload",
        full},
    /* A transparent background */
    {"background-color=0", "videoconvert ! video/x-raw,format={I420,RGBA}", with_alpha},
    {"background-color=0x80ff0000", "videoconvert ! video/x-raw,format={NV12,BGRA}",
        with_alpha},
    /* A transparent background that cannot be kept */
    {"background-color=0", "videoconvert ! " ENCODER, played},
};
} // namespace

TEST_ROWS (test_greenscreenbin_prefers_formats_that_players_show, consumers)
{
  if (strstr (row.downstream, "vp8enc") && is_missing ("vp8enc"))
    return;
  Pipeline pipeline (std::string ("videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,"
                                  "width=64,height=48 ! greenscreenbin name=key ")
                     + row.settings + " ! " + row.downstream + " ! fakesink");
  pipeline.play_to_eos ();
  const std::string format = format_of (pipeline);
  fail_unless (std::find (row.expected.begin (), row.expected.end (), format)
                   != row.expected.end (),
      "\"%s\" to %s is %s", row.settings, row.downstream, format.c_str ());
}

TEST (test_greenscreenbin_over_a_moving_background_is_opaque)
{
  Pipeline pipeline (
      "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48 ! "
      "greenscreenbin name=key background-color=0 ! videoconvert ! " ENCODER
      " ! fakesink videotestsrc num-buffers=2 ! key.background");
  pipeline.play_to_eos ();
  fail_unless (g_str_equal (format_of (pipeline), "I420")
                   || g_str_equal (format_of (pipeline), "NV12"),
      "%s", format_of (pipeline));
}

/* 32,64,192 by BT.601: Y = 16 + (65.738 * 32 + 129.057 * 64 + 25.064 * 192) / 256 = 75.3,
 * Cb = 128 + (-37.945 * 32 - 74.494 * 64 + 112.439 * 192) / 256 = 189.0, and Cr = 128 +
 * (112.439 * 32 - 94.154 * 64 - 18.285 * 192) / 256 = 104.8 */
TEST (test_greenscreenbin_keeps_colours_in_a_format_that_players_show)
{
  Pipeline pipeline (
      "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff10a030 ! "
      "video/x-raw,format=RGBA,width=64,height=48 ! greenscreenbin "
      "background-color=0xff2040c0 ! video/x-raw,format={Y444,I420} ! appsink name=out");
  pipeline.start ();
  Owned<GstSample> sample = pipeline.pull ();
  GstVideoInfo info;
  GstVideoFrame frame;
  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  expect_equal (GST_VIDEO_INFO_FORMAT (&info), GST_VIDEO_FORMAT_I420);
  fail_unless (
      gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ));
  const double expected[] = {75.3, 189.0, 104.8};
  for (guint n = 0; n < 3; n++) {
    const int is = *GST_VIDEO_FRAME_COMP_DATA (&frame, n);
    fail_unless (std::abs (is - expected[n]) <= 1, "component %u is %d", n, is);
  }
  gst_video_frame_unmap (&frame);
}

namespace {
/* Opaque frames of 128,64,200 */
#define PURPLE                                                                           \
  "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff8040c8 ! "        \
  "video/x-raw,width=160,height=96,framerate=25/1,format="

/* The network's matte is the red channel. Refinement keeps an even matte as it is. */
std::string
without_screen (Folder &folder)
{
  return " ! greenscreenbin name=key screen=none model-file="
         + folder.write ("red.onnx", red_matte_model ().bytes ())
         + " refine::black=0 refine::white=1 ";
}

} // namespace

/* 128 of 255 of the frame over 32,64,192 */
TEST_ROWS (test_greenscreenbin_without_a_screen_takes_the_matte_of_a_network,
    {"RGBA", "BGRx", "NV12", "I420"})
{
  Folder folder;
  const std::string key = without_screen (folder),
                    blue_file = written (folder, "blue.png", "0xff2040c0"),
                    end = std::string (" ! video/x-raw,format=") + row + END;
  for (const std::string &behind :
      {std::string ("background-color=0xff2040c0"), "background-location=" + blue_file}) {
    Result half = result_of (PURPLE + (row + key) + behind + end);
    fail_unless (half.frames == 3 && half.info.width == 160 && half.info.height == 96);
    for (int x : {2, 80, 157})
      expect_color (half, x, 48, {80, 64, 196, 255});
  }
}

/* Half of 128 of 255, by a property of the network */
TEST (test_greenscreenbin_without_a_screen_has_the_settings_of_the_network)
{
  Folder folder;
  Result quarter = result_of (PURPLE "RGBA" + without_screen (folder)
                              + "network::deviation=<2> background-color=0xff2040c0" END);
  expect_color (quarter, 80, 48, {56, 64, 194, 255});
}

/* Red ends at the centre. A matte of 8 columns would fade over 20 pixels. */
TEST (test_greenscreenbin_without_a_screen_refines_the_matte)
{
  Folder folder;
  Result result = result_of (
      "compositor name=film sink_1::xpos=80 "
      "videotestsrc num-buffers=3 pattern=solid-color "
      "foreground-color=0xff00a030 ! video/x-raw,format=RGBA,"
      "width=160,height=96,framerate=25/1 ! film.sink_0 "
      "videotestsrc num-buffers=3 pattern=solid-color "
      "foreground-color=0xffff8040 ! video/x-raw,format=RGBA,"
      "width=80,height=96,framerate=25/1 ! film.sink_1 "
      "film. ! video/x-raw,format=RGBA"
      + without_screen (folder)
      + "refine::black=0.05 refine::white=0.95 refine::subsample=16 refine::radius=16 "
        "background-color=0xff2040c0" END);
  for (int x : {2, 20})
    expect_color (result, x, 48, blue);
  for (int x : {140, 157})
    expect_color (result, x, 48, {255, 128, 64, 255});
  fail_unless (result.at (78, 48)[0] < 40, "%d", result.at (78, 48)[0]);
  fail_unless (result.at (81, 48)[0] > 190, "%d", result.at (81, 48)[0]);
}

namespace {
/* A picture of a white square from a file or a pad, as FOREGROUND, with no end */
#define ENDLESS                                                                          \
  "compositor name=film sink_1::xpos=64 sink_1::ypos=32 "                                \
  "videotestsrc pattern=solid-color foreground-color=0xff10a030 ! "                      \
  "video/x-raw,width=160,height=96,framerate=25/1 ! film.sink_0 "                        \
  "videotestsrc pattern=white ! video/x-raw,width=32,height=32,framerate=25/1 ! "        \
  "film.sink_1 "
/* White in the left half, black in the right half */
#define LEFT_HALF                                                                        \
  "videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=RGBA,width=8,"          \
  "height=6 ! videobox right=-8 fill=black ! videoconvert ! video/x-raw,format=GRAY8 ! "

int
level_at (GstSample *sample, int x, int y, int component)
{
  return read_buffer (gst_sample_get_buffer (sample))[(y * 160 + x) * 4 + component];
}

/* Returns true if this level is between the two ends within some seconds. */
bool
level_becomes (Pipeline &pipeline, int x, int y, int component, int least, int most)
{
  return soon ([&] {
    Owned<GstSample> sample = pipeline.pull ();
    fail_unless (sample);
    const int is = level_at (sample, x, y, component);
    return is >= least && is <= most;
  });
}

struct Shape {
  const char *settings;
  int opaque, clear; /* columns beside the left edge, which is before column 64 */
};
const Shape shapes[] = {
    {"", 64, 63},
    {"grow=4", 60, 59},
    {"grow=-4", 68, 67},
    {"feather=4", 68, 59},
    {"grow=4 feather=2", 62, 57},
};
} // namespace

TEST_ROWS (test_greenscreenbin_shapes_the_matte, shapes)
{
  Result result = result_of (std::string (FOREGROUND "film. ! greenscreenbin ")
                             + row.settings + " background-color=0" END);
  const int opaque = result.at (row.opaque, 48)[3], clear = result.at (row.clear, 48)[3];
  /* Chroma of 4:2:0 is mixed in the two columns at the edge. */
  fail_unless (opaque >= 225 && clear <= 24, "%s: %d, %d", row.settings, opaque, clear);
  if (strstr (row.settings, "feather=4")) {
    const int inside = result.at (64, 48)[3], outside = result.at (63, 48)[3];
    fail_unless (inside < 255 && outside > 0 && abs (inside + outside - 255) <= 2,
        "%d, %d", inside, outside);
  }
}

TEST (test_greenscreenbin_changes_the_shape_while_it_plays)
{
  Pipeline pipeline (ENDLESS
      "film. ! greenscreenbin name=key background-color=0 ! video/x-raw,format=RGBA ! "
      "appsink name=out max-buffers=1 sync=false");
  pipeline.start ();
  for (int grow : {0, 4, 0, -4, 4}) {
    g_object_set (pipeline["key"], "grow", double (grow), nullptr);
    fail_unless (level_becomes (pipeline, 64 - grow, 48, 3, 255, 255), "grow=%d", grow);
    fail_unless (level_becomes (pipeline, 63 - grow, 48, 3, 0, 0), "grow=%d", grow);
  }
}

/* The square has 80 of 255, the background 255. The light at an edge is half of the
 * background's, so the edge is screened to 80 + 0.5 * 175. */
TEST (test_greenscreenbin_wraps_light_of_the_background)
{
  Folder folder;
  Pipeline pipeline (
      "compositor name=film sink_1::xpos=48 sink_1::ypos=16 "
      "videotestsrc pattern=solid-color foreground-color=0xff10a030 ! "
      "video/x-raw,width=160,height=96,framerate=25/1 ! film.sink_0 "
      "videotestsrc pattern=solid-color foreground-color=0xff505050 ! "
      "video/x-raw,width=64,height=64,framerate=25/1 ! film.sink_1 "
      "film. ! greenscreenbin name=key linear=false light-wrap=1 background-location="
      + written (folder, "white.png", "0xffffffff")
      + " ! video/x-raw,format=RGBA ! appsink name=out max-buffers=1 sync=false");
  pipeline.start ();
  fail_unless (level_becomes (pipeline, 48, 48, 0, 157, 177));
  fail_unless (level_becomes (pipeline, 80, 48, 0, 78, 82));
  g_object_set (pipeline["key"], "light-wrap", 0.0, nullptr);
  fail_unless (level_becomes (pipeline, 48, 48, 0, 78, 82));
  g_object_set (pipeline["key"], "light-wrap", 1.0, nullptr);
  fail_unless (level_becomes (pipeline, 48, 48, 0, 157, 177));
}

namespace {
double
light_of (double level)
{
  const double share = level / 255;
  return share <= 0.04045 ? share / 12.92 : std::pow ((share + 0.055) / 1.055, 2.4);
}

double
level_of (double light)
{
  return 255
         * (light <= 0.0031308 ? light * 12.92
                               : 1.055 * std::pow (light, 1 / 2.4) - 0.055);
}
} // namespace

/* White with alpha 128 of 255 over 32,64,192, with linear set before or while it plays */
TEST_ROWS (test_greenscreenbin_blends_light_if_linear, {true, false})
{
  Folder folder;
  Pipeline pipeline (std::string (ENDLESS "film. ! video/x-raw,format=RGBA ! "
                                          "greenscreenbin name=key opacity=0.501961 "
                                          "background-location=")
                     + written (folder, "blue.png", "0xff2040c0")
                     + " ! video/x-raw,format=RGBA ! appsink name=out max-buffers=1 "
                       "sync=false");
  g_object_set (pipeline["key"], "linear", gboolean (row), nullptr);
  pipeline.start ();
  const double share = 128 / 255.0;
  for (bool linear : {bool (row), !row}) {
    g_object_set (pipeline["key"], "linear", gboolean (linear), nullptr);
    const int behind[] = {32, 64, 192};
    for (int n = 0; n < 3; n++) {
      const double expected =
          linear ? level_of (share * light_of (255) + (1 - share) * light_of (behind[n]))
                 : share * 255 + (1 - share) * behind[n];
      fail_unless (
          level_becomes (pipeline, 80, 48, n, int (expected) - 2, int (expected) + 3),
          "component %d, linear=%d: expected %g", n, linear, expected);
    }
  }
}

TEST (test_greenscreenbin_takes_garbage_and_holdout_mattes)
{
  Result garbage = result_of (FOREGROUND
      "film. ! queue ! greenscreenbin name=key background-color=0" END LEFT_HALF
      "key.garbage");
  fail_unless (garbage.frames == 5, "%u frames", garbage.frames);
  fail_unless (garbage.at (70, 48)[3] == 0 && garbage.at (90, 48)[3] == 255);
  Result holdout = result_of (FOREGROUND
      "film. ! queue ! greenscreenbin name=key background-color=0xff2040c0" END LEFT_HALF
      "key.holdout");
  expect_color (holdout, 20, 20, {16, 160, 48, 255});
  expect_color (holdout, 140, 20, blue);
  expect_color (holdout, 90, 48, {255, 255, 255, 255});
}

TEST (test_greenscreenbin_keys_what_is_outside_of_the_garbage_polygon)
{
  Result result =
      result_of (FOREGROUND "film. ! queue ! greenscreenbin background-color=0xff2040c0 "
                            "garbage-polygon=<0.5,0,1,0,1,1,0.5,1>" END);
  fail_unless (result.frames == 5, "%u frames", result.frames);
  expect_color (result, 70, 48, blue);
  expect_color (result, 90, 48, {255, 255, 255, 255});
}

/* The left half of the screen is too dark to be keyed without its plate. */
TEST (test_greenscreenbin_takes_a_clean_plate_on_a_pad)
{
#define STEPS(name)                                                                      \
  "compositor name=" name " sink_1::xpos=80 videotestsrc num-buffers=3 "                 \
  "pattern=solid-color foreground-color=0xff0c5020 ! video/x-raw,format=RGBA,width=80,"  \
  "height=96,framerate=25/1 ! " name ".sink_0 videotestsrc num-buffers=3 "               \
  "pattern=solid-color foreground-color=0xff28c050 ! video/x-raw,format=RGBA,width=80,"  \
  "height=96,framerate=25/1 ! " name ".sink_1 "
#define STEP_KEY                                                                         \
  "film. ! queue ! greenscreenbin name=key auto-key=none key-color=0xff28c050 "          \
  "background-color=0 plate="
  Result without = result_of (STEPS ("film") STEP_KEY "none" END);
  Result with = result_of (STEPS ("film") STEP_KEY
      "file" END STEPS ("empty") "empty. ! video/x-raw,format=RGBA ! queue ! key.plate");
  fail_unless (without.at (20, 48)[3] > 60 && without.at (140, 48)[3] == 0);
  fail_unless (
      with.at (20, 48)[3] == 0 && with.at (140, 48)[3] == 0, "%d", with.at (20, 48)[3]);
}

/* White where the square is, over a colour and over a file */
TEST (test_greenscreenbin_gives_the_matte_on_a_pad)
{
  Folder folder;
  for (const std::string &behind : {std::string ("background-color=0xff2040c0"),
           "background-location=" + written (folder, "blue.png", "0xff2040c0")}) {
    const std::string launch =
        FOREGROUND "film. ! greenscreenbin name=key " + behind + " grow=4 ";
    Result matte =
        result_of (launch + "key.src ! queue ! fakesink key.matte ! queue" END);
    fail_unless (matte.frames == 5, "%u frames", matte.frames);
    for (auto [x, level] : {std::pair (2, 0), {59, 0}, {60, 255}, {80, 255}, {157, 0}})
      expect_color (matte, x, 48, {level, level, level, 255});
    Result result =
        result_of (launch + "key.matte ! queue ! fakesink key.src ! queue" END);
    fail_unless (result.frames == 5, "%u frames", result.frames);
    expect_color (result, 20, 20, blue);
    expect_color (result, 80, 48, {255, 255, 255, 255});
  }
}

TEST (test_greenscreenbin_gives_the_matte_while_it_plays)
{
  Played played ("background-color", "0xff2040c0");
  g_object_set (played.end, "drop", TRUE, nullptr);
  fail_unless (becomes (played.end, blue));
  for (int time = 0; time < 2; time++) {
    GstElement *sink = gst_parse_bin_from_description (
        "queue ! videoconvert ! video/x-raw,format=RGBA ! appsink name=matte async=false "
        "sync=false max-buffers=1 drop=true",
        TRUE, nullptr);
    gst_bin_add (GST_BIN ((GstElement *)played.pipeline), sink);
    gst_element_sync_state_with_parent (sink);
    fail_unless (gst_element_link_pads (played.key, "matte", sink, "sink"));
    Owned<GstElement> matte = gst_bin_get_by_name (GST_BIN (sink), "matte");
    fail_unless (becomes (matte, {0, 0, 0, 255}));
    Owned<GstPad> pad = gst_element_get_static_pad (played.key, "matte");
    gst_element_release_request_pad (played.key, pad);
    gst_element_set_state (sink, GST_STATE_NULL);
    gst_bin_remove (GST_BIN ((GstElement *)played.pipeline), sink);
    fail_unless (becomes (played.end, blue));
  }
  fail_unless (collect (played.bus).is_clean ());
}

TEST (test_greenscreenbin_without_a_screen_refuses_mattes)
{
  Folder folder;
  run (PURPLE "RGBA" + without_screen (folder) + " ! fakesink " LEFT_HALF "key.garbage")
      .expect_one_error ({"garbage"});
}

TEST (test_greenscreenbin_gives_each_pad_again_after_its_release)
{
  Owned<GstElement> bin = gst_element_factory_make ("greenscreenbin", nullptr);
  for (const char *name : {"garbage", "holdout", "plate", "matte"}) {
    for (int time = 0; time < 2; time++) {
      Owned<GstPad> pad = gst_element_request_pad_simple (bin, name);
      fail_unless (pad, "%s", name);
      gst_element_release_request_pad (bin, pad);
      Owned<GstPad> gone = gst_element_get_static_pad (bin, name);
      fail_unless (!gone, "%s", name);
    }
  }
}

TEST (test_greenscreenbin_changes_between_screen_and_network_while_stopped)
{
  Folder folder;
  const std::string model = folder.write ("red.onnx", red_matte_model ().bytes ());
  Played played ("background-color", "0xff2040c0");
  fail_unless (becomes (played.end, blue));
  played.set ("screen", "none");
  played.expect_warning (blue);
  gst_element_set_state (played.pipeline, GST_STATE_READY);
  played.set ("screen", "none");
  played.set ("model-file", model);
  played.set ("background-color", "0xffc81428");
  gst_element_set_state (played.pipeline, GST_STATE_PLAYING);
  /* 16 of 255 is not above `black` of matterefine by much. */
  fail_unless (becomes (played.end, {197, 22, 40, 255}));
  gst_element_set_state (played.pipeline, GST_STATE_NULL);
  played.set ("screen", "key");
  gst_element_set_state (played.pipeline, GST_STATE_PLAYING);
  fail_unless (becomes (played.end, red));
}

namespace {
/* A person of 255,128,64 with a print of 255,255,0 in the left half. A screen, and a lamp
 * of 0,0,200 at its end, in the right half */
#define BOX(pad, width, height, color)                                                   \
  "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff" color           \
  " ! video/x-raw,format=RGBA,framerate=25/1,width=" #width ",height=" #height           \
  " ! film." pad " "
#define STUDIO                                                                           \
  "compositor name=film sink_2::xpos=20 sink_2::ypos=40 sink_3::xpos=140 " BOX (         \
      "sink_0", 160, 96, "10a030") BOX ("sink_1", 80, 96, "ff8040")                      \
      BOX ("sink_2", 20, 16, "ffff00") BOX ("sink_3", 20, 96, "0000c8") "film. ! "
#define YELLOW "linear=false key-colors=<0xffffff00>"
} // namespace

/* The network is sure of the lamp and of the print, which has the colour of a further key. */
TEST (test_greenscreenbin_auto_keys_with_the_mattes_of_a_network)
{
  Folder folder;
  const std::string automatic = " ! greenscreenbin name=key " YELLOW
                                " screen=auto model-file="
                                + folder.write ("red.onnx", red_matte_model ().bytes ());
  Result keyed = result_of (STUDIO "greenscreenbin " YELLOW " background-color=0" END);
  fail_unless (keyed.at (150, 48)[3] == 255 && keyed.at (30, 48)[3] < 200, "%d, %d",
      keyed.at (150, 48)[3], keyed.at (30, 48)[3]);
  for (const char *format : {"RGBA", "NV12"}) {
    Result result = result_of (std::string (STUDIO "videoconvert ! video/x-raw,format=")
                               + format + automatic + " background-color=0" END);
    fail_unless (result.frames == 3 && result.info.width == 160,
        "%u frames of %d columns", result.frames, result.info.width);
    fail_unless (result.at (150, 48)[3] == 0, "%d", result.at (150, 48)[3]);
    fail_unless (result.at (110, 48)[3] == 0, "%d", result.at (110, 48)[3]);
    fail_unless (result.at (30, 48)[3] == 255, "%d", result.at (30, 48)[3]);
    fail_unless (result.at (76, 48)[3] == 255, "%d", result.at (76, 48)[3]);
  }
  Result held = result_of (
      STUDIO "video/x-raw,format=RGBA" + automatic + " background-color=0xff2040c0" END);
  expect_color (held, 30, 48, {255, 255, 0, 255});
  expect_color (held, 150, 48, blue);
  /* Red divided by 4 is no longer sure, so the print is not held out. */
  Result unsure =
      result_of (STUDIO "video/x-raw,format=RGBA" + automatic
                 + " mattes::network::deviation=<4> background-color=0xff2040c0" END);
  fail_unless (unsure.at (30, 48)[2] > 60, "%d", unsure.at (30, 48)[2]);
}

namespace {
/* Random changes of everything, and the colours that must be seen after each */
class Changes {
public:
  explicit Changes (Played &of) : played (of), stream (of, false)
  {
    for (guint n = 0; n < colors.size (); n++)
      files.push_back (
          written (folder, text ("%u.png", n).c_str (), text_of (colors[n]).c_str ()));
    played.set ("model-file", folder.write ("red.onnx", red_matte_model ().bytes ()));
  }

  /* Returns the name of the change. */
  std::string make ()
  {
    switch (random () % 9) {
    case 0:
      return set_color (random () % colors.size ());
    case 1:
    case 2:
      return set_file (random () % colors.size ());
    case 3:
      g_object_set (played.key, "background-location", nullptr, nullptr);
      file = nullptr;
      return "no file";
    case 4:
      if (stream.source)
        return "nothing"; /* a file that is not shown yet might be forgotten */
      played.set ("background-location", folder.file ("missing.png"));
      return "missing file";
    case 5:
    case 6:
      return change_stream ();
    default:
      return set_screen (random () % 3);
    }
  }

  /* Compares pixels of the background and of the foreground's square. */
  bool is_shown (const guint8 *pixels, gsize stride) const
  {
    const Color &behind = stream.source ? streamed : file ? *file : color;
    Color mixed = behind, square = {128, 64, 200};
    if (screen == 1) {                        /* the matte is red */
      mixed = mix ({16, 160, 48}, 4, behind); /* darkened by matterefine */
      square = mix (square, 128, behind);
    }
    return is_near (pixels + 4 * stride + 16, mixed)
           && is_near (pixels + 24 * stride + 4 * 32, square);
  }

private:
  using Color = std::array<int, 3>;

  static std::string text_of (const Color &color)
  {
    return text ("0xff%02x%02x%02x", color[0], color[1], color[2]);
  }
  static Color mix (const Color &above, int alpha, const Color &below)
  {
    Color mixed;
    for (int n = 0; n < 3; n++)
      mixed[n] = (above[n] * alpha + below[n] * (255 - alpha)) / 255;
    return mixed;
  }
  static bool is_near (const guint8 *pixel, const Color &color)
  {
    return std::equal (color.begin (), color.end (), pixel,
        [] (int a, int b) { return abs (a - b) <= 8; });
  }

  std::string set_color (guint n)
  {
    color = colors[n];
    played.set ("background-color", text_of (color));
    return "color " + text_of (color);
  }
  std::string set_file (guint n)
  {
    file = &colors[n];
    played.set ("background-location", files[n]);
    return "file " + text_of (colors[n]);
  }
  std::string set_screen (guint value)
  {
    screen = value;
    g_object_set (played.key, "screen", value, nullptr);
    return text ("screen %u", value);
  }
  std::string change_stream ()
  {
    if (!stream.pad) {
      stream.request ();
      return "pad requested";
    }
    if (stream.source) {
      stream.unlink ();
      return "pad unlinked";
    }
    if (random () % 3 == 0) {
      stream.release ();
      return "pad released";
    }
    streamed = colors[random () % colors.size ()];
    stream.link (text_of (streamed).c_str (), random () % 2);
    return "pad linked, " + text_of (streamed);
  }

  const std::array<Color, 4> colors = {
      Color{32, 64, 192}, {200, 20, 40}, {240, 240, 40}, {90, 90, 90}};
  std::mt19937 random{1};
  Folder folder;
  std::vector<std::string> files;
  Played &played;
  Stream stream;
  Color color = {0, 0, 0}, streamed = {0, 0, 0};
  const Color *file = nullptr; /* (nullable) */
  guint screen = 0;
};
} // namespace

/* With GST_OPENCL_CHANGES=2000 as many changes */
TEST (test_greenscreenbin_follows_random_changes)
{
  const gchar *wanted = g_getenv ("GST_OPENCL_CHANGES");
  const int count = wanted ? atoi (wanted) : 60;
  Played played (
      "compositor name=film sink_1::xpos=24 sink_1::ypos=16 "
      "videotestsrc is-live=true pattern=solid-color foreground-color=0xff10a030 ! "
      "video/x-raw,width=64,height=48,framerate=25/1 ! film.sink_0 "
      "videotestsrc is-live=true pattern=solid-color foreground-color=0xff8040c8 ! "
      "video/x-raw,width=16,height=16,framerate=25/1 ! film.sink_1 "
      "film. ! video/x-raw,format=RGBA",
      "background-color", "0xff000000");
  Changes changes (played);
  g_object_set (played.key, "linear", FALSE, nullptr); /* as mix () of Changes */
  g_object_set (played.end, "drop", TRUE, nullptr);    /* else a source waits to stop */
  const gint64 limit = gint64 (20 * slowness ()) * G_USEC_PER_SEC;
  for (int n = 0; n < count; n++) {
    const std::string change = text ("change %d: ", n) + changes.make ();
    const gint64 until = g_get_monotonic_time () + limit;
    for (int frame = 0, right = 0; right < 3; frame++) {
      const Bytes bytes = played.pull (change);
      right = changes.is_shown (bytes.data (), 64 * 4) ? right + 1 : 0;
      fail_unless (right || g_get_monotonic_time () < until, "%s", change.c_str ());
      if (right == 3 && frame > 12)
        g_print ("%s: seen after %d frames\n", change.c_str (), frame - 2);
    }
  }
  const Outcome messages = collect (played.bus);
  fail_unless (messages.errors.empty (), "%s", messages.line ().c_str ());
}

TEST (test_greenscreenbin_changes_its_screen_while_it_plays)
{
  Folder folder;
  const std::string model = folder.write ("red.onnx", red_matte_model ().bytes ());
  Played played ("background-color", "0xffc81428");
  const auto screen = [&] {
    gint value = -1;
    g_object_get (played.key, "screen", &value, nullptr);
    return value;
  };
  const std::array<int, 4> mixed = {189, 29, 40, 255}; /* 16 of 255 of 16,160,48 */
  fail_unless (becomes (played.end, red));
  played.set ("screen", "none");
  played.expect_warning (red);
  fail_unless (soon ([&] { return screen () == 0; }), "screen is %d", screen ());
  played.set ("model-file", model);
  gst_child_proxy_set (GST_CHILD_PROXY ((GstElement *)played.key), "refine::black", 0.0,
      "refine::white", 1.0, nullptr);
  for (const char *wanted : {"none", "key", "auto", "none", "auto", "key", "none"}) {
    played.set ("screen", wanted);
    fail_unless (
        becomes (played.end, g_str_equal (wanted, "none") ? mixed : red), "%s", wanted);
  }
  expect_equal (screen (), 1);
  fail_unless (collect (played.bus).is_clean ());
}

TEST (test_greenscreenbin_auto_refuses_other_mattes)
{
  Folder folder;
  const std::string automatic = " ! greenscreenbin name=key screen=auto model-file="
                                + folder.write ("red.onnx", red_matte_model ().bytes ())
                                + " ";
  Owned<GstElement> bin = gst_element_factory_make ("greenscreenbin", nullptr);
  set_together (bin, "screen=auto");
  Owned<GstPad> pad = gst_element_request_pad_simple (bin, "garbage");
  fail_unless (!pad);
  set_together (bin, "screen=key");
  pad = gst_element_request_pad_simple (bin, "garbage");
  fail_unless (pad);
  set_together (bin, "screen=auto");
  fail_unless (gst_element_set_state (bin, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (bin, GST_STATE_NULL);
  gst_element_release_request_pad (bin, pad);
  run (PURPLE "RGBA ! greenscreenbin screen=auto ! fakesink")
      .expect_one_error ({"model-file"});
}

TEST (test_greenscreenbin_without_a_screen_reports_what_is_missing)
{
  run (PURPLE "RGBA ! greenscreenbin screen=none ! fakesink")
      .expect_one_error ({"model-file"});

  GstRegistry *registry = gst_registry_get ();
  Owned<GstPluginFeature> network =
      gst_registry_lookup_feature (registry, "openclinference");
  gst_registry_remove_feature (registry, network);
  const Outcome no_plugin = run (PURPLE "RGBA ! greenscreenbin screen=none ! fakesink");
  gst_registry_add_feature (registry, (GstPluginFeature *)gst_object_ref (network));
  no_plugin.expect_one_error ({"openclinference"});
}

TEST (test_greenscreenbin_that_becomes_transparent_gives_alpha)
{
  Pipeline pipeline ("videotestsrc ! video/x-raw,width=64,height=48 ! greenscreenbin "
                     "name=key ! video/x-raw,format={I420,RGBA} ! appsink name=out "
                     "max-buffers=1 sync=false");
  pipeline.start ();
  fail_unless (pipeline.pull ());
  fail_unless (g_str_equal (format_of (pipeline), "I420"), "%s", format_of (pipeline));
  g_object_set (pipeline["key"], "background-color", 0, nullptr);
  fail_unless (soon ([&] {
    return pipeline.pull () && g_str_equal (format_of (pipeline), "RGBA");
  }),
      "%s", format_of (pipeline));
}

TEST (test_greenscreenbin_has_the_properties_of_chromakey)
{
  Owned<GstElement> bin = gst_element_factory_make ("greenscreenbin", nullptr);
  Owned<GstElement> chromakey = gst_element_factory_make ("chromakey", nullptr);
  guint count;
  GParamSpec **specs = g_object_class_list_properties (
      G_OBJECT_GET_CLASS ((GstElement *)chromakey), &count);
  for (guint n = 0; n < count; n++) {
    if (specs[n]->owner_type != G_OBJECT_TYPE ((GstElement *)chromakey))
      continue;
    GParamSpec *own = g_object_class_find_property (
        G_OBJECT_GET_CLASS ((GstElement *)bin), specs[n]->name);
    fail_unless (own && own->value_type == specs[n]->value_type, "%s", specs[n]->name);
    /* Properties read back as they were set. */
    GValue value = G_VALUE_INIT;
    g_object_get_property (G_OBJECT ((GstElement *)bin), own->name, &value);
    fail_unless (g_param_value_defaults (own, &value), "%s", own->name);
    g_value_unset (&value);
  }
  g_free (specs);
  gdouble similarity = 0;
  g_object_set (bin, "similarity", 0.31, nullptr);
  g_object_get (bin, "similarity", &similarity, nullptr);
  fail_unless (similarity == 0.31);
  Result result = result_of (FOREGROUND
      "film. ! greenscreenbin auto-key=none key-color=0xffff0000 method=distance" END);
  expect_color (result, 20, 20, {16, 160, 48, 255});
}

TEST (test_greenscreenbin_is_a_video_filter_of_playbin)
{
  Folder folder;
  const std::string film = folder.file ("film.avi");
  /* videotestsrc accepts full range but does not write it, so it must not be asked for
   * it. */
  Pipeline (FOREGROUND "film. ! video/x-raw,format=RGBA ! videoconvert ! "
                       "video/x-raw,format=I420,colorimetry=1:4:0:0 ! "
                       "jpegenc quality=95 ! avimux ! filesink location="
            + film)
      .play_to_eos ();
  Owned<gchar> uri = gst_filename_to_uri (film.c_str (), nullptr);
  Owned<GstElement> playbin = gst_element_factory_make ("playbin", nullptr);
  GstElement *filter = gst_element_factory_make ("greenscreenbin", nullptr);
  g_object_set (filter, "background-color", 0xff2040c0, nullptr);
  Result result;
  GstElement *sink = gst_parse_bin_from_description (
      "videoconvert ! video/x-raw,format=RGBA ! fakesink name=end sync=false "
      "signal-handoffs=true",
      TRUE, nullptr);
  Owned<GstElement> end = gst_bin_get_by_name (GST_BIN (sink), "end");
  g_signal_connect (end, "handoff", G_CALLBACK (take_frame), &result);
  g_object_set (
      playbin, "uri", (gchar *)uri, "video-filter", filter, "video-sink", sink, nullptr);
  const Outcome outcome = play (playbin);
  fail_unless (outcome.eos, "%s", outcome.line ().c_str ());
  gst_element_set_state (playbin, GST_STATE_NULL);
  expect_square_before (result, blue, blue);
}

/* Filters of camerabin, with a green camera. camerabin leaks elements of its source, even
 * with `identity` as the filter. */
TEST_ROWS (test_greenscreenbin_is_a_filter_of_camerabin,
    {"viewfinder-filter", "video-source-filter"})
{
  if (checks_leaks ())
    return;
  Owned<GstElement> camera = gst_element_factory_make ("camerabin", nullptr);
  GstElement *source = gst_element_factory_make ("wrappercamerabinsrc", nullptr);
  GstElement *screen = gst_element_factory_make ("videotestsrc", nullptr);
  GstElement *filter = gst_element_factory_make ("greenscreenbin", nullptr);
  GstElement *finder = gst_parse_bin_from_description (
      "videoconvert ! video/x-raw,format=RGBA ! appsink name=end sync=false "
      "max-buffers=1 drop=true",
      TRUE, nullptr);
  fail_unless (camera && source && screen && filter && finder);
  gst_util_set_object_arg (G_OBJECT (screen), "pattern", "solid-color");
  g_object_set (screen, "is-live", TRUE, "foreground-color", 0xff10a030, nullptr);
  g_object_set (filter, "background-color", 0xff2040c0, nullptr);
  g_object_set (source, "video-source", screen, nullptr);
  g_object_set (camera, "camera-source", source, "viewfinder-sink", finder, nullptr);
  g_object_set (g_str_equal (row, "viewfinder-filter") ? (GstElement *)camera : source,
      row, filter, nullptr);
  Owned<GstElement> end = gst_bin_get_by_name (GST_BIN (finder), "end");
  gst_element_set_state (camera, GST_STATE_PLAYING);
  fail_unless (becomes (end, blue));
  gst_element_set_state (camera, GST_STATE_NULL);
}
