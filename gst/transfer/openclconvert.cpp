/* openclconvert: one raw video format and size to another
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclconvert
 * @title: openclconvert
 *
 * Converts between raw video formats and sizes in device memory, as `videoconvert` and
 * `videoscale` do on the CPU, in one launch per frame. A GPU needs two to convert what it
 * scales with a Lanczos filter, or subsampled chroma by area. It respects the colorimetry
 * and chroma siting of the caps. Gray video can be shown in the colours of a `colormap`.
 * If the caps are equal, frames pass through.
 *
 * Colours are the nearest levels to the result in double precision. `videoconvert`
 * computes in eight bits and deviates by up to 6 levels; its white is 253 of 255. Chroma
 * is interpolated at the position that the chroma siting gives. Some fast paths of
 * `videoconvert`, such as I420 to BGRA, take the nearest chroma sample, as
 * `chroma-resampler=nearest` does.
 *
 * `video-direction` rotates or mirrors in the same launch. `add-borders` keeps the aspect
 * ratio if the output has a different one. Unlike that of `videoscale`, it is off by
 * default. `video-direction=auto` follows the image-orientation tag, and sends the tag
 * downstream as rotate-0. A tag of the stream takes precedence over a global one, and a
 * new stream starts without tags.
 *
 * Regions of interest (#GstVideoRegionOfInterestMeta) are rotated, scaled and moved with
 * the image. They are clipped at its edges, and dropped if they lie outside. With GStreamer
 * 1.28 detections of gst-analytics move, too; before, they are only scaled.
 *
 * Formats of ten bits and more keep their precision. If the output has fewer bits,
 * `dither=bayer` mixes the two nearest levels, so that slow gradients show no steps.
 *
 * Overlays that downstream draws (#GstVideoOverlayCompositionMeta) pass through if the frame
 * keeps its size and is not turned. Otherwise upstream draws them.
 *
 * Interlaced and mixed video stays interlaced. Chroma belongs to the rows of its field.
 * Each field is scaled separately, at its position in the frame. (`videoscale` shifts the
 * fields against each other, so that still images show combing.) Fields in separate
 * buffers are refused. Navigation events are passed on in pixels of the input.
 *
 * |[
 * gst-launch-1.0 videotestsrc ! openclupload ! openclconvert ! \
 *   "video/x-raw(memory:OpenCLMemory),format=RGBA,width=640,height=480" ! \
 *   opencldownload ! videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY8 ! openclupload ! \
 *   openclconvert colormap=viridis ! opencldownload ! videoconvert ! autovideosink
 * ]|
 * Gray levels in false colours, as OCT B-scans are displayed.
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! openclupload ! openclconvert ! \
 *   chromakey method=difference ! openclconvert alpha-only=true ! \
 *   "video/x-raw(memory:OpenCLMemory),format=GRAY8" ! opencldownload ! videoconvert ! \
 *   autovideosink
 * ]|
 * Shows only the matte.
 */
#include "colormap.hpp"
#include "convertcaps.hpp"
#include "elements.h"
#include "geometry.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/composition/converter.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/common/settings.hpp>
#include <gst/video/navigation.h>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_convert_debug);
#define GST_CAT_DEFAULT gst_opencl_convert_debug

using transfer::ChromaResampler;
using transfer::Colormap;
using transfer::Dither;
using transfer::ScaleMethod;

namespace {
struct ConvertSettings {
  Colormap colormap = Colormap::none;
  ScaleMethod scale_method = ScaleMethod::bilinear;
  ChromaResampler chroma_resampler = ChromaResampler::linear;
  Dither dither = Dither::none;
  GstVideoOrientationMethod direction = GST_VIDEO_ORIENTATION_IDENTITY;
  bool borders = false;
  bool alpha_only = false;

  bool maps () const { return colormap != Colormap::none; }
  bool operator== (const ConvertSettings &other) const
  {
    return colormap == other.colormap && scale_method == other.scale_method
           && chroma_resampler == other.chroma_resampler && dither == other.dither
           && direction == other.direction && borders == other.borders
           && alpha_only == other.alpha_only;
  }
};

/* State of the streaming thread for one pair of caps and one set of settings */
struct ConvertWork {
  ConvertSettings settings;
  transfer::Orientation orientation;
  transfer::FrameConverter converter;
};
} // namespace

#define GST_TYPE_OPENCL_CONVERT (gst_opencl_convert_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLConvert, gst_opencl_convert, GST, OPENCL_CONVERT, GstOpenCLFilter)

struct _GstOpenCLConvert {
  GstOpenCLFilter parent;

