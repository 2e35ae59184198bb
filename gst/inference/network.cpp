/* A network between the pads of an element: its plan, buffers and recurrent state
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "network.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <algorithm>

namespace inference {
namespace {
gsize
bytes_of (const Tensor &tensor)
{
  return gsize (tensor.count ()) * tensor.element_size ();
}
} // namespace

/* --- an input for frames --- */

bool
FrameInput::create_memory (GstOpenCLContext *a_context, const NetworkInput &input,
    const Tensor &a_tensor, gint64 kept_frames, GError **error)
{
  context = a_context;
  described = input;
  tensor = a_tensor;
  kept = kept_frames;
  return opencl::make_buffer (context, bytes_of (tensor), memories[0], error)
         && (kept <= 0
             || opencl::make_buffer (context, bytes_of (tensor), memories[1], error));
}

bool
FrameInput::set_video (
    const GstVideoInfo &video, const VideoMapping &mapping, GError **error)
{
  PixelPlace place;
  place.channels = described.length ('C');
  place.height = described.height ();
  place.width = described.width ();
  place.channel = described.stride (tensor, 'C');
  place.line = described.stride (tensor, 'H');
  place.column = described.stride (tensor, 'W');
  place.type = tensor.type;
  info = video;
  return video_input.create_kernel (context, video, mapping, place, error);
}

bool
FrameInput::is_for (const GstVideoInfo &video) const
{
  return info.finfo && gst_video_info_is_equal (&info, &video);
}

bool
FrameInput::put_image (cl_command_queue queue, const GstOpenCLFrame *frame, gint64 number,
    gint64 time, GError **error)
{
  gint64 offset = 0;
  for (const auto &[letter, at] : {std::pair ('N', number), std::pair ('T', time)})
    offset +=
        std::min (at, described.length (letter) - 1) * described.stride (tensor, letter);
  return video_input.enqueue_tensor (
      queue, frame, memory (), offset * gint64 (tensor.element_size ()), error);
}

bool
FrameInput::put_region (cl_command_queue queue, const GstOpenCLFrame *frame,
    gint64 number, const CutRegion &region, GError **error)
{
  return video_input.enqueue_region (queue, frame, region, memory (),
      number * described.stride (tensor, 'N') * gint64 (tensor.element_size ()), error);
}

bool
FrameInput::put_array (
    cl_command_queue queue, const GstOpenCLFrame *frame, GError **error)
{
  return gst_opencl_check (
      clEnqueueCopyBuffer (queue, frame->data, memory (), frame->offset[0], 0,
          bytes_of (tensor), 0, nullptr, opencl::Profiled (queue, opencl::command::copy)),
      "clEnqueueCopyBuffer", error);
}

bool
FrameInput::keep_frames (cl_command_queue queue, GError **error)
{
  if (kept <= 0 || kept >= described.length ('T'))
    return true;
  const gsize frame = gsize (described.stride (tensor, 'T')) * tensor.element_size (),
              clip = frame * gsize (described.length ('T'));
  const gsize from[] = {clip - gsize (kept) * frame, 0, 0}, to[] = {0, 0, 0},
              region[] = {gsize (kept) * frame, bytes_of (tensor) / clip, 1};
  const cl_int code =
      clEnqueueCopyBufferRect (queue, memory (), memories[!current](), from, to, region,
          clip, 0, clip, 0, 0, nullptr, opencl::Profiled (queue, opencl::command::copy));
  current = !current;
  return gst_opencl_check (code, "clEnqueueCopyBufferRect", error);
}

/* --- the network --- */

bool
find_outputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, std::vector<NetworkOutput> &outputs, GError **error)
{
  NetworkInputs inputs;
  if (!choose_inputs (model, options, source, inputs, error))
    return false;
  std::unique_ptr<Graph> graph = Lowering::run (model, inputs.choice, error);
  if (!graph)
    return false;
  for (gsize n = 0; n < graph->outputs.size (); n++) {
    const Value &value = (*graph)[graph->outputs[n]];
    if (!options.is_state_output (model.outputs[n].name))
      outputs.push_back ({model.outputs[n].name, value.type, value.shape});
  }
  return !outputs.empty () || fail (error, "all outputs of the network are state");
}

/* Frames are written as the first convolution reads them. */
static PortLayout
layout_of (const Port &port, const NetworkInputs &inputs, bool is_video, bool half)
{
  PortLayout layout;
  layout.type = info_of (port.type).number;
  if (!is_video || port.name != inputs.main.name || !is_float (port.type))
    return layout;
  layout.channels_last = inputs.main.layout.rfind ("NC", 0) == 0;
  if (half && port.type == ElementType::f32)
    layout.type = opencl::NumberType::f16;
  return layout;
}

