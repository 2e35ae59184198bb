/* Tests of openclinference: frames as input, tensors and mattes as output, state, batches
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/inferenceharness.hpp"

#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <unistd.h>

using namespace check;

/* A context that outlives a test keeps its weights, so that later uploads are fewer. */
static const bool alone = fork_each_test ();

namespace {

/* The input of a network as its output */
OnnxModel
identity_model (gint64 channels = 3, gint64 size = 8)
{
  OnnxModel model;
  model.input ("frame", {1, channels, size, size})
      .output ("copy", {1, channels, size, size});
  model.node ("Identity", {"frame"}, {"copy"});
  return model;
}

/* The sum of all frames so far */
OnnxModel
adding_model ()
{
  OnnxModel model;
  model.input ("frame", {1, 1, 4, 4}).input ("before", {1, 1, 4, 4});
  model.output ("sum", {1, 1, 4, 4}).output ("after", {1, 1, 4, 4});
  model.node ("Add", {"frame", "before"}, {"sum"}).node ("Identity", {"sum"}, {"after"});
  return model;
}

class Inference : public InferenceHarness {
public:
  using InferenceHarness::InferenceHarness;

  std::vector<float> floats_of (const Bytes &frame)
  {
    const Bytes bytes = read_buffer (pass (buffer_of (frame)));
    std::vector<float> values (bytes.size () / sizeof (float));
    memcpy (values.data (), bytes.data (), values.size () * sizeof (float));
    return values;
  }
};

/* RGBA of a frame: red grows with x, green with y, blue is constant */
Bytes
ramps (int width, int height)
{
  Bytes frame;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      frame.insert (frame.end (),
          {guint8 (x * 255 / (width - 1)), guint8 (y * 255 / (height - 1)), 51, 255});
  return frame;
}

double
level (const Bytes &frame, int width, int x, int y, int c)
{
  return frame[gsize ((y * width + x) * 4 + c)] / 255.0;
}
} // namespace

/* Each pixel of the input is the mean of the 2 x 3 pixels of the frame that it covers. */
TEST (test_inference_scales_frames_by_their_mean)
{
  const int width = 16, height = 24;
  const Bytes frame = ramps (width, height);
  Inference net (identity_model (), "", caps_of ("RGBA", width, height));
  const std::vector<float> got = net.floats_of (frame);
  fail_unless_equals_int (got.size (), 3 * 64);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < 8; y++)
      for (int x = 0; x < 8; x++) {
        double sum = 0;
        for (int j = 0; j < 3; j++)
          for (int i = 0; i < 2; i++)
            sum += level (frame, width, 2 * x + i, 3 * y + j, c);
        const double value = double (got[gsize (c * 64 + y * 8 + x)]);
        fail_unless (std::fabs (value - sum / 6) < 1e-6, "%d at %d, %d: %g, not %g", c, x,
            y, value, sum / 6);
      }
}

/* Alpha comes first in memory in two of the formats, red or blue in the others. */
TEST (test_inference_takes_sixty_four_bit_frames)
{
  const struct {
    const char *format;
    int red, green, blue;
  } rows[] = {{"RGBA64_LE", 0, 1, 2}, {"BGRA64_LE", 2, 1, 0}, {"ARGB64_LE", 1, 2, 3},
      {"ABGR64_LE", 3, 2, 1}, {"ARGB64", 1, 2, 3}};
  for (const auto &row : rows) {
    std::vector<guint16> frame (8 * 8 * 4);
    for (size_t n = 0; n < frame.size (); n++)
      frame[n] = guint16 (n * 40503);
    const auto *bytes = reinterpret_cast<const guint8 *> (frame.data ());
    Inference net (identity_model (), "", caps_of (row.format, 8, 8));
    const std::vector<float> got =
        net.floats_of (Bytes (bytes, bytes + frame.size () * sizeof frame[0]));
    fail_unless_equals_int (got.size (), 3 * 64);
    for (int n = 0; n < 64; n++) {
      const int places[] = {row.red, row.green, row.blue};
      for (int c = 0; c < 3; c++)
        fail_unless (std::fabs (double (got[gsize (c * 64 + n)])
                                - frame[gsize (n * 4 + places[c])] / 65535.0)
                         < 1e-6,
            "%s: channel %d of pixel %d", row.format, c, n);
    }
  }
}

