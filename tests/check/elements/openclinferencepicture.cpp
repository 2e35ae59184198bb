/* Tests of openclinference output=video
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/inferenceharness.hpp"

#include <gst/common/videoformats.hpp>

#include <cmath>

using namespace check;

namespace {
class Inference : public InferenceHarness {
public:
  Inference (const OnnxModel &model, const std::string &properties,
      const std::string &caps = "video/x-raw" DEVICE
                                ",format=RGBA,width=8,height=6,framerate=25/1")
      : InferenceHarness (model, "output=video " + properties, caps)
  {
  }
};

/* Caps of arrays of float32 with a frame rate */
std::string
array_caps (const char *dimensions)
{
  return text ("other/tensors" DEVICE ",format=static,num_tensors=1,types=float32,"
               "dimensions=(string)%s,framerate=25/1",
      dimensions);
}

GstBuffer *
array_of (const std::vector<float> &values)
{
  return gst_buffer_new_memdup (values.data (), values.size () * sizeof (float));
}

/* Samples of a frame without padding, of one or two bytes */
std::vector<int>
samples_of (Harness &net, GstBuffer *frame)
{
  GstVideoInfo info;
  GstVideoFrame mapped;
  std::vector<int> samples;
  fail_unless (gst_video_info_from_caps (&info, net.caps ()));
  fail_unless (gst_video_frame_map (&mapped, &info, frame, GST_MAP_READ));
  const guint pixel = guint (GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0));
  const bool wide = GST_VIDEO_INFO_COMP_DEPTH (&info, 0) > 8;
  for (int y = 0; y < info.height; y++) {
    const guint8 *row = static_cast<guint8 *> (mapped.data[0])
                        + y * GST_VIDEO_FRAME_PLANE_STRIDE (&mapped, 0);
    for (guint n = 0; n < pixel * guint (info.width); n += wide ? 2 : 1)
      samples.push_back (wide ? row[n] | row[n + 1] << 8 : row[n]);
  }
  gst_video_frame_unmap (&mapped);
  return samples;
}

std::string
format_of (Harness &net)
{
  return gst_structure_get_string (gst_caps_get_structure (net.caps (), 0), "format");
}
} // namespace

/* The network copies the frame, so that the picture is the frame again. */
TEST (test_inference_makes_video_of_pictures)
{
  const struct {
    std::vector<int64_t> shape;
    int type;
    const char *properties, *wanted, *format, *order;
  } rows[] = {
      {{1, 3, 6, 8}, onnx_float, "", "", "RGB", "RGB"},
      {{1, 6, 8, 3}, onnx_float, "", "", "RGB", "RGB"},
      {{3, 6, 8}, onnx_float, "", "BGR", "BGR", "BGR"},
      {{6, 8, 3}, onnx_uint8, "", "ARGB", "ARGB", "1RGB"},
      {{1, 6, 8, 3}, onnx_int8, "", "", "RGB", "RGB"},
      {{1, 3, 6, 8}, onnx_half, "precision=half", "", "RGB", "RGB"},
      {{1, 3, 6, 8}, onnx_float, "colors=bgr", "", "RGB", "RGB"},
      {{1, 3, 6, 8}, onnx_float, "mean=0.5 deviation=0.5 output-range=-1,1", "", "RGB",
          "RGB"},
      {{1, 3, 6, 8}, onnx_float, "deviation=1/255 output-range=0,255", "", "RGB", "RGB"},
      {{1, 4, 6, 8}, onnx_float, "", "", "RGBA", "RGBA"},
      {{1, 4, 6, 8}, onnx_uint8, "colors=bgra", "ABGR", "ABGR", "ABGR"},
      {{1, 3, 6, 8}, onnx_float, "channel=2", "", "GRAY8", "B"},
      {{1, 1, 3, 6, 8}, onnx_float, "", "", "RGB", "RGB"},
      {{3, 6, 1, 8}, onnx_float, "layout=CHNW output-layout=CHNW", "", "RGB", "RGB"},
  };
  const Bytes frame = pattern (8 * 6 * 4, 9);
  for (const auto &row : rows) {
    Inference net (copying_model (row.shape, row.type), row.properties);
    if (*row.wanted)
      gst_harness_set_sink_caps_str (
          net, text ("video/x-raw" DEVICE ",format=%s", row.wanted).c_str ());
    const std::vector<int> got = samples_of (net, net.pass (buffer_of (frame)));
    const std::string order = row.order;
    fail_unless_equals_string (format_of (net).c_str (), row.format);
    fail_unless_equals_int (got.size (), 48 * order.size ());
    for (gsize n = 0; n < got.size (); n++) {
      const gsize component = std::string ("RGBA").find (order[n % order.size ()]);
      const int expected = component > 3 ? 255 : frame[n / order.size () * 4 + component];
      fail_unless (got[n] == expected, "%s %s: %d, not %d at %zu", row.format,
          row.properties, got[n], expected, n);
    }
  }
}

