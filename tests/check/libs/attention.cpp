/* Tests of what networks with attention consist of: attention, layer normalization, products of
 * matrices and GELU, against sums in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/networks.hpp"

#include "tests/check/as-gpu.hpp"

using namespace check;

/* --- attention --- */

struct AttentionCase {
  int64_t rows, keys, heads, depth, width;
  bool causal, masks_all; /* the first row has no key with masks_all */
};

static const AttentionCase attention_cases[] = {
    {67, 67, 2, 48, 48, true, false},
    {1, 33, 3, 20, 20, false, false},
    {40, 130, 3, 64, 64, false, false},
    {130, 40, 1, 128, 112, false, false},
    {49, 49, 4, 32, 32, false, true},
    {5, 3, 1, 1, 7, false, false},
    {1, 1, 1, 1, 1, true, false},
    {2, 2, 2, 2, 2, false, false},
    {3, 3, 3, 3, 3, true, true},
};

/* Q, K and V are rows of all heads, as transformers have them. */
static OnnxModel
attention_model (const AttentionCase &row, const std::vector<float> &mask)
{
  OnnxModel model;
  const std::pair<const char *, std::pair<int64_t, int64_t>> operands[] = {
      {"q", {row.rows, row.depth}}, {"k", {row.keys, row.depth}},
      {"v", {row.keys, row.width}}};
  for (const auto &[name, shape] : operands) {
    const std::string of = name;
    model.input (name, {1, shape.first, row.heads * shape.second});
    model.constant (
        of + "_shape", std::vector<int64_t>{1, shape.first, row.heads, shape.second});
    model.node ("Reshape", {of, of + "_shape"}, {of + "_heads"});
    const std::vector<int64_t> order =
        of == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
    model.node ("Transpose", {of + "_heads"}, {of + "_ready"}, {{"perm", order}});
  }
  model.output ("y", {1, row.rows, row.heads * row.width});
  model.constant ("scale", {}, {0.7f}).constant ("root", {1}, {0.5f});
  model.constant ("mask", {1, 1, row.rows, row.keys}, mask);
  model.constant ("joined", std::vector<int64_t>{1, row.rows, row.heads * row.width});
  model.node ("Mul", {"q_ready", "root"}, {"q_scaled"});
  model.node ("MatMul", {"q_scaled", "k_ready"}, {"product"});
  model.node ("Mul", {"product", "scale"}, {"scores"});
  model.node ("Add", {"scores", "mask"}, {"masked"});
  model.node ("Softmax", {"masked"}, {"weights"}, {{"axis", int64_t (-1)}});
  model.node ("MatMul", {"weights", "v_ready"}, {"heads"});
  model.node (
      "Transpose", {"heads"}, {"together"}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  model.node ("Reshape", {"together", "joined"}, {"y"});
  return model;
}

static std::vector<double>
attention_of (const AttentionCase &row, const std::vector<float> &q,
    const std::vector<float> &k, const std::vector<float> &v,
    const std::vector<float> &mask)
{
  std::vector<double> result;
  for (int64_t r = 0; r < row.rows; r++)
    for (int64_t head = 0; head < row.heads; head++) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t key = 0; key < row.keys; key++) {
        double score = 0;
        for (int64_t d = 0; d < row.depth; d++)
          score += double (q[gsize ((r * row.heads + head) * row.depth + d)])
                   * double (k[gsize ((key * row.heads + head) * row.depth + d)]);
        weights.push_back (
            std::exp (0.35 * score + double (mask[gsize (r * row.keys + key)])));
        total += weights.back ();
      }
      for (int64_t c = 0; c < row.width; c++) {
        double sum = 0;
        for (int64_t key = 0; key < row.keys; key++)
          sum += weights[gsize (key)]
                 * double (v[gsize ((key * row.heads + head) * row.width + c)]);
        result.push_back (sum / total);
      }
    }
  return result;
}

TEST (test_attention_is_one_kernel_and_right)
{
  for (const AttentionCase &row : attention_cases) {
    const gsize heads = gsize (row.heads);
    const std::vector<float> q = noise (gsize (row.rows * row.depth) * heads, 1),
                             k = noise (gsize (row.keys * row.depth) * heads, 2),
                             v = noise (gsize (row.keys * row.width) * heads, 3);
    std::vector<float> mask = noise (gsize (row.rows * row.keys), 4);
    for (int64_t r = 0; r < row.rows; r++)
      for (int64_t key = 0; key < row.keys; key++)
        if ((row.causal && key > r) || (row.masks_all && r == 0))
          mask[gsize (r * row.keys + key)] = -INFINITY;
    const OnnxModel model = attention_model (row, mask);
    std::vector<double> expected = attention_of (row, q, k, v, mask);
    for (const bool half : {false, true}) {
      gsize steps;
      std::vector<float> got =
          run (model, {q, k, v}, half ? Precision::half : Precision::single, &steps);
      if (row.masks_all) /* 0 / 0, as in onnxruntime, and only there */
        for (gsize n = 0; n < heads * gsize (row.width); n++) {
          fail_unless (std::isnan (got[n]));
          got[n] = 0;
          expected[n] = 0;
        }
      expect_near (got, expected, half ? 4e-3 : 2e-6);
      if (!half)
        fail_unless_equals_int (steps, 2); /* and the copy to the output */
    }
  }
}

