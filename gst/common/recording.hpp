/* Writes frames of video, OCT data and arrays to files, for sinks
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasesink.h>
#include <gst/common/arrayformat.hpp>
#include <gst/common/elementerror.hpp>
#include <gst/common/platform.hpp>
#include <gst/video/video.h>

#include <functional>
#include <utility>

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

/* File with a header that is written frame by frame. It has a temporary name until it is
 * complete. The header of a growing file counts the frames that are written, so that the
 * file can be read after each frame, even after a crash. */
class GrowingFile {
public:
  /* Makes the header for `frames` frames of equal size. Returns false with an error if
   * the file format has no such header. */
  using MakeHeader =
      std::function<bool (guint64 frames, std::string &header, GError **error)>;

  GrowingFile () = default;
  ~GrowingFile () { abandon (); }
  GrowingFile (const GrowingFile &) = delete;
  GrowingFile &operator= (const GrowingFile &) = delete;

  /* Creates the file as TemporaryFile does. A file that is not growing has one frame. */
  bool create_file (const std::string &location, const std::string &suffix,
      MakeHeader make_header, bool growing, GError **error);
  /* On failure, the frames written before stay readable. */
  bool append (const guint8 *data, gsize size, GError **error);
  bool finish (GError **error) { return file.finish (growing, error); }
  /* Deletes the temporary file, but keeps a growing file that has frames. */
  void abandon () { file.close (!growing || written == 0); }

  bool is_open () const { return file.is_open (); }
  guint64 frames () const { return written; }

private:
  bool write_frame (const guint8 *data, gsize size, GError **error);

  TemporaryFile file;
  MakeHeader make_header;
  bool growing = false;
  guint64 written = 0; /* frames */
  guint64 end = 0;     /* of the last complete frame, in bytes */
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
  guint n_invalid = 0; /* frames in a row */
};

/* Returns the extension of a file name, with its point, or an empty string. */
std::string extension_of (const std::string &location);

/* Common GstBaseSink functions of the file sinks. `Sink` is an instance structure with a
 * member `recording`, which is null below PAUSED.
 * `make` creates the recording, or posts an error and returns null. A recording ends at
 * PAUSED to READY. It cannot use start() and stop(), which GstBaseSink calls at NULL to
 * READY and back. */
template <typename Sink, Recording *(*make) (Sink *)> struct RecordingSink {
  template <typename Class> static void install (Class *klass)
  {
    auto *element_class = GST_ELEMENT_CLASS (klass);
    auto *sink_class = GST_BASE_SINK_CLASS (klass);
    element_class->change_state = change_state;
    sink_class->event = event;
    sink_class->set_caps = set_caps;
    sink_class->propose_allocation = propose_allocation;
    sink_class->render = render;
  }

private:
  static Recording *&recording_of (gpointer sink)
  {
    return static_cast<Sink *> (sink)->recording;
  }

  /* Returns GstBaseSink's class, as no class derives from a recording sink. */
  static gpointer parent_of (gpointer sink)
  {
    return g_type_class_peek_parent (G_OBJECT_GET_CLASS (sink));
  }

  static bool begin (Recording *&recording, GstElement *element)
  {
    recording = make (static_cast<Sink *> (gpointer (element)));
    if (recording && !recording->start ())
      forget (recording);
    return recording != nullptr;
  }

  static void forget (Recording *&recording)
  {
    if (recording)
      recording->finish ();
    delete std::exchange (recording, nullptr);
  }

  static GstStateChangeReturn change_state (
      GstElement *element, GstStateChange transition)
  {
    Recording *&recording = recording_of (element);
    const bool begins = transition == GST_STATE_CHANGE_READY_TO_PAUSED;
    if (begins && !begin (recording, element))
      return GST_STATE_CHANGE_FAILURE;
    const GstStateChangeReturn result =
        GST_ELEMENT_CLASS (parent_of (element))->change_state (element, transition);
    if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
        || (begins && result == GST_STATE_CHANGE_FAILURE))
      forget (recording);
    return result;
  }

  /* The file is complete before the EOS message is posted. */
  static gboolean event (GstBaseSink *sink, GstEvent *event)
  {
    if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
      recording_of (sink)->end ();
    return GST_BASE_SINK_CLASS (parent_of (sink))->event (sink, event);
  }

  static gboolean set_caps (GstBaseSink *sink, GstCaps *caps)
  {
    return recording_of (sink)->set_caps (caps);
  }

  /* Accepts rows with padding. */
  static gboolean propose_allocation (GstBaseSink *, GstQuery *query)
  {
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
    return TRUE;
  }

  static GstFlowReturn render (GstBaseSink *sink, GstBuffer *buffer)
  {
    return recording_of (sink)->render (buffer);
  }
};
} // namespace opencl
