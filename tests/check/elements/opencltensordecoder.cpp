/* Tests of opencltensordecoder: boxes, classes and text against a computation on the host, and
 * of opencldrawboxes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"
#include "tests/check/videoframes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace check;

namespace {
constexpr int side = 64; /* of the networks' input */

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/* A network with these outputs, whatever the frame is */
OnnxModel
constant_model (const std::vector<Tensor> &outputs, int size = side)
{
  OnnxModel model;
  model.input ("frame", {1, 3, size, size});
  model.constant ("zero", {1}, {0}).constant ("flat", std::vector<int64_t>{-1});
  model.node ("Reshape", {"frame", "flat"}, {"pixels"});
  model.node ("ReduceMax", {"pixels"}, {"level"}, {{"axes", std::vector<int64_t>{0}}});
  model.node ("Mul", {"level", "zero"}, {"nothing"});
  for (const Tensor &output : outputs) {
    model.output (output.name, output.shape);
    model.constant ("c" + output.name, output.shape, output.values);
    model.node ("Add", {"c" + output.name, "nothing"}, {output.name});
  }
  return model;
}

struct Box {
  double left, top, right, bottom;
};

struct Found {
  std::string label;
  double score;
  Box box;
};

/* Something that a network proposes, in pixels of its input */
struct Proposal {
  Box box;
  double certainty;
  std::vector<double> scores;
};

/* `count` boxes around a few places, so that they overlap */
std::vector<Proposal>
proposals_of (int count, int classes, int size, guint seed)
{
  std::mt19937 random (seed);
  std::uniform_real_distribution<double> uniform (0, 1);
  std::vector<Proposal> proposals;
  for (int n = 0; n < count; n++) {
    const double x = size * (0.2 + 0.2 * int (uniform (random) * 4)),
                 y = size * (0.2 + 0.2 * int (uniform (random) * 4));
    Proposal proposal;
    const double left = x + uniform (random) * 4, top = y + uniform (random) * 4;
    proposal.box = {left, top, left + size * (0.2 + 0.1 * uniform (random)),
        top + size * (0.2 + 0.1 * uniform (random))};
    proposal.certainty = uniform (random);
    for (int c = 0; c < classes; c++)
      proposal.scores.push_back (0.001 + 0.998 * std::pow (uniform (random), 2));
    proposals.push_back (proposal);
  }
  return proposals;
}

/* --- the computation on the host --- */

struct Limits {
  double certain = 0.4, score = 0.4, overlap = 0.7;
  bool agnostic = false;
  size_t most = 100;
};

double
overlap_of (const Box &a, const Box &b)
{
  auto area = [] (const Box &box) {
    return std::max (box.right - box.left, 0.0) * std::max (box.bottom - box.top, 0.0);
  };
  const double common = area ({std::max (a.left, b.left), std::max (a.top, b.top),
      std::min (a.right, b.right), std::min (a.bottom, b.bottom)});
  return common / (area (a) + area (b) - common);
}

/* Undoes the scaling of a frame to the input by its definition: ratios of the sides. */
Box
in_frame (const Box &box, const std::string &fit, int size, int width, int height)
{
  double x = double (size) / width, y = double (size) / height;
  if (fit == "letterbox")
    x = y = std::min (x, y);
  if (fit == "crop")
    x = y = std::max (x, y);
  const double left = (size - width * x) / 2, top = (size - height * y) / 2;
  return {(box.left - left) / x, (box.top - top) / y, (box.right - left) / x,
      (box.bottom - top) / y};
}

/* Sorts, and compares each with all that stay. */
std::vector<Found>
suppressed (std::vector<Found> all, const Limits &limits, int width, int height)
{
  std::vector<Found> kept;
  std::stable_sort (all.begin (), all.end (),
      [] (const Found &a, const Found &b) { return a.score > b.score; });
  for (const Found &found : all) {
    const bool is_outside = found.box.left >= width || found.box.top >= height
                            || found.box.right <= 0 || found.box.bottom <= 0;
    auto hides = [&] (const Found &better) {
      return (limits.agnostic || better.label == found.label)
             && overlap_of (better.box, found.box) > limits.overlap;
    };
    if (!is_outside && std::none_of (kept.begin (), kept.end (), hides)
        && kept.size () < limits.most)
      kept.push_back (found);
  }
  for (Found &found : kept) {
    Box &box = found.box;
    box = {std::max (box.left, 0.0), std::max (box.top, 0.0),
        std::min (box.right, double (width)), std::min (box.bottom, double (height))};
  }
  return kept;
}

/* --- what comes out --- */