/* Values beyond the range are black and white, NaN is black. */
TEST (test_inference_rounds_values_to_levels)
{
  const std::vector<float> values = {0, 1, 0.5f, -3, 7, NAN, 0.25f, INFINITY};
  const struct {
    const char *range, *format;
    std::vector<int> levels;
  } rows[] = {
      {"", "GRAY8", {0, 255, 128, 0, 255, 0, 64, 255}},
      {"", "GRAY16_LE", {0, 65535, 32768, 0, 65535, 0, 16384, 65535}},
      {"1,0", "GRAY8", {255, 0, 128, 255, 0, 0, 191, 0}},
      {"<-1,1>", "GRAY8", {128, 255, 191, 0, 255, 0, 159, 255}},
  };
  for (const auto &row : rows) {
    Inference net (copying_model ({1, 1, 2, 4}),
        *row.range ? text ("output-range=\"%s\"", row.range) : "",
        array_caps ("4:2:1:1"));
    gst_harness_set_sink_caps_str (
        net, text ("video/x-raw" DEVICE ",format=%s", row.format).c_str ());
    const std::vector<int> got = samples_of (net, net.pass (array_of (values)));
    fail_unless (got == row.levels, "%s %s: %d %d %d %d %d %d %d %d", row.range,
        row.format, got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7]);
  }
}

/* With channel=-1 the level is the number of the channel with the highest value. */
TEST (test_inference_makes_video_of_classes)
{
  /* 300 channels of 2 x 3 pixels, with ties, NaN and infinity */
  const int classes = 300, pixels = 6;
  std::vector<float> scores;
  for (int n = 0; n < classes * pixels; n++)
    scores.push_back (float (n * 7919 % 1009));
  const int best[] = {0, 17, 255, 299, 130, 4};
  for (int n = 0; n < pixels; n++)
    scores[gsize (best[n] * pixels + n)] = n == 4 ? INFINITY : 2000;
  scores[gsize (131 * pixels + 3)] = NAN;
  scores[gsize (4)] = NAN;
  scores[gsize (200 * pixels)] = 2000; /* the first of equal ones */
  std::vector<float> last (scores.size ());
  for (gsize n = 0; n < scores.size (); n++)
    last[n % pixels * classes + n / pixels] = scores[n];
  const struct {
    std::vector<int64_t> shape;
    const char *dimensions;
    const std::vector<float> &values;
  } rows[] = {
      {{1, classes, 2, 3}, "3:2:300:1", scores}, {{1, 2, 3, classes}, "300:3:2:1", last}};
  for (const auto &row : rows) {
    Inference net (copying_model (row.shape),
        row.shape[3] == classes ? "channel=-1 output-layout=NHWC"
                                : "channel=-1 output-layout=NCHW",
        array_caps (row.dimensions));
    const std::vector<int> got = samples_of (net, net.pass (array_of (row.values)));
    fail_unless_equals_string (format_of (net).c_str (), "GRAY16_LE");
    fail_unless (got == std::vector<int> (best, best + pixels), "%d %d %d %d %d %d",
        got[0], got[1], got[2], got[3], got[4], got[5]);
  }
}

/* One channel has the numbers of the classes itself, as floating-point numbers, too. */
TEST (test_inference_keeps_numbers_of_classes)
{
  Inference net (copying_model ({1, 2, 4}), "channel=-1", array_caps ("4:2:1"));
  const std::vector<float> numbers = {0, 1, 2, 254, 255, 19, 7, 3};
  const std::vector<int> got = samples_of (net, net.pass (array_of (numbers)));
  fail_unless_equals_string (format_of (net).c_str (), "GRAY8");
  fail_unless (std::equal (got.begin (), got.end (), numbers.begin (), numbers.end (),
      [] (int a, float b) { return a == int (b); }));
}

/* The lowest value of each frame is black, its highest white. */
TEST_ROWS (test_inference_finds_the_range_of_each_frame, {"float", "half"})
{
  Inference net (copying_model ({1, 2, 4}),
      std::string ("output-range=auto precision=") + row, array_caps ("4:2:1"));
  const std::vector<float> first = {-4, 0, 4, 12, 8, 2, -2, 6},
                           second = {100, 101, 102, 103, 104, 105, 100.5f, 105},
                           even (8, 3);
  fail_unless (samples_of (net, net.pass (array_of (first)))
               == std::vector<int> ({0, 64, 128, 255, 191, 96, 32, 159}));
  fail_unless (samples_of (net, net.pass (array_of (second)))
               == std::vector<int> ({0, 51, 102, 153, 204, 255, 26, 255}));
  fail_unless (samples_of (net, net.pass (array_of (even))) == std::vector<int> (8, 0));
  fail_unless_equals_string (format_of (net).c_str (), "GRAY8");
}

