/* A network between the pads of an element: its plan, buffers and recurrent state
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "network.hpp"

#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <algorithm>

namespace inference {
namespace {
const StatePair *
state_of_input (const NetworkOptions &options, const std::string &name)
{
  for (const StatePair &pair : options.state)
    if (pair.input == name)
      return &pair;
  return nullptr;
}

bool
is_state_output (const NetworkOptions &options, const std::string &name)
{
  return std::any_of (options.state.begin (), options.state.end (),
      [&] (const StatePair &pair) { return pair.output == name; });
}

bool
fail (GError **error, const std::string &text)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "%s", text.c_str ());
  return false;
}

/* (images, channels, height, width) or (images, height, width, channels) with 1 or 3
 * channels */
bool
fit_video (const Port &port, const GstVideoInfo &video, gint64 batch, NetworkInput &input,
    GError **error)
{
  const Shape &shape = port.shape;
  auto is_color = [] (gint64 length) { return length == 1 || length == 3; };
  const bool floats = port.type == ElementType::f32 || port.type == ElementType::f16;
  if (!floats || shape.size () != 4 || (!is_color (shape[1]) && !is_color (shape[3])))
    return fail (error, "input \"" + port.name + "\" is " + info_of (port.type).name + " "
                            + text_of (shape)
                            + ", expected float32 images of 1 or 3 channels for video");
  input.channels_first = is_color (shape[1]);
  input.shape = shape;
  if (input.shape[0] < 0)
    input.shape[0] = batch;
  for (const gsize d : {gsize (1), gsize (2), gsize (3)}) {
    const bool is_height = d == (input.channels_first ? 2u : 1u);
    if (input.shape[d] < 0)
      input.shape[d] = is_height ? video.height : video.width;
  }
  return input.shape[0] == batch
         || fail (error, "batch-size " + std::to_string (batch) + ", but input \""
                             + port.name + "\" has shape " + text_of (shape));
}

bool
fit_array (const Port &port, const opencl::ArrayFormat &array, NetworkInput &input,
    GError **error)
{
  Shape given (array.shape.begin (), array.shape.end ());
  /* Caps leave out or add outermost dimensions of length 1. */
  while (given.size () > port.shape.size () && given[0] == 1)
    given.erase (given.begin ());
  while (given.size () < port.shape.size ())
    given.insert (given.begin (), 1);
  bool fits =
      info_of (port.type).number == array.type && given.size () == port.shape.size ();
  for (gsize d = 0; d < given.size () && fits; d++)
    fits = port.shape[d] < 0 || port.shape[d] == given[d];
  if (!fits)
    return fail (error, "input \"" + port.name + "\" is " + info_of (port.type).name + " "
                            + text_of (port.shape) + ", but the caps have "
                            + opencl::info_of (array.type).name + " " + text_of (given));
  input.shape = given;
  return true;
}

InputChoice
choice_of (const Model &model, const NetworkInput &input)
{
  InputChoice choice;
  for (const Port &port : model.inputs)
    choice.shapes[port.name] = port.name == input.name ? input.shape : port.shape;
  return choice;
}
} // namespace

bool
parse_state (const std::string &text, std::vector<StatePair> &pairs, GError **error)
{
  gchar **parts = g_strsplit (text.c_str (), ",", -1);
  bool valid = true;
  for (gchar **part = parts; *part && valid; part++) {
    gchar **names = g_strsplit (*part, "=", -1);
    valid = g_strv_length (names) == 2 && *names[0] && *names[1];
    if (valid)
      pairs.push_back ({g_strstrip (names[0]), g_strstrip (names[1])});
    g_strfreev (names);
  }
  g_strfreev (parts);
  if (!valid && !text.empty ())
    return fail (error, "state: \"" + text + "\", expected input=output,input=output…");
  return true;
}

bool
find_input (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, NetworkInput &input, GError **error)
{
  const Port *found = nullptr;
  for (const Port &port : model.inputs) {
    if (state_of_input (options, port.name))
      continue;
    if (found)
      return fail (error, "the network has several inputs (\"" + found->name + "\", \""
                              + port.name + "\"), expected one beside the state");
    found = &port;
  }
  if (!found)
    return fail (error, "the network has no input beside the state");
  input.name = found->name;
  return source.video ? fit_video (*found, *source.video, options.batch, input, error)
                      : fit_array (*found, *source.array, input, error);
}

bool
find_outputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, std::vector<NetworkOutput> &outputs, GError **error)
{
  NetworkInput input;
  if (!find_input (model, options, source, input, error))
    return false;
  std::unique_ptr<Graph> graph = Lowering::run (model, choice_of (model, input), error);
  if (!graph)
    return false;
  for (gsize n = 0; n < graph->outputs.size (); n++) {
    const Value &value = (*graph)[graph->outputs[n]];
    if (!is_state_output (options, model.outputs[n].name))
      outputs.push_back ({model.outputs[n].name, value.type, value.shape});
  }
  return !outputs.empty () || fail (error, "all outputs of the network are state");
}

