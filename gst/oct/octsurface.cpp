/* octsurface: depth of the surface of each A-line, as an array
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octsurface
 *
 * Finds the surface of the sample in B-scans. The surface of an A-line is where its level,
 * averaged over `depth-smooth` depths, first exceeds `level`, with fractions of a depth.
 * Then the median over `line-smooth` A-lines is taken. This is the surface from which
 * `octvolume surface=true` measures, but for the median.
 *
 * The output is an array of float32 for each B-scan, A-lines:2. Its first row is the depth
 * in depth bins, counted from zero delay. The second row is in micrometres, or NaN without
 * `depth-step` in the caps. An A-line without a surface is NaN.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc pattern=tissue b-scans=8 num-buffers=8 !
 * "video/x-raw(ANY),width=1024,height=256" ! octwindowinterp wavelength-min=1187
 * wavelength-max=1433 wavelength-unit=nm ! octfft depth-start=8 !
 * "application/x-oct(ANY),domain=depth,format=F32LE" ! octsurface level=40 !
 * opencldownload ! npysink location=surface.npy
 * ]|
 *
 * Since: 0.4
 */
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/elements/filterelement.hpp>

#include <cmath>
#include <utility>

#include "depth/depthcaps.hpp"
#include "elements.h"
#include "volume/enface.hpp"
#include "volume/volumecaps.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/surface.cl"

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (OCT_DEPTH_CAPS ("{F32LE, CF32LE}") "; " OCT_IMAGE_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (TENSORS_CAPS_OF (ON_DEVICE, "float32")));

G_DECLARE_FINAL_TYPE (GstOctSurface, gst_oct_surface, GST, OCT_SURFACE, GstOpenCLFilter)

namespace {
struct SurfaceSettings {
  double level = 40;
  guint depth_smooth = 5;
  guint line_smooth = 9;
  guint depth_from = 8;
};

const opencl::PropertyTable<SurfaceSettings> properties = {
    {"level", "Level",
        "Level above which the first depth is taken as the surface, in the units of the "
        "input",
        &SurfaceSettings::level, {-1e9, 1e9}, opencl::playing},
    {"depth-smooth", "Depth smoothing",
        "Number of depths whose mean is compared with level, odd",
        &SurfaceSettings::depth_smooth, {1, 101}, opencl::playing},
    {"line-smooth", "A-line smoothing",
        "Number of A-lines of which the median is taken, odd (1 = none)",
        &SurfaceSettings::line_smooth, {1, 31}, opencl::playing},
    {"depth-from", "First depth",
        "First depth bin that may be the surface, counted from zero delay",
        &SurfaceSettings::depth_from, {0, G_MAXINT}, opencl::playing},
};

struct SurfaceWork {
  oct::DepthLayout input;
  SurfaceSettings in_force;
  opencl::Kernel find, smooth;
  opencl::WorkBuffer found;
};
} // namespace

struct _GstOctSurface {
  GstOpenCLFilter parent;

  opencl::Settings<SurfaceSettings> *settings;
  SurfaceWork *work; /* between open and close, else null */
};

/* --- caps --- */

/* (transfer full) */
static GstStructure *
output_of (const GstStructure *input, const GValue *lines)
{
  GstStructure *output = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING,
      "static", "num_tensors", G_TYPE_INT, 1, "types", G_TYPE_STRING, "float32", nullptr);
  if (lines && G_VALUE_HOLDS_INT (lines))
    opencl::set_array_fields (
        output, {opencl::NumberType::f32, {2, gsize (g_value_get_int (lines))}});
  oct::copy_field (output, "framerate", input, "framerate");
  return output;
}

static GstCaps *
gst_oct_surface_transform_caps (
    GstBaseTransform *, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *result = direction == GST_PAD_SINK
                        ? gst_caps_new_empty ()
                        : gst_static_pad_template_get_caps (&sink_template);
  for (guint n = 0; direction == GST_PAD_SINK && n < gst_caps_get_size (caps); n++) {
    const GstStructure *input = gst_caps_get_structure (caps, n);
    oct::append_on_device (result,
        output_of (input, gst_structure_get_value (input, oct::lines_field (input))));
  }
  return opencl::filtered_caps (result, filter);
}

/* --- the work --- */

static bool
check_settings (const SurfaceSettings &wanted, GError **error)
{
  if (wanted.depth_smooth % 2 == 1 && wanted.line_smooth % 2 == 1)
    return true;
  return REFUSE_SETTINGS (error,
      "depth-smooth is %u and line-smooth is %u, expected odd numbers",
      wanted.depth_smooth, wanted.line_smooth);
}

static gboolean
gst_oct_surface_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *, GError **error)
{
  GstOctSurface *self = GST_OCT_SURFACE (filter);
  SurfaceWork &work = *self->work;
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  if (!oct::parse_depth_layout (input, false, work.input))
    return REFUSE_FORMAT (error, "unsupported caps, expected depths or B-scan images");
  auto fits = [] (const SurfaceSettings &) { return true; };
  if (!self->settings->adopt (check_settings, fits, error))
    return FALSE;
  work.in_force = self->settings->current ();
  const std::string options = oct::options_of (work.input);
  return work.find.create (context, KERNELS, "find_surface", options.c_str (), error)
         && work.smooth.create (
             context, KERNELS, "smooth_surface", options.c_str (), error)
         && work.found.resize (context, work.input.lines * sizeof (cl_float), error);
}

static void
gst_oct_surface_begin_frame (GstOpenCLFilter *filter, GstBuffer *)
{
  GstOctSurface *self = GST_OCT_SURFACE (filter);
  if (!self->settings->is_started ())
    return;
  self->settings->update ([&] (const SurfaceSettings &wanted, GError **error) {
    if (!check_settings (wanted, error))
      return false;
    self->work->in_force = wanted;
    return true;
  });
}

static gboolean
gst_oct_surface_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  SurfaceWork &work = *GST_OCT_SURFACE (filter)->work;
  const SurfaceSettings &settings = work.in_force;
  const guint start = work.input.first_depth;
  const guint first = settings.depth_from - std::min (settings.depth_from, start);
  if (!oct::check_frame_alignment (input, work.input.bytes, error)
      || !oct::check_volume_alignment (output, opencl::NumberType::f32, error))
    return FALSE;
  const oct::PlacedBScan from (input, work.input);
  cl_mem target = output->data;
  const cl_float step =
      work.input.depth_step > 0 ? cl_float (work.input.depth_step) : cl_float (NAN);
  return work.find.launch (queue, from.lines, 1, error, from, cl_uint (first),
             cl_float (settings.level), cl_uint (settings.depth_smooth / 2),
             work.found ())
         && work.smooth.launch (queue, from.lines, 1, error, work.found (), from.lines,
             cl_uint (settings.line_smooth / 2), cl_float (start), step, target);
}

/* --- the class --- */

using Opened = opencl::WorkWhileOpen<GstOctSurface>;

static const opencl::FilterElement<GstOctSurface, &GstOctSurface::work> element = {
    "GstOctSurface", properties, "OCT surface", "Filter/Analyzer/Video",
    "Finds the depth of the surface of each A-line on an OpenCL device",
    {&sink_template, &src_template},
    {gst_oct_surface_transform_caps, Opened::open, Opened::close,
        gst_oct_surface_set_formats, opencl::get_array_size<GstOpenCLFilter>,
        gst_oct_surface_begin_frame, gst_oct_surface_transform},
    nullptr, opencl::keeps_all_frames};

OPENCL_FILTER_DEFINE (octsurface, gst_oct_surface, element)