std::vector<Found>
regions_of (GstBuffer *frame, const char *param_name = "detection")
{
  std::vector<Found> found;
  gpointer state = nullptr;
  while (GstMeta *any = gst_buffer_iterate_meta_filtered (
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *> (any);
    GstStructure *param = gst_video_region_of_interest_meta_get_param (meta, param_name);
    double score = 0;
    fail_unless (param && gst_structure_get_double (param, "score", &score));
    fail_unless_equals_string (
        gst_structure_get_string (param, "label"), g_quark_to_string (meta->roi_type));
    found.push_back ({g_quark_to_string (meta->roi_type), score,
        {double (meta->x), double (meta->y), double (meta->x) + meta->w,
            double (meta->y) + meta->h}});
  }
  return found;
}

void
expect_found (const std::vector<Found> &got, const std::vector<Found> &expected)
{
  for (size_t n = 0; n < std::min (got.size (), expected.size ()); n++) {
    const Found &a = got[n], &b = expected[n];
    fail_unless (a.label == b.label && std::fabs (a.score - b.score) < 1e-4,
        "%zu: %s %g, expected %s %g", n, a.label.c_str (), a.score, b.label.c_str (),
        b.score);
    fail_unless (std::fabs (a.box.left - b.box.left) < 0.51
                     && std::fabs (a.box.top - b.box.top) < 0.51
                     && std::fabs (a.box.right - b.box.right) < 0.51
                     && std::fabs (a.box.bottom - b.box.bottom) < 0.51,
        "%zu: %g %g %g %g, expected %g %g %g %g", n, a.box.left, a.box.top, a.box.right,
        a.box.bottom, b.box.left, b.box.top, b.box.right, b.box.bottom);
  }
  fail_unless_equals_int (got.size (), expected.size ());
}

std::string
caps_of (const char *format, int width, int height)
{
  return text ("video/x-raw(memory:OpenCLMemory),format=%s,width=%d,height=%d,"
               "framerate=25/1",
      format, width, height);
}

/* A network and the decoder */
class Decoder {
public:
  Decoder (const OnnxModel &model, const std::string &network, const std::string &decoder,
      int width, int height)
      : harness ("openclinference output=meta " + network
                     + " model-file=" + folder.write ("net.onnx", model.bytes ())
                     + " ! opencltensordecoder name=decoder " + decoder,
          caps_of ("RGBA", width, height)),
        width (width), height (height)
  {
  }

  Owned<GstBuffer> pass ()
  {
    return harness.pass (buffer_of (Bytes (gsize (width * height * 4), 200)));
  }

  Folder folder;
  Harness harness;
  int width, height;
};

/* --- networks, by their published descriptions --- */

double
logit (double probability)
{
  return std::log (probability / (1 - probability));
}

std::vector<double>
centre_of (const Box &box)
{
  return {(box.left + box.right) / 2, (box.top + box.bottom) / 2, box.right - box.left,
      box.bottom - box.top};
}

void
append (std::vector<float> &to, const std::vector<double> &values)
{
  to.insert (to.end (), values.begin (), values.end ());
}

/* Rows of box, objectness and classes; with `cells`, relative to them as in YOLOX */
template <bool cells>
std::vector<Tensor>
yolo_rows (const std::vector<Proposal> &proposals)
{
  Tensor tensor = {"output", {1, int64_t (proposals.size ()), 0}, {}};
  size_t n = 0;
  auto add = [&] (double x, double y, double stride) {
    const Proposal &proposal = proposals[n++];
    std::vector<double> box = centre_of (proposal.box);
    if (cells)
      box = {box[0] / stride - x, box[1] / stride - y, std::log (box[2] / stride),
          std::log (box[3] / stride)};
    append (tensor.values, box);
    append (tensor.values, {proposal.certainty});
    append (tensor.values, proposal.scores);
    tensor.shape[2] = int64_t (5 + proposal.scores.size ());
  };
  /* A fourth stride adds one cell. */
  for (const int stride : {8, 16, 32, 64})
    for (int y = 0; y < side / stride; y++)
      for (int x = 0; x < side / stride && n < proposals.size (); x++)
        add (x, y, stride);
  while (n < proposals.size ())
    add (0, 0, 1);
  return {tensor};
}

std::vector<Tensor>
yolo_columns (const std::vector<Proposal> &proposals)
{
  const size_t count = proposals.size (), classes = proposals[0].scores.size ();
  Tensor tensor = {"output0", {1, int64_t (4 + classes), int64_t (count)},
      std::vector<float> ((4 + classes) * count)};
  for (size_t n = 0; n < count; n++) {
    std::vector<double> all = centre_of (proposals[n].box);
    all.insert (all.end (), proposals[n].scores.begin (), proposals[n].scores.end ());
    for (size_t c = 0; c < all.size (); c++)
      tensor.values[c * count + n] = float (all[c]);
  }
  return {tensor};
}

size_t
best_of (const std::vector<double> &scores)
{
  return size_t (std::max_element (scores.begin (), scores.end ()) - scores.begin ());
}

std::vector<Tensor>
yolo_final (const std::vector<Proposal> &proposals)
{
  Tensor tensor = {"output0", {1, int64_t (proposals.size ()), 6}, {}};
  for (const Proposal &proposal : proposals) {
    const Box &box = proposal.box;
    const size_t best = best_of (proposal.scores);
    append (tensor.values,
        {box.left, box.top, box.right, box.bottom, proposal.scores[best], double (best)});
  }
  return {tensor};
}

/* Corners as parts of the input; class 0 is the background */
std::vector<Tensor>
ssd_pair (const std::vector<Proposal> &proposals)
{
  const int64_t count = int64_t (proposals.size ()),
                classes = int64_t (proposals[0].scores.size ());
  Tensor boxes = {"boxes", {1, count, 4}, {}},
         scores = {"scores", {1, count, classes}, {}};
  for (const Proposal &proposal : proposals) {
    const Box &box = proposal.box;
    append (boxes.values,
        {box.left / side, box.top / side, box.right / side, box.bottom / side});
    append (scores.values, proposal.scores);
  }
  return {scores, boxes};
}

/* As TFLite_Detection_PostProcess: top before left, and lists of classes and scores */
std::vector<Tensor>
ssd_lists (const std::vector<Proposal> &proposals)
{
  const int64_t count = int64_t (proposals.size ());
  Tensor boxes = {"StatefulPartitionedCall:0", {1, count, 4}, {}},
         classes = {"StatefulPartitionedCall:1", {1, count}, {}},
         scores = {"StatefulPartitionedCall:2", {1, count}, {}},
         number = {"StatefulPartitionedCall:3", {1}, {float (count)}};
  for (const Proposal &proposal : proposals) {
    const Box &box = proposal.box;
    const size_t best = best_of (proposal.scores);
    append (boxes.values,
        {box.top / side, box.left / side, box.bottom / side, box.right / side});
    append (classes.values, {double (best)});
    append (scores.values, {proposal.scores[best]});
  }
  return {boxes, classes, scores, number};
}

/* Logits whose softmax are the scores, up to a constant; the last class is none. */
std::vector<Tensor>
detr_pair (const std::vector<Proposal> &proposals)
{
  const int64_t count = int64_t (proposals.size ()),
                classes = int64_t (proposals[0].scores.size ());
  Tensor boxes = {"pred_boxes", {1, count, 4}, {}},
         logits = {"logits", {1, count, classes}, {}};
  for (const Proposal &proposal : proposals) {
    for (const double value : centre_of (proposal.box))
      boxes.values.push_back (float (value / side));
    for (const double score : proposal.scores)
      logits.values.push_back (float (std::log (score) + 3));
  }
  return {logits, boxes};
}

/* MediaPipe's SsdAnchorsCalculator for 128 pixels: 16 x 16 cells of 2, then 8 x 8 of 6,
 * with centres in the middle of the cells and a size of 1. Four numbers of key points
 * follow. */
std::vector<Tensor>
anchored_pair (const std::vector<Proposal> &proposals)
{
  Tensor boxes = {"regressors", {1, 896, 8}, {}},
         scores = {"classificators", {1, 896, 1}, {}};
  size_t n = 0;
  for (const auto &[cells, number] : {std::pair (16, 2), std::pair (8, 6)})
    for (int y = 0; y < cells; y++)
      for (int x = 0; x < cells; x++)
        for (int k = 0; k < number; k++) {
          const Proposal &proposal = proposals[n++];
          const std::vector<double> box = centre_of (proposal.box);
          append (boxes.values,
              {box[0] - (x + 0.5) / cells * 128, box[1] - (y + 0.5) / cells * 128, box[2],
                  box[3], 1, 2, 3, 4});
          append (scores.values, {logit (proposal.scores[0])});
        }
  return {boxes, scores};
}

struct Kind {
  const char *label;
  int count, classes;
  std::vector<Tensor> (*encode) (const std::vector<Proposal> &);
  const char *properties = "";
  bool has_certainty = false;
  bool has_ids = false; /* of the best class only */
  int background = -1;  /* -1: none */
  bool sums = false;    /* scores are shares of their sum */
  int size = side;
};

/* Rows as columns */
template <std::vector<Tensor> (*encode) (const std::vector<Proposal> &)>
std::vector<Tensor>
turned (const std::vector<Proposal> &proposals)
{
  const Tensor tensor = encode (proposals)[0];
  const size_t rows = size_t (tensor.shape[1]), columns = size_t (tensor.shape[2]);
  Tensor result = tensor;
  std::swap (result.shape[1], result.shape[2]);
  for (size_t n = 0; n < rows * columns; n++)
    result.values[n % columns * rows + n / columns] = tensor.values[n];
  return {result};
}

constexpr auto rows_of_v5 = yolo_rows<false>, rows_of_x = yolo_rows<true>;
const Kind kinds[] = {
    {"yolo-v5", 252, 3, rows_of_v5, "", true},
    {"yolo-v8", 84, 5, yolo_columns},
    {"yolo-v10", 60, 4, yolo_final, "", false, true},
    {"yolo-x", 84, 3, rows_of_x, "method=yolo-x", true},
    {"yolo-v5 of 4 strides", 255, 3, rows_of_v5, "", true},
    {"yolo-v8 of 4 strides", 85, 5, yolo_columns},
    {"yolo-x of 4 strides", 85, 3, rows_of_x, "method=yolo-x", true},
    {"yolo-v8 of one class as rows", 84, 1, turned<yolo_columns>},
    {"yolo-v8 as rows", 84, 5, turned<yolo_columns>, "method=yolo-v8"},
    {"yolo-v8 of any number as rows", 40, 5, turned<yolo_columns>, "method=yolo-v8"},
    {"yolo-v5 as columns", 252, 3, turned<rows_of_v5>, "method=yolo-v5", true},
    {"yolo-x as columns", 84, 3, turned<rows_of_x>, "method=yolo-x", true},
    {"yolo-v10 as columns", 60, 4, turned<yolo_final>, "method=yolo-v10", false, true},
    {"ssd", 70, 4, ssd_pair, "", false, false, 0},
    {"ssd lists", 70, 4, ssd_lists, "", false, true},
    {"detr", 50, 4, detr_pair, "", false, false, 3, true},
    {"anchors", 896, 1, anchored_pair, "", false, false, -1, false, 128},
};

std::vector<Found>
expected_of (const Kind &kind, const std::vector<Proposal> &proposals,
    const std::string &fit, const Limits &limits, int width, int height)
{
  std::vector<Found> all;
  for (const Proposal &proposal : proposals) {
    std::vector<double> scores = proposal.scores;
    double sum = 0;
    for (const double score : scores)
      sum += score;
    if (kind.background >= 0 && !kind.has_ids)
      scores[size_t (kind.background)] = -1;
    const size_t best = best_of (scores);
    if (int (best) == kind.background)
      continue;
    const double share = kind.sums ? scores[best] / sum : scores[best];
    const double score = kind.has_certainty ? share * proposal.certainty : share;
    if (score > limits.score
        && (!kind.has_certainty || proposal.certainty > limits.certain))
      all.push_back ({std::to_string (best), score,
          in_frame (proposal.box, fit, kind.size, width, height)});
  }
  return suppressed (all, limits, width, height);
}
} // namespace

