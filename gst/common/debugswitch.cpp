/* Debugging switches of the environment variable GST_OPENCL_DEBUG=NAME=0,NAME=1,…
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "debugswitch.hpp"

#include <gst/gst.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

namespace opencl {
static const char *const switches[] = {
    "share-memory", "stage-uploads", "convolve-groups"};

static bool
is_valid (const std::string &entry)
{
  return std::any_of (
      std::begin (switches), std::end (switches), [&] (const std::string &name) {
        return entry == name + "=0" || entry == name + "=1";
      });
}

/* Warns once of each entry. */
static void
warn_of (const std::string &entry)
{
  static std::mutex lock;
  static std::set<std::string> warned;
  std::string names;
  for (const char *name : switches)
    names += std::string (names.empty () ? "" : ", ") + name;
  std::lock_guard<std::mutex> guard (lock);
  if (warned.insert (entry).second)
    GST_WARNING ("GST_OPENCL_DEBUG: \"%s\", expected NAME=0 or NAME=1 with one of %s",
        entry.c_str (), names.c_str ());
}

std::optional<bool>
debug_switch (const char *name)
{
  const gchar *variable = g_getenv ("GST_OPENCL_DEBUG");
  std::istringstream entries (variable ? variable : "");
  std::optional<bool> value;

  for (std::string entry; std::getline (entries, entry, ',');) {
    if (!is_valid (entry))
      warn_of (entry);
    else if (entry.compare (0, entry.size () - 2, name) == 0)
      value = entry.back () == '1';
  }
  return value;
}
} // namespace opencl