/* (level - mean) / deviation of each channel, blue first */
TEST (test_inference_normalizes_and_swaps_colours)
{
  const Bytes frame = ramps (8, 8);
  Inference net (identity_model (),
      "colors=bgr mean=<0.5,0.25,0.1> deviation=<0.5,2,0.1>", caps_of ("RGBA", 8, 8));
  const std::vector<float> got = net.floats_of (frame);
  const double mean[] = {0.5, 0.25, 0.1}, deviation[] = {0.5, 2, 0.1};
  for (int c = 0; c < 3; c++)
    for (int n = 0; n < 64; n++)
      fail_unless (
          std::fabs (double (got[gsize (c * 64 + n)])
                     - (level (frame, 8, n % 8, n / 8, 2 - c) - mean[c]) / deviation[c])
          < 1e-5);
}

namespace {
void
set_array (GObject *element, const char *property, const std::vector<double> &numbers)
{
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;
  g_value_init (&array, GST_TYPE_ARRAY);
  for (double number : numbers) {
    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, number);
    gst_value_array_append_and_take_value (&array, &value);
  }
  g_object_set_property (element, property, &array);
  g_value_unset (&array);
}

void
set_number (GObject *element, const char *property, double number)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, G_TYPE_DOUBLE);
  g_value_set_double (&value, number);
  g_object_set_property (element, property, &value);
  g_value_unset (&value);
}
} // namespace

/* Each row sets mean 0.5 and deviation 0.25 of all channels, or other means of each. */
TEST (test_inference_takes_a_number_a_text_and_an_array_as_mean)
{
  const struct {
    const char *how;
    void (*set) (GObject *element);
    double mean[3] = {0.5, 0.5, 0.5};
  } rows[] = {
      {"launch line, a number",
          [] (GObject *net) {
            gst_util_set_object_arg (net, "mean", "0.5");
            gst_util_set_object_arg (net, "deviation", "0.25");
          }},
      {"launch line, an array of one",
          [] (GObject *net) {
            gst_util_set_object_arg (net, "mean", "<0.5>");
            gst_util_set_object_arg (net, "deviation", "< (double)0.25 >");
          }},
      {"launch line, an array",
          [] (GObject *net) {
            gst_util_set_object_arg (net, "mean", "<0.48, 0.45, 0.4>");
            gst_util_set_object_arg (net, "deviation", "<0.25,1/4,0.25>");
          },
          {0.48, 0.45, 0.4}},
      {"launch line, numbers with commas",
          [] (GObject *net) {
            gst_util_set_object_arg (net, "mean", "0.48, 0.45,0.4");
            gst_util_set_object_arg (net, "deviation", "0.25");
          },
          {0.48, 0.45, 0.4}},
      {"GstValueArray",
          [] (GObject *net) {
            set_array (net, "mean", {0.48, 0.45, 0.4});
            set_array (net, "deviation", {0.25});
          },
          {0.48, 0.45, 0.4}},
      {"empty GstValueArray",
          [] (GObject *net) {
            set_array (net, "mean", {});
            set_number (net, "deviation", 0.25);
          },
          {0, 0, 0}},
      {"gdouble",
          [] (GObject *net) {
            set_number (net, "mean", 0.5);
            set_number (net, "deviation", 0.25);
          }},
  };
  const WithModel model (identity_model ());
  const Bytes frame = ramps (8, 8);
  for (const auto &row : rows) {
    GstElement *net = gst_element_factory_make ("openclinference", nullptr);
    g_object_set (net, "model-file", model.file.c_str (), nullptr);
    row.set (G_OBJECT (net));
    Harness harness (net, caps_of ("RGBA", 8, 8));
    const Bytes bytes = read_buffer (harness.pass (buffer_of (frame)));
    fail_unless_equals_int (bytes.size (), 192 * sizeof (float));
    const auto *got = reinterpret_cast<const float *> (bytes.data ());
    for (int n = 0; n < 192; n++) {
      const double expected =
          (level (frame, 8, n % 8, n / 8 % 8, n / 64) - row.mean[n / 64]) / 0.25;
      fail_unless (std::fabs (double (got[gsize (n)]) - expected) < 1e-5,
          "%s: %g, not %g", row.how, double (got[gsize (n)]), expected);
    }
  }
}

