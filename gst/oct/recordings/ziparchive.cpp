/* Reads the entries of a zip archive, in pieces of any size
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "ziparchive.hpp"

#include <algorithm>
#include <cstring>
#include <zip.h>

namespace oct {
namespace {
/* Upper limit of the directory, which libzip keeps in memory: 160 000 entries of usual
 * names. */
const guint64 most_directory_bytes = 16 << 20;
const guint64 least_entry_bytes = 46;

std::string
text_of (const zip_error_t *error)
{
  /* zip_error_strerror() keeps its text in the error. */
  return zip_error_strerror (const_cast<zip_error_t *> (error));
}

guint64
little_endian (const guint8 *bytes, gsize count)
{
  guint64 value = 0;
  for (gsize n = count; n > 0; n--)
    value = value << 8 | bytes[n - 1];
  return value;
}

/* Size of a directory and number of its entries, as an end record states them */
struct DirectoryEnd {
  guint64 entries, bytes;

  bool is_plausible () const
  {
    return bytes <= most_directory_bytes && entries <= bytes / least_entry_bytes;
  }
};

/* Reads the zip64 end record that the locator before an end record points to. */
bool
read_zip64_end (ByteSource &source, const guint8 *locator, DirectoryEnd &end)
{
  guint8 record[56];
  gsize done = 0;
  if (memcmp (locator, "PK\6\7", 4) != 0
      || !source.read (
          little_endian (locator + 8, 8), record, sizeof record, done, nullptr)
      || done < sizeof record || memcmp (record, "PK\6\6", 4) != 0)
    return false;
  end = {little_endian (record + 32, 8), little_endian (record + 40, 8)};
  return true;
}

/* Checks the size of the directory before libzip reads it into memory. A comment may
 * contain further end records, of which libzip takes any. */
bool
check_directory (ByteSource &source, GError **error)
{
  const gsize record = 22, locator = 20;
  const gsize wanted =
      gsize (std::min<guint64> (source.size (), 65535 + record + locator));
  std::vector<guint8> tail (wanted);
  gsize done = 0;
  if (!source.read (source.size () - wanted, tail.data (), wanted, done, error))
    return false;
  for (gsize at = 0; at + record <= done; at++) {
    if (memcmp (&tail[at], "PK\5\6", 4) != 0)
      continue;
    DirectoryEnd end = {
        little_endian (&tail[at + 10], 2), little_endian (&tail[at + 12], 4)};
    if (at >= locator)
      read_zip64_end (source, &tail[at - locator], end);
    if (end.is_plausible ())
      continue;
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
        "zip directory of %" G_GUINT64_FORMAT " entries in %" G_GUINT64_FORMAT
        " bytes, expected at most %" G_GUINT64_FORMAT
        " bytes and at least %" G_GUINT64_FORMAT " for an entry",
        end.entries, end.bytes, most_directory_bytes, least_entry_bytes);
    return false;
  }
  return true;
}
} // namespace

/* Source of libzip. It reads small pieces from a block, because each read of a pad makes
 * a buffer. */
class ZipArchive::Callback {
public:
  explicit Callback (std::shared_ptr<ByteSource> bytes) : bytes (std::move (bytes))
  {
    zip_error_init (&error);
  }
  ~Callback ()
  {
    zip_error_fini (&error);
    g_clear_error (&failure);
  }

  static zip_int64_t call (
      void *self, void *data, zip_uint64_t length, zip_source_cmd_t command)
  {
    return static_cast<Callback *> (self)->answer (data, length, command);
  }

  /* Moves the error of the source, if it has failed, to `to`. */
  bool take_failure (GError **to)
  {
    if (!failure)
      return false;
    g_propagate_error (to, failure);
    failure = nullptr;
    return true;
  }

private:
  zip_int64_t answer (void *data, zip_uint64_t length, zip_source_cmd_t command)
  {
    switch (command) {
    case ZIP_SOURCE_OPEN:
      position = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return read (static_cast<guint8 *> (data), gsize (length));
    case ZIP_SOURCE_SEEK:
      return seek (data, length);
    case ZIP_SOURCE_TELL:
      return zip_int64_t (position);
    case ZIP_SOURCE_STAT:
      return stat (static_cast<zip_stat_t *> (data));
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data (&error, data, length);
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    default:
      zip_error_set (&error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
    }
  }

  zip_int64_t stat (zip_stat_t *stat)
  {
    zip_stat_init (stat);
    stat->size = bytes->size ();
    stat->valid = ZIP_STAT_SIZE;
    return sizeof *stat;
  }

  zip_int64_t seek (void *data, zip_uint64_t length)
  {
    const zip_int64_t to =
        zip_source_seek_compute_offset (position, bytes->size (), data, length, &error);
    if (to < 0)
      return -1;
    position = guint64 (to);
    return 0;
  }

  zip_int64_t read (guint8 *data, gsize length)
  {
    gsize done = 0;
    const bool good = length < most_block_bytes ? read_block (data, length, done)
                                                : load (position, data, length, done);
    if (!good) {
      zip_error_set (&error, ZIP_ER_READ, 0);
      return -1;
    }
    position += done;
    return zip_int64_t (done);
  }

  bool read_block (guint8 *data, gsize length, gsize &done)
  {
    if (position < block_start || position + length > block_start + block.size ()) {
      gsize loaded = 0;
      block.resize (most_block_bytes);
      if (!load (position, block.data (), block.size (), loaded)) {
        block.clear ();
        return false;
      }
      block.resize (loaded);
      block_start = position;
    }
    done = std::min (length, gsize (block_start + block.size () - position));
    if (done > 0)
      memcpy (data, &block[gsize (position - block_start)], done);
    return true;
  }

  bool load (guint64 offset, guint8 *data, gsize length, gsize &done)
  {
    return bytes->read (offset, data, length, done, failure ? nullptr : &failure);
  }

  static constexpr gsize most_block_bytes = 1 << 18;

  std::shared_ptr<ByteSource> bytes;
  guint64 position = 0;
  std::vector<guint8> block;
  guint64 block_start = 0;
  zip_error_t error;
  GError *failure = nullptr; /* of the source, the first one */
};

ZipArchive::ZipArchive () = default;

ZipArchive::~ZipArchive ()
{
  if (archive)
    zip_discard (archive);
}

/* A failure of the source is the reason, where there is one. */
bool
ZipArchive::fail (
    GError **error, const std::string &what, const std::string &reason) const
{
  if (!callback->take_failure (error))
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "%s: %s",
        what.c_str (), reason.c_str ());
  return false;
}

