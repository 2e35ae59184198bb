/* Base class of parsers that output the frames of a recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/framerate.hpp>

#include "recording.hpp"

namespace oct {
struct RecordingParseWork;
}

/* Reads frames at random positions if the source supports it, with seeks and reverse
 * playback. Otherwise it takes buffers of any size, if recordings have a RawLayout. */
struct GstOctRecordingParse {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;
  oct::RecordingParseWork *work;
};

struct GstOctRecordingParseClass {
  GstElementClass parent_class;

  /* Returns a recording that is not open, or null with an error. */
  std::unique_ptr<oct::Recording> (*make_recording) (
      GstOctRecordingParse *self, GError **error);
  opencl::Framerate (*get_framerate) (GstOctRecordingParse *self);
};

GType gst_oct_recording_parse_get_type ();
