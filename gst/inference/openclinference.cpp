/* openclinference: neural networks
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclinference
 * @title: openclinference
 *
 * Runs a neural network from an ONNX file (opset 9 to 23) on an OpenCL device. Frames go in as
 * video or as `other/tensors`. They stay in device memory.
 *
 * Video is scaled to the network's input (`fit`), converted to `colors`, and normalized: each
 * channel becomes (level / 255 - `mean`) / `deviation`. If there is a file MODEL.modelinfo
 * beside the model, as GStreamer's onnxinference reads it, its `ranges` apply where `mean` and
 * `deviation` are not set. Whether channels come first follows from the model.
 *
 * With `output=tensors`, a buffer has all outputs one behind the other. With `output=alpha`,
 * the frame comes out as RGBA, and `channel` of output `output-index` becomes its alpha. A
 * matte of a segmentation network does so, for keyfill and openclcompositor.
 *
 * With `output=meta`, the frame comes out unchanged, and the outputs are a GstTensorMeta of
 * it, whose buffers are in device memory. This value exists where the plugin was built with
 * GStreamer 1.26 or newer. Names of the outputs come from `id` and `group-id` of the
 * modelinfo file. With GStreamer 1.28 the field `tensors` of the caps lists them, by which
 * decoders such as `ssdtensordec` negotiate behind opencldownload.
 *
 * Inputs and outputs in `state` are the memory of a recurrent network. It is cleared at the
 * start, after a flush and at a DISCONT buffer.
 *
 * With a `batch-size` of N, every N frames give one buffer, with the time of the last frame.
 * Frames that are left at the end, at new caps, a new segment or a gap give a shorter one.
 *
 * Operators that are not supported are listed in one error. The weights are uploaded once,
 * also for several elements with the same model.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=1 ! openclupload ! \
 *   openclinference model-file=resnet50.onnx fit=crop mean="<0.485,0.456,0.406>" \
 *   deviation="<0.229,0.224,0.225>" ! opencldownload ! npysink location=classes.npy
 * ]| Classes of a frame
 *
 * Since: 0.3
 */
#include "elements.h"
#include "network.hpp"
#ifdef HAVE_TENSOR_META
#include "tensormeta.hpp"
#endif

#include <gst/common/arrayformat.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/settings.hpp>
#include <gst/compute/convolution/taps.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclframe.h>

#include <mutex>

GST_DEBUG_CATEGORY_STATIC (opencl_inference_debug);
#define GST_CAT_DEFAULT opencl_inference_debug

using inference::Colors;
using inference::Fit;
using inference::Model;
using inference::Network;
using inference::NetworkOptions;
using inference::NetworkSource;
using inference::Precision;

#define DEVICE_MEMORY GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY
#define VIDEO_CAPS(formats)                                                              \
  "video/x-raw(" DEVICE_MEMORY "), format = (string) " formats                           \
  ", width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ], "                          \
  "framerate = (fraction) [ 0/1, 2147483647/1 ]"
#define INPUT_FORMATS                                                                    \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, NV12, NV21, I420, YV12, " \
  "YUY2, UYVY, YVYU, VYUY, Y42B, Y444, NV16, NV61, NV24, AYUV, VUYA, A420, GBR, GBRA, "  \
  "P010_10LE, I420_10LE, GRAY8, GRAY16_LE, " RGB64_FORMATS " }"
#define MATTE_FORMATS "{ RGBA, BGRA, ARGB, ABGR }"
#ifdef HAVE_TENSOR_META
#define OUTPUT_FORMATS INPUT_FORMATS
#else
#define OUTPUT_FORMATS MATTE_FORMATS
#endif
#define TENSORS_OUT                                                                      \
  "other/tensors(" DEVICE_MEMORY "), format = (string) static, "                         \
  "num_tensors = (int) [ 1, 256 ], framerate = (fraction) [ 0/1, 2147483647/1 ]"

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            VIDEO_CAPS (INPUT_FORMATS) "; " TENSORS_CAPS ("(" DEVICE_MEMORY ")")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (TENSORS_OUT "; " VIDEO_CAPS (OUTPUT_FORMATS)));