/* Levels of 0 to 255 are a mistake that gives wrong classes and no error. */
TEST (test_inference_warns_of_levels_above_one)
{
  Inference net (identity_model (), "mean=<123.7,116.3,103.5>", caps_of ("RGBA", 8, 8));
  fail_unless_equals_int (net.floats_of (ramps (8, 8)).size (), 192);
  const Outcome outcome = net.messages ();
  fail_unless_equals_int (outcome.warnings.size (), 1);
  fail_unless (outcome.warnings[0].find ("123.7/255") != std::string::npos, "%s",
      outcome.warnings[0].c_str ());
}

TEST (test_inference_takes_ranges_of_modelinfo)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", identity_model ().bytes ());
  folder.write ("net.onnx.modelinfo",
      "[modelinfo]\nversion=1.0\n[frame]\ndir=input\ntype=float32\ndims=1,3,8,8\n"
      "ranges=-1.0,1.0\n");
  Harness net ("openclinference model-file=" + file, caps_of ("RGBA", 8, 8));
  const Bytes frame = ramps (8, 8), got = read_buffer (net.pass (buffer_of (frame)));
  float first, last;
  memcpy (&first, got.data (), sizeof first);
  memcpy (&last, got.data () + 63 * sizeof last, sizeof last);
  fail_unless (std::fabs (first + 1) < 1e-6f && std::fabs (last - 1) < 1e-6f);
}

TEST (test_inference_refuses_invalid_values_of_modelinfo)
{
  const struct {
    const char *lines, *named;
  } rows[] = {
      {"dir=input\nranges=-1.0;1.0", "ranges=-1.0;1.0"},
      {"dir=input\nranges=0,1,5", "ranges=0,1,5"},
      {"dir=input\nranges=0,nan", "ranges=0,nan"},
      {"dir=inptu\nranges=0,1", "dir=inptu"},
      {"ranges=0,1", "dir="},
      {"dir=input\ndims=1,3,8.5,8", "dims=1,3,8.5,8"},
      {"dir=input\ndims-order=rows", "dims-order=rows"},
  };
  Folder folder;
  const std::string file = folder.write ("net.onnx", identity_model ().bytes ());
  for (const auto &row : rows) {
    folder.write ("net.onnx.modelinfo", std::string ("[frame]\n") + row.lines + "\n");
    run ("videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=8,height=8 ! "
         "openclupload ! openclinference model-file="
         + file + " ! fakesink")
        .expect_one_error (
            {file + ".modelinfo", std::string ("[frame] ") + row.named + ", expected"});
  }
}

/* A frame twice as wide as high: letterbox leaves rows at top and bottom black, crop leaves a
 * quarter out on each side. */
TEST (test_inference_keeps_the_aspect_ratio)
{
  const Bytes frame = ramps (32, 16);
  Inference boxed (identity_model (), "fit=letterbox", caps_of ("RGBA", 32, 16));
  const std::vector<float> in_box = boxed.floats_of (frame);
  for (int n = 0; n < 64; n++) {
    const bool border = n / 8 < 2 || n / 8 >= 6;
    const double blue = double (in_box[gsize (128 + n)]);
    fail_unless (std::fabs (blue - (border ? 0 : 0.2)) < 1e-6, "row %d: %g", n / 8, blue);
  }
  Inference gray_box (identity_model (),
      "fit=letterbox letterbox-color=0xff807244 colors=bgr deviation=1/255",
      caps_of ("RGBA", 32, 16));
  const std::vector<float> with_border = gray_box.floats_of (frame);
  const float border_levels[] = {0x44, 0x72, 0x80}; /* in levels of 0 to 255 */
  for (int c = 0; c < 3; c++)
    fail_unless (std::fabs (with_border[gsize (c * 64)] - border_levels[c]) < 1e-3f);
  fail_unless (std::fabs (with_border[3 * 8] - 51) < 1e-3f);
  Inference cropped (identity_model (), "fit=crop", caps_of ("RGBA", 32, 16));
  const std::vector<float> middle = cropped.floats_of (frame);
  for (int x = 0; x < 8; x++) {
    double expected = 0;
    for (int i = 0; i < 2; i++)
      expected += level (frame, 32, 8 + 2 * x + i, 0, 0) / 2;
    fail_unless (std::fabs (double (middle[gsize (x)]) - expected) < 1e-6);
  }
}

/* One frame of a test card in `format`, behind the elements `chain`. The colours are pale, so
 * that red, green and blue are levels also where interpolated chroma is beside other luma. */
