/* Fuzzing: an ONNX file, from the reader to the graph after all passes
 *
 * The first byte chooses between a file of any bytes and a well-formed file with any operators,
 * attributes and shapes. The second one is the length of dimensions that the model leaves open.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/inference/graph/lowering.hpp"
#include "gst/inference/graph/graph.hpp"
#include "tests/check/onnxmodel.hpp"

#include <cmath>
#include <memory>

using fuzz::promise;

namespace {
const gint64 numbers[] = {0, 1, 2, 3, 4, 5, 8, 16, -1, -2, -3, 64, 255, 1 << 16, 1 << 24,
    (1 << 24) + 1, G_MAXINT32, G_MININT32, gint64 (1) << 40, G_MAXINT64, G_MININT64};
const float reals[] = {0, 1, -1, 0.5f, 2, 1e-9f, 1e9f, 3e38f, INFINITY, NAN, -0.25f};
const char *const texts[] = {"", "nearest", "linear", "cubic", "reflect", "edge", "wrap",
    "constant", "SAME_UPPER", "SAME_LOWER", "VALID", "CRD", "floor", "ceil",
    "round_prefer_ceil", "align_corners", "asymmetric", "tf_crop_and_resize",
    "half_pixel_symmetric", "not_larger", "not_smaller", "none", "tanh", "zeros",
    "border", "reflection", "bilinear", "bicubic", "avg", "max", "min", "add", "mul",
    "output_half_pixel", "half_pixel", "bidirectional", "ij,jk->ik", "ii->i",
    "...ij,...jk", "i,i,j->"};
const char *const integer_attributes[] = {"axis", "group", "blocksize", "keepdims", "to",
    "ceil_mode", "count_include_pad", "transA", "transB", "allowzero", "start", "end",
    "size", "p", "exclude_outside", "antialias", "noop_with_empty_axes", "value_int",
    "num_outputs", "batch_dims", "largest", "select_last_index", "k", "exclusive",
    "reverse", "align_corners", "center_point_box", "time_axis", "batch_axis",
    "output_height", "output_width", "sampling_ratio", "block_size", "output_dtype",
    "fmod", "upper", "dtype", "num_groups", "layout", "linear_before_reset",
    "detect_positive"};
const char *const list_attributes[] = {"kernel_shape", "strides", "dilations", "pads",
    "axes", "perm", "starts", "ends", "split", "output_padding", "output_shape",
    "value_ints"};
const char *const real_attributes[] = {"alpha", "beta", "epsilon", "min", "max", "bias",
    "value", "value_float", "cubic_coeff_a", "extrapolation_value", "spatial_scale",
    "clip", "lambd"};
const char *const text_attributes[] = {"mode", "auto_pad", "nearest_mode",
    "coordinate_transformation_mode", "keep_aspect_ratio_policy", "approximate",
    "padding_mode", "reduction", "direction", "equation"};
const int types[] = {1, 1, 1, 7, 10, 11, 6, 2, 9, 13, 3};

template <typename Item, gsize count>
Item
choose_of (fuzz::Input &input, const Item (&items)[count])
{
  return items[input.choose (count)];
}

std::vector<int64_t>
choose_numbers (fuzz::Input &input, guint most)
{
  std::vector<int64_t> chosen (input.choose (most + 1));
  for (int64_t &number : chosen)
    number = choose_of (input, numbers);
  return chosen;
}

/* Mostly small */
std::vector<int64_t>
choose_shape (fuzz::Input &input)
{
  std::vector<int64_t> shape (input.choose (6));
  for (int64_t &length : shape)
    length = input.choose (16) ? numbers[input.choose (8)] : choose_of (input, numbers);
  return shape;
}

check::OnnxAttribute
choose_attribute (fuzz::Input &input)
{
  switch (input.choose (4)) {
  case 0:
    return {choose_of (input, integer_attributes), choose_of (input, numbers)};
  case 1:
    return {choose_of (input, list_attributes), choose_numbers (input, 8)};
  case 2:
    return {choose_of (input, real_attributes), choose_of (input, reals)};
  default:
    return {choose_of (input, text_attributes), choose_of (input, texts)};
  }
}

void
add_constant (fuzz::Input &input, check::OnnxModel &model, const std::string &name)
{
  if (input.choose (2)) {
    model.constant (name, choose_numbers (input, 8));
    return;
  }
  std::vector<int64_t> shape = choose_shape (input);
  gsize count = 1;
  for (int64_t &length : shape) {
    length = length < 0 || count * gsize (length) > 4096 ? 1 : length;
    count *= gsize (length);
  }
  if (input.choose (3) == 0) {
    model.constant (name, shape, 2 + int (input.choose (2)), std::string (count, 'q'));
    return;
  }
  std::vector<float> values (count);
  for (gsize n = 0; n < count; n++)
    values[n] = n < 8 ? choose_of (input, reals) : float (n);
  model.constant (name, shape, values);
}

void add_node (fuzz::Input &input, check::OnnxModel &model,
    std::vector<std::string> &names, guint depth);

