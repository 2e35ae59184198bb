/* Tests of openclkernelmixer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"

#include <gst/check/gstharness.h>

using namespace programs;
using check::Owned;

namespace {
/* A source of int32 arrays whose numbers are `value` in every frame */
std::string
source (const std::string &value, const std::string &dimensions, const std::string &pad,
    const std::string &more = "")
{
  return " openclkernelsrc expression=\"" + value + "\" output-caps=\"other/tensors,"
         + "types=int32,dimensions=(string)" + dimensions + ",framerate=10/1\" " + more
         + " ! m." + pad;
}

std::string
mixer (const std::string &properties, const std::string &after = "")
{
  return "openclkernelmixer name=m " + properties + after + " ! opencldownload ! appsink "
         + "name=out sync=false max-buffers=2";
}

/* Plays at once. */
class Mix : public Program {
public:
  explicit Mix (const std::string &line) : Program (line) { start (); }
  std::vector<gint32> numbers () { return values_of<gint32> (pull ().bytes); }
};

using Numbers = std::vector<gint32>;
} // namespace

TEST (test_pads_are_bound_to_arguments_by_their_names)
{
  const char *kernel = "source=\"kernel void k (global const int *ones, global const int "
                       "*tens, global int "
                       "*output, int tens_count, int ones_shape0) { size_t n = "
                       "get_global_id (0); output[n] = "
                       "ones[n] + 10 * tens[n % tens_count] + 100 * ones_shape0; }\"";
  Mix mix (mixer (kernel) + source ("i0", "4", "ones") + source ("i0 + 1", "2", "tens"));
  fail_unless (mix.numbers () == (Numbers{410, 421, 412, 423}));
}

TEST (test_pads_without_a_name_are_letters)
{
  Mix mix (mixer ("expression=\"a - 2 * b + c\"") + source ("5", "3", "")
           + source ("i0", "3", "") + source ("100", "1", ""));
  fail_unless (mix.numbers () == (Numbers{105, 103, 101}));
}

TEST (test_expressions_broadcast_over_all_inputs)
{
  Mix mix (mixer ("expression=\"row + 10 * column\"") + source ("i0", "3", "row")
           + source ("i1", "1:2", "column"));
  const Output output = mix.pull ();
  fail_unless (values_of<gint32> (output.bytes) == (Numbers{0, 1, 2, 10, 11, 12}));
  fail_unless (output.caps.find ("dimensions=(string)3:2") != std::string::npos);
}

TEST (test_video_is_mixed_with_arrays)
{
  Mix mix (mixer ("expression=\"picture * mask\"")
           + " openclkernelsrc expression=1 output-caps=video/x-raw,format=RGBA,width=3,"
             "height=2 ! m.picture openclkernelsrc num-buffers=1 expression=\"i1 / 2\" "
             "output-caps=other/tensors,types=float32,dimensions=(string)1:3 ! m.mask");
  const Output output = mix.pull ();
  fail_unless (output.caps.find ("format=(string)RGBA") != std::string::npos);
  for (gsize n = 0; n < 24; n++)
    fail_unless_equals_int (output.bytes[n], (Numbers{0, 128, 255})[n / 4 % 3]);
}

/* Four components of 16 bits; what is downstream decides whether an array is such video. */
TEST (test_sixty_four_bit_video_is_mixed)
{
  Mix mix (mixer ("expression=\"picture * mask\"")
           + " openclkernelsrc expression=\"1 / 4\" output-caps=video/x-raw,"
             "format=RGBA64_LE,width=3,height=2 ! m.picture "
             "openclkernelsrc num-buffers=1 expression=\"i1 / 2\" "
             "output-caps=other/tensors,types=float32,dimensions=(string)1:3 ! m.mask");
  const Output output = mix.pull ();
  fail_unless (output.caps.find ("format=(string)RGBA64_LE") != std::string::npos);
  const auto levels = values_of<guint16> (output.bytes);
  fail_unless_equals_uint64 (levels.size (), 24);
  for (gsize n = 0; n < 24; n++)
    fail_unless_equals_int (levels[n], (Numbers{0, 8192, 16384})[n / 4 % 3]);
}

TEST (test_mixer_counts_frames_from_each_start)
{
  Mix mix (mixer ("source=\"kernel void k (global const int *a, global int *output, "
                  "uint frame) { output[0] = frame + a[0]; }\"")
           + source ("5", "1", "a", "num-buffers=3"));
  for (int run = 0; run < 3; run++) {
    for (int frame = 0; frame < 3; frame++)
      fail_unless_equals_int (mix.numbers ()[0], frame + 5);
    mix.set_state (GST_STATE_NULL);
    mix.start ();
  }
}