static Bytes
card (const char *format, int width, int height, const std::string &chain)
{
  Pipeline pipeline (text ("videotestsrc num-buffers=1 pattern=smpte ! videobalance "
                           "saturation=0.3 contrast=0.4 brightness=0.2 ! videoconvert ! "
                           "video/x-raw,format=%s,width=%d,height=%d,framerate=25/1 ! "
                           "openclupload ! %s ! opencldownload ! appsink name=out "
                           "sync=false",
      format, width, height, chain.c_str ()));
  pipeline.start ();
  return read_buffer (gst_sample_get_buffer (pipeline.pull ()));
}

static const std::string to_rgba = "openclconvert ! video/x-raw" DEVICE ",format=RGBA";
#define CAMERA_FORMATS                                                                   \
  {                                                                                      \
    "NV12", "I420", "YUY2", "GRAY8", "BGRx", "RGB", "P010_10LE", "RGBA64_LE"             \
  }

/* Camera formats give what openclconvert makes of them, also where frames are scaled and a
 * line is no multiple of what a kernel reads at once. */
TEST_ROWS (test_inference_converts_camera_formats, CAMERA_FORMATS)
{
  const WithModel model (identity_model (3, 64));
  const std::string net = "openclinference model-file=" + model.file;
  const Bytes direct = card (row, 151, 83, net),
              converted = card (row, 151, 83, to_rgba + " ! " + net);
  fail_unless_equals_int (direct.size (), converted.size ());
  for (gsize n = 0; n < direct.size (); n += sizeof (float)) {
    float a, b;
    memcpy (&a, direct.data () + n, sizeof a);
    memcpy (&b, converted.data () + n, sizeof b);
    /* openclconvert rounds to a level. */
    fail_unless (std::fabs (a - b) < 1.0f / 255, "%g and %g", double (a), double (b));
  }
}

/* The same for frames that get the matte as their alpha: the colours are equal. */
TEST_ROWS (test_inference_writes_alpha_over_camera_formats, CAMERA_FORMATS)
{
  const WithModel model (red_matte_model ());
  const std::string net = "openclinference output=alpha model-file=" + model.file;
  const Bytes direct = card (row, 75, 53, net + " ! video/x-raw" DEVICE ",format=RGBA"),
              converted = card (row, 75, 53, to_rgba + " ! " + net);
  fail_unless_equals_int (direct.size (), converted.size ());
  for (gsize n = 0; n < direct.size (); n++)
    fail_unless (std::abs (direct[n] - converted[n]) <= (n % 4 == 3 ? 1 : 0),
        "byte %" G_GSIZE_FORMAT ": %d and %d", n, direct[n], converted[n]);
}

/* The red channel of 8 x 8 pixels as alpha of 16 x 16: bilinear, extended at the edges */
TEST_ROWS (test_inference_writes_alpha, {"RGBA", "BGRA", "ARGB", "ABGR"})
{
  const Bytes frame = ramps (16, 16);
  Inference net (red_matte_model (), "output=alpha", caps_of ("RGBA", 16, 16));
  gst_harness_set_sink_caps_str (net, caps_of (row, 16, 16).c_str ());
  const Bytes got = read_buffer (net.pass (buffer_of (frame)));
  const std::string format = row;
  const gsize alpha = format.find ('A'), red = format.find ('R'),
              blue = format.find ('B');
  for (int y = 0; y < 16; y++)
    for (int x = 0; x < 16; x++) {
      auto matte = [&] (int at) {
        at = std::clamp (at, 0, 7);
        return (level (frame, 16, 2 * at, 0, 0) + level (frame, 16, 2 * at + 1, 0, 0))
               / 2;
      };
      const double place = (x + 0.5) / 2 - 0.5;
      const int low = int (std::floor (place));
      const double expected =
          255 * (matte (low) + (place - low) * (matte (low + 1) - matte (low)));
      const guint8 *pixel = got.data () + (y * 16 + x) * 4;
      fail_unless (std::fabs (pixel[alpha] - expected) <= 0.51, "at %d: %d, not %g", x,
          pixel[alpha], expected);
      fail_unless_equals_int (pixel[red], frame[gsize ((y * 16 + x) * 4)]);
      fail_unless_equals_int (pixel[blue], 51);
    }
}

