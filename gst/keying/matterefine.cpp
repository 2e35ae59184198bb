/* matterefine: refines and smooths a coarse matte
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-matterefine
 *
 * Fits a coarse alpha channel to the edges of the picture, and leaves red, green and blue
 * unchanged. Segmentation networks give mattes of about 256 by 256 pixels, which have
 * soft, blocky edges in a larger frame.
 *
 * In each window of a coarse grid, alpha becomes the linear function of red, green and
 * blue that is nearest to the coarse alpha (the fast guided filter of He and Sun, 2015).
 * `subsample` should be the ratio of the frame's size to the matte's. A larger `radius`
 * corrects larger errors of the matte and loses thin details. A larger `epsilon` gives
 * softer edges and less noise.
 *
 * `smoothing` reduces flicker. Each pixel keeps a part of its earlier alpha while neither
 * the picture around it nor alpha changes, so moving edges do not lag. A flush, a
 * discontinuity and new caps begin anew. QoS is off, because a dropped frame would change
 * the frames after it.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=RGBA,width=1280,height=720 !
 * openclupload ! chromakey key-color=0xff000000 ! matteshape feather=8 !
 * matterefine subsample=4 ! keyfill method=composite color=0xff3050c0 ! opencldownload !
 * videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

#include "elements.h"
#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/matterefine.cl"

namespace {
/* The kernels add at most 256 pixels of a cell. */
const guint largest_subsample = 16;
/* Automatic size of the grid along the longer side of the frame: that of most networks */
const guint grid_size = 256;
/* Automatic radius in cells of the grid */
const guint automatic_radius = 2;
const guint largest_radius = 512;
/* Number of LINE_PLANES of the kernels */
const gsize line_planes = 5;
/* Minimum distance of `white` from `black` */
const gdouble least_contrast = 0.01;

struct MatteRefineSettings {
  guint subsample = 0;
  guint radius = 0;
  gdouble epsilon = 3e-5;
  gdouble black = 0.05;
  gdouble white = 0.95;
  gdouble smoothing = 0.7;
};

/* Means of subsample by subsample pixels */
struct Grid {
  cl_uint subsample = 0, columns = 0, rows = 0;

  gsize cells () const { return gsize (columns) * rows; }
};

/* State of the streaming thread */
struct MatteRefineWork {
  GstVideoInfo info;
  cl_uint groups = 0; /* of eight pixels, in a row of the frame */
  opencl::FrameKernel shrink_frame, write_alpha;
  opencl::Kernel follow_picture, moments_across, solve_down, mean_across, mean_down,
      stretch_lines;
  Grid grid;
  cl::Buffer cells;       /* colour and alpha of the grid */
  cl::Buffer moments;     /* of the windows along rows */
  cl::Buffer lines;       /* alpha as a linear function of the colours */
  cl::Buffer stretched;   /* the same at each column of the frame */
  cl::Buffer pictures[2]; /* mean picture: of this frame, and of the one before */
  cl::Buffer state;       /* alpha of the frame before */
  bool has_state = false;
};
} // namespace

G_DECLARE_FINAL_TYPE (
    GstMatteRefine, gst_matte_refine, GST, MATTE_REFINE, GstOpenCLFilter)

struct _GstMatteRefine {
  GstOpenCLFilter parent;

  opencl::Settings<MatteRefineSettings> *settings;
  MatteRefineWork *work; /* between set_formats and close, else null */
};

const opencl::PropertyTable<MatteRefineSettings> properties = {
    {"subsample", "Subsample",
        "Subsampling factor of the guided filter, ideally frame width / matte width (0 = "
        "automatic, for a matte of 256 pixels along the longer side)",
        &MatteRefineSettings::subsample, {0, largest_subsample}, opencl::controllable},
    {"radius", "Radius",
        "Radius of the guided filter's window in pixels of the frame, at least subsample "
        "(0 = automatic, twice subsample)",
        &MatteRefineSettings::radius, {0, largest_radius}, opencl::controllable},
    {"epsilon", "Epsilon",
        "Regularisation of the guided filter: edges with a smaller colour variance are "
        "ignored (1 = full intensity squared)",
        &MatteRefineSettings::epsilon, {1e-6, 1}, opencl::controllable},
    {"black", "Black", "Refined alpha up to which pixels become transparent",
        &MatteRefineSettings::black, {0, 1 - least_contrast}, opencl::controllable},
    {"white", "White",
        "Refined alpha from which on pixels become opaque (at least 0.01 above black)",
        &MatteRefineSettings::white, {least_contrast, 1}, opencl::controllable},
    {"smoothing", "Smoothing",
        "Weight of the previous alpha in still areas, to reduce flicker (0 = none)",
        &MatteRefineSettings::smoothing, {0, 1}, opencl::controllable},
};

