/* Tests of the executor of networks: files, constants, passes, placement and results
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <glib/gstdio.h>
#include <numeric>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check/networks.hpp"

/* After the headers of the executor, which have functions called fail() */
#include "tests/check/as-gpu.hpp"
#include "tests/check/folder.hpp"

using namespace check;
using namespace inference;

namespace {
/* Fails unless `error`, which contains `parts`, is set and nothing was returned. */
void
expect_error (bool succeeded, GError *&error, const std::vector<std::string> &parts)
{
  fail_if (succeeded, "no error");
  fail_unless (error != nullptr);
  for (const std::string &part : parts)
    fail_unless (strstr (error->message, part.c_str ()) != nullptr, "\"%s\" lacks \"%s\"",
        error->message, part.c_str ());
  g_clear_error (&error);
}

void
expect_refused_file (const std::string &bytes, const std::vector<std::string> &parts)
{
  GError *error = nullptr;
  const bool succeeded = parse (bytes, &error) != nullptr;
  expect_error (succeeded, error, parts);
}

void
expect_refused (const OnnxModel &model, const std::vector<std::string> &parts)
{
  GError *error = nullptr;
  std::unique_ptr<Graph> graph = Lowering::run (*parse (model), {}, &error);
  expect_error (graph != nullptr, error, parts);
}

} // namespace

/* --- files --- */

TEST (test_inference_refuses_files_that_are_no_model)
{
  const std::string whole = red_matte_model ().bytes ();
  GError *error = nullptr;
  for (gsize size = 0; size + 1 < whole.size (); size++) {
    auto model = parse (whole.substr (0, size), &error);
    /* Some beginnings are models without an opset, or without nodes. */
    if (model)
      Lowering::run (*model, {}, &error);
    g_clear_error (&error);
  }
  expect_refused_file ("", {"no graph"});
  expect_refused_file (std::string ("\x0b\x0b\x0b", 3), {"no ONNX file"});
}

TEST (test_inference_refuses_other_opsets)
{
  expect_refused_file (
      OnnxModel (24).node ("Relu", {"x"}, {"y"}).bytes (), {"opset 24", "23"});
}

TEST (test_inference_lists_all_operators_that_are_missing)
{
  OnnxModel model;
  model.input ("x", {1}).output ("y", {1});
  model.node ("Unique", {"x"}, {"a"}).node ("Loop", {"a"}, {"b"});
  model.node ("Special", {"b"}, {"y"}, {}, "com.example");
  expect_refused (model, {"Unique", "Loop", "com.example.Special", "opset 13"});
}

/* onnxruntime's quantizer writes these unless it is asked for QDQ. */
TEST (test_inference_refuses_the_qoperator_form)
{
  const std::pair<const char *, const char *> rows[] = {
      {"QLinearConv", ""}, {"QLinearAdd", "com.microsoft"}, {"QGemm", "com.microsoft"}};
  for (const auto &[op, domain] : rows) {
    OnnxModel model;
    model.input ("x", {1}).output ("y", {1}).node (op, {"x"}, {"y"}, {}, domain);
    expect_refused (model, {op, "quantize in QDQ form"});
  }
}

TEST (test_inference_refuses_variants_of_recurrent_cells)
{
  const struct {
    std::vector<OnnxAttribute> attributes;
    const char *peepholes, *reason;
  } rows[] = {{{{"clip", 0.5f}}, "", "clip is not supported"},
      {{{"input_forget", 1}}, "", "input_forget is not supported"},
      {{}, "p", "P (peepholes) is not supported"}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.input ("x", {2, 1, 1}).output ("y", {2, 1, 1, 1});
    model.constant ("w", {1, 4, 1}, noise (4, 1)).constant ("p", {1, 3}, noise (3, 2));
    model.node (
        "LSTM", {"x", "w", "w", "", "", "", "", row.peepholes}, {"y"}, row.attributes);
    expect_refused (model, {"LSTM", row.reason});
  }
}

/* Also with another opset, and beside a tensor that is damaged */
TEST (test_inference_lists_missing_operators_of_damaged_files)
{
  OnnxModel branch, model (99);
  branch.node ("Loop", {"x"}, {"a"}).output ("a", {});
  model.input ("x", {1}).output ("y", {1}).constant ("w", {1000, 1000}, {1});
  model.node ("If", {"x"}, {"z"},
      {{"then_branch", branch.branch ()}, {"else_branch", branch.branch ()}});
  model.node ("Special", {"z"}, {"y"}, {}, "com.example");
  expect_refused_file (
      model.bytes (), {"opset 99", "not supported: Loop, com.example.Special"});
}

/* The condition of the inner If is a shape's. Both branches read values around them. */
TEST (test_inference_takes_the_branch_of_a_constant_condition)
{
  OnnxModel twice, negative, inner, model;
  twice.node ("Add", {"x", "x"}, {"out"}).output ("out", {});
  negative.node ("Unknown", {"x"}, {"out"}).output ("out", {});
  inner.node ("Size", {"x"}, {"size"}).node ("Equal", {"size", "three"}, {"is"});
  inner.node ("If", {"is"}, {"chosen"},
      {{"then_branch", twice.branch ()}, {"else_branch", negative.branch ()}});
  inner.node ("Mul", {"chosen", "later"}, {"out"}).output ("out", {});
  model.input ("x", {3}).output ("y", {3});
  model.constant ("three", {3}).constant ("yes", {1}).constant ("factor", {1}, {10});
  model.node ("If", {"yes"}, {"y"},
      {{"then_branch", inner.branch ()}, {"else_branch", negative.branch ()}});
  model.node ("Identity", {"factor"}, {"later"});
  expect_near (run (model, {{1, 2, 3}}), {20, 40, 60}, 1e-6);
}

/* Both branches have names of their own, and some of the graph around them. Those that are
 * not taken give NaN or an infinity. */
TEST (test_inference_selects_the_branch_of_a_computed_condition)
{
  OnnxModel deeper, outside, then, other, model;
  /* "t" and "x2" are names of the outer graph, too. */
  deeper.constant ("t", {1}, {100}).node ("Add", {"x", "t"}, {"x2"});
  deeper.node ("Identity", {"x2"}, {"out"}).output ("out", {});
  outside.output ("x2", {});
  then.node ("Log", {"x"}, {"t"}).constant ("five", {3}, {5, 5, 5});
  then.output ("t", {}).output ("five", {});
  other.node ("ReduceMin", {"x"}, {"least"}, {{"keepdims", 0}});
  other.node ("Less", {"least", "minus"}, {"is"});
  other.node ("If", {"is"}, {"chosen"},
      {{"then_branch", deeper.branch ()}, {"else_branch", outside.branch ()}});
  other.node ("Div", {"chosen", "least"}, {"t"});
  other.output ("t", {}).output ("x", {});
  model.input ("x", {3}).output ("y", {6}).constant ("none", {1}, {0});
  model.constant ("minus", {}, {-10}).constant ("two", {1}, {2});
  model.node ("Mul", {"x", "two"}, {"x2"});
  model.node ("ReduceMin", {"x"}, {"m"}).node ("Greater", {"m", "none"}, {"c"});
  model.node ("If", {"c"}, {"t", "u"},
      {{"then_branch", then.branch ()}, {"else_branch", other.branch ()}});
  model.node ("Concat", {"t", "u"}, {"y"}, {{"axis", 0}});
  for (const Precision precision : {Precision::single, Precision::half}) {
    const double tolerance = precision == Precision::half ? 2e-3 : 1e-6;
    expect_near (run (model, {{1, 2, 4}}, precision),
        {0, std::log (2.0), std::log (4.0), 5, 5, 5}, tolerance);
    expect_near (run (model, {{1, -2, 4}}, precision), {-1, 2, -4, 1, -2, 4}, tolerance);
    expect_near (
        run (model, {{4, -20, 0}}, precision), {-5.2, -4, -5, 4, -20, 0}, tolerance);
  }
}

TEST (test_inference_infinities_of_the_other_branch_are_not_selected)
{
  OnnxModel then, other, model;
  then.node ("Div", {"x", "none"}, {"out"}).output ("out", {});
  other.node ("Identity", {"x"}, {"out"}).output ("out", {});
  model.input ("x", {4}).output ("y", {4}).constant ("none", {1}, {0});
  model.node ("ReduceMax", {"x"}, {"m"}).node ("Less", {"m", "none"}, {"c"});
  model.node ("If", {"c"}, {"y"},
      {{"then_branch", then.branch ()}, {"else_branch", other.branch ()}});
  const std::vector<float> x = {-1, 0, 1, 2};
  for (const Precision precision : {Precision::single, Precision::half})
    expect_near (run (model, {x}, precision), {-1, 0, 1, 2}, 0);
}

/* An integer output, and one that is the same value in both branches */
TEST (test_inference_selects_integers_and_common_values)
{
  OnnxModel then, other, model;
  then.constant ("n", {7, 1}).output ("n", {}).output ("x", {});
  other.node ("Shape", {"pair"}, {"n"}).output ("n", {}).output ("x", {});
  model.input ("x", {1}).input ("pair", {2, 3}).output ("y", {3});
  model.constant ("none", {1}, {0}).node ("Less", {"x", "none"}, {"c"});
  model.node ("If", {"c"}, {"n", "same"},
      {{"then_branch", then.branch ()}, {"else_branch", other.branch ()}});
  model.node ("Cast", {"n"}, {"real"}, {{"to", onnx_float}});
  model.node ("Concat", {"real", "same"}, {"y"}, {{"axis", 0}});
  const std::vector<float> pair (6);
  expect_near (run (model, {{-4}, pair}), {7, 1, -4}, 0);
  expect_near (run (model, {{4}, pair}), {2, 3, 4}, 0);
}

TEST (test_inference_refuses_computed_conditions_of_branches_that_differ)
{
  const struct {
    const char *condition, *op;
    std::vector<OnnxAttribute> attributes;
    std::vector<std::string> reasons;
  } rows[] = {
      {"c", "Flatten", {{"axis", 0}},
          {"If_1", "\"y\"", "float32 2 in", "float32 1x2 in else_branch"}},
      {"c", "Cast", {{"to", onnx_int32}}, {"If_1", "\"y\"", "int32 2 in else_branch"}},
      {"c", "Loop", {}, {"not supported: Loop"}},
      {"x", "Relu", {}, {"If_1", "expected one condition"}},
      {"f", "Relu", {}, {"If_1", "type bool"}},
  };
  for (const auto &row : rows) {
    OnnxModel then, other, model;
    then.node ("Relu", {"x"}, {"out"}).output ("out", {});
    other.node (row.op, {"x"}, {"out"}, row.attributes).output ("out", {});
    model.input ("x", {2}).input ("f", {}).output ("y", {2});
    model.node ("Greater", {"f", "f"}, {"c"});
    model.node ("If", {row.condition}, {"y"},
        {{"then_branch", then.branch ()}, {"else_branch", other.branch ()}});
    expect_refused (model, row.reasons);
  }
}

TEST (test_inference_refuses_deep_branches)
{
  OnnxModel deepest;
  const Message leaf = deepest.node ("Relu", {"x"}, {"y"}).output ("y", {}).branch ();
  Message graph = leaf;
  for (int depth = 0; depth < 20; depth++)
    graph =
        OnnxModel ()
            .node ("If", {"yes"}, {"y"}, {{"then_branch", graph}, {"else_branch", leaf}})
            .output ("y", {})
            .branch ();
  OnnxModel model;
  model.input ("x", {1}).output ("y", {1}).constant ("yes", {1});
  model.node ("If", {"yes"}, {"y"}, {{"then_branch", graph}, {"else_branch", leaf}});
  expect_refused_file (model.bytes (), {"16 deep"});
}

TEST (test_inference_refuses_a_cycle)
{
  OnnxModel model;
  model.input ("x", {1}).output ("y", {1});
  model.node ("Add", {"x", "b"}, {"a"}).node ("Relu", {"a"}, {"b"});
  model.node ("Relu", {"b"}, {"y"});
  expect_refused (model, {"Add_0", "depends on its own output"});
}

