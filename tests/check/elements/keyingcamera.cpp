/* Tests of keyers with camera formats as input: the same bytes as from openclconvert and
 * the keyer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/videoframes.hpp"

#include <gst/opencl/core/deviceinfo.hpp>

using namespace check;
using video::Picture;

namespace {
/* A green screen with noise, and blocks of any colour before it */
void
film (const Picture &picture, unsigned seed)
{
  const double green[] = {0.58, 0.25, 0.2, 0.9};
  std::mt19937 random (seed);
  auto number = [&] { return (random () >> 8) / double (0xffffff); };
  video::fill (picture, [&] (int c, int x, int y) {
    const int sub = c > 0 ? 1 : 0; /* about so, whatever the format */
    const int block = (x << sub) / 12 + (y << sub) / 9 * 7;
    if (block % 3 == 0)
      return 0.15 + 0.7 * ((block * 37 + c * 71 + int (seed)) % 101) / 100
             + 0.05 * number ();
    return green[c] + 0.03 * number ();
  });
}

GstVideoInfo
keyed_of (const GstVideoInfo &filmed)
{
  GstVideoInfo info = video::info_of ("RGBA", filmed.width, filmed.height);
  info.fps_n = filmed.fps_n;
  info.interlace_mode = filmed.interlace_mode;
  /* As openclconvert sets it */
  info.colorimetry.transfer = filmed.colorimetry.transfer;
  info.colorimetry.primaries = filmed.colorimetry.primaries;
  return info;
}

#define IN_FRONT                                                                         \
  "openclconvert ! capsfilter name=packed "                                              \
  "caps=video/x-raw(memory:OpenCLMemory),format=RGBA ! "

/* Compares three frames, the last of them after a cut. */
void
expect_as_converted (const std::string &keyer, const GstVideoInfo &info, int padding)
{
  video::Run direct (keyer, info, keyed_of (info));
  video::Run converted (IN_FRONT + keyer, info, keyed_of (info));
  for (unsigned seed : {1, 1, 2}) {
    Picture picture (info, padding);
    film (picture, seed);
    const Picture got = direct (picture), expected = converted (picture);
    const int differs = video::largest_difference (got, expected);
    fail_unless (differs == 0, "%s of %s, %dx%d, %d bytes apart: %d levels",
        keyer.c_str (), GST_VIDEO_INFO_NAME (&info), info.width, info.height, padding,
        differs);
  }
}

const char *const formats[] = {"NV12", "NV21", "I420", "YV12", "YUY2", "UYVY"};
const char *const keyers[] = {
    "chromakey tolerance=0.2",
    "chromakey tolerance=0.2 spill=0.7 auto-key=rectangle channel=green",
    "chromakey tolerance=0.2 ! noisereduce ! flowkey iterations=4 limit=0.4 ! "
    "noisereduce",
    "chromakey method=difference spill=1 plate=measured",
    "chromakey method=chroma quiet=true linear=true auto-key=screen",
    "splashkey block-size=5",
    "chromakey method=chroma linear=true spill=1 spill-method=limit core=false",
    "chromakey key-colors=<0xff2040c0> tolerance=0.2 spill=1",
    "chromakey method=difference plate=none shadow=0.8 key-color=0xff30e060",
    "chromakey tolerance=0.2 garbage-polygon=<0.1,0,0.9,0.3,0.2,1>",
};
} // namespace

TEST_ROWS (test_keyer_makes_of_every_camera_format_what_it_makes_of_rgba, formats)
{
  for (const auto &size : {std::pair (1, 1), {2, 3}, {33, 17}, {161, 95}})
    for (int padding : {0, 5})
      expect_as_converted (
          keyers[0], video::info_of (row, size.first, size.second), padding);
  expect_as_converted (keyers[2], video::info_of (row, 97, 41), 3);
}

TEST_ROWS (test_keyer_keys_a_camera_by_every_method, keyers)
{
  for (const char *format : {"NV12", "YUY2"})
    for (int padding : {0, 7})
      expect_as_converted (row, video::info_of (format, 323, 141), padding);
}

TEST (test_keyer_knows_colorimetry_range_and_chroma_siting)
{
  for (const char *colorimetry : {"bt601", "bt709", "bt2020", "1:4:0:0"})
    expect_as_converted (keyers[0], video::info_of ("NV12", 67, 35, colorimetry), 0);
  for (const char *site : {"jpeg", "mpeg2", "cosited", "v-cosited"})
    expect_as_converted (keyers[0], video::info_of ("I420", 67, 35, "bt709", site), 0);
  expect_as_converted (keyers[4], video::info_of ("NV12", 67, 35, "bt709"), 0);
}

