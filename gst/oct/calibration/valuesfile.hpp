/* The files of numbers that octwindowinterp reads: one value for each sample of an A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>
#include <vector>

namespace oct {
/* What a table is called in messages, and where it comes from. */
struct ValuesFile {
  const char *name; /* the property, "wavelengths" */
  std::string path; /* empty: not given */

  bool given () const { return !path.empty (); }
  /* "wavelengths file /x/y.npy": how every message about it begins. */
  std::string described () const { return std::string (name) + " file " + path; }
};

/* Fails where the file cannot be opened or is none of a disk; for an early answer, before
 * the caps are known. */
bool values_file_check (const ValuesFile &file, GError **error);

/* Reads .npy, told by its first bytes, or text: one number a line, '#' begins a comment,
 * blank lines are skipped. Fails unless there are `samples` values, all of them finite;
 * no more is read than tells that. */
bool values_file_load (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error);
} // namespace oct
