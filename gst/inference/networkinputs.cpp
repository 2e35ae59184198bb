/* Sources of a network's inputs, frames, state and constants, and the shapes that follow
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "networkinputs.hpp"

#include <gst/convolution/taps.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace inference {
bool
fail (GError **error, const std::string &text)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "%s", text.c_str ());
  return false;
}

namespace {
std::string
port_text (const std::string &name, ElementType type, const Shape &shape)
{
  return "\"" + name + "\" (" + info_of (type).name + " " + text_of (shape) + ")";
}

std::string
port_text (const Port &port)
{
  return port_text (port.name, port.type, port.shape);
}

/* "x" (float32 1x3x8x8), "y" (int64 1) */
template <typename Ports>
std::string
list_of (const Ports &ports)
{
  std::string list;
  for (const Port &port : ports)
    list += (list.empty () ? "" : ", ") + port_text (port);
  return list;
}

const InputPair * /* (nullable) */
find_pair (const std::vector<InputPair> &pairs, const std::string &input)
{
  for (const InputPair &pair : pairs)
    if (pair.input == input)
      return &pair;
  return nullptr;
}

std::string
trimmed (const std::string &text)
{
  const gsize begin = text.find_first_not_of (" \t\n"),
              end = text.find_last_not_of (" \t\n");
  return begin == std::string::npos ? "" : text.substr (begin, end - begin + 1);
}

/* --- shapes --- */

const gint64 most_pixels = 32767; /* of a side, as in caps of video */

/* Caps and files leave out or add outermost dimensions of length 1. */
bool
fit_shape (Shape given, const Shape &wanted, Shape &shape)
{
  while (given.size () > wanted.size () && given[0] == 1)
    given.erase (given.begin ());
  while (given.size () < wanted.size ())
    given.insert (given.begin (), 1);
  shape = given;
  bool fits = given.size () == wanted.size ();
  for (gsize d = 0; d < given.size () && fits; d++)
    fits = wanted[d] < 0 || wanted[d] == given[d];
  return fits;
}

bool
fit_array (const Port &port, const opencl::ArrayFormat &array, NetworkInput &input,
    GError **error)
{
  const Shape given (array.shape.begin (), array.shape.end ());
  if (info_of (port.type).number == array.type
      && fit_shape (given, port.shape, input.shape))
    return true;
  return fail (error, "input \"" + port.name + "\" is " + info_of (port.type).name + " "
                          + text_of (port.shape) + ", but the caps have "
                          + opencl::info_of (array.type).name + " " + text_of (given));
}

gint64
open_length (gint length, const GstVideoInfo &video, const NetworkOptions &options)
{
  const double least =
      double (options.open.least) / std::max (std::min (video.width, video.height), 1);
  const gint64 multiple = std::max<gint64> (options.open.multiple, 1);
  const gint64 parts = std::llround (length * std::max (least, 1.0) / double (multiple));
  return std::max<gint64> (parts, 1) * multiple;
}

/* Sets the lengths that the model leaves open. `video` (nullable) is the size of frames. */
bool
fit_video (const Port &port, const GstVideoInfo *video, const NetworkOptions &options,
    NetworkInput &input, GError **error)
{
  const gint64 clip = std::max<gint64> (options.clip_length, 1);
  gint64 width = options.open.width, height = options.open.height;
  if (video && width == 0) {
    width = open_length (video->width, *video, options);
    height = open_length (video->height, *video, options);
  }
  const struct {
    char letter;
    gint64 length;
  } lengths[] = {{'N', options.batch}, {'C', channels_of (options.mapping.colors)},
      {'T', clip}, {'H', video ? height : -1}, {'W', video ? width : -1}};
  if (port.type == ElementType::f64 || port.type == ElementType::boolean
      || input.layout.empty ())
    return fail (
        error, "input " + port_text (port)
                   + ": expected float32, float16 or integer images of 1, 3 or 4 "
                     "channels for video. `layout` names the dimensions, such as NCHW");
  for (const auto &known : lengths) {
    const gint d = input.dimension (known.letter);
    if (d >= 0 && input.shape[gsize (d)] < 0)
      input.shape[gsize (d)] = known.length;
  }
  for (const char letter : {'H', 'W'})
    if (input.length (letter) == 0 || input.length (letter) > most_pixels)
      return fail (error, "input " + port_text (port)
                              + ": expected a height and a width from 1 to "
                              + std::to_string (most_pixels));
  if (input.length ('N') != options.batch)
    return fail (error, "batch-size " + std::to_string (options.batch) + ", but input \""
                            + port.name + "\" has shape " + text_of (port.shape));
  if (options.clip_length > 0 && input.length ('T') != options.clip_length)
    return fail (error, "clip-length " + std::to_string (options.clip_length)
                            + ", but input \"" + port.name + "\" has shape "
                            + text_of (port.shape));
  if (options.batch > 1 && options.clip_step > 0
      && options.clip_step < input.length ('T'))
    return fail (error, "clip-step " + std::to_string (options.clip_step)
                            + ": expected batch-size=1 for clips that overlap");
  return true;
}

