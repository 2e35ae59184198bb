/* keyfill: replaces keyed pixels by a colour or by another video
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-keyfill
 *
 * Replaces pixels of alpha 0 by `color`, including its alpha. With `method=composite` all
 * pixels are composited over the colour.
 *
 * Frames of a request pad `background_%u` replace the colour. They are scaled to the size
 * of the input, which is composited over them, as by #openclcompositor. If there are
 * several such pads, the one requested last that has a frame is shown. A pad shows the
 * last frame that began before the input frame, also after EOS. At the start, the input
 * waits for the first frame of each linked pad. Later it does not wait for a new pad, and
 * in live pipelines it waits for no pad. These pads are linked by name only.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey tolerance=0.3 ! keyfill color=0xff0000ff ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 */
#include <gst/common/buffers.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/readframe.hpp>
#include <gst/opencl/elements/auxiliarystream.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/composition/composition.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <memory>

#include "elements.h"
#include "input/pixelformats.hpp"
#include "input/inputformat.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/keyfill.cl"

namespace {
enum class Method {
  paint,
  composite,
};

struct KeyFillSettings {
  guint color = 0xff000000;
  Method method = Method::paint;
  gdouble light_wrap = 0;
  bool linear = false;
};

/* State of the streaming thread */
struct KeyFillWork {
  GstVideoInfo info;
  opencl::FrameKernel paint;
  opencl::FrameKernel composite, composite_opaque;
  std::unique_ptr<transfer::Composition> composition; /* made when first needed */
};
} // namespace

G_DECLARE_FINAL_TYPE (GstKeyFill, gst_key_fill, GST, KEY_FILL, GstOpenCLFilter)

struct _GstKeyFill {
  GstOpenCLFilter parent;

  opencl::Settings<KeyFillSettings> *settings;
  KeyFillWork *work; /* between set_formats and close, else null */
  opencl::AuxiliaryStreams *backgrounds;
  bool has_started; /* the first frame is filled */
};

const opencl::EnumTypeOf<Method> method_type ("GstKeyFillMethod",
    {
        {Method::paint, "Replace pixels of alpha 0 by the colour", "paint"},
        {Method::composite, "Composite all pixels over the colour", "composite"},
    });

const opencl::PropertyTable<KeyFillSettings> properties = {
    {"color", "Color", "Fill colour, 0xAARRGGBB", &KeyFillSettings::color, {0, G_MAXUINT},
        opencl::controllable},
    {"method", "Method", "Fill method", &KeyFillSettings::method, method_type,
        opencl::controllable},
    {"light-wrap", "Light wrap",
        "Strength of light wrap, light of the background on the edges of the foreground "
        "(0 = none; ignored if the background is a colour)",
        &KeyFillSettings::light_wrap, {0, 1}, opencl::controllable},
    {"linear", "Linear", "Composite over a background in linear light",
        &KeyFillSettings::linear, opencl::controllable},
};

using Work = keying::WorkOf<&GstKeyFill::work>;

static void
gst_key_fill_close (GstOpenCLFilter *filter)
{
  Work::close (filter);
  GST_KEY_FILL (filter)->has_started = false;
}

static gboolean
gst_key_fill_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  KeyFillWork &work = Work::renew (filter);
  const std::string options = keying::pixel_options (&work.info);
  work.paint.prepare (context, KERNELS, "paint_keyed", options);
  work.composite.prepare (context, KERNELS, "composite_over_color", options);
  work.composite_opaque.prepare (
      context, KERNELS, "composite_over_color", options + " -DOPAQUE=1");
  return TRUE;
}

namespace {
/* A background frame and its stream, which holds it */
struct Background {
  std::shared_ptr<opencl::AuxiliaryStream> stream;
  const opencl::AuxiliaryStream::Frame *frame = nullptr; /* (nullable) */
};
} // namespace

/* Returns the frame of the pad requested last that has one. */
static Background
background_at (GstKeyFill *self, GstClockTime time)
{
  const auto streams = self->backgrounds->all ();
  const bool is_live =
      !streams.empty () && gst_opencl_filter_is_live (GST_OPENCL_FILTER (self));

  for (auto stream = streams.rbegin (); stream != streams.rend (); ++stream) {
    const bool waits = !self->has_started || (!is_live && (*stream)->is_recorded ());
    const opencl::AuxiliaryStream::Frame &frame = (*stream)->frame_at (time, waits);
    if (frame.buffer)
      return {*stream, &frame};
  }
  return {};
}

