/* matteshape: grows, shrinks, feathers or inverts a matte
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-matteshape
 *
 * Changes alpha after keying, and leaves red, green and blue unchanged. First `grow`
 * moves the edges outwards by a number of pixels, or inwards if negative (a choke). Round
 * corners stay round. Fractions mix the results of the whole numbers below and above, so
 * `grow=-0.5` moves an edge inwards by half a pixel. An edge at 45 degrees moves by 0.7 of
 * the first pixel, because no pixel lies there at a distance of 1. Then `feather` softens
 * edges by a number of pixels on both sides. Then `invert` takes the complement.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey method=difference ! matteshape grow=-0.5 feather=2 !
 * keyfill method=composite color=0xff0000ff ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/gaussian.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <cmath>

#include "elements.h"
#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/matteshape.cl"

namespace {
const guint farthest = 64;
/* Twice the MARGIN of the kernels; bytes that vector loads may read beyond a buffer */
const gsize margins = 160, behind = 256;

struct MatteShapeSettings {
  gdouble grow = 0;
  guint feather = 0;
  bool invert = false;
};

/* State of the streaming thread. Buffers are allocated at the first frame that needs
 * them. */
struct MatteShapeWork {
  GstVideoInfo info;
  gsize stride = 0, runs_stride = 0;
  opencl::FrameKernel read_alpha, write_alpha;
  opencl::Kernel double_runs, grow_by_disc, feather_across, feather_down;
  cl::Buffer runs, plane, feathered, weights;
  guint planes = 0;     /* capacity of `runs` */
  guint weights_of = 0; /* radius of `weights` */

  gsize runs_of_plane () const { return runs_stride * info.height; }
  gsize bytes_of_alpha () const { return keying::bytes_of_pixel (&info) / 4; }
};
} // namespace

G_DECLARE_FINAL_TYPE (GstMatteShape, gst_matte_shape, GST, MATTE_SHAPE, GstOpenCLFilter)

struct _GstMatteShape {
  GstOpenCLFilter parent;

  opencl::Settings<MatteShapeSettings> *settings;
  MatteShapeWork *work; /* between set_formats and close, else null */
};

const opencl::PropertyTable<MatteShapeSettings> properties = {
    {"grow", "Grow",
        "Distance in pixels, possibly fractional, that edges move outwards (negative = "
        "inwards)",
        &MatteShapeSettings::grow, {-gdouble (farthest), farthest}, opencl::controllable},
    {"feather", "Feather", "Width of the soft edge in pixels, on each side of the edge",
        &MatteShapeSettings::feather, {0, farthest}, opencl::controllable},
    {"invert", "Invert", "Invert alpha, after all other steps",
        &MatteShapeSettings::invert, opencl::controllable},
};

using Work = keying::WorkOf<&GstMatteShape::work>;

static gboolean
create_kernels (GstOpenCLContext *context, MatteShapeWork &work, GError **error)
{
  const std::string options = keying::pixel_options (&work.info) + " -DALIGNMENT=1";
  const struct {
    opencl::Kernel &kernel;
    const char *name;
  } kernels[] = {
      {work.double_runs, "double_runs"},
      {work.grow_by_disc, "grow_by_disc"},
      {work.feather_across, "feather_across"},
      {work.feather_down, "feather_down"},
  };
  work.read_alpha.prepare (
      context, KERNELS, "read_alpha", keying::pixel_options (&work.info));
  work.write_alpha.prepare (
      context, KERNELS, "write_alpha", keying::pixel_options (&work.info));
  for (const auto &entry : kernels)
    if (!entry.kernel.create (context, KERNELS, entry.name, options.c_str (), error))
      return FALSE;
  return TRUE;
}

static gboolean
gst_matte_shape_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  MatteShapeWork &work = Work::renew (filter);
  work.stride = (gsize (work.info.width) + 7) / 8 * 8;
  work.runs_stride = work.stride + margins;
  work.plane = opencl::make_buffer (
      context, work.bytes_of_alpha () * work.stride * work.info.height + behind, error);
  return work.plane () && create_kernels (context, work, error);
}

/* Returns the number of doublings after which two runs cover 2 radius + 1 columns. */
static guint
doublings_of (guint radius)
{
  guint doublings = 0;
  while (2u << doublings <= 2 * radius + 1)
    doublings++;
  return doublings;
}

static gboolean
ensure_runs (
    GstOpenCLContext *context, MatteShapeWork &work, guint planes, GError **error)
{
  if (work.planes >= planes)
    return TRUE;
  work.runs = opencl::make_buffer (
      context, planes * work.bytes_of_alpha () * work.runs_of_plane () + behind, error);
  work.planes = work.runs () ? planes : 0;
  return work.planes > 0;
}

