/* octrender: renders a volume as video by ray casting
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octrender
 *
 * Renders a volume (`other/tensors` of dimensions depth:lines:b-scans, from `octvolume`
 * or `npyparse`) by casting a ray through each pixel. `mode=maximum` shows the maximum
 * value on the ray. `mode=alpha` blends all values on the ray, front to back. Values
 * between voxels are interpolated. All rays are parallel.
 *
 * In the front view (`azimuth` 0, `elevation` 0) depth goes down, A-lines go to the right
 * and B-scans go away from the viewer. `elevation` 90 looks along the beam. At `zoom` 1
 * the volume fits into the frame at any angle. The view can change while playing, and
 * `turn` rotates it with each output frame. Each volume gives `frames` output frames.
 *
 * The voxel spacing comes from the caps (`depth-step`, `line-step`, `b-scan-step`) or
 * from the properties of the same names. An unknown spacing equals the smallest known
 * one.
 *
 * Values at or below `min` are invisible, values at or above `max` are white. If
 * downstream negotiates RGBA, `mode=alpha` outputs the opacity as alpha, with straight
 * (not premultiplied) colour.
 *
 * After `octvolume live=true` it renders the volume again after each B-scan.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 octtestsrc ! octscan b-scans=128 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octvolume live=true ! octrender turn=0.5 elevation=30 min=80 ! opencldownload !
 * videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 filesrc location=volume0.npy ! npyparse ! openclupload !
 * octrender frames=360 turn=1 elevation=30 min=80 ! opencldownload ! videoconvert !
 * pngenc ! multifilesink location=turn%03d.png
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>
#include <cmath>
#include <utility>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "elements.h"
#include "spectra/elementqueries.hpp"
#include "volume/volumecaps.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octrender.cl"

OCT_PADS (OCT_VOLUME_CAPS, "video/x-raw" ON_DEVICE ", format=(string){GRAY8, RGBA}, "
                           "width=(int)[1, 32768], height=(int)[1, 32768], " FRAMERATE);

namespace {
using opencl::NumberType;

const gsize brick = 8; /* as in the kernels */
const gint usual_size = 512;
const guint most_frames = 360;

enum class Mode {
  maximum,
  alpha,
};

struct RenderSettings {
  Mode mode = Mode::maximum;
  double azimuth = 0; /* in degrees, as are the next two */
  double elevation = 0;
  double turn = 0;
  double zoom = 1;
  double min = 0;
  double max = 0; /* 0 and not above min: default of the type */
  double opacity = 0.1;
  double step = 1; /* along a ray, in units of the shortest voxel side */
  double depth_step = 0;
  double line_step = 0;
  double b_scan_step = 0;
  guint frames = 1;
};

struct Vector {
  double x, y, z; /* along depth, lines and B-scans */

  Vector operator+ (const Vector &v) const { return {x + v.x, y + v.y, z + v.z}; }
  Vector operator* (double by) const { return {x * by, y * by, z * by}; }
  Vector operator/ (const Vector &v) const { return {x / v.x, y / v.y, z / v.z}; }
  double length () const { return std::sqrt (x * x + y * y + z * z); }
  cl_float4 floats () const { return {{cl_float (x), cl_float (y), cl_float (z), 0}}; }
};

struct RenderWork {
  RenderSettings in_force;
  NumberType type = NumberType::u8;
  cl_uint4 size = {};       /* in voxels */
  cl_uint4 bricks = {};     /* in bricks */
  Vector caps_spacing = {}; /* voxel spacing from the caps; 0: unknown */
  bool colors = false;
  double turned = 0;

  opencl::Kernel bound_depths, bound_bricks, render;
  cl::Buffer depths, bounds;
};

/* Rays of an output frame, in voxels: origin, step per column and row, and step along a
 * ray. */
struct View {
  Vector origin, across, down, along;

  auto arguments () const
  {
    return std::make_tuple (
        origin.floats (), across.floats (), down.floats (), along.floats ());
  }
};

/* Conversion of the values on a ray to a pixel */
struct Shading {
  cl_float black, white;
  cl_uint blends; /* else the maximum is shown */
  cl_float opacity, step;

  auto arguments () const { return std::tie (black, white, blends, opacity, step); }
};
} // namespace

G_DECLARE_FINAL_TYPE (GstOctRender, gst_oct_render, GST, OCT_RENDER, GstOpenCLFilter)

struct _GstOctRender {
  GstOpenCLFilter parent;

  opencl::Settings<RenderSettings> *settings;
  RenderWork *work;
};