static bool
blends_light (
    GstKeyFill *self, const KeyFillSettings &settings, const transfer::Layer &below)
{
  const GstVideoInfo &info = self->work->info;
  if (!settings.linear || transfer::are_transfer_functions_known ({below}, info))
    return settings.linear;
  self->settings->warn (
      g_error_new_literal (GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "linear=true: unknown transfer function, blending levels instead"));
  return false;
}

/* A layer that fills the output */
static transfer::Layer
layer_of (
    const GstVideoInfo &info, const GstOpenCLFrame *frame, const GstVideoInfo &output)
{
  transfer::Layer layer = {
      &info, frame, {}, opencl::has_two_fields (info, frame->buffer)};
  layer.place.width = output.width;
  layer.place.height = output.height;
  layer.place.visible = {0, 0, info.width, info.height};
  return layer;
}

static bool
ensure_composition (GstKeyFill *self, GError **error)
{
  KeyFillWork &work = *self->work;
  if (keying::bytes_of_pixel (&work.info) != 4) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A background needs input of 8 bits per component");
    return false;
  }
  if (work.composition)
    return true;
  work.composition = std::make_unique<transfer::Composition> ();
  return work.composition->open (
      gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)), error);
}

static bool
composite_over_frame (GstKeyFill *self, const KeyFillSettings &settings,
    const opencl::AuxiliaryStream::Frame &background, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  KeyFillWork &work = *self->work;
  opencl::ReadFrame frame;
  GstBuffer *buffer = ensure_composition (self, error) ? gst_opencl_filter_import (
                          GST_OPENCL_FILTER (self), background.buffer, error)
                                                       : nullptr;
  bool done = buffer && frame.map (buffer, &background.info, 0, queue, error);
  if (done) {
    const transfer::Layer below = layer_of (background.info, frame.frame (), work.info);
    transfer::Layer above = layer_of (work.info, input, work.info);
    above.place.light_wrap = settings.light_wrap;
    done = work.composition->blend ({below, above}, work.info, *output,
        transfer::CompositorBackground::transparent, blends_light (self, settings, below),
        error);
  }
  gst_clear_buffer (&buffer);
  return done;
}

static gboolean
gst_key_fill_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstKeyFill *self = GST_KEY_FILL (filter);
  KeyFillWork &work = *self->work;
  KeyFillSettings settings = self->settings->committed ();
  cl_uint width = work.info.width, height = work.info.height;
  const Background background =
      background_at (self, opencl::running_time_of (GST_BASE_TRANSFORM (self)->segment,
                               GST_BUFFER_PTS (input->buffer)));

  self->has_started = true;
  if (background.frame)
    return composite_over_frame (
        self, settings, *background.frame, input, output, queue, error);
  opencl::FrameKernel &method = settings.method == Method::paint ? work.paint
                                : settings.color >> 24 == 0xff   ? work.composite_opaque
                                                                 : work.composite;
  return method.launch (queue, (width + 7) / 8, height, error, input, output, width,
      height, cl_uint (settings.color));
}

/* Background pads */

static GstStaticPadTemplate background_template = GST_STATIC_PAD_TEMPLATE (
    "background_%u", GST_PAD_SINK, GST_PAD_REQUEST,
    GST_STATIC_CAPS (
        "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), format={RGBA, BGRA, "
        "ARGB, ABGR}, width=[1, 32767], height=[1, 32767]; video/x-raw, format={RGBA, "
        "BGRA, ARGB, ABGR}, width=[1, 32767], height=[1, 32767]"));

static const opencl::FilterElement<GstKeyFill, &GstKeyFill::work,
    &GstKeyFill::backgrounds>
    element = {"GstKeyFill", properties, "Key fill", "Filter/Effect/Video",
        "Replaces keyed pixels by a colour or by another video on an OpenCL device", {},
        {gst_key_fill_close, gst_key_fill_set_formats, gst_key_fill_transform},
        [] (GstOpenCLFilterClass *klass) {
          keying::set_up_class (klass);
          opencl::StreamPads<&GstKeyFill::backgrounds>::install (
              klass, {&background_template});
        },
        opencl::drops_late_frames, opencl::create_members<&GstKeyFill::backgrounds>};

OPENCL_FILTER_DEFINE (keyfill, gst_key_fill, element)
