/* octsurface: depth of the surface of each A-line, as an array
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octsurface
 *
 * Finds the surface of the sample in B-scans: the path over all A-lines along which the
 * level rises most, as sharply as possible, and stays high below. The search needs no
 * setting, and takes decibels, amplitudes, complex depths and images.
 *
 * Each depth has an edge: the lower mean level of two windows of `depth-smooth` depths
 * below it, minus the mean of two above. The levels are averaged over `line-smooth`
 * A-lines. Dynamic programming finds the path with the greatest sum of edges, whose depth
 * changes by up to `max-slope` between A-lines. The surface is where the level, averaged
 * along the path, rises through three quarters of the step.
 *
 * A thin bright line has no edge. With `ignore=glass` edges at a line that is straight over
 * the whole B-scan have little weight, too, such as a face of a cover glass above gel, zero
 * delay or a fixed pattern. It may be tilted by a twelfth of the depths. The surface of a
 * flat sample with a bright line may need `ignore=none`.
 *
 * An A-line whose edge is less than a third of the mean is NaN: a hole, or a surface
 * outside the image. So is a whole B-scan in which the path is like one in noise.
 *
 * The output is an array of float32 for each B-scan, A-lines:2. Its first row is the depth
 * in depth bins, counted from zero delay. The second row is in micrometres, or NaN without
 * `depth-step` in the caps. With `surfaces` above 1 the array is A-lines:2:surfaces. After
 * the surface come the strongest rises of the level below it, in order of depth.
 *
 * `level` is in decibels for CF32LE, decibels and amplitudes, and in units of the values
 * for images and unknown quantities. Below it there is no surface.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc pattern=tissue b-scans=8 num-buffers=8 !
 * "video/x-raw(ANY),width=1024,height=256" ! octwindowinterp wavelength-min=1187
 * wavelength-max=1433 wavelength-unit=nm ! octfft depth-start=8 !
 * "application/x-oct(ANY),domain=depth,format=F32LE" ! octsurface !
 * opencldownload ! npysink location=surface.npy
 * ]|
 *
 * Since: 0.4
 */
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/elements/filterelement.hpp>

#include <cmath>
#include <utility>

#include "depth/depthcaps.hpp"
#include "depth/display.hpp"
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
const guint most_surfaces = 3, most_slope = 16;
const gsize local_depths = 2560; /* whose scores fit into 32 KiB of local memory */
const cl_uint tilt_parts = 24;   /* tilt of straight lines: up to 2 / 24 of the depths */
const gsize least_lines = 16;    /* minimum number of A-lines to search straight lines */
const cl_float silence = -119.99f; /* dB, just above the lowest level of octfft */
const cl_int mark_reach = 4;       /* depths next to a straight line */

enum class Ignore {
  none,
  glass,
};

struct SurfaceSettings {
  double level = oct::least_threshold;
  guint depth_smooth = 5;
  guint line_smooth = 9;
  guint depth_from = 8;
  guint surfaces = 1;
  guint max_slope = 4;
  Ignore ignore = Ignore::glass;
};

const opencl::EnumTypeOf<Ignore> ignore_type = {"GstOctSurfaceIgnore",
    {
        {Ignore::none, "Nothing", "none"},
        {Ignore::glass,
            "Thin lines that are straight over the B-scan: faces of a cover glass, zero "
            "delay, fixed patterns",
            "glass"},
    }};

const opencl::PropertyTable<SurfaceSettings> properties = {
    {"level", "Level",
        "Minimum level below a surface, in dB, or in units of the values of images and "
        "unknown quantities (-1000 = none)",
        &SurfaceSettings::level, {-1e9, 1e9}, opencl::playing},
    {"depth-smooth", "Depth smoothing",
        "Number of depths, odd, in each of the two windows below and above a depth, "
        "whose difference is the edge strength",
        &SurfaceSettings::depth_smooth, {1, 101}, opencl::playing},
    {"line-smooth", "A-line smoothing",
        "Number of A-lines over which the level is averaged, odd (1 = none)",
        &SurfaceSettings::line_smooth, {1, 31}, opencl::playing},
    {"depth-from", "First depth",
        "First depth bin that may be the surface, counted from zero delay",
        &SurfaceSettings::depth_from, {0, G_MAXINT}, opencl::playing},
    {"surfaces", "Surfaces",
        "Number of surfaces: that of the sample, then the strongest ones below it",
        &SurfaceSettings::surfaces, {1, most_surfaces}, opencl::playing},
    {"max-slope", "Maximum slope",
        "Maximum difference in depth of adjacent A-lines, in depth bins",
        &SurfaceSettings::max_slope, {0, most_slope}, opencl::playing},
    {"ignore", "Ignore",
        "Structures that are not taken as the surface, unless nothing else is found",
        &SurfaceSettings::ignore, ignore_type, opencl::playing},
};

