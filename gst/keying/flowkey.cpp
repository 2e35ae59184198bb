/* flowkey: extends the key over areas of even colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-flowkey
 *
 * Extends the key (pixels of alpha 0) over areas of even colour. A pixel becomes keyed if
 * one of its four neighbours is keyed and differs in colour by less than `tolerance`. So
 * the key stops at edges. With `limit` it also stops at pixels that differ too much from
 * `key-color` or, with `auto-key`, from the key colour of chromakey, so that it cannot
 * leak through a person. Pixels that are not reached keep their alpha. Red, green and
 * blue are not changed.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey tolerance=0.5 ! flowkey iterations=0 ! keyfill color=0xff0000ff !
 * opencldownload ! videoconvert ! autovideosink
 * ]|
 */
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
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

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/flowkey.cl"

namespace {
using keying::ChainDeferral;
using keying::Channel;
using keying::FlowRule;

struct FlowKeySettings {
  guint iterations = 3;
  gdouble tolerance = 0.025;
  Channel channel = Channel::all;
  gdouble limit = 0;
  guint key_color = 0xff00ff00;
  bool auto_key = false;
  bool relative = false;
};

/* Width in words of the tile in which a work-group finds regions. The tile takes 16 KiB
 * of local memory, and at most half of it, since a driver may take some for itself. */
const gsize region_words = 4;

gsize
rows_of_region (GstOpenCLContext *context)
{
  const gsize local_memory = opencl::local_memory (context);
  gsize rows = 32;
  while (rows > 1 && 2 * 32 * region_words * rows * sizeof (cl_uint) > local_memory)
    rows /= 2;
  return rows;
}

/* State of the streaming thread */
struct FlowKeyWork {
  GstVideoInfo info;
  keying::TileShape shape;
  gsize region_rows;
  opencl::FrameKernel pack_flow;
  opencl::FrameKernel limit_flow;
  opencl::FrameKernel flow_planes;
  opencl::FrameKernel apply_keyed;
  opencl::FrameKernel find_regions;
  opencl::FrameKernel join_regions;
  opencl::FrameKernel key_regions;
  opencl::FrameKernel collect_regions;
  keying::IterationRun run;
  keying::PingPong keyed;
  cl::Buffer right;
  cl::Buffer down;
  cl::Buffer open;
  cl::Buffer parents; /* made at the first frame that flows until nothing changes */
};
} // namespace

G_DECLARE_FINAL_TYPE (GstFlowKey, gst_flow_key, GST, FLOW_KEY, GstOpenCLFilter)

struct _GstFlowKey {
  GstOpenCLFilter parent;

  opencl::Settings<FlowKeySettings> *settings;
  FlowKeyWork *work; /* between set_formats and close, else null */
  ChainDeferral *deferral;
  guint upstream_key; /* key colour of the chromakey upstream (0xffRRGGBB), or 0 */
};

/* Properties */

const opencl::PropertyTable<FlowKeySettings> properties = {
    {"iterations", "Iterations",
        "Maximum distance in pixels that the key spreads (0 = until nothing changes)",
        &FlowKeySettings::iterations, {0, G_MAXINT}, opencl::controllable},
    {"tolerance", "Tolerance",
        "Maximum difference between neighbours over which the key spreads (1 = black to "
        "white): mean of R, G and B, or one channel",
        &FlowKeySettings::tolerance, {0, 1}, opencl::controllable},
    {"channel", "Channel", "Colour component whose difference is compared with tolerance",
        &FlowKeySettings::channel, keying::channel_type, opencl::controllable},
    {"limit", "Limit",
        "Maximum chroma distance from key-color (1 = full range of Cb and Cr, 0 = no "
        "limit)",
        &FlowKeySettings::limit, {0, 1}, opencl::controllable},
    {"key-color", "Key color", "Reference colour of limit, 0xAARRGGBB (alpha is ignored)",
        &FlowKeySettings::key_color, {0, G_MAXUINT}, opencl::controllable},
    {"auto-key", "Auto key",
        "Use the key colour of the chromakey upstream instead of key-color",
        &FlowKeySettings::auto_key, opencl::controllable},
    {"relative", "Relative",
        "Multiply tolerance and limit by the saturation of the key colour (1 = pure "
        "green; for pale or dark screens)",
        &FlowKeySettings::relative, opencl::controllable},
};