namespace {
enum class Output { tensors, alpha, meta };

struct InferenceSettings {
  std::string model_file, state;
  Precision precision = Precision::single;
  Output output = Output::tensors;
  guint output_index = 0, channel = 0, batch_size = 1;
  Fit fit = Fit::stretch;
  Colors colors = Colors::rgb;
  std::string mean, deviation; /* a number or an array, as text */
};

/* The model, which caps are asked for before the element starts */
struct LoadedModel {
  std::mutex lock;
  std::string file;
  std::shared_ptr<const Model> model;
  inference::ModelInfo info;
  std::string
      asked; /* input caps of `outputs`, which are empty if it does not take them */
  std::vector<inference::NetworkOutput> outputs;
};

/* State of the streaming thread between set_formats and close */
struct InferenceWork {
  InferenceSettings settings;
  std::unique_ptr<Network> network;
  inference::MatteOutput matte;
#ifdef HAVE_TENSOR_META
  std::unique_ptr<inference::TensorMeta> meta;
#endif
  bool has_video = false;
  guint frames = 0;                /* of the current batch */
  std::shared_ptr<GstBuffer> last; /* (nullable): frame */
  std::vector<gint64> offsets;     /* of each output in a buffer, in bytes */
};
} // namespace

/* --- enumerations --- */

const opencl::EnumTypeOf<Precision> precision_type ("GstOpenCLInferencePrecision",
    {
        {Precision::single, "32-bit floating point", "float"},
        {Precision::half, "16-bit storage, 32-bit sums", "half"},
    });

const opencl::EnumTypeOf<Output> output_type ("GstOpenCLInferenceOutput",
    {
        {Output::tensors, "All outputs of the network as other/tensors", "tensors"},
        {Output::alpha, "The frame with a channel of an output as alpha", "alpha"},
#ifdef HAVE_TENSOR_META
        {Output::meta, "The frame unchanged, with all outputs as GstTensorMeta", "meta"},
#endif
    });

const opencl::EnumTypeOf<Fit> fit_type ("GstOpenCLInferenceFit",
    {
        {Fit::stretch, "Scale to the network's input, ignoring the aspect ratio",
            "stretch"},
        {Fit::letterbox, "Keep the aspect ratio, with black borders", "letterbox"},
        {Fit::crop, "Keep the aspect ratio, and crop the middle", "crop"},
    });

const opencl::EnumTypeOf<Colors> colors_type ("GstOpenCLInferenceColors",
    {
        {Colors::rgb, "Red, green, blue", "rgb"},
        {Colors::bgr, "Blue, green, red", "bgr"},
        {Colors::gray, "BT.601 luma of the full range", "gray"},
    });

/* --- the element --- */

G_DECLARE_FINAL_TYPE (
    GstOpenCLInference, gst_opencl_inference, GST, OPENCL_INFERENCE, GstOpenCLFilter)

struct _GstOpenCLInference {
  GstOpenCLFilter parent;

  opencl::Settings<InferenceSettings> *settings;
  LoadedModel *loaded;
  InferenceWork *work;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLInference, gst_opencl_inference, GST_TYPE_OPENCL_FILTER,
    GST_DEBUG_CATEGORY_INIT (opencl_inference_debug, "openclinference", 0, "Networks"))
GST_ELEMENT_REGISTER_DEFINE (
    openclinference, "openclinference", GST_RANK_NONE, gst_opencl_inference_get_type ())

