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
 * channel becomes (level / 255 - `mean`) / `deviation`, and 255 times that for integers. For
 * levels of 0 to 255, divide by 255: the mean 104 is 104/255, the deviation 58.4 is 58.4/255,
 * and without both `deviation=1/255` gives the levels themselves. If there is a file
 * MODEL.modelinfo beside the model, as GStreamer's onnxinference reads it, its `ranges` apply
 * where `mean` and `deviation` are not set. Whether channels come first follows from the model,
 * or from `layout`.
 *
 * With `output=tensors`, a buffer has all outputs one behind the other. With `output=alpha`,
 * the frame comes out as RGBA, and `channel` of output `output-index` becomes its alpha. A
 * matte of a segmentation network does so, for keyfill and openclcompositor.
 *
 * With `output=video`, output `output-index` becomes video of its own size: gray, RGB or RGBA
 * by its number of channels, or `channel` alone as gray. `output-range` are the values of black
 * and white. With `channel=-1` the gray level of a pixel is the number of the channel with the
 * highest value: the class, for a segmentation network. A single channel has the numbers itself.
 *
 * With `output=meta`, the frame comes out unchanged, and the outputs travel with it in
 * device memory, to #opencltensordecoder. Where the plugin was built with GStreamer 1.26 or
 * newer, they are a GstTensorMeta, too. Its names of the outputs come from `id` and
 * `group-id` of the modelinfo file. With GStreamer 1.28 the field `tensors` of the caps
 * lists them, by which decoders such as `ssdtensordec` negotiate behind opencldownload.
 *
 * With `regions=objects` the network gets the regions of each frame, those of
 * GstVideoRegionOfInterestMeta and, built with GStreamer 1.26, GstAnalyticsODMtd: cut out and
 * turned by their angle in device memory, `batch-size` of them together.
 * #opencltensordecoder attaches the results to their region. With `region-interval=0` a
 * tracked object has one result, which it keeps.
 *
 * Other inputs are constants (`inputs`), or have streams on request pads `sink_NAME` or
 * `sink_INDEX`. Each frame is joined with the frame of these that began last. An input with a
 * dimension of time gets consecutive frames (`clip-length`, `clip-step`).
 *
 * Inputs and outputs in `state` are the memory of a recurrent network. At the start, after a
 * flush and at a DISCONT buffer it is zero, or as in `inputs`.
 *
 * With a `batch-size` of N, every N frames give one buffer, with the time of the last frame.
 * Frames that are left at the end, at new caps, a new segment or a gap give a shorter one.
 *
 * Operators that are not supported are listed in one error. The weights are uploaded once,
 * also for several elements with the same model.
 *
 * At its start the element posts a message `openclinference`. Its arrays `inputs` and `outputs`
 * have a structure for each port, with `name`, `type` and `shape`, such as "-1x3x224x224".
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=1 ! openclupload ! \
 *   openclinference model-file=resnet50.onnx fit=crop mean="<0.485,0.456,0.406>" \
 *   deviation="<0.229,0.224,0.225>" ! opencldownload ! npysink location=classes.npy
 * ]| Classes of a frame
 * |[
 * gst-launch-1.0 v4l2src ! openclupload ! openclinference model-file=yolov8n.onnx \
 *   fit=letterbox output=meta ! opencltensordecoder label-file=coco.txt track-frames=15 ! \
 *   openclinference model-file=colors.onnx output=meta regions=objects region-labels=car,bus \
 *   region-interval=0 ! opencltensordecoder method=classification label-file=colors.txt ! \
 *   opencldrawboxes ! opencldownload ! videoconvert ! autovideosink
 * ]| Colours of cars
 *
 * Since: 0.3
 */
#include "elements.h"
#include "inferencecaps.hpp"
#include "regions.hpp"
#include "tensormeta.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/common/buffers.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/elements/auxiliarystream.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclframe.h>

using inference::Colors;
using inference::Fit;
using inference::InferenceSettings;
using inference::LoadedModel;
using inference::Model;
using inference::Network;
using inference::NetworkOptions;
using inference::NetworkSource;
using inference::Output;
using inference::Precision;
using inference::Regions;

#define VIDEO_CAPS(formats)                                                              \
  "video/x-raw(" DEVICE_MEMORY "), format = (string) " formats                           \
  ", width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ], "                          \
  "framerate = (fraction) [ 0/1, 2147483647/1 ]"
