/* opencltensordecoder: labels and boxes from the outputs of a network
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-opencltensordecoder
 * @title: opencltensordecoder
 *
 * Finds classes, objects or text in the outputs of a network that `openclinference
 * output=meta` attached to the frame. It is an element of its own, as decoders of GStreamer
 * are, so that frames of any network and source have the same metas behind it. The outputs
 * stay in device memory. Only the results are downloaded.
 *
 * | method | network | outputs of one image |
 * |---|---|---|
 * | `classification` | any | (classes): probabilities or logits |
 * | `yolo-v5` | YOLO v5, v7 | (boxes, 5 + classes), three boxes a cell of strides 8, 16, 32 |
 * | `yolo-v8` | YOLO v8, v9, v11, v12 | (4 + classes, boxes) or (boxes, 4 + classes) |
 * | `yolo-v10` | YOLO v10, v26 | (boxes, 6): corners, score, class |
 * | `yolo-pose` | YOLO v8-pose, v11-pose | as `yolo-v8`, and (x, y, score) or (x, y) of points |
 * | `yolo-x` | YOLOX | (boxes, 5 + classes), relative to the cells of strides 8, 16, 32 |
 * | `ssd` | SSD | (boxes, 4) and (boxes, classes), or (boxes, 4), classes, scores, number |
 * | `anchors` | MediaPipe: faces, hands, bodies | (boxes, 4 or more), (boxes, 1): logits |
 * | `detr` | DETR | (boxes, 4) and (boxes, classes + 1): logits |
 * | `segmentation` | any | (classes, height, width), (height, width, classes), (height, width) |
 * | `text` | DBNet | (1, height, width): probability of text |
 *
 * `method=auto` takes the only method whose shapes fit. Where several fit, as rows of `yolo-x`
 * and of `yolo-v8`, the one with as many classes as `label-file` has labels is taken. The
 * shapes of `ssd` and `detr` are the same: the name of an output with `score` or `logit`
 * tells. Anything else is an error that has the shapes. With `method` set, the YOLO methods
 * take both orders of the two dimensions. They expect fewer classes than boxes.
 *
 * Key points look like classes, so `yolo-pose` is never automatic. It has as many classes as
 * `label-file` has labels, or one. Where points of two and of three numbers fit, `key-points`
 * decides. `anchors` has a point for each two numbers after the box.
 *
 * An object is the box of a candidate whose score is above `class-confidence-threshold`,
 * and for `yolo-v5` and `yolo-x`, whose objectness is above `box-confidence-threshold`. The
 * score is that of the best class, times the objectness. A score above 1 is an error: such
 * outputs are logits, for which `activation` is set, or those of another network. Of boxes
 * of one class that overlap by more than `iou-threshold`, the one with the highest score
 * stays. For `text` the two thresholds are those of a pixel (class) and of the mean of a
 * connected region (box). Scores that are NaN never pass. Boxes are pixels of the frame,
 * whatever `fit` of openclinference was, and end at its edges.
 *
 * `segmentation` takes the first output, which has scores of up to 255 classes, or integers as
 * numbers of classes. The highest score decides, interpolated at each pixel of the frame. It is
 * never automatic, since any picture has such a shape.
 *
 * ## Results
 *
 * - A #GstVideoRegionOfInterestMeta for each object, best first. Its type is the label, and
 *   it has a parameter `detection` (`classification` for classes, of the whole frame) with
 *   `label` (string), `score` (double), `class-id`, `x`, `y`, `width` and `height` (int).
 *   With `track-frames` it has `id` (uint), which an object keeps from frame to frame. Of
 *   networks with key points it has `points`, a #GstValueArray of doubles: x and y in pixels
 *   of the frame, and the score, for each point. A point may lie outside of the frame.
 * - Where the plugin was built with GStreamer 1.26 or newer, the same as
 *   GstAnalyticsODMtd or GstAnalyticsClsMtd.
 * - For `segmentation` a #GstCustomMeta `GstOpenCLClassMap` with `map`, a #GstBuffer in device
 *   memory: the class of each pixel of the frame as a byte, row by row. 255 is none: the class
 *   `background-class`, NaN, and pixels that `fit=crop` cuts off.
 * - With `post-messages`, an element message `opencltensordecoder` with `timestamp`,
 *   `stream-time`, `running-time`, `duration` (guint64), and `objects`: an array of these
 *   structures.
 *
 * With `track-frames` an object has the identity of that box of the frame before which,
 * moved on by its velocity, is most like it in place and size. Only boxes of one class are
 * compared. A frame marked DISCONT begins anew.
 *
 * The element waits for the results of a frame before it passes it on. With a `queue`
 * before it, the next frame is processed meanwhile.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 v4l2src ! openclupload ! openclinference model-file=yolov8n.onnx \
 *   fit=letterbox output=meta ! queue ! opencltensordecoder label-file=coco.txt ! \
 *   opencldrawboxes ! opencldownload ! videoconvert ! autovideosink
 * ]| Objects in the frames of a camera
 *
 * Since: 0.4
 */