/* Each layout of outputs is recognized by its shapes, and gives the boxes that went in. */
TEST_ROWS (test_decoder_finds_boxes, kinds)
{
  const struct {
    const char *fit;
    int width, height;
  } frames[] = {{"stretch", 96, 40}, {"letterbox", 160, 90}, {"letterbox", 50, 120},
      {"crop", 160, 90}, {"crop", 64, 200}};
  guint seed = 1;
  for (const auto &frame : frames) {
    const auto proposals = proposals_of (row.count, row.classes, row.size, seed++);
    Decoder decoder (constant_model (row.encode (proposals), row.size),
        std::string ("fit=") + frame.fit,
        std::string ("iou-threshold=0.5 ") + row.properties, frame.width, frame.height);
    Limits limits;
    limits.overlap = 0.5;
    const auto expected =
        expected_of (row, proposals, frame.fit, limits, frame.width, frame.height);
    fail_unless (expected.size () > 3);
    expect_found (regions_of (decoder.pass ()), expected);
  }
}

/* A class that is no object, also where it is the best one of a box */
TEST_ROWS (test_decoder_leaves_out_background, kinds)
{
  Kind kind = row;
  kind.background = kind.classes > 1 ? 1 : 0;
  const auto proposals = proposals_of (kind.count, kind.classes, kind.size, 3);
  Decoder decoder (constant_model (kind.encode (proposals), kind.size), "",
      text ("background-class=%d %s", kind.background, kind.properties), 64, 64);
  const auto expected = expected_of (kind, proposals, "stretch", {}, 64, 64);
  fail_unless ((expected.size () > 3) == (kind.classes > 1));
  expect_found (regions_of (decoder.pass ()), expected);
}

/* Rows of YOLOX and of YOLO v8 differ only in the number of classes. */
TEST_ROWS (test_decoder_takes_as_many_classes_as_labels, {0, 3, 4, 5})
{
  const Kind kind = row == 3 ? Kind{"x", 84, 3, rows_of_x, "", true}
                             : Kind{"v8", 84, 4, turned<yolo_columns>};
  const auto proposals = proposals_of (84, kind.classes, side, 6);
  Folder folder;
  const std::string text = std::string ("0\n1\n2\n3\n4\n").substr (0, size_t (2 * row)),
                    labels = row ? "label-file=" + folder.write ("labels.txt", text) : "";
  Decoder decoder (constant_model (kind.encode (proposals)), "", labels, 64, 64);
  if (row == 3 || row == 4) {
    expect_found (regions_of (decoder.pass ()),
        expected_of (kind, proposals, "stretch", {}, 64, 64));
    return;
  }
  fail_unless (
      decoder.harness.push (buffer_of (Bytes (64 * 64 * 4, 1))) == GST_FLOW_ERROR);
  decoder.harness.messages ().expect_one_error ({"1x84x8", "64×64",
      "fit yolo-x of 3 classes and yolo-v8 of 4 classes", "label-file"});
}

/* With logits, objectness is a logit, too. */
TEST (test_decoder_converts_logits_of_objectness)
{
  const auto proposals = proposals_of (84, 3, side, 8);
  auto logits = rows_of_x (proposals);
  for (size_t n = 0; n < logits[0].values.size (); n++)
    if (n % 8 >= 4)
      logits[0].values[n] = float (logit (double (logits[0].values[n])));
  Decoder decoder (
      constant_model (logits), "", "method=yolo-x activation=sigmoid", 64, 64);
  expect_found (regions_of (decoder.pass ()),
      expected_of (kinds[3], proposals, "stretch", {}, 64, 64));
}

/* Thresholds change while playing. */
TEST (test_decoder_applies_thresholds)
{
  const Kind &kind = kinds[0];
  const auto proposals = proposals_of (kind.count, kind.classes, side, 9);
  Decoder decoder (
      constant_model (kind.encode (proposals)), "", "max-detections=7", 64, 64);
  Limits limits;
  limits.most = 7;
  for (const auto &[certain, score, overlap, agnostic] :
      {std::tuple (0.1, 0.3, 0.9, false), std::tuple (0.8, 0.0, 0.2, false),
          std::tuple (0.0, 0.0, 0.3, true), std::tuple (0.0, 0.0, 1.0, true),
          std::tuple (1.0, 0.0, 1.0, true)}) {
    g_object_set (decoder.harness.find ("opencltensordecoder"),
        "box-confidence-threshold", certain, "class-confidence-threshold", score,
        "iou-threshold", overlap, "class-agnostic", agnostic, nullptr);
    limits.certain = certain;
    limits.score = score;
    limits.overlap = overlap;
    limits.agnostic = agnostic;
    expect_found (regions_of (decoder.pass ()),
        expected_of (kind, proposals, "stretch", limits, 64, 64));
  }
}

/* Candidates with NaN are left out, and equal scores come in the order of the output. */
TEST (test_decoder_order_and_nan)
{
  const float nan = std::numeric_limits<float>::quiet_NaN (),
              infinite = std::numeric_limits<float>::infinity ();
  Tensor output = {"output0", {1, 5, 84}, std::vector<float> (5 * 84)};
  auto set = [&] (size_t n, std::vector<float> values) {
    for (size_t c = 0; c < values.size (); c++)
      output.values[c * 84 + n] = values[c];
  };
  set (80, {10, 10, 4, 4, 0.5f});
  set (3, {50, 50, 4, 4, 0.5f});
  set (40, {30, 30, 4, 4, 0.5f});
  set (7, {20, 20, 4, 4, nan});
  set (8, {nan, 20, 4, 4, 0.9f});
  set (9, {20, 20, infinite, 4, 0.9f});
  set (10, {20, 20, -4, 4, 0.9f});
  set (11, {20, 20, 0, 4, 0.9f});
  set (12, {200, 20, 4, 4, 0.9f});
  Decoder decoder (constant_model ({output}), "", "class-confidence-threshold=0", 64, 64);
  for (int n = 0; n < 3; n++)
    expect_found (regions_of (decoder.pass ()),
        {{"0", 0.5, {48, 48, 52, 52}}, {"0", 0.5, {28, 28, 32, 32}},
            {"0", 0.5, {8, 8, 12, 12}}});
}

/* Nothing above the threshold, and then a frame of another network's format */
TEST (test_decoder_finds_nothing)
{
  const auto proposals = proposals_of (84, 3, side, 4);
  Decoder decoder (constant_model (yolo_columns (proposals)), "",
      "class-confidence-threshold=1", 64, 64);
  fail_unless (regions_of (decoder.pass ()).empty ());
  decoder.harness.set_caps (caps_of ("RGBA", 32, 16));
  decoder.width = 32;
  decoder.height = 16;
  g_object_set (decoder.harness.find ("opencltensordecoder"),
      "class-confidence-threshold", 0.4, nullptr);
  expect_found (regions_of (decoder.pass ()),
      expected_of (kinds[1], proposals, "stretch", {}, 32, 16));
}

/* Outputs in half precision, and classes as integers, as PyTorch exports them: corners in
 * pixels, labels and scores */
TEST (test_decoder_reads_other_types)
{
  OnnxModel model;
  model.input ("frame", {1, 3, side, side});
  model.output ("boxes", {2, 4}, 10).output ("labels", {2}, onnx_int64);
  model.output ("scores", {2}, 10);
  model.constant ("zero", {1}, {0}).constant ("flat", std::vector<int64_t>{-1});
  model.constant ("places", {2, 4}, {4, 8, 20, 40, 32, 16, 64, 48});
  model.constant ("kinds", {2}, {17, 3}).constant ("certainties", {2}, {0.5f, 0.75f});
  model.node ("Reshape", {"frame", "flat"}, {"pixels"});
  model.node ("ReduceMax", {"pixels"}, {"level"}, {{"axes", std::vector<int64_t>{0}}});
  model.node ("Mul", {"level", "zero"}, {"nothing"});
  const struct {
    const char *from, *to;
    int type;
  } outputs[] = {
      {"places", "boxes", 10}, {"kinds", "labels", 7}, {"certainties", "scores", 10}};
  for (const auto &output : outputs) {
    model.node ("Add", {output.from, "nothing"}, {std::string ("f") + output.to});
    model.node (
        "Cast", {std::string ("f") + output.to}, {output.to}, {{"to", output.type}});
  }
  Decoder decoder (model, "", "", 128, 64);
  expect_found (regions_of (decoder.pass ()),
      {{"3", 0.75, {64, 16, 128, 48}}, {"17", 0.5, {8, 8, 40, 40}}});
}

