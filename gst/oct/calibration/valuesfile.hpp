/* The files of numbers that octwindowinterp reads: one value for each sample of an A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>
#include <vector>

namespace oct {
/* Name of a table in messages, and its file */
struct ValuesFile {
  const char *name;  /* the property, "wavelengths" */
  std::string path;  /* empty: not given */
  bool bare = false; /* may be float32 values, the lowest byte first, and nothing else */

  bool given () const { return !path.empty (); }
  /* "wavelengths file /x/y.npy": how every message about it begins. */
  std::string described () const { return std::string (name) + " file " + path; }
};

/* Largest number of samples of an A-line. Caps have no limit, so larger ones are
 * reported. */
constexpr guint least_samples = 16, most_samples = 65536;

/* Numbers of samples of an A-line: all, and those in use */
struct Samples {
  Samples (gsize all) : all (all), used (all) {}
  Samples (gsize all, gsize first, gsize used) : all (all), first (first), used (used) {}

  gsize all;
  gsize first = 0;
  gsize used;
};

/* Fails where the file cannot be opened or is none of a disk; for an early answer, before
 * the caps are known. */
bool values_file_check (const ValuesFile &file, GError **error);

/* Reads .npy, told by its first bytes, or text: one number a line, '#' begins a comment,
 * blank lines are skipped; where that may be, bare float32 values, of which there are as
 * many as samples, with bytes that no text has. Fails unless there are `samples` values, all of them finite;
 * no more is read than tells that. */
bool values_file_load (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error);

/* One for each sample that is used, from a file that has those, or one for each sample. */
bool values_file_load_used (const ValuesFile &file, const Samples &samples,
    std::vector<double> &values, GError **error);
} // namespace oct
