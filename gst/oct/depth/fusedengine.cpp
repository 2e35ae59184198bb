/* Fused depth engines: raw spectra to depths in one launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fusedengine.hpp"

#include <algorithm>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

namespace oct {
namespace {
bool
uses_lanes (GstOpenCLContext *context, const EngineFormat &format)
{
  return format.form == DepthForm::lanes
         || (format.form == DepthForm::automatic && opencl::is_cpu (context));
}

std::string
options_of (const EngineFormat &format, const FusedPlan &plan)
{
  gchar *options = g_strdup_printf (
      "-cl-mad-enable -DSAMPLES=%u -DGRID=%u -DOVERSAMPLING=%u -DRADIX_1=%u "
      "-DRADIX_2=%u -DRADIX_3=%u -DRADIX_4=%u -D%s -DTAPS=%u -DBACKGROUND=%d "
      "-DCOMPLEX=%d -DTILE=%u %s",
      format.samples, format.length (), format.oversampling, plan.radix[0], plan.radix[1],
      plan.radix[2], plan.radix[3], sample_of (format.input).option, guint (format.taps),
      format.background, format.complex, guint (plan.most), value_of (format).options);
  const std::string all = options + plan.options;
  g_free (options);
  return all;
}
} // namespace

/* Lanes are for a CPU. Local memory has no benefit there, since it keeps it in its caches
 * like other memory. */
bool
DepthEngine::is_fused_faster (GstOpenCLContext *context, const EngineFormat &format)
{
  FusedPlan plan = {};
  if (uses_lanes (context, format))
    return opencl::is_cpu (context) && plan_for_lanes (context, format, plan);
  return !opencl::is_cpu (context)
         && opencl::device_info<cl_device_local_mem_type> (
                context, CL_DEVICE_LOCAL_MEM_TYPE)
                == CL_LOCAL
         && plan_for_groups (context, format, plan);
}

std::unique_ptr<DepthEngine>
DepthEngine::make_fused (
    GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  const bool lanes = uses_lanes (context, format);
  FusedPlan plan = {};
  if (!(lanes ? plan_for_lanes : plan_for_groups) (context, format, plan)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%u samples per A-line, expected a power of two from 64 to 16384, with %s "
        "A-lines that fit the local memory of %s",
        format.samples, lanes ? "4" : "two",
        gst_opencl_context_get_device_name (context));
    return nullptr;
  }
  auto made = std::make_unique<FusedEngine> ();
  if (!made->create (context, format, plan, error))
    return nullptr;
  return made;
}

bool
FusedEngine::create (GstOpenCLContext *context, const EngineFormat &wanted,
    const FusedPlan &of, GError **error)
{
  format = wanted;
  plan = of;
  wanted_groups = plan.groups_of_unit * opencl::compute_units (context);
  if (!create_roots (context, format.length (), roots, error)
      || !kernel.create (
          context, plan.resource, plan.kernel, options_of (format, plan), error))
    return false;
  if (kernel.allows (plan.group))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%u samples per A-line need work-groups of %" G_GSIZE_FORMAT
      " work-items, more than %s supports",
      format.samples, plan.group, gst_opencl_context_get_device_name (context));
  return false;
}

/* Returns the number of A-lines per work-group: the maximum, or fewer if part of the
 * device would be idle otherwise. */
cl_uint
FusedEngine::lines_of_group (cl_uint lines) const
{
  const gsize fair = (lines + wanted_groups - 1) / wanted_groups;
  return cl_uint (std::min ((fair + plan.step - 1) / plan.step * plan.step, plan.most));
}

namespace {
/* Raw spectra and depths, as the fused kernels' arguments */
struct PlacedSpectra {
  cl_mem data;
  cl_ulong offset;
  cl_long stride;
  cl_uint is_aligned, lines, shift;
  cl_mem counter;

  auto arguments () const
  {
    return std::tie (data, offset, stride, is_aligned, lines, shift, counter);
  }
};

struct PlacedDepths {
  cl_uint first, depths, logarithmic;
  DepthScaling scaling;
  cl_mem data;
  cl_ulong offset; /* in values, as is `pitch` */
  cl_int pitch;

  auto arguments () const
  {
    return std::tie (first, depths, logarithmic, scaling, data, offset, pitch);
  }
};
} // namespace

bool
FusedEngine::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
    cl_mem background, cl_uint background_offset, const DepthOutput &output,
    GError **error)
{
  const gsize bytes = value_of (format).bytes;
  const cl_uint lines = lines_of_group (spectra.lines);
  const gsize groups = (spectra.lines + lines - 1) / lines;
  const bool words = (output.offset | gsize (output.stride) | lines * bytes) % 4 == 0;
  const DepthScaling scaling = scaling_of (format, output);
  const PlacedSpectra from = {spectra.data, spectra.offset, spectra.stride,
      spectra.is_multiple_of (plan.alignment), spectra.lines, spectra.shift,
      spectra.counter_data ()};
  const PlacedDepths to = {output.first, output.depths, output.logarithmic, scaling,
      output.data, output.offset / bytes, output.pitch (bytes)};
  auto launch = [&] (const auto &...more) {
    return kernel.launch_groups (queue, groups, plan.group, error, from, tables,
        background, background_offset, roots (), lines, to, more...);
  };
  return check_alignment (output, bytes, error)
         && (plan.writes_words ? launch (cl_uint (words)) : launch ());
}
} // namespace oct
