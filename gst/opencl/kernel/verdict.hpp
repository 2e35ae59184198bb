/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

namespace opencl {
/* Result of the self-check of an engine on a device */
struct Verdict {
  enum Result {
    pending,   /* not known yet */
    right,     /* agrees with the host */
    wrong,     /* `difference` describes it */
    unchecked, /* cannot be checked; `difference` is the reason */
  };
  Result result = pending;
  std::string difference;

  /* Returns "right", "wrong: DIFFERENCE" … */
  std::string text () const;
};

/* Parses the result of text(). Returns pending for any other text. */
Verdict parse_verdict (const std::string &text);

/* Returns pending if there is no valid file of this build. */
Verdict load_verdict (const std::string &path, const std::string &build);

/* The file also names `engine`, for human readers. Returns false if it cannot be
 * written. */
bool store_verdict (const std::string &path, const std::string &build,
    const std::string &engine, const Verdict &verdict);
} // namespace opencl
