/* File with a header that is written frame by frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "growingfile.hpp"

#include "regularfile.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace opencl {
static bool
fail (GError **error, const std::string &what, int code)
{
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  g_set_error (error, GST_RESOURCE_ERROR,
      is_full ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE, "%s: %s",
      what.c_str (), g_strerror (code));
  return false;
}

/* The set-ID bits are kept only together with the owner and the group. */
static bool
copy_owner_and_mode (int descriptor, const struct stat &from)
{
  const bool same_owner = fchown (descriptor, from.st_uid, from.st_gid) == 0;
  if (!same_owner && fchown (descriptor, uid_t (-1), from.st_gid) != 0)
    GST_INFO ("cannot keep the owner and the group of a file: %s", g_strerror (errno));
  return fchmod (descriptor, from.st_mode & (same_owner ? 07777 : 0777)) == 0;
}

/* The file is private until it has the mode of the file that it replaces. */
bool
GrowingFile::create_temporary (const std::string &suffix, GError **error)
{
  struct stat status;
  const bool exists = stat (target.c_str (), &status) == 0;
  gchar *name = g_strconcat (target.c_str (), ".XXXXXX", suffix.c_str (), nullptr);

  descriptor = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, exists ? 0600 : 0666);
  const int code = errno;
  temporary = name;
  g_free (name);
  if (descriptor < 0)
    return fail (error, location, code);
  return !exists || copy_owner_and_mode (descriptor, status)
         || fail (error, location, errno);
}

bool
GrowingFile::create (const std::string &a_location, const std::string &suffix,
    MakeHeader a_make_header, bool is_growing, GError **error)
{
  std::string header;

  abandon ();
  location = a_location;
  make_header = std::move (a_make_header);
  growing = is_growing;
  written = 0;
  if (!make_header (growing ? 0 : 1, header, error)
      || !resolve_target (location, target, error) || !create_temporary (suffix, error))
    return false;
  end = header.size ();
  return write_at (0, header.data (), header.size (), error);
}

bool
GrowingFile::write_at (guint64 offset, const void *data, gsize size, GError **error)
{
  auto *from = static_cast<const guint8 *> (data);

  while (size > 0) {
    const gssize done = pwrite (descriptor, from, size, off_t (offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return fail (error, location, done < 0 ? errno : ENOSPC);
    from += done;
    offset += guint64 (done);
    size -= gsize (done);
  }
  return true;
}

/* Writes the frame first, so that the header never counts a missing frame. */
bool
GrowingFile::write_frame (const guint8 *data, gsize size, GError **error)
{
  std::string header;
  if (growing && !make_header (written + 1, header, error))
    return false;
  return write_at (end, data, size, error)
         && write_at (0, header.data (), header.size (), error);
}

bool
GrowingFile::append (const guint8 *data, gsize size, GError **error)
{
  if (!write_frame (data, size, error)) {
    /* Frees the space of an incomplete frame. The file is valid even if this fails. */
    if (ftruncate (descriptor, off_t (end)) != 0)
      GST_INFO ("cannot truncate %s: %s", temporary.c_str (), g_strerror (errno));
    if (growing && written > 0)
      g_prefix_error (error, "%s has %" G_GUINT64_FORMAT " complete frames; ",
          temporary.c_str (), written);
    return false;
  }
  end += size;
  written++;
  return true;
}

bool
GrowingFile::finish (GError **error)
{
  const bool synced = !growing || fsync (descriptor) == 0 || errno == EINVAL;
  const int code = errno;

  if (!synced)
    return fail (error, location, code);
  if (!resolve_target (target, target, error)) /* a folder or link may be new */
    return false;
  if (g_rename (temporary.c_str (), target.c_str ()) != 0)
    return fail (error, location, errno);
  close (std::exchange (descriptor, -1));
  return true;
}

void
GrowingFile::abandon ()
{
  if (descriptor < 0)
    return;
  close (std::exchange (descriptor, -1));
  if (!growing || written == 0)
    g_unlink (temporary.c_str ());
}

bool
write_file (const std::string &location, const std::string &bytes, GError **error)
{
  auto no_header = [] (guint64, std::string &, GError **) { return true; };
  GrowingFile file;

  return file.create (location, "", no_header, false, error)
         && file.append (
             reinterpret_cast<const guint8 *> (bytes.data ()), bytes.size (), error)
         && file.finish (error);
}
} // namespace opencl