/* Frames of 1, 2, 3 … add up until the stream begins anew. */
TEST (test_inference_keeps_and_clears_its_state)
{
  Inference net (
      adding_model (), "state=before=after colors=gray", caps_of ("GRAY8", 4, 4));
  auto sum_after = [&] (guint8 value, bool discont = false) {
    GstBuffer *frame = buffer_of (Bytes (16, value));
    if (discont)
      GST_BUFFER_FLAG_SET (frame, GST_BUFFER_FLAG_DISCONT);
    const Bytes bytes = read_buffer (net.pass (frame));
    fail_unless_equals_int (bytes.size (), 64); /* the state is no output */
    float first;
    memcpy (&first, bytes.data (), sizeof first);
    return std::lround (first * 255);
  };
  fail_unless_equals_int (sum_after (1), 1);
  fail_unless_equals_int (sum_after (2), 3);
  fail_unless_equals_int (sum_after (3), 6);
  fail_unless_equals_int (sum_after (5, true), 5);
  fail_unless_equals_int (sum_after (1), 6);
  net.flush ();
  net.start_segment ();
  fail_unless_equals_int (sum_after (7), 7);
}

TEST (test_inference_takes_batches)
{
  OnnxModel model;
  model.input ("frame", {-1, 1, 4, 4}).output ("copy", {-1, 1, 4, 4});
  model.node ("Identity", {"frame"}, {"copy"});
  Inference net (model, "batch-size=3 colors=gray", caps_of ("GRAY8", 4, 4));
  for (int batch = 0; batch < 2; batch++) {
    for (int n = 0; n < 3; n++)
      fail_unless (
          net.push (buffer_of (Bytes (16, guint8 (10 * batch + n)))) == GST_FLOW_OK);
    const Bytes bytes = read_buffer (net.pull ());
    fail_unless_equals_int (bytes.size (), 3 * 64);
    for (int n = 0; n < 3; n++) {
      float level_of_first;
      memcpy (&level_of_first, bytes.data () + n * 64, sizeof level_of_first);
      fail_unless_equals_int (std::lround (level_of_first * 255), 10 * batch + n);
    }
  }
  GstQuery *query = gst_query_new_latency ();
  GstClockTime least = 0;
  fail_unless (gst_pad_peer_query (net->sinkpad, query));
  gst_query_parse_latency (query, nullptr, &least, nullptr);
  gst_query_unref (query);
  fail_unless_equals_uint64 (least, 2 * 40 * GST_MSECOND);
}

/* A frame in the middle of a stream of 25 frames a second */
static GstBuffer *
frame_at (guint number, gsize pixels = 16)
{
  GstBuffer *frame = buffer_of (Bytes (pixels, guint8 (number)));
  GST_BUFFER_PTS (frame) = number * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (frame) = 40 * GST_MSECOND;
  return frame;
}

/* A network that copies frames, and gives their means as another output */
static OnnxModel
copy_and_mean_model ()
{
  OnnxModel model;
  model.input ("frame", {-1, 1, 4, 4}).output ("copy", {-1, 1, 4, 4});
  model.output ("mean", {-1, 1, 1, 1});
  model.node ("Identity", {"frame"}, {"copy"});
  model.node ("ReduceMean", {"frame"}, {"mean"}, {{"axes", {1, 2, 3}}});
  return model;
}