struct SurfaceWork {
  oct::DepthLayout input;
  SurfaceSettings in_force;
  opencl::Kernel levels_kernel, smooth, edge, mark, trace, locate;
  opencl::WorkBuffer levels, smoothed, edges, ridges, marks, strengths, scores, steps,
      paths, qualities;
  gsize group = 1; /* work-group size of `edge` and `trace` */

  bool create (GstOpenCLContext *context, GError **error);
  bool resize (GstOpenCLContext *context, GError **error);
  bool find_edges (const GstOpenCLFrame *frame, cl_command_queue queue, GError **error);
  bool find_surfaces (cl_mem output, cl_command_queue queue, GError **error);

private:
  bool has_local_rows () const { return input.depths <= local_depths; }
  cl_uint depths () const { return cl_uint (input.depths); }
  cl_uint lines () const { return cl_uint (input.lines); }
};

/* Builds the kernels for the largest work-groups that the device runs. On a CPU one
 * work-item processes all depths, which the compiler makes vectors of. */
bool
SurfaceWork::create (GstOpenCLContext *context, GError **error)
{
  const char *scale = input.quantity == "amplitude" ? " -DAMPLITUDES" : "";
  group = opencl::is_cpu (context)
              ? 1
              : std::min<gsize> (256, opencl::largest_group (context));
  return opencl::build_for_group (group, {&edge, &trace}, [&] {
    const std::string options =
        oct::options_of (input) + scale + " -DMAX_SLOPE=" + std::to_string (most_slope)
        + " -DLOCAL_DEPTHS=" + std::to_string (has_local_rows () ? local_depths : 0)
        + " -DGROUP=" + std::to_string (group);
    for (const auto &[kernel, name] : {std::pair (&levels_kernel, "find_levels"),
             {&smooth, "smooth_levels"}, {&edge, "find_edges"}, {&mark, "mark_lines"},
             {&trace, "trace_surface"}, {&locate, "locate_surfaces"}})
      if (!kernel->create (context, KERNELS, name, options, error))
        return false;
    return true;
  });
}

bool
SurfaceWork::resize (GstOpenCLContext *context, GError **error)
{
  const gsize values = input.depths * input.lines, size = sizeof (cl_float);
  return levels.resize (context, values * size, error)
         && smoothed.resize (context, values * size, error)
         && edges.resize (context, values * size, error)
         && ridges.resize (context, values, error)
         && marks.resize (context, values, error)
         && strengths.resize (context, 2 * input.lines * size, error)
         && scores.resize (context,
             has_local_rows () ? 0 : 2 * (input.depths + 2 * most_slope) * size, error)
         && steps.resize (context, values, error)
         && paths.resize (context, most_surfaces * input.lines * sizeof (cl_int), error)
         && qualities.resize (context, most_surfaces * size, error);
}

bool
SurfaceWork::find_edges (
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  const oct::PlacedBScan from (frame, input);
  const cl_float least = input.quantity == "decibels" ? silence : -1e30f;
  const cl_float level =
      in_force.level > oct::least_threshold ? cl_float (in_force.level) : -1e30f;
  const guint start = std::min (in_force.depth_from, input.first_depth);
  const cl_uint tilts = depths () / tilt_parts * 2 + 1;
  return levels_kernel.launch (queue, depths (), lines (), error, from, least, levels ())
         && smooth.launch (queue, depths (), lines (), error, levels (), depths (),
             lines (), cl_uint (in_force.line_smooth / 2), smoothed ())
         && edge.launch_groups (queue, input.lines, group, error, smoothed (), depths (),
             lines (), cl_uint (in_force.depth_smooth),
             cl_uint (in_force.depth_from - start), level, edges (), ridges (), marks (),
             strengths ())
         && (in_force.ignore == Ignore::none || input.lines < least_lines
             || mark.launch (queue, depths (), tilts, error, ridges (), depths (),
                 lines (), tilts, mark_reach, marks ()));
}