static const opencl::PropertyTable<InferenceSettings> properties = {
    {"model-file", "Model file", "ONNX file of the network",
        &InferenceSettings::model_file, opencl::ready},
    {"precision", "Precision", "Precision of activations and weights",
        &InferenceSettings::precision, precision_type, opencl::ready},
    {"output", "Output", "Form of the output", &InferenceSettings::output, output_type,
        opencl::ready},
    {"output-index", "Output index",
        "Index of the network's output that becomes alpha (output=alpha)",
        &InferenceSettings::output_index, {0, 255}, opencl::ready},
    {"channel", "Channel", "Channel of that output that becomes alpha (output=alpha)",
        &InferenceSettings::channel, {0, 65535}, opencl::ready},
    {"fit", "Fit", "Scaling of frames to the network's input (video)",
        &InferenceSettings::fit, fit_type, opencl::ready},
    {"colors", "Colours", "Channels of the network's input (video)",
        &InferenceSettings::colors, colors_type, opencl::ready},
    {"mean", "Mean",
        "Level, 0 to 1, that is subtracted from all channels (0.5), or from each "
        "(\"<0.485,0.456,0.406>\") (video; empty = by the .modelinfo file, else 0)",
        &InferenceSettings::mean, opencl::ready},
    {"deviation", "Deviation",
        "Divisor after that of all channels (0.5), or of each "
        "(\"<0.229,0.224,0.225>\") (video; empty = by the .modelinfo file, else 1)",
        &InferenceSettings::deviation, opencl::ready},
    {"batch-size", "Batch size", "Number of frames that the network takes together",
        &InferenceSettings::batch_size, {1, 1024}, opencl::ready},
    {"state", "State",
        "Outputs that are inputs of the next frame, \"input=output,input=output…\" "
        "(recurrent networks)",
        &InferenceSettings::state, opencl::ready},
};

/* --- the model --- */

static bool
load_model (GstOpenCLInference *self, const InferenceSettings &settings,
    std::shared_ptr<const Model> &model, inference::ModelInfo &info, GError **error)
{
  LoadedModel *loaded = self->loaded;
  std::lock_guard<std::mutex> guard (loaded->lock);
  if (settings.model_file.empty ()) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "model-file is not set, expected the path of an ONNX file");
    return false;
  }
  if (!loaded->model || loaded->file != settings.model_file) {
    loaded->info = {};
    loaded->asked.clear ();
    loaded->model = Model::load (settings.model_file, error);
    loaded->file = settings.model_file;
    if (!loaded->model
        || !inference::load_model_info (
            settings.model_file + ".modelinfo", loaded->info, error)) {
      loaded->model = nullptr;
      return false;
    }
  }
  model = loaded->model;
  info = loaded->info;
  return true;
}

static void
forget_model (GstOpenCLInference *self)
{
  std::lock_guard<std::mutex> guard (self->loaded->lock);
  self->loaded->model = nullptr;
  self->loaded->info = {};
  self->loaded->asked.clear ();
}

/* Ranges of the modelinfo file say what the levels 0 and 255 become. */
static void
apply_ranges (const inference::ModelInfo &model, inference::VideoMapping &mapping)
{
  if (!mapping.mean.empty () || !mapping.deviation.empty ())
    return;
  for (const inference::TensorInfo &info : model.tensors) {
    if (!info.is_input)
      continue;
    for (const auto &range : info.ranges) {
      const double deviation = 1 / (range.second - range.first);
      mapping.deviation.push_back (deviation);
      mapping.mean.push_back (-range.first * deviation);
    }
    return;
  }
}

/* Reads "0.5", "0.5,0.4,0.3" or an array. GStreamer's text of an empty one is "<  >". */
static bool
read_levels (const char *property, const std::string &text, std::vector<double> &levels,
    GError **error)
{
  const std::string array = text[0] == '<' ? text : "<" + text + ">";
  compute::TapsSource source;
  return array.find_first_not_of ("<> ") == std::string::npos
         || (compute::open_taps (property, array, 0, source, error)
             && compute::read_taps (property, source, levels, error));
}

static bool
options_of (GstOpenCLInference *self, const InferenceSettings &settings,
    std::shared_ptr<const Model> &model, NetworkOptions &options, GError **error)
{
  if (!load_model (self, settings, model, options.info, error)
      || !inference::parse_state (settings.state, options.state, error))
    return false;
  options.precision = settings.precision;
  options.batch = settings.batch_size;
  options.mapping = {settings.fit, settings.colors, {}, {}};
  if (!read_levels ("mean", settings.mean, options.mapping.mean, error)
      || !read_levels ("deviation", settings.deviation, options.mapping.deviation, error))
    return false;
  apply_ranges (options.info, options.mapping);
  return true;
}

