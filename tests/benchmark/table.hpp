/* opencl-bench: results as rows of a table
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "result.hpp"

namespace bench {
/* Prints each result as soon as it is measured. */
class Table {
public:
  /* compared: with columns for the rates of an earlier run */
  explicit Table (bool compared) : compared (compared) {}

  void print (const Result &result);
  /* Prints how many rates are higher and lower than those of the earlier run. */
  void print_summary () const;

private:
  void print_head (const std::string &device);
  std::string change_cell (const Result &result);

  const bool compared;
  bool has_head = false;
  unsigned higher = 0, lower = 0, alike = 0, missing = 0;
};
} // namespace bench