/* Two branches that read the names of the graph around them */
void
add_if (fuzz::Input &input, check::OnnxModel &model, std::vector<std::string> &names,
    guint depth)
{
  std::vector<check::OnnxAttribute> branches;
  for (const char *name : {"then_branch", "else_branch"}) {
    check::OnnxModel branch;
    std::vector<std::string> inner = names;
    for (guint n = input.choose (3); n > 0; n--)
      add_node (input, branch, inner, depth + 1);
    branch.output (inner[input.choose (guint (inner.size ()))], {});
    branches.push_back ({name, branch.branch ()});
  }
  const std::string condition = names[input.choose (guint (names.size ()))];
  names.push_back ("v" + std::to_string (names.size ()));
  model.node ("If", {condition}, {names.back ()}, branches);
}

void
add_node (fuzz::Input &input, check::OnnxModel &model, std::vector<std::string> &names,
    guint depth)
{
  if (depth < 3 && input.choose (16) == 0) {
    add_if (input, model, names, depth);
    return;
  }
  static const std::vector<std::string> operators = inference::operator_names ();
  std::vector<std::string> from (input.choose (9)), to (1 + input.choose (3));
  std::vector<check::OnnxAttribute> attributes;

  for (std::string &name : from)
    name = names[input.choose (guint (names.size ()))];
  for (guint n = input.choose (5); n > 0; n--)
    attributes.push_back (choose_attribute (input));
  if (input.choose (32) == 0)
    to.clear ();
  for (gsize n = 0; n < to.size (); n++)
    to[n] = "v" + std::to_string (names.size () + n);
  model.node (
      operators[input.choose (guint (operators.size ()))].c_str (), from, to, attributes);
  names.insert (names.end (), to.begin (), to.end ());
}

std::string
generate (fuzz::Input &input)
{
  check::OnnxModel model (1 + input.choose (23));
  std::vector<std::string> names = {""};

  for (guint n = 1 + input.choose (3); n > 0; n--) {
    names.push_back ("i" + std::to_string (n));
    model.input (names.back (), choose_shape (input), choose_of (input, types));
  }
  for (guint n = input.choose (5); n > 0; n--) {
    names.push_back ("c" + std::to_string (n));
    add_constant (input, model, names.back ());
  }
  for (guint n = 0; n < 12 && input.remaining () > 0; n++)
    add_node (input, model, names, 0);
  for (gsize n = names.size (); n-- > 1 && n + 3 > names.size ();)
    model.output (names[n], {});
  return model.bytes ();
}

void
check_value (const inference::Value &value)
{
  gint64 count;
  promise (value.shape.size () <= 8, "values have up to 8 dimensions");
  promise (inference::count_within (value.shape, gint64 (1) << 32, count),
      "values have a size");
  promise (!value.constant
               || (value.constant->count () == gsize (count)
                   && value.constant->type == value.type),
      "a constant has the shape of its value");
}

/* Each operation reads what is there before it. */
void
check_graph (const inference::Graph &graph)
{
  std::vector<bool> known (graph.values.size (), false);
  auto is_known = [&] (inference::ValueId id) {
    return id >= 0 && gsize (id) < known.size ()
           && (known[gsize (id)] || graph[id].constant);
  };

  for (const inference::Value &value : graph.values)
    check_value (value);
  for (const inference::ValueId id : graph.inputs)
    known[gsize (id)] = true;
  for (const inference::Operation &operation : graph.operations) {
    for (const inference::ValueId id : operation.inputs)
      promise (id == inference::no_value || is_known (id), "inputs are there");
    promise (!operation.outputs.empty (), "operations have outputs");
    for (const inference::ValueId id : operation.outputs)
      known[gsize (id)] = true;
  }
  for (const inference::ValueId id : graph.outputs)
    promise (is_known (id), "outputs are computed");
}

void
lower (const inference::Model &model, const inference::InputChoice &choice)
{
  GError *error = nullptr;
  std::unique_ptr<inference::Graph> graph =
      inference::Lowering::run (model, choice, &error);

  promise (!graph == (error != nullptr), "a network that is refused has a reason");
  g_clear_error (&error);
  if (!graph)
    return;
  check_graph (*graph);
  for (const inference::Pass &pass : inference::passes) {
    pass.run (*graph);
    check_graph (*graph);
  }
}
} // namespace

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);
  const bool generated = input.choose (2);
  const gint64 open = input.choose (16);
  GError *error = nullptr;
  std::string file = generated
                         ? generate (input)
                         : std::string (reinterpret_cast<const char *> (input.rest ()),
                             input.remaining ());

  std::shared_ptr<const inference::Model> model = inference::Model::parse (
      nullptr, reinterpret_cast<const guint8 *> (file.data ()), file.size (), "", &error);
  promise (!model == (error != nullptr), "a file that is refused has a reason");
  g_clear_error (&error);
  if (!model)
    return 0;
  inference::InputChoice choice;
  choice.most_folded = 1 << 20;
  for (const inference::Port &port : model->inputs) {
    inference::Shape shape = port.shape;
    for (gint64 &length : shape)
      length = length < 0 ? open : length;
    choice.shapes[port.name] = shape;
  }
  lower (*model, choice);
  return 0;
}
