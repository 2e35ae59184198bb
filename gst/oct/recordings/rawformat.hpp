/* Formats of the samples in raw recordings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <string>

namespace oct {
struct RawFormat {
  const char *name; /* in caps application/x-oct */
  guint bits;
  double (*read) (const guint8 *line, gsize sample);

  /* Each A-line begins at a byte. */
  gsize line_bytes (gsize samples) const { return (samples * bits + 7) / 8; }
};

/* All formats that octwindowinterp accepts. Their order is that of property values. */
extern const RawFormat raw_formats[];
extern const gsize raw_format_count;

/* (nullable) */
const RawFormat *find_raw_format (const std::string &name);
} // namespace oct
