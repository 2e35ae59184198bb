/* Decodes an image file to a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "imagefile.hpp"

#include <gst/common/platform.hpp>

namespace keying {
namespace {
/* Maximum time to decode an image */
const guint timeout = 10; /* seconds in which the process runs */

/* Sets `error` from the error message on the bus. */
void
set_decode_error (GstElement *pipeline, const std::string &path, GError **error)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *reason = nullptr;

  if (message) {
    gst_message_parse_error (message, &reason, nullptr);
    gst_message_unref (message);
  }
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
      "%s: could not decode an image: %s", path.c_str (),
      reason ? reason->message : "no frame within 10 s");
  g_clear_error (&reason);
  gst_object_unref (bus);
}

GstSample *
first_sample (GstElement *pipeline)
{
  GstElement *end = gst_bin_get_by_name (GST_BIN (pipeline), "end");
  GstSample *sample = nullptr;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  GstStateChangeReturn change = GST_STATE_CHANGE_ASYNC;
  for (guint second = 0; second < timeout && change == GST_STATE_CHANGE_ASYNC; second++)
    change = gst_element_get_state (pipeline, nullptr, nullptr, GST_SECOND);
  if (change == GST_STATE_CHANGE_SUCCESS)
    g_object_get (end, "last-sample", &sample, nullptr);
  gst_object_unref (end);
  return sample;
}
} // namespace

GstSample *
load_image (const std::string &path, GError **error)
{
  if (!opencl::check_regular (path, error))
    return nullptr;
  GstElement *pipeline =
      gst_parse_launch ("filesrc name=file ! decodebin ! videoconvert ! "
                        "video/x-raw,format={RGBA,RGBA64_LE} ! fakesink name=end",
          error);
  if (!pipeline)
    return nullptr;
  GstElement *file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  g_object_set (file, "location", path.c_str (), nullptr);
  gst_object_unref (file);
  GstSample *sample = first_sample (pipeline);
  if (!sample)
    set_decode_error (pipeline, path, error);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return sample;
}
} // namespace keying
