/* Reads files of numbers for octwindowinterp: one value per sample of an A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/errors.hpp"

#include <string>
#include <vector>

namespace oct {
/* A file of values, and its name in messages */
struct ValuesFile {
  const char *name; /* name of the property, such as "wavelengths" */
  std::string path; /* empty: not given */

  bool given () const { return !path.empty (); }
  /* Returns the start of messages, such as "wavelengths file /x/y.npy". */
  std::string described () const { return std::string (name) + " file " + path; }
};

/* Range of the number of samples per A-line. Caps have no limit, so other numbers are
 * reported as errors. */
constexpr guint least_samples = 16, most_samples = 65536;

/* Samples of an A-line: number of all samples, and range of those in use */
struct Samples {
  Samples (gsize all) : all (all), used (all) {}
  Samples (gsize all, gsize first, gsize used) : all (all), first (first), used (used) {}

  gsize all;
  gsize first = 0;
  gsize used;
};

/* Fails if a file is given that cannot be opened or is not a regular file. For early
 * errors, before the caps are known. */
bool values_file_check (const ValuesFile &file, GError **error);

/* Reads .npy, which is recognised by its first bytes, or text: one number per line, '#'
 * begins a comment, blank lines are skipped. Fails unless there are exactly `samples`
 * values, all finite. */
bool values_file_load (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error);

/* Reads one value for each sample in use. The file has these values, or one for each
 * sample of an A-line. */
bool values_file_load_used (const ValuesFile &file, const Samples &samples,
    std::vector<double> &values, GError **error);

/* Reads `count` values from `first` on. The file has these values, or all up to them. */
bool values_file_load_range (const ValuesFile &file, gsize first, gsize count,
    std::vector<double> &values, GError **error);
} // namespace oct
