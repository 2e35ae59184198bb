/* Stages of the convolution methods, each one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <gst/common/debugswitch.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <algorithm>

namespace compute {
namespace {
#define RESOURCES "/org/freedesktop/gstreamer/opencl/convolution/"

/* Extra elements after the planes, because vectors are read beyond the end of a row */
const gsize slack = 64 * 16;

/* Kernel rows from which on convolve_tall is used, and the output rows for which it uses
 * each value that it reads */
const gsize least_tall = 8, rows_of_tall = 8;

/* A cache line */
const gsize pitch_multiple = 16;

/* In the order of opencl::NumberType */
constexpr const char *number_names[] = {
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"};

gsize
divided_up (gsize number, gsize by)
{
  return (number + by - 1) / by;
}
} // namespace

/* The CPU kernels need no work-groups and no local memory, so they run on any device. */
bool
convolves_on_cpu (GstOpenCLContext *context)
{
  const gsize items = 8 * 16, local_bytes = 25 * 1024; /* of multiply_gpu */
  if (const auto groups = opencl::debug_switch ("convolve-groups"))
    return !*groups;
  return opencl::is_cpu (context) || opencl::local_memory (context) < local_bytes
         || opencl::largest_group (context) < items;
}

std::string
number_options (opencl::NumberType input, const Finishing &finishing)
{
  return std::string ("-cl-mad-enable -DINPUT_") + number_names[int (input)]
         + " -DOUTPUT_" + number_names[int (finishing.type)]
         + " -DACTIVATION=" + std::to_string (int (finishing.activation))
         + (finishing.adds_residual ? " -DRESIDUAL" : "");
}

/* An output without a residual stands for it, as an argument must be a buffer. */
bool
FinishArguments::set (opencl::Kernel &kernel, cl_uint &index, GError **error) const
{
  const gssize size = gssize (opencl::info_of (finishing.type).size);
  const gssize shift =
      output.added ? gssize (output.added_offset) - gssize (output.place.offset) : 0;
  return kernel.set (index, finishing.numbers, error)
         && kernel.set (index, output.added ? output.added : output.data, error)
         && kernel.set (index, cl_long (shift / size), error);
}

Steps
steps_of (const Placement &place, opencl::NumberType type)
{
  const gssize size = gssize (opencl::info_of (type).size);
  return {cl_int (place.image / size), cl_int (place.channel / size),
      cl_int (place.line / size), cl_int (place.column / size)};
}

/* --- Gathering --- */

bool
Gathering::create (const Device &device, const Convolution &convolution, const char *kind,
    gsize count, GError **error)
{
  extent = convolution.input;
  groups = convolution.groups;
  top = convolution.top;
  left = convolution.left;
  border = convolution.border;
  in_lanes = convolves_on_cpu (device.context);
  workspace = device.workspace;
  workspace->reserve (Workspace::gathered, (count + slack) * sizeof (cl_float));
  const std::string name =
      std::string ("gather_") + kind + (in_lanes ? "_lines" : "_numbers");
  return kernel.create (device.context, RESOURCES "convolvegather.cl", name.c_str (),
      number_options (convolution.input_type, Finishing ()).c_str (), error);
}

bool
Gathering::create_planes (const Device &device, const Convolution &convolution,
    gsize lines, gsize columns, GError **error)
{
  n_lines = lines;
  n_columns = columns;
  of_line = divided_up (columns, pitch_multiple) * pitch_multiple;
  const Extent &input = convolution.input;
  return create (device, convolution, "plane",
      input.images * input.channels * lines * of_line, error);
}

bool
Gathering::create_pixels (const Device &device, const Convolution &convolution,
    gsize lines, gsize columns, GError **error)
{
  n_lines = lines;
  n_columns = columns;
  of_pixel = divided_up (convolution.channels_of_group (), 4) * 4 * convolution.groups;
  return create (device, convolution, "pixel",
      convolution.input.images * lines * columns * of_pixel, error);
}