#include "detection/detector.hpp"
#include "detection/tracker.hpp"
#include "elements.h"

#include <gst/common/buffers.hpp>
#include <gst/common/platform.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>
#ifdef HAVE_TENSOR_META
#include <gst/analytics/analytics.h>
#endif

#include <cmath>

using inference::DetectedObject;
using inference::Method;
using inference::ScoreActivation;

#define DEVICE_VIDEO "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"

namespace {
struct DecoderSettings {
  inference::DetectionSettings detection;
  inference::Thresholds thresholds;
  guint most = 100;
  std::string label_file;
  guint track_frames = 0;
  bool post_messages = true;
};

/* State of the streaming thread */
struct DecoderWork {
  DecoderSettings settings;
  std::vector<std::string> labels;
  std::shared_ptr<const inference::OutputsFormat> format; /* of the detector */
  std::unique_ptr<inference::Detector> detector;
  inference::Tracker tracker;
  bool has_warned = false;
};
} // namespace

static const opencl::EnumTypeOf<Method> method_type ("GstOpenCLTensorDecoderMethod",
    {
        {Method::automatic, "By the shapes of the outputs", "auto"},
        {Method::classification, "Classes", "classification"},
        {Method::yolo_v5, "YOLO v5, v7", "yolo-v5"},
        {Method::yolo_v8, "YOLO v8, v9, v11, v12", "yolo-v8"},
        {Method::yolo_v10, "YOLO v10, v26", "yolo-v10"},
        {Method::yolo_x, "YOLOX", "yolo-x"},
        {Method::yolo_pose, "YOLO v8, v11 with key points", "yolo-pose"},
        {Method::ssd, "SSD with decoded boxes", "ssd"},
        {Method::anchors, "SSD of MediaPipe, with anchors", "anchors"},
        {Method::detr, "DETR", "detr"},
        {Method::segmentation, "Classes of pixels", "segmentation"},
        {Method::text, "Regions of a map of text", "text"},
    });

static const opencl::EnumTypeOf<ScoreActivation> activation_type (
    "GstOpenCLTensorDecoderActivation",
    {
        {ScoreActivation::automatic, "By the method", "auto"},
        {ScoreActivation::none, "Scores are probabilities", "none"},
        {ScoreActivation::sigmoid, "Scores are logits of each class", "sigmoid"},
        {ScoreActivation::softmax, "Scores are logits of one of the classes", "softmax"},
    });

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_VIDEO));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (DEVICE_VIDEO));

G_DECLARE_FINAL_TYPE (GstOpenCLTensorDecoder, gst_opencl_tensor_decoder, GST,
    OPENCL_TENSOR_DECODER, GstOpenCLFilter)

struct _GstOpenCLTensorDecoder {
  GstOpenCLFilter parent;

  opencl::Settings<DecoderSettings> *settings;
  DecoderWork *work;
};

