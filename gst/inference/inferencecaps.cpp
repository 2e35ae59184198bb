/* Settings of openclinference, and the caps that follow from them and from the model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inferencecaps.hpp"

#ifdef HAVE_TENSOR_META
#include "tensormeta.hpp"
#endif

#include <gst/common/videoformats.hpp>
#include <gst/convolution/taps.hpp>

#include <cstring>
#include <tuple>
#include <utility>

namespace inference {
/* --- the model --- */

static bool
load_model (LoadedModel &loaded, const InferenceSettings &settings,
    std::shared_ptr<const Model> &model, NetworkOptions &options, GError **error)
{
  std::lock_guard<std::mutex> guard (loaded.lock);
  if (settings.model_file.empty ()) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "model-file is not set, expected the path of an ONNX file");
    return false;
  }
  if (!loaded.model || loaded.file != settings.model_file) {
    loaded.info = {};
    loaded.asked.clear ();
    loaded.model = Model::load (settings.model_file, error);
    loaded.file = settings.model_file;
    if (!loaded.model || !Lowering::check_operators (*loaded.model, *loaded.model, error)
        || !load_model_info (settings.model_file + ".modelinfo", loaded.info, error)) {
      loaded.model = nullptr;
      return false;
    }
  }
  model = loaded.model;
  options.info = loaded.info;
  options.shapes = loaded.shapes;
  return true;
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

/* Reads "736", the smallest side, "320x48", or "320+x48" for any width from that on. */
static bool
read_open_size (const std::string &text, NetworkOptions &options, GError **error)
{
  static const struct {
    const char *form;
    int numbers;
  } forms[] = {{"%5u%n", 1}, {"%5ux%5u%n", 2}, {"%5u+x%5u%n", 2}};
  for (const auto &[form, numbers] : forms) {
    guint first = 0, second = 1;
    int end = -1;
    if (numbers == 1)
      sscanf (text.c_str (), form, &first, &end);
    else
      sscanf (text.c_str (), form, &first, &second, &end);
    if (end != int (text.size ()) || first == 0 || second == 0)
      continue;
    (numbers == 1 ? options.open.least : options.open.width) = first;
    options.open.height = numbers == 1 ? 0 : second;
    options.open.widens = text.find ('+') != std::string::npos;
    return true;
  }
  return text.empty ()
         || fail (error,
             "open-size=" + text + ", expected a number, WIDTHxHEIGHT or WIDTH+xHEIGHT");
}

/* Names of the request pads, without "sink_" */
static std::vector<std::string>
pads_of (LoadedModel &loaded)
{
  std::vector<std::string> names;
  for (const auto &stream : loaded.streams->all ())
    names.push_back (GST_PAD_NAME (stream->pad ()) + strlen ("sink_"));
  return names;
}

bool
options_of (LoadedModel &loaded, const InferenceSettings &settings,
    std::shared_ptr<const Model> &model, NetworkOptions &options, GError **error)
{
  if (!load_model (loaded, settings, model, options, error)
      || !parse_pairs (
          "state", settings.state, "input=output,input=output…", options.state, error)
      || !parse_pairs ("inputs", settings.inputs, "input=value,input=file.npy…",
          options.values, error))
    return false;
  options.pads = pads_of (loaded);
  options.precision = settings.precision;
  options.layout = settings.layout;
  /* With regions, batch-size is the number of regions in a run, and each frame has one output. */
  options.batch = settings.regions == Regions::objects ? 1 : settings.batch_size;
  options.open.multiple = settings.open_multiple;
  options.clip_length = settings.clip_length;
  options.clip_step = settings.clip_step;
  options.mapping = {settings.fit, settings.colors, {}, {}, settings.letterbox_color};
  return read_open_size (settings.open_size, options, error)
         && read_levels ("mean", settings.mean, options.mapping.mean, error)
         && read_levels (
             "deviation", settings.deviation, options.mapping.deviation, error);
}

void
wait_for_shapes (LoadedModel &loaded)
{
  std::map<std::string, Shape> shapes;
  for (const auto &stream : loaded.streams->all ()) {
    opencl::AuxiliaryStream::Frame caps;
    if (stream->wait_for_caps (caps) && !caps.is_video)
      shapes[GST_PAD_NAME (stream->pad ()) + strlen ("sink_")] =
          Shape (caps.array.shape.begin (), caps.array.shape.end ());
  }
  std::lock_guard<std::mutex> guard (loaded.lock);
  if (std::exchange (loaded.shapes, shapes) != shapes)
    loaded.asked.clear ();
}