/* Both outputs of a batch that copy_and_mean_model () makes */
static void
expect_batch (GstBuffer *batch, const std::vector<guint> &numbers)
{
  const Bytes bytes = read_buffer (batch);
  std::vector<float> got (bytes.size () / sizeof (float)), expected;
  memcpy (got.data (), bytes.data (), bytes.size ());
  for (const guint number : numbers)
    expected.insert (expected.end (), 16, float (number) / 255);
  for (const guint number : numbers)
    expected.push_back (float (number) / 255);
  fail_unless_equals_int (got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (std::fabs (got[n] - expected[n]) < 1e-6f, "%zu: %g, not %g", n,
        double (got[n]), double (expected[n]));
  fail_unless_equals_uint64 (GST_BUFFER_PTS (batch), numbers.back () * 40 * GST_MSECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (batch), 40 * GST_MSECOND);
}

/* Dimensions of the caps events since the last call */
static std::vector<std::string>
dimensions_sent (Harness &net)
{
  std::vector<std::string> dimensions;
  while (GstEvent *event = gst_harness_try_pull_event (net)) {
    GstCaps *caps;
    if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
      gst_event_parse_caps (event, &caps);
      dimensions.push_back (
          gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"));
    }
    gst_event_unref (event);
  }
  return dimensions;
}

/* Frames of a batch that is not full leave before what ends it, with caps that say how many. */
TEST_ROWS (
    test_inference_runs_batches_that_are_not_full, {"EOS", "caps", "segment", "gap"})
{
  Inference net (
      copy_and_mean_model (), "batch-size=4 colors=gray", caps_of ("GRAY8", 4, 4));
  const std::string end = row;
  for (guint n = 0; n < 6; n++)
    fail_unless (net.push (frame_at (n)) == GST_FLOW_OK);
  expect_batch (net.pull (), {0, 1, 2, 3});
  fail_unless (dimensions_sent (net) == std::vector<std::string>{"4:4:1:4,1:1:1:4"});
  if (end == "EOS")
    net.send (gst_event_new_eos ());
  else if (end == "caps")
    net.set_caps (caps_of ("GRAY8", 8, 8));
  else if (end == "segment")
    net.start_segment ();
  else
    net.send (gst_event_new_gap (240 * GST_MSECOND, 40 * GST_MSECOND));
  expect_batch (net.pull (), {4, 5});
  const std::vector<std::string> dimensions = dimensions_sent (net);
  fail_unless (!dimensions.empty () && dimensions[0] == "4:4:1:2,1:1:1:2", "%s",
      dimensions.empty () ? "no caps" : dimensions[0].c_str ());
  fail_unless (net.messages ().is_clean ());
  if (end == "EOS")
    return;
  for (guint n = 7; n < 11; n++)
    fail_unless (net.push (frame_at (n, end == "caps" ? 64 : 16)) == GST_FLOW_OK);
  expect_batch (net.pull (), {7, 8, 9, 10});
  Owned<GstCaps> caps = net.caps ();
  fail_unless_equals_string (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "dimensions"),
      "4:4:1:4,1:1:1:4");
}

/* A flush drops the frames of a batch. */
TEST (test_inference_flushes_batches)
{
  Inference net (
      copy_and_mean_model (), "batch-size=2 colors=gray", caps_of ("GRAY8", 4, 4));
  fail_unless (net.push (frame_at (1)) == GST_FLOW_OK);
  net.flush ();
  net.start_segment ();
  for (guint n = 5; n < 7; n++)
    fail_unless (net.push (frame_at (n)) == GST_FLOW_OK);
  expect_batch (net.pull (), {5, 6});
  fail_unless (gst_harness_try_pull (net) == nullptr);
}

/* A file of batches has all frames, for every rank of an output. */
TEST_ROWS (test_inference_batches_fill_a_file, {1, 2, 3, 4})
{
  const char *shapes[] = {"(10,)", "(10, 1)", "(10, 1, 4)", "(10, 1, 4, 4)"};
  const size_t counts[] = {1, 1, 4, 16};
  Folder folder;
  OnnxModel model;
  std::vector<int64_t> axes = {1, 2, 3}, shape = {4, 1, 4, 4};
  model.input ("frame", shape);
  axes.erase (axes.begin (), axes.begin () + row - 1);
  shape.resize (size_t (row));
  model.output ("copy", shape);
  if (axes.empty ())
    model.node ("Identity", {"frame"}, {"copy"});
  else
    model.node ("ReduceMean", {"frame"}, {"copy"}, {{"axes", axes}, {"keepdims", 0}});
  const std::string file = folder.write ("net.onnx", model.bytes ()),
                    array = folder.path + "/copies.npy";
  Pipeline pipeline (text (
      "videotestsrc num-buffers=10 pattern=white ! "
      "video/x-raw,format=GRAY8,width=4,height=4 ! openclupload ! openclinference "
      "colors=gray batch-size=4 model-file=%s ! opencldownload ! npysink location=%s",
      file.c_str (), array.c_str ()));
  pipeline.play_to_eos ();
  gchar *contents = nullptr;
  gsize size = 0;
  fail_unless (g_file_get_contents (array.c_str (), &contents, &size, nullptr));
  const std::string bytes (contents, size);
  g_free (contents);
  const gsize values = 10 * counts[row - 1] * sizeof (float);
  fail_unless (bytes.find (text ("'shape': %s,", shapes[row - 1])) != std::string::npos);
  fail_unless (size > values && (size - values) % 64 == 0);
  for (gsize at = size - values; at < size; at += sizeof (float)) {
    float white;
    memcpy (&white, bytes.data () + at, sizeof white);
    fail_unless (std::fabs (white - 1) < 0.1f, "%g", double (white));
  }
}