using Work = keying::WorkOf<&GstMatteRefine::work>;

static gboolean
create_kernels (GstOpenCLContext *context, MatteRefineWork &work, GError **error)
{
  const std::string options = keying::pixel_options (&work.info);
  const std::string aligned = options + " -DALIGNMENT=1";
  const struct {
    opencl::Kernel &kernel;
    const char *name;
  } kernels[] = {
      {work.follow_picture, "follow_picture"},
      {work.moments_across, "moments_across"},
      {work.solve_down, "solve_down"},
      {work.mean_across, "mean_across"},
      {work.mean_down, "mean_down"},
      {work.stretch_lines, "stretch_lines"},
  };
  work.shrink_frame.prepare (context, KERNELS, "shrink_frame", options);
  work.write_alpha.prepare (context, KERNELS, "write_alpha", options);
  for (const auto &entry : kernels)
    if (!entry.kernel.create (context, KERNELS, entry.name, aligned.c_str (), error))
      return FALSE;
  return TRUE;
}

static gboolean
gst_matte_refine_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  MatteRefineWork &work = Work::renew (filter);
  work.groups = (work.info.width + 7) / 8;
  return create_kernels (gst_opencl_filter_get_context (filter), work, error);
}

static guint
automatic_subsample (const GstVideoInfo &info)
{
  const long ratio =
      std::lround (std::max (info.width, info.height) / gdouble (grid_size));
  return guint (CLAMP (ratio, 1, long (largest_subsample)));
}

/* Allocates the buffers of the grid at the first frame and when `subsample` changes. */
static gboolean
ensure_grid (
    GstOpenCLContext *context, MatteRefineWork &work, guint subsample, GError **error)
{
  const cl_uint size = subsample ? subsample : automatic_subsample (work.info);
  if (work.grid.subsample == size)
    return TRUE;
  work.has_state = false;
  work.pictures[0] = work.pictures[1] = cl::Buffer ();
  work.grid = {
      0, (work.info.width + size - 1) / size, (work.info.height + size - 1) / size};
  const gsize bytes = work.grid.cells () * sizeof (cl_float4);
  if (!opencl::make_buffer (context, bytes, work.cells, error)
      || !opencl::make_buffer (context, 4 * bytes, work.moments, error)
      || !opencl::make_buffer (context, bytes, work.lines, error)
      || !opencl::make_buffer (context,
          line_planes * work.groups * work.grid.rows * sizeof (cl_float8), work.stretched,
          error))
    return FALSE;
  work.grid.subsample = size;
  return TRUE;
}

/* Allocates the buffers of smoothing at the first frame that needs them. */
static gboolean
ensure_state (GstOpenCLContext *context, MatteRefineWork &work, GError **error)
{
  const gsize bytes = work.grid.cells () * sizeof (cl_float4);
  const gsize pixels = 8 * gsize (work.groups) * work.info.height;

  for (cl::Buffer &picture : work.pictures)
    if (!picture () && !opencl::make_buffer (context, bytes, picture, error))
      return FALSE;
  return work.state ()
         || opencl::make_buffer (context, pixels * sizeof (cl_ushort), work.state, error);
}

