/* Byte offset, bit shift and byte order of samples in raw video
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "componentlayout.hpp"

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
} // namespace

guint
sample_offset (const GstVideoInfo &info, guint component)
{
  for (const auto &entry : overrides) {
    if (entry.format == GST_VIDEO_INFO_FORMAT (&info))
      return entry.offsets[component];
  }
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
  return GST_VIDEO_INFO_COMP_DEPTH (&info, 0) > 8
         && !GST_VIDEO_FORMAT_INFO_IS_LE (info.finfo)
         && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_Y210
         && GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_v210;
}
} // namespace opencl