/* --- caps --- */

static void
set_tensor_fields (
    GstStructure *structure, const std::vector<inference::NetworkOutput> &outputs)
{
  std::string types, dimensions;
  if (outputs.size () == 1) {
    opencl::ArrayFormat array;
    array.type = inference::info_of (outputs[0].type).number;
    array.shape.assign (outputs[0].shape.begin (), outputs[0].shape.end ());
    if (array.shape.empty ())
      array.shape.push_back (1);
    gst_structure_set (structure, "num_tensors", G_TYPE_INT, 1, nullptr);
    opencl::set_array_fields (structure, array);
    return;
  }
  for (const inference::NetworkOutput &output : outputs) {
    std::vector<gsize> shape (output.shape.begin (), output.shape.end ());
    if (shape.empty ())
      shape.push_back (1);
    const char *comma = types.empty () ? "" : ",";
    types +=
        comma
        + std::string (opencl::info_of (inference::info_of (output.type).number).name);
    dimensions += comma + opencl::dimensions_text (shape);
  }
  gst_structure_set (structure, "num_tensors", G_TYPE_INT, gint (outputs.size ()),
      "types", G_TYPE_STRING, types.c_str (), "dimensions", G_TYPE_STRING,
      dimensions.c_str (), nullptr);
}

/* Fixed caps as what comes in; `info` and `array` must outlive `source`. */
static bool
source_of_caps (GstCaps *caps, GstVideoInfo &info, opencl::ArrayFormat &array,
    NetworkSource &source, GError **error)
{
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw")) {
    gst_video_info_init (&info);
    source.video = &info;
    if (gst_video_info_from_caps (&info, caps))
      return true;
    g_set_error_literal (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "the caps are no video");
    return false;
  }
  source.array = &array;
  return opencl::array_of_caps (caps, array, error);
}

/* Caps without sizes: of tensors of any number and shape */
static GstStructure *
any_tensors (const GstStructure *like)
{
  GstStructure *tensors = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING,
      "static", "num_tensors", GST_TYPE_INT_RANGE, 1, 256, nullptr);
  if (const GValue *rate = gst_structure_get_value (like, "framerate"))
    gst_structure_set_value (tensors, "framerate", rate);
  return tensors;
}

/* The frame rate of batches */
static void
divide_rate (GstStructure *structure, guint batch_size)
{
  gint numerator, denominator;
  if (batch_size > 1
      && gst_structure_get_fraction (structure, "framerate", &numerator, &denominator)
      && numerator > 0)
    gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, numerator,
        gint (denominator * gint64 (batch_size)), nullptr);
}

/* Negotiation asks for the same caps several times. */
static bool
find_known_outputs (GstOpenCLInference *self, const InferenceSettings &settings,
    const Model &model, const NetworkOptions &options, const NetworkSource &source,
    GstCaps *caps, std::vector<inference::NetworkOutput> &outputs)
{
  LoadedModel *loaded = self->loaded;
  std::lock_guard<std::mutex> guard (loaded->lock);
  gchar *text = gst_caps_to_string (caps);
  const std::string asked =
      text + ("/" + settings.state) + "/" + std::to_string (settings.batch_size);
  g_free (text);
  if (loaded->asked != asked) {
    loaded->outputs.clear ();
    inference::find_outputs (model, options, source, loaded->outputs, nullptr);
    loaded->asked = asked;
  }
  outputs = loaded->outputs;
  return !outputs.empty ();
}

