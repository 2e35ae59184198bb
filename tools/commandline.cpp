/* Command line of a program: --help, --version, and errors with exit status 2
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "commandline.hpp"

#include <gst/common/platform.hpp>
#include <gst/common/text.hpp>

#include <iostream>

namespace opencl {
int
refuse_arguments (const CommandLine &line, const char *reason)
{
  std::cerr << line.program << ": " << reason << " (see --help)\n";
  return 2;
}

bool
parse_command_line (
    const CommandLine &line, const GOptionEntry *entries, char **arguments, int &status)
{
  gboolean helps = FALSE, names_version = FALSE;
  const GOptionEntry common[] = {
      {"help", 'h', 0, G_OPTION_ARG_NONE, &helps, "Print this text", nullptr},
      {"version", 0, 0, G_OPTION_ARG_NONE, &names_version, "Print the version", nullptr},
      {}};
  GOptionContext *context = g_option_context_new (line.usage);
  gchar **words = g_strdupv (arguments_in_utf8 (arguments));
  GError *error = nullptr;

  g_set_prgname (line.program);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_summary (context, line.summary);
  g_option_context_set_description (context, line.description);
  g_option_context_add_main_entries (context, common, nullptr);
  g_option_context_add_main_entries (context, entries, nullptr);
  status = 0;
  if (!g_option_context_parse_strv (context, &words, &error))
    status = refuse_arguments (line, error->message);
  else if (helps) /* in UTF-8 also where the locale has no ellipsis */
    std::cout << take_text (g_option_context_get_help (context, TRUE, nullptr));
  else if (names_version)
    std::cout << line.program << " " PACKAGE_VERSION "\n";
  g_clear_error (&error);
  g_strfreev (words);
  g_option_context_free (context);
  return status == 0 && !helps && !names_version;
}
} // namespace opencl