bool
Gathering::enqueue (cl_command_queue queue, const Region &input, GError **error)
{
  const Placement &place = input.place;
  const bool planes = of_pixel == 0;
  const gsize outer = extent.images * (planes ? extent.channels : 1);
  cl_uint index = 0;

  auto set = [&] (const auto &value) { return kernel.set (index, value, error); };
  if (!set (input.data) || !set (cl_ulong (place.offset)) || !set (cl_long (place.image))
      || !set (cl_long (place.channel)) || !set (cl_long (place.line))
      || !set (cl_long (place.column)) || !set (cl_int (extent.channels))
      || !set (cl_int (extent.height)) || !set (cl_int (extent.width))
      || !set (cl_int (n_lines)) || !set (cl_int (n_columns)) || !set (cl_int (top))
      || !set (cl_int (left)) || !set (cl_int (border)) || !set (data ()))
    return false;
  if (!(planes ? set (cl_int (of_line))
               : set (cl_int (groups)) && set (cl_int (of_pixel))))
    return false;
  if (in_lanes)
    return kernel.enqueue_groups (queue, {n_lines, outer, 1}, error);
  const gsize of_row = n_columns * (planes ? 1 : of_pixel / 4);
  return set (cl_int (extent.images))
         && kernel.enqueue (queue, of_row * n_lines * outer, 1, error);
}

/* --- ProductEnding --- */

bool
ProductEnding::create (
    GstOpenCLContext *context, const Finishing &a_finishing, GError **error)
{
  finishing = a_finishing;
  return kernel.create (context, RESOURCES "convolvefinish.cl", "finish",
      number_options (opencl::NumberType::f32, finishing).c_str (), error);
}

bool
ProductEnding::enqueue (cl_command_queue queue, const Products &products,
    const Rows &rows, const Region &c, const Steps &c_steps, gsize c_batch,
    GError **error)
{
  return kernel.launch (queue, rows.count () * products.width, products.batches, error,
      products.numbers, cl_int (products.parts), cl_int (products.width),
      cl_int (rows.count ()), cl_int (products.batches), products.bias,
      cl_int (products.bias_batch), FinishArguments (finishing, c), c.data,
      cl_long (c.place.offset / opencl::info_of (finishing.type).size), cl_int (c_batch),
      c_steps.image, c_steps.line, c_steps.column, c_steps.channel, cl_int (rows.lines),
      cl_int (rows.columns));
}

/* --- Multiplication --- */

/* Most groups of rows of a work-item on a CPU */
static const gsize most_run = 16;

bool
Multiplication::create (const Device &device, gsize a_batch, gsize rows, gsize a_depth,
    gsize a_width, const Finishing &a_finishing, GError **error)
{
  context = device.context;
  workspace = device.workspace;
  batch = a_batch;
  depth = a_depth;
  width = a_width;
  finishing = a_finishing;
  in_lanes = convolves_on_cpu (context);
  n_parts = 1;
  across = down = shares = 1;
  if (!in_lanes) {
    /* From launches on an H100: less waiting, until arithmetic takes longer than that */
    const gsize most_products = 12000000, most_depth = 384;
    return depth <= most_depth && rows * width * depth <= most_products
               ? create_few (error)
               : create_parts (rows, error);
  }

  const gsize lanes = opencl::float_lanes (context);
  rows_of_group = 6; /* two vectors each, in registers */
  panel = 2 * lanes;
  step = 4;
  const std::string options = number_options (opencl::NumberType::f32, finishing)
                              + " -DLANES=" + std::to_string (lanes)
                              + " -DROWS=" + std::to_string (rows_of_group)
                              + " -DMOST_RUN=" + std::to_string (most_run);
  return kernel.create (
      context, RESOURCES "convolvemultiply.cl", "multiply_cpu", options.c_str (), error);
}

/* A product of few sums takes as long as one of them. Each is shared by four work-items, if
 * they are long. */
bool
Multiplication::create_few (GError **error)
{
  rows_of_group = 16; /* as in the kernel */
  panel = 64;
  step = 4;
  across = 16;
  down = 4;
  shares = depth >= 64 && opencl::largest_group (context) >= 4 * across * down ? 4 : 1;
  const std::string options = number_options (opencl::NumberType::f32, finishing)
                              + " -DSHARES=" + std::to_string (shares);
  return kernel.create (
      context, RESOURCES "convolvemultiply.cl", "multiply_few", options.c_str (), error);
}

/* A deep product of few rows leaves most of a device idle. Then several work-groups share
 * a sum: as many as the device runs at a time. */