/* The tensors that fixed caps give, or those of any shape if that is not known yet */
static GstStructure *
tensors_of (GstOpenCLInference *self, const InferenceSettings &settings,
    const GstStructure *input)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (input), nullptr);
  GstStructure *tensors = any_tensors (input);
  std::shared_ptr<const Model> model;
  std::vector<inference::NetworkOutput> outputs;
  NetworkOptions options;
  NetworkSource source;
  GstVideoInfo info;
  opencl::ArrayFormat array;

  if (gst_caps_is_fixed (caps) && source_of_caps (caps, info, array, source, nullptr)
      && options_of (self, settings, model, options, nullptr)
      && find_known_outputs (self, settings, *model, options, source, caps, outputs)) {
    set_tensor_fields (tensors, outputs);
    divide_rate (tensors, settings.batch_size);
  }
  gst_caps_unref (caps);
  return tensors;
}

/* The frame with alpha: the same size and rate */
static GstStructure *
matte_of (const GstStructure *input)
{
  GstStructure *matte = gst_structure_copy (input);
  GValue formats = G_VALUE_INIT;
  gst_structure_remove_fields (matte, "colorimetry", "chroma-site", nullptr);
  g_value_init (&formats, GST_TYPE_LIST);
  for (const char *format : {"RGBA", "BGRA", "ARGB", "ABGR"}) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_STRING);
    g_value_set_static_string (&value, format);
    gst_value_list_append_and_take_value (&formats, &value);
  }
  gst_structure_take_value (matte, "format", &formats);
  return matte;
}

static GstStructure *
frame_with_meta (GstOpenCLInference *self, const InferenceSettings &settings,
    const GstStructure *input)
{
  GstStructure *frame = gst_structure_copy (input);
#ifdef HAVE_TENSOR_META
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  if (options_of (self, settings, model, options, nullptr))
    inference::add_tensor_group (frame, *model, options);
#endif
  return frame;
}

static GstCapsFeatures *
device_memory (void)
{
  return gst_caps_features_new_single (DEVICE_MEMORY);
}

static GstCaps *
outputs_of (GstOpenCLInference *self, const InferenceSettings &settings, GstCaps *inputs)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    if (settings.output == Output::tensors)
      gst_caps_append_structure_full (
          result, tensors_of (self, settings, input), device_memory ());
    else if (gst_structure_has_name (input, "video/x-raw"))
      gst_caps_append_structure_full (result,
          settings.output == Output::meta ? frame_with_meta (self, settings, input)
                                          : matte_of (input),
          device_memory ());
  }
  return result;
}

/* Any video of the same size gives a frame with alpha; what gives tensors cannot be told. */
static GstCaps *
inputs_of (const InferenceSettings &settings, GstCaps *outputs)
{
  GstCaps *any = gst_static_pad_template_get_caps (&sink_template);
  if (settings.output == Output::tensors)
    return any;
  GstCaps *sized = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    GstStructure *input = gst_structure_copy (gst_caps_get_structure (outputs, n));
    gst_structure_remove_field (input, "tensors");
    if (settings.output == Output::alpha)
      gst_structure_remove_fields (
          input, "format", "colorimetry", "chroma-site", "types", nullptr);
    if (gst_structure_has_name (input, "video/x-raw"))
      gst_caps_append_structure_full (sized, input, device_memory ());
    else
      gst_structure_free (input);
  }
  GstCaps *result = gst_caps_intersect (sized, any);
  gst_caps_unref (sized);
  gst_caps_unref (any);
  return result;
}

static GstCaps *
gst_opencl_inference_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (transform);
  const InferenceSettings settings = self->settings->current ();
  GstCaps *result = direction == GST_PAD_SINK ? outputs_of (self, settings, caps)
                                              : inputs_of (settings, caps);
  return opencl::filtered_caps (result, filter);
}

/* Number of bytes of all tensors of the caps, or 1 for caps without types: the network does not
 * take the input then, and set_formats () tells why. */
