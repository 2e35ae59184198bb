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
 * | `ctc` | readers of a line of text | (steps, characters + 1 or 2): class 0 is none |
 * | `embedding` | any | its numbers |
 *
 * `method=auto` takes the only method whose shapes fit, but never
 * `segmentation`, `yolo-pose`, `ctc` and `embedding`. Where several fit, as rows of `yolo-x`
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
 * connected region (box), and its box is the smallest turned one, made larger as DBNet's
 * authors do. Scores that are NaN never pass. Boxes are pixels of the frame,
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
 *   With `track-frames` it has `id` (uint), which an object keeps from frame to frame. Text
 *   has the turned box: `angle` (double, degrees, clockwise), `center-x`, `center-y`,
 *   `turned-width` and `turned-height` (double). Of networks with key points it has `points`,
 *   a #GstValueArray of doubles: x and y in pixels of the frame, and the score, for each
 *   point. A point may lie outside of the frame
 * - Behind `openclinference regions=objects`, the result is a further parameter of the
 *   region: `classification` with the best class, `text` with `text` and `score`, or
 *   `embedding` with `values` (array of doubles). Objects in a region are regions with its
 *   `id` as `parent_id`. A text is that of `label-file`, a character a line from class 1 on,
 *   or of the network's property `character`. The class after them is a space
 * - Where the plugin was built with GStreamer 1.26 or newer, the same as
 *   GstAnalyticsODMtd or GstAnalyticsClsMtd.
 * - For `segmentation` a #GstCustomMeta `GstOpenCLClassMap` with `map`, a #GstBuffer in device
 *   memory: the class of each pixel of the frame as a byte, row by row. 255 is none: the class
 *   `background-class`, NaN, and pixels that `fit=crop` cuts off.
 * - With `post-messages`, an element message `opencltensordecoder` with `timestamp`,
 *   `stream-time`, `running-time`, `duration` (guint64), and `objects`: an array of these
 *   structures, in which results of a region are fields.
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
#include "detection/rowreader.hpp"
#include "elements.h"
#include "resultmetas.hpp"

#include <gst/common/buffers.hpp>
#include <gst/common/platform.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>
#include <map>
#include <set>

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
  bool turn_regions = false;
  bool post_messages = true;
};

/* For outputs of one format */
struct FormatDecoder {
  std::shared_ptr<const inference::OutputsFormat> format; /* of the frame's outputs */
  inference::OutputsFormat one; /* of the frame, or of one of the regions of a run */
  inference::OutputLayout layout;
  std::unique_ptr<inference::Detector> detector; /* one of the two */
  std::unique_ptr<inference::RowReader> reader;
  std::vector<cl::Buffer> parts; /* outputs of a region of a run of several */
  std::vector<std::string> characters;

  inference::ResultNames names (const std::vector<std::string> &labels) const
  {
    return {labels, layout.is.method, one.frame_width, one.frame_height};
  }
};

/* The last result of a tracked region */
struct KnownResult {
  std::shared_ptr<GstStructure> result;
  guint64 seen = 0; /* frame */
};

