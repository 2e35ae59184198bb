/* openclreduce: sums, means, extremes, histograms and sorted elements of arrays along axes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclreduce
 * @title: openclreduce
 *
 * Reduces arrays of real numbers along some of their axes, as NumPy does. Gray and RGB
 * video are arrays of (height, width) and (height, width, components).
 *
 * `axes` counts dimensions in NumPy's order, outermost first. -1 is the innermost one.
 * Without `axes`, all dimensions are reduced. Complex numbers are an innermost dimension
 * of 2 like any other.
 *
 * | operation | result | type of the result |
 * |---|---|---|
 * | sum, cumulative-sum, product | | that of the input; int64 or uint64 for integers |
 * | mean, norm | norm: square root of the sum of squares | that of the input (see below) |
 * | variance, standard-deviation | | that of a mean |
 * | median, quantiles | | that of a mean |
 * | maximum, minimum | NaN if there is one | that of the input |
 * | argmax, argmin | position of the first NaN or of the first extreme | int64 |
 * | any, all | 1 or 0 | uint8 |
 * | histogram | number of elements in each of `bins` within `range` | int64 |
 * | sort | the first `count` elements in order | that of the input |
 * | argsort | their positions | int64 |
 *
 * Means and norms of integers are float32 for 8 and 16 bits, and float64 for wider ones.
 * Sums of float16 are computed in float32. Sums of float32 and float64 are as exact as in
 * twice their precision, and are rounded once. Sums of integers wrap beyond 64 bits.
 *
 * argmax, argmin, cumulative-sum, sort and argsort take one axis. Without `axes` they take the
 * array as one line, in C order. Equal elements keep their order, and NaN is last.
 *
 * All properties can change while playing. Settings that do not fit cause one WARNING, and
 * the previous ones stay in use.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=50 ! video/x-raw,format=RGB ! openclupload ! \
 *   openclreduce operation=mean axes=0,1 ! opencldownload ! npysink location=colors.npy
 * ]| Mean colour of each frame
 */
#include "streamcaps.hpp"
#include "elements.h"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/reduction/sorting.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

using compute::ArrayLayout;
using compute::Reduction;
using compute::Stream;
using opencl::ArrayFormat;
using opencl::NumberType;

#define DEVICE_MEMORY "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"

namespace {
/* Type of the result for integers: that of the input, 64 bits wide, or floating-point */
enum class Result { same, wide, real, position, truth };

enum class Operation {
  sum,
  mean,
  maximum,
  minimum,
  argmax,
  norm,
  cumulative_sum,
  product,
  argmin,
  variance,
  deviation,
  any,
  all,
  median,
  quantiles,
  histogram,
  sort,
  argsort
};

/* In the order of the enumeration */
const struct {
  const char *nick, *description;
  Reduction reduction;
  Result result;
  bool takes_one_axis = false;
} operations[] = {
    {"sum", "Sum", Reduction::sum, Result::wide},
    {"mean", "Mean", Reduction::mean, Result::real},
    {"maximum", "Maximum", Reduction::maximum, Result::same},
    {"minimum", "Minimum", Reduction::minimum, Result::same},
    {"argmax", "Position of the first maximum along one axis", Reduction::position,
        Result::position, true},
    {"norm", "Square root of the sum of squares", Reduction::l2, Result::real},
    {"cumulative-sum", "Sum of each element and those before it along one axis",
        Reduction::sum, Result::wide, true},
    {"product", "Product", Reduction::product, Result::wide},
    {"argmin", "Position of the first minimum along one axis",
        Reduction::position_of_minimum, Result::position, true},
    {"variance", "Mean square of the differences from the mean (see ddof)",
        Reduction::variance, Result::real},
    {"standard-deviation", "Square root of the variance", Reduction::deviation,
        Result::real},
    {"any", "1 if an element is not 0, else 0", Reduction::any, Result::truth},
    {"all", "1 if no element is 0, else 0", Reduction::all, Result::truth},
    {"median", "Median", Reduction::mean, Result::real},
    {"quantiles", "Quantiles, which the property of that name lists", Reduction::mean,
        Result::real},
    {"histogram", "Number of elements in each of bins within range", Reduction::sum,
        Result::position},
    {"sort", "Elements in order along one axis", Reduction::maximum, Result::same, true},
    {"argsort", "Positions of the elements in order along one axis", Reduction::position,
        Result::position, true},
};

GType
operation_type ()
{
  static const GType type = [] {
    static GEnumValue values[G_N_ELEMENTS (operations) + 1] = {};
    for (gsize n = 0; n < G_N_ELEMENTS (operations); n++)
      values[n] = {gint (n), operations[n].description, operations[n].nick};
    return g_enum_register_static ("GstOpenCLReduceOperation", values);
  }();
  return type;
}

struct ReduceSettings {
  Operation operation = Operation::sum;
  std::string axes;
  bool keep_dimensions = false;
  guint ddof = 0;
  std::vector<double> quantiles;
  guint bins = 10;
  std::vector<double> range;
  bool descending = false;
  guint count = 0;