/* A value that is not a number stays in its row. */
TEST (test_attention_keeps_nan_in_its_row)
{
  const AttentionCase row = {20, 50, 1, 16, 16, false, false};
  std::vector<float> q = noise (320, 1);
  const std::vector<float> k = noise (800, 2), v = noise (800, 3), mask (1000, 0);
  q[5 * 16 + 3] = NAN;
  const std::vector<float> got = run (attention_model (row, mask), {q, k, v});
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (std::isnan (got[n]) == (n / 16 == 5));
}

/* --- layer normalization --- */

/* The values are far from zero: a sum of squares would lose digits. */
TEST (test_layer_normalization_is_one_kernel_and_exact)
{
  for (const int64_t length : {7, 96, 1000}) {
    OnnxModel model (17);
    model.input ("x", {2, 5, length}).output ("y", {2, 5, length});
    model.constant ("scale", {length}, noise (gsize (length), 2));
    model.constant ("shift", {length}, noise (gsize (length), 3));
    model.node ("LayerNormalization", {"x", "scale", "shift"}, {"y"});
    std::vector<float> x = noise (gsize (10 * length), 1);
    const std::vector<float> scale = noise (gsize (length), 2),
                             shift = noise (gsize (length), 3);
    for (float &value : x)
      value += 100;
    std::vector<double> expected;
    for (gsize line = 0; line < 10; line++) {
      const float *of = x.data () + line * gsize (length);
      double mean = 0, spread = 0;
      for (gsize n = 0; n < gsize (length); n++)
        mean += double (of[n]) / double (length);
      for (gsize n = 0; n < gsize (length); n++)
        spread += std::pow (double (of[n]) - mean, 2) / double (length);
      for (gsize n = 0; n < gsize (length); n++)
        expected.push_back (
            (double (of[n]) - mean) / std::sqrt (spread + 1e-5) * double (scale[n])
            + double (shift[n]));
    }
    gsize steps;
    expect_near (run (model, {x}, Precision::single, &steps), expected, 4e-5);
    fail_unless_equals_int (steps, 1);
  }
}

/* --- products --- */

struct ProductCase {
  int64_t rows, depth, columns;
  bool turned; /* both operands are transposed */
};

static const ProductCase product_cases[] = {{1, 1, 1, false}, {7, 300, 33, false},
    {100, 17, 64, true}, {65, 700, 130, false}, {3, 260, 5, true}};

TEST (test_product_of_computed_matrices_is_right)
{
  const int64_t batch = 3;
  for (const ProductCase &row : product_cases) {
    OnnxModel model;
    const auto shape = [&] (int64_t rows, int64_t columns) {
      return row.turned ? std::vector<int64_t>{batch, columns, rows}
                        : std::vector<int64_t>{batch, rows, columns};
    };
    model.input ("a", shape (row.rows, row.depth));
    model.input ("b", shape (row.depth, row.columns));
    model.output ("y", {batch, row.rows, row.columns});
    const std::vector<int64_t> order = {0, 2, 1};
    if (row.turned)
      model.node ("Transpose", {"a"}, {"c"}, {{"perm", order}})
          .node ("Transpose", {"b"}, {"d"}, {{"perm", order}})
          .node ("MatMul", {"c", "d"}, {"y"});
    else
      model.node ("MatMul", {"a", "b"}, {"y"});
    const std::vector<float> a = noise (gsize (batch * row.rows * row.depth), 1),
                             b = noise (gsize (batch * row.depth * row.columns), 2);
    std::vector<double> expected;
    for (int64_t n = 0; n < batch; n++)
      for (int64_t r = 0; r < row.rows; r++)
        for (int64_t c = 0; c < row.columns; c++) {
          double sum = 0;
          for (int64_t k = 0; k < row.depth; k++) {
            const int64_t in_a = row.turned ? k * row.rows + r : r * row.depth + k;
            const int64_t in_b = row.turned ? c * row.depth + k : k * row.columns + c;
            sum += double (a[gsize (n * row.rows * row.depth + in_a)])
                   * double (b[gsize (n * row.depth * row.columns + in_b)]);
          }
          expected.push_back (sum);
        }
    expect_near (run (model, {a, b}), expected, 3e-6);
    expect_near (run (model, {a, b}, Precision::half), expected, 4e-3);
  }
}

/* --- what follows a product: bias, activation, residual, also behind views --- */

static double
gelu (double x)
{
  return x * std::erfc (-x / std::sqrt (2)) / 2;
}

static double
gelu_by_tanh (double x)
{
  return x / (1 + std::exp (-2 * std::sqrt (2 / G_PI) * (x + 0.044715 * x * x * x)));
}

