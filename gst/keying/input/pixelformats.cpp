/* Common code of the keying elements: formats, components and pads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pixelformats.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

/* Width and height are at most 2^15, so that the number of pixels fits 31 bits. */
#define CAPS(formats)                                                                    \
  VIDEO_ON_DEVICE ("format=(string)" formats ", width=(int)[1, 32768], "                 \
                   "height=(int)[1, 32768], framerate=(fraction)[0/1, 2147483647/1]")
#define KEYED "{RGBA, BGRA, ARGB, ABGR}"
#define DEEP "RGBA64_LE"
#define CAMERA "{NV12, NV21, I420, YV12, YUY2, UYVY}"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS (KEYED) ";" CAPS (DEEP)));
static GstStaticPadTemplate camera_sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (CAPS (KEYED) ";" CAPS (CAMERA) ";" CAPS (DEEP)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS (KEYED) ";" CAPS (DEEP)));

GST_DEBUG_CATEGORY_STATIC (keying_debug);
#define GST_CAT_DEFAULT keying_debug

namespace keying {

static const PixelFormat pixel_formats[] = {
    {GST_VIDEO_FORMAT_RGBA, 0, 8, 16, 24},
    {GST_VIDEO_FORMAT_BGRA, 16, 8, 0, 24},
    {GST_VIDEO_FORMAT_ARGB, 8, 16, 24, 0},
    {GST_VIDEO_FORMAT_ABGR, 24, 16, 8, 0},
    {GST_VIDEO_FORMAT_RGBA64_LE, 0, 8, 16, 24},
};

const PixelFormat &
pixel_format_of (const GstVideoInfo *info)
{
  for (const PixelFormat &format : pixel_formats) {
    if (format.format == GST_VIDEO_INFO_FORMAT (info))
      return format;
  }
  /* The pad templates accept no other format. */
  g_return_val_if_reached (pixel_formats[0]);
}

std::string
pixel_options (const GstVideoInfo *info)
{
  const PixelFormat &format = pixel_format_of (info);
  const guint widening = bytes_of_pixel (info) / 4;
  auto option = [&] (const char *name, guint bits) {
    return name + std::to_string (widening * bits);
  };
  return option ("-DRED=", format.red) + option (" -DGREEN=", format.green)
         + option (" -DBLUE=", format.blue) + option (" -DALPHA=", format.alpha)
         + (widening > 1 ? " -DDEEP=1" : "");
}

std::string
extras_option (guint extras)
{
  return " -DEXTRAS=" + std::to_string (extras);
}

gsize
bytes_of_pixel (const GstVideoInfo *info)
{
  return GST_VIDEO_INFO_COMP_PSTRIDE (info, 0);
}

gsize
work_stride_of (const GstVideoInfo *info)
{
  return (gsize (info->width) + 7) / 8 * 8 * bytes_of_pixel (info);
}

guint
levels_of (const GstVideoInfo *info)
{
  return 255 * scale_of (info);
}

guint
scale_of (const GstVideoInfo *info)
{
  return bytes_of_pixel (info) > 4 ? 257 : 1;
}

bool
is_equivalent (const GstVideoInfo *a, const GstVideoInfo *b)
{
  return GST_VIDEO_INFO_FORMAT (a) == GST_VIDEO_INFO_FORMAT (b) && a->width == b->width
         && a->height == b->height && a->chroma_site == b->chroma_site
         && gst_video_colorimetry_is_equal (&a->colorimetry, &b->colorimetry);
}

cl_uint
component_mask (const GstVideoInfo *info, Channel channel)
{
  const PixelFormat &format = pixel_format_of (info);
  cl_uint red = 255u << format.red;
  cl_uint green = 255u << format.green;
  cl_uint blue = 255u << format.blue;
  const cl_uint masks[] = {red | green | blue, red, green, blue};
  return masks[gsize (channel)];
}

cl_uint
difference_threshold (gdouble tolerance, Channel channel, const GstVideoInfo *info)
{
  const guint components = channel == Channel::all ? 3 : 1;
  return cl_uint (std::ceil (tolerance * (components * levels_of (info))));
}

Color
color_of_argb (guint argb)
{
  return {gint (argb >> 16 & 255), gint (argb >> 8 & 255), gint (argb & 255),
      gint (argb >> 24)};
}

gdouble
saturation_of (guint argb)
{
  auto chroma = [] (const Color &color) {
    return std::hypot (-21 * color.red - 43 * color.green + 64 * color.blue,
        64 * color.red - 54 * color.green - 10 * color.blue);
  };
  return chroma (color_of_argb (argb)) / chroma (color_of_argb (0xff00ff00));
}

static const gchar key_event[] = "chromakey-key";

GstEvent *
new_key_event (guint key)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
      gst_structure_new (key_event, "key-color", G_TYPE_UINT, key, nullptr));
}

