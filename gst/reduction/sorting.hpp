/* Sorted arrays, quantiles and histograms on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "reduction.hpp"

namespace compute {
/* Also used by networks, for the first elements in order */
#define ORDER_KERNELS "/org/freedesktop/gstreamer/opencl/reduction/order.cl"

/* Lines along dimensions that have length 1 in `output`, and not in `input`. The other
 * strides of `output` are those of the results of a line, in elements. */
struct LineArrays {
  opencl::NumberType stored, written;
  ArrayLayout input, output;
};

class Lines {
protected:
  /* Fails if a line has more than `longest` elements. */
  bool create_lines (GstOpenCLContext *context, const LineArrays &arrays, gint64 longest,
      GError **error);
  std::string options (const ReductionTypes &types) const;
  /* A read-only buffer of the kernels' type REAL */
  bool make_numbers (GstOpenCLContext *context, opencl::NumberType computed,
      const std::vector<double> &numbers, cl::Buffer &buffer, GError **error) const;

  ReductionShape shape;
  gint64 lines = 0, length = 0;
  bool on_cpu = false;
  cl::Buffer outer; /* lengths and strides */
};

/* Values or positions of lines in order, or quantiles between them */
class Sorter : Lines {
public:
  enum Result { values, positions, quantiles };
  struct Request {
    LineArrays arrays;
    Result result = values;
    bool descending = false;
    std::vector<double> quantiles; /* 0 … 1 */
    gint64 wanted = 0; /* of values or positions: number of results of a line */
    gint64 step = 1;   /* stride of the results of a line in the output */
  };
  bool create (GstOpenCLContext *context, const Request &request, GError **error);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  bool create_kernels (GstOpenCLContext *context, const Request &request,
      const ReductionTypes &types, GError **error);
  bool create_quantiles (GstOpenCLContext *context, const Request &request,
      opencl::NumberType computed, GError **error);
  bool enqueue_merges (cl_command_queue queue, GError **error);

  gint64 sorted = 0, results = 0, step = 1; /* elements and results of a line */
  gsize split = 1;                          /* work-items that select from a line */
  int in_order = 0; /* which of the buffers has the elements in order */
  opencl::Kernel select, sort, merge, store;
  cl::Buffer keys[2], indices[2];
  bool interpolates = false;
  cl::Buffer below, fractions; /* of quantiles */
};

/* Counts of each line's elements in bins of one width */
class Histogram : Lines {
public:
  struct Request {
    LineArrays arrays;
    guint bins;
    double least, most;
  };
  bool create (GstOpenCLContext *context, const Request &request, GError **error);

  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  guint bins = 0;
  gint64 span = 0; /* elements of a work-group */
  gsize group = 1;
  opencl::Kernel count, store;
  cl::Buffer edges, counts;
};
} // namespace compute