/* --- the view --- */

/* Returns the voxel spacing. The smallest known one replaces an unknown one. */
static Vector
lengths_of (const RenderSettings &settings, const Vector &caps_spacing)
{
  double lengths[] = {settings.depth_step, settings.line_step, settings.b_scan_step};
  const double from_caps[] = {caps_spacing.x, caps_spacing.y, caps_spacing.z};
  double known = 0;

  for (guint n = 0; n < 3; n++) {
    if (lengths[n] == 0)
      lengths[n] = from_caps[n];
    if (lengths[n] > 0)
      known = known > 0 ? std::min (known, lengths[n]) : lengths[n];
  }
  for (double &length : lengths)
    length = length > 0 ? length : known > 0 ? known : 1;
  return {lengths[0], lengths[1], lengths[2]};
}

static View
view_of (const RenderWork &work, gint width, gint height)
{
  const RenderSettings &settings = work.in_force;
  const Vector voxel = lengths_of (settings, work.caps_spacing);
  const Vector middle = {
      work.size.s[0] / 2.0, work.size.s[1] / 2.0, work.size.s[2] / 2.0};
  const Vector box = {
      2 * middle.x * voxel.x, 2 * middle.y * voxel.y, 2 * middle.z * voxel.z};
  const double azimuth = (settings.azimuth + work.turned) * G_PI / 180;
  const double elevation = settings.elevation * G_PI / 180;
  const double sin_a = std::sin (azimuth), cos_a = std::cos (azimuth);
  const double sin_e = std::sin (elevation), cos_e = std::cos (elevation);
  const double pixel = box.length () / (std::min (width, height) * settings.zoom);
  const double step = settings.step * std::min ({voxel.x, voxel.y, voxel.z});

  View view;
  view.across = Vector{0, cos_a, sin_a} * pixel / voxel;
  view.down = Vector{cos_e, sin_a * sin_e, -cos_a * sin_e} * pixel / voxel;
  view.along = Vector{sin_e, -sin_a * cos_e, cos_a * cos_e} * step / voxel;
  view.origin =
      middle + view.across * ((1 - width) / 2.0) + view.down * ((1 - height) / 2.0);
  return view;
}

/* --- caps --- */

/* (transfer full) */
static GstStructure *
image_of (const GstStructure *volume, guint frames)
{
  GstStructure *image = gst_structure_from_string (
      "video/x-raw, format=(string){GRAY8, RGBA}, pixel-aspect-ratio=(fraction)1/1",
      nullptr);
  gst_structure_set (image, "width", GST_TYPE_INT_RANGE, 1, 32768, "height",
      GST_TYPE_INT_RANGE, 1, 32768, nullptr);
  oct::set_scaled_rate (image, volume, frames);
  return image;
}

/* (transfer full) */
static GstCaps *
outputs_of (GstCaps *inputs, guint frames)
{
  return oct::each_of_caps (inputs, [&] (GstCaps *outputs, const GstStructure *volume) {
    oct::append_on_device (outputs, image_of (volume, frames));
  });
}

static GstCaps *
gst_oct_render_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const RenderSettings settings = GST_OCT_RENDER (base)->settings->current ();
  GstCaps *result = direction == GST_PAD_SINK
                        ? outputs_of (caps, settings.frames)
                        : gst_static_pad_template_get_caps (&sink_template);
  return opencl::filtered_caps (result, filter);
}

static GstCaps *
gst_oct_render_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  if (direction == GST_PAD_SINK && !gst_caps_is_empty (others)) {
    others = gst_caps_make_writable (gst_caps_truncate (others));
    GstStructure *image = gst_caps_get_structure (others, 0);
    gst_structure_fixate_field_nearest_int (image, "width", usual_size);
    gst_structure_fixate_field_nearest_int (image, "height", usual_size);
  }
  return opencl::base_transform ()->fixate_caps (base, direction, caps, others);
}

/* --- settings --- */

static bool
check_settings (const RenderSettings &wanted, GError **error)
{
  if (wanted.min < wanted.max || wanted.max == 0)
    return true;
  return REFUSE_SETTINGS (
      error, "min is %g and max is %g, expected min below max", wanted.min, wanted.max);
}

