/* Frames that a parser outputs, with their time and place in the scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "scantext.hpp"

namespace check {
struct PlayedFrame {
  std::string bytes;
  GstClockTime time;
  GstClockTime duration;
  std::string scan;
};

inline PlayedFrame
played_frame (GstBuffer *buffer)
{
  const Bytes bytes = read_buffer (buffer);
  return {std::string (bytes.begin (), bytes.end ()), GST_BUFFER_PTS (buffer),
      GST_BUFFER_DURATION (buffer), scan_text (buffer)};
}

/* Plays a parser into an appsink. */
struct FramePlayer : Pipeline {
  explicit FramePlayer (const std::string &line)
      : Pipeline (line + " ! appsink name=out sync=false max-buffers=2")
  {
  }

  /* Returns `most` frames, or all until EOS. */
  std::vector<PlayedFrame> frames (gsize most = G_MAXSIZE)
  {
    std::vector<PlayedFrame> frames;
    while (frames.size () < most) {
      Owned<GstSample> sample = pull ();
      if (!sample)
        break;
      frames.push_back (played_frame (gst_sample_get_buffer (sample)));
    }
    return frames;
  }

  bool seek (double rate, GstSeekFlags flags, GstClockTime start, GstClockTime stop)
  {
    return gst_element_seek (*this, rate, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET,
        gint64 (start), GST_SEEK_TYPE_SET, gint64 (stop));
  }

  std::string caps ()
  {
    Owned<GstCaps> caps = gst_pad_get_current_caps (pad ("out", "sink"));
    Owned<gchar> text = gst_caps_to_string (caps);
    return std::string (text);
  }
};

/* Plays until EOS or an error, and returns the frames up to then. */
inline std::vector<PlayedFrame>
play_frames (const std::string &line, Outcome &outcome)
{
  std::vector<PlayedFrame> frames;
  Pipeline pipeline (line + " ! fakesink name=out sync=false");
  watch (pipeline.pad ("out", "sink"), GST_PAD_PROBE_TYPE_BUFFER,
      [&] (GstPadProbeInfo *info) {
        frames.push_back (played_frame (GST_PAD_PROBE_INFO_BUFFER (info)));
        return GST_PAD_PROBE_OK;
      });
  outcome = pipeline.play ();
  pipeline.set_state (GST_STATE_NULL);
  return frames;
}

inline void
expect_played (const std::vector<PlayedFrame> &frames,
    const std::vector<std::string> &expected, const std::string &label = "")
{
  expect_equal (frames.size (), expected.size (), label);
  for (gsize n = 0; n < frames.size (); n++)
    fail_unless (
        frames[n].bytes == expected[n], "%s: frame %zu differs", label.c_str (), n);
}
} // namespace check