/* Returns the settings with the key colour to use. */
static FlowKeySettings
get_settings (GstFlowKey *self)
{
  FlowKeySettings settings = self->settings->committed ();
  GST_OBJECT_LOCK (self);
  if (settings.auto_key && self->upstream_key)
    settings.key_color = self->upstream_key;
  GST_OBJECT_UNLOCK (self);
  return settings;
}

static gboolean
gst_flow_key_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstFlowKey *self = GST_FLOW_KEY (transform);
  guint key;

  if (keying::parse_key_event (event, &key)) {
    GST_OBJECT_LOCK (self);
    self->upstream_key = key;
    GST_OBJECT_UNLOCK (self);
  }
  return opencl::base_transform ()->sink_event (transform, event);
}

/* Kernels and work memory */

using Work = keying::WorkOf<&GstFlowKey::work>;

static void
gst_flow_key_close (GstOpenCLFilter *filter)
{
  Work::close (filter);
  GST_FLOW_KEY (filter)->deferral->close ();
}

static void
create_kernels (GstOpenCLContext *context, FlowKeyWork &work)
{
  const std::string options = keying::pixel_options (&work.info) + work.shape.options ()
                              + " -DREGION_WORDS=" + std::to_string (region_words)
                              + " -DREGION_ROWS=" + std::to_string (work.region_rows);
  const struct {
    opencl::FrameKernel &kernel;
    const char *name;
  } kernels[] = {
      {work.pack_flow, "pack_flow"},
      {work.limit_flow, "limit_flow"},
      {work.flow_planes, "flow_planes"},
      {work.apply_keyed, "apply_keyed"},
      {work.find_regions, "find_regions"},
      {work.join_regions, "join_regions"},
      {work.key_regions, "key_regions"},
      {work.collect_regions, "collect_regions"},
  };
  for (const auto &entry : kernels)
    entry.kernel.prepare (context, KERNELS, entry.name, options);
}

static gboolean
create_planes (GstOpenCLContext *context, FlowKeyWork &work, GError **error)
{
  gsize bytes = keying::bytes_of_plane (&work.info);
  for (cl::Buffer *plane : {&work.right, &work.down, &work.open}) {
    *plane = opencl::make_buffer (context, bytes, error);
    if (!(*plane) ())
      return FALSE;
  }
  return work.keyed.create_buffers (context, bytes, error);
}

static gboolean
gst_flow_key_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstFlowKey *self = GST_FLOW_KEY (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);

  FlowKeyWork &work = Work::renew (filter);
  work.shape = keying::TileShape::best_for (context);
  work.region_rows = rows_of_region (context);
  self->deferral->set_format (context, {work.info, work.info});
  create_kernels (context, work);
  return create_planes (context, work, error) && work.run.create_flags (context, error);
}

/* Processing */

/* The limit is squared, in units of (1/128 level)² as in the kernels. A smaller limit
 * above 0 becomes 1, since 0 means no limit. */
static FlowRule
rule_of (const FlowKeySettings &settings, const GstVideoInfo *info)
{
  keying::Color key = keying::color_of_argb (settings.key_color);
  gdouble part = settings.relative ? keying::saturation_of (settings.key_color) : 1;
  gdouble limit = part * settings.limit * 255 * 128;
  FlowRule rule;
  rule.mask = keying::component_mask (info, settings.channel);
  rule.threshold =
      keying::difference_threshold (part * settings.tolerance, settings.channel, info);
  rule.key_cb = -21 * key.red - 43 * key.green + 64 * key.blue;
  rule.key_cr = 64 * key.red - 54 * key.green - 10 * key.blue;
  rule.limit = settings.limit > 0 ? std::max (cl_uint (1), cl_uint (limit * limit)) : 0;
  return rule;
}

static gboolean
pack_planes (FlowKeyWork &work, const FlowRule &rule, const GstOpenCLFrame *input,
    cl_command_queue queue, GError **error)
{
  cl_uint width = work.info.width, height = work.info.height;
  cl_uint words = keying::words_of_line (&work.info);

  if (!work.pack_flow.launch (queue, 4 * words, height, error, input, width, height,
          rule.mask, rule.threshold, rule.key_cb, rule.key_cr, rule.limit,
          work.keyed.current (), work.right (), work.down (), work.open (), words))
    return FALSE;
  return rule.limit == 0
         || work.limit_flow.launch (queue, words, height, error, work.open (),
             work.right (), work.down (), words, height);
}