template <typename Member>
static auto
detection (Member member)
{
  return opencl::nested (&DecoderSettings::detection, member);
}

template <typename Member>
static auto
threshold (Member member)
{
  return opencl::nested (&DecoderSettings::thresholds, member);
}

static const opencl::PropertyTable<DecoderSettings> properties = {
    {"method", "Method", "Kind of the network's outputs",
        detection (&inference::DetectionSettings::method), method_type, opencl::ready},
    {"activation", "Activation", "Conversion of scores to probabilities",
        detection (&inference::DetectionSettings::activation), activation_type,
        opencl::ready},
    {"key-points", "Key points",
        "Number of key points of an object (0 = by the shapes; yolo-pose)",
        detection (&inference::DetectionSettings::points), {0, 10000}, opencl::ready},
    {"background-class", "Background class",
        "Class that is no object (-1 = none, -2 = by the method: 0 for ssd, the last for "
        "detr)",
        detection (&inference::DetectionSettings::background), {-2, G_MAXINT},
        opencl::ready},
    {"box-confidence-threshold", "Box confidence threshold",
        "Objectness of a box, or mean score of a region of text, that objects exceed",
        threshold (&inference::Thresholds::certain), {0, 1}, opencl::controllable},
    {"class-confidence-threshold", "Class confidence threshold",
        "Score that objects and classes, or pixels of text, exceed",
        threshold (&inference::Thresholds::score), {0, 1}, opencl::controllable},
    {"iou-threshold", "IoU threshold",
        "Maximum intersection over union of two objects (1 = all stay)",
        threshold (&inference::Thresholds::overlap), {0, 1}, opencl::controllable},
    {"class-agnostic", "Class agnostic",
        "Suppress overlapping boxes of other classes, too",
        threshold (&inference::Thresholds::is_agnostic), opencl::controllable},
    {"max-detections", "Maximum detections", "Maximum number of objects or classes",
        &DecoderSettings::most, {1, 10000}, opencl::ready},
    {"label-file", "Label file", "File with one label a line, from class 0 on",
        &DecoderSettings::label_file, opencl::ready},
    {"track-frames", "Track frames",
        "Number of frames that the identity of an object is kept without a box (0 = no "
        "identities)",
        &DecoderSettings::track_frames, {0, 10000}, opencl::playing},
    {"post-messages", "Post messages", "Post an element message for each frame",
        &DecoderSettings::post_messages, opencl::playing},
};

/* --- life --- */

/* Reads UTF-8, one label a line. Lines without text number a class, too. */
static bool
load_labels (const std::string &path, std::vector<std::string> &labels, GError **error)
{
  const gsize most_bytes = 1 << 20, longest = 256;
  opencl::RegularFile file;
  std::string text;
  gsize done = 0;
  if (!file.open (path.c_str (), error))
    return false;
  text.resize (gsize (MIN (file.size (), guint64 (most_bytes + 1))));
  if (!file.read (text.data (), text.size (), done, error))
    return false;
  text.resize (done);
  for (gsize begin = 0, end; begin < text.size (); begin = end + 1) {
    end = std::min (text.find ('\n', begin), text.size ());
    const gsize length = end - begin - (end > begin && text[end - 1] == '\r');
    labels.push_back (text.substr (begin, length));
    if (length <= longest && text.size () <= most_bytes
        && g_utf8_validate (labels.back ().data (), gssize (length), nullptr))
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "line %" G_GSIZE_FORMAT ": expected UTF-8 of up to %" G_GSIZE_FORMAT
        " bytes a line, and of %" G_GSIZE_FORMAT " bytes",
        labels.size (), longest, most_bytes);
    return false;
  }
  return true;
}

