/* opencl-bench: the same work in numba
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
start (const std::string &name, unsigned side, const Timing &timing, GError **error)
{
  const gchar *python = g_getenv ("GST_OPENCL_PYTHON");
  const std::string script = resource_text ("/bench/baseline-numba.py");
  const std::string warm_up = std::to_string (timing.warm_up);
  const std::string seconds = std::to_string (timing.seconds);
  const std::string windows = std::to_string (timing.windows);
  const std::string size = std::to_string (side);
  const gchar *words[] = {python ? python : "python3", "-c", script.c_str (),
      name.c_str (), warm_up.c_str (), seconds.c_str (), windows.c_str (), size.c_str (),
      nullptr};

  return g_subprocess_newv (words,
      GSubprocessFlags (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE),
      error);
}

void
measure_numba (
    const std::string &name, unsigned side, const Timing &timing, Result &result)
{
  GError *reason = nullptr;
  gchar *output = nullptr, *said = nullptr;
  GSubprocess *process = start (name, side, timing, &reason);

  if (process
      && g_subprocess_communicate_utf8 (
          process, nullptr, nullptr, &output, &said, &reason)) {
    std::istringstream lines (output);
    for (double rate; lines >> rate;)
      result.rates.push_back (rate);
    if (result.rates.empty ())
      result.error = std::string ("numba: ") + (said ? said : "no output");
  } else {
    result.error = std::string ("numba: ") + (reason ? reason->message : "did not run");
  }
  g_clear_error (&reason);
  g_clear_object (&process);
  g_free (output);
  g_free (said);
}
} // namespace bench