#define INPUT_FORMATS                                                                    \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, NV12, NV21, I420, YV12, " \
  "YUY2, UYVY, YVYU, VYUY, Y42B, Y444, NV16, NV61, NV24, AYUV, VUYA, A420, GBR, GBRA, "  \
  "P010_10LE, I420_10LE, GRAY8, GRAY16_LE, " RGB64_FORMATS " }"
#define TENSORS_OUT                                                                      \
  "other/tensors(" DEVICE_MEMORY "), format = (string) static, "                         \
  "num_tensors = (int) [ 1, 256 ], framerate = (fraction) [ 0/1, 2147483647/1 ]"

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            VIDEO_CAPS (INPUT_FORMATS) "; " TENSORS_CAPS ("(" DEVICE_MEMORY ")")));
static GstStaticPadTemplate other_template =
    GST_STATIC_PAD_TEMPLATE ("sink_%s", GST_PAD_SINK, GST_PAD_REQUEST,
        GST_STATIC_CAPS (
            VIDEO_CAPS (INPUT_FORMATS) "; " TENSORS_CAPS ("(" DEVICE_MEMORY ")")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (TENSORS_OUT "; " VIDEO_CAPS (INPUT_FORMATS)));

namespace {
/* State of the streaming thread between set_formats and close */
struct InferenceWork {
  InferenceSettings settings;
  std::unique_ptr<Network> network;
  inference::MatteOutput matte;
  inference::PictureOutput picture;
  std::unique_ptr<inference::TensorMeta> meta;
  std::unique_ptr<inference::RegionNetworks> regions; /* instead of `network` */
  std::shared_ptr<GstBuffer> of_regions; /* (nullable): frame, before it is submitted */
  bool has_video = false;
  std::vector<opencl::AuxiliaryFrame> others; /* of the network's other inputs */
  std::shared_ptr<GstBuffer> last;            /* (nullable): frame */
  std::vector<gint64> offsets;                /* of each output in a buffer, in bytes */

  /* Kernels write elements at multiples of their size only. */
  bool is_aligned (gsize n) const
  {
    return offsets[n] % gint64 (network->outputs ()[n].tensor.element_size ()) == 0;
  }
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
        {Output::video, "An output as video of its own size", "video"},
        {Output::meta, "The frame unchanged, with all outputs as metas", "meta"},
    });

const opencl::EnumTypeOf<Fit> fit_type ("GstOpenCLInferenceFit",
    {
        {Fit::stretch, "Scale to the network's input, ignoring the aspect ratio",
            "stretch"},
        {Fit::letterbox, "Keep the aspect ratio, with borders", "letterbox"},
        {Fit::crop, "Keep the aspect ratio, and crop the middle", "crop"},
        {Fit::line,
            "The input's height and the aspect ratio from the left edge on, narrower "
            "where it is too wide: lines of text",
            "line"},
    });

const opencl::EnumTypeOf<Regions> regions_type ("GstOpenCLInferenceRegions",
    {
        {Regions::frame, "Whole frames", "frame"},
        {Regions::objects, "The regions of interest of each frame (output=meta)",
            "objects"},
    });

const opencl::EnumTypeOf<Colors> colors_type ("GstOpenCLInferenceColors",
    {
        {Colors::by_channels, "gray, rgb or rgba by the number of channels", "auto"},
        {Colors::rgb, "Red, green, blue", "rgb"},
        {Colors::bgr, "Blue, green, red", "bgr"},
        {Colors::rgba, "Red, green, blue, alpha", "rgba"},
        {Colors::bgra, "Blue, green, red, alpha", "bgra"},
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
  opencl::AuxiliaryStreams *streams;
};

template <typename Member>
static auto
choice (Member member)
{
  return opencl::nested (&InferenceSettings::choice, member);
}

static const opencl::PropertyTable<InferenceSettings> properties = {
    {"model-file", "Model file", "ONNX file of the network",
        &InferenceSettings::model_file, opencl::ready},
    {"precision", "Precision", "Precision of activations and weights",
        &InferenceSettings::precision, precision_type, opencl::ready},
    {"output", "Output", "Form in which the results of the network leave the element",
        &InferenceSettings::output, output_type, opencl::ready},
    {"output-index", "Output index",
        "Index of the network's output that becomes alpha or video (output=alpha, video)",
        &InferenceSettings::output_index, {0, 255}, opencl::ready},
    {"channel", "Channel",
        "Channel of the network's output that becomes alpha or gray video (output=alpha, "
        "video; for video, 0 = all if there are 1, 3 or 4, -1 = index of the channel "
        "with the highest value)",
        &InferenceSettings::channel, {-1, 65535}, opencl::ready},
    {"output-layout", "Output layout",
        "Order of the dimensions of the network's output, such as NHWC (output=video; "
        "empty = found from the shape)",
        &InferenceSettings::output_layout, opencl::ready},
    {"output-range", "Output range",
        "Output values shown as black and white, such as \"-1,1\", or \"auto\" for the "
        "minimum and maximum of each frame (output=video; empty = 0,1, or 0,255 for "
        "integers)",
        &InferenceSettings::output_range, opencl::ready},
    {"fit", "Fit", "Scaling of frames to the network's input (video)",
        &InferenceSettings::fit, fit_type, opencl::ready},
    {"letterbox-color", "Letterbox colour",
        "Colour of the borders, 0xAARRGGBB (fit=letterbox, line; YOLO: 0xff727272)",
        &InferenceSettings::letterbox_color, {0, G_MAXUINT}, opencl::ready},
    {"colors", "Colours",
        "Order of the colour channels in the network's input (video); bgr and bgra also "
        "apply to its output (output=video)",
        &InferenceSettings::colors, colors_type, opencl::ready},
    {"mean", "Mean",
        "Mean to subtract from levels of 0 to 1: 0.5 for all channels, or as "
        "\"<0.485,0.456,0.406>\" or \"<104/255,117/255,123/255>\" for each (video; empty "
        "= from the .modelinfo file, else 0)",
        &InferenceSettings::mean, opencl::ready},
    {"deviation", "Deviation",
        "Standard deviation to divide by after that: 0.5 for all channels, or "
        "\"<0.229,0.224,0.225>\" for each; 1/255 for input of 0 to 255 (video; empty = "
        "from the .modelinfo file, else 1)",
        &InferenceSettings::deviation, opencl::ready},
    {"layout", "Layout",
        "Order of the dimensions of the network's input, such as NHWC: N batch, C "
        "channels, T time, H height, W width (video; empty = found from the shape)",
        &InferenceSettings::layout, opencl::ready},
    {"open-size", "Open size",
        "Size of an input of variable size: its shorter side, such as 736, WIDTHxHEIGHT, "
        "or with fit=line WIDTH+xHEIGHT, which is wider for wide regions (video; empty = "
        "as the frame)",
        &InferenceSettings::open_size, opencl::ready},
    {"open-multiple", "Open multiple",
        "Number that divides width and height of an input of variable size (video)",
        &InferenceSettings::open_multiple, {1, 32767}, opencl::ready},
    {"regions", "Regions", "Parts of the frame that the network runs on (output=meta)",
        &InferenceSettings::regions, regions_type, opencl::ready},
    {"region-labels", "Region labels",
        "Labels of regions that the network runs on, comma-separated (empty = all)",
        choice (&inference::RegionChoice::labels), opencl::ready},
    {"region-min-size", "Region minimum size",
        "Minimum length of the shorter side of these regions in pixels",
        choice (&inference::RegionChoice::least), {1, 32767}, opencl::ready},
    {"region-interval", "Region interval",
        "Number of frames after which the network runs again on a region (0 = once per "
        "tracked object, see track-frames of opencltensordecoder)",
        choice (&inference::RegionChoice::interval), {0, 100000}, opencl::ready},
    {"max-regions", "Maximum regions", "Maximum number of regions in a frame",
        choice (&inference::RegionChoice::most), {1, 10000}, opencl::ready},
    {"batch-size", "Batch size",
        "Batch size: number of frames, clips or regions in one run of the network",
        &InferenceSettings::batch_size, {1, 1024}, opencl::ready},
    {"clip-length", "Clip length",
        "Number of consecutive frames in a clip, if the network accepts any number "
        "(video; 0 = as the network)",
        &InferenceSettings::clip_length, {0, 4096}, opencl::ready},
    {"clip-step", "Clip step",
        "Number of frames from the start of a clip to that of the next (video; 0 = clips "
        "do not overlap)",
        &InferenceSettings::clip_step, {0, 4096}, opencl::ready},
    {"state", "State",
        "Outputs that are fed back as inputs for the next frame, "
        "\"input=output,input=output…\" (recurrent networks)",
        &InferenceSettings::state, opencl::ready},
    {"inputs", "Inputs",
        "Values of inputs that receive no frames, and initial values of the state: "
        "numbers, lists or .npy files, \"ratio=0.25,sizes=<1,2>,table=table.npy\"",
        &InferenceSettings::inputs, opencl::ready},
};

static GstCaps *
gst_opencl_inference_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (transform);
  const InferenceSettings settings = self->settings->current ();
  GstCaps *all = gst_pad_get_pad_template_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *result = direction == GST_PAD_SINK
                        ? inference::outputs_of (*self->loaded, settings, caps)
                        : inference::inputs_of (*self->loaded, settings, caps, all);
  gst_caps_unref (all);
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
  return opencl::get_array_size (filter, caps, size);
}

/* --- life --- */

static void
forget_model (GstOpenCLInference *self)
{
  std::lock_guard<std::mutex> guard (self->loaded->lock);
  self->loaded->model = nullptr;
  self->loaded->info = {};
  self->loaded->asked.clear ();
  self->loaded->shapes.clear ();
}

static void
add_ports (
    GstStructure *message, const char *name, const std::vector<inference::Port> &ports)
{
  GValue list = G_VALUE_INIT;
  g_value_init (&list, GST_TYPE_ARRAY);
  for (const inference::Port &port : ports) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value,
        gst_structure_new ("port", "name", G_TYPE_STRING, port.name.c_str (), "type",
            G_TYPE_STRING, inference::info_of (port.type).name, "shape", G_TYPE_STRING,
            port.has_shape ? inference::text_of (port.shape).c_str () : nullptr,
            nullptr));
    gst_value_array_append_and_take_value (&list, &value);
  }
  gst_structure_take_value (message, name, &list);
}

