/* Bytes of a stream, pulled through a pad
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/platform.hpp>

namespace opencl {
class PadSource : public ByteSource {
public:
  explicit PadSource (GstPad *pad) : pad (pad) {}

  guint64 size () const override
  {
    gint64 bytes = 0;
    return gst_pad_peer_query_duration (pad, GST_FORMAT_BYTES, &bytes) && bytes > 0
               ? guint64 (bytes)
               : 0;
  }
  /* Result of the last pull */
  GstFlowReturn flow () const { return last_flow; }
  bool has_failed () const
  {
    return last_flow != GST_FLOW_OK && last_flow != GST_FLOW_EOS;
  }
  /* Returns whether bytes are unread, as after a source that was stopped early. */
  bool has_ended_early () const
  {
    return last_flow == GST_FLOW_EOS && position < size ();
  }

  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **error) override
  {
    for (done = 0; done < size;) {
      gsize now = 0;
      last_flow = pull (offset + done, static_cast<guint8 *> (data) + done,
          MIN (size - done, most_bytes), now);
      done += now;
      position = offset + done;
      if (last_flow == GST_FLOW_EOS || (last_flow == GST_FLOW_OK && now == 0))
        return true;
      if (last_flow == GST_FLOW_OK)
        continue;
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "cannot read %" G_GSIZE_FORMAT " bytes at %" G_GUINT64_FORMAT ": %s", size,
          offset, gst_flow_get_name (last_flow));
      return false;
    }
    return true;
  }

private:
  /* Reads into the memory itself if upstream can. */
  GstFlowReturn pull (guint64 offset, guint8 *data, gsize size, gsize &done)
  {
    GstBuffer *buffer = gst_buffer_new_wrapped_full (
        GstMemoryFlags (0), data, size, 0, size, nullptr, nullptr);
    GstBuffer *filled = buffer;
    const GstFlowReturn flow = gst_pad_pull_range (pad, offset, guint (size), &filled);
    if (flow == GST_FLOW_OK && filled != buffer)
      done = gst_buffer_extract (filled, 0, data, size);
    else if (flow == GST_FLOW_OK)
      done = gst_buffer_get_size (buffer);
    if (filled != buffer && filled)
      gst_buffer_unref (filled);
    gst_buffer_unref (buffer);
    return flow;
  }

  static constexpr gsize most_bytes = 1 << 30;

  GstPad *pad;
  guint64 position = 0;
  GstFlowReturn last_flow = GST_FLOW_OK;
};
} // namespace opencl
