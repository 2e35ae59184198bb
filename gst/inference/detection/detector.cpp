/* Finds objects in the outputs of a network on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "detector.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/"

namespace inference {
namespace {
constexpr gsize candidate_bytes = 32, region_bytes = 24; /* of the kernels' structures */

const char *
type_of (const OutputsFormat &format, const Field &field)
{
  return field ? opencl::info_of (
             info_of (format.outputs[gsize (field.output)].type).number)
                     .opencl
               : "float";
}

void
define_field (std::string &options, const char *name, const Field &field)
{
  const std::pair<const char *, gint64> values[] = {
      {"_OFFSET", field.offset}, {"_STEP", field.step}, {"_COLUMN", field.column}};
  for (const auto &[what, value] : values)
    opencl::define (options, name, what, std::to_string (value));
}

std::string
options_of (const OutputsFormat &format, const OutputLayout &layout, gsize group)
{
  std::string options;
  const std::pair<const char *, gint64> numbers[] = {{"COUNT", layout.count},
      {"CLASSES", layout.classes}, {"BACKGROUND", layout.is.background},
      {"COLUMNS", layout.columns}, {"GROUP", group}, {"FORM", gint64 (layout.form)},
      {"ACTIVATION", gint64 (layout.is.activation)},
      {"HAS_CERTAINTY", bool (layout.certainty)}, {"HAS_IDS", bool (layout.ids)},
      {"HAS_ANCHORS", !layout.anchors.empty ()}, {"POINT_COUNT", layout.point_count},
      {"POINT_SIZE", layout.point_size}, {"GROWS", layout.is.method == Method::yolo_x}};
  for (const auto &[name, value] : numbers)
    opencl::define (options, name, "", std::to_string (value));
  opencl::define (options, "SCORES", "", type_of (format, layout.scores));
  opencl::define (options, "BOXES", "", type_of (format, layout.boxes));
  opencl::define (options, "IDS", "", type_of (format, layout.ids));
  define_field (options, "SCORES", layout.scores);
  define_field (options, "BOXES", layout.boxes);
  define_field (options, "CERTAINTY", layout.certainty);
  define_field (options, "IDS", layout.ids);
  define_field (options, "POINTS", layout.points);
  return options;
}

constexpr gsize turned_words = 6; /* of a box in regions.cl: middle, axis, size */
constexpr gsize object_words = 7;
/* An object in select.cl */
struct Stored {
  gfloat left, top, width, height, score;
  gint32 kind, index;
};
static_assert (sizeof (Stored) == object_words * sizeof (cl_uint));
} // namespace

void
DetectedObject::place (const TurnedBox &box, double frame_width, double frame_height)
{
  const double c = std::fabs (std::cos (box.angle * G_PI / 180)),
               s = std::fabs (std::sin (box.angle * G_PI / 180));
  const double across = (c * box.width + s * box.height) / 2,
               down = (s * box.width + c * box.height) / 2;
  left = gfloat (std::clamp (box.x - across, 0.0, frame_width));
  top = gfloat (std::clamp (box.y - down, 0.0, frame_height));
  width = gfloat (std::clamp (box.x + across, 0.0, frame_width)) - left;
  height = gfloat (std::clamp (box.y + down, 0.0, frame_height)) - top;
  turned = box;
}

/* Sets factors and summands from the network's numbers to pixels. */
void
Detector::set_frame (const FittedFrame &fitted, double frame_width, double frame_height)
{
  const double x = frame_width / fitted.width, y = frame_height / fitted.height;
  /* A map of text may be smaller than the network's input. */
  const bool is_map = found.columns > 0;
  const double across = is_map           ? double (width) / double (found.columns)
                        : found.relative ? width
                                         : 1;
  const double down = is_map ? height * double (found.columns) / double (found.count)
                      : found.relative ? height
                                       : 1;
  map = {{cl_float (across * x), cl_float (down * y), cl_float (-fitted.left * x),
      cl_float (-fitted.top * y)}};
  frame = {{cl_float (frame_width), cl_float (frame_height)}};
}

bool
Detector::make_kernels (
    GstOpenCLContext *context, const OutputsFormat &format, GError **error)
{
  const bool is_text = found.is.method == Method::text;
  group = opencl::is_cpu (context) ? 16 : 256;
  std::string options;
  const bool built =
      opencl::build_for_group (group, {&select, is_text ? &turn_boxes : &select}, [&] {
        options = options_of (format, found, group);
        return select.create (
                   context, KERNELS "select.cl", "select_objects", options, error)
               && (!is_text
                   || turn_boxes.create (
                       context, KERNELS "regions.cl", "turn_boxes", options, error));
      });
  if (!built)
    return false;
  if (is_text)
    return opencl::create_kernels (context, KERNELS "regions.cl", options,
        {{mark, "mark_pixels"}, {join, "join_pixels"}, {measure, "measure_regions"},
            {search, "find_regions"}},
        error);
  const char *name = found.is.method == Method::classification ? "find_classes"
                     : found.is.method == Method::segmentation ? "find_segments"
                                                               : "find_boxes";
  return opencl::create_kernels (context, KERNELS "detect.cl", options,
      {{search, name}, {place, "find_points"}}, error);
}