/* One of many channels, first or last */
TEST (test_inference_shows_a_channel_as_gray)
{
  for (const bool last : {false, true}) {
    Inference net (copying_model (last ? std::vector<int64_t>{1, 8, 8, 5}
                                       : std::vector<int64_t>{1, 5, 8, 8}),
        "channel=3", array_caps (last ? "5:8:8:1" : "8:8:5:1"));
    std::vector<float> values;
    for (int n = 0; n < 320; n++)
      values.push_back (float ((last ? n % 5 == 3 : n / 64 == 3) ? n : 0) / 510);
    const std::vector<int> got = samples_of (net, net.pass (array_of (values)));
    fail_unless_equals_int (got.size (), 64);
    for (int n = 0; n < 64; n++)
      fail_unless_equals_int (
          got[gsize (n)], int (std::nearbyint ((last ? 5 * n + 3 : 192 + n) / 2.0)));
  }
}

/* The picture of a stretched frame has the display aspect ratio of the frame, and its time. */
TEST (test_inference_keeps_time_and_aspect_ratio)
{
  const struct {
    const char *properties;
    int n, d; /* of the pixels */
  } rows[] = {{"", 3, 2}, {"fit=letterbox", 1, 1}};
  for (const auto &row : rows) {
    Inference net (copying_model ({1, 3, 8, 8}), row.properties,
        "video/x-raw" DEVICE ",format=RGBA,width=12,height=8,framerate=25/1");
    GstBuffer *frame = buffer_of (Bytes (12 * 8 * 4, 77));
    GST_BUFFER_PTS (frame) = 7 * GST_SECOND;
    GST_BUFFER_DURATION (frame) = 40 * GST_MSECOND;
    Owned<GstBuffer> got = net.pass (frame);
    GstVideoInfo info;
    fail_unless (gst_video_info_from_caps (&info, net.caps ()));
    fail_unless_equals_int (info.par_n * row.d, row.n * info.par_d);
    fail_unless_equals_int (info.fps_n, 25 * info.fps_d);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (got), 7 * GST_SECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (got), 40 * GST_MSECOND);
  }
}

/* New caps of the input give a picture of another size, if the network leaves it open. */
TEST (test_inference_video_follows_the_size_of_frames)
{
  Inference net (copying_model ({1, 3, -1, -1}), "");
  fail_unless_equals_int (
      samples_of (net, net.pass (buffer_of (Bytes (8 * 6 * 4, 5)))).size (), 144);
  net.set_caps ("video/x-raw" DEVICE ",format=RGBA,width=5,height=3,framerate=25/1");
  fail_unless_equals_int (
      samples_of (net, net.pass (buffer_of (Bytes (5 * 3 * 4, 5)))).size (), 45);
}

TEST (test_inference_video_goes_to_openclconvert)
{
  const WithModel model (copying_model ({1, 3, 16, 16}));
  Pipeline pipeline ("videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! "
                     "openclupload ! openclinference output=video model-file="
                     + model.file
                     + " ! openclconvert ! video/x-raw" DEVICE
                       ",format=NV12,width=64,height=48,pixel-aspect-ratio=1/1 ! "
                       "opencldownload ! appsink name=out sync=false");
  pipeline.start ();
  for (int n = 0; n < 3; n++)
    fail_unless_equals_int (
        gst_buffer_get_size (gst_sample_get_buffer (pipeline.pull ())), 64 * 48 * 3 / 2);
  fail_unless (pipeline.messages ().is_clean ());
}

TEST (test_inference_video_errors_name_the_shape)
{
  const struct {
    std::vector<int64_t> shape;
    const char *properties;
    std::vector<std::string> parts;
  } rows[] = {
      {{1, 3, 8, 8}, "output-index=1", {"output-index 1"}},
      {{1, 3, 8, 8}, "channel=3", {"1x3x8x8", "channel is 3"}},
      {{1, 3, 8, 8}, "output-range=1", {"output-range=1", "two numbers"}},
      {{1, 3, 8, 8}, "output-range=2,2", {"output-range=2,2"}},
      {{1, 3, 8, 8}, "output-layout=NCHWT", {"1x3x8x8", "output-layout"}},
      {{1, 3, 8, 8}, "output-layout=CNHW", {"1x3x8x8", "one picture"}},
      {{-1, 3, 8, 8}, "batch-size=2", {"batch-size 2"}},
  };
  for (const auto &row : rows) {
    const WithModel model (copying_model (row.shape));
    const std::vector<std::string> errors =
        run ("videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=8,height=8 ! "
             "openclupload ! openclinference name=net output=video model-file="
             + model.file + " " + row.properties + " ! fakesink")
            .errors_of ("net");
    fail_unless (
        errors.size () == 1, "%zu errors with %s", errors.size (), row.properties);
    for (const std::string &part : row.parts)
      fail_unless (errors[0].find (part) != std::string::npos, "\"%s\" lacks \"%s\"",
          errors[0].c_str (), part.c_str ());
  }
}