static gboolean
gst_opencl_inference_open (GstOpenCLFilter *filter, GError **error)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (filter);
  const InferenceSettings settings = self->settings->committed ();
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  forget_model (self);
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self),
      settings.output == Output::alpha || settings.output == Output::video);
  /* It would ask upstream for the tensors that downstream wants. */
  gst_base_transform_set_prefer_passthrough (
      GST_BASE_TRANSFORM (self), settings.output != Output::meta);
  if (!inference::options_of (*self->loaded, settings, model, options, error))
    return FALSE;
  GstStructure *message = gst_structure_new_empty ("openclinference");
  add_ports (message, "inputs", model->inputs);
  add_ports (message, "outputs", model->outputs);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), message));
  return TRUE;
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
check_output_index (const InferenceWork &work, GError **error)
{
  const gsize outputs = work.network->outputs ().size ();
  if (work.settings.batch_size > 1)
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "batch-size %u: expected 1 for output=alpha and video", work.settings.batch_size);
  else if (work.settings.output_index >= outputs)
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "output-index %u: the network has %" G_GSIZE_FORMAT " outputs",
        work.settings.output_index, outputs);
  else
    return true;
  return false;
}

static bool
make_picture (GstOpenCLInference *self, InferenceWork &work,
    inference::PictureOptions options, GstCaps *output, GError **error)
{
  GstVideoInfo video;
  if (!check_output_index (work, error) || !work.network->make_own_outputs (error)
      || !gst_video_info_from_caps (&video, output))
    return false;
  const auto &port = work.network->outputs ()[work.settings.output_index];
  if (port.type == inference::ElementType::boolean && options.range.empty ())
    options.range = {0, 1};
  return work.picture.create_kernel (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), options, port.tensor,
      video, error);
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
  return check_output_index (work, error) && work.network->make_own_outputs (error)
         && work.matte.create_kernels (
             gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), from, to,
             outputs[work.settings.output_index].tensor, work.settings.channel,
             work.settings.fit, work.network->input ().width (),
             work.network->input ().height (), error);
}