/* Compares the picture with earlier ones, and finds where to keep their alpha. */
static gboolean
follow_picture (GstOpenCLContext *context, MatteRefineWork &work, gdouble smoothing,
    cl_command_queue queue, GError **error)
{
  const Grid &grid = work.grid;

  if (smoothing == 0) {
    work.has_state = false;
    return TRUE;
  }
  if (!ensure_state (context, work, error))
    return FALSE;
  std::swap (work.pictures[0], work.pictures[1]);
  const cl_uint starts = !std::exchange (work.has_state, true);
  return work.follow_picture.launch (queue, grid.columns, grid.rows, error, work.cells (),
      grid.columns, grid.rows, cl_float (smoothing), starts, work.pictures[1](),
      work.pictures[0]());
}

/* Computes the linear functions from the grid, which is overwritten. */
static gboolean
fit_lines (MatteRefineWork &work, const MatteRefineSettings &settings,
    cl_command_queue queue, GError **error)
{
  const Grid &grid = work.grid;
  const guint nearest = (settings.radius + grid.subsample / 2) / grid.subsample;
  const cl_uint radius = settings.radius ? std::max (nearest, 1u) : automatic_radius;
  auto launch = [&] (opencl::Kernel &kernel, const auto &...arguments) {
    return kernel.launch (queue, grid.columns, grid.rows, error, arguments...);
  };

  return launch (work.moments_across, work.cells (), grid.columns, grid.rows, radius,
             work.moments ())
         && launch (work.solve_down, work.moments (), grid.columns, grid.rows, radius,
             cl_float (settings.epsilon), work.lines ())
         && launch (work.mean_across, work.lines (), grid.columns, grid.rows, radius,
             work.cells ())
         && launch (work.mean_down, work.cells (), grid.columns, grid.rows, radius,
             work.lines ());
}

static gboolean
write_alpha (MatteRefineWork &work, const MatteRefineSettings &settings,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_command_queue queue,
    GError **error)
{
  const Grid &grid = work.grid;
  const cl_uint width = work.info.width, height = work.info.height;
  const gdouble contrast = std::max (settings.white - settings.black, least_contrast);
  const bool smooths = work.has_state;

  /* Without smoothing, the parts to keep and the state are not used. */
  return work.stretch_lines.launch (queue, work.groups, grid.rows, error, work.lines (),
             smooths ? work.pictures[0]() : work.lines (), grid.columns, grid.rows,
             grid.subsample, work.groups, work.stretched ())
         && work.write_alpha.launch (queue, work.groups, height, error, input, output,
             width, height, grid.subsample, grid.rows, work.stretched (),
             cl_float (settings.black), cl_float (1 / contrast), cl_uint (smooths),
             smooths ? work.state () : work.cells ());
}

static gboolean
gst_matte_refine_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstMatteRefine *self = GST_MATTE_REFINE (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  MatteRefineWork &work = *self->work;
  const MatteRefineSettings settings = self->settings->committed ();
  const cl_uint width = work.info.width, height = work.info.height;

  if (GST_BUFFER_IS_DISCONT (input->buffer))
    work.has_state = false;
  return ensure_grid (context, work, settings.subsample, error)
         && work.shrink_frame.launch (queue, work.grid.columns, work.grid.rows, error,
             input, width, height, work.grid.subsample, work.grid.columns, work.grid.rows,
             work.cells ())
         && follow_picture (context, work, settings.smoothing, queue, error)
         && fit_lines (work, settings, queue, error)
         && write_alpha (work, settings, input, output, queue, error);
}

/* Events are serialized with frames, except for FLUSH_START. */
static gboolean
gst_matte_refine_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstMatteRefine *self = GST_MATTE_REFINE (transform);

  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP && self->work)
    self->work->has_state = false;
  return opencl::base_transform ()->sink_event (transform, event);
}

static const opencl::FilterElement<GstMatteRefine, &GstMatteRefine::work> element = {
    "GstMatteRefine", properties, "Matte refinement", "Filter/Effect/Video",
    "Fits a coarse alpha channel to the edges of the picture on an OpenCL device", {},
    {Work::close, gst_matte_refine_set_formats, gst_matte_refine_transform,
        gst_matte_refine_sink_event},
    keying::set_up_class,
    /* A dropped frame would change the frames after it. */
    opencl::keeps_all_frames};

OPENCL_FILTER_DEFINE (matterefine, gst_matte_refine, element)
