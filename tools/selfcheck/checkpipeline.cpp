/* gst-opencl-check: runs elements on one buffer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkpipeline.hpp"

namespace opencl {
namespace {
GstFlowReturn
store_output (GstPad *pad, GstObject *, GstBuffer *buffer)
{
  auto *output = static_cast<Bytes *> (gst_pad_get_element_private (pad));
  GstMapInfo map;
  if (gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    output->assign (map.data, map.data + map.size);
    gst_buffer_unmap (buffer, &map);
  }
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* Elements that are linked to two pads without a parent */
class Chain {
public:
  Chain (GstElement *elements, Bytes &output)
      : elements (elements), bus (gst_bus_new ()),
        source (gst_pad_new ("source", GST_PAD_SRC)),
        sink (gst_pad_new ("sink", GST_PAD_SINK))
  {
    gst_element_set_bus (elements, bus);
    gst_pad_set_element_private (sink, &output);
    gst_pad_set_chain_function (sink, store_output);
    link ("sink", source);
    link ("src", sink);
    gst_pad_set_active (sink, TRUE);
    gst_pad_set_active (source, TRUE);
  }
  ~Chain ()
  {
    gst_element_set_state (elements, GST_STATE_NULL);
    gst_element_set_bus (elements, nullptr);
    for (gpointer object : std::initializer_list<gpointer>{elements, bus, source, sink})
      gst_object_unref (object);
  }
  Chain (const Chain &) = delete;
  Chain &operator= (const Chain &) = delete;

  bool push (const std::string &caps, const Bytes &input)
  {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    GstCaps *format = gst_caps_from_string (caps.c_str ());
    GstBuffer *buffer = gst_buffer_new_memdup (input.data (), input.size ());
    GST_BUFFER_PTS (buffer) = 0;
    const bool is_ready =
        gst_element_set_state (elements, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE
        && gst_pad_push_event (source, gst_event_new_stream_start ("check"))
        && gst_pad_push_event (source, gst_event_new_caps (format))
        && gst_pad_push_event (source, gst_event_new_segment (&segment));
    gst_caps_unref (format);
    if (!is_ready) {
      gst_buffer_unref (buffer);
      return false;
    }
    return gst_pad_push (source, buffer) == GST_FLOW_OK
           && gst_pad_push_event (source, gst_event_new_eos ());
  }

  /* Returns the first error message (transfer full) (nullable) */
  GError *error () const
  {
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    GError *reason = nullptr;
    if (!message)
      return nullptr;
    gst_message_parse_error (message, &reason, nullptr);
    gst_message_unref (message);
    return reason;
  }

private:
  void link (const char *name, GstPad *other)
  {
    GstPad *pad = gst_element_get_static_pad (elements, name);
    if (pad && GST_PAD_IS_SINK (pad))
      gst_pad_link (other, pad);
    else if (pad)
      gst_pad_link (pad, other);
    gst_clear_object (&pad);
  }

  GstElement *elements;
  GstBus *bus;
  GstPad *source, *sink;
};

/* A compiler's log has several lines, but a verdict has only one. */
std::string
first_line (const std::string &text)
{
  return text.substr (0, text.find ('\n'));
}
} // namespace

Processed
process_buffer (const std::string &description, const std::string &caps,
    const Bytes &input, Bytes &output, std::string &error)
{
  GError *reason = nullptr;
  GstElement *elements =
      gst_parse_bin_from_description (description.c_str (), TRUE, &reason);
  if (!elements || reason) {
    error = reason ? reason->message : "no elements";
    g_clear_error (&reason);
    gst_clear_object (&elements);
    return Processed::missing;
  }
  gst_object_ref_sink (elements);
  Chain chain (elements, output);
  const bool pushed = chain.push (caps, input);
  reason = chain.error ();
  if (pushed && !reason && !output.empty ())
    return Processed::yes;
  const bool builds =
      !g_error_matches (reason, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_INIT);
  error = reason ? first_line (reason->message) : "no output";
  g_clear_error (&reason);
  return builds ? Processed::failed : Processed::unbuilt;
}
} // namespace opencl
