/* octdoppler: flow velocity from phase differences
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octdoppler
 *
 * Computes the phase difference Δφ between neighbouring A-lines or, with
 * `between=frames`, between consecutive B-scans. It is the argument of the sum of
 * X_j+1 X_j* over a window of `window-depths` × `window-lines` (Kasai's autocorrelation),
 * from -π to π. The window is cropped at the edges. The last A-line repeats the value of
 * the one before it.
 *
 * The output is this phase or the velocity v = Δφ λ f / (4 π n cos θ) in mm/s. λ is the
 * `wavelength` of the light, n the `refractive-index` and θ the `angle` between beam and
 * flow. The rate f is `line-rate` or, if that is 0, the frame rate of the caps times the
 * A-lines of a B-scan. Between B-scans it is the frame rate. The output is 0 where the
 * mean power of the window is below `threshold`.
 *
 * At a positive velocity the phase of a bin increases. This means a movement to greater
 * depth if the spectra at octwindowinterp begin with the longest wavelength. If they
 * begin with the shortest one, set `invert`.
 *
 * With `between=frames` there is no output for the first B-scan, nor for the first one
 * after a loss (DISCONT, GAP).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=20 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octdoppler line-rate=100000 invert=true threshold=40 ! opencldownload !
 * npysink location=flow.npy
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>
#include <cmath>
#include <memory>

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include "depth/depthfilter.hpp"
#include "depth/depthandimagekernel.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octdoppler.cl"
#define KERNELS_CPU "/org/freedesktop/gstreamer/opencl/oct/octdoppler_cpu.cl"

OCT_PADS (OCT_DEPTH_CAPS ("CF32LE"), OCT_DEPTH_CAPS ("F32LE"));

namespace {
enum class Between {
  lines,
  frames,
};

enum class Quantity {
  velocity,
  phase,
};

const guint most_window = 256;
/* Maximum size of a window that is summed in one launch, without an intermediate
 * buffer. */
const guint small_window = 36;
/* Depths and A-lines of a work-item of octdoppler_cpu.cl */
const gsize cpu_block = 256, cpu_lines = 16;
const double most_angle = 89.9;

struct DopplerSettings {
  Between between = Between::lines;
  Quantity quantity = Quantity::velocity;
  guint window_depths = 3;
  guint window_lines = 3;
  double wavelength = 1310;
  double refractive_index = 1;
  double angle = 0;
  double line_rate = 0;
  double threshold = oct::least_threshold;
  bool invert = false;
};

/* Kernels for small windows */
struct FlowKernels : oct::DepthAndImageKernel {
  const char *source = KERNELS;
  gsize block = 1, block_lines = 1; /* depths and A-lines of a work-item of `find` */

  bool create (GstOpenCLContext *context, GError **error);
};

/* Deferred flow between neighbouring A-lines of a B-scan. */
class PendingFlow : public oct::PendingDepths {
public:
  std::shared_ptr<FlowKernels> kernels;
  cl_mem before, after;
  cl_ulong before_offset, after_offset; /* offsets of the first pair in bytes */
  cl_uint depths, lines, pairs, window_depths, window_lines;
  cl_float least_power, unit;

  bool write (cl_command_queue queue, cl_mem data, gsize offset, GError **error) override;
  bool write_image (oct::Display &display, cl_command_queue queue,
      const oct::DepthOutput &image, GError **error) override;

private:
  /* Calls `enqueue` with the kernels' arguments before those of the output. */
  template <typename Enqueue> bool with_arguments (Enqueue enqueue) const
  {
    return enqueue (before, before_offset, after, after_offset, depths, lines, pairs,
        window_depths, window_lines, least_power, unit);
  }
};

std::string
max_window_option ()
{
  return " -DMAX_WINDOW=" + std::to_string (small_window);
}

bool
FlowKernels::create (GstOpenCLContext *context, GError **error)
{
  std::string options = max_window_option ();
  if (opencl::is_cpu (context)) {
    source = KERNELS_CPU;
    block = cpu_block;
    block_lines = cpu_lines;
    options += " -DLANES=" + std::to_string (opencl::float_lanes (context));
  }
  return find.create (context, source, "find_flow", options.c_str (), error);
}

bool
PendingFlow::write (cl_command_queue queue, cl_mem data, gsize offset, GError **error)
{
  std::lock_guard<std::mutex> guard (kernels->launching);
  const gsize columns = (depths + kernels->block - 1) / kernels->block;
  const gsize rows = (lines + kernels->block_lines - 1) / kernels->block_lines;
  return with_arguments ([&] (const auto &...arguments) {
    return kernels->find.set_all (error, arguments..., data, cl_ulong (offset));
  })
         && (kernels->block > 1
                 ? kernels->find.enqueue_groups (queue, {columns, rows, 1}, error)
                 : kernels->find.enqueue (queue, columns, rows, error));
}

