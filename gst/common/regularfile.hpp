/* Reads regular files, and resolves the names of files to write
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace opencl {
/* Resolves symbolic links in the name of a file that will be created or replaced.
 * `target` is the file itself, which need not exist. Fails for a folder, a FIFO, a device
 * … The error names `path`. */
bool resolve_target (const std::string &path, std::string &target, GError **error);

/* Reads a file, from its beginning unless seek() is called. */
class RegularFile {
public:
  RegularFile () = default;
  ~RegularFile ();
  RegularFile (const RegularFile &) = delete;
  RegularFile &operator= (const RegularFile &) = delete;

  /* Opens the file; call it only once. Fails for a folder, a pipe, a device … The error
   * does not name the path. With `is_private`, also fails for a symbolic link and for a file
   * that another user may have written. */
  bool open (const char *path, GError **error, bool is_private = false);
  guint64 size () const { return bytes; }

  /* Reads the next `size` bytes. `done` is less only at the end of the file. */
  bool read (void *data, gsize size, gsize &done, GError **error);
  /* Sets the position of the next read. */
  bool seek (guint64 offset, GError **error);
  bool rewind (GError **error) { return seek (0, error); }

private:
  int descriptor = -1;
  guint64 bytes = 0;
};

/* Reads a whole file of up to 2 GiB. The error names the path. */
bool read_file (const std::string &path, std::string &contents, GError **error,
    bool is_private = false);

/* For caches. Returns false for a folder that another user may write, and logs why. It need
 * not exist. */
bool is_private_folder (const std::string &folder);

/* Read and write a file in such a folder, which is made if needed. They log why they
 * fail. */
bool read_private_file (const std::string &path, std::string &contents);
bool write_private_file (const std::string &path, const std::string &contents);

/* Returns the SHA-256 in hexadecimal digits, which names such files. */
std::string checksum_of (const void *bytes, gsize size);
} // namespace opencl