/* The first pad determines the output frames; other pads provide the frame at that
 * time. */
TEST (test_the_first_pad_says_when)
{
  const std::string slow =
      " openclkernelsrc expression=frame output-caps=\"other/tensors,types=int32,"
      "dimensions=(string)1,framerate=5/2\" num-buffers=2 ! m.slow";
  Mix mix (mixer ("expression=\"fast + 100 * slow\"")
           + source ("frame", "1", "fast", "num-buffers=12") + slow);
  for (int frame = 0; frame < 12; frame++) {
    const Output output = mix.pull ();
    /* The slower input ends after frame 8. */
    fail_unless_equals_int (
        values_of<gint32> (output.bytes)[0], frame + 100 * std::min (frame / 4, 1));
    fail_unless_equals_uint64 (output.time, frame * GST_SECOND / 10);
  }
  fail_unless (!pull_in_time (mix.out) && gst_app_sink_is_eos (GST_APP_SINK (mix.out)));
}

TEST (test_one_buffer_may_be_both_inputs)
{
  const char *kernel =
      "source=\"kernel void k (global int *a, global int *b, global int *output) { "
      "size_t n "
      "= get_global_id (0); output[n] = a[n] + b[n]; a[n] = b[n] = -1; }\"";
  Mix mix (mixer (kernel)
           + " openclkernelsrc expression=7 output-caps=other/tensors,types=int32,"
             "dimensions=(string)3 ! tee name=t ! queue ! m.a t. ! queue ! m.b");
  for (int n = 0; n < 4; n++)
    fail_unless (mix.numbers () == (Numbers{14, 14, 14}));
}

TEST (test_a_mistake_at_the_start_is_one_error)
{
  struct Row {
    const char *properties, *expected;
    const char *dimensions = "3"; /* of b */
  };
  const Row rows[] = {
      {"", "0 of location, source and expression are set"},
      {"expression=\"a + d\"", "expression:1:"},
      {"expression=\"a + b\"", "cannot be broadcast together: a (3,), b (2,)", "2"},
      {"source=\"kernel void k (global const int *a, global const int *c, global int "
       "*output) { }\"",
          "no array for its argument \"c\""},
  };
  for (const Row &row : rows) {
    Mix mix (mixer (row.properties) + source ("1", "3", "a")
             + source ("1", row.dimensions, "b"));
    /* Sources may report the failed stream before the mixer reports the reason. */
    std::vector<std::string> of_mixer, all;
    for (int times = 0; times < 3 && of_mixer.empty (); times++)
      for (const std::string &text : messages_on (mix.bus, 20 * GST_SECOND).errors) {
        all.push_back (text);
        if (text.find ("/GstOpenCLKernelMixer:m") != std::string::npos)
          of_mixer.push_back (text);
      }
    fail_unless (of_mixer.size () == 1, "%s: %d errors of %d, the first: %s",
        row.properties, int (of_mixer.size ()), int (all.size ()),
        all.empty () ? "" : all[0].c_str ());
    fail_unless (
        of_mixer[0].find (row.expected) != std::string::npos, "%s", of_mixer[0].c_str ());
  }
}

TEST (test_a_seek_sets_the_state_of_a_mixer_back)
{
  for (bool keep : {false, true}) {
    Mix mix (
        mixer (std::string ("source=\"kernel void k (global const int *a, global int "
                            "*output, global const int *previous) { output[0] = a[0] "
                            "+ previous[0]; }\" keep-state=")
               + (keep ? "true" : "false"))
        + source ("5", "1", "a", "num-buffers=100"));
    for (int frame = 1; frame < 4; frame++)
      fail_unless_equals_int (mix.numbers ()[0], 5 * frame);
    fail_unless (gst_element_seek_simple (
        mix.pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 5 * GST_SECOND));
    const int start = mix.numbers ()[0];
    fail_unless (keep ? start > 15 : start == 5, "%d", start);
    fail_unless_equals_int (mix.numbers ()[0], start + 5);
  }
}

