/* Files of Windows
 *
 * By the system's own calls: a file descriptor of GLib belongs to the C library that GLib was
 * built with, which may be another one than this file's.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "windows.hpp"

#include "files.hpp"

#include <utility>

namespace opencl {
namespace {
HANDLE
handle_of (gintptr handle)
{
  return reinterpret_cast<HANDLE> (handle);
}

bool
fail_with (GError **error, GstResourceError code, DWORD reason, const std::string &what)
{
  return fail (error, code, what + (what.empty () ? "" : ": ") + message_of (reason));
}

bool
fail_to_open (GError **error, DWORD reason)
{
  const bool is_missing = reason == ERROR_FILE_NOT_FOUND || reason == ERROR_PATH_NOT_FOUND
                          || reason == ERROR_INVALID_NAME;
  return fail_with (error,
      is_missing ? GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_READ, reason,
      "");
}

bool
fail_to_write (GError **error, const std::string &what)
{
  const DWORD reason = GetLastError ();
  const bool is_full = reason == ERROR_DISK_FULL || reason == ERROR_HANDLE_DISK_FULL
                       || reason == ERROR_FILE_TOO_LARGE;
  return fail_with (error,
      is_full ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE, reason,
      what);
}

/* Others may read, write, rename and remove the file meanwhile, as on other systems. */
HANDLE
open_file (const std::string &path, DWORD access, DWORD creation, DWORD flags)
{
  return CreateFileW (wide (path).c_str (), access,
      FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, creation, flags,
      nullptr);
}

OVERLAPPED
position (guint64 offset)
{
  OVERLAPPED at = {};
  at.Offset = DWORD (offset);
  at.OffsetHigh = DWORD (offset >> 32);
  return at;
}
} // namespace

std::string
resolved_path (const std::string &path)
{
  const HANDLE file = open_file (path, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  std::wstring text (MAX_PATH, L'\0');
  if (file == INVALID_HANDLE_VALUE)
    return "";
  DWORD length = GetFinalPathNameByHandleW (file, &text[0], DWORD (text.size ()), 0);
  if (length > text.size ()) {
    text.resize (length);
    length = GetFinalPathNameByHandleW (file, &text[0], length, 0);
  }
  CloseHandle (file);
  text.resize (length);
  return narrow (text);
}

std::string
follow_links (const std::string &path, std::error_code &)
{
  const std::string existing = resolved_path (path);
  return existing.empty () ? path : existing;
}

RegularFile::~RegularFile ()
{
  if (handle != -1)
    CloseHandle (handle_of (handle));
}

/* Access control lists are not checked. */
bool
RegularFile::open (const char *path, GError **error, bool is_private)
{
  const DWORD flags =
      FILE_FLAG_BACKUP_SEMANTICS | (is_private ? FILE_FLAG_OPEN_REPARSE_POINT : 0);
  BY_HANDLE_FILE_INFORMATION info;

  g_return_val_if_fail (handle == -1, false);
  handle =
      reinterpret_cast<gintptr> (open_file (path, GENERIC_READ, OPEN_EXISTING, flags));
  if (handle == -1)
    return fail_to_open (error, GetLastError ());
  if (GetFileType (handle_of (handle)) != FILE_TYPE_DISK)
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ, kind_error (""));
  if (!GetFileInformationByHandle (handle_of (handle), &info))
    return fail_to_open (error, GetLastError ());
  if (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ, "Is a directory");
  if (is_private && info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
    return fail (error, GST_RESOURCE_ERROR_OPEN_READ, "it is a link");
  bytes = guint64 (info.nFileSizeHigh) << 32 | info.nFileSizeLow;
  return true;
}

bool
RegularFile::read (void *data, gsize size, gsize &done, GError **error)
{
  for (done = 0; done < size;) {
    const DWORD most = DWORD (MIN (size - done, gsize (G_MAXINT)));
    DWORD now = 0;
    if (!ReadFile (
            handle_of (handle), static_cast<char *> (data) + done, most, &now, nullptr))
      return fail_with (error, GST_RESOURCE_ERROR_READ, GetLastError (), "");
    if (now == 0)
      return true;
    done += now;
  }
  return true;
}

bool
RegularFile::seek (guint64 offset, GError **error)
{
  LARGE_INTEGER to;
  to.QuadPart = gint64 (offset);
  return SetFilePointerEx (handle_of (handle), to, nullptr, FILE_BEGIN)
         || fail_with (error, GST_RESOURCE_ERROR_SEEK, GetLastError (), "");
}

/* Attributes and access control lists of a file that is replaced are not kept. */
bool
TemporaryFile::create_file (
    const std::string &a_location, const std::string &suffix, GError **error)
{
  constexpr int attempts = 100;

  location = a_location;
  if (!resolve_target (location, target, error))
    return false;
  for (int i = 0; i < attempts && handle == -1; i++) {
    temporary = target + '.' + std::to_string (g_random_int ()) + suffix;
    handle = reinterpret_cast<gintptr> (
        open_file (temporary, GENERIC_READ | GENERIC_WRITE, CREATE_NEW, 0));
    if (handle == -1 && GetLastError () != ERROR_FILE_EXISTS)
      break;
  }
  return handle != -1 || fail_to_write (error, location);
}

bool
TemporaryFile::write (guint64 offset, const void *data, gsize size, GError **error)
{
  auto *from = static_cast<const guint8 *> (data);

  while (size > 0) {
    OVERLAPPED at = position (offset);
    DWORD done = 0;
    if (!WriteFile (
            handle_of (handle), from, DWORD (MIN (size, gsize (G_MAXINT))), &done, &at))
      return fail_to_write (error, location);
    from += done;
    offset += done;
    size -= done;
  }
  return true;
}

void
TemporaryFile::truncate (guint64 size)
{
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = gint64 (size);
  if (!SetFileInformationByHandle (
          handle_of (handle), FileEndOfFileInfo, &end, sizeof end))
    GST_INFO ("cannot truncate %s: %s", temporary.c_str (),
        message_of (GetLastError ()).c_str ());
}

/* An open file cannot be renamed. */
bool
TemporaryFile::finish (bool durable, GError **error)
{
  const DWORD flags = MOVEFILE_REPLACE_EXISTING | (durable ? MOVEFILE_WRITE_THROUGH : 0);

  if (durable && !FlushFileBuffers (handle_of (handle)))
    return fail_to_write (error, location);
  if (!resolve_target (target, target, error)) /* a folder or link may be new */
    return false;
  close (false);
  if (MoveFileExW (wide (temporary).c_str (), wide (target).c_str (), flags))
    return true;
  fail_to_write (error, location);
  DeleteFileW (wide (temporary).c_str ());
  return false;
}

void
TemporaryFile::close (bool remove)
{
  if (handle == -1)
    return;
  CloseHandle (handle_of (std::exchange (handle, -1)));
  if (remove)
    DeleteFileW (wide (temporary).c_str ());
}

std::shared_ptr<void>
lock_file (const std::string &, guint)
{
  return nullptr;
}

bool
is_private_folder (const std::string &)
{
  return true;
}
} // namespace opencl
