/* Finds the helper programs of the library
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "helperprogram.hpp"

#include <dlfcn.h>
#include <glib.h>

namespace opencl {
std::string
find_helper_program (const char *name)
{
  Dl_info info;
  if (!dladdr (reinterpret_cast<void *> (&find_helper_program), &info))
    return "";
  gchar *folder = g_path_get_dirname (info.dli_fname);
  std::string found;
  for (const char *inner : {"gstreamer-opencl-1.0", "."}) {
    gchar *path = g_build_filename (folder, inner, name, nullptr);
    if (found.empty () && g_file_test (path, G_FILE_TEST_IS_EXECUTABLE))
      found = path;
    g_free (path);
  }
  g_free (folder);
  return found;
}
} // namespace opencl
