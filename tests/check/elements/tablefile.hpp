/* Temporary file of numbers, for properties of octwindowinterp
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../folder.hpp"
#include "../octreference.hpp"

namespace check {
/* A file of numbers that is deleted at the end of its scope */
class TableFile {
public:
  explicit TableFile (const reference::Values &values)
  {
    std::string text;
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    for (double value : values)
      text += std::string (g_ascii_dtostr (number, sizeof number, value)) + "\n";
    path = folder.write ("values", text);
  }
  std::string path;

private:
  Folder folder;
};
} // namespace check