static gboolean
iterate_planes (
    GstFlowKey *self, guint iterations, cl_command_queue queue, GError **error)
{
  FlowKeyWork &work = *self->work;
  auto launch = [&] (cl_uint part, cl_uint index) {
    bool launched = work.flow_planes.launch_groups (queue,
        work.shape.groups_of_plane (&work.info, part), error, work.keyed.current (),
        work.keyed.other (), work.right (), work.down (), cl_uint (work.info.width),
        cl_uint (work.info.height), part, work.run.changed (), index);
    work.keyed.swap ();
    return launched;
  };
  return work.run.run (GST_BASE_TRANSFORM_SINK_PAD (self), queue, iterations,
      work.shape.depth (), launch, error);
}

/* Flows until nothing changes, in a fixed number of launches. */
static gboolean
flow_to_the_end (GstFlowKey *self, cl_command_queue queue, GError **error)
{
  FlowKeyWork &work = *self->work;
  cl_uint height = work.info.height;
  cl_uint words = keying::words_of_line (&work.info);
  cl_mem right = work.right (), down = work.down (), keyed = work.keyed.current ();

  if (!work.parents ())
    work.parents =
        opencl::make_buffer (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
            gsize (words) * 32 * sizeof (cl_uint) * height, error);
  cl_mem parents = work.parents ();
  opencl::Groups tiles = {(words + region_words - 1) / region_words,
      (height + work.region_rows - 1) / work.region_rows,
      std::min (work.shape.items, region_words * work.region_rows)};
  return parents
         && work.find_regions.launch_groups (
             queue, tiles, error, right, down, words, height, parents)
         && work.join_regions.launch (
             queue, words, height, error, right, down, words, height, parents)
         && work.key_regions.launch (
             queue, words, height, error, keyed, right, words, height, parents)
         && work.collect_regions.launch (
             queue, words, height, error, right, words, height, parents, keyed);
}

/* Each iteration but the last keys at least one pixel, so that no frame needs more. */
static guint
max_iterations (const GstVideoInfo *info)
{
  return guint (info->width) * info->height;
}

static bool
is_to_the_end (const FlowKeySettings &settings, const GstVideoInfo *info)
{
  return settings.iterations == 0 || settings.iterations >= max_iterations (info);
}

static bool
add_to_chain (GstFlowKey *self, keying::KeyChain &chain)
{
  const FlowKeySettings settings = get_settings (self);
  return self->work && settings.iterations > 0
         && chain.add_flow (rule_of (settings, &self->work->info), settings.iterations);
}

static gboolean
gst_flow_key_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstFlowKey *self = GST_FLOW_KEY (filter);
  FlowKeyWork &work = *self->work;
  FlowKeySettings settings = get_settings (self);
  FlowRule rule = rule_of (settings, &work.info);
  bool to_the_end = is_to_the_end (settings, &work.info);
  guint iterations = to_the_end ? max_iterations (&work.info) : settings.iterations;
  keying::KeyChain chain;

  keying::keep_unkeyed (output->buffer, input->buffer);
  if (add_to_chain (self, chain) && ChainDeferral::is_trusted (filter))
    return self->deferral->kernel ().enqueue_chain (queue, chain, input, output, error);
  return pack_planes (work, rule, input, queue, error)
         && (to_the_end ? flow_to_the_end (self, queue, error)
                        : iterate_planes (self, iterations, queue, error))
         && keying::apply_keyed (work.apply_keyed, work.info, input, output,
             work.keyed.current (), queue, error);
}

static const opencl::FilterElement<GstFlowKey, &GstFlowKey::work, &GstFlowKey::deferral>
    element = {"GstFlowKey", properties, "Flowing key", "Filter/Effect/Video",
        "Extends the key over areas of even colour on an OpenCL device", {},
        {gst_flow_key_sink_event, gst_flow_key_close, gst_flow_key_set_formats,
            gst_flow_key_transform},
        [] (GstOpenCLFilterClass *klass) {
          keying::set_up_class (klass);
          keying::ChainElement<&GstFlowKey::deferral, add_to_chain>::install (klass);
        },
        opencl::drops_late_frames, opencl::create_members<&GstFlowKey::deferral>};

OPENCL_FILTER_DEFINE (flowkey, gst_flow_key, element)