TEST (test_inference_follows_the_size_of_frames)
{
  Inference net (identity_model (), "", caps_of ("RGBA", 16, 16));
  fail_unless_equals_int (net.floats_of (ramps (16, 16)).size (), 192);
  net.set_caps (caps_of ("RGBA", 11, 5));
  const std::vector<float> got = net.floats_of (ramps (11, 5));
  fail_unless (std::fabs (got[128] - 0.2f) < 1e-6f);
}

TEST (test_inference_takes_tensors)
{
  OnnxModel model;
  model.input ("x", {2, 3}).output ("y", {3, 2}).output ("z", {2, 3});
  model.node ("Transpose", {"x"}, {"y"}).node ("Neg", {"x"}, {"z"});
  Inference net (model, "",
      "other/tensors" DEVICE ",format=static,num_tensors=1,types=float32,"
      "dimensions=(string)3:2,framerate=25/1");
  const float values[] = {1, 2, 3, 4, 5, 6};
  Bytes frame (sizeof values);
  memcpy (frame.data (), values, sizeof values);
  const std::vector<float> got = net.floats_of (frame);
  const float expected[] = {1, 4, 2, 5, 3, 6, -1, -2, -3, -4, -5, -6};
  fail_unless_equals_int (got.size (), 12);
  fail_unless (std::equal (got.begin (), got.end (), expected));
  Owned<GstCaps> caps = net.caps ();
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  fail_unless_equals_string (
      gst_structure_get_string (structure, "dimensions"), "2:3,3:2");
  fail_unless_equals_string (
      gst_structure_get_string (structure, "types"), "float32,float32");
}

/* --- errors --- */

TEST (test_inference_errors_name_the_value)
{
  const struct {
    OnnxModel model;
    const char *properties, *caps;
    std::vector<std::string> parts;
  } rows[] = {
      {identity_model (1), "colors=rgb", "RGBA", {"colors=rgb", "1 channels"}},
      {identity_model (), "colors=gray", "RGBA", {"colors=gray", "3 channels"}},
      {identity_model (), "mean=<1,2>", "RGBA", {"mean has 2 numbers"}},
      {identity_model (), "deviation=<0>", "RGBA", {"deviation has a 0"}},
      {identity_model (), "mean=<a>", "RGBA", {"mean=<a> is not an array"}},
      {identity_model (), "deviation=half", "RGBA", {"deviation=<half> is not an array"}},
      {identity_model (), "state=before=after", "RGBA", {"state"}},
      {identity_model (), "state=nothing", "RGBA", {"state", "nothing"}},
      {identity_model (), "batch-size=4", "RGBA", {"batch-size 4", "1x3x8x8"}},
      {red_matte_model (), "output=alpha channel=1", "RGBA", {"channel 1", "1x1x8x8"}},
      {red_matte_model (), "output=alpha channel=-1", "RGBA", {"channel -1", "1x1x8x8"}},
      {red_matte_model (), "output=alpha output-index=2", "RGBA", {"output-index 2"}},
      {adding_model (), "colors=gray", "GRAY8", {"several inputs", "\"before\""}},
      {OnnxModel ()
              .input ("x", {1, 3, 8, 8})
              .output ("y", {1, 3, 8, 8})
              .node ("Bernoulli", {"x"}, {"y"}),
          "", "RGBA", {"Bernoulli"}},
  };
  for (const auto &row : rows) {
    Folder folder;
    const std::string file = folder.write ("net.onnx", row.model.bytes ());
    Pipeline pipeline (text ("videotestsrc num-buffers=2 ! "
                             "video/x-raw,format=%s,width=16,height=16,framerate=25/1 ! "
                             "openclupload ! openclinference name=openclinference0 "
                             "model-file=%s %s ! fakesink",
        row.caps, file.c_str (), row.properties));
    const std::vector<std::string> errors =
        pipeline.play ().errors_of ("openclinference0");
    fail_unless (
        errors.size () == 1, "%zu errors with %s", errors.size (), row.parts[0].c_str ());
    for (const std::string &part : row.parts)
      fail_unless (errors[0].find (part) != std::string::npos, "\"%s\" lacks \"%s\"",
          errors[0].c_str (), part.c_str ());
  }
}

