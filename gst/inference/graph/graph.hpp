/* Graph of a network: operations on values of known shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "elementops.hpp"

#include <gst/convolution/convolution.hpp>
#include <gst/reduction/reduction.hpp>

#include <deque>
#include <optional>
#include <variant>

namespace inference {
/* Index of a value in its graph, or no_value */
using ValueId = gint32;
constexpr ValueId no_value = -1;

struct Value {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  std::optional<Array> constant;
  bool single = false; /* float32 in half precision, too */
};

/* --- operations --- */

/* Another arrangement of the elements of input 0. The output shares its memory where strides
 * can describe the result, else it is a copy. */
struct ViewOp {
  enum Kind { reshape, transpose, slice, expand } kind;
  std::vector<gint64> order; /* transpose: dimension of the input for each output's */
  std::vector<gint64> starts, steps; /* slice: for each dimension */
};

/* An element-wise program. Inputs broadcast to the output by NumPy's rule. */
struct ElementwiseOp {
  ElementProgram program;
};

using compute::Activation;
using compute::Reduction;

/* Convolution of (images, channels, height, width) with constant filters. The output is
 * activation (filters * input 0 + bias [+ input 1]). Input 1 has the shape of the output. */
struct ConvolutionOp {
  /* The product of rows (…, channels) with a constant matrix: filters of 1x1. At most
   * `most_outer` dimensions come before the last. */
  bool of_rows = false;
  Array weights;           /* (filters, channels of a group, height, width) */
  bool is_turned = false;  /* in memory, weights of rows are (channels, filters) */
  std::vector<float> bias; /* empty, or a number for each filter */
  gint64 groups = 1;
  gint64 stride[2] = {1, 1}, dilation[2] = {1, 1};
  gint64 before[2] = {0, 0}; /* rows and columns of zeros before the input */
  Activation activation = Activation::none;
  float a = 0, b = 0, low = 0, high = 0; /* parameters of the activation */
  bool exact = false;                    /* of whole numbers, whose sums are exact */

  static constexpr gsize most_outer = 3;
  /* The dimension of the channels in an array of `rank` dimensions */
  gsize channel_axis (gsize rank) const { return of_rows ? rank - 1 : 1; }
};

/* Operations on windows of (images, channels, [depth,] [height,] width) that are no
 * ConvolutionOp. Up to three spatial dimensions. */
struct WindowOp {
  enum Kind {
    maximum,
    average,    /* of the elements inside the input, or with `counts_padding` of all */
    convolve,   /* inputs: data, weights, bias */
    transposed, /* transposed convolution; inputs: data, weights, bias */
  } kind;
  std::vector<gint64> window, stride, dilation, before, after;
  bool counts_padding = false;
  gint64 groups = 1;
};

/* Reduction over `axes`, which have length 1 in the output */
struct ReduceOp {
  Reduction kind;
  std::vector<bool> axes; /* of each dimension: is it reduced? */
};

/* exp (x - maximum) / sum, or its logarithm, along a dimension */
struct SoftmaxOp {
  gint64 axis;
  bool logarithm = false;
};

/* Product of matrices: (batch…, rows, depth) and (batch…, depth, columns) */
struct ProductOp {};

/* softmax (scale * input 0 · input 1 [+ input 3]) · input 2 of matrices as in ProductOp. Input 3
 * broadcasts to the scores. (Vaswani et al., Attention is all you need, 2017.) */
struct AttentionOp {
  double scale = 1;
};

/* Squeeze and excitation (Hu et al., Squeeze-and-excitation networks, 2018): input 0, images of
 * channels, times `outer` of `inner` of its means, which are 1x1 convolutions. Input 1 has the
 * means, or is input 0, whose means are then computed with the rest. Input 2 has both weights
 * and biases, in single precision: [hidden][channels], [hidden], [hidden][channels],
 * [channels]. */
struct ExciteOp {
  ConvolutionOp inner, outer;
};

/* (x - mean) / sqrt (variance + epsilon) [* input 1 [+ input 2]] along the last dimension.
 * Inputs 1 and 2 have one number for each element along it. */
struct NormalizeOp {
  double epsilon;
};

/* Weighted samples along each dimension: resizing, padding, gathering. Element i of dimension
 * d of the output is the sum over k of weights[d][i * taps + k] * input at index[d][…]. An
 * index of -1 stands for `fill`. */