/* Adds the lowest and the highest value of an output as outputs. */
static Model
with_limits (const Model &model, const NetworkOptions &options)
{
  Model extended = model;
  gint shown = 0;
  for (const Port &output : model.outputs) {
    if (options.is_state_output (output.name) || shown++ != options.limits_of)
      continue;
    for (const char *op : {"ReduceMin", "ReduceMax"}) {
      Node node;
      node.name = node.op = op;
      node.inputs = {output.name};
      node.outputs = {output.name + " " + op};
      node.attributes["keepdims"] = {};
      extended.nodes.push_back (node);
      extended.outputs.push_back ({node.outputs[0], output.type, {}, true});
    }
    break;
  }
  return extended;
}

std::unique_ptr<Network>
Network::create (GstOpenCLContext *context, const Model &model,
    const NetworkOptions &options, const NetworkSource &source, GError **error)
{
  auto network = std::make_unique<Network> ();
  NetworkInputs inputs;
  if (!choose_inputs (model, options, source, inputs, error))
    return nullptr;
  network->context = context;
  network->data = inputs.main;
  network->mapping = options.mapping;
  network->info = options.info;
  network->is_video = source.video != nullptr;
  if (source.video) {
    network->batch = options.batch;
    network->clip = inputs.main.length ('T');
    network->step = options.clip_step > 0 ? options.clip_step : network->clip;
  }
  PlanOptions plan_options;
  plan_options.precision = options.precision;
  plan_options.inputs = inputs.choice;
  for (const Port &port : model.inputs)
    if (inputs.choice.constants.count (port.name) == 0)
      plan_options.input_layouts.push_back (layout_of (
          port, inputs, network->is_video, options.precision == Precision::half));
  network->first_limit = model.outputs.size ();
  network->plan = Plan::create (context,
      options.limits_of < 0 ? model : with_limits (model, options), plan_options, error);
  if (!network->plan || !network->find_state (options, inputs, error)
      || (source.video
          && (!network->add_frame_input (network->frames, inputs.main, error)
              || !network->frames.set_video (
                  *source.video, network->mapping_of (inputs.main), error))))
    return nullptr;
  for (const NetworkInput &other : inputs.others) {
    network->other_inputs.emplace_back ();
    if (!network->add_frame_input (network->other_inputs.back (), other, error))
      return nullptr;
  }
  return network;
}

gsize
Network::port_of (const std::string &name) const
{
  gsize n = 0;
  while (plan->inputs ()[n].name != name)
    n++;
  return n;
}

bool
Network::add_frame_input (FrameInput &to, const NetworkInput &input, GError **error)
{
  return to.create_memory (
      context, input, plan->inputs ()[port_of (input.name)].tensor, clip - step, error);
}

/* Ranges of the modelinfo file say what the levels 0 and 255 become. They apply to the input of
 * this name; the first ones also to the main input of another name. */
VideoMapping
Network::mapping_of (const NetworkInput &input) const
{
  VideoMapping result = mapping;
  const TensorInfo *ranges = nullptr; /* (nullable) */
  if (input.length ('C') != data.length ('C')) {
    result.colors = Colors::by_channels;
    result.mean.clear ();
    result.deviation.clear ();
  }
  for (const TensorInfo &tensor : info.tensors) {
    const bool is_named = tensor.name == input.name;
    if (tensor.is_input && (is_named || (!ranges && input.name == data.name)))
      ranges = &tensor;
    if (tensor.is_input && is_named)
      break;
  }
  if (!ranges || !result.mean.empty () || !result.deviation.empty ())
    return result;
  for (const auto &range : ranges->ranges) {
    const double deviation = 1 / (range.second - range.first);
    result.deviation.push_back (deviation);
    result.mean.push_back (-range.first * deviation);
  }
  return result;
}