/* An input with a pad of its own. Without the shape of an array, video may come, too. */
void
fit_other (const Port &port, const NetworkSource &source, const NetworkOptions &options,
    const NetworkInput &main, NetworkInput &input)
{
  const auto array = options.shapes.find (input.pad);
  if (array != options.shapes.end ()
      && fit_shape (array->second, port.shape, input.shape)) {
    input.layout.clear ();
    return;
  }
  input.shape = port.shape;
  if (!fit_video (port, source.video, options, input, nullptr)
      || (input.length ('T') != 1 && input.length ('T') != main.length ('T'))) {
    input.layout.clear ();
    input.shape = port.shape;
  }
  std::replace (input.shape.begin (), input.shape.end (), gint64 (-1), gint64 (1));
}

/* --- constants --- */

/* Reads a value in the type of an input. A number fills the whole input. */
bool
read_value (const Port &port, const Shape &shape, const std::string &text, Array &array,
    GError **error)
{
  const std::string property = "inputs: " + port.name;
  compute::TapsSource source;
  std::vector<double> values;
  Shape fitted;
  gint64 count;
  if (!compute::open_taps (property.c_str (), text, 0, source, error)
      || !compute::read_taps (property.c_str (), source, values, error))
    return false;
  const bool is_number = source.shape.empty ();
  if (is_number) {
    fitted = shape;
    std::replace (fitted.begin (), fitted.end (), gint64 (-1), gint64 (1));
  }
  if ((!is_number
          && !fit_shape (
              Shape (source.shape.begin (), source.shape.end ()), shape, fitted))
      || !count_within (fitted, gint64 (1) << 26, count))
    return fail (
        error, "inputs: the value of " + port_text (port.name, port.type, shape)
                   + " has the shape "
                   + text_of (Shape (source.shape.begin (), source.shape.end ())));
  array = Array (port.type, fitted);
  for (gsize n = 0; n < array.count (); n++) {
    const double value = values[is_number ? 0 : n];
    array.set_number (n, value);
    if (!is_float (port.type)
        && (std::fabs (value) > 0x1p63 || array.number (n) != value))
      return fail (error, "inputs: " + std::to_string (value) + " of "
                              + port_text (port.name, port.type, shape) + " is no "
                              + info_of (port.type).name);
  }
  return true;
}

/* --- roles --- */

struct Roles {
  const Port *main = nullptr;
  std::vector<std::pair<const Port *, std::string>> others; /* with the names of pads */
};

/* The pad of an input, by name or index, or an empty text */
std::string
pad_of (const Model &model, const NetworkOptions &options, gsize n)
{
  const std::string index = std::to_string (n);
  auto has_pad = [&] (const std::string &name) {
    return std::count (options.pads.begin (), options.pads.end (), name) > 0;
  };
  auto is_name = [&] (const Port &port) { return port.name == index; };
  if (has_pad (model.inputs[n].name))
    return model.inputs[n].name;
  return has_pad (index)
                 && std::none_of (model.inputs.begin (), model.inputs.end (), is_name)
             ? index
             : "";
}