/* A level is at most 1, but many networks give theirs in levels of 0 to 255. */
static void
warn_of_levels (GstOpenCLInference *self, const std::vector<double> &mean)
{
  for (const double level : mean)
    if (level > 2) {
      GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
          ("mean has the level %g, but levels are 0 to 1: divide mean and deviation of "
           "levels of 0 to 255 by 255, such as %g/255",
              level, level),
          (nullptr));
      return;
    }
}

/* Several inputs, clips and state belong to frames. */
static bool
make_regions (GstOpenCLInference *self, InferenceWork &work,
    std::shared_ptr<const Model> model, NetworkOptions options, const GstVideoInfo &info,
    GError **error)
{
  if (!work.has_video || work.settings.output != Output::meta || !options.state.empty ()
      || !options.pads.empty () || options.clip_length > 1) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "regions=objects: expected video and output=meta, and no state, clips or other "
        "pads");
    return false;
  }
  options.mapping.of_regions = true;
  options.batch = work.settings.batch_size;
  work.regions = inference::RegionNetworks::create (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), std::move (model),
      options, info, work.settings.choice, error);
  return work.regions != nullptr;
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
  inference::PictureOptions picture;
  InferenceWork work;

  work.settings = settings;
  if (!inference::source_of_caps (input, info, array, source, error)
      || !inference::options_of (*self->loaded, settings, model, options, error)
      || !inference::picture_options_of (settings, picture, error))
    return false;
  if (settings.output == Output::video && picture.is_automatic)
    options.limits_of = gint (settings.output_index);
  work.has_video = source.video != nullptr;
  warn_of_levels (self, options.mapping.mean);
  if (settings.regions == Regions::objects) {
    if (!make_regions (self, work, model, options, info, error))
      return false;
    work.of_regions = self->work->of_regions; /* caps may change between both */
    *self->work = std::move (work);
    return true;
  }
  work.network = Network::create (context, *model, options, source, error);
  if (!work.network)
    return false;
  work.others.resize (work.network->others ().size ());
  gint64 offset = 0;
  for (const inference::Plan::Port &port : work.network->outputs ()) {
    work.offsets.push_back (offset);
    offset += port.tensor.count () * gint64 (port.tensor.element_size ());
    if (settings.output == Output::tensors && !work.is_aligned (work.offsets.size () - 1)
        && !work.network->make_own_outputs (error))
      return false;
  }
  if ((settings.output == Output::alpha && !make_matte (self, work, input, output, error))
      || (settings.output == Output::video
          && !make_picture (self, work, picture, output, error)))
    return false;
  if (settings.output == Output::meta) {
    if (!work.has_video || settings.batch_size > 1) {
      g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "output=meta: expected video and batch-size=1");
      return false;
    }
    const gint width = work.network->input ().width (),
               height = work.network->input ().height ();
    work.meta = inference::TensorMeta::create (context, work.network->outputs (),
        options.info,
        {{}, width, height, info.width, info.height,
            inference::fit_frame (settings.fit, info.width, info.height, width, height),
            1, model->property ("character")},
        error);
    if (!work.meta)
      return false;
  }
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
  if (work->regions && GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_DISCONT))
    work->regions->forget ();
  if (work->regions)
    work->of_regions.reset (gst_buffer_ref (input), gst_buffer_unref);
  if (work->network && work->network->has_several ())
    work->last.reset (gst_buffer_ref (input), gst_buffer_unref);
}

