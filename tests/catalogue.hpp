/* Lines of catalogue.txt: elements and typical uses of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace catalogue {
struct Line {
  std::string kind, name, streams, how, text;

  /* Returns the value of the word NAME=VALUE of `how`, or the word itself, or "". */
  std::string option (const std::string &option_name) const
  {
    std::istringstream words (how);
    for (std::string word; words >> word;) {
      if (word == option_name)
        return word;
      if (word.rfind (option_name + "=", 0) == 0)
        return word.substr (option_name.size () + 1);
    }
    return "";
  }
};

inline std::string
replaced (std::string text, const std::string &what, const std::string &by)
{
  for (std::size_t at = text.find (what); at != text.npos; at = text.find (what, at))
    text.replace (at, what.size (), by), at += by.size ();
  return text;
}

/* Returns the lines of that kind, with the folder `files`. The tests have the path in their
 * environment. */
inline std::vector<Line>
lines (const std::string &kind, const std::string &files,
    const char *path = std::getenv ("GST_OPENCL_TEST_CATALOGUE"))
{
  std::vector<Line> found;
  std::ifstream file (path ? path : "");
  for (std::string text; std::getline (file, text);) {
    std::array<std::string, 5> columns;
    std::istringstream rest (text);
    for (std::size_t n = 0; n < columns.size (); n++) {
      std::getline (rest >> std::ws, columns[n], n < 4 ? '|' : '\n');
      columns[n].erase (columns[n].find_last_not_of (' ') + 1);
    }
    if (columns[0] == kind)
      found.push_back ({columns[0], columns[1], columns[2], columns[3],
          replaced (columns[4], "{files}", files)});
  }
  return found;
}
} // namespace catalogue