TEST (test_a_mixer_has_several_outputs)
{
  Mix mix (
      mixer ("source=\"kernel void k (global const int *a, global const int *b, global "
             "int *output0, global int *output1) { size_t n = get_global_id (0); "
             "output0[n] = a[n] + b[n]; output1[n] = a[n] - b[n]; }\" "
             + several_outputs (2, "int32,int32", "3,3"))
      + source ("i0", "3", "a") + source ("10", "3", "b"));
  for (int frame = 0; frame < 2; frame++)
    fail_unless (mix.numbers () == (Numbers{10, 11, 12, -10, -9, -8}));
  for (const char *name : {"output", "output0"})
    fail_unless (!gst_element_request_pad_simple (mix["m"], name), "%s", name);
}

TEST (test_a_pad_may_have_the_name_previous)
{
  Mix mix (mixer ("expression=\"a + previous\"") + source ("1", "2", "a")
           + source ("10", "2", "previous"));
  for (int frame = 0; frame < 3; frame++)
    fail_unless (mix.numbers () == (Numbers{11, 11}));
}

static Numbers
numbers_later (Mix &mix)
{
  for (int ahead = 0; ahead < 8; ahead++)
    mix.numbers ();
  return mix.numbers ();
}

TEST (test_knobs_turn_while_it_plays)
{
  Mix mix (mixer ("expression=\"a + gain * b\" arguments=a,gain=2.0")
           + source ("1", "2", "a") + source ("10", "2", "b"));
  fail_unless (mix.numbers () == (Numbers{21, 21}));
  gst_util_set_object_arg (G_OBJECT (mix["m"]), "arguments", "a,gain=3.0");
  fail_unless (numbers_later (mix) == (Numbers{31, 31}));
  gst_util_set_object_arg (G_OBJECT (mix["m"]), "expression", "a + nothing");
  fail_unless (numbers_later (mix) == (Numbers{31, 31}));
  const Messages messages = messages_on (mix.bus);
  fail_unless (messages.errors.empty () && messages.warnings.size () == 1);
  gst_util_set_object_arg (G_OBJECT (mix["m"]), "expression", "b - a");
  fail_unless (numbers_later (mix) == (Numbers{9, 9}));
  gst_util_set_object_arg (
      G_OBJECT (mix["m"]), "output-caps", "other/tensors,types=int16");
  numbers_later (mix);
  fail_unless (values_of<gint16> (mix.pull ().bytes) == (std::vector<gint16>{9, 9}));
  fail_unless (messages_on (mix.bus).warnings.empty ());
}

/* An input may change its shape while it plays. */
TEST (test_inputs_change_their_caps_while_it_plays)
{
  Mix mix (mixer ("expression=\"a + b\"") + source ("i0", "2", "a")
           + source ("10", "1", "b", "name=other"));
  fail_unless (mix.numbers () == (Numbers{10, 11}));
  gst_util_set_object_arg (G_OBJECT (mix["other"]), "output-caps",
      "other/tensors,types=int32,dimensions=(string)2:2,framerate=10/1");
  fail_unless (numbers_later (mix) == (Numbers{10, 11, 10, 11}));
}

TEST (test_it_plays_again_after_a_stop_and_a_seek)
{
  Mix mix (mixer ("expression=\"a + 100 * b\"")
           + source ("frame", "1", "a", "num-buffers=50")
           + source ("frame", "1", "b", "num-buffers=50"));
  fail_unless (mix.numbers () == Numbers{0});
  fail_unless (gst_element_seek_simple (mix.pipeline, GST_FORMAT_TIME,
      GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), 2 * GST_SECOND));
  fail_unless_equals_int (mix.numbers ()[0], 101 * 20);
  for (int n = 0; n < 3; n++) {
    mix.set_state (GST_STATE_NULL);
    mix.start ();
    fail_unless_equals_int (mix.numbers ()[0], 0);
    fail_unless_equals_int (mix.numbers ()[0], 101);
  }
}

TEST (test_a_pad_has_a_name_of_its_own)
{
  const Owned<GstElement> element =
      gst_element_factory_make ("openclkernelmixer", nullptr);
  const char *const names[] = {"left", "a", "b", "weights_2"};
  std::vector<Owned<GstPad>> pads;
  for (int n = 0; n < 4; n++) {
    pads.push_back (gst_element_request_pad_simple (element, n == 2 ? "%s" : names[n]));
    fail_unless (pads[n], "%s", names[n]);
    assert_equals_string (GST_OBJECT_NAME (pads[n].operator->()), names[n]);
  }
  for (GstPad *pad : pads)
    gst_element_release_request_pad (element, pad);
}
