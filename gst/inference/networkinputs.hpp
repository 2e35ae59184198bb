/* Sources of a network's inputs, frames, state and constants, and the shapes that follow
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "graph/lowering.hpp"
#include "modelinfo.hpp"
#include "plan/placement.hpp"
#include "videoinput.hpp"

#include <gst/common/arrayformat.hpp>

namespace inference {
/* Sets an error of the format and returns false. */
bool fail (GError **error, const std::string &text);

/* An input, and the output that is its value for the next frame, or its value as a number, a
 * list or a .npy file */
struct InputPair {
  std::string input, value;
};

/* Parses "r1i=r1o,r2i=r2o" or "ratio=0.25,sizes=<1,2>,table=table.npy". The error says what is
 * `expected`. */
bool parse_pairs (const char *property, const std::string &text, const char *expected,
    std::vector<InputPair> &pairs, GError **error);

struct NetworkOptions {
  Precision precision = Precision::single;
  std::vector<InputPair> state;
  std::vector<InputPair> values; /* constants, and first values of the state */
  /* Names or indices of inputs with streams of their own */
  std::vector<std::string> pads;
  std::string layout; /* of the input for video, see find_layout () */
  gint64 batch = 1;
  gint64 clip_length = 0; /* frames of a clip, 0: as the model */
  gint64 clip_step = 0;   /* frames from one clip to the next, 0: all of a clip */
  /* Height and width where the model leaves them open: those of the frame, made larger so that
   * the smaller one is at least `least`, and rounded to multiples */
  struct {
    gint64 least = 0, multiple = 1;
    gint64 width = 0, height = 0; /* if not 0, instead of the frame's */
    bool widens = false;          /* for wider regions */
  } open;
  VideoMapping mapping;
  ModelInfo info;
  std::map<std::string, Shape> shapes; /* of arrays on the pads, as far as known */
  /* Index of the output whose lowest and highest values Network::limit () has, or -1 */
  gint limits_of = -1;

  bool is_state_output (const std::string &name) const;
};

/* Format of the incoming frames: one of the two */
struct NetworkSource {
  const GstVideoInfo *video = nullptr;        /* (nullable) */
  const opencl::ArrayFormat *array = nullptr; /* (nullable) */
};

/* Finds which dimensions are those of images: letters such as NCHW for number, channels, time,
 * height and width. `wanted` is empty or has these letters. Returns an empty text if the shape
 * does not fit, or if no dimension has a length of 1, 3 or 4 for the channels. */
std::string find_layout (const std::string &wanted, const Shape &shape);

/* Shape of an input or output that may hold images */
struct ImageTensor {
  Shape shape;
  std::string layout; /* empty if it holds none */

  /* Dimension of a letter of the layout, or -1 */
  gint dimension (char letter) const;
  /* Its length, or 1 */
  gint64 length (char letter) const;
  /* Its stride, or 0 */
  gint64 stride (const Tensor &tensor, char letter) const;
  gint height () const { return gint (length ('H')); }
  gint width () const { return gint (length ('W')); }
};

/* An input that frames fill, with its shape for the source */
struct NetworkInput : ImageTensor {
  std::string name, pad;
  ElementType type = ElementType::f32;

  NetworkInput () = default;
  NetworkInput (const Port &port, const std::string &pad, const std::string &layout);
  bool takes (const opencl::ArrayFormat &array) const;
};

struct NetworkInputs {
  NetworkInput main;
  std::vector<NetworkInput> others; /* of options.pads */
  InputChoice choice;
  std::map<std::string, Array> initial; /* first values of the state */
};

/* Finds the input for frames: the one without state, value or pad. Lengths that the model leaves
 * open are those of the source, of the options, or of the outputs that become state. */
bool choose_inputs (const Model &model, const NetworkOptions &options,
    const NetworkSource &source, NetworkInputs &inputs, GError **error);

/* Does the model leave the width of the input for frames open? */
bool has_open_width (const Model &model, const NetworkOptions &options);

/* Number of frames of video for the first output, and from one output to the next */
struct Timing {
  gint64 first = 1, step = 1;
};
Timing timing_of (const Model &model, const NetworkOptions &options);
} // namespace inference