/* Properties say what shapes cannot: here centres, and logits of each class. */
TEST (test_decoder_properties_override_the_method)
{
  Tensor boxes = {
      "boxes", {1, 2, 4}, {0.5f, 0.5f, 0.25f, 0.5f, 0.25f, 0.25f, 0.5f, 0.5f}};
  Tensor scores = {"scores", {1, 2, 2}, {2, -3, -1, 1}};
  Decoder decoder (constant_model ({boxes, scores}), "",
      "method=detr activation=sigmoid background-class=-1", 64, 64);
  expect_found (
      regions_of (decoder.pass ()), {{"0", 1 / (1 + std::exp (-2)), {24, 16, 40, 48}},
                                        {"1", 1 / (1 + std::exp (-1)), {0, 0, 32, 32}}});
}

struct Classes {
  const char *label;
  std::vector<float> values;
  const char *properties;
  std::vector<std::pair<std::string, double>> expected;
};

TEST_ROWS (test_decoder_classifies,
    (std::vector<Classes>{
        {"logits", {1, 3, 2, -50}, "class-confidence-threshold=0.2",
            {{"dog", 0.665241}, {"2", 0.244728}}},
        {"large logits", {1000, 998, 0, 0}, "class-confidence-threshold=0.1",
            {{"cat", 0.880797}, {"dog", 0.119203}}},
        {"probabilities", {0.2f, 0.5f, 0.3f, 0}, "class-confidence-threshold=0.25",
            {{"dog", 0.5}, {"2", 0.3}}},
        {"best one", {0.2f, 0.5f, 0.3f, 0},
            "class-confidence-threshold=0 max-detections=1", {{"dog", 0.5}}},
        {"sigmoid", {0, 2, -2, 1}, "activation=sigmoid class-confidence-threshold=0.6",
            {{"dog", 0.880797}, {"3", 0.731059}}},
        {"background", {0.2f, 0.5f, 0.3f, 0},
            "class-confidence-threshold=0.1 background-class=1",
            {{"2", 0.3}, {"cat", 0.2}}},
        {"none", {0.9f, 0.8f, 0.7f, 0}, "activation=none class-confidence-threshold=0.75",
            {{"cat", 0.9}, {"dog", 0.8}}},
        {"NaN", {0.9f, std::nanf (""), 0.7f, 0}, "class-confidence-threshold=0", {}},
    }))
{
  Folder folder;
  const std::string labels = folder.write ("labels.txt", "cat\r\ndog\n");
  Decoder decoder (constant_model ({{"classes", {1, 4, 1, 1}, row.values}}), "",
      "label-file=" + labels + " " + row.properties, 40, 20);
  std::vector<Found> expected;
  for (const auto &[label, score] : row.expected)
    expected.push_back ({label, score, {0, 0, 40, 20}});
  expect_found (regions_of (decoder.pass (), "classification"), expected);
}

/* --- key points --- */

namespace {
/* x, y and score of each point, in pixels of the network's input; some are outside of it */
std::vector<double>
made_points (int proposal, int count)
{
  std::vector<double> points;
  for (int k = 0; k < count; k++)
    for (const double value : {(proposal * 7 + k * 13) % 80 - 7.75,
             (proposal * 5 + k * 11) % 75 - 5.5, (proposal + k) % 10 / 10.0})
      points.push_back (value);
  return points;
}

std::vector<double>
doubles_of (const GstStructure *structure, const char *name)
{
  const GValue *list = gst_structure_get_value (structure, name);
  std::vector<double> values;
  for (guint n = 0; list && n < gst_value_array_get_size (list); n++)
    values.push_back (g_value_get_double (gst_value_array_get_value (list, n)));
  return values;
}

std::vector<std::vector<double>>
points_of (GstBuffer *frame)
{
  std::vector<std::vector<double>> points;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    points.push_back (doubles_of (
        gst_video_region_of_interest_meta_get_param (
            reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta), "detection"),
        "points"));
  return points;
}

struct PoseKind {
  const char *label;
  int count, classes,
      size; /* of points, and of the numbers of each; 0 classes: no file */
  std::vector<Tensor> (*encode) (const std::vector<Proposal> &);
  const char *properties;
};
const PoseKind pose_kinds[] = {
    {"17 points", 17, 0, 3, yolo_columns, ""},
    {"17 points as rows", 17, 0, 3, turned<yolo_columns>, ""},
    {"5 points without scores", 5, 0, 2, yolo_columns, ""},
    {"6 points without scores", 6, 0, 2, yolo_columns, "key-points=6"},
    {"4 points", 4, 0, 3, yolo_columns, "key-points=4"},
    {"3 classes", 4, 3, 3, yolo_columns, "key-points=4"},
};

/* A network, and the objects and points that are in it, without suppression */
struct Poses {
  Poses (const PoseKind &kind, const std::string &fit, int width, int height)
  {
    const int classes = std::max (kind.classes, 1);
    auto proposals = proposals_of (84, classes, side, 17);
    std::vector<std::pair<Found, std::vector<double>>> all;
    for (int n = 0; n < 84; n++) {
      Proposal &proposal = proposals[size_t (n)];
      const size_t best = best_of (proposal.scores);
      const Found found = {std::to_string (best), proposal.scores[best],
          in_frame (proposal.box, fit, side, width, height)};
      auto placed = made_points (n, kind.count);
      for (size_t at = 0; at < placed.size (); at += 3) {
        proposal.scores.insert (proposal.scores.end (), placed.begin () + gssize (at),
            placed.begin () + gssize (at) + kind.size);
        const Box point =
            in_frame ({placed[at], placed[at + 1], 0, 0}, fit, side, width, height);
        placed[at] = point.left;
        placed[at + 1] = point.top;
        if (kind.size == 2)
          placed[at + 2] = 1;
      }
      const Box &box = found.box;
      if (found.score > 0.4 && box.left < width && box.top < height && box.right > 0
          && box.bottom > 0)
        all.emplace_back (found, placed);
    }
    std::sort (all.begin (), all.end (),
        [] (const auto &a, const auto &b) { return a.first.score > b.first.score; });
    for (const auto &[found, placed] : all) {
      objects.push_back (found);
      points.push_back (placed);
    }
    tensors = kind.encode (proposals);
  }

  std::vector<Tensor> tensors;
  std::vector<Found> objects;
  std::vector<std::vector<double>> points;
};

void
expect_points (const std::vector<std::vector<double>> &got,
    const std::vector<std::vector<double>> &expected)
{
  fail_unless_equals_int (got.size (), expected.size ());
  for (size_t n = 0; n < got.size (); n++) {
    fail_unless_equals_int (got[n].size (), expected[n].size ());
    for (size_t i = 0; i < got[n].size (); i++)
      fail_unless (std::fabs (got[n][i] - expected[n][i]) < 1e-3,
          "object %zu, number %zu: %g, expected %g", n, i, got[n][i], expected[n][i]);
  }
}
} // namespace

TEST_ROWS (test_decoder_finds_key_points, pose_kinds)
{
  const struct {
    const char *fit;
    int width, height;
  } frames[] = {{"stretch", 97, 41}, {"letterbox", 161, 89}, {"crop", 63, 201}};
  Folder folder;
  const std::string labels =
      row.classes ? " label-file=" + folder.write ("labels.txt", "0\n1\n2\n") : "";
  for (const auto &frame : frames) {
    const Poses poses (row, frame.fit, frame.width, frame.height);
    Decoder decoder (constant_model (poses.tensors), std::string ("fit=") + frame.fit,
        std::string ("method=yolo-pose iou-threshold=1 ") + row.properties + labels,
        frame.width, frame.height);
    for (int n = 0; n < 2; n++)
      expect_points (points_of (decoder.pass ()), poses.points);
  }
}

