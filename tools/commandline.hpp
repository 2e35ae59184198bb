/* Command line of a program: --help, --version, and errors with exit status 2
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

namespace opencl {
struct CommandLine {
  const char *program;
  const char *usage;       /* follows the options */
  const char *summary;     /* of --help, before the options */
  const char *description; /* after the options (nullable) */
};

/* Parses the arguments of main(). Returns false where the program ends with `status`: after
 * --help or --version, which are added to `entries`, or after an error, which is printed. */
bool parse_command_line (
    const CommandLine &line, const GOptionEntry *entries, char **arguments, int &status);

/* Prints why the arguments cannot be used, and returns the exit status of a wrong call. */
int refuse_arguments (const CommandLine &line, const char *reason);
} // namespace opencl