struct ResampleOp {
  struct Table {
    gsize taps = 1;
    std::vector<gint32> index;
    std::vector<float> weights; /* empty: all 1 */
  };
  std::vector<std::optional<Table>> tables; /* for each dimension; none: copied */
  double fill = 0;
};

/* Elements at places of input 0 that the indices in input 1 give. Gathering moves them to the
 * output; the others move those of input 2 into a copy of input 0, in the order of input 2. A
 * negative index counts from the end. An index out of range
 * reads 0, and writes nothing. */
struct IndexOp {
  enum Kind { gather, replace, sum, product, maximum, minimum } kind;
  /* Dimensions that a dimension of the moved elements runs along, or -1 */
  struct Dimension {
    gint32 data, indices;
  };
  std::vector<Dimension> dimensions; /* of the moved elements */
  std::vector<gint32> chosen;        /* dimensions of the data that the indices choose */
  gint32 components = -1; /* dimension of the indices with one for each that is chosen */
};

/* The first elements along a dimension in order; outputs: values, indices, scratch */
struct TopOp {
  gint64 axis;
  bool largest;
};

/* Cumulative sums along a dimension */
struct ScanOp {
  gint64 axis;
};

/* Samples of input 0, (images, channels, …), at the places in input 1 */
struct GridOp {
  enum Mode { nearest, linear, cubic } mode;
  enum Padding { zeros, border, reflection } padding;
  bool aligned; /* -1 and 1 are the centres of the first and last elements */
};

/* Mean or maximum of samples of the regions in input 1, of the images that input 2 gives */
struct RegionOp {
  bool maximum, half_pixel;
  gint64 samples; /* of an element in each direction; 0: one for each pixel */
  double scale;
};

/* Indices (batch, class, box) of boxes that overlap no better box; rows that are not used have
 * no_index. Inputs: boxes, scores. Outputs: indices, scratch */
struct SuppressOp {
  gint64 most; /* boxes of a class */
  double overlap, score;
  bool centred; /* boxes are (x, y, width, height) of their centre */
};
constexpr gint64 no_index = G_MININT32;

/* All inputs behind each other along `axis` */
struct ConcatOp {
  gint64 axis;
};

/* An LSTM, GRU or simple recurrent network. Inputs: product of X and W (times, images, gates of
 * all directions), R (directions, blocks, hidden, rows of a
 * block), biases of W and R (directions, 2 gates),
 * initial state (directions, images, hidden), int32 lengths (images); for an LSTM also the
 * initial cells. Outputs: Y (times, directions, images, hidden), the last state, and for an
 * LSTM the last cells. */
struct RecurrentOp {
  enum Kind { rnn, gru, lstm } kind = rnn;
  std::vector<bool> backward; /* for each direction */
  ElementProgram activations; /* of all directions; each is an instruction on its own */
  bool linear_before_reset = false;
};

using What = std::variant<ViewOp, ElementwiseOp, ConvolutionOp, WindowOp, ReduceOp,
    SoftmaxOp, ProductOp, AttentionOp, NormalizeOp, ResampleOp, ConcatOp, IndexOp, TopOp,
    ScanOp, GridOp, RegionOp, SuppressOp, RecurrentOp, ExciteOp>;

struct Operation {
  std::string name; /* of the node or nodes that it comes from */
  What what;
  std::vector<ValueId> inputs, outputs;
};

/* --- the graph --- */

class Graph {
public:
  /* A deque: a new value leaves references to other values valid. */
  std::deque<Value> values;
  std::vector<Operation> operations; /* in an order in which they can run */
  std::vector<ValueId> inputs, outputs;

  ValueId add (Value value);
  const Value &operator[] (ValueId id) const { return values[gsize (id)]; }
  Value &operator[] (ValueId id) { return values[gsize (id)]; }

  /* Number of operations that read a value; an output of the graph counts as one more. */
  std::vector<guint> count_uses () const;
};

/* Strides of a contiguous array, in elements */
std::vector<gint64> contiguous_strides (const Shape &shape);

/* --- passes that make a graph smaller and faster without changing its results --- */

struct Pass {
  const char *name;
  void (*run) (Graph &graph);
};

/* In the order in which they run */
extern const std::vector<Pass> passes;

void run_passes (Graph &graph);
/* For GPUs: squeeze and excitation in one operation */
void fuse_excitation (Graph &graph);
} // namespace inference