/* New caps, and frames with none and with few objects between those with many */
TEST (test_decoder_key_points_of_changing_frames)
{
  const Poses wide (pose_kinds[0], "letterbox", 160, 90),
      tall (pose_kinds[0], "letterbox", 50, 121);
  Decoder decoder (constant_model (wide.tensors), "fit=letterbox",
      "method=yolo-pose iou-threshold=1", 160, 90);
  auto limit = [&] (double score, int most) {
    g_object_set (decoder.harness.find ("opencltensordecoder"),
        "class-confidence-threshold", score, nullptr);
    auto points = points_of (decoder.pass ());
    points.resize (std::min (points.size (), size_t (most)));
    return points;
  };
  expect_points (limit (0.4, 1000), wide.points);
  fail_unless (limit (1, 1000).empty ());
  expect_points (limit (0.4, 2), {wide.points[0], wide.points[1]});
  decoder.harness.set_caps (caps_of ("RGBA", 50, 121));
  decoder.width = 50;
  decoder.height = 121;
  expect_points (limit (0.4, 1000), tall.points);
}

/* A point with a NaN is 0, 0 with score 0. An object with a NaN as score is none. */
TEST (test_decoder_key_points_of_nan)
{
  const float nan = std::numeric_limits<float>::quiet_NaN ();
  Tensor output = {"output0", {1, 14, 84}, std::vector<float> (14 * 84)};
  const std::vector<float> objects[] = {
      {20, 20, 8, 8, 0.9f, 1, 2, 0.5f, nan, 3, 0.5f, 4, 5, nan},
      {40, 40, 8, 8, nan, 1, 2, 0.5f, 3, 3, 0.5f, 4, 5, 1}};
  for (size_t n = 0; n < 2; n++)
    for (size_t c = 0; c < 14; c++)
      output.values[c * 84 + n] = objects[n][c];
  Decoder decoder (constant_model ({output}), "", "method=yolo-pose", 128, 64);
  expect_points (points_of (decoder.pass ()), {{2, 2, 0.5f, 0, 0, 0, 0, 0, 0}});
}

/* MediaPipe's points are relative to the anchor, as the centre is. */
TEST (test_decoder_key_points_of_anchors)
{
  const auto proposals = proposals_of (896, 1, 128, 5);
  Decoder decoder (constant_model (anchored_pair (proposals), 128), "fit=letterbox",
      "iou-threshold=1 max-detections=1", 200, 100);
  const auto best = std::max_element (proposals.begin (), proposals.end (),
      [] (const auto &a, const auto &b) { return a.scores[0] < b.scores[0]; });
  const int n = int (best - proposals.begin ()), cells = n < 512 ? 16 : 8,
            cell = n < 512 ? n / 2 : (n - 512) / 6;
  const double x = (cell % cells + 0.5) / cells * 128,
               y = (cell / cells + 0.5) / cells * 128;
  const Box first = in_frame ({x + 1, y + 2, x + 3, y + 4}, "letterbox", 128, 200, 100);
  expect_points (points_of (decoder.pass ()),
      {{first.left, first.top, 1, first.right, first.bottom, 1}});
}

/* --- segmentation --- */

namespace {
constexpr int segment_columns = 29, segment_rows = 21, segment_classes = 5;

/* Smooth, so that classes have curved borders between pixels of the output */
double
segment_score (int c, int x, int y)
{
  return std::sin (0.2 * x * (c + 1) + c) + std::cos (0.15 * y * (c + 2) - c);
}

struct SegmentKind {
  const char *label;
  bool is_last, is_number; /* scores have the classes last; numbers of classes */
  int type;
  const char *properties;
};
const SegmentKind segment_kinds[] = {
    {"channels first", false, false, 1, ""},
    {"channels last", true, false, 1, ""},
    {"half precision", false, false, 10, ""},
    {"background", false, false, 1, "background-class=2"},
    {"numbers of int64", false, true, 7, "background-class=0"},
    {"numbers of uint8", false, true, 2, ""},
};

OnnxModel
segment_model (const SegmentKind &kind)
{
  const int columns = segment_columns, rows = segment_rows, classes = segment_classes;
  std::vector<float> values (size_t (columns * rows * (kind.is_number ? 1 : classes)));
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < columns; x++)
      for (int c = 0; c < classes; c++) {
        const int pixel = y * columns + x;
        if (kind.is_number)
          values[size_t (pixel)] = float ((x / 4 + y / 3) % classes);
        else
          values[size_t (
              kind.is_last ? pixel * classes + c : c * columns * rows + pixel)] =
              float (segment_score (c, x, y));
      }
  const std::vector<int64_t> shape =
      kind.is_number ? std::vector<int64_t>{1, rows, columns}
      : kind.is_last ? std::vector<int64_t>{1, rows, columns, classes}
                     : std::vector<int64_t>{1, classes, rows, columns};
  OnnxModel model;
  model.input ("frame", {1, 3, side, side}).output ("classes", shape, kind.type);
  model.constant ("zero", {1}, {0}).constant ("flat", std::vector<int64_t>{-1});
  model.node ("Reshape", {"frame", "flat"}, {"pixels"});
  model.node ("ReduceMax", {"pixels"}, {"level"}, {{"axes", std::vector<int64_t>{0}}});
  model.node ("Mul", {"level", "zero"}, {"nothing"});
  model.constant ("values", shape, values);
  model.node ("Add", {"values", "nothing"}, {"sum"});
  model.node ("Cast", {"sum"}, {"classes"}, {{"to", kind.type}});
  return model;
}

/* The class of a position in the output, in pixels; 255 is none. */
int
segment_at (const SegmentKind &kind, double x, double y)
{
  const int columns = segment_columns, rows = segment_rows;
  if (x < 0 || y < 0 || x > columns || y > rows)
    return 255;
  const double left = std::clamp (x - 0.5, 0.0, columns - 1.0),
               top = std::clamp (y - 0.5, 0.0, rows - 1.0);
  int best = 0;
  double highest = -1e9;
  if (kind.is_number)
    best = (int (std::lround (left)) / 4 + int (std::lround (top)) / 3) % segment_classes;
  for (int c = 0; !kind.is_number && c < segment_classes; c++) {
    double score = 0;
    for (int n = 0; n < 4; n++) {
      const int i = std::min (int (left) + n % 2, columns - 1),
                j = std::min (int (top) + n / 2, rows - 1);
      const double right = left - int (left), low = top - int (top);
      score +=
          (n % 2 ? right : 1 - right) * (n / 2 ? low : 1 - low) * segment_score (c, i, j);
    }
    if (score > highest) {
      highest = score;
      best = c;
    }
  }
  const std::string background = kind.properties;
  return !background.empty () && background.back () == '0' + best ? 255 : best;
}

/* The classes of a frame, from the definition of `fit` */
std::vector<int>
segments_of (const SegmentKind &kind, const std::string &fit, int width, int height)
{
  const Box whole = in_frame ({0, 0, side, side}, fit, side, width, height);
  std::vector<int> classes;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      classes.push_back (segment_at (kind,
          (x + 0.5 - whole.left) / (whole.right - whole.left) * segment_columns,
          (y + 0.5 - whole.top) / (whole.bottom - whole.top) * segment_rows));
  return classes;
}

Bytes
map_of (GstBuffer *frame)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (frame, "GstOpenCLClassMap");
  fail_unless (meta);
  return read_buffer (gst_value_get_buffer (
      gst_structure_get_value (gst_custom_meta_get_structure (meta), "map")));
}

/* Intersection over union of each class. A few pixels on a border may be on either side. */
void
expect_segments (const Bytes &got, const std::vector<int> &expected)
{
  fail_unless_equals_int (got.size (), expected.size ());
  int common[256] = {}, either[256] = {};
  for (size_t n = 0; n < expected.size (); n++) {
    common[expected[n]] += got[n] == expected[n];
    either[expected[n]]++;
    either[got[n]] += got[n] != expected[n];
  }
  for (int c = 0; c < 256; c++)
    fail_unless (common[c] >= 0.99 * either[c], "class %d: %d of %d pixels", c, common[c],
        either[c]);
}
} // namespace

TEST_ROWS (test_decoder_segments, segment_kinds)
{
  const struct {
    const char *fit;
    int width, height;
  } frames[] = {{"stretch", 301, 203}, {"stretch", 13, 7}, {"letterbox", 161, 89},
      {"letterbox", 31, 77}, {"crop", 163, 91}, {"crop", 63, 201}};
  for (const auto &frame : frames) {
    Decoder decoder (segment_model (row), std::string ("fit=") + frame.fit,
        std::string ("method=segmentation ") + row.properties, frame.width, frame.height);
    const auto expected = segments_of (row, frame.fit, frame.width, frame.height);
    for (int n = 0; n < 2; n++) {
      const Owned<GstBuffer> output = decoder.pass ();
      expect_segments (map_of (output), expected);
      fail_unless (regions_of (output).empty ());
    }
  }
}