  opencl::Settings<ConvertSettings> *settings;
  transfer::OrientationTags *tags; /* for video-direction=auto */
  bool sends_upright;              /* sends the tag as rotate-0; streaming thread */
  GstVideoInfo input_info;         /* input; object lock, as the next two */
  transfer::TargetRectangle target;
  transfer::Orientation orientation;
  ConvertWork *work; /* between set_formats and close, else null */
};

G_DEFINE_FINAL_TYPE_WITH_CODE (GstOpenCLConvert, gst_opencl_convert,
    GST_TYPE_OPENCL_FILTER,
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_convert_debug, "openclconvert", 0, "OpenCL video converter"))
GST_ELEMENT_REGISTER_DEFINE (
    openclconvert, "openclconvert", GST_RANK_NONE, GST_TYPE_OPENCL_CONVERT)

const opencl::EnumTypeOf<ScaleMethod> scale_method_type ("GstOpenCLScaleMethod",
    {
        {ScaleMethod::nearest, "Nearest input pixel", "nearest"},
        {ScaleMethod::bilinear, "Bilinear interpolation", "bilinear"},
        {ScaleMethod::area, "Mean of the input pixels that an output pixel covers",
            "area"},
        {ScaleMethod::lanczos, "Lanczos filter with three lobes (sharpest, slowest)",
            "lanczos"},
    });

const opencl::EnumTypeOf<ChromaResampler> chroma_resampler_type (
    "GstOpenCLChromaResampler",
    {
        {ChromaResampler::nearest, "Nearest chroma sample", "nearest"},
        {ChromaResampler::linear, "Linear interpolation according to chroma-site",
            "linear"},
    });

const opencl::EnumTypeOf<Dither> dither_type ("GstOpenCLDither",
    {
        {Dither::none, "No dithering", "none"},
        {Dither::bayer, "Ordered dithering with a Bayer matrix", "bayer"},
    });

/* --- properties --- */

const opencl::PropertyTable<ConvertSettings> properties = {
    /**
     * GstOpenCLConvert:colormap:
     *
     * Colour map for gray input (the output is then in colour).
     *
     * Since: 0.2
     */
    {"colormap", "Colour map", "Colour map for gray input (the output is then in colour)",
        &ConvertSettings::colormap, transfer::colormap_type, opencl::controllable},
    /**
     * GstOpenCLConvert:scale-method:
     *
     * Scaling method (when input and output sizes differ).
     *
     * Since: 0.2
     */
    {"scale-method", "Scale method",
        "Scaling method (when input and output sizes differ)",
        &ConvertSettings::scale_method, scale_method_type, opencl::controllable},
    /**
     * GstOpenCLConvert:chroma-resampler:
     *
     * Chroma resampling method.
     *
     * Since: 0.2
     */
    {"chroma-resampler", "Chroma resampler", "Chroma resampling method",
        &ConvertSettings::chroma_resampler, chroma_resampler_type, opencl::controllable},
    /**
     * GstOpenCLConvert:dither:
     *
     * Dithering method (when the output has fewer bits).
     *
     * Since: 0.3
     */
    {"dither", "Dither", "Dithering method (when the output has fewer bits)",
        &ConvertSettings::dither, dither_type, opencl::controllable},
    /**
     * GstOpenCLConvert:video-direction:
     *
     * Rotation or mirroring of frames (auto = by the image-orientation tag).
     *
     * Since: 0.3
     */
    {"video-direction", "Video direction",
        "Rotation or mirroring of frames (auto = by the image-orientation tag)",
        &ConvertSettings::direction, gst_video_orientation_method_get_type,
        opencl::controllable},
    /**
     * GstOpenCLConvert:add-borders:
     *
     * Add black borders to keep the aspect ratio (when input and output ratios differ).
     *
     * Since: 0.3
     */
    {"add-borders", "Add borders",
        "Add black borders to keep the aspect ratio (when input and output ratios "
        "differ)",
        &ConvertSettings::borders, opencl::controllable},
    /**
     * GstOpenCLConvert:alpha-only:
     *
     * Output alpha, such as a matte, instead of luma (gray output).
     *
     * Since: 0.3
     */
    {"alpha-only", "Alpha only",
        "Output alpha, such as a matte, instead of luma (gray output)",
        &ConvertSettings::alpha_only, opencl::controllable},
};

/* --- caps --- */

static transfer::Orientation
orientation_of (GstOpenCLConvert *self, const ConvertSettings &settings)
{
  return transfer::orientation_of (settings.direction == GST_VIDEO_ORIENTATION_AUTO
                                       ? self->tags->method ()
                                       : settings.direction);
}

