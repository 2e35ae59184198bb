/* Convolution of 16-bit arrays on tensor cores
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/macro.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/core/devicebuffer.hpp>

#include <algorithm>

namespace compute {
using opencl::macro;

namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/convolution/convolvehalf.cl"

const gsize step_depth = 32; /* as in the kernel */
/* Channels of a pixel whose taps are packed */
const gsize packed_depth = 4;

/* Tiles of a work-group, and the number of steps in local memory */
struct Tiling {
  gsize rows, columns, warps_m, warps_n, stages;

  gsize items () const { return 32 * warps_m * warps_n; }
};

/* Larger tiles read less for each product, smaller ones fill a device with fewer rows. */
const Tiling large = {128, 128, 2, 4, 3}, narrow = {128, 64, 4, 2, 3},
             small = {64, 64, 2, 2, 4};

gsize
divided_up (gsize number, gsize by)
{
  return (number + by - 1) / by;
}

/* Halves of the input are read in chunks of eight channels. */
bool
is_read_in_place (const Convolution &convolution, const Placement &place)
{
  const gssize chunk = 16; /* in bytes */
  return convolution.input_type == opencl::NumberType::f16
         && convolution.input.channels % 8 == 0 && place.channel == 2
         && place.column % chunk == 0 && place.line % chunk == 0
         && place.image % chunk == 0 && place.offset % gsize (chunk) == 0;
}