bool
SurfaceWork::find_surfaces (cl_mem output, cl_command_queue queue, GError **error)
{
  const cl_int window = cl_int (in_force.depth_smooth);
  const cl_float step = input.depth_step > 0 ? cl_float (input.depth_step) : NAN;
  for (cl_uint n = 0; n < in_force.surfaces; n++)
    if (!trace.launch_groups (queue, 1, group, error, edges (), marks (), strengths (),
            depths (), lines (), cl_uint (in_force.max_slope), 2 * window, n, scores (),
            steps (), paths (), qualities ()))
      return false;
  return locate.launch (queue, lines (), in_force.surfaces, error, levels (), edges (),
      qualities (), paths (), depths (), lines (), cl_uint (in_force.surfaces), window,
      cl_uint (in_force.line_smooth / 2), cl_float (input.first_depth), step, output);
}
} // namespace

struct _GstOctSurface {
  GstOpenCLFilter parent;

  opencl::Settings<SurfaceSettings> *settings;
  SurfaceWork *work; /* between open and close, else null */
};

/* --- caps --- */

/* (transfer full) */
static GstCaps *
outputs_of (GstCaps *inputs, guint surfaces)
{
  GstCaps *outputs = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    const GValue *lines = gst_structure_get_value (input, oct::lines_field (input));
    GstStructure *output =
        gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING, "static", "num_tensors",
            G_TYPE_INT, 1, "types", G_TYPE_STRING, "float32", nullptr);
    if (lines && G_VALUE_HOLDS_INT (lines)) {
      opencl::ArrayFormat array = {
          opencl::NumberType::f32, {2, gsize (g_value_get_int (lines))}};
      if (surfaces > 1)
        array.shape.insert (array.shape.begin (), surfaces);
      opencl::set_array_fields (output, array);
    }
    oct::copy_field (output, "framerate", input, "framerate");
    oct::append_on_device (outputs, output);
  }
  return outputs;
}

static GstCaps *
gst_oct_surface_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const guint surfaces = GST_OCT_SURFACE (base)->settings->current ().surfaces;
  return opencl::filtered_caps (direction == GST_PAD_SINK
                                    ? outputs_of (caps, surfaces)
                                    : gst_static_pad_template_get_caps (&sink_template),
      filter);
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
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctSurface *self = GST_OCT_SURFACE (filter);
  SurfaceWork &work = *self->work;
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  if (!oct::parse_depth_layout (input, false, work.input))
    return REFUSE_FORMAT (error, "unsupported caps, expected depths or B-scan images");
  auto outputs = [&] (const SurfaceSettings &wanted) {
    return outputs_of (input, wanted.surfaces);
  };
  if (!opencl::adopt_for_caps (*self->settings, GST_BASE_TRANSFORM (self), output,
          outputs, check_settings, error))
    return FALSE;
  work.in_force = self->settings->current ();
  return work.create (context, error) && work.resize (context, error);
}

static void
gst_oct_surface_begin_frame (GstOpenCLFilter *filter, GstBuffer *)
{
  GstOctSurface *self = GST_OCT_SURFACE (filter);
  if (!self->settings->is_started ())
    return;
  self->settings->update ([&] (const SurfaceSettings &wanted, GError **error) {
    SurfaceSettings &in_force = self->work->in_force;
    auto outputs = [&] (GstCaps *input) { return outputs_of (input, wanted.surfaces); };
    if (!check_settings (wanted, error)
        || (wanted.surfaces != in_force.surfaces
            && !oct::renegotiate (self, outputs, error)))
      return false;
    in_force = wanted;
    return true;
  });
}

static gboolean
gst_oct_surface_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  SurfaceWork &work = *GST_OCT_SURFACE (filter)->work;
  return oct::check_frame_alignment (input, work.input.bytes, error)
         && oct::check_volume_alignment (output, opencl::NumberType::f32, error)
         && work.find_edges (input, queue, error)
         && work.find_surfaces (output->data, queue, error);
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