static gboolean
gst_opencl_inference_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gchar *types = gst_structure_get_string (structure, "types");
  const gchar *dimensions = gst_structure_get_string (structure, "dimensions");
  *size = 1;
  if (!types || !dimensions)
    return TRUE;
  gchar **all_types = g_strsplit (types, ",", -1);
  gchar **all_dimensions = g_strsplit (dimensions, ",", -1);
  bool known = g_strv_length (all_types) == g_strv_length (all_dimensions);
  *size = 0;
  for (guint n = 0; known && all_types[n]; n++) {
    const opencl::NumberInfo *number = opencl::number_named (g_strstrip (all_types[n]));
    opencl::ArrayFormat array;
    known = number
            && opencl::parse_dimensions (
                g_strstrip (all_dimensions[n]), array.shape, nullptr);
    if (known) {
      array.type = number->type;
      *size += array.bytes ();
    }
  }
  g_strfreev (all_types);
  g_strfreev (all_dimensions);
  return known;
}

/* --- life --- */

static gboolean
gst_opencl_inference_open (GstOpenCLFilter *filter, GError **error)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (filter);
  const InferenceSettings settings = self->settings->committed ();
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  forget_model (self);
  gst_base_transform_set_qos_enabled (
      GST_BASE_TRANSFORM (self), settings.output == Output::alpha);
  /* It would ask upstream for the tensors that downstream wants. */
  gst_base_transform_set_prefer_passthrough (
      GST_BASE_TRANSFORM (self), settings.output != Output::meta);
  return options_of (self, settings, model, options, error);
}

static void
gst_opencl_inference_close (GstOpenCLFilter *filter)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (filter);
  *self->work = InferenceWork ();
  self->settings->stop ();
  forget_model (self);
}

static bool
make_matte (GstOpenCLInference *self, InferenceWork &work, GstCaps *input,
    GstCaps *output, GError **error)
{
  GstVideoInfo from, to;
  const auto &outputs = work.network->outputs ();
  if (!work.has_video || !gst_video_info_from_caps (&from, input)
      || !gst_video_info_from_caps (&to, output)) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "output=alpha: the input is no video");
    return false;
  }
  if (work.settings.batch_size > 1) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "batch-size %u: expected 1 for output=alpha", work.settings.batch_size);
    return false;
  }
  if (work.settings.output_index >= outputs.size ()) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "output-index %u: the network has %" G_GSIZE_FORMAT " outputs",
        work.settings.output_index, outputs.size ());
    return false;
  }
  return work.network->make_own_outputs (error)
         && work.matte.create (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
             from, to, outputs[work.settings.output_index].tensor, work.settings.channel,
             work.settings.fit, work.network->input ().width (),
             work.network->input ().height (), error);
}

static bool
make_work (GstOpenCLInference *self, const InferenceSettings &settings, GstCaps *input,
    GstCaps *output, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  NetworkSource source;
  GstVideoInfo info;
  opencl::ArrayFormat array;
  InferenceWork work;

  work.settings = settings;
  if (!source_of_caps (input, info, array, source, error)
      || !options_of (self, settings, model, options, error))
    return false;
  work.has_video = source.video != nullptr;
  work.network = Network::create (context, *model, options, source, error);
  if (!work.network)
    return false;
  gint64 offset = 0;
  for (const inference::Plan::Port &port : work.network->outputs ()) {
    work.offsets.push_back (offset);
    offset += port.tensor.count () * gint64 (port.tensor.element_size ());
  }
  if (settings.output == Output::alpha && !make_matte (self, work, input, output, error))
    return false;
#ifdef HAVE_TENSOR_META
  if (settings.output == Output::meta) {
    if (!work.has_video || settings.batch_size > 1) {
      g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "output=meta: expected video and batch-size=1");
      return false;
    }
    work.meta = inference::TensorMeta::create (
        context, work.network->outputs (), options.info, error);
    if (!work.meta)
      return false;
  }
#endif
  *self->work = std::move (work);
  return true;
}

static gboolean
gst_opencl_inference_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (filter);
  auto accept = [&] (const InferenceSettings &settings, GError **why) {
    return make_work (self, settings, input, output, why);
  };
  return self->settings->adopt (accept, error);
}

/* --- frames --- */

static void
gst_opencl_inference_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  InferenceWork *work = GST_OPENCL_INFERENCE (filter)->work;
  if (work->network && GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_DISCONT))
    work->network->clear_state ();
  if (work->settings.batch_size > 1)
    work->last.reset (gst_buffer_ref (input), gst_buffer_unref);
}

