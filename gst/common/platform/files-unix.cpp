/* Files of Unix
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "files.hpp"

#include "../timelimit.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace opencl {
namespace {
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

bool
check_private (const struct stat &status, GError **error)
{
  const bool is_own = status.st_uid == geteuid ();
  if (!is_own || status.st_mode & (S_IWGRP | S_IWOTH))
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ,
        is_own ? "other users may write to it (chmod go-w)"
               : "it belongs to another user");
  return true;
}

/* The set-ID bits are kept only together with the owner and the group. */
bool
copy_owner_and_mode (int handle, const struct stat &from)
{
  const bool same_owner = fchown (handle, from.st_uid, from.st_gid) == 0;
  if (!same_owner && fchown (handle, uid_t (-1), from.st_gid) != 0)
    GST_INFO ("cannot keep the owner and the group of a file: %s", g_strerror (errno));
  return fchmod (handle, from.st_mode & (same_owner ? 07777 : 0777)) == 0;
}
} // namespace

std::string
follow_links (const std::string &path, std::error_code &code)
{
  constexpr int most_links = 40; /* Linux's limit */
  namespace fs = std::filesystem;
  fs::path file = path;

  for (int links = 0; links < most_links && fs::is_symlink (file, code); links++)
    file = file.parent_path () / fs::read_symlink (file, code);
  return file;
}

std::string
resolved_path (const std::string &path)
{
  char *real = realpath (path.c_str (), nullptr);
  const std::string text = real ? real : "";
  free (real);
  return text;
}

RegularFile::~RegularFile ()
{
  if (handle >= 0)
    close (handle);
}

bool
RegularFile::open (const char *path, GError **error, bool is_private)
{
  const int links = is_private ? O_NOFOLLOW : 0;
  struct stat status;

  g_return_val_if_fail (handle < 0, false);
  handle = ::g_open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | links, 0);
  if (handle < 0 || fstat (handle, &status) != 0)
    return fail_to_open (error, errno);
  if (S_ISDIR (status.st_mode))
    return fail_to_open (error, EISDIR);
  if (!S_ISREG (status.st_mode))
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ, kind_error (path));
  bytes = guint64 (status.st_size);
  return !is_private || check_private (status, error);
}

bool
RegularFile::read (void *data, gsize size, gsize &done, GError **error)
{
  for (done = 0; done < size;) {
    const gsize most = MIN (size - done, gsize (G_MAXINT));
    const gssize now = ::read (handle, static_cast<char *> (data) + done, most);
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
  return lseek (handle, off_t (offset), SEEK_SET) >= 0
         || fail (error, GST_RESOURCE_ERROR_SEEK, g_strerror (errno));
}

/* The file is private until it has the mode of the file that it replaces. */
bool
TemporaryFile::create_file (
    const std::string &a_location, const std::string &suffix, GError **error)
{
  struct stat status;

  location = a_location;
  if (!resolve_target (location, target, error))
    return false;
  const bool exists = stat (target.c_str (), &status) == 0;
  gchar *name = g_strconcat (target.c_str (), ".XXXXXX", suffix.c_str (), nullptr);
  handle = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, exists ? 0600 : 0666);
  const int code = errno;
  temporary = name;
  g_free (name);
  if (handle < 0)
    return fail_to_write (error, location, code);
  return !exists || copy_owner_and_mode (handle, status)
         || fail_to_write (error, location, errno);
}

bool
TemporaryFile::write (guint64 offset, const void *data, gsize size, GError **error)
{
  auto *from = static_cast<const guint8 *> (data);

  while (size > 0) {
    const gssize done = pwrite (handle, from, size, off_t (offset));
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
  if (ftruncate (handle, off_t (size)) != 0)
    GST_INFO ("cannot truncate %s: %s", temporary.c_str (), g_strerror (errno));
}

bool
TemporaryFile::finish (bool durable, GError **error)
{
  if (durable && fsync (handle) != 0 && errno != EINVAL)
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
  if (handle < 0)
    return;
  ::close (std::exchange (handle, -1));
  if (remove)
    g_unlink (temporary.c_str ());
}

std::shared_ptr<void>
lock_file (const std::string &path, guint seconds)
{
  TimeLimit limit (seconds * G_USEC_PER_SEC);
  g_mkdir_with_parents (std::filesystem::path (path).parent_path ().c_str (), 0700);
  const int handle =
      ::g_open (path.c_str (), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  while (
      flock (handle, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && !limit.is_over ())
    g_usleep (10000);
  return {nullptr, [handle] (void *) { close (handle); }};
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
} // namespace opencl
