/* Numbers of a test in a file, as properties of octwindowinterp name one
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>

#include "../octreference.hpp"

namespace check {
/* A file of numbers for as long as a test needs it. */
class TableFile {
public:
  explicit TableFile (const reference::Values &values)
  {
    std::string text;
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    for (double value : values)
      text += std::string (g_ascii_dtostr (number, sizeof number, value)) + "\n";
    gchar *name = nullptr;
    gint descriptor = g_file_open_tmp ("oct-table-XXXXXX", &name, nullptr);
    fail_unless (descriptor >= 0);
    g_close (descriptor, nullptr);
    path = name;
    g_free (name);
    fail_unless (g_file_set_contents (
        path.c_str (), text.data (), gssize (text.size ()), nullptr));
  }
  TableFile (const TableFile &) = delete;
  ~TableFile () { g_remove (path.c_str ()); }
  std::string path;
};
} // namespace check
