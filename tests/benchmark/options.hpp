/* opencl-bench: the command line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "statistics.hpp"

#include <string>
#include <vector>

namespace bench {
struct Options {
  std::string command;     /* oct, keying, transfer, fft, compute, … */
  std::string of;          /* subject of stages and first-frame: oct, keying, … */
  std::string device;      /* empty: the library's default */
  std::string cases = "*"; /* pattern of the names of the cases to run */
  unsigned samples = 2048;
  unsigned lines = 0;              /* 0: each case's own */
  unsigned width = 0, height = 0;  /* 0: each case's own */
  unsigned batch = 1;              /* inference: of the second run of each case */
  std::vector<std::string> models; /* inference: ONNX files */
  bool list = false;               /* list the cases and exit */
  bool json = false;               /* print JSON objects instead of a table */
  std::string earlier;             /* file with the JSON objects of an earlier run */
  bool baselines = true;           /* also run baselines */
  Timing timing;

  unsigned lines_or (unsigned fallback) const { return lines ? lines : fallback; }
};

/* Fills `options`. Returns false where the program ends with `status`. */
bool parse_options (char **argv, Options &options, int &status);
} // namespace bench
