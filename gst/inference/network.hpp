/* A network between the pads of an element: its plan, buffers and recurrent state
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "matteoutput.hpp"
#include "modelinfo.hpp"
#include "plan/plan.hpp"
#include "videoinput.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace inference {
/* Outputs that are inputs of the next frame */
struct StatePair {
  std::string input, output;
};

/* Parses "r1i=r1o,r2i=r2o". */
bool parse_state (const std::string &text, std::vector<StatePair> &pairs, GError **error);

struct NetworkOptions {
  Precision precision = Precision::single;
  std::vector<StatePair> state;
  gint64 batch = 1;
  VideoMapping mapping;
  ModelInfo info;
};

/* Format of the incoming frames: one of the two */
struct NetworkSource {
  const GstVideoInfo *video = nullptr;        /* (nullable) */
  const opencl::ArrayFormat *array = nullptr; /* (nullable) */
};

/* The shape of the data input for such a source, and for video where pixels lie */
struct NetworkInput {
  std::string name;
  Shape shape;
  bool channels_first = true;

  gint height () const { return gint (shape[channels_first ? 2 : 1]); }
  gint width () const { return gint (shape[channels_first ? 3 : 2]); }
  gint64 channels () const { return shape[channels_first ? 1 : 3]; }
};

/* Finds the input that is not part of the state. Lengths that the model leaves open are those of
 * the source, and the batch. */
bool find_input (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, NetworkInput &input, GError **error);

/* Output tensors, without those that are only state */
struct NetworkOutput {
  std::string name;
  ElementType type;
  Shape shape;
};
bool find_outputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, std::vector<NetworkOutput> &outputs, GError **error);

class Network {
public:
  static std::unique_ptr<Network> create (GstOpenCLContext *context, const Model &model,
      const NetworkOptions &options, const NetworkSource &source, GError **error);

  /* Ports without those of the state */
  const std::vector<Plan::Port> &outputs () const { return shown; }
  const NetworkInput &input () const { return data; }

  bool set_mapping (
      const GstVideoInfo &video, const VideoMapping &mapping, GError **error);
  /* Writes a frame into image `slot` of the input. */
  bool put_frame (
      cl_command_queue queue, const GstOpenCLFrame *frame, gint64 slot, GError **error);
  /* `input` is ignored after put_frame (). Outputs are in the order of outputs (); one
   * without a buffer is written to memory of the network. */
  bool run (cl_command_queue queue, const Memory &input,
      const std::vector<Memory> &outputs, GError **error);
  /* The memory of an output that run () did not get a buffer for */
  cl_mem own_output (gsize n) const { return own[n](); }
  bool make_own_outputs (GError **error);
  /* The next frame begins with a state of zeros. */
  void clear_state () { is_state_clear = false; }

private:
  struct State {
    gsize input, output; /* ports of the plan */
    cl::Buffer buffers[2];
    gsize size;
  };

  bool find_state (const NetworkOptions &options, GError **error);
  bool zero_state (cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr;
  std::unique_ptr<Plan> plan;
  NetworkInput data;
  gsize data_port = 0;
  Tensor data_tensor;
  std::vector<Plan::Port> shown;
  std::vector<gsize> shown_ports;
  std::vector<State> states;
  bool is_state_clear = false, flipped = false;
  VideoInput video_input;
  cl::Buffer prepared;
  std::vector<cl::Buffer> own;
};
} // namespace inference
