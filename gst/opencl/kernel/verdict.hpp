/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

namespace opencl {
/* Whether an engine computes right on a device. */
struct Verdict {
  enum Result {
    pending,   /* not known yet */
    right,     /* as the host */
    wrong,     /* `difference` says how */
    unchecked, /* cannot be checked; `difference` says why */
  };
  Result result = pending;
  std::string difference;

  /* "right", "wrong: DIFFERENCE" … */
  std::string text () const;
};

/* The reverse of text(); pending where that is none. */
Verdict parse_verdict (const std::string &text);

/* Pending where there is no whole file of this build. */
Verdict load_verdict (const std::string &path, const std::string &build);

/* The file also names `engine`, for people. False where it cannot be written. */
bool store_verdict (const std::string &path, const std::string &build,
    const std::string &engine, const Verdict &verdict);
} // namespace opencl