bool
Multiplication::create_parts (gsize rows, GError **error)
{
  const gsize at_a_time = 3 * opencl::compute_units (context), least_steps = 8;
  rows_of_group = 128; /* as in the kernel */
  panel = 64;
  step = 16;
  across = 8;
  down = 16;
  const gsize groups = divided_up (rows, rows_of_group) * n_panels () * batch;
  n_parts = std::clamp (at_a_time / groups, gsize (1),
      std::max (padded_depth () / step / least_steps, gsize (1)));
  if (n_parts > 1) {
    workspace->reserve (
        Workspace::parts, n_parts * batch * rows * width * sizeof (cl_float));
    if (!ending.create (context, finishing, error))
      return false;
    finishing = Finishing ();
  }
  const std::string options = number_options (opencl::NumberType::f32, finishing)
                              + " -DPARTS=" + std::to_string (n_parts);
  return kernel.create (
      context, RESOURCES "convolvemultiply.cl", "multiply_gpu", options.c_str (), error);
}

bool
Multiplication::set_fours (std::vector<cl_int> steps, GError **error)
{
  steps.resize (padded_depth () / 4, 0); /* have zero weights */
  fours = opencl::share_table (context, steps, error);
  return fours () != nullptr;
}

/* Groups of rows of a work-item on a CPU: enough that the start of a work-group costs little,
 * and that a panel is read from memory once; few enough that all threads have work. */
gsize
Multiplication::run_of (gsize rows) const
{
  const gsize groups_of_thread = 8;
  const gsize groups = divided_up (rows, rows_of_group) * n_panels () * batch;
  return std::clamp (
      groups / (groups_of_thread * opencl::compute_units (context)), gsize (1), most_run);
}

bool
Multiplication::enqueue (cl_command_queue queue, const Rows &rows, cl_mem a,
    gsize a_offset, const Steps &a_steps, gsize a_batch, const Region &c,
    const Steps &c_steps, gsize c_batch, GError **error)
{
  const gsize run = in_lanes ? run_of (rows.count ()) : 1;
  const gsize global[] = {divided_up (rows.count (), rows_of_group * run) * across,
      n_panels () * down, batch * n_parts * shares};
  const gsize local[] = {across, down, shares};
  const cl_int line = cl_int (rows.columns * width);
  const bool whole = n_parts == 1;
  Region of_parts;
  of_parts.data = (*workspace)[Workspace::parts];
  const Region &to_region = whole ? c : of_parts;
  const Steps to =
      whole ? c_steps : Steps{cl_int (rows.lines) * line, 1, line, cl_int (width)};
  if (!kernel.set_all (error, a, cl_long (a_offset), cl_int (a_batch), a_steps.image,
          a_steps.line, a_steps.column, fours (), cl_int (padded_depth () / 4),
          weights (), bias (), FinishArguments (finishing, to_region), to_region.data,
          cl_long (to_region.place.offset / opencl::info_of (finishing.type).size),
          cl_int (whole ? c_batch : rows.count () * width), to.image, to.line, to.column,
          to.channel, cl_int (rows.count ()), cl_int (rows.lines), cl_int (rows.columns),
          cl_int (width), cl_int (run))
      || !kernel.enqueue_box (queue, global, local, error))
    return false;
  return whole
         || ending.enqueue (queue,
             {of_parts.data, bias (), n_parts, batch, width, n_panels () * panel}, rows,
             c, c_steps, c_batch, error);
}

/* --- rows of pixels --- */

static gsize
filled_up (gsize channels)
{
  return divided_up (channels, 4) * 4;
}

std::vector<cl_int>
fours_of_taps (const Convolution &convolution, const Gathering &pixels)
{
  const gsize depth = pixels.depth ();
  const Distance &dilation = convolution.dilation;
  std::vector<cl_int> fours;
  for (gsize y = 0; y < convolution.tap_lines; y++)
    for (gsize x = 0; x < convolution.tap_columns; x++)
      for (gsize c = 0; c < filled_up (convolution.channels_of_group ()); c += 4)
        fours.push_back (
            cl_int ((y * dilation.y * pixels.columns () + x * dilation.x) * depth + c));
  return fours;
}

Steps
steps_of_pixels (const Convolution &convolution, const Gathering &pixels)
{
  const gsize depth = pixels.depth (), line = pixels.columns () * depth;
  return {cl_int (pixels.lines () * line), 1, cl_int (convolution.stride.y * line),
      cl_int (convolution.stride.x * depth)};
}

/* Channels that only pad to a multiple of four have zero weights. */
static float
weight_of_row (const Convolution &convolution, const Filters &filters, gsize group,
    gsize k, gsize filter)
{
  const gsize channels = convolution.channels_of_group (), deep = filled_up (channels);
  const gsize tap = k / deep, channel = k % deep;
  return channel < channels
             ? filters.weight (group * convolution.filters_of_group () + filter, channel,
                 tap / convolution.tap_columns, tap % convolution.tap_columns)
             : 0.0f;
}

