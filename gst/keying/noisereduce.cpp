/* noisereduce: removes single keyed pixels and fills single holes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-noisereduce
 *
 * Cleans the key (pixels of alpha 0). First, in `fill-iterations` passes, pixels with at
 * least two keyed neighbours (of left, right, above and below) become keyed. Then, in
 * `iterations` passes, keyed pixels with fewer than three keyed neighbours become
 * un-keyed. They get the alpha that they had before elements of this plugin keyed them,
 * multiplied by the `opacity` of these elements. If that is 0, they become opaque.
 *
 * Outside of the frame, pixels count as un-keyed for filling and as keyed for un-keying,
 * so that neither starts at the edge of the frame. Red, green and blue, and
 * the alpha of other pixels, are not changed.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=snow ! video/x-raw,format=RGBA ! openclupload !
 * chromakey key-color=0xff808080 tolerance=0.3 ! noisereduce iterations=3 !
 * keyfill color=0xff0000ff ! opencldownload ! videoconvert ! autovideosink
 * ]|
 */
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/elements/filterelement.hpp>

#include <algorithm>

#include "elements.h"
#include "iterations.hpp"
#include "unkeyed.hpp"
#include "input/pixelformats.hpp"
#include "chaindeferral.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/noisereduce.cl"

namespace {
using keying::ChainDeferral;

struct NoiseReduceSettings {
  guint iterations = 5;
  guint fill_iterations = 0;
};

/* State of the streaming thread */
struct NoiseReduceWork {
  GstVideoInfo info;
  keying::TileShape shape;
  opencl::FrameKernel pack_keyed;
  opencl::FrameKernel apply_keyed;
  opencl::FrameKernel reduce_plane;
  keying::IterationRun run;
  keying::PingPong planes;
};
} // namespace

G_DECLARE_FINAL_TYPE (
    GstNoiseReduce, gst_noise_reduce, GST, NOISE_REDUCE, GstOpenCLFilter)

struct _GstNoiseReduce {
  GstOpenCLFilter parent;

  opencl::Settings<NoiseReduceSettings> *settings;
  NoiseReduceWork *work; /* between set_formats and close, else null */
  ChainDeferral *deferral;
};

/* Properties */

const opencl::PropertyTable<NoiseReduceSettings> properties = {
    {"iterations", "Iterations",
        "Number of passes that un-key pixels with fewer than three keyed neighbours",
        &NoiseReduceSettings::iterations, {0, G_MAXINT}, opencl::controllable},
    {"fill-iterations", "Fill iterations",
        "Number of passes, run first, that key pixels with at least two keyed neighbours",
        &NoiseReduceSettings::fill_iterations, {0, G_MAXINT}, opencl::controllable},
};

/* Kernels and work memory */

using Work = keying::WorkOf<&GstNoiseReduce::work>;

static void
gst_noise_reduce_close (GstOpenCLFilter *filter)
{
  Work::close (filter);
  GST_NOISE_REDUCE (filter)->deferral->close ();
}

static void
create_kernels (GstOpenCLContext *context, NoiseReduceWork &work)
{
  const std::string options = keying::pixel_options (&work.info) + work.shape.options ();
  const struct {
    opencl::FrameKernel &kernel;
    const char *name;
  } kernels[] = {
      {work.pack_keyed, "pack_keyed"},
      {work.apply_keyed, "apply_keyed"},
      {work.reduce_plane, "reduce_plane"},
  };
  for (const auto &entry : kernels)
    entry.kernel.prepare (context, KERNELS, entry.name, options);
}

static gboolean
gst_noise_reduce_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstNoiseReduce *self = GST_NOISE_REDUCE (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);

  NoiseReduceWork &work = Work::renew (filter);
  work.shape = keying::TileShape::best_for (context);
  self->deferral->set_format (context, {work.info, work.info});
  create_kernels (context, work);
  return work.run.create_flags (context, error)
         && work.planes.create_buffers (
             context, keying::bytes_of_plane (&work.info), error);
}

/* Processing */

static gboolean
reduce_plane (GstNoiseReduce *self, cl_command_queue queue, bool fill, guint iterations,
    GError **error)
{
  NoiseReduceWork &work = *self->work;
  auto launch = [&] (cl_uint part, cl_uint index) {
    bool launched = work.reduce_plane.launch_groups (queue,
        work.shape.groups_of_plane (&work.info, part), error, work.planes.current (),
        work.planes.other (), cl_uint (work.info.width), cl_uint (work.info.height),
        cl_uint (fill ? ~0u : 0u), part, work.run.changed (), index);
    work.planes.swap ();
    return launched;
  };
  return work.run.run (GST_BASE_TRANSFORM_SINK_PAD (self), queue, iterations,
      work.shape.depth (), launch, error);
}

/* For more iterations than a chain can hold */
static gboolean
transform_by_planes (GstNoiseReduce *self, const NoiseReduceSettings &settings,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_command_queue queue,
    GError **error)
{
  NoiseReduceWork &work = *self->work;
  cl_uint width = work.info.width, height = work.info.height;
  cl_uint words = keying::words_of_line (&work.info);

  return work.pack_keyed.launch (queue, 4 * words, height, error, input, width, height,
             work.planes.current (), words)
         && reduce_plane (self, queue, true, settings.fill_iterations, error)
         && reduce_plane (self, queue, false, settings.iterations, error)
         && keying::apply_keyed (work.apply_keyed, work.info, input, output,
             work.planes.current (), queue, error);
}

static bool
add_to_chain (GstNoiseReduce *self, keying::KeyChain &chain)
{
  const NoiseReduceSettings settings = self->settings->committed ();
  return chain.add_noise_reduction (settings.fill_iterations, settings.iterations);
}

static gboolean
gst_noise_reduce_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstNoiseReduce *self = GST_NOISE_REDUCE (filter);
  keying::KeyChain chain;

  keying::keep_unkeyed (output->buffer, input->buffer);
  if (add_to_chain (self, chain) && ChainDeferral::is_trusted (filter))
    return self->deferral->kernel ().enqueue_chain (queue, chain, input, output, error);
  return transform_by_planes (
      self, self->settings->committed (), input, output, queue, error);
}

static const opencl::FilterElement<GstNoiseReduce, &GstNoiseReduce::work,
    &GstNoiseReduce::deferral>
    element = {"GstNoiseReduce", properties, "Noise reduction of keys",
        "Filter/Effect/Video",
        "Removes single keyed pixels and fills single holes on an OpenCL device", {},
        {gst_noise_reduce_close, gst_noise_reduce_set_formats,
            gst_noise_reduce_transform},
        [] (GstOpenCLFilterClass *klass) {
          keying::set_up_class (klass);
          keying::ChainElement<&GstNoiseReduce::deferral, add_to_chain>::install (klass);
        },
        opencl::drops_late_frames, opencl::create_members<&GstNoiseReduce::deferral>};

OPENCL_FILTER_DEFINE (noisereduce, gst_noise_reduce, element)