bool
picture_options_of (
    const InferenceSettings &settings, PictureOptions &options, GError **error)
{
  options.layout = settings.output_layout;
  options.channel = settings.channel;
  options.is_bgr = settings.colors == Colors::bgr || settings.colors == Colors::bgra;
  options.is_automatic = settings.output_range == "auto";
  if (options.is_automatic)
    return true;
  if (!read_levels ("output-range", settings.output_range, options.range, error))
    return false;
  if (options.range.empty ()
      || (options.range.size () == 2 && options.range[0] != options.range[1]))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "output-range=%s, expected two numbers for black and white, or auto",
      settings.output_range.c_str ());
  return false;
}

/* --- caps --- */

void
set_tensor_fields (GstStructure *structure, const std::vector<NetworkOutput> &outputs)
{
  std::string types, dimensions;
  if (outputs.size () == 1) {
    opencl::ArrayFormat array;
    array.type = info_of (outputs[0].type).number;
    array.shape.assign (outputs[0].shape.begin (), outputs[0].shape.end ());
    if (array.shape.empty ())
      array.shape.push_back (1);
    gst_structure_set (structure, "num_tensors", G_TYPE_INT, 1, nullptr);
    opencl::set_array_fields (structure, array);
    return;
  }
  for (const NetworkOutput &output : outputs) {
    std::vector<gsize> shape (output.shape.begin (), output.shape.end ());
    if (shape.empty ())
      shape.push_back (1);
    const char *comma = types.empty () ? "" : ",";
    types += comma + std::string (opencl::info_of (info_of (output.type).number).name);
    dimensions += comma + opencl::dimensions_text (shape);
  }
  gst_structure_set (structure, "num_tensors", G_TYPE_INT, gint (outputs.size ()),
      "types", G_TYPE_STRING, types.c_str (), "dimensions", G_TYPE_STRING,
      dimensions.c_str (), nullptr);
}

bool
source_of_caps (GstCaps *caps, GstVideoInfo &info, opencl::ArrayFormat &array,
    NetworkSource &source, GError **error)
{
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw")) {
    gst_video_info_init (&info);
    source.video = &info;
    if (opencl::video_info_of_caps (caps, info))
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

/* Number of frames of video from one output to the next */
static gint
frames_of_output (LoadedModel &loaded, const InferenceSettings &settings)
{
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  return options_of (loaded, settings, model, options, nullptr)
             ? gint (timing_of (*model, options).step)
             : 1;
}

static void
divide_rate (GstStructure *structure, gint divisor)
{
  gint n, d;
  if (gst_structure_get_fraction (structure, "framerate", &n, &d) && n > 0
      && gst_util_fraction_multiply (n, d, 1, divisor, &n, &d))
    gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, n, d, nullptr);
}

/* Negotiation asks for the same caps several times. */
static bool
find_known_outputs (LoadedModel &loaded, const InferenceSettings &settings,
    const Model &model, const NetworkOptions &options, const NetworkSource &source,
    GstCaps *caps, std::vector<NetworkOutput> &outputs)
{
  std::lock_guard<std::mutex> guard (loaded.lock);
  gchar *text = gst_caps_to_string (caps);
  std::string asked = text;
  for (const std::string &part : {settings.state, settings.inputs, settings.layout,
           std::to_string (settings.batch_size), std::to_string (settings.clip_length),
           std::to_string (settings.clip_step), settings.open_size,
           std::to_string (settings.open_multiple)})
    asked += "/" + part;
  for (const std::string &pad : options.pads)
    asked += "/" + pad;
  g_free (text);
  if (loaded.asked != asked) {
    loaded.outputs.clear ();
    find_outputs (model, options, source, loaded.outputs, nullptr);
    loaded.asked = asked;
  }
  outputs = loaded.outputs;
  return !outputs.empty ();
}

/* The outputs for fixed caps of the input. Returns false if they are not known. */
static bool
known_outputs (LoadedModel &loaded, const InferenceSettings &settings,
    const GstStructure *input, std::vector<NetworkOutput> &outputs)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (input), nullptr);
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  NetworkSource source;
  GstVideoInfo info;
  opencl::ArrayFormat array;
  const bool known =
      gst_caps_is_fixed (caps) && source_of_caps (caps, info, array, source, nullptr)
      && options_of (loaded, settings, model, options, nullptr)
      && find_known_outputs (loaded, settings, *model, options, source, caps, outputs);
  gst_caps_unref (caps);
  return known;
}

/* The tensors that fixed caps give, or those of any shape if that is not known yet */
static GstStructure *
tensors_of (
    LoadedModel &loaded, const InferenceSettings &settings, const GstStructure *input)
{
  GstStructure *tensors = any_tensors (input);
  std::vector<NetworkOutput> outputs;
  if (known_outputs (loaded, settings, input, outputs))
    set_tensor_fields (tensors, outputs);
  return tensors;
}

static void
set_formats (GstStructure *video, std::initializer_list<const char *> names)
{
  GValue formats = G_VALUE_INIT;
  g_value_init (&formats, GST_TYPE_LIST);
  for (const char *name : names) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_STRING);
    g_value_set_static_string (&value, name);
    gst_value_list_append_and_take_value (&formats, &value);
  }
  gst_structure_take_value (video, "format", &formats);
}

