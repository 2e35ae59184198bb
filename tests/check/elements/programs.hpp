/* Harness of elements with user programs: chains with a given input and a checked output,
 * and arrays in files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/slowness.hpp"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/common/arrayformat.hpp>
#include <gst/common/npyfile.hpp>

#include <cstring>
#include <functional>

/* Last: its macro fail() breaks C++ headers. */
#include <gst/check/gstcheck.h>

namespace programs {
using check::Folder;
using Bytes = std::vector<guint8>;

template <typename T>
Bytes
bytes_of (const std::vector<T> &values)
{
  Bytes bytes (values.size () * sizeof (T));
  memcpy (bytes.data (), values.data (), bytes.size ());
  return bytes;
}

template <typename T>
std::vector<T>
values_of (const Bytes &bytes)
{
  std::vector<T> values (bytes.size () / sizeof (T));
  memcpy (values.data (), bytes.data (), values.size () * sizeof (T));
  return values;
}

/* Values of a function at 0, 1, 2 … */
template <typename T>
std::vector<T>
filled (gsize count, const std::function<T (gsize)> &function)
{
  std::vector<T> values (count);
  for (gsize n = 0; n < count; n++)
    values[n] = function (n);
  return values;
}

/* (nullable) (transfer full): a frame, or none within the time that a loaded machine may
 * need to compile a program */
inline GstSample *
pull_in_time (GstElement *out)
{
  const GstClockTime timeout = 30 * GST_SECOND;
  GstSample *sample = gst_app_sink_try_pull_sample (GST_APP_SINK (out), timeout);
  if (sample || gst_app_sink_is_eos (GST_APP_SINK (out)))
    return sample;
  return gst_app_sink_try_pull_sample (
      GST_APP_SINK (out), GstClockTime ((check::slowness () - 1) * gdouble (timeout)));
}

inline std::string
tensors (const std::string &type, const std::string &dimensions)
{
  return "other/tensors,format=static,num_tensors=1,types=" + type
         + ",dimensions=(string)" + dimensions + ",framerate=25/1";
}

inline std::string
video (const std::string &format, int width, int height)
{
  return "video/x-raw,format=" + format + ",width=" + std::to_string (width)
         + ",height=" + std::to_string (height) + ",framerate=25/1";
}

/* Writes a .npy file and returns its path. */
template <typename T>
std::string
save (const check::Folder &folder, const std::string &name, opencl::NumberType type,
    const std::vector<gsize> &shape, const std::vector<T> &values)
{
  const Bytes bytes = bytes_of (values);
  return folder.write (name, opencl::npy_make_header (type, false, shape)
                                 + std::string (bytes.begin (), bytes.end ()));
}

/* Messages of the elements: text, line break, debug text */
struct Messages {
  std::vector<std::string> errors, warnings;
};

inline Messages
messages_on (GstBus *bus, GstClockTime wait = 0)
{
  Messages messages;
  const auto types = GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

  while (GstMessage *message = gst_bus_timed_pop_filtered (bus, wait, types)) {
    const bool is_error = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    GError *error = nullptr;
    gchar *debug = nullptr;
    if (is_error)
      gst_message_parse_error (message, &error, &debug);
    else
      gst_message_parse_warning (message, &error, &debug);
    const std::string text = std::string (error->message) + "\n" + (debug ? debug : "");
    /* appsrc also posts an error when an element after it fails. */
    if (!g_str_has_prefix (GST_MESSAGE_SRC_NAME (message), "in"))
      (is_error ? messages.errors : messages.warnings).push_back (text);
    wait = MIN (wait, 100 * GST_MSECOND);
    g_error_free (error);
    g_free (debug);
    gst_message_unref (message);
  }
  return messages;
}

struct Output {
  std::string caps;
  Bytes bytes;
  GstClockTime time;
};

inline Output
output_of (GstSample *sample)
{
  GstMapInfo map;
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  gchar *caps = gst_caps_to_string (gst_sample_get_caps (sample));
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  Output output = {caps, Bytes (map.data, map.data + map.size), GST_BUFFER_PTS (buffer)};
  gst_buffer_unmap (buffer, &map);
  g_free (caps);
  gst_sample_unref (sample);
  return output;
}

/* appsrc ! openclupload ! CHAIN ! opencldownload ! appsink, or a chain without an
 * input */
class Chain {
public:
  Chain (const std::string &chain, const std::string &caps = "")
  {
    const std::string source =
        caps.empty () ? ""
                      : "appsrc name=in format=time caps=" + caps + " ! openclupload ! ";
    pipeline = check::launch (
        source + chain + " ! opencldownload ! appsink name=out sync=false max-buffers=2");
    in = gst_bin_get_by_name (GST_BIN (pipeline), "in");
    out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
    bus = gst_element_get_bus (pipeline);
  }
  ~Chain ()
  {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_clear_object (&in);
    gst_object_unref (out);
    gst_object_unref (bus);
    gst_object_unref (pipeline);
  }
  Chain (const Chain &) = delete;

  GstElement *element (const char *name = "k")
  {
    GstElement *found = gst_bin_get_by_name (GST_BIN (pipeline), name);
    fail_unless (found != nullptr);
    gst_object_unref (found); /* the pipeline holds a reference */
    return found;
  }

  void start () { gst_element_set_state (pipeline, GST_STATE_PLAYING); }

  void push (const Bytes &bytes)
  {
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, bytes.size (), nullptr);
    gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
    push (buffer);
  }

  void push (GstBuffer *buffer)
  {
    GST_BUFFER_PTS (buffer) = pushed++ * GST_SECOND / 25;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 25;
    fail_unless_equals_int (
        gst_app_src_push_buffer (GST_APP_SRC (in), buffer), GST_FLOW_OK);
  }

  Output pull ()
  {
    GstSample *sample = pull_in_time (out);
    if (!sample) {
      Messages messages = messages_on (bus);
      for (const std::string &text : messages.errors)
        fprintf (stderr, "error: %s\n", text.c_str ());
      ck_abort_msg ("no frame arrived");
    }
    return output_of (sample);
  }

  /* Passes one frame through the chain. */
  Output run (const Bytes &bytes)
  {
    start ();
    push (bytes);
    return pull ();
  }

  GstElement *pipeline, *in, *out;
  GstBus *bus;

private:
  guint pushed = 0;
};
} // namespace programs
