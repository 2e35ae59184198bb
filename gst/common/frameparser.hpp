/* Base class of parsers that split a stream of bytes into frames
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementerror.hpp>
#include <gst/common/frametimeline.hpp>

#include <string_view>

namespace opencl {
class FrameParser;

/* Position at which the bytes of a stream end, or cannot be continued */
struct StreamEnd {
  const char *cause; /* such as "the stream ends" */
  guint64 position;
  const FrameRun *run;           /* (nullable): null within a header */
  gsize header_bytes, available; /* size of that header as far as known, and its bytes */
};
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

/* A function that fails calls gst_frame_parser_fail(). */
struct GstFrameParserClass {
  GstElementClass parent_class;

  /* (nullable): for parsers of streams with headers. Returns the size of a header as far as
   * its first bytes tell, of which 16 are enough. */
  gsize (*get_header_size) (const guint8 *bytes, gsize size);
  /* A buffer that begins with these bytes begins a header. */
  std::string_view magic;

  /* Returns the run that the header at a position begins, or null after a failure. `source`
   * is null if the source pushes. Without get_header_size(), the whole stream is one run. */
  opencl::SharedRun (*parse_header) (GstFrameParser *self, guint64 position,
      const guint8 *bytes, gsize size, const std::shared_ptr<opencl::ByteSource> &source);
  /* Returns whether the stream may end there, or fails. */
  bool (*check_end) (GstFrameParser *self, const opencl::StreamEnd &end);
  /* Returns the framerate of streams whose caps have none. */
  opencl::Framerate (*get_framerate) (GstFrameParser *self);
  /* (nullable): forgets what is known of the last stream. */
  void (*reset) (GstFrameParser *self);
};

/* Each plugin has its own copy of the class, and registers it under a name of its own. */
GType gst_frame_parser_get_type (const char *name);

/* Posts one error per stream, unless the source has posted one, is flushing or was ended
 * early. Takes ownership of `error`. */
void gst_frame_parser_fail (GstFrameParser *self, GError *error,
    const opencl::Place &place = opencl::Place::here ());

/* get_framerate() of an element whose settings have a member `framerate` */
template <typename Element>
opencl::Framerate
gst_frame_parser_get_framerate (GstFrameParser *self)
{
  const auto wanted = reinterpret_cast<Element *> (self)->settings->committed ();
  return {wanted.framerate.numerator, wanted.framerate.denominator};
}

/* Returns the size of the stream in bytes, or false if it is not known. */
bool gst_frame_parser_get_stream_size (GstFrameParser *self, guint64 *size);
