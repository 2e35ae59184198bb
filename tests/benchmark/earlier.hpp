/* opencl-bench: results of an earlier run, to compare with (--compare)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "result.hpp"

#include <map>

namespace bench {
class EarlierResults {
public:
  /* Reads the output of --json. Returns why it cannot be read, or an empty string. */
  std::string read (const std::string &path);

  /* Fills `before` of a result of a case of the same name and sizes. */
  void compare (Result &result) const;

private:
  std::map<std::string, Rate> rates; /* by name and sizes */
};
} // namespace bench
