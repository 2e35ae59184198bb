/* Files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "platform.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif
#ifndef O_NONBLOCK /* absent where opening a pipe without a writer does not block */
#define O_NONBLOCK 0
#endif

namespace opencl {
namespace {
bool
fail (GError **error, GstResourceError code, const std::string &reason)
{
  g_set_error_literal (error, GST_RESOURCE_ERROR, code, reason.c_str ());
  return false;
}

/* `reason` is an errno. */
bool
fail_to_open (GError **error, int reason)
{
  return fail (error,
      reason == ENOENT ? GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_READ,
      g_strerror (reason));
}

/* `what` failed with the errno `code`. */
bool
fail_to_write (GError **error, const std::string &what, int code)
{
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return fail (error,
      is_full ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE,
      what + ": " + g_strerror (code));
}

/* `mode` must not be that of a regular file. */
std::string
kind_error (mode_t mode)
{
  static const struct {
    mode_t type;
    const char *name;
  } kinds[] = {{S_IFDIR, "a folder"}, {S_IFIFO, "a FIFO"}, {S_IFSOCK, "a socket"},
      {S_IFCHR, "a character device"}, {S_IFBLK, "a block device"}};
  const char *name = "a special file";

  for (const auto &kind : kinds)
    name = (mode & S_IFMT) == kind.type ? kind.name : name;
  return std::string ("it is ") + name + ", expected a regular file";
}

/* Access control lists of Windows are not checked. */
bool
check_private (const struct stat &status, GError **error)
{
#ifdef G_OS_UNIX
  const bool is_own = status.st_uid == geteuid ();
  if (!is_own || status.st_mode & (S_IWGRP | S_IWOTH))
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ,
        is_own ? "other users may write to it (chmod go-w)"
               : "it belongs to another user");
#endif
  return true;
}

/* The set-ID bits are kept only together with the owner and the group. */
bool
copy_owner_and_mode (int descriptor, const struct stat &from)
{
  const bool same_owner = fchown (descriptor, from.st_uid, from.st_gid) == 0;
  if (!same_owner && fchown (descriptor, uid_t (-1), from.st_gid) != 0)
    GST_INFO ("cannot keep the owner and the group of a file: %s", g_strerror (errno));
  return fchmod (descriptor, from.st_mode & (same_owner ? 07777 : 0777)) == 0;
}
} // namespace

bool
ByteSource::read_header (guint64 offset,
    gsize (*get_size) (const guint8 *bytes, gsize size), std::vector<guint8> &header,
    GError **error)
{
  header.clear ();
  for (;;) {
    const gsize there = header.size (), wanted = get_size (header.data (), there);
    gsize done = 0;
    if (there >= wanted)
      return true;
    header.resize (wanted);
    if (!read (offset + there, header.data () + there, wanted - there, done, error))
      return false;
    header.resize (there + done);
    if (there + done < wanted)
      return true;
  }
}

bool
resolve_target (const std::string &path, std::string &target, GError **error)
{
  constexpr int most_links = 40; /* Linux's limit */
  namespace fs = std::filesystem;
  std::error_code code;
  struct stat status;
  fs::path file = path;

  /* stat() comes first: the system refuses to follow some links, such as those of other
   * users in /tmp. */
  if (stat (path.c_str (), &status) == 0) {
    if (!S_ISREG (status.st_mode))
      return fail (error, GST_RESOURCE_ERROR_OPEN_WRITE,
          path + ": " + kind_error (status.st_mode));
  } else if (errno != ENOENT) {
    return fail (error, GST_RESOURCE_ERROR_OPEN_WRITE, path + ": " + g_strerror (errno));
  }
  for (int links = 0; links < most_links && fs::is_symlink (file, code); links++)
    file = file.parent_path () / fs::read_symlink (file, code);
  if (code && code != std::errc::no_such_file_or_directory)
    return fail (error, GST_RESOURCE_ERROR_OPEN_WRITE, path + ": " + code.message ());
  target = file;
  return true;
}

RegularFile::~RegularFile ()
{
  if (descriptor >= 0)
    close (descriptor);
}

bool
RegularFile::open (const char *path, GError **error, bool is_private)
{
  const int links = is_private ? O_NOFOLLOW : 0;
  struct stat status;

  g_return_val_if_fail (descriptor < 0, false);
  descriptor = ::g_open (path, O_RDONLY | O_BINARY | O_CLOEXEC | O_NONBLOCK | links, 0);
  if (descriptor < 0 || fstat (descriptor, &status) != 0)
    return fail_to_open (error, errno);
  if (S_ISDIR (status.st_mode))
    return fail_to_open (error, EISDIR);
  if (!S_ISREG (status.st_mode))
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ, kind_error (status.st_mode));
  bytes = guint64 (status.st_size);
  return !is_private || check_private (status, error);
}

bool
RegularFile::read (void *data, gsize size, gsize &done, GError **error)
{
  for (done = 0; done < size;) {
    const gsize most = MIN (size - done, gsize (G_MAXINT));
    const gssize now = ::read (descriptor, static_cast<char *> (data) + done, most);
    if (now == 0)
      return true;
    if (now > 0)
      done += gsize (now);
    else if (errno != EINTR)
      return fail (error, GST_RESOURCE_ERROR_READ, g_strerror (errno));
  }
  return true;
}

