/* Temporary folder of a test, deleted with all its files at the end
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "owned.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

/* Last: its macro fail() breaks C++ headers. */
#include <gst/check/gstcheck.h>

namespace check {
class Folder {
public:
  Folder ()
  {
    Owned<gchar> created = g_dir_make_tmp ("gst-opencl-XXXXXX", nullptr);
    fail_unless (created != nullptr, "cannot create a temporary folder");
    path = std::filesystem::u8path (static_cast<gchar *> (created))
               .generic_u8string (); /* in launch lines */
  }
  ~Folder ()
  {
    std::error_code ignored;
    std::filesystem::remove_all (path, ignored);
  }
  Folder (const Folder &) = delete;
  Folder &operator= (const Folder &) = delete;

  /* Returns the path of a file, which need not exist. */
  std::string file (const std::string &name) const { return path + "/" + name; }

  std::string write (const std::string &name, const std::string &bytes) const
  {
    const std::string location = file (name);
    fail_unless (g_file_set_contents (
                     location.c_str (), bytes.data (), gssize (bytes.size ()), nullptr),
        "cannot write %s", location.c_str ());
    return location;
  }

  /* Returns the names of its files in alphabetical order. */
  std::vector<std::string> names () const
  {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator (path))
      found.push_back (entry.path ().filename ().u8string ());
    std::sort (found.begin (), found.end ());
    return found;
  }

  std::string path;
};

inline std::string
contents_of (const std::string &location)
{
  Owned<gchar> bytes;
  gsize size = 0;
  fail_unless (g_file_get_contents (location.c_str (), bytes.out (), &size, nullptr),
      "cannot read %s", location.c_str ());
  return std::string (bytes, size);
}
} // namespace check