/* Puts the frame of `time` into input `n` of others (). Sets `is_there` to false if the wait for
 * it was interrupted. */
static bool
put_other_frame (GstOpenCLInference *self, gsize n, GstClockTime time,
    cl_command_queue queue, bool &is_there, GError **error)
{
  InferenceWork &work = *self->work;
  const inference::NetworkInput &input = work.network->others ()[n].input ();
  const std::string pad = "sink_" + input.pad;
  auto put = [&] (const GstOpenCLFrame *frame, const opencl::AuxiliaryStream::Frame &of) {
    return work.network->put_other (
        n, queue, frame, of.is_video ? &of.info : nullptr, of.array, error);
  };
  if (work.network->has_several ()) /* each place needs the frame */
    work.others[n] = {};
  if (!work.others[n].follow (
          GST_OPENCL_FILTER (self), *self->streams, pad, time, queue, put, error))
    return false;
  if (work.others[n].exists ())
    return true;
  const auto stream = self->streams->find (pad);
  is_there = false;
  if (!stream || stream->is_interrupted ())
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
      "input \"%s\": no frame on pad %s, which is not linked or has ended",
      input.name.c_str (), pad.c_str ());
  return false;
}

static gboolean
gst_opencl_inference_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (filter);
  InferenceWork *work = self->work;
  const GstClockTime time = opencl::running_time_of (
      GST_BASE_TRANSFORM (filter)->segment, GST_BUFFER_PTS (input->buffer));
  bool is_there = true;
  *outputs = 1;
  if (work->regions) {
    const auto frame = std::exchange (work->of_regions, nullptr);
    return work->regions->run (queue, frame ? frame.get () : input->buffer, input, error);
  }
  if (!work->network->begin_frame (queue, error)
      || (work->has_video && !work->network->put_frame (queue, input, error)))
    return FALSE;
  for (gsize n = 0; n < work->others.size () && is_there; n++)
    if (!put_other_frame (self, n, time, queue, is_there, error))
      return FALSE;
  *outputs = is_there && work->network->end_frame () ? 1 : 0;
  if (work->meta && *outputs > 0 && !work->meta->run (*work->network, queue, error))
    return FALSE;
  return TRUE;
}