static double
silu (double x)
{
  return x / (1 + std::exp (-x));
}

/* Forms in which exporters write these */
static void
add_gelu (OnnxModel &model)
{
  model.constant ("root", {}, {1.41421354f}).constant ("one", {}, {1});
  model.constant ("half", {}, {0.5f});
  model.node ("Div", {"x", "root"}, {"g1"}).node ("Erf", {"g1"}, {"g2"});
  model.node ("Add", {"g2", "one"}, {"g3"}).node ("Mul", {"x", "g3"}, {"g4"});
  model.node ("Mul", {"g4", "half"}, {"activated"});
}

static void
add_gelu_by_tanh (OnnxModel &model)
{
  model.constant ("three", {}, {3})
      .constant ("one", {}, {1})
      .constant ("half", {}, {0.5f});
  model.constant ("cubed", {}, {0.044715f}).constant ("root", {}, {0.797884583f});
  model.node ("Pow", {"x", "three"}, {"g1"}).node ("Mul", {"g1", "cubed"}, {"g2"});
  model.node ("Add", {"x", "g2"}, {"g3"}).node ("Mul", {"g3", "root"}, {"g4"});
  model.node ("Tanh", {"g4"}, {"g5"}).node ("Add", {"g5", "one"}, {"g6"});
  model.node ("Mul", {"half", "x"}, {"g7"}).node ("Mul", {"g7", "g6"}, {"activated"});
}

static void
add_silu (OnnxModel &model)
{
  model.node ("Sigmoid", {"x"}, {"g1"}).node ("Mul", {"x", "g1"}, {"activated"});
}

static const struct WrittenOut {
  void (*add) (OnnxModel &model);
  double (*function) (double x);
} written_out[] = {{add_gelu, gelu}, {add_gelu_by_tanh, gelu_by_tanh}, {add_silu, silu}};

TEST (test_activations_of_several_operators_join_the_product)
{
  const std::vector<float> rows = noise (7 * 20, 1), weights = noise (20 * 33, 2),
                           bias = noise (33, 3);
  for (const WrittenOut &form : written_out) {
    OnnxModel model;
    model.input ("rows", {1, 7, 20}).output ("y", {1, 7, 33});
    model.constant ("w", {20, 33}, weights).constant ("bias", {33}, bias);
    model.node ("MatMul", {"rows", "w"}, {"m"}).node ("Add", {"bias", "m"}, {"x"});
    form.add (model);
    model.node ("Relu", {"activated"}, {"y"});
    std::vector<double> expected;
    for (gsize r = 0; r < 7; r++)
      for (gsize c = 0; c < 33; c++) {
        double sum = double (bias[c]);
        for (gsize k = 0; k < 20; k++)
          sum += double (rows[r * 20 + k]) * double (weights[k * 33 + c]);
        expected.push_back (std::max (0.0, form.function (sum)));
      }
    gsize steps;
    expect_near (run (model, {rows}, Precision::single, &steps), expected, 2e-6);
    fail_unless_equals_int (steps, 2); /* and Relu */
  }
}

/* As in ConvNeXt and in exports of PyTorch's attention: a transpose and a reshape lie between a
 * product and the sum. */
TEST (test_residuals_join_products_through_views)
{
  const std::vector<float> x = noise (6 * 4 * 5, 1), weights = noise (36, 2),
                           scale = noise (6, 3);
  OnnxModel model;
  model.input ("x", {1, 6, 4, 5}).output ("y", {1, 6, 4, 5});
  model.constant ("w", {6, 6}, weights).constant ("scale", {6, 1, 1}, scale);
  model.constant ("flat", std::vector<int64_t>{20, 6})
      .constant ("rows", std::vector<int64_t>{1, 4, 5, 6});
  model.node ("Transpose", {"x"}, {"last"}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  model.node ("Reshape", {"last", "flat"}, {"a"}).node ("MatMul", {"a", "w"}, {"b"});
  model.node ("Reshape", {"b", "rows"}, {"c"});
  model.node ("Transpose", {"c"}, {"d"}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  model.node ("Mul", {"scale", "d"}, {"e"}).node ("Add", {"e", "x"}, {"y"});
  std::vector<double> expected;
  for (gsize c = 0; c < 6; c++)
    for (gsize pixel = 0; pixel < 20; pixel++) {
      double sum = 0;
      for (gsize k = 0; k < 6; k++)
        sum += double (x[k * 20 + pixel]) * double (weights[k * 6 + c]);
      expected.push_back (double (scale[c]) * sum + double (x[c * 20 + pixel]));
    }
  std::unique_ptr<Graph> graph = lower (model);
  run_passes (*graph);
  gsize products = 0;
  for (const Operation &operation : graph->operations) {
    fail_if (std::holds_alternative<ElementwiseOp> (operation.what));
    products += std::holds_alternative<ConvolutionOp> (operation.what);
  }
  fail_unless_equals_int (products, 1);
  expect_near (run (model, {x}), expected, 2e-6);
}