  bool operator== (const ReduceSettings &other) const
  {
    auto all = [] (const ReduceSettings &of) {
      return std::tie (of.operation, of.axes, of.keep_dimensions, of.ddof, of.quantiles,
          of.bins, of.range, of.descending, of.count);
    };
    return all (*this) == all (other);
  }
};

/* A reduction of one input format */
struct Work {
  ArrayFormat input, output;
  std::vector<gsize> axes; /* reduced axes of the input, or the axis of a scan */
  bool flat = false;       /* the array counts as one line, in C order */
  ReduceSettings settings;

  bool operator== (const Work &other) const
  {
    return input == other.input && output == other.output && axes == other.axes
           && flat == other.flat && settings == other.settings;
  }
  Operation operation () const { return settings.operation; }
  bool sorts () const { return operation () >= Operation::sort; }
};

/* Kernels of a reduction, for rows with a distance of `row` elements */
struct Engine {
  using Enqueue = std::function<bool (cl_command_queue queue, cl_mem input,
      gint64 input_offset, cl_mem output, gint64 output_offset, GError **error)>;

  Work work;
  gint64 row = 0;
  Enqueue enqueue;

  /* Creates a Reducer, a CumulativeSum … */
  template <typename Worker, typename... Arguments>
  bool use (GstOpenCLContext *context, const Arguments &...arguments)
  {
    auto worker = std::make_shared<Worker> ();
    enqueue = [worker] (auto... frame) { return worker->enqueue (frame...); };
    return worker->create (context, arguments...);
  }
};
} // namespace

G_DECLARE_FINAL_TYPE (
    GstOpenCLReduce, gst_opencl_reduce, GST, OPENCL_REDUCE, GstOpenCLFilter)

struct _GstOpenCLReduce {
  GstOpenCLFilter parent;

  opencl::Settings<ReduceSettings> *settings;
  std::unique_ptr<Engine> *engine; /* for the caps in use, else empty */
};

static const opencl::PropertyTable<ReduceSettings> properties = {
    {"operation", "Operation", "Operation along the axes", &ReduceSettings::operation,
        operation_type, opencl::playing},
    {"axes", "Axes",
        "Reduced dimensions, outermost first, such as 0,2 (-1 = innermost, empty = all)",
        &ReduceSettings::axes, opencl::playing},
    {"keep-dimensions", "Keep dimensions",
        "Keep reduced dimensions with length 1 (not cumulative-sum)",
        &ReduceSettings::keep_dimensions, opencl::playing},
    {"ddof", "Delta degrees of freedom",
        "Delta degrees of freedom: variances are divided by the number of elements minus "
        "this (variance and standard-deviation)",
        &ReduceSettings::ddof, {0, G_MAXINT}, opencl::playing},
    {"quantiles", "Quantiles", "Quantiles, from 0 to 1, such as \"<0.25,0.5,0.75>\"",
        &ReduceSettings::quantiles, opencl::playing},
    {"bins", "Bins", "Number of bins (histogram)", &ReduceSettings::bins, {1, 1 << 24},
        opencl::playing},
    {"range", "Range",
        "Lower edge of the first and upper edge of the last bin, such as \"<0,256>\" "
        "(histogram)",
        &ReduceSettings::range, opencl::playing},
    {"descending", "Descending", "Largest elements first (sort and argsort)",
        &ReduceSettings::descending, opencl::playing},
    {"count", "Count", "Number of sorted elements to output (0 = all; sort and argsort)",
        &ReduceSettings::count, {0, G_MAXINT}, opencl::playing},
};