/* Copies the outputs whose offset does not suit their type. */
static gboolean
copy_outputs (const InferenceWork &work, cl_command_queue queue,
    const GstOpenCLFrame *output, GError **error)
{
  for (gsize n = 0; n < work.offsets.size (); n++) {
    const inference::Tensor &tensor = work.network->outputs ()[n].tensor;
    if (!work.is_aligned (n)
        && !gst_opencl_check (
            clEnqueueCopyBuffer (queue, work.network->own_output (n), output->data, 0,
                output->offset[0] + gsize (work.offsets[n]),
                gsize (tensor.count ()) * tensor.element_size (), 0, nullptr,
                opencl::Profiled (queue, opencl::command::copy)),
            "clEnqueueCopyBuffer", error))
      return FALSE;
  }
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
    for (gsize n = 0; n < work->offsets.size (); n++)
      to.push_back ({work->is_aligned (n) ? output->data : nullptr,
          gint64 (output->offset[0]) + work->offsets[n]});
  if (!work->network->run (queue, from, to, error))
    return FALSE;
  if (work->settings.output == Output::tensors)
    return copy_outputs (*work, queue, output, error);
  cl_mem own = work->network->own_output (work->settings.output_index);
  return work->settings.output == Output::video
             ? work->picture.enqueue_picture (queue, own, work->network->limit (0),
                 work->network->limit (1), output, error)
             : work->matte.enqueue_matte (queue, input, output, own, error);
}

/* Another buffer with the same memory, to which the meta is added */
static GstFlowReturn
gst_opencl_inference_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  const InferenceWork *work = GST_OPENCL_INFERENCE (transform)->work;
  if (!work->meta && !work->regions)
    return opencl::base_transform ()->prepare_output_buffer (transform, input, output);
  *output = gst_buffer_copy (input);
  return GST_FLOW_OK;
}

static gboolean
gst_opencl_inference_process (GstOpenCLFilter *filter, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error)
{
  InferenceWork *work = GST_OPENCL_INFERENCE (filter)->work;
  if (!work->meta && !work->regions)
    return opencl::base_filter ()->process (filter, input, output, event, error);
  if (work->regions)
    work->regions->attach (output);
  else
    work->meta->attach (output);
  return TRUE;
}

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
  GstCaps *caps = gst_pad_get_current_caps (source), *all = gst_caps_copy (caps);
  inference::set_tensor_fields (gst_caps_get_structure (all, 0), outputs);
  /* A shape has several spellings, of which downstream may take only one. */
  GstCaps *own = gst_pad_peer_query_caps (source, all);
  if (gst_caps_is_empty (own))
    gst_caps_replace (&own, all);
  own = gst_caps_fixate (own);
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
  gst_caps_unref (all);
  gst_caps_unref (caps);
}