/* State of the streaming thread */
struct DecoderWork {
  DecoderSettings settings;
  std::vector<std::string> labels;
  std::vector<std::unique_ptr<FormatDecoder>> decoders;
  inference::Tracker tracker;
  std::map<guint, KnownResult> known; /* by identity */
  guint64 frames = 0;
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
        {Method::ctc, "Steps of a text, class 0 between characters (CTC)", "ctc"},
        {Method::embedding, "Numbers as they are", "embedding"},
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
    {"method", "Method", "Type of network whose outputs are decoded",
        detection (&inference::DetectionSettings::method), method_type, opencl::ready},
    {"activation", "Activation", "Function that converts scores to probabilities",
        detection (&inference::DetectionSettings::activation), activation_type,
        opencl::ready},
    {"key-points", "Key points",
        "Number of key points per object (0 = from the shapes of the outputs; yolo-pose)",
        detection (&inference::DetectionSettings::points), {0, 10000}, opencl::ready},
    {"background-class", "Background class",
        "Index of the background class (-1 = none, -2 = depends on the method: 0 for "
        "ssd, the last one for detr)",
        detection (&inference::DetectionSettings::background), {-2, G_MAXINT},
        opencl::ready},
    {"box-confidence-threshold", "Box confidence threshold",
        "Minimum objectness score of a box, or minimum mean score of a text region",
        threshold (&inference::Thresholds::certain), {0, 1}, opencl::controllable},
    {"class-confidence-threshold", "Class confidence threshold",
        "Minimum score of an object or a class, or of a pixel to belong to text (text)",
        threshold (&inference::Thresholds::score), {0, 1}, opencl::controllable},
    {"iou-threshold", "IoU threshold",
        "Maximum overlap of two boxes as intersection over union (1 = keep all)",
        threshold (&inference::Thresholds::overlap), {0, 1}, opencl::controllable},
    {"class-agnostic", "Class agnostic",
        "Also remove overlapping boxes of different classes",
        threshold (&inference::Thresholds::is_agnostic), opencl::controllable},
    {"max-detections", "Maximum detections", "Maximum number of objects or classes",
        &DecoderSettings::most, {1, 10000}, opencl::ready},
    {"label-file", "Label file", "File with one label per line, starting with class 0",
        &DecoderSettings::label_file, opencl::ready},
    {"track-frames", "Track frames",
        "Number of frames for which an object that is not detected keeps its id (0 = no "
        "tracking)",
        &DecoderSettings::track_frames, {0, 10000}, opencl::playing},
    {"turn-regions", "Turn regions",
        "Rotate each region by its class, if labels are angles in degrees, such as 180",
        &DecoderSettings::turn_regions, opencl::ready},
    {"post-messages", "Post messages", "Post an element message for each frame",
        &DecoderSettings::post_messages, opencl::playing},
};

/* --- life --- */

/* Lines without text are labels, too. */
static std::vector<std::string>
lines_of (const std::string &text)
{
  std::vector<std::string> lines;
  for (gsize begin = 0, end; begin < text.size (); begin = end + 1) {
    end = std::min (text.find ('\n', begin), text.size ());
    lines.push_back (
        text.substr (begin, end - begin - (end > begin && text[end - 1] == '\r')));
  }
  return lines;
}

/* Reads UTF-8, one label a line. */
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
  labels = lines_of (text);
  for (gsize n = 0; n < labels.size (); n++) {
    if (labels[n].size () <= longest && text.size () <= most_bytes
        && g_utf8_validate (labels[n].data (), gssize (labels[n].size ()), nullptr))
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "line %" G_GSIZE_FORMAT ": expected UTF-8 of up to %" G_GSIZE_FORMAT
        " bytes a line, and of %" G_GSIZE_FORMAT " bytes",
        n + 1, longest, most_bytes);
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

/* --- outputs --- */

/* The outputs of one of the regions of a run */
static bool
divide_outputs (
    const inference::OutputsFormat &all, inference::OutputsFormat &one, GError **error)
{
  one = all;
  for (inference::NetworkOutput &output : one.outputs) {
    if (all.batch > 1 && (output.shape.empty () || output.shape[0] != all.batch))
      return inference::fail (error,
          "output \"" + output.name + "\" has shape " + inference::text_of (output.shape)
              + ", which has no results of each region: set batch-size=1");
    if (!output.shape.empty () && all.batch > 1)
      output.shape[0] = 1;
  }
  return true;
}

/* Class 0 is none, and there may be one of a space behind the characters. */
static bool
check_characters (const FormatDecoder &made, GError **error)
{
  const gint64 count = gint64 (made.characters.size ()), classes = made.layout.classes;
  return made.layout.is.method != Method::ctc
         || (count >= 1 && count >= classes - 2 && count <= classes - 1)
         || inference::fail (error, "method=ctc: " + std::to_string (count)
                                        + " characters, expected `label-file` with "
                                        + std::to_string (classes - 2) + " or "
                                        + std::to_string (classes - 1));
}

static bool
make_parts (GstOpenCLContext *context, FormatDecoder &made, GError **error)
{
  for (const inference::NetworkOutput &output : made.one.outputs) {
    made.parts.emplace_back ();
    if (made.format->batch > 1
        && !opencl::make_buffer (context,
            gsize (inference::count_of (output.shape)) * inference::size_of (output.type),
            made.parts.back (), error))
      return false;
  }
  return true;
}