static gboolean
gst_opencl_inference_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  InferenceWork *work = GST_OPENCL_INFERENCE (filter)->work;
  if (!work->has_video)
    return TRUE;
  if (!work->network->put_frame (queue, input, work->frames, error))
    return FALSE;
#ifdef HAVE_TENSOR_META
  if (work->meta && !work->meta->run (*work->network, queue, error))
    return FALSE;
#endif
  work->frames = (work->frames + 1) % work->settings.batch_size;
  *outputs = work->frames == 0 ? 1 : 0;
  return TRUE;
}

static gboolean
gst_opencl_inference_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  InferenceWork *work = GST_OPENCL_INFERENCE (filter)->work;
  const inference::Memory from = {input->data, gint64 (input->offset[0])};
  std::vector<inference::Memory> to;
  if (work->settings.output == Output::tensors)
    for (const gint64 offset : work->offsets)
      to.push_back ({output->data, gint64 (output->offset[0]) + offset});
  if (!work->network->run (queue, from, to, error))
    return FALSE;
  return work->settings.output == Output::tensors
         || work->matte.enqueue (queue, input, output,
             work->network->own_output (work->settings.output_index), error);
}

#ifdef HAVE_TENSOR_META
/* Another buffer with the same memory, to which the meta is added */
static GstFlowReturn
gst_opencl_inference_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  if (!GST_OPENCL_INFERENCE (transform)->work->meta)
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_inference_parent_class)
        ->prepare_output_buffer (transform, input, output);
  *output = gst_buffer_copy (input);
  return GST_FLOW_OK;
}

static gboolean
gst_opencl_inference_process (GstOpenCLFilter *filter, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error)
{
  InferenceWork *work = GST_OPENCL_INFERENCE (filter)->work;
  if (!work->meta)
    return GST_OPENCL_FILTER_CLASS (gst_opencl_inference_parent_class)
        ->process (filter, input, output, event, error);
  work->meta->attach (output);
  return TRUE;
}
#endif

/* --- events and queries --- */

/* Pushes the results of the first frames of a batch, with caps of their own. An output whose
 * first length is not that of the batch is whole. */
static void
push_part (GstOpenCLInference *self, GstBuffer *whole, guint frames)
{
  const InferenceWork *work = self->work;
  const guint batch_size = work->settings.batch_size;
  const auto &ports = work->network->outputs ();
  GstPad *source = GST_BASE_TRANSFORM_SRC_PAD (self);
  std::vector<inference::NetworkOutput> outputs;
  GstBuffer *part = gst_buffer_new ();
  gst_buffer_copy_into (part, whole, GST_BUFFER_COPY_METADATA, 0, -1);
  for (gsize n = 0; n < ports.size (); n++) {
    inference::Shape shape = ports[n].tensor.shape;
    if (!shape.empty () && shape[0] == batch_size)
      shape[0] = frames;
    outputs.push_back ({ports[n].name, ports[n].type, shape});
    gst_buffer_copy_into (part, whole, GST_BUFFER_COPY_MEMORY, gsize (work->offsets[n]),
        gsize (inference::count_of (shape)) * inference::size_of (ports[n].type));
  }
  GstCaps *caps = gst_pad_get_current_caps (source), *own = gst_caps_copy (caps);
  set_tensor_fields (gst_caps_get_structure (own, 0), outputs);
  gst_pad_push_event (source, gst_event_new_caps (own));
  if (gst_pad_push (source, part) == GST_FLOW_NOT_NEGOTIATED)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("the last %u frames have no output: downstream takes only whole batches of "
         "batch-size=%u",
            frames, batch_size),
        (NULL));
  if (!gst_pad_push_event (source, gst_event_new_caps (caps)))
    gst_pad_mark_reconfigure (source);
  gst_caps_unref (own);
  gst_caps_unref (caps);
}