/* Every value and pad must belong to an input. */
bool
check_names (
    const Model &model, const NetworkOptions &options, const Roles &roles, GError **error)
{
  auto has_input = [&] (const std::string &name) {
    return std::any_of (model.inputs.begin (), model.inputs.end (),
        [&] (const Port &port) { return port.name == name; });
  };
  for (const InputPair &value : options.values)
    if (!has_input (value.input))
      return fail (error, "inputs: the network has no input \"" + value.input + "\", but "
                              + list_of (model.inputs));
  for (const std::string &pad : options.pads)
    if (std::none_of (roles.others.begin (), roles.others.end (),
            [&] (const auto &other) { return other.second == pad; }))
      return fail (
          error, "pad sink_" + pad
                     + ": the network has no such input without state or value, but "
                     + list_of (model.inputs));
  return true;
}

bool
find_roles (
    const Model &model, const NetworkOptions &options, Roles &roles, GError **error)
{
  std::vector<Port> left;
  for (gsize n = 0; n < model.inputs.size (); n++) {
    const Port &port = model.inputs[n];
    const std::string pad = pad_of (model, options, n);
    if (find_pair (options.state, port.name) || find_pair (options.values, port.name))
      continue;
    if (!pad.empty ()) {
      roles.others.emplace_back (&port, pad);
      continue;
    }
    roles.main = &port;
    left.push_back (port);
  }
  if (!check_names (model, options, roles, error))
    return false;
  if (left.empty ())
    return fail (error, "no input is left for frames beside state, values and pads: "
                            + list_of (model.inputs));
  if (left.size () > 1)
    return fail (error, "the network has several inputs: " + list_of (left)
                            + ". Frames go into one of them. Give the others by inputs=\""
                            + left.back ().name + "=…\", state, or pads such as sink_"
                            + left.back ().name);
  return true;
}

/* Gives the state the shapes of its outputs. These may depend on it, so that lengths of 1 are
 * tried first. */
bool
close_state (const Model &model, const NetworkOptions &options, InputChoice &choice,
    GError **error)
{
  bool is_open = false;
  for (const InputPair &pair : options.state)
    for (gint64 &length : choice.shapes[pair.input]) {
      is_open |= length < 0;
      length = length < 0 ? 1 : length;
    }
  for (int tries = 0; is_open && tries < 3; tries++) {
    std::unique_ptr<Graph> graph = Lowering::run (model, choice, error);
    if (!graph)
      return false;
    is_open = false;
    for (const InputPair &pair : options.state)
      for (gsize n = 0; n < graph->outputs.size (); n++) {
        const Shape &shape = (*graph)[graph->outputs[n]].shape;
        if (model.outputs[n].name != pair.value || shape == choice.shapes[pair.input])
          continue;
        choice.shapes[pair.input] = shape;
        is_open = true;
      }
  }
  return true;
}

std::string
layout_for (const Port &port, const NetworkOptions &options, bool is_main)
{
  const std::string layout = find_layout (is_main ? options.layout : "", port.shape);
  return is_main || !layout.empty () ? layout : find_layout (options.layout, port.shape);
}
} // namespace

/* Splits at commas outside of lists. */
bool
parse_pairs (const char *property, const std::string &text, const char *expected,
    std::vector<InputPair> &pairs, GError **error)
{
  gsize begin = 0;
  int depth = 0;
  for (gsize n = 0; n <= text.size () && !text.empty (); n++) {
    const char c = n < text.size () ? text[n] : ',';
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c != ',' || (depth > 0 && n < text.size ()))
      continue;
    const std::string part = text.substr (begin, n - begin) + "=";
    const gsize equals = part.find ('=');
    begin = n + 1;
    pairs.push_back ({trimmed (part.substr (0, equals)),
        trimmed (part.substr (equals + 1, part.size () - equals - 2))});
    if (pairs.back ().input.empty () || pairs.back ().value.empty ())
      return fail (
          error, std::string (property) + ": \"" + text + "\", expected " + expected);
  }
  return true;
}

bool
NetworkOptions::is_state_output (const std::string &name) const
{
  return std::any_of (state.begin (), state.end (),
      [&] (const InputPair &pair) { return pair.value == name; });
}

