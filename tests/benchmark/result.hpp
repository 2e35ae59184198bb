/* opencl-bench: what was measured, as one JSON object a line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {
struct Result {
  using Sizes = std::vector<std::pair<std::string, unsigned>>;
  using Values = std::vector<std::pair<std::string, double>>;

  std::string what; /* "oct/host-pinned" */
  std::string device;
  Sizes sizes;
  std::string unit;           /* of the rate */
  std::vector<double> rates;  /* one a window; the median is the rate */
  std::vector<double> delays; /* seconds from source to sink; may be empty */
  double limit = 0;           /* what the ceilings allow, in the rate's unit; 0: none */
  Values more;                /* further numbers by name */
  std::string choice;         /* of several ways the one that was taken */
  std::string error;          /* why there is no rate */
};

std::string to_json (const Result &result);

/* "W x H" as it is meant in a JSON object of sizes. */
Result::Sizes picture_size (unsigned width, unsigned height);
} // namespace bench