/* Applies new settings, also between two output frames of one volume. */
static void
update_settings (GstOctRender *self)
{
  RenderWork &work = *self->work;

  if (!self->settings->is_started ())
    return;
  self->settings->update ([&] (const RenderSettings &wanted, GError **error) {
    if (!check_settings (wanted, error))
      return false;
    auto outputs = [&] (GstCaps *input) { return outputs_of (input, wanted.frames); };
    if (wanted.frames != work.in_force.frames && !oct::renegotiate (self, outputs, error))
      return false;
    work.in_force = wanted;
    return true;
  });
}

/* --- formats --- */

static bool
read_volume (GstCaps *caps, RenderWork &work, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  opencl::ArrayFormat array;

  if (!oct::parse_volume (caps, G_MAXSIZE, array, error))
    return false;
  work.type = array.type;
  for (guint n = 0; n < 3; n++) {
    work.size.s[n] = cl_uint (array.length (n));
    work.bricks.s[n] = cl_uint ((array.length (n) + brick - 1) / brick);
  }
  work.size.s[3] = work.bricks.s[3] = 1;
  work.caps_spacing = {oct::double_field (structure, "depth-step"),
      oct::double_field (structure, "line-step"),
      oct::double_field (structure, "b-scan-step")};
  return true;
}

static bool
create_kernels (GstOctRender *self, GError **error)
{
  RenderWork &work = *self->work;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  const opencl::NumberInfo &number = opencl::info_of (work.type);
  const std::string options =
      std::string ("-DNUMBER=") + number.opencl + (work.colors ? " -DCOLORS" : "");
  const gsize lines = gsize (work.size.s[1]) * work.size.s[2];
  const gsize bricks = gsize (work.bricks.s[1]) * work.bricks.s[2];

  return gst_opencl_context_require_engine (context, "rendering", error)
         && opencl::create_kernels (context, KERNELS, options,
             {{work.bound_depths, "bound_depths"}, {work.bound_bricks, "bound_bricks"},
                 {work.render, "render"}},
             error)
         && opencl::make_buffer (
             context, lines * work.bricks.s[0] * number.size, work.depths, error)
         && opencl::make_buffer (
             context, bricks * work.bricks.s[0] * number.size, work.bounds, error);
}

static gboolean
gst_oct_render_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctRender *self = GST_OCT_RENDER (filter);
  RenderWork &work = *self->work;
  const GstVideoInfo *image = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  auto outputs = [&] (const RenderSettings &wanted) {
    return outputs_of (input, wanted.frames);
  };

  if (!opencl::adopt_for_caps (*self->settings, GST_BASE_TRANSFORM (self), output,
          outputs, check_settings, error))
    return FALSE;
  work.in_force = self->settings->current ();
  work.colors = GST_VIDEO_INFO_FORMAT (image) == GST_VIDEO_FORMAT_RGBA;
  return read_volume (input, work, error) && create_kernels (self, error);
}

/* --- frames --- */

static void
gst_oct_render_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  update_settings (GST_OCT_RENDER (filter));
}

/* Returns the offset of the first value, counted in values. */
static cl_ulong
offset_of (const RenderWork &work, const GstOpenCLFrame *frame)
{
  return frame->offset[0] / opencl::info_of (work.type).size;
}

/* Computes the value bounds of each brick, once for all output frames of a volume. */
static gboolean
gst_oct_render_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  RenderWork &work = *GST_OCT_RENDER (filter)->work;
  const gsize lines = gsize (work.size.s[1]) * work.size.s[2];
  const gsize bricks = gsize (work.bricks.s[1]) * work.bricks.s[2];

  *outputs = work.in_force.frames;
  return oct::check_volume_alignment (input, work.type, error)
         && work.bound_depths.launch (queue, work.bricks.s[0], lines, error, input->data,
             offset_of (work, input), work.size, work.bricks.s[0], work.depths ())
         && work.bound_bricks.launch (queue, work.bricks.s[0], bricks, error,
             work.depths (), work.size, work.bricks, work.bounds ());
}

static std::pair<double, double>
range_of (const RenderWork &work)
{
  const double usual_decibels = 60;
  const double black = work.in_force.min, white = work.in_force.max;
  const double most = work.type == NumberType::u8    ? G_MAXUINT8
                      : work.type == NumberType::u16 ? G_MAXUINT16
                                                     : usual_decibels;
  if (black < white)
    return {black, white};
  return {black, std::max (most, black + 1)};
}

