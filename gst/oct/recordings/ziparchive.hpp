/* Reads the entries of a zip archive, in pieces of any size
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <gst/common/platform.hpp>

typedef struct zip zip_t;
typedef struct zip_file zip_file_t;

namespace oct {
using opencl::ByteSource;

/* Nothing is extracted to disk, so that names are only keys. They are compared with
 * forward slashes. The memory does not depend on the sizes that an archive states. */
class ZipArchive {
public:
  struct Entry {
    guint64 index;
    guint64 size; /* as the archive states it */
  };

  ZipArchive ();
  ~ZipArchive ();
  ZipArchive (const ZipArchive &) = delete;
  ZipArchive &operator= (const ZipArchive &) = delete;

  /* Reads the directory. Fails if entries overlap or have the same name. */
  bool open (std::shared_ptr<ByteSource> source, GError **error);

  /* Returns the entry of that name, or null. */
  const Entry *find (const std::string &name) const;

private:
  friend class ZipReader;
  class Callback;

  bool index_entries (GError **error);
  bool fail (GError **error, const std::string &what, const std::string &reason) const;

  std::unique_ptr<Callback> callback;
  zip_t *archive = nullptr;
  guint64 bytes = 0;
  std::unordered_map<std::string, Entry> entries;
};

/* Reads one entry from its beginning. The archive must outlive it. */
class ZipReader {
public:
  explicit ZipReader (const ZipArchive &archive) : archive (archive) {}
  ~ZipReader () { close (); }
  ZipReader (const ZipReader &) = delete;
  ZipReader &operator= (const ZipReader &) = delete;

  bool open (const std::string &name, GError **error);
  void close ();
  bool is_open () const { return file != nullptr; }
  guint64 position () const { return at; }

  /* Reads exactly `size` bytes. At the end of the entry, also checks its checksum. */
  bool read (void *data, gsize size, GError **error);
  bool skip (guint64 size, GError **error);

private:
  bool fail (GError **error, const std::string &reason) const;
  bool check_end (GError **error);

  const ZipArchive &archive;
  std::string name;
  zip_file_t *file = nullptr;
  guint64 at = 0, size = 0;
};
} // namespace oct
