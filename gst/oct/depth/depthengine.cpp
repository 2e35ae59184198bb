/* Depth engine: computes depths from spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthengine.hpp"

#include "depthparts.hpp"
#include "depth_gpu.hpp"
#include "depth_cpu.hpp"
#include "depth_fft.hpp"

#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/gstopenclerror.h>

namespace oct {
namespace {
struct EngineType {
  bool (*is_faster) (GstOpenCLContext *context, const EngineFormat &format);
  std::unique_ptr<DepthEngine> (*make) (
      GstOpenCLContext *context, const EngineFormat &format, GError **error);
};

const EngineType groups = {DepthGpu::is_faster, DepthGpu::make};
const EngineType lanes = {DepthCpu::is_faster, DepthCpu::make};

const EngineType &
engine_type_of (GstOpenCLContext *context, const EngineFormat &format)
{
  if (format.form == DepthForm::automatic)
    return opencl::is_cpu (context) ? lanes : groups;
  return format.form == DepthForm::lanes ? lanes : groups;
}
} // namespace

bool
DepthEngine::is_fused_faster (GstOpenCLContext *context, const EngineFormat &format)
{
  return engine_type_of (context, format).is_faster (context, format);
}

std::unique_ptr<DepthEngine>
DepthEngine::make_fused (
    GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  return engine_type_of (context, format).make (context, format, error);
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
  engine = DepthFft::make (context, format, error);
  return engine != nullptr;
}
} // namespace oct