TEST (test_inference_errors_name_node_operator_opset_and_shapes)
{
  OnnxModel model (14);
  model.input ("x", {1, 3, 5, 5}).output ("y", {1, 1, 5, 5});
  model.constant ("w", {1, 4, 3, 3}, std::vector<float> (36));
  model.node ("Conv", {"x", "w"}, {"y"});
  expect_refused (model, {"Conv_0", "Conv, opset 14", "1x3x5x5", "1x4x3x3"});
}

TEST (test_inference_refuses_a_tensor_of_another_size_than_its_shape)
{
  OnnxModel model;
  model.constant ("w", {1000, 1000, 1000, 1000}, {1, 2});
  GError *error = nullptr;
  expect_error (
      parse (model.bytes (), &error) != nullptr, error, {"\"w\"", "1000x1000x1000x1000"});
}

TEST (test_inference_external_data_stays_below_the_folder)
{
  Folder folder;
  const std::string inside = folder.path + "/models";
  g_mkdir (inside.c_str (), 0700);
  const std::string values (4 * sizeof (float), '\0');
  folder.write ("secret", values);
  folder.write ("models/weights", values);
  fail_unless (symlink ("../secret", (inside + "/link").c_str ()) == 0);
  const struct {
    std::string location;
    bool valid;
  } rows[] = {{"weights", true}, {"../secret", false}, {"link", false},
      {folder.path + "/secret", false}, {"", false}, {"missing", false}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.external ("w", {4}, row.location);
    const std::string file = folder.write ("models/net.onnx", model.bytes ());
    GError *error = nullptr;
    auto loaded = Model::load (file, &error);
    if (row.valid)
      fail_unless (loaded != nullptr, "%s", error ? error->message : "");
    else
      expect_error (loaded != nullptr, error, {"external data", row.location});
  }
}

/* The bytes of a model belong to the process: a program that writes the file again does not
 * change them. */
TEST (test_inference_model_outlives_its_files)
{
  const int64_t count = 1 << 20;
  const std::vector<float> values = noise (gsize (count), 3);
  Folder folder;
  const std::string data = folder.write (
      "weights", std::string (reinterpret_cast<const char *> (values.data ()),
                     gsize (count) * sizeof (float)));
  OnnxModel model;
  model.constant ("inside", {count}, values).external ("outside", {count}, "weights");
  const std::string file = folder.write ("net.onnx", model.bytes ());
  GError *error = nullptr;
  std::shared_ptr<const Model> loaded = Model::load (file, &error);
  fail_unless (loaded != nullptr, "%s", error ? error->message : "");
  fail_unless (truncate (file.c_str (), 0) == 0 && truncate (data.c_str (), 0) == 0);
  for (const char *name : {"inside", "outside"})
    fail_unless (loaded->constants.at (name).floats () == values, "%s differs", name);
}

TEST (test_inference_reads_regular_files_only)
{
  Folder folder;
  fail_unless (mkfifo (folder.file ("fifo").c_str (), 0600) == 0);
  OnnxModel model;
  model.external ("w", {4}, "fifo");
  const std::string file = folder.write ("net.onnx", model.bytes ());
  for (const std::string &path :
      {folder.file ("fifo"), std::string ("/dev/zero"), file}) {
    GError *error = nullptr;
    const bool loaded = Model::load (path, &error) != nullptr;
    expect_error (loaded, error, {"expected a regular file"});
  }
}

/* Numbers of bytes are decimal digits. The last four of five values are read. */
TEST (test_inference_external_data_has_a_plain_place)
{
  Folder folder;
  const std::vector<float> values = {1, 2, 3, 4, 5};
  folder.write ("weights", std::string (reinterpret_cast<const char *> (values.data ()),
                               values.size () * sizeof (float)));
  const struct {
    const char *key, *value;
    bool valid;
  } rows[] = {{"offset", "4", true}, {"offset", "4x", false},
      {"offset", "-18446744073709551612", false}, {"offset", " 4", false},
      {"offset", "+4", false}, {"offset", "", false},
      {"offset", "18446744073709551620", false}, {"offset", "0x4", false},
      {"length", "16", true}, {"length", "16x", false}, {"length", "1e1", false}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.external ("w", {4}, "weights", {{row.key, row.value}});
    const std::string file = folder.write ("net.onnx", model.bytes ());
    GError *error = nullptr;
    auto loaded = Model::load (file, &error);
    if (!row.valid)
      expect_error (loaded != nullptr, error,
          {"\"w\"", row.key, "\"" + std::string (row.value) + "\""});
    else
      fail_unless (loaded
                       && loaded->constants.at ("w").floats ()[0]
                              == (strcmp (row.key, "offset") ? 1 : 2),
          "%s=%s: %s", row.key, row.value, error ? error->message : "wrong values");
  }
}

/* A part of a file that is larger than the file, and a sum of parts that is too large */
TEST (test_inference_external_data_has_a_limit)
{
  Folder folder;
  const int64_t count = int64_t (1) << 28; /* 1 GiB in a file without blocks */
  const std::string data = folder.write ("weights", "");
  GError *error = nullptr;
  fail_unless (truncate (data.c_str (), count * gint64 (sizeof (float))) == 0);
  OnnxModel long_one, many;
  long_one.external ("w", {count + 1}, "weights");
  bool loaded =
      Model::load (folder.write ("net.onnx", long_one.bytes ()), &error) != nullptr;
  expect_error (loaded, error, {"\"w\"", "1073741828 bytes expected"});
  for (int n = 0; n < 64; n++)
    many.external ("w", {count}, "weights");
  loaded = Model::load (folder.write ("net.onnx", many.bytes ()), &error) != nullptr;
  expect_error (loaded, error, {"\"w\"", "4 GiB"});
}

/* --- constants and passes --- */

namespace {
/* Fails if the rest of the scope takes more than two seconds of processor time. */
class TwoSeconds {
public:
  TwoSeconds () : begin (now ()) {}
  ~TwoSeconds ()
  {
    const char *multiplier = g_getenv ("CK_TIMEOUT_MULTIPLIER");
    const double took = now () - begin, factor = multiplier ? atof (multiplier) : 1;
    fail_unless (took < 2 * std::max (factor, 1.0), "it took %g s", took);
  }

private:
  static double now () { return double (clock ()) / CLOCKS_PER_SEC; }
  const double begin;
};

/* Every operator, with `pick (k)` as its operand k and with up to nine operands */
template <typename Pick>
void
lower_all_operators (const Pick &pick)
{
  for (const std::string &name : operator_names ())
    for (gsize count = 0; count < 10; count++) {
      OnnxModel model (18);
      std::vector<std::string> operands;
      model.input ("x", {1, 4, 6, 6}).output ("y", {});
      model.constant ("c", {1}).constant ("w", {4, 4, 1, 1}, noise (16, 1));
      model.constant ("v", {4}, noise (4, 1));
      for (gsize k = 0; k < count; k++)
        operands.push_back (pick (k));
      model.node (name.c_str (), operands, {"y"});
      GError *error = nullptr;
      std::unique_ptr<Graph> graph = Lowering::run (*parse (model), {}, &error);
      fail_unless ((graph == nullptr) == (error != nullptr));
      fail_unless (graph || strstr (error->message, name.c_str ()), "%s: %s",
          name.c_str (), graph ? "" : error->message);
      g_clear_error (&error);
    }
}

void
count_warning (const gchar *, GLogLevelFlags, const gchar *, gpointer data)
{
  ++*static_cast<int *> (data);
}
} // namespace

/* GLib warns where one error is set over another. */
TEST (test_inference_sets_one_error_for_any_operands)
{
  int warnings = 0;
  const guint handler =
      g_log_set_handler ("GLib", G_LOG_LEVEL_WARNING, count_warning, &warnings);
  const char *const others[] = {"c", "w", "v", "", "x"};
  lower_all_operators ([] (gsize) { return "x"; });
  for (const char *other : others) {
    lower_all_operators ([&] (gsize k) { return k == 0 ? "x" : other; });
    lower_all_operators ([&] (gsize k) { return k == 0 ? other : "x"; });
    lower_all_operators ([&] (gsize k) { return k == 0 ? "x" : k == 1 ? "w" : other; });
  }
  g_log_remove_handler ("GLib", handler);
  fail_unless_equals_int (warnings, 0);
}

/* Gives each operator the maximum number of operands of the standard, and one more. */
TEST (test_inference_counts_operands)
{
  const struct {
    const char *name;
    int most;
  } rows[] = {{"Relu", 1}, {"Gelu", 1}, {"Identity", 1}, {"Flatten", 1}, {"Add", 2},
      {"Gather", 2}, {"MatMul", 2}, {"Conv", 3}, {"Where", 3}, {"GlobalMaxPool", 1},
      {"Softmax", 1}, {"LSTM", 8}, {"BatchNormalization", 5}, {"Constant", 0},
      {"Slice", 5}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.input ("x", {1, 1, 4, 4}).output ("y", {});
    model.node (row.name, std::vector<std::string> (gsize (row.most + 1), "x"), {"y"});
    expect_refused (model, {row.name, std::to_string (row.most + 1) + " inputs"});
  }
}

TEST (test_inference_takes_a_concat_of_many_inputs_in_two_seconds)
{
  GstOpenCLContext *context = shared_context ();
  GError *error = nullptr;
  OnnxModel model;
  model.input ("x", {4, 4}).output ("y", {});
  model.node ("Concat", std::vector<std::string> (50000, "x"), {"y"}, {{"axis", 0}});
  {
    const TwoSeconds limit;
    std::unique_ptr<Plan> plan = Plan::create (context, *parse (model), {}, &error);
    expect_error (plan != nullptr, error, {"50000 steps"});
  }
  gst_object_unref (context);
}

/* The file has 6 KB, and the last value would have 4 TB. */
TEST (test_inference_limits_constants_of_small_files)
{
  OnnxModel model;
  model.input ("x", {4, 4}).output ("y", {});
  model.constant ("v0", {1024}, std::vector<float> (1024, 1));
  for (int n = 0; n < 40; n++) {
    const std::string value = "v" + std::to_string (n);
    model.node ("Concat", {value, value}, {"v" + std::to_string (n + 1)}, {{"axis", 0}});
  }
  model.node ("ReduceSum", {"v40"}, {"s"}).node ("Add", {"x", "s"}, {"y"});
  const TwoSeconds limit;
  expect_refused (model, {"Concat", "on the host"});
}

/* A graph of `count` nodes of which one kind of pass has much to do, as an ONNX model */
OnnxModel
model_of_many_nodes (const std::string &kind, int count)
{
  OnnxModel model;
  model.input ("x", {1, 1, 2, 2}).output ("y", {});
  model.constant ("w", {1, 1, 1, 1}, {0.5f}).constant ("one", {1, 1, 1, 1}, {1});
  model.constant ("large", {1, 1, 1024, 1024}, std::vector<float> (1 << 20, 0.5f));
  std::string last = "x";
  std::vector<std::string> all;
  for (int n = 0; n < count; n++) {
    const std::string next = "v" + std::to_string (n), c = "c" + std::to_string (n);
    if (kind == "sums")
      model.node ("Conv", {last, "w"}, {c}).node ("Add", {c, last}, {next});
    else if (kind == "readers")
      model.node ("Relu", {"x"}, {next});
    else if (kind == "scales" && n == 0)
      model.node (
          "Conv", {"x", "large"}, {next}, {{"pads", std::vector<int64_t> (4, 600)}});
    else if (kind == "scales")
      model.node ("Mul", {last, "one"}, {next});
    else if (kind == "gates")
      model.node ("Conv", {last, "w"}, {c})
          .node ("Sigmoid", {c}, {"g" + c})
          .node ("Mul", {c, "g" + c}, {next});
    else if (kind == "weights")
      model.node (
          "Conv", {"x", "large"}, {next}, {{"pads", std::vector<int64_t> (4, 600)}});
    else
      model.node ("Add", {last, "x"}, {next});
    all.push_back (next);
    last = next;
  }
  if (kind == "readers" || kind == "weights")
    model.node ("Concat", all, {"y"}, {{"axis", 0}});
  else
    model.node ("Identity", {last}, {"y"});
  return model;
}

