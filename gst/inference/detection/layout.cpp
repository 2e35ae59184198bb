/* Finds boxes, scores and classes in the outputs of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "layout.hpp"
#include "../graph/graph.hpp"
#include "../pictureoutput.hpp"

#include <algorithm>

namespace inference {
namespace {
using Strides = std::vector<gint>;

/* An output of one image. Rows are candidates; an output of more dimensions has none. */
struct Matrix {
  std::string name;
  bool is_integer;
  gint64 rows = 0, columns = 1;
};

struct Request {
  const OutputsFormat &format;
  bool is_exact, is_transposed; /* expected number of boxes, and order of dimensions */
  gint64 labels;
  std::vector<Matrix> matrices;

  gint64 cells (gint stride) const
  {
    return gint64 ((format.width + stride - 1) / stride)
           * ((format.height + stride - 1) / stride);
  }
};

/* Without the batch: (rows, columns), or (rows) */
Matrix
matrix_of (const NetworkOutput &output)
{
  Shape shape = output.shape;
  Matrix matrix = {output.name, !is_float (output.type)};
  if (shape.size () > 1 && shape[0] == 1)
    shape.erase (shape.begin ());
  if (shape.size () == 1 || shape.size () == 2)
    matrix.rows = shape[0];
  if (shape.size () == 2)
    matrix.columns = shape[1];
  return matrix;
}

/* Makes `number` anchors a cell at `place` of it, if all are as many as the candidates. With
 * `in_cells` boxes have the unit of a cell. Layers of one stride have the anchors of a cell
 * together. */
bool
make_anchors (const Request &request, const Strides &strides, gint number, double place,
    bool in_cells, OutputLayout &layout)
{
  gint64 all = 0;
  for (const gint stride : strides)
    all += number * request.cells (stride);
  if (all != layout.count)
    return false;
  for (gsize n = 0, same; n < strides.size (); n += same) {
    const gint stride = strides[n], width = (request.format.width + stride - 1) / stride;
    same = gsize (std::count (strides.begin (), strides.end (), stride));
    for (gint64 cell = 0; cell < request.cells (stride); cell++)
      layout.anchors.insert (layout.anchors.end (), gsize (number) * same,
          {cl_float ((double (cell % width) + place) * stride),
              cl_float ((double (cell / width) + place) * stride),
              cl_float (in_cells ? stride : 1), 0});
  }
  return true;
}

/* --- one output --- */

/* Columns of an output of boxes; with `turned`, its rows. `cells` is the number of boxes in a
 * cell of the strides 8, 16, 32 and perhaps 64, or 0. A network has more boxes than classes,
 * which tells rows from columns. */
struct BoxTable {
  Method method;
  bool turned;
  gint certainty, scores, ids, cells;
};
const BoxTable tables[] = {{Method::yolo_x, false, 4, 5, -1, 1},
    {Method::yolo_v5, false, 4, 5, -1, 3}, {Method::yolo_v8, true, -1, 4, -1, 1},
    {Method::yolo_v10, false, -1, 4, 5, 0}, {Method::yolo_pose, true, -1, 4, -1, 1}};

bool
match_table (const Request &request, OutputLayout &layout)
{
  const BoxTable &table = *std::find_if (std::begin (tables), std::end (tables),
      [&] (const BoxTable &one) { return one.method == layout.is.method; });
  const Matrix &all = request.matrices[0];
  const bool turned = table.turned != request.is_transposed;
  const gint64 columns = turned ? all.rows : all.columns, step = turned ? 1 : columns;
  layout.count = turned ? all.columns : all.rows;
  layout.classes = table.ids < 0 ? columns - table.scores : 1;
  const gint64 column = turned ? layout.count : 1;
  auto field = [&] (gint first) {
    return first < 0 ? Field{} : Field{0, first * column, step, column};
  };
  layout.boxes = field (0);
  layout.certainty = field (table.certainty);
  layout.scores = field (table.scores);
  layout.ids = field (table.ids);
  if (request.matrices.size () != 1 || layout.classes > layout.count)
    return false;
  if (table.ids >= 0)
    return columns == 6 && (!request.is_exact || layout.count <= 1000);
  const bool is_x = table.method == Method::yolo_x;
  for (const Strides &strides : {Strides{8, 16, 32}, Strides{8, 16, 32, 64}})
    if (make_anchors (request, strides, table.cells, 0, true, layout)) {
      if (!is_x)
        layout.anchors.clear ();
      return true;
    }
  return !is_x && !request.is_exact;
}

