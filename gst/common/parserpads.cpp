/* Pads of parsers that pull from sources with random access
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "parserpads.hpp"

namespace opencl {
gboolean
activate_parser_pad (GstPad *sink, GstObject *)
{
  GstQuery *query = gst_query_new_scheduling ();
  const bool pull = gst_pad_peer_query (sink, query)
                    && gst_query_has_scheduling_mode_with_flags (
                        query, GST_PAD_MODE_PULL, GST_SCHEDULING_FLAG_SEEKABLE);

  gst_query_unref (query);
  return gst_pad_activate_mode (sink, pull ? GST_PAD_MODE_PULL : GST_PAD_MODE_PUSH, TRUE);
}

void
push_parser_stream_start (GstElement *parser, GstPad *sink, GstPad *src)
{
  gchar *id = gst_pad_create_stream_id (src, parser, nullptr);
  GstEvent *event = gst_event_new_stream_start (id);
  GstEvent *upstream = gst_pad_get_sticky_event (sink, GST_EVENT_STREAM_START, 0);
  guint group = gst_util_group_id_next ();

  if (upstream)
    gst_event_parse_group_id (upstream, &group);
  gst_clear_event (&upstream);
  gst_event_set_group_id (event, group);
  gst_pad_push_event (src, event);
  g_free (id);
}

GstFlowReturn
push_first_frame (GstPad *src, GstBuffer *frame)
{
  GstFlowReturn flow = gst_pad_push (src, gst_buffer_ref (frame));
  for (guint n = 0; n < 50 && flow == GST_FLOW_NOT_LINKED; n++) {
    g_usleep (10000);
    flow = gst_pad_push (src, gst_buffer_ref (frame));
  }
  gst_buffer_unref (frame);
  return flow;
}
} // namespace opencl