static gboolean
ensure_feather (
    GstOpenCLContext *context, MatteShapeWork &work, guint radius, GError **error)
{
  if (!work.feathered ())
    work.feathered = opencl::make_buffer (
        context, work.stride * work.info.height * sizeof (cl_float) + behind, error);
  if (!work.feathered () || work.weights_of == radius)
    return work.feathered () != nullptr;
  const std::vector<cl_float> weights = opencl::gaussian_weights (radius);
  work.weights = opencl::make_table (
      context, weights.data (), weights.size () * sizeof (cl_float), error);
  work.weights_of = work.weights () ? radius : 0;
  return work.weights () != nullptr;
}

/* Launches a kernel with eight pixels per work-item. */
template <typename... Arguments>
static gboolean
launch (opencl::Kernel &kernel, cl_command_queue queue, gsize columns, gsize rows,
    GError **error, const Arguments &...arguments)
{
  return kernel.launch (queue, (columns + 7) / 8, rows, error, arguments...);
}

/* Writes maxima over a disc to the plane, or with `part` below 1 their mixture with what
 * is there. */
static gboolean
grow_by_disc (MatteShapeWork &work, guint radius, gdouble part, cl_command_queue queue,
    GError **error)
{
  const cl_uint width = work.info.width, height = work.info.height;
  return launch (work.grow_by_disc, queue, width, height, error, work.runs (),
      cl_uint (work.runs_stride), cl_ulong (work.runs_of_plane ()), width, height,
      cl_uint (radius), cl_float (part), work.plane (), cl_uint (work.stride));
}

/* Writes alpha (its complement with `flip`) to the plane, grown by `distance`. A fraction
 * mixes the results of the whole numbers below and above. */
static gboolean
grow (GstOpenCLContext *context, MatteShapeWork &work, gdouble distance, cl_uint flip,
    const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  const cl_uint stride = work.runs_stride, height = work.info.height;
  const guint radius = guint (distance);
  const gdouble fraction = distance - radius;
  const guint doublings = doublings_of (guint (std::ceil (distance)));
  const gsize plane = work.runs_of_plane ();

  if (!ensure_runs (context, work, doublings + 1, error)
      || !work.read_alpha.launch (queue, stride / 8, height, error, input,
          cl_uint (work.info.width), height, flip, work.runs (), stride))
    return FALSE;
  for (guint n = 0; n < doublings; n++)
    if (!launch (work.double_runs, queue, stride, height, error, work.runs (),
            cl_ulong (n * plane), cl_ulong ((n + 1) * plane), stride, height,
            cl_uint (1u << n)))
      return FALSE;
  return grow_by_disc (work, radius, 1, queue, error)
         && (fraction == 0 || grow_by_disc (work, radius + 1, fraction, queue, error));
}

static gboolean
feather (GstOpenCLContext *context, MatteShapeWork &work, guint radius,
    cl_command_queue queue, GError **error)
{
  const cl_uint stride = work.stride, width = work.info.width, height = work.info.height;

  if (radius == 0)
    return TRUE;
  return ensure_feather (context, work, radius, error)
         && launch (work.feather_across, queue, width, height, error, work.plane (),
             stride, width, height, work.weights (), cl_uint (radius), work.feathered ())
         && launch (work.feather_down, queue, width, height, error, work.feathered (),
             stride, width, height, work.weights (), cl_uint (radius), work.plane ());
}

static gboolean
gst_matte_shape_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstMatteShape *self = GST_MATTE_SHAPE (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  MatteShapeWork &work = *self->work;
  const MatteShapeSettings settings = self->settings->committed ();
  const cl_uint opaque = keying::levels_of (&work.info);
  const cl_uint flip = settings.grow < 0 ? opaque : 0;
  const cl_uint width = work.info.width, height = work.info.height;

  return grow (context, work, std::fabs (settings.grow), flip, input, queue, error)
         && feather (context, work, settings.feather, queue, error)
         && work.write_alpha.launch (queue, (width + 7) / 8, height, error, input, output,
             width, height, work.plane (), cl_uint (work.stride),
             settings.invert ? opaque - flip : flip);
}

static const opencl::FilterElement<GstMatteShape, &GstMatteShape::work> element = {
    "GstMatteShape", properties, "Matte shape", "Filter/Effect/Video",
    "Grows, shrinks, feathers or inverts the alpha channel on an OpenCL device", {},
    {Work::close, gst_matte_shape_set_formats, gst_matte_shape_transform},
    keying::set_up_class};

OPENCL_FILTER_DEFINE (matteshape, gst_matte_shape, element)