/* Processor time of lowering such a graph and of the passes over it, in seconds */
double
time_of_passes (const std::string &kind, int count)
{
  std::shared_ptr<const Model> parsed = parse (model_of_many_nodes (kind, count));
  GError *error = nullptr;
  const clock_t begin = clock ();
  std::unique_ptr<Graph> graph = Lowering::run (*parsed, {}, &error);
  fail_unless (
      (graph == nullptr) == (kind == "weights" && count >= 3000)); /* of 4 MB each */
  if (graph)
    run_passes (*graph);
  const double took = double (clock () - begin) / CLOCKS_PER_SEC;
  g_clear_error (&error);
  return took;
}

/* Ten times the nodes take ten times as long, and not a hundred times. */
TEST_ROWS (test_inference_passes_take_linear_time,
    {"sums", "readers", "scales", "gates", "weights", "elements"})
{
  const std::string kind = row;
  const int count = kind == "scales" || kind == "weights" ? 3000 : 30000;
  const double few = time_of_passes (kind, count / 10),
               many = time_of_passes (kind, count);
  fail_unless (many < 30 * few + 0.2, "%d nodes take %g s, and %d of them %g s",
      count / 10, few, count, many);
}

/* The weights of a network may be transposed, scaled and cast at load, whatever their size. */
TEST (test_inference_folds_large_weights)
{
  const int64_t side = 3000;
  OnnxModel model;
  model.input ("x", {1, side}).output ("y", {});
  model.constant ("w", {side, side}, std::vector<float> (gsize (side * side), 0.5f));
  model.constant ("two", {}, {2});
  model.node ("Transpose", {"w"}, {"t"}).node ("Mul", {"t", "two"}, {"s"});
  model.node ("MatMul", {"x", "s"}, {"y"});
  lower (model);
}

TEST (test_inference_takes_constants_without_elements)
{
  OnnxModel model;
  model.input ("x", {2, 2}).output ("y", {2, 2}).output ("z", {2, 0});
  model.constant ("none", {0, 2}, std::vector<float> ()).constant ("shape", {2, 0});
  model.node ("Concat", {"x", "none"}, {"y"}, {{"axis", 0}});
  model.node ("ConstantOfShape", {"shape"}, {"flat"});
  model.node ("MatMul", {"x", "flat"}, {"z"});
  expect_near (run (model, {{1, 2, 3, 4}}), {1, 2, 3, 4}, 0);
}

/* Filters without elements, which a scale follows */
TEST (test_inference_takes_no_filters)
{
  OnnxModel model;
  model.input ("x", {1, 3, 4, 4}).output ("y", {});
  model.constant ("w", {0, 3, 1, 1}, std::vector<float> ()).constant ("two", {}, {2});
  model.node ("Conv", {"x", "w"}, {"c"}).node ("Mul", {"c", "two"}, {"y"});
  run_passes (*lower (model));
}

namespace {
/* Parameters of operators are numbers in the source of a kernel. */
void
expect_parameters (const std::vector<float> &values)
{
  for (const float value : values) {
    const double real = double (value);
    OnnxModel leaky, clip (9);
    leaky.input ("x", {4}).output ("y", {4});
    leaky.node ("LeakyRelu", {"x"}, {"y"}, {{"alpha", value}});
    expect_near (run (leaky, {{-1, -0.5f, 1, 0}}), {-real, -0.5 * real, 1, 0}, 0);
    clip.input ("x", {2}).output ("y", {2});
    clip.node ("Clip", {"x"}, {"y"}, {{"min", -value}, {"max", value}});
    expect_near (run (clip, {{-INFINITY, INFINITY}}), {-real, real}, 0);
  }
}
} // namespace

TEST (test_inference_keeps_small_and_large_parameters)
{
  expect_parameters ({3e-8f, 1e-30f, 3.14159274f, 1.7e38f});
}

/* A language with a decimal comma */
TEST (test_inference_parameters_do_not_depend_on_the_locale)
{
  Folder folder;
  const std::string command = "localedef --no-archive -i de_DE -f UTF-8 "
                              + folder.file ("de_DE.UTF-8") + " 2>/dev/null";
  g_setenv ("LOCPATH", folder.path.c_str (), TRUE);
  if (system (command.c_str ()) != 0 || !setlocale (LC_ALL, "de_DE.UTF-8")) {
    report_skip ("no locale of Germany");
    return;
  }
  fail_unless (strcmp (localeconv ()->decimal_point, ",") == 0);
  expect_parameters ({0.0625f});
  setlocale (LC_ALL, "C");
}

/* PoCL's compiler failed at it. */
TEST (test_inference_gru_of_one_unit)
{
  const std::vector<float> x = noise (4, 1), w = noise (3, 2), r = noise (3, 3);
  OnnxModel model;
  model.input ("x", {4, 1, 1}).output ("y", {1, 1, 1});
  model.constant ("w", {1, 3, 1}, w).constant ("r", {1, 3, 1}, r);
  const std::vector<std::string> activations = {"HardSigmoid", "Tanh"};
  model.node ("GRU", {"x", "w", "r"}, {"", "y"},
      {{"hidden_size", 1}, {"activations", activations}});
  double state = 0;
  for (const float level : x) {
    auto sum = [&] (gsize gate, double of) {
      return double (w[gate]) * double (level) + double (r[gate]) * of;
    };
    const double update = std::clamp (0.2 * sum (0, state) + 0.5, 0.0, 1.0),
                 reset = std::clamp (0.2 * sum (1, state) + 0.5, 0.0, 1.0);
    state = (1 - update) * std::tanh (sum (2, reset * state)) + update * state;
  }
  expect_near (run (model, {x}), {state}, 1e-5);
}

/* The bytes of a file are in memory once, and arrays of the model are parts of them. */
TEST (test_inference_reads_weights_once)
{
  const int64_t count = 16 << 20;
  Folder folder;
  OnnxModel model;
  model.input ("x", {1}).output ("y", {}).node ("Add", {"x", "w"}, {"y"});
  model.constant ("w", {count}, std::vector<float> (gsize (count), 1));
  const std::string file = folder.write ("net.onnx", model.bytes ());
  model = OnnxModel ();
  GError *error = nullptr;
  const gsize before = resident_kib ();
  std::shared_ptr<const Model> loaded = Model::load (file, &error);
  std::unique_ptr<Graph> graph = Lowering::run (*loaded, {}, &error);
  const gsize grown = resident_kib () - before;
  fail_unless (graph != nullptr);
  fail_unless (grown < 72 * 1024, "%zu KiB for a file of 64 MiB", grown);
}

