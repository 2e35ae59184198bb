/* A .npy file that is written frame by frame
 *
 * It has a temporary name until it is whole. A growing file, whose outermost dimension
 * counts the frames, is whole after each frame as well: its header counts those that are
 * written, so that what a crash leaves behind can be read.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/arrayformat.hpp>

namespace npy {
/* Of a frame. */
struct FrameFormat {
  opencl::NumberType type;
  bool complex = false;
  std::vector<gsize> shape;

  bool operator== (const FrameFormat &other) const
  {
    return type == other.type && complex == other.complex && shape == other.shape;
  }
  bool operator!= (const FrameFormat &other) const { return !(*this == other); }
};

class ArrayFile {
public:
  ArrayFile () = default;
  ~ArrayFile () { abandon (); }
  ArrayFile (const ArrayFile &) = delete;
  ArrayFile &operator= (const ArrayFile &) = delete;

  /* Errors name the file. */
  bool create (const std::string &location, const FrameFormat &format, bool growing,
      GError **error);
  /* What was written before stays readable where this fails. */
  bool append (const guint8 *data, gsize size, GError **error);
  /* Gives it its name. */
  bool finish (GError **error);
  /* Leaves a growing file that has frames under its temporary name. */
  void abandon ();

  bool is_open () const { return descriptor >= 0; }
  guint64 frames () const { return written; }

private:
  bool write_at (guint64 offset, const void *data, gsize size, GError **error);
  std::string header_of (guint64 frames) const;

  int descriptor = -1;
  std::string location, temporary;
  FrameFormat format = {};
  bool growing = false;
  guint64 written = 0; /* frames */
  guint64 end = 0;     /* of what is whole, in bytes */
};
} // namespace npy