static gboolean
gst_opencl_tensor_decoder_open (GstOpenCLFilter *filter, GError **error)
{
  GstOpenCLTensorDecoder *self = GST_OPENCL_TENSOR_DECODER (filter);
  DecoderWork &work = *self->work;
  work = {};
  work.settings = self->settings->committed ();
  const std::string &labels = work.settings.label_file;
  if (labels.empty () || load_labels (labels, work.labels, error))
    return TRUE;
  g_prefix_error (error, "label-file: %s: ", labels.c_str ());
  return FALSE;
}

static void
gst_opencl_tensor_decoder_close (GstOpenCLFilter *filter)
{
  *GST_OPENCL_TENSOR_DECODER (filter)->work = DecoderWork ();
}

static bool
ensure_detector (GstOpenCLTensorDecoder *self,
    const std::shared_ptr<const inference::OutputsFormat> &format, GError **error)
{
  DecoderWork &work = *self->work;
  inference::OutputLayout layout;
  if (work.format == format)
    return true;
  if (!inference::find_layout (
          *format, work.settings.detection, work.labels.size (), layout, error))
    return false;
  work.detector = inference::Detector::create (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), *format, layout,
      work.settings.most, error);
  work.format = work.detector ? format : nullptr;
  return work.detector != nullptr;
}

/* --- frames --- */

/* Adds a map of classes to the frame and, for the detector to write, to the outputs. It is
 * complete before the frame leaves, since the element waits for the results. */
static bool
add_map (GstOpenCLTensorDecoder *self, inference::AttachedOutputs &outputs,
    GstBuffer *frame, GError **error)
{
  const gint64 bytes =
      gint64 (outputs.format->frame_width) * outputs.format->frame_height;
  if (self->work->detector->layout ().is.method != Method::segmentation)
    return true;
  GstMemory *memory = gst_opencl_memory_new (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), gsize (bytes), error);
  if (!memory)
    return false;
  GstBuffer *map = gst_buffer_new ();
  gst_buffer_append_memory (map, memory);
  outputs.buffers.emplace_back (map, gst_buffer_unref);
  GstCustomMeta *meta = gst_buffer_add_custom_meta (frame, CLASS_MAP_META);
  gst_structure_set (
      gst_custom_meta_get_structure (meta), "map", GST_TYPE_BUFFER, map, nullptr);
  return true;
}

static bool
enqueue_detection (GstOpenCLTensorDecoder *self,
    const inference::AttachedOutputs &outputs, GError **error)
{
  cl_command_queue queue = gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self));
  std::vector<inference::Memory> memories;
  cl_event event = nullptr;
  bool done = true;
  for (gsize n = 0; done && n < outputs.buffers.size (); n++) {
    GstMemory *memory = gst_buffer_peek_memory (outputs.buffers[n].get (), 0);
    done = gst_opencl_memory_begin (memory, queue, GST_MAP_READ, error);
    if (done)
      memories.push_back ({gst_opencl_memory_get_handle (memory), 0});
  }
  done = done
         && self->work->detector->enqueue_detection (
             queue, memories, self->settings->committed ().thresholds, error);
  if (!memories.empty ())
    opencl::enqueue_end (queue, &event, done ? error : nullptr);
  for (gsize n = 0; n < memories.size (); n++)
    gst_opencl_memory_end (gst_buffer_peek_memory (outputs.buffers[n].get (), 0), queue,
        GST_MAP_READ, event);
  done = done && event;
  if (event)
    clReleaseEvent (event);
  return done;
}

/* The best object comes first. Rounding may make probabilities a little larger than 1. */
static bool
check_scores (
    const DecoderWork &work, const std::vector<DetectedObject> &objects, GError **error)
{
  if (objects.empty () || objects[0].score < 1.01f)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "score %g, expected 0 to 1: %s are not those of %s, or are logits (set "
      "`activation`)",
      double (objects[0].score), inference::shapes_of (*work.format).c_str (),
      inference::text_of (work.detector->layout ()).c_str ());
  return false;
}

