/* opencl-bench: device, limits and output that all cases of a command use
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "session.hpp"

#include <gst/opencl/gstopenclcontext.h>

#include <cstdio>

namespace bench {
Session::Session (const Options &options)
    : options (options), table (!options.earlier.empty ())
{
}

Session::~Session ()
{
  if (context && !options.json)
    table.print_summary ();
  gst_clear_object (&context);
}

bool
Session::open (bool with_ceilings)
{
  GError *error = nullptr;
  const std::string unread =
      options.earlier.empty () ? "" : earlier.read (options.earlier);
  if (!unread.empty ()) {
    g_printerr ("opencl-bench: --compare: %s\n", unread.c_str ());
    return false;
  }
  context = gst_opencl_context_new (
      options.device.empty () ? nullptr : options.device.c_str (), &error);
  if (!context) {
    g_printerr ("opencl-bench: %s\n", error->message);
    g_error_free (error);
    return false;
  }
  device_name = gst_opencl_context_get_device_name (context);
  /* Elements without the property `device` use this variable. */
  if (!options.device.empty ())
    g_setenv ("GST_OPENCL_DEVICE", options.device.c_str (), TRUE);
  if (with_ceilings)
    for (const Result &ceiling : measure_ceilings (context, options.timing, ceilings))
      print (ceiling);
  return !failed;
}

Result
Session::result (const std::string &what, Result::Sizes sizes, const char *unit) const
{
  Result result;
  result.what = what;
  result.device = device_name;
  result.sizes = std::move (sizes);
  result.unit = unit;
  return result;
}

void
Session::print (Result result)
{
  failed |= !error_of (result).empty ();
  earlier.compare (result);
  if (!options.json) {
    table.print (result);
    return;
  }
  puts (to_json (result).c_str ());
  fflush (stdout);
}

namespace {
/* Returns true if one of the patterns, such as "host*,device", matches the name. */
bool
is_asked_for (const std::string &patterns, const char *name)
{
  gchar **all = g_strsplit (patterns.c_str (), ",", -1);
  bool found = false;
  for (gchar **one = all; *one && !found; one++)
    found = g_pattern_match_simple (*one, name);
  g_strfreev (all);
  return found;
}
} // namespace

void
run_cases (Session &session, const std::vector<Case> &cases)
{
  bool any = false;
  for (const Case &one : cases) {
    if (!is_asked_for (session.options.cases, one.name)
        || (!session.options.baselines && g_str_has_prefix (one.name, "baseline-")))
      continue;
    any = true;
    one.run (session, session.options.command + "/" + one.name);
  }
  if (!any) {
    g_printerr (
        "opencl-bench: no case %s (see --list)\n", session.options.cases.c_str ());
    session.failed = true;
  }
}
} // namespace bench