/* Renegotiates after the orientation has changed. If the caps stay the same, the base
 * class does not set them again, and would continue to pass frames through. */
static void
follow_orientation (GstOpenCLConvert *self, const ConvertSettings &settings)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (self);
  gst_base_transform_reconfigure_src (transform);
  if (orientation_of (self, settings).turns ())
    gst_base_transform_set_passthrough (transform, FALSE);
}

/* Sends orientation tags again after video-direction has changed from or to auto. */
static void
sync_sent_tags (GstOpenCLConvert *self, const ConvertSettings &settings)
{
  const bool upright = settings.direction == GST_VIDEO_ORIENTATION_AUTO;
  if (self->sends_upright == upright)
    return;
  self->sends_upright = upright;
  for (transfer::OwnedEvent &event : self->tags->events ()) {
    if (upright)
      event = transfer::with_upright_orientation (std::move (event));
    gst_pad_push_event (
        GST_BASE_TRANSFORM_SRC_PAD (GST_BASE_TRANSFORM (self)), event.release ());
  }
}

/* Returns `caps` after rotation, before any conversion. Overlays are not turned. (transfer
 * full) */
static GstCaps *
rotated_caps (GstOpenCLConvert *self, const ConvertSettings &settings, GstCaps *caps)
{
  const transfer::Orientation orientation = orientation_of (self, settings);
  GstCaps *rotated =
      orientation.transposed ? transfer::transposed_caps (caps) : gst_caps_ref (caps);
  return orientation.turns () ? transfer::without_overlays (rotated) : rotated;
}

static GstCaps *
gst_opencl_convert_transform_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *filter)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (transform);
  ConvertSettings settings = self->settings->current ();
  GstCaps *rotated = rotated_caps (self, settings, caps);
  GstCaps *result = transfer::convertible_caps (direction, rotated, settings.maps ());
  gst_caps_unref (rotated);

  return opencl::filtered_caps (result, filter);
}

static GstCaps *
gst_opencl_convert_fixate_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (transform);
  GstCaps *rotated = rotated_caps (self, self->settings->current (), caps);
  GstCaps *fixed = transfer::fixate_converted_caps (direction, rotated, others);
  GST_DEBUG_OBJECT (
      transform, "chose %" GST_PTR_FORMAT " for %" GST_PTR_FORMAT, fixed, caps);
  gst_caps_unref (rotated);
  return fixed;
}

static gboolean
gst_opencl_convert_accept_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps)
{
  gchar *reason = transfer::unsupported_reason (caps);
  if (!reason)
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_convert_parent_class)
        ->accept_caps (transform, direction, caps);
  GST_INFO_OBJECT (transform, "refused %" GST_PTR_FORMAT ": %s", caps, reason);
  g_free (reason);
  return FALSE;
}

/* --- building the kernel --- */

static bool
is_color_mapped (const ConvertSettings &settings, const GstVideoInfo &input)
{
  return settings.maps () && GST_VIDEO_INFO_IS_GRAY (&input);
}

/* Returns true if the output shows the input's alpha. The kernel then reads alpha as
 * gray. */
static bool
outputs_alpha (
    const ConvertSettings &settings, const GstVideoInfo &in, const GstVideoInfo &out)
{
  return settings.alpha_only && GST_VIDEO_INFO_HAS_ALPHA (&in)
         && GST_VIDEO_INFO_IS_GRAY (&out);
}

/* Makes a table of the map's colours as samples of the output, four floats per level. */
static bool
make_color_table (GstOpenCLContext *context, Colormap map, const GstVideoInfo &output,
    cl::Buffer &table, GError **error)
{
  cl_float values[transfer::colormap_levels][4] = {};
  opencl::ColorMatrix matrix = opencl::color_matrix_from_rgb (output);

  for (int level = 0; level < transfer::colormap_levels; level++) {
    transfer::Rgb color = transfer::colormap_color (map, level);
    for (int i = 0; i < 3; i++)
      values[level][i] =
          cl_float (matrix.m[i][0] * color.red + matrix.m[i][1] * color.green
                    + matrix.m[i][2] * color.blue + matrix.m[i][3]);
  }
  table = opencl::make_table (context, values, sizeof values, error);
  return table () != nullptr;
}