static OnnxModel
residual_block ()
{
  OnnxModel model;
  model.input ("x", {1, 4, 6, 6}).output ("y", {1, 4, 6, 6});
  model.constant ("w", {4, 4, 3, 3}, noise (144, 1));
  for (const char *name : {"scale", "shift", "mean"})
    model.constant (name, {4}, noise (4, guint (name[1])));
  model.constant ("variance", {4}, {0.5f, 1, 2, 3});
  model.node ("Conv", {"x", "w"}, {"c"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  model.node ("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"n"});
  model.node ("Add", {"n", "x"}, {"s"}).node ("Relu", {"s"}, {"y"});
  return model;
}

TEST (test_inference_fuses_a_residual_block_into_one_convolution)
{
  std::unique_ptr<Graph> graph = lower (residual_block ());
  run_passes (*graph);
  fail_unless_equals_int (graph->operations.size (), 1);
  const auto *convolution = std::get_if<ConvolutionOp> (&graph->operations[0].what);
  fail_unless (convolution && convolution->activation == Activation::relu);
  fail_unless_equals_int (graph->operations[0].inputs.size (), 2);
}

/* The same block in double precision */
TEST (test_inference_residual_block_is_right)
{
  const std::vector<float> x = noise (144, 7), w = noise (144, 1), scale = noise (4, 'c'),
                           shift = noise (4, 'h'), mean = noise (4, 'e');
  const double variance[] = {0.5, 1, 2, 3};
  std::vector<double> expected;
  for (int f = 0; f < 4; f++)
    for (int y = 0; y < 6; y++)
      for (int column = 0; column < 6; column++) {
        double sum = 0;
        for (int c = 0; c < 4; c++)
          for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) {
              const int from_y = y + j - 1, from_x = column + i - 1;
              if (from_y >= 0 && from_y < 6 && from_x >= 0 && from_x < 6)
                sum += double (w[gsize (f * 36 + c * 9 + j * 3 + i)])
                       * double (x[gsize (c * 36 + from_y * 6 + from_x)]);
            }
        const gsize channel = gsize (f);
        sum = (sum - double (mean[channel])) / std::sqrt (variance[f] + 1e-5)
                  * double (scale[channel])
              + double (shift[channel]) + double (x[gsize (f * 36 + y * 6 + column)]);
        expected.push_back (std::max (sum, 0.0));
      }
  expect_near (run (residual_block (), {x}), expected, 2e-6);
  expect_near (run (residual_block (), {x}, Precision::half), expected, 5e-3);
}

/* Squeeze and excitation behind a depthwise convolution of one tap. `pools`: another operation
 * reads the result, so that its channels are adjacent in memory. */
struct Excited {
  gint64 channels, hidden, height, width, stride;
  bool pools;
};

static OnnxModel
squeeze_and_excite (const Excited &row, gint64 rows, gint64 columns)
{
  const gint64 c = row.channels, h = row.hidden;
  OnnxModel model;
  model.input ("x", {2, c, row.height, row.width}).output ("y", {2, c, rows, columns});
  model.constant ("w", {c, 1, 1, 1}, noise (gsize (c), 1));
  model.constant ("inner", {h, c, 1, 1}, noise (gsize (c * h), 2));
  model.constant ("inner_bias", {h}, noise (gsize (h), 3));
  model.constant ("outer", {c, h, 1, 1}, noise (gsize (c * h), 4));
  model.constant ("outer_bias", {c}, noise (gsize (c), 5));
  model.node (
      "Conv", {"x", "w"}, {"d"}, {{"group", c}, {"strides", {row.stride, row.stride}}});
  model.node ("GlobalAveragePool", {"d"}, {"m"});
  model.node ("Conv", {"m", "inner", "inner_bias"}, {"i"});
  model.node ("LeakyRelu", {"i"}, {"l"}, {{"alpha", 0.25f}});
  model.node ("Conv", {"l", "outer", "outer_bias"}, {"o"}).node ("Sigmoid", {"o"}, {"s"});
  model.node ("Mul", {"s", "d"}, {row.pools ? "e" : "y"});
  if (row.pools)
    model.node ("MaxPool", {"e"}, {"y"}, {{"kernel_shape", {1, 1}}});
  return model;
}

/* The same of one image in double precision. `y` has its means, and then the result. */
static void
excite_image (const Excited &row, std::vector<std::vector<double>> &y)
{
  const std::vector<float> inner = noise (gsize (row.channels * row.hidden), 2),
                           inner_bias = noise (gsize (row.hidden), 3),
                           outer = noise (gsize (row.channels * row.hidden), 4),
                           outer_bias = noise (gsize (row.channels), 5);
  std::vector<double> means, hidden;
  for (const auto &plane : y)
    means.push_back (
        std::accumulate (plane.begin (), plane.end (), 0.0) / double (plane.size ()));
  for (gsize h = 0; h < inner_bias.size (); h++) {
    double sum = double (inner_bias[h]);
    for (gsize c = 0; c < means.size (); c++)
      sum += double (inner[h * means.size () + c]) * means[c];
    hidden.push_back (sum < 0 ? sum / 4 : sum);
  }
  for (gsize c = 0; c < means.size (); c++) {
    double sum = double (outer_bias[c]);
    for (gsize h = 0; h < hidden.size (); h++)
      sum += double (outer[c * hidden.size () + h]) * hidden[h];
    for (double &value : y[c])
      value /= 1 + std::exp (-sum);
  }
}

static void
check_excited (const Excited &row)
{
  const gint64 rows = (row.height + row.stride - 1) / row.stride,
               columns = (row.width + row.stride - 1) / row.stride;
  const std::vector<float> x = noise (
                               gsize (2 * row.channels * row.height * row.width), 7),
                           w = noise (gsize (row.channels), 1);
  std::vector<double> expected;
  for (gint64 image = 0; image < 2; image++) {
    std::vector<std::vector<double>> y (gsize (row.channels));
    for (gint64 c = 0; c < row.channels; c++)
      for (gint64 n = 0; n < rows * columns; n++)
        y[gsize (c)].push_back (
            double (w[gsize (c)])
            * double (x[gsize (
                ((image * row.channels + c) * row.height + n / columns * row.stride)
                    * row.width
                + n % columns * row.stride)]));
    excite_image (row, y);
    for (const auto &plane : y)
      expected.insert (expected.end (), plane.begin (), plane.end ());
  }
  const OnnxModel model = squeeze_and_excite (row, rows, columns);
  gsize steps;
  expect_near (run (model, {x}, Precision::single, &steps), expected, 3e-6);
  expect_near (run (model, {x}, Precision::half), expected, 5e-3);
  if (runs_as_gpu () && row.pools && row.channels % 4 == 0)
    fail_unless_equals_int (steps, rows * columns <= 256 ? 3 : 4);
}

TEST (test_inference_squeezes_and_excites)
{
  for (const Excited &row : {Excited{40, 10, 14, 14, 1, true}, {7, 3, 5, 9, 2, true},
           {68, 5, 1, 1, 1, true}, {13, 5, 6, 6, 1, true}, {12, 4, 23, 17, 1, true},
           {1100, 33, 4, 3, 2, true}, {5, 1, 20, 19, 1, false}})
    check_excited (row);
}

TEST (test_inference_chain_of_elements_is_one_kernel)
{
  OnnxModel model;
  model.input ("x", {2, 3, 5}).input ("z", {3, 1}).output ("y", {2, 3, 5});
  model.constant ("two", {1}, {2});
  model.node ("Mul", {"x", "z"}, {"a"}).node ("Add", {"a", "two"}, {"b"});
  model.node ("Tanh", {"b"}, {"c"}).node ("Sub", {"c", "x"}, {"y"});
  const std::vector<float> x = noise (30, 3), z = noise (3, 4);
  std::vector<double> expected;
  for (gsize n = 0; n < 30; n++)
    expected.push_back (
        std::tanh (double (x[n]) * double (z[n / 5 % 3]) + 2) - double (x[n]));
  gsize steps;
  expect_near (run (model, {x, z}, Precision::single, &steps), expected, 1e-6);
  fail_unless_equals_int (steps, 1);
}

/* An output of 32 bits that an operation of 16 bits reads, too */
TEST (test_inference_output_is_read_again_in_half)
{
  OnnxModel model;
  model.input ("x", {1, 1, 16, 16})
      .output ("y", {1, 1, 32, 32})
      .output ("c", {1, 1, 16, 16});
  model.constant ("w", {1, 1, 1, 1}, {0.5f}).constant ("scales", {4}, {1, 1, 2, 2});
  model.node ("Conv", {"x", "w"}, {"c"});
  model.node ("Resize", {"c", "", "scales"}, {"y"}, {{"mode", "nearest"}});
  const std::vector<float> x = noise (256, 1);
  std::vector<double> expected;
  for (gsize row = 0; row < 32; row++)
    for (gsize column = 0; column < 32; column++)
      expected.push_back (0.5 * double (x[row / 2 * 16 + column / 2]));
  expect_near (run (model, {x}, Precision::half), expected, 1e-3);
}

/* Branches write their parts of a concatenation themselves. */
TEST (test_inference_concatenates_without_copies)
{
  OnnxModel model;
  model.input ("x", {1, 8, 5, 5}).output ("y", {1, 8, 5, 5});
  for (const char *name : {"a", "b", "c", "d"})
    model.constant (std::string ("w") + name, {8, name[0] == 'd' ? 24 : 8, 1, 1},
        noise (name[0] == 'd' ? 192 : 64, guint (name[0])));
  model.node ("Conv", {"x", "wa"}, {"a"}).node ("Conv", {"a", "wb"}, {"b"});
  model.node ("Concat", {"a", "b"}, {"ab"}, {{"axis", 1}});
  model.constant ("w2", {8, 16, 1, 1}, noise (128, 9));
  model.node ("Conv", {"ab", "w2"}, {"c"});
  model.node ("Concat", {"ab", "c"}, {"abc"}, {{"axis", 1}});
  model.node ("Conv", {"abc", "wd"}, {"y"});
  gsize steps;
  const std::vector<float> x = noise (200, 5);
  const std::vector<float> got = run (model, {x}, Precision::single, &steps);
  fail_unless_equals_int (steps, 4); /* the convolutions */

  auto convolve = [] (const std::vector<double> &from, const std::vector<float> &w) {
    std::vector<double> to (200);
    const gsize channels = from.size () / 25;
    for (gsize f = 0; f < 8; f++)
      for (gsize pixel = 0; pixel < 25; pixel++)
        for (gsize c = 0; c < channels; c++)
          to[f * 25 + pixel] += double (w[f * channels + c]) * from[c * 25 + pixel];
    return to;
  };
  auto joined = [] (std::vector<double> first, const std::vector<double> &second) {
    first.insert (first.end (), second.begin (), second.end ());
    return first;
  };
  const std::vector<double> a = convolve ({x.begin (), x.end ()}, noise (64, 'a'));
  const std::vector<double> ab = joined (a, convolve (a, noise (64, 'b')));
  const std::vector<double> abc = joined (ab, convolve (ab, noise (128, 9)));
  expect_near (got, convolve (abc, noise (192, 'd')), 1e-5);
}

/* Transposed convolutions, by the definition: each input adds its weights to the output.
 * Their parts of a concatenation lie between each other's channels in memory. */
struct Transposed {
  gint64 groups, filters, window, stride, before, after, beyond;
};

static void
check_transposed (const Transposed &row, Precision precision, double tolerance)
{
  const gint64 channels = 4, height = 5, width = 6, per_group = row.filters / row.groups;
  const gint64 less = row.window - row.before - row.after + row.beyond;
  const gint64 rows = (height - 1) * row.stride + less,
               columns = (width - 1) * row.stride + less;
  const std::vector<float> x = noise (gsize (channels * height * width), 21),
                           w = noise (
                               gsize (channels * per_group * row.window * row.window),
                               22),
                           bias = noise (gsize (row.filters), 23);
  OnnxModel model;
  model.input ("x", {1, channels, height, width})
      .output ("y", {1, 2 * row.filters, rows, columns});
  model.constant ("w", {channels, per_group, row.window, row.window}, w)
      .constant ("bias", {row.filters}, bias);
  const OnnxAttribute strides = {"strides", {row.stride, row.stride}},
                      pads = {"pads", {row.before, row.before, row.after, row.after}},
                      more = {"output_padding", {row.beyond, row.beyond}},
                      groups = {"group", row.groups};
  model.node ("ConvTranspose", {"x", "w", "bias"}, {"a"}, {strides, pads, more, groups})
      .node ("ConvTranspose", {"x", "w", "bias"}, {"b"}, {strides, pads, more, groups})
      .node ("Concat", {"a", "b"}, {"ab"}, {{"axis", 1}})
      .node ("MaxPool", {"ab"}, {"y"}, {{"kernel_shape", {1, 1}}});

  std::vector<double> expected (gsize (row.filters * rows * columns));
  for (gint64 f = 0; f < row.filters; f++)
    for (gint64 n = 0; n < rows * columns; n++)
      expected[gsize (f * rows * columns + n)] = double (bias[gsize (f)]);
  for (gint64 c = 0; c < channels; c++)
    for (gint64 of_group = 0; of_group < per_group; of_group++)
      for (gint64 at = 0; at < height * width; at++)
        for (gint64 tap = 0; tap < row.window * row.window; tap++) {
          const gint64 f = c / (channels / row.groups) * per_group + of_group;
          const gint64 i = at / width * row.stride - row.before + tap / row.window,
                       j = at % width * row.stride - row.before + tap % row.window;
          if (i >= 0 && i < rows && j >= 0 && j < columns)
            expected[gsize ((f * rows + i) * columns + j)] +=
                double (x[gsize (c * height * width + at)])
                * double (w[gsize (
                    (c * per_group + of_group) * row.window * row.window + tap)]);
        }
  const std::vector<double> once = expected;
  expected.insert (expected.end (), once.begin (), once.end ());
  expect_near (run (model, {x}, precision), expected, tolerance);
}

static const Transposed transposed_cases[] = {{1, 3, 2, 2, 0, 0, 0},
    {1, 20, 3, 2, 1, 1, 1}, {2, 6, 4, 2, 1, 1, 0}, {4, 4, 5, 2, 4, 3, 0},
    {1, 2, 2, 3, 0, 0, 1}};

/* One convolution makes the rows and columns as channels, and a copy puts them in order. */
TEST (test_inference_transposed_convolution_takes_the_activation)
{
  const std::vector<float> x = noise (12, 41), w = noise (8, 42);
  OnnxModel model;
  model.input ("x", {1, 2, 2, 3}).output ("y", {1, 1, 4, 6});
  model.constant ("w", {2, 1, 2, 2}, w);
  model.node ("ConvTranspose", {"x", "w"}, {"a"}, {{"strides", {2, 2}}})
      .node ("Sigmoid", {"a"}, {"y"});
  std::vector<double> expected;
  for (gsize row = 0; row < 4; row++)
    for (gsize column = 0; column < 6; column++) {
      const gsize from = row / 2 * 3 + column / 2, tap = row % 2 * 2 + column % 2;
      const double sum =
          double (x[from]) * double (w[tap]) + double (x[from + 6]) * double (w[tap + 4]);
      expected.push_back (1 / (1 + std::exp (-sum)));
    }
  gsize steps;
  expect_near (run (model, {x}, Precision::single, &steps), expected, 1e-6);
  fail_unless_equals_int (steps, 2);
}

TEST (test_inference_transposed_convolutions_are_right)
{
  for (const Transposed &row : transposed_cases)
    check_transposed (row, Precision::single, 1e-5);
}

/* Rows of 20 or 40 halves begin at no multiple of 16 bytes. */
TEST (test_inference_transposed_convolutions_of_halves_are_right)
{
  for (const Transposed &row : transposed_cases)
    check_transposed (row, Precision::half, 1e-2);
}

/* A window as large as the input */
TEST_ROWS (test_inference_pools_whole_images, {"AveragePool", "MaxPool"})
{
  const std::vector<float> x = noise (2 * 3 * 7 * 9, 31);
  OnnxModel model;
  model.input ("x", {2, 3, 7, 9}).output ("y", {2, 3, 1, 1});
  model.node (row, {"x"}, {"y"}, {{"kernel_shape", {7, 9}}});
  std::vector<double> expected;
  for (auto plane = x.begin (); plane < x.end (); plane += 63)
    expected.push_back (*row == 'A' ? std::accumulate (plane, plane + 63, 0.0) / 63
                                    : double (*std::max_element (plane, plane + 63)));
  expect_near (run (model, {x}), expected, 1e-6);
}

namespace {
struct Pooling {
  std::vector<gint64> pads; /* top, left, bottom, right */
  int counts_padding, ceil_mode;
};

/* Number of outputs of windows of 3, two apart */
gint64
windows_of (gint64 length, gint64 before, gint64 after, bool rounds_up)
{
  const gint64 room = length + before + after - 3;
  gint64 count = (room + (rounds_up ? 1 : 0)) / 2 + 1;
  while ((count - 1) * 2 >= length + before)
    count--; /* it would begin behind the input */
  return count;
}
} // namespace

/* Means of 3x3 windows, by ONNX's definition */
TEST (test_inference_average_pool_counts_padding_of_each_side)
{
  const gint64 height = 5, width = 6;
  const std::vector<float> input = noise (height * width, 61);
  for (const Pooling &row : {Pooling{{0, 0, 1, 2}, 1, 0}, Pooling{{0, 0, 1, 2}, 1, 1},
           Pooling{{0, 0, 1, 2}, 0, 1}, Pooling{{2, 1, 0, 0}, 1, 0},
           Pooling{{2, 1, 0, 0}, 1, 1}, Pooling{{1, 0, 2, 1}, 1, 1}}) {
    const gint64 top = row.pads[0], left = row.pads[1], bottom = row.pads[2],
                 right = row.pads[3];
    const gint64 rows = windows_of (height, top, bottom, row.ceil_mode),
                 columns = windows_of (width, left, right, row.ceil_mode);
    std::vector<double> expected;
    for (gint64 n = 0; n < rows * columns; n++) {
      double sum = 0, count = 0;
      for (gint64 k = 0; k < 9; k++) {
        const gint64 y = n / columns * 2 - top + k / 3,
                     x = n % columns * 2 - left + k % 3;
        const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
        sum += is_inside ? double (input[gsize (y * width + x)]) : 0;
        count +=
            is_inside || (row.counts_padding && y < height + bottom && x < width + right);
      }
      expected.push_back (sum / count);
    }
    OnnxModel model;
    model.input ("x", {1, 1, height, width}).output ("y", {1, 1, rows, columns});
    model.node ("AveragePool", {"x"}, {"y"},
        {{"kernel_shape", {3, 3}}, {"strides", {2, 2}},
            {"pads", std::vector<int64_t> (row.pads.begin (), row.pads.end ())},
            {"count_include_pad", row.counts_padding}, {"ceil_mode", row.ceil_mode}});
    expect_near (run (model, {input}), expected, 1e-6);
  }
}

/* Convolves with 3x3 taps and a border of zeros of one element, by the definition.
 * `number` returns an element of the input, `height` x `width`. */
static std::vector<double>
convolved (const std::function<double (gint64, gint64)> &number, gint64 height,
    gint64 width, const std::vector<float> &taps)
{
  std::vector<double> result;
  for (gint64 y = 0; y < height; y++)
    for (gint64 x = 0; x < width; x++) {
      double sum = 0;
      for (gint64 tap = 0; tap < 9; tap++) {
        const gint64 row = y + tap / 3 - 1, column = x + tap % 3 - 1;
        if (row >= 0 && row < height && column >= 0 && column < width)
          sum += double (taps[gsize (tap)]) * number (row, column);
      }
      result.push_back (sum);
    }
  return result;
}

/* Rows and columns that a Pad or a Gather takes away are none that the convolution sees. */
TEST (test_inference_convolution_does_not_read_what_was_cropped)
{
  const std::vector<float> x = noise (6 * 7, 51), taps = noise (9, 52);
  const std::vector<gint64> rows[] = {/* top, left, bottom, right */
      {1, 1, -1, -2}, {1, 0, -1, 0}, {0, 2, 0, -1}, {-1, 0, 1, 0}, {2, 1, -3, 1},
      {-1, -2, -1, -1}, {1, 2, 1, 0}, {0, 0, 0, -1}};
  for (const std::vector<gint64> &pads : rows) {
    const gint64 height = 6 + pads[0] + pads[2], width = 7 + pads[1] + pads[3];
    OnnxModel model;
    model.input ("x", {1, 1, 6, 7}).output ("y", {1, 1, height, width});
    model.constant ("w", {1, 1, 3, 3}, taps);
    model.constant (
        "pads", std::vector<int64_t>{0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]});
    model.node ("Pad", {"x", "pads"}, {"p"})
        .node ("Conv", {"p", "w"}, {"y"}, {{"pads", {1, 1, 1, 1}}});
    auto number = [&] (gint64 y, gint64 column) {
      const gint64 row = y - pads[0], from = column - pads[1];
      return row >= 0 && row < 6 && from >= 0 && from < 7
                 ? double (x[gsize (row * 7 + from)])
                 : 0;
    };
    expect_near (run (model, {x}), convolved (number, height, width, taps), 1e-6);
  }
  OnnxModel model;
  model.input ("x", {1, 1, 6, 7}).output ("y", {1, 1, 3, 7});
  model.constant ("w", {1, 1, 3, 3}, taps).constant ("first", {0, 1, 2});
  model.node ("Gather", {"x", "first"}, {"p"}, {{"axis", 2}})
      .node ("Conv", {"p", "w"}, {"y"}, {{"pads", {1, 1, 1, 1}}});
  auto number = [&] (gint64 y, gint64 column) {
    return double (x[gsize (y * 7 + column)]);
  };
  expect_near (run (model, {x}), convolved (number, 3, 7, taps), 1e-6);
}

/* Negative pads crop before the others repeat what is left. Values of onnxruntime 1.32 */
TEST (test_inference_pads_what_is_left_after_cropping)
{
  const struct {
    const char *mode;
    int64_t before, after;
    std::vector<double> expected;
  } rows[] = {{"edge", 2, -3, {1, 1, 1, 2}}, {"edge", -1, 3, {2, 3, 4, 5, 5, 5, 5}},
      {"reflect", 1, -1, {2, 1, 2, 3, 4}}, {"reflect", -2, 2, {3, 4, 5, 4, 3}},
      {"wrap", 1, -1, {4, 1, 2, 3, 4}}, {"wrap", 2, -3, {1, 2, 1, 2}},
      {"wrap", -1, 3, {2, 3, 4, 5, 2, 3, 4}}, {"constant", 2, -3, {0, 0, 1, 2}}};
  for (const auto &row : rows) {
    OnnxModel model (19);
    model.input ("x", {5}).output ("y", {int64_t (row.expected.size ())});
    model.constant ("pads", {row.before, row.after});
    model.node ("Pad", {"x", "pads"}, {"y"}, {{"mode", row.mode}});
    expect_near (run (model, {{1, 2, 3, 4, 5}}), row.expected, 0);
  }
}

/* A scale is no finite number: its product with a sum differs from the sum of products. */
TEST (test_inference_scales_by_infinity_after_the_sum)
{
  OnnxModel model;
  model.input ("x", {1, 2, 1, 2}).output ("y", {1, 1, 1, 2});
  model.constant ("w", {1, 2, 1, 1}, {3, -1}).constant ("zero", {1, 1, 1, 1}, {0});
  model.node ("Conv", {"x", "w"}, {"s"}).node ("Div", {"s", "zero"}, {"y"});
  const std::vector<float> got = run (model, {{1, -1, 2, 2}}); /* sums 1 and -5 */
  fail_unless (got[0] == INFINITY && got[1] == -INFINITY, "%g, %g", double (got[0]),
      double (got[1]));
}

/* --- NaN and infinite values --- */

static const double nan_ = std::nan ("");

static void
expect_same (const std::vector<float> &got, const std::vector<double> &expected,
    double tolerance, const std::string &what)
{
  fail_unless_equals_int (got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++) {
    const double a = double (got[n]), b = expected[n];
    fail_unless (a == b || (std::isnan (a) && std::isnan (b))
                     || std::fabs (a - b) <= tolerance * std::fabs (b),
        "%s: element %zu is %g, expected %g", what.c_str (), n, a, b);
  }
}

/* An activation, and what NumPy and onnxruntime 1.32 give for these */
static const float not_only_finite[] = {NAN, INFINITY, -INFINITY, -2.5f, 1.5f, 0.25f};
struct KeepsNan {
  const char *op;
  std::vector<std::string> operands;
  std::vector<double> expected;
};
static const KeepsNan keeps_nan[] = {
    {"Relu", {"x"}, {nan_, INFINITY, 0, 0, 1.5, 0.25}},
    {"Clip", {"x", "low", "high"}, {nan_, 1, -1, -1, 1, 0.25}},
    {"Clip", {"x", "", "high"}, {nan_, 1, -3.40282347e38, -2.5, 1, 0.25}},
    {"HardSigmoid", {"x"}, {nan_, 1, 0, 0, 0.8, 0.55}},
    {"HardSwish", {"x"}, {nan_, INFINITY, nan_, -2.5 / 12, 1.125, 0.8125 / 6}},
    {"LeakyRelu", {"x"}, {nan_, INFINITY, -INFINITY, -0.025, 1.5, 0.25}},
    {"Sigmoid", {"x"}, {nan_, 1, 0, 0.0758581800, 0.817574476, 0.562176501}},
    {"Tanh", {"x"}, {nan_, 1, -1, -0.986614298, 0.905148254, 0.244918662}},
    {"Elu", {"x"}, {nan_, INFINITY, -1, -0.917915001, 1.5, 0.25}},
    {"PRelu", {"x", "high"}, {nan_, INFINITY, -INFINITY, -2.5, 1.5, 0.25}},
    {"Max", {"x", "high"}, {nan_, INFINITY, 1, 1, 1.5, 1}},
    {"Max", {"high", "x"}, {nan_, INFINITY, 1, 1, 1.5, 1}},
    {"Min", {"x", "high"}, {nan_, 1, -INFINITY, -2.5, 1, 0.25}},
    {"Min", {"high", "x"}, {nan_, 1, -INFINITY, -2.5, 1, 0.25}},
};

/* The layers before the activation. Channels of the input are equal, so sums of the
 * convolutions are exact: no zero meets an infinite value. */
static const struct Before {
  const char *name;
  Precision precision;
  gsize rows; /* of keeps_nan: convolutions take only these in */
  gint64 channels, groups;
  float weight; /* 0: no convolution */
} before_activation[] = {
    {"alone", Precision::single, G_N_ELEMENTS (keeps_nan), 3, 0, 0},
    {"alone", Precision::half, 2, 8, 0, 0},
    {"after others", Precision::single, 2, 8, 0, 0},
    {"after a dense convolution", Precision::single, 8, 16, 1, 1.0f / 16},
    {"after a dense convolution", Precision::half, 8, 16, 1, 1.0f / 16},
    {"after a depthwise convolution", Precision::single, 8, 8, 8, 1},
    {"after a sum", Precision::half, 8, 8, 1, 1.0f / 16},
};

static void
check_keeps_nan (const KeepsNan &row, const Before &before)
{
  const gint64 channels = before.channels,
               per_group = channels / std::max (before.groups, gint64 (1));
  const gsize pixels = 6 * 5, count = gsize (channels) * pixels;
  OnnxModel model;
  model.input ("x", {1, channels, 5, 6}).output ("y", {1, channels, 5, 6});
  model.constant ("low", {}, {-1}).constant ("high", {}, {1});
  model.constant ("w", {channels, per_group, 1, 1},
      std::vector<float> (gsize (channels * per_group), before.weight));
  std::vector<std::string> operands = row.operands;
  const std::string name = before.name;
  if (name != "alone")
    std::replace (
        operands.begin (), operands.end (), std::string ("x"), std::string ("z"));
  if (before.weight == 0)
    model.node ("Neg", {"x"}, {"a"}).node ("Neg", {"a"}, {"z"});
  else
    model.node ("Conv", {"x", "w"}, {name == "after a sum" ? "c" : "z"},
        {{"group", before.groups}});
  if (name == "after a sum") /* half of the value each */
    model.constant ("half", {1}, {0.5f})
        .node ("Mul", {"x", "half"}, {"b"})
        .node ("Add", {"c", "b"}, {"z"});
  model.node (row.op, operands, {"y"});
  std::vector<float> x (count);
  std::vector<double> expected (count);
  for (gsize n = 0; n < count; n++) {
    x[n] = not_only_finite[n % 6];
    expected[n] = row.expected[n % 6];
  }
  const bool half = before.precision == Precision::half;
  if (half) /* limits of 16 bits */
    std::replace (expected.begin (), expected.end (), -3.40282347e38, double (-INFINITY));
  expect_same (run (model, {x}, before.precision), expected, half ? 2e-3 : 2e-6,
      std::string (row.op) + " " + before.name + (half ? " of halves" : ""));
}

TEST (test_inference_activations_keep_nan)
{
  for (const Before &before : before_activation)
    for (gsize n = 0; n < before.rows; n++)
      check_keeps_nan (keeps_nan[n], before);
}

/* Constants are computed on the host. */
TEST (test_inference_constants_keep_nan)
{
  for (const KeepsNan &row : keeps_nan) {
    OnnxModel model;
    model.input ("zero", {6}).output ("y", {6});
    model.constant ("low", {}, {-1}).constant ("high", {}, {1});
    model.constant ("x", {6}, {not_only_finite, not_only_finite + 6});
    model.node (row.op, row.operands, {"a"}).node ("Add", {"a", "zero"}, {"y"});
    expect_same (run (model, {std::vector<float> (6)}), row.expected, 2e-6, row.op);
  }
  for (const char *op : {"ReduceMax", "ReduceMin"}) {
    OnnxModel model;
    model.input ("zero", {2}).output ("y", {2});
    model.constant ("x", {2, 3}, {1, NAN, 3, -INFINITY, 2, -INFINITY});
    model.node (op, {"x"}, {"a"}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", 0}})
        .node ("Add", {"a", "zero"}, {"y"});
    expect_same (run (model, {{0, 0}}), {nan_, op[7] == 'a' ? 2 : -INFINITY}, 0, op);
  }
}

/* A NaN anywhere in a window is its maximum, as of NumPy. */
TEST (test_inference_pooling_keeps_nan)
{
  const float square[] = {NAN, 1, -INFINITY, -INFINITY, 4, 5, -INFINITY, NAN, 8, NAN, 10,
      11, NAN, 13, 14, INFINITY, 3, 2, 1, 0};
  const double maxima[] = {nan_, nan_, nan_, INFINITY};
  for (const gint64 channels : {1, 8, 16}) {
    std::vector<float> x;
    std::vector<double> expected;
    for (gint64 c = 0; c < channels; c++) {
      x.insert (x.end (), square, square + 16);
      expected.insert (expected.end (), maxima, maxima + 4);
    }
    OnnxModel model;
    model.input ("x", {1, channels, 4, 4}).output ("y", {1, channels, 2, 2});
    const std::vector<OnnxAttribute> window = {
        {"kernel_shape", {2, 2}}, {"strides", {2, 2}}};
    model.node ("MaxPool", {"x"}, {"y"}, window);
    for (const Precision precision : {Precision::single, Precision::half})
      expect_same (run (model, {x}, precision), expected, 0, "MaxPool");
  }
  for (const char *op :
      {"GlobalMaxPool", "ReduceMax", "ReduceMin", "Softmax", "LogSoftmax"}) {
    OnnxModel model;
    model.input ("x", {1, 3, 20}).output ("y", {1, 3, 20});
    model.node (op, {"x"}, {"z"}).constant ("zeros", {1, 3, 20}, std::vector<float> (60));
    model.node ("Add", {"z", "zeros"}, {"y"});
    std::vector<float> x;
    for (int line = 0; line < 3; line++)
      x.insert (x.end (), square, square + 20);
    expect_same (run (model, {x}), std::vector<double> (60, nan_), 0, op);
  }
}

/* --- resizing --- */

/* Lengths and values of onnxruntime 1.32 for the squares of 0, 1, 2 … */
static const struct Resized {
  const char *mode, *coordinates;
  gint64 length;
  float scale;
  std::vector<double> expected;
} resized[] = {
    {"nearest", "half_pixel", 10, 0.7f, {0, 4, 9, 16, 36, 49, 81}},
    {"linear", "half_pixel", 10, 0.7f,
        {0.2142857, 2.928571, 9.5, 20.5, 35.21429, 54.35714, 77.35714}},
    {"cubic", "half_pixel", 10, 0.7f,
        {0.109055, 2.485789, 9.599491, 20.125, 34.8021, 54.50474, 78.17192}},
    {"nearest", "align_corners", 10, 0.7f, {0, 1, 9, 16, 36, 49, 81}},
    {"linear", "align_corners", 10, 0.7f, {0, 2.5, 9, 20.5, 36, 56.5, 81}},
    {"cubic", "align_corners", 10, 0.7f, {0, 2.125, 9, 20.125, 36, 56.125, 81}},
    {"nearest", "asymmetric", 10, 0.7f, {0, 1, 9, 16, 36, 49, 81}},
    {"linear", "asymmetric", 10, 0.7f,
        {0, 2.285714, 8.285715, 18.57143, 32.85714, 51.14286, 73.71428}},
    {"cubic", "asymmetric", 10, 0.7f,
        {0, 1.970845, 7.883377, 18.6589, 32.06997, 51.61516, 75.04371}},
    {"nearest", "half_pixel_symmetric", 10, 0.7f, {0, 4, 9, 16, 36, 49, 81}},
    {"linear", "half_pixel_symmetric", 10, 0.7f,
        {0.2142857, 2.928572, 9.5, 20.5, 35.21429, 54.35714, 77.35714}},
    {"cubic", "half_pixel_symmetric", 10, 0.7f,
        {0.109055, 2.485787, 9.599491, 20.125, 34.8021, 54.50474, 78.17192}},
    {"nearest", "half_pixel", 10, 1.3f, {0, 1, 1, 4, 9, 16, 16, 25, 36, 49, 64, 64, 81}},
    {"linear", "half_pixel", 10, 1.3f,
        {0, 0.6538461, 2.269231, 4.961538, 8.807693, 14.11538, 20.5, 27.96154, 36.5, 46.5,
            57.65385, 69.88462, 81}},
    {"cubic", "half_pixel", 10, 1.3f,
        {-0.06771994, 0.3382874, 1.959434, 4.967512, 8.666876, 13.50245, 20.125, 28.16585,
            36.6664, 45.64571, 57.0061, 71.2535, 82.15121}},
    {"nearest", "align_corners", 10, 1.3f,
        {0, 1, 1, 4, 9, 16, 16, 25, 36, 49, 49, 64, 81}},
    {"linear", "align_corners", 10, 1.3f,
        {0, 0.75, 2.5, 5.25, 9, 14.25, 20.5, 27.75, 36, 45.75, 56.5, 68.25, 81}},
    {"cubic", "align_corners", 10, 1.3f,
        {0, 0.4570312, 2.125, 5.203125, 9, 13.64062, 20.125, 27.98438, 36, 44.85938,
            56.125, 69.43359, 81}},
    {"nearest", "asymmetric", 10, 1.3f, {0, 1, 4, 4, 9, 16, 25, 25, 36, 49, 64, 64, 81}},
    {"linear", "asymmetric", 10, 1.3f,
        {0, 0.7692308, 2.615385, 5.538462, 9.538462, 14.92308, 21.53846, 29.23077, 38, 48,
            59.38462, 71.84615, 81}},
    {"cubic", "asymmetric", 10, 1.3f,
        {0, 0.4858896, 2.21393, 5.423749, 9.642227, 14.41238, 20.93763, 29.17614,
            38.39053, 47.50294, 58.45062, 73.27039, 82.74103}},
    {"nearest", "half_pixel_symmetric", 10, 1.3f,
        {0, 1, 1, 4, 9, 16, 16, 25, 36, 49, 64, 64, 81}},
    {"linear", "half_pixel_symmetric", 10, 1.3f,
        {0, 0.6538462, 2.269231, 4.961538, 8.807693, 14.11539, 20.5, 27.96154, 36.5, 46.5,
            57.65385, 69.88462, 81}},
    {"cubic", "half_pixel_symmetric", 10, 1.3f,
        {-0.06771994, 0.3382875, 1.959434, 4.967512, 8.666876, 13.50245, 20.125, 28.16585,
            36.6664, 45.64571, 57.0061, 71.2535, 82.15121}},
    {"nearest", "half_pixel", 4, 0.6f, {0, 4}},
    {"linear", "half_pixel", 4, 0.6f, {0.3333333, 4}},
    {"cubic", "half_pixel", 4, 0.6f, {0.14815, 4}},
    {"nearest", "pytorch_half_pixel", 4, 0.6f, {0, 4}},
    {"linear", "pytorch_half_pixel", 4, 0.6f, {0.3333333, 4}},
    {"cubic", "pytorch_half_pixel", 4, 0.6f, {0.14815, 4}},
    {"nearest", "align_corners", 4, 0.6f, {0, 9}},
    {"linear", "align_corners", 4, 0.6f, {0, 9}},
    {"cubic", "align_corners", 4, 0.6f, {0, 9}},
    {"nearest", "asymmetric", 4, 0.6f, {0, 4}},
    {"linear", "asymmetric", 4, 0.6f, {0, 3}},
    {"cubic", "asymmetric", 4, 0.6f, {0, 2.555555}},
    {"nearest", "half_pixel_symmetric", 4, 0.6f, {1, 4}},
    {"linear", "half_pixel_symmetric", 4, 0.6f, {0.6666667, 5.666666}},
    {"cubic", "half_pixel_symmetric", 4, 0.6f, {0.3518516, 5.907411}},
    {"nearest", "pytorch_half_pixel", 4, 0.3f, {0}},
    {"linear", "pytorch_half_pixel", 4, 0.3f, {0}},
    {"cubic", "pytorch_half_pixel", 4, 0.3f, {0}},
    {"nearest", "align_corners", 4, 0.3f, {0}},
    {"linear", "align_corners", 4, 0.3f, {0}},
    {"cubic", "align_corners", 4, 0.3f, {0}},
    {"nearest", "", 10, 0.7f, {0, 4, 9, 25, 36, 64, 81}},
    {"nearest", "", 10, 1.3f, {0, 0, 1, 4, 9, 9, 16, 25, 36, 36, 49, 64, 81}},
    {"linear", "", 10, 0.7f,
        {0, 2.285714, 8.285715, 18.57143, 32.85714, 51.14286, 73.71428}},
    {"linear", "", 10, 1.3f,
        {0, 0.7692308, 2.615385, 5.538462, 9.538462, 14.92308, 21.53846, 29.23077, 38, 48,
            59.38462, 71.84615, 81}},
};

TEST (test_inference_resizes_as_onnxruntime)
{
  for (const Resized &row : resized) {
    const bool is_old = !*row.coordinates;
    const std::string op = is_old && row.scale > 1 ? "Upsample" : "Resize";
    OnnxModel model (!is_old ? 19 : op == "Upsample" ? 9 : 10);
    model.input ("x", {1, 1, 1, row.length})
        .output ("y", {1, 1, 1, gint64 (row.expected.size ())});
    model.constant ("scales", {4}, {1, 1, 1, row.scale});
    if (is_old)
      model.node (op.c_str (), {"x", "scales"}, {"y"}, {{"mode", row.mode}});
    else
      model.node ("Resize", {"x", "", "scales"}, {"y"},
          {{"mode", row.mode}, {"coordinate_transformation_mode", row.coordinates}});
    std::vector<float> x;
    for (gint64 n = 0; n < row.length; n++)
      x.push_back (float (n * n));
    expect_near (run (model, {x}), row.expected, 2e-6);
  }
}

/* The product is rounded to float32 before it is cut to a whole number. */
TEST (test_inference_resizes_by_products_of_float32)
{
  const struct {
    gint64 length;
    float scale;
    gsize expected;
  } rows[] = {{20, 0.9f, 18}, {640, 0.35f, 224}, {1000, 0.57f, 570}, {10, 0.69f, 6}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.input ("x", {1, 1, row.length, 1})
        .output ("y", {1, 1, gint64 (row.expected), 1});
    model.constant ("scales", {4}, {1, 1, row.scale, 1});
    model.node ("Resize", {"x", "", "scales"}, {"y"}, {{"mode", "linear"}});
    fail_unless_equals_int (
        run (model, {std::vector<float> (gsize (row.length))}).size (), row.expected);
  }
}

/* --- operators of indices. Inputs are floats, so that no index is a constant. --- */

/* `op` on "x", the indices of input "i" and the other inputs, with a float as output */
OnnxModel
index_model (const char *op, const std::vector<int64_t> &shape,
    const std::vector<int64_t> &indices, const std::vector<std::string> &others,
    const std::vector<OnnxAttribute> &attributes)
{
  OnnxModel model (18);
  model.input ("x", shape).input ("i", indices).output ("y", {});
  model.node ("Cast", {"i"}, {"n"}, {{"to", onnx_int64}});
  std::vector<std::string> inputs = {"x", "n"};
  inputs.insert (inputs.end (), others.begin (), others.end ());
  model.node (op, inputs, {"y"}, attributes);
  return model;
}

TEST (test_inference_indices_out_of_range_read_zero)
{
  const OnnxModel model = index_model ("Gather", {3}, {6}, {}, {{"axis", 0}});
  const std::vector<float> x = {5, 6, 7};
  expect_near (run (model, {x, {2, -3, 3, -4, 1e9f, -1}}), {7, 5, 0, 0, 0, 7}, 0);
}

TEST (test_inference_refuses_constant_indices_out_of_range)
{
  for (const char *op : {"GatherElements", "Gather", "GatherND"}) {
    OnnxModel model (18);
    model.input ("x", {3}).output ("y", {});
    model.constant ("i", std::vector<int64_t>{3}).node (op, {"x", "i"}, {"y"});
    expect_refused (model, {op, "3"});
  }
}

/* 1000 updates of seven elements, some of them out of range, in the order of onnxruntime */
TEST_ROWS (test_inference_scatters_in_order, {"none", "add", "mul", "max", "min"})
{
  const std::string kind = row;
  OnnxModel model =
      index_model ("ScatterElements", {7}, {1000}, {"u"}, {{"reduction", row}});
  model.input ("u", {1000});
  const std::vector<float> x = noise (7, 1), u = noise (1000, 2);
  std::vector<float> places;
  std::vector<float> expected = x;
  std::mt19937 random (5);
  for (gsize n = 0; n < u.size (); n++) {
    const int index = int (random () % 18) - 9;
    places.push_back (float (index));
    const int at = index < 0 ? index + 7 : index;
    if (at < 0 || at > 6)
      continue;
    float &value = expected[gsize (at)];
    value = kind == "add"   ? value + u[n]
            : kind == "mul" ? value * u[n]
            : kind == "max" ? std::max (value, u[n])
            : kind == "min" ? std::min (value, u[n])
                            : u[n];
  }
  const std::vector<float> got = run (model, {x, places, u});
  for (gsize n = 0; n < 7; n++)
    fail_unless (got[n] == expected[n], "element %zu is %g, expected %g", n,
        double (got[n]), double (expected[n]));
}

/* Many equal values, zeros of both signs and infinities: a stable sort has the same order. */
TEST_ROWS (test_inference_top_elements_in_order, {"0", "1"})
{
  const gsize count = 3000, wanted = 700;
  OnnxModel model (18);
  model.input ("x", {2, 3000}).output ("y", {2, 700});
  model.constant ("k", std::vector<int64_t>{gint64 (wanted)});
  model.node ("TopK", {"x", "k"}, {"v", "i"}, {{"largest", row[0] - '0'}});
  model.node ("Cast", {"i"}, {"y"}, {{"to", onnx_float}});
  std::vector<float> x = noise (2 * count, 7);
  for (gsize n = 0; n < x.size (); n += 3)
    x[n] = n % 2 ? 0.0f : -0.0f;
  x[11] = INFINITY;
  x[12] = -INFINITY;
  std::vector<double> expected;
  for (gsize line = 0; line < 2; line++) {
    std::vector<gsize> order (count);
    std::iota (order.begin (), order.end (), 0);
    std::stable_sort (order.begin (), order.end (), [&] (gsize a, gsize b) {
      const float one = x[line * count + a], other = x[line * count + b];
      return row[0] == '1' ? one > other : one < other;
    });
    expected.insert (expected.end (), order.begin (), order.begin () + gssize (wanted));
  }
  expect_near (run (model, {x}), expected, 0);
}

/* Two images of two classes. Box 1 overlaps box 0 by 9 of 11, and box 2 touches nothing. */
TEST (test_inference_boxes_that_do_not_overlap)
{
  OnnxModel model (18);
  model.input ("b", {2, 3, 4}).input ("s", {2, 2, 3}).output ("y", {});
  model.constant ("most", std::vector<int64_t>{2});
  model.constant ("overlap", {1}, {0.5f}).constant ("least", {1}, {0.3f});
  model.node ("NonMaxSuppression", {"b", "s", "most", "overlap", "least"}, {"n"});
  model.node ("Cast", {"n"}, {"y"}, {{"to", onnx_float}});
  const std::vector<float> three = {0, 0, 1, 10, 1, 11, 0, 1, 4, 0, 5, 10};
  std::vector<float> boxes = three;
  boxes.insert (boxes.end (), three.begin (), three.end ());
  const std::vector<float> scores = {
      0.5f, 0.6f, 0.4f, 0.1f, 0.2f, 0.3f, 0.9f, 0.9f, 0.1f, 0.4f, 0.2f, 0.8f};
  const double none = -2147483648.0;
  expect_near (run (model, {boxes, scores}),
      {0, 0, 1, 0, 0, 2, 1, 0, 0, 1, 1, 2, 1, 1, 0, none, none, none, none, none, none,
          none, none, none},
      0);
}

/* --- eight bits --- */

namespace {
/* Numbers of two types, as files have them */
template <typename Number>
std::string
bytes_of (const std::vector<int> &values)
{
  std::vector<Number> numbers (values.begin (), values.end ());
  return std::string (reinterpret_cast<const char *> (numbers.data ()),
      numbers.size () * sizeof (Number));
}

/* Values from `low` on, of which most are close to `high` */
std::vector<int>
large_numbers (gsize count, int low, int high, guint seed)
{
  std::mt19937 random (seed);
  std::vector<int> values (count);
  for (int &value : values)
    value = random () % 8 ? high - int (random () % 3) : low + int (random () % 20);
  return values;
}

std::vector<float>
floats_of (const std::vector<int> &values)
{
  return std::vector<float> (values.begin (), values.end ());
}

/* A convolution of uint8 images 5 x 5 with int8 filters */
struct Quantized {
  int channels, filters, groups, size, zero, weight_zero;

  std::vector<int> image () const
  {
    return large_numbers (gsize (channels) * 25, 0, 255, 1);
  }
  std::vector<int> weights () const
  {
    return large_numbers (
        gsize (filters * channels / groups * size * size), -128, 127, 2);
  }
  std::vector<gint64> sums () const
  {
    const std::vector<int> x = image (), w = weights ();
    std::vector<gint64> result;
    const int of_group = channels / groups, pad = size / 2;
    for (int f = 0; f < filters; f++)
      for (int place = 0; place < 25; place++) {
        gint64 sum = 0;
        for (int n = 0; n < of_group * size * size; n++) {
          const int c = n / (size * size) + f / (filters / groups) * of_group;
          const int row = place / 5 + n / size % size - pad;
          const int column = place % 5 + n % size - pad;
          if (row >= 0 && row < 5 && column >= 0 && column < 5)
            sum += gint64 (x[gsize (c * 25 + row * 5 + column)] - zero)
                   * (w[gsize (f * of_group * size * size + n)] - weight_zero);
        }
        result.push_back (sum);
      }
    return result;
  }
  /* With the image "q", the filters "w", and zero points */
  OnnxModel model () const
  {
    OnnxModel model;
    model.input ("x", {1, channels, 5, 5}).output ("y", {1, filters, 5, 5});
    model.constant ("w", {filters, channels / groups, size, size}, onnx_int8,
        bytes_of<gint8> (weights ()));
    model.constant ("zero", {}, onnx_uint8, bytes_of<guint8> ({zero}));
    model.constant ("w_zero", {}, onnx_int8, bytes_of<gint8> ({weight_zero}));
    model.node ("Cast", {"x"}, {"q"}, {{"to", onnx_uint8}});
    return model;
  }
  std::vector<OnnxAttribute> attributes () const
  {
    return {{"pads", std::vector<int64_t> (4, size / 2)}, {"group", groups}};
  }
};

/* The last ones have sums beyond 2^24, in a group, with many channels and with an int32. */
const Quantized quantized_cases[] = {{3, 8, 1, 3, 0, 0}, {8, 8, 8, 3, 7, 0},
    {6, 4, 2, 1, 255, -3}, {40, 20, 1, 3, 128, 5}, {601, 3, 1, 1, 0, 0},
    {700, 5, 1, 3, 3, -128}, {400, 2, 2, 3, 0, -128}};

/* Fails unless the output, of int32, is `expected`. */
void
expect_whole (const OnnxModel &model, const std::vector<float> &input,
    const std::vector<gint64> &expected)
{
  for (const Precision precision : {Precision::single, Precision::half}) {
    const std::vector<float> got = run (model, {input}, precision);
    fail_unless_equals_int (got.size (), expected.size ());
    for (gsize n = 0; n < got.size (); n++) {
      gint32 number;
      memcpy (&number, &got[n], sizeof number);
      fail_unless_equals_int64 (number, expected[n]);
    }
  }
}
} // namespace

TEST (test_inference_quantizes_to_even_and_saturates)
{
  for (const Precision precision : {Precision::single, Precision::half}) {
    OnnxModel model;
    model.input ("x", {9}).output ("y", {9}).constant ("scale", {}, {0.5f});
    model.constant ("zero", {}, onnx_uint8, bytes_of<guint8> ({3}));
    model.node ("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
    model.node ("Cast", {"q"}, {"y"}, {{"to", onnx_float}});
    const std::vector<float> x = {
        -0.75f, -0.25f, 0.25f, 0.75f, 1.25f, 1000, -INFINITY, INFINITY, NAN};
    expect_near (run (model, {x}, precision), {1, 3, 3, 5, 5, 255, 0, 255, 0}, 0);
  }
}

TEST (test_inference_sums_integers_exactly)
{
  for (const Quantized &row : quantized_cases) {
    OnnxModel model = row.model ();
    model.node ("ConvInteger", {"q", "w", "zero", "w_zero"}, {"y"}, row.attributes ());
    expect_whole (model, floats_of (row.image ()), row.sums ());
  }
}

/* The right matrix is a constant, computed, or a view of a computed one. */
TEST (test_inference_multiplies_integer_matrices_exactly)
{
  const int depth = 701, columns = 6;
  std::vector<int> a = large_numbers (2 * depth, 0, 255, 3);
  const std::vector<int> b = large_numbers (depth * columns, 0, 255, 4);
  a[0] = 0;
  std::vector<gint64> expected;
  for (int row = 0; row < 2; row++)
    for (int column = 0; column < columns; column++) {
      gint64 sum = 0;
      for (int k = 0; k < depth; k++)
        sum +=
            gint64 (a[gsize (row * depth + k)]) * (b[gsize (k * columns + column)] - 2);
      expected.push_back (sum);
    }
  for (const char *right : {"b", "computed", "view"}) {
    OnnxModel model;
    model.input ("x", {2, depth}).output ("y", {2, columns});
    model.constant ("zero", {}, onnx_uint8, bytes_of<guint8> ({0}));
    model.constant ("two", {}, onnx_uint8, bytes_of<guint8> ({2}));
    model.constant ("b", {depth, columns}, onnx_uint8, bytes_of<guint8> (b));
    model.node ("Cast", {"x"}, {"q"}, {{"to", onnx_uint8}});
    /* The least number is 0. */
    model.node ("ReduceMin", {"x"}, {"none"}, {{"keepdims", 0}});
    model.node ("Cast", {"none"}, {"none8"}, {{"to", onnx_uint8}});
    model.node ("Add", {"b", "none8"}, {"computed"});
    model.node ("Transpose", {"b"}, {"turned"});
    model.node ("Add", {"turned", "none8"}, {"columns"});
    model.node ("Transpose", {"columns"}, {"view"});
    model.node ("MatMulInteger", {"q", right, "zero", "two"}, {"y"});
    expect_whole (model, floats_of (a), expected);
  }
}

/* Every element of the input is the same, and a range without a width has the step 1. */
TEST_ROWS (test_inference_quantizes_constants, {0.0, 2.0, -3.0, 1e-30})
{
  const double low = std::min (row, 0.0), high = std::max (row, 0.0),
               step = high > low ? (high - low) / 255 : 1,
               zero = std::nearbyint (-low / step),
               level = std::clamp (std::nearbyint (row / step) + zero, 0.0, 255.0);
  const std::vector<float> x (6, float (row));
  for (const auto &[name, expected] : {std::pair ("s", step), std::pair ("z", zero),
           std::pair ("q", level), std::pair ("d", (level - zero) * step),
           std::pair ("f", std::max (std::nearbyint (row / 0.5) + 3, 0.0)),
           std::pair ("c", (level - zero) * 2), std::pair ("m", (level - zero) * 6),
           std::pair ("n", 0.0)}) {
    OnnxModel model;
    model.input ("x", {1, 1, 2, 3}).output ("y", {}).constant ("half", {}, {0.5f});
    model.constant ("three", {}, onnx_uint8, bytes_of<guint8> ({3}));
    model.constant ("w", {1, 1, 1, 1}, onnx_uint8, bytes_of<guint8> ({5}));
    model.constant ("b", {3, 2}, onnx_uint8, bytes_of<guint8> (std::vector<int> (6, 5)));
    model.constant ("n3", {3, 2}, onnx_uint8, bytes_of<guint8> (std::vector<int> (6, 3)));
    model.node ("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    model.node ("DequantizeLinear", {"q", "s", "z"}, {"d"});
    model.node ("QuantizeLinear", {"x", "half", "three"}, {"f"});
    model.node ("ConvInteger", {"q", "w", "z", "three"}, {"c"});
    model.node ("MatMulInteger", {"q", "b", "z", "three"}, {"m"});
    model.node ("MatMulInteger", {"q", "n3", "z", "three"}, {"n"});
    model.node ("Cast", {name}, {"y"}, {{"to", onnx_float}});
    for (const float got : run (model, {x}))
      fail_unless (std::fabs (double (got) - expected) <= 1e-6 * std::fabs (expected),
          "%s is %g, expected %g", name, double (got), expected);
  }
}

/* Steps are powers of two, so that sums are exact and many lie halfway. The convolution takes
 * the activation and the rounding behind it. */
TEST (test_inference_rounds_in_a_convolution)
{
  const Quantized row = {4, 6, 1, 3, 128, 0};
  OnnxModel model;
  model.input ("x", {1, 4, 5, 5}).output ("y", {1, 6, 5, 5});
  model.constant ("s", {}, {0.25f}).constant ("ys", {}, {32});
  model.constant ("w", {6, 4, 3, 3}, onnx_int8, bytes_of<gint8> (row.weights ()));
  model.constant ("zero", {}, onnx_uint8, bytes_of<guint8> ({row.zero}));
  model.constant ("yz", {}, onnx_uint8, bytes_of<guint8> ({200}));
  model.constant ("wz", {}, onnx_int8, bytes_of<gint8> ({0}));
  model.node ("QuantizeLinear", {"x", "s", "zero"}, {"q"});
  model.node ("DequantizeLinear", {"q", "s", "zero"}, {"dq"});
  model.node ("DequantizeLinear", {"w", "s", "wz"}, {"dw"});
  model.node ("Conv", {"dq", "dw"}, {"c"}, row.attributes ());
  model.node ("Relu", {"c"}, {"r"});
  model.node ("QuantizeLinear", {"r", "ys", "yz"}, {"qy"});
  model.node ("DequantizeLinear", {"qy", "ys", "yz"}, {"y"});
  std::vector<float> x = floats_of (row.image ());
  for (float &number : x)
    number = (number - float (row.zero)) / 4;
  std::vector<double> expected;
  for (const gint64 sum : row.sums ())
    expected.push_back (
        32 * std::clamp (std::nearbyint (double (sum) / 16 / 32), 0.0, 55.0));
  gsize steps = 0;
  expect_near (run (model, {x}, Precision::single, &steps), expected, 0);
  fail_unless_equals_int (steps, 2);
}

/* com.microsoft.DynamicQuantizeLSTM of several times and a single image */
namespace {
struct QuantizedLstm {
  std::string label;
  int directions;
  bool is_signed, by_channel;
  int times = 3, features = 3, hidden = 2, gates = 8;

  std::vector<int> weights (int rows, guint seed) const
  {
    return large_numbers (
        directions * rows * gates, is_signed ? -128 : 0, is_signed ? 127 : 255, seed);
  }
  int zero () const { return is_signed ? 0 : 120; }
  /* The scale of a gate's weights; `which` is 0 for W and 1 for R. */
  double scale (int direction, int gate, int which) const
  {
    return (1 + direction + 2 * which + (by_channel ? gate % 3 : 0)) / 1024.0;
  }
  std::vector<float> x () const { return noise (gsize (times * features), 7); }
  std::vector<float> bias () const { return noise (gsize (directions * 2 * gates), 8); }

  OnnxModel model () const
  {
    const int type = is_signed ? onnx_int8 : onnx_uint8, count = by_channel ? gates : 1;
    std::vector<int64_t> shape = {directions};
    OnnxModel made;
    if (by_channel)
      shape.push_back (gates);
    for (int which = 0; which < 2; which++) {
      const std::string name = which ? "r" : "w";
      const int rows = which ? hidden : features;
      std::vector<float> scales;
      for (int d = 0; d < directions; d++)
        for (int gate = 0; gate < count; gate++)
          scales.push_back (float (scale (d, gate, which)));
      const std::vector<int> numbers = weights (rows, guint (which));
      made.constant (name, {directions, rows, gates}, type,
          is_signed ? bytes_of<gint8> (numbers) : bytes_of<guint8> (numbers));
      made.constant (name + "s", shape, scales);
      made.constant (
          name + "z", shape, type, std::string (scales.size (), char (zero ())));
    }
    made.input ("x", {times, 1, features}).output ("y", {times, directions, 1, hidden});
    made.constant ("b", {directions, 2 * gates}, bias ());
    made.node ("DynamicQuantizeLSTM",
        {"x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y"},
        {{"hidden_size", hidden},
            {"direction", directions > 1 ? "bidirectional" : "forward"}},
        "com.microsoft");
    return made;
  }

  std::vector<double> expected () const
  {
    const std::vector<int> w = weights (features, 0), r = weights (hidden, 1);
    const std::vector<float> data = x (), b = bias ();
    std::vector<double> y (gsize (times * directions * hidden));
    for (int d = 0; d < directions; d++) {
      std::vector<double> state (gsize (hidden), 0), cell = state;
      for (int step = 0; step < times; step++) {
        const int time = d ? times - 1 - step : step;
        std::vector<double> sum;
        for (int gate = 0; gate < gates; gate++) {
          double total = double (b[gsize (2 * d * gates + gate)])
                         + double (b[gsize ((2 * d + 1) * gates + gate)]);
          for (int n = 0; n < features; n++)
            total += double (data[gsize (time * features + n)]) * scale (d, gate, 0)
                     * (w[gsize ((d * features + n) * gates + gate)] - zero ());
          for (int n = 0; n < hidden; n++)
            total += state[gsize (n)] * scale (d, gate, 1)
                     * (r[gsize ((d * hidden + n) * gates + gate)] - zero ());
          sum.push_back (total);
        }
        for (int n = 0; n < hidden; n++) { /* the gates are input, output, forget, cell */
          auto part = [&] (int gate) { return sum[gsize (gate * hidden + n)]; };
          auto sigmoid = [&] (int gate) { return 1 / (1 + std::exp (-part (gate))); };
          cell[gsize (n)] =
              sigmoid (2) * cell[gsize (n)] + sigmoid (0) * std::tanh (part (3));
          state[gsize (n)] = sigmoid (1) * std::tanh (cell[gsize (n)]);
          y[gsize ((time * directions + d) * hidden + n)] = state[gsize (n)];
        }
      }
    }
    return y;
  }
};
} // namespace

TEST_ROWS (test_inference_lstm_of_quantized_weights,
    std::vector<QuantizedLstm>{{"int8", 1, true, false},
        {"uint8 by channel", 1, false, true}, {"uint8 bidirectional", 2, false, false},
        {"int8 bidirectional by channel", 2, true, true}})
{
  expect_near (run (row.model (), {row.x ()}), row.expected (), 1e-5);
  expect_near (run (row.model (), {row.x ()}, Precision::half), row.expected (), 1e-2);
}

TEST (test_inference_refuses_quantized_lstm_that_does_not_fit)
{
  const struct {
    const char *weights, *peepholes, *scale, *zero, *reason;
  } rows[] = {{"f", "", "s", "z", "int8 or uint8"}, {"w", "p", "s", "z", "peepholes"},
      {"w", "", "s", "", "input 11: expected the shape 1 or 1x4"},
      {"w", "", "p", "z", "input 10: expected the shape 1 or 1x4"},
      {"w2", "", "s", "z", "of three dimensions"}};
  for (const auto &row : rows) {
    OnnxModel model;
    model.input ("x", {2, 1, 1}).output ("y", {2, 1, 1, 1});
    model.constant ("w", {1, 1, 4}, onnx_int8, bytes_of<gint8> ({1, 2, 3, 4}));
    model.constant ("w2", {1, 4}, onnx_int8, bytes_of<gint8> ({1, 2, 3, 4}));
    model.constant ("f", {1, 1, 4}, noise (4, 1)).constant ("p", {1, 3}, noise (3, 2));
    model.constant ("s", {1}, {1}).constant ("z", {1}, onnx_int8, "\1");
    model.node ("DynamicQuantizeLSTM",
        {"x", "w", row.weights, "", "", "", "", row.peepholes, "s", "z", row.scale,
            row.zero},
        {"y"}, {}, "com.microsoft");
    expect_refused (model, {"DynamicQuantizeLSTM", row.reason});
  }
}

TEST (test_inference_refuses_steps_that_do_not_fit)
{
  const struct {
    std::vector<int64_t> shape;
    int type, block;
    const char *reason;
  } rows[] = {{{3}, onnx_uint8, 0, "shape 3"}, {{2, 2}, onnx_uint8, 0, "shape 2x2"},
      {{4, 2}, onnx_uint8, 2, "blocks of 2"}, {{}, onnx_int32, 0, "type int32"},
      {{}, onnx_int64, 0, "type int64"}};
  for (const auto &row : rows) {
    OnnxModel model (21);
    const gsize count = gsize (std::accumulate (
        row.shape.begin (), row.shape.end (), int64_t (1), std::multiplies<int64_t> ()));
    model.input ("x", {4, 5}).output ("y", {4, 5});
    model.constant ("scale", row.shape, std::vector<float> (count, 1));
    model.constant ("zero", row.shape, row.type,
        std::string (count
                         * (row.type == onnx_uint8    ? 1
                             : row.type == onnx_int32 ? 4
                                                      : 8),
            1));
    model.node ("QuantizeLinear", {"x", "scale", "zero"}, {"y"},
        {{"axis", 1}, {"block_size", row.block}});
    expect_refused (model, {"QuantizeLinear", row.reason});
  }
}

TEST (test_inference_arena_shares_memory_of_values_that_do_not_meet)
{
  std::vector<Lifetime> blocks = {{100, 0, 1}, {50, 1, 2}, {100, 2, 3}, {10, 0, 3}};
  const gsize size = assign_offsets (blocks, 1);
  fail_unless_equals_int (size, 160);
  for (gsize a = 0; a < blocks.size (); a++)
    for (gsize b = 0; b < a; b++) {
      const bool meet =
          blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
      const bool overlap = blocks[a].offset < blocks[b].offset + blocks[b].size
                           && blocks[b].offset < blocks[a].offset + blocks[a].size;
      fail_if (meet && overlap);
    }
}
