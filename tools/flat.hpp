/* oct-calibrate --flat: optical path and scanner delay from a flat target
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>

/* Sets an error, and returns false. */
bool fail (GError **error, const std::string &what);

/* Parses the value of an option, a whole number. The error names option, value and range. */
bool parse_number (const std::string &option, const char *value, gsize least, gsize most,
    gsize &number, GError **error);

/* Returns the exit status: 0, 1 (failed) or 2 (wrong call). */
int calibrate_flat (int count, char **words, GError **error);

extern const char *const flat_help;
