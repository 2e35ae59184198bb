/* Display stage: converts depths to an image or to levels, also with automatic range
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "display.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <cmath>
#include <vector>

namespace oct {
namespace {
const char *const display_source = "/org/freedesktop/gstreamer/opencl/oct/depth_fft.cl";
const char *const range_source = "/org/freedesktop/gstreamer/opencl/oct/displayrange.cl";

/* As in the kernels. */
const gsize tile = 32;
const gsize strip_lines = 64;
const gsize strip_depths = 256;

/* Histogram of levels, which begins at -120 dB */
const gsize steps = 2048;
const double steps_of_decibel = 6, least_decibels = -120, least_span = 1;
const gsize range_words = 6;

const float black_share = 0.05f, white_share = 0.999f;
const float share_of_frame = 0.125f;

const char *const value_type_options[] = {"", " -DAMPLITUDES", " -DPOWERS", " -DVALUES"};

gsize
blocks_of (gsize values, gsize block)
{
  return (values + block - 1) / block;
}

/* Returns the factor from a level in the kernel to the unit of black and white. */
double
unit_of (ValueType value_type, bool logarithmic)
{
  return logarithmic && value_type != ValueType::values ? 10 * std::log10 (2.0) : 1;
}

double
least_of (ValueType value_type, bool logarithmic)
{
  if (value_type == ValueType::values)
    return -FLT_MAX;
  return logarithmic ? least_decibels : 0;
}
} // namespace

DepthOutput
flipped (DepthOutput output)
{
  output.offset += gsize (output.stride) * (output.depths - 1);
  output.stride = -output.stride;
  return output;
}

bool
Display::create (
    GstOpenCLContext *of, ValueType wanted, DepthFormat output, GError **error)
{
  const bool image = value_of (output).full > 0;
  context = of;
  value_type = wanted;
  format = output;
  strips = image && opencl::is_cpu (context);
  counts = range = cl::Buffer ();
  kernel_of_difference = opencl::Kernel ();
  const std::string all = options () + input_option ();
  const char *name = image ? image_kernel () : "make_lines";
  return kernel.create (context, display_source, name, all.c_str (), error);
}

std::string
Display::options () const
{
  const std::string lanes =
      strips ? " -DLANES=" + std::to_string (opencl::float_lanes (context)) : "";
  return value_of (format).options + lanes;
}

std::string
Display::input_option () const
{
  return value_type_options[gsize (value_type)];
}

gsize
Display::bytes_of_pixel () const
{
  return value_of (format).bytes;
}

DepthScaling
Display::scaling_of (const DepthOutput &output) const
{
  const bool logarithmic = is_logarithmic (output);
  return scaling_to (value_of (format).full, unit_of (value_type, logarithmic),
      least_of (value_type, logarithmic), output);
}

bool
Display::create_range (GError **error)
{
  if (!gst_opencl_context_require_engine (context, "display-range", error))
    return false;
  group = opencl::is_cpu (context) ? 1 : 64;
  const std::string value_type_option = input_option ();
  gchar *text = g_strdup_printf ("-DGROUP=%u -DSTEPS=%u -DSTEPS_OF_DECIBEL=%u.0f "
                                 "-DLEAST_DECIBELS=-%u.0f -DLEAST_SPAN=%u.0f",
      guint (group), guint (steps), guint (steps_of_decibel), guint (-least_decibels),
      guint (least_span));
  const std::string options = text + value_type_option;
  const std::string image_options = this->options () + value_type_option + " -DAUTOMATIC";
  g_free (text);
  const std::vector<cl_uint> zeros (steps);
  counts = opencl::make_filled_buffer (
      context, zeros.data (), zeros.size () * sizeof zeros[0], error);
  if (counts ())
    range = opencl::make_filled_buffer (
        context, zeros.data (), range_words * sizeof (cl_float), error);
  return range ()
         && kernel_in_range.create (
             context, display_source, image_kernel (), image_options.c_str (), error)
         && count_levels.create (
             context, range_source, "count_levels", options.c_str (), error)
         && find_range.create (
             context, range_source, "find_range", options.c_str (), error);
}

bool
Display::enqueue_image (cl_command_queue queue, opencl::Kernel &used, gsize lines,
    gsize depths, GError **error) const
{
  if (strips)
    return used.enqueue_groups (queue,
        {blocks_of (depths, strip_depths), blocks_of (lines, strip_lines), 1}, error);
  /* One work-group per tile, or several if work-groups are smaller. */
  return used.enqueue (queue, blocks_of (lines, tile) * opencl::Kernel::largest_group,
      blocks_of (depths, tile), error);
}

bool
Display::launch (opencl::Kernel &used, cl_command_queue queue, const DisplayInput &values,
    const Difference &given, const DepthOutput &output, GError **error)
{
  const DepthValue &value = value_of (format);
  const DepthScaling scaling = scaling_of (output);
  return check_alignment (output, value.bytes, error)
         && used.set_all (error, values.data, cl_uint (values.stride),
             cl_ulong (values.offset + output.first), cl_uint (output.depths),
             cl_uint (values.lines), cl_uint (is_logarithmic (output)), scaling,
             given.pattern ? given.pattern : values.data, given.weight,
             cl_uint (given.empty), output.data, cl_ulong (output.offset / value.bytes),
             output.pitch (value.bytes))
         && (value.full > 0
                 ? enqueue_image (queue, used, values.lines, output.depths, error)
                 : used.enqueue (queue, output.depths, values.lines, error));
}

bool
Display::enqueue (cl_command_queue queue, const DisplayInput &values,
    const DepthOutput &output, GError **error)
{
  return launch (kernel, queue, values, {}, output, error);
}

bool
Display::enqueue_difference (cl_command_queue queue, const DisplayInput &values,
    const Difference &difference, const DepthOutput &output, GError **error)
{
  const std::string all = options () + " -DDIFFERENCE";
  return (kernel_of_difference.created ()
             || kernel_of_difference.create (
                 context, display_source, image_kernel (), all.c_str (), error))
         && launch (kernel_of_difference, queue, values, difference, output, error);
}

bool
Display::enqueue_in_range (cl_command_queue queue, const DisplayInput &values,
    const DepthOutput &output, GError **error)
{
  const bool logarithmic = output.logarithmic;
  const gsize every_line = blocks_of (gsize (values.lines) * output.depths, most_samples);
  const cl_uint lines = cl_uint (std::min<gsize> (every_line, values.lines));
  const cl_uint depths = cl_uint (blocks_of (every_line, lines));
  return count_levels.launch (queue, blocks_of (output.depths, depths),
             blocks_of (values.lines, lines), error, values.data, cl_uint (values.stride),
             cl_ulong (values.offset + output.first), cl_uint (output.depths),
             cl_uint (values.lines), depths, lines, counts ())
         && find_range.launch_groups (queue, 1, group, error, counts (), black_share,
             white_share, share_of_frame, cl_uint (logarithmic),
             cl_float (value_of (format).full),
             cl_float (unit_of (value_type, logarithmic)),
             cl_float (least_of (value_type, logarithmic)), range ())
         && launch (kernel_in_range, queue, values, {range (), 0, 0}, output, error);
}
} // namespace oct
