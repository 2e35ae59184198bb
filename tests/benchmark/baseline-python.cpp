/* opencl-bench: the same work by Python libraries
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"

#include <gio/gio.h>

#include <sstream>

namespace bench {
std::string
resource_text (const char *path)
{
  GBytes *bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, nullptr);
  if (!bytes)
    return "";
  gsize size;
  auto *data = static_cast<const char *> (g_bytes_get_data (bytes, &size));
  std::string text (data, size);
  g_bytes_unref (bytes);
  return text;
}

static GSubprocess *
start (const char *script, const std::vector<std::string> &arguments,
    const Timing &timing, GError **error)
{
  const gchar *python = g_getenv ("GST_OPENCL_PYTHON");
  std::vector<std::string> words = {python ? python : "python3", "-c",
      resource_text (script), std::to_string (timing.warm_up),
      std::to_string (timing.seconds), std::to_string (timing.windows)};
  std::vector<const gchar *> argv;

  words.insert (words.end (), arguments.begin (), arguments.end ());
  for (const std::string &word : words)
    argv.push_back (word.c_str ());
  argv.push_back (nullptr);
  return g_subprocess_newv (argv.data (),
      GSubprocessFlags (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE),
      error);
}

void
measure_python (const char *script, const std::vector<std::string> &arguments,
    const Timing &timing, Result &result)
{
  GError *reason = nullptr;
  gchar *output = nullptr, *messages = nullptr;
  GSubprocess *process = start (script, arguments, timing, &reason);

  if (process
      && g_subprocess_communicate_utf8 (
          process, nullptr, nullptr, &output, &messages, &reason)) {
    std::istringstream lines (output);
    for (double rate; lines >> rate;)
      result.rates.push_back (rate);
    if (result.rates.empty ())
      result.error = std::string ("python: ") + (messages ? messages : "no output");
  } else {
    result.error = std::string ("python: ") + (reason ? reason->message : "did not run");
  }
  g_clear_error (&reason);
  g_clear_object (&process);
  g_free (output);
  g_free (messages);
}
} // namespace bench