bool
PendingFlow::write_image (oct::Display &display, cl_command_queue queue,
    const oct::DepthOutput &image, GError **error)
{
  std::lock_guard<std::mutex> guard (kernels->launching);
  return kernels->create_show (
             display, kernels->source, "show_flow", max_window_option (), error)
         && with_arguments ([&] (const auto &...arguments) {
              return kernels->enqueue (
                  display, queue, image, lines, depths, error, arguments...);
            });
}

struct DopplerState {
  bool created = false;
  opencl::Kernel depths_kernel, phase_kernel;
  std::shared_ptr<FlowKernels> flow_kernels;
  opencl::WorkBuffer sums;
  opencl::WorkBuffer before; /* previous B-scan, with between=frames */
  bool has_before = false;
};

class Doppler : public oct::DepthFilterOf<DopplerSettings, DopplerState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  void forget () override { has_before = false; }
  guint outputs () override { return of_frames () && !has_before ? 0 : 1; }
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;
  bool finish (
      const GstOpenCLFrame *from, cl_command_queue queue, GError **error) override;
  /* With between=frames the previous B-scan would be overwritten before deferred work
   * runs. */
  bool can_defer () const override { return is_small () && !of_frames (); }
  std::shared_ptr<oct::PendingDepths> defer (const GstOpenCLFrame *from,
      cl_command_queue queue, bool &reads, GError **error) override
  {
    reads = false;
    return flow_in (from);
  }

protected:
  oct::CapsChange change_for (const DopplerSettings &wanted) const override;
  bool check (const DopplerSettings &wanted, GError **error) const override;
  bool breaks (const DopplerSettings &wanted) const override
  {
    return wanted.between != in_force.between;
  }

private:
  bool of_frames () const { return in_force.between == Between::frames; }
  double rate_of (const DopplerSettings &settings) const;
  double unit () const;
  bool is_small () const
  {
    return in_force.window_depths * in_force.window_lines <= small_window;
  }
  guint pairs () const { return guint (of_frames () ? input.lines : input.lines - 1); }
  float least_power () const { return oct::power_of_threshold (in_force.threshold); }
  std::shared_ptr<PendingFlow> flow_in (const GstOpenCLFrame *from) const;
  bool sum_depths (const GstOpenCLFrame *from, cl_command_queue queue, GError **error);
};

oct::CapsChange
Doppler::change_for (const DopplerSettings &wanted) const
{
  oct::CapsChange change;
  change.from = "CF32LE";
  change.to = "F32LE";
  change.quantity = wanted.quantity == Quantity::phase ? "phase" : "velocity";
  return change;
}

/* Returns the rate of A-lines or B-scans in Hz, or 0 if unknown. */
double
Doppler::rate_of (const DopplerSettings &settings) const
{
  const double frames = double (input.rate.numerator) / input.rate.denominator;
  if (settings.between == Between::frames)
    return frames;
  return settings.line_rate > 0 ? settings.line_rate : frames * double (input.lines);
}

bool
Doppler::check (const DopplerSettings &wanted, GError **error) const
{
  if (wanted.between == Between::lines && input.lines < 2) {
    return REFUSE_SETTINGS (
        error, "between=lines: B-scans have 1 A-line, expected at least 2");
  }
  if (wanted.quantity == Quantity::phase || rate_of (wanted) > 0)
    return true;
  return REFUSE_SETTINGS (error,
      "quantity=velocity: the caps have no framerate, expected one%s",
      wanted.between == Between::lines ? " or a line-rate" : "");
}

/* Returns the output for a phase of 1 rad, in mm/s or rad. The wavelength is in nm. */
double
Doppler::unit () const
{
  const double sign = in_force.invert ? -1 : 1;
  if (in_force.quantity == Quantity::phase)
    return sign;
  return sign * in_force.wavelength * 1e-6 * rate_of (in_force)
         / (4 * G_PI * in_force.refractive_index
             * std::cos (in_force.angle * G_PI / 180));
}

bool
Doppler::prepare (GstOpenCLContext *context, GError **error)
{
  const gsize values = 3 * input.depths * input.lines;
  if (!sums.resize (context, sizeof (cl_float) * (is_small () ? 1 : values), error)
      || !before.resize (
          context, of_frames () ? input.size () : sizeof (cl_float2), error))
    return false;
  if (created)
    return true;
  auto flow = std::make_shared<FlowKernels> ();
  created = depths_kernel.create (context, KERNELS, "sum_depths", nullptr, error)
            && phase_kernel.create (context, KERNELS, "find_phase", nullptr, error)
            && flow->create (context, error);
  flow_kernels = created ? flow : nullptr;
  return created;
}

