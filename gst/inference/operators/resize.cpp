/* Resizing and padding of ONNX: tables of indices and weights for each dimension
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
/* --- weights of the neighbours of a position --- */

/* Weights of the inputs from floor (position) + first on */
struct Neighbours {
  gint64 first = 0;
  std::vector<double> weights;
};

enum class Mode { nearest, linear, cubic };

struct ResizeRules {
  Mode mode = Mode::nearest;
  std::string nearest = "round_prefer_floor", coordinates = "half_pixel";
  double cubic_a = -0.75;
  bool excludes_outside = false, antialias = false;
  double extrapolation = 0;
};

/* `fraction` is from 0 to 1. */
Neighbours
nearest_neighbour (double fraction, double scale, const std::string &rule)
{
  bool upper = fraction > 0.5;
  if (rule == "round_prefer_ceil")
    upper = fraction >= 0.5;
  else if (rule == "before opset 11")
    upper = scale < 1 && fraction > 0;
  else if (rule == "floor")
    upper = false;
  else if (rule == "ceil")
    upper = fraction > 0;
  return {upper, {1}};
}

/* Keys' cubic convolution with the parameter `a` */
double
cubic (double x, double a)
{
  x = std::fabs (x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Without antialiasing the filter keeps its width in the input; with it, and a scale below
 * 1, its width in the output. */
Neighbours
filtered (double fraction, double scale, const ResizeRules &rules)
{
  const double shrink = rules.antialias ? std::fmin (scale, 1) : 1;
  const double radius = (rules.mode == Mode::linear ? 1 : 2) / shrink;
  Neighbours neighbours;
  double sum = 0;
  neighbours.first = gint64 (std::floor (-radius)) + 1;
  const gint64 count = 2 - 2 * neighbours.first;
  for (gint64 n = 0; n < count; n++) {
    const double x = (double (neighbours.first + n) - fraction) * shrink;
    const double weight = rules.mode == Mode::linear ? std::fmax (1 - std::fabs (x), 0)
                                                     : cubic (x, rules.cubic_a);
    neighbours.weights.push_back (weight);
    sum += weight;
  }
  if (rules.antialias)
    for (double &weight : neighbours.weights)
      weight /= sum;
  return neighbours;
}

/* --- tables --- */

/* One dimension that is resized */
struct ResizedAxis {
  gint64 from, to;
  double scale;
  double roi[2] = {0, 1};
};

/* In float32 and with the rounded length, as onnxruntime computes it: which neighbour is the
 * nearest depends on the last digit. */
float
position_of (gint64 n, const ResizedAxis &r, const std::string &rule)
{
  const float x = float (n), length = float (r.from), resized = float (r.to);
  const float scale = float (r.scale);
  if (rule == "align_corners")
    return r.to == 1 ? 0 : x * (length - 1) / (resized - 1);
  if (rule == "asymmetric")
    return x / scale;
  if (rule == "tf_crop_and_resize") {
    const float start = float (r.roi[0]), end = float (r.roi[1]);
    return r.to == 1
               ? (start + end) / 2 * (length - 1)
               : start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1);
  }
  if (rule == "pytorch_half_pixel" && r.to == 1)
    return 0;
  const float offset =
      rule == "half_pixel_symmetric" ? length / 2 * (1 - resized / (scale * length)) : 0;
  return offset + (x + 0.5f) / scale - 0.5f;
}

ResampleOp::Table
table_of (const ResizedAxis &r, const ResizeRules &rules)
{
  ResampleOp::Table table;
  const bool crops = rules.coordinates == "tf_crop_and_resize";
  for (gint64 n = 0; n < r.to; n++) {
    /* Far outside, all positions are the same. */
    double position = double (position_of (n, r, rules.coordinates));
    position = std::isnan (position) ? 0 : std::clamp (position, -1e12, 1e12);
    const double whole = std::floor (position), fraction = position - whole;
    Neighbours found = rules.mode == Mode::nearest
                           ? nearest_neighbour (fraction, r.scale, rules.nearest)
                           : filtered (fraction, r.scale, rules);
    const bool outside = crops && (position < 0 || position > double (r.from - 1));
    double sum = 0;
    for (gsize k = 0; k < found.weights.size (); k++) {
      const gint64 at = gint64 (whole) + found.first + gint64 (k);
      if (rules.excludes_outside && (at < 0 || at >= r.from))
        found.weights[k] = 0;
      sum += found.weights[k];
      table.index.push_back (
          outside ? -1 : gint32 (std::clamp (at, gint64 (0), r.from - 1)));
    }
    table.taps = found.weights.size ();
    if (rules.mode != Mode::nearest)
      for (const double weight : found.weights)
        table.weights.push_back (float (rules.excludes_outside ? weight / sum : weight));
  }
  return table;
}

/* --- Resize --- */

bool
read_rules (Lowering &l, ResizeRules &rules, GError **error)
{
  const Node &node = l.node ();
  const std::string mode = node.text ("mode", "nearest");
  if (mode == "nearest")
    rules.mode = Mode::nearest;
  else if (mode == "linear" || mode == "bilinear")
    rules.mode = Mode::linear;
  else if (mode == "cubic")
    rules.mode = Mode::cubic;
  else
    return l.fail (error, "unsupported mode %s", mode.c_str ());
  if (l.opset () < 11) { /* Upsample, and the first Resize */
    rules.coordinates = "asymmetric";
    rules.nearest = "before opset 11";
    return true;
  }
  rules.coordinates = node.text ("coordinate_transformation_mode", "half_pixel");
  rules.nearest = node.text ("nearest_mode", "round_prefer_floor");
  rules.cubic_a = node.number ("cubic_coeff_a", -0.75);
  rules.excludes_outside = node.integer ("exclude_outside", 0) != 0;
  rules.extrapolation = node.number ("extrapolation_value", 0);
  rules.antialias = node.integer ("antialias", 0) != 0 && rules.mode != Mode::nearest;
  static const char *const known[] = {"half_pixel", "half_pixel_symmetric",
      "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"};
  for (const char *name : known)
    if (rules.coordinates == name)
      return true;
  return l.fail (
      error, "unsupported coordinate_transformation_mode %s", rules.coordinates.c_str ());
}

bool
read_numbers (Lowering &l, gsize n, std::vector<double> &numbers, GError **error)
{
  const Array *array = l.constant_input (n, error);
  if (!array || array->count () > 64)
    return array && l.fail (error, "input %" G_GSIZE_FORMAT " is too long", n);
  for (gsize k = 0; k < array->count (); k++)
    numbers.push_back (array->number (k));
  return true;
}

bool
check_lengths (Lowering &l, const std::vector<ResizedAxis> &resized, GError **error)
{
  for (const ResizedAxis &r : resized)
    if (!(r.scale > 0) || r.to < 1 || r.to > (1 << 24) || r.from < 1)
      return l.fail (
          error, "cannot resize %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, r.from, r.to);
  return true;
}

void
keep_aspect_ratio (const std::string &policy, const std::vector<gint64> &axes,
    std::vector<ResizedAxis> &resized)
{
  if ((policy != "not_larger" && policy != "not_smaller") || axes.empty ())
    return;
  double common = resized[gsize (axes[0])].scale;
  for (const gint64 axis : axes) {
    const double scale = resized[gsize (axis)].scale;
    common =
        policy == "not_larger" ? std::fmin (common, scale) : std::fmax (common, scale);
  }
  for (const gint64 axis : axes) {
    ResizedAxis &r = resized[gsize (axis)];
    r.scale = common;
    r.to = truncated (std::round (double (float (common) * float (r.from))));
  }
}

/* Inputs are (X, scales) before opset 11 and (X, roi, scales, sizes) from then on. */
bool
read_resized_axes (Lowering &l, std::vector<ResizedAxis> &resized, GError **error)
{
  const Shape from = l.shape (l.input (0));
  const bool old = l.opset () < 11 || l.node ().op == "Upsample";
  std::vector<double> roi, scales, sizes;
  std::vector<gint64> axes = l.node ().integers ("axes");
  if (axes.empty ())
    for (gsize d = 0; d < from.size (); d++)
      axes.push_back (gint64 (d));
  for (gint64 &axis : axes)
    if (!l.normalize_axis (axis, from.size (), error))
      return false;
  if (l.node ().op == "Upsample" && l.node ().has ("scales"))
    for (const float scale : l.node ().attributes.at ("scales").numbers)
      scales.push_back (double (scale));
  else if (l.has (old ? 1 : 2) && !read_numbers (l, old ? 1 : 2, scales, error))
    return false;
  if (!old
      && ((l.has (1) && !read_numbers (l, 1, roi, error))
          || (l.has (3) && !read_numbers (l, 3, sizes, error))))
    return false;
  const bool by_size = scales.empty ();
  if ((by_size ? sizes : scales).size () != axes.size ()
      || (!roi.empty () && roi.size () != 2 * axes.size ()))
    return l.fail (error, "expected a scale or a size for each axis");

  for (const gint64 length : from)
    resized.push_back ({length, length, 1});
  for (gsize n = 0; n < axes.size (); n++) {
    ResizedAxis &r = resized[gsize (axes[n])];
    r.scale = by_size ? sizes[n] / double (r.from) : scales[n];
    const double length =
        by_size ? sizes[n] : std::floor (double (float (scales[n]) * float (r.from)));
    r.to = length >= 1 && length <= (1 << 24) ? gint64 (length) : 0;
    if (!roi.empty ()) {
      r.roi[0] = roi[n];
      r.roi[1] = roi[n + axes.size ()];
    }
  }
  if (by_size)
    keep_aspect_ratio (
        l.node ().text ("keep_aspect_ratio_policy", "stretch"), axes, resized);
  return check_lengths (l, resized, error);
}

bool
resize (Lowering &l, GError **error)
{
  ResizeRules rules;
  std::vector<ResizedAxis> resized;
  if (!read_rules (l, rules, error) || !read_resized_axes (l, resized, error))
    return false;
  ResampleOp what;
  Shape to;
  bool changes = false;
  what.fill = rules.extrapolation;
  for (const ResizedAxis &r : resized) {
    const bool plain = r.from == r.to && r.scale == 1
                       && (rules.coordinates != "tf_crop_and_resize"
                           || (r.roi[0] == 0 && r.roi[1] == 1));
    what.tables.emplace_back ();
    if (!plain) {
      /* An antialiased window covers 1 / scale times as many elements. */
      const gint64 taps = rules.antialias ? 5 + gint64 (4 / std::fmin (r.scale, 1)) : 4;
      if (!l.reserve (ElementType::f64, {r.to, taps}, error, 4))
        return false;
      what.tables.back () = table_of (r, rules);
    }
    changes = changes || !plain;
    to.push_back (r.to);
  }
  const ValueId data = l.input (0);
  if (!changes)
    return give (l, data);
  const ElementType type = l.value (data).type;
  if (rules.mode != Mode::nearest && !is_float (type)) {
    /* Computed in floating-point numbers, then cast. */
    ValueId result = l.cast (data, ElementType::f32, error);
    if (result != no_value)
      result = l.add (what, {result}, ElementType::f32, to, error);
    return result != no_value && give (l, l.cast (result, type, error));
  }
  return give (l, l.add (what, {data}, type, to, error));
}

/* --- Pad --- */

/* Index in the input of element `at` of the padded one, or -1 */
gint64
padded_index (gint64 at, gint64 length, const std::string &mode)
{
  if (at >= 0 && at < length)
    return at;
  if (mode == "edge")
    return at < 0 ? 0 : length - 1;
  if (mode == "wrap")
    return ((at % length) + length) % length;
  if (mode == "reflect" && length > 1) {
    const gint64 period = 2 * (length - 1), turned = std::abs (at) % period;
    return turned < length ? turned : period - turned;
  }
  return mode == "reflect" ? 0 : -1;
}

bool
pad (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  const std::string mode = l.node ().text ("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return l.fail (error, "unsupported mode %s", mode.c_str ());
  std::vector<gint64> pads = l.node ().integers ("pads"), axes;
  ResampleOp what;
  Shape to = from;
  if (l.has (1) && !l.integers_of_input (1, pads, error))
    return false;
  if (l.has (3) && !l.integers_of_input (3, axes, error))
    return false;
  if (!l.has (3))
    for (gsize d = 0; d < from.size (); d++)
      axes.push_back (gint64 (d));
  if (pads.size () != 2 * axes.size ())
    return l.fail (error, "expected two paddings for each axis");
  what.fill = l.node ().number ("value", 0);
  if (l.has (2)) {
    const Array *fill = l.constant_input (2, error);
    if (!fill || fill->count () != 1)
      return fill && l.fail (error, "constant_value must have one element");
    what.fill = fill->number (0);
  }
  what.tables.resize (from.size ());
  for (gsize n = 0; n < axes.size (); n++) {
    if (!l.normalize_axis (axes[n], from.size (), error))
      return false;
    const gsize d = gsize (axes[n]);
    const gint64 before = pads[n], after = pads[n + axes.size ()];
    if (before < -(1 << 24) || before > (1 << 24) || after < -(1 << 24)
        || after > (1 << 24))
      return l.fail (error, "the padding is too large");
    /* Cropped first; the rest is repeated. */
    const gint64 cropped = std::max (-before, gint64 (0));
    const gint64 kept = from[d] - cropped - std::max (-after, gint64 (0));
    to[d] = from[d] + before + after;
    if (to[d] < 1 || (kept < 1 && mode != "constant"))
      return l.fail (error, "no elements remain along axis %" G_GINT64_FORMAT, axes[n]);
    if (before == 0 && after == 0)
      continue;
    if (!l.reserve (ElementType::i32, {to[d]}, error))
      return false;
    ResampleOp::Table table;
    for (gint64 at = 0; at < to[d]; at++) {
      const gint64 index = padded_index (at - before - cropped, kept, mode);
      table.index.push_back (gint32 (index < 0 ? index : index + cropped));
    }
    what.tables[d] = table;
  }
  if (std::none_of (what.tables.begin (), what.tables.end (),
          [] (const auto &table) { return table.has_value (); }))
    return give (l, data);
  return give (l, l.add (what, {data}, l.value (data).type, to, error));
}
} // namespace

const std::vector<Operator> resize_operators = {
    {"Resize", 1, 4, resize},
    {"Upsample", 1, 2, resize},
    {"Pad", 1, 4, pad},
};
} // namespace inference