/* --- what it computes --- */

static bool
refuse (GError **error, const std::string &text)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "%s", text.c_str ());
  return false;
}

static NumberType
result_type (Result result, NumberType input)
{
  const opencl::NumberInfo &info = opencl::info_of (input);
  if (result == Result::position)
    return NumberType::i64;
  if (result == Result::truth)
    return NumberType::u8;
  if (result == Result::same || info.kind == 'f')
    return input;
  if (result == Result::wide)
    return info.kind == 'u' ? NumberType::u64 : NumberType::i64;
  return info.size <= 2 ? NumberType::f32 : NumberType::f64;
}

static std::vector<gsize>
reduced_shape (const Work &work, bool keep_dimensions)
{
  std::vector<gsize> shape;
  for (gsize d = 0; d < work.input.shape.size (); d++) {
    const bool reduced =
        std::find (work.axes.begin (), work.axes.end (), d) != work.axes.end ();
    if (!reduced)
      shape.push_back (work.input.shape[d]);
    else if (keep_dimensions)
      shape.push_back (1);
  }
  return shape;
}

static bool
find_axes (const ReduceSettings &settings, Work &work, GError **error)
{
  const gsize rank = work.input.shape.size ();
  const bool takes_one = operations[int (settings.operation)].takes_one_axis;
  if (!compute::parse_axes (settings.axes, rank, work.axes, error))
    return false;
  if (takes_one && work.axes.size () > 1)
    return refuse (error, "axes=" + settings.axes + ", but operation="
                              + operations[int (settings.operation)].nick
                              + " takes one axis");
  work.flat = takes_one && work.axes.empty ();
  for (gsize d = 0; settings.axes.empty () && d < rank; d++)
    work.axes.push_back (d);
  return true;
}

/* Elements in order keep the dimensions, and some of them are enough. */
static std::vector<gsize>
ordered_shape (const Work &work)
{
  std::vector<gsize> shape = work.input.shape;
  if (work.flat)
    shape = {work.input.count ()};
  gsize &length = shape[work.flat ? 0 : work.axes[0]];
  if (work.sorts () && work.settings.count > 0)
    length = MIN (length, work.settings.count);
  return shape;
}

/* Several quantiles are the outermost dimension, bins the innermost one. */
static std::vector<gsize>
output_shape (const Work &work)
{
  if (work.sorts () || work.operation () == Operation::cumulative_sum)
    return ordered_shape (work);
  std::vector<gsize> shape = reduced_shape (work, work.settings.keep_dimensions);
  if (work.operation () == Operation::histogram)
    shape.push_back (work.settings.bins);
  if (work.operation () == Operation::quantiles && work.settings.quantiles.size () > 1)
    shape.insert (shape.begin (), work.settings.quantiles.size ());
  return shape;
}

static bool
check_settings (const ReduceSettings &settings, GError **error)
{
  const std::vector<double> &quantiles = settings.quantiles, &range = settings.range;
  if (settings.operation == Operation::quantiles
      && (quantiles.empty ()
          || !std::all_of (quantiles.begin (), quantiles.end (),
              [] (double quantile) { return quantile >= 0 && quantile <= 1; })))
    return refuse (error, "operation=quantiles needs quantiles=<…>, each from 0 to 1");
  if (settings.operation == Operation::histogram
      && (range.size () != 2 || !(range[0] < range[1])
          || !std::isfinite (range[1] - range[0])))
    return refuse (
        error, "operation=histogram needs range=<LOWER,UPPER>, with LOWER < UPPER");
  return true;
}

static bool
find_work (
    const ReduceSettings &settings, const Stream &input, Work &work, GError **error)
{
  work = {};
  work.input = input.array;
  work.settings = settings;
  if (!check_settings (settings, error) || !find_axes (settings, work, error))
    return false;
  work.output.type =
      result_type (operations[int (work.operation ())].result, work.input.type);
  work.output.shape = output_shape (work);
  return true;
}

static compute::ArrayOutputOf
output_for (const ReduceSettings &settings)
{
  return [settings] (const Stream &input, ArrayFormat &output, GError **error) {
    Work work;
    if (!find_work (settings, input, work, error))
      return false;
    output = work.output;
    return true;
  };
}

