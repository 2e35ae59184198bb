/* Random access to the bytes of a recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/regularfile.hpp>

namespace oct {
class ByteSource {
public:
  virtual ~ByteSource () = default;

  virtual guint64 size () const = 0;
  /* Reads `size` bytes from `offset` on. `done` is less only at the end. */
  virtual bool read (
      guint64 offset, void *data, gsize size, gsize &done, GError **error) = 0;
};

class FileSource : public ByteSource {
public:
  bool open (const char *path, GError **error) { return file.open (path, error); }
  guint64 size () const override { return file.size (); }
  bool read (guint64 offset, void *data, gsize size, gsize &done, GError **error) override
  {
    return file.seek (offset, error) && file.read (data, size, done, error);
  }

private:
  opencl::RegularFile file;
};
} // namespace oct
