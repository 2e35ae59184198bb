/* Tests of the inputs of openclinference: layouts and types of images, clips, constants, and
 * streams of request pads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/inferenceharness.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/common/npyfile.hpp>

#include <cmath>

using namespace check;

using Inference = InferenceHarness;

namespace {
template <typename Number = float>
std::vector<double>
numbers_of (const Bytes &bytes)
{
  std::vector<Number> values (bytes.size () / sizeof (Number));
  memcpy (values.data (), bytes.data (), bytes.size ());
  return std::vector<double> (values.begin (), values.end ());
}

std::vector<double>
numbers_of (const Bytes &bytes, int type)
{
  std::vector<double> numbers;
  switch (type) {
  case onnx_uint8:
    return numbers_of<guint8> (bytes);
  case onnx_int8:
    return numbers_of<gint8> (bytes);
  case onnx_int32:
    return numbers_of<gint32> (bytes);
  case onnx_half:
    for (const double half : numbers_of<guint16> (bytes))
      numbers.push_back (double (opencl::float_of_half (guint16 (half))));
    return numbers;
  default:
    return numbers_of<float> (bytes);
  }
}

/* A frame at 25 frames a second whose bytes are all `level` */
GstBuffer *
level_frame (guint number, guint8 level, gsize bytes = 16)
{
  GstBuffer *frame = buffer_of (Bytes (bytes, level));
  GST_BUFFER_PTS (frame) = number * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (frame) = 40 * GST_MSECOND;
  return frame;
}
} // namespace

/* A row has a shape whose dimensions are `letters`. Pixels are copied by their letters. */
TEST (test_inference_takes_images_of_any_layout_and_type)
{
  const struct {
    std::vector<int64_t> shape;
    int type;
    const char *letters, *properties, *order;
  } rows[] = {
      {{1, 3, 8, 8}, onnx_float, "NCHW", "", "RGB"},
      {{1, 8, 8, 3}, onnx_uint8, "NHWC", "", "RGB"},
      {{-1, 3, -1, -1}, onnx_uint8, "NCHW", "", "RGB"},
      {{1, -1, 8, 8}, onnx_float, "NCHW", "", "RGB"},
      {{3, 8, 8}, onnx_float, "CHW", "colors=bgr", "BGR"},
      {{8, 8, 3}, onnx_uint8, "HWC", "colors=bgr", "BGR"},
      {{1, 4, 8, 8}, onnx_float, "NCHW", "", "RGBA"},
      {{1, 4, 8, 8}, onnx_float, "NCHW", "precision=half", "RGBA"},
      {{8, 8, 4}, onnx_uint8, "HWC", "colors=bgra", "BGRA"},
      {{1, 8, 8, 3}, onnx_int8, "NHWC", "", "RGB"},
      {{3, 8, 8}, onnx_int32, "CHW", "", "RGB"},
      {{1, 3, 8, 8}, onnx_half, "NCHW", "", "RGB"},
      {{8, 8, 3, 1}, onnx_float, "HWCN", "layout=hwcn", "RGB"},
      {{1, 1, 3, 8, 8}, onnx_float, "NTCHW", "", "RGB"},
      {{1, 3, 1, 8, 8}, onnx_float, "NCTHW", "", "RGB"},
      {{8, 3, 8}, onnx_uint8, "WCH", "layout=WCH", "RGB"},
  };
  const Bytes frame = pattern (8 * 8 * 4, 5);
  for (const auto &row : rows) {
    Inference net (
        copying_model (row.shape, row.type), row.properties, caps_of ("RGBA", 8, 8));
    const std::vector<double> got =
        numbers_of (read_buffer (net.pass (buffer_of (frame))), row.type);
    const std::string letters = row.letters, order = row.order;
    fail_unless_equals_int (got.size (), 64 * order.size ());
    for (gsize n = 0; n < got.size (); n++) {
      gsize at[256] = {}, rest = n;
      for (gsize d = letters.size (); d-- > 0;) {
        const gsize length = letters[d] == 'C'                        ? order.size ()
                             : letters[d] == 'H' || letters[d] == 'W' ? 8
                                                                      : 1;
        at[int (letters[d])] = rest % length;
        rest /= length;
      }
      const gsize component = std::string ("RGBA").find (order[at['C']]);
      const int level = frame[(at['H'] * 8 + at['W']) * 4 + component];
      const bool is_real = row.type == onnx_float || row.type == onnx_half;
      const double expected =
          is_real ? level / 255.0 : level - (row.type == onnx_int8 ? 128 : 0);
      const double limit = row.type == onnx_half || *row.properties == 'p' ? 5e-4 : 1e-6;
      fail_unless (std::fabs (got[n] - expected) < limit, "%s %s: %g, not %g at %zu",
          row.letters, row.properties, got[n], expected, n);
    }
  }
}