std::vector<cl_float>
weights_of_taps (const Convolution &convolution, const Filters &filters)
{
  const gsize depth = convolution.taps () * filled_up (convolution.channels_of_group ());
  std::vector<cl_float> weights;
  weights.reserve (depth * convolution.output.channels);
  for (gsize group = 0; group < convolution.groups; group++)
    for (gsize k = 0; k < depth; k++)
      for (gsize filter = 0; filter < convolution.filters_of_group (); filter++)
        weights.push_back (weight_of_row (convolution, filters, group, k, filter));
  return weights;
}

bool
set_weights_of_taps (Multiplication &product, const Convolution &convolution,
    const Filters &filters, GError **error)
{
  auto weight = [&] (gsize group, gsize k, gsize filter) {
    return weight_of_row (convolution, filters, group, k, filter);
  };
  auto bias = [&] (gsize group, gsize filter) {
    return filters.bias (group * convolution.filters_of_group () + filter);
  };
  return product.set_weights (weight, bias, error);
}

/* --- PlaneTaps --- */

PlaneTaps::Task
PlaneTaps::task_of (const Convolution &convolution, const Gathering &planes)
{
  Task task;
  task.images = convolution.input.images;
  task.planes = convolution.input.channels;
  task.groups = convolution.groups;
  task.filters = convolution.output.channels;
  task.plane_lines = planes.lines ();
  task.pitch = planes.pitch ();
  task.tap_lines = convolution.tap_lines;
  task.tap_columns = convolution.tap_columns;
  task.stride = convolution.stride;
  task.dilation = convolution.dilation;
  task.height = convolution.output.height;
  task.width = convolution.output.width;
  task.finishing = Finishing (convolution);
  return task;
}

cl::Buffer
PlaneTaps::make_planes (GstOpenCLContext *context, gsize count, GError **error)
{
  const gsize bytes = (count + slack) * sizeof (cl_float);
  const cl_float nothing = 0; /* read beyond rows and planes, but not used */
  cl::Buffer planes = opencl::make_buffer (context, bytes, error);
  if (!planes ())
    return planes;
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  cl_int code = clEnqueueFillBuffer (queue, planes (), &nothing, sizeof nothing, 0, bytes,
      0, nullptr, opencl::Profiled (queue, opencl::command::fill));
  if (!gst_opencl_check (code, "clEnqueueFillBuffer", error))
    return cl::Buffer ();
  return planes;
}

bool
PlaneTaps::create (GstOpenCLContext *context, const Task &a_task,
    const std::vector<cl_float> &weights, const std::vector<cl_float> &bias,
    GError **error)
{
  task = a_task;
  in_lanes = convolves_on_cpu (context);
  is_tall = in_lanes && task.stride == Distance () && task.dilation == Distance ()
            && task.tap_lines >= least_tall;
  taps = opencl::share_table (context, weights, error);
  if (!taps ())
    return false;
  biases = opencl::share_table (context, bias, error);
  return biases () && create_kernel (context, error);
}

/* Lowers the number of rows per work-item until the input of a work-group fits into local
 * memory. */
bool
PlaneTaps::create_kernel (GstOpenCLContext *context, GError **error)
{
  const gsize across = 32, down = 4; /* as in the kernel */
  std::string options = number_options (opencl::NumberType::f32, task.finishing);

  rows_of_item = 4;
  if (in_lanes) {
    lanes = opencl::float_lanes (context);
    options += " -DLANES=" + std::to_string (lanes);
    if (task.stride.x > 1)
      options += " -DSTRIDED";
    if (is_tall)
      rows_of_item = rows_of_tall;
    else if (task.height < 4 * rows_of_item)
      rows_of_item = 1;
  } else {
    const gsize room = gsize (opencl::local_memory (context));
    tile_columns =
        (across - 1) * task.stride.x + (task.tap_columns - 1) * task.dilation.x + 1;
    for (;; rows_of_item /= 2) {
      tile_lines = (down * rows_of_item - 1) * task.stride.y
                   + (task.tap_lines - 1) * task.dilation.y + 1;
      const gsize bytes = tile_lines * tile_columns * sizeof (cl_float);
      if (bytes <= room)
        break;
      if (rows_of_item == 1) {
        g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
            "kernel of %" G_GSIZE_FORMAT " rows and %" G_GSIZE_FORMAT
            " columns needs %" G_GSIZE_FORMAT
            " bytes of local memory, but %s has %" G_GSIZE_FORMAT,
            task.tap_lines, task.tap_columns, bytes,
            gst_opencl_context_get_device_name (context), room);
        return false;
      }
    }
  }
  options += " -DITEM_ROWS=" + std::to_string (rows_of_item);
  return kernel.create (context, RESOURCES "convolveplanes.cl",
      is_tall    ? "convolve_tall"
      : in_lanes ? "convolve_cpu"
                 : "convolve_gpu",
      options.c_str (), error);
}