std::unique_ptr<Network>
Network::create (GstOpenCLContext *context, const Model &model,
    const NetworkOptions &options, const NetworkSource &source, GError **error)
{
  auto network = std::make_unique<Network> ();
  network->context = context;
  if (!find_input (model, options, source, network->data, error))
    return nullptr;
  PlanOptions plan_options;
  plan_options.precision = options.precision;
  plan_options.inputs = choice_of (model, network->data);
  for (const Port &port : model.inputs) {
    PortLayout layout;
    layout.type = info_of (port.type).number;
    /* Frames are written as the first convolution reads them. */
    if (source.video && port.name == network->data.name) {
      layout.channels_last = network->data.channels_first;
      if (options.precision == Precision::half && port.type == ElementType::f32)
        layout.type = opencl::NumberType::f16;
    }
    plan_options.input_layouts.push_back (layout);
  }
  network->plan = Plan::create (context, model, plan_options, error);
  if (!network->plan || !network->find_state (options, error))
    return nullptr;
  if (source.video) {
    const Tensor &tensor = network->data_tensor;
    network->prepared = opencl::make_buffer (
        context, gsize (tensor.count ()) * tensor.element_size (), error);
    if (!network->prepared ()
        || !network->set_mapping (*source.video, options.mapping, error))
      return nullptr;
  }
  return network;
}

bool
Network::find_state (const NetworkOptions &options, GError **error)
{
  const auto &inputs = plan->inputs (), &ports = plan->outputs ();
  for (gsize n = 0; n < inputs.size (); n++) {
    const StatePair *pair = state_of_input (options, inputs[n].name);
    if (!pair) {
      data_port = n;
      data_tensor = inputs[n].tensor;
      continue;
    }
    gsize output = 0;
    while (output < ports.size () && ports[output].name != pair->output)
      output++;
    if (output == ports.size ())
      return fail (error, "state: the network has no output \"" + pair->output + "\"");
    if (ports[output].tensor.shape != inputs[n].tensor.shape
        || ports[output].type != inputs[n].type)
      return fail (error, "state: \"" + pair->input + "\" has shape "
                              + text_of (inputs[n].tensor.shape) + ", but \""
                              + pair->output + "\" has "
                              + text_of (ports[output].tensor.shape));
    State state = {n, output, {},
        gsize (inputs[n].tensor.count ()) * inputs[n].tensor.element_size ()};
    for (cl::Buffer &buffer : state.buffers)
      if (!opencl::make_buffer (context, state.size, buffer, error))
        return false;
    states.push_back (std::move (state));
  }
  if (states.size () != options.state.size ())
    return fail (error, "state: the network does not have all of these inputs");
  for (gsize n = 0; n < ports.size (); n++) {
    if (is_state_output (options, ports[n].name))
      continue;
    shown.push_back (ports[n]);
    shown_ports.push_back (n);
  }
  own.resize (shown.size ());
  return true;
}

bool
Network::set_mapping (
    const GstVideoInfo &video, const VideoMapping &mapping, GError **error)
{
  PixelPlace place;
  const std::vector<gint64> &strides = data_tensor.strides;
  const bool first = data.channels_first;
  place.channels = data.channels ();
  place.height = data.height ();
  place.width = data.width ();
  place.channel = strides[first ? 1 : 3];
  place.line = strides[first ? 2 : 1];
  place.column = strides[first ? 3 : 2];
  place.type = data_tensor.type;
  return video_input.create (context, video, mapping, place, error);
}

bool
Network::make_own_outputs (GError **error)
{
  for (gsize n = 0; n < own.size (); n++)
    if (!opencl::make_buffer (context,
            gsize (shown[n].tensor.count ()) * shown[n].tensor.element_size (), own[n],
            error))
      return false;
  return true;
}

bool
Network::put_frame (
    cl_command_queue queue, const GstOpenCLFrame *frame, gint64 slot, GError **error)
{
  const gint64 offset =
      slot * data_tensor.strides[0] * gint64 (data_tensor.element_size ());
  return video_input.enqueue (queue, frame, prepared (), offset, error);
}

bool
Network::zero_state (cl_command_queue queue, GError **error)
{
  const cl_uchar zero = 0;
  for (State &state : states) {
    cl_int code =
        clEnqueueFillBuffer (queue, state.buffers[flipped](), &zero, sizeof zero, 0,
            state.size, 0, nullptr, opencl::Profiled (queue, opencl::command::fill));
    if (!gst_opencl_check (code, "clEnqueueFillBuffer", error))
      return false;
  }
  is_state_clear = true;
  return true;
}

bool
Network::run (cl_command_queue queue, const Memory &input,
    const std::vector<Memory> &outputs, GError **error)
{
  std::vector<Memory> from (plan->inputs ().size ()), to (plan->outputs ().size ());
  if (!is_state_clear && !zero_state (queue, error))
    return false;
  from[data_port] = prepared () ? Memory{prepared (), 0} : input;
  for (gsize n = 0; n < shown.size (); n++)
    to[shown_ports[n]] =
        n < outputs.size () && outputs[n].buffer ? outputs[n] : Memory{own[n](), 0};
  for (State &state : states) {
    from[state.input] = {state.buffers[flipped](), 0};
    to[state.output] = {state.buffers[!flipped](), 0};
  }
  flipped = !flipped;
  return plan->enqueue (queue, from, to, error);
}
} // namespace inference
