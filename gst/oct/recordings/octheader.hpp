/* Reads Header.xml of a Thorlabs .oct recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <functional>
#include <string>
#include <vector>

namespace oct {
/* A-lines of a frame, from `begin` to `end` - 1 */
struct LineRange {
  guint begin = 0, end = 0;
};

/* Attributes of an element DataFile. Numbers that are missing are 0. */
struct DataFile {
  std::string name; /* with forward slashes */
  std::string type;
  guint size_z = 0, size_x = 0, size_y = 0;
  guint bytes_per_pixel = 0;
  double range_z = 0; /* mm */
  std::vector<LineRange> scan, apodization;
};

/* Numbers that are missing or invalid are 0. */
struct OctHeader {
  std::vector<DataFile> files;
  double pixels_z = 0, pixels_x = 0, pixels_y = 0;
  double size_z = 0, size_x = 0, size_y = 0; /* mm, once all is read */
  double pixel_millimetres = 0; /* unit of `pixels` if these are lengths, not numbers */
  double real_millimetres = 1;  /* unit of the sizes */
  std::string unknown_unit;     /* in quotation marks, or empty */
  double repeats_intensity = 0, repeats_speckle = 0;
  double lines_intensity = 0, lines_speckle = 0; /* A-lines that are averaged */
  double refractive_index = 0;
  double central_wavelength = 0; /* nm */
  double electrons_per_count = 0;
  double bit_depth = 0;
  bool is_signed = false;
};

/* Returns the next bytes of the header; `done` is 0 at its end. */
using ReadHeader =
    std::function<bool (void *data, gsize size, gsize &done, GError **error)>;

bool oct_header_read (const ReadHeader &read, OctHeader &header, GError **error);
} // namespace oct
