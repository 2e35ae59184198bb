/* Writes frames of video, OCT data and arrays to files, for sinks
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/common/growingfile.hpp>
#include <gst/video/video.h>

namespace opencl {
/* Component type and shape of a frame */
struct FrameFormat {
  NumberType type = NumberType::f32;
  bool complex = false;
  std::vector<gsize> shape;

  gsize bytes () const { return ArrayFormat{type, shape}.bytes () * (complex ? 2 : 1); }
  bool operator== (const FrameFormat &other) const
  {
    return type == other.type && complex == other.complex && shape == other.shape;
  }
  bool operator!= (const FrameFormat &other) const { return !(*this == other); }
};

/* The streaming thread's side of a sink: one file that grows with each frame, or where the
 * location has a `%d` in it one for each frame. Failures become one element error. */
class Recording {
public:
  /* The header of a file of frames of `format`: of so many, or of one that stands alone. */
  using MakeHeader = std::function<bool (const FrameFormat &format, bool growing,
      guint64 frames, std::string &header, GError **error)>;

  /* `suffix` is that of a file that is not whole yet. */
  Recording (GstElement *sink, const std::string &location, const std::string &suffix,
      MakeHeader make_header)
      : sink (sink), location (location), suffix (suffix),
        make_header (std::move (make_header))
  {
  }

  Recording (const Recording &) = delete;
  virtual ~Recording () = default;

  /* Fails, with an element error, where the location is not that of a regular file. */
  bool start ();
  virtual bool set_caps (GstCaps *caps);
  GstFlowReturn render (GstBuffer *buffer);
  /* Finishes the file. */
  void finish ();
  /* One error for a stream; what comes after it is refused. Takes @error. */
  GstFlowReturn fail (GError *error);

private:
  bool read_caps (GstCaps *caps, FrameFormat &format, GError **error);
  bool write_video (GstBuffer *buffer, GError **error);
  bool write_array (GstBuffer *buffer, GError **error);
  bool write_frame (const guint8 *data, gsize size, GError **error);

  GstElement *const sink;
  const std::string location, suffix;
  const MakeHeader make_header;
  FrameFormat format;
  bool is_video = false;
  GstVideoInfo info;
  GrowingFile file;
  std::vector<guint8> rows; /* of a frame whose lines stand apart */
  guint frames = 0;
  bool failed = false;
};

/* From the last point of a file's name on, or empty. */
std::string extension_of (const std::string &location);
} // namespace opencl
