/* Loads A-lines from files of any supported format
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>
#include <vector>

#include "recording.hpp"

namespace oct {
/* A-lines of a file, as numbers */
struct SpectraFile {
  guint samples = 0;
  std::vector<double> mean;      /* of all A-lines */
  std::vector<double> lines;     /* of some frames, contiguous */
  gsize frame_lines = 0;         /* A-lines of a frame, as far as the file tells */
  StreamCalibration calibration; /* of a .oct recording */
};

/* Layout of files that are neither .npy nor .oct. `format` is null if it is not given;
 * `lines` is not used. */
using SpectraLayout = RawLayout;

/* Parses SAMPLES[,FORMAT[,HEADER-BYTES]]. */
bool parse_spectra_layout (
    const std::string &text, SpectraLayout &layout, GError **error);

/* Loads a .npy file of any real numbers, a .oct recording, or a raw file. Only one frame
 * of a recording is in memory. */
bool load_spectra (
    const char *path, const SpectraLayout &layout, SpectraFile &file, GError **error);
} // namespace oct
