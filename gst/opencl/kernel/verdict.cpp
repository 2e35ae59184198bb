/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "verdict.hpp"

#include <glib.h>
#include <utility>

namespace opencl {
namespace {
const char *const group = "verdict";

const std::pair<Verdict::Result, const char *> names[] = {
    {Verdict::right, "right"},
    {Verdict::wrong, "wrong"},
    {Verdict::unchecked, "unchecked"},
};

std::string
string_of (GKeyFile *file, const char *key)
{
  gchar *value = g_key_file_get_string (file, group, key, nullptr);
  const std::string copy = value ? value : "";
  g_free (value);
  return copy;
}
} // namespace

std::string
Verdict::text () const
{
  for (const auto &[named, name] : names) {
    if (named == result)
      return difference.empty () ? name : std::string (name) + ": " + difference;
  }
  return "pending";
}

Verdict
parse_verdict (const std::string &text)
{
  for (const auto &[named, name] : names) {
    const std::string beginning = std::string (name) + ": ";
    if (text == name)
      return {named, ""};
    if (text.compare (0, beginning.size (), beginning) == 0)
      return {named, text.substr (beginning.size ())};
  }
  return {};
}

Verdict
load_verdict (const std::string &path, const std::string &build)
{
  GKeyFile *file = g_key_file_new ();
  Verdict verdict;
  if (g_key_file_load_from_file (file, path.c_str (), G_KEY_FILE_NONE, nullptr)
      && string_of (file, "build") == build)
    verdict = parse_verdict (string_of (file, "result"));
  g_key_file_free (file);
  return verdict;
}

bool
store_verdict (const std::string &path, const std::string &build,
    const std::string &engine, const Verdict &verdict)
{
  GKeyFile *file = g_key_file_new ();
  gchar *folder = g_path_get_dirname (path.c_str ());
  g_key_file_set_string (file, group, "engine", engine.c_str ());
  g_key_file_set_string (file, group, "build", build.c_str ());
  g_key_file_set_string (file, group, "result", verdict.text ().c_str ());
  g_mkdir_with_parents (folder, 0700);
  const bool stored = g_key_file_save_to_file (file, path.c_str (), nullptr);
  g_free (folder);
  g_key_file_free (file);
  return stored;
}
} // namespace opencl