static FormatDecoder * /* (nullable) */
decoder_for (GstOpenCLTensorDecoder *self,
    const std::shared_ptr<const inference::OutputsFormat> &format, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  DecoderWork &work = *self->work;
  for (const auto &one : work.decoders)
    if (one->format == format)
      return one.get ();
  auto made = std::make_unique<FormatDecoder> ();
  made->format = format;
  made->characters =
      work.settings.label_file.empty () ? lines_of (format->characters) : work.labels;
  if (!divide_outputs (*format, made->one, error)
      || !inference::find_layout (
          made->one, work.settings.detection, work.labels.size (), made->layout, error)
      || !check_characters (*made, error) || !make_parts (context, *made, error))
    return nullptr;
  const Method method = made->layout.is.method;
  if (method == Method::ctc || method == Method::embedding)
    made->reader = inference::RowReader::create (context, made->one, made->layout, error);
  else
    made->detector = inference::Detector::create (
        context, made->one, made->layout, work.settings.most, error);
  if (!made->reader && !made->detector)
    return nullptr;
  if (work.decoders.size () > 8) /* of caps and widths before */
    work.decoders.clear ();
  work.decoders.push_back (std::move (made));
  return work.decoders.back ().get ();
}

/* Copies the outputs of region `place`. */
static bool
take_part (cl_command_queue queue, const FormatDecoder &decoder, gsize place,
    std::vector<inference::Memory> &memories, GError **error)
{
  for (gsize n = 0; n < memories.size (); n++) {
    const inference::NetworkOutput &output = decoder.one.outputs[n];
    const gsize bytes =
        gsize (inference::count_of (output.shape)) * inference::size_of (output.type);
    if (!gst_opencl_check (clEnqueueCopyBuffer (queue, memories[n].buffer,
                               decoder.parts[n](), place * bytes, 0, bytes, 0, nullptr,
                               opencl::Profiled (queue, opencl::command::copy)),
            "clEnqueueCopyBuffer", error))
      return false;
    memories[n].buffer = decoder.parts[n]();
  }
  return true;
}

/* --- frames --- */

/* Adds a map of classes to the frame and, for the detector to write, to the outputs. It is
 * complete before the frame leaves, since the element waits for the results. */
static bool
add_map (GstOpenCLTensorDecoder *self, const FormatDecoder &decoder,
    inference::NetworkRun &run, GstBuffer *frame, GError **error)
{
  const gint64 bytes = gint64 (run.format->frame_width) * run.format->frame_height;
  if (decoder.layout.is.method != Method::segmentation)
    return true;
  GstMemory *memory = gst_opencl_memory_new (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), gsize (bytes), error);
  if (!memory)
    return false;
  GstBuffer *map = gst_buffer_new ();
  gst_buffer_append_memory (map, memory);
  run.buffers.emplace_back (map, gst_buffer_unref);
  GstCustomMeta *meta = gst_buffer_add_custom_meta (frame, CLASS_MAP_META);
  gst_structure_set (
      gst_custom_meta_get_structure (meta), "map", GST_TYPE_BUFFER, map, nullptr);
  return true;
}

/* Enqueues the search in the outputs of the frame, or in those of region `place` of a run. */
static bool
enqueue_search (GstOpenCLTensorDecoder *self, FormatDecoder &decoder,
    const inference::NetworkRun &run, gsize place, GError **error)
{
  cl_command_queue queue = gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self));
  std::vector<inference::Memory> memories;
  cl_event event = nullptr;
  bool done = true;
  /* The map of classes is behind the outputs. */
  auto flags = [&] (gsize n) {
    return n < decoder.one.outputs.size () ? GST_MAP_READ : GST_MAP_WRITE;
  };
  for (gsize n = 0; done && n < run.buffers.size (); n++) {
    GstMemory *memory = gst_buffer_peek_memory (run.buffers[n].get (), 0);
    done = gst_opencl_memory_begin (memory, queue, flags (n), error);
    if (done)
      memories.push_back ({gst_opencl_memory_get_handle (memory), 0});
  }
  const gsize begun = memories.size ();
  done =
      done
      && (decoder.format->batch < 2 || take_part (queue, decoder, place, memories, error))
      && (decoder.reader ? decoder.reader->enqueue (queue, memories, error)
                         : decoder.detector->enqueue_detection (queue, memories,
                             self->settings->committed ().thresholds, error));
  if (begun > 0)
    opencl::enqueue_end (queue, &event, done ? error : nullptr);
  for (gsize n = 0; n < begun; n++)
    gst_opencl_memory_end (
        gst_buffer_peek_memory (run.buffers[n].get (), 0), queue, flags (n), event);
  done = done && event;
  if (event)
    clReleaseEvent (event);
  return done;
}

