/* oct-calibrate --flat: optical path and scanner delay from a flat target
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>

/* Parses the value of an option, a whole number. The error names option, value and range. */
bool parse_number (const std::string &option, const char *value, gsize least, gsize most,
    gsize &number, GError **error);

/* Returns whether the command line is one of --flat. */
bool is_flat_calibration (int count, char **words);

/* Returns the exit status. */
int calibrate_flat (int count, char **words);

extern const char *const flat_help;