/* The frame with alpha: the same size and rate */
static GstStructure *
matte_of (const GstStructure *input)
{
  GstStructure *matte = gst_structure_copy (input);
  gst_structure_remove_fields (matte, "colorimetry", "chroma-site", nullptr);
  set_formats (matte, {"RGBA", "BGRA", "ARGB", "ABGR"});
  return matte;
}

/* A picture that shows the whole frame keeps its display aspect ratio. */
static void
set_pixel_ratio (GstStructure *picture, const GstStructure *input, Fit fit)
{
  gint n = 1, d = 1, width = 1, height = 1, in_width = 1, in_height = 1;
  if (!gst_structure_get_int (input, "width", &in_width)
      || !gst_structure_get_int (input, "height", &in_height))
    return;
  gst_structure_get_int (picture, "width", &width);
  gst_structure_get_int (picture, "height", &height);
  gst_structure_get_fraction (input, "pixel-aspect-ratio", &n, &d);
  std::tie (n, d) = opencl::valid_pixel_ratio (n, d);
  if (fit == Fit::stretch
      && (!gst_util_fraction_multiply (n, d, in_width, in_height, &n, &d)
          || !gst_util_fraction_multiply (n, d, height, width, &n, &d)))
    n = d = 1;
  gst_structure_set (picture, "pixel-aspect-ratio", GST_TYPE_FRACTION, n, d, nullptr);
}

/* An output as video: of any size and format, if the shape is not known */
static GstStructure *
picture_of (
    LoadedModel &loaded, const InferenceSettings &settings, const GstStructure *input)
{
  GstStructure *video = gst_structure_new_empty ("video/x-raw");
  std::vector<NetworkOutput> outputs;
  PictureOptions options;
  Picture picture;
  if (const GValue *rate = gst_structure_get_value (input, "framerate"))
    gst_structure_set_value (video, "framerate", rate);
  if (!known_outputs (loaded, settings, input, outputs)
      || settings.output_index >= outputs.size ()
      || !picture_options_of (settings, options, nullptr)
      || !find_picture (options, outputs[settings.output_index].shape, picture, nullptr))
    return video;
  if (picture.classes > 256)
    set_formats (video, {"GRAY16_LE"});
  else if (picture.channels == 1)
    set_formats (video, {"GRAY8", "GRAY16_LE"});
  else if (picture.channels == 3)
    set_formats (video, {"RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR"});
  else
    set_formats (video, {"RGBA", "BGRA", "ARGB", "ABGR"});
  gst_structure_set (video, "width", G_TYPE_INT, picture.width (), "height", G_TYPE_INT,
      picture.height (), nullptr);
  set_pixel_ratio (video, input, settings.fit);
  return video;
}

static GstStructure *
frame_with_meta (
    LoadedModel &loaded, const InferenceSettings &settings, const GstStructure *input)
{
  GstStructure *frame = gst_structure_copy (input);
#ifdef HAVE_TENSOR_META
  std::shared_ptr<const Model> model;
  NetworkOptions options;
  if (options_of (loaded, settings, model, options, nullptr))
    add_tensor_group (frame, *model, options);
#endif
  return frame;
}

static GstCapsFeatures *
device_memory (void)
{
  return gst_caps_features_new_single (DEVICE_MEMORY);
}

GstCaps *
outputs_of (LoadedModel &loaded, const InferenceSettings &settings, GstCaps *inputs)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    GstStructure *output = nullptr;
    if (settings.output == Output::tensors)
      output = tensors_of (loaded, settings, input);
    else if (settings.output == Output::video)
      output = picture_of (loaded, settings, input);
    else if (gst_structure_has_name (input, "video/x-raw"))
      output = settings.output == Output::meta ? frame_with_meta (loaded, settings, input)
                                               : matte_of (input);
    if (!output)
      continue;
    if (gst_structure_has_name (input, "video/x-raw"))
      divide_rate (output, frames_of_output (loaded, settings));
    gst_caps_append_structure_full (result, output, device_memory ());
  }
  return result;
}

/* Any video of the same size gives a frame with alpha; what gives tensors cannot be told. */
GstCaps *
inputs_of (LoadedModel &loaded, const InferenceSettings &settings, GstCaps *outputs,
    GstCaps *any)
{
  if (settings.output == Output::tensors || settings.output == Output::video)
    return gst_caps_ref (any);
  GstCaps *sized = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    GstStructure *input = gst_structure_copy (gst_caps_get_structure (outputs, n));
    gst_structure_remove_field (input, "tensors");
    if (frames_of_output (loaded, settings) > 1)
      gst_structure_remove_field (input, "framerate");
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
  return result;
}
} // namespace inference