bool
ZipArchive::open (std::shared_ptr<ByteSource> source, GError **error)
{
  zip_error_t reason;
  bytes = source->size ();
  callback = std::make_unique<Callback> (source);
  /* libzip takes an empty file for an empty archive. */
  if (bytes == 0)
    return fail (error, "no zip archive in 0 bytes", "the file is empty");
  if (!check_directory (*source, error))
    return false;
  zip_error_init (&reason);
  zip_source_t *from =
      zip_source_function_create (Callback::call, callback.get (), &reason);
  archive = from ? zip_open_from_source (from, ZIP_RDONLY, &reason) : nullptr;
  if (!archive) {
    fail (error,
        "no zip archive in " + std::to_string (bytes)
            + " bytes (truncated, or another format)",
        text_of (&reason));
    zip_source_free (from);
  }
  zip_error_fini (&reason);
  return archive && index_entries (error);
}

bool
ZipArchive::index_entries (GError **error)
{
  const zip_int64_t count = zip_get_num_entries (archive, 0);
  guint64 compressed = 0;
  for (zip_int64_t n = 0; n < count; n++) {
    zip_stat_t stat;
    zip_stat_init (&stat);
    if (zip_stat_index (archive, n, ZIP_FL_ENC_RAW, &stat) != 0)
      return fail (error, "zip directory", text_of (zip_get_error (archive)));
    std::string name = stat.name;
    std::replace (name.begin (), name.end (), '\\', '/');
    if (!entries.emplace (name, Entry{guint64 (n), stat.size}).second)
      return fail (error, "zip directory", "two entries have the same name");
    compressed += std::min<guint64> (stat.comp_size, G_MAXINT64);
    if (compressed > bytes)
      return fail (error, "zip directory", "entries overlap");
  }
  return true;
}

const ZipArchive::Entry *
ZipArchive::find (const std::string &name) const
{
  const auto found = entries.find (name);
  return found == entries.end () ? nullptr : &found->second;
}

/* Reading an entry */

bool
ZipReader::fail (GError **error, const std::string &reason) const
{
  return archive.fail (error, name, reason);
}

void
ZipReader::close ()
{
  if (file)
    zip_fclose (file);
  file = nullptr;
}

bool
ZipReader::open (const std::string &wanted, GError **error)
{
  close ();
  name = wanted;
  const ZipArchive::Entry *entry = archive.find (name);
  if (!entry)
    return fail (error, "not in the zip archive");
  file = zip_fopen_index (archive.archive, entry->index, 0);
  if (!file)
    return fail (error, text_of (zip_get_error (archive.archive)));
  at = 0;
  size = entry->size;
  return size > 0 || check_end (error);
}

bool
ZipReader::read (void *data, gsize wanted, GError **error)
{
  auto *to = static_cast<guint8 *> (data);
  for (gsize done = 0; done < wanted;) {
    const zip_int64_t now = zip_fread (file, to + done, wanted - done);
    if (now < 0)
      return fail (error, text_of (zip_file_get_error (file)));
    if (now == 0)
      return fail (error, "ends after " + std::to_string (at) + " of "
                              + std::to_string (size) + " bytes");
    done += gsize (now);
    at += guint64 (now);
  }
  return at < size || check_end (error);
}

bool
ZipReader::skip (guint64 wanted, GError **error)
{
  guint8 scratch[16384];
  while (wanted > 0) {
    const gsize now = gsize (std::min<guint64> (wanted, sizeof scratch));
    if (!read (scratch, now, error))
      return false;
    wanted -= now;
  }
  return true;
}

/* libzip compares the checksum when it reaches the end. */
bool
ZipReader::check_end (GError **error)
{
  guint8 byte;
  const zip_int64_t more = zip_fread (file, &byte, 1);
  if (more == 0)
    return true;
  if (more > 0)
    return fail (error, "longer than the " + std::to_string (size)
                            + " bytes that the zip directory states");
  return fail (error, text_of (zip_file_get_error (file)));
}
} // namespace oct
