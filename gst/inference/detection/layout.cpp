/* Finds boxes, scores and classes in the outputs of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "layout.hpp"

#include <algorithm>

namespace inference {
namespace {
/* The outputs of one image. Rows are candidates. */
struct Matrix {
  gint64 rows = 0, columns = 1;
};

class Outputs {
public:
  explicit Outputs (const OutputsFormat &format, bool automatic)
      : format (format), automatic (automatic)
  {
    for (const NetworkOutput &output : format.outputs)
      matrices.push_back (matrix_of (output.shape));
  }

  gsize number () const { return matrices.size (); }
  const Matrix &operator[] (gint n) const { return matrices[gsize (n)]; }
  const Shape &shape (gsize n) const { return format.outputs[n].shape; }
  bool is_matrix (gsize n) const { return matrices[n].rows > 0; }
  bool is_integer (gint n) const { return !is_float (format.outputs[gsize (n)].type); }

  /* The output with such a number of columns, or whose name has `text`: -1 if it is not one */
  template <typename Is> gint find (Is is) const
  {
    gint found = -1;
    for (gint n = 0; n < gint (number ()); n++) {
      if (is_matrix (gsize (n)) && is (n) && std::exchange (found, n) >= 0)
        return -1;
    }
    return found;
  }
  bool has_name (gint n, const char *text) const
  {
    return format.outputs[gsize (n)].name.find (text) != std::string::npos;
  }

  /* Cells of a grid for each of these strides */
  gint64 cells (const std::vector<gint> &strides) const
  {
    gint64 sum = 0;
    for (const gint stride : strides)
      sum += gint64 ((format.width + stride - 1) / stride)
             * ((format.height + stride - 1) / stride);
    return sum;
  }

  const OutputsFormat &format;
  const bool automatic; /* shapes alone decide, so they must fit exactly */

private:
  /* Without the batch: (rows, columns), or (rows). Others have no rows. */
  static Matrix matrix_of (const Shape &shape)
  {
    if (shape.size () == 3 && shape[0] == 1)
      return {shape[1], shape[2]};
    if (shape.size () == 2 && shape[0] == 1)
      return {shape[1], 1};
    return shape.size () == 2   ? Matrix{shape[0], shape[1]}
           : shape.size () == 1 ? Matrix{shape[0], 1}
                                : Matrix{};
  }

  std::vector<Matrix> matrices;
};

const std::vector<gint> yolo_strides = {8, 16, 32}, large_strides = {8, 16, 32, 64};

/* Makes an anchor in the middle of each cell, or at its corner, `number` times a cell. */
void
add_anchors (const OutputsFormat &format, gint stride, gint number, double place,
    double scale, std::vector<Anchor> &anchors)
{
  for (gint y = 0; y < (format.height + stride - 1) / stride; y++)
    for (gint x = 0; x < (format.width + stride - 1) / stride; x++)
      anchors.insert (anchors.end (), gsize (number),
          {cl_float ((x + place) * stride), cl_float ((y + place) * stride),
              cl_float (scale), 0});
}

/* --- methods --- */

/* One dimension is longer than 1. */
bool
match_classes (const Outputs &outputs, OutputLayout &layout)
{
  if (outputs.number () != 1)
    return false;
  const Shape &shape = outputs.shape (0);
  layout.count = count_of (shape);
  layout.scores = {0, 0, 1, 1};
  return layout.count > 1
         && std::count (shape.begin (), shape.end (), 1) == gint64 (shape.size ()) - 1;
}

/* (boxes, 5 + classes): box, objectness, classes */
bool
match_rows (const Outputs &outputs, OutputLayout &layout)
{
  const Matrix all = outputs[0];
  if (outputs.number () != 1 || all.columns < 6)
    return false;
  layout.count = all.rows;
  layout.classes = all.columns - 5;
  layout.boxes = {0, 0, all.columns, 1};
  layout.certainty = {0, 4, all.columns, 1};
  layout.scores = {0, 5, all.columns, 1};
  return true;
}

bool
match_v5 (const Outputs &outputs, OutputLayout &layout)
{
  return match_rows (outputs, layout)
         && (!outputs.automatic || layout.count == 3 * outputs.cells (yolo_strides)
             || layout.count == 3 * outputs.cells (large_strides));
}

bool
match_x (const Outputs &outputs, OutputLayout &layout)
{
  if (!match_rows (outputs, layout))
    return false;
  for (const auto &strides : {yolo_strides, large_strides}) {
    if (layout.count != outputs.cells (strides))
      continue;
    for (const gint stride : strides)
      add_anchors (outputs.format, stride, 1, 0, stride, layout.anchors);
    return true;
  }
  return false;
}

