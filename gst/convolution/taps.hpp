/* Arrays of numbers from a property: a .npy file, or nested lists as text
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <string>
#include <vector>

namespace compute {
/* Source and shape of an array. Its values are on the host only during an upload. */
struct TapsSource {
  std::string text;         /* "<<0,1,0>,<1,-4,1>,<0,1,0>>" or a path; empty: none */
  guint sets = 0;           /* how often a path was set; 0 for lists */
  std::vector<gsize> shape; /* outermost dimension first; empty for a single number */

  gsize count () const;
  bool operator== (const TapsSource &other) const
  {
    return text == other.text && sets == other.sets && shape == other.shape;
  }
};

/* Finds the shape of the array in `text` (a list or a path), unless `source` has it
 * already. Reads only the header of a file. Returns FALSE with an error that names
 * `property`. */
bool open_taps (const char *property, const std::string &text, guint sets,
    TapsSource &source, GError **error);

/* Reads the values, outermost dimension first. Fails if the shape of the file has changed
 * since open_taps (). */
template <typename Number>
bool read_taps (const char *property, const TapsSource &source,
    std::vector<Number> &values, GError **error);
} // namespace compute