static gboolean
gst_oct_render_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOctRender *self = GST_OCT_RENDER (filter);
  RenderWork &work = *self->work;
  const RenderSettings &settings = work.in_force;
  const gsize width = gsize (output->info.width), height = gsize (output->info.height);

  update_settings (self);
  const View view = view_of (work, output->info.width, output->info.height);
  const auto [black, white] = range_of (work);
  const Shading shading = {cl_float (black), cl_float (white),
      cl_uint (settings.mode == Mode::alpha), cl_float (settings.opacity),
      cl_float (settings.step)};
  work.turned = std::fmod (work.turned + settings.turn, 360);
  return work.render.launch (queue, width, height, error, input->data,
      offset_of (work, input), work.size, work.bounds (), work.bricks, view, shading,
      output->data, cl_ulong (output->offset[0]), cl_uint (output->stride[0]),
      cl_uint (width), cl_uint (height));
}

/* --- properties --- */

const opencl::EnumTypeOf<Mode> mode_type = {"GstOctRenderMode",
    {
        {Mode::maximum, "Maximum value on the ray", "maximum"},
        {Mode::alpha, "Blend all values on the ray, front to back", "alpha"},
    }};

const opencl::PropertyTable<RenderSettings> properties = {
    {"mode", "Mode", "Method that combines the values on a ray", &RenderSettings::mode,
        mode_type, opencl::playing},
    {"azimuth", "Azimuth",
        "Angle of the viewer around the depth axis of the volume in degrees",
        &RenderSettings::azimuth, {-1e6, 1e6}, opencl::controllable},
    {"elevation", "Elevation",
        "Angle by which the viewer looks down in degrees (90 = along the beam)",
        &RenderSettings::elevation, {-90, 90}, opencl::controllable},
    {"turn", "Turn", "Increment of the azimuth per output frame in degrees",
        &RenderSettings::turn, {-360, 360}, opencl::controllable},
    {"zoom", "Zoom", "Magnification (1 = the volume fits into the frame at any angle)",
        &RenderSettings::zoom, {0.01, 1000}, opencl::controllable},
    {"min", "Minimum value", "Value at or below which voxels are invisible",
        &RenderSettings::min, {-1e9, 1e9}, opencl::controllable},
    {"max", "Maximum value",
        "Value at or above which voxels are white, above min (0 = maximum of uint8 or "
        "uint16, 60 for float32)",
        &RenderSettings::max, {-1e9, 1e9}, opencl::controllable},
    {"opacity", "Opacity",
        "Fraction of the background that a white voxel hides (mode=alpha)",
        &RenderSettings::opacity, {0, 1}, opencl::controllable},
    {"step", "Step",
        "Distance between samples on a ray, in units of the shortest voxel side",
        &RenderSettings::step, {0.1, 100}, opencl::controllable},
    {"depth-step", "Depth step",
        "Voxel spacing along depth in micrometres (0 = depth-step of the caps)",
        &RenderSettings::depth_step, {0, 1e9}, opencl::playing},
    {"line-step", "Line step",
        "Distance between A-lines in micrometres (0 = line-step of the caps)",
        &RenderSettings::line_step, {0, 1e9}, opencl::playing},
    {"b-scan-step", "B-scan step",
        "Distance between B-scans in micrometres (0 = b-scan-step of the caps)",
        &RenderSettings::b_scan_step, {0, 1e9}, opencl::playing},
    {"frames", "Frames", "Number of frames to render from each volume",
        &RenderSettings::frames, {1, most_frames}, opencl::playing},
};

/* --- the class --- */

/* The default range is that of the levels of an image. */
static gboolean
gst_oct_render_query (GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  oct::KeptDepths *depths =
      direction == GST_PAD_SINK ? oct::asked_by<oct::KeptDepths> (query) : nullptr;
  if (!depths)
    return opencl::base_transform ()->query (base, direction, query);
  depths->are_shown = true;
  return TRUE;
}

using Opened = opencl::WorkWhileOpen<GstOctRender>;

static const opencl::FilterElement<GstOctRender, &GstOctRender::work> element = {
    "GstOctRender", properties, "OCT volume renderer", "Filter/Converter/OCT/Video",
    "Renders OCT volumes as video frames on an OpenCL device",
    {&sink_template, &src_template},
    {gst_oct_render_transform_caps, gst_oct_render_query, Opened::open, Opened::close,
        gst_oct_render_set_formats, opencl::get_array_size<GstOpenCLFilter>,
        gst_oct_render_begin_frame, gst_oct_render_submit, gst_oct_render_transform,
        opencl::FixateCaps{gst_oct_render_fixate_caps}},
    nullptr,
    /* Dropped frames would make a rotation jump. */
    opencl::keeps_all_frames};

OPENCL_FILTER_DEFINE (octrender, gst_oct_render, element)