std::string
find_layout (const std::string &wanted, const Shape &shape)
{
  static const char *const layouts[] = {
      "HW", "CHW", "HWC", "NHW", "NCHW", "NHWC", "CTHW", "NCTHW", "NTCHW", "NTHWC"};
  gchar *upper = g_ascii_strup (wanted.c_str (), -1);
  const std::string letters = upper;
  g_free (upper);
  if (!letters.empty ()) {
    bool fits = letters.size () == shape.size ();
    for (const char letter : letters)
      fits &= strchr ("NCTHW", letter)
              && std::count (letters.begin (), letters.end (), letter) == 1;
    return fits && letters.find ('H') != std::string::npos
                   && letters.find ('W') != std::string::npos
               ? letters
               : "";
  }
  for (const gint64 channels : {3, 1, 4, -1})
    for (const std::string layout : layouts) {
      const gsize channel = layout.find ('C');
      /* Without a batch, a length of 1 is more likely that of one. */
      if (layout.size () == shape.size () && (layout != "CTHW" || channels == 3)
          && (channel == std::string::npos ? channels == 4 : shape[channel] == channels))
        return layout;
    }
  return "";
}

gint
ImageTensor::dimension (char letter) const
{
  const gsize found = layout.find (letter);
  return found == std::string::npos ? -1 : gint (found);
}

gint64
ImageTensor::length (char letter) const
{
  const gint d = dimension (letter);
  return d < 0 ? 1 : shape[gsize (d)];
}

gint64
ImageTensor::stride (const Tensor &tensor, char letter) const
{
  const gint d = dimension (letter);
  return d < 0 ? 0 : tensor.strides[gsize (d)];
}

NetworkInput::NetworkInput (
    const Port &port, const std::string &of_pad, const std::string &of_layout)
    : ImageTensor{port.shape, of_layout}, name (port.name), pad (of_pad), type (port.type)
{
}

bool
NetworkInput::takes (const opencl::ArrayFormat &array) const
{
  Shape fitted;
  return info_of (type).number == array.type
         && fit_shape (Shape (array.shape.begin (), array.shape.end ()), shape, fitted);
}

bool
choose_inputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, NetworkInputs &inputs, GError **error)
{
  Roles roles;
  if (!find_roles (model, options, roles, error))
    return false;
  for (const Port &port : model.inputs)
    inputs.choice.shapes[port.name] = port.shape;
  const Port &main = *roles.main;
  inputs.main = NetworkInput (main, "", layout_for (main, options, true));
  if (source.video ? !fit_video (main, source.video, options, inputs.main, error)
                   : !fit_array (main, *source.array, inputs.main, error))
    return false;
  inputs.choice.shapes[main.name] = inputs.main.shape;
  for (const auto &[port, pad] : roles.others) {
    NetworkInput other (*port, pad, layout_for (*port, options, false));
    fit_other (*port, source, options, inputs.main, other);
    inputs.choice.shapes[port->name] = other.shape;
    inputs.others.push_back (other);
  }
  for (const Port &port : model.inputs) {
    const InputPair *value = find_pair (options.values, port.name);
    if (value && !find_pair (options.state, port.name)
        && !read_value (
            port, port.shape, value->value, inputs.choice.constants[port.name], error))
      return false;
  }
  if (!close_state (model, options, inputs.choice, error))
    return false;
  for (const Port &port : model.inputs) {
    const InputPair *value = find_pair (options.values, port.name);
    if (value && find_pair (options.state, port.name)
        && !read_value (port, inputs.choice.shapes[port.name], value->value,
            inputs.initial[port.name], error))
      return false;
  }
  return true;
}

bool
has_open_width (const Model &model, const NetworkOptions &options)
{
  Roles roles;
  return find_roles (model, options, roles, nullptr)
         && NetworkInput (*roles.main, "", layout_for (*roles.main, options, true))
                    .length ('W')
                < 0;
}

Timing
timing_of (const Model &model, const NetworkOptions &options)
{
  Roles roles;
  if (!find_roles (model, options, roles, nullptr))
    return {};
  const NetworkInput input (*roles.main, "", layout_for (*roles.main, options, true));
  gint64 clip = input.length ('T');
  clip = clip < 0 ? std::max<gint64> (options.clip_length, 1) : clip;
  const gint64 step = options.clip_step > 0 ? options.clip_step : clip;
  return {(options.batch - 1) * step + clip, options.batch * step};
}
} // namespace inference