/* As YOLO v8. Behind the classes, as many as there are labels or else one, come key points. */
template <gint size>
bool
match_pose (const Request &request, OutputLayout &layout)
{
  if (!match_table (request, layout))
    return false;
  const gint64 classes = std::max (request.labels, gint64 (1)),
               numbers = layout.classes - classes;
  layout.classes = classes;
  layout.points = layout.scores;
  layout.points.offset += classes * layout.scores.column;
  layout.point_count = numbers / size;
  layout.point_size = size;
  return numbers > 0 && numbers % size == 0
         && (layout.is.points == 0 || layout.point_count == layout.is.points);
}

/* One dimension is longer than 1. */
bool
match_classes (const Request &request, OutputLayout &layout)
{
  const Shape &shape = request.format.outputs[0].shape;
  layout.count = count_of (shape);
  layout.scores = {0, 0, 1, 1};
  return request.matrices.size () == 1 && layout.count > 1
         && std::count (shape.begin (), shape.end (), 1) == gint64 (shape.size ()) - 1;
}

/* (1, 1, height, width) or (1, height, width, 1). A kernel sums up to 2^24 scores. */
bool
match_text (const Request &request, OutputLayout &layout)
{
  const Shape &shape = request.format.outputs[0].shape;
  if (request.matrices.size () != 1 || shape.size () != 4 || shape[0] != 1
      || (shape[1] != 1 && shape[3] != 1))
    return false;
  layout.columns = shape[shape[1] == 1 ? 3 : 2];
  layout.count = count_of (shape);
  layout.scores = {0, 0, 1, 1};
  return layout.columns > 1 && layout.count > layout.columns && layout.count <= 1 << 24;
}

/* Steps of a text, or numbers as they are: only if `method` is set */
bool
match_rows (const Request &request, OutputLayout &layout)
{
  const bool is_text = layout.is.method == Method::ctc;
  const Matrix &all = request.matrices[0];
  layout.count = is_text ? all.rows : 1;
  layout.classes = is_text ? all.columns : count_of (request.format.outputs[0].shape);
  layout.scores = {0, 0, layout.classes, 1};
  return request.matrices.size () == 1 && !request.is_exact
         && (!is_text || (all.rows > 0 && all.columns > 1));
}

/* Scores of classes, or numbers of classes, as the channels of a picture */
bool
match_segments (const Request &request, OutputLayout &layout)
{
  const Shape &shape = request.format.outputs[0].shape;
  const Tensor tensor = {no_memory, 0, shape, contiguous_strides (shape)};
  Picture picture;
  if (!find_picture ({}, shape, picture, nullptr))
    return false;
  layout.columns = picture.width ();
  layout.count = layout.columns * picture.height ();
  layout.classes = picture.length ('C');
  layout.scores = {0, 0, picture.stride (tensor, 'W'), picture.stride (tensor, 'C')};
  return layout.classes <= 255;
}

/* --- several outputs --- */

/* The first output that is so, or -1 */
template <typename Is>
gint
find_output (const Request &request, Is is)
{
  const auto &all = request.matrices;
  const auto found = std::find_if (all.begin (), all.end (), is);
  return found == all.end () ? -1 : gint (found - all.begin ());
}

bool
has_name (const Matrix &matrix, const char *text)
{
  return matrix.name.find (text) != std::string::npos;
}