/* Alpha of ten bits, of planes, and of frames without alpha */
TEST (test_inference_reads_alpha)
{
  for (const char *format : {"ARGB", "ABGR", "RGBx", "RGB", "A420", "ARGB64"}) {
    const std::string name = format;
    const bool has_alpha = name[0] == 'A';
    const WithModel model (copying_model ({4, 8, 8}));
    Pipeline pipeline (text ("videotestsrc num-buffers=1 pattern=solid-color "
                             "foreground-color=0x40c08020 ! videoconvert ! "
                             "video/x-raw,format=%s,width=8,height=8 ! openclupload ! "
                             "openclinference letterbox-color=0x80ff0000 model-file=%s ! "
                             "opencldownload ! appsink name=out sync=false",
        format, model.file.c_str ()));
    pipeline.start ();
    const std::vector<double> got =
        numbers_of (read_buffer (gst_sample_get_buffer (pipeline.pull ())));
    fail_unless_equals_int (got.size (), 4 * 64);
    fail_unless (std::fabs (got[0] - 0xc0 / 255.0) < 0.02, "%s: red %g", format, got[0]);
    fail_unless (std::fabs (got[3 * 64 + 9] - (has_alpha ? 0x40 / 255.0 : 1)) < 0.02,
        "%s: alpha %g", format, got[3 * 64 + 9]);
  }
}

/* --- clips --- */

/* Levels of the frames of each clip. `layout` is NCTHW or NTCHW with one channel of 4 x 4. */
static void
expect_clip (GstBuffer *buffer, const std::vector<int> &levels, guint last)
{
  const std::vector<double> got = numbers_of (read_buffer (buffer));
  fail_unless_equals_int (got.size (), levels.size () * 16 * 3);
  for (gsize t = 0; t < levels.size (); t++)
    for (gsize c = 0; c < 3; c++) /* NCTHW */
      fail_unless (
          std::fabs (got[(c * levels.size () + t) * 16 + 5] * 255 - levels[t]) < 1e-3,
          "frame %zu: %g, not %d", t, got[(c * levels.size () + t) * 16 + 5] * 255,
          levels[t]);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), last * 40 * GST_MSECOND);
}