bool
RegularFile::seek (guint64 offset, GError **error)
{
  return lseek (descriptor, off_t (offset), SEEK_SET) >= 0
         || fail (error, GST_RESOURCE_ERROR_SEEK, g_strerror (errno));
}

bool
check_regular (const std::string &path, GError **error)
{
  RegularFile file;
  if (file.open (path.c_str (), error))
    return true;
  g_prefix_error (error, "%s: ", path.c_str ());
  return false;
}

/* A file may become shorter while it is read. */
bool
read_file (
    const std::string &path, std::string &contents, GError **error, bool is_private)
{
  RegularFile file;
  gsize done = 0;
  bool read = file.open (path.c_str (), error, is_private);

  if (read && file.size () > G_MAXINT32)
    read = fail (error, GST_RESOURCE_ERROR_READ, "expected at most 2 GiB");
  if (read) {
    contents.resize (gsize (file.size ()));
    read = file.read (&contents[0], contents.size (), done, error);
    contents.resize (done);
  }
  if (!read)
    g_prefix_error (error, "%s: ", path.c_str ());
  return read;
}

/* The file is private until it has the mode of the file that it replaces. */
bool
TemporaryFile::create (
    const std::string &a_location, const std::string &suffix, GError **error)
{
  struct stat status;

  location = a_location;
  if (!resolve_target (location, target, error))
    return false;
  const bool exists = stat (target.c_str (), &status) == 0;
  gchar *name = g_strconcat (target.c_str (), ".XXXXXX", suffix.c_str (), nullptr);
  descriptor = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, exists ? 0600 : 0666);
  const int code = errno;
  temporary = name;
  g_free (name);
  if (descriptor < 0)
    return fail_to_write (error, location, code);
  return !exists || copy_owner_and_mode (descriptor, status)
         || fail_to_write (error, location, errno);
}

bool
TemporaryFile::write (guint64 offset, const void *data, gsize size, GError **error)
{
  auto *from = static_cast<const guint8 *> (data);

  while (size > 0) {
    const gssize done = pwrite (descriptor, from, size, off_t (offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return fail_to_write (error, location, done < 0 ? errno : ENOSPC);
    from += done;
    offset += guint64 (done);
    size -= gsize (done);
  }
  return true;
}

void
TemporaryFile::truncate (guint64 size)
{
  if (ftruncate (descriptor, off_t (size)) != 0)
    GST_INFO ("cannot truncate %s: %s", temporary.c_str (), g_strerror (errno));
}

bool
TemporaryFile::finish (bool durable, GError **error)
{
  if (durable && fsync (descriptor) != 0 && errno != EINVAL)
    return fail_to_write (error, location, errno);
  if (!resolve_target (target, target, error)) /* a folder or link may be new */
    return false;
  if (g_rename (temporary.c_str (), target.c_str ()) != 0)
    return fail_to_write (error, location, errno);
  close (false);
  return true;
}

void
TemporaryFile::close (bool remove)
{
  if (descriptor < 0)
    return;
  ::close (std::exchange (descriptor, -1));
  if (remove)
    g_unlink (temporary.c_str ());
}

bool
write_file (const std::string &location, const std::string &bytes, GError **error)
{
  TemporaryFile file;

  return file.create (location, "", error)
         && file.write (0, bytes.data (), bytes.size (), error)
         && file.finish (false, error);
}

bool
is_private_folder (const std::string &folder)
{
  struct stat status;
  GError *error = nullptr;

  if (stat (folder.c_str (), &status) != 0 || check_private (status, &error))
    return true;
  GST_WARNING ("folder %s is not used as a cache: %s", folder.c_str (), error->message);
  g_error_free (error);
  return false;
}

bool
read_private_file (const std::string &path, std::string &contents)
{
  GError *error = nullptr;

  if (!is_private_folder (std::filesystem::path (path).parent_path ()))
    return false;
  if (read_file (path, contents, &error, true))
    return true;
  if (error->code != GST_RESOURCE_ERROR_NOT_FOUND)
    GST_WARNING ("not used: %s", error->message);
  g_error_free (error);
  return false;
}

/* GLib writes a temporary file and renames it, so that no process sees an incomplete
 * file. Its usual mode may let a group write. */
bool
write_private_file (const std::string &path, const std::string &contents)
{
  const std::string folder = std::filesystem::path (path).parent_path ();
  GError *error = nullptr;

  g_mkdir_with_parents (folder.c_str (), 0700);
  if (!is_private_folder (folder))
    return false;
  if (g_file_set_contents_full (path.c_str (), contents.data (),
          gssize (contents.size ()), G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error))
    return true;
  GST_INFO ("not kept: %s", error->message);
  g_error_free (error);
  return false;
}

std::string
checksum_of (const void *bytes, gsize size)
{
  gchar *text = g_compute_checksum_for_data (
      G_CHECKSUM_SHA256, static_cast<const guchar *> (bytes), size);
  const std::string checksum = text;
  g_free (text);
  return checksum;
}
} // namespace opencl