/* The best object comes first. Rounding may make probabilities a little larger than 1. */
static bool
check_scores (const FormatDecoder &decoder, const std::vector<DetectedObject> &objects,
    GError **error)
{
  if (objects.empty () || objects[0].score < 1.01f)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "score %g, expected 0 to 1: %s are not those of %s, or are logits (set "
      "`activation`)",
      double (objects[0].score), inference::shapes_of (decoder.one).c_str (),
      inference::text_of (decoder.layout).c_str ());
  return false;
}

/* Classes have no identities. A frame that does not follow the one before begins anew. */
static std::vector<inference::Tracker::Identity>
identities_of (GstOpenCLTensorDecoder *self, const FormatDecoder &decoder,
    GstBuffer *frame, const std::vector<DetectedObject> &objects)
{
  DecoderWork &work = *self->work;
  const guint frames = self->settings->committed ().track_frames;
  if (GST_BUFFER_IS_DISCONT (frame) || frames == 0)
    work.tracker.forget ();
  if (frames == 0 || decoder.layout.is.method == Method::classification)
    return {};
  return work.tracker.identify (objects, frames, GST_BUFFER_PTS (frame));
}

/* (transfer full): the text or the numbers of the search that was enqueued */
static GstStructure * /* (nullable) */
read_rows (GstOpenCLTensorDecoder *self, FormatDecoder &decoder, GError **error)
{
  cl_command_queue queue = gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self));
  std::vector<gfloat> numbers;
  inference::ReadText read;
  if (decoder.layout.is.method == Method::ctc)
    return decoder.reader->read_text (queue, decoder.characters, read, error)
               ? gst_structure_new ("text", "text", G_TYPE_STRING, read.text.c_str (),
                   "score", G_TYPE_DOUBLE, read.score, nullptr)
               : nullptr;
  if (!decoder.reader->read_numbers (queue, numbers, error))
    return nullptr;
  GstStructure *result = gst_structure_new_empty ("embedding");
  inference::set_numbers (result, "values", numbers);
  return result;
}

static bool
decode_frame (GstOpenCLTensorDecoder *self, GstBuffer *frame, inference::NetworkRun &run,
    GValue *list, GError **error)
{
  DecoderWork &work = *self->work;
  std::vector<DetectedObject> objects;
  FormatDecoder *decoder = decoder_for (self, run.format, error);
  if (!decoder || !add_map (self, *decoder, run, frame, error)
      || !enqueue_search (self, *decoder, run, 0, error))
    return false;
  if (decoder->reader) {
    GstStructure *result = read_rows (self, *decoder, error);
    if (result)
      inference::attach_result (frame,
          gst_buffer_add_video_region_of_interest_meta (frame,
              gst_structure_get_name (result), 0, 0, guint (run.format->frame_width),
              guint (run.format->frame_height)),
          result, list);
    return result;
  }
  if (!decoder->detector->read (
          gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self)), objects, error)
      || !check_scores (*decoder, objects, error))
    return false;
  inference::attach_objects (frame, decoder->names (work.labels), objects,
      identities_of (self, *decoder, frame, objects), -1, list);
  return true;
}

/* --- regions --- */

/* The result of a class or a text, or NULL if there is none above the threshold. Objects in
 * the region become regions. */
static bool
read_region (GstOpenCLTensorDecoder *self, FormatDecoder &decoder, GstBuffer *frame,
    const inference::Region &region, GstVideoRegionOfInterestMeta *meta,
    GstStructure *&result, GValue *list, GError **error)
{
  std::vector<DetectedObject> objects;
  const gfloat threshold = self->settings->committed ().thresholds.score;
  gdouble score;
  result = nullptr;
  if (decoder.reader) {
    result = read_rows (self, decoder, error);
    if (!result)
      return false;
    if (gst_structure_get_double (result, "score", &score)
        && !(score > double (threshold)))
      gst_clear_structure (&result);
    return true;
  }
  if (!decoder.detector->read (
          gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self)), objects, error)
      || !check_scores (decoder, objects, error))
    return false;
  if (decoder.layout.is.method != Method::classification) {
    for (DetectedObject &object : objects)
      inference::move_to_frame (
          object, region, decoder.one.frame_width, decoder.one.frame_height);
    inference::attach_objects (frame, decoder.names (self->work->labels), objects, {},
        inference::ensure_number (frame, meta), list);
  } else if (!objects.empty ()) {
    result = gst_structure_new ("classification", "label", G_TYPE_STRING,
        decoder.names (self->work->labels).label_of (objects[0].kind).c_str (), "score",
        G_TYPE_DOUBLE, double (objects[0].score), "class-id", G_TYPE_INT, objects[0].kind,
        nullptr);
    if (self->work->settings.turn_regions)
      inference::turn_region (meta, region, result);
  }
  return true;
}