bool
parse_key_event (GstEvent *event, guint *key)
{
  return GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM_STICKY
         && gst_event_has_name (event, key_event)
         && gst_structure_get_uint (gst_event_get_structure (event), "key-color", key);
}

const opencl::EnumTypeOf<Channel> channel_type (
    "GstKeyingChannel", {
                            {Channel::all, "Red, green and blue together", "all"},
                            {Channel::red, "Red alone", "red"},
                            {Channel::green, "Green alone", "green"},
                            {Channel::blue, "Blue alone", "blue"},
                        });

/* Logs why caps are refused, which the base class does not. */
static gboolean
accept_caps (GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps)
{
  GstPad *pad = direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SINK_PAD (transform)
                                          : GST_BASE_TRANSFORM_SRC_PAD (transform);
  GstCaps *expected = gst_pad_get_pad_template_caps (pad);
  gboolean accepted = gst_caps_is_subset (caps, expected);

  if (!accepted)
    GST_INFO_OBJECT (transform, "refused %" GST_PTR_FORMAT ": expected %" GST_PTR_FORMAT,
        caps, expected);
  gst_caps_unref (expected);
  return accepted;
}

/* --- caps of elements that accept camera formats --- */

/* Returns `caps` with other formats, of any colorimetry and chroma site. */
static GstCaps *
caps_of_formats (GstCaps *caps, const gchar *formats)
{
  GstCaps *result = gst_caps_copy (caps);
  GValue list = G_VALUE_INIT;

  g_value_init (&list, GST_TYPE_LIST);
  gst_value_deserialize (&list, formats);
  gst_caps_set_value (result, "format", &list);
  g_value_unset (&list);
  for (guint n = 0; n < gst_caps_get_size (result); n++)
    gst_structure_remove_fields (
        gst_caps_get_structure (result, n), "colorimetry", "chroma-site", nullptr);
  return result;
}

/* Frames that already have alpha keep their byte order. Camera formats become any of
 * them. */
static GstCaps *
transform_camera_caps (
    GstBaseTransform *, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  static GstStaticCaps keyed_caps = GST_STATIC_CAPS (CAPS (KEYED));
  static GstStaticCaps camera_caps = GST_STATIC_CAPS (CAPS (CAMERA));
  static GstStaticCaps deep_caps = GST_STATIC_CAPS (CAPS (DEEP));
  const bool forth = direction == GST_PAD_SINK;
  GstCaps *keyed = gst_static_caps_get (&keyed_caps);
  GstCaps *camera = gst_static_caps_get (&camera_caps);
  GstCaps *deep = gst_static_caps_get (&deep_caps);

  GstCaps *result = gst_caps_intersect_full (caps, keyed, GST_CAPS_INTERSECT_FIRST);
  GstCaps *others =
      gst_caps_intersect_full (caps, forth ? camera : keyed, GST_CAPS_INTERSECT_FIRST);
  GstCaps *made = caps_of_formats (others, forth ? KEYED : CAMERA);
  result = gst_caps_merge (result, made);
  result = gst_caps_merge (
      result, gst_caps_intersect_full (caps, deep, GST_CAPS_INTERSECT_FIRST));
  gst_caps_unref (others);
  gst_caps_unref (keyed);
  gst_caps_unref (camera);
  gst_caps_unref (deep);
  return opencl::filtered_caps (result, filter);
}

static GstCaps *
fixate_camera_caps (
    GstBaseTransform *, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  GstCaps *same = gst_caps_intersect (others, caps);
  const bool is_same = !gst_caps_is_empty (same);
  GstCaps *fixed = gst_caps_fixate (is_same ? same : gst_caps_ref (others));

  if (!is_same)
    gst_caps_unref (same);
  gst_caps_unref (others);
  if (is_same || direction == GST_PAD_SRC)
    return fixed;
  fixed = gst_caps_make_writable (fixed);
  opencl::keep_colours (fixed, caps);
  return fixed;
}

static void
set_up_with (GstOpenCLFilterClass *klass, GstStaticPadTemplate *sink)
{
  gst_element_class_add_static_pad_template (GST_ELEMENT_CLASS (klass), sink);
  gst_element_class_add_static_pad_template (GST_ELEMENT_CLASS (klass), &src_template);
  GST_BASE_TRANSFORM_CLASS (klass)->accept_caps = accept_caps;
  GST_DEBUG_CATEGORY_INIT (keying_debug, "keying", 0, "Keying");
}

void
set_up_class (GstOpenCLFilterClass *klass)
{
  set_up_with (klass, &sink_template);
}

void
set_up_camera_class (GstOpenCLFilterClass *klass)
{
  set_up_with (klass, &camera_sink_template);
  GST_BASE_TRANSFORM_CLASS (klass)->transform_caps = transform_camera_caps;
  GST_BASE_TRANSFORM_CLASS (klass)->fixate_caps = fixate_camera_caps;
}
} // namespace keying
