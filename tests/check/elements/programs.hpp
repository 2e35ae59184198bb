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

/* (nullable): a frame, or none within the time that a loaded machine may need to compile a
 * program */
inline check::Owned<GstSample>
pull_in_time (GstElement *out)
{
  return gst_app_sink_try_pull_sample (
      GST_APP_SINK (out), GstClockTime (30 * gdouble (GST_SECOND) * check::slowness ()));
}

inline std::string
tensors (const std::string &type, const std::string &dimensions)
{
  return "other/tensors,format=static,num_tensors=1,types=" + type
         + ",dimensions=(string)" + dimensions + ",framerate=25/1";
}

/* The property output-caps for several tensors */
inline std::string
several_outputs (int count, const std::string &types, const std::string &dimensions)
{
  return " output-caps=\"other/tensors,num_tensors=" + std::to_string (count)
         + ",types=(string)\\\"" + types + "\\\",dimensions=(string)\\\"" + dimensions
         + "\\\",framerate=25/1\" ";
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

  while (const check::Owned<GstMessage> message =
             gst_bus_timed_pop_filtered (bus, wait, types)) {
    const bool is_error = GST_MESSAGE_TYPE (message.operator->()) == GST_MESSAGE_ERROR;
    check::Owned<GError> error;
    check::Owned<gchar> debug;
    (is_error ? gst_message_parse_error : gst_message_parse_warning) (
        message, error.out (), debug.out ());
    const std::string text =
        std::string (error->message) + "\n" + (debug ? debug.operator->() : "");
    /* appsrc also posts an error when an element after it fails. */
    if (!g_str_has_prefix (GST_MESSAGE_SRC_NAME (message.operator->()), "in"))
      (is_error ? messages.errors : messages.warnings).push_back (text);
    wait = MIN (wait, 100 * GST_MSECOND);
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
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  const check::Owned<gchar> caps = gst_caps_to_string (gst_sample_get_caps (sample));
  return {caps.operator->(), check::read_buffer (buffer), GST_BUFFER_PTS (buffer)};
}

/* A pipeline with an appsink named out */
class Program : public check::Pipeline {
public:
  explicit Program (const std::string &line) : Pipeline (line), out ((*this)["out"]) {}

  /* Fails with the errors of the elements if there is no frame. */
  Output pull ()
  {
    const check::Owned<GstSample> sample = pull_in_time (out);
    std::string errors;
    for (const std::string &text :
        sample ? std::vector<std::string> () : messages_on (bus).errors)
      errors += "; " + text;
    fail_unless (sample, "no frame arrived%s", errors.c_str ());
    return output_of (sample);
  }

  GstElement *const out;
};

/* appsrc ! openclupload ! CHAIN ! opencldownload ! appsink, or a chain without an
 * input */
class Chain : public Program {
public:
  Chain (const std::string &chain, const std::string &caps = "")
      : Program (
          (caps.empty ()
                  ? ""
                  : "appsrc name=in format=time caps=" + caps + " ! openclupload ! ")
          + chain + " ! opencldownload ! appsink name=out sync=false max-buffers=2"),
        in (caps.empty () ? nullptr : (*this)["in"])
  {
  }

  GstElement *element (const char *name = "k") { return (*this)[name]; }

  void push (const Bytes &bytes) { push (check::buffer_of (bytes)); }

  void push (GstBuffer *buffer)
  {
    GST_BUFFER_PTS (buffer) = pushed++ * GST_SECOND / 25;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 25;
    fail_unless_equals_int (
        gst_app_src_push_buffer (GST_APP_SRC (in), buffer), GST_FLOW_OK);
  }

  /* Passes one frame through the chain. */
  Output run (const Bytes &bytes)
  {
    start ();
    push (bytes);
    return pull ();
  }

  GstElement *const in;

private:
  guint pushed = 0;
};
} // namespace programs
