/* A network between the pads of an element: its plan, buffers and recurrent state
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "matteoutput.hpp"
#include "networkinputs.hpp"
#include "plan/plan.hpp"
#include <gst/opencl/gstopenclframe.h>

namespace inference {
/* Output tensors, without those that are only state */
struct NetworkOutput {
  std::string name;
  ElementType type;
  Shape shape;
};
bool find_outputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, std::vector<NetworkOutput> &outputs, GError **error);

/* An input with memory of its own: images that are converted from video, or a copy of an
 * array */
class FrameInput {
public:
  bool create_memory (GstOpenCLContext *context, const NetworkInput &input,
      const Tensor &tensor, gint64 kept_frames, GError **error);

  const NetworkInput &input () const { return described; }
  cl_mem memory () const { return memories[current](); }
  /* Makes tables and the kernel for frames of `video`. */
  bool set_video (const GstVideoInfo &video, const VideoMapping &mapping, GError **error);
  bool is_for (const GstVideoInfo &video) const;
  bool put_image (cl_command_queue queue, const GstOpenCLFrame *frame, gint64 number,
      gint64 time, GError **error);
  bool put_region (cl_command_queue queue, const GstOpenCLFrame *frame, gint64 number,
      const CutRegion &region, GError **error);
  bool put_array (cl_command_queue queue, const GstOpenCLFrame *frame, GError **error);
  /* Moves the last frames of a clip to its beginning. */
  bool keep_frames (cl_command_queue queue, GError **error);

private:
  GstOpenCLContext *context = nullptr;
  NetworkInput described;
  Tensor tensor;
  gint64 kept = 0; /* frames */
  GstVideoInfo info = {};
  VideoInput video_input;
  cl::Buffer memories[2]; /* the second one if frames are kept */
  bool current = false;
};

class Network {
public:
  static std::unique_ptr<Network> create (GstOpenCLContext *context, const Model &model,
      const NetworkOptions &options, const NetworkSource &source, GError **error);

  /* Ports without those of the state */
  const std::vector<Plan::Port> &outputs () const { return shown; }
  const NetworkInput &input () const { return data; }
  /* Inputs with pads of their own */
  const std::vector<FrameInput> &others () const { return other_inputs; }

  /* --- for each frame: begin, put, end, and if that says so, run --- */

  bool begin_frame (cl_command_queue queue, GError **error);
  /* Only for video: writes a frame into its image of the input. */
  bool put_frame (cl_command_queue queue, const GstOpenCLFrame *frame, GError **error);
  /* Writes a region of a frame into image `number` of the input (mapping.of_regions). */
  bool put_region (cl_command_queue queue, const GstOpenCLFrame *frame, gint64 place,
      const CutRegion &region, GError **error)
  {
    return frames.put_region (queue, frame, place, region, error);
  }
  /* A frame for others ()[n]: of `video`, or (NULL) an array */
  bool put_other (gsize n, cl_command_queue queue, const GstOpenCLFrame *frame,
      const GstVideoInfo *video, const opencl::ArrayFormat &array, GError **error);
  /* Returns whether the batch is full. */
  bool end_frame ();
  /* Does a run take several frames? */
  bool has_several () const { return batch * clip > 1 || step > 1; }
  /* Number of clips with frames that no run had yet. A clip is one frame, if the network
   * takes images. */
  gint64 waiting () const { return number + (fresh > 0 ? 1 : 0); }
  void drop_frames ();

  /* `input` is ignored for video. Outputs are in the order of outputs (); one without a
   * buffer is written to memory of the network. */
  bool run (cl_command_queue queue, const Memory &input,
      const std::vector<Memory> &outputs, GError **error);
  /* The memory of an output that run () did not get a buffer for */
  cl_mem own_output (gsize n) const { return own[n](); }
  bool make_own_outputs (GError **error);
  /* With options.limits_of: its lowest (0) and highest (1) value */
  cl_mem limit (gsize n) const { return limits[n](); }
  /* The next frame begins with the first state. */
  void clear_state () { is_state_clear = false; }

private:
  struct State {
    gsize input, output;            /* ports of the plan */
    cl::Buffer buffers[2], initial; /* initial: empty for zeros */
    gsize size;
  };

  bool add_frame_input (FrameInput &frames, const NetworkInput &input, GError **error);
  bool find_state (
      const NetworkOptions &options, const NetworkInputs &inputs, GError **error);
  bool reset_state (cl_command_queue queue, GError **error);
  VideoMapping mapping_of (const NetworkInput &input) const;
  gsize port_of (const std::string &name) const;

  GstOpenCLContext *context = nullptr;
  std::unique_ptr<Plan> plan;
  VideoMapping mapping;
  ModelInfo info;
  NetworkInput data;
  FrameInput frames; /* for video */
  std::vector<FrameInput> other_inputs;
  std::vector<Plan::Port> shown;
  std::vector<gsize> shown_ports;
  gsize first_limit = 0; /* port of the plan; those before are the model's */
  cl::Buffer limits[2];
  std::vector<State> states;
  bool is_state_clear = false, flipped = false, is_video = false;
  gint64 batch = 1, clip = 1, step = 1;
  /* Place of the next frame: clip `number` of the batch, and frame `time` of it. Frames before
   * its beginning are left out. `fresh` of its frames were in no clip before. */
  gint64 number = 0, time = 0, fresh = 0;
  bool keeps_frames = false; /* before the next frame */
  std::vector<cl::Buffer> own;
};
} // namespace inference