TEST_ROWS (test_inference_needs_a_model, {"", "model-file=/no/such/file.onnx"})
{
  LoneElement net ("openclinference");
  set_together (net, row);
  fail_if (net.reaches_state (GST_STATE_PAUSED));
  net.messages ().expect_one_error (
      {*row ? "/no/such/file.onnx" : "model-file is not set"});
}

/* A file of 6 KB whose last value would have 4 TB. Negotiation lowers the network, too. */
TEST (test_inference_refuses_large_constants_in_two_seconds)
{
  OnnxModel model;
  model.input ("x", {1, 3, 8, 8}).output ("y", {});
  model.constant ("v0", {1024}, std::vector<float> (1024, 1));
  for (int n = 0; n < 40; n++) {
    const std::string value = "v" + std::to_string (n);
    model.node ("Concat", {value, value}, {"v" + std::to_string (n + 1)}, {{"axis", 0}});
  }
  model.node ("ReduceSum", {"v40"}, {"s"}).node ("Add", {"x", "s"}, {"y"});
  const WithModel with (model);
  const char *multiplier = g_getenv ("CK_TIMEOUT_MULTIPLIER");
  const clock_t begin = clock ();
  const Outcome outcome =
      run ("videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=8,height=8 ! "
           "openclupload ! openclinference model-file="
           + with.file + " ! fakesink");
  const double took = double (clock () - begin) / CLOCKS_PER_SEC;
  outcome.expect_one_error ({"Concat", "computed on the host"});
  fail_unless (took < 2 * std::max (multiplier ? atof (multiplier) : 1, 1.0),
      "%g s of processor time", took);
}

/* A program writes the file again while frames run, and the caps change. */
TEST (test_inference_outlives_its_model_file)
{
  Inference net (identity_model (), "", caps_of ("RGBA", 16, 16));
  fail_unless_equals_int (net.floats_of (ramps (16, 16)).size (), 192);
  fail_unless_equals_int (truncate (net.model_file ().c_str (), 0), 0);
  net.set_caps (caps_of ("RGBA", 11, 5));
  fail_unless_equals_int (net.floats_of (ramps (11, 5)).size (), 192);
}

/* --- frames stay on the device --- */

static GstOpenCLCounts
counts_after (const std::string &file, int frames)
{
  Pipeline pipeline (
      text ("videotestsrc num-buffers=%d ! "
            "video/x-raw,format=RGBA,width=64,height=48 ! openclupload ! "
            "openclinference name=net model-file=%s output=alpha ! fakesink",
          frames, file.c_str ()));
  GstOpenCLCounts counts;
  pipeline.play_to_eos ();
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (pipeline["net"]), &counts);
  return counts;
}

/* Two elements with one network upload its weights once. */
TEST (test_inference_elements_share_weights)
{
  const gint64 channels = 64;
  OnnxModel model;
  model.input ("frame", {1, 3, 8, 8}).output ("y", {1, channels, 8, 8});
  model.constant ("first", {channels, 3, 1, 1}, std::vector<float> (192, 0.5f));
  model.constant ("second", {channels, channels, 1, 1},
      std::vector<float> (gsize (channels * channels), 0.5f));
  model.node ("Conv", {"frame", "first"}, {"x"}).node ("Conv", {"x", "second"}, {"y"});
  Folder folder;
  const std::string net =
      " ! openclinference model-file=" + folder.write ("net.onnx", model.bytes ());
  Pipeline pipeline (
      "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=8,height=8"
      " ! openclupload ! tee name=t"
      + net + " name=one ! fakesink async=false t." + net
      + " name=two ! fakesink async=false");
  pipeline.play_to_eos ();
  guint64 uploaded = 0;
  for (const char *name : {"one", "two"}) {
    GstOpenCLCounts counts;
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (pipeline[name]), &counts);
    uploaded += counts.upload_bytes;
  }
  const guint64 weights = guint64 (channels * channels) * sizeof (float);
  fail_unless (uploaded >= weights && uploaded < 2 * weights,
      "%" G_GUINT64_FORMAT " bytes uploaded", uploaded);
}

/* Tables and weights are uploaded once, however many frames there are. */
TEST (test_inference_never_waits_nor_downloads)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx", red_matte_model ().bytes ());
  const GstOpenCLCounts few = counts_after (file, 5), many = counts_after (file, 40);
  fail_unless_equals_int (many.downloads + many.host_waits, 0);
  fail_unless (many.launches > few.launches);
  fail_unless (few.uploads > 0);
  fail_unless_equals_int (many.uploads, few.uploads);
}