class Half : public Convolver {
public:
  bool create (const Device &device, const Convolution &a_convolution,
      const Filters &filters, GError **error)
  {
    convolution = a_convolution;
    finishing = Finishing (convolution);
    workspace = device.workspace;
    set_packing ();
    steps = divided_up (taps () * of_tap, step_depth);
    rows = convolution.output.images * convolution.output.pixels ();
    choose_tiling (device.context);
    /* The placement of the input is known with the first frame only. */
    workspace->reserve (Workspace::gathered, gathered_size () * sizeof (cl_half));
    return create_kernels (device.context, error)
           && create_tables (device.context, filters, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override;

private:
  gsize taps () const { return packs_rows ? convolution.tap_lines : convolution.taps (); }
  gsize gathered_size () const
  {
    return convolution.input.images * convolution.input.height * columns * depth;
  }
  /* Does the product write the output itself? Its rows are channels. */
  bool is_whole () const { return parts == 1 && !convolution.nchw; }
  void set_packing ();
  void choose_tiling (GstOpenCLContext *context);
  bool create_kernels (GstOpenCLContext *context, GError **error);
  bool create_tables (GstOpenCLContext *context, const Filters &filters, GError **error);
  gsize place_of_tap (gsize tap) const;
  bool gather (cl_command_queue queue, const Region &input, GError **error);
  bool is_dense (const Steps &out) const;
  bool is_wide (const Region &output) const;
  bool multiply (cl_command_queue queue, cl_mem data, gsize offset, const Steps &from,
      const Region &output, GError **error);

  Convolution convolution;
  Finishing finishing;
  std::shared_ptr<Workspace> workspace;
  Tiling tiling = large;
  bool packs_rows = false;
  gsize depth = 0;   /* channels of a gathered pixel */
  gsize of_tap = 0;  /* numbers of a tap, or of a row of packed taps */
  gsize columns = 0; /* of the gathered pixels */
  gsize steps = 0, rows = 0, parts = 1;
  opencl::Kernel kernel, gathering;
  ProductEnding ending;
  cl::Buffer weights, bias;
};

/* With up to four channels, such as those of colours, the taps of a row lie one behind the
 * other in the input. They are one tap then, if columns begin at multiples of eight numbers. */
void
Half::set_packing ()
{
  const gsize stride = convolution.stride.x;
  packs_rows = convolution.input.channels <= packed_depth
               && stride * packed_depth % 8 == 0 && convolution.dilation.x == 1;
  depth = packs_rows ? packed_depth : divided_up (convolution.input.channels, 8) * 8;
  of_tap = packs_rows ? divided_up (convolution.tap_columns * depth, 8) * 8 : depth;
  columns =
      packs_rows
          ? divided_up ((convolution.output.width - 1) * stride + of_tap / depth, 2) * 2
          : convolution.input.width;
}

/* Where the numbers of a tap begin in a row of weights */
gsize
Half::place_of_tap (gsize tap) const
{
  return packs_rows ? tap / convolution.tap_columns * of_tap
                          + tap % convolution.tap_columns * depth
                    : tap * depth;
}

/* A product with few tiles is divided along k, until there are two work-groups for each
 * compute unit. */
void
Half::choose_tiling (GstOpenCLContext *context)
{
  const gsize units = opencl::compute_units (context), least_steps = 8;
  const gsize filters = convolution.output.channels;
  auto groups = [&] (const Tiling &of) {
    return divided_up (rows, of.rows) * divided_up (filters, of.columns);
  };
  tiling = filters <= 64 ? narrow : large;
  if (groups (tiling) < units)
    tiling = small;
  if (groups (tiling) < units)
    parts = std::clamp (2 * units / groups (tiling), gsize (1),
        std::max (steps / least_steps, gsize (1)));
}

bool
Half::create_kernels (GstOpenCLContext *context, GError **error)
{
  const Finishing ends = is_whole () ? finishing : Finishing ();
  if (!is_whole ()) {
    workspace->reserve (
        Workspace::parts, parts * rows * convolution.output.channels * sizeof (cl_float));
    if (!ending.create (context, finishing, error))
      return false;
  }
  const std::string common =
      macro ("BM", gint64 (tiling.rows)) + macro ("BN", gint64 (tiling.columns))
      + macro ("WARPS_M", gint64 (tiling.warps_m))
      + macro ("WARPS_N", gint64 (tiling.warps_n))
      + macro ("STAGES", gint64 (tiling.stages))
      + macro ("TENSOR_CORES", gint64 (has_tensor_cores (context)));
  const std::string product = number_options (opencl::NumberType::f16, ends) + common;
  const std::string gather =
      number_options (convolution.input_type, Finishing ()) + common;
  return kernel.create (context, RESOURCE, "multiply_half", product.c_str (), error)
         && gathering.create (context, RESOURCE, "gather_half", gather.c_str (), error);
}

/* Weights: [filter][tap][channel], filled up to whole steps and tiles */
bool
Half::create_tables (GstOpenCLContext *context, const Filters &filters, GError **error)
{
  const gsize count = convolution.output.channels;
  const gsize padded = divided_up (count, tiling.columns) * tiling.columns;
  std::vector<cl_half> halves (padded * steps * step_depth, 0);
  std::vector<cl_float> biases = filters.biases_in_order (convolution);
  for (gsize f = 0; f < count; f++)
    for (gsize tap = 0; tap < convolution.taps (); tap++)
      for (gsize c = 0; c < convolution.input.channels; c++)
        halves[f * steps * step_depth + place_of_tap (tap) + c] =
            opencl::half_of_float (filters.weight (
                f, c, tap / convolution.tap_columns, tap % convolution.tap_columns));
  biases.resize (padded, 0);
  weights = opencl::share_table (context, halves, error);
  if (!weights ())
    return false;
  bias = opencl::share_table (context, biases, error);
  return bias () != nullptr;
}

bool
Half::gather (cl_command_queue queue, const Region &input, GError **error)
{
  const Extent &from = convolution.input;
  const Placement &place = input.place;
  const gsize items = gathered_size () / 8;
  return gathering.launch (queue, items, 1, error, input.data, cl_ulong (place.offset),
      cl_long (place.image), cl_long (place.channel), cl_long (place.line),
      cl_long (place.column), cl_int (from.channels), cl_int (from.height),
      cl_int (from.width), cl_int (depth), cl_int (columns),
      cl_int (packs_rows ? convolution.left : 0), (*workspace)[Workspace::gathered],
      cl_uint (items));
}

/* Do rows of C follow each other without gaps? */
bool
Half::is_dense (const Steps &out) const
{
  const Extent &made = convolution.output;
  return out.line == cl_int (made.width) * out.column
         && out.image == cl_int (made.height) * out.line;
}

/* Are rows of the output, and of the residual, whole chunks of 16 bytes? */
bool
Half::is_wide (const Region &output) const
{
  const Placement &place = output.place;
  const gssize chunk = 16;
  return finishing.type == opencl::NumberType::f16 && convolution.output.channels % 8 == 0
         && place.channel == 2 && place.column % chunk == 0 && place.line % chunk == 0
         && place.image % chunk == 0 && place.offset % gsize (chunk) == 0
         && output.added_offset % gsize (chunk) == 0;
}

bool
Half::multiply (cl_command_queue queue, cl_mem data, gsize offset, const Steps &from,
    const Region &output, GError **error)
{
  const Extent &made = convolution.output;
  const bool whole = is_whole ();
  Region of_parts;
  of_parts.data = (*workspace)[Workspace::parts];
  const Region &to = whole ? output : of_parts;
  const cl_int line = cl_int (made.width * made.channels);
  const Finishing ends = whole ? finishing : Finishing ();
  const Steps steps_of_output = steps_of (output.place, finishing.type);
  const Steps steps_of_part = {
      cl_int (made.height) * line, 1, line, cl_int (made.channels)};
  const Steps &out = whole ? steps_of_output : steps_of_part;
  const gsize global[] = {divided_up (rows, tiling.rows) * tiling.items (),
      divided_up (made.channels, tiling.columns), parts};
  const gsize local[] = {tiling.items (), 1, 1};
  if (!kernel.set_all (error, data, cl_long (offset), cl_long (from.image), from.line,
          from.column, cl_int (convolution.input.height), cl_int (columns),
          cl_int (of_tap), cl_int (packs_rows ? 1 : convolution.tap_columns),
          cl_int (taps ()), cl_int (convolution.stride.y), cl_int (convolution.stride.x),
          cl_int (convolution.dilation.y), cl_int (convolution.dilation.x),
          cl_int (convolution.top), cl_int (packs_rows ? 0 : convolution.left),
          weights (), cl_int (steps), bias (), FinishArguments (ends, to), to.data,
          cl_long (to.place.offset / opencl::info_of (ends.type).size),
          cl_long (whole ? 0 : rows * made.channels), cl_long (out.image),
          cl_long (out.line), cl_long (out.column), cl_int (made.height),
          cl_int (made.width), cl_int (rows), cl_int (made.channels), cl_int (parts),
          cl_int (is_dense (out)), cl_int (whole && is_wide (output)))
      || !kernel.enqueue_box (queue, global, local, error))
    return false;
  if (whole)
    return true;
  return ending.enqueue (queue, {of_parts.data, bias (), parts, 1, made.channels, 0},
      {made.images, made.height, made.width}, output, steps_of_output, 0, error);
}

bool
Half::enqueue (
    cl_command_queue queue, const Region &input, const Region &output, GError **error)
{
  if (!packs_rows && is_read_in_place (convolution, input.place))
    return multiply (queue, input.data, input.place.offset / sizeof (cl_half),
        steps_of (input.place, opencl::NumberType::f16), output, error);
  const cl_int line = cl_int (columns * depth);
  return gather (queue, input, error)
         && multiply (queue, (*workspace)[Workspace::gathered], 0,
             {cl_int (convolution.input.height) * line, 1, line, cl_int (depth)}, output,
             error);
}
} // namespace

bool
has_tensor_cores (GstOpenCLContext *context)
{
  const cl_device_info capability = 0x4000; /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV */
  const cl_device_id device = gst_opencl_context_get_device (context);
  cl_uint major = 0;
  size_t size = 0;
  if (clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size) != CL_SUCCESS)
    return false;
  std::string extensions (size, ' ');
  if (clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, size, &extensions[0], nullptr)
          != CL_SUCCESS
      || extensions.find ("cl_nv_device_attribute_query") == std::string::npos)
    return false;
  return clGetDeviceInfo (device, capability, sizeof major, &major, nullptr) == CL_SUCCESS
         && major >= 8;
}

/* Devices without tensor cores convert halves to float32 for the other methods. With
 * GST_OPENCL_DEBUG=convolve-groups=1, a CPU runs the plain form of the kernel. */
bool
is_half (GstOpenCLContext *context, const Convolution &convolution)
{
  const bool halves = convolution.output_type == opencl::NumberType::f16
                      || convolution.input_type == opencl::NumberType::f16;
  const bool forced = opencl::is_cpu (context) && !convolves_on_cpu (context)
                      && opencl::largest_group (context) >= large.items ();
  return halves && !convolution.video && convolution.groups == 1
         && convolution.border == Border::zero
         && (convolution.input_type == opencl::NumberType::f16
             || convolution.input_type == opencl::NumberType::f32)
         && (convolution.output_type == opencl::NumberType::f16
             || convolution.output_type == opencl::NumberType::f32)
         && (has_tensor_cores (context) || forced);
}

std::unique_ptr<Convolver>
make_half (const Device &device, const Convolution &convolution, const Filters &filters,
    GError **error)
{
  return create_convolver<Half> (device, convolution, filters, error);
}
} // namespace compute