TEST (test_inference_takes_clips_of_frames)
{
  const struct {
    std::vector<int64_t> shape;
    const char *properties;
    std::vector<std::vector<int>> clips; /* of frames 0 to 8, and of the end */
    guint latency, rate;                 /* frames */
  } rows[] = {
      {{1, 3, 4, 4, 4}, "", {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 8, 8, 8}}, 3, 4},
      {{1, 3, -1, 4, 4}, "clip-length=4 clip-step=2",
          {{0, 1, 2, 3}, {2, 3, 4, 5}, {4, 5, 6, 7}, {6, 7, 8, 8}}, 3, 2},
      {{1, 3, 4, 4, 4}, "clip-step=1 precision=half",
          {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7},
              {5, 6, 7, 8}},
          3, 1},
      {{3, 2, 4, 4}, "clip-step=5", {{0, 1}, {5, 6}}, 1, 5},
      {{-1, 3, 2, 4, 4}, "batch-size=1 clip-step=3", {{0, 1}, {3, 4}, {6, 7}}, 1, 3},
  };
  for (const auto &row : rows) {
    Inference net (copying_model (row.shape), row.properties, caps_of ("RGB", 4, 4));
    for (guint n = 0; n < 9; n++)
      fail_unless (net.push (level_frame (n, guint8 (n), 48)) == GST_FLOW_OK);
    GstQuery *query = gst_query_new_latency ();
    GstClockTime least = 0;
    fail_unless (gst_pad_peer_query (net->sinkpad, query));
    gst_query_parse_latency (query, nullptr, &least, nullptr);
    gst_query_unref (query);
    fail_unless_equals_uint64 (least, row.latency * 40 * GST_MSECOND);
    net.send (gst_event_new_eos ());
    for (const std::vector<int> &clip : row.clips) {
      Owned<GstBuffer> got = net.pull ();
      /* The last frame of a clip that the end pads is repeated. */
      expect_clip (got, clip, guint (clip.back ()));
    }
    fail_unless (gst_harness_try_pull (net) == nullptr);
    fail_unless (net.messages ().is_clean ());
    gint numerator = 0, denominator = 0;
    gst_structure_get_fraction (
        gst_caps_get_structure (net.caps (), 0), "framerate", &numerator, &denominator);
    fail_unless_equals_int (25 * denominator, numerator * int (row.rate));
  }
}

/* Two clips together, and one of which the end has a part */
TEST (test_inference_takes_batches_of_clips)
{
  Inference net (copying_model ({-1, 2, 1, 4, 4}), "batch-size=2 layout=NTCHW",
      caps_of ("GRAY8", 4, 4));
  for (guint n = 0; n < 5; n++)
    fail_unless (net.push (level_frame (n, guint8 (n))) == GST_FLOW_OK);
  net.send (gst_event_new_eos ());
  for (const std::vector<int> &levels :
      {std::vector<int>{0, 1, 2, 3}, std::vector<int>{4, 4}}) {
    const std::vector<double> got = numbers_of (read_buffer (net.pull ()));
    fail_unless_equals_int (got.size (), levels.size () * 16);
    for (gsize t = 0; t < levels.size (); t++)
      fail_unless (std::fabs (got[t * 16] * 255 - levels[t]) < 1e-3);
  }
  fail_unless (gst_harness_try_pull (net) == nullptr);
}

/* A flush drops the frames of a clip. */
TEST (test_inference_flushes_clips)
{
  Inference net (copying_model ({1, 3, 4, 4, 4}), "clip-step=2", caps_of ("RGB", 4, 4));
  for (guint n = 0; n < 5; n++)
    fail_unless (net.push (level_frame (n, guint8 (n), 48)) == GST_FLOW_OK);
  expect_clip (net.pull (), {0, 1, 2, 3}, 3);
  net.flush ();
  net.start_segment ();
  for (guint n = 10; n < 14; n++)
    fail_unless (net.push (level_frame (n, guint8 (n), 48)) == GST_FLOW_OK);
  expect_clip (net.pull (), {10, 11, 12, 13}, 13);
  fail_unless (gst_harness_try_pull (net) == nullptr);
}

/* --- values --- */

static void
write_npy (const std::string &file, const std::vector<gsize> &shape,
    const std::vector<double> &values)
{
  std::string bytes = opencl::npy_make_header (opencl::NumberType::f64, false, shape);
  bytes.append (
      reinterpret_cast<const char *> (values.data ()), values.size () * sizeof (double));
  fail_unless (g_file_set_contents (
      file.c_str (), bytes.data (), gssize (bytes.size ()), nullptr));
}

/* x * factor[row] + summand */
static OnnxModel
line_model ()
{
  OnnxModel model;
  model.input ("x", {1, 1, 4, 4}).input ("factor", {1, 1, 4, 1});
  model.input ("summand", {1}, onnx_int32).output ("y", {1, 1, 4, 4});
  model.node ("Mul", {"x", "factor"}, {"product"});
  model.node ("Cast", {"summand"}, {"real"}, {{"to", onnx_float}});
  model.node ("Add", {"product", "real"}, {"y"});
  return model;
}

