/* DMABuf caps of GStreamer 1.24 and newer: format=DMA_DRM, drm-format=NV12
 *
 * Linear memory has the layout of a raw video format, and elements work with caps of that
 * format. GStreamer's own functions for this came with 1.24. A library that was built
 * with an older version also runs with newer ones, so this file has its own table.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace opencl {
struct DrmFormat {
  const char *drm; /* the code in <drm_fourcc.h> */
  const char *raw;
};

inline constexpr DrmFormat drm_formats[] = {{"NV12", "NV12"}, {"NV21", "NV21"},
    {"NV16", "NV16"}, {"NV61", "NV61"}, {"NV24", "NV24"}, {"YU12", "I420"},
    {"YV12", "YV12"}, {"YU11", "Y41B"}, {"YU16", "Y42B"}, {"YU24", "Y444"},
    {"YUYV", "YUY2"}, {"YVYU", "YVYU"}, {"UYVY", "UYVY"}, {"VYUY", "VYUY"},
    {"AYUV", "VUYA"}, {"P010", "P010_10LE"}, {"P012", "P012_LE"}, {"Y210", "Y210"},
    {"Y212", "Y212_LE"}, {"Y410", "Y410"}, {"Y412", "Y412_LE"}, {"XB24", "RGBx"},
    {"XR24", "BGRx"}, {"BX24", "xRGB"}, {"RX24", "xBGR"}, {"AB24", "RGBA"},
    {"AR24", "BGRA"}, {"BA24", "ARGB"}, {"RA24", "ABGR"}, {"BG24", "RGB"},
    {"RG24", "BGR"}, {"RG16", "RGB16"}, {"BG16", "BGR16"}, {"XR15", "RGB15"},
    {"AR30", "BGR10A2_LE"}, {"R8  ", "GRAY8"}, {"R16 ", "GRAY16_LE"}};

inline constexpr char linear_modifier[] = ":0x0000000000000000";

inline bool
is_dma_drm (const GstStructure *structure)
{
  return g_strcmp0 (gst_structure_get_string (structure, "format"), "DMA_DRM") == 0;
}

/* Returns the strings of a field that holds one string or a list */
inline std::vector<std::string>
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

inline void
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
inline bool
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

/* Converts a structure of format DMA_DRM to raw video in the formats of its linear
 * drm-format. Returns nullptr if it has none. (transfer full) (nullable) */
inline GstStructure *
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

/* Converts raw video to linear memory of format DMA_DRM. Returns nullptr if no format of
 * `structure` has a DRM code. (transfer full) (nullable) */
inline GstStructure *
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

/* Like gst_video_info_from_caps(), but also reads fixed caps of format DMA_DRM as raw
 * video */
inline bool
video_info_of_caps (const GstCaps *caps, GstVideoInfo &info)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  if (!is_dma_drm (structure))
    return gst_video_info_from_caps (&info, caps);
  GstStructure *raw = raw_of_dma_drm (structure);
  if (!raw)
    return false;
  GstCaps *raw_caps = gst_caps_new_full (raw, nullptr);
  const bool known =
      gst_caps_is_fixed (raw_caps) && gst_video_info_from_caps (&info, raw_caps);
  gst_caps_unref (raw_caps);
  return known;
}
} // namespace opencl
