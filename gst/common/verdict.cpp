/* Verdicts of the self-check and their cache files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "verdict.hpp"

#include <gst/common/platform.hpp>

#include <mutex>
#include <utility>

namespace opencl {
namespace {
const char *const group = "verdict";

const std::pair<Verdict::Result, const char *> names[] = {
    {Verdict::right, "right"},
    {Verdict::wrong, "wrong"},
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
load_verdict (const std::string &path, const std::string &build)
{
  std::string contents;
  Verdict verdict;
  if (!read_private_file (path, contents))
    return verdict;
  GKeyFile *file = g_key_file_new ();
  if (g_key_file_load_from_data (
          file, contents.data (), contents.size (), G_KEY_FILE_NONE, nullptr)
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
  g_key_file_set_string (file, group, "engine", engine.c_str ());
  g_key_file_set_string (file, group, "build", build.c_str ());
  g_key_file_set_string (file, group, "result", verdict.text ().c_str ());
  gchar *contents = g_key_file_to_data (file, nullptr, nullptr);
  const bool stored = write_private_file (path, contents);
  g_free (contents);
  g_key_file_free (file);
  return stored;
}
} // namespace opencl