/* Each frame has a map of its own and of its size. The message has no objects. */
TEST (test_decoder_segments_of_changing_frames)
{
  const SegmentKind &kind = segment_kinds[0];
  Decoder decoder (segment_model (kind), "fit=letterbox",
      "method=segmentation track-frames=3", 40, 30);
  const Owned<GstBuffer> first = decoder.pass ();
  decoder.harness.set_caps (caps_of ("RGBA", 65, 33));
  decoder.width = 65;
  decoder.height = 33;
  const Owned<GstBuffer> second = decoder.pass ();
  expect_segments (map_of (first), segments_of (kind, "letterbox", 40, 30));
  expect_segments (map_of (second), segments_of (kind, "letterbox", 65, 33));
  const Owned<GstMessage> message =
      gst_bus_pop_filtered (decoder.harness.bus, GST_MESSAGE_ELEMENT);
  fail_unless (message);
  fail_unless (doubles_of (gst_message_get_structure (message), "objects").empty ());
}

/* A NaN is never the highest score. A pixel with nothing else has no class. */
TEST (test_decoder_segments_of_nan)
{
  const float nan = std::numeric_limits<float>::quiet_NaN ();
  Tensor scores = {"scores", {1, 2, 3, 5}, std::vector<float> (30)};
  for (size_t n = 0; n < 15; n++) {
    scores.values[n] = n % 5 == 0 ? nan : 1;
    scores.values[15 + n] = n == 0 ? nan : 0.5f;
  }
  Decoder decoder (constant_model ({scores}), "", "method=segmentation", 5, 3);
  const Bytes expected = {255, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  assert_same (map_of (decoder.pass ()), expected, "classes");
}

/* A class has one colour, which is mixed with the frame. Pixels without a class stay. */
TEST_ROWS (test_draw_boxes_classes_of_pixels, {"RGBA", "BGR", "NV12", "GRAY8"})
{
  const int width = 91, height = 53;
  const auto info = video::info_of (row, width, height);
  const SegmentKind &kind = segment_kinds[3];
  const auto classes = segments_of (kind, "stretch", width, height);
  Folder folder;
  const std::string file = folder.write ("net.onnx", segment_model (kind).bytes ());
  auto drawn = [&] (const char *opacity) {
    Harness harness (text ("openclinference output=meta model-file=%s ! "
                           "opencltensordecoder method=segmentation %s ! "
                           "opencldrawboxes opacity=%s",
                         file.c_str (), kind.properties, opacity),
        caps_of (row, width, height));
    return read_buffer (harness.pass (buffer_of (Bytes (info.size, 100))));
  };
  const Bytes whole = drawn ("1"), half = drawn ("0.5"), none = drawn ("0");
  int colors[256], differing = 0;
  std::fill_n (colors, 256, -1);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const gsize at = gsize (y * info.stride[0] + x * info.finfo->pixel_stride[0]);
      int &color = colors[classes[size_t (y * width + x)]];
      if (color < 0)
        color = whole[at];
      differing += color != whole[at];
      fail_unless (std::abs (2 * half[at] - whole[at] - 100) <= 1 && none[at] == 100,
          "%d, %d: %d, %d and %d", x, y, half[at], whole[at], none[at]);
    }
  fail_unless (differing < width * height / 100, "%d pixels", differing);
  fail_unless_equals_int (colors[255], 100);
  std::set<int> different (colors, colors + segment_classes);
  fail_unless (different.size () >= 4, "%zu colours", different.size ());
}

/* --- text --- */

namespace {
/* Connected regions of eight neighbours by a flood fill, as boxes in the frame */
std::vector<Found>
flooded (std::vector<float> map, int columns, int rows, double pixel, double mean,
    const std::function<Box (const Box &)> &placed)
{
  std::vector<Found> found;
  for (int start = 0; start < columns * rows; start++) {
    std::vector<int> left = {start};
    Box box = {1e9, 1e9, -1, -1};
    double sum = 0;
    int count = 0;
    while (!left.empty ()) {
      const int at = left.back (), x = at % columns, y = at / columns;
      left.pop_back ();
      if (!(double (map[size_t (at)]) > pixel))
        continue;
      sum += double (map[size_t (at)]);
      count++;
      map[size_t (at)] = -1;
      box = {std::min (box.left, double (x)), std::min (box.top, double (y)),
          std::max (box.right, x + 1.0), std::max (box.bottom, y + 1.0)};
      for (int j = std::max (y - 1, 0); j <= std::min (y + 1, rows - 1); j++)
        for (int i = std::max (x - 1, 0); i <= std::min (x + 1, columns - 1); i++)
          left.push_back (j * columns + i);
    }
    const double width = box.right - box.left, height = box.bottom - box.top;
    if (count == 0 || std::min (width, height) < 3 || sum / count <= mean)
      continue;
    found.push_back ({"text", sum / count, placed (box)});
  }
  return found;
}

/* The turned box of a region is not larger than the upright one with its growth. */
double
turned_area (const GstVideoRegionOfInterestMeta *meta)
{
  double width = 0, height = 0;
  fail_unless (gst_structure_get (
      gst_video_region_of_interest_meta_get_param (
          const_cast<GstVideoRegionOfInterestMeta *> (meta), "detection"),
      "turned-width", G_TYPE_DOUBLE, &width, "turned-height", G_TYPE_DOUBLE, &height,
      nullptr));
  return width * height;
}
} // namespace

/* Noise of several densities: regions of one pixel to winding ones across the whole map. Turned
 * boxes contain them; regions.py tests their angles. */
TEST_ROWS (test_decoder_finds_connected_regions, {0.2, 0.4, 0.5, 0.8})
{
  const int columns = 53, rows = 37;
  std::mt19937 random (7);
  std::uniform_real_distribution<double> uniform (0, 1);
  std::vector<float> map;
  for (int n = 0; n < columns * rows; n++)
    map.push_back (float (
        std::round (255 * (uniform (random) < row ? 0.5 + uniform (random) / 2 : 0.1))
        / 255));
  Decoder decoder (constant_model ({{"sigmoid_0.tmp_0", {1, 1, rows, columns}, map}}), "",
      "box-confidence-threshold=0.6 class-confidence-threshold=0.3 iou-threshold=1 "
      "max-detections=2000",
      columns * 2, rows * 2);
  Limits limits;
  limits.overlap = 1;
  limits.most = 2000;
  const Owned<GstBuffer> frame = decoder.pass ();
  const std::vector<Found>
      got = regions_of (frame),
      expected = suppressed (
          flooded (map, columns, rows, 0.3, 0.6,
              [] (const Box &box) {
                return Box{box.left * 2, box.top * 2, box.right * 2, box.bottom * 2};
              }),
          limits, columns * 2, rows * 2);
  gpointer state = nullptr;
  fail_unless_equals_int (got.size (), expected.size ());
  for (size_t n = 0; n < got.size (); n++) {
    const Box &box = got[n].box, &in = expected[n].box;
    const double width = in.right - in.left, height = in.bottom - in.top;
    const double growth = 1.6 * width * height / (width + height);
    fail_unless (std::fabs (got[n].score - expected[n].score) < 1e-4);
    fail_unless (box.left < in.left + 0.51 && box.top < in.top + 0.51
                     && box.right > in.right - 0.51 && box.bottom > in.bottom - 0.51,
        "%zu: %g %g %g %g", n, box.left, box.top, box.right, box.bottom);
    const double area = turned_area (reinterpret_cast<GstVideoRegionOfInterestMeta *> (
        gst_buffer_iterate_meta_filtered (
            frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)));
    fail_unless (area < (width + growth) * (height + growth) * 1.001, "%zu: %g", n, area);
  }
}