/* (4 + classes, boxes) */
bool
match_v8 (const Outputs &outputs, OutputLayout &layout)
{
  const Matrix all = outputs[0];
  if (outputs.number () != 1 || all.rows < 5)
    return false;
  layout.count = all.columns;
  layout.classes = all.rows - 4;
  layout.boxes = {0, 0, 1, all.columns};
  layout.scores = {0, 4 * all.columns, 1, all.columns};
  return !outputs.automatic || layout.count == outputs.cells (yolo_strides)
         || layout.count == outputs.cells (large_strides);
}

/* (boxes, 6): corners, score, class */
bool
match_v10 (const Outputs &outputs, OutputLayout &layout)
{
  const Matrix all = outputs[0];
  layout.count = all.rows;
  layout.boxes = {0, 0, 6, 1};
  layout.scores = {0, 4, 6, 1};
  layout.ids = {0, 5, 6, 1};
  return outputs.number () == 1 && all.columns == 6
         && (!outputs.automatic || all.rows <= 1000);
}

bool
set_boxes_and_scores (
    const Outputs &outputs, gint boxes, gint scores, OutputLayout &layout)
{
  if (boxes < 0 || scores < 0 || boxes == scores
      || outputs[boxes].rows != outputs[scores].rows)
    return false;
  layout.count = outputs[boxes].rows;
  layout.classes = outputs[scores].columns;
  layout.boxes = {boxes, 0, outputs[boxes].columns, 1};
  layout.scores = {scores, 0, layout.classes, 1};
  return true;
}

/* Boxes, scores and classes, perhaps with their number. Classes are integers, have such a
 * name, or come before the scores. */
bool
match_detected (const Outputs &outputs, OutputLayout &layout)
{
  const gint boxes = outputs.find ([&] (gint n) { return outputs[n].columns == 4; });
  auto is_list = [&] (gint n) {
    return n != boxes && outputs[n].columns == 1 && boxes >= 0
           && outputs[n].rows == outputs[boxes].rows;
  };
  auto is_named = [&] (gint n) {
    return is_list (n)
           && (outputs.is_integer (n) || outputs.has_name (n, "class")
               || outputs.has_name (n, "label"));
  };
  gint ids = outputs.find (is_named);
  for (gint n = 0; ids < 0 && n < gint (outputs.number ()); n++)
    ids = is_list (n) ? n : -1;
  const gint scores = outputs.find ([&] (gint n) { return is_list (n) && n != ids; });
  if (ids < 0 || !set_boxes_and_scores (outputs, boxes, scores, layout))
    return false;
  layout.ids = {ids, 0, 1, 1};
  /* As TensorFlow's operator has it with their number, and torchvision without */
  const bool has_number = outputs.number () == 4;
  layout.is.form = has_number ? BoxForm::corners_yx : BoxForm::corners;
  layout.is.unit = has_number ? BoxUnit::relative : BoxUnit::pixels;
  return true;
}

/* Boxes and the scores of all classes. The shapes are also those of DETR. */
bool
match_pair (const Outputs &outputs, OutputLayout &layout)
{
  const gint boxes = outputs.find ([&] (gint n) {
    return outputs[n].columns == 4
           && (outputs.has_name (n, "box") || outputs[1 - n].columns != 4);
  });
  return outputs.number () == 2
         && set_boxes_and_scores (outputs, boxes, 1 - boxes, layout);
}

bool
match_ssd (const Outputs &outputs, OutputLayout &layout)
{
  if (outputs.number () == 3 || outputs.number () == 4)
    return match_detected (outputs, layout);
  if (outputs.number () != 2 || !match_pair (outputs, layout))
    return false;
  layout.is.background = layout.classes > 1 ? 0 : -1;
  return !outputs.automatic || outputs.has_name (layout.scores.output, "score");
}

bool
match_detr (const Outputs &outputs, OutputLayout &layout)
{
  if (outputs.number () != 2 || !match_pair (outputs, layout))
    return false;
  return !outputs.automatic || outputs.has_name (layout.scores.output, "logit");
}

/* Anchors of MediaPipe's networks: strides, and the number in a cell of each */
const struct {
  std::vector<gint> strides;
  gint number;
} schemes[] = {{{8, 16, 16, 16}, 2}, {{8, 16, 32, 32, 32}, 2}, {{4}, 1}};

/* Offsets from anchors, perhaps with key points behind them, and logits */
bool
match_anchors (const Outputs &outputs, OutputLayout &layout)
{
  const gint scores = outputs.find ([&] (gint n) { return outputs[n].columns == 1; });
  if (outputs.number () != 2 || !outputs.is_matrix (0) || !outputs.is_matrix (1)
      || !set_boxes_and_scores (outputs, 1 - scores, scores, layout)
      || outputs[1 - scores].columns < 4)
    return false;
  for (const auto &scheme : schemes) {
    if (layout.count != scheme.number * outputs.cells (scheme.strides))
      continue;
    /* Layers of the same stride have their anchors of a cell together. */
    for (gsize n = 0; n < scheme.strides.size ();) {
      gsize same = 1;
      while (n + same < scheme.strides.size ()
             && scheme.strides[n + same] == scheme.strides[n])
        same++;
      add_anchors (outputs.format, scheme.strides[n], scheme.number * gint (same), 0.5, 1,
          layout.anchors);
      n += same;
    }
    return true;
  }
  return false;
}

