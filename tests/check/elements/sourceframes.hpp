/* Pipelines of an octtestsrc, and their frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>
#include <vector>

#include "tests/check/harness.hpp"
#include <gst/app/gstappsink.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/video.h>

namespace check {
const char device_caps[] = "video/x-raw(memory:OpenCLMemory)";
const char system_caps[] = "video/x-raw";

struct SourceFrame {
  guint width, height;
  gint stride;
  bool device_memory, host_memory, has_meta;
  GstClockTime pts, duration;
  guint64 offset;
  std::vector<guint16> samples; /* A-line after A-line, without padding */

  guint16 at (guint line, guint sample) const { return samples[line * width + sample]; }
};

inline SourceFrame
frame_of_sample (GstSample *sample)
{
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstVideoInfo info;
  GstVideoFrame mapped;
  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  fail_unless (gst_video_frame_map (&mapped, &info, buffer, GST_MAP_READ));

  SourceFrame frame = {};
  frame.width = GST_VIDEO_FRAME_WIDTH (&mapped);
  frame.height = GST_VIDEO_FRAME_HEIGHT (&mapped);
  frame.stride = GST_VIDEO_FRAME_PLANE_STRIDE (&mapped, 0);
  frame.device_memory = gst_is_opencl_memory (memory);
  frame.host_memory = gst_is_opencl_host_memory (memory);
  frame.has_meta = gst_buffer_get_video_meta (buffer) != nullptr;
  frame.pts = GST_BUFFER_PTS (buffer);
  frame.duration = GST_BUFFER_DURATION (buffer);
  frame.offset = GST_BUFFER_OFFSET (buffer);
  for (guint line = 0; line < frame.height; line++) {
    auto *bytes = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&mapped, 0));
    for (guint j = 0; j < frame.width; j++)
      frame.samples.push_back (GST_READ_UINT16_LE (bytes + line * frame.stride + 2 * j));
  }
  gst_video_frame_unmap (&mapped);
  return frame;
}

/* A pipeline of an octtestsrc named "source" and an appsink */
class SourcePipeline : public Pipeline {
public:
  SourcePipeline (const std::string &properties, const std::string &caps)
      : Pipeline ("octtestsrc name=source " + properties
                  + " ! capsfilter name=filter caps=\"" + caps
                  + "\" ! appsink name=sink sync=false max-buffers=2"),
        source ((*this)["source"]), filter ((*this)["filter"]), sink ((*this)["sink"])
  {
  }

  /* Returns the next frame; false at EOS and after an error. */
  bool pull (SourceFrame &frame)
  {
    const Owned<GstSample> sample = Pipeline::pull ("sink");
    if (sample)
      frame = frame_of_sample (sample);
    return sample != nullptr;
  }

  /* Waits for an error, stops, and returns all errors. */
  std::vector<std::string> errors_when_stopped ()
  {
    GstMessage *first =
        gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND, GST_MESSAGE_ERROR);
    fail_unless (first != nullptr);
    gst_bus_post (bus, first);
    gst_element_set_state (pipeline, GST_STATE_READY);
    /* An appsink keeps EOS until it is in NULL. */
    gst_element_set_state (sink, GST_STATE_NULL);
    return messages ().errors;
  }

  /* Owned by the pipeline */
  GstElement *const source, *const filter, *const sink;
};

inline std::string
sized (const char *caps, guint width, guint height, const char *framerate = "30/1")
{
  return std::string (caps) + ",width=" + std::to_string (width)
         + ",height=" + std::to_string (height) + ",framerate=" + framerate;
}

inline std::vector<SourceFrame>
frames_of (const std::string &properties, const std::string &caps, guint n)
{
  SourcePipeline pipeline (properties + " num-buffers=" + std::to_string (n), caps);
  std::vector<SourceFrame> frames;
  SourceFrame frame;
  pipeline.start ();
  while (pipeline.pull (frame))
    frames.push_back (frame);
  for (const std::string &error : pipeline.messages ().errors)
    ck_abort_msg ("%s", error.c_str ());
  fail_unless_equals_int (frames.size (), n);
  return frames;
}

/* Settings that are refused, and what the message names and expects */
struct BadSettings {
  const char *properties, *named, *expected;
};

/* Expects that a pipeline with these settings posts one error that says so. */
inline void
expect_refused (SourcePipeline &pipeline, const BadSettings &bad)
{
  pipeline.start ();
  const auto errors = pipeline.errors_when_stopped ();
  fail_unless_equals_int (errors.size (), 1);
  for (const char *said : {bad.named, bad.expected})
    fail_unless (errors[0].find (said) != std::string::npos, "%s", errors[0].c_str ());
}

inline SourceFrame
frame_of (const std::string &properties, guint width, guint height)
{
  return frames_of (properties, sized (device_caps, width, height), 1)[0];
}
} // namespace check