/* Runs a batch that is not full, with its last frame repeated. */
static void
push_rest (GstOpenCLInference *self)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (self);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (self);
  const std::shared_ptr<GstBuffer> last = self->work->last;
  if (!self->work->network || !last)
    return;
  const gint64 clips = self->work->network->waiting ();
  GstBuffer *whole = nullptr;
  bool done = clips > 0;
  while (done && !whole)
    done = klass->submit_input_buffer (transform, FALSE, gst_buffer_ref (last.get ()))
               == GST_FLOW_OK
           && klass->generate_output (transform, &whole) == GST_FLOW_OK;
  if (whole && clips < self->work->settings.batch_size)
    push_part (self, whole, guint (clips));
  else if (whole)
    gst_opencl_filter_push (GST_OPENCL_FILTER (self), std::exchange (whole, nullptr));
  gst_clear_buffer (&whole);
  self->work->network->drop_frames ();
}

static gboolean
gst_opencl_inference_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstOpenCLInference *self = GST_OPENCL_INFERENCE (transform);
  InferenceWork *work = self->work;
  const GstEventType type = GST_EVENT_TYPE (event);
  if (type == GST_EVENT_FLUSH_STOP && work->network) {
    work->network->clear_state ();
    work->network->drop_frames ();
  }
  if (type == GST_EVENT_EOS || type == GST_EVENT_CAPS || type == GST_EVENT_SEGMENT
      || type == GST_EVENT_GAP)
    push_rest (self);
  if (type == GST_EVENT_CAPS)
    inference::wait_for_shapes (*self->loaded);
  return opencl::base_transform ()->sink_event (transform, event);
}

/* A batch is complete when its last frame is there. */
static void
add_latency (GstOpenCLInference *self, GstQuery *query)
{
  gint numerator = 0, denominator = 1;
  GstClockTime least, most;
  gboolean live, is_video = FALSE;
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  GstCaps *caps =
      gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (GST_BASE_TRANSFORM (self)));
  if (caps) {
    const GstStructure *structure = gst_caps_get_structure (caps, 0);
    gst_structure_get_fraction (structure, "framerate", &numerator, &denominator);
    is_video = gst_structure_has_name (structure, "video/x-raw");
  }
  gst_clear_caps (&caps);
  if (!is_video || numerator <= 0
      || !inference::options_of (
          *self->loaded, self->settings->current (), model, options, nullptr))
    return;
  const GstClockTime added = gst_util_uint64_scale (GST_SECOND * guint64 (denominator),
      guint64 (inference::timing_of (*model, options).first - 1), guint64 (numerator));
  gst_query_parse_latency (query, &live, &least, &most);
  gst_query_set_latency (
      query, live, least + added, GST_CLOCK_TIME_IS_VALID (most) ? most + added : most);
}

static gboolean
gst_opencl_inference_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  const gboolean answered =
      opencl::base_transform ()->query (transform, direction, query);
  if (answered && direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    add_latency (GST_OPENCL_INFERENCE (transform), query);
  return answered;
}

/* --- the class --- */

static const opencl::FilterElement<GstOpenCLInference, &GstOpenCLInference::loaded,
    &GstOpenCLInference::work, &GstOpenCLInference::streams>
    element = {"GstOpenCLInference", properties, "OpenCL inference",
        "Filter/Analyzer/Video",
        "Runs a neural network from an ONNX file on an OpenCL device",
        {&sink_template, &src_template},
        {gst_opencl_inference_transform_caps, gst_opencl_inference_sink_event,
            gst_opencl_inference_query, gst_opencl_inference_open,
            gst_opencl_inference_close, gst_opencl_inference_set_formats,
            gst_opencl_inference_get_frame_size, gst_opencl_inference_begin_frame,
            gst_opencl_inference_submit, gst_opencl_inference_transform,
            gst_opencl_inference_prepare_output_buffer, gst_opencl_inference_process},
        [] (GstOpenCLFilterClass *klass) {
          opencl::StreamPads<&GstOpenCLInference::streams>::install (
              klass, {&other_template});
          /* Not that of GstOpenCLFilter, which keeps the tensors of the input */
          GST_BASE_TRANSFORM_CLASS (klass)->fixate_caps =
              GST_BASE_TRANSFORM_CLASS (g_type_class_peek (GST_TYPE_BASE_TRANSFORM))
                  ->fixate_caps;
        },
        opencl::drops_late_frames,
        [] (GstOpenCLInference *self) {
          self->streams = new opencl::AuxiliaryStreams;
          self->loaded = new LoadedModel (self->streams);
          self->work = new InferenceWork ();
        }};

OPENCL_FILTER_DEFINE (openclinference, gst_opencl_inference, element)
