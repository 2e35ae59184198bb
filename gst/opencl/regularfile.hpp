/* A file of a disk, read from its beginning: nothing that blocks, or never ends
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
class RegularFile {
public:
  RegularFile () = default;
  ~RegularFile ();
  RegularFile (const RegularFile &) = delete;
  RegularFile &operator= (const RegularFile &) = delete;

  /* Fails for a folder, a pipe, a device, …; once. The error does not name the path. */
  bool open (const char *path, GError **error);
  guint64 size () const { return bytes; }

  /* As many of the next `size` bytes as there are: fewer only at the end. */
  bool read (void *data, gsize size, gsize &done, GError **error);
  bool rewind (GError **error);

private:
  int descriptor = -1;
  guint64 bytes = 0;
};
} // namespace opencl
