/* Raw video formats: components and DRM codes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "videoformats.hpp"

#include <algorithm>
#include <cstring>

namespace opencl {
namespace {
/* GstVideoFormatInfo does not describe these; only its unpack functions know them. For
 * VYUY it has the offsets of UYVY (GStreamer 1.22), but its functions read V first, as
 * the fourcc says. */
const struct {
  GstVideoFormat format;
  guint shift;
  guint offsets[GST_VIDEO_MAX_COMPONENTS];
} overrides[] = {
    {GST_VIDEO_FORMAT_P010_10LE, 6, {0, 0, 2}},
    {GST_VIDEO_FORMAT_P012_LE, 4, {0, 0, 2}},
    {GST_VIDEO_FORMAT_P016_LE, 0, {0, 0, 2}},
    {GST_VIDEO_FORMAT_Y210, 6, {0, 2, 6}},
    {GST_VIDEO_FORMAT_Y212_LE, 4, {0, 2, 6}},
    {GST_VIDEO_FORMAT_Y412_LE, 4, {2, 0, 4, 6}},
    {GST_VIDEO_FORMAT_VYUY, 0, {1, 2, 0}},
};

const BitFormat bit_formats[] = {
    {GST_VIDEO_FORMAT_RGB16, {{11, 16, 5}, {5, 16, 6}, {0, 16, 5}}, 1, false},
    {GST_VIDEO_FORMAT_RGB10A2_LE, {{0, 32, 10}, {10, 32, 10}, {20, 32, 10}, {30, 32, 2}},
        1, false},
    {GST_VIDEO_FORMAT_BGR10A2_LE, {{20, 32, 10}, {10, 32, 10}, {0, 32, 10}, {30, 32, 2}},
        1, false},
    {GST_VIDEO_FORMAT_Y410, {{10, 32, 10}, {0, 32, 10}, {20, 32, 10}, {30, 32, 2}}, 1,
        false},
    {GST_VIDEO_FORMAT_NV12_10LE40, {{0, 10, 10}, {0, 20, 10}, {10, 20, 10}}, 4, false},
    {GST_VIDEO_FORMAT_NV12_10LE32, {{0, 1, 10}, {0, 2, 10}, {1, 2, 10}}, 6, true},
};
} // namespace

const BitFormat *
bit_format_of (const GstVideoInfo &info)
{
  for (const BitFormat &each : bit_formats) {
    if (each.format == GST_VIDEO_INFO_FORMAT (&info))
      return &each;
  }
  return nullptr;
}

guint
sample_bits (const GstVideoInfo &info)
{
  return std::max<guint> (GST_VIDEO_INFO_COMP_DEPTH (&info, 0), 8);
}

guint
sample_offset (const GstVideoInfo &info, guint component)
{
  for (const auto &entry : overrides) {
    if (entry.format == GST_VIDEO_INFO_FORMAT (&info))
      return entry.offsets[component];
  }
  if (bit_format_of (info))
    return 0;
  return GST_VIDEO_INFO_COMP_POFFSET (&info, component);
}

guint
sample_shift (const GstVideoInfo &info)
{
  for (const auto &entry : overrides) {
    if (entry.format == GST_VIDEO_INFO_FORMAT (&info))
      return entry.shift;
  }
  return info.finfo->shift[0];
}

bool
is_big_endian (const GstVideoInfo &info)
{
  return sample_bits (info) > 8 && !GST_VIDEO_FORMAT_INFO_IS_LE (info.finfo)
         && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_Y210
         && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_v210;
}

/* DMABuf caps */

bool
is_dma_drm (const GstStructure *structure)
{
  return g_strcmp0 (gst_structure_get_string (structure, "format"), "DMA_DRM") == 0;
}

std::vector<std::string>
strings_of_field (const GstStructure *structure, const char *field)
{
  const GValue *value = gst_structure_get_value (structure, field);
  std::vector<std::string> strings;
  auto add = [&] (const GValue *one) {
    if (G_VALUE_HOLDS_STRING (one) && g_value_get_string (one))
      strings.push_back (g_value_get_string (one));
  };
  if (value && GST_VALUE_HOLDS_LIST (value)) {
    for (guint n = 0; n < gst_value_list_get_size (value); n++)
      add (gst_value_list_get_value (value, n));
  } else if (value) {
    add (value);
  }
  return strings;
}

static void
set_strings_of_field (
    GstStructure *structure, const char *field, const std::vector<std::string> &strings)
{
  GValue list = G_VALUE_INIT, one = G_VALUE_INIT;
  g_value_init (&list, GST_TYPE_LIST);
  for (const std::string &string : strings) {
    g_value_init (&one, G_TYPE_STRING);
    g_value_set_string (&one, string.c_str ());
    gst_value_list_append_and_take_value (&list, &one);
  }
  if (strings.size () == 1) {
    gst_structure_set (structure, field, G_TYPE_STRING, strings[0].c_str (), nullptr);
    g_value_unset (&list);
  } else {
    gst_structure_take_value (structure, field, &list);
  }
}

/* Returns true if `text`, "NV12" or "NV12:0x0000000000000000", is `format` in linear
 * memory */
static bool
is_linear (const std::string &text, const DrmFormat &format)
{
  const gsize length = strlen (format.drm);
  if (text.compare (0, length, format.drm) != 0)
    return false;
  const std::string modifier = text.substr (length);
  return modifier.empty ()
         || (modifier.compare (0, 3, ":0x") == 0 && modifier.size () > 3
             && modifier.find_first_not_of ('0', 3) == std::string::npos);
}

GstStructure *
raw_of_dma_drm (const GstStructure *structure)
{
  const bool is_any = !gst_structure_has_field (structure, "drm-format");
  const std::vector<std::string> given = strings_of_field (structure, "drm-format");
  std::vector<std::string> raw;
  for (const DrmFormat &format : drm_formats) {
    if (is_any
        || std::any_of (given.begin (), given.end (),
            [&] (const std::string &text) { return is_linear (text, format); }))
      raw.push_back (format.raw);
  }
  if (raw.empty ())
    return nullptr;
  GstStructure *made = gst_structure_copy (structure);
  gst_structure_remove_field (made, "drm-format");
  set_strings_of_field (made, "format", raw);
  return made;
}

GstStructure *
dma_drm_of_raw (const GstStructure *structure)
{
  const bool is_any = !gst_structure_has_field (structure, "format");
  const std::vector<std::string> given = strings_of_field (structure, "format");
  std::vector<std::string> drm;
  for (const DrmFormat &format : drm_formats) {
    if (!is_any && std::find (given.begin (), given.end (), format.raw) == given.end ())
      continue;
    drm.push_back (format.drm);
    drm.push_back (std::string (format.drm) + linear_modifier);
  }
  if (drm.empty ())
    return nullptr;
  GstStructure *made = gst_structure_copy (structure);
  gst_structure_set (made, "format", G_TYPE_STRING, "DMA_DRM", nullptr);
  set_strings_of_field (made, "drm-format", drm);
  return made;
}

bool
video_info_of_caps (const GstCaps *caps, GstVideoInfo &info)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  if (!is_dma_drm (structure)) /* GStreamer takes a width or height of 0. */
    return gst_video_info_from_caps (&info, caps) && info.width > 0 && info.height > 0;
  GstStructure *raw = raw_of_dma_drm (structure);
  if (!raw)
    return false;
  GstCaps *raw_caps = gst_caps_new_full (raw, nullptr);
  const bool known = gst_caps_is_fixed (raw_caps) && video_info_of_caps (raw_caps, info);
  gst_caps_unref (raw_caps);
  return known;
}
} // namespace opencl
