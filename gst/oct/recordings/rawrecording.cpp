/* Recording that contains only samples, after an optional header
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "rawrecording.hpp"

namespace oct {
GstCaps *
RawLayout::make_caps () const
{
  return gst_caps_new_simple ("application/x-oct", "domain", G_TYPE_STRING, "wavelength",
      "format", G_TYPE_STRING, format->name, "samples", G_TYPE_INT, gint (samples),
      "lines", G_TYPE_INT, gint (lines), nullptr);
}

bool
check_raw_size (const RawLayout &layout, guint64 bytes, GError **error)
{
  const guint64 frame = layout.frame_bytes ();
  if (bytes < layout.header_bytes) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "the recording ends after %" G_GUINT64_FORMAT
        " bytes, expected a header of %" G_GUINT64_FORMAT " bytes",
        bytes, layout.header_bytes);
    return false;
  }
  const guint64 samples = bytes - layout.header_bytes;
  if (samples >= frame && samples % frame == 0)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
      "the recording ends in frame %" G_GUINT64_FORMAT ": only %" G_GUINT64_FORMAT
      " bytes available, expected %" G_GUINT64_FORMAT " (%u A-lines of %u samples, %s)",
      samples / frame + 1, samples % frame, frame, layout.background_lines + layout.lines,
      layout.samples, layout.format->name);
  return false;
}

RawRecording::RawRecording (const RawLayout &layout) : whole (layout)
{
  raw = layout.format;
  n_samples = layout.samples;
  n_lines = layout.lines;
}

bool
RawRecording::open (std::shared_ptr<ByteSource> from, GError **)
{
  source = std::move (from);
  if (source->size () > whole.header_bytes)
    n_frames = whole.frame_at (source->size ());
  return true;
}

bool
RawRecording::read (guint64 frame, guint8 *bytes, GError **error)
{
  const gsize size = frame_bytes ();
  const guint64 offset = whole.header_bytes + frame * size;
  gsize done = 0;
  return source->read (offset, bytes, size, done, error)
         && (done == size || check_raw_size (whole, offset + done, error));
}

bool
RawRecording::check_end (GError **error)
{
  return check_raw_size (whole, source->size (), error);
}
} // namespace oct