TEST (test_inference_takes_constants)
{
  Folder folder;
  write_npy (folder.file ("factors.npy"), {4, 1}, {1, 2, 3, 4});
  const std::string rows[] = {"<<1>,<2>,<3>,<4>>", folder.file ("factors.npy"), "2.5"};
  for (const std::string &value : rows) {
    Inference net (line_model (), "inputs=\"factor=" + value + ", summand = -7\"",
        caps_of ("GRAY8", 4, 4));
    const std::vector<double> got =
        numbers_of (read_buffer (net.pass (level_frame (0, 51))));
    for (int n = 0; n < 16; n++) {
      const double factor = value == "2.5" ? 2.5 : n / 4 + 1;
      fail_unless (std::fabs (got[gsize (n)] - (0.2 * factor - 7)) < 1e-5, "%s: %g",
          value.c_str (), got[gsize (n)]);
    }
  }
}

/* The sum of all frames so far, in a state whose lengths the model leaves open */
static OnnxModel
adding_model (gint64 length)
{
  OnnxModel model;
  model.input ("frame", {1, 1, 4, 4}).input ("before", {1, 1, length, length});
  model.output ("sum", {1, 1, 4, 4}).output ("after", {1, 1, length, length});
  model.node ("Add", {"frame", "before"}, {"sum"}).node ("Identity", {"sum"}, {"after"});
  return model;
}

TEST_ROWS (test_inference_begins_with_a_first_state, {"4", "-1"})
{
  const int length = atoi (row);
  Inference net (adding_model (length), "state=before=after inputs=before=10",
      caps_of ("GRAY8", 4, 4));
  auto sum_after = [&] (guint8 level) {
    return numbers_of (read_buffer (net.pass (level_frame (0, level))))[7] * 255;
  };
  fail_unless (std::fabs (sum_after (1) - 2551) < 1e-2);
  fail_unless (std::fabs (sum_after (2) - 2553) < 1e-2);
  net.flush ();
  net.start_segment ();
  fail_unless (std::fabs (sum_after (5) - 2555) < 1e-2);
}

/* A recurrent network whose scale is an input, as RobustVideoMatting has it: the shape of its
 * state follows from the scale. */
TEST (test_inference_finds_the_shape_of_the_state_by_constants)
{
  OnnxModel model;
  model.input ("x", {1, 1, 4, 4}).input ("before", {-1, -1, -1, -1});
  model.input ("ratio", {1}).output ("after", {-1, -1, -1, -1});
  model.output ("y", {-1, -1, -1, -1});
  model.constant ("ones", {2}, {1, 1}).constant ("none", {0}, std::vector<float> ());
  model.node ("Concat", {"ones", "ratio", "ratio"}, {"scales"}, {{"axis", 0}});
  model.node ("Resize", {"x", "none", "scales"}, {"small"},
      {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"},
          {"nearest_mode", "floor"}});
  model.node ("Add", {"small", "before"}, {"y"});
  model.node ("Identity", {"y"}, {"after"});
  Inference net (model, "state=before=after inputs=ratio=0.5", caps_of ("GRAY8", 4, 4));
  const Bytes frame = pattern (16, 3);
  for (int n = 1; n < 4; n++) {
    const std::vector<double> got =
        numbers_of (read_buffer (net.pass (buffer_of (frame))));
    const gsize places[] = {0, 2, 8, 10}; /* every other pixel */
    fail_unless_equals_int (got.size (), 4);
    for (gsize i = 0; i < 4; i++)
      fail_unless (std::fabs (got[i] * 255 - n * frame[places[i]]) < 1e-3);
  }
}

/* --- streams of request pads --- */

