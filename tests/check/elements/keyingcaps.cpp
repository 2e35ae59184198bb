/* Tests of caps that keying elements accept, and of frames after they ran out of memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"
#include "tests/check/opencl-counting.hpp"

using namespace check;

namespace {
const char *const elements[] = {"chromakey", "noisereduce", "flowkey", "splashkey",
    "keyfill", "matterefine", "matteshape"};

#define ON_DEVICE "video/x-raw(memory:OpenCLMemory), framerate=30/1, "

} // namespace

TEST_ROWS (test_what_the_kernels_take_is_accepted, elements)
{
  Harness harness (row);
  Owned<GstPad> pad = gst_element_get_static_pad (harness.element (), "sink");
  for (const char *format : {"RGBA", "BGRA", "ARGB", "ABGR"}) {
    std::string text = std::string (ON_DEVICE "width=1, height=32768, format=") + format;
    Owned<GstCaps> caps = caps_of (text);
    fail_unless (gst_pad_query_accept_caps (pad, caps), "%s", text.c_str ());
  }
}

/* As after a seek: the same format with another framerate, when memory is free again */
TEST_ROWS (test_format_is_retried_after_out_of_memory,
    {"chromakey", "chromakey method=difference", "splashkey", "matterefine",
        "matteshape grow=2"})
{
  const char *picture = "video/x-raw(memory:OpenCLMemory),format=RGBA,width=64,height=48";
  const std::string caps = text ("%s,framerate=30/1", picture);
  constexpr gsize size = 64 * 48 * 4;
  const Bytes expected =
      read_buffer (Harness (row, caps).pass (pattern_buffer (size, 1)));
  for (int left = 0; left < 8; left++) {
    Harness harness (row);
    counting::fail_buffers_after (left);
    harness.send (gst_event_new_stream_start ("film"));
    harness.send (gst_event_new_caps (caps_of (caps)));
    harness.start_segment ();
    harness.push (pattern_buffer (size, 1));
    counting::fail_buffers_after (-1);
    harness.set_caps (text ("%s,framerate=25/1", picture));
    harness.push (pattern_buffer (size, 1));
    while (gst_harness_buffers_in_queue (harness.harness) > 0)
      assert_same (read_buffer (harness.pull ()), expected, text ("%d buffers", left));
    assert_same (read_buffer (harness.pass (pattern_buffer (size, 1))), expected,
        text ("after %d buffers", left));
  }
}

/* As filesrc sends them; a CRITICAL fails any test. */
TEST (test_keying_takes_segments_in_bytes_on_every_pad)
{
  const std::string frames = "fakesrc num-buffers=3 format=bytes sizetype=fixed "
                             "filltype=zero sizemax=%d ! video/x-raw,format=%s,width=64,"
                             "height=48,framerate=25/1 ! openclupload ! k.%s ";
  for (const char *pad : {"garbage", "holdout"}) {
    const Outcome outcome =
        run ("chromakey name=k auto-key=screen ! opencldownload ! fakesink "
             + text (frames.c_str (), 64 * 48 * 4, "RGBA", "sink")
             + text (frames.c_str (), 64 * 48, "GRAY8", pad));
    fail_unless (outcome.eos && outcome.errors.empty (), "%s", outcome.line ().c_str ());
  }
}