/* Boxes, and the scores of all classes, in either order */
bool
match_pair (const Request &request, OutputLayout &layout)
{
  const auto &all = request.matrices;
  const bool has_anchors = layout.is.method == Method::anchors;
  const char *word = layout.is.method == Method::detr ? "logit" : "score";
  if (all.size () != 2 || all[0].rows < 1 || all[0].rows != all[1].rows)
    return false;
  gint boxes = has_anchors ? find_output (
                   request, [] (const Matrix &one) { return one.columns >= 4; })
                           : find_output (request, [] (const Matrix &one) {
                               return one.columns == 4 && has_name (one, "box");
                             });
  if (boxes < 0)
    boxes = find_output (request, [] (const Matrix &one) { return one.columns == 4; });
  if (boxes < 0)
    return false;
  layout.count = all[0].rows;
  layout.classes = all[gsize (1 - boxes)].columns;
  layout.boxes = {boxes, 0, all[gsize (boxes)].columns, 1};
  layout.scores = {1 - boxes, 0, layout.classes, 1};
  if (!has_anchors)
    return !request.is_exact || has_name (all[gsize (1 - boxes)], word);
  layout.points = {boxes, 4, layout.boxes.step, 1};
  layout.point_count = (layout.boxes.step - 4) / 2;
  /* Strides and anchors a cell of MediaPipe's detectors */
  return layout.classes == 1
         && (make_anchors (request, {8, 16, 16, 16}, 2, 0.5, false, layout)
             || make_anchors (request, {8, 16, 32, 32, 32}, 2, 0.5, false, layout)
             || make_anchors (request, {4}, 1, 0.5, false, layout));
}

/* Boxes, scores and classes, as torchvision has them, or with their number, as TensorFlow.
 * Classes are integers, have such a name, or come before the scores. */
bool
match_ssd (const Request &request, OutputLayout &layout)
{
  const gsize number = request.matrices.size ();
  layout.form = BoxForm::corners;
  if (number == 2)
    return match_pair (request, layout);
  const gint boxes =
      find_output (request, [] (const Matrix &one) { return one.columns == 4; });
  if (boxes < 0 || number > 4)
    return false;
  layout.count = request.matrices[gsize (boxes)].rows;
  auto is_list = [&] (const Matrix &one) {
    return one.columns == 1 && one.rows == layout.count;
  };
  auto is_named = [&] (const Matrix &one) {
    return is_list (one)
           && (one.is_integer || has_name (one, "class") || has_name (one, "label"));
  };
  const gint named = find_output (request, is_named),
             ids = named < 0 ? find_output (request, is_list) : named;
  const gint scores = find_output (request, [&] (const Matrix &one) {
    return is_list (one) && &one - request.matrices.data () != ids;
  });
  layout.boxes = {boxes, 0, 4, 1};
  layout.scores = {scores, 0, 1, 1};
  layout.ids = {ids, 0, 1, 1};
  layout.relative = number == 4;
  layout.form = layout.relative ? BoxForm::corners_yx : BoxForm::corners;
  return scores >= 0;
}

/* The methods, with what is usual for each */
const struct {
  Method method;
  const char *name;
  bool (*match) (const Request &, OutputLayout &);
  BoxForm form = BoxForm::centre;
  ScoreActivation activation = ScoreActivation::none;
  bool relative = false;
} methods[] = {
    {Method::yolo_x, "yolo-x", match_table},
    {Method::yolo_v5, "yolo-v5", match_table},
    {Method::yolo_v8, "yolo-v8", match_table},
    {Method::yolo_v10, "yolo-v10", match_table, BoxForm::corners},
    {Method::yolo_pose, "yolo-pose", match_pose<3>},
    {Method::yolo_pose, "yolo-pose", match_pose<2>},
    {Method::anchors, "anchors", match_pair, BoxForm::centre, ScoreActivation::sigmoid},
    {Method::detr, "detr", match_pair, BoxForm::centre, ScoreActivation::softmax, true},
    {Method::ssd, "ssd", match_ssd, BoxForm::corners, ScoreActivation::none, true},
    {Method::segmentation, "segmentation", match_segments},
    {Method::text, "text", match_text, BoxForm::corners},
    {Method::classification, "classification", match_classes, BoxForm::corners,
        ScoreActivation::automatic},
    {Method::ctc, "ctc", match_rows},
    {Method::embedding, "embedding", match_rows},
};

