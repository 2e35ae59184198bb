/* Operators of ONNX that sample images at computed places, and choose boxes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
/* The index of an attribute's text in `known`, or -1 with an error */
int
choice_of (Lowering &l, const char *attribute, const char *initial,
    const std::vector<std::string> &known, GError **error)
{
  const std::string text = l.node ().text (attribute, initial);
  const auto found = std::find (known.begin (), known.end (), text);
  if (found != known.end ())
    return int (found - known.begin ());
  l.fail (error, "%s %s", attribute, text.c_str ());
  return -1;
}

bool
grid_sample (Lowering &l, GError **error)
{
  const Shape data = l.shape (l.input (0)), places = l.shape (l.input (1));
  const int mode = choice_of (l, "mode", l.opset () < 20 ? "bilinear" : "linear",
      {"nearest", "linear", "cubic", "bilinear", "bicubic"}, error);
  const int padding = mode < 0 ? -1
                               : choice_of (l, "padding_mode", "zeros",
                                   {"zeros", "border", "reflection"}, error);
  if (padding < 0)
    return false;
  const gsize rank = data.size ();
  if (rank < 3 || rank > 5 || places.size () != rank || places[0] != data[0]
      || places.back () != gint64 (rank) - 2
      || *std::max_element (data.begin (), data.end ()) > (1 << 24)
      || count_of (Shape (data.begin () + 2, data.end ())) == 0)
    return l.fail (error, "expected (images, channels, …) and a grid of the same rank");
  Shape to (places.begin (), places.end () - 1);
  to.insert (to.begin () + 1, data[1]);
  const GridOp what = {GridOp::Mode (mode > 2 ? mode - 2 : mode),
      GridOp::Padding (padding), l.node ().integer ("align_corners", 0) != 0};
  /* Both become floating-point numbers of one type. */
  const ElementType type = l.value (l.input (0)).type;
  const ElementType computed = is_float (type) ? type : ElementType::f32;
  const ValueId from = l.cast (l.input (0), computed, error);
  const ValueId grid = from == no_value ? from : l.cast (l.input (1), computed, error);
  const ValueId result =
      grid == no_value ? grid : l.add (what, {from, grid}, computed, to, error);
  return result != no_value && give (l, l.cast (result, type, error));
}

bool
roi_align (Lowering &l, GError **error)
{
  const Shape data = l.shape (l.input (0)), regions = l.shape (l.input (1));
  const int mode = choice_of (l, "mode", "avg", {"avg", "max"}, error);
  const int half = mode < 0 ? -1
                            : choice_of (l, "coordinate_transformation_mode",
                                l.opset () < 16 ? "output_half_pixel" : "half_pixel",
                                {"output_half_pixel", "half_pixel"}, error);
  const gint64 rows = l.node ().integer ("output_height", 1),
               columns = l.node ().integer ("output_width", 1),
               samples = l.node ().integer ("sampling_ratio", 0);
  const ElementType type = l.value (l.input (0)).type;
  if (half < 0)
    return false;
  if (data.size () != 4 || count_of (data) == 0 || regions.size () != 2 || regions[1] != 4
      || l.shape (l.input (2)) != Shape{regions[0]} || rows < 1 || rows > G_MAXINT16
      || columns < 1 || columns > G_MAXINT16 || samples < 0 || samples > 256
      || !is_float (type) || l.value (l.input (1)).type != type
      || is_float (l.value (l.input (2)).type))
    return l.fail (error, "expected images, regions, and an image for each of them");
  return give (l, l.add (RegionOp{mode == 1, half == 1, samples,
                             l.node ().number ("spatial_scale", 1)},
                      {l.input (0), l.input (1), l.input (2)}, type,
                      {regions[0], data[1], rows, columns}, error));
}

bool
read_number (Lowering &l, gsize n, double &number, GError **error)
{
  const Array *array = l.has (n) ? l.constant_input (n, error) : nullptr;
  if (array && array->count () == 1)
    number = array->number (0);
  return !l.has (n)
         || (array
             && (array->count () == 1
                 || l.fail (error, "input %" G_GSIZE_FORMAT " is no number", n)));
}

bool
non_maximum_suppression (Lowering &l, GError **error)
{
  const Shape boxes = l.shape (l.input (0)), scores = l.shape (l.input (1));
  double most = 0, overlap = 0, score = -INFINITY;
  if (!read_number (l, 2, most, error) || !read_number (l, 3, overlap, error)
      || !read_number (l, 4, score, error))
    return false;
  const ElementType type = l.value (l.input (0)).type;
  if (boxes.size () != 3 || boxes[2] != 4 || scores.size () != 3 || scores[0] != boxes[0]
      || scores[2] != boxes[1] || boxes[1] > G_MAXINT32 || type == ElementType::f64
      || !is_float (type) || l.value (l.input (1)).type != type)
    return l.fail (
        error, "expected boxes (images, boxes, 4) and scores (images, classes, boxes)");
  const gint64 wanted = std::clamp (truncated (most), gint64 (0), boxes[1]);
  gint64 lines, rows, scratch;
  if (!count_within ({scores[0], scores[1]}, 1 << 20, lines)
      || !count_within ({lines, wanted}, 1 << 24, rows)
      || !count_within ({lines, 1 + wanted + boxes[1]}, 1 << 28, scratch))
    return l.fail (error, "too many images, classes or boxes");
  if (rows == 0)
    return give (l, l.add_constant (Array (ElementType::i64, {0, 3})));
  const SuppressOp what = {
      wanted, overlap, score, l.node ().integer ("center_point_box", 0) != 0};
  /* By name: GCC 16 warns of a temporary list. */
  const Value chosen = {"", ElementType::i64, {rows, 3}, {}};
  const Value room = {"", ElementType::i32, {scratch}, {}};
  std::vector<ValueId> ids;
  return l.add (what, {l.input (0), l.input (1)}, {chosen, room}, ids, error)
         && give (l, ids[0]);
}

} // namespace

const std::vector<Operator> region_operators = {
    {"GridSample", 2, 2, grid_sample},
    {"RoiAlign", 3, 3, roi_align},
    {"NonMaxSuppression", 2, 5, non_maximum_suppression},
};
} // namespace inference
