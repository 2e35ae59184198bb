/* splashkey: keys blocks that look like an earlier frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-splashkey
 *
 * Formats of input and output are those of chromakey.
 *
 * Keys a background of any colour, block by block. A block is background if its mean red,
 * green and blue differ from the stored ones by less than `tolerance`. Then it becomes
 * transparent and its means are stored, so that slow changes of light are followed. Other
 * blocks, and what is stored for them, do not change. The store is filled by the first
 * frame, by the next frame after `reset` is set, and after a change of format or size. A
 * flush (as in a seek), a pause and a change of framerate keep the store.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=RGBA ! openclupload !
 * splashkey block-size=8 ! keyfill color=0xff0000ff ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 */
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

#include "elements.h"
#include "unkeyed.hpp"
#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/splashkey.cl"

namespace {

struct SplashKeySettings {
  guint block_size = 16;
  gdouble tolerance = 0.12;
  bool reset = false; /* until a frame has filled the store */
};

/* Maximum number of work-items that share a block on a GPU, and side of the square that
 * they form */
const gsize largest_group = 256;
const gsize largest_side = 16;

/* State of the streaming thread */
struct SplashKeyWork {
  keying::InputFormat format;
  GstVideoInfo info; /* of the output */
  bool on_cpu;
  opencl::FrameKernel key_blocks;
  cl::Buffer store;
  guint stored_block_size = 0; /* of the store, 0 = not filled */
};
} // namespace

G_DECLARE_FINAL_TYPE (GstSplashKey, gst_splash_key, GST, SPLASH_KEY, GstOpenCLFilter)

struct _GstSplashKey {
  GstOpenCLFilter parent;

  opencl::Settings<SplashKeySettings> *settings;
  SplashKeyWork *work; /* between set_formats and close, else null */
};

/* Properties */

const opencl::PropertyTable<SplashKeySettings> properties = {
    {"block-size", "Block size",
        "Width and height of a block in pixels (a change resets the background)",
        &SplashKeySettings::block_size, {1, 256}, opencl::controllable},
    {"tolerance", "Tolerance",
        "Maximum mean difference of R, G and B from the stored block to count as "
        "background (1 = black to white)",
        &SplashKeySettings::tolerance, {0, 1}, opencl::controllable},
    {"reset", "Reset",
        "Take all blocks of the next frame as background (returns to FALSE afterwards)",
        &SplashKeySettings::reset, opencl::controllable},
};

/* Returns the settings of a frame and clears `reset`. */
static SplashKeySettings
next_settings (GstSplashKey *self)
{
  return self->settings->amend (
      [] (SplashKeySettings &settings) { settings.reset = false; });
}

/* Kernels and work memory */

static gsize
blocks_in (gsize size, guint block_size)
{
  return (size + block_size - 1) / block_size;
}

/* Reallocates the store for another block size, for which its contents are not valid. */
static gboolean
ensure_store (
    GstOpenCLContext *context, SplashKeyWork &work, guint block_size, GError **error)
{
  if (work.stored_block_size == block_size && work.store ())
    return TRUE;
  work.stored_block_size = 0;
  work.store = opencl::make_buffer (context,
      blocks_in (work.info.width, block_size) * blocks_in (work.info.height, block_size)
          * 3 * sizeof (cl_uint),
      error);
  return work.store () != nullptr;
}

using Work = keying::WorkOf<&GstSplashKey::work>;

static gboolean
gst_splash_key_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstSplashKey *self = GST_SPLASH_KEY (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  const keying::InputFormat format (
      *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
      *gst_opencl_filter_get_video_info (filter, GST_PAD_SRC));

  /* A source may change the framerate after a seek. Keeps the store. */
  if (self->work && self->work->format.is_equivalent (format))
    return TRUE;
  SplashKeyWork &work = Work::renew (filter);
  work.format = format;
  work.info = format.output ();
  work.on_cpu = opencl::is_cpu (context);
  work.key_blocks.prepare (context, KERNELS, "key_blocks",
      format.options () + " -DGROUP=" + std::to_string (largest_group));
  return ensure_store (context, work, self->settings->committed ().block_size, error);
}

/* Processing */

/* On a CPU one work-item processes a block. On a GPU neighbouring work-items read
 * neighbouring pixels. */
static opencl::Groups
groups_of_blocks (const SplashKeyWork &work, guint block_size)
{
  gsize side = 1;
  while (2 * side <= std::min (gsize (block_size), work.on_cpu ? 1 : largest_side))
    side *= 2;
  return {blocks_in (work.info.width, block_size),
      blocks_in (work.info.height, block_size), side, side};
}

/* Returns the thresholds of full blocks, and of blocks cut at the right, at the bottom
 * and at both. */
static cl_ulong4
thresholds_of (const SplashKeySettings &settings, const GstVideoInfo *info)
{
  gsize size = settings.block_size;
  gsize cut_columns = info->width % size;
  gsize cut_rows = info->height % size;
  const gsize pixels[] = {
      size * size, cut_columns * size, size * cut_rows, cut_columns * cut_rows};
  const gsize most = 3 * keying::levels_of (info);
  cl_ulong4 thresholds;
  for (gsize n = 0; n < 4; n++)
    thresholds.s[n] =
        cl_ulong (std::ceil (settings.tolerance * gdouble (most * pixels[n])));
  return thresholds;
}

static gboolean
gst_splash_key_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstSplashKey *self = GST_SPLASH_KEY (filter);
  SplashKeyWork &work = *self->work;
  SplashKeySettings settings = next_settings (self);

  if (!ensure_store (
          gst_opencl_filter_get_context (filter), work, settings.block_size, error))
    return FALSE;
  keying::keep_unkeyed (output->buffer, input->buffer, work.format);
  bool fill = settings.reset || work.stored_block_size == 0;
  work.stored_block_size = settings.block_size;
  return work.key_blocks.launch_groups (queue,
      groups_of_blocks (work, settings.block_size), error, work.format.of (input), output,
      cl_uint (work.info.width), cl_uint (work.info.height),
      cl_uint (settings.block_size), thresholds_of (settings, &work.info),
      cl_uint (fill ? 1 : 0), work.store ());
}

static const opencl::FilterElement<GstSplashKey, &GstSplashKey::work> element = {
    "GstSplashKey", properties, "Splash key", "Filter/Effect/Video",
    "Keys blocks that look like an earlier frame on an OpenCL device", {},
    {Work::close, gst_splash_key_set_formats, gst_splash_key_transform},
    keying::set_up_camera_class};

OPENCL_FILTER_DEFINE (splashkey, gst_splash_key, element)