/* Returns the work of transform() for a small window. */
std::shared_ptr<PendingFlow>
Doppler::flow_in (const GstOpenCLFrame *from) const
{
  const cl_ulong offset = from->offset[0], line = input.depths * input.bytes;
  auto flow = std::make_shared<PendingFlow> ();

  flow->kernels = flow_kernels;
  flow->before = of_frames () ? before () : from->data;
  flow->before_offset = of_frames () ? 0 : offset;
  flow->after = from->data;
  flow->after_offset = of_frames () ? offset : offset + line;
  flow->depths = cl_uint (input.depths);
  flow->lines = cl_uint (input.lines);
  flow->pairs = pairs ();
  flow->window_depths = in_force.window_depths;
  flow->window_lines = in_force.window_lines;
  flow->least_power = least_power ();
  flow->unit = cl_float (unit ());
  return flow;
}

bool
Doppler::sum_depths (const GstOpenCLFrame *from, cl_command_queue queue, GError **error)
{
  const cl_ulong offset = from->offset[0], line = input.depths * input.bytes;
  return depths_kernel.launch (queue, input.depths, pairs (), error,
      of_frames () ? before () : from->data, of_frames () ? cl_ulong (0) : offset,
      from->data, of_frames () ? offset : offset + line, cl_uint (input.depths),
      cl_uint (pairs ()), cl_uint (in_force.window_depths), sums ());
}

bool
Doppler::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  if (is_small ())
    return flow_in (from)->write (queue, to->data, to->offset[0], error);
  return sum_depths (from, queue, error)
         && phase_kernel.launch (queue, input.depths, input.lines, error, sums (),
             cl_uint (input.depths), cl_uint (input.lines), cl_uint (pairs ()),
             cl_uint (in_force.window_depths), cl_uint (in_force.window_lines),
             cl_float (least_power ()), cl_float (unit ()), to->data,
             cl_ulong (to->offset[0]));
}

bool
Doppler::finish (const GstOpenCLFrame *from, cl_command_queue queue, GError **error)
{
  if (!of_frames ())
    return true;
  cl_int code = clEnqueueCopyBuffer (queue, from->data, before (), from->offset[0], 0,
      input.size (), 0, nullptr, opencl::Profiled (queue, opencl::command::copy));
  has_before = gst_opencl_check (code, "clEnqueueCopyBuffer", error);
  return has_before;
}
} // namespace

const opencl::EnumTypeOf<Between> between_type = {
    "GstOctBetween", {
                         {Between::lines, "Neighbouring A-lines", "lines"},
                         {Between::frames, "Consecutive B-scans", "frames"},
                     }};

const opencl::EnumTypeOf<Quantity> quantity_type = {
    "GstOctFlow", {
                      {Quantity::velocity, "Velocity in mm/s", "velocity"},
                      {Quantity::phase, "Phase in rad", "phase"},
                  }};

const opencl::PropertyTable<DopplerSettings> properties = {
    {"between", "Between",
        "A-lines or B-scans between which the phase difference is computed",
        &DopplerSettings::between, between_type, opencl::playing},
    {"quantity", "Quantity", "Output quantity", &DopplerSettings::quantity, quantity_type,
        opencl::playing},
    {"window-depths", "Depths of the window", "Number of depths to sum over",
        &DopplerSettings::window_depths, {1, most_window}, opencl::playing},
    {"window-lines", "A-lines of the window",
        "Number of neighbouring A-lines to sum over", &DopplerSettings::window_lines,
        {1, most_window}, opencl::playing},
    {"wavelength", "Wavelength", "Centre wavelength of the light source in nm",
        &DopplerSettings::wavelength, {1, 1e6}, opencl::playing},
    {"refractive-index", "Refractive index", "Refractive index of the moving medium",
        &DopplerSettings::refractive_index, {0.1, 10}, opencl::playing},
    {"angle", "Angle", "Angle between the beam and the flow in degrees",
        &DopplerSettings::angle, {-most_angle, most_angle}, opencl::playing},
    {"line-rate", "Line rate",
        "A-line rate in Hz (0 = frame rate of the caps times the A-lines of a B-scan, "
        "without pauses; between=lines)",
        &DopplerSettings::line_rate, {0, 1e9}, opencl::playing},
    {"threshold", "Threshold",
        "Mean level of the window in dB below which the output is 0",
        &DopplerSettings::threshold, {oct::least_threshold, oct::most_threshold},
        opencl::controllable},
    {"invert", "Invert",
        "Invert the sign, for spectra that begin with the shortest wavelength",
        &DopplerSettings::invert, opencl::playing},
};

static const oct::DepthElement<Doppler> element = {"GstOctDoppler", &sink_template,
    &src_template, properties, "OCT Doppler flow",
    "Computes flow velocities from the phase of OCT depths on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octdoppler, element)
