/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "verdict.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace opencl {
namespace {
const char *const group = "verdict";

const std::pair<Verdict::Result, const char *> names[] = {
    {Verdict::right, "right"},
    {Verdict::wrong, "wrong"},
    {Verdict::unusable, "unusable"},
    {Verdict::failed, "failed"},
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

gint64
number_of (GKeyFile *file, const char *key)
{
  return g_key_file_get_int64 (file, group, key, nullptr);
}

using KeyFile = std::unique_ptr<GKeyFile, void (*) (GKeyFile *)>;

/* Returns the contents of a verdict's file, which are empty unless it is valid and of this
 * build. */
KeyFile
read (const std::string &path, const std::string &build)
{
  KeyFile file (g_key_file_new (), g_key_file_free);
  std::string contents;
  if (!read_private_file (path, contents)
      || !g_key_file_load_from_data (
          file.get (), contents.data (), contents.size (), G_KEY_FILE_NONE, nullptr)
      || string_of (file.get (), "build") != build)
    file.reset (g_key_file_new ());
  return file;
}

bool
had_as_much (GKeyFile *file, const std::vector<double> &resources)
{
  gsize n = 0;
  gdouble *had = g_key_file_get_double_list (file, group, "resources", &n, nullptr);
  const bool as_much =
      n == resources.size ()
      && std::equal (had, had + n, resources.begin (), std::greater_equal<> ());
  g_free (had);
  return as_much;
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

guint
seconds_of_check ()
{
  constexpr guint usual = usual_seconds_of_check, most = 3600;
  static std::once_flag warned;
  const gchar *wanted = g_getenv ("GST_OPENCL_SELF_CHECK");
  guint64 seconds = usual;
  if (wanted && *wanted
      && !g_ascii_string_to_unsigned (wanted, 10, 0, most, &seconds, nullptr))
    std::call_once (warned, [wanted] {
      GST_WARNING ("GST_OPENCL_SELF_CHECK=%s: expected 0 to %u seconds; using %u", wanted,
          most, usual);
    });
  return guint (seconds);
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

std::string
name_of_verdict (const std::string &identity, const std::string &engine)
{
  const std::string all = identity + engine;
  return checksum_of (all.data (), all.size ());
}

Verdict
load_verdict (const std::string &path, const std::string &build, const Circumstances &now)
{
  const KeyFile file = read (path, build);
  const Verdict verdict = parse_verdict (string_of (file.get (), "result"));
  const gint64 day = 24 * 60 * 60, age = now.time - number_of (file.get (), "time");
  if (verdict.result == Verdict::unusable
      && (age < 0 || age >= number_of (file.get (), "days") * day
          || !had_as_much (file.get (), now.resources)))
    return {};
  return verdict;
}

bool
store_verdict (const std::string &path, const std::string &build,
    const std::string &engine, const Verdict &verdict, const Circumstances &check)
{
  const gint64 most_days = 30;
  const gint64 days = 2 * number_of (read (path, build).get (), "days");
  GKeyFile *file = g_key_file_new ();
  g_key_file_set_string (file, group, "engine", engine.c_str ());
  g_key_file_set_string (file, group, "build", build.c_str ());
  g_key_file_set_string (file, group, "result", verdict.text ().c_str ());
  if (verdict.result == Verdict::unusable) {
    g_key_file_set_int64 (file, group, "time", check.time);
    g_key_file_set_int64 (file, group, "days", CLAMP (days, 1, most_days));
    g_key_file_set_double_list (file, group, "resources",
        const_cast<gdouble *> (check.resources.data ()), check.resources.size ());
  }
  gchar *contents = g_key_file_to_data (file, nullptr, nullptr);
  const bool stored = write_private_file (path, contents);
  g_free (contents);
  g_key_file_free (file);
  return stored;
}
} // namespace opencl
