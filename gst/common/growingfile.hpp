/* A file of a header and frames, that is written frame by frame
 *
 * It has a temporary name until it is whole. A growing file, whose header counts the
 * frames, is whole after each frame as well: it counts those that are written, so that what
 * a crash leaves behind can be read.
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <functional>
#include <string>

namespace opencl {
class GrowingFile {
public:
  /* Writes the header for `frames` frames of equal size. Returns false with an error
   * if there are none */
  using MakeHeader =
      std::function<bool (guint64 frames, std::string &header, GError **error)>;

  GrowingFile () = default;
  ~GrowingFile () { abandon (); }
  GrowingFile (const GrowingFile &) = delete;
  GrowingFile &operator= (const GrowingFile &) = delete;

  /* Creates the temporary file, beside the file that `location` names or links to. A file
   * that exists is replaced by finish() and keeps its mode and, where possible, its owner.
   * Fails where it is not a regular file. Errors name the file. The temporary name ends with
   * `suffix`, for readers that look at that. One that does not grow is of one frame. */
  bool create (const std::string &location, const std::string &suffix,
      MakeHeader make_header, bool growing, GError **error);
  /* On failure, the frames written before stay readable. */
  bool append (const guint8 *data, gsize size, GError **error);
  /* Gives it its name. */
  bool finish (GError **error);
  /* Leaves a growing file that has frames under its temporary name. */
  void abandon ();

  bool is_open () const { return descriptor >= 0; }
  guint64 frames () const { return written; }

private:
  bool create_temporary (const std::string &suffix, GError **error);
  bool write_at (guint64 offset, const void *data, gsize size, GError **error);
  bool write_frame (const guint8 *data, gsize size, GError **error);

  int descriptor = -1;
  std::string location, target, temporary; /* target: behind symbolic links */
  MakeHeader make_header;
  bool growing = false;
  guint64 written = 0; /* frames */
  guint64 end = 0;     /* of what is whole, in bytes */
};

/* Creates a file of these bytes, or replaces it, as GrowingFile does. */
bool write_file (const std::string &location, const std::string &bytes, GError **error);
} // namespace opencl
