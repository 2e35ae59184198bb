/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/platform.hpp>

namespace opencl {
/* Result of the self-check of an engine on a device */
struct Verdict {
  enum Result {
    pending,  /* not known yet */
    right,    /* agrees with the stored numbers */
    wrong,    /* `difference` describes it */
    unusable, /* crashes or does not build, as `difference` says; perhaps for a shortage */
    failed,   /* no result; `difference` is the reason, which may not come again */
    unchecked, /* cannot be checked; `difference` is the reason */
  };
  Result result = pending;
  std::string difference;

  bool is_fault () const { return result >= wrong && result <= failed; }
  /* Returns whether the cache keeps it. */
  bool is_kept () const { return result >= right && result <= unusable; }

  /* Returns "right", "wrong: DIFFERENCE" … */
  std::string text () const;
};

/* Circumstances of a check. A stored verdict `unusable` counts only for processes with no more
 * resources. It expires after one day. Each check that gives the same again doubles that, up
 * to 30 days. */
struct Circumstances {
  gint64 time = g_get_real_time () / G_USEC_PER_SEC; /* since 1970 */
  std::vector<double> resources = resources_of_process ();
};

/* Precedes the verdict that gst-opencl-check prints. A driver may print other text before. */
constexpr const char *mark_of_verdict = "verdict: ";

constexpr guint usual_seconds_of_check = 60; /* with compilation */

/* Returns the processor time in seconds after which an engine counts as hanging, or 0 for
 * no checks. GST_OPENCL_SELF_CHECK sets it. Warns of another text than a number in range. */
guint seconds_of_check ();

/* Parses the result of text(). Returns pending for any other text. */
Verdict parse_verdict (const std::string &text);

/* Returns the name of the file of a verdict. `identity` describes device and driver. */
std::string name_of_verdict (const std::string &identity, const std::string &engine);

/* Returns pending if there is no valid file of this build. */
Verdict load_verdict (
    const std::string &path, const std::string &build, const Circumstances &now = {});

/* The file also names `engine`, for human readers. Returns false if it cannot be
 * written. */
bool store_verdict (const std::string &path, const std::string &build,
    const std::string &engine, const Verdict &verdict, const Circumstances &check);
} // namespace opencl