bool
PlaneTaps::enqueue (
    cl_command_queue queue, cl_mem planes, const Region &output, GError **error)
{
  const gssize size = gssize (opencl::info_of (task.finishing.type).size);
  const Placement &place = output.place;
  const gsize across = is_tall    ? 2 * lanes
                       : in_lanes ? lanes
                                  : 32,
              down = in_lanes ? 1 : 4;
  cl_uint index = 0;

  auto set = [&] (const auto &...values) {
    return (kernel.set (index, values, error) && ...);
  };
  if (!set (planes, cl_int (task.plane_lines), cl_int (task.pitch), cl_int (task.planes),
          cl_int (task.planes / task.groups), cl_int (task.filters),
          cl_int (task.filters / task.groups), taps (), cl_int (task.tap_lines),
          cl_int (task.tap_columns), cl_int (task.stride.y), cl_int (task.stride.x),
          cl_int (task.dilation.y), cl_int (task.dilation.x), biases (),
          FinishArguments (task.finishing, output), cl_float (levels.scale),
          cl_float (levels.offset), output.data, cl_long (place.offset / gsize (size)),
          cl_long (place.image / size), cl_long (place.channel / size),
          cl_long (place.line / size), cl_long (place.column / size),
          cl_int (task.height), cl_int (task.width)))
    return false;
  const gsize outer = task.images * task.filters;
  const gsize columns = divided_up (task.width, across);
  const gsize rows = divided_up (task.height, down * rows_of_item);
  const gsize local[] = {in_lanes ? 1 : across, down, 1};
  const gsize global[] = {columns * local[0], rows * local[1], outer};
  if (!in_lanes
      && !set (opencl::LocalMemory{tile_lines * tile_columns * sizeof (cl_float)},
          cl_int (tile_lines), cl_int (tile_columns)))
    return false;
  return kernel.enqueue_box (queue, global, local, error);
}

/* --- KeptComponent --- */

/* Returns the distance from the first tap to the middle one, or to the first of two in
 * the middle. `padding=-1` uses the same distance, so that without a stride each output
 * pixel keeps the alpha of the input pixel at the same position. */
static gsize
middle_tap (gsize taps, gsize dilation)
{
  return (taps - 1) * dilation / 2;
}

bool
KeptComponent::create (
    GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  if (convolution.kept_component < 0)
    return true;
  input_extent = convolution.input;
  output_extent = convolution.output;
  stride = convolution.stride;
  top = cl_int (middle_tap (convolution.tap_lines, convolution.dilation.y))
        - cl_int (convolution.top);
  left = cl_int (middle_tap (convolution.tap_columns, convolution.dilation.x))
         - cl_int (convolution.left);
  bytes = cl_int (opencl::info_of (convolution.input_type).size);
  from_first =
      (convolution.kept_component - cl_int (convolution.first_component)) * bytes;
  return kernel.create (context, RESOURCES "convolvegather.cl", "keep_component",
      number_options (convolution.input_type, Finishing ()).c_str (), error);
}

bool
KeptComponent::enqueue (
    cl_command_queue queue, const Region &input, const Region &output, GError **error)
{
  if (!kernel.created ())
    return true;
  const Placement &from = input.place, &to = output.place;
  return kernel.launch (queue, output_extent.width, output_extent.height, error,
      input.data, cl_ulong (gssize (from.offset) + from_first), cl_long (from.line),
      cl_int (from.column), cl_int (input_extent.height), cl_int (input_extent.width),
      output.data, cl_ulong (gssize (to.offset) + from_first), cl_long (to.line),
      cl_int (to.column), cl_int (output_extent.height), cl_int (output_extent.width),
      cl_int (stride.y), cl_int (stride.x), top, left, bytes);
}
} // namespace compute
