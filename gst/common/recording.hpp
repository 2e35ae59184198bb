/* Writes frames of video, OCT data and arrays to files, for sinks
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/common/elementerror.hpp>
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

/* Writes one file that grows with each frame, or one file a frame if the location has a
 * `%d`. Runs in the streaming thread of a sink. Posts a failure as one element error. */
class Recording {
public:
  /* Makes the header of a growing file with `frames` frames of `format`, or of a file
   * with a single frame. */
  using MakeHeader = std::function<bool (const FrameFormat &format, bool growing,
      guint64 frames, std::string &header, GError **error)>;

  /* The temporary name of an incomplete file ends with `suffix`. With `joins_arrays`, a
   * growing file joins arrays that are shorter than the first one along their outermost
   * length. */
  Recording (GstElement *sink, const std::string &location, const std::string &suffix,
      MakeHeader make_header, bool joins_arrays = false)
      : sink (sink), location (location), suffix (suffix),
        make_header (std::move (make_header)), joins_arrays (joins_arrays)
  {
  }

  Recording (const Recording &) = delete;
  virtual ~Recording () = default;

  /* Fails with an element error if the location exists and is not a regular file. */
  bool start ();
  virtual bool set_caps (GstCaps *caps);
  GstFlowReturn render (GstBuffer *buffer);
  /* Completes the growing file. */
  void finish ();
  /* Finishes at EOS, with a WARNING if no frame has arrived. */
  void end ();
  /* Posts `error` and refuses all later frames. Takes ownership of `error`. */
  GstFlowReturn fail (GError *error, const Place &place = Place::here ());

private:
  bool read_caps (GstCaps *caps, FrameFormat &format, GError **error);
  bool write_video (GstBuffer *buffer, GError **error);
  bool write_array (GstBuffer *buffer, GError **error);
  bool write_frame (const guint8 *data, gsize size, GError **error);

  GstElement *const sink;
  const std::string location, suffix;
  const MakeHeader make_header;
  const bool joins_arrays;
  FrameFormat format, first; /* of the current and of the first frame */
  bool is_video = false;
  GstVideoInfo info;
  GrowingFile file;
  std::vector<guint8> rows; /* packed copy of a frame with padding */
  guint frames = 0;
  guint64 elements = 0; /* outermost lengths of all frames */
  bool joined = false;
  bool failed = false;
};

/* Returns the extension of a file name, with its point, or an empty string. */
std::string extension_of (const std::string &location);
} // namespace opencl
