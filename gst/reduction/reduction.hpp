/* Reductions and cumulative sums of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/macro.hpp>

#include <memory>
#include <vector>

namespace compute {
using opencl::macro;

/* --- one launch --- */

/* In the order of kernels/reduction/partial.clh */
enum class Reduction {
  sum,
  mean,
  maximum,
  minimum,
  product,
  l1,
  l2,
  sum_of_squares,
  position, /* int64: that of the first maximum */
  position_of_minimum,
  variance,
  deviation,
  any, /* 1 or 0: whether an element is not 0 */
  all
};

/* Element types of input and output, and the one that is computed with */
struct ReductionTypes {
  opencl::NumberType stored, written, computed;
  bool has_positions; /* with 64-bit positions */
};
ReductionTypes types_of (
    Reduction reduction, opencl::NumberType stored, opencl::NumberType written);

/* Lengths and strides of an array, outermost dimension first, in elements */
struct ArrayLayout {
  std::vector<gint64> lengths, strides;
};

/* A dimension of both arrays. The output stride of a reduced dimension is 0. */
struct ReductionDimension {
  gint64 length, input, output;
};
using ReductionDimensions = std::vector<ReductionDimension>;

/* Dimensions of a reduction, innermost first. Neighbours that are contiguous in both
 * arrays are merged. Each list has at least one dimension. */
struct ReductionShape {
  ReductionDimensions kept, reduced;

  gint64 kept_count () const;
  /* Number of columns (innermost reduced dimension), and of rows (all others) */
  gint64 columns () const { return reduced[0].length; }
  gint64 rows () const;
};
/* Dimensions that have length 1 in `output`, and not in `input`, are reduced. */
ReductionShape make_shape (const ArrayLayout &input, const ArrayLayout &output);
/* The same for partial results: output strides without gaps, in the order of `kept` */
ReductionShape packed_output (const ReductionShape &shape);

/* Several work-groups share each result: `count` parts of `length` rows or columns. */
struct ReductionParts {
  gint64 count = 1, length = 0;
  bool of_rows = false;
};

class ReductionPass {
public:
  /* Chooses vectors and work-groups. `reads_partials` and `writes_partials` say that the
   * input or output is a buffer of partial results. */
  struct Request {
    Reduction reduction;
    ReductionTypes types;
    ReductionShape shape;
    gint64 divisor; /* of a mean: the number of elements for a result */
    bool reads_partials = false, writes_partials = false;
  };
  void plan (GstOpenCLContext *context, const Request &request);
  /* Returns into how many parts the work must be divided to occupy the device. */
  ReductionParts useful_parts (GstOpenCLContext *context) const;
  /* For `parts` with `writes_partials`, or else for one part */
  bool create (GstOpenCLContext *context, const ReductionParts &parts, GError **error);

  /* An offset is in elements. For a buffer of partial results it is their number. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

  cl_mem centres = nullptr; /* for a variance: partial results of the sum */

private:
  void choose_vectors (GstOpenCLContext *context);
  void choose_split (GstOpenCLContext *context, gsize group);
  void choose_group_size (GstOpenCLContext *context);
  gint64 vectors () const;
  bool strides_over_pages () const;
  bool make_geometry (GstOpenCLContext *context, GError **error);
  std::string options () const;

  Request request;
  ReductionParts parts;
  gsize lanes = 1, across = 1, split = 1;
  bool vector_columns = false, split_rows = false, split_neighbours = false;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};

/* Bytes of a buffer for `count` partial results */
gsize partial_bytes (const ReductionTypes &types, gint64 count);
/* Macros of kernels/opencl/numbers.clh and kernels/reduction/partial.clh for vectors of
 * `lanes` elements */
std::string partial_macros (
    Reduction reduction, const ReductionTypes &types, gsize lanes);
/* Macros of numbers.clh, IS_REAL included */
std::string type_macros (const ReductionTypes &types, gsize lanes);
/* The same for numbers of one type */
std::string number_macros (opencl::NumberType type, gsize lanes);
/* Number of lanes of vectors of the kept dimensions; 1 if these are not contiguous */
gsize kept_lanes (GstOpenCLContext *context, const ReductionTypes &types,
    const ReductionDimension &innermost);
/* Length of the innermost kept dimension in vectors */
inline gint64
length_in_vectors (gint64 length, gsize lanes)
{
  return (length + gint64 (lanes) - 1) / gint64 (lanes);
}

/* --- reductions --- */

class Reducer {
public:
  /* Dimensions that have length 1 in `output`, and not in `input`, are reduced. Integers
   * can be reduced to floating-point numbers, but not the other way round. A variance
   * divides by the number of elements less `ddof`. */
  bool create (GstOpenCLContext *context, Reduction reduction, opencl::NumberType stored,
      opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
      GError **error, gint64 ddof = 0);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  bool create_passes (
      GstOpenCLContext *context, const ReductionPass::Request &request, GError **error);
  bool create_chunk_sums (
      GstOpenCLContext *context, const ReductionPass::Request &request, GError **error);
  bool create_in_two (GstOpenCLContext *context, const ReductionPass::Request &request,
      const ReductionParts &parts, GError **error);

  /* With few results, work-groups share each of them, and a second pass combines these
   * partial results. */
  ReductionPass first, second;
  gint64 partial_count = 0; /* 0: one pass */
  cl::Buffer partials;
  /* For a variance */
  std::unique_ptr<Reducer> summing; /* (nullable) */
  cl::Buffer sums;
  gint64 sum_count = 0;
};

/* --- cumulative sums --- */

/* Cumulative sum along one axis */
class CumulativeSum {
public:
  /* Both arrays have the same lengths. */
  bool create (GstOpenCLContext *context, opencl::NumberType stored,
      opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
      gsize axis, GError **error);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  void choose_groups (GstOpenCLContext *context);
  bool create_chunk_sums (GstOpenCLContext *context, GError **error);
  bool create_kernel (GstOpenCLContext *context, GError **error);
  gint64 vectors () const;

  ReductionTypes types;
  ReductionShape shape;   /* reduced[0] is the axis */
  gint64 axis_output = 0; /* its stride in the output */
  ReductionParts chunks;
  gsize lanes = 1, group = 1;
  bool alone = false; /* each work-item is a work-group, which a CPU runs in one thread */
  /* If lines are divided into chunks: the sum of each chunk */
  ReductionPass summing;
  cl::Buffer sums;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};
} // namespace compute