namespace {
/* x * y of images with one channel, or y an array */
OnnxModel
product_model (const std::vector<int64_t> &other)
{
  OnnxModel model;
  model.input ("x", {1, 1, 4, 4}).input ("y", other).output ("z", {1, 1, 4, 4});
  model.node ("Mul", {"x", "y"}, {"z"});
  return model;
}

/* Frames of the main stream have levels 1, 2, 3 …, those of the other one come every 80 ms. */
class TwoStreams {
public:
  TwoStreams (const OnnxModel &model, const std::string &properties,
      const std::string &pad, const std::string &caps)
      : with (model),
        pipeline ("appsrc name=main format=time caps=\"" + caps_of_host ()
                  + "\" ! openclupload ! openclinference name=net model-file=" + with.file
                  + " " + properties
                  + " ! opencldownload ! appsink name=out sync=false "
                    "appsrc name=other format=time caps=\""
                  + caps + "\" ! openclupload ! net." + pad)
  {
    pipeline.start ();
  }
  static std::string caps_of_host ()
  {
    return "video/x-raw,format=GRAY8,width=4,height=4,framerate=25/1";
  }
  void push (const char *name, GstBuffer *buffer)
  {
    gst_app_src_push_buffer (GST_APP_SRC (pipeline[name]), buffer);
  }
  void end ()
  {
    gst_app_src_end_of_stream (GST_APP_SRC (pipeline["main"]));
    gst_app_src_end_of_stream (GST_APP_SRC (pipeline["other"]));
  }
  std::vector<double> pull ()
  {
    Owned<GstSample> sample = pipeline.pull ();
    fail_unless (sample != nullptr);
    return numbers_of (read_buffer (gst_sample_get_buffer (sample)));
  }
  WithModel with;
  Pipeline pipeline;
};
} // namespace

/* The other input has the frame that began last, also after its stream has ended. */
TEST_ROWS (test_inference_pairs_video_by_time, {"sink_y", "sink_1"})
{
  TwoStreams streams (product_model ({1, 1, 4, 4}), "", row, TwoStreams::caps_of_host ());
  for (guint n = 0; n < 2; n++)
    streams.push ("other", level_frame (2 * n, guint8 (51 * (n + 1))));
  for (guint n = 0; n < 6; n++)
    streams.push ("main", level_frame (n, guint8 (n + 1)));
  streams.end ();
  const int others[] = {51, 51, 102, 102, 102, 102};
  for (int n = 0; n < 6; n++) {
    const double expected = (n + 1) / 255.0 * others[n] / 255;
    fail_unless (std::fabs (streams.pull ()[3] - expected) < 1e-6);
  }
  fail_unless (streams.pipeline.messages ().is_clean ());
}

TEST (test_inference_takes_arrays_of_another_stream)
{
  TwoStreams streams (product_model ({1, 4}), "", "sink_y",
      "other/tensors,format=static,num_tensors=1,types=float32,dimensions=(string)4,"
      "framerate=25/1");
  const float values[] = {1, 10, 100, -5};
  GstBuffer *array = gst_buffer_new_memdup (values, sizeof values);
  GST_BUFFER_PTS (array) = 0;
  streams.push ("other", array);
  for (guint n = 0; n < 3; n++)
    streams.push ("main", level_frame (n, 51));
  streams.end ();
  for (int n = 0; n < 3; n++) {
    const std::vector<double> got = streams.pull ();
    for (gsize i = 0; i < 16; i++)
      fail_unless (std::fabs (got[i] - 0.2 * double (values[i % 4])) < 1e-4);
  }
}

/* Both streams of a network of batches fill their images. */
TEST (test_inference_takes_batches_of_two_streams)
{
  TwoStreams streams (OnnxModel ()
                          .input ("x", {-1, 1, 4, 4})
                          .input ("y", {-1, 1, 4, 4})
                          .output ("z", {-1, 1, 4, 4})
                          .node ("Sub", {"x", "y"}, {"z"}),
      "batch-size=2", "sink_y", TwoStreams::caps_of_host ());
  streams.push ("other", level_frame (0, 100));
  for (guint n = 0; n < 4; n++)
    streams.push ("main", level_frame (n, guint8 (n)));
  streams.end ();
  for (int n = 0; n < 4; n += 2) {
    const std::vector<double> got = streams.pull ();
    fail_unless_equals_int (got.size (), 32);
    for (int i = 0; i < 2; i++)
      fail_unless (std::fabs (got[gsize (16 * i)] * 255 - (n + i - 100)) < 1e-3);
  }
}