std::unique_ptr<Detector>
Detector::create (GstOpenCLContext *context, const OutputsFormat &format,
    const OutputLayout &layout, guint most, GError **error)
{
  auto detector = std::make_unique<Detector> ();
  const cl_uint zero = 0;
  const gsize count = layout.is.method == Method::segmentation ? 1 : gsize (layout.count);
  const gsize pixels = layout.columns > 0 ? count : 1;
  detector->found = layout;
  detector->most = most;
  detector->width = format.width;
  detector->height = format.height;
  detector->set_frame (format.fitted, format.frame_width, format.frame_height);
  if (!detector->make_kernels (context, format, error)
      || !opencl::make_buffer (
          context, count * candidate_bytes, detector->candidates, error)
      || !opencl::make_buffer (context, pixels * sizeof (cl_int), detector->first, error)
      || !opencl::make_buffer (context, pixels * region_bytes, detector->regions, error)
      || !detector->values.create_block (
          context, 1 + most * (object_words + 3 * gsize (layout.point_count)), error)
      || !detector->turned_values.create_block (context, most * turned_words, error)
      || !opencl::make_buffer (
          context, detector->turned_values.bytes (), detector->turned, error)
      || !opencl::make_buffer (
          context, detector->values.bytes (), detector->results, error))
    return nullptr;
  detector->number = opencl::make_filled_buffer (context, &zero, sizeof zero, error);
  /* An argument for kernels without anchors, too */
  std::vector<Anchor> anchors = layout.anchors;
  anchors.resize (std::max (anchors.size (), gsize (1)));
  return detector->number ()
                 && opencl::make_table (context, anchors, detector->anchors, error)
             ? std::move (detector)
             : nullptr;
}

/* Offsets of the buffers are 0: pools of device memory make them so. */
bool
Detector::enqueue_text (
    cl_command_queue queue, cl_mem pixels, const Thresholds &thresholds, GError **error)
{
  const gsize count = gsize (found.count);
  return mark.launch (queue, count, 1, error, pixels, cl_float (thresholds.score),
             first (), regions ())
         && join.launch (queue, count, 1, error, first ())
         && measure.launch (queue, count, 1, error, pixels, first (), regions ())
         && search.launch (queue, count, 1, error, first (), regions (),
             cl_float (thresholds.certain), map, frame, candidates (), number ());
}

bool
Detector::enqueue_search (cl_command_queue queue, const std::vector<Memory> &outputs,
    const Thresholds &thresholds, GError **error)
{
  auto memory = [&] (const Field &field) {
    return outputs[gsize (field ? field.output : found.scores.output)].buffer;
  };
  if (found.is.method == Method::text)
    return enqueue_text (queue, memory (found.scores), thresholds, error);
  if (found.is.method == Method::segmentation)
    return search.launch (queue, gsize (frame.s[0]), gsize (frame.s[1]), error,
        memory (found.scores), map, frame, outputs.back ().buffer);
  if (found.is.method == Method::classification)
    return search.launch_groups (queue, 1, group, error, memory (found.scores),
        cl_float (thresholds.score), frame, candidates (), number ());
  return search.launch (queue, gsize (found.count), 1, error, memory (found.scores),
      memory (found.boxes), memory (found.ids), anchors (), cl_float (thresholds.certain),
      cl_float (thresholds.score), map, frame, candidates (), number ());
}

bool
Detector::enqueue_detection (cl_command_queue queue, const std::vector<Memory> &outputs,
    const Thresholds &thresholds, GError **error)
{
  /* Turned lines may have upright boxes that overlap. */
  const bool is_text = found.is.method == Method::text;
  return enqueue_search (queue, outputs, thresholds, error)
         && select.launch_groups (queue, 1, group, error, candidates (), number (),
             cl_float (is_text ? 1 : thresholds.overlap), cl_int (thresholds.is_agnostic),
             cl_uint (most), frame, results ())
         && (found.point_count == 0
             || place.launch (queue, gsize (found.point_count), most, error,
                 outputs[gsize (found.points.output)].buffer, anchors (), map,
                 cl_uint (most), results ()))
         && (!is_text
             || turn_boxes.launch_groups (
                 queue, most, group, error, first (), regions (), results (), turned ()));
}

/* A map of another shape than the frame's stretches both sides. Text is read along the longer
 * side, if that is 1.5 times the other one: down. */
void
Detector::turn (const cl_uint *words, DetectedObject &object) const
{
  gfloat v[turned_words];
  memcpy (v, words, sizeof v);
  const double x = double (map.s[0]), y = double (map.s[1]);
  const double across = std::hypot (double (v[2]) * x, double (v[3]) * y),
               down = std::hypot (double (v[3]) * x, double (v[2]) * y);
  TurnedBox box = {double (v[0]) * x + double (map.s[2]),
      double (v[1]) * y + double (map.s[3]), double (v[4]) * across, double (v[5]) * down,
      std::atan2 (double (v[3]) * y, double (v[2]) * x) * 180 / G_PI};
  if (box.height >= 1.5 * box.width) {
    std::swap (box.width, box.height);
    box.angle += 90;
  }
  object.place (box, double (frame.s[0]), double (frame.s[1]));
}

bool
Detector::read (
    cl_command_queue queue, std::vector<DetectedObject> &objects, GError **error)
{
  const cl_uint *words =
      values.read (queue, results (), error) ? values.wait (error) : nullptr;
  if (!words)
    return false;
  objects.resize (std::min (words[0], most));
  const cl_uint *points = words + 1 + most * object_words;
  for (gsize n = 0; n < objects.size (); n++) {
    Stored one;
    memcpy (&one, words + 1 + n * object_words, sizeof one);
    objects[n] = {one.left, one.top, one.width, one.height, one.score, one.kind, {},
        std::vector<gfloat> (3 * gsize (found.point_count))};
    memcpy (objects[n].points.data (), points + n * objects[n].points.size (),
        objects[n].points.size () * sizeof (gfloat));
  }
  if (found.is.method != Method::text || objects.empty ())
    return true;
  const cl_uint *boxes =
      turned_values.read (queue, turned (), error) ? turned_values.wait (error) : nullptr;
  for (gsize n = 0; boxes && n < objects.size (); n++)
    turn (boxes + n * turned_words, objects[n]);
  return boxes;
}
} // namespace inference