/* Runs a batch that is not full, with its last frame repeated. */
static void
push_rest (GstOpenCLInference *self)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (self);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (self);
  const std::shared_ptr<GstBuffer> last = self->work->last;
  const guint frames = self->work->frames;
  GstBuffer *whole = nullptr;
  bool done = frames > 0;
  while (done && !whole)
    done = klass->submit_input_buffer (transform, FALSE, gst_buffer_ref (last.get ()))
               == GST_FLOW_OK
           && klass->generate_output (transform, &whole) == GST_FLOW_OK;
  if (whole)
    push_part (self, whole, frames);
  gst_clear_buffer (&whole);
  self->work->frames = 0;
}

static gboolean
gst_opencl_inference_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (transform);
  InferenceWork *work = self->work;
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP && work->network) {
    work->network->clear_state ();
    work->frames = 0;
  }
  const GstEventType type = GST_EVENT_TYPE (event);
  if (type == GST_EVENT_EOS || type == GST_EVENT_CAPS || type == GST_EVENT_SEGMENT
      || type == GST_EVENT_GAP)
    push_rest (self);
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_inference_parent_class)
      ->sink_event (transform, event);
}

/* A batch is complete when its last frame is there. */
static void
add_latency (GstOpenCLInference *self, GstQuery *query)
{
  gint numerator = 0, denominator = 1;
  GstClockTime least, most;
  gboolean live;
  const guint batch_size = self->settings->current ().batch_size;
  GstCaps *caps =
      gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (GST_BASE_TRANSFORM (self)));
  if (caps)
    gst_structure_get_fraction (
        gst_caps_get_structure (caps, 0), "framerate", &numerator, &denominator);
  gst_clear_caps (&caps);
  if (batch_size < 2 || numerator <= 0)
    return;
  const GstClockTime added = gst_util_uint64_scale_int (
      GST_SECOND * guint64 (batch_size - 1), denominator, numerator);
  gst_query_parse_latency (query, &live, &least, &most);
  gst_query_set_latency (
      query, live, least + added, GST_CLOCK_TIME_IS_VALID (most) ? most + added : most);
}

static gboolean
gst_opencl_inference_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  const gboolean answered = GST_BASE_TRANSFORM_CLASS (gst_opencl_inference_parent_class)
                                ->query (transform, direction, query);
  if (answered && direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    add_latency (GST_OPENCL_INFERENCE (transform), query);
  return answered;
}

/* --- the class --- */

static void
gst_opencl_inference_init (GstOpenCLInference *self)
{
  self->settings = new opencl::Settings<InferenceSettings> (self, properties);
  self->loaded = new LoadedModel ();
  self->work = new InferenceWork ();
}

static void
gst_opencl_inference_class_init (GstOpenCLInferenceClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOpenCLInference::settings, &GstOpenCLInference::loaded,
      &GstOpenCLInference::work> (klass, properties);

  opencl::describe_element (klass, "OpenCL inference", "Filter/Effect/Video",
      "Runs a neural network from an ONNX file on an OpenCL device", {},
      {&sink_template, &src_template});

  transform_class->transform_caps = gst_opencl_inference_transform_caps;
  transform_class->sink_event = gst_opencl_inference_sink_event;
  transform_class->query = gst_opencl_inference_query;
  filter_class->open = gst_opencl_inference_open;
  filter_class->close = gst_opencl_inference_close;
  filter_class->set_formats = gst_opencl_inference_set_formats;
  filter_class->get_frame_size = gst_opencl_inference_get_frame_size;
  filter_class->begin_frame = gst_opencl_inference_begin_frame;
  filter_class->submit = gst_opencl_inference_submit;
  filter_class->transform = gst_opencl_inference_transform;
#ifdef HAVE_TENSOR_META
  transform_class->prepare_output_buffer = gst_opencl_inference_prepare_output_buffer;
  /* Not that of GstOpenCLFilter, which keeps the tensors of the input */
  transform_class->fixate_caps =
      GST_BASE_TRANSFORM_CLASS (g_type_class_peek (GST_TYPE_BASE_TRANSFORM))->fixate_caps;
  filter_class->process = gst_opencl_inference_process;
#endif
}