/* Both streams seek. */
TEST (test_inference_seeks_with_two_streams)
{
  const WithModel model (product_model ({1, 1, 4, 4}));
  const std::string source =
      "videotestsrc num-buffers=60 pattern=white ! "
      "video/x-raw,format=GRAY8,width=4,height=4 ! openclupload ! ";
  Pipeline pipeline (source + "net.sink " + source
                     + "net.sink_y openclinference name=net "
                       "model-file="
                     + model.file + " ! opencldownload ! fakesink");
  pipeline.set_state (GST_STATE_PAUSED);
  for (int n = 0; n < 3; n++) {
    pipeline.set_state (GST_STATE_PLAYING);
    fail_unless (gst_element_seek_simple (pipeline, GST_FORMAT_TIME,
        GstSeekFlags (GST_SEEK_FLAG_FLUSH), GstClockTime (n) * GST_SECOND / 10));
  }
  pipeline.play_to_eos ();
}

TEST (test_inference_follows_caps_of_another_stream)
{
  TwoStreams streams (
      product_model ({1, 1, 4, 4}), "", "sink_y", TwoStreams::caps_of_host ());
  streams.push ("other", level_frame (0, 51));
  streams.push ("main", level_frame (0, 255));
  fail_unless (std::fabs (streams.pull ()[3] - 0.2) < 1e-6);
  Owned<GstCaps> wide =
      gst_caps_from_string ("video/x-raw,format=GRAY8,width=8,height=8,framerate=25/1");
  gst_app_src_set_caps (GST_APP_SRC (streams.pipeline["other"]), wide);
  streams.push ("other", level_frame (1, 102, 64));
  streams.push ("main", level_frame (1, 255));
  fail_unless (std::fabs (streams.pull ()[3] - 0.4) < 1e-6);
  streams.end ();
  fail_unless (streams.pipeline.messages ().is_clean ());
}

/* The model leaves the number of rows open, and the array of the pad has four. */
TEST (test_inference_takes_open_lengths_from_a_pad)
{
  TwoStreams streams (product_model ({-1, 4}), "", "sink_y",
      "other/tensors,format=static,num_tensors=1,types=float32,"
      "dimensions=(string)4:4,framerate=25/1");
  Bytes rows (64);
  for (gsize n = 0; n < 16; n++) {
    const float value = float (n);
    memcpy (&rows[4 * n], &value, 4);
  }
  GstBuffer *other = buffer_of (rows);
  GST_BUFFER_PTS (other) = 0;
  GST_BUFFER_DURATION (other) = 40 * GST_MSECOND;
  streams.push ("other", other);
  streams.push ("main", level_frame (0, 255));
  const std::vector<double> got = streams.pull ();
  fail_unless_equals_int (got.size (), 16);
  for (gsize n = 0; n < 16; n++)
    fail_unless (std::fabs (got[n] - double (n)) < 1e-5, "%g at %zu", got[n], n);
  streams.end ();
  fail_unless (streams.pipeline.messages ().is_clean ());
}

/* --- errors --- */

/* Sources post errors of their own when a stream fails. */
static void
expect_error (const Outcome &outcome, const std::vector<std::string> &parts)
{
  const std::vector<std::string> errors = outcome.errors_of ("net");
  fail_unless (errors.size () == 1, "%s", outcome.line ().c_str ());
  for (const std::string &part : parts)
    fail_unless (errors[0].find (part) != std::string::npos, "\"%s\" lacks \"%s\"",
        errors[0].c_str (), part.c_str ());
}

