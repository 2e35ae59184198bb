/* A .npy file that is written frame by frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "arrayfile.hpp"

#include <gst/opencl/npyfile.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>
#include <utility>

namespace npy {
static bool
fail (GError **error, const std::string &what, int code)
{
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  g_set_error (error, GST_RESOURCE_ERROR,
      is_full ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE, "%s: %s",
      what.c_str (), g_strerror (code));
  return false;
}

/* A growing file's header has room for any count, so that values stay where they are. */
std::string
ArrayFile::header_of (guint64 frames) const
{
  std::vector<gsize> shape = format.shape;
  if (growing)
    shape.insert (shape.begin (), gsize (frames));
  return opencl::npy_make_header (format.type, format.complex, shape);
}

bool
ArrayFile::create (const std::string &a_location, const FrameFormat &a_format,
    bool is_growing, GError **error)
{
  abandon ();
  location = a_location;
  format = a_format;
  growing = is_growing;
  written = 0;

  gchar *name = g_strconcat (location.c_str (), ".XXXXXX", nullptr);
  descriptor = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0666);
  const int code = errno;
  temporary = name;
  g_free (name);
  if (descriptor < 0)
    return fail (error, location, code);
  const std::string header = header_of (0);
  end = header.size ();
  return write_at (0, header.data (), header.size (), error);
}

bool
ArrayFile::write_at (guint64 offset, const void *data, gsize size, GError **error)
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

/* The header counts a frame once it is there. */
bool
ArrayFile::append (const guint8 *data, gsize size, GError **error)
{
  const std::string header = growing ? header_of (written + 1) : "";

  if (!write_at (end, data, size, error)
      || !write_at (0, header.data (), header.size (), error)) {
    /* Room that half a frame took is given back; the file is right without, too. */
    if (ftruncate (descriptor, off_t (end)) != 0)
      GST_INFO ("%s cannot be made shorter: %s", temporary.c_str (), g_strerror (errno));
    if (growing && written > 0)
      g_prefix_error (error, "%" G_GUINT64_FORMAT " frames are whole in %s; ", written,
          temporary.c_str ());
    return false;
  }
  end += size;
  written++;
  return true;
}

bool
ArrayFile::finish (GError **error)
{
  const bool synced = !growing || fsync (descriptor) == 0 || errno == EINVAL;
  const int code = errno;

  if (!synced)
    return fail (error, location, code);
  if (g_rename (temporary.c_str (), location.c_str ()) != 0)
    return fail (error, location, errno);
  close (std::exchange (descriptor, -1));
  return true;
}

void
ArrayFile::abandon ()
{
  if (descriptor < 0)
    return;
  close (std::exchange (descriptor, -1));
  if (!growing || written == 0)
    g_unlink (temporary.c_str ());
}
} // namespace npy
