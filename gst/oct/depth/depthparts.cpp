/* Common code of the depth engines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthparts.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclerror.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace oct {
namespace {
/* In the order of DepthFormat. */
const DepthValue value_formats[] = {
    {"-DPIXEL=uchar -DFULL=255.0f -DFULL_BITS=8", 1, 255},
    {"-DPIXEL=ushort -DFULL=65535.0f -DFULL_BITS=16", 2, 65535},
    {"-DPIXEL=float", 4, 0},
    {"-DPIXEL=float2 -DBINS", 8, 0},
};
} // namespace

const DepthValue &
value_of (DepthFormat format)
{
  return value_formats[gsize (format)];
}

bool
create_roots (GstOpenCLContext *context, guint samples, cl::Buffer &roots, GError **error)
{
  std::vector<cl_float2> values (samples);
  for (gsize k = 0; k < values.size (); k++) {
    double angle = 2 * G_PI * double (k) / double (values.size ());
    values[k] = {{float (std::cos (angle)), float (-std::sin (angle))}};
  }
  gsize bytes = values.size () * sizeof values[0];
  roots = opencl::make_table (context, values.data (), bytes, error);
  return roots () != nullptr;
}

DepthScaling
scaling_of (const EngineFormat &format, const DepthOutput &output)
{
  const double decibels = 10 * std::log10 (2.0), least_decibels = -120;
  return scaling_to (value_of (format).full, output.logarithmic ? decibels : 1,
      output.logarithmic ? least_decibels : 0, output);
}

DepthScaling
scaling_to (double full, double unit, double least, const DepthOutput &output)
{
  if (full == 0)
    return {cl_float (unit), 0, cl_float (least)};
  double factor = full / (output.white - output.black);
  return {cl_float (unit * factor), cl_float (-output.black * factor),
      cl_float (std::max (0.0, (least - output.black) * factor))};
}

bool
check_alignment (const DepthOutput &output, gsize bytes, GError **error)
{
  if (output.offset % bytes == 0 && output.stride % gssize (bytes) == 0)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "the output buffer begins at byte %" G_GSIZE_FORMAT
      " and has a stride of %" G_GSSIZE_FORMAT
      " bytes, expected multiples of %" G_GSIZE_FORMAT,
      output.offset, output.stride, bytes);
  return false;
}
} // namespace oct