TEST (test_inference_errors_name_the_input)
{
  const struct {
    OnnxModel model;
    const char *properties;
    std::vector<std::string> parts;
  } rows[] = {
      {line_model (), "",
          {"several inputs", "\"factor\" (float32 1x1x4x1)", "inputs=\"summand=…\"",
              "sink_summand"}},
      {line_model (), "inputs=factor=1,summand=1,ratio=2", {"no input \"ratio\""}},
      {line_model (), "inputs=factor=<1,2>,summand=1",
          {"\"factor\" (float32 1x1x4x1)", "shape 2"}},
      {line_model (), "inputs=factor=1,summand=0.5", {"0.5", "no int32"}},
      {line_model (), "inputs=factor=1,summand=3e9", {"3000000000", "no int32"}},
      {line_model (), "inputs=factor=no.npy,summand=1", {"inputs: factor", "no.npy"}},
      {line_model (), "inputs=factor", {"inputs: \"factor\"", "input=value"}},
      {line_model (), "inputs=x=1,factor=1,summand=1", {"no input is left", "\"x\""}},
      {copying_model ({1, 7, 8, 8}), "",
          {"\"x\" (float32 1x7x8x8)", "1, 3 or 4 channels", "layout"}},
      {copying_model ({1, 3, 1, 40000}), "", {"1x3x1x40000", "1 to 32767"}},
      {copying_model ({1, 3, 8, 8}), "layout=NCHH", {"\"x\" (float32 1x3x8x8)"}},
      {copying_model ({1, 3, 8, 8}, 11), "", {"\"x\" (float64", "expected float32"}},
      {copying_model ({1, 4, 8, 8}), "colors=rgb", {"colors=rgb", "4 channels"}},
      {copying_model ({1, 3, 4, 8, 8}), "clip-length=5", {"clip-length 5", "1x3x4x8x8"}},
      {copying_model ({-1, 3, 4, 8, 8}), "clip-step=1 batch-size=2",
          {"clip-step 1", "batch-size=1"}},
      {copying_model ({1, 3, 8, 8}), "inputs=x", {"inputs"}},
  };
  for (const auto &row : rows) {
    const WithModel with (row.model);
    expect_error (
        run ("videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=16,height=16 ! "
             "openclupload ! openclinference name=net model-file="
             + with.file + " " + row.properties + " ! fakesink"),
        row.parts);
  }
}

TEST (test_inference_errors_name_the_pad)
{
  const struct {
    const char *pad, *caps;
    std::vector<std::string> parts;
  } rows[] = {
      {"sink_ratio", "video/x-raw,format=GRAY8,width=4,height=4,framerate=25/1",
          {"sink_ratio", "\"y\" (float32 1x4)"}},
      {"sink_y",
          "other/tensors,format=static,num_tensors=1,types=float32,"
          "dimensions=(string)5,framerate=25/1",
          {"\"y\" is float32 1x4", "sink_y has float32 5"}},
  };
  for (const auto &row : rows) {
    TwoStreams streams (product_model ({1, 4}), "", row.pad, row.caps);
    streams.push ("other", level_frame (0, 0, strstr (row.caps, "float") ? 20 : 16));
    streams.push ("main", level_frame (0, 51));
    streams.end ();
    expect_error (streams.pipeline.play (), row.parts);
  }
}

/* A stream that ends without a frame, and a pad that nothing is linked to */
TEST_ROWS (test_inference_reports_a_pad_without_frames, {"ended", "not linked"})
{
  const WithModel model (product_model ({1, 1, 4, 4}));
  const bool linked = *row == 'e';
  Pipeline pipeline ("videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=4,"
                     "height=4 ! openclupload ! openclinference name=net model-file="
                     + model.file + " ! fakesink "
                     + (linked ? "videotestsrc num-buffers=0 ! video/x-raw,format=GRAY8,"
                                 "width=4,height=4 ! openclupload ! net.sink_y"
                               : ""));
  GstPad *pad =
      linked ? nullptr : gst_element_request_pad_simple (pipeline["net"], "sink_y");
  expect_error (pipeline.play (), {"\"y\"", "sink_y"});
  if (pad) {
    gst_element_release_request_pad (pipeline["net"], pad);
    gst_object_unref (pad);
  }
}