static gboolean
make_work (GstOpenCLConvert *self, const ConvertSettings &settings, GError **error)
{
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  const GstVideoInfo &in = *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  const GstVideoInfo &out = *gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  const transfer::Orientation orientation = orientation_of (self, settings);
  transfer::Conversion how = {in, out,
      transfer::target_of (in, out, orientation, settings.borders), orientation,
      settings.scale_method, settings.chroma_resampler, settings.dither,
      outputs_alpha (settings, in, out)};
  auto work = std::make_unique<ConvertWork> ();

  work->settings = settings;
  work->orientation = orientation;
  if (is_color_mapped (settings, in)
      && !make_color_table (context, settings.colormap, out, how.colormap, error))
    return FALSE;
  if (!work->converter.prepare (context, how, error))
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->input_info = in;
  self->target = how.target;
  self->orientation = orientation;
  GST_OBJECT_UNLOCK (self);
  delete self->work;
  self->work = work.release ();
  return TRUE;
}

/* Returns true if both settings lead to the same output caps. */
static bool
leads_to_same_caps (
    GstOpenCLConvert *self, const ConvertSettings &one, const ConvertSettings &other)
{
  return one.maps () == other.maps ()
         && orientation_of (self, one).transposed
                == orientation_of (self, other).transposed;
}

/* Adopts and returns the settings. If a colormap is set but the output is still gray, it
 * requests new caps, and returns settings without the colormap until then. */
static ConvertSettings
adopt_settings (GstOpenCLConvert *self, const GstVideoInfo &in, const GstVideoInfo &out)
{
  const ConvertSettings previous = self->settings->current ();
  auto accept = [] (const ConvertSettings &, GError **) { return true; };
  auto fits = [&] (const ConvertSettings &wanted) {
    return leads_to_same_caps (self, previous, wanted);
  };
  self->settings->adopt (accept, fits, nullptr);
  ConvertSettings settings = self->settings->current ();
  if (is_color_mapped (settings, in) && GST_VIDEO_INFO_IS_GRAY (&out)) {
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
    settings.colormap = Colormap::none;
  }
  return settings;
}

static gboolean
gst_opencl_convert_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (filter);
  const GstVideoInfo *in = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  const GstVideoInfo *out = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  ConvertSettings settings = adopt_settings (self, *in, *out);
  bool same = gst_video_info_is_equal (in, out) && !is_color_mapped (settings, *in)
              && !orientation_of (self, settings).turns ();

  if (in->interlace_mode != out->interlace_mode) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "Deinterlacing and interlacing are not supported: interlace-mode is %s, expected "
        "%s",
        gst_video_interlace_mode_to_string (out->interlace_mode),
        gst_video_interlace_mode_to_string (in->interlace_mode));
    return FALSE;
  }
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (filter), same);
  return same || make_work (self, settings, error);
}

static void
gst_opencl_convert_close (GstOpenCLFilter *filter)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (filter);
  delete self->work;
  self->work = nullptr;
  self->settings->stop ();
  self->tags->clear ();
}

/* --- frames --- */

static bool
downstream_accepts (
    GstBaseTransform *transform, const ConvertSettings &settings, GError **error)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *rotated = rotated_caps (GST_OPENCL_CONVERT (transform), settings, input);
  GstCaps *outputs = transfer::convertible_caps (GST_PAD_SINK, rotated, settings.maps ());
  gst_caps_unref (rotated);
  gst_caps_unref (input);
  return opencl::is_accepted_downstream (transform, outputs, error);
}

/* Called between two frames. A colormap changes the caps from gray to colour. The base
 * class negotiates them before this frame. */
static void
gst_opencl_convert_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (filter);
  GstBaseTransform *transform = GST_BASE_TRANSFORM (filter);
  const ConvertSettings previous = self->settings->current ();
  auto accept = [&] (const ConvertSettings &wanted, GError **error) {
    return leads_to_same_caps (self, previous, wanted)
           || downstream_accepts (transform, wanted, error);
  };

  if (self->settings->is_started () && self->settings->update (accept)) {
    const ConvertSettings current = self->settings->current ();
    if (!leads_to_same_caps (self, previous, current)
        || previous.direction != current.direction)
      follow_orientation (self, current);
  }
  sync_sent_tags (self, self->settings->current ());
}

static gboolean
gst_opencl_convert_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (filter);
  const ConvertSettings settings = self->settings->current ();

  if (!(self->work && settings == self->work->settings
          && orientation_of (self, settings) == self->work->orientation)
      && !make_work (self, settings, error))
    return FALSE;
  return self->work->converter.enqueue (queue, *input, *output, error);
}

/* --- metas --- */

