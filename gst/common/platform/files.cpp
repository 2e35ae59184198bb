/* Files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "files.hpp"

#include "../text.hpp"

namespace fs = std::filesystem;

namespace opencl {
bool
fail (GError **error, GstResourceError code, const std::string &reason)
{
  g_set_error_literal (error, GST_RESOURCE_ERROR, code, reason.c_str ());
  return false;
}

std::string
kind_error (const fs::path &path)
{
  static const struct {
    fs::file_type type;
    const char *name;
  } kinds[] = {{fs::file_type::directory, "a folder"}, {fs::file_type::fifo, "a FIFO"},
      {fs::file_type::socket, "a socket"},
      {fs::file_type::character, "a character device"},
      {fs::file_type::block, "a block device"}};
  std::error_code ignored;
  const fs::file_type type = fs::status (path, ignored).type ();
  const char *name = "a special file";

  for (const auto &kind : kinds)
    name = type == kind.type ? kind.name : name;
  return std::string ("it is ") + name + ", expected a regular file";
}

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

/* status() comes first: the system refuses to follow some links, such as those of other
 * users in /tmp. */
bool
resolve_target (const std::string &path, std::string &target, GError **error)
{
  std::error_code code;
  const fs::path file = fs::u8path (path);
  const fs::file_status status = fs::status (file, code);

  if (fs::exists (status) && !fs::is_regular_file (status))
    return fail (error, GST_RESOURCE_ERROR_OPEN_WRITE, path + ": " + kind_error (file));
  if (!code || status.type () == fs::file_type::not_found)
    target = follow_links (path, code);
  if (code && code != std::errc::no_such_file_or_directory)
    return fail (error, GST_RESOURCE_ERROR_OPEN_WRITE, path + ": " + code.message ());
  return true;
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

bool
write_file (const std::string &location, const std::string &bytes, GError **error)
{
  TemporaryFile file;

  return file.create_file (location, "", error)
         && file.write (0, bytes.data (), bytes.size (), error)
         && file.finish (false, error);
}

gsize
begin_of_name (const std::string &path, const char *separators)
{
  const bool has_drive = strchr (separators, '\\') && path.size () > 1 && path[1] == ':';
  const gsize last = path.find_last_of (separators);
  return last != std::string::npos ? last + 1 : has_drive ? 2 : 0;
}

std::string
name_of_file (const std::string &path, const char *separators)
{
  return path.substr (begin_of_name (path, separators));
}

std::string
cache_folder (const char *name)
{
  const char *folder = g_get_user_cache_dir ();
#ifdef G_OS_WIN32 /* which deletes files of that folder, INetCache */
  folder = g_getenv ("XDG_CACHE_HOME") ? folder : g_get_user_data_dir ();
#endif
  return take_text (g_build_filename (folder, "gst-opencl", name, nullptr));
}

static std::string
folder_of (const std::string &path)
{
  return fs::u8path (path).parent_path ().u8string ();
}

bool
read_private_file (const std::string &path, std::string &contents)
{
  GError *error = nullptr;

  if (!is_private_folder (folder_of (path)))
    return false;
  if (read_file (path, contents, &error, true))
    return true;
  if (error->code != GST_RESOURCE_ERROR_NOT_FOUND)
    GST_WARNING ("not used: %s", error->message);
  g_error_free (error);
  return false;
}

/* Removes a file that others may write: since 2.80 or so GLib keeps the mode of a file that
 * it replaces. */
static void
remove_shared_file (const std::string &path)
{
  std::error_code none;
  const fs::path file = fs::u8path (path);
  const fs::perms of_others = fs::perms::group_write | fs::perms::others_write;
  if ((fs::symlink_status (file, none).permissions () & of_others) != fs::perms::none)
    fs::remove (file, none);
}

/* GLib writes a temporary file and renames it, so that no process sees an incomplete
 * file. Its usual mode may let a group write. */
bool
write_private_file (const std::string &path, const std::string &contents)
{
  const std::string folder = folder_of (path);
  GError *error = nullptr;

  g_mkdir_with_parents (folder.c_str (), 0700);
  if (!is_private_folder (folder))
    return false;
  remove_shared_file (path);
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
  return take_text (g_compute_checksum_for_data (
      G_CHECKSUM_SHA256, static_cast<const guchar *> (bytes), size));
}
} // namespace opencl
