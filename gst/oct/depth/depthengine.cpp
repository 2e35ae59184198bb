/* Depth engine: computes depths from spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthengine.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/device/gstopenclfft.h>

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
  return opencl::make_table (context, values, roots, error);
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

bool
DepthEngine::wants_fused_engine (
    GstOpenCLContext *context, const EngineFormat &format, Fused fused)
{
  return fused != Fused::never && format.library == GST_OPENCL_FFT_LIBRARY_AUTO
         && is_fused_faster (context, format);
}

/* Fused::always concerns only raw spectra. Other spectra can use the FFT library. */
bool
DepthEngine::tries_fused (
    GstOpenCLContext *context, const EngineFormat &format, Fused fused)
{
  if (fused == Fused::always && format.from_raw ())
    return true;
  return wants_fused_engine (context, format, fused)
         && gst_opencl_context_trusts_engine (context, fused_engine);
}

bool
DepthEngine::choose (GstOpenCLContext *context, const EngineFormat &format, Fused fused,
    std::unique_ptr<DepthEngine> &engine, GError **error)
{
  GError *reason = nullptr;
  engine.reset ();
  if (tries_fused (context, format, fused)) {
    if (!gst_opencl_context_require_engine (context, fused_engine, error))
      return false;
    engine = make_fused (context, format, &reason);
    if (engine)
      return true;
    if (fused == Fused::always
        || !g_error_matches (reason, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED)) {
      g_propagate_error (error, reason);
      return false;
    }
    /* The compiled kernel does not fit the device. */
    GST_INFO ("using separate kernels: %s", reason->message);
    g_clear_error (&reason);
  }
  if (format.from_raw ())
    return true;
  engine = make_fft_engine (context, format, error);
  return engine != nullptr;
}
} // namespace oct