/* (transfer full): the edges of the box, rounded, and at least a pixel between them */
static GstStructure *
new_structure (const DecoderWork &work, const DetectedObject &object, guint identity)
{
  const Method method = work.detector->layout ().is.method;
  const auto &labels = work.labels;
  const gint left = gint (std::lround (object.left)),
             top = gint (std::lround (object.top)),
             right = gint (std::lround (object.left + object.width)),
             bottom = gint (std::lround (object.top + object.height));
  const std::string label = gsize (object.kind) < labels.size ()
                                ? labels[gsize (object.kind)]
                            : method == Method::text ? "text"
                                                     : std::to_string (object.kind);
  GstStructure *structure = gst_structure_new (
      method == Method::classification ? "classification" : "detection", "label",
      G_TYPE_STRING, label.c_str (), "score", G_TYPE_DOUBLE, gdouble (object.score),
      "class-id", G_TYPE_INT, object.kind, "x", G_TYPE_INT,
      std::min (left, work.format->frame_width - 1), "y", G_TYPE_INT,
      std::min (top, work.format->frame_height - 1), "width", G_TYPE_INT,
      std::max (right - left, 1), "height", G_TYPE_INT, std::max (bottom - top, 1),
      nullptr);
  if (identity > 0)
    gst_structure_set (structure, "id", G_TYPE_UINT, identity, nullptr);
  return structure;
}

/* Adds x, y and score of each key point as `points`. */
static void
add_points (const inference::Detector &detector, gsize object, GstStructure *structure)
{
  const gsize numbers = 3 * gsize (detector.layout ().point_count);
  const gfloat *first = detector.points ().data () + object * numbers;
  GValue list = G_VALUE_INIT;
  if (numbers == 0)
    return;
  g_value_init (&list, GST_TYPE_ARRAY);
  opencl::write_value (std::vector<double> (first, first + numbers), &list);
  gst_structure_take_value (structure, "points", &list);
}

#ifdef HAVE_TENSOR_META
static void
attach_analytics (GstBuffer *frame,
    const std::vector<GstVideoRegionOfInterestMeta> &regions,
    const std::vector<gfloat> &scores, bool classes)
{
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (frame);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta (frame);
  std::vector<gfloat> levels = scores;
  std::vector<GQuark> labels;
  for (gsize n = 0; n < regions.size (); n++) {
    labels.push_back (regions[n].roi_type);
    if (!classes)
      gst_analytics_relation_meta_add_od_mtd (relations, regions[n].roi_type,
          gint (regions[n].x), gint (regions[n].y), gint (regions[n].w),
          gint (regions[n].h), scores[n], nullptr);
  }
  if (classes && !regions.empty ())
    gst_analytics_relation_meta_add_cls_mtd (
        relations, regions.size (), levels.data (), labels.data (), nullptr);
}
#endif

/* Adds metas for the objects, and returns them as an array for the message. */
static GValue
attach (const DecoderWork &work, GstBuffer *frame,
    const std::vector<DetectedObject> &objects, const std::vector<guint> &identities)
{
  GValue list = G_VALUE_INIT;
  std::vector<GstVideoRegionOfInterestMeta> regions;
  std::vector<gfloat> scores;
  gst_value_array_init (&list, guint (objects.size ()));
  for (gsize n = 0; n < objects.size (); n++) {
    GstStructure *structure =
        new_structure (work, objects[n], identities.empty () ? 0 : identities[n]);
    gint x, y, width, height;
    GValue value = G_VALUE_INIT;
    add_points (*work.detector, n, structure);
    gst_structure_get (structure, "x", G_TYPE_INT, &x, "y", G_TYPE_INT, &y, "width",
        G_TYPE_INT, &width, "height", G_TYPE_INT, &height, nullptr);
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta (
        frame, gst_structure_get_string (structure, "label"), guint (x), guint (y),
        guint (width), guint (height));
    gst_video_region_of_interest_meta_add_param (meta, gst_structure_copy (structure));
    regions.push_back (*meta);
    scores.push_back (objects[n].score);
    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, structure);
    gst_value_array_append_and_take_value (&list, &value);
  }