/* (1, 1, height, width) or (1, height, width, 1). A kernel sums up to 2^24 scores. */
bool
match_text (const Outputs &outputs, OutputLayout &layout)
{
  const Shape &shape = outputs.shape (0);
  if (outputs.number () != 1 || shape.size () != 4 || shape[0] != 1
      || (shape[1] != 1 && shape[3] != 1))
    return false;
  layout.columns = shape[shape[1] == 1 ? 3 : 2];
  layout.count = count_of (shape);
  layout.scores = {0, 0, 1, 1};
  return layout.columns > 1 && layout.count > layout.columns && layout.count <= 1 << 24;
}

/* In the order in which they are tried, with what is usual for each */
const struct {
  bool (*match) (const Outputs &, OutputLayout &);
  DetectionSettings is;
} methods[] = {
    {match_x, {Method::yolo_x, ScoreActivation::none, BoxForm::centre, BoxUnit::pixels}},
    {match_v5,
        {Method::yolo_v5, ScoreActivation::none, BoxForm::centre, BoxUnit::pixels}},
    {match_v8,
        {Method::yolo_v8, ScoreActivation::none, BoxForm::centre, BoxUnit::pixels}},
    {match_v10,
        {Method::yolo_v10, ScoreActivation::none, BoxForm::corners, BoxUnit::pixels}},
    {match_anchors,
        {Method::anchors, ScoreActivation::sigmoid, BoxForm::centre, BoxUnit::pixels}},
    {match_detr,
        {Method::detr, ScoreActivation::softmax, BoxForm::centre, BoxUnit::relative}},
    {match_ssd,
        {Method::ssd, ScoreActivation::none, BoxForm::corners, BoxUnit::relative}},
    {match_text,
        {Method::text, ScoreActivation::none, BoxForm::corners, BoxUnit::pixels}},
    {match_classes, {Method::classification, ScoreActivation::automatic, BoxForm::corners,
                        BoxUnit::pixels}},
};

template <typename Value>
void
override_by (Value wanted, Value &value)
{
  if (wanted != Value::automatic)
    value = wanted;
}

bool
fail (const OutputsFormat &format, const DetectionSettings &settings, GError **error)
{
  std::string shapes;
  for (const NetworkOutput &output : format.outputs)
    shapes += (shapes.empty () ? "" : ", ") + output.name + " " + text_of (output.shape);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      settings.method == Method::automatic
          ? "the network's outputs (%s, for an input of %d×%d) do not tell the method: "
            "set "
            "`method`"
          : "the network's outputs (%s, for an input of %d×%d) do not fit `method`",
      shapes.c_str (), format.width, format.height);
  return false;
}

/* Kernels count in 32 bits, and read numbers of these types. */
bool
check_types (const OutputsFormat &format, const OutputLayout &layout, GError **error)
{
  for (const Field *field :
      {&layout.boxes, &layout.scores, &layout.certainty, &layout.ids}) {
    if (!*field)
      continue;
    const NetworkOutput &output = format.outputs[gsize (field->output)];
    const bool is_id =
        field == &layout.ids
        && (output.type == ElementType::i64 || output.type == ElementType::i32);
    if ((output.type == ElementType::f32 || output.type == ElementType::f16 || is_id)
        && count_of (output.shape) <= G_MAXINT32 / 8)
      continue;
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "output \"%s\" is %s %s, expected up to %d numbers of float32 or float16",
        output.name.c_str (), info_of (output.type).name, text_of (output.shape).c_str (),
        G_MAXINT32 / 8);
    return false;
  }
  return true;
}
} // namespace

bool
find_layout (const OutputsFormat &format, const DetectionSettings &settings,
    OutputLayout &layout, GError **error)
{
  const bool automatic = settings.method == Method::automatic;
  const Outputs outputs (format, automatic);
  for (const auto &method : methods) {
    if (!automatic && method.is.method != settings.method)
      continue;
    layout = {};
    layout.is = method.is;
    if (!method.match (outputs, layout) || layout.count < 1 || layout.classes < 1)
      continue;
    override_by (settings.activation, layout.is.activation);
    override_by (settings.form, layout.is.form);
    override_by (settings.unit, layout.is.unit);
    /* DETR's last class of a softmax is that there is no object. */
    if (layout.is.method == Method::detr
        && layout.is.activation == ScoreActivation::softmax && layout.classes > 1)
      layout.is.background = gint (layout.classes - 1);
    if (settings.background > -2)
      layout.is.background = settings.background;
    return check_types (format, layout, error);
  }
  return fail (format, settings, error);
}
} // namespace inference
