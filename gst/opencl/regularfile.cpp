/* A file of a disk, read from its beginning: nothing that blocks, or never ends
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "regularfile.hpp"

#include <cerrno>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#ifndef O_NONBLOCK /* where opening a pipe without a writer does not block */
#define O_NONBLOCK 0
#endif

namespace opencl {
namespace {
bool
fail (GError **error, GstResourceError code, const char *reason)
{
  g_set_error_literal (error, GST_RESOURCE_ERROR, code, reason);
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
} // namespace

RegularFile::~RegularFile ()
{
  if (descriptor >= 0)
    close (descriptor);
}

bool
RegularFile::open (const char *path, GError **error)
{
  struct stat status;

  g_return_val_if_fail (descriptor < 0, false);
  descriptor = ::g_open (path, O_RDONLY | O_BINARY | O_CLOEXEC | O_NONBLOCK, 0);
  if (descriptor < 0 || fstat (descriptor, &status) != 0)
    return fail_to_open (error, errno);
  if (S_ISDIR (status.st_mode))
    return fail_to_open (error, EISDIR);
  if (!S_ISREG (status.st_mode))
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ,
        "It is a pipe or a device, expected a regular file");
  bytes = guint64 (status.st_size);
  return true;
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
RegularFile::rewind (GError **error)
{
  return lseek (descriptor, 0, SEEK_SET) == 0
         || fail (error, GST_RESOURCE_ERROR_SEEK, g_strerror (errno));
}
} // namespace opencl