#ifdef HAVE_TENSOR_META
  attach_analytics (frame, regions, scores,
      work.detector->layout ().is.method == Method::classification);
#endif
  return list;
}

/* Classes have no identities. A frame that does not follow the one before begins anew. */
static std::vector<guint>
identities_of (GstOpenCLTensorDecoder *self, GstBuffer *frame,
    const std::vector<DetectedObject> &objects)
{
  DecoderWork &work = *self->work;
  const guint frames = self->settings->committed ().track_frames;
  if (GST_BUFFER_IS_DISCONT (frame) || frames == 0)
    work.tracker.forget ();
  if (frames == 0 || work.detector->layout ().is.method == Method::classification)
    return {};
  return work.tracker.identify (objects, frames);
}

/* Takes ownership of the array. */
static void
post (GstOpenCLTensorDecoder *self, GstBuffer *frame, GValue *objects)
{
  const GstSegment &segment = GST_BASE_TRANSFORM (self)->segment;
  const GstClockTime time = GST_BUFFER_PTS (frame);
  GstStructure *message =
      gst_structure_new ("opencltensordecoder", "timestamp", G_TYPE_UINT64, time,
          "stream-time", G_TYPE_UINT64, opencl::stream_time_of (segment, time),
          "running-time", G_TYPE_UINT64, opencl::running_time_of (segment, time),
          "duration", G_TYPE_UINT64, GST_BUFFER_DURATION (frame), nullptr);
  gst_structure_take_value (message, "objects", objects);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), message));
}

/* The input if no other element holds it, else a copy with the same memory */
static GstFlowReturn
gst_opencl_tensor_decoder_prepare_output_buffer (
    GstBaseTransform *, GstBuffer *input, GstBuffer **output)
{
  *output = gst_buffer_is_writable (input) ? input : gst_buffer_copy (input);
  return GST_FLOW_OK;
}

static gboolean
gst_opencl_tensor_decoder_process (GstOpenCLFilter *filter, GstBuffer *,
    GstBuffer *output, cl_event *event, GError **error)
{
  GstOpenCLTensorDecoder *self = GST_OPENCL_TENSOR_DECODER (filter);
  DecoderWork &work = *self->work;
  std::vector<DetectedObject> objects;
  inference::AttachedOutputs outputs = inference::detach_outputs (output);
  *event = nullptr;
  if (!outputs.format) {
    if (!std::exchange (work.has_warned, true))
      GST_ELEMENT_WARNING (self, STREAM, FORMAT,
          ("a frame has no outputs of a network, expected openclinference output=meta "
           "before %s",
              GST_OBJECT_NAME (self)),
          (nullptr));
    return TRUE;
  }
  if (!ensure_detector (self, outputs.format, error)
      || !add_map (self, outputs, output, error)
      || !enqueue_detection (self, outputs, error)
      || !work.detector->read (gst_opencl_filter_get_queue (filter), objects, error)
      || !check_scores (work, objects, error))
    return FALSE;
  GValue list = attach (work, output, objects, identities_of (self, output, objects));
  if (self->settings->committed ().post_messages)
    post (self, output, &list);
  else
    g_value_unset (&list);
  return TRUE;
}

/* --- the class --- */

static const opencl::FilterElement<GstOpenCLTensorDecoder, &GstOpenCLTensorDecoder::work>
    element = {"GstOpenCLTensorDecoder", properties, "OpenCL tensor decoder",
        "Tensordecoder/Video",
        "Finds classes, objects or text in the outputs of openclinference",
        {&sink_template, &src_template},
        {gst_opencl_tensor_decoder_prepare_output_buffer, gst_opencl_tensor_decoder_open,
            gst_opencl_tensor_decoder_close, gst_opencl_tensor_decoder_process},
        nullptr, opencl::drops_late_frames,
        opencl::create_members<&GstOpenCLTensorDecoder::work>};

OPENCL_FILTER_DEFINE (opencltensordecoder, gst_opencl_tensor_decoder, element)