static compute::OutputOf
tensors_for (GstOpenCLReduce *, const ReduceSettings &settings)
{
  return compute::tensors_of (output_for (settings));
}

/* --- kernels --- */

/* Layout without gaps, except between rows (the outermost dimension) if `row` is set */
static ArrayLayout
layout_of (const std::vector<gsize> &shape, gint64 row = 0)
{
  ArrayLayout layout;
  gint64 stride = 1;
  for (gsize d = shape.size (); d-- > 0;) {
    layout.lengths.insert (layout.lengths.begin (), gint64 (shape[d]));
    layout.strides.insert (layout.strides.begin (), d == 0 && row > 0 ? row : stride);
    stride *= gint64 (shape[d]);
  }
  return layout;
}

/* The output with reduced dimensions of length 1, so that it has those of the input */
static ArrayLayout
output_layout (const Work &work)
{
  std::vector<gsize> shape = work.input.shape;
  for (gsize axis : work.axes)
    shape[axis] = 1;
  return layout_of (shape);
}

static bool
check_precision (GstOpenCLContext *context, const Work &work, GError **error)
{
  if ((work.input.type != NumberType::f64 && work.output.type != NumberType::f64)
      || opencl::has_double (context))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "operation=%s of %s needs double precision, which %s does not have",
      operations[int (work.operation ())].nick, opencl::info_of (work.input.type).name,
      gst_opencl_context_get_device_name (context));
  return false;
}

static bool
create_scanner (GstOpenCLContext *context, Engine &engine, GError **error)
{
  const Work &work = engine.work;
  const NumberType stored = work.input.type, written = work.output.type;
  if (!work.flat || engine.row == 0) {
    const std::vector<gsize> shape = work.flat ? work.output.shape : work.input.shape;
    return engine.use<compute::CumulativeSum> (context, stored, written,
        layout_of (shape, engine.row), layout_of (shape), work.flat ? 0 : work.axes[0],
        error);
  }
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "operation=cumulative-sum without axes takes no video with padding between rows");
  return false;
}

static compute::LineArrays
lines_of (const Engine &engine, const ArrayLayout &output)
{
  const Work &work = engine.work;
  return {work.input.type, work.output.type, layout_of (work.input.shape, engine.row),
      output};
}

static bool
create_sorter (GstOpenCLContext *context, Engine &engine, GError **error)
{
  const Work &work = engine.work;
  compute::Sorter::Request request;
  ArrayLayout output = output_layout (work);
  if (work.sorts ()) {
    const gsize axis = work.flat ? 0 : work.axes[0];
    request.wanted = gint64 (work.output.shape[axis]);
    if (!work.flat) {
      output = layout_of (work.output.shape);
      request.step = output.strides[axis];
      output.lengths[axis] = 1;
    }
    request.descending = work.settings.descending;
    request.result = work.operation () == Operation::sort ? compute::Sorter::values
                                                          : compute::Sorter::positions;
  } else {
    request.result = compute::Sorter::quantiles;
    request.quantiles = work.settings.quantiles;
    if (work.operation () == Operation::median)
      request.quantiles = {0.5};
    request.step = gint64 (work.output.count () / request.quantiles.size ());
  }
  request.arrays = lines_of (engine, output);
  return engine.use<compute::Sorter> (context, request, error);
}

static bool
create_histogram (GstOpenCLContext *context, Engine &engine, GError **error)
{
  const ReduceSettings &settings = engine.work.settings;
  ArrayLayout output = output_layout (engine.work);
  for (gint64 &stride : output.strides)
    stride *= settings.bins;
  return engine.use<compute::Histogram> (context,
      compute::Histogram::Request{
          lines_of (engine, output), settings.bins, settings.range[0], settings.range[1]},
      error);
}

static bool
create_worker (GstOpenCLContext *context, Engine &engine, GError **error)
{
  const Work &work = engine.work;
  switch (work.operation ()) {
  case Operation::cumulative_sum:
    return create_scanner (context, engine, error);
  case Operation::histogram:
    return create_histogram (context, engine, error);
  case Operation::median:
  case Operation::quantiles:
  case Operation::sort:
  case Operation::argsort:
    return create_sorter (context, engine, error);
  default:
    return engine.use<compute::Reducer> (context,
        operations[int (work.operation ())].reduction, work.input.type, work.output.type,
        layout_of (work.input.shape, engine.row), output_layout (work), error,
        gint64 (work.settings.ddof));
  }
}