/* The class that is the background: by DETR's softmax the last, by SSD the first */
gint
background_of (const OutputLayout &layout)
{
  if (layout.is.background > -2 || layout.classes < 2)
    return layout.is.background;
  if (layout.is.method == Method::detr
      && layout.is.activation == ScoreActivation::softmax)
    return gint (layout.classes - 1);
  return layout.is.method == Method::ssd ? 0 : -1;
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
    const auto is = [&] (ElementType type) { return output.type == type; };
    const bool is_id =
        (field == &layout.ids || layout.is.method == Method::segmentation)
        && (is (ElementType::i64) || is (ElementType::i32) || is (ElementType::u8));
    if ((is (ElementType::f32) || is (ElementType::f16) || is_id)
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

/* All ways to read the outputs, by the shapes. Of the methods of rows, only YOLO v8 is common
 * in both orders; the others are taken in the other one if `method` is set. Key points look like
 * classes, and segments like any picture, so `method` names them. */
std::vector<OutputLayout>
find_fits (const OutputsFormat &format, const DetectionSettings &settings, gsize labels,
    bool is_exact)
{
  const bool automatic = settings.method == Method::automatic;
  std::vector<OutputLayout> fits;
  Request request = {format, is_exact, false, gint64 (labels), {}};
  for (const NetworkOutput &output : format.outputs)
    request.matrices.push_back (matrix_of (output));
  for (const auto &method : methods)
    for (const bool transposed : {false, true}) {
      const bool is_common = method.method == Method::yolo_v8
                             || (!transposed && method.method != Method::yolo_pose
                                 && method.method != Method::segmentation);
      if ((automatic ? !is_common : method.method != settings.method)
          || (transposed && method.match != match_table
              && method.method != Method::yolo_pose))
        continue;
      OutputLayout layout;
      layout.is = settings;
      layout.is.method = method.method;
      if (settings.activation == ScoreActivation::automatic)
        layout.is.activation = method.activation;
      layout.form = method.form;
      layout.relative = method.relative;
      request.is_transposed = transposed;
      if (!method.match (request, layout) || layout.count < 1 || layout.classes < 1)
        continue;
      layout.is.background = background_of (layout);
      fits.push_back (layout);
    }
  return fits;
}
} // namespace

std::string
text_of (const OutputLayout &layout)
{
  const auto &method = *std::find_if (std::begin (methods), std::end (methods),
      [&] (const auto &one) { return one.method == layout.is.method; });
  return method.name
         + (layout.classes < 2 ? ""
                               : " of " + std::to_string (layout.classes) + " classes")
         + (layout.point_count < 1
                 ? ""
                 : " with " + std::to_string (layout.point_count) + " key points");
}

std::string
shapes_of (const OutputsFormat &format)
{
  std::string shapes = "the network's outputs (";
  for (const NetworkOutput &output : format.outputs)
    shapes += output.name + " " + text_of (output.shape) + ", ";
  return shapes + "for an input of " + std::to_string (format.width) + "×"
         + std::to_string (format.height) + ")";
}

bool
find_layout (const OutputsFormat &format, const DetectionSettings &settings, gsize labels,
    OutputLayout &layout, GError **error)
{
  std::vector<OutputLayout> fits = find_fits (format, settings, labels, true);
  if (fits.empty () && settings.method != Method::automatic)
    fits = find_fits (format, settings, labels, false);
  const auto differs = [&] (const OutputLayout &fit) {
    return !fit.ids && fit.classes != gint64 (labels);
  };
  if (labels > 0 && !std::all_of (fits.begin (), fits.end (), differs))
    fits.erase (std::remove_if (fits.begin (), fits.end (), differs), fits.end ());
  if (fits.size () == 1) {
    layout = fits[0];
    return check_types (format, layout, error);
  }
  std::string found = fits.empty () ? "do not fit `method`" : "fit ";
  for (const OutputLayout &fit : fits)
    found += text_of (fit) + (&fit == &fits.back () ? "" : " and ");
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "%s %s: %s",
      shapes_of (format).c_str (), found.c_str (),
      fits.empty () ? "expected shapes that it documents"
                    : "set `method`, `key-points`, or `label-file` with all labels");
  return false;
}
} // namespace inference
