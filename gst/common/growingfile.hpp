/* File with a header that is written frame by frame
 *
 * The file has a temporary name until it is complete. The header of a growing file counts
 * the frames that are written, so that the file can be read after each frame, even after
 * a crash.
 *
 * Not installed: public headers contain no C++ types.
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
  /* Makes the header for `frames` frames of equal size. Returns false with an error if
   * the file format has no such header. */
  using MakeHeader =
      std::function<bool (guint64 frames, std::string &header, GError **error)>;

  GrowingFile () = default;
  ~GrowingFile () { abandon (); }
  GrowingFile (const GrowingFile &) = delete;
  GrowingFile &operator= (const GrowingFile &) = delete;

  /* Creates a temporary file beside the target of `location`, with symbolic links
   * resolved. finish() replaces an existing file; its mode and, where possible, its owner
   * are kept. Fails if the target exists and is not a regular file. Errors name the file.
   * The temporary name ends with `suffix`, for programs that check the extension. A file
   * that is not growing has one frame. */
  bool create (const std::string &location, const std::string &suffix,
      MakeHeader make_header, bool growing, GError **error);
  /* On failure, the frames written before stay readable. */
  bool append (const guint8 *data, gsize size, GError **error);
  /* Renames the temporary file to its target. */
  bool finish (GError **error);
  /* Deletes the temporary file, but keeps a growing file that has frames. */
  void abandon ();

  bool is_open () const { return descriptor >= 0; }
  guint64 frames () const { return written; }

private:
  bool create_temporary (const std::string &suffix, GError **error);
  bool write_at (guint64 offset, const void *data, gsize size, GError **error);
  bool write_frame (const guint8 *data, gsize size, GError **error);

  int descriptor = -1;
  std::string location, target, temporary; /* target: location without symbolic links */
  MakeHeader make_header;
  bool growing = false;
  guint64 written = 0; /* frames */
  guint64 end = 0;     /* of the last complete frame, in bytes */
};

/* Writes `bytes` to a new file, or replaces the file, as GrowingFile does. */
bool write_file (const std::string &location, const std::string &bytes, GError **error);
} // namespace opencl