bool
Network::find_state (
    const NetworkOptions &options, const NetworkInputs &chosen, GError **error)
{
  const auto &inputs = plan->inputs (), &ports = plan->outputs ();
  for (gsize n = 0; n < inputs.size (); n++) {
    const auto pair = std::find_if (options.state.begin (), options.state.end (),
        [&] (const InputPair &each) { return each.input == inputs[n].name; });
    if (pair == options.state.end ())
      continue;
    gsize output = 0;
    while (output < ports.size () && ports[output].name != pair->value)
      output++;
    if (output == ports.size ())
      return fail (error, "state: the network has no output \"" + pair->value + "\"");
    if (ports[output].tensor.shape != inputs[n].tensor.shape
        || ports[output].type != inputs[n].type)
      return fail (error, "state: \"" + pair->input + "\" has shape "
                              + text_of (inputs[n].tensor.shape) + ", but \""
                              + pair->value + "\" has "
                              + text_of (ports[output].tensor.shape));
    State state = {n, output, {}, {}, bytes_of (inputs[n].tensor)};
    for (cl::Buffer &buffer : state.buffers)
      if (!opencl::make_buffer (context, state.size, buffer, error))
        return false;
    const auto initial = chosen.initial.find (pair->input);
    if (initial != chosen.initial.end ())
      state.initial =
          opencl::make_table (context, initial->second.bytes (), state.size, error);
    if (initial != chosen.initial.end () && !state.initial ())
      return false;
    states.push_back (std::move (state));
  }
  if (states.size () != options.state.size ())
    return fail (error, "state: the network does not have all of these inputs");
  for (gsize n = first_limit; n < ports.size (); n++)
    if (!opencl::make_buffer (
            context, ports[n].tensor.element_size (), limits[n - first_limit], error))
      return false;
  for (gsize n = 0; n < first_limit; n++) {
    if (options.is_state_output (ports[n].name))
      continue;
    shown.push_back (ports[n]);
    shown_ports.push_back (n);
  }
  own.resize (shown.size ());
  return true;
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
Network::begin_frame (cl_command_queue queue, GError **error)
{
  if (!std::exchange (keeps_frames, false))
    return true;
  if (is_video && !frames.keep_frames (queue, error))
    return false;
  for (FrameInput &other : other_inputs)
    if (!other.keep_frames (queue, error))
      return false;
  return true;
}

bool
Network::put_frame (cl_command_queue queue, const GstOpenCLFrame *frame, GError **error)
{
  return time < 0 || frames.put_image (queue, frame, number, time, error);
}

bool
Network::put_other (gsize n, cl_command_queue queue, const GstOpenCLFrame *frame,
    const GstVideoInfo *video, const opencl::ArrayFormat &array, GError **error)
{
  FrameInput &other = other_inputs[n];
  const NetworkInput &input = other.input ();
  if (video ? input.layout.empty () : !input.takes (array))
    return fail (error,
        "input \"" + input.name + "\" is " + info_of (input.type).name + " "
            + text_of (input.shape) + ", but pad sink_" + input.pad + " has "
            + (video ? "video" : opencl::info_of (array.type).name)
            + (video ? ""
                     : " " + text_of (Shape (array.shape.begin (), array.shape.end ()))));
  if (!video)
    return other.put_array (queue, frame, error);
  return time < 0
         || ((other.is_for (*video)
                 || other.set_video (*video, mapping_of (input), error))
             && other.put_image (queue, frame, number, time, error));
}

bool
Network::end_frame ()
{
  fresh += time >= 0 ? 1 : 0;
  if (++time < clip)
    return false;
  time = clip - step;
  keeps_frames = time > 0;
  fresh = 0;
  number = (number + 1) % batch;
  return number == 0;
}

void
Network::drop_frames ()
{
  number = time = fresh = 0;
  keeps_frames = false;
}

bool
Network::reset_state (cl_command_queue queue, GError **error)
{
  const cl_uchar zero = 0;
  for (State &state : states) {
    cl_mem buffer = state.buffers[flipped]();
    const cl_int code =
        state.initial ()
            ? clEnqueueCopyBuffer (queue, state.initial (), buffer, 0, 0, state.size, 0,
                nullptr, opencl::Profiled (queue, opencl::command::copy))
            : clEnqueueFillBuffer (queue, buffer, &zero, sizeof zero, 0, state.size, 0,
                nullptr, opencl::Profiled (queue, opencl::command::fill));
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
  if (!is_state_clear && !reset_state (queue, error))
    return false;
  from[port_of (data.name)] = is_video ? Memory{frames.memory (), 0} : input;
  for (const FrameInput &other : other_inputs)
    from[port_of (other.input ().name)] = {other.memory (), 0};
  for (gsize n = 0; n < shown.size (); n++)
    to[shown_ports[n]] =
        n < outputs.size () && outputs[n].buffer ? outputs[n] : Memory{own[n](), 0};
  for (gsize n = first_limit; n < to.size (); n++)
    to[n] = {limits[n - first_limit](), 0};
  for (State &state : states) {
    from[state.input] = {state.buffers[flipped](), 0};
    to[state.output] = {state.buffers[!flipped](), 0};
  }
  flipped = !flipped;
  return plan->enqueue_steps (queue, from, to, error);
}
} // namespace inference