static std::unique_ptr<Engine>
create_engine (GstOpenCLContext *context, const Work &work, gint64 row, GError **error)
{
  auto engine = std::make_unique<Engine> ();
  engine->work = work;
  engine->row = row;
  return check_precision (context, work, error) && create_worker (context, *engine, error)
             ? std::move (engine)
             : nullptr;
}

/* Changes nothing if it fails. */
static bool
make_engine (GstOpenCLReduce *self, const ReduceSettings &settings, GstCaps *input,
    GstCaps *output, GError **error)
{
  Stream stream;
  Work work;
  if (!compute::stream_of_caps ("input", input, stream, error)
      || !find_work (settings, stream, work, error)
      || !compute::check_agreed (work.output, output, error))
    return false;
  /* Settings that change the output caps come here twice. */
  if (*self->engine && (*self->engine)->work == work)
    return true;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  std::unique_ptr<Engine> engine = create_engine (context, work, 0, error);
  if (!engine)
    return false;
  *self->engine = std::move (engine);
  return true;
}

/* --- caps --- */

static GstCaps *
gst_opencl_reduce_transform_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *filter)
{
  GstOpenCLReduce *self = GST_OPENCL_REDUCE (transform);
  GstCaps *result = direction == GST_PAD_SINK ? compute::array_outputs (
                        caps, output_for (self->settings->current ()))
                                              : compute::array_inputs (caps, true);
  return opencl::filtered_caps (result, filter);
}

/* --- frames --- */

/* Returns the row stride of video with padding in elements, or else 0. */
static bool
find_row (const GstOpenCLFrame *input, const Work &work, gint64 &row, GError **error)
{
  const gsize size = opencl::info_of (work.input.type).size;
  const gsize packed =
      work.input.shape.empty () ? 0 : work.input.bytes () / work.input.shape[0];
  row = 0;
  if (input->stride[0] == 0 || gsize (input->stride[0]) == packed)
    return true;
  return compute::element_offset (gsize (input->stride[0]), size, row, error);
}

static gboolean
gst_opencl_reduce_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLReduce *self = GST_OPENCL_REDUCE (filter);
  std::unique_ptr<Engine> &engine = *self->engine;
  const Work work = engine->work;
  gint64 row, from, to;
  if (!find_row (input, work, row, error)
      || !compute::element_offset (
          input->offset[0], opencl::info_of (work.input.type).size, from, error)
      || !compute::element_offset (
          output->offset[0], opencl::info_of (work.output.type).size, to, error))
    return FALSE;
  if (row != engine->row) {
    std::unique_ptr<Engine> made =
        create_engine (gst_opencl_filter_get_context (filter), work, row, error);
    if (!made)
      return FALSE;
    engine = std::move (made);
  }
  return engine->enqueue (queue, input->data, from, output->data, to, error);
}

/* --- the class --- */

static const opencl::FilterElement<GstOpenCLReduce, &GstOpenCLReduce::engine> element = {
    "GstOpenCLReduce", properties, "OpenCL reduction", "Filter",
    "Computes sums, means, extremes, histograms and sorted elements of arrays along "
    "axes, in device memory",
    {TENSORS_CAPS (DEVICE_MEMORY) "; video/x-raw" DEVICE_MEMORY
                                  ", format = (string) " ARRAY_VIDEO_FORMATS
                                  ", width = (int) [ 1, 2147483647 ], height = "
                                  "(int) [ 1, 2147483647 ], "
                                  "framerate = (fraction) [ 0/1, 2147483647/1 ]",
        TENSORS_CAPS (DEVICE_MEMORY)},
    {gst_opencl_reduce_transform_caps, gst_opencl_reduce_transform},
    compute::ArrayFilter<&GstOpenCLReduce::settings, &GstOpenCLReduce::engine,
        make_engine, tensors_for>::install,
    /* The result may be a measurement: QoS must not drop frames. */
    opencl::keeps_all_frames, opencl::create_members<&GstOpenCLReduce::engine>};

OPENCL_FILTER_DEFINE (openclreduce, gst_opencl_reduce, element)