TEST (test_keyer_takes_chroma_from_the_field_that_it_belongs_to)
{
  for (const char *format : {"NV12", "YUY2"})
    for (const char *keyer : {keyers[0], keyers[2]})
      expect_as_converted (keyer, video::of_fields (video::info_of (format, 67, 36)), 0);
}

/* noisereduce restores alpha after another element in between: a camera's pixels were
 * opaque. */
TEST (test_noisereduce_gives_a_camera_pixels_alpha_back)
{
  const char *keyer = "chromakey tolerance=0.2 opacity=0.5 ! identity ! "
                      "noisereduce iterations=40";
  expect_as_converted (keyer, video::info_of ("NV12", 97, 61), 0);
}

/* One launch per frame. For a fused run, a GPU converts in a launch of its own, because
 * tiles overlap. */
TEST (test_keying_a_camera_is_one_launch_or_for_a_run_on_a_gpu_two)
{
  Owned<GstOpenCLContext> context = new_context ();
  const unsigned of_run = opencl::is_cpu (context) ? 1 : 2;
  const GstVideoInfo info = video::info_of ("NV12", 97, 61);
  for (const char *keyer : {keyers[0], keyers[2], keyers[5]}) {
    Owned<GstCaps> caps = gst_video_info_to_caps (&info);
    Owned<gchar> text = gst_caps_to_string (caps);
    Harness direct (std::string ("openclupload ! ") + keyer, (gchar *)text);
    Picture picture (info);
    film (picture, 1);
    read_buffer (direct.pass (gst_buffer_ref (picture.buffer)));
    const unsigned before = counting::count (counting::ENQUEUE_KERNEL);
    read_buffer (direct.pass (gst_buffer_ref (picture.buffer)));
    const unsigned launches = counting::count (counting::ENQUEUE_KERNEL) - before;
    fail_unless (
        launches == (keyer == keyers[2] ? of_run : 1), "%s: %u", keyer, launches);
  }
}

/* NV12 → RGBA → YUY2 while playing, with a property in between */
TEST (test_keyer_follows_caps_from_a_camera_to_rgba_and_back)
{
  const char *line = "chromakey name=key tolerance=0.2 ! noisereduce";
  Harness direct (line), converted (IN_FRONT + std::string (line));
  for (double tolerance : {0.2, 0.05}) {
    for (const char *format : {"NV12", "RGBA", "YUY2"}) {
      const GstVideoInfo info = video::info_of (format, 97, 61);
      Picture picture (info);
      film (picture, 3);
      Bytes bytes[2];
      int n = 0;
      for (Harness *harness : {&direct, &converted}) {
        Owned<GstCaps> caps = video::device_caps (info);
        Owned<GstElement> key = harness->find ("chromakey");
        g_object_set (key, "tolerance", tolerance, nullptr);
        fail_unless (harness->send (gst_event_new_caps (caps)));
        harness->start_segment ();
        Owned<GstBuffer> made = harness->pass (gst_buffer_ref (picture.buffer));
        bytes[n++] = read_buffer (made);
      }
      assert_same (bytes[0], bytes[1], format);
    }
  }
}

/* Other elements in between, and branches */
TEST_ROWS (test_camera_links_to_a_keyer_through_other_elements,
    std::vector<const char *> ({"", "identity !",
        "capssetter join=true caps=video/x-raw !", "tee ! queue !", "openclconvert !"}))
{
  Pipeline pipeline (
      std::string (
          "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=98,height=51 "
          "! openclupload ! ")
      + row
      + " chromakey ! tee name=t ! queue ! noisereduce ! opencldownload ! "
        "video/x-raw,format=RGBA ! fakesink t. ! queue ! fakesink");
  pipeline.play_to_eos ();
}

/* RGBA is preferred if it is offered. */
TEST (test_keyer_prefers_rgba_of_a_source_that_has_everything)
{
  Pipeline pipeline ("videotestsrc num-buffers=1 ! openclupload ! chromakey name=key ! "
                     "fakesink");
  Owned<GstPad> pad = pipeline.pad ("key", "sink");
  std::string format;
  watch (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, [&] (GstPadProbeInfo *info) {
    GstEvent *event = gst_pad_probe_info_get_event (info);
    GstCaps *caps;
    if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
      gst_event_parse_caps (event, &caps);
      format = gst_structure_get_string (gst_caps_get_structure (caps, 0), "format");
    }
    return GST_PAD_PROBE_OK;
  });
  pipeline.play_to_eos ();
  fail_unless (format.find ("RGB") != format.npos || format.find ("BGR") != format.npos,
      "%s", format.c_str ());
}