static bool
has_position (const GstMeta *meta)
{
  static const GQuark tag =
      g_quark_from_static_string (GST_META_TAG_VIDEO_ORIENTATION_STR);
  return gst_meta_api_type_has_tag (meta->info->api, tag);
}

/* The base class only scales positions. If the frame is rotated or has borders, metas
 * with a position are dropped, except regions and those that GStreamer 1.28 moves. It would
 * not rotate an overlay itself. */
static gboolean
gst_opencl_convert_transform_meta (
    GstBaseTransform *transform, GstBuffer *output, GstMeta *meta, GstBuffer *input)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (transform);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (transform);
  const GstVideoInfo &in = *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  const GstVideoInfo &out = *gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  const ConvertSettings settings = self->settings->current ();
  const transfer::Orientation orientation = orientation_of (self, settings);
  const transfer::TargetRectangle target =
      transfer::target_of (in, out, orientation, settings.borders);
  const transfer::Placement placement = {in, orientation, target};

  if (transfer::marks_region (meta)) {
    transfer::add_region_meta (output, meta, placement);
    return FALSE;
  }
  if (has_position (meta) && (orientation.turns () || !target.covers (out))) {
    if (meta->info->api != GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE)
      transfer::place_meta (output, meta, input, out, placement);
    return FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_convert_parent_class)
      ->transform_meta (transform, output, meta, input);
}

/* --- events from downstream --- */

/* Converts the pointer position to pixels of the input. */
static GstEvent *
with_pointer_of_input (GstOpenCLConvert *self, GstEvent *event)
{
  gdouble x, y;

  GST_OBJECT_LOCK (self);
  const GstVideoInfo input_info = self->input_info;
  const transfer::TargetRectangle target = self->target;
  const transfer::Orientation orientation = self->orientation;
  GST_OBJECT_UNLOCK (self);
  if (target.width == 0 || gst_base_transform_is_passthrough (GST_BASE_TRANSFORM (self))
      || !gst_navigation_event_get_coordinates (event, &x, &y))
    return event;
  event = gst_event_make_writable (event);
  transfer::to_input (input_info, target, orientation, &x, &y);
  gst_navigation_event_set_coordinates (event, x, y);
  return event;
}

static gboolean
gst_opencl_convert_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstOpenCLConvert *self = GST_OPENCL_CONVERT (transform);
  GstBaseTransformClass *parent =
      GST_BASE_TRANSFORM_CLASS (gst_opencl_convert_parent_class);
  const ConvertSettings settings = self->settings->current ();

  if (GST_EVENT_TYPE (event) != GST_EVENT_TAG
      && GST_EVENT_TYPE (event) != GST_EVENT_STREAM_START)
    return parent->sink_event (transform, event);
  sync_sent_tags (self, settings);
  if (self->tags->take (event) && settings.direction == GST_VIDEO_ORIENTATION_AUTO)
    follow_orientation (self, settings);
  transfer::OwnedEvent sent (event);
  if (self->sends_upright)
    sent = transfer::with_upright_orientation (std::move (sent));
  return parent->sink_event (transform, sent.release ());
}

static gboolean
gst_opencl_convert_src_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION)
    event = with_pointer_of_input (GST_OPENCL_CONVERT (transform), event);
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_convert_parent_class)
      ->src_event (transform, event);
}

/* --- the class --- */

static void
gst_opencl_convert_class_init (GstOpenCLConvertClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOpenCLConvert::settings, &GstOpenCLConvert::work,
      &GstOpenCLConvert::tags> (klass, properties);

  opencl::describe_element (klass, "OpenCL video converter",
      "Filter/Converter/Video/Scaler/Colorspace",
      "Converts format, size and orientation of video in device memory",
      {CONVERT_CAPS, CONVERT_CAPS});

  transform_class->transform_caps = gst_opencl_convert_transform_caps;
  transform_class->fixate_caps = gst_opencl_convert_fixate_caps;
  transform_class->accept_caps = gst_opencl_convert_accept_caps;
  transform_class->transform_meta = gst_opencl_convert_transform_meta;
  transform_class->src_event = gst_opencl_convert_src_event;
  transform_class->sink_event = gst_opencl_convert_sink_event;
  filter_class->set_formats = gst_opencl_convert_set_formats;
  filter_class->begin_frame = gst_opencl_convert_begin_frame;
  filter_class->transform = gst_opencl_convert_transform;
  filter_class->close = gst_opencl_convert_close;
}

static void
gst_opencl_convert_init (GstOpenCLConvert *self)
{
  self->settings = new opencl::Settings<ConvertSettings> (self, properties);
  self->tags = new transfer::OrientationTags;
}