static bool
decode_region (GstOpenCLTensorDecoder *self, GstBuffer *frame,
    const inference::NetworkRun &run, gsize place, GstVideoRegionOfInterestMeta *meta,
    GValue *list, GError **error)
{
  const inference::Region &region = run.regions[place];
  FormatDecoder *decoder = decoder_for (self, run.format, error);
  GstStructure *result;
  if (!decoder)
    return false;
  if (decoder->layout.is.method == Method::segmentation)
    return inference::fail (
        error, "method=segmentation: expected the outputs of whole frames");

  if (decoder->detector)
    decoder->detector->set_frame (region.fitted, region.width, region.height);
  if (!enqueue_search (self, *decoder, run, place, error)
      || !read_region (self, *decoder, frame, region, meta, result, list, error))
    return false;
  if (result && region.identity > 0)
    self->work->known[region.identity].result = {
        gst_structure_copy (result), gst_structure_free};
  if (result)
    inference::attach_result (frame, meta, result, list);
  return true;
}

/* Regions of known identity that the network did not get this time have their last result. */
static void
attach_known (DecoderWork &work, GstBuffer *frame,
    const std::vector<GstVideoRegionOfInterestMeta *> &metas,
    const std::vector<inference::NetworkRun> &runs, GValue *list)
{
  const guint64 kept_frames = 1000;
  std::set<gsize> fresh;
  work.frames++;
  for (const inference::NetworkRun &run : runs)
    for (const inference::Region &region : run.regions)
      fresh.insert (region.number);
  for (gsize n = 0; n < metas.size (); n++) {
    const GstStructure *found =
        gst_video_region_of_interest_meta_get_param (metas[n], "detection");
    guint identity = 0;
    if (!found || !gst_structure_get_uint (found, "id", &identity))
      continue;
    const auto known = work.known.find (identity);
    if (known == work.known.end ())
      continue;
    known->second.seen = work.frames;
    if (fresh.count (n) == 0)
      inference::attach_result (
          frame, metas[n], gst_structure_copy (known->second.result.get ()), list);
  }
  for (auto one = work.known.begin (); one != work.known.end ();)
    one = work.frames - one->second.seen > kept_frames ? work.known.erase (one) : ++one;
}

static bool
decode_regions (GstOpenCLTensorDecoder *self, GstBuffer *frame,
    const std::vector<inference::NetworkRun> &runs, GValue *list, GError **error)
{
  const auto metas = inference::region_metas_of (frame);
  if (GST_BUFFER_IS_DISCONT (frame))
    self->work->known.clear ();
  for (const inference::NetworkRun &run : runs)
    for (gsize n = 0; n < run.regions.size (); n++) {
      const gsize number = run.regions[n].number;
      /* An element between may have removed metas. */
      if (number < metas.size ()
          && !decode_region (self, frame, run, n, metas[number], list, error))
        return false;
    }
  attach_known (*self->work, frame, metas, runs, list);
  return true;
}

/* --- messages --- */

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
  auto outputs = inference::detach_outputs (output);
  GValue list = G_VALUE_INIT;
  bool done = true;
  *event = nullptr;
  if (!outputs) {
    if (!std::exchange (self->work->has_warned, true))
      GST_ELEMENT_WARNING (self, STREAM, FORMAT,
          ("a frame has no outputs of a network, expected openclinference output=meta "
           "before %s",
              GST_OBJECT_NAME (self)),
          (nullptr));
    return TRUE;
  }
  gst_value_array_init (&list, 0);
  if (outputs->of_regions)
    done = decode_regions (self, output, outputs->runs, &list, error);
  else
    done = decode_frame (self, output, outputs->runs[0], &list, error);
  if (done && self->settings->committed ().post_messages)
    post (self, output, &list);
  else
    g_value_unset (&list);
  return done;
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