/* A frame of the host's memory is copied to the device without its metas. */
TEST (test_decoder_finds_regions_of_copied_frames)
{
  Folder folder;
  Harness net ("openclinference output=meta regions=objects model-file="
                   + folder.write ("net.onnx",
                       constant_model ({{"numbers", {1, 3}, {1, 2, 3}}}).bytes ())
                   + " ! opencltensordecoder method=embedding",
      caps_of ("RGBA", 64, 64));
  GstBuffer *input = buffer_of (Bytes (64 * 64 * 4, 200));
  gst_buffer_add_video_region_of_interest_meta (input, "cat", 8, 8, 16, 16);
  const Owned<GstBuffer> frame = net.pass (input);
  gpointer state = nullptr;
  auto *region =
      reinterpret_cast<GstVideoRegionOfInterestMeta *> (gst_buffer_iterate_meta_filtered (
          frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  fail_unless (region && region->x == 8 && region->w == 16);
  fail_unless (gst_video_region_of_interest_meta_get_param (region, "embedding"));
}

/* --- errors, messages --- */

struct Refused {
  const char *label;
  std::vector<Tensor> outputs;
  const char *properties;
  std::vector<std::string> parts;
};

TEST_ROWS (test_decoder_names_shapes_that_do_not_fit,
    (std::vector<Refused>{
        {"unknown rows", {{"rows", {1, 7, 9}, std::vector<float> (63)}}, "",
            {"rows 1x7x9", "64×64", "do not fit `method`"}},
        {"other method", {{"rows", {1, 7, 9}, std::vector<float> (63)}}, "method=yolo-x",
            {"rows 1x7x9", "do not fit `method`"}},
        {"two that may be two",
            {{"a", {1, 7, 4}, std::vector<float> (28)},
                {"b", {1, 7, 3}, std::vector<float> (21)}},
            "", {"a 1x7x4, b 1x7x3", "do not fit `method`"}},
        {"a number", {{"one", {1, 1}, {1}}}, "", {"one 1x1"}},
        {"more classes than boxes", {{"rows", {1, 84, 90}, std::vector<float> (84 * 90)}},
            "", {"rows 1x84x90", "do not fit `method`"}},
        {"v5 or v10", {{"rows", {1, 252, 6}, std::vector<float> (1512)}}, "",
            {"rows 1x252x6", "fit yolo-v5 and yolo-v10: set `method`"}},
        {"either order of rows", {{"rows", {1, 40, 41}, std::vector<float> (40 * 41)}},
            "method=yolo-v8", {"rows 1x40x41", "of 36 classes and yolo-v8 of 37"}},
        {"key points as scores", {{"pose", {1, 56, 84}, std::vector<float> (56 * 84, 7)}},
            "", {"score 7,", "pose 1x56x84", "yolo-v8 of 52 classes"}},
        {"points of 2 or 3 numbers",
            {{"pose", {1, 17, 84}, std::vector<float> (17 * 84)}}, "method=yolo-pose",
            {"pose 1x17x84", "with 4 key points", "with 6 key points", "`key-points`"}},
        {"other number of points", {{"pose", {1, 17, 84}, std::vector<float> (17 * 84)}},
            "method=yolo-pose key-points=5", {"pose 1x17x84", "do not fit `method`"}},
        {"segments of more than 255 classes",
            {{"s", {1, 256, 2, 300}, std::vector<float> (256 * 600)}},
            "method=segmentation", {"s 1x256x2x300", "do not fit `method`"}},
        {"segments are not automatic", {{"s", {1, 5, 8, 8}, std::vector<float> (5 * 64)}},
            "", {"s 1x5x8x8", "do not fit `method`"}},
        {"objectness above 1", {{"rows", {1, 252, 7}, std::vector<float> (1764, 1.5f)}},
            "", {"score 1.5,", "rows 1x252x7", "yolo-v5", "`activation`"}},
        {"logits of classes", {{"classes", {1, 2}, {3, 4}}}, "activation=none",
            {"score 4,", "classes 1x2"}},
        {"logits of ssd",
            {{"boxes", {1, 2, 4}, std::vector<float>{0, 0, 1, 1, 0, 0, 1, 1}},
                {"scores", {1, 2, 2}, {5, 3, 5, 2}}},
            "", {"score 3,", "scores 1x2x2", "ssd of 2 classes"}},
    }))
{
  Decoder decoder (constant_model (row.outputs), "", row.properties, 64, 64);
  fail_unless (
      decoder.harness.push (buffer_of (Bytes (64 * 64 * 4, 1))) == GST_FLOW_ERROR, "%s",
      row.label);
  decoder.harness.messages ().expect_one_error (row.parts);
}

TEST (test_decoder_warns_once_of_frames_without_outputs)
{
  Harness decoder ("opencltensordecoder", caps_of ("RGBA", 8, 8));
  for (int n = 0; n < 3; n++)
    fail_unless (decoder.pass (buffer_of (Bytes (256, 1))));
  const Outcome outcome = decoder.messages ();
  fail_unless_equals_int (outcome.warnings.size (), 1);
  fail_unless (outcome.errors.empty ());
}

/* Two networks, each with its decoder, and a converter that takes the outputs away */
TEST (test_decoder_takes_outputs_of_its_network)
{
  Folder folder;
  const std::string file = folder.write ("net.onnx",
                        constant_model ({{"classes", {1, 2}, {0.25f, 0.75f}}}).bytes ()),
                    other = folder.write ("other.onnx",
                        constant_model ({{"classes", {1, 3}, {0, 0.05f, 0.95f}}})
                            .bytes ());
  const std::string network = "openclinference output=meta model-file=",
                    decoder = " ! opencltensordecoder class-confidence-threshold=0.5";
  const Bytes frame (64 * 64 * 4, 1);
  Harness two (network + file + decoder + " ! queue ! " + network + other + decoder,
      caps_of ("RGBA", 64, 64));
  expect_found (regions_of (two.pass (buffer_of (frame)), "classification"),
      {{"1", 0.75, {0, 0, 64, 64}}, {"2", 0.95, {0, 0, 64, 64}}});
  Harness converted (
      network + file + " ! openclconvert ! video/x-raw(memory:OpenCLMemory),format=NV12"
          + decoder,
      caps_of ("RGBA", 64, 64));
  fail_unless (regions_of (converted.pass (buffer_of (frame))).empty ());
}

TEST (test_decoder_posts_objects)
{
  const auto proposals = proposals_of (84, 3, side, 5);
  Decoder decoder (constant_model (yolo_columns (proposals)), "", "", 64, 64);
  GstBuffer *frame = buffer_of (Bytes (64 * 64 * 4, 1));
  GST_BUFFER_PTS (frame) = 3 * GST_SECOND;
  const auto found = regions_of (decoder.harness.pass (frame));
  const Owned<GstMessage> message =
      gst_bus_pop_filtered (decoder.harness.bus, GST_MESSAGE_ELEMENT);
  fail_unless (message);
  const GstStructure *structure = gst_message_get_structure (message);
  guint64 time = 0;
  fail_unless (
      gst_structure_get_uint64 (structure, "timestamp", &time) && time == 3 * GST_SECOND);
  const GValue *objects = gst_structure_get_value (structure, "objects");
  fail_unless_equals_int (gst_value_array_get_size (objects), found.size ());
  for (guint n = 0; n < found.size (); n++) {
    const GstStructure *object =
        gst_value_get_structure (gst_value_array_get_value (objects, n));
    int x, y, width, height;
    fail_unless (gst_structure_get (object, "x", G_TYPE_INT, &x, "y", G_TYPE_INT, &y,
        "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, nullptr));
    const Box &box = found[n].box;
    fail_unless (x == int (box.left) && y == int (box.top) && x + width == int (box.right)
                 && y + height == int (box.bottom));
    fail_unless_equals_string (
        gst_structure_get_string (object, "label"), found[n].label.c_str ());
  }
}

/* Frames, inputs and outputs of a few pixels or elements */
TEST_ROWS (test_decoder_and_boxes_of_tiny_frames, {1, 2, 3})
{
  const size_t n = size_t (row);
  Tensor box = {"box", {1, 5, row}, std::vector<float> (5 * n, 0.5f * float (row))};
  std::fill_n (box.values.begin () + 2 * int (n), 2 * n, float (row));
  std::fill_n (box.values.begin () + 4 * int (n), n, 0.9f);
  const Found whole = {"0", 0.9, {0, 0, double (row), double (row)}};
  Decoder boxes (
      constant_model ({box}, row), "", "method=yolo-v8 ! opencldrawboxes", row, row);
  expect_found (regions_of (boxes.pass ()), {whole});
  box = {"classes", {1, row + 1}, std::vector<float> (n + 1, 0)};
  box.values[0] = 1;
  Decoder classes (
      constant_model ({box}, row), "", "activation=none ! opencldrawboxes", row, row);
  expect_found (regions_of (classes.pass (), "classification"), {{"0", 1, whole.box}});
  box = {"map", {1, 1, row + 1, row + 1}, std::vector<float> ((n + 1) * (n + 1), 1)};
  Decoder text (constant_model ({box}, row), "", "", row, row);
  fail_unless_equals_int (regions_of (text.pass ()).size (), row > 1 ? 1 : 0);
}

/* --- drawing --- */

namespace {
GstBuffer *
with_region (GstBuffer *frame, const char *label, guint x, guint y, guint w, guint h)
{
  gst_buffer_add_video_region_of_interest_meta (frame, label, x, y, w, h);
  return frame;
}
} // namespace

/* Lines of red inside of two boxes, the first one over the second, and nothing elsewhere */
TEST_ROWS (test_draw_boxes_lines, {"RGBA", "xBGR", "BGR"})
{
  const int width = 61, height = 40;
  const auto info = video::info_of (row, width, height);
  Harness draw ("opencldrawboxes line-width=3 draw-labels=false outline-color=0xffff4020",
      caps_of (row, width, height));
  const Bytes before = pattern (info.size, 3);
  Owned<GstBuffer> output = draw.pass (with_region (
      with_region (buffer_of (before), "a", 10, 8, 20, 15), "b", 50, 30, 40, 4));
  const Bytes got = read_buffer (output);
  const guint8 color[] = {0xff, 0x40, 0x20, 0xff};
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const bool a = x >= 10 && x < 30 && y >= 8 && y < 23
                     && (x < 13 || x >= 27 || y < 11 || y >= 20),
                 b = x >= 50 && y >= 30 && y < 34;
      for (guint c = 0; c < 3; c++) {
        const gsize at = gsize (y * info.stride[0] + x * info.finfo->pixel_stride[c])
                         + info.finfo->poffset[c];
        const int expected = a || b ? color[c] : before[at];
        fail_unless (got[at] == expected, "component %u at %d, %d: %d, expected %d", c, x,
            y, got[at], expected);
      }
    }
}

/* Squares around the points with a score above the threshold, also across the frame's edge */
TEST_ROWS (test_draw_boxes_points, {"RGBA", "BGR", "NV12"})
{
  const int width = 61, height = 40;
  const auto info = video::info_of (row, width, height);
  Harness draw ("opencldrawboxes line-width=2 draw-labels=false outline-color=0xffffffff",
      caps_of (row, width, height));
  GstBuffer *frame = with_region (buffer_of (Bytes (info.size, 16)), "a", 100, 100, 1, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN ();
  GstStructure *param = gst_structure_new_empty ("detection");
  GValue points = G_VALUE_INIT;
  gst_value_array_init (&points, 0);
  for (const double number : {12.0, 20.0, 1.0, 30.0, 9.0, 0.4, 0.0, 39.0, 0.6, 1e30,
           -1e30, 1.0, -9.0, 5.0, 1.0, nan, nan, nan}) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, number);
    gst_value_array_append_and_take_value (&points, &value);
  }
  gst_structure_take_value (param, "points", &points);
  gst_video_region_of_interest_meta_add_param (
      gst_buffer_get_video_region_of_interest_meta_id (frame, 0), param);
  const Bytes got = read_buffer (draw.pass (frame));
  const bool is_blocks = std::string (row) == "NV12";
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const int left = 9 - is_blocks, right = 15 + is_blocks, low = 17 - is_blocks,
                high = 23 + is_blocks;
      const bool first = x >= left && x < right && y >= low && y < high,
                 second = x < 3 + is_blocks && y >= 36;
      const gsize at = gsize (y * info.stride[0] + x * info.finfo->pixel_stride[0]);
      fail_unless ((got[at] > 200) == (first || second), "%d, %d: %d", x, y, got[at]);
    }
}

/* Chroma of 2 x 2 pixels: boxes grow to whole blocks. */
TEST_ROWS (test_draw_boxes_in_yuv, {"NV12", "I420", "YUY2", "GRAY8"})
{
  const int width = 33, height = 17;
  const auto info = video::info_of (row, width, height);
  Harness draw ("opencldrawboxes line-width=2 draw-labels=false outline-color=0xffff0000",
      caps_of (row, width, height));
  const Bytes before = pattern (info.size, 5);
  const Bytes got =
      read_buffer (draw.pass (with_region (buffer_of (before), "a", 8, 4, 12, 8)));
  /* Full red in limited range by BT.601 */
  const int levels[] = {std::string (row) == "GRAY8" ? 76 : 81, 90, 240};
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
    const int across = 1 << info.finfo->w_sub[c], down = 1 << info.finfo->h_sub[c];
    for (int y = 0; y < (height + down - 1) / down; y++)
      for (int x = 0; x < (width + across - 1) / across; x++) {
        const int i = x * across, j = y * down;
        const bool is_line = i >= 8 && i < 20 && j >= 4 && j < 12
                             && (i < 10 || i >= 18 || j < 6 || j >= 10);
        const gsize plane = info.finfo->plane[c];
        const gsize at = info.offset[plane] + gsize (y * info.stride[plane])
                         + gsize (x * info.finfo->pixel_stride[c])
                         + info.finfo->poffset[c];
        const int expected = is_line ? levels[c] : before[at];
        fail_unless (std::abs (int (got[at]) - expected) <= (is_line ? 1 : 0),
            "component %u at %d, %d: %d, expected %d", c, x, y, got[at], expected);
      }
  }
}

