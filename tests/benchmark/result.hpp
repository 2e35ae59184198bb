/* opencl-bench: results, and their form as JSON objects
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {
struct Rate {
  double median = 0, least = 0, greatest = 0; /* of the windows; 0: none */
};

struct Result {
  using Sizes = std::vector<std::pair<std::string, unsigned>>;
  using Values = std::vector<std::pair<std::string, double>>;

  std::string what; /* "oct/host-pinned" */
  std::string device;
  Sizes sizes;
  std::string unit;           /* of the rate */
  std::vector<double> rates;  /* one per window; their median is reported */
  std::vector<double> delays; /* seconds from source to sink; may be empty */
  double limit = 0;           /* what the ceilings allow, in the rate's unit; 0: none */
  Values more;                /* further numbers by name */
  std::string choice;         /* method that was chosen, if there are several */
  std::string error;          /* why there is no rate */
  Rate before;                /* of an earlier run, with --compare */
};

/* The error of a result must be empty. */
Rate rate_of (const Result &result);
/* Returns why there is no rate, or an empty string. */
std::string error_of (const Result &result);

std::string to_json (const Result &result);

/* Returns the sizes of a frame. */
Result::Sizes picture_size (unsigned width, unsigned height);
} // namespace bench
