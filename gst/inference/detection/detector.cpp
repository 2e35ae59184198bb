/* Finds objects in the outputs of a network on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "detector.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <algorithm>
#include <cstring>

#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/"

namespace inference {
namespace {
constexpr gsize candidate_bytes = 32, region_bytes = 24; /* of the kernels' structures */
constexpr gsize words_of_object = sizeof (DetectedObject) / sizeof (cl_uint);

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

/* Factors and summands from the network's numbers to pixels of the frame */
cl_float4
map_of (const OutputsFormat &format, const OutputLayout &layout)
{
  const bool relative = layout.relative;
  const FittedFrame &fitted = format.fitted;
  const double x = format.frame_width / fitted.width,
               y = format.frame_height / fitted.height;
  /* A map of text may be smaller than the network's input. */
  const bool is_map = layout.columns > 0;
  const double width = is_map     ? double (format.width) / double (layout.columns)
                       : relative ? format.width
                                  : 1;
  const double height =
      is_map     ? format.height * double (layout.columns) / double (layout.count)
      : relative ? format.height
                 : 1;
  return {{cl_float (width * x), cl_float (height * y), cl_float (-fitted.left * x),
      cl_float (-fitted.top * y)}};
}
} // namespace

bool
Detector::make_kernels (
    GstOpenCLContext *context, const OutputsFormat &format, GError **error)
{
  group = opencl::is_cpu (context) ? 16 : 256;
  std::string options;
  /* Fewer work-items if the device has no room for as many */
  for (;; group /= 2) {
    options = options_of (format, found, group);
    if (!select.create (context, KERNELS "select.cl", "select_objects", options, error))
      return false;
    if (group == 1 || select.allows (group))
      break;
  }
  if (found.is.method == Method::text)
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
  detector->map = map_of (format, layout);
  detector->frame = {{cl_float (format.frame_width), cl_float (format.frame_height)}};
  if (!detector->make_kernels (context, format, error)
      || !opencl::make_buffer (
          context, count * candidate_bytes, detector->candidates, error)
      || !opencl::make_buffer (context, pixels * sizeof (cl_int), detector->first, error)
      || !opencl::make_buffer (context, pixels * region_bytes, detector->regions, error)
      || !detector->values.create_block (
          context, 1 + most * (words_of_object + 3 * gsize (layout.point_count)), error)
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
  return enqueue_search (queue, outputs, thresholds, error)
         && select.launch_groups (queue, 1, group, error, candidates (), number (),
             cl_float (thresholds.overlap), cl_int (thresholds.is_agnostic),
             cl_uint (most), frame, results ())
         && (found.point_count == 0
             || place.launch (queue, gsize (found.point_count), most, error,
                 outputs[gsize (found.points.output)].buffer, anchors (), map,
                 cl_uint (most), results ()));
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
  if (!objects.empty ())
    memcpy (objects.data (), words + 1, objects.size () * sizeof (DetectedObject));
  const auto *behind =
      reinterpret_cast<const gfloat *> (words + 1 + most * words_of_object);
  found_points.assign (behind, behind + 3 * gsize (found.point_count) * objects.size ());
  return true;
}
} // namespace inference