/* The label is above the box in its colour, with text in white or black. It is uploaded
 * once. Without room above, it is in the box. */
TEST (test_draw_boxes_labels)
{
  const int width = 200, height = 80;
  Harness draw ("opencldrawboxes line-width=1 text-size=14 outline-color=0xff000080",
      caps_of ("RGBA", width, height));
  const Bytes black (gsize (width * height * 4), 0);
  auto drawn = [&] (guint y) {
    return read_buffer (
        draw.pass (with_region (buffer_of (black), "dog", 20, y, 100, 30)));
  };
  auto row_of = [&] (const Bytes &frame, int y) {
    int colored = 0, white = 0;
    for (int x = 0; x < width; x++) {
      const guint8 *pixel = &frame[gsize ((y * width + x) * 4)];
      colored += pixel[2] >= 0x80;
      white += pixel[0] > 200 && pixel[1] > 200 && pixel[2] > 200;
    }
    return std::pair (colored, white);
  };
  const Bytes low = drawn (40), again = drawn (40), top = drawn (5);
  assert_same (again, low, "the same label");
  int white = 0;
  for (int y = 22; y < 40; y++) {
    const auto [colored, letters] = row_of (low, y);
    if (y >= 40 - 19 && y < 39)
      fail_unless (colored > 20 && colored < 60, "row %d: %d", y, colored);
    white += letters;
  }
  fail_unless (white > 20, "%d white pixels", white);
  fail_unless_equals_int (row_of (low, 18).first, 0);
  fail_unless (row_of (top, 12).first > 20);
  fail_unless_equals_int (row_of (top, 4).first, 0);
}

/* A class is a line of text in the corner, not a box. */
TEST (test_draw_boxes_classes)
{
  Folder folder;
  Decoder decoder (constant_model ({{"classes", {1, 3}, {0.3f, 0.1f, 0.6f}}}), "",
      "class-confidence-threshold=0.2 ! opencldrawboxes text-size=20", 160, 120);
  const Bytes got = read_buffer (decoder.pass ());
  auto is_drawn = [&] (int x, int y) { return got[gsize ((y * 160 + x) * 4)] != 200; };
  fail_unless (is_drawn (2, 2) && is_drawn (2, 28 + 2));
  fail_unless (!is_drawn (2, 2 * 28 + 2) && !is_drawn (159, 60) && !is_drawn (80, 119));
}

/* Many regions, also beyond the frame and of length 0, of others' metas */
TEST (test_draw_boxes_any_region)
{
  Harness draw ("opencldrawboxes line-width=5", caps_of ("RGBA", 100, 60));
  std::mt19937 random (3);
  GstBuffer *frame = buffer_of (Bytes (100 * 60 * 4, 9));
  for (int n = 0; n < 300; n++)
    with_region (frame, n % 7 ? "some label" : "bad \xff label", random () % 120,
        random () % 80, n % 5 ? random () % 50 : G_MAXUINT, random () % 50);
  fail_unless (draw.pass (frame));
  fail_unless (draw.messages ().is_clean ());
}
