/* Base class of parsers that split a stream of bytes into frames, with timestamps and seeks
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementerror.hpp>
#include <gst/common/platform.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opencl {
/* Timestamps of frames at a fixed frame rate */
struct Framerate {
  int n;
  int d;

  bool is_fixed () const { return n > 0; }
  GstClockTime time_of (guint64 frame) const
  {
    return gst_util_uint64_scale (frame, guint64 (d) * GST_SECOND, n);
  }
  guint64 frame_at (GstClockTime time) const
  {
    guint64 frame = gst_util_uint64_scale (time, n, guint64 (d) * GST_SECOND);
    /* time_of() rounds down, too. */
    return time_of (frame + 1) <= time ? frame + 1 : frame;
  }
  /* Returns the first frame that begins at `time` or later. */
  guint64 frame_from (GstClockTime time) const
  {
    return time == 0 ? 0 : frame_at (time - 1) + 1;
  }
};

/* Frames of equal size behind a header, such as those of one file in a stream of several */
class FrameRun {
public:
  /* Number of frames and of bytes of a run that has no known end */
  static constexpr guint64 endless = G_MAXINT64;

  virtual ~FrameRun () = default;

  /* Returns the caps of a frame, without a framerate. (transfer full) */
  virtual GstCaps *make_caps () const = 0;
  /* Reads a frame from a source with random access. `done` is less than `frame_bytes` only
   * at the end of the source. */
  virtual bool read (
      ByteSource &source, guint64 frame, guint8 *bytes, gsize &done, GError **error)
  {
    return source.read (offset_of (frame), bytes, frame_bytes, done, error);
  }
  /* Converts the bytes of a frame to those of its buffer. Both are the same memory if they
   * have the same size. */
  virtual void convert (const guint8 *, guint8 *) {}
  /* Adds metas to the buffer of a frame. */
  virtual void describe (GstBuffer *, guint64) const {}

  guint64 end () const { return offset + bytes; }
  guint64 end_frame () const { return first_frame + frames; }
  guint64 offset_of (guint64 frame) const
  {
    return offset + header_bytes + (frame - first_frame) * frame_bytes;
  }

  guint64 frames = 0;
  guint64 header_bytes = 0;
  gsize frame_bytes = 0;  /* in the stream */
  gsize output_bytes = 0; /* in a buffer */
  guint64 bytes = 0;      /* of the header and all frames */
  bool is_only = false;   /* run of its stream */
  std::string layout;     /* of a frame, for errors; may be empty */

  /* Set by the parser */
  guint64 offset = 0;      /* of the header in the stream */
  guint64 first_frame = 0; /* its number in the stream */
};
using SharedRun = std::shared_ptr<FrameRun>;

/* Segment of a seek, and its position in the stream */
struct PlannedSeek {
  GstSegment segment;
  guint64 begin;         /* first frame of the segment */
  guint64 frame, offset; /* where to go on; in reverse playback, the end of the frames */
  GstSeekFlags flags;
  guint32 seqnum;
};

/* The streaming thread changes the timeline. Other threads query it and seek. */
class FrameTimeline {
public:
  explicit FrameTimeline (GstPad *sinkpad) : sinkpad (sinkpad) { reset (); }

  /* For the streaming thread, which changes members only by set() */
  template <typename T> void set (T &member, T value)
  {
    const std::lock_guard<std::mutex> guard (lock);
    member = std::move (value);
  }
  void reset ();
  /* Sets the position to the end of a frame. A seek without a flush continues there. */
  void set_position (GstBuffer *buffer);
  /* Moves the position to the end of the segment, and returns it. */
  gint64 end_segment ();

  Framerate framerate = {0, 1};
  SharedRun first; /* run of the stream */
  GstSegment segment;
  GstFormat upstream_format = GST_FORMAT_UNDEFINED;

  /* For any thread */
  bool is_pulling () const;
  bool is_upstream (GstFormat format) const;
  bool get_size (guint64 *bytes) const;
  /* Returns -1 for an unknown duration. */
  gint64 duration (GstFormat format) const;
  /* Answers queries for duration, position and seeking. */
  bool answer (GstQuery *query) const;
  /* Finds the frames and bytes of a seek in time. Returns none if it is not possible. */
  std::optional<PlannedSeek> plan (GstEvent *seek) const;

  /* Keeps a seek until upstream has sent its segment. */
  void request (const std::optional<PlannedSeek> &seek) { set (requested, seek); }
  /* Returns the requested seek if the event of this number begins its segment. That of an
   * earlier seek may arrive after the next one was requested. */
  std::optional<PlannedSeek> take_requested (guint32 seqnum);

private:
  bool count (guint64 *frames) const;
  bool answer_duration (GstQuery *query) const;
  bool answer_position (GstQuery *query) const;
  bool answer_seeking (GstQuery *query) const;
  void find_frames (PlannedSeek &seek, guint64 total) const;

  GstPad *const sinkpad;
  mutable std::mutex lock;
  std::optional<PlannedSeek> requested;
};

class FrameParser;
} // namespace opencl

/* The parser reads frames at random positions if the source supports it. Otherwise it
 * collects buffers of any size. It has a position, a duration and seeks in time. Frames are
 * copied into downstream's pool, which for pinned memory saves a copy in the upload. */
struct GstFrameParser {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;
  opencl::FrameParser *parser;
};

/* A derived class has a property `framerate`, for streams whose caps have none. */
struct GstFrameParserClass {
  GstElementClass parent_class;

  /* (nullable): for parsers of streams with headers. Returns the size of a header as far as
   * its first bytes tell, of which 16 are enough. */
  gsize (*get_header_size) (const guint8 *bytes, gsize size);
  /* A buffer that begins with these bytes begins a header. */
  std::string_view magic;

  /* Returns the run that the header at a position begins, or null after
   * gst_frame_parser_fail(). `source` is null if the source pushes. Without
   * get_header_size(), the whole stream is one run. */
  opencl::SharedRun (*parse_header) (GstFrameParser *self, guint64 position,
      const guint8 *bytes, gsize size, const std::shared_ptr<opencl::ByteSource> &source);
};

/* Each plugin has its own copy of the class, and registers it under a name of its own. */
GType gst_frame_parser_get_type (const char *name);

/* Posts one error per stream, unless the source has posted one, is flushing or was ended
 * early. Takes ownership of `error`. */
void gst_frame_parser_fail (GstFrameParser *self, GError *error,
    const opencl::Place &place = opencl::Place::here ());
