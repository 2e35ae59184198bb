/* Input or output of an element, with the name of its kernel argument
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stream.hpp"

namespace compute {
bool
stream_of_caps (const char *name, GstCaps *caps, Stream &stream, GError **error)
{
  GstVideoInfo info;

  stream.name = name;
  stream.is_video =
      gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
  if (!stream.is_video)
    return opencl::array_of_caps (caps, stream.array, error);
  if (gst_video_info_from_caps (&info, caps))
    return opencl::array_of_video (&info, stream.array, error);
  g_set_error (
      error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "caps of %s are not video", name);
  return false;
}
} // namespace compute
